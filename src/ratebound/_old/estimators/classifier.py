"""A scikit-learn classifier that keeps promises: fit, predict, audit, save."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ratebound._bridge import accept
from ratebound._old.auditing.report import Audit
from ratebound._old.base.checks import check_number, check_word
from ratebound._old.base.choices import METHODS
from ratebound._old.base.parameters import MethodAndParameter
from ratebound._old.base.processes import alone, of_first
from ratebound._old.base.progress import TimeLimit, working
from ratebound._old.base.types import Array
from ratebound._old.estimators.belonging import together, with_groups
from ratebound._old.estimators.choices import (
    Training,
    as_learner,
    as_players,
    as_plug_in,
    as_solution,
    plug_in_for,
)
from ratebound._old.estimators.every_grouping import asked_of_every_grouping, check_groupings
from ratebound._old.estimators.finishing import (
    as_it_says,
    beside_simplest,
    cheapest_certified,
    drawn_shares,
    given_seed,
    making_of,
    noted,
    with_best_draw,
)
from ratebound._old.estimators.given import (
    asked_for,
    by_one_process,
    check_on_disk,
    check_own,
    check_referrals,
    check_spoken_of,
    check_whole_population,
    encoded,
    encoding_for,
    given_rows,
    other_populations,
    refuse_groups,
    trained_labels,
    unknown_columns,
    unseen,
)
from ratebound._old.estimators.guessing import check_audited, check_guesses
from ratebound._old.estimators.plugging_in import (
    at_its_levels,
    cannot,
    errors_only,
    learned_rules,
    solved_rules,
)
from ratebound._old.estimators.policy import Policy, as_policy
from ratebound._old.estimators.proposals import OUT_OF_FOLD
from ratebound._old.estimators.rules import Rules
from ratebound._old.estimators.sampling import in_each_process, some_in_memory
from ratebound._old.estimators.search import Search, SearchResult, search
from ratebound._old.game.learner import Learner
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.compiling import compile, compile_again, parted
from ratebound._old.problem.frames import columns_by_name, unmasked
from ratebound._old.problem.guessing import copied_by, guess_of, knowing, with_known_groups
from ratebound._old.problem.labels import class_array
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Problem
from ratebound._old.problem.sharing import any_shared
from ratebound._old.rates.expressions import FIRST
from ratebound._old.rates.general import refuse_general
from ratebound._old.rates.guesses import as_guessed
from ratebound._old.rates.kinds import label_classes, referral_of
from ratebound._old.rates.subsets import Name
from ratebound._old.solution.baselines import ConstantAsGood, warn_if_constant
from ratebound._old.solution.certificate import Certificate
from ratebound._old.solution.leveling import at_levels, at_some_levels
from ratebound._old.solution.mixture import Mixture, member
from ratebound._old.solution.reasons import Reasons
from ratebound._old.solution.record import course_of
from ratebound._old.solution.status import PromisesBroken, warn_if_broken
from ratebound._old.solution.thresholds import known_groups, known_names
from ratebound._old.tables.encoding import Encoding
from ratebound._old.tables.records import is_records
from ratebound._old.tables.treatments import Features, as_features

INTERRUPTED = (
    "Training was interrupted: this is the best so far, after fewer rounds than were asked for."
)
CERTIFIED = 0.95  # the confidence of a certificate if none is given


class RateConstrainedClassifier(ClassifierMixin, BaseEstimator):
    """Trains a model to keep rate constraints at the least cost, and says whether it does.

    It is a scikit-learn classifier: it works in `Pipeline`, `GridSearchCV` and `cross_validate`.

    Parameters
    ----------
    constraints : constraint, str, or list of them, default=()
        The promises, such as ``'recall(sex == "Female") >= 0.95 * recall()'``. Without any, the plain
        model is trained. A count refers to all rows given to `fit`, including held-out ones, unless it
        has ``per=``. In cross-validation every fold has fewer rows, so give ``per=`` or use a rate.
    objective : expression, str or Problem, default="error_rate()"
        What to minimize, if less is better, as with errors and costs. Otherwise state the direction, as
        in ``"maximize recall()"`` or ``rb.Problem(maximize=rb.recall())``. The promises of a
        `rb.Problem` count too. The default asks for few errors of any kind.
    model : str, learner, estimator, module or callable, default="linear"
        The model to train:

        - "linear", "mlp", "lattice", "lightgbm" or "xgboost": each short for a learner with several
          learning rates to choose from; "catboost" for a `CatBoostClassifier` with its defaults;
        - a learner with your own settings, such as ``rb.Linear(...)``, ``rb.MLP(hidden=(64,))`` or
          ``rb.Lattice(monotone={"income": 1})``;
        - any scikit-learn classifier whose fit takes sample_weight, also an `LGBMClassifier` or an
          `XGBClassifier`: each answer to the multipliers is a whole fit with its own parameters, whereas
          "lightgbm" and ``rb.Boosted(...)`` grow a single ensemble against them;
        - a `torch.nn.Module`, or a function from the number of features to one.

        Estimators are cloned, never changed. A Pipeline receives the table unchanged; other models
        receive texts encoded as numbers. The default is the fastest and easiest to interpret, and needs
        no extra.
    player : str or player, default="auto"
        The player of the multipliers: "swap", "external", "lagrangian", or one such as
        ``rb.SwapRegret(...)``. "auto" is cutting planes for scikit-learn classifiers, which need the
        fewest fits; "external" for linear models, networks and lattices with more than 100 constraints,
        where swap regret takes too long; and otherwise "swap". A named player tries several learning
        rates with each of the model's, and the paper's heuristic chooses among them on held-out rows.
        "swap" starts with a weight of .9 on the objective, where `rb.SwapRegret` starts uniform, and
        with many constraints spends most rounds on raising that weight.
    solution : {"shrink", "best", "average", "last"} or callable, default="shrink"
        How the iterates become a model; a function such as `rb.shrink` is called with the trace.
        "shrink" mixes as few models as keep the promises at the least cost; "best" is a single model.
        Both choose among the iterates and the same model trained without promises, each at any
        threshold. So a promise that one decision for everyone would keep, such as a bound on recall or
        on the share of yeses, is always kept, and no promise costs more than the best threshold of the
        plain model would. A bound on accuracy, churn or costs may be out of reach. "average" and "last"
        use the iterates as they were played.
    features : Features or list of str, default=None
        Columns of a table that the model may see; all by default. Constraints may use others.
        ``rb.Features(only=..., exclude=..., categorical=...)`` has more options, and `rb.inspect` shows
        the treatment of each column. Missing values are filled and flagged for models that take none.
    known : str or list of str, default=None
        Columns that may be used to decide, besides the model's score. Each combination of their values
        gets its own rule, such as a threshold of its own. `predict` needs these columns, in `X` or in
        `columns`. A row with values that training did not have is decided as the largest group is, with
        a warning. None by default: whether a group may be looked at is your choice, and often a matter
        of law.
    positive_label : label, default=None
        With two labels, the one that means yes; by default the last in sorted order, as in scikit-learn.
        With more classes rates name their class: ``recall(of="cat")``.
    refer : str, default=None
        The name of the decision that refers a row to a person, such as "ask a person". There is then one
        more decision than labels: `referred` rates count it, rates of ``rb.decided`` leave it out, and
        it is neither right nor wrong. So promise few referrals, or give them a price in the objective.
        By default every row is decided. ``docs/refer.md`` says what each rate means then.
    confidence : float or None, default=0.9
        The confidence with which all constraints should hold together on new rows of the same kind,
        which is what most people mean by keeping a promise. At 0.9, at most one sample in ten leads to a
        false claim that the model keeps them. Each row is judged by models that did not see it, and
        constraints are kept with a margin. If that costs more than it is worth, the margin is smaller,
        and `status_` says which confidence is left and what the rest would cost. None asks only for
        these rows. ``docs/new_rows.md`` shows the cost.
    method : {"auto", "plug-in", "game"}, default="auto"
        How the model is found. "plug-in" learns the probability of each label and group, out of fold,
        and then solves for the one rule that keeps the promises at the least cost (`rb.PlugIn`); "game"
        trains the model against multipliers, as in the paper. "auto" is the plug-in if there is a
        `confidence`. It is the game without one, and for problems that a plug-in cannot solve. If the
        plug-in does not keep the promises, the game is tried too, and the better of the two is taken.
        Without promises, if only errors count, "auto" is the plain model, whatever the confidence is.
    guessed : Guessed or list of them, default=None
        How columns that promises name are guessed, or missing in some rows: see `rb.guessed`. None by
        default: every column is taken as it is.
    certify : float, default=None
        The share of the rows, such as 0.3, to keep only for a certificate. The cheapest model that
        passes is chosen, and `certificate_` is its `rb.Certificate` at `confidence`, or 0.95 if that is
        None. If none passes, it says how many rows would be needed. None, the default, trains on all
        rows.
    training : Training, default=None
        How to train and for how long, ``rb.Training(epochs=..., max_time=...)``. None, the default, is
        ``rb.Training()``.
    verbose : bool, default=None
        Whether to show progress: a bar on a terminal or in a notebook, lines elsewhere. By default only
        the bar is shown, once a fit takes longer than two seconds. 0 turns it off.
    random_state : int or RandomState, default=None
        The seed; the same seed gives the same bits on the same machine. By default it is drawn from
        NumPy's global generator, as in scikit-learn.

    Attributes
    ----------
    solution_ : Policy
        The model that decides, audits, and is saved.
    status_ : Status
        Whether the solution keeps the constraints, and if not which conflict; print it.
        ``status_.confidence`` is the confidence that all hold on new rows, if it was asked for.
    constraints_ : tuple of Constraint
        The constraints as compiled on the training rows, in order: one for each group, and counts with
        their number of rows.
    violations_ : dict of str to float
        The violation of each constraint on the training rows, by its words; a constraint is kept if it
        is <= 0.
    prices_ : dict of str to float
        For each constraint, how much the objective on the training rows would fall per unit of
        relaxation, given the same candidates or thresholds; NaN if not all constraints can be kept.
        `rb.price` says what other bounds would cost.
    multipliers_ : dict of str to float
        The same under its other name, the Lagrange multipliers of the solution's program. The weights
        that steered training are in ``trace_.multipliers`` and are not prices.
    trace_ : Trace
        All iterates kept; with `confidence`, their values are out of fold.
    certificate_ : Certificate
        The certificate from the rows set aside by `certify`; it exists only with `certify`.
    classes_ : array of shape (n_classes,)
        The labels in sorted order.
    decisions_ : array of shape (n_decisions,)
        The possible decisions: the labels, and with `refer` a referral after them.
    n_features_in_ : int
        The number of columns of `X`.
    feature_names_in_ : array of str
        The names of these columns, if `X` has names.

    See Also
    --------
    thresholds : For an existing score, if the groups are known when deciding.
    plan : Measures whether thresholds, training or both do best.
    explain : Whether the promises can be kept at all, before training.

    Examples
    --------
    Women and men who repay should be accepted about equally often. The model sees only the income:

    >>> import numpy as np, pandas, ratebound._old as rb
    >>> rng = np.random.default_rng(0)
    >>> sexes, incomes = rng.choice(["f", "m"], 5000), rng.normal(3, 1, 5000)
    >>> people = pandas.DataFrame({"sex": sexes, "income": incomes})
    >>> enough = np.where(people["sex"] == "f", 2.6, 3.2)
    >>> repays = people["income"] + rng.normal(0, 0.7, 5000) > enough
    >>> promise = 'recall(sex == "f") >= 0.95 * recall()'
    >>> model = rb.RateConstrainedClassifier(promise, features=["income"], random_state=0)
    >>> print(model.fit(people, repays).status_)
    feasible: every constraint is kept on the training rows, each judged by models that did not see it.
    On new rows like these all hold together with a confidence of about ...
    Without promises error_rate() is ...
    >>> model.predict(pandas.DataFrame({"income": [1.0, 5.0]}))
    array([False,  True])
    >>> model.constraints_
    (recall(sex == "f") >= 0.95 * recall(),)
    >>> model.violations_[promise] <= 1e-9
    True

    What a little more, or less, would cost on these rows:

    >>> print(rb.price(model, promise).sentence)
    Raising the bound by 0.01 would cost 0.0... of error_rate(); lowering it as much would gain 0.0...
    """

    solution_: Policy
    certificate_: Certificate
    __metadata_request__fit = {"columns": True}  # noqa: RUF012  # scikit-learn's own convention

    def __init__(
        self,
        constraints: Any = (),
        *,
        objective: Any = "error_rate()",
        model: Any = "linear",
        player: Any = "auto",
        solution: Any = "shrink",
        features: Features | Sequence[str] | None = None,
        known: str | Sequence[str] | None = None,
        positive_label: Any = None,
        refer: str | None = None,
        confidence: float | None = 0.9,
        method: str = "auto",
        guessed: Any = None,
        certify: float | None = None,
        training: Training | None = None,
        verbose: bool | None = None,
        random_state: Any = None,
    ) -> None:
        self.constraints = constraints
        self.objective = objective
        self.model = model
        self.player = player
        self.solution = solution
        self.features = features
        self.known = known
        self.positive_label = positive_label
        self.refer = refer
        self.confidence = confidence
        self.method = method
        self.guessed = guessed
        self.certify = certify  # the method of the same name passes it on, see MethodAndParameter
        self.training = training
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True  # filled and flagged if a model takes none
        return tags

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, including `certify`, whose attribute is the method.

        Parameters
        ----------
        deep : bool, default=True
            Whether to list the parameters of its parts too, as in ``training__epochs``.

        Returns
        -------
        dict
            The values by name.
        """
        return super().get_params(deep) | {"certify": self._share_to_certify}

    @property
    def _share_to_certify(self) -> float | None:
        share: float | None = vars(self)["certify"]
        return share

    def fit(
        self,
        X: Any,
        y: Any = None,
        columns: Any = None,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        **others: Any,
    ) -> Any:
        """Train on rows `X` with labels `y`.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or Population
            The rows. If it is a table, constraints can use its columns directly. Rows larger than memory
            are a population that has its own labels, `X` alone: ``fit(rb.Parquet("rows/*.parquet",
            label="y"))``.
        y : array of shape (n,), default=None
            The labels; only a population has its own.
        columns : DataFrame or mapping, default=None
            Columns that constraints use and the model must not see. By default only the columns of `X`
            are used.
        sample_weight : array of shape (n,), default=None
            How much each row counts; by default each counts once.
        groups : str or array of shape (n,), default=None
            Which rows belong together, such as those of one customer: a column, or an id for each row.
            They are judged by models that saw none of them, and count as one row for the confidence of a
            promise. By default each row is independent, unless rows are copies of each other.
        **others : table, tuple or Population
            Further populations, by the names that constraints give them, as tables like `X`:
            ``pool=frame`` for rates that need no labels, ``steering=(frame, y)`` or ``steering=(frame,
            y, columns)`` with labels spelled as `y` is. A `rb.Population` may be weighted too.

        Returns
        -------
        RateConstrainedClassifier
            Itself, fitted. A warning is given if it breaks promises on these rows; see `status_`.

        Raises
        ------
        ValueError
            If a constraint names columns, values or groups that are not in the rows, or a parameter
            makes no sense. Promises that cannot be kept are not an error.
        """
        learners, solve, training = self._checked_parameters()
        known = None if self.known is None else known_names(self.known)
        columns, by = self._with_groups(X, columns, groups)
        first, classes = given_rows(self, X, y, columns, sample_weight)
        seed = of_first(int(check_random_state(self.random_state).randint(2**31 - 1)))
        confidence = self.confidence if self._share_to_certify is None else self.confidence or CERTIFIED
        asked_of = asked_for(self.objective, self.constraints)
        check_own(asked_of, learners[-1], self.model, self.known, self._share_to_certify)
        check_spoken_of(others, asked_of)
        people = {FIRST: first, **other_populations(others, classes, asked_of)}
        problem = knowing(asked_of, as_guessed(self.guessed), people)
        check_guesses(problem, known, self._share_to_certify)
        people = with_known_groups(problem, people)
        check_audited(problem, people)
        by = copied_by(problem) if by is None else by
        check_on_disk(self.model, learners, people)
        fitting, aside = self._set_aside(problem, people, seed, by)
        check_referrals(fitting)
        asked = Search(
            compiled=fitting,
            learner=learners[-1],
            pairs=(learners[-1], learners[-1].player),
            solve=solve,
            known=known,
            confidence=confidence,
            certify=self._share_to_certify,
            training=training,
            clock=TimeLimit(training.max_time),
            seed=seed,
            progress=None if self.verbose is None else bool(self.verbose),
            together=together(fitting, by) if confidence is not None and fitting.constraints else None,
        )
        asked, result, encoding = self._found(asked, learners)
        if aside is not None and asked.compiled.problem.asked.leveled:
            aside = compile_again(aside, asked.compiled.problem)
        self._finished(asked, result, encoding, classes, aside)
        warn_if_broken(self.status_, self)
        warn_if_constant(asked.compiled.problem, self.solution_.record, self)
        return self

    def _finished(
        self,
        asked: Search,
        result: SearchResult,
        encoding: Encoding,
        classes: tuple[Any, ...],
        aside: Compiled | None,
    ) -> Any:
        """Itself, fitted with the result of a search."""
        compiled, seed, confidence = asked.compiled, asked.seed, asked.confidence
        told: dict[str, Any] = {
            "made": making_of(self, asked, result, aside),
            "course": course_of(result.trace),
        }

        folds = result.rules is not None

        def finished(solution: Mixture, margins: Array) -> Mixture:
            drawn = with_best_draw(solution, compiled, margins, seed, result.resolved, folds)
            own = replace(drawn, encoding=encoding, classes=classes).recorded(
                setting=result.setting, seed=given_seed(self), data=compiled.digest, **told
            )
            beside = beside_simplest(own, asked, result)
            return own.recorded(drawn=drawn_shares(drawn, compiled), **beside)

        solution, margins = finished(result.solution, result.margins), result.margins
        self.__dict__.pop("certificate_", None)  # of an earlier fit
        if aside is not None:
            assert confidence is not None
            safer = [finished(*each) for each in result.safer]
            with working("certifying", asked.progress):
                place, self.certificate_ = cheapest_certified(safer, solution, aside, confidence)
            if place is not None:
                solution, margins = safer[place], result.safer[place][1]
            solution = solution.recorded(certificate=self.certificate_)
        if result.trace.interrupted:  # from the keyboard: what exists is used, with a warning
            own = solution.record.status
            solution = solution.recorded(
                status=replace(own, message=f"{own.message.removesuffix('.')}. {INTERRUPTED}")
            )
            warnings.warn(INTERRUPTED, RuntimeWarning, stacklevel=3)
        pool = result.pool(margins)
        self.solution_ = as_policy(solution.recorded(pool=pool))
        self.status_, self.trace_ = self.solution_.status, result.trace
        self.decisions_ = self.solution_.decisions_
        self.constraints_ = compiled.constraints
        judged = self.solution_.violations
        self.violations_, self.prices_ = (
            dict(zip(compiled.labels, values.tolist(), strict=True))
            for values in (judged[OUT_OF_FOLD if OUT_OF_FOLD in judged else "train"], pool.paid())
        )
        self.multipliers_ = self.prices_
        self._learned: Any = None
        if result.rules is not None:
            self._learned = asked, result.rules, encoding, classes
        return self

    def __getstate__(self) -> Any:
        """Its state without the training rows, which only `with_constraints` needs."""
        return {name: value for name, value in super().__getstate__().items() if name != "_learned"}

    def with_constraints(self, constraints: Any) -> Any:
        """The same model with other promises, solved without another fit.

        What was learned about each row stays as it is, so this takes a fraction of a second: what would
        90% in place of 80% cost?

        Parameters
        ----------
        constraints : constraint, str, or list of them
            The promises, about columns and sets of rows that it was fitted for, or unions of these:
            other bounds, fewer promises, a group and everyone.

        Returns
        -------
        RateConstrainedClassifier
            A new fitted classifier; this one stays as it is.

        Raises
        ------
        ValueError
            If it was not found by the plug-in, or the promises are about sets of rows that were not
            learned; then a fit is needed.

        Examples
        --------
        >>> import numpy as np, ratebound._old as rb
        >>> X = np.random.default_rng(0).normal(size=(1000, 2))
        >>> columns = {"group": np.where(X[:, 1] > 0, "a", "b")}
        >>> model = rb.RateConstrainedClassifier('positive_rate(group == "b") >= 0.3', random_state=0)
        >>> _ = model.fit(X, X.sum(axis=1) > 0, columns=columns)
        >>> other = model.with_constraints('positive_rate(group == "b") >= 0.4')
        >>> other.audit(X, X.sum(axis=1) > 0, columns=columns).kept
        True
        """
        rules = self.learned
        asked, _, encoding, classes = self._learned
        people = asked.compiled.populations
        problem = knowing(asked_for(self.objective, constraints), as_guessed(self.guessed), people)
        remedy = "Fit it again for this, for example with model='mlp'."
        refuse_general(problem.subject_to, "with_constraints", remedy)
        try:
            compiled = compile_again(asked.compiled, at_some_levels(problem))
            check_referrals(compiled)
            if problem.leveled:
                compiled = at_its_levels(compiled, rules)
            other = learned_rules(compiled, rules)
        except ValueError as error:
            raise ValueError(f"{error}: fit it again for these promises") from None
        own = replace(asked, compiled=compiled, certify=None, clock=TimeLimit(None))
        model = clone(self).set_params(constraints=constraints, certify=None)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        return model._finished(own, solved_rules(own, other), encoding, classes, None)

    @property
    def learned(self) -> Rules:
        """The rules of what the plug-in learned about the training rows."""
        check_is_fitted(self)
        if getattr(self, "_learned", None) is None:
            raise ValueError(
                "with_constraints solves again for what the plug-in learned, and this model was trained "
                "by the game, or comes from a file: fit it with method='plug-in'"
            )
        rules: Rules = self._learned[1]
        return rules

    @property
    def coef_(self) -> Array:
        """The coefficients of linear models, (1, d) or (n_classes, d); see `get_feature_names_out`.

        For a plug-in they belong to the label's log odds; positive favors ``classes_[1]``.
        """
        check_is_fitted(self)
        of_models = self.solution_.coefficients
        if not of_models:
            raise AttributeError(
                "coef_ exists for linear models, and these are not linear: reasons(rows) shows what "
                "moves each decision, and sklearn.inspection.permutation_importance what matters overall"
            )
        values = np.array([*of_models.values()]).T
        if values.ndim == 1:
            sign = 1.0 if self.solution_.classes_[1] == self.solution_.classes[1] else -1.0
            return sign * values[None]
        return values

    @property
    def feature_importances_(self) -> Array:
        """How much each feature matters to trees, (d,); see `get_feature_names_out`.

        They sum to 1, and are the mean over the models. For a plug-in they are the importances for the
        label.
        """
        check_is_fitted(self)
        of_models = self.solution_.importances
        if not of_models:
            raise AttributeError(
                "feature_importances_ exists for trees, and these models have no importances: "
                "sklearn.inspection.permutation_importance measures them on rows"
            )
        return np.array([*of_models.values()])

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the features that columns become, as in `coef_` and `feature_importances_`.

        Parameters
        ----------
        input_features : object, default=None
            Not used; scikit-learn's convention.

        Returns
        -------
        array of str
            Such as "age", or "job == nurse" for a category.
        """
        check_is_fitted(self)
        encoding = self.solution_.encoding
        assert encoding is not None  # otherwise it is not fitted
        return np.array(encoding.names, dtype=object)

    def reasons(self, X: Any, *, columns: Any = None, key: Any = None) -> Reasons:
        """The reasons for each decision: the label, every promise, and the columns that move it.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix, dict or list of dict
            The rows.
        columns : DataFrame or mapping, default=None
            The `known` columns that are not in `X`.
        key : array of shape (n,), default=None
            An entity's id for each row, as in `predict`.

        Returns
        -------
        Reasons
            The parts of each row's score, which sum to it, and each column's effect; prints as a table.
        """
        rows = self._rows(X)
        return self.solution_.reasons(rows, columns=columns, key=key)

    def _with_groups(self, X: Any, columns: Any, groups: Any) -> tuple[Any, Name | None]:
        """The columns with ids that were passed as an array, and the column that has them."""
        if groups is None or isinstance(groups, str):
            return columns, groups
        X = accept(X)
        if isinstance(X, Population):
            raise TypeError("for a population, groups= is the name of one of its columns")
        named = columns_by_name(columns) if columns is not None else {}
        return with_groups(named, unmasked(groups), X.shape[0] if hasattr(X, "shape") else len(X))

    def _found(
        self, asked: Search, learners: Sequence[Learner]
    ) -> tuple[Search, SearchResult, Encoding]:
        """The best solution by these learners; the next one is tried if one breaks promises."""
        tried: list[tuple[Search, SearchResult, Encoding]] = []
        note = why = ""
        plainly = errors_only(asked.compiled) and not asked.compiled.stored
        if plainly:
            learners = self._learners(learners[-1], asked.training, plainly=True)
        if ways := asked_of_every_grouping(asked.compiled.problem):
            check_groupings(asked.compiled.problem, asked.compiled)
            learners = [learner for learner in learners if learner.cross_fits]
            if not learners:
                raise ValueError(
                    f"{ways[0]}: rules for every grouping are found by the plug-in, but this model is "
                    "trained by the game: use method='plug-in', or leave out worst="
                )
        for learner in learners:
            if learner.cross_fits:
                why = cannot(asked.compiled, asked, learner)
                if why and len(learners) == 1:
                    raise ValueError(f"method='plug-in' cannot solve this: {why}. Use method='game'")
                if why:
                    note = f"It was trained by the game, since for the plug-in {why}."
                    continue
                if plainly:
                    labels = learner.labels(asked.compiled.sizes[FIRST])
                    with self._prepared(asked, labels, seen_by=learner) as (own, encoding):
                        return own, as_it_says(search(own), own), encoding
            elsewhere = asked.compiled.stored or any_shared(asked.compiled.populations)
            lacking = elsewhere and not (learner.takes_stored or learner.cross_fits)
            if tried and (lacking or not learner.takes_weights):
                break
            if lacking and not asked.compiled.stored:
                raise by_one_process(self.model, f", and for the plug-in {why}" if note else "")
            leveled = bool(asked.compiled.problem.asked.leveled)
            if leveled and not learner.cross_fits and not tried:
                asked = self._leveled(asked)
            with self._prepared(asked, learner, seen_by=learner) as (own, encoding):
                result = search(own)
                if leveled and result.rules is not None:  # which are at levels of their own
                    own = replace(own, compiled=result.rules.by_goal or result.rules.compiled)
            if leveled and result.rules is not None:
                asked = replace(asked, compiled=compile_again(asked.compiled, own.compiled.problem))
            tried.append((own, result, encoding))
            latest = tried[-1][1]
            if latest.solution.status.feasible or latest.lets_go or asked.clock.left == 0:
                break
        best = min(tried, key=lambda each: each[1].solution.status.violation)
        return best[0], noted(best[1], note, [each[1] for each in tried]), best[2]

    @contextmanager
    def _prepared(
        self, asked: Search, learner: Learner, seen_by: Learner
    ) -> Iterator[tuple[Search, Encoding]]:
        """The search for this learner, with rows encoded for the learner `seen_by`.

        A learner that cross-fits is given the rows of all processes, in each of them.
        """
        fitting, known = asked.compiled, asked.known
        features = unseen(self.features, unknown_columns(fitting.problem), fitting.first.X)
        encoding = encoding_for(fitting.first, seen_by, features)
        guesses = (guess_of(each) for each in fitting.problem.guessed)
        held = (name for name in guesses if name in fitting.first.column_names)
        spoken_of = (*fitting.problem.columns, *(known or ()), *held)
        compiled = fitting.seen_as(encoded(fitting.populations, encoding, spoken_of))
        if known is not None and compiled.all_in_memory:
            known_groups(known, compiled)  # so that errors are raised before training
        learner = learner.prepared(encoding.names, encoding.codes, compiled.sizes[FIRST])
        if asked.training.warm_start and hasattr(self, "solution_"):
            learner = learner.starting_at(_heaviest(self.solution_))
        pairs = as_players(self.player, learner, len(compiled.problem.constraints))
        own = replace(asked, compiled=compiled, learner=learner, pairs=pairs)
        if not (seen_by.cross_fits and any_shared(compiled.populations)):
            yield own, encoding
            return
        whole = in_each_process(compiled)
        with alone():
            copies = together(whole, None) if asked.confidence and whole.constraints else None
            yield replace(own, compiled=whole, together=copies), encoding

    def _set_aside(
        self, problem: Problem, people: dict[str, Population], seed: int, groups: Name | None
    ) -> tuple[Compiled, Compiled | None]:
        """The problem on the training rows, and on the certification rows, if any.

        The same share of every cell is set aside, so every group is represented. The levels at which
        ratios are compared are searched for later.
        """
        problem = at_some_levels(problem)
        if self._share_to_certify is None:
            return compile(problem, **people), None
        try:
            whole = compile(problem, **people)
            ids = together(whole, groups, told=False)
            return parted(whole, self._share_to_certify, seed, together=ids)
        except ValueError as error:
            raise ValueError(f"certify={self._share_to_certify}: {error}") from None

    def _leveled(self, asked: Search) -> Search:
        """The search with every comparison of two ratios at the level that is best for a game.

        It is the best one for thresholds on the same model trained without promises; for rows on disk,
        on a sample.
        """
        compiled, known = asked.compiled, asked.known
        people = {name: some_in_memory(each) for name, each in compiled.populations.items()}
        first = people[FIRST]
        plain = clone(self).set_params(
            constraints=(),
            objective="error_rate()",
            known=None,
            confidence=None,
            certify=None,
            guessed=None,
        )
        if referral_of(first.classes or ()) is not None:
            # Its three scores are the costs, so offsets on them give any pair of cutoffs.
            plain.set_params(objective="error_rate() + 0.2 * referred()", confidence=0.9)
        assert first.y is not None
        labels = np.asarray(label_classes(first.classes or ()))[first.y.astype(int)]
        plain.fit(first.X, labels, columns=first.columns or None, sample_weight=first.weights)
        problem = at_levels(compiled.problem.asked, plain.solution_, known=known or (), **people)
        return replace(asked, compiled=compile_again(compiled, problem))

    def _checked_parameters(self) -> tuple[list[Learner], Callable[..., Mixture], Training]:
        """The objects that the parameters name, checked before anything is read or trained."""
        learner, solve = as_learner(self.model), as_solution(self.solution)
        check_word("method", self.method, METHODS)
        as_features(self.features)
        if self.confidence is not None:
            check_number("confidence, a probability such as 0.9,", self.confidence, above=0, below=1)
        if self._share_to_certify is not None:
            check_number(
                "certify, a share of the rows such as 0.3,", self._share_to_certify, above=0, below=1
            )
        training = Training() if self.training is None else self.training
        if not isinstance(training, Training):
            raise TypeError(f"training takes rb.Training(...), got {training!r}")
        if training.warm_start:
            learner.starting_at(np.empty(0))  # an error before any training, if it cannot continue
        return self._learners(learner, training), solve, training

    def _learners(self, learner: Learner, training: Training, *, plainly: bool = False) -> list[Learner]:
        """The learners to try, in turn; if only errors count (`plainly`), whatever the confidence is."""
        if self.method == "plug-in":
            return [as_plug_in(self.model)]
        plays = self.player != "auto" or training.warm_start or self.method == "game"
        for_new_rows = self.confidence is not None or self._share_to_certify is not None
        if learner.cross_fits or plays or not (for_new_rows or plainly):
            return [learner]
        plugged = plug_in_for(self.model)
        return [learner] if plugged is None else [plugged, learner]

    def predict(
        self,
        X: Any,
        *,
        columns: Any = None,
        key: Any = None,
        exactly: int | None = None,
        **others: Any,
    ) -> Array:
        """A decision for each row, always the same for the same row or the same `key`.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix, dict, list of dict or Population
            The rows, with the columns that it was fitted on.
        columns : DataFrame or mapping, default=None
            The `known` columns that are not in `X`.
        key : array of shape (n,), default=None
            An entity's id for each row. If models are mixed, its hash chooses the one that decides. By
            default the features themselves are hashed.
        exactly : int, default=None
            Say yes to exactly so many of these rows, the best by score, keeping the promises that need
            no labels; as in `Mixture.predict`. By default each row is decided by itself.
        **others
            Nothing else is accepted; arguments of other libraries are refused with a hint.

        Returns
        -------
        array of shape (n,)
            The decisions, spelled as the labels were.
        """
        refuse_groups(others, deciding=True)
        if others:
            raise TypeError(f"predict takes no argument {next(iter(others))!r}")
        rows = self._rows(X)
        return self.solution_.predict(rows, columns=columns, key=key, exactly=exactly)

    def predict_proba(self, X: Any) -> Array:
        """The probability of each label, whatever the decision.

        ``solution_.calibration`` names the rows it was calibrated on: out of fold with `confidence`,
        otherwise held-out rows, or without these the training rows.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix, dict, list of dict or Population
            The rows.

        Returns
        -------
        array of shape (n, n_classes)
            A column for each of `classes_`.
        """
        rows = self._rows(X)
        return self.solution_.predict_proba(rows)

    def decision_proba(self, X: Any, *, columns: Any = None) -> Array:
        """The probability of each decision; 0 or 1 if a single model decides.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix, dict, list of dict or Population
            The rows.
        columns : DataFrame or mapping, default=None
            The `known` columns that are not in `X`.

        Returns
        -------
        array of shape (n, n_decisions)
            A column for each of `decisions_`.
        """
        rows = self._rows(X)
        return self.solution_.decision_proba(rows, columns=columns)

    def decision_function(self, X: Any, *, columns: Any = None) -> Array:
        """The members' mean score, for ranking; positive favours ``classes_[1]``.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix, dict, list of dict or Population
            The rows.
        columns : DataFrame or mapping, default=None
            The `known` columns that are not in `X`.

        Returns
        -------
        array of shape (n,) or (n, n_classes)
            With more than two classes, the mean score of each, as in `classes_`.
        """
        rows = self._rows(X)
        return self.solution_.decision_function(rows, columns=columns)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy on rows with labels `y`, or on a population that has its own.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or Population
            The rows.
        y : array of shape (n,), default=None
            The labels; only a population has its own.
        sample_weight : array of shape (n,), default=None
            How much each row counts; by default each counts once.

        Returns
        -------
        float
            The share of right decisions, whatever the objective was. A referred row is not decided, so
            it does not count as right; ``accuracy(decided)`` in an audit leaves it out.
        """
        X = accept(X)
        if isinstance(X, Population):
            check_whole_population(X, y=y, sample_weight=sample_weight)
            labels = class_array(X.classes or ())[np.asarray(X.y).astype(np.intp)]
            return float(np.average(self.predict(X) == labels, weights=X.weights))
        if self.refer is not None:  # scikit-learn has no referrals
            labels = class_array(self.solution_.classes)[trained_labels(y, self.solution_.classes)]
            return float(np.average(self.predict(X) == labels, weights=sample_weight))
        return float(super().score(X, y, sample_weight))

    def audit(
        self,
        X: Any,
        y: Any = None,
        columns: Any = None,
        sample_weight: Any = None,
        *,
        clusters: Name | None = None,
        key: Name | None = None,
        **others: Any,
    ) -> Audit:
        """Judge every promise on these rows: its value, bound and interval, and whether it is kept.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or Population
            The rows.
        y : array of shape (n,), default=None
            The labels; only a population has its own.
        columns : DataFrame or mapping, default=None
            Columns that constraints use, as in `fit`.
        sample_weight : array of shape (n,), default=None
            How much each row counts; by default each counts once.
        clusters : str or int, default=None
            The column whose values tell which rows were drawn together, such as the customer if one has
            several rows. By default each row is drawn alone.
        key : str or int, default=None
            The column of ids that `predict` is given as ``key=``, to count the same decisions.
            By default a mixture hashes the features.
        **others : table, tuple or Population
            Further populations by name, as in `fit`.

        Returns
        -------
        Audit
            Print it, or take it as a frame, JSON or a page.
        """
        rows = self._rows(X)
        how: dict[str, Any] = {"clusters": clusters, "key": key}
        return self.solution_.audit(rows, y, columns, sample_weight, **how, **others)

    @MethodAndParameter
    def certify(
        self,
        X: Any,
        y: Any = None,
        columns: Any = None,
        sample_weight: Any = None,
        *,
        confidence: float = 0.95,
        in_expectation: bool = False,
        key: Name | None = None,
        **others: Any,
    ) -> Certificate:
        """Whether the promises hold on new rows, tested on unseen rows as by `rb.certify`.

        The parameter of the same name sets rows aside for a certificate in `fit`.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or Population
            Rows that it was neither trained nor chosen on.
        y : array of shape (n,), default=None
            The labels; only a population has its own.
        columns : DataFrame or mapping, default=None
            Columns that constraints use, as in `fit`.
        sample_weight : array of shape (n,), default=None
            How much each row counts; by default each counts once.
        confidence : float, default=0.95
            A false certificate has a probability of at most one minus this.
        in_expectation : bool, default=False
            Whether to certify a mixture's expectation over its members. By default the decisions that it
            makes are certified, since those are what people get.
        key : str or int, default=None
            The column of ids that `predict` is given as ``key=``, to count the same decisions.
            By default a mixture hashes the features.
        **others : table, tuple or Population
            Further populations by name, as in `fit`.

        Returns
        -------
        Certificate
            What holds, by which test, and how many rows would be needed.
        """
        rows = self._rows(X)
        return self.solution_.certify(
            rows,
            y,
            columns,
            sample_weight,
            confidence=confidence,
            in_expectation=in_expectation,
            key=key,
            **others,
        )

    def save(self, path: str | Path) -> Path:
        """Write the fitted model to a file or folder that `rb.load` reads.

        Parameters
        ----------
        path : str or path
            The file, where the name ends in ``.safetensors``; otherwise a folder, which gets a file of
            that kind.

        Returns
        -------
        Path
            The file.
        """
        check_is_fitted(self)
        return self.solution_.save(path)

    def to_onnx(self, path: str | Path, *, choose: Literal["key", "uniform"] = "key") -> Path:
        """Write the fitted model with its encoding to an ONNX file, as ``docs/onnx.md`` describes.

        Parameters
        ----------
        path : str or path
            The file to write.
        choose : {"key", "uniform"}, default="key"
            The file's input for choosing among mixed models: an entity's whole-number id, which the file
            hashes as `predict` does, or a number in [0, 1).

        Returns
        -------
        Path
            The file.
        """
        check_is_fitted(self)
        return self.solution_.to_onnx(path, choose=choose)

    def set_params(self, **parameters: Any) -> Any:
        """Set parameters, also of parts, even if a part is given by name: ``model__l2``.

        Parameters
        ----------
        **parameters : any
            Values by name.

        Returns
        -------
        RateConstrainedClassifier
            Itself.
        """
        parts = {name.partition("__")[0] for name in parameters if "__" in name}
        if "training" in parts and self.training is None:
            self.training = Training()
        if "model" in parts and isinstance(self.model, str):
            self.model = as_learner(self.model)
        return super().set_params(**parameters)

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        X = accept(X)
        if isinstance(X, Population) or is_records(X):
            return X
        X, encoding = unmasked(X), self.solution_.encoding
        if encoding is not None and encoding.from_frame:
            return X  # its columns are found by their names, or it is refused if it has none
        return validate_data(self, X, accept_sparse="csr", reset=False, ensure_all_finite="allow-nan")


def fitted(
    compiled: Compiled, problem: Problem | None = None, *, groups: Name | None = None, **options: Any
) -> RateConstrainedClassifier:
    """The classifier for a compiled problem, trained on its rows; `options` are its parameters.

    `groups` is the column that says which rows belong together. Another `problem` may be given, such as
    one whose comparisons of ratios need a model to be compiled. The caller reports its status.
    """
    problem, people, classes = problem or compiled.problem, compiled.first, compiled.classes
    assert people.y is not None
    labels_alone, referral = label_classes(classes), referral_of(classes)
    if len(labels_alone) == 2:
        options["positive_label"] = labels_alone[1]
    if referral is not None:
        options["refer"] = str(referral)
    model = RateConstrainedClassifier(objective=problem, **options)
    spoken_of = {rate.on for rate in problem.rates}
    others = {name: each for name, each in compiled.others.items() if name in spoken_of}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PromisesBroken)
        warnings.simplefilter("ignore", ConstantAsGood)
        if people.stored:
            model.fit(people, groups=groups, **others)
        else:
            labels = np.asarray(labels_alone)[people.y.astype(np.intp)]
            columns, weights = people.columns or None, people.weights
            model.fit(people.X, labels, columns=columns, sample_weight=weights, groups=groups, **others)
    return model


def fitted_plainly(compiled: Compiled, **options: Any) -> RateConstrainedClassifier:
    """The same classifier, trained without promises; it minimizes errors if the goal is not a sum."""
    problem = compiled.problem if compiled.goal is None else Problem("error_rate()")
    if referral_of(compiled.classes) is not None:  # otherwise every row would be referred
        problem = Problem("error_rate() + referred()")
    return fitted(compiled, problem.promising(()), **options)


def _heaviest(mixture: Mixture) -> Array:
    """Parameters (P,) of the model of the heaviest member."""
    parameters: Array = member(mixture, int(np.argmax(mixture.weights))).parameters[0]
    return parameters
