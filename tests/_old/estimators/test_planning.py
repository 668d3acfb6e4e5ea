"""The planner: options measured by the plain definitions, and recommendations that follow from them."""

from dataclasses import replace

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.estimators.planning import (
    AS_IT_IS,
    HYBRID,
    THRESHOLDS,
    TRAINING,
    Option,
    _reason,
    _recommended,
)

from ..extras import pd

pytestmark = pytest.mark.usefixtures("brief")

PARITY = rb.statistical_parity(groups={"group": ("a", "b")}, ratio=0.9)


def people(rows=1500, seed=0):
    random = np.random.default_rng(seed)
    group = random.choice(["a", "b"], rows)
    # The first feature is higher in one group; the second tells the groups apart, more or less.
    X = random.normal(size=(rows, 2)) * [1.0, 0.2] + (group == "a")[:, None]
    y = X[:, 0] + random.normal(size=rows) > 0.5
    return rb.Population(X, y, columns={"group": group})


def options(**values):
    """Options from their objectives and violations."""
    return [Option(name, np.array(o), np.array(v)) for name, (o, v) in values.items()]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # all safe and equally cheap: the simplest
        ({"a": ([0.1, 0.1], [-0.1, -0.1]), "b": ([0.1, 0.1], [0.0, 0.0])}, "a"),
        # the simplest breaks the promises
        ({"a": ([0.1, 0.1], [0.1, 0.1]), "b": ([0.12, 0.12], [0.0, -0.1])}, "b"),
        # two are safe, the less simple one is cheaper
        ({"a": ([0.2, 0.2], [-0.1, 0.0]), "b": ([0.12, 0.12], [0.0, -0.1])}, "b"),
        # cheaper only by chance: one split says so, the other not
        ({"a": ([0.2, 0.1], [-0.1, 0.0]), "b": ([0.1, 0.19], [0.0, -0.1])}, "a"),
        # cheaper in every split, by no more than chance: 0.0093 with a standard error of 0.0053
        ({"a": ([0.290, 0.279, 0.284], [-0.1] * 3), "b": ([0.27, 0.275, 0.28], [-0.1] * 3)}, "a"),
        # none is safe: the safest, though dearer
        ({"a": ([0.1, 0.1], [0.2, 0.3]), "b": ([0.3, 0.3], [0.1, 0.1])}, "b"),
        # safer only by chance, and far dearer
        ({"a": ([0.228] * 3, [0.0, 0.0, 0.0]), "b": ([0.148] * 3, [0.014, 0.0, 0.004])}, "b"),
        # safer in one split and less safe in another, and no cheaper: the simpler
        ({"a": ([0.2] * 3, [0.0, 0.03, 0.0]), "b": ([0.2] * 3, [0.01, 0.0, 0.0])}, "a"),
        # safer beyond chance, though far dearer
        ({"a": ([0.228] * 3, [0.0, 0.0, 0.0]), "b": ([0.148] * 3, [0.05, 0.04, 0.06])}, "a"),
        # the risk may be chance, but is larger than what it saves
        ({"a": ([0.12] * 3, [0.0, 0.0, 0.0]), "b": ([0.10] * 3, [0.12, 0.0, 0.02])}, "a"),
        # the risk may be chance, and so may the saving
        ({"a": ([0.3, 0.1, 0.2], [0.0] * 3), "b": ([0.1, 0.2, 0.12], [0.02, 0.0, 0.02])}, "a"),
        # dearer and less safe, each by what may be chance
        ({"a": ([0.20, 0.16, 0.15], [0.05, 0.04, 0.04]), "b": ([0.15] * 3, [0.02, 0.06, 0.03])}, "b"),
        # one split only
        ({"a": ([0.1], [0.3]), "b": ([0.3], [0.1]), "c": ([0.2], [0.1])}, "c"),
    ],
    ids=[
        "equal",
        "broken",
        "dearer",
        "chance",
        "cheaper by chance",
        "none",
        "noise",
        "both ways",
        "told apart",
        "risk",
        "saving",
        "behind in both",
        "one split",
    ],
)
def test_the_simplest_of_the_best_is_recommended(values, expected):
    assert _recommended(options(**values)).name == expected


def test_the_reason_says_what_was_weighed():
    given = options(
        **{
            AS_IT_IS: ([0.146] * 3, [0.2, 0.25, 0.22]),
            THRESHOLDS: ([0.228] * 3, [0.0, 0.0, 0.0]),
            TRAINING: ([0.148] * 3, [0.014, 0.0, 0.004]),
        }
    )
    assert _recommended(given).name == TRAINING
    words = _reason({option.name: option for option in given}, TRAINING, ())
    assert (
        "With 'thresholds' the promises are broken by 0.0060 (± 0.0042) less, which may be chance, "
        "and the objective is 0.0800 worse." in words
    )
    assert "With 'as it is' the objective is 0.0020 better, but the promises are broken by 0.2" in words


def test_counts_are_weighed_per_row():
    """Eight rows of 1,000 are .008, less than a risk of .04; without their number they are eight."""
    risky = np.array([0.1, 0.0, 0.02])
    for rows, expected in ((1000.0, "a"), (1.0, "b")):
        safe = Option("a", np.full(3, 228.0), np.zeros(3), rows)
        assert _recommended([safe, Option("b", np.full(3, 220.0), risky, rows)]).name == expected


def test_thresholds_where_the_group_is_known():
    found = rb.plan(rb.Problem(rb.error_rate(), PARITY), people(), known=["group"], splits=2)
    assert list(found.options) == [AS_IT_IS, THRESHOLDS, TRAINING, HYBRID]
    assert found.options[AS_IT_IS].violations.min() > 0.05
    for name in (THRESHOLDS, TRAINING, HYBRID):
        assert found.options[name].violations.mean() < 0.05
    assert found.recommended in (THRESHOLDS, HYBRID)
    assert f"Use {found.recommended}." in str(found)
    assert "group, which must be known for everyone to decide" in str(found)


def test_training_where_it_is_not():
    """One common threshold keeps parity only by saying the same to almost everyone."""
    found = rb.plan(rb.Problem(rb.error_rate(), PARITY), people(), splits=2)
    assert found.recommended in (TRAINING, HYBRID)
    better = found.options[found.recommended].objectives.mean()
    assert better < found.options[THRESHOLDS].objectives.mean() - 0.02


def test_nothing_where_nothing_is_needed():
    kept = rb.Problem(rb.error_rate(), [rb.recall() >= 0.2])
    found = rb.plan(kept, people(), splits=2)
    assert found.recommended == AS_IT_IS
    assert "Train without promises" in str(found)


def test_tables_features_and_the_same_seed():
    given = people(600)
    frame = pd.DataFrame(given.X, columns=["x", "z"]).assign(group=given.columns["group"])
    table = rb.Population(frame, given.y)
    problem = rb.Problem(rb.error_rate(), PARITY)
    first, again = (
        rb.plan(problem, table, known=["group"], features=["x", "z"], splits=1, seed=3) for _ in range(2)
    )
    assert str(first) == str(again)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"known": ["town"]}, "town"),
        ({"splits": 0}, "splits takes a whole number from 1 on"),
        ({"share": 1.0}, "share takes a number that is above 0 and below 1"),
    ],
    ids=["column", "splits", "share"],
)
def test_what_cannot_be_planned(options, message):
    with pytest.raises(ValueError, match=message):
        rb.plan(rb.Problem(rb.error_rate(), PARITY), people(200), **options)


def test_a_problem_without_promises_needs_no_plan():
    with pytest.raises(ValueError, match="promises nothing"):
        rb.plan(rb.Problem(rb.error_rate()), people(200))


@pytest.mark.parametrize("part", ["X", "y"])
def test_a_plan_needs_features_and_labels(part):
    given = {"X": np.zeros((20, 1)), "y": [0, 1] * 10} | {part: None}
    problem = rb.Problem(rb.positive_rate(), [rb.positive_rate() >= 0.5])
    with pytest.raises(ValueError, match="needs features X and labels y"):
        rb.plan(problem, rb.Population(given["X"], given["y"], columns={"group": ["a"] * 20}))


def test_what_cannot_be_known_is_said_before_any_training(monkeypatch):
    monkeypatch.setattr("ratebound._old.estimators.planning.fitted_plainly", None)
    with pytest.raises(TypeError, match=r"known takes columns.*got 5"):
        rb.plan(rb.Problem(rb.error_rate(), PARITY), people(200), known=5)


def test_rounding_breaks_no_promise():
    option = Option("a", np.zeros(3), np.array([1e-16, 0.0, 0.1]))
    assert str(option) == "0.0000 at a worst violation of +0.0333 (kept in 2 of 3 splits)"


def test_promises_on_another_population_are_measured_there():
    pool = people(600, seed=3)
    problem = rb.Problem(rb.error_rate(), [rb.positive_rate(group="a", on="pool") <= 0.3])
    found = rb.plan(problem, people(), splits=2, pool=rb.Population(pool.X, columns=pool.columns))
    plain, trained = found.options[AS_IT_IS], found.options[TRAINING]
    assert plain.violations.min() > 0.1  # most of this group are positive
    assert trained.violations.max() < 0.1
    assert (trained.objectives > plain.objectives).all()


def test_no_to_everyone_is_not_recommended_if_a_model_does_better():
    """What says no to all has the share of positives as its error, and breaks no cap."""
    names = {THRESHOLDS: (0.249, [0.0] * 3), TRAINING: (0.18, [0.002, 0.0, 0.0])}
    given = [
        Option(name, np.full(3, cost), np.array(broken), alike=0.249)
        for name, (cost, broken) in names.items()
    ]
    assert _recommended(given).name == TRAINING
    words = _reason({option.name: option for option in given}, TRAINING, ())
    assert "'thresholds' does no better than one decision for everyone" in words
    broken = replace(given[1], violations=np.array([0.05, 0.06, 0.05]))
    assert _recommended([given[0], broken]).name == THRESHOLDS
    words = _reason({THRESHOLDS: given[0], TRAINING: broken}, THRESHOLDS, ())
    assert "no better than one decision for everyone, which needs no model" in words


def test_training_is_planned_with_the_margins_it_is_asked_for(monkeypatch):
    asked = []
    fit = rb.RateConstrainedClassifier.fit

    def spied(self, *rows, **named):
        asked.append((len(self.objective.subject_to), self.confidence))
        return fit(self, *rows, **named)

    monkeypatch.setattr(rb.RateConstrainedClassifier, "fit", spied)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    people = rb.Population(X, X[:, 0] + rng.normal(size=400) > 0)
    problem = rb.Problem("error_rate()", ["positive_rate() <= 0.3"])
    found = rb.plan(problem, people, splits=1, confidence=0.8)
    assert asked == [(0, 0.9), (1, 0.8)]  # without promises there are no margins
    alike = rb.compile(problem, people).evaluate(-np.ones(400))[0]
    assert found.options[TRAINING].alike == pytest.approx(alike, abs=0.01)
