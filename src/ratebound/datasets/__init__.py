"""Real data to try ratebound on: each loader returns the populations its experiments use.

The data cards, with source, licence and known problems, lie beside the files in `data/`.
"""

from ratebound.datasets.adult import load_adult
from ratebound.datasets.splits import Splits

__all__ = ["Splits", "load_adult"]
