"""Audits of more than two classes, against direct computations that share no code with the package."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix

import ratebound._old as rb
from ratebound._old.auditing.auditing import audit
from ratebound._old.auditing.influence import covariance
from ratebound._old.auditing.judged import judged
from ratebound._old.auditing.tallying import tallied

CLASSES = ("bird", "cat", "dog")
WEIGHTS = np.array([0.5, 0.2, 0.3])


def mixture(weights=WEIGHTS, classes=CLASSES):
    """Members whose scores are the columns of X, D for each member in turn."""
    return SimpleNamespace(
        weights=np.asarray(weights, dtype=float),
        thresholds={},
        classes=classes,
        member_scores=lambda X: np.asarray(X).reshape(len(X), len(weights), -1).swapaxes(1, 2),
    )


def draw(seed=0, n=500, members=3, weighted=False):
    """Rows with scores of three classes for each member, labels, groups and an existing model."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    X = rng.normal(size=(n, members, 3)) + 1.2 * np.eye(3)[y][:, None]
    live = np.where(rng.random(n) < 0.7, y, rng.choice(3, n))
    columns = {"sex": rng.choice(["F", "M"], n, p=[0.3, 0.7]), "live": np.array(CLASSES)[live]}
    weights = rng.choice([0.5, 1.0, 3.0], n) if weighted else None
    return rb.Population(X.reshape(n, -1), np.array(CLASSES)[y], columns=columns, weights=weights)


@pytest.fixture(params=[False, True], ids=["unweighted", "weighted"])
def people(request):
    return draw(weighted=request.param)


def direct(people):
    """To write definitions with: probability of each class, label, women, existing model, weight."""
    decided = people.X.reshape(len(people), 3, 3).argmax(axis=2)  # of each member
    f = np.stack([(decided == d) @ WEIGHTS for d in range(3)], axis=1)
    v = np.ones(len(people)) if people.weights is None else people.weights
    live = np.array([CLASSES.index(each) for each in people.columns["live"]])
    return f, people.y, people.columns["sex"] == "F", live, v


def mean(values, rows, v):
    return (v * values)[rows].sum() / v[rows].sum()


BIRD, CAT, DOG = range(3)
DEFINITIONS = {
    "recall": (
        rb.recall(of="cat", sex="F") >= 0.9,
        lambda f, y, w, h, v: mean(f[:, CAT], w & (y == CAT), v),
    ),
    "of the first": (rb.recall(of="bird") >= 0.9, lambda f, y, w, h, v: mean(f[:, BIRD], y == BIRD, v)),
    "false positives": (
        rb.false_positive_rate(of="dog") <= 0.1,
        lambda f, y, w, h, v: mean(f[:, DOG], y != DOG, v),
    ),
    "says": (rb.positive_rate(of="dog", sex="F") <= 0.1, lambda f, y, w, h, v: mean(f[:, DOG], w, v)),
    "prevalence": (rb.prevalence(of="cat") <= 0.1, lambda f, y, w, h, v: mean(y == CAT, v > 0, v)),
    "accuracy": (
        rb.accuracy(sex="F") >= 0.8,
        lambda f, y, w, h, v: mean(f[np.arange(len(y)), y], w, v),
    ),
    "confusion": (
        rb.confusion(label="cat", predicted="dog") <= 0.1,
        lambda f, y, w, h, v: mean(f[:, DOG], y == CAT, v),
    ),
    "churn": (
        rb.churn(versus="live") <= 0.1,
        lambda f, y, w, h, v: 1 - mean(f[np.arange(len(y)), h], v > 0, v),
    ),
    "count": (
        rb.predicted_positives(of="cat", sex="F", per=1000) <= 300,
        lambda f, y, w, h, v: (v * f[:, CAT])[w].sum() * 1000 / v.sum(),
    ),
    "precision": (
        rb.precision(of="cat") >= 0.7,
        lambda f, y, w, h, v: (v * f[:, CAT])[y == CAT].sum() / (v * f[:, CAT]).sum(),
    ),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_values_are_those_of_the_definition(name, people):
    promise, definition = DEFINITIONS[name]
    report = audit(rb.Problem(rb.error_rate(), [promise]), mixture(), people)
    found = report.promises[0]
    assert found.value == pytest.approx(definition(*direct(people)), abs=1e-12)
    assert found.slack_low < found.slack < found.slack_high
    assert report.objective.value == pytest.approx(
        1
        - DEFINITIONS["accuracy"][1](
            *direct(people)[:2], np.ones(len(people), bool), *direct(people)[3:]
        )
    )


def test_a_classifier_is_judged_by_what_it_predicts(people):
    model = LogisticRegression().fit(people.X, np.array(CLASSES)[people.y])
    report = audit(rb.Problem(rb.error_rate(), [rb.recall(of="cat") >= 0.5]), model, people)
    decided = model.predict(people.X)
    table = confusion_matrix(np.array(CLASSES)[people.y], decided, sample_weight=people.weights)
    assert np.allclose(report.confusions[0].counts, table)
    assert report.promises[0].value == pytest.approx(table[1, 1] / table[1].sum())
    assert report.groups[0].accuracy == pytest.approx(np.trace(table) / table.sum())


def test_covariance_of_drawn_decisions_is_that_of_drawing_them():
    people = draw(n=60)
    promises = [
        rb.recall(of="cat") >= 0.5, rb.recall(of="dog") >= 0.5, rb.positive_rate(of="cat") <= 0.9,
        rb.accuracy() >= 0.5, rb.confusion(label="bird", predicted="dog") <= 0.4,
    ]  # fmt: skip
    problem = rb.Problem(rb.error_rate(), promises)
    tally = tallied(judged(mixture()), {"train": people}, problem.rates)
    more = covariance(tally, problem.demands, drawn=True) - covariance(tally, problem.demands)
    f, y, *_ = direct(people)
    rng, values = np.random.default_rng(0), []
    for _ in range(20_000):
        d = (rng.random(len(y))[:, None] > np.cumsum(f, axis=1)).sum(axis=1).clip(max=2)
        values.append([
            -(d == CAT)[y == CAT].mean(), -(d == DOG)[y == DOG].mean(), (d == CAT).mean(),
            -(d == y).mean(), (d == DOG)[y == BIRD].mean(),
        ])  # fmt: skip
    assert np.allclose(more, np.cov(np.array(values).T), atol=2e-4)


TRUE = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.3, 0.1, 0.6]])  # decisions by label
COVERED = {
    "one": (rb.recall(of="cat") >= 0, 0.7),
    "two apart": (rb.recall(of="bird") - rb.recall(of="dog") >= 0, 0.2),
    "all": (rb.accuracy() >= 0, 0.5 * 0.8 + 0.3 * 0.7 + 0.2 * 0.6),
    "decisions": (rb.positive_rate(of="bird") - rb.positive_rate(of="dog") >= 0, 0.52 - 0.2),
    "confused": (
        rb.confusion(label="dog", predicted="bird") - rb.confusion(label="dog", predicted="cat") >= 0,
        0.2,
    ),
}


@pytest.mark.parametrize("name", COVERED)
def test_intervals_hold_the_truth(name):
    promise, truth = COVERED[name]
    rng, covered, samples = np.random.default_rng(len(name)), 0, 200
    for _ in range(samples):
        y = rng.choice(3, 80, p=[0.5, 0.3, 0.2])
        y[:3] = range(3)
        decided = (rng.random(80)[:, None] > np.cumsum(TRUE[y], axis=1)).sum(axis=1)
        rows = rb.Population(np.eye(3)[decided], np.array(CLASSES)[y])
        problem = rb.Problem(rb.error_rate(), [promise])
        found = audit(problem, mixture([1.0]), rows, confidence=0.975).promises[0]
        covered += found.slack_low <= truth <= found.slack_high
    assert covered / samples >= 0.95 - 3 * (0.95 * 0.05 / samples) ** 0.5


def test_tables_of_labels_and_decisions(people):
    promises = [rb.recall(of="cat", sex="F") >= 0.5, rb.recall(of="dog", sex="M") >= 0.5]
    report = audit(rb.Problem(rb.error_rate(), promises), mixture(), people)
    assert [each.words for each in report.confusions] == ["everyone", 'sex == "F"', 'sex == "M"']
    f, y, w, _, v = direct(people)
    for table, rows in zip(report.confusions, (v > 0, w, ~w), strict=True):
        expected = [[(v * f[:, d])[rows & (y == c)].sum() for d in range(3)] for c in range(3)]
        assert np.allclose(table.counts, expected)
        assert np.allclose(table.shares, np.array(expected) / np.sum(expected, axis=1)[:, None])
        assert np.allclose(table.decided, np.sum(expected, axis=0))
    text = str(report)
    assert "label" in text
    assert "positive" not in text
    assert "everyone: what rows of each label are decided to be" in text
    page = report.render("html")
    shown = page.split("Labels and decisions</h2>")[1].split("</section>")[0]
    assert shown.count("<table") == 3
    found = json.loads(report.render("json"))
    assert found["confusions"][1]["classes"] == list(CLASSES)
    assert np.allclose(found["confusions"][1]["counts"], report.confusions[1].counts)


def test_tables_as_a_frame(people):
    pytest.importorskip("pandas")
    report = audit(rb.Problem(rb.error_rate()), mixture(), people)
    frame = report.to_frame("confusions")
    assert frame["count"].sum() == pytest.approx(people.total_weight)
    assert set(frame["decision"]) == set(CLASSES)


def test_rows_without_labels_have_decisions_only(people):
    pool = rb.Population(people.X)
    problem = rb.Problem(rb.error_rate(), [rb.positive_rate(of="cat", on="pool") <= 0.5])
    report = audit(problem, mixture(), people, pool=pool)
    table = report.confusions[1]
    assert table.population == "pool"
    assert table.counts is None
    assert table.shares is None
    assert report.promises[0].value == pytest.approx(table.decided[1] / len(pool))
    assert "pool: everyone" in str(report)


def test_rows_that_lack_a_class_are_judged_among_all_of_them(people):
    some = np.flatnonzero(people.y != BIRD)
    few = rb.Population(people.X[some], np.array(CLASSES)[people.y[some]], positive="dog")
    report = audit(rb.Problem(rb.error_rate(), [rb.recall(of="cat") >= 0.1]), mixture(), few)
    assert report.confusions[0].classes == CLASSES
    promise = rb.recall(of="bird") >= 0.1
    missed = audit(rb.Problem(rb.error_rate(), [promise]), mixture(), few).promises[0]
    assert missed.verdict == "not measured"
    assert '"bird"' in missed.why


def test_labels_that_were_not_trained_on_are_named(people):
    strange = rb.Population(people.X[:3], ["bird", "cat", "fox"])
    with pytest.raises(ValueError, match="fox"):
        audit(rb.Problem(rb.error_rate()), mixture(), strange)
    with pytest.raises(ValueError, match=r'"fox".*"bird", "cat", "dog"'):
        audit(rb.Problem(rb.error_rate(), [rb.recall(of="fox") >= 0.1]), mixture(), people)


def test_a_model_of_two_classes_does_not_decide_among_three(people):
    class Two:
        def predict(self, X):
            return np.ones(len(X), dtype=bool)

    with pytest.raises(ValueError, match="not one of the classes"):
        audit(rb.Problem(rb.error_rate()), Two(), people)
