"""The input of `fit` and audits: users' tables and labels as populations, and how they are checked.

Rows and labels are checked as scikit-learn does, or come as a population with its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ratebound._bridge import accept
from ratebound._old.base import processes
from ratebound._old.base.checks import nearest
from ratebound._old.base.linear_program import TOLERANCE
from ratebound._old.base.types import Array
from ratebound._old.game.learner import Differentiating, Learner
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.frames import (
    check_order,
    columns_by_name,
    distinct,
    frame_columns,
    some,
    unmasked,
)
from ratebound._old.problem.labels import (
    FEW_CLASSES,
    ROWS_PER_CLASS,
    class_array,
    label_values,
    labels_of,
    places_among,
    reads_like_no,
    with_referral,
)
from ratebound._old.problem.population import Population, check_single
from ratebound._old.problem.problem import Problem
from ratebound._old.problem.sharing import any_shared, of_all
from ratebound._old.problem.sharing import classes_of as classes_in
from ratebound._old.rates.expressions import FIRST
from ratebound._old.rates.general import general
from ratebound._old.rates.kinds import label_classes, referral_of
from ratebound._old.rates.subsets import plain_value, value_text
from ratebound._old.tables.columns import Name
from ratebound._old.tables.encoding import Encoding
from ratebound._old.tables.fitting import fit_encoding, fit_to_arrays, fit_to_pieces
from ratebound._old.tables.treatments import Features, as_features

# Other libraries' names for the columns that promises are about.
GROUPS = {"sensitive_features", "sensitive_feature", "sensitive_attributes", "sensitive_attribute",
          "sensitive", "protected_attributes", "protected_attribute", "protected", "prot_attr", "groups",
          "group", "demographics", "a"}  # fmt: skip


def given_rows(
    estimator: Any, X: Any, y: Any, columns: Any, sample_weight: Any
) -> tuple[Population, tuple[Any, ...]]:
    """The rows to train `estimator` on, and the classes in the order used by rates.

    The estimator gets the attributes that scikit-learn expects.
    """
    X = accept(X)
    if not isinstance(X, Population):
        check_order(X, {"y": y, "sample_weight": sample_weight})
        X, labels, weights = _checked(estimator, unmasked(X), y, unmasked(sample_weight))
        classes = in_order(estimator.classes_, estimator.positive_label)
        if estimator.positive_label is None and len(classes) == 2 and reads_like_no(classes[1]):
            no, yes = value_text(classes[0]), value_text(classes[1])
            warnings.warn(
                f"{yes} reads like a no and is taken as yes, since it is the later of the two labels: "
                f"pass positive_label={no}, or {yes} if that is meant",
                stacklevel=4,
            )
        if estimator.refer is not None:
            classes = with_referral(classes, estimator.refer)
        return labelled(X, labels, columns, weights, classes), classes
    check_single(type(estimator).__name__, [X], "use rb.RateConstrainedRanker(...).fit(pairs)")
    check_whole_population(X, y=y, columns=columns, sample_weight=sample_weight)
    check_positive(X, estimator.positive_label)
    classes = classes_in({FIRST: X}, FIRST)
    assert X.y is not None  # otherwise it has been refused
    if estimator.refer is not None and referral_of(classes) != estimator.refer:
        classes = with_referral(label_classes(classes), estimator.refer)
        X = X.among(classes)
    own = {(X.classes or classes)[int(place)] for place in np.unique(X.y)}
    present = set().union(*of_all(X, own))
    check_classes(np.asarray([each for each in classes if each in present]), len(X))
    estimator.classes_ = np.sort(np.asarray(label_classes(classes)))
    _name_features(estimator, frame_columns(X.X) or range(np.shape(X.X)[1]))
    return X, classes


def _checked(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array | None]:
    """X as passed or as an array, labels, weights; all checked as in scikit-learn."""
    from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

    if y is not None:  # scikit-learn has a message for None
        labels = label_values(y)
        classes = classes_of(labels)
        column_or_1d(y, warn=True)
        y = labels
    if names := frame_columns(X):
        _name_features(estimator, names)
        if y is None:
            raise ValueError(
                "fit needs y, a label for each row; only a population has its own, such as "
                "rb.Parquet(..., label=...)"
            )
        if len(y) != len(X):
            raise ValueError(f"X has {len(X)} rows and y {len(y)}")
    elif hasattr(X, "columns") and not len(X.columns):
        raise ValueError("X is a table without columns, so there is nothing to train on")
    else:
        X, y = validate_data(estimator, X, y, accept_sparse="csr", ensure_all_finite="allow-nan")
    if y.dtype.kind != "f":  # for numbers, scikit-learn has a message
        check_classes(classes, len(y))
    check_targets(y)
    check_classes(classes, len(y))
    estimator.classes_ = classes
    weights = None if sample_weight is None else _check_sample_weight(sample_weight, X)
    return X, trained_labels(y, in_order(classes, estimator.positive_label)), weights


def _name_features(estimator: Any, names: Sequence[Any]) -> None:
    processes.check_same("rows with the features", list(names))
    estimator.n_features_in_ = len(names)
    vars(estimator).pop("feature_names_in_", None)  # of an earlier fit
    if all(isinstance(name, str) for name in names):  # scikit-learn accepts only such names
        estimator.feature_names_in_ = np.array(names, dtype=object)


def labelled(X: Any, labels: Array, columns: Any, weights: Any, classes: tuple[Any, ...]) -> Population:
    """Rows whose `labels` (n,) are places of `classes`, with the columns that constraints may use.

    Labels are stored by their names, so an existing model's decisions may be spelled likewise.
    """
    check_order(X, {"columns": columns})
    spoken_of = columns_by_name(X if frame_columns(X) else None) | columns_by_name(columns)
    named = class_array(classes)[labels.astype(np.intp)]
    return Population(X, named, columns=spoken_of, weights=unmasked(weights), classes=classes)


def check_whole_population(population: Population, **beside: Any) -> None:
    """Raise if a part of a population is given beside it, or labels are missing."""
    parts = {"y": "label", "sample_weight": "weight", "columns": "columns"}
    for name, given in beside.items():
        if given is not None:
            part = parts[name] if population.stored else name.replace("sample_weight", "weights")
            raise TypeError(
                f"{name}= is for a table or an array X; a population has its own: "
                f"{type(population).__name__}(..., {part}=...)"
            )
    if population.y is None:
        raise ValueError(f"{population!r} has no labels: give it labels, so that a model can learn them")


def check_positive(population: Population, positive: Any) -> None:
    """Raise if `positive_label` and a population disagree on yes."""
    classes = label_classes(population.classes or ())
    if positive is not None and (len(classes) != 2 or classes[1] != positive):
        raise ValueError(
            f"positive_label is {positive!r}, but the classes of the population are {some(classes)}: "
            "set its yes with rb.Population(..., positive=...)"
        )


def classes_of(labels: Array) -> Array:
    """The classes of `labels` (n,), in order."""
    try:
        classes: Array = np.unique(labels)
    except TypeError:
        kinds = list(dict.fromkeys(labels.tolist()))
        raise ValueError(
            f"y mixes labels of different kinds, {some(kinds)}, which have no order: make all of them "
            "texts, or all of them numbers"
        ) from None
    return classes


def asked_for(objective: Any, constraints: Any) -> Problem:
    """The problem of these arguments; the promises of an objective that is a problem count too."""
    objective = accept(objective)
    problem = Problem.stated(objective, constraints)
    if isinstance(objective, Problem):
        others = [promise for promise in objective.subject_to if promise not in problem.subject_to]
        problem = problem.promising([*others, *problem.subject_to])
    return problem


def check_own(problem: Problem, learner: Learner, model: Any, known: Any, certify: float | None) -> None:
    """Raise if a custom constraint cannot be trained for, or not with these parameters."""
    names = ", ".join(each.name for each in general(problem.subject_to))
    if not names:
        return
    if learner.cross_fits:
        raise ValueError(
            f"{names}: a custom constraint (rb.constraint) is a function that training descends, but "
            "the plug-in descends none: leave method= out, and use for example model='mlp'"
        )
    if not issubclass(learner.fit, Differentiating):
        raise ValueError(
            f"{names}: a custom constraint (rb.constraint) is a function that training descends, but "
            f"model={model!r} cannot: use model='mlp', model='lattice', a PyTorch module or "
            "rb.Torch(...). A linear model that can is "
            "model=rb.Torch(lambda width: torch.nn.Linear(width, 1))"
        )
    if certify is not None:
        raise ValueError(
            f"certify={certify}: {names} is a custom constraint, and nothing can be shown about it on "
            "new rows: leave certify= out, and certify the promises about rates, "
            "rb.certify(rb.Problem(...), model, rows)"
        )
    if known is not None:
        raise ValueError(
            f"known={known!r}: thresholds by group would change the model that {names} is "
            "about: leave known= out, or give the column to the model as a feature"
        )


def check_targets(y: Array) -> None:
    """Raise if labels are not classes, in scikit-learn's words and with a remedy."""
    from sklearn.utils.multiclass import check_classification_targets  # not needed for deciding

    try:
        check_classification_targets(y)
    except ValueError as error:
        words = str(error).rstrip(".")
        raise ValueError(
            f"{words}. y holds {some(distinct(y))}: if each of these is a class, make them texts, "
            "y.astype(str); otherwise put them into bands, or make it yes or no"
        ) from None


def check_classes(classes: Array, rows: int) -> None:
    """Raise unless there are two classes or more, and not so many that they have few rows each."""
    if not rows:
        raise ValueError("X has no rows, so there is nothing to train on")
    if len(classes) < 2:
        raise ValueError(
            f"y needs two classes or more, but has 1 class, {some(classes.tolist())}: train on rows "
            "of another class too"
        )
    if len(classes) > FEW_CLASSES and ROWS_PER_CLASS * len(classes) > rows:
        raise ValueError(
            f"y has {len(classes):,} different labels in {rows:,} rows, {some(classes.tolist())}, so "
            f"classes would have fewer than {ROWS_PER_CLASS} rows each: if these are numbers, put "
            "them into bands, or make it yes or no"
        )


def in_order(classes: Array, positive: Any) -> tuple[Any, ...]:
    """The classes in the order used by rates: with two, no and then yes, which is `positive`."""
    ordered = tuple(classes)
    if positive is None:
        return ordered
    if positive not in classes.tolist():
        raise ValueError(f"positive_label {positive!r} is not among y's {classes}")
    if len(ordered) > 2:
        raise ValueError(
            f"positive_label says which of two classes is yes, but y has {len(ordered)}: leave it "
            f"out, and name the class of each rate, as in recall(of={value_text(positive)})"
        )
    return ordered if labels_of(classes, positive).yes == ordered[1] else ordered[::-1]


def trained_labels(y: Any, classes: tuple[Any, ...]) -> Array:
    """The place of each label among the trained classes, (n,), without a referral."""
    labels, classes = label_values(y), label_classes(classes)
    places = places_among(labels, classes)
    if (places < 0).any():
        others = some(list(dict.fromkeys(labels[places < 0].tolist())))
        raise ValueError(
            f"y holds labels that were not in training: {others}; the trained labels are {some(classes)}"
        )
    return places


def other_populations(
    others: Mapping[str, Any], classes: tuple[Any, ...], problem: Problem
) -> dict[str, Any]:
    """Further populations by name: a table, (table, labels), (table, labels, columns) or made.

    >>> asked = Problem("error_rate()", ['positive_rate(on="pool") <= 0.2'])
    >>> other_populations({"pool": np.zeros((3, 1))}, ("no", "yes"), asked)
    {'pool': Population(3 rows, no labels, columns )}
    """
    _check_groups(others, problem)
    people = {}
    for name, given in others.items():
        try:
            people[name] = _population(given, classes)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}: {error}") from None
    return people


def check_spoken_of(others: Iterable[str], problem: Problem) -> None:
    """Raise if a problem does not name a population: then its name is a mistake."""
    _check_groups(others, problem)
    for name in _unspoken_of(others, problem):
        meant = nearest(name, [*_spoken_of(problem), "sample_weight", "columns"])
        raise TypeError(
            f"{name}= is not an argument, and no constraint names such a population{meant} A "
            f'constraint names one by on="{name}"'
        )


def check_referrals(compiled: Compiled) -> None:
    """Raise if referring every row keeps all promises and costs the least: nothing would be decided.

    That happens if nothing limits referrals, since a referral is not an error.
    """
    if referral_of(compiled.classes) is None:
        return
    scores = np.zeros((compiled.decisions, len(compiled.cells)))
    scores[-1] = 1.0
    objective, violations = compiled.evaluate(scores)
    others = [np.roll(scores, place, axis=0) for place in range(1, compiled.decisions)]
    least = min(float(compiled.evaluate(each)[0]) for each in others)
    free = compiled.goal is None and bool((block_costs(compiled) >= -TOLERANCE).all())
    if free and objective <= least and (violations <= TOLERANCE).all():
        raise ValueError(
            f"{compiled.problem.aim}: a referral is not an error, and nothing limits it, so "
            'every row would be referred: promise few, as in "referred() <= 0.15", or give it a price, '
            'as in objective="error_rate() + 0.2 * referred()"'
        )


def block_costs(compiled: Compiled) -> Array:
    """How much more each decision costs than a referral by the objective, in each cell."""
    net = sum(compiled.spread_each(block.net)[0] for block in compiled.blocks)
    each = np.concatenate(
        [np.zeros((1, compiled.cell_count)), np.reshape(net, (-1, compiled.cell_count))]
    )
    more: Array = each - each[-1]
    return more


def unknown_columns(problem: Problem) -> dict[Name, str]:
    """The columns that no model may see, since new rows lack them, and what each holds."""
    experts = (rate.expert for rate in problem.rates if rate.expert is not None)
    audited = (each.audited for each in problem.guessed if each.audited is not None)
    return dict.fromkeys(
        experts, "is an expert's decision, which is not known before a row is referred"
    ) | dict.fromkeys(audited, "has the true group of audited rows, which is not known for new rows")


def unseen(
    features: Features | Sequence[Name] | None, columns: Mapping[Name, str], X: Any
) -> Features | Sequence[Name] | None:
    """The features that a model may see, without these columns, each with what it holds."""
    there = [name for name in columns if name in frame_columns(X)]
    if not there:
        return features
    visible = as_features(features)
    if named := [name for name in there if name in (visible.only or ())]:
        raise ValueError(f"features: {named[0]!r} {columns[named[0]]}: leave it out of features")
    if visible.only is not None:
        return visible
    return replace(
        visible, exclude=[*visible.exclude, *(name for name in there if name not in visible.exclude)]
    )


def _check_groups(others: Iterable[str], problem: Problem) -> None:
    """Raise if groups are given as other libraries take them, not as columns."""
    refuse_groups(_unspoken_of(others, problem))


def refuse_groups(names: Iterable[str], deciding: bool = False) -> None:
    """Raise if an argument is another library's name for groups; the error says what to write."""
    use = "give the columns that constraints use as columns=, as in columns={'sex': sex}, and name them "
    use += "in constraints, as in equal_opportunity(sex, slack=0.05)"
    if deciding:
        use = "a decision uses the columns that the model was trained on. Groups that thresholds are "
        use += "set by are named in training, known=['sex'], and given as columns={'sex': sex}"
    for name in names:
        if name.lower() in GROUPS:
            raise TypeError(f"{name}= is not an argument: {use}")


def _spoken_of(problem: Problem) -> set[str]:
    custom = (each.on for each in general(problem.subject_to))
    return {on for on in (*(rate.on for rate in problem.rates), *custom) if on is not None}


def _unspoken_of(others: Iterable[str], problem: Problem) -> list[str]:
    return [name for name in others if name not in _spoken_of(problem)]


def _population(given: Any, classes: tuple[Any, ...]) -> Population:
    classes = tuple(map(plain_value, classes))
    given = accept(given)
    if isinstance(given, Population):
        yes = classes[1]
        positive = given.labels.yes  # truth values mean yes and no under any name
        if (
            len(label_classes(classes)) == 2
            and positive is not None
            and positive is not True
            and positive != yes
        ):
            raise ValueError(
                f"its yes is {positive!r}, but the yes of y is {yes!r}: make it rb.Population(..., "
                f"positive={yes!r}), or pass (table, labels)"
            )
        return given
    if isinstance(given, tuple) and len(given) in (2, 3):
        X, y, columns = (*given, None)[:3]
        check_order(X, {"y": y})
        return labelled(X, trained_labels(y, classes), columns, None, classes)
    if hasattr(given, "shape"):
        table = columns_by_name(given if frame_columns(given) else None)
        return Population(given, columns=table, classes=classes)
    raise TypeError(
        "a population is a table, a table with its labels as (table, labels) or (table, labels, "
        f"columns), or a rb.Population, got {type(given).__name__}"
    )


def encoded(
    people: Mapping[str, Population], encoding: Encoding, spoken_of: Sequence[Name]
) -> dict[str, Population]:
    """The populations as the model sees them, with the columns that promises use."""
    seen = {}
    for name, each in people.items():
        try:
            seen[name] = each.seen_through(encoding.transform, spoken_of)
        except ValueError as error:
            if name == FIRST:
                raise
            raise ValueError(f"{name}: its X must be like the training X: {error}") from None
    return seen


def encoding_for(
    population: Population, learner: Learner, features: Features | Sequence[Name] | None
) -> Encoding:
    """The encoding of these rows for a learner; rows on disk are read once."""
    if not population.stored:
        takes = {"takes_sparse": learner.takes_sparse, "takes_missing": learner.takes_missing}
        return fit_encoding(population.X, population.weights, features, learner.style, **takes)
    pieces = ((piece.X, piece.weights) for piece in population.pieces(inputs=True))
    missing = learner.takes_missing  # a sparse matrix is not accepted, since batches on disk are arrays
    if not frame_columns(population.X):
        return fit_to_arrays(pieces, features, learner.style, takes_missing=missing)
    return fit_to_pieces(pieces, features, learner.style, takes_missing=missing, coded=True)


def check_on_disk(model: Any, learners: Sequence[Learner], people: Mapping[str, Population]) -> None:
    """Raise if rows are on disk or shared out but a model needs all of them here, before any is read.

    The first possible one of the `learners` trains; in several processes, the last one or a plug-in.
    """
    stored = any(each.stored for each in people.values())
    if stored and not any(learner.takes_stored for learner in learners):
        raise ValueError(
            f"model={model!r} needs all rows in memory, but these are on disk: use 'linear', 'mlp', "
            "'lightgbm', 'xgboost' or a classifier with partial_fit, with confidence= and without "
            "player=; or train on their in_memory()"
        )
    if any_shared(people) and not (learners[-1].takes_stored or learners[0].cross_fits):
        raise by_one_process(model)


def by_one_process(model: Any, why: str = "") -> ValueError:
    """The error if rows are shared out, and no learner of the model takes them."""
    return ValueError(
        f"model={model!r} is trained by one process{why}: use 'linear' or 'mlp', or start one process"
    )
