"""Text: one recursive-descent parser for conditions, sums, constraints and goals.

It builds objects with the functions and operators that Python code uses, so ``parse(str(c)) == c``.
An error marks the position and says what to write there.
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
    Name,
    Value,
    format_column,
)
from ratebound.rates.sums import OPTIONS, SHAPES, Constraint, Shape, Sum, as_sum, compare
from ratebound.rates.table import ALIASES, KINDS, LIVE
from ratebound.rates.tokens import Token, fail, read_tokens

MAX_DEPTH = 60  # levels of parentheses, minus signs and nots
LIVE_NAMES = {f"{name}_of": name for name in LIVE}  # positive_rate_of(versus="live")


def parse(text: str) -> Constraint | goals.Goal:
    """Return the constraint or goal that the text states.

    >>> parse('recall(25 <= age < 40) >= 95% * recall()')
    recall(25 <= age < 40) >= 0.95 * recall()
    """
    return _read_all(text, _Parser.read_statement)


def parse_objective(text: str) -> Sum | Shape:
    """Return the objective that the text states: a sum of rates, or the worst of several.

    >>> parse_objective("error_rate() + 0.2 * referred()")
    error_rate() + 0.2 * referred()
    """
    return _read_all(text, _Parser.read_objective)


def parse_condition(text: str) -> Condition:
    """Return the condition that the text states.

    >>> parse_condition("age < 25 and not missing(income)")
    age < 25 and not missing(income)
    """
    return _read_all(text, _Parser.read_condition)


def _read_all(text: str, rule: Callable[[_Parser], Any]) -> Any:
    if not isinstance(text, str):
        raise TypeError(f"expected text such as 'recall() >= 0.9', got {text!r}")
    parser = _Parser(text)
    try:
        result = rule(parser)
        if parser.next.kind != "end":
            hint = parser.hint_about_signs()
            parser.fail(f"expected the end of the constraint here{hint}")
        return result
    except (TypeError, ValueError) as error:
        if str(error).startswith("cannot read"):
            raise
        raise ValueError(f"cannot read {text!r}: {error}") from None


class _Parser:
    """The tokens of the text, and the position of the next one.

    Each ``read_`` method reads one rule of the grammar and moves past it.
    """

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
        """Return True if the next token is one of these signs and words."""
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

    def read_nested(self, rule: Callable[[], Any]) -> Any:
        """Take the opening token and read a rule one level deeper."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"nested more than {MAX_DEPTH} deep; compute a part of this as a column")
        self.take()
        result = rule()
        self.depth -= 1
        return result

    def read_until_closed(self, rule: Callable[[], Any]) -> Any:
        """Read a rule and its closing parenthesis."""
        result = rule()
        self.expect(")")
        return result

    def hint_about_signs(self) -> str:
        """Return what to write in place of a sign that bounds nothing here."""
        if self.sees("=", "=="):
            return "; for equality give a range, as in 0.79 <= recall() <= 0.81"
        if self.sees("<", ">"):
            return f"; strict bounds are not supported, so write {self.next.value}="
        if self.sees("and", ","):
            return "; write several constraints as a list of texts"
        if self.sees("<=", ">="):
            return "; a constraint takes one comparison, or two that point the same way"
        return ""

    # --- constraints ---

    def read_statement(self) -> Constraint | goals.Goal:
        if self.next.value in goals.GOALS:
            return self.read_goal()
        left = self.read_sum()
        if not self.sees("<=", ">="):
            hint = self.hint_about_signs()
            self.fail(f"expected <= or >= and a bound, as in recall() >= 0.9{hint}")
        relation = self.take().value
        middle = self.read_sum()
        if not self.sees("<=", ">="):
            return compare(left, relation, middle)
        if self.take().value != relation:
            self.fail(
                "the two comparisons of a range must point the same way, "
                "as in 0.7 <= recall() <= 0.8"
            )
        right = self.read_sum()
        if relation == "<=":
            return Constraint(as_sum(left), as_sum(middle), as_sum(right))
        return Constraint(as_sum(right), as_sum(middle), as_sum(left))

    def read_goal(self) -> goals.Goal:
        name = self.take().value
        if not self.sees("("):
            self.fail(f"expected '(' after the goal {name}")
        groups, options = self.read_arguments(None)
        return goals.make_goal(name, *groups, **options)

    def read_objective(self) -> Sum | Shape:
        if self.next.kind != "word" or self.next.value not in SHAPES:
            return as_sum(self.read_sum())
        make_shape = SHAPES[self.take().value]
        self.expect("(")
        parts = [self.read_sum()]
        while self.sees(","):
            self.take()
            parts.append(self.read_sum())
        self.expect(")")
        return make_shape(*parts)

    # --- sums ---

    def read_sum(self) -> Any:
        total = self.read_product()
        while self.sees("+", "-"):
            if self.take().value == "+":
                total = total + self.read_product()
            else:
                total = total - self.read_product()
        return total

    def read_product(self) -> Any:
        product = self.read_factor()
        while self.sees("*", "/"):
            if self.take().value == "*":
                product = product * self.read_factor()
            else:
                product = product / self.read_factor()
        return product

    def read_factor(self) -> Any:
        if self.sees("-"):
            return -self.read_nested(self.read_factor)
        if self.sees("("):
            return self.read_nested(lambda: self.read_until_closed(self.read_sum))
        if self.next.kind == "number":
            return Sum((), self.take().value)
        if self.next.kind != "word":
            self.fail("expected a rate such as recall(), or a number")
        if self.sees("abs"):
            self.take()
            if not self.sees("("):
                self.fail("expected '(' after abs")
            return abs(self.read_nested(lambda: self.read_until_closed(self.read_sum)))
        return self.read_rate()

    def read_rate(self) -> Sum:
        token = self.take()
        name = token.value
        if name not in {*KINDS, *ALIASES, *LIVE_NAMES}:
            self.fail_at_name(token)
        if not self.sees("("):
            self.fail(f"a rate needs parentheses: {name}()")
        conditions, options = self.read_arguments(OPTIONS)
        if name in LIVE_NAMES:
            options["by"] = options.pop("versus", None)
            name = LIVE_NAMES[name]
        return KINDS[ALIASES.get(name, name)](*conditions, **options)

    def fail_at_name(self, token: Token) -> NoReturn:
        name = token.value
        closest = get_close_matches(name.lower(), [*KINDS, *ALIASES, *goals.GOALS, *SHAPES], 1)
        hint = ""
        if name in goals.GOALS or name in SHAPES:
            hint = "; a goal stands alone, and its bound is an option, as in slack=0.05"
        elif closest:
            hint = f"; did you mean {closest[0]}?"
        self.fail(f"{name} is not a rate{hint}", token.start)

    # --- arguments ---

    def read_arguments(
        self, option_names: tuple[str, ...] | None
    ) -> tuple[list[Any], dict[str, Any]]:
        """Read the conditions and options of a rate; or of a goal, which checks its own options."""
        conditions: list[Any] = []
        options: dict[str, Any] = {}
        self.expect("(")
        while not self.sees(")"):
            is_goal = option_names is None
            before_equals = self.after_next.kind == "sign" and self.after_next.value == "="
            if self.next.kind == "word" and before_equals:
                self.read_option(options, option_names)
            elif is_goal and self.next.kind == "number":
                conditions.append(self.take().value)
            else:
                conditions.append(self.read_condition())
            if not self.sees(")"):
                self.expect(",", " or ')' after this" + self.hint_about_words())
        self.take()
        return conditions, options

    def read_option(self, options: dict[str, Any], option_names: tuple[str, ...] | None) -> None:
        token = self.take()
        name = token.value
        if option_names is not None and name not in option_names:
            closest = get_close_matches(name, option_names, 1)
            hint = f"; or did you mean the option {closest[0]}=?" if closest else ""
            self.fail(f'equality is written ==, as in sex == "Female"{hint}', token.start)
        if name in options:
            self.fail(f"{name}= is given twice", token.start)
        self.expect("=")
        options[name] = self.read_value()

    # --- conditions ---

    def read_condition(self) -> Condition:
        condition = self.read_conjunction()
        while self.sees("or"):
            self.take()
            condition = condition | self.read_conjunction()
        return condition

    def read_conjunction(self) -> Condition:
        condition = self.read_negation()
        while self.sees("and"):
            self.take()
            condition = condition & self.read_negation()
        return condition

    def read_negation(self) -> Condition:
        if self.sees("not"):
            return ~self.read_nested(self.read_negation)
        if self.sees("("):
            return self.read_nested(lambda: self.read_until_closed(self.read_condition))
        return self.read_simple_condition()

    def read_simple_condition(self) -> Condition:
        if self.sees("decided") and self.after_next.value != "(":
            self.take()
            return Decided()
        if self.sees("missing"):
            self.take()
            self.expect("(")
            return Missing(self.read_until_closed(self.read_column))
        if self.next.kind in ("text", "number") or self.sees("-", "True", "False"):
            return self.read_range()
        name = self.read_column()
        if self.sees("in"):
            return self.read_membership(name)
        if self.sees("not") and self.after_next.value == "in":
            self.take()
            return ~self.read_membership(name)
        if self.sees("="):
            self.fail('equality is written ==, as in sex == "Female"')
        if self.sees(*FLIPPED):
            return self.read_comparison(name)
        return Every(name)

    def read_range(self) -> Condition:
        """Read ``18 <= age``, or ``18 <= age < 25``."""
        first = self.next
        low = self.read_value()
        relation = self.read_relation()
        if first.kind == "text" and self.next.kind in ("text", "number"):
            self.fail(f"a column name takes no quotes: {format_column(first.value)}", first.start)
        name = self.read_column()
        condition: Condition = Compare(name, FLIPPED[relation], low)
        if self.sees(*FLIPPED):
            condition &= self.read_comparison(name)
        return condition

    def read_membership(self, name: Name) -> Condition:
        self.take()
        self.expect("(", ' and the values, as in sex in ("Female", "Male")')
        values = [self.read_value()]
        while self.sees(","):
            self.take()
            if not self.sees(")"):
                values.append(self.read_value())
        self.expect(")")
        return Column(name).isin(values)

    def read_comparison(self, name: Name) -> Condition:
        relation = self.read_relation()
        return Compare(name, relation, self.read_value())

    def read_relation(self) -> Any:
        if not self.sees(*FLIPPED):
            self.fail('expected a comparison, as in age < 25 or sex == "Female"')
        return self.take().value

    # --- columns and values ---

    def read_column(self) -> Name:
        if self.next.kind == "text":
            self.fail(f"a column name takes no quotes: {format_column(self.next.value)}")
        is_keyword = self.sees("and", "or", "not", "in", "True", "False")
        if self.next.kind != "word" or is_keyword:
            self.fail("expected a column, as in age < 25")
        token = self.take()
        if token.value == "column":
            self.expect("(")
            return Column(self.read_until_closed(self.read_value)).name
        if token.value in ("true", "false"):
            self.fail(f"write {token.value.title()}", token.start)
        hint = self.hint_about_words()
        if hint:
            self.fail(hint.removeprefix("; "), token.start)
        if token.value in (*KINDS, *goals.GOALS) and self.sees("("):
            self.fail(f"expected a column or an option, not the rate {token.value}", token.start)
        return token.value

    def hint_about_words(self) -> str:
        """Return how to write a column of several words, if the last token seems to begin one."""
        first = self.position - 1
        last = first
        while self.tokens[last + 1].kind == "word" and self.tokens[last + 1].value not in RESERVED:
            last += 1
        if last == first or first < 0:
            return ""
        words = self.text[self.tokens[first].start : self.tokens[last].end]
        return f"; the column {words!r} is written {format_column(words)}"

    def read_value(self) -> Value:
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
        if self.next.kind == "word" and self.next.value.lower() in ("none", "nan", "null"):
            self.fail("rows without a value are missing(column), the others not missing(column)")
        if self.next.kind == "word":
            self.fail(f'text needs quotes: "{self.next.value}"')
        self.fail("expected text in quotes, a number, True or False")
