"""The paper's seven problems by name; the last four are on public stand-ins for its data."""

from __future__ import annotations

from functools import partial

import numpy as np

import ratebound._old as rb
from ratebound._old import datasets
from ratebound._old.datasets import Splits
from ratebound._old.rates.expressions import Constraint
from ratebound_experiments import filtering
from ratebound_experiments.experiment import Experiment, Rates, lattices, linear, network

BANK_SEED = 845  # gives the published shares of labels
ADULT_SEED = 3  # gives the published sizes of the groups
ADULT_GROUPS = {"race": ("Black", "White"), "sex": ("Female", "Male")}
COMPAS_GROUPS = [("race", "African-American"), ("race", "Caucasian"), ("sex", "Female"), ("sex", "Male")]
# An error of 17%: training on the steering examples alone reaches it, cross-validated.
THRESHOLDING_ACCURACY = 0.83


def _age_groups(splits: Splits) -> list[Constraint]:
    return [rb.positive_rate(age_group=k) <= rb.positive_rate() + 0.02 for k in range(1, 6)]


def _compas_groups(splits: Splits) -> list[Constraint]:
    return [rb.recall(**{name: group}) <= rb.recall() + 0.05 for name, group in COMPAS_GROUPS]


def _countries_and_assignees(splits: Splits) -> list[Constraint]:
    countries = sorted(set(_values(splits, "country")) - {"other"})
    return [
        *(rb.recall(country=country) >= 0.95 for country in countries),
        *(rb.recall(large_assignee=large) >= 0.95 for large in (True, False)),
        rb.accuracy(large_assignee=False) >= rb.accuracy(large_assignee=True) - 0.1,
    ]


def _carriers(splits: Splits) -> list[Constraint]:
    return rb.not_worse_off({"carrier": _values(splits, "carrier")}, versus="production")


def _regions(splits: Splits) -> list[Constraint]:
    regions = _values(splits, "region")
    return [rb.loss_only_churn(versus="base", region=region) <= 0.05 for region in regions]


def _values(splits: Splits, column: str) -> list[str]:
    found: list[str] = np.unique(splits.train.column(column)).tolist()
    return found


_PROBLEMS = (
    Experiment(
        name="bank",
        title="Bank Marketing",
        words="will a customer subscribe; "
        "five age groups said yes to at most 2% more often than everyone",
        splits=lambda folder, seed: datasets.load_bank(folder, seed=BANK_SEED + seed),
        promises=_age_groups,
        model=linear,
        shipped="the release that ships, bank-full; the published rows fit the later one: --data FOLDER",
        epochs=80,
        batch_size=2048,
        keep_every=8,
        rates=Rates(model=(0.01, 0.1)),
    ),
    Experiment(
        name="adult",
        title="Adult",
        words="income above $50,000; recall of four groups at least 95% of everyone's",
        splits=lambda folder, seed: datasets.load_adult(seed=ADULT_SEED + seed),
        promises=lambda splits: rb.equal_opportunity(ADULT_GROUPS, ratio=0.95),
        model=linear,
        epochs=80,
        batch_size=2048,
        keep_every=8,
        rates=Rates(model=(0.01, 0.1)),
    ),
    Experiment(
        name="compas",
        title="COMPAS",
        words="will a person be arrested again; recall of four groups at most 5% above everyone's",
        splits=lambda folder, seed: datasets.load_compas(seed=seed),
        promises=_compas_groups,
        model=partial(network, hidden=10),
        batch_size=128,
        keep_every=8,
    ),
    Experiment(
        name="business_entity",
        title="Business Entity Resolution",
        words="are two mentions one inventor; "
        "recall of 95% in 16 countries and for both kinds of assignee",
        splits=datasets.load_business_entity,
        promises=_countries_and_assignees,
        model=partial(network, hidden=16),
        stand_in=True,
        batch_size=256,
        keep_every=8,
    ),
    Experiment(
        name="thresholding",
        title="Thresholding",
        words="are two mentions one inventor, by noisy labels; "
        "accuracy of 83% on carefully labelled ones",
        splits=datasets.load_thresholding,
        promises=lambda splits: [rb.accuracy(on="steering") >= THRESHOLDING_ACCURACY],
        model=partial(network, hidden=32),
        stand_in=True,
        batch_size=2048,
        algorithms=("unconstrained", "steering-only", "hinge", "swap", "ext"),
    ),
    Experiment(
        name="map_intent",
        title="Map Intent",
        words="will a flight be late; "
        "for ten carriers right at least as often as the model in production",
        splits=datasets.load_map_intent,
        promises=_carriers,
        model=partial(lattices, count=300, rank=8),
        stand_in=True,
        epochs=4,
        batch_size=1024,
        keep_every=100,
        threads=None,
        rates=Rates(model=(0.01,)),  # a step costs a hundred times a linear model's
    ),
    Experiment(
        name="filtering",
        title="Filtering",
        words="will a loan be repaid; in ten regions at most 5% of a base model's right decisions lost",
        splits=datasets.load_filtering,
        prepare=filtering.add_base,
        promises=_regions,
        model=partial(lattices, count=filtering.SIZE[0], rank=filtering.SIZE[1]),
        stand_in=True,
        epochs=5,
        batch_size=512,
        keep_every=100,
        threads=None,
        rates=Rates(model=(0.01,)),
    ),
)
EXPERIMENTS: dict[str, Experiment] = {problem.name: problem for problem in _PROBLEMS}
