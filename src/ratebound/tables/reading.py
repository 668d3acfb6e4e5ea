"""What may be said about files before they are read; what is not said is found out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["number", "text"]  # what a column holds


@dataclass(frozen=True)
class Reading:
    """How texts are to be read; None means that it is found out."""

    sep: str | None = None  # what parts the cells
    encoding: str | None = None
    header: bool | None = None  # whether the first line names the columns


FOUND_OUT = Reading()
