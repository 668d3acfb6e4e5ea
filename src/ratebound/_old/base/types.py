"""The type of NumPy arrays; `base/arrays.py` has the type of arrays of either library."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
