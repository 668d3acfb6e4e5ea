"""Goals and columns become constraints once there are rows: one for each group, value and class."""

import datetime as dt

import numpy as np
import pytest

import ratebound as rb

COLUMNS = {
    "sex": list("FMFMFMFM"),
    "band": [30, 20, 40, 20, 30, 40, 20, 30],
    "member": [True, False] * 4,
    "mixed": np.array([3, "x", 1, 3, "x", 1, 3, 1], dtype=object),
    "town": ["Rome", None, "Oslo", "Rome", None, "Oslo", "", "Rome"],
    "age": [20.0, np.nan, 30.0, 20.0, 30.0, 20.0, np.nan, 20.0],
    "day": [dt.date(2024, 1, 31), dt.date(2024, 2, 1)] * 4,
    "live": [0, 1, 1, 1, 0, 0, 1, 1],
}
PEOPLE = rb.Population(None, [0, 1, 1, 0, 1, 0, 1, 0], COLUMNS)
POOL = rb.Population(None, None, {"sex": ["F", "X"]})


def spell_out(*texts, rows=PEOPLE, **populations):
    """Return the texts of all rows that constraints stand for."""
    return list(rb.compile(rb.Problem("error_rate()", texts), rows, **populations).labels)


@pytest.mark.parametrize(
    ("column", "groups"),
    [
        ("sex", ['sex == "F"', 'sex == "M"']),
        ("band", ["band == 20", "band == 30", "band == 40"]),
        ("member", ["member == False", "member == True"]),
        ("mixed", ["mixed == 1", "mixed == 3", 'mixed == "x"']),
        ("town", ['town == ""', 'town == "Oslo"', 'town == "Rome"']),  # a gap is not a value
        ("age", ["age == 20", "age == 30"]),
        ("day", ['day == "2024-01-31 00:00:00"', 'day == "2024-02-01 00:00:00"']),
    ],
)
def test_every_value_is_a_group_in_order(column, groups):
    expected = [f"positive_rate({group}) >= 0.1" for group in groups]
    assert spell_out(f"minimum_coverage({column}, at_least=0.1)") == expected
    assert spell_out(f"positive_rate({column}) >= 0.1") == expected
    turned = PEOPLE.select(np.arange(8)[::-1])
    assert spell_out(f"positive_rate({column}) >= 0.1", rows=turned) == expected


def test_groups_of_all_sorts():
    goal = "minimum_coverage(sex, band < 30, member in (True, False), at_least=0)"
    assert spell_out(goal) == [
        'positive_rate(sex == "F") >= 0',
        'positive_rate(sex == "M") >= 0',
        "positive_rate(band < 30) >= 0",
        "positive_rate(member == True) >= 0",
        "positive_rate(member == False) >= 0",
    ]


def test_combinations_of_columns():
    goal = "minimum_coverage(sex, band, at_least=0, intersection=True)"
    with pytest.warns(UserWarning, match="of 6 combinations have no row, so they are left out"):
        labels = spell_out(goal, rows=PEOPLE.select([0, 1, 2, 3]))
    assert labels == [
        'positive_rate(sex == "F" and band == 30) >= 0',
        'positive_rate(sex == "F" and band == 40) >= 0',
        'positive_rate(sex == "M" and band == 20) >= 0',
    ]


def test_values_are_those_of_the_population_that_is_named():
    texts = ["minimum_coverage(sex, at_least=0.1, on='pool')", "positive_rate(sex, on='pool') <= 1"]
    assert spell_out(*texts, pool=POOL) == [
        'positive_rate(sex == "F", on="pool") >= 0.1',
        'positive_rate(sex == "X", on="pool") >= 0.1',
        'positive_rate(sex == "F", on="pool") <= 1',
        'positive_rate(sex == "X", on="pool") <= 1',
    ]


def test_values_of_all_pieces_are_groups():
    pieces = [PEOPLE.select([0, 2]), PEOPLE.select([1, 3])]
    assert spell_out("recall(sex) >= 0.5", rows=pieces) == spell_out("recall(sex) >= 0.5")


def test_a_column_stands_in_every_rate_that_names_it():
    texts = spell_out("recall(sex and band <= 40) >= 0.8 * recall(sex) - 0.1 * recall()")
    assert texts == [
        'recall(sex == "F" and band <= 40) >= 0.8 * recall(sex == "F") - 0.1 * recall()',
        'recall(sex == "M" and band <= 40) >= 0.8 * recall(sex == "M") - 0.1 * recall()',
    ]
    assert spell_out("recall() / accuracy(sex) >= 0.5") == [
        'recall() / accuracy(sex == "F") >= 0.5',
        'recall() / accuracy(sex == "M") >= 0.5',
    ]


def test_ranges_and_distances_are_two_rows():
    assert spell_out("0.1 <= recall() <= 0.9", "abs(recall() - accuracy()) <= 0.2") == [
        "recall() >= 0.1",
        "recall() <= 0.9",
        "recall() - accuracy() >= -0.2",
        "recall() - accuracy() <= 0.2",
    ]


def test_rows_know_their_constraint():
    texts = ["recall() >= 0.1", "recall(sex) >= 0.2", "0.1 <= accuracy() <= 0.9"]
    compiled = rb.compile(rb.Problem("error_rate()", texts), PEOPLE)
    assert [row.constraint for row in compiled.rows] == [0, 1, 1, 2, 2]


def test_a_constraint_said_twice_has_two_rows():
    assert spell_out("recall() >= 0.5", "recall() >= 0.5") == ["recall() >= 0.5"] * 2


def test_an_objective_on_a_column_is_of_every_value():
    problem = rb.Problem(maximize="smallest(recall(sex))")
    pieces = rb.compile(problem, PEOPLE).objective.pieces
    assert list(map(str, pieces)) == ['recall(sex == "F")', 'recall(sex == "M")']


# --- several classes ------------------------------------------------------------------------------

LABELS = ["cat", "dog", "bird", "cat", "dog", "bird"] * 2
ANIMALS = rb.Population(None, LABELS, {"sex": ["F"] * 6 + ["M"] * 6, "live": LABELS[::-1]})
PAIR = rb.Population(None, [1, 0] * 6, {"sex": ["F"] * 6 + ["M"] * 6, "live": [0, 1] * 6})


@pytest.mark.parametrize(
    ("goal", "rows"),
    [
        ("statistical_parity(sex, slack=0.1{})", 4),
        ("equal_opportunity(sex, ratio=0.9{})", 2),
        ("accurate_coverage(sex, slack=0.1{})", 4),
        ("minimum_coverage(sex, at_least=0.1{})", 2),
        ("minimum_recall(sex, at_least=0.1{})", 2),
        ('no_lost_benefits(sex, versus="live"{})', 2),
        ("equalized_odds(sex, ratio=0.9{})", 4),
    ],
)
def test_a_goal_about_a_class_is_of_one_or_of_each(goal, rows):
    of_cat = spell_out(goal.format(', of="cat"'), rows=ANIMALS)
    assert len(of_cat) == rows
    assert all('of="cat"' in text for text in of_cat)
    of_each = spell_out(goal.format(""), rows=ANIMALS)
    assert len(of_each) == 3 * rows
    assert [text for text in of_each if 'of="cat"' in text] == of_cat
    assert not any("of=" in text for text in spell_out(goal.format(""), rows=PAIR))
    assert all("of=1" in text for text in spell_out(goal.format(", of=1"), rows=PAIR))


@pytest.mark.parametrize(
    "goal", ["equal_accuracy(sex, slack=0.1)", 'limited_churn(versus="live", at_most=0.2)']
)
def test_goals_about_all_decisions_name_no_class(goal):
    assert not any("of=" in text for text in spell_out(goal, rows=ANIMALS))


def test_a_rule_decides_for_a_class():
    assert spell_out('decision_rule(sex, decision="cat")', rows=ANIMALS) == [
        'positive_rate(sex == "F", of="cat") >= 1',
        'positive_rate(sex == "M", of="cat") >= 1',
    ]


# --- small groups ---------------------------------------------------------------------------------

RACES = ["White"] * 10 + ["Black"] * 6 + ["Other"] * 2
LARGE = rb.Population(None, [0, 1] * 9, {"race": RACES})


@pytest.mark.parametrize(
    ("goal", "left_out"),
    [
        ("minimum_accuracy(race, at_least=0.5, min_rows=3)", ["Other"]),
        ("minimum_recall(race, at_least=0.5, min_rows=3)", ["Other"]),
        ("minimum_recall(race, at_least=0.5, min_rows=4)", ["Black", "Other"]),  # positive rows
        ("equalized_odds(race, slack=0.1, min_rows=2)", ["Other"]),
        ('equal_accuracy(race, slack=0.1, against="pairwise", min_rows=3)', ["Other"]),
    ],
)
def test_small_groups_are_left_out_with_a_warning(goal, left_out):
    with pytest.warns(UserWarning, match="rows are left out") as warnings:
        labels = spell_out(goal, rows=LARGE)
    message = str(warnings[0].message)
    for race in ("White", "Black", "Other"):
        assert (f'race == "{race}"' in message) == (race in left_out)
        assert any(f'race == "{race}"' in text for text in labels) == (race not in left_out)


def test_large_groups_are_kept_without_a_warning():
    assert len(spell_out("minimum_accuracy(race, at_least=0.5, min_rows=2)", rows=LARGE)) == 3
    assert len(spell_out("minimum_accuracy(race, at_least=0.5)", rows=LARGE)) == 3


def test_rows_without_weight_do_not_count():
    weights = np.where(np.array(RACES) == "Black", 0, 1)
    rows = rb.Population(None, [0, 1] * 9, {"race": RACES}, weights)
    with pytest.warns(UserWarning, match='left out: race == "Black"'):
        spell_out("minimum_accuracy(race, at_least=0.5, min_rows=1)", rows=rows)


def test_a_goal_of_ones_own_is_spelled_out_too():
    @rb.goal
    def minimum_precision_of_ours(groups, *, at_least):
        return [rb.precision(group) >= at_least for group in groups]

    assert spell_out("minimum_precision_of_ours(sex, at_least=0.7)") == [
        'precision(sex == "F") >= 0.7',
        'precision(sex == "M") >= 0.7',
    ]
