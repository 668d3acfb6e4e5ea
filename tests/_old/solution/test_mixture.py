"""Mixtures made by hand decide as their members do, each as often as it weighs, and say so in proba."""

from dataclasses import replace

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.learners.linear import LinearScorer
from ratebound._old.solution import shrink_weights
from ratebound._old.solution.deciders import Draw, Vote
from ratebound._old.solution.mixture import Members, Mixture, member
from ratebound._old.solution.record import Record
from ratebound._old.solution.status import Status
from ratebound._old.tables.fitting import fit_encoding

from ..extras import pd

X = np.random.default_rng(0).normal(size=(8000, 2))
WEIGHTS = np.array([0.5, 0.3, 0.2])
# Members compare the first feature with -1, 0 and 1; all look at nothing else.
PARAMETERS = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, -1.0]])


def mixture_of(weights=WEIGHTS, parameters=PARAMETERS, **options):
    status = Status(True, 0.0, (), (), "feasible")
    values = {"objectives": {"train": 0.25}, "violations": {"train": np.zeros(0)}, "setting": 0}
    learned = {"t": np.arange(len(weights), dtype=float)}
    return Mixture(
        members=Members(np.asarray(weights), np.asarray(parameters), LinearScorer("float64"), learned),
        decider=options.pop("decider", Draw()),
        record=Record(rb.Problem(rb.error_rate()), status, **values),
        **options,
    )


MIXTURE = mixture_of()
DECISIONS = X[:, :1] >= np.array([-1.0, 0.0, 1.0])  # (n, M)
EXPECTED = DECISIONS @ WEIGHTS


def test_decisions_are_those_of_the_members():
    np.testing.assert_allclose(MIXTURE.member_scores(X), X[:, :1] + [1.0, 0.0, -1.0])
    found = MIXTURE.predict(X)
    assert found.dtype == bool
    assert not found[X[:, 0] < -1].any()  # all members say no
    assert found[X[:, 0] >= 1].all()
    assert len(MIXTURE) == 3


def test_probabilities_are_expectations():
    proba = MIXTURE.decision_proba(X)
    np.testing.assert_allclose(proba[:, 1], EXPECTED)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    tenths = mixture_of(np.full(10, 0.1) + 1e-16, np.tile(PARAMETERS[:1], (10, 1)))
    proba = tenths.decision_proba(X)
    assert proba.min() >= 0  # though the weights sum to a little more than 1
    assert proba.max() <= 1


def test_predicting_again_gives_the_same():
    found = MIXTURE.predict(X)
    np.testing.assert_array_equal(MIXTURE.predict(X), found)
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_array_equal(MIXTURE.predict(X[order]), found[order])
    np.testing.assert_array_equal(
        np.concatenate([MIXTURE.predict(X[i : i + 1]) for i in range(50)]), found[:50]
    )
    np.testing.assert_array_equal(MIXTURE.predict(X[:5].tolist()), found[:5])


@pytest.mark.parametrize("options", [{}, {"key": np.arange(len(X))}, {"seed": 3}], ids=str)
def test_as_many_yeses_as_expected(options):
    found = MIXTURE.predict(X, **options)
    for share in np.unique(EXPECTED.round(6)):
        rows = np.isclose(EXPECTED, share)
        spread = np.sqrt(share * (1 - share) / rows.sum())
        assert abs(found[rows].mean() - share) <= 4 * spread + 1e-12


def test_a_key_outlives_its_features():
    """An entity keeps its member when its features move, so that its decision is monotone in them."""
    key = np.arange(len(X))
    before = MIXTURE.predict(X, key=key)
    better = MIXTURE.predict(X + np.array([0.3, 5.0]), key=key)
    assert (better >= before).all()
    assert (better > before).any()
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_array_equal(MIXTURE.predict(X[order], key=key[order]), before[order])
    texts = [f"{i}" for i in key]
    np.testing.assert_array_equal(
        MIXTURE.predict(X, key=texts), MIXTURE.predict(X, key=pd.Series(texts))
    )


def test_another_salt_decides_other_rows():
    between = (EXPECTED > 0) & (EXPECTED < 1)
    found, other = MIXTURE.predict(X), replace(MIXTURE, decider=Draw(salt=1)).predict(X)
    np.testing.assert_array_equal(found[~between], other[~between])
    assert 0.3 < (found == other)[between].mean() < 0.7


def test_random_states_repeat_and_differ():
    first, again, other = (MIXTURE.predict(X, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    generator = np.random.default_rng(0)
    np.testing.assert_array_equal(MIXTURE.predict(X, seed=generator), first)
    assert (MIXTURE.predict(X, seed=generator) != first).any()  # drawn afresh


def test_rows_that_share_a_fate_are_told_of():
    same = np.zeros((500, 2))
    with pytest.warns(UserWarning, match=r"500 rows have only 1 different features.*Pass key="):
        MIXTURE.predict(same)
    MIXTURE.predict(same, key=np.arange(500))
    MIXTURE.predict(same, seed=0)
    MIXTURE.predict(same[:2])  # two equal rows show nothing
    mixture_of([0.3, 0.3, 0.4], decider=Vote()).predict(same)


@pytest.mark.parametrize("classes", [("no", "yes"), (0, 1), (-1, 1), (False, True), (1.0, 2.0)], ids=str)
def test_decisions_are_called_by_their_names(classes):
    named = mixture_of(classes=classes)
    expected = [classes[int(yes)] for yes in MIXTURE.predict(X)]
    assert named.predict(X).tolist() == expected
    np.testing.assert_allclose(named.decision_proba(X)[:, 1], EXPECTED)


def test_tables_are_encoded_before_they_are_seen():
    table = pd.DataFrame({"x": [10.0, 20.0, 30.0], "town": ["Oslo", "Rome", "Oslo"]})
    encoding = fit_encoding(table)
    encoded = mixture_of([1.0], [[1.0, 0.0, 0.0, 0.0]], encoding=encoding)
    np.testing.assert_allclose(encoded.features(table), encoding.transform(table))
    np.testing.assert_allclose(encoded.member_scores(table)[:, 0], encoding.transform(table)[:, 0])
    assert encoded.predict(table).tolist() == [False, True, True]
    assert encoded.predict(table[["town", "x"]]).tolist() == [False, True, True]
    np.testing.assert_allclose(encoded.decision_proba(table)[:, 1], [0, 1, 1])
    with pytest.raises(ValueError, match="no column 'town'"):
        encoded.predict(table[["x"]])


def test_no_rows_get_no_decisions():
    assert MIXTURE.predict(X[:0]).shape == (0,)
    assert MIXTURE.predict(X[:0], key=[]).shape == (0,)
    assert MIXTURE.decision_proba(X[:0]).shape == (0, 2)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_row_without_a_score_is_an_error_not_a_no(value):
    rows = X[:5].copy()
    rows[3, 1] = value
    for decide in (MIXTURE.predict, MIXTURE.decision_proba, MIXTURE.member_scores):
        with pytest.raises(ValueError, match=r"row 3 has no score.* NaN or infinite"):
            decide(rows)


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (X[:5], {"key": [1, 2]}, "key has 2 ids for 5 rows"),
        (X[:1], {"key": 1}, "one id per row"),
        (X[:2], {"key": [0.5, 1.5]}, "fractional"),
        (X[:5, :1], {}, "expected rows of 2 features"),
        (X[0], {}, "expected rows of 2 features"),
    ],
)
def test_bad_arguments_raise(rows, options, message):
    with pytest.raises(ValueError, match=message):
        MIXTURE.predict(rows, **options)


# --- votes and members ---------------------------------------------------------------------------


def test_a_vote_leaves_nothing_to_chance():
    vote = mixture_of([0.3, 0.3, 0.4], decider=Vote())
    shares = DECISIONS @ [0.3, 0.3, 0.4]
    expected = shares >= 0.5  # the second member's threshold, by the median
    np.testing.assert_array_equal(expected, X[:, 0] >= 0)
    np.testing.assert_array_equal(vote.predict(X), expected)
    np.testing.assert_array_equal(vote.decision_proba(X), np.column_stack([~expected, expected]))
    for options in ({"key": np.arange(len(X))}, {"seed": 0}):
        np.testing.assert_array_equal(vote.predict(X, **options), expected)
    assert str(vote).startswith("a vote of 3 models: feasible")
    assert str(MIXTURE).splitlines()[0] == "a mixture of 3 models: feasible"


@pytest.mark.parametrize("index", [0, 1, 2])
@pytest.mark.parametrize("decider", [Draw(), Vote()])
def test_a_member_is_a_mixture_of_one(index, decider):
    one = member(replace(MIXTURE, decider=decider), index)
    assert len(one) == 1
    assert one.thresholds["t"] == [index]
    np.testing.assert_array_equal(one.predict(X), DECISIONS[:, index])
    assert one.objectives == one.violations == {}  # those of the mixture are not its own


def test_models_and_weights_of_ones_own_are_mixed_from_a_trace():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    rows = rb.Population(np.linspace(-2, 2, 40)[:, None], np.linspace(-2, 2, 40) > 0)
    compiled = rb.compile(rb.Problem("error_rate()", ["positive_rate() <= 0.3"]), rows)
    trace = rb.trace_of(compiled, [torch.nn.Linear(1, 1) for _ in range(4)])
    weights = shrink_weights(trace.objectives, trace.violations)
    mixed = rb.average(trace, weighting=weights)
    np.testing.assert_allclose(mixed.violations["train"], weights @ trace.violations, atol=1e-9)
    np.testing.assert_allclose(rb.average(trace, weighting=[2, 0, 0, 2]).weights, [0.5, 0.5])
    for bad in ([1.0], [0.0] * 4, [-1.0, 1, 1, 1], [np.nan] * 4):
        with pytest.raises(ValueError, match="weighting: "):
            rb.average(trace, weighting=bad)
