"""User-defined constraints on rows: the arguments of functions, and the use of their results."""

import numpy as np
import pytest

import ratebound._old as rb

from ..small_tables import animals, people

TABLE = people(n=120, by="group", slopes=(1.0, -0.5))
ROWS = TABLE.population()


def compiled(*functions, rows=ROWS, promises=("recall() >= 0.5",), others=None, **options):
    own = [rb.constraint(f, name=f"own {i}", **options) for i, f in enumerate(functions)]
    return rb.compile(rb.Problem("error_rate()", [*promises, *own]), rows, **(others or {}))


def brier(model, rows):
    return (rows.weights * (1 / (1 + np.exp(-model.scores)) - rows.y) ** 2).sum() / rows.weights.sum()


def test_values_stand_in_the_row_of_their_constraint():
    scores = np.random.default_rng(0).normal(size=(3, 120))
    both = compiled(brier, lambda model, rows: abs(model.scores).max(), at_most=0.3)
    rates = rb.compile(rb.Problem("error_rate()", ["recall() >= 0.5"]), ROWS)
    objectives, violations = both.evaluate(scores)
    np.testing.assert_array_equal(objectives, rates.evaluate(scores)[0])
    np.testing.assert_array_equal(violations[:, :1], rates.evaluate(scores)[1])
    by_hand = ((1 / (1 + np.exp(-scores)) - TABLE.y) ** 2).mean(axis=1) - 0.3
    np.testing.assert_allclose(violations[:, 1], by_hand)
    np.testing.assert_allclose(violations[:, 2], abs(scores).max(axis=1) - 0.3)


def test_rows_as_functions_see_them():
    seen = {}

    def look(model, rows):
        seen.update(n=len(rows), X=rows.X, y=rows.y, group=rows.columns["group"], w=rows.weights)
        seen.update(names=list(rows.columns), module=model.module, scores=model.scores)
        return 0.0

    weighted = TABLE.population(weighted=True)
    scores = np.arange(120.0)
    compiled(look, rows=weighted).evaluate(scores, module="mine")
    np.testing.assert_array_equal(seen["X"], TABLE.X)
    np.testing.assert_array_equal(seen["y"], TABLE.y.astype(float))
    np.testing.assert_array_equal(seen["group"], TABLE.columns["group"])
    np.testing.assert_array_equal(seen["w"], TABLE.weights)
    np.testing.assert_array_equal(seen["scores"], scores)
    assert (seen["n"], seen["module"]) == (120, "mine")
    assert "group" in seen["names"]


def test_tensors_where_scores_are_tensors():
    torch = pytest.importorskip("torch")
    kinds = {}

    def look(model, rows):
        kinds.update(y=rows.y.dtype, X=rows.X.dtype, w=rows.weights.dtype, scores=model.scores.dtype)
        kinds["group"] = type(rows.columns["group"])
        return model.scores[rows.columns["group"] == "a"].mean()

    _, violations = compiled(look).evaluate(torch.arange(120.0))
    assert set(kinds.values()) == {torch.float32, np.ndarray}
    assert violations[1] == pytest.approx(np.arange(120.0)[TABLE.columns["group"] == "a"].mean())


def test_another_population():
    other = TABLE.population(slice(0, 30))
    both = compiled(
        lambda model, rows: model.scores.sum() + len(rows), on="pool", others={"pool": other}
    )
    scores = np.r_[np.zeros(120), np.ones(30)]
    assert both.evaluate(scores)[1][1] == 60


def test_more_classes():
    table = animals(n=60)
    problem = rb.Problem(
        "error_rate()", [rb.constraint(lambda m, r: m.scores.shape[0] + r.y.max(), name="D")]
    )
    rows = table.population()
    scores = np.zeros((len(rows.classes), 60))
    assert rb.compile(problem, rows).evaluate(scores)[1][0] == 2 * len(rows.classes) - 1


def test_units_are_those_given():
    assert compiled(brier, scale=7.0).scale.tolist() == [1.0, 1.0, 7.0]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda model, rows: float("nan"), "own 0: its function value= gave nan"),
        (lambda model, rows: np.inf, "own 0: its function value= gave inf"),
        (lambda model, rows: None, "own 0: its function value= gave None"),
        (
            lambda model, rows: model.scores,
            r"own 0: its function value= gave an array of shape \(120,\)",
        ),
        (lambda model, rows: [0.5], "own 0: its function value= gave a list"),
        (lambda model, rows: "low", "own 0: its function value= gave a str"),
        (lambda model, rows: 1 / 0, "own 0: its function value= raised ZeroDivisionError"),
        (lambda model: 0.0, "own 0: its function value= raised TypeError"),
        (lambda model, rows: rows.columns["sex"], "own 0: .*there is no column 'sex'"),
        (lambda model, rows: model.module.weight, "own 0: .*It received no model.module: give module="),
        (lambda model, rows: object(), "own 0: .*it must return one number"),
    ],
)
def test_what_a_function_does_wrong_names_the_constraint(function, words):
    with pytest.raises(ValueError, match=words):
        compiled(function).evaluate(np.zeros(120))


def test_rows_without_labels():
    rows = rb.Population(TABLE.X)
    problem = rb.Problem("positive_rate()", [rb.constraint(lambda m, r: r.y.mean(), name="mean label")])
    with pytest.raises(ValueError, match=r"mean label: .*these rows have no labels"):
        rb.compile(problem, rows).evaluate(np.zeros(120))


def test_what_cannot_be_compiled():
    own = rb.constraint(brier, name="Brier score", on="pool")
    with pytest.raises(ValueError, match=r"Brier score <= 0.0: population 'pool' is not given"):
        rb.compile(rb.Problem("error_rate()", [own]), ROWS)
    goal = rb.Problem(maximize="f_score()", subject_to=[rb.constraint(brier, name="Brier score")])
    with pytest.raises(
        ValueError, match=r"Brier score <= 0.0: with .* the objective must be a sum of rates"
    ):
        rb.compile(goal, ROWS)


def test_rows_on_disk_are_refused(tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"x": TABLE.X[:, 0], "y": TABLE.y}), tmp_path / "rows.parquet")
    rows = rb.Parquet(tmp_path / "rows.parquet", label="y", features=["x"])
    with pytest.raises(ValueError, match=r"own 0 <= 0.0: .*on disk: .*population.in_memory\(\)"):
        compiled(brier, rows=rows)


def test_modules_are_one_for_each_model():
    several = compiled(lambda model, rows: model.module)
    assert several.evaluate(np.zeros((2, 120)), module=[1.0, 2.0])[1][:, 1].tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match=r"module= takes a list of what .* see of each of 2"):
        several.evaluate(np.zeros((2, 120)), module=[1.0, 2.0, 3.0])
