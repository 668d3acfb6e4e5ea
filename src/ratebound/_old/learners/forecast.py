"""What a row is, as far as its features tell: P(cell | x), learned by models that did not see the row.

Rows that every rate treats alike share a cell, so what a decision costs a row depends on its cell alone.
Who knows P(cell | x) knows what each decision is expected to cost, whatever the multipliers are. It is
learned in factors, P(population | x) · P(label | x) · P(cell | x, label): the label by the user's model
at full strength, the others by small models. One classifier over all cells is clearly worse, since it
spreads what it learns of the label over many classes (``docs/measured.md``, "Plug-in").

Each factor is learned once without each fold. The mean of these models is deployed: then rates out of
fold are those of what is deployed, and averaging takes some of the noise away.

If there are many cells, what is learned are *slices*, the sets of rows that rates count, by one linear
regression with many outputs. Amounts, such as what an error costs by a column, are regressed too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from tempfile import TemporaryFile
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ratebound._old.base.processes import in_turn
from ratebound._old.base.progress import bar
from ratebound._old.base.types import Array
from ratebound._old.game.folding import Folded
from ratebound._old.game.learner import SMALL, Answering, Learner
from ratebound._old.game.rounds import play
from ratebound._old.game.rules import Keep
from ratebound._old.game.scorer import Graph, Saved, Scorer, read_scorer
from ratebound._old.learners._cross import Cross
from ratebound._old.learners._in_pieces import learned_in_pieces, trees_of_folds
from ratebound._old.learners.boosted import BoostedScorer
from ratebound._old.learners.calibration import Calibration, fit_calibration
from ratebound._old.learners.given import NEVER, Given, inside_of, lines_of
from ratebound._old.learners.linear import LinearScorer
from ratebound._old.learners.oracle import Oracle, deployed, fitted_to_labels
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.compiling import compile
from ratebound._old.problem.deciding import score_count
from ratebound._old.problem.frames import as_array, frame_columns, is_sparse, rows_of
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Problem
from ratebound._old.problem.stored import StoredRows
from ratebound._old.rates.expressions import FIRST
from ratebound._old.rates.named import error_rate

MOST_CELLS = 24  # of a label that are learned one by one; of more, slices are
RARE = 4  # rows of a cell below which its share stands for what features tell
FARTHEST = 12.0  # log odds beyond which a model is not believed
BATCH = 512  # rows a round, of models that learn by steps
ROUNDS = (1000, 5000)  # of such models, at least and at most
SHRUNK = 1.0  # the penalty of regressions, on features of variance one
EVEN = "odds"  # a part whose scores are log odds
VALUE = "value"  # a part whose scores are the values themselves


# --- one question ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Part:
    """Models of one question, one for each fold, and the line from their scores to log odds."""

    scorer: Scorer
    parameters: Array  # (F, P)
    link: str = EVEN
    line: Calibration | None = None  # None where scores are log odds already, or values
    fill: Array | None = None  # (d,) what stands for missing features, of regressions

    def answers(self, X: Any, folds: Array) -> Array:
        """Probabilities (f, k, n) of each answer by the models of these folds, or values (f, k, n)."""
        given = X if self.scorer.tables else as_array(X)
        if self.fill is not None and not is_sparse(given):
            given = np.where(np.isnan(given), self.fill, given)
        scores = self.scorer.scores(self.parameters[folds], given)
        return scores if self.link == VALUE else odds_to_probabilities(scores, self.line)

    def to_graph(self, graph: Graph, features: str, answers: int) -> str:
        """The same as nodes of an ONNX graph: (n, F, answers), in double precision."""
        if self.fill is not None:
            features = graph.cast(features, "float64")
            features = graph("Where", graph("IsNaN", features), self.fill, features)
        scores = graph.cast(self.scorer.to_graph(graph, self.parameters, features), "float64")
        if self.link == VALUE:
            return graph("Slice", scores, np.array([0]), np.array([answers]), np.array([2]))
        line = self.line or Calibration(1.0, (0.0,) * (1 if answers == 2 else answers), "", 0)
        if answers > 2:
            odds = graph("Mul", scores, np.array(line.slope))
            return graph("Softmax", graph("Add", odds, np.array(line.intercept)), axis=2)
        far = FARTHEST / line.slope
        near = graph("Max", graph("Min", scores, np.array(far)), np.array(-far))
        odds = graph("Add", graph("Mul", near, np.array(line.slope)), np.array(line.intercept))
        one = np.array(1.0)
        yes = graph("Div", one, graph("Add", graph("Exp", graph("Neg", odds)), one))
        return graph("Concat", graph("Sub", one, yes), yes, axis=2)


def odds_to_probabilities(scores: Array, line: Calibration | None) -> Array:
    """Probabilities (f, k, n) of k answers from scores (f, 1 or k, n)."""
    line = line or Calibration(1.0, (0.0,) * scores.shape[1], "", 0)
    scores = np.clip(scores.astype(float), -1e6, 1e6)
    if scores.shape[1] == 1:
        yes = line.probability(
            np.clip(scores, -FARTHEST / line.slope, FARTHEST / line.slope)[:, 0][None]
        )
        return np.stack([1.0 - yes[0], yes[0]], axis=1)
    folds, answers, rows = scores.shape
    flat = line.probability(scores.transpose(1, 0, 2).reshape(answers, -1))
    return flat.reshape(answers, folds, rows).transpose(1, 0, 2)


@dataclass(frozen=True, eq=False)
class Branch:
    """The rows of one population with one label, and what is asked of them."""

    population: int
    label: int | None  # None if a population has no labels, or does not distinguish them
    columns: Array  # (k,) of the forecast, that `part` predicts
    part: Part | None  # None with at most one column
    rare: Array = field(default_factory=lambda: np.empty(0, int))  # columns known by their share alone
    shares: Array = field(default_factory=lambda: np.empty(0))  # of those
    amounts: tuple[Part | None, ...] = (None,)  # for each block what a row of the branch counts for

    @property
    def of_slices(self) -> bool:
        """Whether its columns are slices, which overlap, and not cells."""
        return self.part is not None and self.part.link == VALUE


@dataclass(frozen=True, eq=False)
class Forecast:
    """The expected weight of a row in each column, cells or slices of each block, given its features."""

    folds: int
    width: int  # columns of a block
    blocks: int
    populations: Part | None  # the population of a row, if there are several
    labels: Part  # of the first population
    branches: tuple[Branch, ...]
    given: Given | None = None  # what known groups say, if columns may be used when deciding

    @property
    def size(self) -> int:
        """The number of columns J."""
        return self.width * self.blocks

    @property
    def parts(self) -> list[tuple[str, Part]]:
        """All its parts, by names."""
        named = [] if self.populations is None else [("populations", self.populations)]
        named.append(("labels", self.labels))
        for i, branch in enumerate(self.branches):
            if branch.part is not None:
                named.append((f"branch {i}", branch.part))
            named += [(f"branch {i} amounts {j}", p) for j, p in enumerate(branch.amounts) if p]
        return named

    @property
    def tables(self) -> bool:
        """Whether some of its models read tables as they were given."""
        return any(part.scorer.tables for _, part in self.parts)

    def _check(self, branch: Branch, labels: Array, people: Array | None) -> None:
        """Raise if a branch, which a file may describe, is about an answer that there is not."""
        known = branch.label is None or branch.label < labels.shape[1]
        if not known or (people is not None and branch.population >= people.shape[1]):
            raise ValueError("its branches are about labels or populations that its models do not know")

    def values(self, X: Any, folds: Array | None = None, group: Any = None) -> Array:
        """(f, J, n): what rows are expected to count in each column, by the models of these folds.

        With `group`, the known group of all rows or of each (n,), it is what is expected given that.
        """
        return self.combined(self.answers(X, folds), group)

    def answers(self, X: Any, folds: Array | None = None) -> dict[str, Array]:
        """What the models of these folds answer (f, k, n), by the names of the parts."""
        chosen = np.arange(self.folds) if folds is None else np.asarray(folds)
        return {name: part.answers(X, chosen) for name, part in self.parts}

    def combined(self, answers: Mapping[str, Array], group: Any = None) -> Array:
        """(f, J, n): what rows are expected to count in each column, by these answers."""
        labels, people = answers["labels"], answers.get("populations")
        if group is not None:
            assert self.given is not None
            labels = self.given.labels(labels, group)
        every = np.zeros((len(labels), self.size, labels.shape[2]))
        for i, branch in enumerate(self.branches):
            self._check(branch, labels, people)
            likely = np.ones(labels[:, 0].shape) if people is None else people[:, branch.population]
            if branch.label is not None:
                likely = likely * labels[:, branch.label]
            rest, shares = 1.0 - branch.shares.sum(), branch.shares[:, None]
            own = answers.get(f"branch {i}")
            own = None if own is None else own[:, : len(branch.columns)]
            if group is not None:
                rest, shares, own = self._given(i, likely.shape, own, group)
            for block, amounts in enumerate(branch.amounts):
                weighed = likely
                if amounts is not None:
                    weighed = weighed * answers[f"branch {i} amounts {block}"][:, 0]
                start = block * self.width
                if len(branch.rare):
                    every[:, start + branch.rare] += weighed[:, None] * shares
                inside = weighed[:, None]
                if own is not None:
                    inside = inside * own
                every[:, start + branch.columns] += rest * inside
        return every

    def _given(
        self, place: int, shape: tuple[int, ...], own: Array | None, group: Any
    ) -> tuple[float, Array, Array]:
        """The share of columns that are not rare, and chances (f, k, n) of the rare and of the others.

        They are of a branch, in known groups.
        """
        assert self.given is not None
        branch, (folds, rows) = self.branches[place], shape
        if branch.of_slices:
            assert own is not None
            return 1.0, np.empty((folds, 0, rows)), self.given.slices(place, own, group)
        own = np.ones((folds, 1, rows)) if own is None else own
        rare = np.broadcast_to(branch.shares[:, None], (folds, len(branch.rare), rows))
        chances = np.concatenate([rare, (1.0 - branch.shares.sum()) * own], axis=1)
        chances = self.given.cells(place, chances, group)
        return 1.0, chances[:, : len(branch.rare)], chances[:, len(branch.rare) :]

    def label_probabilities(self, X: Any) -> Array:
        """(D, n): how likely each label is, by all models together."""
        mean: Array = self.labels.answers(X, np.arange(self.folds)).mean(axis=0)
        return mean

    @property
    def label_count(self) -> int:
        """The number of labels that are distinguished."""
        return 2 if self.labels.line is None else max(2, len(self.labels.line.intercept))

    def to_graph(self, graph: Graph, features: str) -> ForecastGraph:
        """The models' answers as nodes of an ONNX graph, which decisions' costs follow from."""
        count = 0 if self.populations is None else 1 + max(b.population for b in self.branches)
        answers = {}
        for name, part in self.parts:
            place = name.removeprefix("branch ").split()
            sizes = {"labels": self.label_count, "populations": count}
            if len(place) == 3:
                sizes[name] = 1
            elif name not in sizes:
                sizes[name] = len(self.branches[int(place[0])].columns)
            answers[name] = part.to_graph(graph, features, sizes[name])
        return ForecastGraph(self, graph, answers)

    # --- files -------------------------------------------------------------------------------------

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Plain JSON and arrays by name; `read` is the way back."""
        arrays: dict[str, Array] = {}
        parts = {}
        for name, part in self.parts:
            own, held = part.scorer.describe()
            arrays |= {f"{name}/{key}": value for key, value in held.items()}
            arrays[f"{name}/parameters"] = np.asarray(part.parameters, dtype=float)
            if part.fill is not None:
                arrays[f"{name}/fill"] = part.fill
            line = None if part.line is None else part.line.to_json()
            parts[name] = {
                "scorer": {"kind": part.scorer.kind, **own},
                "link": part.link,
                "line": line,
                "held": sorted(held),
            }
        branches = []
        for i, branch in enumerate(self.branches):
            branches.append({"population": branch.population, "label": branch.label})
            arrays[f"branch {i}/columns"] = branch.columns.astype(np.int64)
            arrays[f"branch {i}/rare"] = branch.rare.astype(np.int64)
            arrays[f"branch {i}/shares"] = branch.shares
        arrays |= {} if self.given is None else self.given.describe()
        sizes = {"folds": self.folds, "width": self.width, "blocks": self.blocks}
        return {**sizes, "parts": parts, "branches": branches}, arrays

    @classmethod
    def read(
        cls, description: Any, arrays: dict[str, Array], trusted: Sequence[str], module: Any
    ) -> Forecast:
        """The forecast that `describe` described; nothing in it is believed."""
        folds, width, blocks = (_whole(description[name], name) for name in ("folds", "width", "blocks"))
        parts: dict[str, Part] = {}
        for name, given in description["parts"].items():
            held = {key: arrays[f"{name}/{key}"] for key in given["held"]}
            parameters = arrays[f"{name}/parameters"]
            if parameters.ndim != 2 or len(parameters) != folds or not np.isfinite(parameters).all():
                raise ValueError(f"its {name} are not by one model for each of {folds} folds")
            if given["link"] not in (EVEN, VALUE):
                raise ValueError(f"its {name} are linked by {given['link']!r}")
            scorer = read_scorer(Saved(given["scorer"], held, parameters, module, trusted))
            line = given["line"]
            answers = 0 if line is None else max(2, np.size(line["intercept"]))
            read = None if line is None else Calibration.from_json(line, answers)
            parts[name] = Part(scorer, parameters, given["link"], read, arrays.get(f"{name}/fill"))
        branches = []
        if blocks > 64 * max(1, len(description["branches"])):  # or a number in a file is a loop
            raise ValueError(f"its blocks are {blocks:,}, which is more than its branches have")
        for i, given in enumerate(description["branches"]):
            columns, rare = (
                _places(arrays[f"branch {i}/{name}"], width) for name in ("columns", "rare")
            )
            shares = arrays[f"branch {i}/shares"]
            if shares.shape != rare.shape or not ((shares >= 0).all() and shares.sum() <= 1 + 1e-9):
                raise ValueError("the shares of its rare cells are not shares")
            amounts = tuple(parts.get(f"branch {i} amounts {j}") for j in range(blocks))
            label = None if given["label"] is None else _whole(given["label"], "label", least=0)
            population = _whole(given["population"], "population", least=0)
            own = parts.get(f"branch {i}")
            branches.append(Branch(population, label, columns, own, rare, shares, amounts))
        forecast = cls(folds, width, blocks, parts.get("populations"), parts["labels"], tuple(branches))
        sizes = [len(branch.rare) + len(branch.columns) for branch in branches]
        return replace(forecast, given=Given.read(arrays, sizes, forecast.label_count))


@dataclass(frozen=True, eq=False)
class ForecastGraph:
    """The answers (n, F, k) of a forecast's models as nodes of an ONNX graph, by the parts' names."""

    forecast: Forecast
    graph: Graph
    answers: dict[str, str]

    @property
    def labels(self) -> str:
        """How likely each label is, (n, D), by all models together."""
        return self.graph("ReduceMean", self.answers["labels"], np.array([1]), keepdims=0)

    def costs(self, costs: Array, group: int | None = None) -> str:
        """What decisions cost at `costs` (C, J), as (n, C), given a known group if there is one."""
        graph, forecast, given = self.graph, self.forecast, self.forecast.given
        labels, people = self.answers["labels"], self.answers.get("populations")
        if group is not None:
            assert given is not None
            labels = given.label_nodes(graph, labels, group)
        sums = []
        for i, branch in enumerate(forecast.branches):
            likely = None if people is None else _picked(graph, people, branch.population)
            if branch.label is not None:
                own = _picked(graph, labels, branch.label)
                likely = own if likely is None else graph("Mul", likely, own)
            assert likely is not None  # the first population distinguishes labels
            inside = likely
            rest, shares, rare = 1.0 - branch.shares.sum(), branch.shares, likely
            answers = self.answers.get(f"branch {i}")
            if group is not None:
                answers, rest, shares, mass = self._given(i, answers, group)
                rare = likely if mass is None else graph("Div", likely, mass)
            if answers is not None:
                inside = graph("Mul", likely, answers)
            for block, amounts in enumerate(branch.amounts):
                counted = None if amounts is None else self.answers[f"branch {i} amounts {block}"]
                start = block * forecast.width
                parts = [(inside, rest * costs[:, start + branch.columns])]
                if len(branch.rare):
                    parts.append((rare, (costs[:, start + branch.rare] @ shares)[:, None]))
                for value, each in parts:
                    weighed = value if counted is None else graph("Mul", value, counted)
                    mean = graph("ReduceMean", weighed, np.array([1]), keepdims=1)  # (n, 1, k)
                    sums.append(
                        graph("ReduceSum", graph("Mul", mean, each[None]), np.array([2]), keepdims=0)
                    )
        return sums[0] if len(sums) == 1 else graph("Sum", *sums)

    def _given(
        self, place: int, answers: str | None, group: int
    ) -> tuple[str | None, float, Array, str | None]:
        """Answers, the share of columns that are not rare, the shares of rare ones, and their divisor.

        They are of a branch, in a known group.
        """
        graph, forecast, branch = self.graph, self.forecast, self.forecast.branches[place]
        given = forecast.given
        assert given is not None
        if branch.of_slices:
            assert answers is not None
            return given.slice_nodes(graph, place, answers, group), 1.0, branch.shares, None
        possible = (given.inside[place][group] != NEVER).astype(float)
        shares, others = np.split(possible, [len(branch.rare)])
        shares, rest = shares * branch.shares, 1.0 - branch.shares.sum()
        if answers is None:
            whole = max(float(shares.sum() + rest * others.sum()), 1e-300)
            return None, float(rest * others.sum()) / whole, shares / whole, None
        own = graph("Mul", answers, rest * others)
        mass = graph("ReduceSum", own, np.array([2]), keepdims=1)
        mass = graph("Max", graph("Add", mass, np.array(shares.sum())), np.array(1e-300))
        return graph("Div", own, mass), 1.0, shares, mass


def _picked(graph: Graph, values: str, place: int) -> str:
    """(n, F, 1): one answer of several."""
    return graph("Gather", values, np.array([place]), axis=2)


def _whole(value: Any, name: str, least: int = 1) -> int:
    if type(value) is not int or value < least:
        raise ValueError(f"its {name} is {value!r}")
    return value


def _places(values: Array, size: int) -> Array:
    if (
        values.dtype.kind != "i"
        or values.ndim != 1
        or (len(values) and not 0 <= values.min() <= values.max() < size)
    ):
        raise ValueError("its columns are not those of its cells")
    return values


# --- learning ----------------------------------------------------------------------------------------


@runtime_checkable
class Forecasting(Protocol):
    """A learner that learns what rows are: what a search by rules asks it for."""

    def learn(
        self,
        compiled: Compiled,
        split: Folded,
        seed: int,
        progress: bool | None = None,
        epochs: int | None = None,
    ) -> tuple[Forecast, Array]:
        """The forecast of the rows of a problem, and its values (J, n) out of fold."""


def learn(
    compiled: Compiled,
    labels: Learner,
    groups: Learner,
    of: Array,
    folds: int,
    seed: int,
    stages: int = 1,
    progress: bool | None = None,
    epochs: int | None = None,
) -> tuple[Forecast, Array]:
    """The forecast of the rows of a problem, and its values (J, n) out of fold; `of` are the folds (n,).

    Of trees for labels, `stages` numbers of rounds are tried. With `progress`, models are counted as
    they are trained. `epochs` are those of models that learn by steps.
    """
    inputs = inputs_of(compiled, tables=labels.style == "table")
    every = np.arange(len(compiled.cells))
    first = every[compiled.rows[FIRST]]
    names, y = list(compiled.populations), compiled.first.y
    assert y is not None
    codes = y.astype(int)
    by_cells = _most_cells(compiled) <= MOST_CELLS
    width = compiled.cell_count if by_cells else compiled.slice_count
    asked: list[tuple[Array, int, int | None]] = []  # the rows of each branch
    asked += [(first[codes == label], 0, label) for label in range(compiled.label_count)]
    asked += [(every[compiled.rows[n]], place, None) for place, n in enumerate(names) if place]
    asked = [each for each in asked if len(each[0])]
    with bar(folds * (1 + (len(names) > 1) + len(asked)), "model", progress) as shown:
        cross = Cross(
            inputs, compiled.weights, of, folds, seed, shown, epochs, compiled.first, "the label"
        )
        of_labels = _classified(
            cross, labels, first, codes, compiled.label_count, calibrated=True, stages=stages
        )
        people = None
        if len(names) > 1:
            which = np.concatenate(
                [np.full(len(compiled.populations[n]), i) for i, n in enumerate(names)]
            )
            own = replace(cross, learning="which population a row is of")
            people = _classified(own, groups, every, which, len(names))
        cross = replace(cross, learning="who is in which group")
        branches = [_branch(compiled, cross, groups, *each, by_cells) for each in asked]
    forecast = Forecast(folds, width, len(compiled.at_zero), people, of_labels, tuple(branches))
    return forecast, values_on(forecast, inputs, of)


def inputs_of(compiled: Compiled, *, tables: bool) -> Any:
    """The features of all rows: as they were given if models read `tables`, of rows on disk as numbers.

    Rows on disk that may all be in memory at once are read here.
    """
    if not compiled.stored:
        return compiled.inputs if tables or frame_columns(compiled.inputs) else as_array(compiled.inputs)
    rows = compiled.features
    return rows.everything() if isinstance(rows, StoredRows) and rows.fits else rows


def values_on(
    forecast: Forecast, inputs: Any, of: Array | None = None, group: Array | None = None
) -> Array:
    """The forecast (J, n) of rows by all models, or by the models without the folds `of` (n,).

    With `group` (n,) it is what is expected in these known groups. For rows on disk it is in single
    precision, in a file that is deleted with the array.
    """
    if not isinstance(inputs, StoredRows):
        if of is None:
            whole: Array = forecast.values(inputs, group=group).mean(axis=0)
            return whole
        outside = np.empty((forecast.size, len(of)))
        for fold in range(forecast.folds):
            held = np.flatnonzero(of == fold)
            own = None if group is None else group[held]
            outside[:, held] = forecast.values(rows_of(inputs, held), np.array([fold]), own)[0]
        return outside
    shape = (forecast.size, len(inputs))
    with TemporaryFile() as file:  # which the array holds on to
        forecasts: Array = np.memmap(file, dtype=np.float32, mode="w+", shape=shape)
    for block, where in _blocks(forecast, inputs):
        folds, groups = (None if each is None else each[where] for each in (of, group))
        forecasts[:, where] = values_on(forecast, block, folds, groups)
    return forecasts


def _blocks(forecast: Forecast, inputs: Any) -> Iterator[tuple[Any, slice]]:
    """All rows, on disk some at a time, and where each block is."""
    if not isinstance(inputs, StoredRows):
        yield inputs, slice(None)
        return
    every = np.arange(len(inputs))
    yield from Cross(inputs, None, every, forecast.folds, 0).blocks(every)


def given_groups(
    compiled: Compiled, forecast: Forecast, of: Array, group: Array, count: int
) -> Forecast:
    """The same forecast with what is known of rows in each of `count` groups.

    `of` (n,) are the folds of the rows, and `group` (n,) their groups.
    """
    first, y = compiled.rows[FIRST], compiled.first.y
    assert y is not None
    codes, cells = y.astype(int), compiled.cells
    every = np.arange(len(cells))
    likely = np.empty((forecast.label_count, len(cells)))
    for block, where in _blocks(forecast, inputs_of(compiled, tables=forecast.tables)):
        for fold in np.unique(of[where]):
            held = np.flatnonzero(of[where] == fold)
            answers = forecast.labels.answers(rows_of(block, held), np.array([fold]))
            likely[:, every[where][held]] = answers[0]
    weights = None if compiled.weights is None else compiled.weights[first]
    lines = lines_of(likely[:, first], codes, group[first], count, weights)
    names = list(compiled.populations)
    inside = []
    for branch in forecast.branches:
        rows = every[compiled.rows[names[branch.population]]]
        rows = rows if branch.label is None else rows[codes == branch.label]
        columns = np.concatenate([branch.rare, branch.columns])
        if branch.of_slices:
            member = compiled.unpacked(cells[rows])[:, columns]
        else:
            member = cells[rows][:, None] == columns
        inside.append(inside_of(group[rows], count, member))
    return replace(forecast, given=Given(tuple(inside), lines))


def regressed(compiled: Compiled) -> str:
    """What of a problem is learned by regressions, which need features that are numbers; or nothing."""
    if any(block.amounts is not None for block in compiled.at_zero):
        return "amounts by a column"
    return "so many groups of rows" if _most_cells(compiled) > MOST_CELLS else ""


def _most_cells(compiled: Compiled) -> int:
    """The largest number of cells that rows of one label have."""
    assert compiled.first.y is not None
    codes = compiled.first.y.astype(int)
    first = compiled.cells[compiled.rows[FIRST]]
    each = [len(np.unique(first[codes == label])) for label in range(compiled.label_count)]
    others = [len(np.unique(compiled.cells[compiled.rows[name]])) for name in compiled.others]
    return max([*each, *others])


def _branch(
    compiled: Compiled,
    cross: Cross,
    groups: Learner,
    rows: Array,
    population: int,
    label: int | None,
    by_cells: bool,
) -> Branch:
    """What is learned of the rows of one population with one label."""
    blocks = compiled.at_zero
    counted = [None if block.amounts is None else block.amounts[rows] for block in blocks]
    amounts = tuple(
        None if each is None else _regressed(cross, rows, each[:, None].__getitem__, 1)
        for each in counted
    )
    weights = np.ones(len(rows)) if cross.weights is None else cross.weights[rows]
    cells = compiled.cells[rows]
    if not by_cells:
        inside = compiled.unpacked(np.unique(cells)).any(axis=0)
        columns = np.flatnonzero(inside)
        part = _regressed(
            cross,
            rows,
            lambda where: compiled.unpacked(cells[where])[:, columns].astype(float),
            len(columns),
        )
        cross.shown.update(cross.folds)
        return Branch(population, label, columns, part, amounts=amounts)
    present, codes, sizes = np.unique(cells, return_inverse=True, return_counts=True)
    often = sizes >= RARE
    if not often.any():
        often[np.argmax(sizes)] = True
    rare, columns = present[~often], present[often]
    shares = np.array([weights[cells == cell].sum() for cell in rare]) / max(weights.sum(), 1e-300)
    if len(columns) == 1:
        cross.shown.update(cross.folds)
        return Branch(population, label, columns, None, rare, shares, amounts)
    number = np.full(len(present), -1)
    number[often] = np.arange(len(columns))
    known = number[codes] >= 0
    part = _classified(cross, groups, rows[known], number[codes][known], len(columns))
    return Branch(population, label, columns, part, rare, shares, amounts)


def _classified(
    cross: Cross,
    learner: Learner,
    rows: Array,
    answers: Array,
    count: int,
    *,
    calibrated: bool = False,
    stages: int = 1,
) -> Part:
    """The models that tell `answers` (n,) to a question apart.

    Where a learner has several settings, that with the least log loss out of fold is taken.
    """
    some = cross.sampled(rows, answers)  # all of them, where rows are in memory
    scorer, parameters = _trained(cross, learner, rows, answers, count, some)
    parameters = _staged(scorer, parameters, stages)
    settings = len(parameters)
    if not calibrated and settings == 1:
        return Part(*scorer.kept(parameters[0]))
    cross, rows, answers = some
    scores = np.empty((settings, score_count(count), len(rows)))
    for fold, (_, held) in enumerate(cross.splits(rows)):
        given = rows_of(cross.inputs, rows[held])
        given = given if scorer.tables else as_array(given)
        scores[:, :, held] = scorer.scores(parameters[:, fold], given)
    weights = None if cross.weights is None else cross.weights[rows]
    labels = answers.astype(bool) if count == 2 else answers
    lines = [fit_calibration(one, labels, weights, "out of fold", even_at_zero=True) for one in scores]
    best = 0
    if settings > 1:
        losses = [
            _log_loss(one, line, answers, weights) for one, line in zip(scores, lines, strict=True)
        ]
        best = int(np.argmin(losses))
    return Part(*scorer.kept(parameters[best]), line=lines[best])


def _log_loss(scores: Array, line: Calibration | None, answers: Array, weights: Array | None) -> float:
    likely = odds_to_probabilities(scores[None], line)[0][answers.astype(int), np.arange(len(answers))]
    return float(-np.average(np.log(likely.clip(min=1e-12)), weights=weights))


def _trained(
    cross: Cross,
    learner: Learner,
    rows: Array,
    answers: Array,
    count: int,
    some: tuple[Cross, Array, Array],
) -> tuple[Scorer, Array]:
    """The models (S, F, P) of a learner's settings and each fold, trained for few errors."""
    if isinstance(learner, Oracle):

        def members(own: Cross, rows: Array, answers: Array) -> list[Any]:
            def fitted(part: tuple[int, Population]) -> Any:
                return fitted_to_labels(learner, part[1], own.seed + part[0])

            return in_turn(fitted, enumerate(own.parts(rows, answers, count)))

        if cross.stored:
            few = partial(members, *some)
            scorer, parameters = learned_in_pieces(
                cross, learner, rows, answers, count, few, some[0].inputs
            )
        elif (own := trees_of_folds(cross, learner, rows, answers, count)) is not None:
            scorer, parameters = own
        else:
            fits = members(cross, rows, answers)
            scorer, parameters = deployed(learner, fits, cross.inputs, count)
        return scorer, parameters[None]
    each = enumerate(cross.parts(rows, answers, count))
    models = [_played(cross, learner, own, cross.seed + fold) for fold, own in each]
    scorer, flat = reduce(_joined, models)
    return scorer, flat.reshape(cross.folds, -1, flat.shape[1]).swapaxes(0, 1)


def _staged(scorer: Scorer, parameters: Array, stages: int) -> Array:
    """Models (S, F, P), of trees with several numbers of rounds in place of one."""
    if stages == 1 or not isinstance(scorer, BoostedScorer):
        return parameters
    shares = np.arange(1, stages + 1) / stages
    every = np.repeat(parameters, stages, axis=0)
    every[:, :, 1] = np.ceil(shares[:, None] * parameters[0, :, 1])
    return every


def _joined(one: tuple[Scorer, Array], other: tuple[Scorer, Array]) -> tuple[Scorer, Array]:
    scorer, parameters = one[0].beside(*other)
    return scorer, np.vstack([one[1], parameters])


def _played(cross: Cross, learner: Learner, people: Population, seed: int) -> tuple[Scorer, Array]:
    """The models (S, P) of a learner's settings, by a game without promises."""
    errors = compile(Problem(error_rate()), people)
    how: dict[str, Any] = {"seed": seed, "progress": False}
    if issubclass(learner.fit, Answering):
        trace = play(errors, learner, rounds=1, **how)
    else:
        batch = None if len(people) <= SMALL else BATCH
        per_pass = 1 if learner.rounds or batch is None else len(people) // batch
        rounds = learner.rounds or int(np.clip(40 * per_pass, *ROUNDS))
        if cross.epochs is not None:
            rounds = cross.epochs * per_pass
        trace = play(errors, learner, rounds=rounds, batch_size=batch, keep=Keep(rounds), **how)
    if trace.interrupted:  # one model of several is nothing to go on with
        raise KeyboardInterrupt
    last = [int(np.flatnonzero(trace.setting == setting)[-1]) for setting in trace.settings]
    return trace.scorer.kept(trace.parameters[last])


def _regressed(cross: Cross, rows: Array, targets: Callable[[slice], Array], count: int) -> Part:
    """Linear regressions of targets (n, k) on the features, one for each fold.

    `targets` gives those of some of the rows.
    """
    scorer = LinearScorer("float64", 2 if count == 1 else max(count, 3))  # one score, or three and more
    if cross.stored:
        forms, fill = _regressed_in_pieces(cross, rows, targets, count)
    else:
        forms, fill = _regressed_at_once(cross, rows, targets(slice(None)))
    if count == 2:
        forms = np.concatenate([forms, np.zeros((len(forms), 1, forms.shape[2]))], axis=1)
    return Part(scorer, forms.reshape(len(forms), -1), VALUE, fill=fill)


def _regressed_at_once(cross: Cross, rows: Array, targets: Array) -> tuple[Array, Array | None]:
    """The forms (F, k, d + 1), and what stands for missing features, if there are any."""
    from sklearn.linear_model import Ridge

    own = rows_of(cross.inputs, rows)
    weights = None if cross.weights is None else cross.weights[rows]
    sparse = is_sparse(own)
    center, spread = _spread(own, sparse)
    fill = center if not sparse and np.isnan(own).any() else None
    forms = []
    for inside, _ in cross.splits(rows):
        ridge = Ridge(alpha=SHRUNK, solver="lsqr" if sparse else "auto")
        given = _scaled(own[inside], center, spread, sparse)
        ridge.fit(given, targets[inside], sample_weight=None if weights is None else weights[inside])
        slopes = np.atleast_2d(ridge.coef_) / spread
        shift = np.zeros(len(spread)) if sparse else center
        forms.append(np.column_stack([slopes, np.ravel(ridge.intercept_) - slopes @ shift]))
    return np.stack(forms), fill


def _regressed_in_pieces(
    cross: Cross, rows: Array, targets: Callable[[slice], Array], count: int
) -> tuple[Array, Array | None]:
    """The same of rows on disk: products of features and targets, added up for each fold."""
    width = cross.inputs.shape[1]
    known, sums, squares = (np.zeros(width) for _ in range(3))
    for block, _ in cross.blocks(rows):
        known += (~np.isnan(block)).sum(axis=0)
        sums += np.nansum(block, axis=0, dtype=float)
    center = sums / np.maximum(known, 1)
    for block, _ in cross.blocks(rows):
        squares += np.nansum((block - center) ** 2, axis=0)
    spread = np.sqrt(squares / np.maximum(known, 1))
    spread = np.where(spread > 0, spread, 1.0)
    fill = center if (known < len(rows)).any() else None
    grams, both = (
        np.zeros((cross.folds, 1 + width, 1 + width)),
        np.zeros((cross.folds, 1 + width, count)),
    )
    for block, where in cross.blocks(rows):
        X = np.column_stack([_scaled(block, center, spread, False), np.ones(len(block))])
        weights, wanted, of = cross.weights_of(rows[where]), targets(where), cross.of[rows[where]]
        for fold in range(cross.folds):
            own = of == fold
            weighed = (X[own] * weights[own, None]).T
            grams[fold] += weighed @ X[own]
            both[fold] += weighed @ wanted[own]
    ridge = np.diag(np.append(np.full(width, SHRUNK), 0.0))
    solution = np.linalg.solve(grams.sum(axis=0) - grams + ridge, both.sum(axis=0) - both)
    slopes = solution[:, :-1].swapaxes(1, 2) / spread
    constants = solution[:, -1] - slopes @ center
    return np.concatenate([slopes, constants[:, :, None]], axis=2), fill


def _spread(X: Any, sparse: bool) -> tuple[Array, Array]:
    if sparse:
        from sklearn.utils.sparsefuncs import mean_variance_axis

        center, variance = mean_variance_axis(X.tocsr(), axis=0)
        spread = np.sqrt(variance)
    else:
        center, spread = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    return np.nan_to_num(center), np.where(spread > 0, np.nan_to_num(spread), 1.0)


def _scaled(X: Any, center: Array, spread: Array, sparse: bool) -> Any:
    if sparse:
        from scipy.sparse import diags

        return X @ diags(1 / spread)
    return np.nan_to_num((X - center) / spread)
