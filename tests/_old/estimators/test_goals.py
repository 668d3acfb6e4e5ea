"""Objectives that are not sums of rates, from training to files and audits."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

import ratebound._old as rb
from ratebound._old.solution.determinize import evaluate

pytestmark = pytest.mark.usefixtures("brief")

RANDOM = np.random.default_rng(3)
GROUP = np.where(RANDOM.random(900) < 0.3, "a", "b")
X = RANDOM.normal(size=(900, 3))
Y = X[:, 0] + 0.8 * X[:, 1] * (GROUP == "a") + RANDOM.normal(size=900) > 0.9
PEOPLE = rb.Population(X, Y, columns={"group": GROUP})
RECALLS = [rb.recall(group=g) for g in ("a", "b")]
PROBLEMS = {
    "f_score": rb.Problem(maximize=rb.f_score()),
    "precision": rb.Problem(maximize=rb.precision(), subject_to=["recall() >= 0.7"]),
    "smallest": rb.Problem(maximize=rb.smallest(RECALLS), subject_to=["error_rate() <= 0.25"]),
    "largest": rb.Problem(minimize=rb.largest(rb.error_rate(group=g) for g in ("a", "b"))),
    "g_mean": rb.Problem(maximize=rb.g_mean(), subject_to=["positive_rate() <= 0.3"]),
    "kl_divergence": rb.Problem(rb.kl_divergence(group="a"), ["accuracy() >= 0.75"]),
}


@pytest.fixture(scope="module", params=PROBLEMS)
def played(request):
    problem = PROBLEMS[request.param]
    compiled = rb.compile(problem, PEOPLE)
    watch = {"validation": rb.compile(problem, PEOPLE.only(np.arange(900) % 3 == 0))}
    learner = rb.Linear((0.03, 0.1))
    return compiled, rb.play(compiled, learner, rounds=150, batch_size=None, watch=watch)


def test_solutions_say_what_they_reach(played):
    compiled, trace = played
    mixture = rb.shrink(trace)
    assert mixture.status.feasible
    assert str(compiled.problem.objective) in str(mixture.status)
    there = evaluate(mixture, compiled)
    assert there.objective == pytest.approx(mixture.record.objectives["train"], abs=1e-9)
    assert there.violations == pytest.approx(mixture.violations["train"], abs=1e-9)
    best = rb.best_iterate(trace)
    assert mixture.record.objectives["train"] <= best.record.objectives["train"] + 1e-9
    chosen = rb.select(trace)
    assert np.isfinite(chosen.objectives["validation"])


def test_an_audit_and_a_file_say_the_same(played, tmp_path):
    compiled, trace = played
    mixture = rb.shrink(trace.of_setting(0))
    report = rb.audit(compiled.problem, mixture, PEOPLE)
    assert report.objective.value == pytest.approx(mixture.objectives["train"], abs=1e-9)
    low, high = report.objective.low, report.objective.high
    assert low is None or low <= report.objective.value <= high
    again = rb.load(mixture.save(tmp_path / "model.safetensors"))
    assert again.problem == mixture.problem
    assert str(again.status) == str(mixture.status)


@pytest.mark.parametrize("name", ["f_score", "smallest"])
@pytest.mark.parametrize("how", [{"confidence": None}, {}, {"known": ["group"]}])
def test_the_estimator_is_as_good_as_thresholds_on_the_plain_model(name, how):
    problem = PROBLEMS[name]
    training = rb.Training(epochs=60)
    plain = rb.RateConstrainedClassifier(confidence=None, training=training, random_state=0).fit(X, Y)
    model = rb.RateConstrainedClassifier(
        problem.subject_to, objective=problem, training=training, random_state=0, **how
    ).fit(X, Y, columns={"group": GROUP})
    if how == {"confidence": None}:
        moved = rb.thresholds(problem, plain.decision_function(X), PEOPLE, known=[])
        assert model.solution_.record.objectives["train"] <= moved.record.objectives["train"] + 0.005
    assert set(model.prices_) == set(map(str, problem.subject_to))
    assert model.audit(X, Y, columns={"group": GROUP}).objective.value > 0.4


@pytest.mark.parametrize("learner", ["oracle", "boosted"])
def test_other_models_are_trained_for_goals_too(learner):
    if learner == "boosted":
        pytest.importorskip("lightgbm")
        model = rb.Boosted()
    else:
        from sklearn.tree import DecisionTreeClassifier

        model = rb.Oracle(DecisionTreeClassifier(max_depth=3, random_state=0))
    trace = rb.play(
        rb.compile(PROBLEMS["smallest"], PEOPLE), model, rounds=40 if learner == "boosted" else 8
    )
    assert rb.shrink(trace).status.feasible
    with pytest.raises(ValueError, match=r"is not: the status|play with rb.Oracle"):
        rb.duality_gap(trace)


def test_what_is_only_of_sums_says_so():
    trace = rb.play(rb.compile(PROBLEMS["precision"], PEOPLE), rb.Linear(), rounds=20, batch_size=None)
    with pytest.raises(ValueError, match="prices need an objective that is a sum of rates"):
        rb.price(trace, "recall() >= 0.7")
    words = str(rb.explain(PROBLEMS["precision"], PEOPLE))
    assert "precision() is not one" in words


def test_more_than_two_classes():
    random = np.random.default_rng(0)
    label = random.integers(0, 3, 300)
    features = random.normal(size=(300, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[label]
    people = rb.Population(features, np.array(["bird", "cat", "dog"])[label])
    means = rb.compile(rb.Problem(maximize=rb.g_mean()), people)
    assert len(means.goal.pieces) == 3
    mixture = rb.shrink(rb.play(means, rb.Linear(0.1), rounds=60, batch_size=None))
    assert mixture.objectives["train"] > 0.7
    worst = rb.smallest(rb.f_score(of=each) for each in ("bird", "cat", "dog"))
    compiled = rb.compile(rb.Problem(maximize=worst), people)
    mixture = rb.shrink(rb.play(compiled, rb.Linear(0.1), rounds=60, batch_size=None))
    plain = LogisticRegression().fit(features, label).predict(features)
    assert mixture.objectives["train"] >= f1_score(label, plain, average=None).min()


def test_two_ratios_are_audited_as_they_were_asked_for(tmp_path):
    fair = ['precision(group == "a") >= 0.9 * precision()', "recall() >= 0.4"]
    quick = {"training": rb.Training(epochs=3), "random_state": 0}
    model = rb.RateConstrainedClassifier(fair, **quick).fit(X, Y, columns={"group": GROUP})
    assert len(model.violations_) == 3  # two of them at a level
    report = model.audit(X, Y, columns={"group": GROUP})
    assert [promise.words for promise in report.promises] == fair
    yes = model.decision_proba(X)[:, 1]

    def precision(rows):
        return yes[rows & Y].sum() / yes[rows].sum()

    wanted = precision(GROUP == "a") >= 0.9 * precision(GROUP != "") - 1e-9
    assert report.promises[0].kept == wanted
    loaded = rb.load(model.save(tmp_path))
    assert str(loaded.audit(X, Y, columns={"group": GROUP})) == str(report)
    new = RANDOM.normal(size=(900, 3))
    asked = model.solution_.problem.asked
    people = rb.Population(new, Y, columns={"group": GROUP})
    certified = rb.certify(asked, model, people).promises
    assert [str(promise.constraint) for promise in certified] == fair


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        ("kl_divergence()", "say whether to minimize or maximize it, as in 'minimize kl_divergence"),
        ("positive_rate()", "say whether to minimize or maximize it, as in 'minimize positive_rate"),
        ("recall() + positive_rate()", "say whether to minimize or maximize it"),
        ("f_score()", r"objective='maximize f_score\(\)'"),
        ("recall()", r"objective='maximize recall\(\)'"),
        (rb.accuracy(), r"rb.Problem\(maximize='accuracy\(\)'\)"),
        ("minimize accuracy()", "more of it is better"),
    ],
)
def test_an_objective_says_which_way(objective, words):
    with pytest.raises(ValueError, match=words):
        rb.RateConstrainedClassifier(objective=objective).fit(X, Y)


def test_an_objective_that_said_which_way_is_taken_at_its_word():
    assert rb.Problem.stated("Maximise f_score()").sense == "maximize"
    assert rb.Problem.stated("minimize positive_rate()").sense == "minimize"
    assert rb.Problem.stated("error_rate() + 0.1 * positive_rate()").sense == "minimize"


def test_promises_of_an_objective_that_is_a_problem_count():
    problem = rb.Problem(maximize="g_mean()", subject_to=["recall() >= 0.9"])
    quick = {"training": rb.Training(epochs=2), "random_state": 0}
    for constraints in ((), problem.subject_to):
        model = rb.RateConstrainedClassifier(constraints, objective=problem, **quick).fit(X, Y)
        assert list(model.violations_) == ["recall() >= 0.9"]


def test_the_worst_group_gains_where_errors_may_be_no_more_than_the_plain_models():
    """Only models that were trained for few errors with equal recalls have so few errors."""
    rng, rows = np.random.default_rng(1), 3000
    group = rng.choice(list("abcd"), rows, p=[0.07, 0.13, 0.2, 0.6])
    features = rng.normal(size=(rows, 4))
    features[:, 3] = (group == "a") + 0.3 * rng.normal(size=rows)
    lower = np.select([group == each for each in "abc"], [1.2, 0.8, 0.4], 0.0)
    sign = np.where(np.isin(group, ["a", "b"]), -0.7, 0.7)
    labels = features[:, 0] + sign * features[:, 1] + 0.8 * rng.normal(size=rows) > 0.8 + lower
    options = {"confidence": None, "training": rb.Training(epochs=5), "random_state": 0}
    plain = rb.RateConstrainedClassifier(**options).fit(features, labels)
    most = float(np.mean(plain.predict(features) != labels))
    goal = rb.Problem(maximize=rb.smallest(rb.recall(group=each) for each in "abcd"))
    model = rb.RateConstrainedClassifier([rb.error_rate() <= most], objective=goal, **options)
    model.fit(features, labels, columns={"group": group})
    yes = model.decision_proba(features)[:, 1]
    assert np.abs(yes - labels).mean() <= most + 1e-9
    assert min(yes[labels & (group == each)].mean() for each in "abcd") > 0.35  # 0.22 without turning
