"""Files of named arrays (safetensors), which hold numbers and words and never code."""

from __future__ import annotations

from pathlib import Path

from ratebound._old.base.types import Array


def read_tensors(path: Path) -> tuple[dict[str, str], dict[str, Array]]:
    """The header of a file and its arrays; raises ValueError if the file is damaged."""
    from safetensors import SafetensorError, safe_open  # imported only when a file is read

    try:
        with safe_open(path, framework="numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return file.metadata() or {}, arrays
    except SafetensorError as error:
        raise ValueError(f"it is not a whole safetensors file: {error}") from None
