"""Intervals of rates of pairs: DeLong's variance, and how often they hold the truth."""

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.auditing.pairwise import pair_errors

ONE = 'ranked_right(first.group == "b", second.group == "a") >= 0.5'
GAP = (
    'ranked_right(first.group == "b", second.group == "a") - '
    'ranked_right(first.group == "a", second.group == "b") >= 0'
)


class Given:
    """A model whose scores are the first feature."""

    def decision_function(self, X):
        return np.asarray(X)[:, 0]


def drawn(random, size, share=0.3, apart=2.0):
    group = np.where(random.random(size) < share, "b", "a")
    y = random.random(size) < 0.4
    return random.normal(size=size) + apart * y + 0.3 * (group == "a"), y, group


def test_the_variance_of_all_pairs_is_delongs():
    scores, y, group = drawn(np.random.default_rng(0), 200, apart=1.0)
    pairs = rb.Pairs(scores[:, None], y, {"group": group})
    compiled = rb.compile(rb.Problem("1 - ranked_right()"), pairs)
    errors = pair_errors(compiled, pairs.differences(scores))
    good, bad = scores[y], scores[~y]
    wins = good[:, None] > bad[None]
    delong = wins.mean(1).var() / len(good) + wins.mean(0).var() / len(bad)
    area = wins.mean()
    assert errors.rows[0] == pytest.approx(area * (1 - area) / delong, rel=0.02)


@pytest.mark.parametrize(("apart", "count"), [(1.0, 10**6), (2.5, 10**6), (1.0, 2000)])
def test_bounds_hold_as_often_as_they_say(apart, count):
    random = np.random.default_rng(1)
    many, labels, groups = drawn(random, 200_000, apart=apart)

    def truth(first, second):
        good, bad = np.sort(many[labels & (groups == first)]), many[~labels & (groups == second)]
        return 1 - np.searchsorted(good, bad).mean() / len(good)

    true = np.array([0.5 - truth("b", "a"), truth("a", "b") - truth("b", "a")])
    missed, repeats = np.zeros((2, 2)), 150
    for seed in range(repeats):
        scores, y, group = drawn(random, 200, apart=apart)
        pairs = rb.Pairs(scores[:, None], y, {"group": group}, count=count, seed=seed)
        compiled = rb.compile(rb.Problem("1 - ranked_right()", [ONE, GAP]), pairs)
        apart_by = pairs.differences(scores)
        violations, errors = compiled.evaluate(apart_by)[1], pair_errors(compiled, apart_by)
        missed[0] += true > violations + errors.above(0.95)[1:]
        missed[1] += true < violations - errors.below(0.95)[1:]
    assert (missed / repeats < 0.05 + 4 * np.sqrt(0.05 * 0.95 / repeats)).all()
    # And so they are not so wide as to say nothing.
    assert missed.sum() > 0


def test_pairs_say_less_than_as_many_rows_would():
    scores, y, group = drawn(np.random.default_rng(0), 200)
    pairs = rb.Pairs(scores[:, None], y, {"group": group})
    compiled = rb.compile(rb.Problem("1 - ranked_right()"), pairs)
    assert pair_errors(compiled, pairs.differences(scores)).rows[0] <= 200 < len(pairs) / 10


def test_a_rate_of_all_or_nothing_is_not_known_exactly():
    y = np.arange(20) >= 10
    pairs = rb.Pairs(np.arange(20.0)[:, None], y)
    audit = rb.audit(rb.Problem("1 - ranked_right()", ["ranked_right() >= 0.9"]), Given(), pairs)
    (promise,) = audit.promises
    assert promise.value == 1.0
    assert promise.kept
    assert promise.verdict == "may not hold"  # ten good rows and ten bad ones


def test_with_many_queries_these_are_what_was_drawn():
    random = np.random.default_rng(0)
    query = np.repeat(np.arange(30), 10)
    y = random.random(300) < 0.5
    sign = np.where(random.random(30) < 0.8, 1.0, -1.0)[query]  # all pairs of a query are right or wrong
    scores = sign * (y + 0.1 * random.random(300))
    pairs = rb.Pairs(scores[:, None], y, query=query)
    compiled = rb.compile(rb.Problem("1 - ranked_right()"), pairs)
    assert pair_errors(compiled, pairs.differences(scores)).rows[0] == pytest.approx(30, rel=0.3)


def test_an_audit_of_any_ranker_measures_what_brute_force_does():
    scores, y, group = drawn(np.random.default_rng(4), 300)
    pairs = rb.Pairs(scores[:, None], y, {"group": group})
    audit = rb.audit(rb.Problem("1 - ranked_right()", [ONE, GAP]), Given(), pairs)

    def rate(first, second):
        good, bad = scores[y & (group == first)], scores[~y & (group == second)]
        return (good[:, None] > bad[None]).mean()

    one, gap = audit.promises
    assert one.value == pytest.approx(rate("b", "a"))
    assert one.rows == min((y & (group == "b")).sum(), (~y & (group == "a")).sum())
    assert gap.value == pytest.approx(rate("b", "a") - rate("a", "b"))
    assert gap.slack_low < gap.slack < gap.slack_high
    assert audit.objective.low < audit.objective.value < audit.objective.high
    assert "2 promises" in str(audit)
    assert audit.to_dict()["promises"][0]["method"] == "pairs"


def test_a_regression_is_audited_by_what_it_predicts():
    from sklearn.linear_model import LinearRegression

    random = np.random.default_rng(0)
    X, y = random.normal(size=(80, 2)), random.normal(size=80)
    model = LinearRegression().fit(X, y)
    audit = rb.audit(rb.Problem("1 - ranked_right()"), model, rb.Pairs(X, y))
    ordered = model.predict(X)
    right = np.mean([ordered[i] > ordered[j] for i in range(80) for j in range(80) if y[i] > y[j]])
    assert audit.objective.value == pytest.approx(1 - right)


def test_what_is_not_there_is_not_measured():
    scores, y, _ = drawn(np.random.default_rng(0), 60)
    pairs = rb.Pairs(scores[:, None], y, {"group": np.where(y, "b", "c")})
    promise = 'ranked_right(first.group == "c", second.group == "b") >= 0.5'
    audit = rb.audit(rb.Problem("1 - ranked_right()", [promise]), Given(), pairs)
    assert audit.promises[0].verdict == "not measured"
    assert "no row has first.group" in audit.promises[0].why


def test_claims_that_would_be_invalid_are_refused():
    scores, y, group = drawn(np.random.default_rng(0), 60)
    pairs = rb.Pairs(scores[:, None], y, {"group": group})
    problem = rb.Problem("1 - ranked_right()", [ONE])
    with pytest.raises(ValueError, match="pairs share rows"):
        rb.certify(problem, Given(), pairs)
    with pytest.raises(ValueError, match="for pairs give the query"):
        rb.audit(problem, Given(), pairs, clusters="first.group")
    with pytest.raises(ValueError, match="row 0 has no score"):
        rb.audit(
            problem,
            Given(),
            rb.Pairs(np.where(np.arange(60) == 0, np.nan, scores)[:, None], y, {"group": group}),
        )
    with pytest.raises(TypeError, match="has no decision_function"):
        rb.audit(problem, object(), pairs)
