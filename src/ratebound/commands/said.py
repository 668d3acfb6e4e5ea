"""What was asked for, as one command line: the same whether it came from flags or from a run file."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any

from ratebound.commands.runs import Run
from ratebound.commands.uses import Use

WHERE = ("out", "json", "html", "quiet", "resume", "force")  # which change nothing about the answer


def as_command(name: str, asked: Run | Use) -> str:
    """The command line that asks for this, without where to write and how to show it.

    >>> as_command("train", Run(("people.csv",), label="income", require=("recall() >= 0.9",), seed=3))
    "ratebound train people.csv --label income --require 'recall() >= 0.9' --seed 3"
    """
    model = [str(asked.model)] if isinstance(asked, Use) else []
    words = ["ratebound", name, *model, *asked.data]
    for each in fields(asked):
        if each.name in ("data", *WHERE) or (each.name == "model" and model):
            continue
        default = each.default_factory() if each.default_factory is not MISSING else each.default
        value = getattr(asked, each.name)
        if value != default:
            words += _flags(each.name, value)
    return shlex.join(words)


def _flags(key: str, value: Any) -> Iterator[str]:
    """A key as it is written on the command line."""
    flag = f"--{key.replace('_', '-')}"
    if isinstance(value, bool) and key != "positive":
        yield flag if value else f"--no-{key}"
    elif key == "require":
        for promise in value:
            yield from (flag, promise)
    elif isinstance(value, dict):
        for name, path in value.items():
            yield from (flag, f"{name}={path}")
    elif isinstance(value, tuple):
        yield from (flag, *value)
    elif str(value).startswith("-"):
        yield f"{flag}={value}"
    else:
        yield from (flag, "none" if value is None else str(value))
