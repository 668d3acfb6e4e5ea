"""Certificates: which test each promise gets, against SciPy's; what is refused; small simulations."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

import ratebound._old as rb
from ratebound import RateConstrainedClassifier
from ratebound._bridge import make_policy
from ratebound._old.auditing.tally import counted
from ratebound._old.certifying._means import row_kinds
from ratebound._old.certifying._pair import Share, pair_p_value
from ratebound._old.certifying.certify import room_of

from ..pieces import InPieces
from .conftest import Decides, certified, mixture, people

SCORE = "exact score test (Berger–Boos)"
EXACT = "exact binomial test"
PAIRED = "exact score test of paired rows (Berger–Boos)"
JOINTLY = "Chernoff's bound, jointly"
F1 = 2 * rb.true_positives() / (2 * rb.true_positives() + rb.false_positives() + rb.false_negatives())


# --- one rate, or what comes down to one -------------------------------------------------------------


def counts(rows):
    """Labels and decisions of the rows, and the existing model's."""
    return rows.y, rows.X[:, 0] > 0, rows.columns["live"]


def test_one_rate_is_clopper_pearsons(sample):
    y, yes, _ = counts(sample)
    for promise, hits, among, more in [
        (rb.recall() >= 0.7, yes[y].sum(), y.sum(), "greater"),
        (rb.recall() <= 0.9, yes[y].sum(), y.sum(), "less"),
        (rb.false_positive_rate() <= 0.3, yes[~y].sum(), (~y).sum(), "less"),
        (1 - rb.error_rate() >= 0.7, (yes == y).sum(), len(y), "greater"),
        (rb.predicted_positives(per=1000) <= 600, yes.sum(), len(y), "less"),
    ]:
        found = certified(promise, sample)
        at = {0.7: 0.7, 0.9: 0.9, 0.3: 0.3, 600.0: 0.6}[promise.right.constant]
        expected = binomtest(int(hits), int(among), at, alternative=more).pvalue
        assert found.p_value == pytest.approx(expected, rel=1e-9), promise
        assert (found.method, found.rows) == (EXACT, among)


def test_ratios_are_binomial_among_the_rows_that_count(sample):
    y, yes, live = counts(sample)
    wins, losses = ((yes == y) & (live != y)).sum(), ((yes != y) & (live == y)).sum()
    right, wrong = (y & yes).sum(), (y ^ yes).sum()
    for promise, hits, among, at in [
        (rb.precision() >= 0.7, right, yes.sum(), 0.7),
        (rb.win_loss_ratio(versus="live") >= 1.1, wins, wins + losses, 1.1 / 2.1),
        (F1 >= 0.7, right, right + wrong, 0.7 / 1.3),  # F = 2q / (1 + q) of a share q
        (rb.accuracy() >= rb.accuracy_of(versus="live"), wins, wins + losses, 0.5),  # a sign test
        (rb.wins(versus="live") >= rb.losses(versus="live"), wins, wins + losses, 0.5),
    ]:
        found = certified(promise, sample)
        expected = binomtest(int(hits), int(among), at, alternative="greater").pvalue
        assert found.p_value == pytest.approx(expected, rel=1e-9), promise
        assert found.method == EXACT


def test_nothing_counts():
    rows = people(np.zeros(20, dtype=bool))
    found = certified(rb.precision() >= 0.5, rows)
    assert (found.p_value, found.holds, found.value, found.rows_needed) == (1.0, False, None, None)
    assert "no row here counts" in found.why


def test_promises_that_cannot_be_broken_or_shown():
    rows = people(np.ones(50, dtype=bool))
    assert certified(rb.predicted_positives(per=10) <= 40, rows).p_value == 0.0
    found = certified(rb.recall() >= 1.0, rows)
    assert (found.value, found.p_value, found.rows_needed) == (1.0, 1.0, None)


# --- several rates: known from the words, not from the sample ---------------------------------------

COLUMN = rb.column
ARRANGED = {
    "a group in everyone": (rb.recall(g="a") >= 0.9 * rb.recall(), SCORE),
    "everyone against a group": (rb.recall() <= 1.1 * rb.recall(g="a") + 0.01, SCORE),
    "two values of a column": (rb.recall(g="a") >= 0.9 * rb.recall(g="b"), SCORE),
    "a ratio of them": (rb.positive_rate(g="a") / rb.positive_rate(g="b") >= 0.8, SCORE),
    "the rest": (rb.recall(g="a") >= 0.9 * rb.recall(~rb.where(g="a")), SCORE),
    "among two of three": (rb.recall(g="a") >= 0.9 * rb.recall(g=("a", "b")), SCORE),
    "ages apart": (rb.recall(COLUMN("age") < 30) >= 0.9 * rb.recall(COLUMN("age") >= 30), SCORE),
    "ages inside": (rb.recall(COLUMN("age") < 30) >= 0.9 * rb.recall(COLUMN("age") <= 40), SCORE),
    "labels apart": (rb.recall(g="a") >= rb.true_negative_rate(g="a") - 0.2, SCORE),
    "the same indicator": (rb.recall(g="a") >= 0.8 * rb.accuracy(), SCORE),
    "its complement": (rb.false_negative_rate(g="a") <= 1.5 - rb.recall(), SCORE),
    "ages that overlap": (rb.recall(COLUMN("age") < 30) >= 0.9 * rb.recall(COLUMN("age") > 25), "box"),
    "two columns": (rb.recall(g="a") >= 0.9 * rb.recall(COLUMN("age") < 30), "box"),
    "three": (rb.recall(g="a") + rb.recall(g="b") - rb.recall(g="c") >= 0.5, JOINTLY),
    "two values and three": (
        rb.accuracy(g="a") - rb.accuracy_of(g="a", versus="live") >= rb.recall(g="b") - 1,
        "betting on both",
    ),
    "three values": (rb.accuracy() >= rb.accuracy_of(versus="live") - 0.1, PAIRED),
    "thresholds": (rb.recall(at=0) - rb.recall(at=0.5) <= 0.1, EXACT),
}


@pytest.mark.parametrize("name", ARRANGED)
def test_which_test_a_promise_gets(name, sample):
    promise, expected = ARRANGED[name]
    model = mixture(sample.X[:, 0])
    found = certified(promise, sample, model)
    assert found.method.startswith("2 bounds") or found.method.startswith("3 bounds") \
        if expected == "box" else found.method == expected  # fmt: skip
    assert 0 < found.p_value <= 1
    assert found.why == ""


def test_an_accident_of_the_sample_is_not_taken_for_a_rule():
    """No row here is both young and in group a, but the words allow it."""
    rows = people(np.arange(90) % 3 > 0, g=["a", "b", "c"] * 30, age=[50, 20, 50] * 30)
    found = certified(rb.recall(g="a") >= rb.recall(rb.column("age") < 30) - 0.9, rows)
    assert found.method == "2 bounds together (Clopper–Pearson)"


def test_other_populations_are_independent(sample):
    promise = rb.recall(on="pool") >= 0.7 * rb.recall()
    odd, even = sample.only(np.arange(1, 400, 2)), sample.only(np.arange(0, 400, 2))
    assert certified(promise, odd, pool=even).method == SCORE
    for pool in (odd, rb.Population(odd.X, odd.y)):  # unless they are made of the same table
        assert certified(promise, odd, pool=pool).method == "2 bounds together (Clopper–Pearson)"
    stored = InPieces.of(odd, 50)
    found = certified(promise, stored, pool=stored)
    assert found.method == "2 bounds together (Clopper–Pearson)"


@pytest.mark.parametrize(
    ("one", "other", "disjoint", "inside"),
    [
        (rb.where(g="a"), rb.where(g="b"), True, False),
        (rb.where(g="a"), rb.where(g=("a", "b")), False, True),
        (rb.where(g="a", h=1), rb.where(g="a"), False, True),
        (~rb.where(g="a"), rb.where(g="a"), True, False),
        (rb.column("x") < 3, rb.column("x") <= 3, False, True),
        (rb.column("x") < 3, rb.column("x") >= 3, True, False),
        (rb.column("x") == 3, rb.column("x") > 2, False, True),
        ((rb.column("x") > 1) & (rb.column("x") < 2), rb.column("x") > 1.5, False, False),
        (rb.where(g="a"), rb.where(h="a"), False, False),
        (rb.where(g=True), rb.where(g=1), False, True),
        (rb.column("x") != 3, rb.column("x") == 3, True, False),
    ],
    ids=str,
)
def test_what_words_say_of_two_sets(one, other, disjoint, inside):
    rates = rb.positive_rate(one).rates + rb.positive_rate(other).rates
    kinds = row_kinds(rates, (False, True))
    first, second = (kinds.inside(rate.subset) for rate in rates)
    assert bool((first & second).any()) is not disjoint
    assert bool((first & ~second).any()) is not inside


DAYS = np.array([np.datetime64(f"2024-{month:02d}-05") for month in range(1, 13)] * 10)
TEXTS = {
    "dates": DAYS,
    "objects": DAYS.astype("M8[s]").astype(object),
    "year first": [f"{day.year}-{day.month}-{day.day}" for day in DAYS.tolist()],
    "day first": [f"{day.day}.{day.month}.{day.year}" for day in DAYS.tolist()],
}


@pytest.mark.parametrize("kind", TEXTS)
def test_conditions_on_dates_share_the_rows_that_they_share(kind):
    """The letters of `"2024-10-1"` come before those of `"2024-2-1"`."""
    rows = people(np.arange(120) % 3 > 0, day=TEXTS[kind])
    early, late = ("1.10.2024", "1.2.2024") if kind == "day first" else ("2024-10-1", "2024-2-1")
    day = rb.column("day")
    found = {
        "overlapping": certified(rb.recall(day < early) + rb.recall(day >= late) >= 0.5, rows),
        "apart": certified(rb.recall(day < late) >= rb.recall(day >= early) - 0.5, rows),
        "inside": certified(rb.recall(day < late) >= rb.recall(day < early) - 0.5, rows),
    }
    assert found["overlapping"].method == "2 bounds together (Clopper–Pearson)"
    assert found["apart"].method == found["inside"].method == SCORE


def test_one_day_in_two_spellings_is_one_set_of_rows():
    rows = people(np.arange(120) % 3 > 0, day=DAYS)
    same = rb.recall(day="2024-3-5") - rb.recall(day="2024-03-05")
    assert certified(same >= -0.1, rows).method == "kept whatever is decided"
    broken = certified(same >= 0.1, rows)
    assert (broken.method, broken.holds) == ("broken whatever is decided", False)
    (needed,) = rb.rows_needed(rb.Problem(rb.error_rate(), [same >= -0.1]), rows, margin=0.1).promises
    assert (needed.rows_needed, needed.why) == (None, "kept whatever is decided")
    spelled = np.where(np.arange(120) % 2, "2024-3-5", "2024-03-05")  # among texts they are two
    found = certified(same >= -0.1, people(np.arange(120) % 3 > 0, day=spelled))
    assert found.method == SCORE


def test_false_certificates_of_dates_are_rare():
    random, wrong, redraws = np.random.default_rng(0), 0, 100
    day = rb.column("day")
    promise = rb.recall(day < "2024-10-1") + rb.recall(day >= "2024-2-1") >= 1.6
    for _ in range(redraws):  # each row is in both sets
        days = DAYS[random.integers(2, 9, 60)]
        wrong += certified(promise, people(random.random(60) < 0.8, day=days)).holds
    assert wrong / redraws <= 0.05


def test_before_any_row_a_text_may_be_a_date():
    """A monitor is made before the columns are known."""
    early, late = rb.column("day") < "2024-10-1", rb.column("day") >= "2024-2-1"
    rates = rb.recall(early).rates + rb.recall(late).rates
    kinds = row_kinds(rates, (False, True))
    assert (kinds.inside(rates[0].subset) & kinds.inside(rates[1].subset)).any()


def test_at_two_thresholds_two_classes_may_be_decided():
    rates = rb.positive_rate(of="cat", at=0).rates + rb.positive_rate(of="dog", at=0.5).rates
    classes = ("bird", "cat", "dog")
    kinds = row_kinds(rates, classes)
    assert (counted(kinds, rates[0], classes) * counted(kinds, rates[1], classes)).any()


def test_too_many_kinds_of_rows_conclude_nothing(sample):
    parts = [rb.where(**{f"c{i}": 1}) for i in range(20)]
    every = parts[0]
    for part in parts[1:]:
        every = every | part
    assert row_kinds(rb.positive_rate(every).rates, (False, True)) is None
    columns = {f"c{i}": np.arange(40) % 20 == i for i in range(20)}
    rows = people(np.arange(40) % 4 > 0, **columns)
    assert certified(rb.recall(every) >= 0.1, rows).method == "betting"


# --- two ratios compared ----------------------------------------------------------------------------


def test_two_precisions_are_two_proportions_of_the_yeses(sample):
    y, yes, _ = counts(sample)
    g = np.asarray(sample.columns["g"])
    a, b = ((yes & y & (g == each)).sum() for each in "ab")
    n, m = ((yes & (g == each)).sum() for each in "ab")
    found = certified(rb.precision(g="a") >= 0.8 * rb.precision(g="b"), sample)
    expected = pair_p_value(Share(int(a), int(n), 1.0), Share(int(b), int(m), -0.8), 0.0, 0.001)
    assert (found.method, found.p_value, found.rows) == (SCORE, expected, min(n, m))
    assert (found.value, found.bound) == pytest.approx((a / n, 0.8 * b / m))
    turned = certified(0.8 * rb.precision(g="b") <= rb.precision(g="a"), sample)
    assert turned.p_value == pytest.approx(expected, rel=1e-9)
    inside = certified(rb.precision(g="a") >= 0.8 * rb.precision(), sample)
    assert inside.method == SCORE
    apart = certified(rb.precision(g="a") >= 0.8 * rb.precision(age=30), sample)
    assert apart.method == "2 bounds together (Clopper–Pearson)"


def test_a_certificate_of_two_ratios_is_written_and_read(sample):
    problem = rb.Problem(rb.error_rate(), ['precision(g == "a") >= 0.8 * precision(g == "b")'])
    found = rb.certify(problem, Decides(), sample)
    assert rb.Certificate.from_dict(found.to_dict()) == found
    assert 'precision(g == "a") >= 0.8 * precision(g == "b")' in str(found)


def test_two_ratios_that_are_not_proportions_are_refused(sample):
    found = certified(rb.f_score(g="a") >= 0.8 * rb.f_score(g="b"), sample)
    assert not found.holds
    assert "no exact test" in found.why
    nobody = people(np.zeros(20, dtype=bool), g=["a", "b"] * 10)
    found = certified(rb.precision(g="a") >= 0.8 * rb.precision(g="b"), nobody)
    assert "no row here counts" in found.why


def test_false_certificates_of_two_precisions_are_rare():
    random, wrong, redraws = np.random.default_rng(0), 0, 150
    promise = rb.precision(g="a") >= 0.8 * rb.precision(g="b")
    for _ in range(redraws):  # .64 and .8
        yes, g = random.random(120) < 0.5, random.choice(["a", "b"], 120)
        y = random.random(120) < np.where(yes, np.where(g == "a", 0.64, 0.8), 0.2)
        wrong += certified(promise, people(yes, y, g=g)).holds
    assert wrong / redraws <= 0.05 + 2 * (0.05 * 0.95 / redraws) ** 0.5


# --- all of them together ----------------------------------------------------------------------------


def test_all_hold_together_at_the_largest_p_value():
    """No correction is due where all are shown; on their own, Holm's."""
    yes = np.arange(400) % 20 > 0  # 95%
    rows = people(yes, g=["a", "b"] * 200)
    promises = [rb.recall(g="a") >= 0.85, rb.recall(g="b") >= 0.9, rb.recall() >= 0.93]
    problem = rb.Problem(rb.positive_rate(), promises)
    found = rb.certify(problem, Decides(), rows)
    p = [promise.p_value for promise in found.promises]
    assert not found.holds
    assert p[2] > 0.05
    assert [promise.holds for promise in found.promises] == [p[0] <= 0.05 / 3, p[1] <= 0.05 / 2, False]
    level = 1 - max(p) - 1e-9
    together = rb.certify(problem, Decides(), rows, confidence=level)
    assert together.holds
    assert all(promise.holds for promise in together.promises)


def test_no_promises():
    found = rb.certify(rb.Problem(rb.positive_rate()), Decides(), people([1, 0]))
    assert found.holds
    assert "nothing to certify" in str(found)


def test_goals_are_spelled_out_and_absent_groups_refused(sample):
    problem = rb.Problem(rb.error_rate(), ["equal_opportunity(g, ratio=0.8)"])
    assert len(rb.certify(problem, Decides(), sample).promises) == 3
    few = people([1, 1, 1, 0], [1, 1, 1, 0], g=["a", "a", "b", "c"])
    found = rb.certify(rb.Problem(rb.error_rate(), [rb.recall(g="c") >= 0.5]), Decides(), few)
    (promise,) = found.promises
    assert (promise.p_value, promise.holds, promise.value, promise.rows) == (1.0, False, None, 0)
    assert "no row" in promise.why
    with pytest.raises(ValueError, match='no row has g == "x"'):  # a slip
        rb.certify(rb.Problem(rb.error_rate(), [rb.recall(g="x") >= 0.5]), Decides(), few)


def test_groups_without_rows_are_refused_by_name(sample):
    """Such a count is 0 of all rows; of the group they show nothing."""
    nobody = rb.where(g="a") & rb.where(g="b")
    for promise in (
        rb.false_positives(nobody, per=1000) <= 60,
        rb.false_positives(nobody, per=1000) <= rb.false_positives(g="c", per=1000),
        rb.precision(nobody) >= 0.5,
        rb.recall(nobody) >= 0.5,
        rb.recall(nobody) >= rb.recall() - 0.1,
    ):
        found = certified(promise, sample)
        assert (found.p_value, found.holds, found.rows, found.rows_needed) == (1.0, False, 0, None)
        assert re.search('no row.*g == "a" and g == "b"', found.why), found.why
        (needed, *_) = rb.rows_needed(rb.Problem(rb.error_rate(), [promise]), sample).promises
        assert (needed.rows, needed.rows_needed) == (0, None)
        assert re.search('no row.*g == "a" and g == "b"', needed.why), needed.why


def test_slips_are_told(sample):
    problem = rb.Problem(rb.error_rate(), [rb.recall() >= 0.5])
    with pytest.raises(TypeError, match=r"certify takes promises first, .* got int"):
        rb.certify(3, Decides(), sample)
    with pytest.raises(TypeError, match=r"third argument must be a rb\.Population"):
        rb.certify(problem, Decides(), sample.X)
    with pytest.raises(ValueError, match=r"confidence, a probability such as 0\.95"):
        rb.certify(problem, Decides(), sample, confidence=95)


def test_rooms_of_promises():
    assert room_of(rb.recall() >= 0.5) == rb.recall() - 0.5
    assert room_of(rb.recall() <= 0.5) == 0.5 - rb.recall()
    assert room_of(rb.precision() >= 0.5) == rb.true_positives() - 0.5 * rb.predicted_positives()


# --- mixtures ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained():
    random = np.random.default_rng(0)
    X = random.normal(size=(1200, 2))
    y = X[:, 0] + random.normal(size=1200) > 0
    rows, others = (
        rb.Population(X[part], y[part], columns={"g": X[part, 1] > 0})
        for part in (slice(600), slice(600, None))
    )
    problem = rb.Problem(rb.error_rate(), [rb.recall(g=True) >= 0.6, rb.positive_rate() <= 0.7])
    trace = rb.play(rb.compile(problem, rows), rb.Linear(0.1), rounds=30, batch_size=None)
    return problem, rb.average(trace), others


def test_a_mixture_is_certified_on_what_it_decides(trained):
    problem, mixed, rows = trained
    assert len(mixed) > 1
    found = rb.certify(problem, mixed, rows)
    yes = mixed.predict(rows.X)
    group = rows.y & rows.columns["g"]
    expected = binomtest(int(yes[group].sum()), int(group.sum()), 0.6, alternative="greater").pvalue
    assert found.promises[0].p_value == pytest.approx(expected)
    assert found.promises[0].value == pytest.approx(yes[group].mean())
    assert "on the decisions that it makes" in found.model
    salted = replace(mixed, decider=mixed.decider.salted(5))
    assert rb.certify(problem, salted, rows).promises[0].value != found.promises[0].value


def test_or_in_expectation(trained):
    problem, mixed, rows = trained
    found = rb.certify(problem, mixed, rows, in_expectation=True)
    assert found.promises[0].method == "Hoeffding–Bentkus bound"
    assert found.promises[0].value == rb.audit(problem, mixed, rows).promises[0].value
    assert found.model.endswith("in expectation")
    pair = certified(rb.recall(g=True) >= 0.5 * rb.recall(), rows, mixed, in_expectation=True)
    assert pair.method == "2 bounds together (Hoeffding–Bentkus)"


def test_members_without_a_hash_only_in_expectation(sample):
    both = mixture(sample.X[:, 0], -sample.X[:, 0])
    with pytest.raises(TypeError, match="in_expectation=True"):
        certified(rb.recall() >= 0.2, sample, both)
    assert certified(rb.recall() >= 0.3, sample, both, in_expectation=True).p_value < 0.001


def test_areas_and_learned_thresholds_are_refused(sample):
    one, two = mixture(sample.X[:, 0]), mixture(sample.X[:, 0], -sample.X[:, 0])
    found = certified(rb.roc_auc() >= 0.5, sample, one)
    assert found.p_value == 1.0
    assert "no exact test" in found.why
    one.thresholds, two.thresholds = {"t": np.array([0.5])}, {"t": np.array([0.5, 0.6])}
    promise = rb.recall(at="t") >= 0.2
    assert certified(promise, sample, one).method == EXACT
    assert certified(promise, sample, two, in_expectation=True).why == ""


def test_it_is_kept_with_the_model(trained, tmp_path):
    problem, mixed, rows = trained
    found = rb.certify(problem, mixed, rows)
    loaded = rb.load(mixed.recorded(certificate=found).save(tmp_path))
    assert loaded.certificate == found
    assert rb.certify(problem, loaded, rows) == found


# --- weights ----------------------------------------------------------------------------------------


def test_equal_weights_are_none(sample):
    promise = rb.recall(g="a") >= 0.9 * rb.recall()
    heavy = rb.Population(sample.X, sample.y, columns=sample.columns, weights=np.full(400, 2.5))
    assert certified(promise, heavy).p_value == certified(promise, sample).p_value


def test_unequal_weights_are_bet_on(sample):
    weights = np.where(np.arange(400) % 2, 1.0, 3.0)
    heavy = rb.Population(sample.X, sample.y, columns=sample.columns, weights=weights)
    found = certified(rb.recall() >= 0.5, heavy)
    assert found.method.startswith("betting, taking no row to weigh more")
    assert found.holds
    assert (
        found.value
        == rb.audit(rb.Problem(rb.error_rate(), [rb.recall() >= 0.5]), Decides(), heavy)
        .promises[0]
        .value
    )


# --- what is certified -------------------------------------------------------------------------------


def test_an_estimator_or_any_classifier():
    from sklearn.linear_model import LogisticRegression

    random = np.random.default_rng(6)
    X = random.normal(size=(1000, 2))
    y = np.where(X[:, 0] + random.normal(size=1000) > 0, "yes", "no")
    problem = rb.Problem(rb.error_rate(), [rb.recall() >= 0.5])
    train, (X, y) = (X[:500], y[:500]), (X[500:], y[500:])
    rows = rb.Population(X, y, positive="yes")
    plain = rb.certify(problem, LogisticRegression().fit(*train), rows)
    assert plain.model == "one model (LogisticRegression)"
    fitted = make_policy(RateConstrainedClassifier("recall() >= 0.9", random_state=0).fit(*train))
    found = rb.certify(problem, fitted, rows)
    assert found.promises[0].p_value < plain.promises[0].p_value
    assert plain.holds
    assert found.promises[0].value == pytest.approx((fitted.predict(X) == "yes")[y == "yes"].mean())


@pytest.mark.parametrize("hits", range(80, 101))
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_one_promise_is_certified_where_the_audit_says_that_it_holds(hits, level):
    """Both mean the same by 95%: a promise that does not hold is said to in at most 5 of 100 samples."""
    says = type("Says", (), {"predict": lambda self, X: np.asarray(X)[:, 0].astype(int)})()
    people = rb.Population((np.arange(100) < hits)[:, None].astype(float), np.ones(100, int))
    problem = rb.Problem("error_rate()", "recall() >= 0.8")
    audited = rb.audit(problem, says, people, confidence=level).promises[0].verdict == "holds"
    assert audited == rb.certify(problem, says, people, confidence=level).holds
