"""CatBoost as an oracle; it is saved through skops, with its types to be trusted."""

import numpy as np
import pytest
from tests._old.small_tables import people

import ratebound._old as rb

TRUSTED = ["builtins.bytes", "catboost.core.CatBoostClassifier"]


@pytest.fixture
def small():
    library = pytest.importorskip("catboost")
    return library.CatBoostClassifier(
        iterations=10, depth=3, verbose=0, thread_count=1, allow_writing_files=False
    )


def test_it_keeps_promises_and_is_saved(small, tmp_path):
    table = people(400)
    problem = rb.Problem("error_rate()", ['positive_rate(group == "a") <= 0.5'])
    compiled = rb.compile(problem, table.population())
    model = rb.shrink(rb.play(compiled, rb.Oracle(small), rounds=6))
    assert model.status.feasible
    pytest.importorskip("skops")
    path = model.save(tmp_path)
    with pytest.raises(ValueError, match=r"catboost\.core\.CatBoostClassifier"):
        rb.load(path)
    loaded = rb.load(path, trusted=TRUSTED)
    np.testing.assert_array_equal(loaded.predict(table.X), model.predict(table.X))
