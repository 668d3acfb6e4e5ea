"""Cross-fitting: a row is judged by a model that did not see it, as by models trained one by one."""

import pickle

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import ratebound._old as rb
from ratebound._old.game.folding import folded
from ratebound._old.game.moving import with_moved_thresholds
from ratebound._old.game.trace import beside, judged_on

from ..extras import lightgbm, torch, xgboost
from ..small_tables import people

pytest.importorskip("torch")  # most of the learners compared here need it

TABLE = people(600, seed=3, slopes=(1.0, 0.8, -0.5), noise=0.7, share=0.4, shift=(0, 1, 0))
X, Y, _ = TABLE
PROMISES = [rb.recall(group="b") >= 0.98 * rb.recall(), rb.positive_rate() <= 0.45]
PROBLEM = rb.Problem(rb.error_rate(), PROMISES)
FREE = rb.Problem(rb.error_rate())
STILL = rb.ExternalRegret(1e-30)  # multipliers that do not move
COUNT = 3


def compiled(problem=PROBLEM, rows=slice(None), **options):
    return rb.compile(problem, TABLE.population(rows, **options))


def normed():
    nn = torch.nn
    return nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 1))


def lgb():
    return rb.Boosted(lightgbm.LGBMClassifier(n_estimators=12, num_leaves=8, verbosity=-1))


def xgb():
    return rb.Boosted(xgboost.XGBClassifier(n_estimators=12, max_depth=3))


TAKING = {
    "linear": lambda: rb.Linear(0.05),
    "linear, settings": lambda: rb.Linear((0.01, 0.1)),
    "mlp": lambda: rb.MLP((4,), 0.05),
    "mlp, settings": lambda: rb.MLP((4,), (0.01, 0.05)),
    "lattice": lambda: rb.Lattice(2, 2, keypoints=5),
    "lightgbm": lgb,
    "xgboost": xgb,
}
ANSWERING = {
    "logistic": lambda: rb.Oracle(LogisticRegression()),
    "tree": lambda: rb.Oracle(DecisionTreeClassifier(max_depth=3, random_state=0)),
}
LEARNERS = TAKING | ANSWERING


def play(learner, train, judge=rb.Folds(COUNT), **options):  # noqa: B008  # frozen
    how = {} if learner in ANSWERING else {"batch_size": 64, "keep": rb.Keep(4)}
    how = {"rounds": 12, "progress": False} | how | options
    return rb.play(train, LEARNERS[learner](), judge=judge, **how)


# --- folds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 3, 7])
def test_every_cell_has_its_share_in_every_fold(count):
    train = compiled()
    folds = folded(train, count, seed=1)
    for cell in range(train.cell_count):
        sizes = np.bincount(folds.of[train.cells == cell], minlength=count)
        assert sizes.max() - sizes.min() <= 1
    folds = folded(compiled(weighted=True), count, seed=1)
    for without in range(count):
        rest = folds.of != without
        counted = folds.factors[without][folds.of]
        assert (counted[~rest] == 0).all()
        assert (counted * TABLE.weights).sum() == pytest.approx(TABLE.weights.sum())
    assert (folds.factors[-1] == 1).all()


def test_too_many_folds():
    with pytest.raises(ValueError, match="5 rows are too few for 7 folds"):
        play("linear", compiled(FREE, slice(5)), rb.Folds(7))
    with pytest.raises(ValueError, match="count takes a whole number from 2 on"):
        rb.Folds(1)


# --- against models trained one by one -----------------------------------------------------------


@pytest.mark.parametrize("learner", ["linear", "mlp", "logistic", "tree"])
def test_objectives_are_those_of_models_without_the_fold(learner):
    train = compiled(FREE)
    folds = folded(train, COUNT, seed=0)
    options = {} if learner in ANSWERING else {"batch_size": None, "keep": rb.Keep(12)}
    trace = play(learner, train, **options)
    wrong = np.empty(600)
    for fold in range(COUNT):
        rest, held = np.flatnonzero(folds.of != fold), np.flatnonzero(folds.of == fold)
        alone = play(learner, compiled(FREE, rest), None, **options)
        scores = alone.scorer.scores(alone.parameters[-1:], X[held])[0, 0]
        wrong[held] = (scores >= 0) != Y[held]
    assert trace.objectives[-1] == pytest.approx(wrong.mean(), abs=2 / 600)
    whole = play(learner, train, None, **options)
    scores = [each.scorer.scores(each.parameters, X) for each in (trace, whole)]
    np.testing.assert_allclose(*scores, atol=1e-5)
    assert trace.objectives[-1] != whole.objectives[-1]


@pytest.mark.parametrize("learner", TAKING)
def test_deployed_is_the_model_of_all_rows(learner):
    """If multipliers do not move, it is the model that would be trained without a judge."""
    train = compiled(weighted=True)
    one, other = (play(learner, train, judge, player=STILL) for judge in (rb.Folds(COUNT), None))
    scores = [trace.scorer.scores(trace.parameters, X) for trace in (one, other)]
    np.testing.assert_allclose(*scores, atol=1e-3)
    assert one.settings == other.settings
    assert not np.array_equal(one.objectives, other.objectives)


@pytest.mark.parametrize("learner", LEARNERS)
def test_labels_of_a_fold_do_not_reach_the_model_that_judges_it(learner, monkeypatch):
    """If all are flipped, every wrong decision there becomes right, to the last row."""
    folds = folded(compiled(FREE), COUNT, seed=0)
    monkeypatch.setattr("ratebound._old.game.rounds.folded", lambda *_: folds)
    inside = {"inside": folds.of == 1}
    problem = rb.Problem(rb.error_rate(), [rb.error_rate(inside=True) <= 1])
    wrong = []
    for labels in (Y, Y ^ inside["inside"]):
        train = rb.compile(problem, rb.Population(X, labels, columns=inside))
        player = rb.Grid(1) if learner in ANSWERING else STILL
        wrong.append(1 + play(learner, train, player=player).violations[:, 0])
    np.testing.assert_allclose(wrong[1], 1 - wrong[0], atol=1e-9)


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_is_cross_fitted(learner):
    train, watched = compiled(rows=slice(0, 400)), compiled(rows=slice(400, 600))
    trace = play(learner, train, watch={"new": watched})
    scores = trace.scorer.scores(trace.parameters, X[400:])
    np.testing.assert_array_equal(trace.watched["new"].violations, watched.evaluate(scores)[1])
    assert trace.violations.shape == (len(trace), 2)
    mixture = rb.shrink(trace)
    assert mixture.predict(X).shape == (600,)
    again = play(learner, train, watch={"new": watched})
    np.testing.assert_array_equal(trace.violations, again.violations)
    np.testing.assert_array_equal(trace.multipliers, again.multipliers)


def test_learned_thresholds_are_shared():
    train = compiled(rb.Problem(rb.error_rate(), [rb.roc_auc(bins=3) >= 0.9]))
    trace = play("linear", train, rounds=60)
    assert len(trace.thresholds) == 3
    assert trace.violations[-1, 0] < trace.violations[0, 0] + 0.1


# --- later queries to a trace ---------------------------------------------------------------------


@pytest.mark.parametrize("learner", LEARNERS)
def test_scores_of_a_trace_are_out_of_fold_on_its_own_rows_alone(learner):
    train, new = compiled(rows=slice(0, 400)), compiled(rows=slice(400, 600))
    trace = play(learner, train)
    objectives, violations = train.evaluate(trace.scores(train))
    np.testing.assert_array_equal(objectives, trace.objectives)
    np.testing.assert_array_equal(violations, trace.violations)
    np.testing.assert_array_equal(trace.scores(new), trace.scorer.scores(trace.parameters, X[400:]))
    again = judged_on(trace.only(np.array([1, 0])), compiled(rows=slice(0, 400)))
    np.testing.assert_array_equal(again.violations, trace.violations[[1, 0]])
    copied = pickle.loads(pickle.dumps(trace))
    np.testing.assert_allclose(copied.scores(train), trace.scores(train), atol=1e-6)


@pytest.mark.parametrize("learner", ["linear, settings", "mlp", "lightgbm", "tree"])
def test_thresholds_move_by_the_scores_out_of_fold(learner):
    train = compiled()
    trace = play(learner, train)
    moved = with_moved_thresholds(trace, train)
    objectives, violations = train.evaluate(moved.scores(train).astype(float) - moved.at[:, :, None])
    np.testing.assert_allclose(moved.objectives, objectives, atol=1e-12)
    np.testing.assert_allclose(moved.violations, violations, atol=1e-12)
    assert rb.shrink(moved).status.feasible
    assert rb.shrink(moved).objectives["train"] <= max(rb.shrink(trace).objectives["train"], 0.5)


@pytest.mark.parametrize("learner", ["linear", "lightgbm", "logistic"])
@pytest.mark.parametrize("cross_fitted", [True, False])
def test_candidates_of_another_game_keep_their_own_folds(learner, cross_fitted):
    train, errors = compiled(), compiled(FREE)
    trace = play(learner, train)
    plain = judged_on(play(learner, errors, rb.Folds(COUNT) if cross_fitted else None), train)
    both = beside(trace, plain)
    np.testing.assert_array_equal(both.scores(train)[: len(trace)], trace.scores(train))
    np.testing.assert_array_equal(both.scores(train)[len(trace) :], plain.scores(train))
    np.testing.assert_array_equal(train.evaluate(both.scores(train))[1], both.violations)


def test_several_populations_are_folded_each():
    problem = rb.Problem(rb.error_rate(), [rb.recall(on="pool") >= 0.9])
    first, pool = rb.Population(X[:350], Y[:350]), rb.Population(X[350:], Y[350:])
    train = rb.compile(problem, first, pool=pool)
    trace = play("lightgbm", train)
    np.testing.assert_array_equal(train.evaluate(trace.scores(train))[1], trace.violations)
    plain = play("lightgbm", rb.compile(FREE, first))
    elsewhere = plain.scorer.scores(plain.parameters, X[350:])
    np.testing.assert_array_equal(plain.scores(train)[..., 350:], elsewhere)
    assert not np.array_equal(plain.scores(train), plain.scorer.scores(plain.parameters, X))


# --- what it is for ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "rounds"),
    [
        (lambda: rb.Boosted(lightgbm.LGBMClassifier(num_leaves=8, verbosity=-1)), 60),
        (lambda: rb.Oracle(RandomForestClassifier(10, random_state=0)), 5),
    ],
    ids=["trees", "forest"],
)
def test_rates_out_of_fold_are_those_of_new_rows(learner, rounds):
    """Half of the labels are noise, which trees memorise: rates on their own rows are meaningless."""
    random = np.random.default_rng(0)
    features, group = random.normal(size=(3600, 6)), np.where(random.random(3600) < 0.5, "a", "b")
    labels = np.where(group == "a", features[:, 0] > 0, random.random(3600) < 0.5)
    features = np.column_stack([features, group == "a"])
    problem = rb.Problem(rb.error_rate(), [rb.recall(group="b") >= 0.8])

    def part(rows):
        population = rb.Population(features[rows], labels[rows], columns={"group": group[rows]})
        return rb.compile(problem, population)

    train, test = part(slice(600)), part(slice(600, None))
    player = rb.ExternalRegret(0.1)
    off = []
    for judge in (None, rb.Folds(4)):
        trace = rb.play(
            train,
            learner(),
            player=player,
            judge=judge,
            rounds=rounds,
            watch={"new": test},
            progress=False,
        )
        off.append(np.abs(trace.violations - trace.watched["new"].violations)[-4:].mean())
    assert off[1] < 0.08
    assert off[1] < off[0] / 2


def test_learners_ask_for_folds_unless_they_cannot_be_trained_side_by_side():
    own = rb.Torch(normed, optimizer=lambda given: torch.optim.SGD(given, 0.1))
    able = [rb.Linear(), lgb(), rb.MLP(), rb.Lattice(), rb.Oracle(LogisticRegression())]
    assert own.folds is None
    assert [learner.folds for learner in able] == [3] * 5


# --- what is refused -----------------------------------------------------------------------------


def test_models_that_cannot_stand_side_by_side_are_refused():
    with pytest.raises(ValueError, match=r"one setting at a time: .* confidence="):
        rb.play(compiled(), rb.Torch(normed), judge=rb.Folds(2), rounds=2)
    own = rb.Torch(rb.MLP((2,)).network(X), optimizer=lambda given: torch.optim.SGD(given, 0.1))
    with pytest.raises(ValueError, match="one setting at a time"):
        rb.play(compiled(), own, judge=rb.Folds(2), rounds=2)


def test_a_model_that_has_seen_all_rows_is_no_start():
    trace = play("linear", compiled(), None)
    with pytest.raises(ValueError, match="has seen all rows"):
        rb.play(compiled(), rb.Linear().starting_at(trace.parameters[-1]), judge=rb.Folds(2))
