"""The only crossing between new rooms and old ones; it shrinks as `_old` does.

A new problem crosses as text, which an old room parses. Rows cross as arrays. `compile` is the new
one, but for what only old rooms know.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache, wraps
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np

from ratebound.problem import compile as new
from ratebound.problem.population import Population
from ratebound.rates.goals import BUILT_IN, GOALS
from ratebound.rates.sums import Rate
from ratebound.rates.table import KINDS, LIVE, evaluate_event
from ratebound.rates.text import parse, parse_condition

old: Any = import_module("ratebound._old")


@cache
def find_old_name(name: str) -> Any:
    """Return a public name of the old package, which takes objects of new rooms too."""
    public = getattr(old, name)
    return _accept_new(public) if isinstance(public, FunctionType) else public


def _accept_new(function: FunctionType) -> Any:
    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        named = {name: accept(value) for name, value in options.items()}
        return function(*map(accept, arguments), **named)

    return call


def accept(value: Any) -> Any:
    """Return what an old room takes; it calls this wherever users hand over language or rows."""
    _define_own_names()
    return to_old(value)


@wraps(new.compile)
def compile(problem: Any, rows: Any, **others: Any) -> Any:
    populations = {name: _read_population(other) for name, other in others.items()}
    first = _read_population(rows)
    if _is_for_old_rooms(problem) or any(map(_is_old, (first, *populations.values()))):
        converted = {name: to_old(other) for name, other in others.items()}
        return old.compile(to_old(problem), to_old(rows), **converted)
    return new.compile(problem, first, **populations)


def _is_for_old_rooms(problem: Any) -> bool:
    """Return True for a problem of an old room, and for one with functions of the user's own."""
    if _is_old(problem):
        return True
    constraints = getattr(problem, "constraints", ())
    bounds = [getattr(constraint, "sum", None) for constraint in constraints]
    return any(term.form == "computed" for bound in bounds if bound for term in bound.terms)


def _is_old(value: Any) -> bool:
    return type(value).__module__.startswith("ratebound._old.")


def _read_population(rows: Any) -> Any:
    """Return rows of an old room as new ones; rows on disk and pairs stay what they are."""
    if not _is_old(rows) or type(rows).__name__ != "Population":
        return rows
    labels = rows.y
    if labels is not None:
        labels = [rows.classes[index] for index in labels.astype(int)]
    classes = list(rows.classes or ())
    refer = None
    if classes and type(classes[-1]).__name__ == "Referral":
        refer = str(classes.pop())
    return Population(rows.X, labels, rows.columns, rows.weights, classes or None, refer)


def to_old(value: Any) -> Any:
    """Return what an old room takes for something of a new one; anything else unchanged."""
    if type(value) in (list, tuple):
        converted = [to_old(item) for item in value]
        changed = any(new is not old for new, old in zip(value, converted, strict=True))
        return type(value)(converted) if changed else value
    if type(value) is dict:
        by_key = {key: to_old(item) for key, item in value.items()}
        changed = any(by_key[key] is not value[key] for key in value)
        return by_key if changed else value
    if isinstance(value, str) and "by=" in value:  # old texts have names for it
        with suppress(ValueError):
            return to_old(parse(value))
    convert = CONVERSIONS.get(f"{type(value).__module__}.{type(value).__name__}")
    return value if convert is None else convert(value)


def _convert_problem(problem: Any) -> Any:
    goal = {problem.sense: to_old(problem.objective)}
    constraints = [to_old(constraint) for constraint in problem.constraints]
    return old.Problem(subject_to=constraints, **goal)


def _convert_constraint(constraint: Any) -> Any:
    computed = [term for term in constraint.sum.terms if term.form == "computed"]
    if computed:
        return _convert_computed(computed[0], constraint.high.constant)
    named = constraint.map(_name_for_old_rooms)
    if len(named.ends) == 2:  # a distance, whose two bounds old text does not join
        return old.parse(f"{named.low} <= {named.sum} <= {named.high}")
    is_negative = named.sum.nonlinear and max(named.sum.terms.values()) < 0
    if (
        is_negative and named.low is None
    ):  # a bound between two ratios, which old text does not negate
        named = replace(named, low=-named.high, sum=-named.sum, high=None)
    return old.parse(str(named))


def _convert_computed(computed: Any, at_most: float) -> Any:
    on = None if computed.population == "train" else computed.population
    return old.constraint(
        computed.value,
        computed.proxy,
        name=computed.name,
        at_most=at_most,
        on=on,
        exact=computed.exact,
        scale=computed.scale,
    )


def _convert_goal(goal: Any) -> Any:
    _define_goal(goal.name)
    return old.parse(str(goal))


def _convert_objective(objective: Any) -> Any:
    from ratebound._old.rates.text import parse_objective

    return parse_objective(str(objective.map(_name_for_old_rooms)))


def _convert_condition(condition: Any) -> Any:
    from ratebound._old.rates import text

    return text.parse_condition(str(condition))


def _name_for_old_rooms(rate: Rate) -> Rate:
    """Return a rate by its old name: the live model's rates had names of their own."""
    _define_rate(rate.name)
    column = rate.option("by")
    if column is None:
        return rate
    if rate.name not in LIVE:
        known = ", ".join(LIVE)
        raise ValueError(f"{rate}: here by= is of one of {known}")
    return replace(rate.with_options(by=None, versus=column), name=f"{rate.name}_of")


def _define_own_names() -> None:
    """Define rates and goals of the user's own in old tables too, so that texts may name them."""
    for name in KINDS:
        with suppress(ValueError):  # told when the rate is used
            _define_rate(name)
    for name in GOALS:
        _define_goal(name)


def _define_rate(name: str) -> None:
    if name not in KINDS or not KINDS[name].is_own:
        return
    counted, among = KINDS[name].parts({})
    above = _add_counts(name, counted[0].event)
    if among is None:
        raise ValueError(
            f"{name}: only rb.compile takes a count that you defined; use a share of it"
        )
    rows = SHARES.get(among[0].event)
    is_share = among[0].event in ("1", *counted[0].event.split(" & "))
    if rows is not None and is_share:
        old.rate(name, above, among=rows, meaning=KINDS[name].meaning)
    else:
        old.ratio(name, above, _add_counts(name, among[0].event), KINDS[name].meaning)


def _add_counts(name: str, event: str) -> Any:
    """Return an event as a sum of the four counts of decisions and labels."""
    if "v" in event.replace("decided", ""):
        raise ValueError(
            f"{name}: only rb.compile takes a rate that you defined on a live model's decisions; "
            "here use churn, wins or losses"
        )
    holds = evaluate_event(event, 2, 2, 1, {})
    counts = {
        (0, 0): old.true_negatives,
        (0, 1): old.false_negatives,
        (1, 0): old.false_positives,
        (1, 1): old.true_positives,
    }
    total: Any = 0
    for (decision, label), count in counts.items():
        if holds[min(decision, holds.shape[0] - 1), min(label, holds.shape[1] - 1), 0]:
            total = total + count()
    return total


def _define_goal(name: str) -> None:
    """Define a goal of the user's own in the old table too; its groups cross as text."""
    if name in BUILT_IN:
        return
    function = GOALS[name]

    def spell_out(groups: Any, **options: Any) -> list[Any]:
        conditions = [parse_condition(str(group)) for group in groups]
        return [to_old(constraint) for constraint in function(conditions, **options)]

    spell_out.__name__ = name
    spell_out.__doc__ = function.__doc__
    spell_out.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    old.goal(spell_out)


def _convert_population(rows: Any) -> Any:
    classes = None if rows.classes is None else list(rows.classes)
    return old.Population(
        rows.X,
        rows.y,
        columns=rows.columns,
        weights=rows.weights,
        classes=classes,
        refer=rows.refer,
    )


def _convert_compiled(compiled: Any) -> Any:
    populations = {}
    for name, pieces in compiled.populations.items():
        if len(pieces) > 1:
            raise ValueError(
                f"population {name!r}: games take rows in one piece, not {len(pieces)}"
            )
        populations[name] = to_old(pieces[0])
    return old.compile(to_old(compiled.problem), populations.pop("train"), **populations)


# --- tables, until their room stands --------------------------------------------------------------


def fit_encoding(X: Any, weights: Any, features: Any, style: str, **takes: bool) -> Any:
    """Fit how rows become features, in the style that a model needs."""
    from ratebound._old.tables import fitting

    return fitting.fit_encoding(X, weights, features, style, **takes)  # type: ignore[arg-type]


def as_features(features: Any) -> Any:
    """Return the columns that a user chose as `rb.Features`."""
    from ratebound._old.tables.treatments import as_features

    return as_features(features)


def list_sources(encoding: Any) -> list[Any]:
    """Return the column that each feature is made of."""
    from ratebound._old.tables.columns import width_of

    sources = []
    for column in encoding.columns:
        sources += [column.name] * width_of(column)
    return sources


def read_records(X: Any, encoding: Any) -> Any:
    """Return rows that are dictionaries as a table, and any others unchanged.

    A model takes them by its encoding; without one, while it is fitted, they are refused.
    """
    from ratebound._old.tables.records import as_read, is_records, table_of

    if not is_records(X):
        return X
    if encoding is None:
        raise TypeError("X holds dictionaries: fit takes a table, as in pandas.DataFrame(X)")
    if not encoding.from_frame:
        raise TypeError(
            "rows are dictionaries, but the model was trained on an array, whose columns have no "
            "names: give an array, or train on a table"
        )
    return as_read(encoding, table_of(X, encoding))


def digest_table(features: Any, codes: Any) -> str:
    """Return what tells the very rows that a model was trained on from all others."""
    from ratebound._old.problem.summaries import digest_of

    return f"{DIGEST}{digest_of([features, np.asarray(codes, dtype=np.int64)])}"


# --- policies, until the room of files stands -----------------------------------------------------

THRESHOLD = "one threshold for everyone"
OUT_OF_FOLD = "out of fold"
DIGEST = "rows and labels "
MANY_ROWS = 1e12
NEAREST = 1e-15  # two labels are never equally likely: ties go to the first


def make_policy(model: Any) -> Any:
    """Return a fitted estimator as an old policy: saved, loaded, exported, explained, released."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    names = [kind.__name__ for kind in type(model).__mro__]
    if "RateConstrainedClassifier" in names:
        return _convert_classifier(model)
    if "ConstrainedThresholdClassifier" in names:
        return _convert_threshold(model)
    raise ValueError(
        f"{names[0]} orders rows and decides none, so there is no policy of it: keep its scores, "
        "decision_function(X), or train RateConstrainedClassifier"
    )


def _convert_estimator(model: Any) -> Any:
    """Return a policy, or an estimator that cannot be one, whose decisions are enough."""
    try:
        return make_policy(model)
    except ValueError:
        return model


def _convert_classifier(model: Any) -> Any:
    from ratebound._old.learners.fitted import as_scorer
    from ratebound._old.problem.summaries import FeatureScale
    from ratebound._old.solution.deciders import Draw, GroupThresholds

    encoding = model.encoding_
    is_table = encoding.style == "table" and encoding.from_frame
    decider: Any = Draw()
    if model.typical_ is not None:
        center = tuple(model.typical_.tolist())
        decider = Draw(feature_scale=FeatureScale(center, (1.0,) * len(center)))
    fit = getattr(model.model_, "fit", None)
    if fit is not None:
        scorer, parameters = as_scorer(fit, model.model_.count, is_table)
        return _assemble(
            model, scorer, parameters, decider, encoding, hasattr(fit, "predict_proba")
        )
    scorer, weights = _convert_rule(model, is_table)
    known = model.model_.known
    models = 1 if known is None else known.count + 1
    parameters = np.column_stack([np.arange(models), np.tile(weights, (models, 1))])
    if known is not None:
        thresholds = np.zeros(
            (1, models, 1 if scorer.terms.shape[1] == 1 else len(model.decisions_))
        )
        decider = GroupThresholds(
            columns=known.columns,
            groups=tuple(known.groups),
            model=np.arange(models)[None],
            at=thresholds,
            then=decider,
            largest=known.count,
        )
    return _assemble(model, scorer, parameters, decider, encoding, True)


def _convert_rule(model: Any, is_table: bool) -> tuple[Any, Any]:
    """Return the scorer of a rule, and the weights (T,) that are not 0."""
    from ratebound._old.learners.rule import RuleScorer

    forecast = model.model_.forecast
    terms, weights = model.model_.terms, model.model_.weights
    objective = str(model.problem_.objective)
    texts = [row.text for row in model.constraints_]
    pieces = len(terms) - 1 - len(texts)
    plain = _find_plain_weights(model, pieces)
    biases = np.zeros((len(weights) - len(terms), *terms.shape[1:]))
    for bias in range(len(biases)):
        biases[bias, bias, 0] = 1.0  # of the first column, which is ones
    terms = np.concatenate([terms, biases])
    names = [objective] * pieces + texts + [objective] + [THRESHOLD] * len(biases)
    used = np.flatnonzero((weights != 0) | (plain != 0))
    scorer = RuleScorer(
        questions=_convert_questions(forecast, is_table),
        branches={number: _convert_branch(item) for number, item in _list_branches(forecast)},
        size=forecast.width,
        blocks=forecast.blocks,
        terms=terms[used],
        names=tuple(names[index] for index in used),
        plain=plain[used],
    )
    return scorer, weights[used]


def _find_plain_weights(model: Any, pieces: int) -> Any:
    """Return the weights (T,) of the same model without constraints."""
    learned = getattr(model, "learned_", None)
    if learned is not None:
        return learned.rules.plain_weights
    plain = np.zeros_like(model.model_.weights)
    plain[:pieces] = model.model_.weights[:pieces]
    if not plain.any():
        plain[len(model.model_.terms) - 1] = 1.0
    return plain


def _convert_questions(forecast: Any, is_table: bool) -> dict[str, Any]:
    questions = {"labels": _convert_question(forecast.labels, is_table)}
    if forecast.populations is not None:
        questions["populations"] = _convert_question(forecast.populations, is_table)
    for number, branch in _list_branches(forecast):
        if branch.question is not None:
            count = len(branch.columns)
            questions[f"branch {number}"] = _convert_question(branch.question, is_table, count)
        for block, amounts in enumerate(branch.amounts):
            if amounts is not None:
                questions[f"branch {number} amounts {block}"] = _convert_question(amounts, is_table)
    return questions


def _list_branches(forecast: Any) -> list[tuple[int, Any]]:
    """Return branches by their labels, or the number after them of a population."""
    numbered = []
    for branch in forecast.branches:
        number = branch.label
        if number is None:
            number = forecast.labels.answers - 1 + branch.population
        numbered.append((number, branch))
    return numbered


def _convert_question(question: Any, is_table: bool, values: int = 1) -> Any:
    from ratebound._old.learners.fitted import ask_classifiers, ask_regressions, list_codes

    if not question.answers:
        return ask_regressions(question.fits, values)
    places = [list_codes(fit) for fit in question.fits]
    return ask_classifiers(question.fits, question.answers, places, is_table, question.sharpness)


def _convert_branch(branch: Any) -> Any:
    from ratebound._old.learners.rule import Branch

    return Branch(
        columns=branch.columns,
        shares=branch.shares,
        of_slices=branch.question is not None and not branch.question.answers,
        by_group=branch.by_group,
    )


def _convert_threshold(model: Any) -> Any:
    """Return a threshold as a rule whose one question is about the labels."""
    from ratebound._old.learners.fitted import ask_classifiers, ask_scores
    from ratebound._old.learners.rule import RuleScorer
    from ratebound._old.solution.deciders import Draw

    labels = model.labels_
    fits = model.estimators_
    is_table = hasattr(fits[0], "feature_names_in_")
    has_probabilities = model._method == "predict_proba"
    _check_threshold(model, has_probabilities)
    at = float(np.clip(model.best_threshold_, -1e300, 1e300))
    if not has_probabilities:
        sign = 1.0 if labels == model.classes_.tolist() else -1.0
        question = ask_scores(fits, is_table)
        terms = np.array([[[at, -sign]]])
    else:
        places = [tuple(map(labels.index, fit.classes_.tolist())) for fit in fits]
        question = ask_classifiers(fits, len(labels), places, is_table)
        terms = _make_threshold_terms(at, len(labels), model.refer is not None)
    scorer = RuleScorer(
        questions={"labels": question},
        branches={},
        size=0,
        blocks=0,
        terms=terms,
        names=(THRESHOLD,),
        plain=np.ones(1),
    )
    return _assemble(model, scorer, np.array([[0.0, 1.0]]), Draw(), None, has_probabilities)


def _check_threshold(model: Any, has_probabilities: bool) -> None:
    labels = model.labels_
    if len(labels) > 2 and model.refer is None:
        raise ValueError(
            f"only a threshold between two labels can be saved: train on y == {labels[-1]!r}, without "
            "positive_label="
        )
    if model.refer is not None and not has_probabilities:
        raise ValueError("with refer= only a threshold on predict_proba can be saved")


def _make_threshold_terms(at: float, labels: int, refers: bool) -> Any:
    """Return what decisions but the first cost (1, D - 1, 1 + L), in the terms of a rule."""
    if not refers:
        return np.array([[[at, 0.0, -1.0]]])
    terms = np.zeros((1, labels, 1 + labels))
    terms[0, :, 1] = 1.0  # the first label is not decided
    for label in range(1, labels):
        terms[0, label - 1, 1 + label] = -1.0
        terms[0, label - 1, 0] = label * NEAREST
    terms[0, -1, 0] = labels * NEAREST - at
    return terms


def _assemble(
    model: Any,
    scorer: Any,
    parameters: Any,
    decider: Any,
    encoding: Any,
    has_probabilities: bool,
) -> Any:
    from ratebound._old.estimators.policy import Policy
    from ratebound._old.learners.calibration import Calibration
    from ratebound._old.problem.deciding import score_count
    from ratebound._old.problem.labels import with_referral
    from ratebound._old.solution.mixture import Members

    classes = tuple(model.labels_)
    if len(classes) < 2:
        raise ValueError(f"every row had the label {classes[0]!r}, so there is nothing to decide")
    calibration = None
    if has_probabilities:
        intercepts = (0.0,) * score_count(len(classes))
        calibration = Calibration(1.0, intercepts, OUT_OF_FOLD, _count_rows(model)[0])
    if model.refer is not None:
        classes = with_referral(classes, model.refer)
    members = Members(np.ones(1), parameters, scorer)
    return Policy(members, decider, _make_record(model), classes, encoding, calibration)


def _count_rows(model: Any) -> tuple[int, float]:
    """Return how many rows it was trained on, and their weight; 0 if that is not known any more."""
    learned = getattr(model, "learned_", None)
    if learned is None:
        return 0, 0.0
    pieces = learned.rules.compiled.populations["train"]
    weight = sum(float(piece.row_weights.sum()) for piece in pieces)
    return sum(map(len, pieces)), weight


def _make_record(model: Any) -> Any:
    from ratebound._old.solution.record import Making, Record
    from ratebound._old.solution.status import Status

    status = model.status_
    problem = _spell_out_problem(model)
    constraints = [demand.words for demand in problem.demands]
    items = list(zip(status.constraints, constraints, strict=True))
    items.sort(key=lambda item: -item[0].violation)
    violated = [(item.violation, constraint) for item, constraint in items if not item.met]
    objectives = {}
    violations = {}
    if not np.isnan(status.reached):
        objectives[OUT_OF_FOLD] = problem.shown(status.reached)
        violations[OUT_OF_FOLD] = np.array([item.violation for item in status.constraints])
    rows, _ = _count_rows(model)
    seed = model.random_state
    return Record(
        problem=problem,
        status=Status(
            feasible=status.feasible,
            violation=max([violation for violation, _ in violated], default=0.0),
            broken=tuple(constraint for _, constraint in violated),
            conflict=tuple(constraint for item, constraint in items if not item.met),
            message=str(status),
            confidence=status.confidence,
        ),
        objectives=objectives,
        violations=violations,
        seed=seed if type(seed) is int else None,
        data=getattr(model, "digest_", None),
        certificate=getattr(model, "certificate_", None),
        made=Making(" ".join(repr(model).split()), {"trained on": rows} if rows else {}),
    )


def _spell_out_problem(model: Any) -> Any:
    """Return the old problem with a constraint for each row, whose counts say out of how many."""
    from ratebound._old.problem.spelling_out import counting

    accept(None)  # names of one's own are defined
    comparisons = _list_comparisons(model)
    constraints = []
    for item in model.status_.constraints:
        constraint = to_old(parse(item.constraint))
        constraints.append(_name_comparison(constraint, comparisons))
    objective = {model.problem_.sense: to_old(model.problem_.objective)}
    problem = old.Problem(subject_to=constraints, **objective)
    _, weight = _count_rows(model)
    counted = counting(problem, {"train": weight or MANY_ROWS})
    if not weight and counted != problem:
        raise ValueError(
            "a problem that counts rows needs to know how many there were, which a pickle and an "
            "estimator without learned_ do not: write per=, as in predicted_positives(per=1000), or "
            "save the estimator before it is pickled"
        )
    return counted


def _list_comparisons(model: Any) -> list[Any]:
    """Return comparisons of two ratios, which a level between them has replaced."""
    learned = getattr(model, "learned_", None)
    statements = list(map(str, model.problem_.constraints))
    if learned is not None:
        statements = list(learned.rules.compiled.problem.levels)
    comparisons = []
    for statement in statements:
        with suppress(
            ValueError
        ):  # a column for each of its values, which is spelled out elsewhere
            comparisons.append(to_old(parse(statement)))
    return [comparison for comparison in comparisons if type(comparison).__name__ == "Parity"]


def _name_comparison(constraint: Any, comparisons: list[Any]) -> Any:
    """Return a bound of one ratio with the comparison of two that it is for, if it is."""
    for comparison in comparisons:
        if constraint.left in (comparison.left, comparison.right) and not constraint.right.terms:
            level = constraint.right.constant
            for end in comparison.at(level):
                if end.left == constraint.left and end.relation == constraint.relation:
                    return end
    return constraint


SHARES = {"1": "rows", "y": "positive rows", "~y": "negative rows"}
CONDITIONS = ("Compare", "In", "Missing", "Decided", "All", "AnyOf", "Not")
CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "ratebound.problem.problem.Problem": _convert_problem,
    "ratebound.problem.population.Population": _convert_population,
    "ratebound.problem.compiled.Compiled": _convert_compiled,
    "ratebound.rates.sums.Constraint": _convert_constraint,
    "ratebound.rates.sums.Sum": _convert_objective,
    "ratebound.rates.sums.Shape": _convert_objective,
    "ratebound.rates.goals.Goal": _convert_goal,
    **{f"ratebound.rates.conditions.{name}": _convert_condition for name in CONDITIONS},
    "ratebound.learning.classifier.RateConstrainedClassifier": _convert_estimator,
    "ratebound.learning.threshold.ConstrainedThresholdClassifier": _convert_estimator,
}
