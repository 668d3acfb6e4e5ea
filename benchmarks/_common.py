"""What the benchmarks share: a markdown table, and words for the machine they ran on."""

import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A markdown table whose columns line up in a terminal too."""
    lines = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines)


def machine() -> str:
    """The processor, the number of cores and the version of Python."""
    about = Path("/proc/cpuinfo")  # Linux alone has it
    lines = about.read_text().splitlines() if about.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    name = names[0] if names else platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"
