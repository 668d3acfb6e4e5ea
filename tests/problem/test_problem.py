"""A problem is an objective and constraints; its text is the whole of it."""

import re
from dataclasses import FrozenInstanceError

import pytest

import ratebound as rb


def test_text_constraints_and_lists_of_them_are_taken():
    bound = rb.recall() >= 0.9
    nested = rb.Problem(
        "error_rate()", ["recall() >= 0.9", [bound, (bound,)], (c for c in [bound])]
    )
    assert nested == rb.Problem(rb.error_rate(), [bound] * 4)
    assert rb.Problem("error_rate()", "recall() >= 0.9").constraints == (bound,)
    assert rb.Problem("error_rate()", bound).constraints == (bound,)


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (rb.Problem("error_rate()"), "minimize error_rate()"),
        (rb.Problem(maximize="recall()"), "maximize recall()"),
        (rb.Problem(maximize=rb.smallest(rb.recall("sex"))), "maximize smallest(recall(sex))"),
        (
            rb.Problem("error_rate()", ["recall() >= 0.9", "equalized_odds(sex, slack=0.1)"]),
            "minimize error_rate()\n"
            "subject to\n"
            "  recall() >= 0.9\n"
            "  equalized_odds(sex, slack=0.1)",
        ),
        (
            rb.Problem("cost(false_negative=2)", rb.recall(site="a\u2028b\n") <= 0.5),
            'minimize cost(false_negative=2)\nsubject to\n  recall(site == "a\\u2028b\\n") <= 0.5',
        ),
    ],
)
def test_a_problem_is_its_text(problem, text):
    assert str(problem) == repr(problem) == text
    assert rb.parse_problem(text) == problem
    assert hash(rb.parse_problem(text)) == hash(problem)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, TypeError, "give either minimize= or maximize="),
        ({"minimize": "error_rate()", "maximize": "recall()"}, TypeError, "give either minimize="),
        ({"minimize": "recall()"}, ValueError, "is to ask for the worst: write maximize="),
        ({"maximize": "error_rate()"}, ValueError, "is to ask for the worst: write minimize="),
        ({"minimize": "1 - 1"}, ValueError, "there is nothing to minimize in 0"),
        ({"minimize": 1}, ValueError, "there is nothing to minimize in 1"),
        ({"minimize": "recall() >= 0.5"}, ValueError, "expected the end of the constraint"),
        ({"minimize": rb.recall() >= 0.5}, TypeError, "expected a rate or a finite number"),
        ({"minimize": abs(rb.recall())}, TypeError, "is not a sum of rates"),
        ({"minimize": "smallest(recall(sex))"}, ValueError, "cannot minimize smallest(...)"),
        ({"maximize": "largest(recall(sex))"}, ValueError, "write minimize="),
    ],
)
def test_objectives_that_make_no_sense_are_refused(arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        rb.Problem(**arguments)


@pytest.mark.parametrize(
    "objective",
    [
        "error_rate() + recall()",
        "positive_rate()",
        "prevalence() - recall()",
        "recall() / accuracy()",
    ],
)
def test_an_objective_of_which_less_may_be_better_is_minimized(objective):
    assert rb.Problem(objective).sense == "minimize"


@pytest.mark.parametrize(
    "constraint",
    [rb.error_rate(), abs(rb.recall()), rb.smallest(rb.recall("sex")), True, 0.9, None],
    ids=str,
)
def test_a_constraint_compares_a_rate(constraint):
    with pytest.raises(TypeError, match="a constraint compares a rate with a number"):
        rb.Problem("error_rate()", [constraint])


def test_an_equality_of_python_is_no_constraint():
    with pytest.raises(TypeError, match="a constraint compares a rate with a number"):
        rb.Problem("error_rate()", [rb.recall() == 0.9])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("error_rate()", "a problem starts with minimize or maximize, not 'error_rate()'"),
        ("", "a problem starts with minimize or maximize"),
        ("minimize", "cannot read"),
        ("minimize error_rate()\nsubject to\n  recall()", "expected <= or >="),
    ],
)
def test_texts_that_are_no_problem(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        rb.parse_problem(text)


def test_problems_are_frozen():
    with pytest.raises(FrozenInstanceError):
        rb.Problem("error_rate()").sense = "maximize"


def test_levels_are_kept_beside_the_text():
    text = 'precision(sex == "F") >= 0.9 * precision()'
    problem = rb.Problem("error_rate()", [text])
    leveled = problem.at_levels({text: 0.5})
    assert leveled.levels == {text: 0.5}
    assert leveled == problem
    assert str(leveled) == str(problem)
