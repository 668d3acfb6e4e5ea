"""Text is read as it is meant, prints in one spelling, and reads again as it printed."""

import pytest

import ratebound as rb
from ratebound.rates.table import ALIASES, KINDS

from .documented import documented_texts

FEWEST_DOCUMENTED = 60  # so that a page written otherwise does not empty the test


def assert_round_trip(constraint):
    text = str(constraint)
    again = rb.parse(text)
    assert again == constraint
    assert hash(again) == hash(constraint)
    assert str(again) == repr(again) == text
    assert text.isprintable()


def test_the_page_documents_many_texts():
    assert len(documented_texts()) >= FEWEST_DOCUMENTED


@pytest.mark.parametrize("text", documented_texts())
def test_documented_texts_round_trip(text):
    assert_round_trip(rb.parse(text))


@pytest.mark.parametrize("name", [*KINDS, *ALIASES])
def test_the_example_of_every_rate_round_trips(name):
    example = KINDS[ALIASES.get(name, name)].make_example().removeprefix("rb.")
    assert_round_trip(rb.parse(example))
    assert str(rb.parse(example)) == example


SPELLINGS = [  # as it is written, and as it prints
    ("0.9 <= recall()", "recall() >= 0.9"),
    ("  recall ( )>=.9  ", "recall() >= 0.9"),
    ("recall()\n>= 0.9", "recall() >= 0.9"),
    ("recall() >= 90%", "recall() >= 0.9"),
    ("recall() >= 0.7%", "recall() >= 0.007"),
    ("recall() >= 1e-3%", "recall() >= 1e-05"),
    ("recall() >= 1e-9999999999999999999%", "recall() >= 0"),
    ("recall() >= 3 / 10", "recall() >= 0.3"),
    ("(recall() + 3) / 10 >= 0.4", "0.1 * recall() + 0.3 >= 0.4"),
    ("recall() - 0.1 >= recall(sex == 'F')", 'recall() - 0.1 >= recall(sex == "F")'),
    ("-(recall() + 1) / 4 <= 2 * 3", "-0.25 * recall() - 0.25 <= 6"),
    ("recall() + recall() >= 1", "2 * recall() >= 1"),
    ("1 - recall() <= 0.1", "1 - recall() <= 0.1"),
    ("recall() >= 1e15", "recall() >= 1000000000000000.0"),
    ("true_positive_rate() >= 0.8", "recall() >= 0.8"),
    ("coverage(age < 25) >= 0.3", "positive_rate(age < 25) >= 0.3"),
    # options
    ("roc_auc() >= 0.8", "roc_auc(bins=10) >= 0.8"),
    ("roc_auc(bins=2.0) >= 0.8", "roc_auc(bins=2) >= 0.8"),
    ("precision(at=1.0) >= 1 / 2", "precision(at=1) >= 0.5"),
    ('recall(of="cat", sex == "F") >= 0.8', 'recall(sex == "F", of="cat") >= 0.8'),
    ('recall(on="pool", at=-1, of=2) >= 0', 'recall(of=2, on="pool", at=-1) >= 0'),
    ('recall(of = "a=b <= c", age <= 3) >= 1', 'recall(age <= 3, of="a=b <= c") >= 1'),
    ("cost(column='loan', age != 3) <= 9", 'cost(age != 3, column="loan") <= 9'),
    ("equal_opportunity(slack=0.05, sex)", "equal_opportunity(sex, slack=0.05)"),
    ('accuracy_of(versus="live") >= 0.9', 'accuracy(by="live") >= 0.9'),
    ('recall_of(age < 3, versus="live") >= 0.9', 'recall(age < 3, by="live") >= 0.9'),
    # ranges and distances
    ("0.7 <= recall() <= 0.8", "0.7 <= recall() <= 0.8"),
    ("0.8 >= recall() >= 0.7", "0.7 <= recall() <= 0.8"),
    ("recall(a == 1) <= 0.5 <= recall()", "recall(a == 1) <= 0.5 <= recall()"),
    ("-0.5 <= recall() - 0.5 <= 0.5", "abs(recall() - 0.5) <= 0.5"),
    ("abs(recall(a == 1) - recall()) <= 0.05", "abs(recall(a == 1) - recall()) <= 0.05"),
    ("0.05 >= abs(recall() - 0.5)", "abs(recall() - 0.5) <= 0.05"),
    ("recall() >= abs(accuracy())", "abs(accuracy()) <= recall()"),
    # conditions
    ("recall(sex == 'F', 25 > age) >= 1", 'recall(sex == "F" and age < 25) >= 1'),
    ("recall(age in (1, -2,)) >= 1", "recall(age in (1, -2)) >= 1"),
    ("recall(age not in (1, 2)) >= 1", "recall(not age in (1, 2)) >= 1"),
    ("recall(age in (1)) >= 1", "recall(age in (1,)) >= 1"),
    ("recall(not not a == 1) >= 1", "recall(a == 1) >= 1"),
    ("recall(a == 1 and (b == 2 and c == 3)) >= 1", "recall(a == 1 and b == 2 and c == 3) >= 1"),
    ("recall((a == 1 or b == 2) and c == 3) >= 1", "recall((a == 1 or b == 2) and c == 3) >= 1"),
    ("recall(a == 1 or b == 2 and c == 3) >= 1", "recall(a == 1 or b == 2 and c == 3) >= 1"),
    ("recall(25 <= age < 40) >= 1", "recall(25 <= age < 40) >= 1"),
    ("recall(40 > age >= 25) >= 1", "recall(age < 40 and age >= 25) >= 1"),
    ("recall(not 1 < a < 2) >= 1", "recall(not (1 < a < 2)) >= 1"),
    ("recall(missing(a), not missing(b)) >= 1", "recall(missing(a) and not missing(b)) >= 1"),
    ("error_rate(decided) <= 0.1", "error_rate(decided) <= 0.1"),
    ("recall(a == 1 AND NOT b IN (2, 3)) >= 1", "recall(a == 1 and not b in (2, 3)) >= 1"),
    ("recall(a == 1 & ~(b ≠ 2 || c == 3)) => 1", "recall(a == 1 and not (b != 2 or c == 3)) >= 1"),
    # columns and values
    ("recall(column(3) > 1) >= 1", "recall(column(3) > 1) >= 1"),
    ("recall(größe > 1) >= 1", 'recall(column("größe") > 1) >= 1'),
    ("recall(people.sex == 1) >= 1", 'recall(column("people.sex") == 1) >= 1'),
    ("recall(class == 1) >= 1", "recall(class == 1) >= 1"),
    ("recall(recall == 1) >= 1", "recall(recall == 1) >= 1"),
    ("recall(column('IN') > 1) >= 1", 'recall(column("IN") > 1) >= 1'),
    ("recall(column('b c') == 'd') >= 1", 'recall(column("b c") == "d") >= 1'),
    ("recall(a == “x”, b == ‘y’) ≥ 95%", 'recall(a == "x" and b == "y") >= 0.95'),
    ("recall(a == 'x & ≥ 5%') >= 1", 'recall(a == "x & ≥ 5%") >= 1'),
    ("recall(a == 'it\\'s') >= 1", 'recall(a == "it\'s") >= 1'),
    ("recall(a == 'q\"u') >= 1", 'recall(a == "q\\"u") >= 1'),
    ('recall(a == " x ") >= 1', 'recall(a == " x ") >= 1'),
    ('recall(a == "") >= 1', 'recall(a == "") >= 1'),
    ("recall(a == 0.10) >= 1", "recall(a == 0.1) >= 1"),
    ("recall(a == 1e3) >= 1", "recall(a == 1000.0) >= 1"),
    # ratios
    ("(recall()) / (accuracy()) >= 0.9", "recall() / accuracy() >= 0.9"),
    ("0.9 <= 1 / (recall() + 1)", "(1) / (recall() + 1) >= 0.9"),
    ("recall() / accuracy() / 2 >= 0.4", "0.5 * (recall() / accuracy()) >= 0.4"),
    ("0.5 * recall() / accuracy() >= 0.4", "(0.5 * recall()) / accuracy() >= 0.4"),
    ("-(recall() / accuracy()) >= -0.4", "-(recall() / accuracy()) >= -0.4"),
    ("-recall() / accuracy() >= -0.4", "(-recall()) / accuracy() >= -0.4"),
    ("1 - precision() >= 0.9", "1 - precision() >= 0.9"),
    (
        "2 * wins(versus='a') / (wins(versus='a') * 3) <= 1",
        '(2 * wins(versus="a")) / (3 * wins(versus="a")) <= 1',
    ),
    # goals
    ("steering_examples(0.67)", "steering_examples(at_least=0.67)"),
    ("egregious_examples()", "egregious_examples()"),
    ("equalized_odds(sex, ratio=95%)", "equalized_odds(sex, ratio=0.95)"),
    ("equal_accuracy(column(3), slack=0)", "equal_accuracy(column(3), slack=0)"),
    ("decision_rule(a == True, decision=False)", "decision_rule(a == True, decision=False)"),
]


@pytest.mark.parametrize(("text", "printed"), SPELLINGS)
def test_texts_print_in_one_spelling(text, printed):
    constraint = rb.parse(text)
    assert str(constraint) == printed
    assert_round_trip(constraint)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("recall(sex)>=0.9", "recall(sex) >= 0.9"),
        ("precision() / 2 >= 0.4", "0.5 * precision() >= 0.4"),
        ('recall(on="train") >= 0.4', "recall() >= 0.4"),
        ("f_score(beta=1) >= 0.4", "f_score() >= 0.4"),
        ("recall(at=0) >= 0.4", "recall() >= 0.4"),
        ("0.4 <= recall()", "recall() >= 0.4"),
        ("recall() + accuracy() >= 0.4", "accuracy() + recall() >= 0.4"),
        ("true_positive_rate() >= 0.4", "recall() >= 0.4"),
    ],
)
def test_two_spellings_are_one_constraint(first, second):
    assert rb.parse(first) == rb.parse(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("recall() >= 0.4", "recall() <= 0.4"),
        ('recall(a == "1") >= 0.4', "recall(a == 1) >= 0.4"),
        ('recall(a == "x") >= 0.4', 'recall(a == " x") >= 0.4'),
        ("recall(a == 1 and b == 2) >= 0.4", "recall(b == 2 and a == 1) >= 0.4"),
        ('recall(on="pool") >= 0.4', "recall() >= 0.4"),
        ("0.5 * recall() / accuracy() >= 0.4", "0.5 * (recall() / accuracy()) >= 0.4"),
    ],
)
def test_two_meanings_are_two_constraints(first, second):
    assert rb.parse(first) != rb.parse(second)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('recall(column("s is t") == "a is b") >= 0.5', '"a is b"'),
        ('recall(on="pool") - recall(on="late") >= 0', 'on="pool") - recall(on="late")'),
        ('precision(sex == "F") >= 0.9 * precision()', ">= 0.9 * precision()"),
        ('precision(sex == "F") - precision(a == 1) >= 0', "- precision(a == 1)"),
        ("-0.5 <= precision() / 2 <= 0.5", "abs(0.5 * precision()) <= 0.5"),
        ('recall(age == "2024-01-31 08:30:00+01:00") >= 0.5', "08:30:00+01:00"),
    ],
)
def test_text_keeps_what_was_written(text, kept):
    constraint = rb.parse(text)
    assert kept in str(constraint)
    assert_round_trip(constraint)


@pytest.mark.parametrize("thing", [None, 1, b"recall() >= 0.9", ["recall() >= 0.9"]])
@pytest.mark.parametrize("read", [rb.parse, rb.parse_condition, rb.parse_objective])
def test_only_text_is_read(read, thing):
    with pytest.raises(TypeError, match="expected text"):
        read(thing)


@pytest.mark.parametrize(
    "text",
    [
        "error_rate()",
        "error_rate() + 0.2 * referred()",
        "precision() + 0.2 * recall()",
        "0.5 * (recall() / accuracy()) - error_rate()",
        "smallest(recall(sex))",
        'smallest(recall(sex == "F"), 1 - error_rate())',
        "largest(error_rate(a == 1), precision())",
    ],
)
def test_objectives_round_trip(text):
    objective = rb.parse_objective(text)
    assert str(objective) == text
    assert rb.parse_objective(str(objective)) == objective


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("smallest(recall())", "takes two or more sums of rates"),
        ("largest()", "expected a rate"),
        ("median(recall(), accuracy())", "median is not a rate"),
        ("g_mean(recall(), true_negative_rate())", "g_mean is not a rate"),
        ("error_rate() <= 0.1", "expected the end of the constraint here"),
        ("abs(recall())", "is not a sum"),
    ],
)
def test_objectives_that_cannot_be_read(text, message):
    with pytest.raises(ValueError, match=message):
        rb.parse_objective(text)


def test_ends_of_a_range_are_constraints_of_their_own():
    ends = rb.parse("0.7 <= recall() <= 0.8").ends
    assert ends == [rb.parse("recall() >= 0.7"), rb.parse("recall() <= 0.8")]
    for text in ("recall(a == 1) <= 0.5 <= recall()", "abs(recall() - accuracy()) <= 0.1"):
        for end in rb.parse(text).ends:
            assert_round_trip(end)
