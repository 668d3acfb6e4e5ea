"""UCI Bank Marketing: does a customer subscribe to a term deposit when called? Portugal, 2008 to 2010.

It was released twice. The later release, bank-additional-full, is the one whose share of positives
(.1127) is the error of the published always-no classifiers; it may be fetched but not shipped. The
earlier, bank-full, ships with the package and is as hard a problem.
"""

import csv
import gzip
import http.client
import urllib.request
import zipfile
from collections.abc import Mapping
from io import BytesIO, StringIO
from pathlib import Path

import numpy as np

from ratebound._old.base.writing import write_whole
from ratebound._old.datasets.features import (
    Block,
    Column,
    bin_of,
    bins,
    categories,
    quantiles,
    side_by_side,
    standardised,
)
from ratebound._old.datasets.files import DataFile, columns_of, embedded
from ratebound._old.datasets.splits import Indices, Splits, in_tenths, split
from ratebound._old.problem.population import Population

__all__ = ["fetch_bank", "load_bank"]

REAL = ("emp.var.rate", "cons.price.idx", "cons.conf.idx", "euribor3m", "nr.employed")
STANDARDISED = ("balance", "day", "duration", "campaign", "pdays", "previous")  # in the earlier release
QUARTILES = (0.25, 0.5, 0.75)
QUINTILES = (0.2, 0.4, 0.6, 0.8)

URL = "https://archive.ics.uci.edu/static/public/222/bank+marketing.zip"
ADDITIONAL = DataFile(
    name="bank_additional_full.csv.gz",
    holds="UCI Bank Marketing, later release",
    sha256="5797716d254c8259177486baf6b0695df48c2fa8e33bda4c40c2fbf5cf34e475",
    remedy="ratebound.datasets.fetch_bank(folder) fetches it from UCI; load_bank() without a folder "
    "needs no other file.",
)


def load_bank(folder: str | Path | None = None, seed: int = 845) -> Splits:
    """Load UCI Bank Marketing, seven tenths to train on, one to validate and two to test.

    Parameters
    ----------
    folder : str or Path, default=None
        The folder that `fetch_bank` filled, for the later release: 41,188 rows, whose 60 features are
        indicators of nine categories and of the quartiles of age, duration and euribor3m. By default the
        earlier, which ships with the package: 45,211 rows, whose 60 features are indicators of the same
        categories and of the quintiles of age and duration, and six standardised numbers.
    seed : int, default=845
        Which rows are dealt to which part. The default deals the later release so that saying no to all
        errs as published: on .1122 of the training rows, .1129 of the validation and .1140 of the test
        rows.

    Returns
    -------
    Splits
        `y` says "subscribed". All attributes stay in `columns`, dots in names as underscores, and
        `age_group` is 1 to 5, by the training quintiles.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> bank = rb.datasets.load_bank()
    >>> bank.train.X.shape, bank.validation.X.shape, bank.test.X.shape
    ((31648, 60), (4521, 60), (9042, 60))
    >>> [int((bank.train.columns["age_group"] == group).sum()) for group in (1, 2, 3, 4, 5)]
    [7754, 5346, 5972, 6757, 5819]
    """
    text = embedded("bank_full.csv.gz") if folder is None else ADDITIONAL.read(folder)
    table = {name.replace(".", "_"): column for name, column in columns_of(text).items()}
    subscribed = table.pop("y") == "yes"
    parts = in_tenths(len(subscribed), seed)
    train_rows = parts[0]
    features_of = _features_of_full if folder is None else _features_of_additional
    features, names = features_of(table, train_rows)
    table["age_group"] = 1 + bin_of(table["age"], quantiles(table["age"], train_rows, QUINTILES))
    return split(Population(features, subscribed, columns=table), parts, names)


def fetch_bank(folder: str | Path) -> Path:
    """Fetch the later release of Bank Marketing from UCI, checked and whole or not at all.

    Parameters
    ----------
    folder : str or Path
        Where to write it.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ConnectionError
        If it could not be fetched.
    ValueError
        If UCI's file is not what it was.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> fetched = rb.datasets.fetch_bank("data")  # doctest: +SKIP
    >>> rb.datasets.load_bank(fetched.parent).train.X.shape  # doctest: +SKIP
    (28832, 60)
    """
    try:
        with urllib.request.urlopen(URL, timeout=60) as answer:
            archive = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise ConnectionError(
            f"{ADDITIONAL.holds}, could not be fetched from {URL} ({error}). Without a connection, "
            f"bring {ADDITIONAL.name} from a machine that has one, or call load_bank() without a folder."
        ) from error
    content = _from_archive(archive)
    ADDITIONAL.check(content, URL)
    return write_whole(Path(folder) / ADDITIONAL.name, gzip.compress(content, mtime=0))


def _from_archive(archive: bytes) -> bytes:
    """The CSV out of UCI's archive, in the form it is kept in: commas, no quotes, reals with a point."""
    try:
        with zipfile.ZipFile(BytesIO(archive)) as outer:
            inner = zipfile.ZipFile(BytesIO(outer.read("bank-additional.zip")))
        text = inner.read("bank-additional/bank-additional-full.csv").decode("ascii")
    except (zipfile.BadZipFile, KeyError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{URL} is no longer the archive it was ({error}): {ADDITIONAL.name} was not written"
        ) from error
    header, *rows = csv.reader(text.splitlines(), delimiter=";")
    reals = [name in REAL for name in header]
    kept = StringIO()
    writer = csv.writer(kept, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([float(cell) if real else cell for cell, real in zip(row, reals, strict=True)])
    return kept.getvalue().encode("ascii")


def _features_of_full(table: Mapping[str, Column], train_rows: Indices) -> Block:
    numbers = np.column_stack([table[name] for name in STANDARDISED])
    return side_by_side(
        [
            *categories(table),
            *_bins(table, ("age", "duration"), QUINTILES, train_rows),
            (standardised(numbers, train_rows), STANDARDISED),
        ]
    )


def _features_of_additional(table: Mapping[str, Column], train_rows: Indices) -> Block:
    used = {name: column for name, column in table.items() if name != "day_of_week"}
    binned = _bins(table, ("age", "duration", "euribor3m"), QUARTILES, train_rows)
    return side_by_side([*categories(used), *binned])


def _bins(
    table: Mapping[str, Column], names: tuple[str, ...], at: tuple[float, ...], train_rows: Indices
) -> list[Block]:
    return [bins(name, table[name], quantiles(table[name], train_rows, at)) for name in names]
