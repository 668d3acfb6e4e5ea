"""Every goal, by the exact constraints it stands for: a table from the call to their texts."""

import inspect
import math

import pytest

import ratebound._old as rb
from ratebound._old.rates import grouping

NAMES = {**{name: getattr(rb, name) for name in rb.__all__}, "sex": {"sex": ("F", "M")}}

GOALS = {
    "statistical_parity(sex, slack=0.25)": [
        'positive_rate(sex == "F") <= positive_rate() + 0.25',
        'positive_rate(sex == "F") >= positive_rate() - 0.25',
        'positive_rate(sex == "M") <= positive_rate() + 0.25',
        'positive_rate(sex == "M") >= positive_rate() - 0.25',
    ],
    "statistical_parity(sex, slack=0)": [
        'positive_rate(sex == "F") <= positive_rate()',
        'positive_rate(sex == "F") >= positive_rate()',
        'positive_rate(sex == "M") <= positive_rate()',
        'positive_rate(sex == "M") >= positive_rate()',
    ],
    "statistical_parity(sex, ratio=0.8)": [
        'positive_rate(sex == "F") >= 0.8 * positive_rate()',
        'positive_rate(sex == "M") >= 0.8 * positive_rate()',
    ],
    "statistical_parity(sex, ratio=1.25)": [
        'positive_rate(sex == "F") <= 1.25 * positive_rate()',
        'positive_rate(sex == "M") <= 1.25 * positive_rate()',
    ],
    "statistical_parity(sex, ratio=1)": [
        'positive_rate(sex == "F") >= positive_rate()',
        'positive_rate(sex == "M") >= positive_rate()',
    ],
    'statistical_parity(sex, slack=0.25, against="pairwise")': [
        'positive_rate(sex == "F") <= positive_rate(sex == "M") + 0.25',
        'positive_rate(sex == "M") <= positive_rate(sex == "F") + 0.25',
    ],
    'statistical_parity(sex, ratio=0.8, against="pairwise", on="pool")': [
        'positive_rate(sex == "F", on="pool") >= 0.8 * positive_rate(sex == "M", on="pool")',
        'positive_rate(sex == "M", on="pool") >= 0.8 * positive_rate(sex == "F", on="pool")',
    ],
    # Groups, in every form they may take.
    'statistical_parity({"sex": "F", "age": 3}, ratio=0.5)': [
        'positive_rate(sex == "F") >= 0.5 * positive_rate()',
        "positive_rate(age == 3) >= 0.5 * positive_rate()",
    ],
    'statistical_parity({"old": column("age") > 60}, ratio=0.5)': [
        "positive_rate(age > 60) >= 0.5 * positive_rate()",
    ],
    'statistical_parity([where(sex="F"), {"sex": "M", "race": ("a", "b")}], ratio=0.5)': [
        'positive_rate(sex == "F") >= 0.5 * positive_rate()',
        'positive_rate(sex == "M" and race in ("a", "b")) >= 0.5 * positive_rate()',
    ],
    'statistical_parity((where(age=a) for a in range(3)), slack=0.5, against="pairwise")': [
        f"positive_rate(age == {a}) <= positive_rate(age == {b}) + 0.5"
        for a in range(3) for b in range(3) if a != b
    ],
    "equal_opportunity(sex, slack=0.25)": [
        'recall(sex == "F") <= recall() + 0.25',
        'recall(sex == "F") >= recall() - 0.25',
        'recall(sex == "M") <= recall() + 0.25',
        'recall(sex == "M") >= recall() - 0.25',
    ],
    "equal_opportunity(sex, ratio=0.95)": [
        'recall(sex == "F") >= 0.95 * recall()',
        'recall(sex == "M") >= 0.95 * recall()',
    ],
    'equal_opportunity(sex, slack=0.25, against="pairwise")': [
        'recall(sex == "F") <= recall(sex == "M") + 0.25',
        'recall(sex == "M") <= recall(sex == "F") + 0.25',
    ],
    'equalized_odds({"sex": "F"}, slack=0.25)': [
        'recall(sex == "F") <= recall() + 0.25',
        'recall(sex == "F") >= recall() - 0.25',
        'false_positive_rate(sex == "F") <= false_positive_rate() + 0.25',
        'false_positive_rate(sex == "F") >= false_positive_rate() - 0.25',
    ],
    # Recall is a benefit, so bounded from below; a false positive is a harm, so from above.
    'equalized_odds({"sex": "F"}, ratio=0.5, on="pool")': [
        'recall(sex == "F", on="pool") >= 0.5 * recall(on="pool")',
        'false_positive_rate(sex == "F", on="pool") <= 2.0 * false_positive_rate(on="pool")',
    ],
    'equalized_odds({"sex": "F"}, ratio=2)': [
        'recall(sex == "F") <= 2.0 * recall()',
        'false_positive_rate(sex == "F") >= 0.5 * false_positive_rate()',
    ],
    'equalized_odds(sex, ratio=0.5, against="pairwise")': [
        'recall(sex == "F") >= 0.5 * recall(sex == "M")',
        'recall(sex == "M") >= 0.5 * recall(sex == "F")',
        'false_positive_rate(sex == "F") <= 2.0 * false_positive_rate(sex == "M")',
        'false_positive_rate(sex == "M") <= 2.0 * false_positive_rate(sex == "F")',
    ],
    'equalized_odds({"sex": "F"}, ratio=1)': [
        'recall(sex == "F") >= recall()',
        'false_positive_rate(sex == "F") <= false_positive_rate()',
    ],
    'equalized_odds(sex, slack=0.25, against="pairwise")': [
        'recall(sex == "F") <= recall(sex == "M") + 0.25',
        'recall(sex == "M") <= recall(sex == "F") + 0.25',
        'false_positive_rate(sex == "F") <= false_positive_rate(sex == "M") + 0.25',
        'false_positive_rate(sex == "M") <= false_positive_rate(sex == "F") + 0.25',
    ],
    'equal_accuracy({"sex": "F"}, slack=0.25)': [
        'accuracy(sex == "F") <= accuracy() + 0.25',
        'accuracy(sex == "F") >= accuracy() - 0.25',
    ],
    "equal_accuracy(sex, ratio=1.05)": [
        'accuracy(sex == "F") <= 1.05 * accuracy()',
        'accuracy(sex == "M") <= 1.05 * accuracy()',
    ],
    'equal_accuracy(sex, ratio=0.95, against="pairwise")': [
        'accuracy(sex == "F") >= 0.95 * accuracy(sex == "M")',
        'accuracy(sex == "M") >= 0.95 * accuracy(sex == "F")',
    ],
    "accurate_coverage(slack=0.25)": [
        "positive_rate() <= prevalence() + 0.25",
        "positive_rate() >= prevalence() - 0.25",
    ],
    'accurate_coverage({"sex": "F"}, slack=0.25, on="pool")': [
        'positive_rate(sex == "F", on="pool") <= prevalence(sex == "F", on="pool") + 0.25',
        'positive_rate(sex == "F", on="pool") >= prevalence(sex == "F", on="pool") - 0.25',
    ],
    "accurate_coverage(sex, ratio=0.9)": [
        'positive_rate(sex == "F") >= 0.9 * prevalence(sex == "F")',
        'positive_rate(sex == "M") >= 0.9 * prevalence(sex == "M")',
    ],
    "accurate_coverage(ratio=1.5)": ["positive_rate() <= 1.5 * prevalence()"],
    "minimum_coverage(at_least=0.1)": ["positive_rate() >= 0.1"],
    'minimum_coverage(sex, at_least=0.1, on="pool")': [
        'positive_rate(sex == "F", on="pool") >= 0.1',
        'positive_rate(sex == "M", on="pool") >= 0.1',
    ],
    "minimum_recall(at_least=0.9)": ["recall() >= 0.9"],
    'minimum_recall(sex, at_least=0.9, on="pool")': [
        'recall(sex == "F", on="pool") >= 0.9',
        'recall(sex == "M", on="pool") >= 0.9',
    ],
    "minimum_accuracy(at_least=0.8)": ["accuracy() >= 0.8"],
    'minimum_accuracy(sex, at_least=0.8, on="pool")': [
        'accuracy(sex == "F", on="pool") >= 0.8',
        'accuracy(sex == "M", on="pool") >= 0.8',
    ],
    'no_lost_benefits(versus="live")': ['positive_rate() >= positive_rate_of(versus="live")'],
    'no_lost_benefits({"sex": "F"}, versus="live", slack=0.25, on="pool")': [
        'positive_rate(sex == "F", on="pool")'
        ' >= positive_rate_of(sex == "F", versus="live", on="pool") - 0.25',
    ],
    'not_worse_off(versus="live")': ['accuracy() >= accuracy_of(versus="live")'],
    'not_worse_off({"sex": "F"}, versus="live", slack=0.25, on="pool")': [
        'accuracy(sex == "F", on="pool") >= accuracy_of(sex == "F", versus="live", on="pool") - 0.25',
    ],
    'limited_churn(versus="live", at_most=0.02)': ['churn(versus="live") <= 0.02'],
    'limited_churn(sex, versus="live", at_most=0.02, on="pool")': [
        'churn(sex == "F", versus="live", on="pool") <= 0.02',
        'churn(sex == "M", versus="live", on="pool") <= 0.02',
    ],
    "steering_examples(0.67)": ['accuracy(on="steering") >= 0.67'],
    'steering_examples(0.67, on="experts")': ['accuracy(on="experts") >= 0.67'],
    "egregious_examples()": ['accuracy(on="egregious") >= 1.0'],
    'egregious_examples(0.99, on="vetoed")': ['accuracy(on="vetoed") >= 0.99'],
    'decision_rule(where(language="unknown"), decision=False)': [
        'negative_rate(language == "unknown") >= 1.0',
    ],
    'decision_rule(column("age") < 18, decision=True, at_least=0.99, on="pool")': [
        'positive_rate(age < 18, on="pool") >= 0.99',
    ],
    "equal(recall(), 0.5, slack=0.25)": ["recall() <= 0.75", "recall() >= 0.25"],
    "equal(recall(), accuracy(), slack=0)": ["recall() <= accuracy()", "recall() >= accuracy()"],
}  # fmt: skip


@pytest.mark.parametrize("call", GOALS)
def test_goals_stand_for_their_constraints(call):
    constraints = eval(call, NAMES)
    assert [str(c) for c in constraints] == GOALS[call]
    assert [rb.parse(text) for text in GOALS[call]] == constraints


@pytest.mark.parametrize("call", [call for call in GOALS if not call.startswith("equal(")])
def test_goals_name_their_constraints(call):
    goal = call.split("(")[0].replace("_", " ")
    for constraint in eval(call, NAMES):
        assert constraint.name == f"{goal}: {constraint}"


@pytest.mark.parametrize(
    ("call", "error", "hint"),
    [
        ("statistical_parity(sex)", ValueError, "either slack=.* or ratio="),
        ("statistical_parity(sex, slack=0.1, ratio=0.9)", ValueError, "either slack=.* or ratio="),
        ("equalized_odds(sex)", ValueError, "either slack=.* or ratio="),
        ("accurate_coverage()", ValueError, "either slack=.* or ratio="),
        ("equal_opportunity(sex, slack=-0.1)", ValueError, "must not be negative"),
        ("equal_opportunity(sex, slack=nan)", ValueError, "finite"),
        ("equal_opportunity(sex, ratio=0)", ValueError, "ratio takes a number that is above 0"),
        ("equal_opportunity(sex, ratio=-1)", ValueError, "ratio takes a number that is above 0"),
        ("equal_opportunity(sex, ratio=nan)", ValueError, "ratio takes a number that is above 0"),
        ("equal_opportunity(sex, ratio=inf)", ValueError, "ratio takes a number that is above 0"),
        ("equal_opportunity(sex, ratio=95)", ValueError, r"got 95; did you mean ratio=0\.95\?"),
        ('accurate_coverage("sex", ratio=105)', ValueError, r"did you mean ratio=1\.05\?"),
        ("equalized_odds(sex, ratio=80)", ValueError, r"did you mean ratio=0\.8\?"),
        ("equalized_odds(sex, ratio=0)", ValueError, "ratio takes a number that is above 0"),
        ('equal_accuracy(sex, slack=0.1, against="each other")', ValueError, "'overall' or 'pairwise'"),
        (
            'equal_accuracy({"sex": "F"}, slack=0.1, against="pairwise")',
            ValueError,
            "at least two groups",
        ),
        ("equal_accuracy(5, slack=0.1)", TypeError, "groups takes conditions, or columns"),
        ("equal_accuracy(['sex', 5.5], slack=0.1)", TypeError, "a column's name is a non-empty string"),
        ("equal_accuracy('sex', slack=0.1, intersection=1)", TypeError, "intersection takes True or"),
        ("equal_accuracy('sex', slack=0.1, min_rows=0)", ValueError, "min_rows takes a whole number"),
        ("equal_accuracy({'sex': 'F'}, slack=0.1, min_rows=5)", ValueError, "columns whose values are"),
        ("equal_accuracy({'sex': 'F'}, slack=0.1, intersection=True)", ValueError, "takes only columns"),
        ("equal_accuracy('sex')", ValueError, "either slack=.* or ratio="),
        ("equal_accuracy('sex', slack=0.1, against='x')", ValueError, "'overall' or 'pairwise'"),
        (
            "equal_accuracy(['sex', where()], slack=0.1)",
            ValueError,
            "all rows cannot be a group beside others",
        ),
        ("equal_accuracy([], slack=0.1)", ValueError, "groups is empty"),
        ("equal_accuracy({}, slack=0.1)", ValueError, "groups is empty"),
        ('equal_accuracy({"sex": ()}, slack=0.1)', ValueError, "groups is empty"),
        ('equal_accuracy({"sex": (None,)}, slack=0.1)', TypeError, "a text, a truth value"),
        ("minimum_recall(at_least=None)", TypeError, "only a number"),
        ('minimum_recall(at_least="0.9")', TypeError, "only a number"),
        ("minimum_coverage(at_least=True)", TypeError, "only a number"),
        ("limited_churn(versus=1, at_most=0.02)", TypeError, "versus= takes a name"),
        ('steering_examples(0.9, on="")', TypeError, "on= takes a name"),
        ("decision_rule(where(age=18), True)", TypeError, "positional"),
    ],
)
def test_bad_arguments_raise(call, error, hint):
    with pytest.raises(error, match=hint):
        eval(call, {**NAMES, "nan": math.nan, "inf": math.inf})


TEXTS = {  # a goal in text: as it prints, and what it stands for where sex is F or M
    "equal_opportunity(sex, ratio=0.95)": (
        "equal_opportunity(sex, ratio=0.95)",
        rb.equal_opportunity({"sex": ("F", "M")}, ratio=0.95),
    ),
    "equal_opportunity('sex', slack=.1, against='pairwise')": (
        'equal_opportunity(sex, slack=0.1, against="pairwise")',
        rb.equal_opportunity({"sex": ("F", "M")}, slack=0.1, against="pairwise"),
    ),
    "statistical_parity(sex in ('F', 'M'), ratio=0.8)": (
        'statistical_parity(sex == "F", sex == "M", ratio=0.8)',
        rb.statistical_parity({"sex": ("F", "M")}, ratio=0.8),
    ),
    "equalized_odds(age < 25, not age < 25, column('two words'), slack=0)": (
        'equalized_odds(age < 25, not age < 25, column("two words"), slack=0)',
        rb.equalized_odds(
            [rb.column("age") < 25, ~(rb.column("age") < 25), rb.where(**{"two words": 1})], slack=0
        ),
    ),
    "minimum_recall(sex, age < 25 and sex == 'F', at_least=0.9, on='pool')": (
        'minimum_recall(sex, age < 25 and sex == "F", at_least=0.9, on="pool")',
        rb.minimum_recall(
            [{"sex": "F"}, {"sex": "M"}, (rb.column("age") < 25) & rb.where(sex="F")],
            at_least=0.9,
            on="pool",
        ),
    ),
    "minimum_accuracy(at_least=0.8)": (
        "minimum_accuracy(at_least=0.8)",
        rb.minimum_accuracy(at_least=0.8),
    ),
    "not_worse_off(sex, versus='live')": (
        'not_worse_off(sex, versus="live")',
        rb.not_worse_off({"sex": ("F", "M")}, versus="live"),
    ),
    "steering_examples(0.67)": ("steering_examples(at_least=0.67)", rb.steering_examples(0.67)),
    "egregious_examples()": ("egregious_examples()", rb.egregious_examples()),
    "decision_rule(member == True, decision=False)": (
        "decision_rule(member == True, decision=False)",
        rb.decision_rule(rb.where(member=True), decision=False),
    ),
}


@pytest.mark.parametrize("text", TEXTS)
def test_goals_are_read_from_text_and_print_as_read(text):
    printed, constraints = TEXTS[text]
    goal = rb.parse(text)
    assert str(goal) == repr(goal) == printed
    assert rb.parse(printed) == goal
    assert hash(rb.parse(printed)) == hash(goal)
    assert goal.constraints({("sex",): [("F",), ("M",)], ("two words",): [(1,)]}) == constraints
    problem = rb.Problem("error_rate()", [text])
    assert problem.subject_to == ((goal,) if goal.columns else tuple(constraints))
    assert rb.Problem("error_rate()", goal) == problem


def test_a_goal_on_columns_is_the_same_from_python():
    assert rb.equalized_odds("sex", slack=0.1) == [rb.parse("equalized_odds(sex, slack=0.1)")]
    crossed = rb.equalized_odds(["sex", "race"], slack=0.1, intersection=True, min_rows=5)
    assert crossed == [rb.parse("equalized_odds(sex, race, slack=0.1, intersection=True, min_rows=5)")]
    assert rb.equalized_odds(rb.column("sex"), slack=0.1) == rb.equalized_odds("sex", slack=0.1)
    several = rb.equalized_odds(["sex", rb.where(race=("a", "b"))], slack=0.1)
    assert str(several[0]) == 'equalized_odds(sex, race == "a" or race == "b", slack=0.1)'
    assert rb.parse(str(several[0])) == several[0]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("equal_oportunity(sex, ratio=0.9)", "no such goal, did you mean 'equal_opportunity'"),
        ("recal(sex)", "no such goal, did you mean 'recall'"),
        ("equal_opportunity(sex)", "either slack=.* or ratio="),
        ("equal_opportunity(ratio=0.9)", "missing a required argument: 'groups'"),
        ("equal_opportunity(sex, slak=0.9)", "unexpected keyword argument 'slak'"),
        ("equal_opportunity(sex, slack=0.1, slack=0.2)", "repeated|given twice"),
        ("equal_opportunity(sex, **x)", "no meaning"),
        ("equal_opportunity(*sex, slack=0.1)", "expected a text in quotes"),
        ("equal_opportunity(sex, slack=x)", "expected a text in quotes"),
        ("equal_opportunity(0.9, slack=0.1)", "a column's name"),
        ("minimum_recall(sex, at_least='x')", "only a number"),
        ("steering_examples(sex)", "only a number"),
        ("equal_opportunity(sex, ratio=0.9) >= 0.5", "a goal stands alone: do not compare"),
        ("limited_churn(sex, versus=flag, at_most=0.1)", 'texts need quotes: versus="flag"'),
    ],
)
def test_goals_that_cannot_be_read(text, hint):
    with pytest.raises(ValueError, match=hint) as refusal:
        rb.parse(text)
    assert str(refusal.value).startswith("cannot read")


def test_all_goals_take_their_groups_first_and_all_else_by_name():
    for name, goal in grouping.GOALS.items():
        first, *others = inspect.signature(goal).parameters.values()
        if name in ("steering_examples", "egregious_examples"):  # of a population of their own
            assert first.name == "at_least"
        else:
            assert first.name == "groups"
        assert all(other.kind == other.KEYWORD_ONLY for other in others)
