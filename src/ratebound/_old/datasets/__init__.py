"""Real data to try ratebound on: each loader returns the populations its experiments use.

Adult, Bank Marketing and COMPAS ship with the package. Four more stand in for data that Cotter et al.
could not publish, and are read from a folder that you name. The data cards, with source, licence and
known problems, lie beside the files in `data/`.
"""

from ratebound._old.datasets.adult import load_adult
from ratebound._old.datasets.bank import fetch_bank, load_bank
from ratebound._old.datasets.business_entity import load_business_entity
from ratebound._old.datasets.compas import load_compas
from ratebound._old.datasets.filtering import load_filtering
from ratebound._old.datasets.frames import load_frame
from ratebound._old.datasets.map_intent import load_map_intent
from ratebound._old.datasets.splits import Splits
from ratebound._old.datasets.thresholding import load_thresholding

__all__ = [
    "Splits",
    "fetch_bank",
    "load_adult",
    "load_bank",
    "load_business_entity",
    "load_compas",
    "load_filtering",
    "load_frame",
    "load_map_intent",
    "load_thresholding",
]
