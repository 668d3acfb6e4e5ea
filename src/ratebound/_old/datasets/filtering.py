"""A stand-in for *Filtering* of Cotter et al.: will a US small-business loan be repaid?

A base model is to be trained by regression on a real-valued label; a new classifier must then lose
few of its right decisions in any of ten regions.
"""

from pathlib import Path

from ratebound._old.datasets.files import DataFile, numbers_of
from ratebound._old.datasets.splits import Splits, in_tenths, split
from ratebound._old.problem.population import Population

__all__ = ["load_filtering"]

SIGNS = {"log_employees": 1, "new_business": -1, "sector_risk": -1, "lender_risk": -1}

FILE = DataFile(
    name="sba_filtering.csv.gz",
    holds="loans of the US Small Business Administration, the stand-in for Filtering",
    sha256="cbf3e0d33748acaf1921f501e3420e5ac453d76f24d4c28a134fbe2f93bb0606",
)


def load_filtering(folder: str | Path, seed: int = 0) -> Splits:
    """Load the stand-in for Filtering: 220,578 loans to train on, 31,511 and 63,023.

    The data of the published experiment is private; this has its structure.

    Parameters
    ----------
    folder : str or Path
        Where sba_filtering.csv.gz is. It does not ship with the package;
        its card, ``datasets/data/README.md``, says where it comes from.
    seed : int, default=0
        Which rows are dealt to which part. The default is as good as any.

    Returns
    -------
    Splits
        `y` says "repaid", `X` holds 16 numbers as they are, for lattices, and `monotone` the signs of
        the four that have one. In the columns, `region` is 1 to 10, and `label_real`, from -1 to 1, is
        what the base model regresses on: 1 for every loan that was repaid, anything for the others.

    Raises
    ------
    FileNotFoundError
        If the file is not in the folder.
    ValueError
        If it is cut or changed.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.datasets.load_filtering("nowhere")
    Traceback (most recent call last):
    FileNotFoundError: there is no folder nowhere. sba_filtering.csv.gz holds ...
    """
    kinds = {"region": "i4", "label_real": "f4", "label": "?"}
    (features, names), columns = numbers_of(FILE.read(folder), kinds)
    repaid = columns.pop("label")
    everyone = Population(features, repaid, columns=columns)
    monotone = {names.index(name): sign for name, sign in SIGNS.items()}
    return split(everyone, in_tenths(len(repaid), seed), names, monotone=monotone)
