"""The plug-in for rankers: the order that is best at given multipliers, and what it promises."""

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.auditing.pairwise import pair_moves
from ratebound._old.estimators.pair_rules import NotLearned, Worth, _worth
from ratebound._old.game.scorer import Saved
from ratebound._old.learners.plug_in_of_pairs import OddsScorer, log_odds

GAP = (
    'abs(ranked_right(first.group == "b", second.group == "a") - '
    'ranked_right(first.group == "a", second.group == "b")) <= {}'
)


def drawn(seed=0, size=500):
    random = np.random.default_rng(seed)
    X = random.normal(size=(size, 3))
    group = np.where(X[:, 1] > 0.3, "a", "b")
    z = X[:, 0] + X[:, 1] + random.normal(size=size)
    return X, z, group


@pytest.mark.parametrize("seed", range(5))
def test_of_two_groups_every_two_rows_are_in_the_order_that_is_worth_more(seed):
    """Against all pairs of rows whose group is known: which order has the larger expected worth."""
    random = np.random.default_rng(seed)
    worth = random.uniform(0.1, 2, size=(2, 2))  # of the first row's group, and the second's
    good, group = random.random(60), random.integers(2, size=60)
    values = np.zeros((4, 60))  # good of each group, bad of each group
    values[group, np.arange(60)], values[2 + group, np.arange(60)] = good, 1 - good
    first = np.array([True, True, False, False])
    design = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1.0]])
    logs = Worth(-worth.reshape(1, 4), np.linalg.pinv(design), first).logs(np.ones((1, 1)))
    scores = log_odds(logs, values, first)[0, 0]
    gain = good[:, None] * (1 - good) * worth[group[:, None], group]
    above = gain - gain.T
    clear = np.abs(above) > 1e-9
    assert (np.sign(scores[:, None] - scores)[clear] == np.sign(above)[clear]).all()


def test_combinations_of_which_nothing_is_asked_have_no_say():
    pairs = rb.Pairs([[0.0], [1.0], [2.0], [3.0]], [1, 1, 0, 0], {"group": ["a", "b", "a", "b"]})
    compiled = rb.compile(rb.Problem('1 - ranked_right(first.group == "a")'), pairs)
    found = _worth(compiled, np.array([0, 0, 1, 1]), np.array([2, 3, 2, 3]), 4)
    assert found.terms.shape == (1, 2)
    assert found.first.tolist() == [True, True, False, False]


@pytest.mark.parametrize("queries", [1, 7])
def test_standing_is_the_share_of_comparable_rows_below(queries):
    random = np.random.default_rng(0)
    y, query = random.integers(4, size=50), random.integers(queries, size=50)
    standing = rb.Pairs(random.normal(size=(50, 1)), y, query=query).standing
    for row in range(50):
        others = y[query == query[row]]
        below, above = (others < y[row]).sum(), (others > y[row]).sum()
        share = below / (below + above) if below + above else np.nan
        assert standing[row] == pytest.approx(share, nan_ok=True)


def test_rows_move_rates_of_all_pairs_as_delong_says():
    random = np.random.default_rng(0)
    y = random.random(200) < 0.4
    scores = random.normal(size=200) + y
    pairs = rb.Pairs(scores[:, None], y)
    compiled = rb.compile(rb.Problem("1 - ranked_right()", ["ranked_right() >= 0.5"]), pairs)
    moved, variance, real = pair_moves(compiled).of(pairs.differences(scores) >= 0)
    wins = scores[y][:, None] > scores[~y][None]
    delong = wins.mean(1).var() / y.sum() + wins.mean(0).var() / (~y).sum()
    assert (moved**2).sum() == pytest.approx(delong, rel=0.01)
    assert delong < variance[0] < 1.2 * delong
    assert real[0] > 0.8


@pytest.mark.parametrize("model", ["linear", "lightgbm"])
@pytest.mark.parametrize("outcome", ["two labels", "numbers", "queries"])
def test_promises_are_kept_on_new_rows_that_the_plain_model_breaks(model, outcome):
    if model == "lightgbm":
        pytest.importorskip("lightgbm")

    def given(seed, size):
        X, z, group = drawn(seed, size)
        y = z > 0 if outcome == "two labels" else np.exp(z)
        query = np.arange(size) // 20 if outcome == "queries" else None
        return X, y, {"group": group}, query

    X, y, columns, query = given(0, 800)
    how = {"model": model, "pairs": 8_000, "random_state": 0}
    new, truth, groups, asked = given(1, 3000)
    rankers = [
        rb.RateConstrainedRanker(rules, **how).fit(X, y, columns, query=query)
        for rules in ((), GAP.format(0.1))
    ]
    problem = rb.Problem("1 - ranked_right()", [GAP.format(0.1)])
    pairs = rb.Pairs(new, truth, groups, query=asked, count=30_000)
    plain, own = (rb.audit(problem, ranker, pairs) for ranker in rankers)
    assert not plain.kept
    assert own.kept
    assert rankers[1].status_.feasible
    assert plain.objective.value < own.objective.value < 0.35


def test_it_is_as_good_as_the_game_and_says_what_it_is():
    X, z, group = drawn(3)
    found = {
        method: rb.RateConstrainedRanker(
            GAP.format(0.1), method=method, confidence=None, pairs=8_000, random_state=0
        ).fit(X, z > 0, {"group": group})
        for method in ("auto", "game")
    }
    assert found["auto"].solution_.scorer.each.kind == "plug-in of pairs"
    assert found["game"].solution_.scorer.each.kind != "plug-in of pairs"
    assert found["auto"].objective_ < found["game"].objective_ + 0.005
    assert all(ranker.status_.feasible for ranker in found.values())


def test_without_promises_rows_are_ordered_by_the_mean_of_the_classifiers_odds():
    from sklearn.linear_model import LogisticRegression

    X, z, _ = drawn()
    ranker = rb.RateConstrainedRanker(model=LogisticRegression(), random_state=0).fit(X, z > 0)
    plain = LogisticRegression().fit(X, z > 0).decision_function(X)
    assert (
        np.corrcoef(np.argsort(np.argsort(plain)), np.argsort(np.argsort(ranker.decision_function(X))))[
            0, 1
        ]
        > 0.999
    )


def test_what_it_cannot_learn_is_played_and_refused_if_it_was_asked_for():
    X, z, _ = drawn(size=300)
    site = np.random.default_rng(0).integers(30, size=300).astype(str)
    rules = [f'ranked_right(first.site == "{each}") >= 0.1' for each in np.unique(site)]
    ranker = rb.RateConstrainedRanker(
        rules, confidence=None, training=rb.Training(epochs=2), random_state=0
    )
    with pytest.raises(NotLearned, match=r"30 groups, but the plug-in learns at most 24.*method='game'"):
        ranker.set_params(method="plug-in").fit(X, z > 0, {"site": site})
    assert ranker.set_params(method="auto").fit(X, z > 0, {"site": site}).solution_ is not None


def test_files_that_were_crafted_are_refused():
    X, z, group = drawn(size=200)
    ranker = rb.RateConstrainedRanker(GAP.format(0.2), random_state=0).fit(X, z > 0, {"group": group})
    odds = ranker.solution_.scorer.each
    description, arrays = odds.describe()
    parameters = ranker.solution_.parameters
    assert (
        OddsScorer.read(Saved(description, dict(arrays), parameters)).first.tolist()
        == odds.first.tolist()
    )
    with pytest.raises(ValueError, match="does not fit its forecast"):
        OddsScorer.read(Saved(description, arrays | {"first": arrays["first"] + 2}, parameters))
    with pytest.raises(ValueError, match="models it does not have"):
        OddsScorer.read(Saved(description, dict(arrays), parameters + 8.0))


def test_an_onnx_file_gives_the_same_scores(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    from ratebound._old.solution.onnx import to_onnx

    X, z, group = drawn(size=200)
    ranker = rb.RateConstrainedRanker(GAP.format(0.2), random_state=0).fit(X, z > 0, {"group": group})
    path = tmp_path / "ranker.onnx"
    to_onnx(ranker.solution_, path)
    session = onnxruntime.InferenceSession(path)
    given = {"features": X.astype(np.float32), "key": np.arange(len(X))}
    inputs = {each.name: each for each in session.get_inputs()}
    (scores,) = session.run(["scores"], {name: given[name] for name in inputs})
    assert np.allclose(np.ravel(scores), ranker.decision_function(X), atol=1e-4)
