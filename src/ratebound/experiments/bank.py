"""Bank Marketing: no age group said yes to much more often than everyone; linear."""

from __future__ import annotations

from ratebound.datasets import load_bank
from ratebound.experiments.experiment import Experiment, Rates
from ratebound.experiments.model_kinds import linear
from ratebound.rates.named import positive_rate

FIRST_SEED = 845  # whose shares of labels are the published ones

BANK = Experiment(
    name="bank",
    title="Bank Marketing",
    words="will a customer subscribe; five age groups said yes to at most 2% more often than everyone",
    splits=lambda folder, seed: load_bank(folder, seed=FIRST_SEED + seed),
    promises=lambda splits: [positive_rate(age_group=k) <= positive_rate() + 0.02 for k in range(1, 6)],
    model=linear,
    shipped="the release that ships, bank-full; the published rows fit the later one: --data FOLDER",
    epochs=80,
    batch_size=2048,
    keep_every=8,
    rates=Rates(model=(0.01, 0.1)),
)
