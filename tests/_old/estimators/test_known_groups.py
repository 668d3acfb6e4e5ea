"""Columns that may be used when deciding, by the plug-in: exact knowledge in place of a guess."""

import itertools

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.game.folding import folded
from ratebound._old.learners.given import Given, lines_of
from ratebound._old.rates.expressions import FIRST

from ..extras import pd
from ..small_tables import animals, people

BOTH = {"group": ("a", "b"), "town": ("x", "y")}
OUTSIDE = "out of fold"
PARITY = 'positive_rate(group == "b") >= 0.9 * positive_rate(group == "a")'


def rows(n=1500, seed=0, **given):
    """People of two groups, which the features tell a little about, in two towns, which they do not."""
    table = people(n, seed, **{"slopes": (1.0, 0.5), "shift": (0.8, 0.0)} | given)
    random = np.random.default_rng(seed + 1)
    town = np.where(random.random(n) < 0.4, "x", "y")
    y = table.y | ((town == "x") & (random.random(n) < 0.3))
    return table.X, y, {**table.columns, "town": town}


def fitted(promises=PARITY, known="group", n=1500, seed=0, rows=rows, fit=(), **options):
    X, y, columns = rows(n, seed)
    options = {"random_state": 0, "method": "plug-in"} | options
    model = rb.RateConstrainedClassifier(promises, known=known, **options)
    return model.fit(X, y, columns=columns, **dict(fit))


def outside_labels(model):
    """P(yes | x) of the training rows, by the models that did not see them."""
    asked, rules = model._learned[:2]
    of, X = folded(asked.compiled, 5, asked.seed).of, asked.compiled.first.X
    likely = rules.scorer.forecast.labels.answers(X, np.arange(5))[:, 1]
    return likely[of, np.arange(len(X))]


# --- what it learns ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_one_rule_is_as_good_as_the_best_thresholds_by_group(seed):
    """Beside all pairs of thresholds on the label's probability, the best of which is taken out of fold.

    That is the best of 90,000, so on the rows themselves it looks a little better than it is.
    """
    model = fitted(n=2000, seed=seed, confidence=None)
    X, y, columns = rows(2000, seed)
    likely, group, yes, wrong, at = outside_labels(model), columns["group"], {}, {}, {}
    for name in "ab":
        own = group == name
        at[name] = np.quantile(likely[own], np.linspace(0, 1, 300))
        says = likely[own] >= at[name][:, None]
        yes[name], wrong[name] = says.mean(axis=1), (says != y[own]).sum(axis=1)
    errors = (wrong["a"][:, None] + wrong["b"]) / len(y)
    errors[yes["b"] < 0.9 * yes["a"][:, None] - 1e-12] = np.inf
    first, second = np.unravel_index(errors.argmin(), errors.shape)
    found = model.solution_.record.objectives[OUTSIDE]
    assert model.status_.feasible
    assert errors.min() - 0.001 <= found <= errors.min() + 0.004
    X, y, columns = rows(50_000, seed + 50)
    probability, decided = model.predict_proba(X)[:, 1], model.predict(X, columns=columns)
    lowest = np.where(columns["group"] == "a", at["a"][first], at["b"][second])
    assert np.mean(decided != y) <= np.mean((probability >= lowest) != y) + 0.002
    # And it is thresholds by group: within a group no row with a lower probability gets a yes instead.
    for name in "ab":
        own = columns["group"] == name
        assert probability[own & decided].min() > probability[own & ~decided].max() - 1e-9


def by_hand(forecast, compiled, X, group, label_of):
    """Values where a row can only be in cells that its group was in, within its label."""
    every = forecast.values(X)
    cells = np.arange(compiled.cell_count)
    held = {
        (name, label): np.unique(compiled.cells[(group == name) & (label_of == label)])
        for name, label in itertools.product(np.unique(group), (0, 1))
    }
    likely = forecast.labels.answers(X, np.arange(forecast.folds))
    wanted = np.zeros_like(every)
    for row, name in enumerate(group):
        for label in (0, 1):
            inside = np.isin(cells, held[name, label])
            own = every[:, :, row] * inside
            wanted[:, :, row] += likely[:, label, row, None] * own / own.sum(axis=1, keepdims=True)
    return wanted


def test_what_a_group_says_is_what_bayes_says():
    promises = rb.equal_opportunity(BOTH, ratio=0.8)
    model = fitted(promises, n=600)
    asked, rules = model._learned[:2]
    X, y, columns = rows(600)
    assert rules.known.columns == ("group",)
    given = rules.scorer.forecast.given
    assert (given.lines == [1.0, 0.0]).all()  # the features say enough of the label
    numbers = (columns["group"] == "b").astype(int)
    np.testing.assert_array_equal(rules.known.of, numbers)
    some = slice(0, 60)
    wanted = by_hand(rules.scorer.forecast, asked.compiled, X, columns["group"], y.astype(int))[
        ..., some
    ]
    np.testing.assert_allclose(
        rules.scorer.forecast.values(X[some], group=numbers[some]), wanted, atol=1e-12
    )


def test_slices_that_a_group_settles_are_certain():
    promises = [
        rb.positive_rate(rb.where(group=g, band=[low, low + 1])) <= 0.7
        for g in "ab" for low in range(20)
    ]  # fmt: skip

    def with_bands(n, seed):
        X, y, columns = rows(n, seed)
        return X, y, columns | {"band": np.random.default_rng(seed).integers(21, size=n)}

    model = fitted(promises, n=2000, rows=with_bands, confidence=None)
    rules = model.learned
    assert rules.known is not None
    assert all(branch.of_slices for branch in rules.scorer.forecast.branches)
    X = with_bands(2000, 0)[0]
    member = model._learned[0].compiled
    values = rules.scorer.forecast.values(X[:50], group=rules.known.of[:50])
    seen = member.unpacked(member.cells)[rules.known.of == 0].any(axis=0)
    of_other = np.flatnonzero(~seen)
    assert len(of_other)
    assert (values[:, of_other][..., rules.known.of[:50] == 0] == 0).all()


def test_a_column_that_no_promise_names_helps_if_it_says_something_of_the_label():
    blind = fitted("recall() >= 0.7", known=None, n=3000)
    knows = fitted("recall() >= 0.7", known="town", n=3000)
    assert knows.solution_.decider.known == {"town": ("x", "y")}
    assert not (knows.learned.scorer.forecast.given.lines == [1.0, 0.0]).all()
    X, y, columns = rows(20_000, 7)
    errors = [np.mean(each != y) for each in (blind.predict(X), knows.predict(X, columns=columns))]
    assert errors[1] < errors[0] - 0.005


def test_lines_are_those_that_the_labels_were_drawn_by():
    random = np.random.default_rng(0)
    odds, group = random.normal(size=8000), random.integers(3, size=8000)
    slope, shift = np.array([1.0, 0.5, 1.0])[group], np.array([0.0, 0.0, 1.5])[group]
    y = random.random(8000) < 1 / (1 + np.exp(-slope * odds - shift))
    yes = 1 / (1 + np.exp(-odds))
    lines = lines_of(np.stack([1 - yes, yes]), y.astype(int), group, 3, None)
    np.testing.assert_array_equal(lines[0], [1.0, 0.0])
    np.testing.assert_allclose(lines[1:], [[0.5, 0.0], [1.0, 1.5]], atol=0.15)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("known", ["group", "town", ["group", "town"], "nothing"])
def test_it_is_never_worse_out_of_fold_than_without(known, seed):
    def drawn(n, seed):
        X, y, columns = rows(n, seed)
        return X, y, columns | {"nothing": np.random.default_rng(seed).integers(4, size=n)}

    blind, knows = (
        fitted('recall(group == "b") >= 0.9 * recall()', each, 500, seed, drawn, confidence=None)
        for each in (None, known)
    )
    costs = [each.solution_.record.objectives[OUTSIDE] for each in (blind, knows)]
    assert knows.status_.feasible >= blind.status_.feasible
    assert costs[1] <= costs[0] + 1e-12
    if not knows.solution_.decider.known:
        assert "It does not use" in str(knows.status_)
        np.testing.assert_array_equal(*(each.predict(drawn(99, 5)[0]) for each in (blind, knows)))


# --- what is deployed ----------------------------------------------------------------------------------


def new_rows(n=400, seed=3):
    X, _, columns = rows(n, seed)
    return X, columns


@pytest.mark.parametrize("known", ["group", ["town", "group"]])
def test_files_decide_as_before(known, tmp_path):
    model = fitted(rb.equal_opportunity(BOTH, ratio=0.9), known, n=800)
    X, columns = new_rows()
    loaded = rb.load(model.save(tmp_path))
    assert list(loaded.decider.known) == [known] if isinstance(known, str) else known
    decided = model.predict(X, columns=columns)
    np.testing.assert_array_equal(loaded.predict(X, columns=columns), decided)
    with pytest.raises(ValueError, match="this policy decides by"):
        loaded.predict(X)
    alone = [loaded.predict(X[i : i + 1], columns={n: c[i : i + 1] for n, c in columns.items()})[0]
             for i in range(20)]  # fmt: skip
    np.testing.assert_array_equal(alone, decided[:20])


@pytest.mark.parametrize("case", ["pure", "both", "line", "slices", "classes"])
def test_onnx_graphs_decide_as_it_does(case, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    X, columns = new_rows()
    if case == "classes":
        table = animals(900, apart=1.5)
        model = rb.RateConstrainedClassifier(
            'recall(sex == "F", of="cat") >= 0.9 * recall(of="cat")', known="sex", random_state=0
        ).fit(table.X, table.y, columns=table.columns)
        X, columns = table.X, table.columns
    elif case == "slices":
        promises = [rb.positive_rate(group=g, age=age) <= 0.75 for g in "ab" for age in range(15)]

        def with_ages(n, seed):
            X, y, columns = rows(n, seed)
            return X, y, columns | {"age": np.random.default_rng(seed).integers(15, size=n)}

        model = fitted(promises, n=2000, rows=with_ages, confidence=None)
        assert model.learned.scorer.forecast.branches[0].of_slices
    else:
        known = {"pure": "group", "both": "group", "line": "town"}[case]
        promises = PARITY if case == "pure" else rb.equal_opportunity(BOTH, ratio=0.9)
        model = fitted(promises, known, n=3000 if case == "line" else 800)
    assert model.solution_.decider.known
    session = onnxruntime.InferenceSession(model.to_onnx(tmp_path / "model.onnx"))
    given = {each.name for each in session.get_inputs()}
    feeds = {"features": X.astype(np.float32), "key": np.arange(len(X))}
    feeds |= {name: np.asarray(values, dtype=object) for name, values in columns.items()}
    told = session.run(["decision", "scores"], {n: v for n, v in feeds.items() if n in given})
    ours = model.solution_.predict(X.astype(np.float32), columns=columns)
    places = [list(model.solution_.classes).index(each) for each in ours]
    assert np.mean(told[0] == places) > 0.995  # but for scores that are 0 up to rounding


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"given/lines": np.ones((2, 3))}, "no line each"),
        ({"given/lines": np.full((2, 2), np.nan)}, "no line each"),
        ({"given/lines": np.ones((0, 2))}, "no line each"),
        ({"given/branch 0": np.ones((3, 1))}, "do not fit its branches"),
        ({"given/branch 0": np.full((2, 1), 7)}, "do not fit its branches"),
    ],
)
def test_a_crafted_file_is_not_believed(changed, words):
    arrays = {"given/lines": np.array([[1.0, 0.0]] * 2), "given/branch 0": np.ones((2, 1))}
    assert Given.read(arrays, [1], 2).groups == 2
    with pytest.raises(ValueError, match=words):
        Given.read(arrays | changed, [1], 2)


def test_reasons_sum_to_the_score_of_the_own_group():
    model = fitted(rb.equal_opportunity(BOTH, ratio=0.9), n=1500)
    X, columns = new_rows(50)
    told = model.reasons(X, columns=columns)
    scores = model.decision_function(X, columns=columns)
    np.testing.assert_allclose(told.scores, scores, atol=1e-9)
    assert told.names[0] == "the objective"
    assert len(told.names) > 1
    np.testing.assert_array_equal(told.decisions, model.predict(X, columns=columns))


def test_other_promises_are_solved_without_a_fit():
    model = fitted(n=1500)
    other = model.with_constraints(PARITY.replace("0.9", "1.0"))
    fresh = fitted(PARITY.replace("0.9", "1.0"), n=1500)
    assert other.solution_.decider.known == model.solution_.decider.known == {"group": ("a", "b")}
    costs = [each.solution_.record.objectives[OUTSIDE] for each in (model, other, fresh)]
    assert costs[0] < costs[1]
    assert costs[1] == pytest.approx(costs[2], abs=0.004)
    X, columns = new_rows()
    rates = [other.predict(X, columns=columns)[columns["group"] == name].mean() for name in "ab"]
    assert rates[1] > 0.9 * rates[0]


def test_rows_of_no_known_group_are_decided_as_the_largest():
    def gaps(n, seed):
        X, y, columns = rows(n, seed, share=0.7)
        town = columns["town"].astype(object)
        town[::5] = None
        return X, y, columns | {"town": town}

    model = fitted(rb.equal_opportunity({"group": ("a", "b")}, ratio=0.9), ["group", "town"], rows=gaps)
    X, _, columns = gaps(200, 4)
    model.predict(X, columns=columns)  # a missing town is a group of its own
    largest = {"group": np.full(200, "a"), "town": np.full(200, "y")}
    with pytest.warns(UserWarning, match="decided as the largest group of training"):
        unseen = model.predict(X, columns={"group": np.full(200, "z"), "town": largest["town"]})
    np.testing.assert_array_equal(unseen, model.predict(X, columns=largest))


def test_audits_and_values_on_training_rows_are_of_what_is_deployed():
    model = fitted(n=800)
    X, y, columns = rows(800)
    report = model.audit(X, y, columns=columns)
    assert report.objective.value == pytest.approx(model.solution_.objectives["train"])
    decided = model.predict(X, columns=columns)
    assert model.solution_.objectives["train"] == pytest.approx(np.mean(decided != y))
    X, y, columns = rows(800, 5)
    certificate = model.certify(X, y, columns=columns)
    assert len(certificate.promises) == 1


def test_a_table_brings_its_own_columns(tmp_path):
    X, y, columns = rows(800)
    table = pd.DataFrame(X, columns=["u", "v"]).assign(**columns)
    model = rb.RateConstrainedClassifier(
        PARITY, known="group", features=["u", "v"], model="lightgbm", random_state=0
    ).fit(table, y)
    assert model.solution_.decider.known
    beside = model.predict(table[["u", "v"]], columns=table[["group"]])
    np.testing.assert_array_equal(model.predict(table), beside)
    assert model.predict({"u": 0.1, "v": 0.2, "group": "b"}).shape == (1,)


@pytest.mark.parametrize(
    "options",
    [
        {"certify": 0.3},
        {"fit": {"sample_weight": np.random.default_rng(0).choice([0.5, 1.0, 2.0], 800)}},
        {"objective": "cost(false_negative=3, false_positive=1)"},
        {"objective": "maximize f_score()"},
        {"model": "lightgbm"},
    ],
    ids=["certificate", "weights", "cost", "goal", "trees"],
)
def test_whatever_else_is_asked_for(options):
    if options.get("model") == "lightgbm":
        pytest.importorskip("lightgbm")
    model = fitted(n=800, **options)
    assert model.status_.feasible
    X, columns = new_rows()
    assert model.predict(X, **({"columns": columns} if model.solution_.decider.known else {})).shape == (
        400,
    )


def test_rows_of_other_populations_have_groups_too():
    X, y, columns = rows(800)
    pool = rb.Population(*[rows(500, 5)[0]], columns=rows(500, 5)[2])
    model = rb.RateConstrainedClassifier(
        [PARITY, 'positive_rate(on="pool") <= 0.6'], known="group", random_state=0, method="plug-in"
    ).fit(X, y, columns=columns, pool=pool)
    assert model.status_.feasible
    assert len(model.learned.compiled.cells) == 1300
    assert model.learned.compiled.sizes[FIRST] == 800


def test_too_many_groups_play_the_game():
    def with_ids(n, seed):
        X, y, columns = rows(n, seed)
        return X, y, columns | {"shop": np.arange(n) % 80}

    with pytest.raises(
        ValueError, match="shop has 80 values that decisions may use, and 64 is the most"
    ):
        fitted(known="shop", n=800, rows=with_ids)
