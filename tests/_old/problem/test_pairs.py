"""Pairs of rows against all pairs by brute force, and against scikit-learn's area."""

import itertools

import numpy as np
import pandas
import pytest
from sklearn.metrics import roc_auc_score

import ratebound._old as rb
from ratebound._old.problem.pairs import differences

CROSSED = 'ranked_right(first.group == "b", second.group == "a")'


def rows(seed=0, size=40, values=2):
    random = np.random.default_rng(seed)
    X = random.normal(size=(size, 2))
    return (
        X,
        random.integers(values, size=size),
        random.choice(["a", "b"], size),
        random.normal(size=size),
    )


def brute(y, query=None):
    """All pairs of rows in which the first should be ranked higher."""
    same = np.zeros(len(y)) if query is None else np.asarray(query)
    return {
        (i, j) for i, j in itertools.permutations(range(len(y)), 2) if y[i] > y[j] and same[i] == same[j]
    }


def value(pairs, rate, scores):
    compiled = rb.compile(rb.Problem("1 - ranked_right()", [f"{rate} >= 0"]), pairs)
    return -compiled.evaluate(pairs.differences(scores))[1][0]


@pytest.mark.parametrize("values", [2, 5, 1000])
@pytest.mark.parametrize("queries", [None, 1, 4])
def test_all_pairs_are_those_of_brute_force(values, queries):
    X, y, group, _ = rows(values=values)
    query = None if queries is None else np.random.default_rng(1).integers(queries, size=len(y))
    pairs = rb.Pairs(X, y, {"group": group}, query=query)
    made = list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))
    assert len(made) == len(set(made)) == pairs.possible == pairs.size
    assert set(made) == brute(y, query)


def test_sampled_pairs_are_some_of_all_each_as_likely():
    X, y, group, _ = rows(values=3)
    every = brute(y)
    seen = dict.fromkeys(every, 0)
    for seed in range(400):
        pairs = rb.Pairs(X, y, {"group": group}, count=30, seed=seed)
        drawn = set(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))
        assert len(drawn) == 30
        for pair in drawn:
            seen[pair] += 1
    share = 30 / len(every)
    counts = np.array(list(seen.values())) / 400
    assert abs(counts.mean() - share) < 1e-12
    assert np.abs(counts - share).max() < 6 * np.sqrt(share * (1 - share) / 400)


def test_the_seed_determines_the_pairs():
    X, y, _, _ = rows(size=200)
    one, same, other = (rb.Pairs(X, y, count=50, seed=seed) for seed in (1, 1, 2))
    assert (one.first == same.first).all()
    assert one.digest == same.digest
    assert one.digest != other.digest


def test_without_ties_the_rate_is_the_area_under_the_curve():
    X, y, group, scores = rows(size=300)
    pairs = rb.Pairs(X, y, {"group": group})
    assert value(pairs, "ranked_right()", scores) == pytest.approx(roc_auc_score(y, scores))
    crossed = ((y == 1) & (group == "b")) | ((y == 0) & (group == "a"))
    assert value(pairs, CROSSED, scores) == pytest.approx(roc_auc_score(y[crossed], scores[crossed]))


def test_a_rate_of_a_continuous_outcome_is_that_of_brute_force():
    X, _, group, scores = rows(size=50)
    y = np.random.default_rng(3).normal(size=50).round(1)
    pairs = rb.Pairs(X, y, {"group": group})
    asked = [(i, j) for i, j in brute(y) if group[i] == "b" and group[j] == "a"]
    right = np.mean([scores[i] > scores[j] for i, j in asked])
    assert value(pairs, CROSSED, scores) == pytest.approx(right)


def test_equal_scores_rank_none_above_the_other():
    X, y, group, _ = rows()
    pairs = rb.Pairs(X, y, {"group": group})
    assert value(pairs, "ranked_right()", np.zeros(len(y))) == 0
    assert (differences(np.array([1, 1, 2]), np.array([0, 2]), np.array([1, 0])) > 0).tolist() == [
        False,
        True,
    ]


def test_weights_multiply():
    X, y, group, scores = rows()
    weights = np.random.default_rng(5).integers(1, 4, size=len(y)).astype(float)
    pairs = rb.Pairs(X, y, {"group": group}, weights=weights)
    weighed = roc_auc_score(y, scores, sample_weight=weights)
    assert value(pairs, "ranked_right()", scores) == pytest.approx(weighed)


def test_columns_of_tables_and_in_python_words():
    X, y, group, scores = rows()
    table = pandas.DataFrame({"x": X[:, 0], "group": group, "hours per week": X[:, 1]})
    pairs = rb.Pairs(table, y)
    said = rb.ranked_right(rb.where(**{"first.group": "b"}), rb.column("second.group") == "a")
    assert str(said) == 'ranked_right(first.group == "b" and second.group == "a")'
    assert rb.parse(f"{said} >= 0.9") == (said >= 0.9)
    assert value(pairs, said, scores) == value(pairs, CROSSED, scores)
    odd = 'ranked_right(column("first.hours per week") > 0)'
    assert str(rb.parse(f"{odd} >= 0.5")).startswith(odd)
    assert 0 < value(pairs, odd, scores) < 1
    assert (pairs.column("first.x") == X[pairs.first, 0]).all()


def test_features_of_an_array_by_number():
    X, y, _, scores = rows()
    assert 0 < value(rb.Pairs(X, y), 'ranked_right(column("first.0") > 0)', scores) < 1


def test_labels_may_be_truth_values_but_not_texts():
    X, y, _, _ = rows()
    assert (rb.Pairs(X, y == 1).first == rb.Pairs(X, y).first).all()
    with pytest.raises(ValueError, match='or y == "hired" for two labels'):
        rb.Pairs(X, np.where(y == 1, "hired", "rejected"))


def test_pairs_within_parts_share_no_row():
    X, y, group, _ = rows(size=90)
    parts = np.arange(90) % 3
    inside = rb.Pairs(X, y, {"group": group}).within(parts)
    assert (parts[inside.first] == parts[inside.second]).all()
    assert inside.possible == sum(len(brute(y[parts == part])) for part in range(3))


def test_some_pairs_and_their_look():
    X, y, group, _ = rows()
    pairs = rb.Pairs(X, y, {"group": group})
    some = pairs.only(np.array([3, 1]))
    assert (some.first == pairs.first[[3, 1]]).all()
    assert (some.column("first.group") == group[some.first]).all()
    assert repr(pairs) == (
        f"Pairs({len(pairs)} of {len(pairs)} pairs of 40 rows, columns first.group, second.group)"
    )


WRONG = {
    "all rows have the same y, 1.0": lambda X, y: rb.Pairs(X, np.ones(len(y))),
    "each of the 40 queries has one row": lambda X, y: rb.Pairs(X, y, query=np.arange(40)),
    "in each of the 2 queries all rows have the same y": lambda X, y: rb.Pairs(X, y, query=y),
    "y has 1 missing values, the first in row 2": lambda X, y: rb.Pairs(
        X, np.where(np.arange(40) == 2, np.nan, y)
    ),
    "query= has 1 missing values": lambda X, y: rb.Pairs(X, y, query=[None] + ["q"] * 39),
    "y holds infinite values": lambda X, y: rb.Pairs(X, np.where(np.arange(40) == 2, np.inf, y)),
    "whose order is not known": lambda X, y: rb.Pairs(X, np.resize(["a", "b", "c"], 40)),
    "X has 40 rows and y 39": lambda X, y: rb.Pairs(X, y[:-1]),
    "X has 40 rows and query 3": lambda X, y: rb.Pairs(X, y, query=[1, 2, 3]),
    "rb.Pairs needs y": lambda X, y: rb.Pairs(X, None),
    "count, how many pairs to draw": lambda X, y: rb.Pairs(X, y, count=0),
    "expected 40 scores, one per row": lambda X, y: rb.Pairs(X, y).differences(np.zeros(3)),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_makes_no_pairs_is_named(message):
    X, y, _, _ = rows()
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(".0", r"\.0")):
        WRONG[message](X, y)


ASKED = {
    'ranked_right(column("third.group") == "a") >= 0.5': "write first.group or second.group",
    'ranked_right(group == "a") >= 0.5': "write first.group or second.group",
    'ranked_right(first.grup == "a") >= 0.5': "did you mean 'first.group'",
    'ranked_right(first.group == "c") >= 0.5': 'first.group == "c"',
    "recall() >= 0.5": "consists of pairs, but recall counts single rows",
}


@pytest.mark.parametrize("promise", ASKED)
def test_a_promise_that_pairs_cannot_tell_is_refused(promise):
    X, y, group, _ = rows()
    with pytest.raises(ValueError, match=ASKED[promise]):
        rb.compile(rb.Problem("1 - ranked_right()", [promise]), rb.Pairs(X, y, {"group": group}))


def test_rows_are_no_pairs():
    X, y, group, _ = rows()
    people = rb.Population(X, y, {"group": group})
    problem = rb.Problem("error_rate()", ["ranked_right() >= 0.5"])
    with pytest.raises(ValueError, match=r"make pairs of them, rb\.Pairs\(X, y, columns=\.\.\.\)"):
        rb.compile(problem, people)
    with pytest.raises(ValueError, match="RateConstrainedRanker"):
        rb.RateConstrainedClassifier("ranked_right() >= 0.5").fit(X, y)


def test_another_name_before_the_dot_is_refused_in_text():
    with pytest.raises(ValueError, match=r"the rows of a pair are first\.group and second\.group"):
        rb.parse('ranked_right(third.group == "a") >= 0.5')


def test_what_speaks_of_single_rows_refuses_pairs():
    X, y, group, scores = rows()
    pairs = rb.Pairs(X, y, {"group": group})
    problem = rb.Problem("1 - ranked_right()", ["ranked_right() >= 0.5"])
    for ask in (
        lambda: rb.RateConstrainedClassifier().fit(pairs),
        lambda: rb.explain(problem, pairs),
        lambda: rb.rows_needed(problem, pairs, margin=0.05),
        lambda: rb.thresholds(problem, scores, pairs, known=[]),
    ):
        with pytest.raises(ValueError, match="single rows, but these are pairs"):
            ask()
