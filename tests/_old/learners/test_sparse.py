"""Sparse matrices in place of arrays: the same rates, the same models, the same decisions."""

import numpy as np
import pytest
from scipy import sparse

import ratebound._old as rb
from ratebound._old.learners.linear import LinearScorer
from ratebound._old.problem.frames import as_csr, as_dense

ROWS = 400
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(ROWS, 12)) * (RANDOM.random((ROWS, 12)) < 0.3)
GROUP = np.where(RANDOM.random(ROWS) < 0.4, "a", "b")
Y = X.sum(axis=1) + 0.5 * (GROUP == "a") + 0.3 * RANDOM.normal(size=ROWS) > 0
PROBLEM = rb.Problem(rb.error_rate(), [rb.positive_rate(group="b") >= 0.9 * rb.positive_rate()])
FORMS = [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix, sparse.lil_array]


def compiled(rows):
    return rb.compile(PROBLEM, rb.Population(rows, Y, columns={"group": GROUP}))


def untidy():
    """The same rows with entries out of order, in two parts, and zeros among them, by long indices."""
    rows, columns = np.nonzero(np.ones_like(X))
    parts = np.concatenate([0.25 * X.ravel(), 0.75 * X.ravel()])
    where = (np.tile(rows, 2)[::-1].astype(np.int64), np.tile(columns, 2)[::-1].astype(np.int64))
    return sparse.coo_array((parts[::-1], where), shape=X.shape)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_population(form):
    given = form(X)
    before = given.toarray()
    people = rb.Population(given, Y, columns={"group": GROUP})
    assert people.digest == rb.Population(sparse.csr_array(X)).digest
    assert len(people.only(Y)) == Y.sum()
    np.testing.assert_array_equal(people.only(Y).features.toarray(), X[Y])
    np.testing.assert_array_equal(given.toarray(), before)


def test_untidy_matrices_are_put_in_order_and_left_as_they_were():
    given = untidy()
    count = given.nnz
    found = as_csr(given)
    assert (given.nnz, found.nnz) == (count, np.count_nonzero(X))
    assert found.indices.dtype == np.int32
    np.testing.assert_allclose(found.toarray(), X)
    tidy = as_csr(sparse.csr_array(X))
    assert as_csr(tidy) is tidy


@pytest.mark.parametrize("batch_size", [None, 100])
def test_linear_models_train_alike(batch_size):
    traces = [
        rb.play(compiled(rows), rb.Linear([0.01, 0.1]), player=rb.SwapRegret([0.01, 0.1]), rounds=30,
                batch_size=batch_size, rules=rb.Rules(), keep=rb.Keep(10))
        for rows in (X, sparse.csr_array(X))
    ]  # fmt: skip
    np.testing.assert_allclose(traces[0].parameters, traces[1].parameters, atol=1e-4)
    np.testing.assert_allclose(traces[0].violations, traces[1].violations, atol=0.01)


def test_a_rows_score_has_the_same_bits_in_any_company():
    scorer, matrix = LinearScorer(), sparse.csr_array(X)
    parameters = RANDOM.normal(size=(3, 13))
    scores = scorer.scores(parameters, matrix)
    np.testing.assert_allclose(scores, scorer.scores(parameters, X), rtol=1e-4, atol=1e-5)
    for i in range(20):
        np.testing.assert_array_equal(scorer.scores(parameters[1:2], matrix[[i]])[0], scores[1][:, [i]])


def test_a_mixture_decides_alike():
    trace = rb.play(compiled(sparse.csr_array(X)), rb.Linear(0.1), rounds=30, keep=rb.Keep(10))
    mixture = rb.average(trace)
    for form in FORMS:
        np.testing.assert_array_equal(mixture.predict(form(X)), mixture.predict(X))
    report = rb.audit(PROBLEM, mixture, rb.Population(untidy(), Y, columns={"group": GROUP}))
    expected = rb.audit(PROBLEM, mixture, rb.Population(X, Y, columns={"group": GROUP}))
    assert str(report) == str(expected)


def test_populations_of_both_kinds_are_stacked():
    problem = rb.Problem(rb.error_rate(), [rb.accuracy(on="other") >= 0.5])
    mixed = rb.compile(
        problem, rb.Population(sparse.csr_array(X), Y), other=rb.Population(X[:50], Y[:50])
    )
    np.testing.assert_array_equal(mixed.features.toarray(), np.vstack([X, X[:50]]))
    assert len(rb.play(mixed, rb.Linear(), rounds=2)) > 0


def test_estimators_take_them_or_an_error_says_so():
    linear_model = pytest.importorskip("sklearn.linear_model")
    naive_bayes = pytest.importorskip("sklearn.naive_bayes")
    oracle = rb.Oracle(linear_model.LogisticRegression())
    dense, thin = (rb.play(compiled(rows), oracle, rounds=3) for rows in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(dense.parameters, thin.parameters, atol=1e-2)
    with pytest.raises(ValueError, match=r"GaussianNB takes no sparse matrix: give it an array"):
        rb.play(compiled(sparse.csr_array(X)), rb.Oracle(naive_bayes.GaussianNB()), rounds=1)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_trees_take_what_is_not_stored_for_zero(library):
    pytest.importorskip(library)
    dense, thin = (
        rb.play(compiled(rows), rb.Boosted(library), rounds=3) for rows in (X, sparse.csr_array(X))
    )
    scores = [
        trace.scores(compiled(rows)) for trace in (dense, thin) for rows in (X, sparse.csc_array(X))
    ]
    for other in scores[1:]:
        np.testing.assert_allclose(other, scores[0], atol=1e-6)


def test_networks_are_given_arrays():
    pytest.importorskip("torch")
    dense, thin = (
        rb.play(compiled(rows), rb.MLP((4,)), rounds=3, batch_size=None)
        for rows in (X, sparse.csr_array(X))
    )
    np.testing.assert_allclose(dense.parameters, thin.parameters, atol=1e-5)
    np.testing.assert_array_equal(rb.last_iterate(thin).predict(sparse.csr_array(X)),
                                  rb.last_iterate(thin).predict(X))  # fmt: skip


def test_what_cannot_be_taken_raises():
    huge = sparse.csr_array((10**6, 10**6))
    with pytest.raises(ValueError, match=r"MLP does not take sparse matrices, and these 1,000,000 rows"):
        as_dense(huge, "MLP")
    with pytest.raises(ValueError, match="X must hold numbers, got a sparse matrix of complex128"):
        rb.Population(sparse.csr_array(1j * X))
    broken = sparse.csr_array(X)
    broken.data[3] = np.nan
    with pytest.raises(ValueError, match=r"feature \d+ holds NaN or infinite values"):
        rb.play(compiled(broken), rb.Linear(), rounds=1)
