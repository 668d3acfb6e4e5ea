"""The audit: every promise of a problem measured on other rows, with its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from ratebound._old.auditing._general import measured_general
from ratebound._old.auditing._groups import confusions, groups, named_subsets
from ratebound._old.auditing._intervals import Interval, Weighed, area, clopper_pearson
from ratebound._old.auditing._measured import (
    around,
    goal_interval,
    measured_parity,
    measured_ratio,
    no_interval,
    sum_interval,
    verdict_of,
)
from ratebound._old.auditing._top import measured_top
from ratebound._old.auditing.beside import ROUNDING, baseline, prevalence, simplest
from ratebound._old.auditing.decisions import Decisions, given_decisions
from ratebound._old.auditing.influence import effect_of_clusters
from ratebound._old.auditing.judged import (
    among_trained,
    are_training_rows,
    as_counted,
    called,
    is_mixture,
    judged,
)
from ratebound._old.auditing.provenance import card_of, provenance
from ratebound._old.auditing.report import Audit, Measured, Method, Objective, Promise, Unit
from ratebound._old.auditing.tally import (
    Tally,
    counted,
    over_of,
    rows_behind,
    rows_showing,
    scale,
    total,
)
from ratebound._old.auditing.tallying import places_of, tallied
from ratebound._old.auditing.unpromised import protected_columns, protected_groups
from ratebound._old.base import processes
from ratebound._old.base.checks import check_number
from ratebound._old.base.linear_program import kept
from ratebound._old.base.progress import working
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.compiling import NoRows, compile_on
from ratebound._old.problem.masks import NoSuchValue
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Asked, Problem, as_problem
from ratebound._old.problem.sharing import any_shared, is_whole
from ratebound._old.problem.spelling_out import counting, rows_counted, spelled_out
from ratebound._old.problem.summaries import digest_of
from ratebound._old.rates.demands import Demand, form_of
from ratebound._old.rates.expressions import (
    FIRST,
    Area,
    Constraint,
    Expression,
    Metric,
    OfScores,
    Rate,
    Ratio,
    Top,
)
from ratebound._old.rates.formulas import formula, sentence
from ratebound._old.rates.general import general
from ratebound._old.rates.kinds import KINDS, TWO, is_cost, is_count
from ratebound._old.rates.named import positive_rate
from ratebound._old.rates.ranges import Parity
from ratebound._old.rates.subsets import Label, Name, Subset
from ratebound._old.solution.baselines import ONE, PLAIN, Baseline, told
from ratebound._old.solution.mixture import Mixture, member, without_promises

MOST_MEMBERS = 20  # members of a mixture that are judged one by one on the audited rows
CONFIDENCE, POWER = 0.95, 0.8  # of a planned certificate, and the chance to get it


def audit(
    problem: Asked,
    model: Any = None,
    population: Population | None = None,
    *,
    decisions: Any = None,
    rows: Any = None,
    confidence: float = 0.95,
    clusters: Name | None = None,
    key: Name | None = None,
    **others: Population,
) -> Audit:
    """What `problem` promised and what `model` keeps on these rows, with the uncertainty.

    Decisions that somebody else made are audited without a model: give `decisions` and the decided
    `rows`. If rows have no labels, promises about how often each decision is made can be audited, and an
    objective that needs labels is not measured.

    Every value is the expectation over the mixture, except that rows whose features 16 or more rows
    share are counted as `predict` decides them: they all get the same member. `roc_auc` is the area
    under the curve itself, with ties counting half; for a mixture, it is the mean of its members' areas.
    With ``top=`` rows are sorted by their scores, and rows that tie for the last places share them. A
    count without a number of rows is out of as many rows as `model` was trained on, if that is known,
    and otherwise out of the audited rows; what is counted on these is scaled to that number.

    Each promise has an interval of its room, for that promise alone: exact for one rate or ratio of one
    model against a number, otherwise by a score test. Populations are taken to be drawn independently.
    ``docs/audit.md`` describes the methods, and how often the intervals cover the truth. A promise about
    a share of rows that are absent, such as the recall of a group without a positive label, is reported
    as not measured. A custom constraint (`constraint`) is measured by its function, without an interval.
    A file holds no functions, so pass the problem of a loaded model again.

    Parameters
    ----------
    problem : Problem, constraint, str or list of them
        The objective and the promises, or promises alone.
    model : Mixture, RateConstrainedClassifier or classifier, default=None
        A mixture, or any fitted classifier with `predict`, from any library.
    population : Population, default=None
        The rows, with labels. They may be on disk, `rb.Parquet`; they are read once.
    decisions : array of shape (n,), str or Subset, default=None
        In place of `model`: decisions that were made, as an array, as the name of a column, or as a
        condition such as ``rb.column("status") == "approved"``. They are truth values, 0 and 1, or
        spelled as the labels are; words such as "yes" and "no" are read too. By default a model decides.
    rows : Population or table, default=None
        In place of `population`: the rows that were decided. A table has no labels; rows with labels are
        ``rb.Population(None, y, columns=table)``.
    confidence : float, default=0.95
        The confidence of each verdict: a promise that does not hold gets the verdict "holds" in at most
        about 1 - confidence of samples, as with a certificate at this confidence. Each end of an
        interval is a bound at this confidence, so at 0.95 both ends form a 90% interval. The default is
        merely customary.
    clusters : str or int, default=None
        The column whose values say which rows were drawn together, such as the customer if one has
        several rows. Intervals then take its values to be drawn independently, not the rows. By default
        each row is drawn by itself.
    key : str or int, default=None
        The column of ids for ``predict(X, key=...)``, if a mixture hashes ids: the decisions that it
        makes by them are counted. By default the expectation is counted, as above.
    **others : Population
        The populations that rates name with ``on=``.

    Returns
    -------
    Audit
        Print it, or take it as a frame, JSON or a page.

    See Also
    --------
    certify : Whether all promises hold together on new rows, by a test.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> class Always:
    ...     def predict(self, X):
    ...         return [1] * len(X)
    >>> people = rb.Population([[0.0]] * 4, [1, 1, 0, 0])
    >>> report = rb.audit(rb.Problem(rb.error_rate(), [rb.recall() >= 0.9]), Always(), people)
    >>> report.kept, report.promises[0].value, report.promises[0].verdict
    (True, 1.0, 'may not hold')

    Decisions without a model, on rows without labels:

    >>> decided = {"sex": ["Female", "Female", "Male", "Male"], "hired": ["no", "yes", "yes", "yes"]}
    >>> promise = 'positive_rate(sex == "Female") >= 0.8 * positive_rate(sex == "Male")'
    >>> rows = rb.Population(None, columns=decided)
    >>> report = rb.audit(promise, decisions="hired", rows=rows)
    >>> report.kept, report.promises[0].value, report.promises[0].bound
    (False, 0.5, 0.8)
    """
    problem = demanded = as_problem("audit", problem)
    model, population = given_decisions("audit", model, population, decisions, rows, others)
    check_given("audit", problem, model, population, others)
    check_number("confidence, a probability such as 0.95,", confidence, above=0.5, below=1)
    check_key("audit", key, model, population)
    both = 2 * confidence - 1  # that neither end of an interval is wrong
    people = among_trained(model, {FIRST: population, **others})
    asked = spelled_out(problem, people, called(FIRST))
    problem, known = counted_as_trained(asked, model)
    counts = judged(as_counted(model, asked.rates, key))
    unmeasured = _unmeasured(problem, people)
    problem = problem if unmeasured is None else problem.derived(positive_rate(), problem.subject_to)
    with working("deciding"):
        tally = tallied(
            counts,
            people,
            places_of(problem),
            clusters,
            beside=protected_columns(people[FIRST]),
        )
    of_rates = problem.promising([each for each in problem.subject_to if not general([each])])
    compiled, missing = measurable(of_rates, tally, known, called(FIRST))
    if compiled is None:
        constraints = (each for each in of_rates.subject_to if isinstance(each, Constraint))
        rest = [each for each in constraints if each not in missing]
        compiled = compile_on(problem.promising(rest), tally.populations, called(FIRST))
    with working("auditing"):
        objective, promises = measured(compiled, tally, both)
    left, places = iter(promises), named_subsets(asked, tally)
    beside = _beside(compiled, tally, model) if unmeasured is None else ()

    def reported(promise: Constraint | Parity) -> Promise:
        if isinstance(promise, Constraint) and general([promise]):
            return measured_general(promise, model, people)
        if why := missing.get(promise):
            return Promise(str(promise), promise.name, promise.relation, unit=_unit(promise), why=why)
        return measured_parity(promise, tally, both) if isinstance(promise, Parity) else next(left)

    spelled = (each for each in problem.subject_to if isinstance(each, Constraint | Parity))

    report = Audit(
        objective=unmeasured or objective,
        promises=tuple(_with_facts(reported(promise), promise, tally, both) for promise in spelled),
        groups=groups(tally, places),
        confusions=confusions(tally, places),
        populations={called(name): lines.size for name, lines in tally.lines.items()},
        confidence=confidence,
        clusters=None if clusters is None else _clusters(tally),
        left_out=asked.left_out,
        model=tally.model.words,
        training=_training(model),
        positive=_named(population),
        provenance=provenance(_digest(people, tally), tally.weighted),
        card=card_of(model, asked, population),
        decided=not counts.inputs,
        labelled=population.y is not None,
        baselines=beside,
        drawn=_drawn(tally),
        protected=protected_groups(
            people[FIRST],
            tally,
            problem.columns,
            [str(subset) for name, subset in places if name == FIRST],
            asked.left_out,
            confidence,
        ),
        beside=tuple(told(compiled.problem, beside[0], beside[1:], prevalence(tally)) if beside else ()),
    )
    used = 0 if report.card is None else report.card.mixture.record.made.rows.get("trained on", 0)
    trained = used == len(population) and are_training_rows(demanded, model, people, called(FIRST))
    return report.made_by("", {}, unseen=False) if trained else report


def _beside(compiled: Compiled, tally: Tally, model: Any) -> tuple[Baseline, ...]:
    """The model on these rows, the plain model if the model holds it, and the simplest models.

    The members of a mixture are judged one by one only on rows in memory: each needs a pass.
    """
    first, *others = simplest(compiled, tally) or (None,)
    if first is None:
        return ()
    plain = without_promises(model) if isinstance(model, Mixture) else None
    people = {name: lines.source for name, lines in tally.lines.items()}
    if plain is not None:
        again = tallied(judged(plain), people, places_of(compiled.problem), tally.clustered)
        others.insert(0, baseline(PLAIN, compiled, again))
    drawn = isinstance(model, Mixture) and model.decider.draw is not None
    if drawn and 1 < len(model) <= MOST_MEMBERS and all(map(is_whole, people.values())):
        others.append(_best_member(compiled, tally, model))
    return (first, *others)


def _best_member(compiled: Compiled, tally: Tally, mixture: Mixture) -> Baseline:
    """The member that keeps most promises on these rows, and among several the one that costs least."""
    people = {name: lines.source for name, lines in tally.lines.items()}
    places, sign = places_of(compiled.problem), 1 if compiled.problem.sense == "minimize" else -1
    alone = (judged(member(mixture, each)) for each in range(len(mixture)))
    every = [baseline(ONE, compiled, tallied(each, people, places, tally.clustered)) for each in alone]
    return min(every, key=lambda each: (-each.kept, sign * each.objective))


def _drawn(tally: Tally) -> int:
    """The rows of the first population that have no certain decision."""
    lines = tally[FIRST]
    return lines.counted(lines.chances[0.0].max(axis=0) < 1 - ROUNDING)


def lacks_labels(metric: Metric, people: dict[str, Population]) -> bool:
    """Whether a metric needs labels that the rows lack."""
    return any(KINDS[r.kind].labels and people[r.population].y is None for r in metric.rates)


def _unmeasured(problem: Problem, people: dict[str, Population]) -> Objective | None:
    """The objective as not measured, if it needs labels that the rows lack; promises may not."""
    metric = problem.objective
    if not lacks_labels(metric, people):
        return None
    words = formula(metric, people[FIRST].classes or TWO)
    why = "there are no labels"
    return Objective(str(metric), None, None, None, 0, "none", problem.sense, words, why)


def _with_facts(
    measurement: Promise, promise: Constraint | Parity, tally: Tally, confidence: float
) -> Promise:
    """A measured promise, with further facts for reviewers."""
    needed = _rows_to_certify(measurement, confidence)
    said = formula(promise, tally.classes)
    return replace(measurement, formula=said, sentence=sentence(promise), rows_needed=needed)


def _rows_to_certify(promise: Promise, confidence: float) -> int | None:
    """Rows of the smallest set for a certificate at 95% with a chance of 80%, if the rates stay.

    The interval says how far off the room may be with as many rows as here.
    """
    from scipy.special import ndtri

    if promise.slack is None or promise.slack_low is None or not promise.rows:
        return None
    error = (promise.slack - promise.slack_low) / float(ndtri((1 + confidence) / 2))
    return rows_showing(promise.slack, float(ndtri(CONFIDENCE) + ndtri(POWER)) * error, promise.rows)


def _clusters(tally: Tally) -> tuple[str, int] | None:
    """The column of clusters, and how many there are in the first population."""
    codes = tally.clusters(FIRST)
    return None if codes is None else (str(tally.clustered), int(codes.max()) + 1)


def _digest(people: dict[str, Population], tally: Tally) -> str:
    """A digest of the rows: their features, labels, weights, and groups that promises name."""
    parts: list[Any] = []
    for name, rows in people.items():
        columns = () if rows.stored else map(rows.column, tally[name].people.columns)
        parts += [np.array([rows.digest])] if rows.stored else [rows.X, rows.y, rows.weights, *columns]
        if not (rows.stored or tally.model.inputs):
            parts += map(rows.column, tally.model.known)
    digest = digest_of(parts)
    every = processes.gathered(digest) if any_shared(people) else [digest]
    return digest if len(every) == 1 else digest_of([np.array(every)])


def _named(population: Population) -> Any:
    """The label that is yes, unless it is obvious; None with more than two labels."""
    yes = None if population.y is None else population.labels.yes
    return None if yes == 1 else yes


def counted_as_trained(problem: Problem, model: Any) -> tuple[Problem, tuple[Constraint, ...]]:
    """The problem with counts out of as many rows as `model` was trained on, and its promises."""
    trained_for = getattr(model, "problem", None)
    if not isinstance(trained_for, Problem):
        return problem, ()
    plain = problem.at_levels(dict.fromkeys(problem.leveled))  # without comparisons of two ratios
    counted = counting(plain, rows_counted(trained_for))
    constraints = iter(counted.constraints)
    promises = [each if isinstance(each, Parity) else next(constraints) for each in problem.subject_to]
    return counted.promising(promises), trained_for.constraints


def measured_promises(problem: Problem, tally: Tally, confidence: float) -> list[Promise]:
    """Every promise on tallied rows; one whose groups have no rows there is not measured."""
    promises = []
    for each in problem.subject_to:
        assert isinstance(each, Constraint | Parity)
        ends = each.at(0.5) if isinstance(each, Parity) else [each]
        try:
            compiled = compile_on(problem.promising(ends), tally.populations, called(FIRST))
        except (NoRows, NoSuchValue) as error:
            why = str(error)
            promises.append(Promise(str(each), each.name, each.relation, unit=_unit(each), why=why))
            continue
        own = measured_parity(each, tally, confidence) if isinstance(each, Parity) else None
        promises.append(own or measured(compiled, tally, confidence)[1][0])
    return promises


def measurable(
    problem: Problem, tally: Tally, known: Sequence[Constraint], first: str
) -> tuple[Compiled | None, dict[Constraint | Parity, str]]:
    """The compiled problem with the constraints that tallied rows can measure, and why others cannot.

    A value that no row has is a mistake, unless the model was trained for the promise (`known`). Errors
    name the main population `first`.
    """
    missing: dict[Constraint | Parity, str] = {}
    for parity in problem.subject_to:
        if isinstance(parity, Parity):  # at any level, since the level does not affect which rows exist
            ends = parity.at(0.5)
            trained = ends if any(each.keeps == parity for each in known) else ()
            _, reasons = measurable(problem.promising(ends), tally, trained, first)
            if reasons:
                missing[parity] = next(iter(reasons.values()))
    plain = problem.at_levels(dict.fromkeys(problem.leveled))
    with suppress(NoRows, NoSuchValue):
        return compile_on(plain, tally.populations, first), missing
    for promise in plain.constraints:
        alone = plain.promising([promise])
        try:
            compile_on(alone, tally.populations, first)
        except NoRows as error:
            missing[promise] = str(error)
        except NoSuchValue as error:
            if promise not in known:  # the rows show which values exist
                compile_on(alone, {name: lines.source for name, lines in tally.lines.items()}, first)
                raise
            missing[promise] = str(error)
    return None, missing


def measured(
    compiled: Compiled, tally: Tally, confidence: float = 0.9
) -> tuple[Objective, list[Promise]]:
    """A compiled problem's objective and promises, measured on tallied decisions."""
    learned = tally.model.thresholds
    for name in compiled.learnable:
        if name not in learned and name not in compiled.budgets:
            raise ValueError(
                f"a rate is taken at={name!r}, but the model has not learned this threshold; it has "
                f"{', '.join(map(repr, learned)) or 'none'}: train it on this problem, or write a number"
            )
    problem = compiled.problem
    promises = [
        _promise(promise, problem.demands[own[0]], float(compiled.scale[1 + own[0]]), tally, confidence)
        for promise, own in zip(problem.constraints, compiled.parts, strict=True)
    ]
    return _objective(compiled, tally, confidence), promises


def _objective(compiled: Compiled, tally: Tally, confidence: float) -> Objective:
    """The objective in its own sense, and its interval."""
    problem, goal = compiled.problem, compiled.goal
    if goal is None:
        reached = total(tally, problem.cost)
    else:
        reached = float(goal.value(np.array([total(tally, piece) for piece in goal.pieces])))
    metric, value = problem.objective, problem.shown(reached)

    def of_part(part: Expression | Ratio, confidence: float) -> tuple[Interval | None, Method]:
        if isinstance(part, Ratio):
            return measured_ratio(part, 0.0, tally, confidence)[0][2:]
        return _sum(part, Expression(), tally, confidence)[2:]

    if isinstance(metric, Expression | Ratio):
        interval, method = of_part(metric, confidence)
        sides = [metric] if isinstance(metric, Expression) else [metric.numerator, metric.denominator]
    else:
        assert goal is not None
        interval = goal_interval(
            metric, goal, confidence, lambda part, confidence: of_part(part, confidence)[0]
        )
        sides, method = list(goal.pieces), "score" if interval is not None else "none"
    low, high = around(value, interval)
    rows = rows_behind(tally, tuple(rate for side in sides for rate in side.rates))
    words = formula(metric, tally.classes)
    return Objective(str(metric), value, low, high, rows, method, problem.sense, words)


def _promise(
    constraint: Constraint, demand: Demand, unit: float, tally: Tally, confidence: float
) -> Promise:
    metric, sign = constraint.left, 1.0 if constraint.relation == ">=" else -1.0
    measure: Measured
    if isinstance(metric, Area):
        measure = _area(metric, constraint.right.constant, tally, confidence)
        lines = tally[metric.rate.population]
        rows = min(lines.counted(lines.inside(subset)) for subset in _classes(metric.rate))
    elif isinstance(metric, Top):
        measure, rows = measured_top(metric, constraint.right.constant, tally, confidence)
    elif isinstance(metric, Ratio):
        measure, rows = measured_ratio(metric, constraint.right.constant, tally, confidence)
    else:
        assert isinstance(metric, Expression)
        measure = _sum(metric, constraint.right, tally, confidence)
        rows = rows_behind(tally, (metric + constraint.right).rates)
    left, right, interval, method = measure
    slack = None if left is None or right is None else sign * (left - right)
    if isinstance(metric, OfScores) and slack is not None:  # in training it is counted at thresholds
        violation = -slack
    else:
        violation = total(tally, demand.expression, demand.per_row)
    if interval is not None and sign < 0:
        interval = (-interval[1], -interval[0])
    low, high = around(slack, interval)
    return Promise(
        words=str(constraint),
        name=constraint.name,
        relation=constraint.relation,
        value=left,
        bound=right,
        slack=slack,
        slack_low=low,
        slack_high=high,
        violation=violation,
        kept=bool(kept(violation, unit)),
        verdict=verdict_of(low, high),
        rows=rows,
        unit=_unit(constraint),
        method=method,
        why="" if slack is None or interval is not None else no_interval(constraint.rates, tally),
    )


def _sum(left: Expression, right: Expression, tally: Tally, confidence: float) -> Measured:
    """Two sums of rates: exact if only one rate of one model remains, otherwise by a score test."""
    difference = left - right
    values = total(tally, left), total(tally, right)
    exact = _exact(difference, tally, confidence)
    if exact is not None:
        return *values, exact, "exact"
    return *values, *sum_interval(values[0] - values[1], difference, tally, confidence)


def _exact(difference: Expression, tally: Tally, confidence: float) -> Interval | None:
    if len(difference.terms) != 1 or not tally.model.deterministic:
        return None
    ((rate, coefficient),) = difference.terms
    lines = tally[rate.population]
    if lines.weighted or is_cost(rate) or tally.clustered is not None:
        return None
    trials = lines.counted(lines.inside(over_of(rate, tally.classes)))
    successes = round(float(lines.rows @ counted(lines, rate, tally.classes)))
    times = coefficient * scale(tally, rate)
    ends = [times * end for end in clopper_pearson(successes, trials, confidence)]
    return min(ends) + difference.constant, max(ends) + difference.constant


def _area(metric: Area, bound: float, tally: Tally, confidence: float) -> Measured:
    name = metric.rate.population
    lines = tally[name]
    inside = [lines.inside(subset) for subset in _classes(metric.rate)]
    assert lines.answers is not None
    v, w = (Weighed(lines.weight[rows], lines.rows[rows]) for rows in inside)
    positives, negatives = (lines.answers[:, 0, rows] for rows in inside)
    placements = area(positives, negatives, tally.model.chances, v, w)
    alike = 1.0
    if tally.clustered is not None:
        moved = np.zeros(len(lines))
        for rows, moves in zip(inside, placements.moves(), strict=True):
            moved[rows] = moves
        alike = effect_of_clusters(tally, {name: (moved, inside[0] | inside[1])}, confidence)
    if math.isinf(alike):
        return placements.value, bound, None, "none"
    low, high = placements.interval(confidence, alike)
    return placements.value, bound, (low - bound, high - bound), "delong"


def _classes(rate: Rate) -> tuple[Subset, Subset]:
    """The positive and the negative rows of an area."""
    return rate.subset & Label(), rate.subset & ~Label()


def _unit(constraint: Constraint | Parity) -> Unit:
    if isinstance(constraint, Parity):
        return "ratio"
    if isinstance(constraint.left, Ratio):
        return "rate" if form_of(constraint.left) in ("proportion", "share") else "ratio"
    if any(map(is_cost, constraint.rates)):
        return "cost"
    return "rows" if any(map(is_count, constraint.rates)) else "rate"


def _training(model: Any) -> tuple[float, float] | None:
    """A mixture's objective and worst violation on the rows it was trained on."""
    try:
        violations = np.asarray(model.violations["train"], dtype=float)
        return float(model.objectives["train"]), float(violations.max(initial=-np.inf))
    except (AttributeError, KeyError, TypeError):
        return None


def check_given(
    asker: str, problem: Problem, model: Any, population: Any, others: dict[str, Any]
) -> None:
    """Raise unless `asker` got populations, and a model with what its rates need."""
    if not isinstance(population, Population):
        kind = type(population).__name__
        raise TypeError(f"{asker}: the third argument must be a rb.Population, got {kind}")
    for name, given in others.items():
        if not isinstance(given, Population):
            raise TypeError(
                f"{asker}: {name}= is not an argument; as the population that rates name with "
                f"on={name!r} it must be a rb.Population, got {type(given).__name__}"
            )
    for rate in problem.rates:
        if not is_mixture(model) and (rate.compares_scores or rate.at not in (None, 0)):
            raise ValueError(
                f"{rate} needs scores, but {type(model).__name__} gives only decisions: give an "
                "object with weights, thresholds and member_scores(X) -> (rows, members), such as a "
                "rb.Mixture, or leave this constraint out"
            )


def check_key(
    asker: str, key: Name | None, model: Any, population: Population, in_expectation: bool = False
) -> None:
    """Raise if a column of ids is named that does not exist, or that nothing hashes."""
    if key is None:
        return
    if isinstance(model, Decisions) or in_expectation:
        made = isinstance(model, Decisions)
        what = "decisions that were made have" if made else "an expectation has"
        raise ValueError(f"{asker}: key={key!r} is for a model that decides rows; {what} no use for it")
    try:
        population.check_column(key)
    except ValueError as error:
        raise ValueError(f"{asker}: key={key!r}: {error}") from None
