"""What no classifier can do, against all decisions on a few rows, mixed by SciPy's linear programs."""

import itertools
import json
import warnings
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

import ratebound as rb
from ratebound.learning.explain import Explanation, explain

Y = np.array([1, 1, 1, 0, 0, 1])
ROWS = len(Y)
GROUP = np.array(list("aabbab"))
IS_A = GROUP == "a"
AMOUNT = np.array([1.0, 5.0, 2.0, 1.0, 1.0, 9.0])
FEW = rb.Population(y=Y, columns={"g": GROUP, "amount": AMOUNT})
LARGEST_COST = (AMOUNT[Y == 1].sum() + (Y == 0).sum()) / ROWS
DECISIONS = np.array(list(itertools.product([0, 1], repeat=ROWS)))
# For each constraint its unit, and by how much decisions d violate it.
CONSTRAINTS = {
    "positive_rate() <= 0.3": (1, lambda d: d.mean() - 0.3),
    'positive_rate(g == "b") >= 0.6': (1, lambda d: 0.6 - d[~IS_A].mean()),
    "recall() >= 0.8": (1, lambda d: 0.8 - d[Y == 1].mean()),
    'recall(g == "a") >= 0.9': (1, lambda d: 0.9 - d[(Y == 1) & IS_A].mean()),
    "false_positive_rate() >= 0.4": (1, lambda d: 0.4 - d[Y == 0].mean()),
    "recall() - positive_rate() >= 0.9": (1, lambda d: 0.9 - d[Y == 1].mean() + d.mean()),
    "precision() >= 0.9": (1, lambda d: 0.9 * d.mean() - (d * Y).mean()),
    "true_positives() >= 5": (ROWS, lambda d: 5 - (d * Y).sum()),
    'cost(false_negative="amount", false_positive=1) <= 1': (
        LARGEST_COST,  # errors on small amounts are cheap, though all rows are in one cell
        lambda d: (AMOUNT * Y * (1 - d) + (1 - Y) * d).mean() - 1,
    ),
}


def make_rows(size=400, seed=0, **options):
    random = np.random.default_rng(seed)
    X = random.normal(size=(size, 3))
    y = X[:, 0] + 0.5 * random.normal(size=size) > 0.3
    group = np.where(X[:, 1] + random.normal(size=size) > 0, "a", "b")
    return rb.Population(**{"X": X, "y": y, "columns": {"g": group}} | options)


def mix(cost, violations, is_elastic=1.0):
    """Return the least cost of any mixture of decisions, or else their least worst violation."""
    count, constraints = violations.shape
    worst = -is_elastic * np.ones((constraints, 1))
    solved = linprog(
        np.append(cost, is_elastic),
        np.hstack([violations.T, worst]),
        np.zeros(constraints),
        [[1.0] * count + [0.0]],
        [1.0],
    )
    return solved.fun


@pytest.mark.parametrize("seed", range(40))
def test_conflicts_and_prices_by_all_decisions(seed):
    random = np.random.default_rng(seed)
    chosen = random.choice(list(CONSTRAINTS), random.integers(1, 5), replace=False).tolist()
    units = np.array([CONSTRAINTS[text][0] for text in chosen])
    violations = [[CONSTRAINTS[text][1](decisions) for text in chosen] for decisions in DECISIONS]
    violations = np.array(violations) / units
    explanation = explain(chosen, FEW)

    items = explanation.constraints
    alone = np.maximum(violations.min(axis=0), 0) * units
    assert [item.violation for item in items] == pytest.approx(alone, abs=1e-9)
    for name, decisions in (("0 for everyone", 0), ("1 for everyone", -1)):
        met = [text for text, item in zip(chosen, items, strict=True) if name in item.met_by]
        assert met == np.array(chosen)[violations[decisions] <= 1e-9].tolist()
    nothing = np.zeros(len(DECISIONS))
    least = mix(nothing, violations)
    if least <= 1e-7:
        errors = (DECISIONS != Y).mean(axis=1)
        assert explanation.conflict == ()
        assert explanation.best == pytest.approx(mix(errors, violations - 1e-9, 0.0), abs=1e-6)
        return
    assert explanation.verdict == "infeasible"
    assert explanation.best is None
    relax = np.array([item.relax for item in items]) / units
    assert mix(nothing, violations[:, relax > 0]) > 1e-7
    assert relax.max() == pytest.approx(least, rel=1e-3)
    assert mix(nothing, violations - relax) <= 1e-7
    assert mix(nothing, violations - 0.98 * relax) > 1e-7


def test_infeasible_by_hand():
    """A positive rate of .1 and a recall of .9: a share q of the positives gets a yes."""
    rows = make_rows(X=None)
    bounds = ["positive_rate() <= 0.1", "recall() >= 0.9", "accuracy() >= 0.2"]
    explanation = explain(bounds, rows)
    q = np.linspace(0, 1, 100_001)
    least = np.maximum(q * rows.y.mean() - 0.1, 0.9 - q).min()
    assert explanation.conflict == tuple(bounds[:2])
    assert [item.relax for item in explanation.constraints] == pytest.approx(
        [least, least, 0], abs=2e-4
    )
    start = "Infeasible: no classifier meets all constraints on these rows. In conflict: positive"
    assert str(explanation).startswith(start)
    assert f"(relax by {explanation.constraints[0].relax})" in str(explanation)


def test_three_classes_and_referrals_by_all_decisions():
    y = np.array(["cat", "cow", "dog", "cat", "cow"])
    rows = rb.Population(y=y, refer="ask")
    names = ("cat", "cow", "dog", "ask")
    bounds = ['recall(of="cat") >= 0.75', "referred() >= 0.5", "accuracy() >= 0.5"]
    violations = []
    errors = []
    for decisions in itertools.product(names, repeat=len(y)):
        d = np.array(decisions)
        recall = (d == "cat")[y == "cat"].mean()
        violations.append([0.75 - recall, 0.5 - (d == "ask").mean(), 0.5 - (d == y).mean()])
        errors.append(((d != y) & (d != "ask")).mean())
    best = mix(errors, np.array(violations) - 1e-9, 0.0)
    assert explain(bounds, rows).best == pytest.approx(best, abs=1e-6)
    bounds[1] = "referred() >= 0.8"
    violations = np.array(violations) - [0, -0.3, 0]
    explanation = explain(bounds, rows)
    least = mix(np.zeros(len(errors)), violations)
    assert max(item.relax for item in explanation.constraints) == pytest.approx(least, abs=1e-4)
    assert "for everyone" not in str(explanation.met_by)


# --- a quick model --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bounds", "verdict", "met_by"),
    [
        ("positive_rate() <= 0.2", "feasible", "False for everyone"),
        ("recall() >= 0.5", "feasible", "the quick model without constraints"),
        (["recall() >= 0.9", "positive_rate() <= 0.7"], "feasible", "the quick model"),
        (["recall() >= 0.99", "precision() >= 0.99"], "not shown", None),
    ],
)
def test_verdicts_with_a_quick_model(bounds, verdict, met_by):
    rows = make_rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what a fit warns of is in the text
        explanation = explain(bounds, rows)
    assert explanation.verdict == verdict
    assert str(explanation).lower().startswith(f"{verdict}:")
    assert met_by is None or met_by in explanation.met_by
    assert (explanation.quick.feasible, verdict) in [(True, "feasible"), (False, "not shown")]
    assert str(explanation.quick) in str(explanation)
    assert explanation.best <= explanation.quick.reached


def test_the_quick_model_takes_what_a_classifier_takes():
    rows = make_rows(y=np.where(make_rows().y, "bad", "good"), positive="bad")
    table = pd.DataFrame(rows.X, columns=list("xzw")).assign(g=rows.columns["g"])
    rows = rb.Population(table, rows.y, {"g": table.g}, positive="bad")
    bounds = 'recall(g == "a") <= 0.4'
    explanation = explain(bounds, rows, known="g", model="lightgbm", seed=1)
    assert explanation.quick.feasible
    assert explanation.met_by == ("'good' for everyone", "the quick model")
    assert explanation.constraints[0].rows == ((rows.y == "bad") & (table.g == "a")).sum()


def test_other_populations():
    pool = make_rows(50, seed=1, y=None)
    bounds = ['positive_rate(on="pool") <= 0.3', "recall() >= 0.6"]
    explanation = explain(bounds, make_rows(), pool=pool)
    assert [item.rows for item in explanation.constraints] == [50, make_rows().y.sum()]
    assert explanation.quick is not None
    assert explain(bounds, make_rows(), pool=make_rows(50, X=None)).quick is None


@pytest.mark.parametrize("objective", ["maximize recall()", "maximize precision()"])
def test_it_becomes_plain_data(objective):
    problem = rb.parse_problem(f"{objective}\nsubject to\n  predicted_positives() <= 40")
    rows = make_rows()
    explanation = explain(problem, rows)
    if "recall" in objective:
        assert explanation.best == pytest.approx(40 / rows.y.sum(), abs=1e-6)
    else:
        assert explanation.best is None
    data = json.loads(json.dumps(asdict(explanation), allow_nan=False))
    assert data["constraints"][0]["constraint"] == "predicted_positives() <= 40"


def test_no_zero_is_negative():
    explanation = Explanation("error_rate()", (), (), -1e-17, None)
    assert "error_rate() is at best 0.0000, even" in str(explanation)


@pytest.mark.parametrize(
    ("problem", "others", "error", "message"),
    [
        ((), {}, ValueError, "nothing to explain"),
        (5, {}, TypeError, "a constraint compares"),
        ("recall() >= 0.9", {"pool": Y}, TypeError, r"rows are a rb\.Population"),
        ("recall(at=0.5) >= 0.2", {}, ValueError, "a rate with at="),
        ("roc_auc(bins=3) >= 0.6", {}, ValueError, "a rate with at="),
        ('recall(g == "c") >= 0.2', {}, ValueError, 'no row has g == "c"'),
        ("recall(amount > 99) >= 0.2", {}, ValueError, "leave the constraint out"),
        (
            'precision(g == "a") >= 0.9 * precision(g == "b")',
            {},
            ValueError,
            "compares two ratios.*write both bounds",
        ),
    ],
)
def test_what_cannot_be_explained(problem, others, error, message):
    with pytest.raises(error, match=message):
        explain(problem, FEW, **others)
