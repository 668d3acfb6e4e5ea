"""Boosted trees against stock LightGBM and XGBoost: the same trees, the same scores, one ensemble."""

import pickle
import warnings

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.base import extras
from ratebound._old.learners._trees import Trees
from ratebound._old.learners.boosted import BoostedScorer

rng = np.random.default_rng(5)
N = 1200
X = rng.normal(size=(N, 5))
X[:, 4] = rng.integers(0, 7, N)  # codes of a category, in no order that means anything
GROUP = np.where(X[:, 1] > 0.4, "a", "b")
Y = X[:, 0] + X[:, 1] + np.isin(X[:, 4], (1, 4, 6)) + rng.normal(size=N) > 1.0
X[rng.random(X.shape) < 0.05] = np.nan
WEIGHTS = rng.integers(1, 4, N).astype(float)
UNEVEN = np.random.default_rng(0).lognormal(sigma=2, size=N)
PARITY = rb.positive_rate(group="b") >= 0.9 * rb.positive_rate()


def estimator(library, **given):
    """A small classifier of a library, or a skip that says which is missing."""
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    plain = {"n_estimators": 12, "learning_rate": 0.2, "n_jobs": 1}
    if library == "lightgbm":
        return module.LGBMClassifier(**plain | {"num_leaves": 8, "verbosity": -1} | given)
    return module.XGBClassifier(**plain | {"max_depth": 3} | given)


def compiled(constraints=(), rows=slice(None), X=X, weights=None):
    people = rb.Population(X[rows], Y[rows], columns={"group": GROUP[rows]}, weights=weights)
    return rb.compile(rb.Problem(rb.error_rate(), list(constraints)), people)


def play(library, problem=None, player=None, **options):
    given = options.pop("model", None) or estimator(library)
    learner = rb.Boosted(given, categorical=options.pop("categorical", ()))
    problem = compiled([PARITY]) if problem is None else problem
    player = player or rb.ExternalRegret(0.3)
    return rb.play(problem, learner, player=player, progress=False, **options)


def booster_of(scorer):
    return scorer._ensembles[0].booster


both = pytest.mark.parametrize("library", ["lightgbm", "xgboost"])


@pytest.mark.parametrize("weights", [None, WEIGHTS, UNEVEN], ids=["alike", "weighted", "uneven"])
@pytest.mark.parametrize("categorical", [(), (4,)], ids=["numbers", "codes"])
def test_without_constraints_the_trees_are_those_of_stock_lightgbm(weights, categorical):
    stock = estimator("lightgbm", boost_from_average=False)
    stock.fit(X, Y, sample_weight=weights, categorical_feature=list(categorical) or "auto")
    trace = play("lightgbm", compiled(weights=weights), model=stock, categorical=categorical)
    ours, theirs = booster_of(trace.scorer).trees_to_dataframe(), stock.booster_.trees_to_dataframe()
    same = ["tree_index", "split_feature", "threshold", "decision_type", "missing_direction", "count"]
    assert ours[same].equals(theirs[same])
    scores = trace.scorer.scores(trace.parameters, X)
    theirs = stock.booster_.predict(X, raw_score=True)
    np.testing.assert_allclose(scores[-1, 0], theirs, rtol=1e-5, atol=1e-6)
    early = stock.booster_.predict(X, raw_score=True, num_iteration=4)
    np.testing.assert_allclose(scores[3, 0], early, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("tree_method", ["hist", "exact", "approx"])
@pytest.mark.parametrize("weights", [None, WEIGHTS, UNEVEN], ids=["alike", "weighted", "uneven"])
def test_without_constraints_the_trees_are_those_of_stock_xgboost(tree_method, weights):
    stock = estimator("xgboost", base_score=0.5, tree_method=tree_method)
    stock.fit(X, Y, sample_weight=weights)
    trace = play("xgboost", compiled(weights=weights), model=stock)
    ours = booster_of(trace.scorer).trees_to_dataframe()
    theirs = stock.get_booster().trees_to_dataframe()
    same = ["Tree", "Node", "Feature", "Split", "Yes", "No", "Missing"]
    assert ours[same].equals(theirs[same])
    scores = trace.scorer.scores(trace.parameters, X)
    for row, count in ((11, 12), (3, 4)):
        margin = stock.predict(X, output_margin=True, iteration_range=(0, count))
        np.testing.assert_allclose(scores[row, 0], margin, rtol=1e-4, atol=1e-5)


@both
def test_the_rounds_are_the_trees_and_every_round_is_kept(library):
    model = estimator(library, n_estimators=7)
    assert rb.Boosted(model).rounds == 7
    trace = play(library, model=model)
    assert trace.round.tolist() == [1, 2, 3, 4, 5, 6, 7]
    np.testing.assert_array_equal(trace.parameters, [[0, t] for t in trace.round])
    assert play(library, model=model, rounds=3).round.tolist() == [1, 2, 3]
    assert play(library, model=model, epochs=4).round.tolist() == [1, 2, 3, 4]
    assert play(library, model=model, keep=rb.Keep(at_most=3)).round.tolist() == [3, 6, 7]
    assert rb.Boosted(library).rounds == 100


@both
def test_multipliers_start_close_to_the_objective_unless_others_are_given(library):
    trace = rb.play(compiled([PARITY]), rb.Boosted(estimator(library)), rounds=2, progress=False)
    assert trace.averaging == "by objective"
    assert trace.multipliers[0, 0] > 0.8
    given = rb.play(
        compiled([PARITY]),
        rb.Boosted(estimator(library)),
        player=rb.SwapRegret(),
        rounds=2,
        progress=False,
    )
    assert given.multipliers[0, 0] < 0.6


@both
def test_one_pass_equals_a_prediction_for_each_count(library):
    trace = play(library)
    parameters = np.array([[0, 9], [0, 2], [0, 12], [0, 2], [0, 0]], dtype=float)
    found = trace.scorer.scores(parameters, X)
    for row, (_, count) in zip(found[:4], parameters[:4].astype(int), strict=True):
        if library == "lightgbm":
            alone = booster_of(trace.scorer).predict(X, raw_score=True, num_iteration=count)
        else:
            alone = booster_of(trace.scorer).inplace_predict(
                X, predict_type="margin", iteration_range=(0, count)
            )
        np.testing.assert_allclose(row[0], alone, rtol=1e-12, atol=1e-14)
    assert (found[4] == 0).all()


@both
def test_every_tree_is_asked_once_however_many_models_share_it(library, monkeypatch):
    trace, asked, leaves = play(library), [], Trees._leaves

    def counted(self, columns):
        asked.append((self.count, columns.shape[1]))
        return leaves(self, columns)

    monkeypatch.setattr(Trees, "_leaves", counted)
    trace.scorer.scores(trace.parameters[8::-1], X)
    assert asked == [(9, N)]


@both
def test_the_exact_rates_are_those_of_the_deployed_model(library):
    problem = compiled([PARITY])
    trace = play(library, problem)
    objectives, violations = problem.evaluate(trace.scorer.scores(trace.parameters, X))
    np.testing.assert_allclose(trace.objectives, objectives, atol=1e-12)
    np.testing.assert_allclose(trace.violations, violations, atol=1e-12)


@both
def test_watched_populations_are_scored_as_the_deployed_model_scores_them(library):
    strange = X[:400].copy()
    strange[:50, 4] = 99  # a code never seen in training
    people = rb.Population(strange, Y[:400], columns={"group": GROUP[:400]})
    other = rb.compile(rb.Problem(rb.error_rate(), [PARITY]), people)
    player = rb.ExternalRegret([0.1, 0.5])
    trace = play(library, player=player, categorical=[4], watch={"other": other}, keep=rb.Keep(3))
    objectives, violations = other.evaluate(trace.scorer.scores(trace.parameters, strange))
    np.testing.assert_allclose(trace.watched["other"].objectives, objectives, atol=1e-12)
    np.testing.assert_allclose(trace.watched["other"].violations, violations, atol=1e-12)


def test_standardised_columns_of_two_values_are_scored_as_deployed():
    """LightGBM bundles them although they are not exclusive, and then grows trees on wrong values."""
    drawn = np.random.default_rng(0)
    flags = (drawn.random((N, 20)) < np.repeat([0.3, 0.7], 10)).astype(float)
    label = (flags - 0.5) @ drawn.normal(size=20) + drawn.normal(size=N) > 0
    people = rb.Population((flags - flags.mean(axis=0)) / flags.std(axis=0), label)
    problem = rb.compile(rb.Problem(rb.error_rate(), []), people)
    trace = play("lightgbm", problem, model=estimator("lightgbm", min_child_samples=5))
    scores = trace.scorer.scores(trace.parameters, people.features)
    np.testing.assert_allclose(
        np.mean((scores[:, 0] >= 0) != label, axis=1), trace.objectives, atol=1e-12
    )
    assert booster_of(trace.scorer).params["enable_bundle"] is False


@both
@pytest.mark.parametrize("player", [rb.ExternalRegret(0.3), rb.SwapRegret(0.1, objective_weight=0.9)],
                         ids=["external", "swap"])  # fmt: skip
@pytest.mark.parametrize("proxy", ["logistic", "sigmoid", "hinge"])
def test_constraints_are_kept_at_a_small_price(library, player, proxy):
    free = play(library, compiled(), rounds=40)
    tight = compiled([PARITY])
    unfair = tight.evaluate(free.scorer.scores(free.parameters[-1:], X))[1]
    assert unfair.max() > 0.1
    mixture = rb.shrink(play(library, tight, player, rules=rb.Rules(proxy=proxy), rounds=40))
    assert mixture.status.feasible
    assert mixture.violations["train"].max() <= 1e-9
    assert mixture.objectives["train"] < free.objectives[-1] + 0.1


@both
def test_a_mixture_is_one_ensemble_and_tree_counts_also_when_loaded(library, tmp_path):
    player = rb.SwapRegret([0.05, 0.2, 1.0])
    trace = play(library, player=player)
    own = np.flatnonzero(trace.setting == 2)[[3, 7]]  # a mixture of two members of the last setting
    scorer, parameters = trace.scorer.kept(trace.parameters[own])
    assert [ensemble.count for ensemble in scorer.ensembles] == [8]
    np.testing.assert_array_equal(parameters, [[0, 4], [0, 8]])
    np.testing.assert_array_equal(
        scorer.scores(parameters, X), trace.scorer.scores(trace.parameters[own], X)
    )
    mixture = rb.shrink(trace)
    assert len(mixture) <= 2
    loaded = rb.load(mixture.save(tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(loaded.member_scores(X), mixture.member_scores(X))
    np.testing.assert_array_equal(loaded.predict(X), mixture.predict(X))
    assert loaded.scorer.ensembles[0].number.dtype == {"lightgbm": "f8", "xgboost": "f4"}[library]


@both
def test_settings_side_by_side_equal_runs_alone(library):
    rates = [0.05, 0.3, 1.0]
    together = play(library, player=rb.ExternalRegret(rates))
    for k, rate in enumerate(rates):
        alone, own = play(library, player=rb.ExternalRegret(rate)), together.of_setting(k)
        np.testing.assert_array_equal(own.objectives, alone.objectives)
        np.testing.assert_allclose(own.multipliers, alone.multipliers, rtol=1e-12)
        scores = alone.scorer.scores(alone.parameters, X)
        np.testing.assert_allclose(
            together.scorer.scores(own.parameters, X), scores, rtol=1e-5, atol=1e-6
        )


@both
def test_a_seed_gives_the_same_bits_and_the_estimators_own_goes_first(library):
    chance = {"subsample": 0.5, "subsample_freq": 1} if library == "lightgbm" else {"subsample": 0.5}

    def last(seed, **given):
        trace = play(library, model=estimator(library, **chance, **given), seed=seed)
        return trace.scorer.scores(trace.parameters[-1:], X)

    np.testing.assert_array_equal(last(1), last(1))
    assert (last(1) != last(2)).any()
    np.testing.assert_array_equal(last(1, random_state=3), last(2, random_state=3))


@both
def test_the_estimator_is_read_and_never_changed(library):
    model = estimator(library, early_stopping_rounds=5, max_depth=2)
    before = model.get_params()
    rb.shrink(play(library, model=model))
    assert model.get_params() == before
    with pytest.raises((AttributeError, ValueError, TypeError)):
        model.predict(X)  # it was not fitted


@both
def test_parameters_pass_through(library):
    stumps = play(library, model=estimator(library, max_depth=1))
    frame = booster_of(stumps.scorer).trees_to_dataframe()
    assert frame.groupby("tree_index" if library == "lightgbm" else "Tree").size().max() == 3
    rising = play(library, model=estimator(library, monotone_constraints=(1, 0, 0, 0, 0)))
    steps = np.zeros((50, 5))
    steps[:, 0] = np.linspace(-3, 3, 50)
    assert (np.diff(rising.scorer.scores(rising.parameters[-1:], steps)) >= 0).all()


@both
def test_codes_of_categories_are_split_by_value(library):
    code = np.tile(np.arange(10.0), 60)
    y = np.isin(code, (1, 3, 4, 7, 9))  # one split by value tells them, one by order does not
    people = rb.compile(rb.Problem(rb.error_rate(), []), rb.Population(code[:, None], y))
    given = {"max_depth": 1, "min_child_samples": 5, "min_data_per_group": 1, "cat_smooth": 1}
    if library == "xgboost":
        given = {"max_depth": 1, "max_cat_to_onehot": 1}
    model = estimator(library, n_estimators=3, **given)
    assert play(library, people, model=model, categorical=[0]).objectives[-1] == 0
    assert play(library, people, model=model).objectives[-1] > 0.2


@both
def test_categories_of_a_pandas_table_stay_themselves_after_loading(library, tmp_path):
    pandas = pytest.importorskip("pandas")
    names = np.array(["u", "v", "w", "x", "y", "z"])[rng.integers(0, 6, N)]
    table = pandas.DataFrame({"age": X[:, 0], "kind": pandas.Categorical(names)})
    y = np.isin(names, ("u", "x", "y")) ^ (rng.random(N) < 0.1)
    people = rb.Population(table, y, columns={"group": GROUP})
    problem = rb.compile(rb.Problem(rb.error_rate(), [PARITY]), people)
    trace = play(library, problem, watch={"again": problem})
    np.testing.assert_array_equal(trace.watched["again"].objectives, trace.objectives)
    mixture = rb.shrink(trace)
    assert mixture.objectives["train"] < 0.2
    loaded = rb.load(mixture.save(tmp_path))
    other = table.assign(kind=pandas.Categorical(names, categories=list("zyxwvu")))  # other codes
    np.testing.assert_array_equal(loaded.predict(other), mixture.predict(table))
    few = other[names == "w"]
    few = few.assign(kind=few.kind.cat.remove_unused_categories())
    np.testing.assert_array_equal(loaded.member_scores(few), mixture.member_scores(table)[names == "w"])


@both
def test_rows_of_several_populations_are_stacked(library):
    train = rb.Population(X, Y, columns={"group": GROUP})
    pool = rb.Population(X[:300])
    problem = rb.Problem(rb.error_rate(), [rb.positive_rate(on="pool") <= 0.2])
    stacked = rb.compile(problem, train, pool=pool)
    mixture = rb.shrink(play(library, stacked, rounds=40))
    assert mixture.status.feasible


def test_where_no_tree_can_grow_the_model_stays_as_it_is():
    model = estimator("lightgbm", min_split_gain=1e9)
    trace = play("lightgbm", compiled([rb.positive_rate() <= 0.5]), model=model)
    assert len(trace) == 12
    assert (trace.parameters[:, 1] == 1).all()  # LightGBM's own name for nothing, a tree that adds 0
    assert (trace.scorer.scores(trace.parameters, X) == 0).all()
    assert (trace.multipliers[-1] != trace.multipliers[0]).any()
    assert (rb.shrink(trace).member_scores(X) == 0).all()


@pytest.mark.parametrize(
    "rows", [X[:30], X[:30, 4:], np.ones((200, 2))], ids=["few", "few codes", "all alike"]
)
def test_rows_that_lightgbm_cannot_split_are_refused(rows):
    """Without a tree every score is 0, and everyone gets a yes."""
    people = rb.Population(rows, Y[: len(rows)])
    learner = rb.Boosted(estimator("lightgbm"), categorical=[0] if rows.shape[1] == 1 else ())
    with pytest.raises(ValueError, match=f"these {len(rows)} rows.*lower min_child_samples"):
        rb.play(rb.compile(rb.Problem(rb.error_rate()), people), learner)


@pytest.mark.parametrize(("library", "called"), [("lightgbm", "LightGBM"), ("xgboost", "XGBoost")])
def test_a_missing_library_is_named_and_not_missed_by_a_file(library, called, monkeypatch, tmp_path):
    mixture = rb.shrink(play(library))
    path = mixture.save(tmp_path)

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(extras, "import_module", missing)
    message = rf"needs {called}: pip install 'ratebound\[{library}\]'"
    with pytest.raises(ImportError, match=message):
        rb.Boosted(library)
    np.testing.assert_array_equal(rb.load(path).predict(X), mixture.predict(X))


@pytest.mark.parametrize(
    ("library", "given", "message"),
    [
        ("lightgbm", {"boosting_type": "dart"}, "boosting_type='dart' cannot play"),
        ("lightgbm", {"linear_tree": True}, "linear_tree=True cannot play"),
        ("lightgbm", {"objective": "regression"}, "objective='regression' cannot play"),
        ("lightgbm", {"class_weight": "balanced"}, "weigh rows by rb.Population"),
        ("lightgbm", {"scale_pos_weight": 3}, "scale_pos_weight=3 .* weigh rows by rb.Population"),
        ("xgboost", {"booster": "gblinear"}, "booster='gblinear' cannot play"),
        ("xgboost", {"objective": "reg:logistic"}, "objective='reg:logistic' cannot play"),
        ("xgboost", {"multi_strategy": "multi_output_tree"}, "set it to 'one_output_per_tree'"),
        ("xgboost", {"base_score": 0.2}, "base_score=0.2 cannot play"),
        ("xgboost", {"scale_pos_weight": 3}, "weigh rows by rb.Population"),
        ("xgboost", {"missing": -1.0}, "mark missing values as NaN"),
        ("xgboost", {"callbacks": [None]}, "callbacks of the estimator are not called"),
    ],
)
def test_what_cannot_be_played_is_refused_with_a_remedy(library, given, message):
    with pytest.raises(ValueError, match=message):
        rb.Boosted(estimator(library, **given))


def test_other_models_are_refused():
    for model in ("catboost", rb.Linear()):
        with pytest.raises(ValueError, match="Boosted takes an LGBMClassifier, an XGBClassifier"):
            rb.Boosted(model)
    lightgbm = pytest.importorskip("lightgbm")
    with pytest.raises(TypeError, match="takes an LGBMClassifier, got LGBMRegressor"):
        rb.Boosted(lightgbm.LGBMRegressor())
    with pytest.raises(ValueError, match="fitted anew"):
        rb.Boosted("lightgbm").starting_at(np.zeros(2))
    with pytest.raises(TypeError, match="must be a whole number or None"):
        play("lightgbm", model=estimator("lightgbm", random_state=np.random.RandomState(0)))


@both
def test_nothing_is_printed_or_warned(library, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given = {} if library == "xgboost" else {"verbosity": None}  # as its estimator comes
        mixture = rb.shrink(play(library, model=estimator(library, **given), categorical=[4]))
        mixture.predict(X)
    assert capfd.readouterr() == ("", "")


@both
def test_a_scorer_survives_being_copied(library):
    trace = play(library)
    short, parameters = trace.scorer.kept(trace.parameters)
    for scorer in (short, trace.scorer):  # the latter still holds its training rows
        copied = pickle.loads(pickle.dumps(scorer))
        assert isinstance(copied, BoostedScorer)
        np.testing.assert_array_equal(copied.scores(parameters, X), scorer.scores(parameters, X))
