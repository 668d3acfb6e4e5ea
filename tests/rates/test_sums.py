"""Sums of rates obey the laws of arithmetic in one normal form; what has no meaning is refused."""

import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ratebound as rb
from ratebound import accuracy, precision, recall, roc_auc
from ratebound.rates.sums import LINEAR, RANKING, RATIO, Quotient

NOTHING = rb.Sum()

# Eighths add and multiply without rounding, so the laws hold exactly.
numbers = st.integers(-64, 64).map(lambda eighths: eighths / 8)
rates = st.sampled_from(
    [
        recall(),
        recall(at=0.5),
        recall(at="alarm"),
        recall(sex="F"),
        accuracy(),
        precision(),
        recall() / accuracy(),
        rb.churn(versus="live"),
        rb.churn(versus="old"),
        rb.true_positives(age=3),
    ]
)
terms = st.lists(st.tuples(rates, numbers), max_size=4)


@st.composite
def sums(draw):
    total = NOTHING + draw(numbers)
    for rate, number in draw(terms):
        total = total + number * rate
    return total


@settings(derandomize=True, max_examples=150)
@given(sums(), sums(), sums(), numbers, numbers)
def test_laws(a, b, c, s, t):
    equal = [
        (a + b, b + a),
        ((a + b) + c, a + (b + c)),
        (a + 0, a),
        (0 + a, a),
        (a - b, a + -b),
        (a - a, NOTHING),
        (-1 * -a, a),
        (-a, -1 * a),
        (s - a, -(a - s)),
        (s + a, a + s),
        (s * a, a * s),
        (0 * a, NOTHING),
        (s * (a + b), s * a + s * b),
        ((s + t) * a, s * a + t * a),
        (s * (t * a), (s * t) * a),
        (a / 4, 0.25 * a),
        (a / -0.5, -2 * a),
        (sum([a, b, c]), a + b + c),
    ]
    for left, right in equal:
        assert left == right
        assert hash(left) == hash(right)


@settings(derandomize=True, max_examples=150)
@given(sums())
def test_a_sum_is_in_normal_form_and_reads_back(total):
    assert 0 not in total.terms.values()
    assert {type(number) for number in (total.constant, *total.terms.values())} == {float}
    assert rb.parse_objective(str(total)) == total


@pytest.mark.parametrize(
    ("total", "text"),
    [
        (NOTHING, "0"),
        (recall() - recall(), "0"),
        (-recall(), "-recall()"),
        (recall() - 1, "recall() - 1"),
        (1 - recall(), "1 - recall()"),
        (recall() / 3, "0.3333333333333333 * recall()"),
        (3 * recall() - 2 * accuracy() / 4, "3 * recall() - 0.5 * accuracy()"),
        (2 * (recall() / accuracy()) - 1, "2 * (recall() / accuracy()) - 1"),
        (recall() - recall(a=1) / accuracy(), "recall() - (recall(a == 1) / accuracy())"),
        ((recall() + 1) / accuracy(), "(recall() + 1) / accuracy()"),
        (recall(rb.where(sex="F"), rb.column("age") < 3, race=("a", "b")),
         'recall(sex == "F" and age < 3 and race in ("a", "b"))'),
        (recall(on="pool", at=1), 'recall(on="pool", at=1)'),
        (rb.churn(at="t", on="pool", versus="live"), 'churn(versus="live", on="pool", at="t")'),
        (recall("site") - recall(), "recall(site) - recall()"),
        (recall(rb.column(3)), "recall(column(3))"),
        (recall(rb.where()), "recall()"),
    ],
)  # fmt: skip
def test_sums_print_as_written(total, text):
    assert str(total) == repr(total) == text


def test_python_and_text_say_the_same():
    bound = recall(sex="Female") >= 0.95 * recall()
    assert bound == rb.parse('recall(sex == "Female") >= 0.95 * recall()')
    half = recall(rb.column("age") < 25, sex=("F", "M")) / 2 <= 0.4
    assert half == rb.parse('0.5 * recall(age < 25 and sex in ("F", "M")) <= 0.4')
    assert (recall("site") >= 0.9) == rb.parse("recall(site) >= 0.9")
    assert (abs(recall() - accuracy()) <= 0.1) == rb.parse("abs(recall() - accuracy()) <= 0.1")
    turned = 0.1 >= abs(recall() - accuracy())  # noqa: SIM300
    assert turned == rb.parse("0.1 >= abs(recall() - accuracy())")
    assert rb.equal(recall(), accuracy(), slack=0.1) == (abs(recall() - accuracy()) <= 0.1)


@pytest.mark.parametrize("number", [np.float64(0.5), np.float32(0.5), np.int64(2), np.array(2.0)])
def test_numbers_of_numpy_are_numbers_on_either_side(number):
    plain = float(number)
    assert number * recall() == recall() * number == plain * recall()
    assert number + recall() == plain + recall()
    assert number - recall() == plain - recall()
    assert (number <= recall()) == (recall() >= number) == (recall() >= plain)
    assert (number >= precision()) == (precision() <= plain)
    assert recall() / number == recall() / plain


@pytest.mark.parametrize(
    ("total", "forms"),
    [
        (recall() + rb.errors() + rb.churn(versus="live"), []),
        (precision() + recall(), [RATIO]),
        (recall() / accuracy(), [RATIO]),
        (rb.error_rate(rb.decided), [RATIO]),
        (precision(by="live"), []),
        (roc_auc(), [RANKING]),
        (precision(top=9) + recall(top=0.1), [RANKING, RANKING]),
    ],
)
def test_the_form_of_a_rate_says_what_bounds_it_takes(total, forms):
    assert [quantity.form for quantity in total.nonlinear] == forms
    assert all(rate.form in (LINEAR, RATIO, RANKING) for rate in total.rates)


def test_rates_of_a_sum_are_listed_once():
    total = recall() / (recall() + accuracy()) - accuracy() + precision()
    assert list(map(str, total.rates)) == ["recall()", "accuracy()", "precision()"]
    bound = precision() <= 0.5 * recall(on="pool") / recall()
    assert {rate.population for rate in bound.rates} == {"train", "pool"}


def test_every_rate_of_a_constraint_is_replaced():
    bound = rb.parse("0.1 <= recall() / accuracy() <= 0.9")
    changed = bound.map(lambda rate: rate.with_options(on="pool"))
    assert str(changed) == '0.1 <= recall(on="pool") / accuracy(on="pool") <= 0.9'
    merged = rb.parse("recall() + recall(at=1) >= 0.9").map(lambda rate: rate.with_options(at=None))
    assert str(merged) == "2 * recall() >= 0.9"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("recall() >= 0.9", ["0.9 - recall()"]),
        ("recall() <= 0.9", ["recall() - 0.9"]),
        ("recall() - 0.1 <= accuracy()", ["recall() - accuracy() - 0.1"]),
        ("0.1 <= recall() <= 0.9", ["0.1 - recall()", "recall() - 0.9"]),
        ("abs(recall()) <= 0.9", ["-recall() - 0.9", "recall() - 0.9"]),
    ],
)
def test_rows_of_a_constraint_are_at_most_0(text, rows):
    assert list(map(str, rb.parse(text).rows)) == rows


age = rb.column("age")
REFUSED = {  # why: what raises TypeError, and a part of its message
    "product of rates": (lambda: recall() * accuracy(), "multiply rates by numbers only"),
    "rate with text": (lambda: recall() + "0.1", "expected a rate or a finite number, got '0.1'"),
    "rate with truth": (lambda: True * recall(), "expected a rate or a finite number, got True"),
    "rate with none": (lambda: recall() >= None, "got None"),
    "rate with nan": (lambda: recall() >= float("nan"), "got nan"),
    "rate with infinity": (lambda: precision() >= float("inf"), "got inf"),
    "rate with a huge number": (lambda: 10**400 * recall(), "finite number"),
    "rate with condition": (lambda: recall() >= rb.where(a=1), "got a == 1"),
    "chained bounds": (
        lambda: 0.1 <= recall() <= 0.9,
        'write a range as text, "0.1 <= positive_rate()',
    ),
    "truth of a constraint": (lambda: bool(recall() >= 0.9), "before there is data"),
    "not a constraint": (lambda: not recall() >= 0.9, "neither true nor false"),
    "less": (lambda: recall() < 0.9, "write <="),
    "greater": (lambda: recall() > 0.9, "write >="),
    "number less": (lambda: 0.9 < recall(), "write >="),  # noqa: SIM300
    "rate plus ratio": (lambda: recall() + precision() >= 0.9, "is a ratio"),
    "ratio against rate": (lambda: precision() >= recall(), "is a ratio"),
    "area from above": (lambda: roc_auc() <= 0.9, "takes only a lower bound"),
    "distance from below": (lambda: abs(recall()) >= 0.1, "takes only an upper bound"),
    "distance in a sum": (lambda: recall() + abs(recall()), "takes no arithmetic"),
    "shape as constraint": (lambda: rb.smallest(recall("sex")) >= 0.5, "is an objective"),
    "condition as text": (lambda: recall(["sex == 'F'"]), "takes conditions such as"),
    "condition as mapping": (lambda: recall({"sex": "F"}), "takes conditions such as"),
    "column without name": (lambda: recall(""), "a column name"),
    "population by number": (lambda: recall(on=1), "on= takes a name"),
    "model by number": (lambda: rb.churn(versus=1), "versus= takes a name"),
    "model missing": (lambda: rb.churn(versus=None), "versus= is needed"),
    "threshold of truth": (lambda: recall(at=True), "finite number, got True"),
    "threshold of nan": (lambda: recall(at=float("nan")), "finite number, got nan"),
    "slack of truth": (lambda: rb.equal(recall(), 0.5, slack=True), "finite number, got True"),
    "no name": (lambda: rb.constraint(max, name=" "), "constraint takes a name"),
    "no function": (lambda: rb.constraint(1, name="x"), "value= takes a function of (model, rows)"),
    "no proxy": (lambda: rb.constraint(max, 1, name="x"), "proxy= takes a function"),
    "no population": (lambda: rb.constraint(max, name="x", on=1), "on= takes the name"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_has_no_meaning_is_refused(why):
    build, message = REFUSED[why]
    with pytest.raises(TypeError, match=re.escape(message)):
        build()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: recall() >= recall(), "no rate is left"),
        (lambda: NOTHING >= 1, "no rate is left"),
        (lambda: recall() * 1e308 * 10, "not finite"),
        (lambda: 1e308 * recall() + 1e308 * recall(), "not finite"),
        (lambda: recall() / 0, "by zero"),
        (lambda: recall() / (1 - accuracy()), "a denominator must be a sum of rates"),
        (lambda: recall() / (recall() / accuracy()), "cannot be divided again"),
        (lambda: rb.smallest(recall()), "takes two or more sums of rates"),
        (lambda: rb.equal(recall(), 0.5, slack=-0.1), "slack= must not be negative"),
        (lambda: rb.constraint(max, name="x", scale=0), "scale= takes a number above 0"),
    ],
)
def test_what_has_no_value_is_refused(build, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        build()


@pytest.mark.parametrize(
    ("definition", "field"),
    [
        (recall() >= 1, "sum"),
        (recall().rates[0], "name"),
        (next(iter((recall() / accuracy()).terms)), "top"),
        (rb.smallest(recall("sex")), "parts"),
    ],
)
def test_definitions_are_frozen(definition, field):
    with pytest.raises(FrozenInstanceError):
        setattr(definition, field, None)


def test_a_quotient_keeps_its_two_sums():
    (quotient,) = (recall() / (2 * accuracy())).terms
    assert isinstance(quotient, Quotient)
    assert (quotient.top, quotient.bottom) == (recall(), 2 * accuracy())


def test_shapes_take_sums_or_one_list_of_them():
    groups = [recall(sex=sex) for sex in ("F", "M")]
    assert rb.smallest(groups) == rb.smallest(*groups)
    assert str(rb.largest(groups)) == 'largest(recall(sex == "F"), recall(sex == "M"))'
    assert rb.largest(0.5, rb.error_rate()).parts[0] == NOTHING + 0.5


def test_a_computed_number_is_bounded_from_above():
    def norm(model, rows):
        return 0.0

    bound = rb.constraint(norm, name=" norm ", at_most=2, on="pool", exact=True, scale=3)
    (computed,) = bound.sum.terms
    assert str(bound) == "norm <= 2"
    assert computed.value is computed.proxy is norm
    assert (computed.population, computed.exact, computed.scale) == ("pool", True, 3.0)
    assert bound.rates == ()
    assert bound == rb.constraint(max, name="norm", at_most=2, on="pool", exact=True, scale=3)
