"""The estimator on rows on disk, against the same rows in memory."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import ratebound._old as rb
from ratebound._old.estimators import sampling
from ratebound._old.problem.compiling import compile
from ratebound._old.solution.determinize import evaluate

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

PROMISES = ['recall(sex == "M") >= 0.9 * recall(sex == "F")', "positive_rate() <= 0.4"]
ROWS = 3_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two files of three row groups each; who is a man is seen in `x` a little."""
    random = np.random.default_rng(0)
    sex = random.choice(["F", "M"], ROWS, p=[0.3, 0.7])
    x = random.normal(size=(ROWS, 2))
    score = x @ [1.0, 0.5] + 0.8 * (sex == "M") + random.normal(size=ROWS)
    table = pa.table(
        {
            "x": x[:, 0],
            "z": pa.array(x[:, 1], mask=random.random(ROWS) < 0.05),
            "town": random.choice(["Oslo", "Rome"], ROWS),
            "sex": sex,
            "repaid": np.where(score > 0.5, "yes", "no"),
            "band": np.array(["low", "middle", "high"])[np.digitize(score, [-0.5, 1.0])],
            "often": random.integers(1, 3, ROWS).astype(float),
        }
    )
    place = tmp_path_factory.mktemp("rows")
    for half in range(2):
        part = table.slice(half * ROWS // 2, ROWS // 2)
        pq.write_table(part, place / f"{half}.parquet", row_group_size=600)
    return place


def on_disk(folder, label="repaid", positive="yes", **options):
    hidden = [name for name in ("repaid", "band", "often", "sex") if name not in (label,)]
    if positive is not None:
        options["positive"] = positive
    return rb.Parquet(
        str(folder / "*.parquet"),
        label=label,
        features=["x", "z", "town"],
        columns=[name for name in hidden if name != options.get("weight")],
        **options,
    )


def classifier(**options):
    usual = {"constraints": PROMISES, "model": rb.Linear(0.05), "player": rb.SwapRegret()}
    training = rb.Training(epochs=3, batch_size=128)
    return rb.RateConstrainedClassifier(**usual | options, random_state=0, training=training)


def is_exact(model, rows):
    """Whether values on all rows equal the counts of an evaluation in memory."""
    there = evaluate(model.solution_, compile(model.solution_.problem, rows.in_memory()))
    np.testing.assert_allclose(list(model.violations_.values()), there.violations, atol=1e-6)
    assert model.solution_.record.objectives["train"] == pytest.approx(there.objective, abs=1e-6)


@pytest.mark.parametrize("options", [{}, {"known": ["sex"]}, {"solution": "last"}])
def test_solutions_are_chosen_by_their_exact_rates_on_all_rows(folder, options, monkeypatch):
    monkeypatch.setattr(sampling, "MOST_SAMPLED", 500)
    rows = on_disk(folder)
    model = classifier(**options).fit(rows)
    is_exact(model, rows)
    if not options.get("solution"):
        assert model.status_.feasible
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.feature_names_in_.tolist() == ["x", "z", "town"]
    memory = rows.in_memory()
    columns = {"sex": memory.column("sex")} if "known" in options else None
    np.testing.assert_array_equal(model.predict(rows), model.predict(memory.X, columns=columns))
    np.testing.assert_array_equal(model.predict_proba(rows), model.predict_proba(memory.X))
    labels = np.where(rows.y, "yes", "no")
    assert model.score(rows) == pytest.approx(np.mean(model.predict(rows) == labels))
    assert model.solution_.calibration.on == "held-out rows"
    assert set(model.prices_) == set(PROMISES)


def test_they_are_about_as_good_as_in_memory(folder):
    rows = on_disk(folder)
    disk, memory = (classifier().fit(each) for each in (rows, rows.in_memory()))
    assert disk.status_.feasible
    assert memory.status_.feasible
    costs = [each.solution_.objectives["train"] for each in (disk, memory)]
    assert costs[0] == pytest.approx(costs[1], abs=0.03)
    ours, theirs = disk.audit(rows).to_dict(), disk.audit(rows.in_memory()).to_dict()
    for one, other in zip(ours["promises"], theirs["promises"], strict=True):
        assert one["value"] == pytest.approx(other["value"], abs=1e-12)
        assert one["slack_low"] == pytest.approx(other["slack_low"], abs=1e-6)


def test_promises_may_speak_of_any_column_and_compare_ratios(folder):
    files, features = str(folder / "*.parquet"), ["x", "z", "town"]
    rows = rb.Parquet(files, label="repaid", positive="yes", features=features)
    model = classifier(constraints=['precision(sex == "F") >= 0.8 * precision(sex == "M")']).fit(rows)
    assert model.status_.feasible
    assert model.audit(on_disk(folder)).kept


def test_promises_at_other_thresholds_and_areas(folder):
    rows = on_disk(folder)
    for promise in ("positive_rate(at=0.5) <= 0.3", "roc_auc() >= 0.7"):
        model = classifier(constraints=[promise]).fit(rows)
        assert model.status_.feasible
        assert model.audit(rows).kept


def test_weights_count(folder):
    rows = on_disk(folder, weight="often")
    model = classifier().fit(rows)
    is_exact(model, rows)
    assert model.status_.feasible


def test_several_classes(folder):
    rows = on_disk(folder, label="band", positive=None)
    model = classifier(constraints=['positive_rate(of="high") <= 0.2']).fit(rows)
    is_exact(model, rows)
    assert model.status_.feasible
    assert set(model.predict(rows)) <= {"low", "middle", "high"}


def test_margins_for_new_rows_and_certificates(folder):
    rows = on_disk(folder)
    model = classifier(constraints=["positive_rate() <= 0.4"], confidence=0.9).fit(rows)
    is_exact(model, rows)
    assert model.status_.confidence >= 0.8
    assert -0.05 < model.violations_["positive_rate() <= 0.4"] < -0.001
    model = classifier(constraints=["positive_rate() <= 0.4"], certify=0.3).fit(rows)
    assert model.certificate_.holds
    assert model.certificate_.promises[0].rows == pytest.approx(0.3 * ROWS, abs=2)


def test_other_populations_may_be_on_disk_or_in_memory(folder):
    rows = on_disk(folder)
    pool = rows.in_memory().only(np.arange(300))
    promise = 'positive_rate(on="pool") <= 0.3'
    for other in (pool, on_disk(folder)):
        model = classifier(constraints=[promise]).fit(rows, pool=other)
        assert model.status_.feasible
        value = np.mean(model.solution_.decision_proba(other)[:, 1])
        assert model.violations_[promise] == pytest.approx(value - 0.3, abs=1e-6)


def test_what_cannot_be(folder):
    rows = on_disk(folder)
    for beside, told in (("columns", "columns="), ("sample_weight", "weight="), ("y", "label=")):
        with pytest.raises(TypeError, match=told):
            classifier().fit(rows, **{beside: {}})
    with pytest.raises(ValueError, match="positive_label is 'no'"):
        classifier(positive_label="no").fit(rows)
    with pytest.raises(ValueError, match=r"needs all rows in memory.*in_memory"):
        classifier(model=LogisticRegression()).fit(rows)
    with pytest.raises(ValueError, match=r"known: column 'x' makes .* groups"):
        classifier(known=["x"]).fit(rows)
    with pytest.raises(ValueError, match="no labels"):
        classifier().fit(on_disk(folder, label=None, positive=None))
    with pytest.raises(ValueError, match="fit needs y"):
        classifier().fit(rows.in_memory().X)


def test_groups_of_few_rows_are_in_the_sample():
    cells = np.repeat(np.arange(4), [100_000, 300, 30, 1])
    found = sampling.drawn(cells, 4, 0.01, seed=0)
    counts = np.bincount(cells[found], minlength=4)
    assert 900 < counts[0] < 1_100
    assert 30 < counts[1] < 75
    assert counts[2] > 5
    assert counts[3] == 1


def test_rows_that_each_process_gathers_keep_all_that_promises_read():
    random = np.random.default_rng(0)
    columns = {name: random.integers(0, 2, 100) for name in ("live", "doctor", "sex", "other")}
    people = rb.Population(random.normal(size=(100, 2)), columns["sex"], columns=columns, refer="ask")
    promises = ["churn(sex == 1, versus='live') <= 0.1", "error_rate(expert='doctor') <= 0.3"]
    whole = sampling.in_each_process(compile(rb.Problem("error_rate()", promises), people)).first
    assert set(whole.column_names) == {"live", "doctor", "sex"}


@pytest.mark.parametrize("labels", [[1, 1, 1], None])
def test_there_must_be_labels_of_two_classes(tmp_path, labels):
    pq.write_table(pa.table({"x": [1.0, 2.0, 3.0], "y": labels or [0, 1, 0]}), tmp_path / "rows.parquet")
    people = rb.Parquet(tmp_path, label=None if labels is None else "y", features=["x"])
    message = (
        "no labels: give it labels" if labels is None else "needs two classes or more, but has 1 class"
    )
    for rows in (people, people.in_memory()):
        with pytest.raises(ValueError, match=message):
            rb.RateConstrainedClassifier().fit(rows)
