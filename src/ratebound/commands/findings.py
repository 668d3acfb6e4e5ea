"""What is known of promises before training for them, in words and small tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ratebound.auditing import Audit
from ratebound.auditing.report import Promise
from ratebound.auditing.wording import number
from ratebound.base.layout import aligned
from ratebound.commands.possible import Least
from ratebound.commands.rows import Rows
from ratebound.problem.masks import masker
from ratebound.problem.problem import Problem
from ratebound.rates.expressions import Constraint, Expression, Rate
from ratebound.rates.named import atoms
from ratebound.rates.subsets import Subset

FEW = 100  # rows below which one more or less is worth a remark
PERFECT = "perfect"
NOTE = (
    "perfect decides by the labels themselves; unconstrained is a linear model trained without promises "
    "on these same rows."
)


@dataclass(frozen=True, eq=False)
class Findings:
    """What is known of a problem on rows before training for it."""

    problem: Problem
    rows: Rows
    audits: dict[str, Audit]  # of simple classifiers
    alone: list[Least]  # of each constraint
    together: Least  # of all, by constraint
    exact: bool  # whether what is possible is known, and not only what is not


def as_text(found: Findings, label: str) -> str:
    """All findings, constraint by constraint, then together."""
    rows, (no, yes) = found.rows, found.rows.classes
    positives = int(rows.yes.sum())
    lines = [
        f"{rows.table.name}: {len(rows):,} rows, {positives:,} of them positive ({label} == {yes!r}), "
        f"{len(rows) - positives:,} negative ({no!r})"
    ]
    mask = masker(rows.population())
    for index, constraint in enumerate(found.problem.subject_to):
        promises = {name: report.promises[index] for name, report in found.audits.items()}
        lines += ["", f"{index + 1}. {constraint}"]
        lines += _indented(_rates_table(constraint, mask, rows))
        lines += _indented(_classifiers_table(promises))
        lines += _indented([_verdict(promises, found.alone[index], found.exact)])
    if len(found.problem.subject_to) > 1:
        lines += ["", *_together(found)]
    lines += ["", NOTE]
    return "\n".join(lines)


def _indented(lines: list[str]) -> list[str]:
    return ["", *(f"   {line}" for line in lines)]


def _rates_table(constraint: Constraint, mask: Callable[[Subset], Any], rows: Rows) -> list[str]:
    """Rows and positives of each rate's group, and how many of them it is a share of."""
    table = [["rate", "rows", "positive", "counted over"]]
    remarks = []
    for rate in _rates(constraint):
        inside = mask(rate.subset)
        base = min(
            int(mask(atom.over if atom.over is not None else rate.subset).sum()) for atom in _atoms(rate)
        )
        table.append([str(rate), f"{inside.sum():,}", f"{(inside & rows.yes).sum():,}", f"{base:,}"])
        if base < FEW:
            remarks.append(f"{rate}: few rows, each of them moves it by {1 / base:.2g}")
    return [*aligned(table, right=[1, 2, 3]), *remarks]


def _rates(constraint: Constraint) -> list[Rate]:
    left, right = constraint.left, constraint.right
    own = [rate for rate, _ in left.terms] if isinstance(left, Expression) else [left.rate]
    return list(dict.fromkeys([*own, *(rate for rate, _ in right.terms)]))


def _atoms(rate: Rate) -> tuple[Any, ...]:
    """What the rate counts; for ratios their denominator, for an area the recalls it is made of."""
    kind = {"precision": "precision denominator", "win_loss_ratio": "win_loss_ratio denominator"}
    plain = {"roc_auc": "recall", **kind}.get(rate.kind, rate.kind)
    return atoms(Rate(plain, rate.subset, versus=rate.versus))


def _classifiers_table(promises: dict[str, Promise]) -> list[str]:
    table = [["classifier", "value", "bound", "room", ""]]
    for name, promise in promises.items():
        bound = f"{promise.relation} {number(promise.bound)}"
        room = number(promise.slack, signed=True)
        table.append([name, number(promise.value), bound, room, "kept" if promise.kept else "BROKEN"])
    return aligned(table, right=[1, 2, 3])


def _verdict(promises: dict[str, Promise], least: Least, exact: bool) -> str:
    """What these few classifiers show, and what they do not."""
    if not least.possible:
        return (
            "Impossible: no classifier at all keeps it on these rows, not even one that saw the labels; "
            f"the best possible breaks it by {least.violation:.4g}."
        )
    keeping = [name for name, promise in promises.items() if promise.kept]
    if "unconstrained" in keeping:
        return "Met already: the unconstrained model keeps it on these rows, if only just or by chance."
    constant = [name for name in keeping if name.startswith("always")]
    if constant:
        return f"Possible: {constant[0]} keeps it, so some model does; training tells at what cost."
    if PERFECT in keeping or exact:
        return (
            "Possible in principle: a classifier that saw the labels could keep it. Whether one that "
            "sees the columns can is not shown by this; training tells."
        )
    return "Unknown: none of these keeps it, and nothing rules out that a model does; training tells."


def _together(found: Findings) -> list[str]:
    lines = ["Together:", ""]
    kept = {name: [promise.kept for promise in report.promises] for name, report in found.audits.items()}
    for name, flags in kept.items():
        sides = {word: _numbered(flags, state) for word, state in (("keeps", True), ("breaks", False))}
        lines.append(
            f"   {name}: " + "; ".join(f"{word} {which}" for word, which in sides.items() if which)
        )
    return [*lines, f"   {_conflict(found, kept)}"]


def _numbered(flags: list[bool], state: bool) -> str:
    return ", ".join(str(i + 1) for i, flag in enumerate(flags) if flag is state)


def _conflict(found: Findings, kept: dict[str, list[bool]]) -> str:
    """Whether the promises are in each other's way, as far as this shows."""
    if not found.together.possible:
        binding = " and ".join(str(i + 1) for i in found.together.binding)
        return (
            f"Impossible: no classifier at all keeps {binding} together on these rows; relaxing each by "
            f"{found.together.violation:.4g} would do."
        )
    real = {name: flags for name, flags in kept.items() if name != PERFECT}
    for name, flags in real.items():
        if all(flags):
            return f"No conflict: {name} keeps all of them."
    some = f"None of {', '.join(real)} keeps all of them"
    pairs = [
        f"{i + 1} and {j + 1}"
        for i, j in combinations(range(len(found.problem.subject_to)), 2)
        if any(flags[i] for flags in real.values())
        and any(flags[j] for flags in real.values())
        and not any(flags[i] and flags[j] for flags in real.values())
    ]
    odds = f"; at odds among them: {', '.join(pairs)}" if pairs else ""
    known = "a classifier that saw the labels could" if found.exact or all(kept[PERFECT]) else "one may"
    return f"{some}{odds}. This proves no conflict: {known}, and training tells whether a model can."
