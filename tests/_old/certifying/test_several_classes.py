"""Certificates and monitors of more than two classes: exact tests, and false verdicts by simulation."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest

import ratebound._old as rb
from ratebound._old.auditing.tally import counted, over_of
from ratebound._old.certifying._means import row_kinds

CLASSES = ("bird", "cat", "dog")
DELTA, REDRAWS = 0.1, 150
MOST = binom.isf(0.01, REDRAWS, DELTA) / REDRAWS  # false ones, were each as likely as may be


class Decides:
    """A model whose decisions are the first feature, numbers of classes."""

    def predict(self, X):
        return np.array(CLASSES)[np.asarray(X)[:, 0].astype(int)]


def people(decided, y, **columns):
    return rb.Population(np.asarray(decided)[:, None], np.array(CLASSES)[y], columns=columns)


def certified(promise, rows, **options):
    return rb.certify(rb.Problem(rb.error_rate(), [promise]), Decides(), rows, **options).promises[0]


def decisions(random, chances):
    """A decision for each row, by the chances (n, 3) of the classes."""
    return (random.random(len(chances))[:, None] > np.cumsum(chances, axis=1)).sum(axis=1).clip(max=2)


def draw(random, n, right):
    """Labels, and decisions that are right with these chances (3,), otherwise either of the others."""
    y = random.integers(0, 3, n)
    y[:3] = range(3)
    chances = (1 - right[y])[:, None] / 2 * np.ones((n, 3))
    chances[np.arange(n), y] = right[y]
    return y, decisions(random, chances)


@pytest.mark.parametrize("of", CLASSES)
def test_a_rate_of_one_class_is_binomial(of):
    random = np.random.default_rng(1)
    y, d = draw(random, 300, np.array([0.8, 0.9, 0.85]))
    own = CLASSES.index(of)
    found = certified(rb.recall(of=of) >= 0.75, people(d, y))
    hits, rows = int((d == own)[y == own].sum()), int((y == own).sum())
    assert found.p_value == pytest.approx(binomtest(hits, rows, 0.75, "greater").pvalue)
    assert found.method == "exact binomial test"
    assert found.rows == rows
    found = certified(rb.precision(of=of) >= 0.75, people(d, y))
    hits, rows = int((y == own)[d == own].sum()), int((d == own).sum())
    assert found.p_value == pytest.approx(binomtest(hits, rows, 0.75, "greater").pvalue)
    found = certified(rb.error_rate() <= 0.3, people(d, y))
    assert found.p_value == pytest.approx(binomtest(int((d == y).sum()), 300, 0.7, "greater").pvalue)


def test_what_words_say_of_classes():
    rates = [rb.recall(of=of).rates[0] for of in CLASSES]
    kinds = row_kinds([*rates, rb.accuracy().rates[0]], CLASSES)
    overs = np.array([kinds.inside(over_of(rate, CLASSES)) for rate in rates])
    assert (overs.sum(axis=0) == 1).all()  # a row has one label, and these are all there are
    right = np.array([counted(kinds, rate, CLASSES) for rate in rates])
    assert (right.sum(axis=0) == counted(kinds, rb.accuracy().rates[0], CLASSES)).all()
    said = row_kinds([rb.positive_rate(of=of).rates[0] for of in CLASSES[:2]], CLASSES)
    yes = np.array([counted(said, rb.positive_rate(of=of).rates[0], CLASSES) for of in CLASSES[:2]])
    assert yes.sum(axis=0).max() == 1
    assert yes.sum(axis=0).min() == 0
    existing = row_kinds(rb.churn(versus="live").rates, CLASSES)
    assert len(existing) == 9  # each class decided, each class decided before


FORMS = {
    "one recall": (rb.recall(of="cat") >= 0.8, [0.8, 0.8, 0.8]),
    "two labels": (rb.recall(of="cat") >= rb.recall(of="dog") - 0.1, [0.9, 0.6, 0.7]),
    "accuracy": (rb.accuracy() >= 0.7, [0.7, 0.7, 0.7]),
    "precision": (rb.precision(of="cat") >= 0.8, [0.8, 0.8, 0.8]),
    "confusion": (rb.confusion(label="cat", predicted="dog") <= 0.1, [0.9, 0.8, 0.7]),
    "label in all": (rb.recall(of="cat") >= rb.accuracy() - 0.1, [0.8, 0.65, 0.8]),
    "two decisions": (rb.positive_rate(of="cat") <= rb.positive_rate(of="dog") + 0.1, [1.0, 0.9, 0.6]),
}


@pytest.mark.parametrize("name", FORMS)
def test_false_certificates_are_rare(name):
    """With the promise just kept, or just broken, on the whole population."""
    promise, right = FORMS[name]
    random = np.random.default_rng([*name.encode()])
    wrong = 0
    for _ in range(REDRAWS):
        y, d = draw(random, 90, np.array(right))
        wrong += certified(promise, people(d, y), confidence=1 - DELTA).p_value <= DELTA
    assert wrong / REDRAWS <= MOST


def test_rows_needed_count_the_class():
    rows = people(np.zeros(900), np.repeat([0, 1, 2], [600, 200, 100]))
    needed = rb.rows_needed(rb.Problem(rb.error_rate(), [rb.recall(of="dog") >= 0.8]), rows, margin=0.05)
    two = rb.Population(None, np.repeat([0, 1], [800, 100]))
    other = rb.rows_needed(rb.Problem(rb.error_rate(), [rb.recall() >= 0.8]), two, margin=0.05)
    assert needed.promises[0].rows == 100
    assert needed.promises[0].rows_needed == other.promises[0].rows_needed
    assert needed.promises[0].rows_in_all == pytest.approx(9 * 388, rel=0.01)


PROBLEM = rb.Problem(
    rb.error_rate(), [rb.recall(of="cat", g="a") >= 0.7, rb.positive_rate(of="dog") <= 0.6]
)


def stream(random, n, right):
    y, d = draw(random, n, np.asarray(right))
    return np.array(CLASSES)[d], np.array(CLASSES)[y], {"g": random.choice(["a", "b"], n)}


def test_a_monitor_sees_a_class_that_is_missed():
    monitor = rb.Monitor(PROBLEM, classes=CLASSES)
    for seed in range(10):
        monitor.update(*stream(np.random.default_rng(seed), 200, [0.9, 0.4, 0.9]))
    assert [alarm.constraint for alarm in monitor.alarms] == [PROBLEM.constraints[0]]
    assert monitor.watches[1].verdict == "kept"
    again = rb.Monitor.from_json(monitor.to_json())
    assert again.state == monitor.state
    assert again.classes == CLASSES


def test_a_monitor_seldom_alarms_where_promises_are_kept():
    random, alarms = np.random.default_rng(2), 0
    for _ in range(40):
        monitor = rb.Monitor(PROBLEM, confidence=0.8, classes=CLASSES)
        monitor.update(*stream(random, 500, [0.8, 0.71, 0.8]))
        alarms += bool(monitor.alarms)
    assert alarms <= binom.isf(0.01, 40, 0.2)


def test_tallies_of_a_monitor_are_the_rates():
    monitor = rb.Monitor(PROBLEM, classes=CLASSES)
    decided, labels, columns = stream(np.random.default_rng(0), 300, [0.9, 0.4, 0.9])
    monitor.update(decided, labels, columns)
    cats = (labels == "cat") & (columns["g"] == "a")
    assert monitor.watches[0].sides[0] == pytest.approx((decided[cats] == "cat").mean())
    assert monitor.watches[1].sides[0] == pytest.approx((decided == "dog").mean())


def test_a_monitor_of_several_classes_refuses_what_it_does_not_know():
    monitor = rb.Monitor(PROBLEM, classes=CLASSES)
    with pytest.raises(ValueError, match=r"decisions holds 'fox'.*'bird', 'cat', 'dog'"):
        monitor.update(["cat", "fox"], ["cat", "cat"], {"g": ["a", "b"]})
    with pytest.raises(ValueError, match='no class "cat"'):
        rb.Monitor(PROBLEM)
    with pytest.raises(ValueError, match="more than two classes have no yes"):
        rb.Monitor(PROBLEM, classes=CLASSES, positive="cat")
    with pytest.raises(ValueError, match="different labels"):
        rb.Monitor(PROBLEM, classes=("cat", "cat"))
    assert monitor.rows == {"train": 0}
