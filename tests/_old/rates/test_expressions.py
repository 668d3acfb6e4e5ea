"""Expressions obey the laws of arithmetic in one normal form; what is meaningless raises with a hint."""

import enum
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.metrics import fbeta_score

import ratebound._old as rb
from ratebound._old import accuracy, column, precision, recall, roc_auc, where, win_loss_ratio

# The same examples every time, on a machine of any speed.
steady = settings(
    derandomize=True, deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow]
)

# Eighths add and multiply without rounding, so the laws hold exactly.
numbers = st.integers(-64, 64).map(lambda eighths: eighths / 8)
rates = st.sampled_from(
    [recall(), recall(on="train"), recall(at=0.5), recall(at="t"), accuracy(), recall(sex="F"),
     rb.churn(versus="live"), rb.churn(versus="old"), rb.true_positives(age=3)]
)  # fmt: skip
terms = st.lists(st.tuples(numbers, rates), max_size=4)
expressions = st.builds(lambda ts, c: sum((n * r for n, r in ts), rb.Expression()) + c, terms, numbers)


def normal(expression):
    """An expression as the mapping it stands for."""
    assert len(dict(expression.terms)) == len(expression.terms), "one coefficient per rate"
    assert all(coefficient != 0 for _, coefficient in expression.terms)
    assert all(type(c) is float for c in [expression.constant, *dict(expression.terms).values()])
    return dict(expression.terms), expression.constant


@steady
@given(expressions, expressions, expressions, numbers, numbers)
def test_laws(a, b, c, s, t):
    same = [
        (a + b, b + a),
        ((a + b) + c, a + (b + c)),
        (a + 0, a),
        (0 + a, a),
        (a - b, a + -b),
        (a - a, rb.Expression()),
        (-1 * -a, a),
        (-a, -1 * a),
        (s - a, -(a - s)),
        (s + a, a + s),
        (s * a, a * s),
        (1 * a, a),
        (0 * a, rb.Expression()),
        (s * (a + b), s * a + s * b),
        ((s + t) * a, s * a + t * a),
        (s * (t * a), (s * t) * a),
        (a / 4, 0.25 * a),
        (a / -0.5, -2 * a),
        (sum([a, b, c]), a + b + c),
    ]
    for left, right in same:
        assert normal(left) == normal(right)


@steady
@given(expressions, expressions)
def test_equal_expressions_have_equal_hashes(a, b):
    again = rb.Expression(a.terms, a.constant)
    assert again == a
    assert hash(again) == hash(a)
    assert (a == b) == (a.terms == b.terms and a.constant == b.constant)


@steady
@given(terms, numbers)
def test_the_normal_form_counts_each_rate_once(given_terms, constant):
    expression = sum((n * r for n, r in given_terms), rb.Expression()) + constant
    expected = {}
    for n, r in given_terms:
        (rate, _), *_ = r.terms
        expected[rate] = expected.get(rate, 0) + n
    assert normal(expression) == ({rate: n for rate, n in expected.items() if n}, constant)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (rb.Expression(), "0.0"),
        (recall() - recall(), "0.0"),
        (-recall(), "-recall()"),
        (recall() - 1, "recall() - 1.0"),
        (1 - recall(), "1.0 - recall()"),
        (0.5 * recall(sex="F") - 2 * accuracy() / 4, '0.5 * recall(sex == "F") - 0.5 * accuracy()'),
        (recall(where(sex="F"), column("age") < 3, race=("a", "b")),
         'recall(sex == "F" and age < 3 and race in ("a", "b"))'),
        (recall(on="pool", at=1), 'recall(on="pool", at=1.0)'),
        (rb.churn(versus="live", at="t", on="pool"), 'churn(versus="live", on="pool", at="t")'),
        (win_loss_ratio(versus="live"), 'win_loss_ratio(versus="live")'),
        (recall(~((column("a") == 1) & (column("b") == 2)) | (column("c") == 3)),
         "recall(not (a == 1 and b == 2) or c == 3)"),
        (recall((column("a") == 1) & ((column("b") == 2) | (column("class") == 3))),
         'recall(a == 1 and (b == 2 or column("class") == 3))'),
    ],
)  # fmt: skip
def test_prints_as_written(expression, text):
    assert str(expression) == repr(expression) == text


A, B, C = (column(name) == 1 for name in "abc")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((A & B) & C, A & (B & C)),
        ((A | B) | C, A | (B | C)),
        (~~A, A),
        (~~(A & B), A & B),
        (where() & A, A),
        (A & where(), A),
        (where() | A, where()),
        (A | where(), where()),
        (where(a=1, b=1), A & B),
        (where(a=[1]), column("a").isin((1,))),
        (where(a={1: "x"}.keys()), column("a").isin([1])),
        (where(a=np.int64(1)), A),
        (where(a=np.array([1, 2])), where(a=(1, 2))),
        (where(a=np.str_("x")), where(a="x")),
    ],
)
def test_equal_subsets_are_equal(left, right):
    assert left == right
    assert hash(left) == hash(right)
    assert str(left) == str(right)


class Grade(enum.IntEnum):
    LOW = 1


class Quoted(enum.StrEnum):
    YES = 'say "yes"'


@pytest.mark.parametrize(
    ("value", "kind"),
    [(np.int8(3), int), (np.float32(0.5), float), (np.bool_(True), bool), (np.str_("a"), str),
     (Grade.LOW, int), (Quoted.YES, str)],
)  # fmt: skip
def test_values_become_plain(value, kind):
    constraint = recall(x=value) >= 0.5
    assert type(constraint.left.terms[0][0].subset.value) is kind
    assert rb.parse(str(constraint)) == constraint


@pytest.mark.parametrize("number", [np.float64(0.5), np.float32(0.5), np.int64(2)])
def test_numpy_numbers_are_numbers_on_either_side(number):
    plain = float(number)
    assert number * recall() == recall() * number == plain * recall()
    assert number + recall() == plain + recall()
    assert number - recall() == plain - recall()
    assert (number <= recall()) == (recall() >= number) == (recall() >= plain)
    assert (number >= precision()) == (precision() <= plain)


age = column("age")
REFUSED = {  # why: what raises TypeError, and the hint it gives
    "product of rates": (lambda: recall() * accuracy(), "linear.*only be multiplied by a number"),
    "quotient of quotients": (lambda: recall() / (recall() / accuracy()), "not a sum of rates"),
    "rate with text": (lambda: recall() + "0.1", "only a number or a rate.*'0.1'"),
    "rate with truth": (lambda: True * recall(), "only a number or a rate.*True"),
    "rate with none": (lambda: recall() >= None, "only a number or a rate.*None"),
    "rate with complex": (lambda: recall() * 1j, "only a number or a rate"),
    "rate with subset": (lambda: recall() >= where(a=1), "only a number or a rate"),
    "chained bounds": (lambda: 0.1 <= recall() <= 0.9, r"two constraints, \[rate >= 0.1, rate <= 0.9\]"),
    "chained ratio": (lambda: 0.1 <= precision() <= 0.9, "two constraints"),
    "truth of a constraint": (lambda: bool(recall() >= 0.9), "before there is data"),
    "constraint and constraint": (lambda: recall() >= 0.9 and accuracy() >= 0.9, "neither true"),
    "not constraint": (lambda: not recall() >= 0.9, "neither true nor false"),
    "less": (lambda: recall() < 0.9, "write <="),
    "greater": (lambda: recall() > 0.9, "write >="),
    "number less": (lambda: 0.9 < recall(), "write >="),  # noqa: SIM300
    "ratio less": (lambda: precision() < 0.9, "write <="),
    "ratio greater": (lambda: precision() > 0.9, "write >="),
    "ratio plus number": (lambda: precision() + 1, "compare it with a number: precision\\(\\) >= 0.8"),
    "number plus ratio": (lambda: 1 + precision(), "compare it with a number"),
    "ratio minus number": (lambda: precision() - 1, "compare it with a number"),
    "number minus ratio": (lambda: 1 - precision(), "compare it with a number"),
    "ratio over number": (lambda: precision() / 2, "compare it with a number"),
    "negated ratio": (lambda: -precision(), "compare it with a number"),
    "negated area": (lambda: -roc_auc(), "compare it with a number"),
    "rate plus ratio": (lambda: recall() + precision() >= 0.9, "is an objective"),
    "ratio plus ratio": (lambda: precision() + precision(), "one ratio, not two"),
    "rate minus ratio": (lambda: recall() - precision(), "not a sum of rates"),
    "rate times ratio": (lambda: recall() * precision(), "linear"),
    "rate over ratio": (lambda: recall() / precision(), "not a sum of rates"),
    "rate against ratio": (lambda: recall() >= precision(), "compare it with a number"),
    "ratio against rate": (lambda: precision() >= recall(), "can only be compared with a number"),
    "ratio against text": (lambda: precision() >= "a", "only a number"),
    "area from above": (lambda: roc_auc() <= 0.9, r"from below only: write roc_auc\(bins=10\) >= 0.9"),
    "number above area": (lambda: 0.9 >= roc_auc(), "from below only"),  # noqa: SIM300
    "truth of a subset": (lambda: bool(where(a=1)), "combine conditions with & | ~"),
    "subset and subset": (lambda: where(a=1) and where(b=1), "not with 'and'"),
    "not subset": (lambda: not where(a=1), "combine conditions"),
    "chained condition": (lambda: 18 <= age < 25, "chains"),
    "subset with text": (lambda: where(a=1) & "b == 1", "expected a subset"),
    "subset or truth": (lambda: where(a=1) | True, "expected a subset"),
    "condition as text": (lambda: recall("sex == 'F'"), "takes conditions"),
    "condition as column": (lambda: recall(age), "takes conditions"),
    "condition as mapping": (lambda: recall({"sex": "F"}), "takes conditions"),
    "value none": (lambda: age == None, "a text, a truth value or a finite number"),  # noqa: E711
    "value nan": (lambda: age == float("nan"), "finite number"),
    "value infinite": (lambda: age < float("inf"), "finite number"),
    "value bytes": (lambda: age == b"a", "a text"),
    "value column": (lambda: age == column("b"), "a text"),
    "one value for isin": (lambda: age.isin("abc"), "write column == value"),
    "column named by a fraction": (lambda: column(1.5), "non-empty string or a whole number"),
    "column named by a truth value": (lambda: column(True), "non-empty string"),
    "value that is missing": (lambda: age == float("nan"), r"missing\(column\)"),
    "size from below": (lambda: abs(recall() - accuracy()) >= 0.1, "takes only an upper bound"),
    "size of a ratio": (lambda: abs(precision()), "compare it with a number"),
    "column without name": (lambda: column(""), "non-empty string"),
    "population by number": (lambda: recall(on=1), "on= takes a name"),
    "population without name": (lambda: recall(on=""), "on= takes a name"),
    "model by number": (lambda: rb.churn(versus=1), "versus= takes a name"),
    "model missing": (lambda: rb.churn(), "versus"),
    "threshold of truth": (lambda: recall(at=True), "only a number"),
    "slack of truth": (lambda: rb.equal(recall(), 0.5, slack=True), "only a number"),
    "area as objective": (lambda: rb.Problem(roc_auc()), "cannot be an objective"),
    "number as objective": (lambda: rb.Problem(1), "takes an expression of rates"),
    "constant as objective": (lambda: rb.Problem(recall() * 0), "takes an expression of rates"),
    "constraint as objective": (lambda: rb.Problem(recall() >= 1), "takes an expression of rates"),
    "equality as constraint": (lambda: rb.Problem("error_rate()", [recall() == 0.9]), "takes const"),
    "rate as constraint": (lambda: rb.Problem(rb.error_rate(), [recall()]), "takes constraints"),
}  # fmt: skip


@pytest.mark.parametrize("why", REFUSED)
def test_what_has_no_meaning_raises_with_a_hint(why):
    build, hint = REFUSED[why]
    with pytest.raises(TypeError, match=hint):
        build()


@pytest.mark.parametrize(
    ("build", "hint"),
    [
        (lambda: recall() >= recall(), "no rate is left"),
        (lambda: rb.Expression() >= 1, "no rate is left"),
        (lambda: recall() >= float("nan"), "finite"),
        (lambda: precision() >= float("inf"), "finite"),
        (lambda: recall() * 1e308 * 10, "finite"),
        (lambda: 1e308 * recall() + 1e308 * recall(), "finite"),
        (lambda: recall() + 1e308 + 1e308, "finite"),
        (lambda: 10**400 * recall(), "finite"),
        (lambda: recall() / 0, "by zero"),
        (lambda: recall(at=float("nan")), "finite"),
        (lambda: ~where(), "complement of all rows"),
        (lambda: age.isin([]), "no values given"),
        (lambda: roc_auc(bins=0), "from 1 to 1000"),
        (lambda: roc_auc(bins=1001), "from 1 to 1000"),
        (lambda: roc_auc(bins=2.5), "whole number"),
        (lambda: rb.equal(recall(), 0.5, slack=-0.1), "must not be negative"),
        (lambda: rb.Problem("recall() >= 1"), "an objective is a sum of rates"),
        (lambda: rb.Problem("1 - 1"), "an objective is a sum of rates"),
        (lambda: rb.Problem("error_rate()", ["recall()"]), "a constraint compares rates"),
    ],
)
def test_what_has_no_value_raises(build, hint):
    with pytest.raises(ValueError, match=hint):
        build()


@pytest.mark.parametrize(
    ("definition", "field"),
    [(recall(), "constant"), (recall() >= 1, "name"), (where(a=1), "value"), (precision(), "rate"),
     (rb.Problem(rb.error_rate()), "minimize")],
)  # fmt: skip
def test_definitions_are_frozen(definition, field):
    with pytest.raises(FrozenInstanceError):
        setattr(definition, field, None)


def test_a_name_is_for_reports_only():
    plain = recall() >= 0.9
    assert rb.Constraint(plain.left, plain.relation, plain.right, name="a promise") == plain


def test_problems_take_text_constraints_and_lists_of_them():
    promise = recall() >= 0.9
    nested = rb.Problem("error_rate()", ["recall() >= 0.9", [promise, (c for c in [promise])]])
    assert nested == rb.Problem(rb.error_rate(), [promise] * 3)
    assert rb.Problem(rb.error_rate(), "recall() >= 0.9").subject_to == (promise,)
    assert str(rb.Problem(rb.error_rate())) == "minimize error_rate()"


def test_equal_whatever_the_order_of_terms():
    assert recall() + accuracy() == accuracy() + recall()
    assert hash(recall() + accuracy()) == hash(accuracy() + recall())


@pytest.mark.parametrize(
    "call",
    [lambda: recall(versus="live"), lambda: recall(bins=3), lambda: rb.roc_auc(at=0.5)],
)
def test_options_of_other_rates_are_not_taken_for_columns(call):
    with pytest.raises(TypeError, match=r"does not take (versus|bins|at)=; if this is a column"):
        call()


@pytest.mark.parametrize(
    ("promise", "margin", "words"),
    [
        ("recall() >= 0.9", 0.02, "recall() >= 0.92"),
        ("precision() <= 0.9", 0.05, "precision() <= 0.85"),
        ("recall(a == 1) <= recall() + 0.05", 0.02, "recall(a == 1) <= recall() + 0.03"),
        ("0.9 * recall() <= recall(a == 1)", 0.02, "0.9 * recall() <= recall(a == 1) - 0.02"),
        ("predicted_positives(per=9) <= 3", 0, "predicted_positives(per=9) <= 3.0"),
    ],
)
def test_tightened(promise, margin, words):
    assert str(rb.parse(promise).tightened(margin)) == words


@pytest.mark.parametrize("margin", [-0.1, "x", True, float("nan")])
def test_margins_are_numbers_from_0_on(margin):
    with pytest.raises((TypeError, ValueError), match=r"margin|finite"):
        (recall() >= 0.9).tightened(margin)


@pytest.mark.parametrize("beta", [None, 1, 2, 0.5])
def test_the_f_score_is_scikit_learns(beta):
    random = np.random.default_rng(0)
    y, yes = random.random((2, 50)) < 0.5
    metric, fraction = rb.f_score(beta=beta), fbeta_score(y, yes, beta=beta or 1)
    people = rb.Population(None, y)
    for bound, kept in ((fraction - 1e-9, True), (fraction + 1e-9, False)):
        compiled = rb.compile(rb.Problem("error_rate()", [metric >= bound]), people)
        assert (compiled.evaluate(np.where(yes, 1.0, -1.0))[1][0] <= 0) == kept
    assert str(metric) == ("f_score()" if beta in (None, 1) else f"f_score(beta={beta})")


@pytest.mark.parametrize("beta", [0, -1, "two", True])
def test_what_beta_does_not_take(beta):
    with pytest.raises((TypeError, ValueError), match="f_score"):
        rb.f_score(beta=beta)
