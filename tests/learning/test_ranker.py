"""The ranker against loops over pairs, all orders of few rows, and scikit-learn."""

import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

import ratebound as rb
from ratebound.learning.classifier import RateConstrainedClassifier
from ratebound.learning.pairs import draw_pairs, measure_standing
from ratebound.learning.ranker import PairRules, RateConstrainedRanker, score_rows
from ratebound.learning.status import ConstraintsViolated
from ratebound.problem.compile import compile_pieces
from ratebound.rates.sums import PAIRS

pytestmark = pytest.mark.filterwarnings(
    "ignore::ratebound.learning.status.ConfidenceNotReached"  # 86% for 90%
)
GAP = (
    'abs(ranked_right(first.g == "b", second.g == "a") - '
    'ranked_right(first.g == "a", second.g == "b")) <= {}'
)


def make_rows(size=500, seed=0):
    """Return features, how high rows should be, and groups, of which b is lower."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(size, 3))
    group = np.where(X[:, 1] + 0.5 * random.normal(size=size) > 0.3, "a", "b")
    return X, X[:, 0] + X[:, 1] + random.normal(size=size), group


def fit(constraints=(), size=500, query=None, labels=True, **options):
    X, y, group = make_rows(size)
    options = {"random_state": 0, "pairs": 8_000, **options}
    ranker = RateConstrainedRanker(constraints, **options)
    return ranker.fit(X, y > 0 if labels else y, {"g": group}, query=query)


def list_pairs(y, query):
    """Return all pairs of rows of one query, the higher first."""
    every_two = itertools.permutations(range(len(y)), 2)
    return {(i, j) for i, j in every_two if y[i] > y[j] and query[i] == query[j]}


def measure_gap(scores, y, group, query):
    """Return how much more often one of two groups is ranked right, pair by pair."""
    higher = y[:, None] > y
    comparable = higher & (query[:, None] == query)
    is_right = scores[:, None] > scores
    rates = []
    for one, other in (("b", "a"), ("a", "b")):
        pairs = comparable & (group[:, None] == one) & (group == other)
        rates.append(is_right[pairs].mean())
    return abs(rates[0] - rates[1])


# --- pairs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("queries", [1, 4])
@pytest.mark.parametrize("levels", [2, 5, 1000])
def test_pairs_and_standing_by_loops(queries, levels):
    random = np.random.default_rng(0)
    y = random.integers(levels, size=40).astype(float)
    query = random.integers(queries, size=40)
    pairs = list_pairs(y, query)
    first, second = draw_pairs(query, y, 10**6, seed=0)
    assert len(first) == len(pairs)
    assert set(zip(first.tolist(), second.tolist(), strict=True)) == pairs
    drawn = set(zip(*map(np.ndarray.tolist, draw_pairs(query, y, 30, seed=0)), strict=True))
    assert len(drawn) == 30
    assert drawn < pairs
    above = np.array([sum(i == row for i, _ in pairs) for row in range(40)])
    below = np.array([sum(j == row for _, j in pairs) for row in range(40)])
    with np.errstate(invalid="ignore"):
        assert measure_standing(y, query) == pytest.approx(above / (above + below), nan_ok=True)


def test_pairs_are_drawn_of_billions():
    y = np.random.default_rng(0).normal(size=100_000)
    first, second = draw_pairs(np.zeros(len(y), dtype=int), y, 1000, seed=0)
    assert len(set(zip(first.tolist(), second.tolist(), strict=True))) == 1000
    assert (y[first] > y[second]).all()
    ranks = y.argsort().argsort() / len(y)
    assert ranks[first].mean() == pytest.approx(2 / 3, abs=0.03)  # the higher of two
    assert ranks[second].mean() == pytest.approx(1 / 3, abs=0.03)


@pytest.mark.parametrize("seed", range(4))
def test_no_order_is_worth_more(seed):
    """Six rows of known groups: the order at given multipliers, against all 720 orders."""
    random = np.random.default_rng(seed)
    worth = random.uniform(0.1, 2, size=(2, 2))  # of the first row's group and the second's
    stands_first = random.random(6)
    group = random.integers(2, size=6)
    row = np.arange(6)
    forecast = np.zeros((4, 6))
    forecast[group, row] = stands_first
    forecast[2 + group, row] = 1 - stands_first
    pairs = rb.Population(row)
    rules = PairRules(
        compiled=compile_pieces(rb.Problem("1 - ranked_right()"), {PAIRS: [pairs]}),
        forecast=forecast,
        first=row,
        second=np.roll(row, 1),
        cells=(np.array([0, 0, 1, 1]), np.array([2, 3, 2, 3])),
        worth=-worth.reshape(1, 4),
    )
    gain = stands_first[:, None] * (1 - stands_first) * worth[group[:, None], group]

    def measure(order):
        return sum(gain[i, j] for i, j in itertools.combinations(order, 2))

    scores = score_rows(rules.split_worth(np.array([[1.0, 0.0]])), forecast)[0]
    best = max(map(measure, itertools.permutations(range(6))))
    assert measure(np.argsort(-scores)) == pytest.approx(best)


@pytest.mark.parametrize("queries", [1, 30])
def test_score_is_the_share_of_pairs(queries):
    X, y, _ = make_rows(300, seed=1)
    query = np.arange(300) % queries
    weights = np.random.default_rng(0).integers(1, 4, size=300).astype(float)
    ranker = fit()
    scores = ranker.decision_function(X)
    if queries == 1:
        assert ranker.set_params(pairs=10**6).score(X, y > 0) == pytest.approx(
            roc_auc_score(y > 0, scores)
        )
    right = 0.0
    total = 0.0
    for i, j in list_pairs(y, query):
        right += weights[i] * weights[j] * (scores[i] > scores[j])
        total += weights[i] * weights[j]
    ranker.set_params(pairs=10**6)
    assert ranker.score(X, y, weights, query=query) == pytest.approx(right / total)


# --- what is learned ------------------------------------------------------------------------------


def test_without_constraints_it_orders_as_the_classifier_does():
    X, y, _ = make_rows()
    model = LogisticRegression()
    scores = fit(model=model).decision_function(X)
    plain = model.fit(X, y > 0).decision_function(X)
    assert np.corrcoef(scores.argsort().argsort(), plain.argsort().argsort())[0, 1] > 0.999


@pytest.mark.parametrize("model", ["linear", "lightgbm"])
@pytest.mark.parametrize("outcome", ["labels", "numbers", "queries"])
def test_constraints_hold_on_new_rows_that_the_plain_model_violates(model, outcome):
    pytest.importorskip("lightgbm")
    query = np.arange(800) // 20 if outcome == "queries" else None
    options = {"size": 800, "model": model, "query": query, "labels": outcome == "labels"}
    plain = fit(**options)
    ranker = fit(GAP.format(0.1), **options)
    X, y, group = make_rows(2000, seed=1)
    y = y > 0 if outcome == "labels" else y
    new_query = np.zeros(2000) if query is None else np.arange(2000) // 20
    assert ranker.status_.feasible
    assert ranker.status_.confidence > 0.5
    assert measure_gap(plain.decision_function(X), y, group, new_query) > 0.12
    assert measure_gap(ranker.decision_function(X), y, group, new_query) < 0.1
    shares = [model.score(X, y, query=new_query) for model in (plain, ranker)]
    assert shares[0] > shares[1] > 0.65


def test_the_status_is_of_pairs_that_a_memory_does_not_help_with():
    """Labels are random, so a tree that remembers rows, and copies of them, ranks by chance."""
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 2))
    y = random.random(200) < 0.5
    copies = np.repeat(np.arange(200), 3)
    tree = DecisionTreeClassifier(random_state=0)
    ranker = RateConstrainedRanker(model=tree, random_state=0)
    with pytest.warns(UserWarning, match="400 of 600 rows are copies"):
        ranker.fit(X[copies], y[copies])
    assert ranker.score(X, y) > 0.95
    assert 0.15 < 1 - ranker.status_.reached < 0.4  # half of the pairs tie at 0 or 1
    assert "saw neither row" in str(ranker.status_)


@pytest.mark.parametrize(
    ("objective", "reached"),
    [
        ("1 - ranked_right()", 0.11),
        ("maximize ranked_right()", 0.89),
        ("maximize smallest(ranked_right(first.g))", 0.83),
    ],
)
def test_objectives_are_shown_as_they_were_written(objective, reached):
    status = fit("ranked_right() >= 0.5", objective=objective).status_
    assert status.objective in objective
    assert status.reached == pytest.approx(reached, abs=0.02)


def test_a_column_alone_is_a_constraint_for_each_value():
    items = fit("ranked_right(first.g) >= 0.6").status_.constraints
    expected = [f'ranked_right(first.g == "{value}") >= 0.6' for value in "ab"]
    assert [item.constraint for item in items] == expected


def test_what_no_order_meets_is_named():
    bounds = [
        'ranked_right(first.g == "a" and second.g == "b") >= 0.95',
        'ranked_right(first.g == "b" and second.g == "a") >= 0.95',
    ]
    with pytest.warns(ConstraintsViolated, match="Infeasible"):
        status = fit(bounds, confidence=0.6).status_
    assert not status.feasible
    assert status.confidence < 0.1
    assert [item.constraint for item in status.constraints if not item.met] == bounds


def test_a_rank_needs_one_row_and_no_random_state_but_its_own():
    X, _, _ = make_rows()
    ranker = fit(GAP.format(0.1))
    together = ranker.decision_function(X)
    assert np.array_equal(ranker.predict(X), together)
    alone = [ranker.decision_function(X[row : row + 1])[0] for row in range(5)]
    assert together[:5] == pytest.approx(alone, rel=1e-12)  # matrix products may round otherwise
    assert np.array_equal(fit(GAP.format(0.1)).decision_function(X), together)
    assert len(pickle.dumps(ranker)) < 50_000


# --- what it stands among -------------------------------------------------------------------------


def test_objects_and_text_are_the_same():
    built = rb.ranked_right(rb.where(**{"first.g": "b"}), rb.column("second.g") == "a") >= 0.9
    text = 'ranked_right(first.g == "b", second.g == "a") >= 0.9'
    assert rb.parse(text) == built
    assert rb.parse(str(built)) == built
    assert rb.parse("ranked_right(first.g, second.g == 'a') >= 0.9").rates[0].population == PAIRS


def test_it_reads_tables_and_stands_in_pipelines_and_searches():
    X, y, group = make_rows(400)
    table = pd.DataFrame(X, columns=list("xzw")).assign(g=group)
    table["colour"] = np.resize(["red", "blue", None], len(X))
    table.loc[::7, "x"] = np.nan
    ranker = RateConstrainedRanker(
        'ranked_right(first.g == "b") >= 0.6',
        features=["x", "z", "colour"],
        pairs=5000,
        random_state=0,
    )
    search = GridSearchCV(ranker, {"confidence": [None, 0.9]}, cv=3).fit(table, y)
    assert search.best_score_ > 0.7
    assert search.best_estimator_.feature_names_in_.tolist() == table.columns.tolist()
    pipeline = make_pipeline(StandardScaler(), RateConstrainedRanker(GAP.format(0.2)))
    pipeline.fit(X, y, rateconstrainedranker__columns={"g": group})
    assert pipeline.score(X, y) > 0.7


def test_clusters_are_not_features():
    X, y, group = make_rows(400)
    table = pd.DataFrame(X, columns=list("xzw")).assign(age=X[:, 0], customer=np.arange(400) // 2)
    ranker = RateConstrainedRanker(GAP.format(0.5), pairs=5000, random_state=0)
    ranker.fit(table, y, {"g": group}, clusters="customer")
    assert ranker.features_ == ["x", "z", "w", "age"]
    assert "does not read 'customer'" in str(ranker.status_)
    assert str(ranker.status_).count("For lenders: the law may forbid the features 'age'") == 1
    np.testing.assert_array_equal(
        ranker.predict(table.drop(columns="customer")), ranker.predict(table)
    )


EQUIVALENCE = "a row twice is dealt to other folds"
COPIES = "its rows are copies of four, and no two of those make a pair in a fold"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": EQUIVALENCE,
    "check_sample_weight_equivalence_on_sparse_data": EQUIVALENCE,
    "check_sample_weights_shape": COPIES,
    "check_sample_weights_not_overwritten": COPIES,
}


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks():
    ranker = RateConstrainedRanker()
    checks = check_estimator(ranker, on_skip=None, expected_failed_checks=EXPECTED)
    assert sum(check["status"] == "passed" for check in checks) >= 44


# --- what it refuses ------------------------------------------------------------------------------

BOUND = "ranked_right() >= 0.5"
NO_ORDER = np.array(["low", "high"] * 30)
REFUSED = {
    "a ranker orders pairs": {"objective": "error_rate()"},
    "write first.g or second.g": {"constraints": 'ranked_right(g == "a") >= 0.5'},
    "no column 'grup'": {"constraints": 'ranked_right(first.grup == "a") >= 0.5'},
    'no row has first.g == "c"': {"constraints": 'ranked_right(first.g == "c") >= 0.5'},
    "ranked_right does not take on=": {"constraints": 'ranked_right(on="pool") >= 0.5'},
    "confidence= takes a number between 0 and 1": {"confidence": 90},
    "pairs= takes a number above 1": {"pairs": 0},
    "no column 'customer'": {"clusters": "customer"},
    "leave out 'decided'": {"constraints": "ranked_right(decided) >= 0.5"},
    "no two rows with different y": {"y": np.ones(60)},
    "are in one query": {"query": range(60)},
    "whose order is not known": {"y": NO_ORDER},
    "y contains NaN or infinity": {"y": np.r_[np.nan, np.arange(59)]},
    "inconsistent numbers of samples": {"query": [1, 2]},
    "query= has missing values": {"query": [None, *"b" * 59]},
    "more than 24 groups": {"constraints": "ranked_right(first.site) >= 0.1"},
    "Expected 2D array|expected n_features|0 feature": {"X": np.arange(60.0)},
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message):
    X, y, group = make_rows(60)
    site = [f"site {number % 30}" for number in range(60)]
    options = {"constraints": BOUND} | REFUSED[message]
    rows = {"X": X, "y": y, "columns": {"g": group, "site": site}}
    for name in ("X", "y", "query", "clusters"):
        if name in options:
            rows[name] = options.pop(name)
    with pytest.raises((ValueError, TypeError), match=message):
        RateConstrainedRanker(**options).fit(**rows)


def test_no_rule_for_rows_takes_a_rate_of_pairs():
    X, y, group = make_rows(60)
    for constraint in (BOUND, "ranked_right(first.g) >= 0.5"):
        with pytest.raises(ValueError, match=r"is a rate of pairs: use rb.RateConstrainedRanker"):
            RateConstrainedClassifier(constraint).fit(X, y > 0, columns={"g": group})
    with pytest.raises(ValueError, match=r"is a rate of pairs: use rb.RateConstrainedRanker"):
        rb.compile(rb.Problem("1 - ranked_right()"), rb.Population(None, y > 0))


def test_a_group_of_one_row_shows_nothing_of_new_rows():
    """Its row is in some sixty pairs, all of them right, and yet it is one row."""
    X, y, group = make_rows(150)
    group[y.argmax()] = "z"
    ranker = RateConstrainedRanker('ranked_right(first.g == "z") >= 0.6', random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        claim = ranker.fit(X, y > 0, {"g": group}).status_.claim
    assert claim.reached < 0.8
    assert [item.rows for item in claim.untestable] == [1]
