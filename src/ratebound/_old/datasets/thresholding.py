"""A stand-in for *Thresholding* of Cotter et al.: many noisy labels, and few good ones to steer by.

Do two inventor mentions mean one person? An algorithm's answers are the noisy labels. The steering rows
are pairs labelled by hand, and the algorithm is wrong on half of them.
"""

from pathlib import Path

import numpy as np

from ratebound._old.datasets.features import standardised
from ratebound._old.datasets.files import DataFile, numbers_of
from ratebound._old.datasets.splits import Splits, in_tenths, split
from ratebound._old.problem.population import Population

__all__ = ["load_thresholding"]

FILE = DataFile(
    name="patentsview_noisy_steering.csv.gz",
    holds="noisy and steering pairs of inventor mentions (PatentsView), the stand-in for Thresholding",
    sha256="900f1600ed14adeb783d3964ecffc955a50ba482393125f4c7208f3de8be961d",
)


def load_thresholding(folder: str | Path, seed: int = 0) -> Splits:
    """Load the stand-in for Thresholding: 70,874, 10,125 and 20,250 noisy rows, 1,814 to steer by.

    The data of the published experiment is private; this has its structure.

    Parameters
    ----------
    folder : str or Path
        Where patentsview_noisy_steering.csv.gz is. It does not ship with the package;
        its card, ``datasets/data/README.md``, says where it comes from.
    seed : int, default=0
        Which rows are dealt to which part. The default is as good as any.

    Returns
    -------
    Splits
        `y` says "one person": by an algorithm in the three splits, by hand in ``others["steering"]``,
        which is whole whatever the seed, as published, and has the algorithm's answers in its column
        `noisy_label`. `X` holds 7 similarities, standardised on the training rows.

    Raises
    ------
    FileNotFoundError
        If the file is not in the folder.
    ValueError
        If it is cut or changed.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.datasets.load_thresholding("nowhere")
    Traceback (most recent call last):
    FileNotFoundError: there is no folder nowhere. patentsview_noisy_steering.csv.gz holds ...
    """
    kinds = {"part": "U8", "label": "?", "noisy_label": "?"}
    (similarities, names), columns = numbers_of(FILE.read(folder), kinds)
    part, same = columns.pop("part"), columns.pop("label")
    (noisy_rows,) = np.nonzero(part == "noisy")
    (steering_rows,) = np.nonzero(part == "steering")
    train, validation, test = (noisy_rows[rows] for rows in in_tenths(len(noisy_rows), seed))
    everyone = Population(standardised(similarities, train), same, columns=columns)
    others = {"steering": everyone.only(steering_rows)}
    return split(everyone, (train, validation, test), names, others=others)
