"""Goals print as they were written, and stand for exactly these constraints."""

import inspect
import re

import numpy as np
import pytest

import ratebound as rb
from ratebound.rates.goals import GOALS

F = 'sex == "F"'
M = 'sex == "M"'
MEANINGS = {  # a goal, and the constraints that it stands for
    f"statistical_parity({F}, {M}, slack=0.25)": [
        f"positive_rate({F}) <= positive_rate() + 0.25",
        f"positive_rate({F}) >= positive_rate() - 0.25",
        f"positive_rate({M}) <= positive_rate() + 0.25",
        f"positive_rate({M}) >= positive_rate() - 0.25",
    ],
    f"statistical_parity({F}, slack=0)": [
        f"positive_rate({F}) <= positive_rate()",
        f"positive_rate({F}) >= positive_rate()",
    ],
    f"statistical_parity({F}, {M}, ratio=0.8)": [
        f"positive_rate({F}) >= 0.8 * positive_rate()",
        f"positive_rate({M}) >= 0.8 * positive_rate()",
    ],
    f"statistical_parity({F}, ratio=1.25)": [f"positive_rate({F}) <= 1.25 * positive_rate()"],
    f"statistical_parity({F}, ratio=1)": [f"positive_rate({F}) >= positive_rate()"],
    f'statistical_parity({F}, {M}, slack=0.25, against="pairwise")': [
        f"positive_rate({F}) <= positive_rate({M}) + 0.25",
        f"positive_rate({M}) <= positive_rate({F}) + 0.25",
    ],
    f'statistical_parity({F}, {M}, ratio=0.8, against="pairwise", of="cat", on="pool")': [
        f'positive_rate({F}, of="cat", on="pool") >= 0.8 * positive_rate({M}, of="cat", on="pool")',
        f'positive_rate({M}, of="cat", on="pool") >= 0.8 * positive_rate({F}, of="cat", on="pool")',
    ],
    f"equal_opportunity({F}, ratio=0.95)": [f"recall({F}) >= 0.95 * recall()"],
    f"equal_opportunity({F}, slack=0.25)": [
        f"recall({F}) <= recall() + 0.25",
        f"recall({F}) >= recall() - 0.25",
    ],
    f"equalized_odds({F}, slack=0.25)": [
        f"recall({F}) <= recall() + 0.25",
        f"recall({F}) >= recall() - 0.25",
        f"false_positive_rate({F}) <= false_positive_rate() + 0.25",
        f"false_positive_rate({F}) >= false_positive_rate() - 0.25",
    ],
    # recall is a benefit, so bounded from below; a false positive is a harm, so from above
    f'equalized_odds({F}, ratio=0.5, on="pool")': [
        f'recall({F}, on="pool") >= 0.5 * recall(on="pool")',
        f'false_positive_rate({F}, on="pool") <= 2 * false_positive_rate(on="pool")',
    ],
    f"equalized_odds({F}, ratio=2)": [
        f"recall({F}) <= 2 * recall()",
        f"false_positive_rate({F}) >= 0.5 * false_positive_rate()",
    ],
    f"equalized_odds({F}, ratio=1)": [
        f"recall({F}) >= recall()",
        f"false_positive_rate({F}) <= false_positive_rate()",
    ],
    f'equalized_odds({F}, {M}, ratio=0.5, against="pairwise")': [
        f"recall({F}) >= 0.5 * recall({M})",
        f"recall({M}) >= 0.5 * recall({F})",
        f"false_positive_rate({F}) <= 2 * false_positive_rate({M})",
        f"false_positive_rate({M}) <= 2 * false_positive_rate({F})",
    ],
    f"equal_accuracy({F}, slack=0.25)": [
        f"accuracy({F}) <= accuracy() + 0.25",
        f"accuracy({F}) >= accuracy() - 0.25",
    ],
    f"accurate_coverage({F}, ratio=0.5)": [f"positive_rate({F}) >= 0.5 * prevalence({F})"],
    "accurate_coverage(slack=0.25)": [
        "positive_rate() <= prevalence() + 0.25",
        "positive_rate() >= prevalence() - 0.25",
    ],
    "minimum_coverage(at_least=0.1)": ["positive_rate() >= 0.1"],
    f'minimum_coverage({F}, at_least=0.1, of="cat")': [f'positive_rate({F}, of="cat") >= 0.1'],
    "minimum_recall(age < 25, at_least=0.9)": ["recall(age < 25) >= 0.9"],
    'minimum_accuracy(at_least=0.8, on="pool")': ['accuracy(on="pool") >= 0.8'],
    f'no_lost_benefits({F}, versus="live")': [
        f'positive_rate({F}) >= positive_rate({F}, by="live")'
    ],
    'no_lost_benefits(versus="live", slack=0.25, on="pool")': [
        'positive_rate(on="pool") >= positive_rate(by="live", on="pool") - 0.25'
    ],
    f'not_worse_off({F}, versus="live", slack=0.25)': [
        f'accuracy({F}) >= accuracy({F}, by="live") - 0.25'
    ],
    f'limited_churn({F}, versus="live", at_most=0.02)': [f'churn({F}, versus="live") <= 0.02'],
    "steering_examples(at_least=0.67)": ['accuracy(on="steering") >= 0.67'],
    'steering_examples(at_least=0.67, on="experts")': ['accuracy(on="experts") >= 0.67'],
    "egregious_examples()": ['accuracy(on="egregious") >= 1'],
    "decision_rule(age < 18, decision=False)": ["negative_rate(age < 18) >= 1"],
    "decision_rule(age < 18, decision=True, at_least=0.99)": ["positive_rate(age < 18) >= 0.99"],
    'decision_rule(age < 18, decision="cat")': ['positive_rate(age < 18, of="cat") >= 1'],
}


@pytest.mark.parametrize("text", MEANINGS)
def test_goals_stand_for_their_constraints(text):
    goal = rb.parse(text)
    constraints = goal.spell_out(goal.groups)
    assert list(map(str, constraints)) == MEANINGS[text]
    assert constraints == [rb.parse(constraint) for constraint in MEANINGS[text]]


@pytest.mark.parametrize("text", MEANINGS)
def test_goals_print_as_written(text):
    goal = rb.parse(text)
    assert str(goal) == repr(goal) == text
    assert rb.parse(str(goal)) == goal
    assert hash(rb.parse(text)) == hash(goal)


def test_every_goal_is_tested_and_described():
    built_in = [name for name in GOALS if hasattr(rb, name)]
    assert {text.partition("(")[0] for text in MEANINGS} == set(built_in)
    for name in built_in:
        assert inspect.getdoc(getattr(rb, name)).partition("\n")[0].endswith(".")


def test_goals_take_their_groups_first_and_all_else_by_name():
    for name, function in GOALS.items():
        first, *options = inspect.signature(function).parameters.values()
        is_of_examples = name in ("steering_examples", "egregious_examples")
        assert first.name == ("at_least" if is_of_examples else "groups")
        assert {option.kind for option in options} == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        ("sex", "sex"),
        (rb.column("sex"), "sex"),
        (3, None),
        (["sex", rb.column("race")], "sex, race"),
        (rb.column("age") < 25, "age < 25"),
        ({"sex": ("F", "M")}, 'sex in ("F", "M")'),
        ({"sex": ("F",), "age": range(2)}, 'sex in ("F",), age in (0, 1)'),
        ([rb.where(sex="F"), {"race": ("a", "b")}, "age"], f'{F}, race in ("a", "b"), age'),
        ((rb.where(age=age) for age in (1, 2)), "age == 1, age == 2"),
        ([["sex"], ["race"]], "sex, race"),
        (rb.missing("race"), "missing(race)"),
    ],
)
def test_groups_come_in_many_forms(groups, text):
    if text is None:
        with pytest.raises(TypeError, match="groups are columns or conditions"):
            rb.equal_accuracy(groups, slack=0.1)
        return
    goal = rb.equal_accuracy(groups, slack=0.1)
    assert str(goal) == f"equal_accuracy({text}, slack=0.1)"
    assert rb.parse(str(goal)) == goal


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"slack": np.float64(0.1)}, "slack=0.1"),
        ({"ratio": np.float32(0.5), "of": np.str_("cat")}, 'ratio=0.5, of="cat"'),
        ({"slack": 0.1, "ratio": None, "on": None}, "slack=0.1"),
        ({"slack": 0.1, "intersection": True, "min_rows": 5},
         "slack=0.1, intersection=True, min_rows=5"),
    ],
)  # fmt: skip
def test_options_become_plain(options, text):
    goal = rb.equal_opportunity("sex", **options)
    assert str(goal) == f"equal_opportunity(sex, {text})"
    assert rb.parse(str(goal)) == goal


def test_rates_and_population_of_a_goal():
    goal = rb.parse('not_worse_off(sex, versus="live", on="pool")')
    assert goal.population == "pool"
    assert {rate.name for rate in goal.rates} == {"accuracy"}
    assert {rate.population for rate in goal.rates} == {"pool"}
    assert rb.parse("equal_accuracy(sex, slack=0.1)").population == "train"


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("minimum_recall(sex, at_least=0.9)", True),
        ("minimum_recall(sex, at_least=0.9, of=1)", False),
        ("equal_accuracy(sex, slack=0.1)", False),
    ],
)
def test_a_goal_about_a_class_may_lack_it(text, lacks):
    assert rb.parse(text).lacks_class is lacks


REFUSED = [
    (lambda: rb.statistical_parity("sex"), ValueError, "give either slack= "),
    (
        lambda: rb.statistical_parity("sex", slack=0.1, ratio=0.9),
        ValueError,
        "give either slack= ",
    ),
    (lambda: rb.accurate_coverage(), ValueError, "give either slack= "),
    (lambda: rb.equal_opportunity("sex", slack=-0.1), ValueError, "slack= must not be negative"),
    (lambda: rb.equal_opportunity("sex", slack=float("nan")), TypeError, "finite number"),
    (lambda: rb.equal_opportunity("sex", ratio=0), ValueError, "ratio= is a factor"),
    (lambda: rb.equal_opportunity("sex", ratio=-1), ValueError, "ratio= is a factor"),
    (lambda: rb.equal_opportunity("sex", ratio=95), ValueError, "did you mean 0.95?"),
    (lambda: rb.accurate_coverage("sex", ratio=105), ValueError, "did you mean 1.05?"),
    (
        lambda: rb.equal_accuracy("sex", slack=0.1, against="each"),
        ValueError,
        'against= is "overall" or "pairwise", got \'each\'',
    ),
    (lambda: rb.equal_accuracy(5, slack=0.1), TypeError, "options are named, as in slack=0.1"),
    (lambda: rb.equal_accuracy("", slack=0.1), TypeError, "a column name"),
    (lambda: rb.equal_accuracy([], slack=0.1), TypeError, "takes groups first"),
    (lambda: rb.equal_accuracy({}, slack=0.1), TypeError, "takes groups first"),
    (lambda: rb.equal_accuracy({"sex": ()}, slack=0.1), TypeError, "isin takes a list"),
    (lambda: rb.equal_accuracy({"sex": (None,)}, slack=0.1), TypeError, "rb.missing(column)"),
    (lambda: rb.equal_accuracy("sex", slak=0.1), TypeError, "did you mean slack=?"),
    (
        lambda: rb.equal_accuracy({"sex": ("F",)}, slack=0.1, intersection=True),
        ValueError,
        "intersection=True takes columns",
    ),
    (lambda: rb.minimum_recall("sex"), TypeError, "at_least= is needed"),
    (lambda: rb.minimum_recall(at_least="0.9"), TypeError, "expected a rate or a finite number"),
    (lambda: rb.minimum_coverage(at_least=True), TypeError, "got True"),
    (lambda: rb.limited_churn(versus=1, at_most=0.02), TypeError, "versus= takes a name"),
    (lambda: rb.limited_churn(at_most=0.02), TypeError, "versus= is needed"),
    (lambda: rb.steering_examples(0.9, on=1), TypeError, "on= takes a name"),
    (lambda: rb.steering_examples(0.9, 0.8), TypeError, "steering_examples takes no groups"),
]


@pytest.mark.parametrize(("build", "error", "message"), REFUSED)
def test_goals_that_make_no_sense_are_refused(build, error, message):
    with pytest.raises(error, match=re.escape(message)):
        build()


def test_pairwise_needs_two_groups():
    goal = rb.equal_accuracy({"sex": ("F",)}, slack=0.1, against="pairwise")
    with pytest.raises(ValueError, match='compares groups, but there is only sex == "F"'):
        goal.spell_out([rb.where(sex="F")])


# --- goals of one's own ---------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def forget_goals():
    known = dict(GOALS)
    yield
    GOALS.clear()
    GOALS.update(known)


def test_a_goal_of_ones_own():
    @rb.goal
    def minimum_precision(groups, *, at_least):
        """Alarms are right often enough."""
        return [rb.precision(group) >= at_least for group in groups]

    goal = minimum_precision("sex", at_least=0.7)
    assert goal == rb.parse("minimum_precision(sex, at_least=0.7)")
    assert str(goal) == "minimum_precision(sex, at_least=0.7)"
    assert minimum_precision.__doc__ == "Alarms are right often enough."
    assert list(map(str, goal.spell_out([rb.where(sex="F")]))) == [f"precision({F}) >= 0.7"]
    with pytest.raises(TypeError, match="at_least= is needed"):
        minimum_precision("sex")


def test_a_goal_of_ones_own_may_be_defined_again():
    def own_goal(groups, *, at_least):
        return [rb.recall(group) >= at_least for group in groups]

    first = rb.goal(own_goal)("sex", at_least=0.5)
    assert rb.goal(own_goal)("sex", at_least=0.5) == first


@pytest.mark.parametrize("name", ["recall", "coverage", "smallest", "abs", "equal_accuracy"])
def test_a_known_name_is_taken(name):
    def function(groups, *, at_least):
        return []

    function.__name__ = name
    with pytest.raises(ValueError, match=f"{name} is taken"):
        rb.goal(function)
