"""Constraints and goals from text: ``parse('recall(sex == "Female") >= 0.95 * recall()')``.

Python's own grammar splits the text into a tree; only the nodes of the language are then walked,
and nothing is ever evaluated. Whatever a rate prints, this reads back.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar, cast

from ratebound.base.spelling import nearest
from ratebound.rates.expressions import Constraint, Expression, Metric, SingleMetric
from ratebound.rates.goals import said
from ratebound.rates.grouping import GOALS, Goal, Promise
from ratebound.rates.kinds import KINDS
from ratebound.rates.named import OPTIONS, say
from ratebound.rates.subsets import Column, Compare, In, Relation, Subset, Value, plain_value

LONGEST = 20_000
_COMPARE: dict[type[ast.cmpop], Relation] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_FLIPPED: dict[str, Relation] = {
    "==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<=",
}  # fmt: skip
Found = TypeVar("Found")


def parse(text: str) -> Promise:
    """The constraint or goal that `text` states.

    In a goal, a column stands for all its values, and ``column in (...)`` for those listed.

    >>> parse('recall(sex == "Female" and age < 25) >= 0.95 * recall()')
    recall(sex == "Female" and age < 25) >= 0.95 * recall()
    >>> parse('equal_opportunity(sex, race in ("Black", "White"), ratio=0.95)')
    equal_opportunity(sex, race == "Black", race == "White", ratio=0.95)
    """
    return _read(text, _Reader.promise)


def parse_expression(text: str) -> Expression:
    """The expression that `text` states, for an objective.

    >>> parse_expression("error_rate() + 0.1 * positive_rate()")
    error_rate() + 0.1 * positive_rate()
    """
    return _read(text, _Reader.sum_of_rates)


def read_rate(text: str) -> Metric:
    """The rate, ratio or area whose own words these are, however long, as in a file of ours.

    >>> read_rate('recall(sex == "Female")')
    recall(sex == "Female")
    """
    return _read(text, _Reader.one_rate, longest=None)


def _read(text: str, part: Callable[[_Reader], Found], longest: int | None = LONGEST) -> Found:
    try:
        return part(_Reader(text, longest))
    except (RecursionError, MemoryError):
        raise ValueError(f"cannot read {_short(text)!r}: nested too deeply") from None


class _Reader:
    """Walks one syntax tree, so that every error can point into its text."""

    def __init__(self, text: str, longest: int | None) -> None:
        if not isinstance(text, str):
            raise TypeError(f"parse reads text, got {text!r}")
        self.text = text
        if longest is not None and len(text) > longest:
            raise ValueError(f"a constraint of {len(text)} characters is too long ({longest} at most)")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python's advice on style is not the user's concern
                self.tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else str(error)
            raise ValueError(f"cannot read {_short(text)!r}: {reason}") from None

    def fail(self, node: ast.AST, message: str) -> NoReturn:
        part = ast.get_source_segment(self.text.strip(), node) or self.text
        raise ValueError(f"cannot read {_short(part)!r} in {_short(self.text)!r}: {message}")

    def guarded(self, node: ast.AST, build: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Build a part of the language; what it objects to is an error at this place in the text."""
        try:
            return build(*args, **kwargs)
        except (TypeError, ValueError) as error:
            self.fail(node, str(error))

    def promise(self) -> Promise:
        node = self.tree
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in KINDS:
            return self.goal(node, node.func.id)
        return self.constraint()

    def goal(self, node: ast.Call, name: str) -> Goal:
        if name not in GOALS:
            self.fail(
                node,
                f"no such goal{nearest(name, [*GOALS, *KINDS])} There are {', '.join(GOALS)}. One of "
                "your own is defined first, by rb.goal",
            )
        groups = [group for argument in node.args for group in self.groups(argument)]
        options = {option: self.value(value) for option, value in self.keywords(node)}
        return cast(Goal, self.guarded(node, said, name, groups, options))

    def groups(self, node: ast.expr) -> list[str | Subset | Value]:
        """Columns and conditions, several for the values listed; or what else a goal takes first."""
        if self.is_column(node):
            return [self.column(node).name]
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In):
            found = self.condition(node)
            assert isinstance(found, In)
            return [Compare(found.column, "==", value) for value in found.values]
        is_condition = isinstance(node, ast.Compare | ast.BoolOp) or (
            isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        )
        return [self.subset(node) if is_condition else self.value(node)]

    def constraint(self) -> Constraint:
        node = self.tree
        if not isinstance(node, ast.Compare):
            self.fail(node, "a constraint compares rates, as in recall() >= 0.9")
        if len(node.ops) != 1:
            self.fail(node, "write two constraints instead of a chain of comparisons")
        relation = _COMPARE.get(type(node.ops[0]))
        if relation not in ("<=", ">="):
            self.fail(node, "rates are bounded with <= or >=; for equality give both, with some slack")
        left, right = self.operand(node.left), self.operand(node.comparators[0])
        if not _has_rate(left):
            left, right, relation = right, left, _FLIPPED[relation]
        compare = type(left).__le__ if relation == "<=" else type(left).__ge__
        return cast(Constraint, self.guarded(node, compare, left, _as_number(right)))

    def sum_of_rates(self) -> Expression:
        found = None if isinstance(self.tree, ast.Compare) else self.operand(self.tree)
        if not isinstance(found, Expression) or not found.terms:
            self.fail(self.tree, "an objective is a sum of rates, as in error_rate()")
        return found

    def one_rate(self) -> Metric:
        if not isinstance(self.tree, ast.Call):
            self.fail(self.tree, "expected one rate, as in recall()")
        return self.rate(self.tree)

    def operand(self, node: ast.expr) -> Metric:
        """A number, a rate, or a sum or multiple of them."""
        if isinstance(node, ast.Constant):
            if isinstance(node.value, bool) or not isinstance(node.value, int | float):
                self.fail(node, "expected a number or a rate")
            return cast(Metric, self.guarded(node, Expression().__add__, node.value))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            inner = self.operand(node.operand)
            return self.guarded(node, lambda: -inner) if isinstance(node.op, ast.USub) else inner
        if isinstance(node, ast.BinOp):
            return self.arithmetic(node)
        if isinstance(node, ast.Call):
            return self.rate(node)
        self.fail(node, "expected a number, a rate such as recall(), or their sum")

    def arithmetic(self, node: ast.BinOp) -> Metric:
        left, right = self.operand(node.left), self.operand(node.right)
        if isinstance(node.op, ast.Add):
            return cast(Metric, self.guarded(node, lambda: left + right))
        if isinstance(node.op, ast.Sub):
            return cast(Metric, self.guarded(node, lambda: left - right))
        if isinstance(node.op, ast.Mult):
            if not _has_rate(left):
                left, right = right, left
            return cast(Metric, self.guarded(node, lambda: left * _as_number(right)))
        if isinstance(node.op, ast.Div):
            return cast(Metric, self.guarded(node, lambda: left / _as_number(right)))
        self.fail(node, "rates are combined with + - * / only")

    def rate(self, node: ast.Call) -> Metric:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in KINDS:
            self.fail(
                node,
                f"no such rate{nearest(name, KINDS)} There are {', '.join(KINDS)}. A ratio of your own "
                "is defined first, by rb.ratio, also before rb.load of a model that keeps it",
            )
        options: dict[str, Any] = {}
        subsets = [self.subset(argument) for argument in node.args]
        for word, value in self.keywords(node):
            if word in OPTIONS:
                options[word] = self.value(value)
            else:
                subsets.append(self.matches(Column(word), value))
        return cast(Metric, self.guarded(node, say, name, *subsets, **options))

    def keywords(self, node: ast.Call) -> list[tuple[str, ast.expr]]:
        if len({keyword.arg for keyword in node.keywords}) < len(node.keywords):
            self.fail(node, "something is given twice")
        if any(keyword.arg is None for keyword in node.keywords):
            self.fail(node, "** has no meaning here")
        return [(str(keyword.arg), keyword.value) for keyword in node.keywords]

    def subset(self, node: ast.expr) -> Subset:
        if isinstance(node, ast.BoolOp):
            found, *others = [self.subset(value) for value in node.values]
            for other in others:
                found = found & other if isinstance(node.op, ast.And) else found | other
            return found
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ~self.subset(node.operand)
        if isinstance(node, ast.Compare):
            return self.condition(node)
        self.fail(node, 'expected a condition on a column, as in sex == "Female" and age < 25')

    def condition(self, node: ast.Compare) -> Subset:
        if len(node.ops) != 1:
            self.fail(node, "write two conditions joined with 'and' instead of a chain")
        left, right, op = node.left, node.comparators[0], node.ops[0]
        if isinstance(op, ast.In | ast.NotIn):
            if not isinstance(right, ast.Tuple | ast.List):
                self.fail(node, 'several values stand in parentheses, as in ("Black", "White")')
            found = self.matches(self.column(left), right)
            return found if isinstance(op, ast.In) else ~found
        if type(op) not in _COMPARE:
            self.fail(node, "columns are compared with == != < <= > >= in")
        relation = _COMPARE[type(op)]
        if not self.is_column(left):
            left, right, relation = right, left, _FLIPPED[relation]
        return Compare(self.column(left).name, relation, self.value(right))

    def matches(self, column: Column, node: ast.expr) -> Subset:
        """One value, or any of several in parentheses or brackets."""
        if isinstance(node, ast.Tuple | ast.List):
            values = [self.value(element) for element in node.elts]
            return cast(Subset, self.guarded(node, column.isin, values))
        return column == self.value(node)

    def is_column(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name | ast.Call)

    def column(self, node: ast.expr) -> Column:
        if isinstance(node, ast.Name):
            return Column(node.id)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "column"
            and len(node.args) == 1
            and not node.keywords
        ):
            return cast(Column, self.guarded(node, Column, self.value(node.args[0])))
        self.fail(node, 'expected a column, as in age or column("hours per week")')

    def value(self, node: ast.expr) -> Value:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            number = self.value(node.operand)
            if isinstance(number, str | bool):
                self.fail(node, "only a number can be negated")
            return -number
        if isinstance(node, ast.Constant):
            return cast(Value, self.guarded(node, plain_value, node.value))
        self.fail(
            node, 'expected a text in quotes, a number, True or False; texts need quotes: "Female"'
        )


def _has_rate(operand: Metric) -> bool:
    return isinstance(operand, SingleMetric) or bool(operand.terms)


def _as_number(operand: Metric) -> Any:
    """The constant of an expression without rates; a rate stays one, for the error it deserves."""
    return operand if _has_rate(operand) else cast(Expression, operand).constant


def _short(text: str) -> str:
    return text if len(text) <= 200 else text[:200] + "..."
