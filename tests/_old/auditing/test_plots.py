"""The two pictures of a trace show what the trace holds."""

import numpy as np
import pytest

import ratebound._old as rb

from ..small_tables import people

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def trace():
    table = people(200, noise=0)
    problem = rb.Problem("error_rate()", ["positive_rate() <= 0.3"])
    return rb.play(rb.compile(problem, table.population()), rb.Linear((0.05, 0.1)), rounds=40)


def test_the_trade_off_shows_every_iterate_and_their_best_mixture(trace):
    iterates, best = rb.plot_trade_off(trace).collections
    assert len(iterates.get_offsets()) == len(trace)
    at, objective = best.get_offsets()[0]
    mixture = rb.shrink(trace)
    assert objective == pytest.approx(mixture.objectives["train"])
    assert at == pytest.approx(mixture.violations["train"].max())


def test_convergence_shows_one_setting_by_round(trace):
    first = trace.of_setting(0)
    line = rb.plot_convergence(trace).lines[0]
    np.testing.assert_array_equal(line.get_xdata(), first.round)
    np.testing.assert_array_equal(line.get_ydata(), first.objectives)


def test_only_traces_have_pictures():
    with pytest.raises(TypeError, match="plot_trade_off takes a trace first"):
        rb.plot_trade_off(None)
