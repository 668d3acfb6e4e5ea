"""Two data sets: the model descends on its own rows; the λ-player and violations use the judge's."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import ratebound._old as rb

from ..extras import lightgbm, pd, torch, xgboost
from ..small_tables import people

pytest.importorskip("torch")  # most of the learners compared here need it

TABLE = people(700, seed=3, slopes=(1.0, 0.8, -0.5), noise=0.7, share=0.4, shift=(0, 1, 0))
X, Y, _ = TABLE
PROMISES = [rb.recall(group="b") >= 0.98 * rb.recall(), rb.positive_rate() <= 0.45]
PROBLEM = rb.Problem(rb.error_rate(), PROMISES)
OWN, OTHER = slice(0, 400), slice(400, 700)


def compiled(rows, problem=PROBLEM, **options):
    return rb.compile(problem, TABLE.population(rows, **options))


TRAIN, JUDGE = compiled(OWN), compiled(OTHER)


def small():
    nn = torch.nn
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))


def normed():
    nn = torch.nn
    return nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(0.2), nn.Linear(6, 1))


def lgb(**options):
    return rb.Boosted(lightgbm.LGBMClassifier(n_estimators=12, num_leaves=8, verbosity=-1, **options))


def xgb():
    return rb.Boosted(xgboost.XGBClassifier(n_estimators=12, max_depth=3))


DESCENDING = {
    "linear": lambda: rb.Linear(0.05),
    "linear, settings": lambda: rb.Linear((0.01, 0.1)),
    "module": lambda: rb.Torch(small, 0.05),
    "mlp, settings": lambda: rb.MLP((4,), (0.01, 0.05)),
    "batch norm": lambda: rb.Torch(normed, 0.05),
    "lattice": lambda: rb.Lattice(2, 2, keypoints=5),
}
GROWING = {"lightgbm": lgb, "xgboost": xgb}
ANSWERING = {
    "logistic": lambda: rb.Oracle(LogisticRegression()),
    "tree": lambda: rb.Oracle(DecisionTreeClassifier(max_depth=3)),
}
LEARNERS = DESCENDING | GROWING | ANSWERING
FIELDS = ("objectives", "violations", "multipliers", "parameters", "setting", "round")


def play(learner, train=TRAIN, judge=JUDGE, **options):
    how = {} if learner in ANSWERING else {"batch_size": 64, "keep": rb.Keep(4)}
    how = {"rounds": 12, "progress": False} | how | options
    return rb.play(train, LEARNERS[learner](), judge=judge, **how)


def same(one, other, fields=FIELDS):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in fields)


# --- the trace -----------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", LEARNERS)
def test_violations_are_the_judges_and_objectives_those_of_the_models_rows(learner):
    trace = play(learner, watch={"own": TRAIN})
    scores = trace.scorer.scores(trace.parameters, X)
    objectives, own_violations = TRAIN.evaluate(scores[..., OWN])
    judged, violations = JUDGE.evaluate(scores[..., OTHER])
    np.testing.assert_array_equal(trace.objectives, objectives)
    np.testing.assert_array_equal(trace.violations, violations)
    np.testing.assert_array_equal(trace.watched["judge"].objectives, judged)
    np.testing.assert_array_equal(trace.watched["judge"].violations, violations)
    np.testing.assert_array_equal(trace.watched["own"].violations, own_violations)
    assert rb.shrink(trace).weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("learner", [name for name in LEARNERS if name != "batch norm"])
@pytest.mark.parametrize("batch_size", [None, 64])
def test_judged_by_its_own_rows_a_game_is_as_it_was(learner, batch_size):
    options = {} if learner in ANSWERING else {"batch_size": batch_size}
    weighed = compiled(OWN, weighted=True)
    assert same(
        play(learner, weighed, weighed, **options), play(learner, weighed, judge=None, **options)
    )


@pytest.mark.parametrize(
    "player", [rb.SwapRegret("theorem", optimizer="sgd"), rb.Lagrangian(), rb.ExternalRegret()]
)
def test_every_player_sees_the_judge(player):
    rules = rb.Rules(proxy="sigmoid", estimate="unbiased")
    trace = play("linear", player=player, rules=rules, batch_size=None, rounds=1)
    game = rb.Game(JUDGE, player, rules=rules)
    state = game.start(np.zeros(300), rounds=1)
    _, moved = game.round(state, np.zeros(300, np.float32), game.batch(None))
    np.testing.assert_array_equal(trace.multipliers, moved.multipliers.weights)


def test_learned_thresholds_move_on_the_models_rows():
    problem = rb.Problem(rb.error_rate(), [rb.roc_auc(bins=3) >= 0.9])
    train, judge = compiled(OWN, problem), compiled(OTHER, problem)
    trace = play("linear", train, judge, rounds=40)
    scores = trace.scorer.scores(trace.parameters, X)
    _, violations = judge.evaluate(scores[..., OTHER], trace.thresholds)
    np.testing.assert_array_equal(trace.violations, violations)
    alone = play("linear", train, None, rounds=1, keep=rb.Keep(1))
    first = play("linear", train, judge, rounds=1, keep=rb.Keep(1))
    assert first.thresholds == alone.thresholds


def test_several_populations_and_tables():
    problem = rb.Problem(rb.error_rate(), [rb.recall(on="pool") >= 0.9])

    def tables(first, second):
        names = ["p", "q", "r"]
        pair = (rb.Population(pd.DataFrame(X[rows], columns=names), Y[rows]) for rows in (first, second))
        return rb.compile(problem, next(pair), pool=next(pair))

    train, judge = tables(slice(0, 250), slice(250, 400)), tables(slice(400, 550), slice(550, 700))
    for learner in ("linear", "lightgbm", "logistic"):
        trace = play(learner, train, judge)
        scores = trace.scorer.scores(trace.parameters, judge.inputs)
        np.testing.assert_array_equal(trace.violations, judge.evaluate(scores)[1])


# --- who sees what -------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", DESCENDING | GROWING)
def test_the_judges_rows_reach_the_model_through_the_multipliers_alone(learner):
    """If multipliers cannot move, the judge's rows do not change the model."""
    still = rb.ExternalRegret(1e-30)
    poisoned = TABLE.population(OTHER, X=-50 * X[OTHER], y=~Y[OTHER])
    one, other = (
        play(learner, judge=judge, player=still) for judge in (JUDGE, rb.compile(PROBLEM, poisoned))
    )
    assert same(one, other, ("objectives", "parameters"))
    assert not same(one, other, ("violations",))
    if learner != "batch norm":  # which draws its own dropout
        assert same(one, play(learner, judge=None, player=still), ("objectives", "parameters"))


@pytest.mark.parametrize("learner", DESCENDING | GROWING)
def test_flipped_labels_of_the_judge_move_the_multipliers_first(learner):
    def after(rounds, judge):
        return play(learner, judge=judge, rounds=rounds, keep=rb.Keep(1))

    flipped = compiled(OTHER, y=~Y[OTHER])
    # A model that starts at 0 says yes to every row, whatever its label, so check one round later.
    rounds = 2 if learner in GROWING or "linear" in learner else 1
    one, other = (after(rounds, judge) for judge in (JUDGE, flipped))
    for field in ("parameters", "objectives"):
        np.testing.assert_allclose(getattr(one, field), getattr(other, field), rtol=1e-9)
    assert abs(one.multipliers - other.multipliers).max() > 1e-12  # Adam's first step uses only signs


@pytest.mark.parametrize("learner", GROWING)
def test_trees_do_not_change_where_promises_never_bind(learner):
    easy = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.99])
    train, judge = compiled(OWN, easy), compiled(OTHER, easy)
    asleep = rb.ExternalRegret()  # at 0 until something is violated, after the first trees
    alone = rb.play(train, LEARNERS[learner](), player=asleep, rounds=12)
    judged = rb.play(train, LEARNERS[learner](), player=asleep, rounds=12, judge=judge)
    if (alone.multipliers[:, 1:] == judged.multipliers[:, 1:]).all():
        assert same(alone, judged, ("objectives", "parameters"))
    scores = [trace.scorer.scores(trace.parameters, X) for trace in (alone, judged)]
    np.testing.assert_allclose(*scores, atol=0.2)


def test_a_tree_learns_rows_by_heart_and_the_judge_notices():
    """The labels of group "b" are noise: trees fit them on their own rows, but not on others."""
    random = np.random.default_rng(0)
    features, group = random.normal(size=(1200, 6)), np.where(random.random(1200) < 0.5, "a", "b")
    labels = np.where(group == "a", features[:, 0] > 0, random.random(1200) < 0.5)
    features = np.column_stack([features, group == "a"])
    problem = rb.Problem(rb.error_rate(), [rb.recall(group="b") >= 0.9])

    def part(rows):
        population = rb.Population(features[rows], labels[rows], columns={"group": group[rows]})
        return rb.compile(problem, population)

    train, judge, test = (part(slice(start, start + 400)) for start in (0, 400, 800))
    learner = rb.Boosted(lightgbm.LGBMClassifier(n_estimators=100, num_leaves=8, verbosity=-1))
    broken = []
    for seen in (None, judge):
        mixture = rb.shrink(rb.play(train, learner, judge=seen, progress=False))
        broken.append(mixture.weights @ test.evaluate(mixture.member_scores(test.features).T)[1])
    assert broken[0] > 0.25
    assert broken[1] < 0.1


@pytest.mark.parametrize("learner", DESCENDING | GROWING)
def test_scores_shown_to_the_judge_are_those_of_the_deployed_model(learner):
    fit = LEARNERS[learner]().start(TRAIN, LEARNERS[learner]().settings, 0)
    rows = None if learner in GROWING else np.array([5, 7, 7, 200])
    if learner in GROWING:
        fit.grow(*np.ones((2, 1, 400)))
    shown = np.asarray(fit.judged_scores(JUDGE, rows))
    expected = rb.Descending.judged_scores(fit, JUDGE, rows)  # as a user's fit would return them
    np.testing.assert_allclose(shown, expected, atol=1e-5)


def test_counts_are_of_the_rows_trained_on():
    train = compiled(OWN, rb.Problem(rb.error_rate(), [rb.predicted_positives() <= 150]))
    trace = play("linear", train, compiled(OTHER, train.problem))
    yes = (trace.scorer.scores(trace.parameters, X)[:, 0, OTHER] >= 0).sum(axis=1)
    np.testing.assert_allclose(trace.violations[:, 0], yes * 400 / 300 - 150)
    np.testing.assert_allclose(trace.worst, trace.violations[:, 0] / 400)


# --- what is refused -----------------------------------------------------------------------------

OTHERS = [
    (PROBLEM, TypeError, "judge takes rb.compile"),
    (
        compiled(OTHER, rb.Problem(rb.error_rate(), PROMISES[:1])),
        ValueError,
        "None instead of",
    ),
    (
        compiled(OTHER, rb.Problem(rb.error_rate(), [PROMISES[0], rb.positive_rate() <= 0.4])),
        ValueError,
        r"positive_rate\(\) <= 0.4 instead of positive_rate\(\) <= 0.45.*compiled.problem",
    ),
    (compiled(OTHER, rb.Problem(-rb.accuracy(), PROMISES)), ValueError, "judge: its objective"),
]


@pytest.mark.parametrize(("judge", "kind", "words"), OTHERS)
def test_another_problem_is_refused(judge, kind, words):
    with pytest.raises(kind, match=words):
        play("linear", judge=judge)


def test_names_and_features_must_fit():
    with pytest.raises(ValueError, match="the name 'judge'"):
        play("linear", watch={"judge": TRAIN})
    with pytest.raises(ValueError, match="expected rows of 3 features"):
        play("linear", judge=compiled(OTHER, X=X[OTHER, :2]))
