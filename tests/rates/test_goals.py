"""Every goal, by the exact constraints it stands for: a table from the call to their texts."""

import math

import pytest

import ratebound as rb

NAMES = {**vars(rb), "sex": {"sex": ("F", "M")}}

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
    'equal_odds({"sex": "F"}, slack=0.25)': [
        'recall(sex == "F") <= recall() + 0.25',
        'recall(sex == "F") >= recall() - 0.25',
        'false_positive_rate(sex == "F") <= false_positive_rate() + 0.25',
        'false_positive_rate(sex == "F") >= false_positive_rate() - 0.25',
    ],
    # Recall is a benefit, so bounded from below; a false positive is a harm, so from above.
    'equal_odds({"sex": "F"}, ratio=0.5, on="pool")': [
        'recall(sex == "F", on="pool") >= 0.5 * recall(on="pool")',
        'false_positive_rate(sex == "F", on="pool") <= 2.0 * false_positive_rate(on="pool")',
    ],
    'equal_odds({"sex": "F"}, ratio=2)': [
        'recall(sex == "F") <= 2.0 * recall()',
        'false_positive_rate(sex == "F") >= 0.5 * false_positive_rate()',
    ],
    'equal_odds(sex, ratio=0.5, against="pairwise")': [
        'recall(sex == "F") >= 0.5 * recall(sex == "M")',
        'recall(sex == "M") >= 0.5 * recall(sex == "F")',
        'false_positive_rate(sex == "F") <= 2.0 * false_positive_rate(sex == "M")',
        'false_positive_rate(sex == "M") <= 2.0 * false_positive_rate(sex == "F")',
    ],
    'equal_odds({"sex": "F"}, ratio=1)': [
        'recall(sex == "F") >= recall()',
        'false_positive_rate(sex == "F") <= false_positive_rate()',
    ],
    'equal_odds(sex, slack=0.25, against="pairwise")': [
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
        ("equal_odds(sex)", ValueError, "either slack=.* or ratio="),
        ("accurate_coverage()", ValueError, "either slack=.* or ratio="),
        ("equal_opportunity(sex, slack=-0.1)", ValueError, "must not be negative"),
        ("equal_opportunity(sex, slack=nan)", ValueError, "finite"),
        ("equal_opportunity(sex, ratio=0)", ValueError, "ratio takes a number that is above 0"),
        ("equal_opportunity(sex, ratio=-1)", ValueError, "ratio takes a number that is above 0"),
        ("equal_opportunity(sex, ratio=nan)", ValueError, "ratio takes a number that is above 0"),
        ("equal_opportunity(sex, ratio=inf)", ValueError, "ratio takes a number that is above 0"),
        ("equal_odds(sex, ratio=0)", ValueError, "ratio takes a number that is above 0"),
        ('equal_accuracy(sex, slack=0.1, against="each other")', ValueError, "'overall' or 'pairwise'"),
        (
            'equal_accuracy({"sex": "F"}, slack=0.1, against="pairwise")',
            ValueError,
            "at least two groups",
        ),
        ("equal_accuracy(5, slack=0.1)", TypeError, "groups takes subsets, or columns"),
        ("equal_accuracy(['sex', 5], slack=0.1)", TypeError, "a column's name is a non-empty string"),
        ("equal_accuracy('sex')", ValueError, "either slack=.* or ratio="),
        ("equal_accuracy('sex', slack=0.1, against='x')", ValueError, "'overall' or 'pairwise'"),
        (
            "equal_accuracy(['sex', where()], slack=0.1)",
            ValueError,
            "everyone is no group beside others",
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
