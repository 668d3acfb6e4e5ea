"""Is training under constraints needed? Each method to keep promises is measured on held-out rows.

If the groups are known when deciding and a good score exists, thresholds per group can do as well as
training, or better. If the groups are not known, only training can keep promises about them. The best
method depends on the data, so each is tried on several splits. An option is safe enough if it breaks the
promises no more than the safest one, or if the difference may be chance and its objective is clearly
lower. Among the safe options whose extra cost may be chance, the simplest is recommended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ratebound._old.base import document as doc
from ratebound._old.base.checks import check_number, check_whole
from ratebound._old.base.linear_program import TOLERANCE
from ratebound._old.base.progress import bar
from ratebound._old.base.rendering import Documented
from ratebound._old.base.types import Array
from ratebound._old.estimators.classifier import RateConstrainedClassifier, fitted, fitted_plainly
from ratebound._old.estimators.margins import decided_alike
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.compiling import compile, parted
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Asked, Problem, as_problem
from ratebound._old.problem.sharing import check_in_memory
from ratebound._old.rates.beyond_sums import Sense
from ratebound._old.rates.expressions import FIRST
from ratebound._old.rates.general import refuse_general
from ratebound._old.solution.determinize import evaluate
from ratebound._old.solution.mixture import Mixture, mixture
from ratebound._old.solution.thresholds import known_groups, known_names, thresholds_on
from ratebound._old.tables.treatments import Features

AS_IT_IS, THRESHOLDS, TRAINING, HYBRID = "as it is", "thresholds", "training", "hybrid"
WHAT = {  # from the simplest to deploy to the least simple
    AS_IT_IS: "the model trained without promises",
    THRESHOLDS: "thresholds on the score of that model",
    TRAINING: "a model trained under the promises",
    HYBRID: "thresholds on the models of that training",
}
EQUAL = 0.001  # differences of rates below this are not worth a more complicated model
CHANCE = 2.0  # standard errors, over splits, up to which a difference may be chance


@dataclass(frozen=True, eq=False)
class Option:
    """One way to keep the promises, and its results on the held-out rows of every split."""

    name: str
    objectives: Array  # (splits,)
    violations: Array  # (splits,) the worst constraint's, per row if rows are counted; kept if <= 0
    rows: float = 1.0  # the number of rows the objective counts over; 1 for a rate
    sense: Sense = "minimize"
    alike: float = np.inf  # the mean objective of one decision for everyone, if that keeps the promises

    @property
    def shown(self) -> Array:
        """The objectives (splits,) in their own sense."""
        return self.objectives if self.sense == "minimize" else -self.objectives

    @property
    def costs(self) -> Array:
        """The objectives as rates, (splits,)."""
        return self.objectives / self.rows

    @property
    def idle(self) -> bool:
        """Whether it is not better than one decision for everyone, which needs no model."""
        return float(self.costs.mean()) >= self.alike / self.rows - EQUAL

    @property
    def broken(self) -> Array:
        """How far the promises are broken in each split; 0 if all are kept."""
        return self.violations.clip(min=0.0)

    @property
    def kept(self) -> str:
        """The number of splits in which all constraints are kept."""
        return f"{(self.violations <= TOLERANCE).sum()} of {len(self.violations)}"

    def __str__(self) -> str:
        return (
            f"{self.shown.mean():.4f} at a worst violation of {self.violations.mean():+.4f} "
            f"(kept in {self.kept} split{'s' * (len(self.violations) > 1)})"
        )


@dataclass(frozen=True, eq=False)
class Plan(Documented):
    """How each option does on held-out rows, and which one to use; prints as a table and a sentence.

    Parameters
    ----------
    problem : Problem
        What was asked for.
    known : tuple of str
        The columns that may be used to decide.
    options : dict of str to Option
        "as it is", "thresholds", "training" and "hybrid", from the simplest to deploy to the most
        complex. Each has its `objectives` and worst `violations`, one for every split.
    recommended : str
        The name of the option to use.
    reason : str
        The reason, in words.

    See Also
    --------
    plan : Makes it.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.random.default_rng(0).normal(size=(200, 1))
    >>> people = rb.Population(X, X[:, 0] > 0)
    >>> problem = rb.Problem("error_rate()", ["positive_rate() <= 0.3"])
    >>> found = rb.plan(problem, people, model=LogisticRegression(), splits=1)
    >>> list(found.options)
    ['as it is', 'thresholds', 'training', 'hybrid']
    >>> found.recommended in found.reason
    True
    """

    problem: Problem
    known: tuple[str, ...]
    options: dict[str, Option]
    recommended: str
    reason: str

    def document(self) -> doc.Document:
        splits = len(self.options[AS_IT_IS].objectives)
        spread = ", mean ± sd" if splits > 1 else ""
        what, goal = doc.Head("", "words"), str(self.problem.objective)
        heads = doc.heads("", goal, "worst violation", "kept in", what)
        rows = tuple(
            (name, _spread(option.shown, ".4f"), _spread(option.violations, "+.4f"), option.kept,
             WHAT[name])
            for name, option in self.options.items()
        )  # fmt: skip
        table = doc.ReportTable("Every way to keep the promises", heads, rows, apart=False, ruled=False)
        lead = f"on held-out rows of {splits} split{'s' * (splits > 1)}{spread}"
        return doc.Document("Plan", lead, (table,), self.to_dict, doc.Conclusion(self.reason))

    def to_dict(self) -> dict[str, Any]:
        """The same as plain types: texts, truth values, numbers and lists of them.

        Returns
        -------
        dict
            The problem, the options, and which is recommended and why.
        """
        return {
            "objective": str(self.problem.objective),
            "known": list(self.known),
            "options": {
                name: {
                    "objectives": option.shown.tolist(),
                    "violations": option.violations.tolist(),
                    "what": WHAT[name],
                }
                for name, option in self.options.items()
            },
            "recommended": self.recommended,
            "reason": self.reason,
        }


def plan(
    problem: Asked,
    population: Population,
    *,
    known: str | Sequence[str] = (),
    model: Any = "linear",
    features: Features | Sequence[str] | None = None,
    splits: int = 3,
    share: float = 0.25,
    confidence: float | None = None,
    seed: int = 0,
    progress: bool | None = None,
    **others: Population,
) -> Plan:
    """Measure on held-out rows whether to use thresholds, training or both.

    In each split a share of the rows is held out and every option is trained on the rest. Results vary
    from split to split, so differences between options are compared with their standard errors over the
    splits. Among equally good options the simplest is recommended. An option that is not better than one
    decision for everyone is recommended only if all others break the promises.

    Parameters
    ----------
    problem : Problem, constraint, str or list of them
        The objective and the promises, or promises alone.
    population : Population
        Rows with features and labels, in memory.
    known : str or list of str, default=()
        Columns that may be used to decide. Without any there is one threshold for everyone.
    model : str, learner, estimator or module, default="linear"
        As in `RateConstrainedClassifier`; the default is the fastest.
    features : Features or list of str, default=None
        Columns that the model may see; all by default.
    splits : int, default=3
        How often rows are split and every option trained. Three is the smallest useful number for
        separating chance from a difference; more splits are slower and more certain.
    share : float, default=0.25
        Share of the rows of each population that is held out.
    confidence : float, default=None
        The confidence with which training must keep the promises on new rows, as in
        `RateConstrainedClassifier`. None, the default, trains to keep them on the training rows.
    seed : int, default=0
        The seed of the splits and the training.
    progress : bool, default=None
        Whether to show progress: a bar on a terminal, lines elsewhere. None shows only the bar, so that
        scripts stay silent.
    **others : Population
        The populations that rates name with ``on=``.

    Returns
    -------
    Plan
        The measurements and the recommendation. It has no model: train the one that you choose on all
        rows.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> from sklearn.linear_model import LogisticRegression
    >>> random = np.random.default_rng(0)
    >>> group = random.choice(["a", "b"], 1200)
    >>> X = random.normal(size=(1200, 1)) + (group == "a")[:, None]
    >>> y = X[:, 0] + random.normal(size=1200) > 0.5
    >>> people = rb.Population(X, y, columns={"group": group})
    >>> goals = rb.statistical_parity(groups={"group": ("a", "b")}, ratio=0.9)
    >>> problem = rb.Problem(rb.error_rate(), goals)
    >>> found = rb.plan(problem, people, known=["group"], model=LogisticRegression(), splits=2)
    >>> found.recommended
    'thresholds'
    >>> found.options["thresholds"].kept
    '1 of 2'
    """
    problem = as_problem("plan", problem)
    if not isinstance(population, Population):
        raise TypeError(f"plan takes a rb.Population second, got {type(population).__name__}")
    if not problem.subject_to:
        raise ValueError("the problem promises nothing, so there is nothing to plan")
    remedy = "Leave it out of the problem given here, or train for it with rb.play and rb.Torch."
    refuse_general(problem.subject_to, "plan", remedy)
    check_whole("splits", splits)
    check_number("share", share, above=0, below=1)
    if population.X is None or population.y is None:
        raise ValueError("plan trains models: the population needs features X and labels y")
    check_in_memory("plan", {FIRST: population, **others})
    compiled = compile(problem, population, **others)
    known = known_names(known)
    known_groups(known, compiled)  # raises before any training if a column cannot be known
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in WHAT}
    alike: list[float] = []
    with bar(splits * len(WHAT), "model", progress) as shown:
        for split in range(splits):
            fitting, judging = parted(compiled, share, seed + split)
            alike.append(decided_alike(judging))
            options_of_fit = {"model": model, "features": features, "random_state": seed + split}
            for name, policy in _policies(fitting, known, options_of_fit, confidence):
                outcome = evaluate(policy, judging)
                worst = float((outcome.violations / judging.scale[1:]).max())
                measured[name].append((outcome.objective, worst))
                shown.update()
    rows = float(compiled.scale[0])
    options = {
        name: Option(name, both[:, 0], both[:, 1], rows, problem.sense, float(np.mean(alike)))
        for name, both in ((name, np.array(values)) for name, values in measured.items())
    }
    recommended = _recommended(list(options.values())).name
    return Plan(compiled.problem, known, options, recommended, _reason(options, recommended, known))


def _policies(
    fitting: Compiled, known: Sequence[str], options: dict[str, Any], confidence: float | None
) -> Iterator[tuple[str, Mixture]]:
    """Every option, trained on these rows, one after the other; `options` are the estimator's."""
    plain = fitted_plainly(fitting, **options)
    yield AS_IT_IS, plain.solution_
    yield THRESHOLDS, thresholds_on(plain.solution_, fitting, known)
    trained = fitted(fitting, confidence=confidence, **options)
    yield TRAINING, trained.solution_
    yield HYBRID, thresholds_on(_iterates(trained), fitting, known)


def _iterates(trained: RateConstrainedClassifier) -> Mixture:
    """All iterates of the chosen setting, as one mixture."""
    iterates = trained.trace_.of_setting(trained.solution_.setting)
    return replace(mixture(iterates, np.ones(len(iterates))), encoding=trained.solution_.encoding)


@dataclass(frozen=True)
class Difference:
    """How much larger one option's numbers are than another's, split by split."""

    mean: float
    error: float  # standard error of the mean; 0 (unknown) for a single split

    def __str__(self) -> str:
        return f"{self.mean:.4f}" + (f" (± {self.error:.4f})" if self.error > 0 else "")

    @property
    def equal(self) -> bool:
        return self.mean <= max(self.error, EQUAL)

    @property
    def chance(self) -> bool:
        return self.mean <= max(CHANCE * self.error, EQUAL)


def _difference(larger: Array, smaller: Array) -> Difference:
    apart = larger - smaller
    error = apart.std(ddof=1) / len(apart) ** 0.5 if len(apart) > 1 else 0.0
    return Difference(float(apart.mean()), float(error))


def _recommended(options: list[Option]) -> Option:
    """The simplest safe option whose extra cost over the cheapest safe option may be chance.

    An option that breaks promises more than the cheapest one may cost only one standard error more, not
    two. An option is safe enough if it is as safe as the safest one. It is also safe enough if it may be
    less safe only by chance and saves more of the objective than it risks in broken promises.
    """
    useful = [o for o in options if not o.idle and _difference(o.broken, 0.0 * o.broken).chance]
    options = useful or options
    safest = _safest(options)

    def safe_enough(option: Option) -> bool:
        risked = _difference(option.broken, safest.broken)
        saved = _difference(safest.costs, option.costs)
        return risked.equal or (risked.chance and not saved.chance and saved.mean > risked.mean)

    safe = list(filter(safe_enough, options))
    cheapest = _cheapest(safe)

    def as_cheap(option: Option) -> bool:
        extra = _difference(option.costs, cheapest.costs)
        riskier = option.broken.mean() > cheapest.broken.mean() + EQUAL
        return extra.equal if riskier else extra.chance

    return next(filter(as_cheap, safe))


def _safest(options: list[Option]) -> Option:
    return min(options, key=lambda option: float(option.broken.mean()))


def _cheapest(options: list[Option]) -> Option:
    return min(options, key=lambda option: float(option.costs.mean()))


def _reason(options: dict[str, Option], recommended: str, known: Sequence[str]) -> str:
    """The recommendation in words, and the columns it needs."""
    chosen = options[recommended]
    needs = ", ".join(known)
    if recommended == AS_IT_IS:
        first = "Train without promises: on held-out rows, no other option keeps them better"
    elif recommended == TRAINING:
        first = "Train under the promises"
        if known:
            first += f", so a decision does not need {needs}"
    elif known:
        way = (
            "Set thresholds"
            if recommended == THRESHOLDS
            else "Train, and set thresholds on the iterates"
        )
        each = "each combination" if len(known) > 1 else "each value"
        first = f"{way} for {each} of {needs}, which must be known for everyone to decide"
    else:
        way = "Set one threshold" if recommended == THRESHOLDS else "Train, and set one threshold"
        first = f"{way} for everyone"
    words = f"Use {recommended}. {first}: {chosen}.{_weighed(options, chosen)}"
    if chosen.idle:
        words += (
            " That is no better than one decision for everyone, which needs no model: relax the "
            "promises, or give the model better features."
        )
    elif idle := [repr(each.name) for each in options.values() if each.idle]:
        verb = "does" if len(idle) == 1 else "do"
        words += f" {' and '.join(idle)} {verb} no better than one decision for everyone."
    if chosen.violations.mean() > EQUAL:
        words += (
            f" Even so the promises are broken by {chosen.violations.mean():.4f} on average on "
            "held-out rows: promise a little more than you need, or gather more rows."
        )
    return words


def _weighed(options: dict[str, Option], chosen: Option) -> str:
    """The advantages of other options and why they did not decide, a sentence each."""
    others = list(options.values())
    words = ""
    safest = _safest(others)
    if (risked := _difference(chosen.broken, safest.broken)).mean > EQUAL:
        words += f" With {safest.name!r} the promises are broken by {risked} less, which may be chance"
        saved = _difference(safest.costs, chosen.costs)
        words += f", and the objective is {saved} worse." if saved.mean > EQUAL else "."
    cheapest = _cheapest(others)
    if (saved := _difference(chosen.costs, cheapest.costs)).mean > EQUAL:
        words += f" With {cheapest.name!r} the objective is {saved} better"
        risked = _difference(cheapest.broken, chosen.broken)
        worse = f", but the promises are broken by {risked} more."
        words += worse if risked.mean > EQUAL else ", which may be chance."
    return words


def _spread(values: Array, form: str) -> str:
    deviation = f" ± {values.std(ddof=1):.4f}" if len(values) > 1 else ""
    return f"{values.mean():{form}}{deviation}"
