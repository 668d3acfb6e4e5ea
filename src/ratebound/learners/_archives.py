"""Zip archives from a file, checked before they are read: a small one can declare any size."""

from __future__ import annotations

import io
import math
import zipfile
from typing import IO, Any

import numpy as np

ROOM = 2**24  # bytes that compressed arrays may take in any case
RATIO = 100  # times their compressed size that they may take beyond it


def check_archive(data: bytes) -> None:
    """Raise ValueError unless a skops archive holds what it declares, and unpacks to a moderate size.

    skops compresses only sparse matrices, which SciPy puts into archives of their own.
    """
    with _opened(data) as archive:
        entries = archive.infolist()
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise ValueError("its estimator is a compressed archive, which skops never writes")
        if sum(entry.file_size for entry in entries) > len(data):
            raise ValueError("its estimator is an archive that declares more than it holds")
        for entry in entries:
            if entry.filename.endswith(".npz"):
                _check_packed(archive.read(entry))
            elif entry.filename.endswith(".npy"):
                with archive.open(entry) as file:
                    _check_array(file, entry.file_size)


def _check_packed(data: bytes) -> None:
    with _opened(data) as archive:
        entries = archive.infolist()
        if sum(entry.file_size for entry in entries) > ROOM + RATIO * len(data):
            raise ValueError(
                f"its estimator holds arrays compressed to less than 1/{RATIO} of their size"
            )
        for entry in entries:
            with archive.open(entry) as file:
                _check_array(file, entry.file_size)


def _check_array(file: IO[bytes], size: int) -> None:
    """Raise unless an array is as large as its header declares."""
    version = np.lib.format.read_magic(file)
    reads: dict[tuple[int, int], Any] = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in reads:
        raise ValueError(f"its estimator holds an array of an unknown format, {version}")
    shape, _, dtype = reads[version](file)
    if math.prod(shape) * dtype.itemsize > size:
        raise ValueError(f"its estimator declares an array of shape {shape} that it does not hold")


def _opened(data: bytes) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except zipfile.BadZipFile as error:
        raise ValueError(f"its estimator is not an archive: {error}") from None
