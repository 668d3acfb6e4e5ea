"""Ordinary slips in a population's arguments, and in conditions on its columns."""

import datetime

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import ratebound._old as rb
from ratebound._old.problem.masks import masker

from ..extras import pd

N = 60
X = np.random.default_rng(0).normal(size=(N, 2))
Y = X[:, 0] > 0
FITTED = LogisticRegression().fit(X, Y)
DAYS = np.datetime64("2020-01-01") + np.arange(N)
ROWWISE = "takes a value for each row, as a list, an array or a column, got"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"weights": 1.0}, f"weights {ROWWISE} one value"),
        ({"weights": (1 for _ in range(N))}, f"weights {ROWWISE} generator"),
        ({"weights": np.array(1.0)}, f"weights {ROWWISE} ndarray"),
        ({"y": 1}, f"y {ROWWISE} one value"),
        ({"y": iter(Y)}, f"y {ROWWISE}"),
        ({"X": 3.0}, f"X {ROWWISE} one value"),
        ({"X": "rows.csv"}, f"X {ROWWISE} one value"),
        ({"X": {"a": X[:, 0]}}, f"X {ROWWISE} dict"),
        ({"columns": {"sex": "F"}}, rf"columns\['sex'\] {ROWWISE} one value"),
        ({"columns": {"sex": (value for value in Y)}}, rf"columns\['sex'\] {ROWWISE} generator"),
        ({"columns": {"sex": set(range(N))}}, rf"columns\['sex'\] {ROWWISE} set"),
        ({"columns": {"sex": dict.fromkeys(range(N))}}, rf"columns\['sex'\] {ROWWISE} dict"),
        ({"columns": "sex"}, "columns takes a DataFrame or a mapping"),
        ({"columns": [Y]}, "columns takes a DataFrame or a mapping"),
        ({"weights": ["a"] * N}, "weights must be numbers, got 'a'"),
        ({"weights": np.full(N, 1j)}, "weights must be numbers, got 1j"),
        ({"weights": [None] * N}, "weights must be finite"),
        ({"weights": np.full(N, 1e306)}, r"weights go up to 1e\+306.*divide them by their mean"),
        ({"weights": np.full(N, 1e-300)}, "weights go up to 1e-300.*divide them by their mean"),
        ({"models": ["live"]}, "models takes a mapping from names to models, got list"),
        ({"models": {"live": "model.pkl"}}, "model 'live' has no predict"),
    ],
)
def test_populations(given, words):
    with pytest.raises((ValueError, TypeError), match=words):
        rb.Population(**({"X": X, "y": Y} | given))


@pytest.mark.parametrize("weight", [1e-12, 1e12])
def test_weights_of_any_ordinary_size_train_alike(weight):
    problem = rb.Problem("error_rate()", ["positive_rate() <= 0.3"])
    traces = [
        rb.play(rb.compile(problem, rb.Population(X, Y, weights=weights)), rb.Linear(0.1), rounds=50)
        for weights in (np.full(N, weight), None)
    ]
    np.testing.assert_allclose(traces[0].parameters, traces[1].parameters, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("rows", [np.ones(3, bool), [1000], [0.5], "a", None, 3, []])
def test_rows_that_are_not_there(rows):
    with pytest.raises(ValueError, match=r"only takes indices of the 60 rows|at least one row"):
        rb.Population(X, Y).only(rows)


MIXED = np.array([1, "x"] * (N // 2), dtype=object)
COLUMNS = {
    "a date": (DAYS, "d < 5", "holds dates but is compared with a number, 5"),
    "a date and a word": (DAYS, 'd < "soon"', "holds dates but is compared with 'soon': write a date"),
    "a day that is not there": (DAYS, 'd == "1999-01-01"', 'no row has d == "1999-01-01"'),
    "amounts in order": (
        ["$5", "$12"] * (N // 2),
        'd < "$7"',
        r"alphabetically, but '\$7' looks like a number",
    ),
    "day or month first": (["1/2/2024", "3/4/2024"] * (N // 2), 'd < "2024-03-01"', "alphabetically"),
    "a list of dates": ([datetime.date(2020, 1, 1)] * N, "d < 5", "holds dates"),
    "a list of times": ([datetime.datetime(2020, 1, 1)] * N, "d < 5", "holds dates"),
    "a duration": (DAYS - DAYS[0], "d < 5", "holds durations"),
    "complex": (np.ones(N) * 1j, "d < 5", "holds complex numbers"),
    "bytes": (np.array([b"x", b"y"] * (N // 2)), 'd == "x"', "holds bytes but is compared with text"),
    "lists": (lambda: pd.Series([[1], [2]] * (N // 2)), "d == 1", "holds values of type list"),
    "mixed, ordered": (MIXED, "d < 5", "holds numbers and text but is compared with a number"),
    "mixed, not there": (MIXED, 'd == "y"', "no row has"),
    "text": (["a", "b"] * (N // 2), "d < 5", "holds text but is compared with a number"),
    "numbers": (np.arange(N), 'd == "x"', "holds numbers but is compared with text"),
    "numbers as objects": (np.arange(N).astype(object), 'd == "x"', "holds numbers but is"),
}


MOMENTS = [datetime.date(2023, 12, 31), datetime.date(2024, 2, 1), None]
WRITTEN = {
    "ISO": ["2023-12-31", "2024-02-01", None],
    "day first": ["31.12.2023", "1.2.2024", None],
    "month first": ["12/31/2023", "2/1/2024", None],
    "dates": MOMENTS,
    "times in a zone": [
        each and datetime.datetime(*each.timetuple()[:3], 23, tzinfo=datetime.UTC) for each in MOMENTS
    ],
    "NumPy": np.array(["2023-12-31", "2024-02-01", "NaT"], "M8[D]"),
}


@pytest.mark.parametrize("kind", WRITTEN)
@pytest.mark.parametrize("relation", ["<", "<=", ">", ">="])
def test_dates_are_compared_as_dates(kind, relation):
    mask = masker(rb.Population(None, columns={"d": WRITTEN[kind]}), absent=True)
    before = [True, False, False] if relation.startswith("<") else [False, True, False]
    for value in ("2024-01-15", "2024-01-15 08:30"):
        assert (
            mask(rb.parse(f'recall(d {relation} "{value}") >= 0').left.rates[0].subset).tolist()
            == before
        )
    if kind in ("dates", "NumPy"):
        assert mask(rb.column("d") == "2024-02-01").tolist() == [False, True, False]
        assert mask(rb.column("d").isin(["2024-02-01", "2023-12-31"])).tolist() == [True, True, False]


def test_texts_that_are_no_dates_are_ordered_by_their_letters():
    mask = masker(rb.Population(None, columns={"d": ["A", "C", None, "B2"]}))
    assert mask(rb.column("d") < "B9").tolist() == [True, False, False, True]


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_that_cannot_be_so_compared(name):
    column, condition, words = COLUMNS[name]
    problem = rb.Problem("error_rate()", [f"positive_rate({condition}) <= 0.3"])
    with pytest.raises(ValueError, match=rf"positive_rate\(d.*population 'train': .*{words}"):
        rb.compile(problem, rb.Population(X, Y, columns={"d": column() if callable(column) else column}))


@pytest.mark.parametrize(
    ("column", "condition", "expected"),
    [
        (MIXED, 'd == "x"', MIXED == "x"),
        (MIXED, "d == 1", MIXED == 1),
        (MIXED, 'd != "x"', MIXED == 1),
        (np.array([1, 2.5, True] * 20, dtype=object), "d == 1", [True, False, True] * 20),
        (np.array([1, 2.5, True] * 20, dtype=object), "d < 2", [True, False, True] * 20),
        (np.array(["a", "b", "c"] * 20), 'd >= "b"', [False, True, True] * 20),
        (
            lambda: pd.Series(["a", "b", "c"] * 20, dtype="category"),
            'd in ("a", "c")',
            [True, False, True] * 20,
        ),
        (lambda: pd.Series([True, False] * 30, dtype="boolean"), "d == True", [True, False] * 30),
        (np.arange(N), "d < 1" + "0" * 30, np.ones(N)),
    ],
)
def test_columns_that_can(column, condition, expected):
    problem = rb.Problem("error_rate()", [f"predicted_positives({condition}) <= 0"])
    compiled = rb.compile(
        problem, rb.Population(X, Y, columns={"d": column() if callable(column) else column})
    )
    for row in range(N):
        alone = np.where(np.arange(N) == row, 1.0, -1.0)
        assert compiled.evaluate(alone)[1] == np.asarray(expected, dtype=float)[row]


def test_numbers_too_large_for_anything():
    with pytest.raises(ValueError, match="too large"):
        rb.column("d") < 10**400  # noqa: B015
    with pytest.raises(ValueError, match="too large"):
        rb.parse(f"recall(d < 1{'0' * 400}) >= 0.5")
    with pytest.raises(ValueError, match="too large"):
        rb.recall() >= 10**400  # noqa: B015


def nested(depth):
    condition = rb.column("a") == 1
    for level in range(depth):
        other = rb.column("b") == level
        condition = condition & other if level % 2 else condition | other
    return condition


def test_conditions_in_conditions_have_an_end():
    whole = rb.recall(nested(99)) >= 0.5
    assert rb.parse(str(whole)) == whole
    assert hash(whole) == hash(rb.parse(str(whole)))
    for depth in (101, 250, 5000):
        with pytest.raises(ValueError, match="nested more than 100 deep: put some into a column"):
            nested(depth)


def test_conditions_in_text_have_an_end():
    for depth in (120, 250, 900):
        text = "a == 1"
        for level in range(depth):
            text = f"({text}) {'and' if level % 2 else 'or'} b == {level}"
        with pytest.raises(ValueError, match=r"nested more than 100 deep|too many nested|too deeply"):
            rb.parse(f"recall({text}) >= 0.5")


def test_long_conditions_are_not_deep():
    many = " or ".join(f"a == {value}" for value in range(500))
    assert rb.parse(f"recall({many}) >= 0.5").left.terms[0][0].subset.depth == 1


def test_lists_of_promises_that_hold_themselves():
    promises = []
    promises.append(promises)
    with pytest.raises(ValueError, match="subject_to holds itself"):
        rb.Problem("error_rate()", promises)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: rb.churn(versus=None), "churn: versus= takes the column"),
        (lambda: rb.win_loss_ratio(versus=None), "win_loss_ratio: versus= takes the column"),
        (lambda: rb.no_lost_benefits(versus=None), "versus= takes the column"),
        (lambda: rb.statistical_parity(groups=5, slack=0.1), "groups takes conditions"),
        (lambda: rb.statistical_parity({"a": (1, 2)}, ratio="x"), "ratio takes a number"),
        (lambda: rb.thresholds(rb.Problem("error_rate()"), X[:, 0], rb.Population(X, Y), known=None),
         "known takes columns"),
        (lambda: rb.thresholds(rb.Problem("error_rate()"), X[:, 0], rb.Population(X, Y), known=[5]),
         "known: .*there is no column 5"),
        (lambda: rb.load("model", trusted="sklearn.tree.Tree"), r"trusted=\['sklearn.tree.Tree'\]"),
        (lambda: rb.audit([], FITTED, rb.Population(X, Y), confidence="a"), "confidence"),
        (lambda: rb.audit([], FITTED, rb.Population(X, Y), sensitive_features=X),
         "sensitive_features= is not an argument"),
    ])  # fmt: skip
def test_other_slips(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()


def test_where_no_columns_were_given_that_is_the_remedy():
    with pytest.raises(ValueError, match=r"no column 'sex'. No columns were given: pass columns=\."):
        rb.Population([[0.0]], [1]).column("sex")
