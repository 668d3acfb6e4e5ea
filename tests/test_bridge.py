"""What new rooms make means the same in old ones, for as long as there are any."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas
import pytest
from scipy.stats import spearmanr
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import ratebound as rb
from ratebound import _old
from ratebound._bridge import make_policy, to_old
from ratebound._old.rates import grouping, kinds
from ratebound.rates import goals, table

ROWS = 60
RANDOM = np.random.default_rng(0)
SEX = RANDOM.choice(["F", "M"], ROWS)
X = RANDOM.normal(size=(ROWS, 2))
Y = X[:, 0] + RANDOM.normal(size=ROWS) > 0


@pytest.fixture(autouse=True)
def forget_names():
    tables = (table.KINDS, goals.GOALS, kinds.KINDS, grouping.GOALS)
    before = [dict(names) for names in tables]
    yield
    for names, kept in zip(tables, before, strict=True):
        names.clear()
        names.update(kept)


def make_rows(room):
    live = X[:, 0] > 0.2
    columns = {"sex": SEX, "hours per week": np.arange(ROWS), "live": live, "amount": X[:, 1] ** 2}
    return room.Population(X, Y, columns=columns)


@pytest.mark.parametrize(
    "text",
    [
        'recall(sex in ("F", "M")) >= 0.9 * accuracy(sex in ("F",), by="live")',
        'error_rate(column("hours per week") < 30, by="live") - error_rate() <= 0.1',
        "recall(10 <= column(\"hours per week\") < 40 and not sex == 'F') >= 0.8",
        'abs(recall(sex == "F") - recall(sex == "M")) <= 0.05 * recall()',
        '0.7 <= recall(missing(sex) or sex == "F") <= 0.8',
        "recall(sex) >= 0.9 * recall()",
        'recall() / false_positive_rate(sex == "F") >= 2',
        'cost(false_negative=10, false_positive="amount") <= 4',
        "predicted_positives(per=100) - 2 * errors(per=100) <= 10",
        'statistical_parity(sex in ("F", "M"), slack=0.1, against="pairwise")',
        "equalized_odds(sex, slack=0.1, intersection=True)",
        'own_rate(sex == "F") <= 0.3',
        "own_goal(sex, at_least=0.2)",
    ],
)
def test_a_constraint_has_the_same_violations(text):
    rb.rate("own_rate", "d & ~y", among="~y")
    rb.goal(own_goal)
    problem = rb.Problem("error_rate()", [text])
    objective, violations = rb.compile(problem, make_rows(rb)).evaluate(X[:, 0])
    compiled = _old.compile(to_old(problem), make_rows(_old))
    old_objective, old_violations = compiled.evaluate(X[:, 0])
    assert objective == pytest.approx(old_objective)
    assert sorted(violations) == pytest.approx(sorted(old_violations))


def own_goal(groups, *, at_least):
    return [rb.recall(group) >= at_least for group in groups]


@pytest.mark.parametrize(
    "text",
    [
        'smallest(recall(sex == "F"), recall())',
        "f_score(beta=2)",
        'recall() - 0.2 * churn(versus="live")',
    ],
)
def test_an_objective_has_the_same_value(text):
    problem = rb.Problem(maximize=text, subject_to=["positive_rate() >= 0.1"])
    objective, _ = rb.compile(problem, make_rows(rb)).evaluate(X[:, 0])
    old_objective, _ = _old.compile(to_old(problem), make_rows(_old)).evaluate(X[:, 0])
    assert objective == pytest.approx(old_objective)


def test_texts_for_old_rooms_name_rates_of_ones_own_as_they_are_now():
    for event in ("d & ~y", "d & y"):
        rb.rate("own_rate", event)
        (finding,) = rb.audit(["own_rate() >= 0"], decisions=Y, rows=make_rows(rb)).promises
        assert finding.value == pytest.approx(Y.mean() if event == "d & y" else 0)


def test_old_rows_are_compiled_by_the_new_room_and_what_it_does_not_know_by_the_old_one():
    problem = rb.Problem("error_rate()", ['recall(sex == "F") >= 0.5'])
    compiled = rb.compile(problem, make_rows(_old))
    assert isinstance(compiled, rb.Compiled)
    assert compiled.labels == ('recall(sex == "F") >= 0.5',)
    assert isinstance(rb.compile(to_old(problem), make_rows(rb)), _old.Compiled)
    with_function = rb.Problem("error_rate()", [rb.constraint(lambda model, rows: 0, name="own")])
    assert isinstance(rb.compile(with_function, make_rows(rb)), _old.Compiled)


def test_labels_and_referrals_of_old_rows_are_what_they_were():
    rows = _old.Population(X, np.where(Y, "good", "bad"), classes=["bad", "good"], refer="ask")
    compiled = rb.compile(rb.Problem("error_rate()", ["referred() <= 0.2"]), rows)
    assert compiled.classes.values == ("bad", "good", "ask")


def test_a_rate_that_old_rooms_do_not_know_is_refused_with_its_name():
    with pytest.raises(ValueError, match=r'precision\(by="live"\): here by= is of one of'):
        rb.audit(rb.precision(by="live") >= 0.1, decisions=Y, rows=make_rows(rb))


# --- policies -------------------------------------------------------------------------------------

PEOPLE = 600
NEW_PEOPLE = 2000
CONSTRAINTS = [
    'recall(group == "a") >= 0.95 * recall()',
    'positive_rate(group == "c") >= 0.9 * positive_rate()',
]
MANY_GROUPS = [f"recall(g{i} == {value!r}) >= 0.6" for i in range(4) for value in "xyz"]
TREES = ["sklearn.tree._tree.Tree"]  # what rb.load has to trust
PIPELINE = [
    "numpy.dtype",
    "sklearn.compose._column_transformer._RemainderColsList",
    "sklearn.preprocessing._encoders.OneHotEncoder",
]


def draw_people(count, seed):
    """Return features, labels of two and three kinds, and columns, of rows whose groups differ."""
    random = np.random.default_rng(seed)
    group = random.choice(["a", "b", "c"], count, p=[0.2, 0.5, 0.3])
    features = random.normal(size=(count, 4))
    features[:, 1] -= 0.5 * (group == "a")
    score = features[:, 0] + 0.5 * features[:, 2] + random.normal(size=count) + 0.5 * (group == "a")
    columns = {f"g{i}": random.choice(["x", "y", "z"], count) for i in range(4)}
    columns |= {"group": group, "amount": random.gamma(2.0, 50.0, count)}
    return features, score > 0.3, np.digitize(score, [-0.5, 0.6]), columns


def make_table(features, columns):
    """Return a table with texts and gaps."""
    table = pandas.DataFrame(features, columns=list("wxyz"))
    table.loc[::5, "x"] = np.nan
    return table.assign(group=columns["group"], g0=columns["g0"])


def make_pipeline_for_tables():
    texts = OneHotEncoder(handle_unknown="ignore"), ["group", "g0"]
    numbers = SimpleImputer(), ["w", "x", "y", "z"]
    return make_pipeline(make_column_transformer(texts, numbers), LogisticRegression())


def forest():
    return RandomForestClassifier(10, random_state=0)


def classifier(constraints=CONSTRAINTS, objective="error_rate()", **options):
    return rb.RateConstrainedClassifier(constraints, objective, random_state=0, **options)


def threshold(estimator, constraint="recall() >= 0.9", objective="maximize precision()", **options):
    options |= {"objective": objective, "random_state": 0}
    return rb.ConstrainedThresholdClassifier(estimator, constraint, **options)


TRAIN = draw_people(PEOPLE, seed=0)
NEW = draw_people(NEW_PEOPLE, seed=1)
TEXTS = np.where(TRAIN[1], "bad", "good")
LIVE = {"live": (TRAIN[0][:200], None, {"group": TRAIN[3]["group"][:200]})}
REFERRING = {"objective": "error_rate() + 0.1 * referred()", "refer": "ask"}
COST = 'cost(false_negative=10, false_positive="amount")'
THIRD = ['recall(group == "a", of=2) >= 0.6']
SCALED = make_pipeline(StandardScaler(), LogisticRegression())

# An estimator; labels that are not the usual ones; other arguments of `fit`; whether rows are a table;
# what has to be trusted.
POLICIES = {
    "linear": (classifier(),),
    "linear, plain": (classifier([]),),
    "LightGBM": (classifier(model="lightgbm"),),
    "LightGBM, plain": (classifier([], model="lightgbm"),),
    "XGBoost": (classifier(model="xgboost"),),
    "XGBoost, plain": (classifier([], model="xgboost"),),
    "CatBoost": (classifier(model="catboost"), {"trusted": ["catboost.core.CatBoostClassifier"]}),
    "mlp": (classifier(model="mlp"),),
    "mlp, plain": (classifier([], model="mlp"),),
    "forest": (classifier(model=forest()), {"trusted": TREES}),
    "forest, plain": (classifier([], model=forest()), {"trusted": TREES}),
    "margins, plain": (classifier([], model=LinearSVC()),),
    "pipeline": (classifier(model=SCALED),),
    "pipeline, plain": (classifier([], model=SCALED),),
    "three": (classifier(THIRD), {"y": TRAIN[2]}),
    "three, LightGBM": (classifier(THIRD, model="lightgbm"), {"y": TRAIN[2]}),
    "three, plain": (classifier([], model=forest()), {"y": TRAIN[2], "trusted": TREES}),
    "referral": (classifier([*CONSTRAINTS, "referred() <= 0.2"], **REFERRING),),
    "known": (classifier(known="group"), {"known": ["group"]}),
    "known, three": (classifier(THIRD, known="group"), {"y": TRAIN[2], "known": ["group"]}),
    "cost": (classifier(objective=COST),),
    "populations": (classifier([*CONSTRAINTS, 'positive_rate(on="live") <= 0.4']), {"fit": LIVE}),
    "slices": (classifier(MANY_GROUPS),),
    "slices, known": (classifier(MANY_GROUPS, known=["g0", "g1"]), {"known": ["g0", "g1"]}),
    "two ratios": (classifier(["precision(group) >= 0.8 * precision()"]),),
    "no sum": (classifier(objective="maximize f_score()"),),
    "texts": (classifier(positive_label="bad"), {"y": TEXTS}),
    "table": (classifier(), {"is_table": True}),
    "table, LightGBM": (classifier(model="lightgbm"), {"is_table": True}),
    "table, mlp": (classifier(model="mlp"), {"is_table": True}),
    "table, plain": (classifier([]), {"is_table": True}),
    "table, pipeline": (
        classifier(model=make_pipeline_for_tables()),
        {"is_table": True, "trusted": PIPELINE},
    ),
    "threshold": (threshold(LogisticRegression()),),
    "threshold, forest": (threshold(forest()), {"trusted": TREES}),
    "threshold, margins": (threshold(LinearSVC()),),
    "threshold, texts": (threshold(SCALED, positive_label="bad"), {"y": TEXTS}),
    "threshold, margins, texts": (threshold(LinearSVC(), positive_label="bad"), {"y": TEXTS}),
    "threshold, referral": (
        threshold(forest(), "referred() <= 0.2", **REFERRING),
        {"trusted": TREES},
    ),
    "threshold, referral, three": (
        threshold(LogisticRegression(), "referred() <= 0.2", **REFERRING),
        {"y": TRAIN[2]},
    ),
}


@pytest.fixture(scope="module")
def fit_case():
    fitted = {}

    def fit(name):
        if name not in fitted:
            model, *options = POLICIES[name]
            fitted[name] = _fit(model, **dict(*options))
        return fitted[name]

    return fit


def _fit(model, y=TRAIN[1], fit=None, is_table=False, known=(), trusted=()):
    """Return a fitted model, new rows, the columns that it decides by, and what is to be trusted."""
    if "CatBoost" in str(model) or getattr(model, "model", "") == "catboost":
        pytest.importorskip("catboost")
    X, _, _, columns = TRAIN
    new = NEW[0]
    if is_table:
        X = make_table(X, columns)
        new = make_table(new, NEW[3])
        columns = None
    others = {} if columns is None else {"columns": columns}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the status says what was not reached
        model.fit(X, y, **others, **(fit or {}))
    of_groups = {name: np.where(np.arange(NEW_PEOPLE) < 50, "new", NEW[3][name]) for name in known}
    return model, new, {"columns": of_groups} if known else {}, list(trusted)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.filterwarnings("ignore")  # of groups that training did not have
def test_a_policy_decides_as_its_estimator_before_and_after_it_is_saved(name, fit_case, tmp_path):
    model, new, options, trusted = fit_case(name)
    policy = make_policy(model)
    decisions = model.predict(new, **options)
    assert len(set(decisions.tolist())) > 1
    scores = model.decision_function(new, **options)
    for reader in (policy, rb.load(policy.save(tmp_path), trusted=trusted)):
        assert (reader.predict(new, **options) == decisions).all()
        if hasattr(model, "predict_proba") and policy.calibration is not None:
            assert reader.predict_proba(new) == pytest.approx(model.predict_proba(new), abs=1e-6)
        of_policy = reader.decision_function(new, **options)
        if scores.ndim == 1 and model.refer is None:
            assert spearmanr(scores, of_policy).statistic > 0.99999
        assert str(reader.status) == str(model.status_)
        assert len(reader.constraints) == len(model.status_.constraints)


EXPORTED = ["linear", "linear, plain", "LightGBM", "XGBoost", "mlp", "three", "referral", "known",
            "known, three", "cost", "populations", "slices", "slices, known", "table",
            "table, LightGBM", "table, mlp", "threshold"]  # fmt: skip


@pytest.mark.parametrize("name", EXPORTED)
@pytest.mark.filterwarnings("ignore")
def test_a_policy_decides_the_same_in_onnx(name, fit_case, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    model, new, options, _ = fit_case(name)
    policy = make_policy(model)
    new = new if hasattr(new, "columns") else new.astype(np.float32).astype(float)
    session = onnxruntime.InferenceSession(str(policy.to_onnx(tmp_path / "model.onnx")))
    inputs = {}
    for entry in session.get_inputs():
        if entry.name == "key":
            inputs["key"] = np.arange(NEW_PEOPLE)
        elif entry.name == "features":
            inputs["features"] = new.astype(np.float32 if "float)" in entry.type else float)
        else:
            values = options["columns"][entry.name] if options else new[entry.name].to_numpy()
            inputs[entry.name] = values.astype(object if "string" in entry.type else float)
    decision, _, probability, _ = session.run(None, inputs)
    decisions = policy.predict(new, **options).astype(object)
    assert (np.asarray(policy.classes, dtype=object)[decision] == decisions).mean() > 0.999
    of_last = policy.predict_proba(new)[:, -1]
    assert probability.reshape(NEW_PEOPLE, -1)[:, -1] == pytest.approx(of_last, abs=1e-5)


def test_a_policy_explains_decisions_by_the_objective_and_each_constraint(fit_case):
    model, new, _, _ = fit_case("table")
    told = make_policy(model).reasons(new[:20])
    assert told.names[:3] == ("error_rate()", *CONSTRAINTS)
    assert told.scores == pytest.approx(model.decision_function(new[:20]))
    ours = model.reasons(new[:20])
    assert told.moves.T[:, None] == pytest.approx(ours.effects, abs=1e-6)


def test_a_policy_knows_the_plain_model(fit_case):
    model, new, _, _ = fit_case("linear")
    policy = make_policy(model)
    plain = policy.scorer.scores(policy.scorer.without_promises(), new)[0, 0]
    assert (plain > 0).tolist() == (model.predict_proba(new)[:, 1] > 0.5).tolist()


def test_a_policy_keeps_what_was_asked_and_not_only_the_levels_between_ratios(fit_case):
    problem = make_policy(fit_case("two ratios")[0]).problem
    asked = [f'precision(group == "{group}") >= 0.8 * precision()' for group in "abc"]
    assert [str(constraint) for constraint in problem.asked.subject_to] == asked
    assert len(problem.constraints) == 6


def test_a_policy_is_loaded_without_the_library_that_trained_it(fit_case, tmp_path):
    model, new, _, _ = fit_case("LightGBM")
    path = make_policy(model).save(tmp_path)
    np.save(tmp_path / "new.npy", new)
    code = f"""
import sys, numpy, ratebound
decisions = ratebound.load({str(path)!r}).predict(numpy.load({str(tmp_path / "new.npy")!r}))
print(int(decisions.sum()), {{"sklearn", "lightgbm", "joblib"}} & sys.modules.keys())
"""
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout.split(maxsplit=1) == [str(model.predict(new).sum()), "set()\n"]


def test_a_policy_needs_to_know_how_many_rows_a_count_is_of():
    X, y, _, columns = TRAIN
    model = classifier(["predicted_positives() <= 150"]).fit(X, y, columns)
    assert str(make_policy(model).constraints[0]) == "predicted_positives(per=600) <= 150.0"
    with pytest.raises(ValueError, match="write per="):
        make_policy(pickle.loads(pickle.dumps(model)))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            threshold(forest(), "recall(of=2) >= 0.5", "error_rate()", positive_label=2),
            "train on y == 2",
        ),
        (rb.RateConstrainedRanker(random_state=0), "orders rows and decides none"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_a_policy_says_what_to_do(model, message):
    model.fit(TRAIN[0], TRAIN[2])
    with pytest.raises(ValueError, match=message):
        make_policy(model)


@pytest.mark.parametrize("name", ["linear", "table, plain", "threshold"])
def test_rows_that_a_model_was_trained_on_certify_nothing(name, fit_case):
    model = fit_case(name)[0]
    X, y, _, columns = TRAIN
    if name.startswith("table"):
        X, columns = make_table(X, columns), None
    with pytest.raises(ValueError, match="these are the rows that the model was trained on"):
        rb.certify("recall() >= 0.5", model, rb.Population(X, y, columns))
    half = rb.Population(X[:300], y[:300])
    assert rb.certify("recall() >= 0.5", model, half).holds
