"""Constraints of one's own, in words: how they are made, printed, compared and refused."""

import pytest

import ratebound._old as rb
from ratebound._old.problem.problem import from_plain, to_plain
from ratebound._old.rates.general import General


def zero(model, rows):
    return 0.0


def test_it_prints_by_its_name_beside_rates():
    budget = rb.constraint(zero, name="L1 norm", at_most=2)
    problem = rb.Problem("error_rate()", ["recall() >= 0.9", [budget]])
    assert str(budget) == repr(budget) == "L1 norm <= 2.0"
    assert str(problem).endswith("recall() >= 0.9\n  L1 norm <= 2.0")
    assert problem.constraints[1] is budget
    assert problem.rates == rb.Problem("error_rate()", ["recall() >= 0.9"]).rates


def test_equal_by_name_and_bound():
    def other(model, rows):
        return 1.0

    assert rb.constraint(zero, name="gap") == rb.constraint(other, name="gap")
    assert rb.constraint(zero, name="gap") != rb.constraint(zero, name="gap", at_most=1)
    assert rb.constraint(zero, name="gap") != rb.constraint(zero, name="norm")


def test_the_proxy_is_the_value_where_none_is_given():
    metric = rb.constraint(zero, name="gap").left
    assert isinstance(metric, General)
    assert metric.proxy is metric.value is zero


def test_it_can_be_tightened():
    assert str(rb.constraint(zero, name="gap", at_most=0.05).tightened(0.02)) == "gap <= 0.03"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"value": 3, "name": "gap"}, "gap: value= takes a function of (model, rows)"),
        ({"value": zero, "proxy": 0.5, "name": "gap"}, "gap: proxy= takes a function"),
        ({"value": zero, "name": ""}, "constraint takes a name, as in name='L1 budget', got ''"),
        ({"value": zero, "name": 3}, "constraint takes a name"),
        ({"value": zero, "name": "gap", "on": 3}, "gap: on= takes the name of a population"),
        ({"value": zero, "name": "gap", "scale": 0}, "gap: scale, a unit, takes a number"),
        (
            {"value": zero, "name": "gap", "at_most": "low"},
            "gap: at_most, the bound, takes a finite number",
        ),
        ({"value": zero, "name": "gap", "at_most": float("nan")}, "gap: at_most, the bound, takes"),
    ],
)
def test_bad_arguments_are_named(given, words):
    with pytest.raises((TypeError, ValueError)) as error:
        rb.constraint(**given)
    assert words in str(error.value)


def test_two_of_one_name_are_refused():
    two = [rb.constraint(zero, name="gap"), rb.constraint(zero, name="gap", at_most=1)]
    with pytest.raises(ValueError, match="gap: 2 user-defined constraints have this name"):
        rb.Problem("error_rate()", two)


def test_a_text_cannot_hold_one():
    with pytest.raises(ValueError, match=r"make it in Python, rb\.constraint\(value="):
        rb.parse("constraint() <= 0")


def test_no_arithmetic():
    with pytest.raises(TypeError, match="gap cannot be added"):
        rb.constraint(zero, name="gap").left + 1


def test_files_hold_the_name_and_no_function():
    given = rb.constraint(zero, name="gap", at_most=0.1, on="pool", scale=3.0)
    problem = rb.Problem("error_rate()", ["recall() >= 0.9", given])
    read = from_plain(to_plain(problem))
    assert read == problem
    metric = read.constraints[1].left
    assert (metric.value, metric.proxy, metric.on, metric.scale) == (None, None, "pool", 3.0)


@pytest.mark.parametrize(
    "change", [{"scale": -1}, {"scale": "large"}, {"general": 3}, {"on": 3}, {"scale": float("inf")}]
)
def test_what_a_file_says_is_checked(change):
    plain = to_plain(rb.Problem("error_rate()", [rb.constraint(zero, name="gap")]))
    plain["subject_to"][0]["left"] |= change
    with pytest.raises((ValueError, TypeError)):
        from_plain(plain)
