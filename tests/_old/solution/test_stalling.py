"""When to stop, on traces written out by hand."""

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.game.trace import Trace, Values
from ratebound._old.learners.linear import LinearScorer
from ratebound._old.solution.solutions import Stalled


def trace_of(objectives, violations, scale=1.0, **watched):
    """A trace of one constraint."""
    count = len(objectives)
    problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.5])

    def column(values):
        return np.array(values, dtype=float)[:, None]

    return Trace(
        problem=problem,
        constraints=problem.subject_to,
        objectives=np.array(objectives, dtype=float),
        violations=column(violations),
        watched={name: Values(np.array(f), column(g)) for name, (f, g) in watched.items()},
        multipliers=np.ones((count, 2)),
        parameters=np.zeros((count, 2)),
        thresholds={},
        setting=np.zeros(count, dtype=int),
        round=np.arange(1, count + 1),
        scorer=LinearScorer(),
        scale=scale,
    )


def stopped_after(stop, objectives, violations, scale=1.0, **watched):
    """How many rounds are kept before `stop` says so; None where it never does."""
    for t in range(1, len(objectives) + 1):
        own = {name: (f[:t], g[:t]) for name, (f, g) in watched.items()}
        if stop(trace_of(objectives[:t], violations[:t], scale, **own)):
            return t
    return None


def test_it_waits_for_as_many_rounds_as_it_has_patience():
    f, g = [0.5, 0.4, 0.4, 0.4, 0.4], [-0.1] * 5
    assert stopped_after(Stalled(2), f, g) == 4
    assert stopped_after(Stalled(3), f, g) == 5
    assert stopped_after(Stalled(4), f, g) is None


def test_less_violation_is_better_at_any_price_and_a_lower_price_at_the_same():
    assert stopped_after(Stalled(1), [0.1, 0.3, 0.5], [0.3, 0.2, 0.1]) is None
    assert stopped_after(Stalled(1), [0.5, 0.4, 0.3], [0.0, 0.0, 0.0]) is None
    assert stopped_after(Stalled(1), [0.1, 0.05], [0.0, 0.3]) == 2  # the mixture stays what it was


def test_on_a_watched_population_what_the_training_rows_chose_is_judged():
    f, g = [0.5, 0.4, 0.3, 0.2], [0.0] * 4  # better and better in training
    worse = [0.50, 0.42, 0.44, 0.46], [0.0, 0.02, 0.03, 0.04]
    assert stopped_after(Stalled(2), f, g, other=worse) is None
    assert stopped_after(Stalled(2, on="other"), f, g, other=worse) == 4


def test_there_a_violation_counts_like_the_objective():
    f, g = [0.5, 0.4, 0.3], [0.0] * 3
    assert stopped_after(Stalled(1, on="other"), f, g, other=(f, [0.0, 0.05, 0.10])) is None
    assert stopped_after(Stalled(1, on="other"), f, g, other=(f, [0.0, 0.15, 0.30])) == 2


def test_rows_count_as_shares_of_their_population():
    """From 300 rows too many to 299 out of a million is not progress; out of a thousand it is."""
    f, g = [0.1, 0.1], [300.0, 299.0]
    assert stopped_after(Stalled(1), f, g, scale=1e6) == 2
    assert stopped_after(Stalled(1), f, g, scale=1e3) is None


def test_rounding_is_no_progress_lost():
    """A violation of 1e-17 more does not hide a lower objective."""
    assert stopped_after(Stalled(1), [0.5, 0.4], [0.0, 1e-17]) is None


def test_a_population_that_is_not_watched_is_named_with_the_remedy():
    with pytest.raises(ValueError, match=r"'other' was not watched, only train.*watch=\{'other'"):
        Stalled(1, on="other")(trace_of([0.5], [0.0]))
