"""Games on rows on disk: the same as in memory; with the same batches, to the last bit."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import ratebound._old as rb

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

from ratebound._old.tables import _row_groups  # noqa: E402

ROWS = 1500
IN_ORDER = rb.Rules(shuffle=False)


@pytest.fixture(autouse=True)
def small_units(monkeypatch):
    monkeypatch.setattr(_row_groups, "ROWS_TOGETHER", 150)


@pytest.fixture
def people(tmp_path):
    """Rows on disk; a third of them fits into memory."""
    random = np.random.default_rng(0)
    score = random.normal(size=ROWS)
    columns = {
        "a": score.astype(np.float32),
        "b": random.normal(size=ROWS).astype(np.float32),
        "sex": random.choice(["F", "M"], ROWS, p=[0.3, 0.7]),
        "loan": random.uniform(1, 9, ROWS),
        "weight": random.uniform(0.5, 2, ROWS),
        "y": (score + random.normal(size=ROWS) > 0).astype(int),
        "kind": np.array(["bird", "cat", "dog"])[np.digitize(score + random.normal(size=ROWS), [-1, 1])],
    }
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=110)

    def made(**roles):
        given = {"label": "y", "features": ["a", "b"], "memory": 36_000} | roles
        return rb.Parquet(tmp_path / "rows.parquet", **given)

    return made


PROBLEMS = {
    "rates": (rb.Linear([0.01, 0.1]), {}, ['recall(sex == "F") >= 0.9', "predicted_positives() <= 700"]),
    "weights": (rb.Linear(0.1), {"weight": "weight"}, ["equal_opportunity(sex, ratio=0.9)"]),
    "costs": (rb.Linear(0.1), {}, ['cost(false_negative=1, column="loan") <= 2']),
    "classes": (rb.Linear(0.1), {"label": "kind"}, ['recall(of="dog") >= 0.5']),
    "thresholds": (rb.Linear(0.1), {}, ['recall(at="careful") >= 0.95']),
    "area": (rb.Linear(0.1), {}, ["roc_auc(bins=3) >= 0.7"]),
    "double": (rb.Linear(0.1, dtype="float64"), {}, ["positive_rate(a > 0.5) <= 0.6"]),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_same_batches_give_the_same_bits(people, name):
    learner, roles, promises = PROBLEMS[name]
    _assert_same(people(**roles), learner, rb.Problem("error_rate()", promises))


@pytest.mark.parametrize("goal", ["maximize f_score()", "minimize error_rate()"])
def test_goals_and_networks_do_too(people, goal):
    pytest.importorskip("torch")
    _assert_same(people(), rb.MLP(hidden=(4,)), rb.Problem.stated(goal, ["positive_rate() <= 0.4"]))


def _assert_same(disk, learner, problem):
    assert disk.features.most < ROWS / 2
    there, here = (
        rb.play(rb.compile(problem, rows), learner, epochs=2, batch_size=64, rules=IN_ORDER)
        for rows in (disk, disk.in_memory())
    )
    whole = disk.weights is None and "cost" not in str(problem)  # counts, whose sums are exact
    for part in ("parameters", "objectives", "violations", "multipliers", "setting", "round"):
        close = 0 if whole else 1e-6 if part in ("parameters", "multipliers") else 1e-12
        np.testing.assert_allclose(getattr(there, part), getattr(here, part), rtol=close)
    for at in here.thresholds:
        np.testing.assert_array_equal(there.thresholds[at], here.thresholds[at])


def test_a_population_on_disk_plays_beside_one_in_memory(people):
    pool = rb.Population(np.random.default_rng(1).normal(size=(300, 2)))
    problem = rb.Problem("error_rate()", ['positive_rate(on="pool") <= 0.3'])
    disk = people()
    there, here = (
        rb.play(rb.compile(problem, rows, pool=pool), rb.Linear(0.1), epochs=2, rules=IN_ORDER)
        for rows in (disk, disk.in_memory())
    )
    np.testing.assert_allclose(there.parameters, here.parameters, rtol=1e-5)
    np.testing.assert_array_equal(there.violations, here.violations)


def test_shuffled_windows_train_as_well(people):
    problem = rb.Problem("error_rate()", ['recall(sex == "F") >= 0.85'])
    disk = people()
    memory = disk.in_memory()
    compiled = rb.compile(problem, disk)
    mixture = rb.shrink(rb.play(compiled, rb.Linear(0.03), epochs=40, batch_size=64))
    other = rb.shrink(rb.play(rb.compile(problem, memory), rb.Linear(0.03), epochs=40, batch_size=64))
    assert mixture.status.feasible
    assert mixture.objectives["train"] == pytest.approx(other.objectives["train"], abs=0.015)
    plain = LogisticRegression().fit(memory.features, memory.y)
    best = rb.play(
        rb.compile(rb.Problem("error_rate()"), disk), rb.Linear(0.03), epochs=40, batch_size=64
    )
    assert best.objectives.min() == pytest.approx(1 - plain.score(memory.features, memory.y), abs=0.01)


def test_kept_rates_are_counted_on_all_rows(people):
    disk = people()
    trace = rb.play(
        rb.compile(rb.Problem("error_rate()", ["recall() >= 0.9"]), disk), rb.Linear(0.1), epochs=3
    )
    memory = disk.in_memory()
    for weights, error, violation in zip(
        trace.parameters, trace.objectives, trace.violations, strict=True
    ):
        said = memory.features @ weights[:-1] + weights[-1] >= 0
        assert error == pytest.approx(np.mean(said != memory.y), abs=2 / ROWS)
        assert violation[0] == pytest.approx(0.9 - said[memory.y].mean(), abs=2 / memory.y.sum())


def test_watched_rows_may_be_on_disk_or_in_memory(people):
    disk = people()
    problem = rb.compile(rb.Problem("error_rate()", ["recall() >= 0.8"]), disk).problem
    first, second = disk.only(np.arange(1000)), disk.only(np.arange(1000, ROWS))
    own, stored = (rb.compile(problem, rows) for rows in (first, second))
    memory = rb.compile(problem, second.in_memory())
    watched = rb.play(own, rb.Linear(0.1), epochs=2, watch={"here": memory, "disk": stored}).watched
    np.testing.assert_array_equal(watched["here"].violations, watched["disk"].violations)


def test_what_needs_all_rows_in_memory_says_so(people):
    compiled = rb.compile(rb.Problem("error_rate()"), people())
    with pytest.raises(ValueError, match=r"Oracle needs its rows in memory.*in_memory\(\)"):
        rb.play(compiled, rb.Oracle(LogisticRegression()), rounds=2)


def test_features_that_are_no_numbers_are_found_before_training(tmp_path):
    values = np.arange(200.0)
    values[150] = np.nan
    pq.write_table(pa.table({"a": values[::-1], "b": values, "y": [0, 1] * 100}), tmp_path / "r.parquet")
    compiled = rb.compile(rb.Problem("error_rate()"), rb.Parquet(tmp_path, "y"))
    with pytest.raises(ValueError, match="column 'a' holds NaN or infinite values"):
        rb.play(compiled, rb.Linear(), epochs=1)
    text = rb.Parquet(tmp_path, "y", features=["b"])
    assert rb.compile(rb.Problem("error_rate()"), text).stored


def test_a_rule_to_stop_sees_the_iterates_so_far(people):
    seen = []
    stop = rb.Stop(when=lambda trace: seen.append(len(trace)) or len(trace) == 3)
    trace = rb.play(rb.compile(rb.Problem("error_rate()"), people()), rb.Linear(), epochs=9, stop=stop)
    assert (seen, len(trace), trace.ended) == ([1, 2, 3], 3, "stopped")
