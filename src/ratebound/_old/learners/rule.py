"""A rule of the room `learning`: models answer questions about a row, and what the answers cost decides.

The forecast of a row (J,) holds a one, the probability of each label, and for every block the weight
that is expected of the row in each cell or slice:

    P(population | x) · P(label | x) · P(cell | x, label) · E(amount | x, label),

the mean over the models of all folds. A decision costs Σ_j forecast[j] · (λ · terms)[j], and the
cheapest is made. If groups are known when deciding, a row has the chances of its group's cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.game.scorer import Graph, Saved, Scorer, read_scorer, register_scorer
from ratebound._old.problem.frames import as_array, is_sparse

FARTHEST = 12.0  # log odds beyond which no model is believed
TINY = 1e-300
LEAST = 1e-12  # of a probability that has a logarithm
LABELS, POPULATIONS = "labels", "populations"
MOST = 2**20  # columns of a forecast


@dataclass(frozen=True, eq=False)
class Question:
    """Models of one question, one for each fold."""

    scorer: Scorer
    parameters: Array  # (F, P)
    answers: int
    of_values: bool = False  # in place of probabilities
    sharpness: float = 1.0  # that log probabilities are multiplied by
    fill: Array | None = None  # (F, d) what stands for missing features
    places: tuple[tuple[int, ...], ...] = ()  # of fitted classifiers, the answers that they know

    def ask(self, X: Any) -> Array:
        """Return the probability of each answer, or values, by the models of all folds (F, k, n)."""
        rows = X if self.scorer.tables else as_array(X)
        if self.places:
            return self._sharpen(self._classify(rows))
        scores = self._score(rows).astype(float)
        if self.of_values:
            return scores[:, : self.answers]
        return self._sharpen(as_probabilities(scores))

    def _score(self, rows: Any) -> Array:
        if self.fill is None or is_sparse(rows) or not np.isnan(rows).any():
            return self.scorer.scores(self.parameters, rows)
        parts = []
        for of_fold, fill in zip(self.parameters, self.fill, strict=True):
            filled = np.where(np.isnan(rows), fill, rows)
            parts.append(self.scorer.scores(of_fold[None], filled))
        return np.concatenate(parts)

    def _classify(self, rows: Any) -> Array:
        total = np.zeros((len(self.places), self.answers, rows.shape[0]))
        scorer: Any = self.scorer
        for fold, (fit, places) in enumerate(zip(scorer.members, self.places, strict=True)):
            total[fold, list(places)] = fit.predict_proba(rows).T
        return total

    def _sharpen(self, chances: Array) -> Array:
        if self.sharpness == 1:
            return chances
        raised = np.maximum(chances, np.exp(-FARTHEST)) ** self.sharpness
        return np.asarray(raised / raised.sum(axis=-2, keepdims=True))

    def to_graph(self, graph: Graph, features: str) -> str:
        """Write `ask` as nodes of an ONNX graph (n, F, k)."""
        scores = graph.cast(self._score_nodes(graph, features), "float64")
        if self.of_values:
            return graph("Gather", scores, np.arange(self.answers), axis=2)
        one = np.array(1.0)
        if self.answers > 2:
            chances = graph("Softmax", scores, axis=2)
        else:
            yes = graph("Div", one, graph("Add", graph("Exp", graph("Neg", scores)), one))
            chances = graph("Concat", graph("Sub", one, yes), yes, axis=2)
        if self.sharpness == 1:
            return chances
        known = graph("Max", chances, np.array(np.exp(-FARTHEST)))
        raised = graph("Exp", graph("Mul", graph("Log", known), np.array(self.sharpness)))
        return graph("Div", raised, graph("ReduceSum", raised, np.array([2]), keepdims=1))

    def _score_nodes(self, graph: Graph, features: str) -> str:
        if self.fill is None:
            return self.scorer.to_graph(graph, self.parameters, features)
        features = graph.cast(features, "float64")
        is_missing = graph("IsNaN", features)
        parts = []
        for of_fold, fill in zip(self.parameters, self.fill, strict=True):
            filled = graph("Where", is_missing, fill, features)
            parts.append(self.scorer.to_graph(graph, of_fold[None], filled))
        return graph("Concat", *parts, axis=1)


def as_probabilities(scores: Array) -> Array:
    """Return probabilities (F, k, n) of k answers from log odds (F, 1 or k, n)."""
    from scipy.special import expit, softmax

    if scores.shape[1] > 1:
        return np.asarray(softmax(scores, axis=1))
    yes = expit(scores[:, 0])
    return np.stack([1 - yes, yes], axis=1)


@dataclass(frozen=True, eq=False)
class Branch:
    """The rows of the first population with one label, or all rows of another population."""

    columns: Array  # (k,)
    shares: Array  # (k,) of cells that are too rare to be learned; NaN for the rest
    of_slices: bool = False  # which overlap, so that their chances do not add up to one
    by_group: Array | None = None  # (G + 1, k) the chances in each known group, NaN where features tell

    @property
    def is_learned(self) -> Array:
        return np.isnan(self.shares)

    def chances(self, answers: Array | None, group: int, shape: tuple[int, int]) -> Array:
        """Return how likely a row of the branch is in each column (F, k, n)."""
        shares = np.where(self.is_learned, 1 - np.nansum(self.shares), self.shares)
        chances = np.ones((shape[0], 1, shape[1])) * shares[:, None]
        if answers is not None:
            chances[:, self.is_learned] *= answers
        if self.by_group is None:
            return chances
        of_group = self.by_group[group][:, None]
        chances = np.where(np.isnan(of_group), chances, of_group)
        if self.of_slices:
            return chances
        return np.asarray(chances / np.maximum(chances.sum(axis=1, keepdims=True), TINY))

    def chance_nodes(self, graph: Graph, answers: str | None, group: int) -> Any:
        """Write `chances` as nodes (n, F, k), or as an array (k,) if no model is asked."""
        if answers is None:
            return self.chances(None, group, (1, 1))[0, :, 0]
        rest = 1 - np.nansum(self.shares)
        place = np.eye(len(self.columns))[self.is_learned] * rest  # (learned, k)
        spread = graph("Mul", graph("Unsqueeze", answers, np.array([3])), place)
        chances = graph("ReduceSum", spread, np.array([2]), keepdims=0)
        chances = graph("Add", chances, np.nan_to_num(self.shares))
        if self.by_group is None:
            return chances
        of_group = self.by_group[group]
        told_by_features = np.isnan(of_group).astype(float)
        chances = graph("Add", graph("Mul", chances, told_by_features), np.nan_to_num(of_group))
        if self.of_slices:
            return chances
        total = graph("ReduceSum", chances, np.array([2]), keepdims=1)
        return graph("Div", chances, graph("Max", total, np.array(TINY)))


@register_scorer
@dataclass(frozen=True, eq=False)
class RuleScorer(Scorer):
    """Minus what decisions are expected to cost; parameters (B, 1 + T) are a group and weights."""

    questions: Mapping[str, Question]
    branches: Mapping[int, Branch]  # by the label, or the number after them of a population
    size: int  # cells or slices, in each block
    blocks: int
    terms: Array  # (T, D - 1, J) what each weight adds to the cost of decisions but the first
    names: tuple[str, ...]  # (T,) of the objective and constraints, of which some may be the same
    plain: Array  # (T,) the weights of the same model without constraints
    kind: ClassVar[str] = "rule"

    @cached_property
    def tables(self) -> bool:  # type: ignore[override]
        return any(question.scorer.tables for question in self.questions.values())

    @property
    def labels(self) -> Question:
        return self.questions[LABELS]

    def scores(self, parameters: Array, X: Any) -> Array:
        answers = {name: question.ask(X) for name, question in self.questions.items()}
        groups = parameters[:, 0].astype(int)
        costs = np.tensordot(parameters[:, 1:], self.terms, axes=1)
        forecasts = {group: self.forecast(answers, group) for group in dict.fromkeys(groups.tolist())}
        pairs = zip(costs, groups.tolist(), strict=True)
        return np.stack([score(of_model, forecasts[group]) for of_model, group in pairs])

    def forecast(self, answers: Mapping[str, Array], group: int) -> Array:
        """Return the forecast (J, n) of rows from answers, the mean over folds."""
        labels = answers[LABELS]
        in_branch = labels
        if POPULATIONS in answers:
            in_population = answers[POPULATIONS]
            in_first = labels * in_population[:, :1]
            in_branch = np.concatenate([in_first, in_population[:, 1:]], axis=1)
        folds, _, rows = labels.shape
        totals = np.zeros((self.blocks, self.size, rows))
        for number, branch in self.branches.items():
            inside = branch.chances(answers.get(f"branch {number}"), group, (folds, rows))
            for block in range(self.blocks):
                weight = in_branch[:, [number]]
                amounts = answers.get(f"branch {number} amounts {block}")
                if amounts is not None:
                    weight = weight * amounts
                totals[block, branch.columns] += (weight * inside).mean(axis=0)
        return np.concatenate([np.ones((1, rows)), labels.mean(axis=0), *totals])

    def without_promises(self) -> Array:
        groups = 0
        for branch in self.branches.values():
            if branch.by_group is not None:
                groups = len(branch.by_group) - 1  # rows of no known group
        return np.array([[groups, *self.plain]])

    def parts(self, parameters: Array, X: Any) -> tuple[tuple[str, ...], Array]:
        answers = {name: question.ask(X) for name, question in self.questions.items()}
        forecast = self.forecast(answers, int(parameters[0]))
        weighed = parameters[1:, None, None] * self.terms
        names = tuple(dict.fromkeys(self.names))
        parts = []
        for name in names:
            own = np.array([other == name for other in self.names])
            parts.append(score(weighed[own].sum(axis=0), forecast))
        return names, np.stack(parts)

    def label_scores(self, parameters: Array, X: Any) -> Array:
        likely = self.labels.ask(X).mean(axis=0).clip(LEAST, 1.0)
        odds = np.log(likely[1:] / likely[0]) if len(likely) == 2 else np.log(likely)
        return np.repeat(odds[None], len(parameters), axis=0)

    def coefficients(self, parameters: Array) -> Array | None:
        own = self.labels.scorer.coefficients(self.labels.parameters)
        if own is None:
            return None
        mean = self.labels.sharpness * own.mean(axis=0, keepdims=True)
        return np.repeat(mean, len(parameters), axis=0)

    def importances(self, parameters: Array) -> Array | None:
        own = self.labels.scorer.importances(self.labels.parameters)
        return None if own is None else np.repeat(own.mean(axis=0)[None], len(parameters), axis=0)

    def width(self, parameters: Array) -> int | None:
        return self.labels.scorer.width(self.labels.parameters)

    def beside(self, other: Any, parameters: Array) -> tuple[Scorer, Array]:
        raise ValueError("rules of different forecasts cannot stand side by side")

    # --- an ONNX graph ----------------------------------------------------------------------------

    def to_graph(self, graph: Graph, parameters: Array, features: str) -> str:
        answers = {}
        for name, question in self.questions.items():
            answers[name] = question.to_graph(graph, features)
        costs = np.tensordot(parameters[:, 1:], self.terms, axes=1)
        models = []
        for group, of_model in zip(parameters[:, 0].astype(int).tolist(), costs, strict=True):
            total = self._cost_nodes(graph, answers, group, of_model)
            models.append(graph("Unsqueeze", graph("Neg", total), np.array([1])))
        scores = models[0] if len(models) == 1 else graph("Concat", *models, axis=1)
        if costs.shape[1] == 1:
            return scores
        first = pick(graph, scores, 0)
        return graph("Concat", graph("Sub", first, first), scores, axis=2)

    def _cost_nodes(self, graph: Graph, answers: Mapping[str, str], group: int, costs: Array) -> str:
        """Write what decisions cost (n, D - 1) at costs (D - 1, J) in a known group."""
        first = 1 + self.labels.answers
        likely = graph("ReduceMean", answers[LABELS], np.array([1]), keepdims=1)
        sums: list[Any] = [weigh(graph, likely, costs[:, 1:first]), costs[:, 0]]
        in_branch = answers[LABELS]
        if POPULATIONS in answers:
            in_population = answers[POPULATIONS]
            count = self.questions[POPULATIONS].answers
            in_first = graph("Mul", in_branch, pick(graph, in_population, 0))
            in_others = graph("Gather", in_population, np.arange(1, count), axis=2)
            in_branch = graph("Concat", in_first, in_others, axis=2)
        for number, branch in self.branches.items():
            inside = branch.chance_nodes(graph, answers.get(f"branch {number}"), group)
            for block in range(self.blocks):
                weight = graph("Mul", pick(graph, in_branch, number), inside)
                amounts = answers.get(f"branch {number} amounts {block}")
                if amounts is not None:
                    weight = graph("Mul", weight, amounts)
                mean = graph("ReduceMean", weight, np.array([1]), keepdims=1)
                columns = first + block * self.size + branch.columns
                sums.append(weigh(graph, mean, costs[:, columns]))
        return graph("Sum", *sums)

    def label_graph(self, graph: Graph, parameters: Array, features: str) -> str:
        answers = self.labels.to_graph(graph, features)
        likely = graph("ReduceMean", answers, np.array([1]), keepdims=1)
        odds = graph("Log", graph("Max", likely, np.array(LEAST)))
        if self.labels.answers == 2:
            odds = graph("Sub", pick(graph, odds, 1), pick(graph, odds, 0))
        return graph("Concat", *[odds] * len(parameters), axis=1)

    # --- files ------------------------------------------------------------------------------------

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        arrays = {"terms": self.terms, "plain": self.plain}
        questions = {}
        for name, question in self.questions.items():
            scoring, held = question.scorer.describe()
            arrays |= {f"{name}/{key}": values for key, values in held.items()}
            arrays[f"{name}/parameters"] = np.asarray(question.parameters, dtype=float)
            if question.fill is not None:
                arrays[f"{name}/fill"] = question.fill
            questions[name] = {
                "scorer": {"kind": question.scorer.kind, **scoring},
                "held": sorted(held),
                "answers": question.answers,
                "of_values": question.of_values,
                "sharpness": question.sharpness,
                "places": [list(places) for places in question.places],
            }
        branches = []
        for number, branch in self.branches.items():
            branches.append({"number": number, "of_slices": branch.of_slices})
            arrays[f"branch {number}/columns"] = branch.columns.astype(np.int64)
            arrays[f"branch {number}/shares"] = branch.shares
            if branch.by_group is not None:
                arrays[f"branch {number}/by group"] = branch.by_group
        sizes = {"size": self.size, "blocks": self.blocks, "names": list(self.names)}
        return {**sizes, "questions": questions, "branches": branches}, arrays

    @classmethod
    def read(cls, saved: Saved) -> RuleScorer:
        document, arrays = saved.description, saved.arrays
        questions = {}
        for name, entry in document["questions"].items():
            questions[name] = _read_question(saved, name, entry)
        branches = {}
        for entry in document["branches"]:
            number = _whole(entry["number"])
            branches[number] = _read_branch(arrays, number, entry["of_slices"])
        scorer = cls(
            questions,
            branches,
            _whole(document["size"]),
            _whole(document["blocks"]),
            arrays["terms"],
            tuple(document["names"]),
            arrays["plain"],
        )
        scorer.check(saved.parameters)
        return scorer

    def check(self, parameters: Array) -> None:
        """Raise ValueError unless all parts, and parameters (B, 1 + T), fit each other."""
        weights = len(self.names)
        _demand(all(isinstance(name, str) for name in self.names), "its weights have no names")
        _demand(self.terms.ndim == 3 and self.terms.shape[1] > 0, "its terms are not of decisions")
        _demand(len(self.terms) == weights > 0, "its terms are not those of its weights")
        _demand(bool(np.isfinite(self.terms).all()), "its terms are not finite")
        _demand(self.plain.shape == (weights,), "its plain weights are not those of its terms")
        _demand(bool(np.isfinite(self.plain).all()), "its plain weights are not finite")
        _demand(LABELS in self.questions, "it has no models of labels")
        columns = 1 + self.labels.answers + self.blocks * self.size
        _demand(self.terms.shape[2] == columns, "its terms do not fit its labels and cells")
        _demand(len({len(q.parameters) for q in self.questions.values()}) == 1, "folds differ")
        count = self.labels.answers
        if POPULATIONS in self.questions:
            count += self.questions[POPULATIONS].answers - 1
        groups = {1}
        for number, branch in self.branches.items():
            question = self.questions.get(f"branch {number}")
            learned = int(branch.is_learned.sum())
            _demand(branch.columns.max(initial=0) < self.size, "its branches have other columns")
            _demand(number < count, "its branches are of other labels or populations")
            if question is None:
                _demand(learned < 2, "its branches lack models")
            else:
                _demand(question.answers == learned, "its branches have other answers")
            if branch.by_group is not None:
                groups.add(len(branch.by_group))
        _demand(parameters.shape[1] == 1 + weights, "its models have other weights")
        known = np.isin(parameters[:, 0], np.arange(max(groups)))
        _demand(bool(known.all()) and len(groups) < 3, "its models are of other groups")


def _read_question(saved: Saved, name: str, entry: Any) -> Question:
    held = {key: saved.arrays[f"{name}/{key}"] for key in entry["held"]}
    parameters = saved.arrays[f"{name}/parameters"]
    _demand(parameters.ndim == 2 and len(parameters) > 0, f"its {name} have no models")
    _demand(bool(np.isfinite(parameters).all()), f"its {name} have no finite parameters")
    scorer = read_scorer(Saved(entry["scorer"], held, parameters, saved.module, saved.trusted))
    answers, sharpness = _whole(entry["answers"]), entry["sharpness"]
    _demand(isinstance(sharpness, float | int) and 0 < sharpness < 1e6, "its sharpness is not a number")
    places = tuple(tuple(map(_whole, of_fold)) for of_fold in entry["places"])
    if places:
        members = vars(scorer).get("members", ())
        known = [place < answers for of_fold in places for place in of_fold]
        _demand(all(known) and len(members) == len(places), f"its {name} have other answers")
        can_tell = [hasattr(member, "predict_proba") for member in members]
        _demand(all(can_tell), f"its {name} have no probabilities")
    of_values, fill = entry["of_values"], saved.arrays.get(f"{name}/fill")
    _demand(isinstance(of_values, bool), f"its {name} are of no kind")
    if fill is not None:
        is_whole = fill.ndim == 2 and len(fill) == len(parameters) and np.isfinite(fill).all()
        _demand(bool(is_whole), f"what fills gaps of its {name} is not of its models")
    return Question(scorer, parameters, answers, of_values, float(sharpness), fill, places)


def _read_branch(arrays: Mapping[str, Array], number: int, of_slices: Any) -> Branch:
    columns = arrays[f"branch {number}/columns"]
    shares = arrays[f"branch {number}/shares"]
    _demand(columns.ndim == 1 and columns.dtype.kind == "i", "its columns are not whole numbers")
    _demand(bool((columns >= 0).all()), "its columns are below 0")
    _demand(shares.shape == columns.shape and shares.dtype.kind == "f", "its shares are of others")
    by_group = arrays.get(f"branch {number}/by group")
    if by_group is not None:
        _demand(by_group.ndim == 2 and by_group.shape[1] == len(columns), "its groups are of others")
        _demand(bool(np.isin(by_group[~np.isnan(by_group)], (0, 1)).all()), "its groups have shares")
    _demand(isinstance(of_slices, bool), "its branches are of no kind")
    return Branch(columns, shares, of_slices, by_group)


def _whole(value: Any) -> int:
    _demand(type(value) is int and 0 <= value < MOST, f"it holds {value!r} for a whole number")
    return int(value)


def _demand(is_met: bool, message: str) -> None:
    if not is_met:
        raise ValueError(message)


def score(costs: Array, forecast: Array) -> Array:
    """Return scores (A, n) at costs (D - 1, J) on a forecast (J, n).

    They are summed column by column, so that a row's bits do not depend on the other rows.
    """
    total = np.zeros((len(costs), forecast.shape[1]))
    for column in np.flatnonzero(costs.any(axis=0)):
        total -= costs[:, column, None] * forecast[column]
    if len(total) == 1:
        return total
    return np.concatenate([np.zeros_like(total[:1]), total])


def pick(graph: Graph, values: str, place: int) -> str:
    """Write one answer of several (n, F, 1)."""
    return graph("Gather", values, np.array([place]), axis=2)


def weigh(graph: Graph, values: str, costs: Array) -> str:
    """Write values (n, 1, k) at costs (C, k) as (n, C)."""
    return graph("ReduceSum", graph("Mul", values, costs[None]), np.array([2]), keepdims=0)
