"""Rates with referrals equal what a loop over rows counts; a ratio plus a sum is solved."""

import itertools

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.auditing.judged import scored
from ratebound._old.auditing.tally import value
from ratebound._old.auditing.tallying import tallied
from ratebound._old.game.programs import best_goal_mixture
from ratebound._old.problem.problem import from_plain, to_plain
from ratebound._old.rates.expressions import Expression

REFER = "ask"
rng = np.random.default_rng(3)
N = 400
LABELS = rng.choice(["no", "yes"], N, p=[0.6, 0.4])
DECIDED = rng.choice(["no", "yes", REFER], N, p=[0.4, 0.35, 0.25])
DOCTOR = rng.choice(["no", "yes"], N)
SEX = rng.choice(["f", "m"], N)
WEIGHTS = rng.integers(1, 4, N).astype(float)
PEOPLE = rb.Population(
    None, LABELS, columns={"sex": SEX, "doctor": DOCTOR}, weights=WEIGHTS, refer=REFER
)
SCORES = np.where(np.array(["no", "yes", REFER])[:, None] == DECIDED, 1.0, -1.0)  # (3, n)

EVENTS = {
    "positive_rate": lambda y, d: (True, d == "yes"),
    "negative_rate": lambda y, d: (True, d == "no"),
    "recall": lambda y, d: (y == "yes", d == "yes"),
    "false_negative_rate": lambda y, d: (y == "yes", d == "no"),
    "false_positive_rate": lambda y, d: (y == "no", d == "yes"),
    "true_negative_rate": lambda y, d: (y == "no", d == "no"),
    "accuracy": lambda y, d: (True, d == y),
    "error_rate": lambda y, d: (True, d != REFER and d != y),
    "precision": lambda y, d: (d == "yes", y == "yes"),
    "false_omission_rate": lambda y, d: (d == "no", y == "yes"),
    "referred": lambda y, d: (True, d == REFER),
}  # among which rows, and which of them count


def by_a_loop(name, *, among="", group=None, expert=False):
    """A rate, counted row by row."""
    above = below = 0.0
    for row in range(N):
        said = DECIDED[row]
        if expert and said == REFER:
            said = DOCTOR[row]
        if (group and SEX[row] != group) or (among == "decided" and said == REFER):
            continue
        inside, counts = EVENTS[name](LABELS[row], said)
        below += WEIGHTS[row] * inside
        above += WEIGHTS[row] * (inside and counts)
    return above / below


def as_compiled(metric, bound=0.3):
    """By how much a promise about a metric is broken, per unit of a ratio's denominator."""
    compiled = rb.compile(rb.Problem("error_rate()", [metric <= bound]), PEOPLE)
    return float(compiled.evaluate(SCORES)[1][0])


def as_audited(metric):
    problem = rb.Problem("error_rate()", [metric <= 0.9])
    rates = [rate for demand in problem.demands for rate in demand.expression.rates]
    tally = tallied(scored({"train": SCORES}, ""), {"train": PEOPLE}, rates)
    if isinstance(metric, Expression):
        return value(tally, metric.rates[0])
    sides = metric.numerator, metric.denominator
    above, below = (sum(c * value(tally, rate) for rate, c in side.terms) for side in sides)
    return above / below


@pytest.mark.parametrize("group", [None, "f"])
@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("how", ["alone", "decided", "expert"])
def test_a_rate_is_what_a_loop_counts(name, how, group):
    if how != "alone" and name == "referred":
        return
    words = {"sex": group} if group else {}
    said = {"alone": (), "decided": (rb.decided,), "expert": ()}[how]
    words |= {"expert": "doctor"} if how == "expert" else {}
    metric = getattr(rb, name)(*said, **words)
    wanted = by_a_loop(name, among=how if how == "decided" else "", group=group, expert=how == "expert")
    assert as_audited(metric) == pytest.approx(wanted)
    sign = np.sign(as_compiled(metric))
    assert sign == np.sign(wanted - 0.3)
    if isinstance(metric, Expression):
        assert as_compiled(metric) == pytest.approx(wanted - 0.3)


def test_the_parts_of_everyone_sum_to_one():
    names = ("accuracy", "error_rate", "referred")
    assert sum(as_audited(getattr(rb, name)()) for name in names) == pytest.approx(1.0)
    names = ("recall", "false_negative_rate")
    assert sum(as_audited(getattr(rb, name)(rb.decided)) for name in names) == pytest.approx(1.0)


def test_a_cost_of_decided_rows_is_their_mean():
    metric = rb.cost(rb.decided, false_negative=5, false_positive=2)
    costs = np.where((LABELS == "yes") & (DECIDED == "no"), 5, 0)
    costs = costs + np.where((LABELS == "no") & (DECIDED == "yes"), 2, 0)
    own = DECIDED != REFER
    wanted = np.average(costs[own], weights=WEIGHTS[own])
    compiled = rb.compile(rb.Problem("error_rate()", [metric <= wanted]), PEOPLE)
    assert compiled.evaluate(SCORES)[1][0] == pytest.approx(0.0, abs=1e-12)


def test_several_labels_and_a_referral():
    labels = rng.choice(["bird", "cat", "dog"], N)
    decided = rng.choice(["bird", "cat", "dog", REFER], N)
    people = rb.Population(None, labels, refer=REFER)
    scores = np.where(decided == np.array(["bird", "cat", "dog", REFER])[:, None], 1.0, -1.0)
    own = decided != REFER
    wanted = {
        "error_rate()": ((decided != labels) & own).mean(),
        "recall(of='cat')": (decided == "cat")[labels == "cat"].mean(),
        "false_negative_rate(of='cat')": ((decided != "cat") & own)[labels == "cat"].mean(),
        "referred()": 1 - own.mean(),
    }
    for words, number in wanted.items():
        compiled = rb.compile(rb.Problem("error_rate()", [f"{words} <= 0.5"]), people)
        assert compiled.evaluate(scores)[1][0] == pytest.approx(number - 0.5)


# --- a ratio and a sum --------------------------------------------------------------------------


def best_on_a_grid(pieces, goal):
    """The best mixture of two of these points, over a fine grid of weights."""
    best = np.inf
    for one, other in itertools.combinations(pieces, 2):
        shares = np.linspace(0, 1, 401)[:, None]
        best = min(best, float(goal.value(shares * one + (1 - shares) * other).min()))
    return best


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "words",
    ["minimize error_rate(decided) + 0.2 * referred()", "maximize accuracy(decided) - referred()"],
)
def test_the_best_mixture_of_points_is_found(words, seed):
    points = np.random.default_rng(seed).random((8, 3))
    problem = rb.Problem.stated(words, ["referred() <= 0.5"])
    goal = rb.compile(problem, PEOPLE).goal
    # The goal's pieces for models that decide some rows and err on part of them.
    decided = 0.3 + 0.7 * points[:, 0]
    errors = decided * 0.5 * points[:, 1]
    each = {"errors(per=1)": errors, "decisions(per=1)": decided, "referred()": 1 - decided}

    def of(piece):
        return sum(c * each[str(rate)] for rate, c in piece.terms)

    pieces = np.column_stack([of(piece) for piece in goal.pieces])
    _, _, solved = best_goal_mixture(goal, pieces, np.full((8, 1), -1.0), np.ones(1))
    assert solved.value <= best_on_a_grid(pieces, goal) + 1e-4
    assert solved.bound <= solved.value + 1e-12
    assert solved.gap < 1e-3


def test_an_objective_that_may_have_no_value_is_refused():
    with pytest.raises(ValueError, match=r"as in referred\(\) <= 0.5"):
        rb.compile(rb.Problem("error_rate(decided) + 0.2 * referred()"), PEOPLE)


BAD = {
    "a label": (lambda: rb.Population(None, LABELS, refer="yes"), "one of the labels"),
    "no text": (lambda: rb.Population(None, LABELS, refer=3), "a text"),
    "labelled so": (
        lambda: rb.Population(None, [*LABELS, REFER], classes=["no", "yes"], refer=REFER),
        "no row may have it as",
    ),
    "an or": (lambda: rb.parse("error_rate(decided or age < 3) <= 0.1"), "by 'and'"),
    "a not": (lambda: rb.parse("error_rate(not decided) <= 0.1"), "by 'and'"),
    "of a count": (lambda: rb.true_positives(rb.decided), "counts only decided rows"),
    "of a referral": (lambda: rb.referred(rb.decided), "leave out 'decided'"),
    "with an expert": (lambda: rb.recall(rb.decided, expert="doctor"), "leave out expert= or 'decided'"),
    "a bound": (lambda: rb.error_rate(rb.decided) + rb.referred() <= 0.2, "is an objective"),
}


@pytest.mark.parametrize(("made", "words"), BAD.values(), ids=BAD)
def test_what_makes_no_sense_is_refused(made, words):
    with pytest.raises((TypeError, ValueError), match=words):
        made()


@pytest.mark.parametrize(
    "promise", ["referred() <= 0.1", "error_rate(decided) <= 0.1", 'recall(expert="doctor") >= 0.1']
)
def test_without_refer_it_is_an_error_that_says_what_to_write(promise):
    plain = rb.Population(None, LABELS, columns={"doctor": DOCTOR})
    with pytest.raises(ValueError, match='refer="ask a person"'):
        rb.compile(rb.Problem("error_rate()", [promise]), plain)


@pytest.mark.parametrize(
    ("column", "words"), [([None, *DOCTOR[1:]], "1 missing"), (["maybe", *DOCTOR[1:]], "'maybe'")]
)
def test_an_expert_decides_every_row_by_name(column, words):
    people = rb.Population(None, LABELS, columns={"doctor": column}, refer=REFER)
    with pytest.raises(ValueError, match=words):
        rb.compile(rb.Problem("referred()", ['error_rate(expert="doctor") <= 0.1']), people)


TEXTS = [
    'error_rate(decided and sex == "f") <= 0.1',
    'referred(sex == "f", on="pool") <= 1.1 * referred(on="pool")',
    'recall(sex == "f", expert="doctor") >= 0.8',
    "0.1 <= referred() <= 0.2",
]


@pytest.mark.parametrize("text", TEXTS)
def test_it_prints_as_it_is_written(text):
    assert str(rb.parse(text)) == text


def test_an_objective_of_both_prints_and_is_saved_as_it_is_written():
    problem = rb.Problem("error_rate(decided) + 0.2 * referred()", ["referred() <= 0.1"])
    assert str(problem.objective) == "error_rate(decided) + 0.2 * referred()"
    assert from_plain(to_plain(problem)) == problem
    assert rb.Problem("0.2 * referred() + error_rate(decided)").objective == problem.objective
