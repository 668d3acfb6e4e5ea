"""The experiments by name, in the paper's order."""

from __future__ import annotations

from ratebound.experiments.adult import ADULT
from ratebound.experiments.bank import BANK
from ratebound.experiments.business_entity import BUSINESS_ENTITY
from ratebound.experiments.compas import COMPAS
from ratebound.experiments.experiment import Experiment
from ratebound.experiments.filtering import FILTERING
from ratebound.experiments.map_intent import MAP_INTENT
from ratebound.experiments.thresholding import THRESHOLDING

ORDER = (BANK, ADULT, COMPAS, BUSINESS_ENTITY, THRESHOLDING, MAP_INTENT, FILTERING)
EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in ORDER}
