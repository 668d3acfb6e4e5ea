"""The two pictures of a trace show what the trace holds."""

import numpy as np
import pytest

import ratebound._old as rb

from ..small_tables import people

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def model():
    X, y, _ = people(200, noise=0)
    return rb.RateConstrainedClassifier("positive_rate() <= 0.3", random_state=0).fit(X, y)


def test_the_trade_off_shows_every_iterate_and_the_solution(model):
    ax = rb.plot_trade_off(model)
    iterates, solution = ax.collections
    assert len(iterates.get_offsets()) == len(model.trace_)
    at, objective = solution.get_offsets()[0]
    assert objective == pytest.approx(model.solution_.objectives["train"])
    assert at == pytest.approx(model.solution_.violations["train"].max())
    assert len(rb.plot_trade_off(model.trace_).collections) == 1


def test_convergence_shows_one_setting_by_round(model):
    own = model.trace_.of_setting(model.solution_.setting)
    line = rb.plot_convergence(model).lines[0]
    np.testing.assert_array_equal(line.get_xdata(), own.round)
    np.testing.assert_array_equal(line.get_ydata(), own.objectives)


def test_only_traces_and_fitted_models_have_pictures():
    with pytest.raises(TypeError, match="a trace or a fitted estimator"):
        rb.plot_trade_off(rb.RateConstrainedClassifier())
