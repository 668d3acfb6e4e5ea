"""The deployed part of a model: scores from parameters and rows, without the learner.

A scorer writes itself to a file and reads itself back. A registry holds every kind by name, so a
file contains only a name, and only installed code runs to read it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.problem.general import Model


class Graph(Protocol):
    """An ONNX graph under construction; values are identified by name, arrays are constants."""

    def __call__(self, kind: str, *inputs: str | Array, name: str | None = None, **options: Any) -> str:
        """Add a node; return the name of its output."""
        ...

    def cast(self, value: str, kind: str, name: str | None = None) -> str:
        """The value converted to another numeric type."""
        ...

    def tensor(self, values: Array) -> Any:
        """An array as an attribute of a node."""
        ...

    def input(self, name: str, kind: str, *shape: Any) -> str:
        """An input of n rows, each of that shape."""
        ...

    def column(self, name: Any, kind: str) -> tuple[str, str]:
        """The input (n,) for this column of a table, and its type; `kind` if it is new."""
        ...


@dataclass(frozen=True, eq=False)
class Saved:
    """A scorer's part of a file, and the arguments of `rb.load`. Nothing in the file is trusted."""

    description: dict[str, Any]  # from `describe`
    arrays: dict[str, Array]  # from `describe`
    parameters: Array  # (M, P) finite numbers: the models'
    module: Any = None  # the caller's PyTorch module
    trusted: Sequence[str] = ()  # types of objects that the caller trusts


class Scorer(ABC):
    """Scores of models from their parameters.

    To deploy your own models, subclass it with a `kind` and `scores`. If it has any state besides the
    parameters, add `describe` and `read`. Then register it, so that files can be loaded.

    Attributes
    ----------
    kind : str
        Its name in files.
    tables : bool
        Whether it reads tables as they were given, rather than arrays of numbers.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> @rb.register_scorer
    ... class Distance(rb.Scorer):
    ...     kind = "distance from a point"
    ...
    ...     def scores(self, parameters, X):
    ...         return 1 - np.linalg.norm(parameters[:, None, None] - X, axis=3)
    >>> Distance().scores(np.array([[0.0, 3.0]]), np.array([[4.0, 0.0], [0.0, 3.0]]))
    array([[[-4.,  1.]]])
    """

    kind: ClassVar[str]  # its name in files
    tables: ClassVar[bool] = False  # whether it reads tables as given, rather than arrays

    @abstractmethod
    def scores(self, parameters: Array, X: Any) -> Array:
        """Scores of models on rows.

        Parameters
        ----------
        parameters : array of shape (M, P)
            The parameters of M models.
        X : array or table
            The rows.

        Returns
        -------
        array of shape (M, A, n)
            For two classes A = 1, and a model says yes if its score is at least 0. For D > 2 classes
            A = D, and it decides the class whose score is largest.
        """

    def model(self, parameters: Array, scores: Array) -> Model:
        """One model with its scores of some rows, as the functions of `constraint` see it.

        Parameters
        ----------
        parameters : array of shape (P,)
            The model's parameters.
        scores : array of shape (n,) or (D, n)
            The model's scores, from `scores`.

        Returns
        -------
        Model
            By default the scores, with the parameters as `module`.
        """
        return Model(scores, parameters)

    def label_scores(self, parameters: Array, X: Any) -> Array:
        """The models' scores for the label alone, if they differ from the scores that decide.

        Parameters
        ----------
        parameters : array of shape (M, P)
            The parameters of M models.
        X : array or table
            The rows.

        Returns
        -------
        array of shape (M, A, n)
            By default the scores; a calibration turns them into probabilities.
        """
        return self.scores(parameters, X)

    def without_promises(self) -> Array | None:
        """The parameters of the model that weighs no promise, if they are known.

        Returns
        -------
        array of shape (1, P) or None
            By default they are not.
        """
        return None

    def parts(self, parameters: Array, X: Any) -> tuple[tuple[str, ...], Array] | None:
        """The parts that a score is a sum of, if they are informative.

        Parameters
        ----------
        parameters : array of shape (P,)
            The parameters of one model.
        X : array or table
            The rows.

        Returns
        -------
        tuple or None
            The names of T parts, and the parts (T, A, n), which sum to the scores. By default None.
        """
        return None

    def coefficients(self, parameters: Array) -> Array | None:
        """What each feature counts in the scores of linear models.

        Parameters
        ----------
        parameters : array of shape (M, P)
            The models' parameters.

        Returns
        -------
        array of shape (M, A, d) or None
            By default None: the models are not linear.
        """
        return None

    def importances(self, parameters: Array) -> Array | None:
        """How much each feature matters to models that say so themselves, such as trees.

        Parameters
        ----------
        parameters : array of shape (M, P)
            Those of the models.

        Returns
        -------
        array of shape (M, d) or None
            By default None: the models do not say.
        """
        return None

    def width(self, parameters: Array) -> int | None:
        """The number of features these models take, if known.

        Parameters
        ----------
        parameters : array of shape (M, P)
            The models' parameters.

        Returns
        -------
        int or None
            None if unknown.
        """
        return None

    def kept(self, parameters: Array) -> tuple[Scorer, Array]:
        """The scorer and parameters for only these models.

        Parameters
        ----------
        parameters : array of shape (M, P)
            Those of the models.

        Returns
        -------
        tuple of Scorer and array
            A scorer and parameters with the same scores.
        """
        return self, parameters

    def beside(self, other: Any, parameters: Array) -> tuple[Scorer, Array]:
        """One scorer for its models and another scorer's models of the same kind.

        Parameters
        ----------
        other : Scorer
            The other scorer.
        parameters : array of shape (M, P)
            The parameters of the other's models.

        Returns
        -------
        tuple of Scorer and array
            The scorer for both, and the other's parameters in its form.
        """
        return self, parameters

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The data that `read` needs to restore it.

        Returns
        -------
        tuple of dict
            Plain JSON, and arrays by name.
        """
        return {}, {}

    @classmethod
    def read(cls, saved: Saved) -> Scorer:
        """The scorer that `describe` described. The content of a file must be checked, not trusted.

        Parameters
        ----------
        saved : Saved
            Its `description`, its `arrays`, the models' `parameters`, and the arguments
            of `load`.

        Returns
        -------
        Scorer
            A scorer that gives the same scores.
        """
        return cls()

    def to_graph(self, graph: Graph, parameters: Array, features: str) -> str:
        """Write the scores of these models as nodes of an ONNX graph.

        Parameters
        ----------
        graph : Graph
            Calling it adds a node and returns the name of its output.
        parameters : array of shape (M, P)
            The models' parameters.
        features : str
            The name of the input, (n, d).

        Returns
        -------
        str
            The name of the scores, (n, M, A).

        Raises
        ------
        ValueError
            Unless a subclass implements it.
        """
        raise ValueError(
            f"to_onnx cannot write models of kind {self.kind!r}: their scorer, {type(self).__name__}, "
            "has no to_graph. It writes linear models, lattices, boosted trees and plain chains of "
            "PyTorch layers"
        )

    def label_graph(self, graph: Graph, parameters: Array, features: str) -> str:
        """Write `label_scores` as nodes of an ONNX graph.

        Parameters
        ----------
        graph : Graph
            Calling it adds a node and returns the name of its output.
        parameters : array of shape (M, P)
            The models' parameters.
        features : str
            The name of the input, (n, d).

        Returns
        -------
        str
            The name of the scores, (n, M, A). By default the scores that decide.
        """
        return self.to_graph(graph, parameters, features)


_KINDS: dict[str, type[Scorer]] = {}
# The modules of this package's scorers, imported (and so registered) once a file names them.
_OWN = {
    "linear": "ratebound._old.learners.linear",
    "torch": "ratebound._old.learners._torch_scorer",
    "boosted": "ratebound._old.learners.boosted",
    "oracle": "ratebound._old.learners.oracle",
    "rule": "ratebound._old.learners.rule",
    "network": "ratebound._old.learners.network",
    "classifier": "ratebound._old.learners.fitted",
}
Kind = TypeVar("Kind", bound=type[Scorer])


def register_scorer(scorer: Kind) -> Kind:
    """Make a class of scorers known, so that `rb.load` can read its models; usable as a decorator.

    Parameters
    ----------
    scorer : type
        A subclass of `Scorer`. It replaces a class of the same name and module, as when a notebook
        cell is run again; any other class needs its own `kind`.

    Returns
    -------
    type
        The same class.

    Raises
    ------
    ValueError
        If another class has its `kind`.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> @rb.register_scorer
    ... class Always(rb.Scorer):
    ...     kind = "always the same"
    ...
    ...     def scores(self, parameters, X):
    ...         return np.repeat(parameters[:, None], len(X), axis=2)
    >>> Always().scores(np.array([[0.5]]), np.zeros((2, 3)))
    array([[[0.5, 0.5]]])
    """
    known = _of_kind(scorer.kind)
    if known is not None and _called(known) != _called(scorer):
        raise ValueError(
            f"scorers of kind {scorer.kind!r} are {_called(known)}: give {_called(scorer)} another kind"
        )
    _KINDS[scorer.kind] = scorer
    return scorer


def read_scorer(saved: Saved) -> Scorer:
    """The scorer that a file describes."""
    kind = saved.description["kind"]
    scorer = _of_kind(kind)
    if scorer is None:
        raise ValueError(
            f"it holds models of kind {kind!r}, which is not registered here: import the code they were "
            "trained with, and call rb.register_scorer on its scorer before rb.load"
        )
    return scorer.read(saved)


def _of_kind(kind: str) -> type[Scorer] | None:
    if kind in _OWN:
        import_module(_OWN[kind])
    return _KINDS.get(kind)


def check_indices(parameters: Array, ends: Sequence[int]) -> None:
    """Raise ValueError unless column j of parameters (M, P) holds integers from 0 to ends[j] - 1."""
    right = parameters.shape[1] == len(ends) and (parameters == np.floor(parameters)).all()
    if not right or (parameters < 0).any() or (parameters >= np.array(ends)).any():
        raise ValueError("its parameters refer to models that it does not have")


def _called(scorer: type[Scorer]) -> str:
    return f"{scorer.__module__}.{scorer.__qualname__}"
