"""Real data to try ratebound on: each loader returns the populations its experiments use.

Adult, Bank Marketing and COMPAS ship with the package. Four more stand in for data that Cotter et al.
could not publish, and are read from a folder that you name. The data cards, with source, licence and
known problems, lie beside the files in `data/`.
"""

from ratebound.datasets.adult import load_adult
from ratebound.datasets.bank import fetch_bank, load_bank
from ratebound.datasets.business_entity import load_business_entity
from ratebound.datasets.compas import load_compas
from ratebound.datasets.filtering import load_filtering
from ratebound.datasets.frames import load_frame
from ratebound.datasets.map_intent import load_map_intent
from ratebound.datasets.splits import Splits
from ratebound.datasets.thresholding import load_thresholding

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
