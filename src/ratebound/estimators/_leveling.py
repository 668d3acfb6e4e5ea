"""The levels at which ratios are compared with ratios, before the estimator trains for them.

They are those that are best for thresholds on the same model trained without promises, of rows on disk
on some of them. What is then trained for are promises about numbers, with all that can be said of these.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from ratebound.estimators._sampling import some_in_memory
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem
from ratebound.rates.rate import FIRST
from ratebound.solution.leveling import at_levels


def leveled(estimator: Any, problem: Problem, people: dict[str, Population]) -> Problem:
    """The problem with every comparison of two ratios at a level, found on these rows."""
    people = {name: some_in_memory(each) for name, each in people.items()}
    first, known = people[FIRST], estimator.known
    plain = clone(estimator).set_params(
        constraints=(), objective="error_rate()", known=None, confidence=None, certify=None
    )
    assert first.y is not None
    labels = np.asarray(first.classes)[first.y.astype(int)]
    plain.fit(first.X, labels, columns=first.columns or None, sample_weight=first.weights)
    return at_levels(problem, plain.solution_, known=known or (), **people)
