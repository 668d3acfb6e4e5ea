"""The plug-in on rows that are read in pieces, against the same rows in memory."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier

import ratebound._old as rb
from ratebound._old.game.folding import folded
from ratebound._old.learners import _cross

ROWS, PIECE = 1500, 400
PROMISES = ['recall(sex == "F") >= 0.9 * recall(sex == "M")', "positive_rate() <= 0.5"]
MANY = [f"positive_rate(town == {town}, sex == {sex!r}) <= 0.8" for town in range(8) for sex in "FM"]


class Pieces(rb.Rows):
    """Rows in memory that are given in pieces, as if they were on disk."""

    def __init__(self, people, memory):
        self.people, self.memory, self.column_names = people, memory, list(people.columns)
        self.piece_sizes = [min(PIECE, len(people) - at) for at in range(0, len(people), PIECE)]

    def piece(self, place, columns=(), *, inputs=False):
        own, whole = slice(place * PIECE, (place + 1) * PIECE), self.people
        X, y = (None if each is None else each[own] for each in (whole.X if inputs else None, whole.y))
        columns = {name: whole.column(name)[own] for name in columns}
        weights = None if whole.weights is None else whole.weights[own]
        labels = None if y is None else np.array(whole.classes)[y.astype(int)]
        size = len(range(ROWS)[own])
        given = np.empty((size, 0)) if X is None else X
        return rb.Population(given, labels, columns=columns, weights=weights, classes=whole.classes)


def drawn(seed=0, classes=("no", "yes"), weights=False):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], ROWS, p=[0.4, 0.6])
    X = rng.normal(size=(ROWS, 3))
    X[:, 2] += 0.8 * (sex == "M")
    score = X @ [1.0, 0.5, 0.3] + rng.normal(size=ROWS)
    y = np.array(classes)[np.digitize(score, [0.3, 1.0][: len(classes) - 1])]
    columns = {"sex": sex, "town": rng.integers(0, 8, ROWS), "price": rng.integers(1, 5, ROWS)}
    return rb.Population(
        X, y, columns=columns, classes=classes, weights=rng.integers(1, 3, ROWS) if weights else None
    )


def on_disk(people):
    """Rows of which no two pieces may be in memory at once."""
    return Pieces(people, memory=PIECE * 3 * 8 * 3)


def both(model, people=None, constraints=PROMISES, **options):
    people = drawn() if people is None else people
    how = {"constraints": constraints, "model": model, "random_state": 0} | options
    return tuple(
        rb.RateConstrainedClassifier(**how).fit(each) for each in (on_disk(people), people)
    ), people


def agree(models, people):
    return float(np.mean(models[0].predict(people.X) == models[1].predict(people.X)))


@pytest.mark.parametrize("model", ["linear", "lightgbm", "xgboost"])
def test_the_rule_is_the_one_of_rows_in_memory(model):
    if model != "linear":
        pytest.importorskip(model)
    models, people = both(model, drawn(weights=model == "lightgbm"))
    # Forecasts of rows on disk are kept in single precision, so a row at the threshold may differ.
    assert agree(models, people) >= 0.998
    for on in ("train", "out of fold"):
        ours, theirs = (each.solution_.record.objectives[on] for each in models)
        assert ours == pytest.approx(theirs, abs=0.002)
    assert models[0].status_.feasible
    # A few such rows change the claim, most of all a low one.
    assert models[0].status_.confidence == pytest.approx(models[1].status_.confidence, abs=0.1)
    assert "game" not in models[0].status_.message


def test_a_logistic_regression_reaches_the_optimum_on_all_rows(monkeypatch):
    monkeypatch.setattr(_cross, "SAMPLED", 300)
    monkeypatch.setattr(_cross, "OF_EACH", 100)
    people = drawn(weights=True)
    compiled = rb.compile(rb.Problem("error_rate()", PROMISES), on_disk(people))
    split = folded(compiled, 3, 0)
    forecast, outside = rb.PlugIn("linear").learn(compiled, split, 0)
    assert outside.shape == (compiled.cell_count, ROWS)
    assert outside.dtype == np.float32
    for fold in range(3):
        own = split.of != fold
        exact = LogisticRegression(tol=1e-10, max_iter=1000)
        exact.fit(people.X[own], people.y[own], sample_weight=people.weights[own])
        theirs = np.append(exact.coef_, exact.intercept_)
        np.testing.assert_allclose(forecast.labels.parameters[fold], theirs, atol=2e-4)
    cells = outside.sum(axis=0)
    np.testing.assert_allclose(cells, 1.0, atol=1e-5)


def test_a_sample_costs_a_linear_model_nearly_nothing(monkeypatch):
    monkeypatch.setattr(_cross, "SAMPLED", 500)
    monkeypatch.setattr(_cross, "OF_EACH", 100)
    models, people = both("linear", drawn(classes=("a", "b", "c")), ['positive_rate(of="c") <= 0.3'])
    assert agree(models, people) >= 0.98
    errors = [each.solution_.record.objectives["out of fold"] for each in models]
    assert errors[0] == pytest.approx(errors[1], abs=0.01)


def test_estimators_learn_by_partial_fit():
    people = drawn(weights=True)
    how = {"constraints": PROMISES, "random_state": 0}
    models = [
        rb.RateConstrainedClassifier(**how, model=model).fit(on_disk(people))
        for model in (SGDClassifier(loss="log_loss", average=True), "linear")
    ]
    errors = [each.solution_.record.objectives["out of fold"] for each in models]
    assert errors[0] == pytest.approx(errors[1], abs=0.02)
    assert models[0].status_.feasible


@pytest.mark.parametrize(
    ("objective", "constraints"),
    [
        ('cost(column="price")', PROMISES),
        ("error_rate()", MANY),
    ],
    ids=["amounts", "many groups"],
)
def test_regressions_add_up_piece_by_piece(objective, constraints):
    people = drawn()
    problem = rb.Problem(objective, constraints)
    parts = []
    for rows in (on_disk(people), people):
        compiled = rb.compile(problem, rows)
        parts.append(rb.PlugIn("linear").learn(compiled, folded(compiled, 3, 0), 0)[1])
    np.testing.assert_allclose(*parts, atol=2e-5)


def test_it_is_audited_certified_saved_and_has_other_promises(tmp_path):
    people = drawn()
    rows = on_disk(people)
    model = rb.RateConstrainedClassifier(PROMISES, random_state=0, certify=0.3).fit(rows)
    assert model.certificate_.promises[0].rows > 0
    assert model.audit(rows).kept == model.audit(people).kept
    loaded = rb.load(model.save(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict(people.X), model.predict(rows))
    other = model.with_constraints(["positive_rate() <= 0.3"])
    assert np.mean(other.predict(rows) == "yes") < 0.31
    assert model.reasons(people.X[:3]).names


def test_other_populations_and_no_promises_and_goals():
    people = drawn()
    pool = drawn(seed=1).only(np.arange(300))
    for options, others in (
        ({"constraints": ['positive_rate(on="pool") <= 0.4']}, {"pool": pool}),
        ({"constraints": []}, {}),
        ({"constraints": ["positive_rate() <= 0.5"], "objective": "maximize f_score()"}, {}),
    ):
        fits = [
            rb.RateConstrainedClassifier(**options, random_state=0).fit(rows, **others)
            for rows in (on_disk(people), people)
        ]
        errors = [np.mean(each.predict(people.X) != np.where(people.y, "yes", "no")) for each in fits]
        assert errors[0] == pytest.approx(errors[1], abs=0.01)


def test_rows_that_belong_together_are_judged_together():
    once = drawn().only(np.arange(ROWS // 2))
    columns = {"sex": once.column("sex"), "id": np.arange(ROWS // 2)}
    twice = rb.Population(
        np.concatenate([once.X] * 2),
        np.tile(np.where(once.y, "yes", "no"), 2),
        columns={name: np.tile(values, 2) for name, values in columns.items()},
        classes=("no", "yes"),
    )
    model = rb.RateConstrainedClassifier(PROMISES, random_state=0)
    with pytest.warns(UserWarning, match="750 of 1,500 rows are copies of others.*a column with an id"):
        there = model.fit(on_disk(twice)).status_
    with pytest.warns(UserWarning, match="are copies of others"):
        here = model.fit(twice).status_
    assert there.confidence == pytest.approx(here.confidence, abs=0.1)
    there, here = (model.fit(rows, groups="id").status_ for rows in (on_disk(twice), twice))
    assert there.confidence == pytest.approx(here.confidence, abs=0.1)


def test_what_does_not_read_pieces_plays_the_game_or_is_refused():
    people, brief = drawn(), rb.Training(epochs=2)
    rows = on_disk(people)
    model = rb.RateConstrainedClassifier(
        ["positive_rate(at=0.5) <= 0.4"], training=brief, random_state=0
    )
    assert "trained by the game" in model.fit(rows).status_.message
    with pytest.raises(ValueError, match=r"needs all rows in memory.*partial_fit"):
        rb.RateConstrainedClassifier(PROMISES, model=RandomForestClassifier()).fit(rows)
    balanced = LogisticRegression(class_weight="balanced")
    with pytest.raises(ValueError, match="needs all rows in memory"):
        rb.RateConstrainedClassifier(PROMISES, model=balanced).fit(rows)
