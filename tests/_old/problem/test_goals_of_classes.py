"""Goals with more than two classes: for one of them, or for each."""

import numpy as np
import pytest

import ratebound._old as rb

COLUMNS = {
    "sex": ["F", "M", "F", "M", "F", "M", "F", "M"],
    "live": ["cat", "dog", "bird", "cat", "dog", "bird", "cat", "cat"],
}
LABELS = ["cat", "dog", "bird", "cat", "dog", "bird", "cat", "dog"]
SEVERAL = rb.Population(None, LABELS, columns=COLUMNS)
TWO = rb.Population(None, [1, 0, 1, 0, 1, 1, 0, 0], columns=COLUMNS)
CLASSES = ("bird", "cat", "dog")


def spelled(goal, rows=SEVERAL):
    return list(map(str, rb.compile(rb.Problem("error_rate()", goal), rows).constraints))


def test_a_goal_without_a_class_is_of_every_class():
    wanted = [f'recall(sex == "{sex}", of="{each}") >= 0.1' for each in CLASSES for sex in ("F", "M")]
    rows = rb.Population(None, LABELS * 2, columns={"sex": ["F"] * 8 + ["M"] * 8})
    assert spelled(rb.minimum_recall("sex", at_least=0.1), rows) == wanted
    assert spelled("minimum_recall(sex, at_least=0.1)", rows) == wanted
    listed = rb.minimum_recall({"sex": ("F", "M")}, at_least=0.1)
    assert sorted(spelled(listed, rows)) == sorted(wanted)
    assert sorted(spelled('minimum_recall(sex == "F", sex == "M", at_least=0.1)', rows)) == sorted(
        wanted
    )
    everyone = [f'recall(of="{each}") >= 0.1' for each in CLASSES]
    assert spelled(rb.minimum_recall(at_least=0.1), rows) == everyone


def test_names_in_reports_tell_the_class():
    for goal in (
        rb.statistical_parity("sex", slack=0.1, of="cat"),
        rb.statistical_parity("sex", slack=0.1),
    ):
        for constraint in rb.compile(rb.Problem("error_rate()", goal), SEVERAL).constraints:
            assert constraint.name == f"statistical parity: {constraint}"
            assert "of=" in constraint.name


GOALS = {
    "statistical_parity(sex, slack=0.1{})": 4,
    "equal_opportunity(sex, ratio=0.9{})": 2,
    "accurate_coverage(sex, slack=0.1{})": 4,
    "minimum_coverage(sex, at_least=0.1{})": 2,
    'no_lost_benefits(sex, versus="live"{})': 2,
    "equalized_odds(sex, ratio=0.9{})": 4,
}


@pytest.mark.parametrize("words", GOALS)
def test_every_goal_on_a_class_takes_one_or_does_each(words):
    rows = rb.Population(None, LABELS * 2, columns={k: v[:4] * 2 + v[::-1] for k, v in COLUMNS.items()})
    one = spelled(words.format(', of="cat"'), rows)
    assert len(one) == GOALS[words]
    assert all('of="cat"' in each for each in one)
    every = spelled(words.format(""), rows)
    assert len(every) == 3 * len(one)
    assert [each for each in every if 'of="cat"' in each] == one
    two = rb.Population(None, [1, 0] * 8, columns={"sex": ["F"] * 8 + ["M"] * 8, "live": [0, 1] * 8})
    assert not any("of=" in each for each in spelled(words.format(""), two))
    assert all("of=1" in each for each in spelled(words.format(", of=1"), two))


@pytest.mark.parametrize(
    "words", ["equal_accuracy(sex, slack=0.1)", 'limited_churn(versus="live", at_most=0.2)']
)
def test_goals_on_all_decisions_speak_of_no_class(words):
    assert not any("of=" in each for each in spelled(words))
    with pytest.raises((TypeError, ValueError), match="of"):
        rb.parse(words.replace(")", ', of="cat")'))


def test_the_goals_of_a_class_are_what_brute_force_counts():
    random = np.random.default_rng(0)
    labels, sex = random.choice(CLASSES, 90), random.choice(["F", "M"], 90)
    rows = rb.Population(None, labels, columns={"sex": sex})
    scores = random.normal(size=(3, 90))
    decided = np.array(CLASSES)[scores.argmax(axis=0)]
    compiled = rb.compile(rb.Problem("error_rate()", rb.equal_opportunity("sex", slack=0.05)), rows)
    wanted = []
    for each in CLASSES:
        for group in ("F", "M"):
            own = (decided == each)[(labels == each) & (sex == group)].mean()
            all_of_it = (decided == each)[labels == each].mean()
            wanted += [own - all_of_it - 0.05, all_of_it - own - 0.05]
    np.testing.assert_allclose(compiled.evaluate(scores)[1], wanted, atol=1e-12)


def test_a_rule_decides_for_a_class():
    assert spelled(rb.decision_rule({"sex": "F"}, decision="dog", at_least=0.5)) == [
        'positive_rate(sex == "F", of="dog") >= 0.5'
    ]
    with pytest.raises(ValueError, match=r"there are 3 classes, so name one"):
        spelled(rb.decision_rule({"sex": "F"}, decision=True))


def test_a_class_without_rows_in_a_group_is_named():
    rows = rb.Population(
        None, LABELS, columns={"sex": ["F" if each == "cat" else "M" for each in LABELS]}
    )
    with pytest.raises(ValueError, match=r'no row to count recall\(of="bird"\) on where sex == "F"'):
        spelled("minimum_recall(sex, at_least=0.1)", rows)
    with pytest.warns(UserWarning, match='1 groups with fewer than 1 rows to count on .*sex == "F"'):
        promises = spelled("minimum_recall(sex, at_least=0.1, min_rows=1)", rows)
    assert (
        promises
        == [
            'recall(sex == "M", of="bird") >= 0.1',
            'recall(sex == "F", of="cat") >= 0.1',
            'recall(sex == "M", of="dog") >= 0.1',
        ]
        or len(promises) == 3
    )


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ('minimum_recall(sex, at_least=0.1, of="cta")', 'no class "cta", did you mean "cat"'),
        ('recall(of="cta") >= 0.1', 'no class "cta", did you mean "cat"'),
        ("recall(of=1) >= 0.1", 'no class 1. The classes are "bird", "cat", "dog"'),
        ('confusion(label="cat", predicted="rat") <= 0.1', 'no class "rat"'),
        ("recall() >= 0.5", 'there are 3 classes, so name one: recall\\(of="bird"\\)'),
        ("precision() >= 0.5", "there are 3 classes, so name one"),
        ('accuracy(of="cat") >= 0.5', "accuracy does not take of=, since it counts every class"),
        ("recall(of=None) >= 0.1", "compared with a text|got None"),
    ],
)
def test_wrong_classes_are_errors_that_say_what_there_is(words, complaint):
    with pytest.raises((TypeError, ValueError), match=complaint):
        spelled([words])


def test_a_goal_of_ones_own_is_of_every_class():
    from ratebound._old.rates.grouping import GOALS as KNOWN

    @rb.goal
    def minimum_precision_here(groups, *, at_least):
        return [rb.precision(group) >= at_least for group in groups]

    try:
        promises = spelled("minimum_precision_here(sex, at_least=0.3)")
        assert len(promises) == 6
        assert 'precision(sex == "F", of="dog") >= 0.3' in promises
    finally:
        del KNOWN["minimum_precision_here"]
