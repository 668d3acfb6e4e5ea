"""`precision(top=)` and `recall(top=)`: against sorted rows, in words, in training, on new rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ratebound._old as rb


class Scored:
    """A model whose score is the first feature."""

    weights, thresholds = np.ones(1), {}

    def member_scores(self, X, *, columns=None):
        return np.asarray(X)[:, :1]


def people(scores, y, **given):
    return rb.Population(np.asarray(scores, dtype=float)[:, None], y, **given)


def audited(promise, rows):
    return rb.audit(rb.Problem("error_rate()", [promise]), Scored(), rows).promises[0]


def mean_over_orders(scores, y, k, seed):
    """Positives among the first k rows by score, ties in random order: the mean over many orders."""
    rng = np.random.default_rng(seed)
    hits = [y[np.lexsort((rng.random(len(y)), -scores))[:k]].sum() for _ in range(4000)]
    return np.mean(hits)


@settings(max_examples=20)
@given(st.integers(1, 40), st.integers(0, 10**6))
def test_values_are_those_of_sorted_rows(k, seed):
    rng = np.random.default_rng(seed)
    scores, y = rng.permutation(40).astype(float), np.arange(40) % 3 == 0
    hits = y[np.argsort(-scores)[:k]].sum()
    for promise, value in (
        (f"precision(top={k}) >= 0", hits / k),
        (f"recall(top={k}) >= 0", hits / y.sum()),
        (f"true_positive_rate(top={k}) >= 0", hits / y.sum()),
    ):
        rows = people(scores, y)
        assert audited(promise, rows).value == pytest.approx(value)
        compiled = rb.compile(rb.Problem("error_rate()", [promise]), rows)
        _, violations = compiled.evaluate(scores)
        np.testing.assert_allclose(violations, [-value, 0.0], atol=1e-12)


def test_rows_that_tie_share_the_last_places():
    rng = np.random.default_rng(1)
    scores, y = rng.integers(0, 5, 60).astype(float), rng.random(60) < 0.4
    for k in (5, 17, 30):
        own = audited(f"precision(top={k}) >= 0", people(scores, y)).value
        assert own * k == pytest.approx(mean_over_orders(scores, y, k, 2), abs=0.1)
    alike = rb.compile(rb.Problem("error_rate()", ["precision(top=5) >= 0.9"]), people(scores, y))
    assert alike.evaluate(np.zeros(60))[1][0] > 0  # a model that ranks nobody keeps no promise


def test_weights_count_as_so_many_rows():
    rng = np.random.default_rng(3)
    scores, y, times = rng.normal(size=50), rng.random(50) < 0.4, rng.integers(1, 4, 50)
    each = np.repeat(np.arange(50), times)
    for promise in ("precision(top=20) >= 0", "recall(top=0.3) >= 0"):
        weighted = audited(promise, people(scores, y, weights=times)).value
        assert weighted == pytest.approx(audited(promise, people(scores[each], y[each])).value)


def test_groups_have_a_top_of_their_own():
    rng = np.random.default_rng(4)
    scores, y, group = rng.normal(size=200), rng.random(200) < 0.4, rng.choice(["a", "b"], 200)
    own = np.flatnonzero(group == "b")
    best = own[np.argsort(-scores[own])[:30]]
    promise = audited(
        'precision(group == "b", top=30) >= 0', people(scores, y, columns={"group": group})
    )
    assert promise.value == pytest.approx(y[best].mean())
    assert promise.rows == 30


def test_a_number_is_out_of_as_many_rows_as_there_were():
    rng = np.random.default_rng(5)
    scores, y = rng.normal(size=600), rng.random(600) < 0.4
    compiled = rb.compile(rb.Problem("error_rate()", ["precision(top=60) >= 0.4"]), people(scores, y))
    assert str(compiled.problem.constraints[0]) == "precision(top=60, per=600) >= 0.4"
    half = people(scores[:300], y[:300])
    value = rb.audit(compiled.problem, Scored(), half).promises[0].value
    assert value == pytest.approx(y[:300][np.argsort(-scores[:300])[:30]].mean())
    assert value == pytest.approx(audited("precision(top=0.1) >= 0.4", half).value)


@pytest.mark.parametrize("promise", ["precision(top=40) >= 0", "recall(top=0.2) >= 0"])
def test_bounds_hold_as_often_as_they_say(promise):
    rng = np.random.default_rng(6)
    score = rng.normal(size=100_000)
    chance = 1 / (1 + np.exp(1 - 2 * score))
    top = score >= np.quantile(score, 0.8)
    truth = chance[top].mean() if "precision" in promise else chance[top].sum() / chance.sum()
    low = high = 0
    for _ in range(120):
        own = rng.choice(len(score), 200)
        measured = audited(promise, people(score[own], rng.random(200) < chance[own]))
        low += measured.slack_low > truth
        high += measured.slack_high < truth
    assert max(low, high) <= 120 * 0.05 + 3 * np.sqrt(120 * 0.05 * 0.95)


def test_words():
    for text in (
        "precision(top=100) >= 0.8",
        'precision(sex == "Female", top=100, per=6000) >= 0.8',
        'recall(on="pool", top=0.05) >= 0.3',
    ):
        assert str(rb.parse(text)) == text
    assert rb.parse("precision(top=5%) >= 80%") == (rb.precision(top=0.05) >= 0.8)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("precision(top=0) >= 0.5", "whole number of rows, as in top=100, or a share"),
        ("precision(top=2.5) >= 0.5", "whole number of rows, as in top=100, or a share"),
        ("precision(per=10) >= 0.5", r"per= only with top=, as in precision\(top=100, per=10\)"),
        ("recall(top=0.1, per=10) >= 0.5", "is a share.*leave out per="),
        ("recall(top=20, per=10) >= 0.5", "top= must be at most per="),
        ("precision(top=10, at=0.5) >= 0.5", "leave out at="),
        ("positive_rate(top=10) >= 0.5", r"as in precision\(top=10\)"),
        ("precision(top=10) <= 0.5", "bounded from below only"),
        ("precision(top=10) >= 1.5", "no model can keep this"),
    ],
)
def test_slips_are_said(text, said):
    with pytest.raises(ValueError, match=said):
        rb.Problem("error_rate()", [text])


def test_what_cannot_be_asked():
    rows = people(np.arange(20.0), np.arange(20) % 2 == 0, columns={"sex": ["F"] * 5 + ["M"] * 15})
    with pytest.raises(ValueError, match=r'where sex == "F" there are 5 of every 20 rows.*no 8 largest'):
        rb.compile(rb.Problem("error_rate()", ['precision(sex == "F", top=8) >= 0.5']), rows)
    with pytest.raises(TypeError, match=r'maximize true_positives\(at="short list"\)'):
        rb.Problem(maximize="precision(top=10)")
    problem = rb.Problem("error_rate()", ["precision(top=5) >= 0.5"])
    with pytest.raises(ValueError, match="order of scores"):
        rb.Monitor(problem)
    certificate = rb.certify(problem, Scored(), rows)
    assert not certificate.holds
    assert "no exact test" in certificate.promises[0].why


@pytest.mark.parametrize("promise", ["precision(top=60) >= 0.9", "recall(top=0.05) >= 0.1"])
def test_training_puts_the_right_rows_first(promise):
    rng = np.random.default_rng(7)
    n, few = 1200, rng.random(1200) < 0.3
    X = np.column_stack([few, rng.normal(size=n)])  # the second matters the other way among the few
    chance = np.where(few, 0.8 + 0.18 * np.tanh(2 * X[:, 1]), 0.35 - 0.3 * np.tanh(X[:, 1]))
    rows = rb.Population(X, rng.random(n) < chance)
    compiled = rb.compile(rb.Problem("error_rate()", [promise]), rows)
    plain = rb.play(rb.compile(rb.Problem("error_rate()"), rows), rb.Linear(0.1), rounds=300)
    before = compiled.evaluate(rb.last_iterate(plain).decision_function(X))[1][0]
    how = {"rounds": 1000, "keep": rb.Keep(20), "rules": rb.Rules(proxy="sigmoid")}
    trained = rb.best_iterate(rb.play(compiled, rb.Linear(0.1), **how))
    assert before > 0.03
    assert trained.status.feasible
    assert rb.audit(compiled.problem, trained, rows).promises[0].kept
    assert trained.objectives["train"] < 0.36  # one decision for everyone has .42
