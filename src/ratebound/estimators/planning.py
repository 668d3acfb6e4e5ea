"""Is training under constraints needed at all? Each way to keep promises, measured on held-out rows.

Where the groups are known when deciding and a good score exists, thresholds per group can do as well
as training, or better; where they are not, only training can. Which it is depends on the data, so
every way is tried on several splits, and the simplest of those that do equally well is recommended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from ratebound.base.linear_program import TOLERANCE
from ratebound.estimators.classifier import RateConstrainedClassifier
from ratebound.problem.compiling import compile
from ratebound.problem.holding_out import held_out
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem
from ratebound.solution.determinize import evaluate
from ratebound.solution.mixture import Mixture, mixture
from ratebound.solution.thresholds import known_cells, thresholds

Array = NDArray[Any]
AS_IT_IS, THRESHOLDS, TRAINING, HYBRID = "as it is", "thresholds", "training", "hybrid"
WHAT = {  # from the simplest to deploy to the least simple
    AS_IT_IS: "the model trained without promises",
    THRESHOLDS: "thresholds on the score of that model",
    TRAINING: "a model trained under the promises",
    HYBRID: "thresholds on the models of that training",
}
EQUAL = 0.001  # differences of rates below this are not worth a more complicated model


@dataclass(frozen=True, eq=False)
class Option:
    """One way to keep the promises, as it did on held-out rows of every split."""

    name: str
    objectives: Array  # (splits,)
    violations: Array  # (splits,) the worst constraint's, kept where <= 0

    @property
    def kept(self) -> str:
        """In how many of the splits all constraints are kept."""
        return f"{(self.violations <= TOLERANCE).sum()} of {len(self.violations)}"

    def __str__(self) -> str:
        return (
            f"{self.objectives.mean():.4f} at a worst violation of {self.violations.mean():+.4f} "
            f"(kept in {self.kept} split{'s' * (len(self.violations) > 1)})"
        )


@dataclass(frozen=True, eq=False)
class Plan:
    """What each option does on held-out rows, and which one to use; prints as a table and a sentence."""

    problem: Problem
    known: tuple[str, ...]
    options: dict[str, Option]
    recommended: str
    reason: str

    def __str__(self) -> str:
        splits = len(self.options[AS_IT_IS].objectives)
        spread = ", mean ± sd" if splits > 1 else ""
        title = f"on held-out rows of {splits} split{'s' * (splits > 1)}{spread}"
        rows = [("", str(self.problem.minimize), "worst violation", "kept in", "")]
        for name, option in self.options.items():
            rows.append((name, _spread(option.objectives, ".4f"), _spread(option.violations, "+.4f"),
                         option.kept, WHAT[name]))  # fmt: skip
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = [
            f"{n:{widths[0]}}  {o:>{widths[1]}}  {v:>{widths[2]}}  {k:>{widths[3]}}  {w}".rstrip()
            for n, o, v, k, w in rows
        ]
        return "\n".join([title, *lines, "", self.reason])


def plan(
    problem: Problem,
    population: Population,
    *,
    known: Sequence[str] = (),
    model: Any = "linear",
    features: Sequence[str] | None = None,
    splits: int = 3,
    share: float = 0.25,
    seed: int = 0,
    progress: bool | None = None,
) -> Plan:
    """Whether to use thresholds, training or both here, measured on held-out rows.

    `known` are the columns that may be looked at when deciding; without any there is one threshold for
    everyone. `model` and `features` are what `RateConstrainedClassifier` takes. Each of `splits` times
    a `share` of the rows is held out, and every option is trained on the others. What held-out rows
    show varies from split to split, so among options that do equally well the simplest is recommended.

    >>> import ratebound as rb
    >>> random = np.random.default_rng(0)
    >>> group = random.choice(["a", "b"], 1200)
    >>> X = random.normal(size=(1200, 1)) + (group == "a")[:, None]
    >>> y = X[:, 0] + random.normal(size=1200) > 0.5
    >>> people = rb.Population(X, y, columns={"group": group})
    >>> goals = rb.statistical_parity(groups={"group": ("a", "b")}, ratio=0.9)
    >>> found = plan(rb.Problem(rb.error_rate(), goals), people, known=["group"], splits=2)
    >>> found.recommended
    'thresholds'
    """
    if not problem.subject_to:
        raise ValueError("the problem promises nothing, so there is nothing to plan")
    if splits < 1 or not 0 < share < 1:
        raise ValueError(f"splits is at least 1 and share between 0 and 1, got {splits} and {share}")
    if population.X is None or population.y is None:
        raise ValueError("to plan is to train: the population needs features X and labels y")
    everyone = compile(problem, population)
    problem = everyone.problem  # whose counts speak of all rows, whichever part they are counted on
    known_cells(known, everyone)  # what cannot be known is said before any training
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in WHAT}
    for split in tqdm(range(splits), disable=None if progress is None else not progress, unit="split"):
        aside = held_out(everyone.cells, share, seed + split)
        fitting, judging = population.only(~aside), compile(problem, population.only(aside))
        for name, policy in _policies(problem, fitting, known, model, features, seed + split).items():
            outcome = evaluate(policy, judging)
            measured[name].append((outcome.objective, float(outcome.violations.max())))
    options = {name: Option(name, *np.array(values).T) for name, values in measured.items()}
    recommended = _recommended(list(options.values()))
    return Plan(problem, tuple(known), options, recommended, _reason(options, recommended, known))


def _policies(
    problem: Problem,
    people: Population,
    known: Sequence[str],
    model: Any,
    features: Sequence[str] | None,
    seed: int,
) -> dict[str, Mixture]:
    """Every option, trained on these people."""

    def fitted(constraints: Any) -> RateConstrainedClassifier:
        classifier = RateConstrainedClassifier(
            constraints,
            objective=problem.minimize,
            model=model,
            features=features,
            random_state=seed,
        )
        found: RateConstrainedClassifier = classifier.fit(
            people.X, people.y, columns=people.columns or None, sample_weight=people.weights
        )
        return found

    plain, trained = fitted(()), fitted(problem.subject_to)
    return {
        AS_IT_IS: plain.solution_,
        THRESHOLDS: thresholds(problem, plain.solution_, people, known=known),
        TRAINING: trained.solution_,
        HYBRID: thresholds(problem, _iterates(trained), people, known=known),
    }


def _iterates(trained: RateConstrainedClassifier) -> Mixture:
    """All iterates of the setting that was chosen, as one mixture."""
    own = trained.trace_.of_setting(trained.solution_.setting)
    return replace(mixture(own, np.ones(len(own))), encoding=trained.solution_.encoding)


def _recommended(options: list[Option]) -> str:
    """The simplest option that is as safe as the safest, and then as cheap as the cheapest of those.

    Equal is what differs by no more than EQUAL, or than one standard error over the splits.
    """
    worst = np.array([option.violations.clip(min=0) for option in options])
    safe = _as_low_as_the_lowest(worst)
    costs = np.array([option.objectives for option in options])
    cheap = _as_low_as_the_lowest(costs[safe])
    return options[int(safe[cheap[0]])].name


def _as_low_as_the_lowest(values: Array) -> Array:
    """Which rows of (options, splits) are as low as the lowest, split by split."""
    lowest = values[np.argmin(values.mean(axis=1))]
    excess = values - lowest
    splits = values.shape[1]
    error = excess.std(axis=1, ddof=1) / splits**0.5 if splits > 1 else np.zeros(len(values))
    return np.flatnonzero(excess.mean(axis=1) <= np.maximum(error, EQUAL))


def _reason(options: dict[str, Option], recommended: str, known: Sequence[str]) -> str:
    """The recommendation in words, and what it needs."""
    chosen = options[recommended]
    needs = ", ".join(known)
    if recommended == AS_IT_IS:
        first = "Train without promises: they are kept on held-out rows as well as by any other option"
    elif recommended == TRAINING:
        first = "Train under the promises"
        if known:
            first += f", after which none of {needs} is needed to decide"
    elif known:
        way = (
            "Set thresholds"
            if recommended == THRESHOLDS
            else "Train, and set thresholds on the iterates"
        )
        each = "each combination" if len(known) > 1 else "each value"
        first = f"{way} for {each} of {needs}, which must be known of everyone to decide"
    else:
        way = "Set one threshold" if recommended == THRESHOLDS else "Train, and set one threshold"
        first = f"{way} for everyone"
    words = f"Use {recommended}. {first}: {chosen}."
    if chosen.violations.mean() > EQUAL:
        words += (
            f" Even so the promises are broken by {chosen.violations.mean():.4f} on average where they "
            "were not trained: promise a little more than you need, or gather more rows."
        )
    return words


def _spread(values: Array, form: str) -> str:
    deviation = f" ± {values.std(ddof=1):.4f}" if len(values) > 1 else ""
    return f"{values.mean():{form}}{deviation}"
