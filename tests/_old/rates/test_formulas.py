"""Formulas mean what rates measure: read as conditions on rows, they give the same numbers."""

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.rates.formulas import formula
from ratebound._old.rates.kinds import KINDS

rng = np.random.default_rng(0)
Y, DECIDED, EXISTING = (rng.random(300) < share for share in (0.4, 0.5, 0.3))
ROWS = rb.Population(np.where(DECIDED, 1.0, -1.0)[:, None], Y, columns={"live": EXISTING})
OPTIONS = {"confusion": {"label": 1, "predicted": 0}}
AGAINST = ("churn", "loss_only_churn", "wins", "losses", "positive_rate_of", "accuracy_of",
           "error_rate_of", "recall_of", "false_positive_rate_of")  # fmt: skip
OPTIONS |= {name: {"versus": "live"} for name in AGAINST}


class Same:
    def predict(self, X):
        return X[:, 0] > 0


def meets(conditions):
    """Which rows meet conditions such as ``ŷ = 1, y ≠ 1``."""
    named, met = {"ŷ": DECIDED, "y": Y, "v": EXISTING, "1": True, "0": False}, np.ones(300, dtype=bool)
    for each in filter(None, conditions.split(", ")):
        left, sign, right = each.split()
        same = named[left] == named[right]
        met &= same if sign == "=" else ~same
    return met


@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name, kind in KINDS.items()
        if kind.event is not None and name != "cost" and "refer" not in kind.event[0] and not kind.pairs
    ),
)
def test_a_formula_gives_the_number_of_its_rate(name):
    rate = getattr(rb, name)(**OPTIONS.get(name, {}))
    promise = rb.audit(rb.Problem(rb.error_rate(), [rate >= 0.1]), Same(), ROWS).promises[0]
    text = formula(rate)
    event, _, among = text[2:-1].partition(" | ")
    both, inside = meets(event) & meets(among), meets(among)
    wanted = both.sum() / inside.sum() if text.startswith("P") else both.sum()
    assert promise.value == pytest.approx(wanted)
