"""DataFrames, pandas' and polars', as features and as columns; existing models; which label is yes."""

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.problem.masks import masker
from ratebound._old.solution._choosing import uniform_from_key

from ..extras import pd, pl

Y = [1, 0, 1, 0]
DATA = {
    "sex": ["Female", "Male", "Female", "Male"],
    "age": [20, 30, 40, 50],
    "member": [True, False, True, True],
    "score": [0.5, 1.5, 2.5, 3.5],
}
NUMBERS = {name: values for name, values in DATA.items() if name != "sex"}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}
CONDITIONS = [
    'sex == "Female"',
    'sex in ("Female", "Male")',
    "age < 35",
    "age == 20",
    "member == True",
    "member == 1",
    "not member == False",
    "score >= 1.5",
]


def values(population, words=CONDITIONS):
    problem = rb.Problem("error_rate()", [f"positive_rate({w}) <= 0" for w in words])
    objective, violations = rb.compile(problem, population).evaluate([1.0, -1.0, -1.0, 1.0])
    return [objective, *violations]


EXPECTED = [0.5, 0.5, 0.5, 0.5, 1.0, 2 / 3, 2 / 3, 2 / 3, 1 / 3]


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_frames_are_columns(frame):
    data = frame(DATA)
    np.testing.assert_allclose(values(rb.Population(None, Y, columns=DATA)), EXPECTED)
    np.testing.assert_allclose(values(rb.Population(None, Y, columns=data)), EXPECTED)
    np.testing.assert_allclose(values(rb.Population(data, Y)), EXPECTED)
    np.testing.assert_allclose(
        values(rb.Population(data, data["member"], data[["sex"]]))[1:], EXPECTED[1:]
    )
    assert rb.Population(data, Y).column_names == list(DATA)


KINDS = {
    "pandas category": pd.DataFrame(DATA).astype({"sex": "category"}),
    "pandas ordered": pd.DataFrame(DATA).assign(
        sex=pd.Categorical(DATA["sex"], ["Male", "Female"], ordered=True)
    ),
    "pandas category of numbers": pd.DataFrame(DATA).astype({"age": "category"}),
    "pandas object": pd.DataFrame(DATA).astype(object),
    "pandas nullable": pd.DataFrame(DATA).convert_dtypes(),
    "pandas small": pd.DataFrame(DATA).astype({"age": "int8", "score": "float32"}),
    "pandas odd index": pd.DataFrame(DATA, index=[7, 7, -1, 3]),
    "polars category": pl.DataFrame(DATA, schema_overrides={"sex": pl.Categorical}),
    "polars enum": pl.DataFrame(DATA, schema_overrides={"sex": pl.Enum(["Male", "Female"])}),
    "polars small": pl.DataFrame(DATA, schema_overrides={"age": pl.UInt8, "score": pl.Float32}),
    "NumPy arrays": {name: np.array(column) for name, column in DATA.items()},
    "NumPy objects": {name: np.array(column, dtype=object) for name, column in DATA.items()},
    "pandas series": {name: pd.Series(column) for name, column in DATA.items()},
    "polars series": {name: pl.Series(column) for name, column in DATA.items()},
    "tuples": {name: tuple(column) for name, column in DATA.items()},
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_any_kind_read_alike(kind):
    np.testing.assert_allclose(values(rb.Population(None, Y, columns=KINDS[kind])), EXPECTED)


MISSING = {
    "pandas text": pd.Series(["a", None, "b"]),
    "pandas string": pd.Series(["a", None, "b"], dtype="string"),
    "pandas object": pd.Series(["a", None, "b"], dtype=object),
    "pandas NA": pd.Series(["a", pd.NA, "b"], dtype=object),
    "pandas category": pd.Series(["a", None, "b"], dtype="category"),
    "pandas float": pd.Series([1.0, None, 2.0]),
    "pandas Int64": pd.Series([1, None, 2], dtype="Int64"),
    "pandas boolean": pd.Series([True, None, False], dtype="boolean"),
    "polars text": pl.Series(["a", None, "b"]),
    "polars category": pl.Series(["a", None, "b"], dtype=pl.Categorical),
    "polars integer": pl.Series([1, None, 2]),
    "polars boolean": pl.Series([True, None, False]),
    "polars NaN": pl.Series([1.0, float("nan"), 2.0]),
}


@pytest.mark.parametrize("kind", MISSING)
def test_missing_values_of_any_kind_are_found(kind):
    people = rb.Population(None, columns={"a": MISSING[kind]})
    assert masker(people)(rb.missing("a")).tolist() == [False, True, False]
    assert people.plain_column("a")[1] is None
    with pytest.raises(ValueError, match="y has 1 missing labels"):
        rb.Population(None, MISSING[kind], positive="a")


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_text_in_features_matters_only_when_they_are_asked_for(frame):
    people = rb.Population(frame(DATA), Y)
    values(people)
    with pytest.raises(
        ValueError, match=r"column 'sex' of X does not hold numbers: encode it, or .*columns="
    ):
        _ = people.features


FEATURES = {
    "pandas": pd.DataFrame(NUMBERS),
    "pandas nullable": pd.DataFrame(NUMBERS).convert_dtypes(),
    "polars": pl.DataFrame(NUMBERS),
    "a list": [[a, m, s] for a, m, s in zip(*NUMBERS.values(), strict=True)],
}


@pytest.mark.parametrize("kind", FEATURES)
def test_numbers_and_truth_values_are_features(kind):
    features = rb.Population(FEATURES[kind], Y).features
    assert features.dtype.kind in "buif"
    np.testing.assert_array_equal(features, np.array(list(NUMBERS.values()), dtype=float).T)


def test_columns_come_before_those_of_the_features():
    people = rb.Population(pd.DataFrame(DATA), Y, columns={"age": [1, 1, 1, 2]})
    np.testing.assert_array_equal(people.column("age"), [1, 1, 1, 2])
    assert people.column_names == ["age", "sex", "member", "score"]


LABELS = {  # labels, and which of them is yes
    "zeros and ones": ([0, 1, 1], None),
    "signs": ([-1, 1, 1], None),
    "floats": ([0.0, 1.0, 1.0], None),
    "truth": ([False, True, True], None),
    "a column of a table": (np.array([[0], [1], [1]]), None),
    "only yes": ([1, 1, 1], None),
    "text": (["bad", "good", "good"], "good"),
    "odd numbers": ([1, 2, 2], 2),
    "zero is yes": ([1, 0, 0], 0),
    "minus one is yes": ([1, -1, -1], -1),
    "false is yes": ([True, False, False], False),
    "pandas text": (pd.Series(["bad", "good", "good"]), "good"),
    "pandas category": (pd.Series(["bad", "good", "good"], dtype="category"), "good"),
    "pandas boolean": (pd.Series([False, True, True], dtype="boolean"), None),
    "polars text": (pl.Series(["bad", "good", "good"]), "good"),
    "polars truth": (pl.Series([False, True, True]), None),
}


@pytest.mark.parametrize("kind", LABELS)
def test_which_label_is_yes(kind):
    labels, positive = LABELS[kind]
    people = rb.Population(None, labels, positive=positive)
    assert people.y.dtype == bool
    np.testing.assert_array_equal(people.y, [kind == "only yes", True, True])


class Fitted:
    """A model that returns the decisions it was given."""

    def __init__(self, *answers):
        self.answers = answers

    def predict(self, X):
        assert X is FEATURE_TABLE, "as it was given, so that a model of DataFrames gets one"
        return np.array(self.answers)


FEATURE_TABLE = pd.DataFrame(NUMBERS)


@pytest.mark.parametrize(
    ("y", "positive", "answers", "yes"),
    [
        ([0, 1, 0, 1], None, (1, 0, 1, 1), 0.75),
        ([0, 1, 0, 1], None, (True, False, True, True), 0.75),
        ([0, 1, 0, 1], None, (1, -1, 1, 1), 0.75),
        (["n", "y", "n", "y"], "y", ("y", "n", "y", "y"), 0.75),
        (["n", "y", "n", "y"], "y", (1, 0, 1, 1), 0.75),
        ([1, 2, 1, 2], 2, (2, 1, 2, 2), 0.75),
        ([1, 0, 1, 0], 0, (0, 1, 0, 0), 0.75),
        ([1, 0, 1, 0], 0, (True, False, True, True), 0.75),  # True is yes, whichever number is
        # Labels may be of one kind only, or left out.
        (["y", "y", "y", "y"], "y", ("y", "n", "y", "y"), 0.75),
        (["n", "n", "n", "n"], "y", ("y", "n", "y", "y"), 0.75),
        (None, "y", ("y", "n", "y", "y"), 0.75),
        (None, 2, (2, 1, 2, 2), 0.75),
        (None, 0, (0, 1, 0, 0), 0.75),
        (None, False, (False, True, False, False), 0.75),
        (None, None, (1, 0, 1, 1), 0.75),
        # The existing model may decide everyone alike, in terms of the labels.
        (["n", "y", "n", "y"], "y", ("y", "y", "y", "y"), 1.0),
        (["n", "y", "n", "y"], "y", ("n", "n", "n", "n"), 0.0),
        ([1, 2, 1, 2], 2, (1, 1, 1, 1), 0.0),
        ([1, 0, 1, 0], 0, (1, 1, 1, 1), 0.0),
        ([0, 1, 0, 1], None, (0, 0, 0, 0), 0.0),
        ([0, 1, 0, 1], None, (-1, -1, -1, -1), 0.0),
    ],
)
def test_existing_models_become_columns_of_their_decisions(y, positive, answers, yes):
    people = rb.Population(FEATURE_TABLE, y, positive=positive, models={"live": Fitted(*answers)})
    assert "live" in people.column_names
    problem = rb.Problem(
        "positive_rate()", ['positive_rate_of(versus="live") <= 0', 'churn(versus="live") <= 0']
    )
    _, violations = rb.compile(problem, people).evaluate(np.ones(4))
    np.testing.assert_allclose(violations, [yes, 1 - yes])


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_weights_may_be_a_series(frame):
    people = rb.Population(None, Y, weights=frame({"w": [3.0, 1.0, 0.0, 0.0]})["w"])
    objective, _ = rb.compile(rb.Problem("error_rate()"), people).evaluate(np.ones(4))
    assert objective == pytest.approx(0.25)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("rows", [[0, 3], [False, True, True, False], [2, 2]], ids=str)
def test_some_rows_of_a_population(frame, rows):
    people = rb.Population(frame(DATA), Y, columns={"live": [0, 1, 1, 0]}, weights=[1, 2, 3, 4])
    assert people.only(rows).column("sex").tolist() == np.array(DATA["sex"])[rows].tolist()
    np.testing.assert_array_equal(people.only(rows).y, np.array(Y, dtype=bool)[rows])
    np.testing.assert_array_equal(people.only(rows).weights, np.array([1, 2, 3, 4])[rows])
    np.testing.assert_array_equal(people.only(rows).column("live"), np.array([0, 1, 1, 0])[rows])
    assert len(people.only(rows)) == len(np.arange(4)[rows])
    array = rb.Population(np.eye(4), Y)
    assert array.features.shape == (4, 4)
    np.testing.assert_array_equal(array.only(rows).features, np.eye(4)[rows])
    with pytest.raises(ValueError, match="at least one row"):
        people.only([])


# --- masked arrays -------------------------------------------------------------------------------


def masked(values):
    """These values with the first one masked."""
    return np.ma.array(values, mask=[True] + [False] * (len(values) - 1))


def test_what_is_masked_is_missing_wherever_it_enters():
    y, X = [0, 1, 0, 1], np.arange(8.0).reshape(4, 2)
    whole = rb.Population(np.ma.array(X), np.ma.array(y), columns={"g": np.ma.array([1, 1, 2, 2])})
    assert whole.column("g").tolist() == [1, 1, 2, 2]
    assert type(whole.features) is np.ndarray
    for values in ([1, 1, 2, 2], ["a", "a", "b", "b"], [True, True, False, False], [0.5, 1.0, 2.0, 3.0]):
        people = rb.Population(None, y, columns={"g": masked(values)})
        assert masker(people)(rb.missing("g")).sum() == 1
    days = masked(np.array(["2024-01-01"] * 4, dtype="M8[D]"))
    assert masker(rb.Population(None, y, columns={"day": days}))(rb.missing("day")).sum() == 1
    with pytest.raises(ValueError, match="y has 1 missing labels"):
        rb.Population(None, masked(y))
    with pytest.raises(ValueError, match="weights must be finite"):
        rb.Population(None, y, weights=masked([1.0, 2.0, 1.0, 1.0]))
    hidden = np.ma.array(X, mask=X == 3)
    assert np.isnan(rb.Population(hidden, y).features).sum() == 1
    with pytest.raises(ValueError, match="key has missing ids"):
        uniform_from_key(masked([1, 2, 3]), 0)
    compiled = rb.compile(rb.Problem("error_rate()"), rb.Population(None, y))
    with pytest.raises(ValueError, match="scores hold NaN"):
        compiled.evaluate(masked([1.0, 2.0, 3.0, 4.0]))


@pytest.mark.parametrize("part", ["y", "sample_weight"])
def test_the_estimator_honours_masks(part):
    given = {"X": np.arange(40.0)[:, None] % 7, "y": np.arange(40) % 2, "sample_weight": np.ones(40)}
    given[part] = np.ma.array(given[part], mask=np.arange(40).reshape(given[part].shape) == 3)
    with pytest.raises(ValueError, match=r"NaN|1 missing labels"):
        rb.RateConstrainedClassifier(training=rb.Training(epochs=1)).fit(**given)


def test_dates_are_no_weights():
    with pytest.raises(ValueError, match=r"weights must be numbers, got "):
        rb.Population(None, [0, 1], weights=np.array(["2020-01-01"] * 2, "M8[D]"))
