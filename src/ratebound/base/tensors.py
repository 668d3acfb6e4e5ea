"""Files of named arrays (safetensors), which hold numbers and words and never code."""

from __future__ import annotations

from pathlib import Path

from ratebound.base.types import Array


def read_tensors(path: Path) -> tuple[dict[str, str], dict[str, Array]]:
    """What the header of a file says, and its arrays; ValueError where it is not a whole file."""
    from safetensors import SafetensorError, safe_open  # whoever reads no file needs none of it

    try:
        with safe_open(path, framework="numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return file.metadata() or {}, arrays
    except SafetensorError as error:
        raise ValueError(f"it is not a whole safetensors file: {error}") from None
