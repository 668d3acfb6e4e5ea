"""CSVs that are almost all numbers, read eight characters at a time.

Cells such as -12.345 are taken apart by arithmetic on words of eight characters, thousands of cells at
once. A cell is then a whole number over a power of ten, both of which doubles hold exactly, so that the
quotient is rounded as by `float`. Any other way to write a number is left to `float` itself.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ratebound.datasets.features import Block, Column

BLOCK = 1 << 18  # characters read at a time: what is made of them fits into a processor's cache
WORD = 8
LONGEST = 15  # characters of a number that a double holds exactly, whatever they are
COMMA, LINE_END, MINUS = b",\n-"

Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


def _each(byte: int) -> np.uint64:
    return np.uint64(int.from_bytes(bytes([byte] * WORD), "little"))


# The last k characters of a word, which are its highest bytes, by k.
LAST = np.array([(1 << 64) - (1 << 8 * (WORD - k)) for k in range(WORD + 1)], dtype=np.uint64)
# By how many digits follow the point, plus one; 0 stands for no point.
TENS = 10.0 ** np.arange(2 * WORD + 1)
SCALE = np.append(1.0, TENS[:-1])
TOO_MUCH = np.append(0.0, 9 * TENS[:-1])


def numbers_of(text: str, kinds: Mapping[str, str]) -> tuple[Block, dict[str, Column]]:
    """The features of a CSV, in single precision, and the columns whose `kinds` are given.

    >>> (features, names), columns = numbers_of("slack,label\\n1.5,0\\n-2,1\\n", {"label": "?"})
    >>> features, names, columns
    (array([[ 1.5], [-2. ]], dtype=float32), ('slack',), {'label': array([False,  True])})
    """
    first, _, rest = text.partition("\n")
    header, raw = first.split(","), rest.encode("ascii")
    raw += b"" if raw.endswith(b"\n") or not raw else b"\n"
    rows = raw.count(b"\n")
    texts = [place for place, name in enumerate(header) if kinds.get(name, "f4").startswith("U")]
    numbers = [place for place in range(len(header)) if place not in texts]
    kept = [place for place, name in enumerate(header) if name in kinds]
    chosen = [at for at, place in enumerate(numbers) if place not in kept]
    features = np.empty((rows, len(chosen)), dtype=np.float32)
    columns: dict[str, Any] = {header[place]: np.empty(rows, kinds[header[place]]) for place in kept}
    at = 0
    for block in _blocks(raw):
        begins, ends = _cells(block, len(header))
        own = slice(at, at + len(ends))
        found = _numbers(block, begins[:, numbers].ravel(), ends[:, numbers].ravel())
        found = found.reshape(len(ends), len(numbers))
        features[own] = found[:, chosen]
        for place in kept:
            values = columns[header[place]]
            if place in texts:
                values[own] = _texts(block, begins[:, place], ends[:, place], values.itemsize // 4)
            else:
                values[own] = found[:, numbers.index(place)]
        at += len(ends)
    return (features, tuple(header[numbers[at]] for at in chosen)), columns


def _blocks(raw: bytes) -> Iterator[npt.NDArray[np.uint8]]:
    """The characters of whole lines, after so many others that two words fit before the first cell."""
    begin = 0
    while begin < len(raw):
        end = raw.rfind(b"\n", begin, begin + BLOCK) + 1 or raw.index(b"\n", begin) + 1
        yield np.frombuffer(2 * WORD * b"," + raw[begin:end], dtype=np.uint8)
        begin = end


def _cells(block: npt.NDArray[np.uint8], width: int) -> tuple[Places, Places]:
    """Where the cells of each line begin and end, (lines, width)."""
    marks = np.flatnonzero((block == COMMA) | (block == LINE_END))[2 * WORD :]
    whole = len(marks) % width == 0
    ends = marks.reshape(-1, width) if whole else marks[None]
    if not whole or (block[ends] == LINE_END).sum() != len(ends) or (block[ends[:, -1]] == COMMA).any():
        raise ValueError(f"a line has more or fewer than {width} cells")
    begins = np.append(2 * WORD, marks[:-1] + 1).reshape(ends.shape)
    return begins, ends


def _numbers(block: npt.NDArray[np.uint8], begins: Places, ends: Places) -> Numbers:
    """The numbers in these cells."""
    # A word begins at every place; copied, they can be taken from faster.
    words: Words = np.ndarray(len(block) - WORD + 1, "<u8", block, strides=(1,)).copy()
    negative = block.take(begins) == MINUS
    length = ends - begins - negative
    found, point, odd = _digits(words.take(ends - WORD), length.clip(max=WORD))
    longer = np.flatnonzero(length > WORD)
    if len(longer):
        ahead = words.take(ends[longer] - 2 * WORD), (length[longer] - WORD).clip(max=WORD)
        high, early, bad = _digits(*ahead)
        found[longer] += TENS[WORD] * high
        bad |= (early > 0) & (point[longer] > 0)
        point[longer] += np.where(early > 0, early + WORD, 0)
        odd[longer] |= bad
    odd |= (length <= (point > 0)) | (length > LONGEST)
    point[odd] = 0
    # The point was read as a digit 0: what is before it counts ten times too much.
    before = np.floor(found / TENS[point])
    found -= TOO_MUCH[point] * before
    found /= SCALE[point]
    np.negative(found, out=found, where=negative)
    for cell in np.flatnonzero(odd).tolist():
        found[cell] = float(block[begins[cell] : ends[cell]].tobytes())
    return found


def _digits(words: Words, length: Places) -> tuple[Numbers, Places, npt.NDArray[np.bool_]]:
    """The last characters of words as a number, its point as a digit 0; where that is; what is odd."""
    words ^= _each(ord("0"))
    words &= LAST.take(length)
    # The lowest byte that holds a point, by the carry of a subtraction; the highest bit of it is left.
    other = words ^ _each(ord("0") ^ ord("."))
    bit = (other - _each(1)) & ~other & _each(0x80)
    bit &= ~bit + np.uint64(1)
    bit >>= np.uint64(7)
    words ^= bit * np.uint64(ord("0") ^ ord("."))
    point = (bit * np.uint64(0x0807060504030201)) >> np.uint64(56)
    odd = ((words + _each(0x76)) & _each(0x80)) != 0
    # Two neighbours become one number, then two such, then two such again.
    words *= np.uint64(1 + (10 << 8))
    words >>= np.uint64(8)
    words &= np.uint64(0x00FF00FF00FF00FF)
    words *= np.uint64(1 + (100 << 16))
    words >>= np.uint64(16)
    words &= np.uint64(0x0000FFFF0000FFFF)
    words *= np.uint64(1 + (10_000 << 32))
    words >>= np.uint64(32)
    return words.astype(float), point.astype(np.intp), odd


def _texts(block: npt.NDArray[np.uint8], begins: Places, ends: Places, width: int) -> Column:
    """The texts in these cells, or as many of their characters."""
    places = begins[:, None] + np.arange(width)
    letters = np.where(places < ends[:, None], block[np.minimum(places, len(block) - 1)], 0)
    return letters.astype(np.uint8).view(f"S{width}")[:, 0].astype(f"U{width}")
