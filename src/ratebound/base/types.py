"""The type of arrays that are NumPy's; `base/arrays.py` has the one of arrays of either library."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
