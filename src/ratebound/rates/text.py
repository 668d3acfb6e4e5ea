"""Text: one recursive-descent parser for conditions, sums, constraints and goals.

It builds objects by the same functions and operators as Python code does, so that ``parse(str(c))
== c``. An error points at the place and says what to write there.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, NoReturn

from ratebound.rates import goals
from ratebound.rates.conditions import (
    FLIPPED,
    RESERVED,
    Column,
    Compare,
    Condition,
    Decided,
    Every,
    Missing,
    format_column,
)
from ratebound.rates.sums import OPTIONS, SHAPES, Constraint, Shape, Sum, as_sum, compare
from ratebound.rates.table import ALIASES, KINDS, LIVE
from ratebound.rates.tokens import Token, fail, read_tokens

MAX_DEPTH = 60  # levels of brackets and nots
LIVE_NAMES = {f"{name}_of": name for name in LIVE}  # positive_rate_of(versus="live")


def parse(text: str) -> Constraint | goals.Goal:
    """Return the constraint or the goal that a text states.

    >>> parse('recall(25 <= age < 40) >= 95% * recall()')
    recall(25 <= age < 40) >= 0.95 * recall()
    """
    return _read_all(text, _Reader.statement)


def parse_objective(text: str) -> Sum | Shape:
    """Return the sum of rates that a text states, or a shape of several.

    >>> parse_objective("error_rate() + 0.2 * referred()")
    error_rate() + 0.2 * referred()
    """
    return _read_all(text, _Reader.objective)


def parse_condition(text: str) -> Condition:
    """Return the condition that a text states.

    >>> parse_condition("age < 25 and not missing(income)")
    age < 25 and not missing(income)
    """
    return _read_all(text, _Reader.condition)


def _read_all(text: str, rule: Callable[[_Reader], Any]) -> Any:
    if not isinstance(text, str):
        raise TypeError(f"expected a text such as 'recall() >= 0.9', got {text!r}")
    reader = _Reader(text)
    try:
        result = rule(reader)
        if reader.next.kind != "end":
            reader.fail("expected the end of the constraint here" + reader.hint_about_signs())
        return result
    except (TypeError, ValueError) as error:
        if str(error).startswith("cannot read"):
            raise
        raise ValueError(f"cannot read {text!r}: {error}") from None


class _Reader:
    """The tokens of a text and the next position; each rule reads what it is named after."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = read_tokens(text)
        self.position = 0
        self.depth = 0

    # --- tokens ---

    @property
    def next(self) -> Token:
        return self.tokens[self.position]

    @property
    def after_next(self) -> Token:
        return self.tokens[min(self.position + 1, len(self.tokens) - 1)]

    def sees(self, *values: str) -> bool:
        return self.next.kind in ("sign", "word") and self.next.value in values

    def take(self) -> Token:
        token = self.next
        self.position += 1
        return token

    def expect(self, sign: str, reason: str = "") -> Token:
        if not self.sees(sign):
            self.fail(f"expected {sign!r}{reason}")
        return self.take()

    def fail(self, reason: str, start: int | None = None) -> NoReturn:
        fail(self.text, self.next.start if start is None else start, reason)

    def nested(self, rule: Callable[[], Any]) -> Any:
        """Take the opening token and read a rule one level deeper."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"this is nested more than {MAX_DEPTH} deep; put a part into a column")
        self.take()
        result = rule()
        self.depth -= 1
        return result

    def bracketed(self, rule: Callable[[], Any]) -> Any:
        inside = rule()
        self.expect(")")
        return inside

    def hint_about_signs(self) -> str:
        if self.sees("=", "=="):
            return "; for equality give a range, as in 0.79 <= recall() <= 0.81"
        if self.sees("<", ">"):
            return f"; rates take no strict bounds, so write {self.next.value}="
        if self.sees("<=", ">="):
            return "; a constraint takes one comparison, or two that point the same way"
        return ""

    # --- constraints ---

    def statement(self) -> Constraint | goals.Goal:
        if self.next.value in goals.GOALS:
            return self.goal()
        left = self.sum()
        if not self.sees("<=", ">="):
            hint = self.hint_about_signs()
            self.fail(f"expected <= or >= and a bound, as in recall() >= 0.9{hint}")
        relation = self.take().value
        middle = self.sum()
        if not self.sees("<=", ">="):
            return compare(left, relation, middle)
        if self.take().value != relation:
            self.fail(
                "the two comparisons of a range point the same way, as in 0.7 <= recall() <= 0.8"
            )
        right = self.sum()
        if relation == "<=":
            return Constraint(as_sum(left), as_sum(middle), as_sum(right))
        return Constraint(as_sum(right), as_sum(middle), as_sum(left))

    def goal(self) -> goals.Goal:
        name = self.take().value
        if not self.sees("("):
            self.fail(f"expected '(' after the goal {name}")
        groups, options = self.arguments(None)
        return goals.make_goal(name, *groups, **options)

    def objective(self) -> Sum | Shape:
        if self.next.kind != "word" or self.next.value not in SHAPES:
            return as_sum(self.sum())
        make_shape = SHAPES[self.take().value]
        self.expect("(")
        parts = [self.sum()]
        while self.sees(","):
            self.take()
            parts.append(self.sum())
        self.expect(")")
        return make_shape(*parts)

    # --- sums ---

    def sum(self) -> Any:
        total = self.product()
        while self.sees("+", "-"):
            if self.take().value == "+":
                total = total + self.product()
            else:
                total = total - self.product()
        return total

    def product(self) -> Any:
        result = self.factor()
        while self.sees("*", "/"):
            if self.take().value == "*":
                result = result * self.factor()
            else:
                result = result / self.factor()
        return result

    def factor(self) -> Any:
        if self.sees("-"):
            return -self.nested(self.factor)
        if self.sees("("):
            return self.nested(lambda: self.bracketed(self.sum))
        if self.next.kind == "number":
            return Sum((), self.take().value)
        if self.next.kind != "word":
            self.fail("expected a rate such as recall(), or a number")
        if self.sees("abs"):
            self.take()
            if not self.sees("("):
                self.fail("expected '(' after abs")
            return abs(self.nested(lambda: self.bracketed(self.sum)))
        return self.rate()

    def rate(self) -> Sum:
        token = self.take()
        name = token.value
        if name not in {*KINDS, *ALIASES, *LIVE_NAMES}:
            self.fail_at_name(token)
        if not self.sees("("):
            self.fail(f"a rate has brackets: {name}()")
        conditions, options = self.arguments(OPTIONS)
        if name in LIVE_NAMES:
            options["by"] = options.pop("versus", None)
            name = LIVE_NAMES[name]
        return KINDS[ALIASES.get(name, name)](*conditions, **options)

    def fail_at_name(self, token: Token) -> NoReturn:
        name = token.value
        if name in goals.GOALS or name in SHAPES:
            hint = "; a goal stands alone, and its bound is an option, as in slack=0.05"
            self.fail(f"{name} is not a rate{hint}", token.start)
        closest = get_close_matches(name.lower(), [*KINDS, *ALIASES, *goals.GOALS, *SHAPES], 1)
        hint = f"; did you mean {closest[0]}?" if closest else ""
        self.fail(f"{name} is not a rate{hint}", token.start)

    # --- arguments ---

    def arguments(self, known: tuple[str, ...] | None) -> tuple[list[Any], dict[str, Any]]:
        """Read conditions and options in brackets; `known` are options of rates, None for goals."""
        conditions: list[Any] = []
        options: dict[str, Any] = {}
        self.expect("(")
        while not self.sees(")"):
            starts_option = self.next.kind == "word" and self.after_next.kind == "sign"
            if starts_option and self.after_next.value == "=":
                self.option(options, known)
            elif known is None and self.next.kind == "number":
                conditions.append(self.take().value)
            else:
                conditions.append(self.condition())
            if not self.sees(")"):
                self.expect(",", " or ')' after this" + self.hint_about_words())
        self.take()
        return conditions, options

    def option(self, options: dict[str, Any], known: tuple[str, ...] | None) -> None:
        token = self.take()
        name = token.value
        if known is not None and name not in known:
            closest = get_close_matches(name, known, 1)
            hint = f"; or is the option {closest[0]}= meant?" if closest else ""
            self.fail(f'equality is written ==, as in sex == "Female"{hint}', token.start)
        if name in options:
            self.fail(f"{name}= is given twice", token.start)
        self.expect("=")
        options[name] = self.value()

    # --- conditions ---

    def condition(self) -> Condition:
        condition = self.conjunction()
        while self.sees("or"):
            self.take()
            condition = condition | self.conjunction()
        return condition

    def conjunction(self) -> Condition:
        condition = self.negation()
        while self.sees("and"):
            self.take()
            condition = condition & self.negation()
        return condition

    def negation(self) -> Condition:
        if self.sees("not"):
            return ~self.nested(self.negation)
        if self.sees("("):
            return self.nested(lambda: self.bracketed(self.condition))
        return self.simple_condition()

    def simple_condition(self) -> Condition:
        if self.sees("decided") and self.after_next.value != "(":
            self.take()
            return Decided()
        if self.sees("missing"):
            self.take()
            self.expect("(")
            return Missing(self.bracketed(self.column))
        if self.next.kind in ("text", "number") or self.sees("-", "True", "False"):
            return self.range()
        name = self.column()
        if self.sees("in"):
            return self.membership(name)
        if self.sees("not") and self.after_next.value == "in":
            self.take()
            return ~self.membership(name)
        if self.sees("="):
            self.fail('equality is written ==, as in sex == "Female"')
        if self.sees(*FLIPPED):
            return self.comparison(name)
        return Every(name)

    def range(self) -> Condition:
        """Read ``18 <= age``, or ``18 <= age < 25``."""
        first = self.next
        low = self.value()
        relation = self.relation()
        if first.kind == "text" and self.next.kind in ("text", "number"):
            self.fail(f"a column has no quotes: {format_column(low)}", first.start)
        name = self.column()
        condition: Condition = Compare(name, FLIPPED[relation], low)
        if self.sees(*FLIPPED):
            condition &= self.comparison(name)
        return condition

    def membership(self, name: Any) -> Condition:
        self.take()
        self.expect("(", ' and the values, as in sex in ("Female", "Male")')
        values = [self.value()]
        while self.sees(","):
            self.take()
            if not self.sees(")"):
                values.append(self.value())
        self.expect(")")
        return Column(name).isin(values)

    def comparison(self, name: Any) -> Condition:
        relation = self.relation()
        return Compare(name, relation, self.value())

    def relation(self) -> Any:
        if not self.sees(*FLIPPED):
            self.fail('expected a comparison, as in age < 25 or sex == "Female"')
        return self.take().value

    # --- columns and values ---

    def column(self) -> str | int:
        if self.next.kind == "text":
            self.fail(f"a column has no quotes: {format_column(self.next.value)}")
        not_a_column = self.sees("and", "or", "not", "in", "True", "False")
        if self.next.kind != "word" or not_a_column:
            self.fail("expected a column, as in age < 25")
        token = self.take()
        if token.value == "column":
            self.expect("(")
            return Column(self.bracketed(self.value)).name
        if token.value in ("true", "false"):
            self.fail(f"write {token.value.title()}", token.start)
        hint = self.hint_about_words()
        if hint:
            self.fail(hint.removeprefix("; "), token.start)
        if token.value in (*KINDS, *goals.GOALS) and self.sees("("):
            self.fail(f"expected a column or an option, not the rate {token.value}", token.start)
        return token.value

    def hint_about_words(self) -> str:
        """Return what to write if a column of several words seems to be meant."""
        first = self.position - 1
        last = first
        while self.tokens[last + 1].kind == "word" and self.tokens[last + 1].value not in RESERVED:
            last += 1
        if last == first or first < 0:
            return ""
        words = self.text[self.tokens[first].start : self.tokens[last].end]
        return f"; the column {words!r} is written {format_column(words)}"

    def value(self) -> Any:
        if self.sees("-"):
            self.take()
            if self.next.kind != "number":
                self.fail("expected a number after the minus sign")
            return -self.take().value
        if self.next.kind in ("number", "text"):
            return self.take().value
        if self.sees("True", "False"):
            return self.take().value == "True"
        if self.sees("true", "false"):
            self.fail(f"write {self.next.value.title()}")
        if self.next.kind == "word":
            self.fail(f'a text needs quotes: "{self.next.value}"')
        self.fail("expected a text in quotes, a number, True or False")
