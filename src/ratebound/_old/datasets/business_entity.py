"""A stand-in for *Business Entity Resolution* of Cotter et al.: are two inventors one person?

Pairs of mentions on US patents, hand-labelled, in the published number with as many features.
"""

from pathlib import Path

from ratebound._old.datasets.features import standardised
from ratebound._old.datasets.files import DataFile, numbers_of
from ratebound._old.datasets.splits import Splits, dealt, split
from ratebound._old.problem.population import Population

__all__ = ["load_business_entity"]

TRAIN_ROWS, VALIDATION_ROWS = 11_560, 3_856  # as published; as many again to test

FILE = DataFile(
    name="patentsview_pairs.csv.gz",
    holds="pairs of inventor mentions (PatentsView), the stand-in for Business Entity Resolution",
    sha256="c182e5814f19884bc350636d7277a08e6f697d8afdff479a8b65762b3d83340d",
)


def load_business_entity(folder: str | Path, seed: int = 0) -> Splits:
    """Load the stand-in for Business Entity Resolution: 11,560 pairs, then 3,856 and 3,856.

    The data of the published experiment is private; this has its structure.

    Parameters
    ----------
    folder : str or Path
        Where patentsview_pairs.csv.gz is. It does not ship with the package;
        its card, ``datasets/data/README.md``, says where it comes from.
    seed : int, default=0
        Which rows are dealt to which part. The default is as good as any.

    Returns
    -------
    Splits
        `y` says "one person", `X` holds 37 similarities, standardised on the training rows. The columns
        are `country`, one of 16 or "other"; `large_assignee` (True, False), in place of a chain of
        businesses; and `inventor`, the number of the person of the first mention, for your own splits
        that keep persons together.

    Raises
    ------
    FileNotFoundError
        If the file is not in the folder.
    ValueError
        If it is cut or changed.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.datasets.load_business_entity("nowhere")
    Traceback (most recent call last):
    FileNotFoundError: there is no folder nowhere. patentsview_pairs.csv.gz holds ...
    """
    kinds = {"pair_id": "i4", "country": "U5", "inventor": "i4", "label": "?"}
    (similarities, names), columns = numbers_of(FILE.read(folder), kinds)
    same = columns.pop("label")
    columns["large_assignee"] = similarities[:, names.index("large_assignee")] == 1
    parts = dealt(len(same), TRAIN_ROWS, VALIDATION_ROWS, seed)
    features = standardised(similarities, parts[0])
    return split(Population(features, same, columns=columns), parts, names)
