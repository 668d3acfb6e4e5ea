"""The data sets that ship with the package, as tables: a pandas DataFrame and its labels."""

from importlib import import_module
from typing import Any

from ratebound._old.datasets.files import columns_of, embedded

__all__ = ["load_frame"]

# The file of each table, its label, and the columns that are not features: when `duration` is known, the
# call is over; `is_recid` is an arrest at any time, and gives the label away.
TABLES = {
    "adult": ("adult.csv.gz", "income", ("part",)),
    "bank": ("bank_full.csv.gz", "y", ("duration",)),
    "compas": ("compas.csv.gz", "two_year_recid", ("is_recid",)),
}


def load_frame(name: str) -> tuple[Any, Any]:
    """Load a data set as a table: the columns as their publisher has them, with texts and numbers.

    Parameters
    ----------
    name : {"adult", "bank", "compas"}
        "bank": 45,211 customers of a bank who were called, and whether they bought a deposit. "adult":
        48,842 people of a census, and whether they earn more than $50,000. "compas": 7,214 defendants,
        and whether they were arrested again within two years.

    Returns
    -------
    X : pandas.DataFrame
        The features, without columns that give the label away.
    y : pandas.Series
        The labels.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> X, y = rb.datasets.load_frame("bank")
    >>> X[["age", "job", "balance"]].head(2)
       age         job  balance
    0   58  management     2143
    1   44  technician       29
    >>> y.value_counts().to_dict()
    {'no': 39922, 'yes': 5289}
    """
    if name not in TABLES:
        raise ValueError(f"there is no table {name!r}; there are {', '.join(map(repr, TABLES))}")
    file, label, dropped = TABLES[name]
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise ImportError("a table is a DataFrame, which needs pandas: pip install pandas") from None
    frame = pandas.DataFrame(columns_of(embedded(file))).drop(columns=[*dropped])
    labels = frame.pop(label)
    return frame, labels.str.rstrip(".") if name == "adult" else labels
