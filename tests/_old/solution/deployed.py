"""Every learner and decider that something may be deployed by, for any problem."""

import ratebound._old as rb
from ratebound._old.game.moving import with_moved_thresholds


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


def deciders(problem, compiled, people):
    """For each decider a function from a trace to a mixture that it decides for."""

    def by_group(trace):
        return rb.thresholds(problem, trace, people, known=["group"])

    return {
        "draw": rb.average,
        "one": rb.last_iterate,
        "vote": lambda trace: rb.determinize(rb.average(trace), compiled, "vote").model,
        "moved": lambda trace: rb.shrink(with_moved_thresholds(trace, compiled)),
        "by group": by_group,
        "a vote by group": lambda trace: rb.determinize(by_group(trace), compiled, "vote").model,
    }
