"""What promises cost, against training and solving again at other bounds."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.solution.price import Price


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1200, 2))
    group = rng.choice(["a", "b"], 1200, p=[0.3, 0.7])
    y = X[:, 0] - 0.7 * (group == "a") + rng.normal(size=1200) > 0
    return X, y, group


def people(rows, part=slice(None)):
    X, y, group = (column[part] for column in rows)
    return rb.Population(X, y, columns={"g": group})


BOUND = 0.05
PROBLEM = rb.Problem(
    rb.error_rate(), [rb.recall(g="a") >= rb.recall() + BOUND, rb.positive_rate(g="b") <= 0.9]
)


def played(problem, rows):
    train = rb.compile(problem, people(rows, slice(0, 800)))
    watch = {"later": rb.compile(problem, people(rows, slice(800, None)))}
    return rb.play(train, rb.Linear((0.03, 0.1)), rounds=200, batch_size=None, seed=0, watch=watch)


@pytest.fixture(scope="module")
def trace(rows):
    return played(PROBLEM, rows)


def at_other_bound(trace, index, by):
    """The result of `rb.shrink` if one violation is moved."""
    moved = trace.violations.copy()
    moved[:, index] += by
    found = rb.shrink(replace(trace, violations=moved))
    return found.objectives["train"] if found.status.feasible else math.inf


@pytest.mark.parametrize("by", [-0.1, -0.02, 0.0, 0.01, 0.05, 0.2])
def test_at_every_bound_it_is_what_shrink_finds_there(trace, by):
    first, second = trace.problem.constraints
    assert rb.price(trace, first).at(BOUND + by) == pytest.approx(at_other_bound(trace, 0, by), abs=1e-8)
    assert rb.price(trace, second).at(0.9 - by) == pytest.approx(at_other_bound(trace, 1, by), abs=1e-8)


def test_its_slope_is_the_price_and_here_is_where_it_stands(trace):
    found = rb.price(trace, trace.problem.constraints[0])
    bound, objective = found.here
    assert bound == BOUND
    assert objective == pytest.approx(rb.shrink(trace).objectives["train"], abs=1e-8)
    assert found.price > 0
    assert found.slope == pytest.approx((objective - found.at(bound - 1e-5)) / 1e-5, rel=1e-3)
    assert (np.diff(found.bounds) > 0).all()
    assert (np.diff(found.objectives) > 0).all()


def test_judged_rows_see_the_same_mixtures(trace):
    found = rb.price(trace, trace.problem.constraints[0])
    mixture = rb.shrink(trace)
    assert found.judged_at(BOUND, "later") == pytest.approx(mixture.objectives["later"], abs=1e-6)
    there = rb.price(trace, trace.problem.constraints[0], on="later")
    assert set(there.judged) == {"train"}
    assert there.at(-1.0) == pytest.approx(trace.watched["later"].objectives.min())
    with pytest.raises(ValueError, match="'elsewhere' was not watched"):
        rb.price(trace, trace.problem.constraints[0], on="elsewhere")


def test_promises_are_found_by_words_and_by_name(rows):
    promises = rb.equal_opportunity({"g": ("a", "b")}, ratio=0.9)
    problem = rb.Problem(rb.error_rate(), [promises, "predicted_positives() <= 500"])
    trace = rb.play(rb.compile(problem, people(rows)), rb.Linear(0.1), rounds=30, batch_size=None)
    for index, promise in enumerate(trace.problem.constraints):
        for said in (promise, str(promise), promise.name or str(promise)):
            assert rb.price(trace, said).constraint == trace.problem.constraints[index]
    assert rb.price(trace, "predicted_positives() <= 500").here[0] == 500  # out of all rows
    with pytest.raises(ValueError, match=r"recall\(\) >= 0.1 is not among the promises"):
        rb.price(trace, "recall() >= 0.1")
    with pytest.raises(ValueError, match="nonsense is not among the promises"):
        rb.price(trace, "nonsense")


def test_a_ratio_is_refused_with_the_reason(rows):
    problem = rb.Problem(rb.error_rate(), ["precision() >= 0.6"])
    trace = rb.play(rb.compile(problem, people(rows)), rb.Linear(0.1), rounds=5, batch_size=None)
    with pytest.raises(ValueError, match=r"precision\(\) >= 0.6.*denominators were not stored"):
        rb.price(trace, "precision() >= 0.6")


def test_infeasible_parts_are_shown_as_such(trace):
    found = rb.price(trace, trace.problem.constraints[0])
    assert math.isinf(found.at(found.tightest + 0.01))
    assert found.at(found.tightest) < math.inf
    never = Price(
        rb.recall() >= 0.9, "error_rate()", np.empty(0), np.empty(0), (0.9, math.inf), math.nan
    )
    assert "no price" in str(never)
    assert math.isinf(never.at(0.1))
    bounds, objectives = np.array([0.5, 0.8]), np.array([0.1, 0.2])
    beyond = Price(rb.recall() >= 0.9, "error_rate()", bounds, objectives, (0.9, math.inf), math.nan)
    assert "The tightest bound that can is 0.8, at 0.2000 of error_rate()." in str(beyond)
    edge = Price(rb.recall() >= 0.8, "error_rate()", bounds, objectives, (0.8, 0.2), 1 / 3)
    assert "impossible" in edge.sentence
    assert "cannot be kept" in str(edge)
    for each in (never, beyond, edge):
        again = Price.from_dict(json.loads(json.dumps(each.to_dict(), allow_nan=False)))
        assert str(again) == str(each)


def test_it_prints_a_table_and_a_sentence(trace):
    words = str(rb.price(trace, trace.problem.constraints[1]))
    assert 'The price of positive_rate(g == "b") <= 0.9' in words
    assert "on later" in words
    assert "Lowering the bound from 0.9 to 0.89 would cost nothing of error_rate()" in words


def test_who_has_no_price_is_told_where_to_get_it(trace):
    with pytest.raises(ValueError, match=r"holds no price.*the trace"):
        rb.price(rb.shrink(trace), trace.problem.constraints[0])
    with pytest.raises(TypeError, match="price takes a trace"):
        rb.price("model", trace.problem.constraints[0])
    price = rb.price(trace, trace.problem.constraints[0])
    for bound in ("x", None, float("nan"), [0.5]):
        with pytest.raises(ValueError, match="bound takes a finite number"):
            price.at(bound)
    with pytest.raises(ValueError, match="on must be one of later, got 'latr'"):
        price.judged_at(0.5, "latr")
