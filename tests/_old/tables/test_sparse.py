"""Sparse matrices as features: scaled as scikit-learn does without centring, gaps flagged."""

import json

import numpy as np
import pytest
from scipy import sparse

from ratebound import RateConstrainedClassifier
from ratebound._old.tables.encoding import Encoding
from ratebound._old.tables.fitting import fit_encoding

RANDOM = np.random.default_rng(1)
X = np.column_stack([
    RANDOM.normal(5, 3, 200) * (RANDOM.random(200) < 0.4),
    RANDOM.random(200) < 0.1,
    np.zeros(200),
    1e200 * (RANDOM.random(200) < 0.5),
])  # fmt: skip


def fitted(values, **how):
    return fit_encoding(sparse.csr_array(values), takes_sparse=True, **how)


def test_they_are_scaled_and_not_centred():
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    expected = preprocessing.StandardScaler(with_mean=False).fit_transform(sparse.csr_matrix(X[:, :1]))
    found = fitted(X).transform(sparse.csc_array(X)).toarray()
    np.testing.assert_allclose(found[:, 0], expected.toarray()[:, 0])
    np.testing.assert_array_equal(found[:, 1:3], X[:, 1:3])  # an indicator, and nothing at all
    assert found[:, 3].std() == pytest.approx(1.0)


def test_arrays_are_read_as_the_matrix_was_and_the_other_way_round():
    thin, whole = fitted(X), fit_encoding(X)
    np.testing.assert_array_equal(
        thin.transform(X).toarray(), thin.transform(sparse.coo_array(X)).toarray()
    )
    np.testing.assert_array_equal(whole.transform(sparse.coo_array(X)), whole.transform(X))
    assert Encoding.from_json(json.loads(json.dumps(thin.to_json()))) == thin
    with pytest.raises(ValueError, match="unknown style"):
        Encoding.from_json(thin.to_json() | {"sparse": "yes"})
    with pytest.raises(
        ValueError, match=r"expected rows of 4 features, as in training, got shape \(200, 3\)"
    ):
        thin.transform(sparse.csr_array(X[:, :3]))


def test_weights_are_repeated_rows():
    times = RANDOM.integers(0, 4, 200)
    weighted, repeated = fitted(X, weights=times.astype(float)), fitted(np.repeat(X, times, axis=0))
    for one, other in zip(weighted.columns, repeated.columns, strict=True):
        assert one.scale == pytest.approx(other.scale)


def test_what_is_missing_is_flagged_or_told():
    gaps = X.copy()
    gaps[3, 0] = gaps[7, 0] = np.nan
    encoding = fitted(gaps)
    assert encoding.names == ["0", "0 is missing", "1", "2", "3"]
    found = encoding.transform(sparse.csr_array(gaps)).toarray()
    np.testing.assert_array_equal(np.flatnonzero(found[:, 1]), [3, 7])
    assert encoding.columns[0].scale == pytest.approx(np.nanstd(gaps[:, 0]))
    np.testing.assert_array_equal(found[[3, 7], 0], 0.0)
    with pytest.warns(
        UserWarning, match=r"missing that were never missing in training, of 200 rows: '0' in 2"
    ):
        found = fitted(X).transform(sparse.csr_array(gaps))
    assert found.shape == (200, 4)
    assert np.isfinite(found.data).all()
    with pytest.raises(ValueError, match="feature 1 holds infinite values"):
        fitted(np.where((np.arange(4) == 1) & (X > 0), np.inf, X))


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_the_classifier_takes_them(form):
    y = X[:, 0] + X[:, 1] > 1
    model = RateConstrainedClassifier("positive_rate() <= 0.3", random_state=0)
    model.fit(form(X[:, :3]), y)
    decisions = model.predict(form(X[:, :3]))
    np.testing.assert_array_equal(model.predict(X[:, :3]), decisions)
    np.testing.assert_array_equal(np.concatenate([model.predict(form(X[[i], :3])) for i in range(9)]),
                                  decisions[:9])  # fmt: skip
