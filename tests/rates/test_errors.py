"""An error shows where a text cannot be read, and says what to write there."""

import re

import pytest

import ratebound as rb

ERRORS = {  # text: a part of its message
    # what a constraint is
    "": "expected a rate such as recall(), or a number",
    "recall()": "expected <= or >= and a bound, as in recall() >= 0.9",
    "0.9": "expected <= or >= and a bound",
    "recall >= 0.9": "a rate needs parentheses: recall()",
    "not recall() >= 0.9": "not is not a rate",
    "recall() >= 0.9 and accuracy() >= 0.9": "expected the end of the constraint here",
    "recall() >= 0.9 recall()": "expected the end of the constraint here",
    "recall() > 0.9": "write >=",
    "recall() < 0.9": "write <=",
    "0.1 <= recall() < 0.9": "strict bounds are not supported, so write <=",
    "recall() = 0.9": "for equality give a range, as in 0.79 <= recall() <= 0.81",
    "recall() == 0.9": "for equality give a range",
    "recall() != 0.9": "expected <= or >=",
    "recall() in (0.9,)": "expected <= or >=",
    "0.9 <= recall() <= 0.8": "the range is empty, since 0.9 > 0.8",
    "0.9 <= recall() >= 0.8": "point the same way",
    "0.1 <= recall() <= 0.9 <= accuracy()": "one comparison, or two that point the same way",
    "(x := recall()) >= 0.9": "unexpected ':'",
    "x = recall()": "x is not a rate",
    # nothing is constrained
    "recall() >= true_positive_rate()": "no rate is left",
    'recall() >= recall(on="train")': "no rate is left",
    "recall() >= recall(at=0)": "no rate is left",
    "recall() >= 0.9 * recall() + 0.1 * recall()": "no rate is left",
    "recall() - 2 >= recall() - 3": "no rate is left",
    "precision() >= precision()": "no rate is left",
    "1 >= 0.9": "no rate is left",
    "0 * recall() >= 0.9": "no rate is left",
    # arithmetic
    "recall() * recall() >= 0.2": "multiply rates by numbers only",
    "recall() / 0 >= 0.9": "cannot divide recall() by zero",
    "recall() / (1 - 1) >= 0.9": "by zero",
    "recall() / (accuracy() - 0.5) >= 0.9": "a denominator must be a sum of rates",
    "recall() / -accuracy() >= 0.9": "a denominator must be a sum of rates",
    "recall() / precision() >= 0.9": "cannot be divided again",
    "precision() + recall() >= 0.9": "is a ratio",
    "precision() >= recall()": "compare it with a number, or with a multiple of one ratio",
    "precision() + f_score() >= 0.9": "two ratios can be compared",
    "precision() >= 0.9 * f_score() + 0.1": "two ratios can be compared",
    "roc_auc() <= 0.9": "takes only a lower bound",
    "0.9 >= roc_auc()": "takes only a lower bound",
    "0.1 <= roc_auc() <= 0.9": "takes only a lower bound",
    "precision(top=9) <= 0.9": "takes only a lower bound",
    "abs(recall()) >= 0.1": "takes only an upper bound",
    "abs(recall()) <= -0.1": "the range is empty",
    "0 <= abs(recall()) <= 0.1": "takes no arithmetic and stands alone",
    "recall() <= abs(accuracy())": "takes only an upper bound",
    "abs accuracy() <= 0.1": "expected '(' after abs",
    "abs(recall()) + recall() <= 0.1": "takes no arithmetic",
    "recall() ** 2 >= 0.9": "expected a rate",
    "recall() % 2 >= 0.9": "unexpected '%'",
    "1e308 * recall() * 10 >= 0.9": "not finite",
    "recall() / 1e-320 >= 0.9": "not finite",
    "recall() >= 1e999": "this number is too large",
    "recall() >= 9" + "0" * 400: "this number is too large",
    "recall(age == 1e999) >= 0.9": "this number is too large",
    # names
    "recal() >= 0.9": "did you mean recall?",
    "Recall() >= 0.9": "did you mean recall?",
    "rb.recall() >= 0.9": "rb.recall is not a rate; did you mean recall?",
    "eval('1') >= 0.9": "eval is not a rate",
    "column('age') >= 0.9": "column is not a rate",
    "recall() >= True": "True is not a rate",
    "recall() >= nan": "nan is not a rate",
    "recall() >= '0.9'": "expected a rate such as recall(), or a number",
    "equalised_odds(age, slack=0.1)": "did you mean equalized_odds?",
    "equalized_odds(sex, slack=0.1) >= 0.5": "expected the end of the constraint here",
    "recall() >= equalized_odds(sex, slack=0.1)": "a goal stands alone, and its bound is an option",
    "smallest(recall(), accuracy()) >= 0.5": "smallest is not a rate",
    # conditions
    'recall(sex = "F") >= 0.9': "equality is written ==",
    "recall(sex='F', age=3) >= 0.9": 'equality is written ==, as in sex == "Female"',
    'recall(a < 1 and sex = "F") >= 0.9': "equality is written ==",
    "recall(sex, min_rows=1) >= 0.5": "equality is written ==",
    "recall(off='pool') >= 0.5": "or did you mean the option of=?",
    "recall(sex == Female) >= 0.9": 'text needs quotes: "Female"',
    "recall(sex == None) >= 0.9": "rows without a value are missing(column)",
    "recall(on=pool) >= 0.9": 'text needs quotes: "pool"',
    "recall(true == flag) >= .5": "write True",
    "recall(flag == false) >= .5": "write False",
    'recall("sex" == "F") >= 0.9': "a column name takes no quotes: sex",
    'recall("two words" == 1) >= 0.9': 'a column name takes no quotes: column("two words")',
    'recall(25 <= "age") >= 0.9': "a column name takes no quotes: age",
    'recall(sex == "F) >= 0.9': "text needs quotes on both sides",
    'recall(sex == "F\\x") >= 0.9': "a backslash in this text escapes nothing",
    "recall('sex') >= 0.9": "expected a comparison",
    "recall(1 == 2) >= 0.9": "expected a column",
    "recall(age == -'1') >= 0.9": "expected a number after the minus sign",
    "recall(age == -True) >= 0.9": "expected a number after the minus sign",
    "recall(age == 1 + 1) >= 0.9": "expected ',' or ')' after this",
    "recall(18 <= age < 25 < 30) >= 0.9": "expected ',' or ')' after this",
    "recall(sex == 'F' == 3) >= 0.9": "expected ',' or ')' after this",
    "recall(age in ()) >= 0.9": "expected text in quotes, a number, True or False",
    "recall(age in 3) >= 0.9": 'expected \'(\' and the values, as in sex in ("Female", "Male")',
    "recall(age in [1]) >= 0.9": "unexpected '['",
    "recall(missing()) >= 0.9": "expected a column",
    "recall(missing(a == 1)) >= 0.9": "expected ')'",
    "recall(*sex) >= 0.9": "expected a column",
    "recall(age < 3 or not) >= 0.9": "expected a column",
    "recall(not recall()) >= 0.9": "expected a column or an option, not the rate recall",
    # columns
    "recall(hours per week > 40) >= 0.8": 'written column("hours per week")',
    "recall(b == 1 & two words == 1) >= 0.9": 'written column("two words")',
    "recall(missing(two words)) >= 0.9": 'written column("two words")',
    "recall(age is 1) >= 0.9": "the column 'age is' is written",
    "equalized_odds(two words, ratio=0.9)": 'written column("two words")',
    "recall(column('') == 1) >= 0.9": "a column name must be text or a whole number",
    "recall(column(1.5) == 1) >= 0.9": "a column name must be text or a whole number",
    "recall(column(True) == 1) >= 0.9": "a column name must be text or a whole number",
    "recall(column('a', 'b') == 1) >= 0.9": "expected ')'",
    "recall(IN == 1) >= 0.9": "expected a column",
    # options
    "churn() <= 0.1": 'versus= is needed, as in churn(versus="...")',
    "churn(versus=1) <= 0.1": "versus= takes a name, got 1",
    "confusion(label='a') <= 0.1": "predicted= is needed",
    "recall(versus='live') >= 0.9": "recall does not take versus=, only of=, by=",
    "accuracy(of='cat') >= 0.9": "accuracy does not take of=",
    "precision(bins=3) >= 0.9": "precision does not take bins=",
    "churn(versus='live', per=10) <= 0.5": "churn does not take per=",
    "referred(by='live') <= 0.5": "referred does not take by=",
    "prevalence(by='live') <= 0.5": "prevalence does not take by=",
    "roc_auc(at=0.5) >= 0.9": "roc_auc does not take at=",
    "recall(on=1) >= 0.9": "on= takes a name, got 1",
    "recall(on='a', on='b') >= 0.9": "on= is given twice",
    "recall(of=) >= 0.9": "expected text in quotes",
    "recall(at=True) >= 0.9": "expected a rate or a finite number, got True",
    "roc_auc(bins=0) >= 0.9": "bins= takes a number above 0",
    "roc_auc(bins=2.5) >= 0.9": "bins=2.5 is not a whole number",
    "precision(top=0) >= 0.9": "top= takes a number above 0",
    "precision(top=2.5) >= 0.9": "top=2.5 is not a whole number",
    "precision(top=9, at=1) >= 0.9": "top= determines the decisions, so leave out at=",
    "recall(top=9, by='live') >= 0.9": "top= determines the decisions, so leave out by=",
    "predicted_positives(per=0) <= 5": "per= takes a number above 0, got 0",
    "predicted_positives(per='x') <= 5": "expected a rate or a finite number",
    "f_score(beta=0) >= 0.5": "beta= takes a number above 0",
    "errors(decided) <= 4": "a count does not take 'decided'; leave it out",
    "recall(decided or a == 1) >= 0.4": "combine 'decided' with other conditions by 'and' only",
    # costs
    "cost() <= 1": "give a cost, as in cost(false_negative=10, false_positive=1)",
    "cost(false_negative=-1) <= 1": "a cost must not be negative",
    "cost(false_negative=0, false_positive=0) <= 1": "no error costs anything",
    "cost(false_negative='loan', column='fee') <= 1": "'loan' is a column already",
    "cost(label='a') <= 1": "give label= and predicted= and no other costs",
    "cost(label='a', predicted='b', false_negative=1) <= 1": "and no other costs",
    "cost(label='a', predicted='b', false_positive=1) <= 1": "and no other costs",
    # goals
    "equalized_odds": "expected '(' after the goal equalized_odds",
    "equalized_odds(sex)": "give either slack= ",
    "equalized_odds(slack=0.1)": "takes groups first, as in equalized_odds(sex, ...)",
    "equalized_odds(sex, slak=0.1)": "did you mean slack=?",
    "equalized_odds(sex, ratio=80)": "did you mean 0.8?",
    "equal_opportunity(0.9, slack=0.1)": "groups are columns or conditions",
    "equal_opportunity(sex, slack=0.1, slack=0.2)": "slack= is given twice",
    "equal_opportunity(sex, slack=x)": 'text needs quotes: "x"',
    "minimum_recall(sex)": "at_least= is needed; only you can say how much is right",
    "minimum_recall(sex, at_least='x')": "expected a rate or a finite number",
    "steering_examples(sex)": "expected text, True, False or a finite number",
    "equal_accuracy(sex, slack=0.1, of=1)": "equal_accuracy does not take of=",
}


def read_error(text):
    with pytest.raises(ValueError, match=r"^cannot read") as error:
        rb.parse(text)
    return str(error.value)


@pytest.mark.parametrize("text", ERRORS, ids=lambda text: text[:60])
def test_errors_say_what_to_write(text):
    message = read_error(text)
    assert ERRORS[text] in message
    assert message.isprintable()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("recall(sex == Female) >= 0.9", "recall(sex == »Female) >= 0.9"),
        ("recall() >= 0.9; 1", "recall() >= 0.9»; 1"),
        ("recal() >= 0.9", "»recal() >= 0.9"),
    ],
)
def test_errors_point_at_the_place(text, shown):
    assert f"cannot read {shown!r}: " in read_error(text)


def test_errors_show_a_long_text_in_part():
    conditions = " and ".join(f"a == {number}" for number in range(100))
    message = read_error(f"recall({conditions} and b = 2 and {conditions}) >= 0.9")
    assert "and b »= 2 and" in message
    assert len(message) < 150


@pytest.mark.parametrize("option", ["min_rows", "intersection", "slack", "ratio", "at_least"])
def test_an_option_of_goals_is_not_a_column(option):
    with pytest.raises(TypeError, match=f"recall does not take {option}="):
        rb.recall("sex", **{option: 1})


def test_an_option_of_other_rates_is_not_a_column():
    with pytest.raises(TypeError, match=re.escape("write rb.column('versus') == ...")):
        rb.recall(versus="live")


def test_a_rate_without_parentheses_is_no_constraint():
    with pytest.raises(TypeError, match=r"recall needs parentheses, as in rb.recall\(\) >= 0.9"):
        assert rb.recall >= 0.9
    with pytest.raises(TypeError, match="needs parentheses"):
        assert rb.error_rate <= 0.1


@pytest.mark.parametrize(
    "text", ["recall() >= .8 and precision() >= .5", "recall() >= .8, churn()"]
)
def test_several_constraints_are_a_list(text):
    with pytest.raises(ValueError, match="write several constraints as a list of texts"):
        rb.parse(text)


def test_a_goal_takes_its_groups_by_name():
    assert rb.goals.equal_opportunity(groups="sex", slack=0.1) == rb.parse(
        "equal_opportunity(sex, slack=0.1)"
    )
