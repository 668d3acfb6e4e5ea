"""Constraints and goals from text: ``parse('recall(sex == "Female") >= 0.95 * recall()')``.

Python's own grammar turns the text into a tree. Only the nodes of the language are walked, and nothing
is evaluated. This module reads back whatever a rate prints.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar, cast

from ratebound._old.base.checks import as_number
from ratebound._old.rates import beyond_sums
from ratebound._old.rates.beyond_sums import EXTREMES
from ratebound._old.rates.expressions import (
    OPTIONS,
    Constraint,
    Expression,
    Metric,
    as_expression,
    refuse_strict,
)
from ratebound._old.rates.grouping import GOALS, Goal, Promise, Values, group_of
from ratebound._old.rates.kinds import KINDS
from ratebound._old.rates.naming import say
from ratebound._old.rates.ranges import Parity, Range
from ratebound._old.rates.spellings import TWO_SIDED, hint, in_our_words, meant, respelled, tree_of
from ratebound._old.rates.stating import said
from ratebound._old.rates.subsets import (
    Chain,
    Column,
    In,
    Name,
    Subset,
    Value,
    column_text,
    columns_in,
    decided,
    holding,
    missing,
    plain_value,
)

LONGEST = 20_000
CONDITION = 'expected a condition on a column, as in sex == "Female" and age < 25'
# Python itself swaps the sides of a comparison if the column, or the rate, is on the right.
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip
Parsed = TypeVar("Parsed")


def parse(text: str) -> Promise | Range:
    """Read a promise: the constraint, range or goal that a text states.

    In a goal, a column stands for all its values, and ``column in (...)`` for the listed values. Nothing
    in the text is run as code.

    Parameters
    ----------
    text : str
        The promise as it prints. It may also contain ``95%``, ``≥``, ``AND`` and curly quotes.

    Returns
    -------
    Constraint, Range or Goal
        For ``subject_to`` of a `Problem`, which also takes the text itself.

    Raises
    ------
    ValueError
        If it cannot be read. The error shows the place and what to write instead.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.parse('recall(sex == "Female" and age < 25) >= 0.95 * recall()')
    recall(sex == "Female" and age < 25) >= 0.95 * recall()
    >>> rb.parse('equal_opportunity(sex, race in ("Black", "White"), ratio=0.95)')
    equal_opportunity(sex, race == "Black", race == "White", ratio=0.95)
    >>> rb.parse('abs(recall(25 <= age < 40) - recall(missing(column("date of birth")))) <= 5%')
    abs(recall(25 <= age < 40) - recall(missing(column("date of birth")))) <= 0.05
    """
    return _read(text, _Reader.promise)


def parse_objective(text: str) -> Metric:
    """The objective that `text` states.

    >>> parse_objective("error_rate() + 0.1 * positive_rate()")
    error_rate() + 0.1 * positive_rate()
    """
    return _read(text, _Reader.objective)


def parse_condition(text: str) -> Subset:
    """The condition on rows that `text` states.

    >>> parse_condition('status in ("approved", "granted") and amount > 0')
    status in ("approved", "granted") and amount > 0
    """
    return _read(text, lambda reader: reader.subset(reader.tree))


def read_rate(text: str) -> Metric:
    """The rate, ratio or area that a text from a file names, of any length and in the exact spelling.

    >>> read_rate('recall(sex == "Female")')
    recall(sex == "Female")
    """
    return _read(text, _Reader.one_rate, longest=None)


def _read(text: str, part: Callable[[_Reader], Parsed], longest: int | None = LONGEST) -> Parsed:
    try:
        reader = _Reader(text, longest)
        stated = part(reader)
    except (RecursionError, MemoryError):
        raise ValueError(f"cannot read {_short(text)!r}: nested too deeply") from None
    if reader.alone and not isinstance(stated, EachValue):
        reader.fail(reader.tree, CONDITION)
    return stated


@dataclass(frozen=True, repr=False)
class EachValue(Goal):
    """A promise in which a rate names a column alone: it holds for each of the column's values.

    >>> promise = parse("recall(site) >= 0.95 * recall()")
    >>> promise
    recall(site) >= 0.95 * recall()
    >>> promise.constraints({("site",): [("north",), ("south",)]})
    [recall(site == "north") >= 0.95 * recall(), recall(site == "south") >= 0.95 * recall()]
    """

    text: str = ""

    def constraints(self, values: Values) -> list[Constraint]:
        """The promise about each of these values."""
        promises: list[Constraint] = []
        for combination in values[tuple(self.columns)]:
            reader = _Reader(self.text, None, group_of(self.columns, combination))
            promise = reader.constraint()
            promises += (
                promise.constraints if isinstance(promise, Range) else [cast(Constraint, promise)]
            )
        return promises

    def __str__(self) -> str:
        return self.text


class _Reader:
    """Walks one syntax tree, so that every error can point into its text.

    A column that stands alone in a rate means each of its values. It is read as `group`, and its name is
    in `alone`.
    """

    def __init__(self, text: str, longest: int | None, group: Subset | None = None) -> None:
        self.group = group
        self.alone: list[Name] = []
        if not isinstance(text, str):
            raise TypeError(f"parse reads text, got {text!r}")
        if longest is not None and len(text) > longest:
            raise ValueError(f"a constraint of {len(text)} characters is too long ({longest} at most)")
        self.text = self.given = text.strip() if longest is None else respelled(text).strip()
        try:
            self.text, self.tree = tree_of(self.text)
        except (SyntaxError, ValueError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else str(error)
            raise ValueError(f"cannot read {_short(text)!r}: {hint(_short(text), reason)}") from None

    def fail(self, node: ast.AST, message: str) -> NoReturn:
        part, whole = ast.get_source_segment(self.text, node) or self.text, self.text
        where = "" if part == whole else f" in {_short(whole).replace(' is ', '=')!r}"
        raise ValueError(f"cannot read {_short(part)!r}{where}: {message}")

    def rewritten(self, node: ast.AST, message: str) -> None:
        """Fail with the whole text in our words, if it uses other libraries' names."""
        words = in_our_words(self.tree, (*GOALS, *KINDS, *EXTREMES, "abs", "column", "missing"))
        if words is None:
            return
        for part in (_Reader.promise, _Reader.objective):
            try:
                ours = _read(words, part)
            except ValueError:
                continue
            self.fail(node, f"{message} Write {ours}")

    def guarded(self, node: ast.AST, build: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Build a part of the language; if that raises, the error names this place in the text."""
        try:
            return build(*args, **kwargs)
        except (TypeError, ValueError, ArithmeticError) as error:
            self.fail(node, str(error))

    def promise(self) -> Promise | Range:
        node = self.tree
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Name) and called.id not in (*KINDS, *EXTREMES, "abs"):
            return self.goal(cast(ast.Call, node), called.id)
        promise = self.constraint()
        return self.of_each_value(promise) if self.alone else promise

    def of_each_value(self, promise: Constraint | Range | Parity) -> EachValue:
        """The promise about each value of the column that stands alone in it."""
        if len(columns := dict.fromkeys(self.alone)) > 1 or isinstance(promise, Parity):
            self.fail(
                self.tree,
                "a column alone means each of its values, and one promise takes one such column, in "
                "sums of rates: write a promise for each",
            )
        (name,) = columns
        stated = promise.constraints if isinstance(promise, Range) else [promise]
        for each in stated:
            if len(set(each.left.rates)) == 1 and set(each.left.rates) == set(each.right.rates):
                self.fail(
                    self.tree,
                    f"it compares each group with itself. {name} alone on one side compares each with "
                    "everyone, as in recall(site) >= 0.8 * recall()",
                )
        of_column = (r for c in stated for r in c.rates if name in columns_in(r.subset))
        populations = dict.fromkeys(rate.on for rate in of_column)
        options = tuple(("on", on) for on in populations if on is not None)
        return cast(
            EachValue, self.guarded(self.tree, EachValue, "each", (name,), options, text=self.given)
        )

    def goal(self, node: ast.Call, name: str) -> Goal:
        if name not in GOALS:
            self.rewritten(node, f"no such goal{meant(name, [*GOALS, *KINDS])}")
            self.fail(
                node,
                f"no such goal{meant(name, [*GOALS, *KINDS])} The goals are {', '.join(GOALS)}. Define "
                "your own first, with rb.goal",
            )
        groups = [group for argument in node.args for group in self.groups(argument)]
        options = {option: self.value(value, f"{option}=") for option, value in self.keywords(node)}
        return cast(Goal, self.guarded(node, said, name, groups, options))

    def groups(self, node: ast.expr) -> list[str | Subset | Value]:
        """Columns and conditions, one for each listed value; or another first argument of a goal."""
        if isinstance(node, ast.List | ast.Tuple):
            return [group for each in node.elts for group in self.groups(each)]
        if _calls(node, "missing"):
            return [self.subset(node)]
        if isinstance(node, ast.Name | ast.Call | ast.BinOp | ast.Attribute):
            return [self.column(node).name]
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In):
            condition = self.condition(node)
            assert isinstance(condition, In)  # of one comparison
            return [Column(condition.column) == value for value in condition.values]
        is_condition = isinstance(node, ast.Compare | ast.BoolOp) or (
            isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        )
        return [self.subset(node) if is_condition else self.value(node)]

    def constraint(self) -> Constraint | Range | Parity:
        node = self.tree
        if not isinstance(node, ast.Compare):
            self.fail(node, "a constraint compares rates, as in recall() >= 0.9")
        for op in node.ops:
            if isinstance(op, ast.Lt | ast.Gt):
                self.guarded(node, refuse_strict, "<=" if isinstance(op, ast.Lt) else ">=")
            if not isinstance(op, ast.LtE | ast.GtE):
                self.fail(node, TWO_SIDED)
        if len(node.ops) > 1:
            return self.range(node)
        left, right = self.operand(node.left), self.operand(node.comparators[0])
        promise = self.guarded(node, _COMPARE[type(node.ops[0])], left, right)
        if not isinstance(promise, Constraint | Range | Parity):
            self.fail(node, "no rate is left in this comparison, so there is nothing to keep")
        return promise

    def range(self, node: ast.Compare) -> Range:
        if not _is_chain_of_two(node):
            self.fail(node, "a range has one rate between two bounds, as in 0.7 <= recall() <= 0.8")
        low, middle, high = (self.operand(each) for each in (node.left, *node.comparators))
        if isinstance(node.ops[0], ast.GtE):
            low, high = high, low
        low, high = (self.guarded(node, as_expression, end, "a bound of a rate") for end in (low, high))
        metric = middle if isinstance(middle, Metric) else Expression((), middle)
        return cast(Range, self.guarded(node, Range, low, metric, high))

    def objective(self) -> Metric:
        metric = None if isinstance(self.tree, ast.Compare) else self.operand(self.tree)
        if not isinstance(metric, Metric) or not metric.rates:
            self.fail(self.tree, "an objective is a sum of rates, as in error_rate()")
        return metric

    def one_rate(self) -> Metric:
        if not isinstance(self.tree, ast.Call):
            self.fail(self.tree, "expected one rate, as in recall()")
        return self.rate(self.tree)

    def operand(self, node: ast.expr) -> Metric | float:
        """A number, a rate, a sum or multiple of them, or an absolute value."""
        if isinstance(node, ast.Constant):
            if isinstance(node.value, bool) or not isinstance(node.value, int | float):
                self.fail(node, "expected a number or a rate")
            return cast(float, self.guarded(node, as_number, node.value, "a number"))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            inner = self.operand(node.operand)
            return self.guarded(node, operator.neg, inner) if isinstance(node.op, ast.USub) else inner
        if isinstance(node, ast.BinOp):
            left, right = self.operand(node.left), self.operand(node.right)
            if type(node.op) not in _ARITHMETIC:
                self.fail(node, "rates are combined with + - * / only")
            return cast(Metric, self.guarded(node, _ARITHMETIC[type(node.op)], left, right))
        if _calls(node, "abs"):
            (argument,) = cast(ast.Call, node).args
            return cast(Metric, self.guarded(node, abs, self.operand(argument)))
        if isinstance(node, ast.Call):
            return self.rate(node)
        self.fail(node, "expected a number, a rate such as recall(), or their sum")

    def rate(self, node: ast.Call) -> Metric:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in EXTREMES:
            parts = [self.operand(argument) for argument in node.args]
            if self.keywords(node):
                self.fail(node, f"{name} takes rates, as in {name}(recall(), accuracy())")
            return cast(Metric, self.guarded(node, getattr(beyond_sums, name), *parts))
        if name in GOALS:
            self.fail(node, "a goal stands alone: do not compare it with anything")
        if name == "constraint":
            self.fail(
                node,
                "a custom constraint is a function, which a text cannot hold: make it in Python, "
                "rb.constraint(value=..., proxy=..., name=...), and put it beside the texts",
            )
        if name not in KINDS:
            self.rewritten(node, f"no such rate{meant(name, [*KINDS, *EXTREMES])}")
            self.fail(
                node,
                f"no such rate{meant(name, [*KINDS, *EXTREMES])} The rates are "
                f"{', '.join([*KINDS, *EXTREMES])}. Define your own ratio first, with "
                "rb.ratio; also before rb.load of a model that was trained for it",
            )
        options: dict[str, Any] = {}
        own = KINDS[name].own
        subsets = [self.subset(argument) for argument in node.args]
        for word, value in self.keywords(node):
            if word in OPTIONS or word in own:
                options[word] = self.value(value, f"{word}=")
            elif isinstance(value, ast.BoolOp | ast.Compare):
                self.fail(node, f"beside other conditions, equality is written ==, as in {word} == ...")
            else:
                subsets.append(self.matches(Column(word), value))
        return cast(Metric, self.guarded(node, say, name, *subsets, **options))

    def keywords(self, node: ast.Call) -> list[tuple[str, ast.expr]]:
        if len({keyword.arg for keyword in node.keywords}) < len(node.keywords):
            self.fail(node, "an option is given twice")
        if any(keyword.arg is None for keyword in node.keywords):
            self.fail(node, "** has no meaning here")
        return [(str(keyword.arg), keyword.value) for keyword in node.keywords]

    def subset(self, node: ast.expr) -> Subset:
        if isinstance(node, ast.BoolOp):
            joined, *others = [self.subset(value) for value in node.values]
            for other in others:
                joined = joined & other if isinstance(node.op, ast.And) else joined | other
            return joined
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ~self.subset(node.operand)
        if isinstance(node, ast.Compare):
            return self.condition(node)
        if _calls(node, "missing"):
            (argument,) = cast(ast.Call, node).args
            return missing(self.column(argument).name)
        if isinstance(node, ast.Name) and node.id == "decided":
            return decided
        if isinstance(node, ast.Name) or _calls(node, "column"):
            self.alone.append(name := self.column(node).name)
            return holding(name, "each") if self.group is None else self.group
        self.fail(node, CONDITION)

    def condition(self, node: ast.Compare) -> Subset:
        if len(node.ops) != 1:
            return self.chain(node)
        left, right, op = node.left, node.comparators[0], node.ops[0]
        if isinstance(op, ast.In | ast.NotIn):
            if not isinstance(right, ast.Tuple | ast.List):
                self.fail(node, 'several values need parentheses, as in ("Black", "White")')
            matching = self.matches(self.column(left), right)
            return matching if isinstance(op, ast.In) else ~matching
        if type(op) not in _COMPARE:
            self.fail(
                node,
                "columns are compared with == != < <= > >= in; a missing value is written missing(age)",
            )
        if _is_value(left) and not _is_value(right):
            column = self.column(right)
            return cast(Subset, _COMPARE[type(op)](self.value(left), column))
        return cast(Subset, _COMPARE[type(op)](self.column(left), self.value(right)))

    def chain(self, node: ast.Compare) -> Subset:
        if not _is_chain_of_two(node):
            self.fail(node, "a chain has one column between two values, as in 25 <= age < 40")
        low, middle, high = node.left, *node.comparators
        column, (first, second) = self.column(middle), (_COMPARE[type(op)] for op in node.ops)
        return Chain((first(self.value(low), column), second(column, self.value(high))))

    def matches(self, column: Column, node: ast.expr) -> Subset:
        """One value, or any of several in parentheses or brackets."""
        if isinstance(node, ast.Tuple | ast.List):
            values = [self.value(element) for element in node.elts]
            return cast(Subset, self.guarded(node, column.isin, values))
        return column == self.value(node)

    def column(self, node: ast.expr) -> Column:
        if isinstance(node, ast.Name):
            return Column(node.id)
        if _calls(node, "column"):
            (argument,) = cast(ast.Call, node).args
            return cast(Column, self.guarded(node, Column, self.value(argument)))
        name = node.value if isinstance(node, ast.Constant) else ast.get_source_segment(self.text, node)
        ours = isinstance(node, ast.Call) and ast.unparse(node.func) in ("column", "missing")
        if ours or not isinstance(name, str | int):
            name = "hours per week"
        self.fail(node, f"expected a column, as in age or {column_text(name)}")

    def value(self, node: ast.expr, option: str = "") -> Value:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            number = self.value(node.operand)
            if isinstance(number, str | bool):
                self.fail(node, "only a number can be negated")
            return -number
        if isinstance(node, ast.Constant):
            return cast(Value, self.guarded(node, plain_value, node.value))
        text = node.id if isinstance(node, ast.Name) else "..." if option else "Female"
        if text in ("true", "false"):
            self.fail(node, f"write {text.title()}, or the text in quotes")
        self.fail(
            node,
            f'expected a text in quotes, a number, True or False; texts need quotes: {option}"{text}"',
        )


def _calls(node: ast.expr, name: str) -> bool:
    """Whether this is `name`, called with one argument."""
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    return called and len(cast(ast.Call, node).args) == 1 and not cast(ast.Call, node).keywords


def _is_value(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant | ast.UnaryOp)


def _is_chain_of_two(node: ast.Compare) -> bool:
    """Whether two comparisons point the same way, as in ``a <= b < c``."""
    ways = ((ast.Lt, ast.LtE), (ast.Gt, ast.GtE))
    return len(node.ops) == 2 and any(all(isinstance(op, way) for op in node.ops) for way in ways)


def _short(text: str) -> str:
    return text if len(text) <= 200 else text[:200] + "..."
