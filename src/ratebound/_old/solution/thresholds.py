"""Exact thresholds by known group, on any model's scores or on the iterates of a game."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.game.candidates import Candidates, candidates_of
from ratebound._old.game.moving import apart, movable_iterates
from ratebound._old.game.programs import (
    Policy,
    Pool,
    best_of_thresholds,
    least_of_policies,
    pool_of_thresholds,
    thresholds_of,
)
from ratebound._old.game.scorer import Scorer
from ratebound._old.game.trace import NO_SETTING, Trace
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.compiling import compile
from ratebound._old.problem.frames import as_array
from ratebound._old.problem.guessing import of_copies
from ratebound._old.problem.population import Population, check_single
from ratebound._old.problem.problem import Asked, as_problem
from ratebound._old.problem.sharing import check_not_shared
from ratebound._old.problem.summaries import feature_scale_of
from ratebound._old.rates.expressions import FIRST, OfScores
from ratebound._old.rates.general import refuse_general
from ratebound._old.rates.subsets import Value, in_order
from ratebound._old.solution.deciders import Draw, GroupThresholds
from ratebound._old.solution.given_scores import GivenScores, stacked_scores
from ratebound._old.solution.mixture import Members, Mixture
from ratebound._old.solution.record import Record
from ratebound._old.solution.status import SearchWords, reached, status_in

PROOFS = 2**23  # work for proving how near offsets are to the best, over all models and groups together
PROVEN = 4  # the most models for which that is tried
SAME = 1e-14  # weights that differ by no more are equal but for rounding

FEW_GROUPS = 20  # groups that are never too many

SCORES = SearchWords(
    "No threshold on these scores",
    "any thresholds on these scores",
    "know more columns, or use better scores",
)
SEARCHED = SearchWords("None of the offsets found", "any of the offsets found", SCORES.better)


def thresholds(
    problem: Asked,
    scores: Any,
    train: Population,
    *,
    known: str | Sequence[str],
    **others: Population,
) -> Mixture:
    """The best thresholds for `problem`, one for each combination of the `known` columns.

    No policy that chooses thresholds by group, at random if necessary, keeps the constraints at a lower
    objective. This is one linear program, solved exactly. At most m groups leave anything to chance.

    With D > 2 classes there is an offset for each class, and the class whose score exceeds its offset
    most is decided. The offsets are found by a search, and ``policy.record.gap`` is how much lower the
    objective of the best offsets may be: 0 if these are proven to be the best. With a trace a few
    iterates are searched, and for more than four models nothing is proven: then the gap is infinite.

    Parameters
    ----------
    problem : Problem, constraint, str or list of them
        The objective and the promises, or promises alone.
    scores : array, Trace, Mixture or mapping
        Any model's scores on the rows of `train`, (n,), or (B, n) of several models to choose among in
        every group; with D > 2 classes (D, n) or (B, D, n). Or a `Trace` or `Mixture`, for thresholds on
        its models. If the problem names several populations, a mapping from their names and "train".
    train : Population
        The rows, with labels and the columns that promises use.
    known : list of str
        The columns that may be looked at when deciding, besides the score: groups, for example, or the
        decision of the live model. It has no default, as this is your choice; with ``[]`` there is one
        threshold for everyone.
    **others : Population
        The populations that rates name with ``on=``, as in `rb.compile`.

    Returns
    -------
    Mixture
        It decides from what it was made from: ``policy.predict(scores, columns=people)`` for scores, (n,
        B) for several models, and (n, D) or (n, B, D) for several classes; ``policy.predict(X,
        columns=people)`` for a trace's or mixture's models. ``print(policy.rule)`` shows the rule.

    Raises
    ------
    ValueError
        If a known column is not in the rows, or a promise is about a group that is not.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> sex = ["F", "F", "F", "F", "M", "M", "M", "M"]
    >>> people = rb.Population(None, [0, 1, 0, 1, 0, 1, 1, 1], columns={"sex": sex})
    >>> scores = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    >>> problem = rb.Problem(rb.error_rate(), [rb.positive_rate(sex=s) <= 0.5 for s in ("F", "M")])
    >>> policy = rb.thresholds(problem, scores, people, known=["sex"])
    >>> print(policy.rule)
    sex == "F": yes from 0.35
    sex == "M": yes from 0.65
    >>> policy.predict([0.5, 0.5], columns={"sex": ["F", "M"]})
    array([ True, False])
    """
    problem = as_problem("thresholds", problem)
    check_single("thresholds", [train], "a ranker has no threshold")
    check_not_shared("thresholds", {FIRST: train, **others})
    remedy = "Train for it, with rb.play and rb.Torch."
    refuse_general(problem.subject_to, "a search for thresholds", remedy)
    if problem.leveled:
        from ratebound._old.solution.leveling import at_levels

        problem = at_levels(problem, scores, train, known=known, **others)
    return thresholds_on(scores, compile(problem, train, **others), known)


def thresholds_on(scores: Any, compiled: Compiled, known: Sequence[str]) -> Mixture:
    """`thresholds` for a problem that is compiled already."""
    columns, groups, group = known_groups(known, compiled)
    base = _base(scores, compiled, list(compiled.populations))
    rankings = _ranked(compiled, base, group)
    policy = best_of_thresholds(rankings, compiled.goal)
    largest = int(np.bincount(group, minlength=1).argmax())
    return _mixture(compiled, base, columns, groups, largest, rankings, policy)


def pool_on(scores: Any, compiled: Compiled, known: Sequence[str]) -> Pool:
    """What `thresholds_on` chooses from, also at other bounds, and the price of each constraint."""
    rankings = ranked_on(scores, compiled, known)
    return pool_of_thresholds(rankings, best_of_thresholds(rankings, compiled.goal))


def ranked_on(scores: Any, compiled: Compiled, known: Sequence[str]) -> list[Candidates]:
    """Every possible threshold, for each model and known group."""
    group = known_groups(known, compiled)[2]
    return _ranked(compiled, _base(scores, compiled, list(compiled.populations)), group)


def _ranked(compiled: Compiled, base: Base, group: Array) -> list[Candidates]:
    compiled = compiled.whole or compiled
    few = len(base.scores) <= PROVEN
    work = PROOFS // (len(base.scores) * (1 + int(group.max()))) if few else 0
    return [candidates_of(compiled, each, group, base.apart(each), work=work) for each in base.scores]


# --- the models ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Base:
    """Models to set thresholds for, and their scores."""

    scores: Array  # (B, A, n)
    scorer: Scorer
    parameters: Array  # (B, P)
    settings: Array  # (B,) the settings of the game they come from, NO_SETTING for none
    draw: Draw  # how a member is drawn
    options: dict[str, Any] = field(default_factory=dict)  # of the mixture they come from

    @property
    def search(self) -> SearchWords:
        """How its best thresholds are found: among all of them, or for offsets by a search."""
        return SCORES if self.scores.shape[1] == 1 else SEARCHED

    def apart(self, scores: Array) -> float:
        """How far apart two scores must lie to stay in order when they are computed again."""
        return 0.0 if self.draw.bare_scores else apart(scores)


def _base(scores: Any, compiled: Compiled, names: list[str]) -> Base:
    if isinstance(scores, Trace):
        own = movable_iterates(scores.iterates, compiled.decisions)
        draw = Draw(feature_scale=own.feature_scale)
        base = Base(own.scores(compiled), own.scorer, own.parameters, own.setting, draw)
    elif isinstance(scores, Mixture):
        base = _members(scores, compiled)
    else:
        base = _given(scores, compiled, names)
    if not np.isfinite(base.scores).all():
        model, _, row = (int(i) for i in np.argwhere(~np.isfinite(base.scores))[0])
        raise ValueError(
            f"scores hold NaN or infinite values, first for model {model} in row {row}, so rows have "
            "no order for a threshold: fill or cap them first"
        )
    return base


def _members(mixture: Mixture, compiled: Compiled) -> Base:
    if mixture.decider.known:
        raise ValueError("this mixture has thresholds by group already: give what they were set for")
    features = []
    for name, population in compiled.populations.items():
        if population.X is None:
            raise ValueError(f"population {name!r} has no features X for the mixture's models to score")
        features.append(mixture.features(population.X))
    setting = NO_SETTING if mixture.setting is None else mixture.setting
    return Base(
        np.concatenate([mixture.scorer.scores(mixture.parameters, rows) for rows in features], axis=-1),
        mixture.scorer,
        mixture.parameters,
        np.full(len(mixture.parameters), setting),
        mixture.decider.draw or Draw(feature_scale=feature_scale_of(features[0])),  # a vote draws none
        {"classes": mixture.classes, "encoding": mixture.encoding},
    )


def _given(scores: Any, compiled: Compiled, names: list[str]) -> Base:
    """Scores of one model or more, or a mapping to such scores; each model returns its own scores."""
    if isinstance(scores, Mapping):
        missing = [name for name in names if name not in scores]
        if missing:
            raise ValueError(f"scores for population {missing[0]!r} are missing")
        given = [as_array(scores[name]) for name in names]
    elif len(names) > 1:
        raise TypeError(f"with several populations scores are a mapping too, from {', '.join(names)}")
    else:
        given = [as_array(scores)]
    given = [
        of_copies(compiled.populations[name], each) for name, each in zip(names, given, strict=True)
    ]
    stacked, draw = stacked_scores(given, compiled.populations, compiled.classes), Draw(bare_scores=True)
    numbers, nowhere = np.arange(len(stacked), dtype=float)[:, None], np.full(len(stacked), NO_SETTING)
    return Base(stacked, GivenScores(*stacked.shape[:2]), numbers, nowhere, draw)


# --- what comes back -------------------------------------------------------------------------------


def _mixture(
    compiled: Compiled,
    base: Base,
    columns: tuple[str, ...],
    groups: tuple[tuple[Value | None, ...], ...],
    largest: int,
    rankings: Sequence[Candidates],
    policy: Policy,
) -> Mixture:
    """The policy as a mixture of members that have one threshold for each group."""
    weights, members = _members_of(policy, rankings)
    chosen = policy.columns
    used, model = np.unique(chosen.model[members], return_inverse=True)
    at = thresholds_of(rankings, chosen)
    scorer, parameters = base.scorer.kept(base.parameters[used])
    expected = weights @ chosen.values[members].sum(axis=1)
    objective, violations = float(expected[0]), expected[1 : 1 + len(compiled.constraints)]
    settings = np.unique(base.settings[used])
    status = status_in(
        base.search,
        compiled.constraints,
        violations,
        partial(least_of_policies, rankings),
        compiled.scale[1:],
        policy.least.unsolved,
    )
    gap = policy.gap
    if policy.solved is not None:
        assert compiled.goal is not None
        gap = gap if gap == 0 else np.inf  # it belongs to the last linear program, in its own units
        objective = float(compiled.goal.value(expected[1 + len(violations) :]))
        words = reached(compiled.problem, objective, policy.solved.gap, base.search)
        status = replace(status, reached=words)
    record = Record(
        problem=compiled.problem,
        status=status,
        objectives={FIRST: objective},
        violations={FIRST: violations},
        setting=int(settings[0]) if len(settings) == 1 and settings[0] != NO_SETTING else None,
        data=compiled.digest,
        gap=gap if base.search is SEARCHED else None,
    )
    model = model.reshape(members.shape)
    decider = GroupThresholds(columns, groups, model, at[members], base.draw, largest)
    options = {"classes": compiled.classes} if compiled.decisions > 2 else {}
    return Mixture(Members(weights, parameters, scorer), decider, record, **options | base.options)


def _members_of(policy: Policy, rankings: Sequence[Candidates]) -> tuple[Array, Array]:
    """Weights (M,) of members, and the policy's column (M, groups) that each has for every group.

    Each group's columns are laid out along [0, 1), the most generous first, each as long as its
    probability. Between two neighbouring ends no group changes: each such stretch is a member.
    """
    columns = policy.columns
    pairs = zip(columns.model, columns.candidate, strict=True)
    generous = [rankings[model].generosity(candidate) for model, candidate in pairs]
    order = np.lexsort((columns.candidate, columns.model, -np.array(generous), columns.group))
    starts = np.flatnonzero(np.diff(columns.group[order], prepend=-1))
    laid = np.split(order, starts[1:])  # each group's columns
    ends = {group: np.cumsum(policy.weights[own]) for group, own in enumerate(laid) if len(own) > 1}
    breaks = np.sort(np.concatenate([np.zeros(1), *(own[:-1] for own in ends.values()), np.ones(1)]))
    breaks = breaks[np.append(np.diff(breaks) > SAME, True)]
    breaks[0] = 0.0
    weights, middles = np.diff(breaks), (breaks[:-1] + breaks[1:]) / 2
    members = np.tile(order[starts], (len(weights), 1))
    for group, own in ends.items():
        places = np.searchsorted(own, middles, side="right").clip(max=len(own) - 1)
        members[:, group] = laid[group][places]
    return weights, members


# --- known groups -----------------------------------------------------------------------------------


def _check_decisions(compiled: Compiled) -> None:
    """Raise for rates at other thresholds: thresholds by group are set for the decisions only."""
    for block in compiled.blocks:
        rows = np.flatnonzero(np.diff(block.net.indptr))
        if block.at == 0.0 or not len(rows):
            continue
        where = f"the constraint {compiled.constraints[rows[0] - 1]}" if rows[0] else "the objective"
        of_scores = rows[0] > 0 and isinstance(compiled.constraints[rows[0] - 1].left, OfScores)
        remedy = "leave it out, and choose scores that keep it" if of_scores else "leave at= out"
        raise ValueError(
            f"{where} is about decisions at a threshold other than the one to be set, and thresholds "
            f"by group have no other: {remedy}, or train with rb.play and use rb.shrink"
        )


def known_names(known: Any) -> tuple[str, ...]:
    """The columns that a parameter `known` names; a text is one column.

    >>> known_names("sex"), known_names(["sex", "race", "sex"])
    (('sex',), ('sex', 'race'))
    """
    if isinstance(known, str):
        return (known,)
    if not isinstance(known, Iterable):
        raise TypeError(f"known takes columns, as in ['sex'] or [], got {known!r}")
    return tuple(dict.fromkeys(known))


def known_groups(
    known: str | Sequence[str], compiled: Compiled
) -> tuple[tuple[str, ...], tuple[tuple[Value | None, ...], ...], Array]:
    """The known columns, the combinations of their values that occur, and which each row has (n,).

    Raises if thresholds cannot be set for this problem or by these columns; that needs no model.
    """
    _check_decisions(compiled)
    names, rows = known_names(known), len(compiled.cells)
    if not names:
        return (), ((),), np.zeros(rows, dtype=int)
    columns = [_column(name, compiled) for name in names]
    combinations = set(zip(*columns, strict=True))
    if len(combinations) > max(FEW_GROUPS, rows // 5):
        distinct = {name: len(set(column)) for name, column in zip(names, columns, strict=True)}
        many = [name for name, count in distinct.items() if count > max(FEW_GROUPS, rows // 5)]
        what = f"column {many[0]!r}" if many else f"columns {', '.join(map(repr, names))} together"
        remedy = "bin it first" if many else "merge values, or leave one out"
        raise ValueError(
            f"known: {what} make{'s' * bool(many)} {len(combinations):,} groups of {rows:,} rows, too "
            f"few rows each to set a threshold by: {remedy}"
        )
    plain = [tuple(_plain(value) for value in group) for group in combinations]
    groups = tuple(sorted(plain, key=lambda group: [in_order(value) for value in group]))
    number = {group: index for index, group in enumerate(groups)}
    return names, groups, np.fromiter(map(number.__getitem__, zip(*columns, strict=True)), int, rows)


def _column(name: str, compiled: Compiled) -> list[Any]:
    """A known column of all rows, which may be anything except the label."""
    held: list[Any] = []
    beside_labels: set[tuple[Any, int]] = set()
    for on, population in compiled.populations.items():
        try:
            values = population.plain_column(name)
        except ValueError as error:
            raise ValueError(f"known: population {on!r}: {error}") from None
        held += values
        if population.y is not None:
            beside_labels |= set(zip(values, population.y.tolist(), strict=True))
    pairs = len(beside_labels)
    if pairs > 1 and all(len(set(part)) == pairs for part in zip(*beside_labels, strict=True)):
        raise ValueError(
            f"known: column {name!r} equals the label on every row, and the label is not known when "
            "deciding: leave it out"
        )
    return held


def _plain(value: Any) -> Value | None:
    plain = value.item() if hasattr(value, "item") else value
    if not isinstance(plain, str | bool | int | float | None):
        raise ValueError(f"known: a column holds {value!r}: make it a text or a number first")
    return plain
