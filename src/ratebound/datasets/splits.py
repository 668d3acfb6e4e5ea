"""A data set ready to train on is three populations that never share a row."""

from dataclasses import dataclass

from ratebound.problem import Population

__all__ = ["Splits"]


@dataclass(frozen=True)
class Splits:
    """The train, validation and test populations of one data set, with the same features."""

    train: Population
    validation: Population
    test: Population
    feature_names: tuple[str, ...]  # one per column of every population's X
