"""Every learner and decider that something may be deployed by, for any problem."""

from dataclasses import replace

import numpy as np

import ratebound._old as rb
from ratebound._old.problem.deciding import score_count
from ratebound._old.solution.deciders import GroupThresholds, Vote


def learners(scores):
    """For each learner what it needs and how it is made, for models with so many scores a row."""

    def chain():
        from torch import nn

        return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, scores))

    def naive():
        from sklearn.naive_bayes import GaussianNB

        return rb.Oracle(GaussianNB())

    return {
        "linear": (None, lambda: rb.Linear(0.1)),
        "torch": ("torch", lambda: rb.Torch(chain, 0.01)),
        "lattice": ("torch", lambda: rb.Lattice(lattices=3, rank=2, keypoints=4)),
        "lightgbm": ("lightgbm", lambda: rb.Boosted("lightgbm")),
        "oracle": ("skops", naive),
    }


def deciders(compiled, people):
    """For each decider a function from a trace to a mixture that it decides for."""

    def by_group(trace):
        mixture = rb.average(trace)
        values = np.unique(people.columns["group"]).tolist()
        sizes = len(mixture), len(values)
        at = np.random.default_rng(0).normal(0, 0.3, (*sizes, score_count(len(mixture.classes))))
        model = np.repeat(np.arange(sizes[0])[:, None], sizes[1], axis=1)
        groups = tuple((value,) for value in values)
        decider = GroupThresholds(("group",), groups, model, at, mixture.decider)
        mixture = replace(mixture, decider=decider)
        scores = mixture.member_scores(people.X, columns=people.columns).T
        objectives, violations = compiled.evaluate(scores)
        return mixture.recorded(
            objectives={"train": float(mixture.weights @ objectives)},
            violations={"train": mixture.weights @ violations},
        )

    def vote_by_group(trace):
        mixture = by_group(trace)
        return replace(mixture, decider=replace(mixture.decider, then=Vote()))

    return {
        "draw": rb.average,
        "one": rb.last_iterate,
        "vote": lambda trace: replace(rb.average(trace), decider=Vote()),
        "by group": by_group,
        "a vote by group": vote_by_group,
    }
