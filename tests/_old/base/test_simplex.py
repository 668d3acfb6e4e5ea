"""Programs with few constraints are solved as SciPy solves them, and prices prove it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ratebound._old.base.simplex import least_fined


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    count=st.sampled_from([1, 2, 7, 60, 400]),
    m=st.integers(1, 12),
    middle=st.sampled_from([-0.1, 0.0, 0.3]),
    radius=st.sampled_from([1.0, 10.0, 100.0]),
    kind=st.sampled_from(["", "rounded", "none below 0", "twice"]),
)
def test_the_value_is_scipys_and_the_dual_reaches_it(seed, count, m, middle, radius, kind):
    random = np.random.default_rng(seed)
    values = np.column_stack([random.normal(0.2, 0.05, count), random.normal(middle, 0.1, (count, m))])
    if kind == "rounded":  # ties, so that several bases are as good
        values = np.round(values, 1)
    if kind == "none below 0":
        values[:, 1:] = np.maximum(values[:, 1:], 0.0)
    if kind == "twice":
        values = np.repeat(values, 2, axis=0)
    solved = least_fined(values, radius)
    assert solved is not None
    shares, prices = solved
    wanted = linprog(
        np.append(values[:, 0], radius),
        A_ub=np.column_stack([values[:, 1:].T, -np.ones(m)]),
        b_ub=np.zeros(m),
        A_eq=np.append(np.ones(len(values)), 0.0)[None],
        b_eq=[1.0],
    ).fun
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1)
    value = shares @ values[:, 0] + radius * max((shares @ values[:, 1:]).max(), 0.0)
    assert value == pytest.approx(wanted, abs=1e-9)
    assert prices.min() >= 0
    assert prices.sum() <= radius * (1 + 1e-9)
    assert (values[:, 0] + values[:, 1:] @ prices).min() == pytest.approx(wanted, abs=1e-9)
