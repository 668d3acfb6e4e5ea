"""The months of a monitor, against counting by hand, SciPy and audits of each month's rows."""

import json

import numpy as np
import pytest
from scipy.stats import binomtest, chi2_contingency

import ratebound._old as rb
from ratebound import RateConstrainedClassifier
from ratebound._bridge import make_policy
from ratebound._old.certifying._by_month import drift_of
from ratebound._old.certifying._months import months_of, runs_of
from ratebound._old.tables.bins import Bins, bins_of
from ratebound._old.tables.column_statistics import statistics_of
from ratebound._old.tables.kinds import read_cells

from ..extras import pd

PROMISES = [
    'recall(sex == "F") >= 0.9 * recall()',
    'positive_rate(sex == "F") <= 0.5',
    "precision() >= 0.6",
    'churn(versus="live") <= 0.3',
    'precision(sex == "F") >= 0.9 * precision(sex == "M")',
]
DAYS = np.arange("2026-01-01", "2026-05-01", dtype="M8[h]")[::5]  # no two rows at one moment
NOWS = ["2026-01-20", "2026-02-28", "2026-03-31", "2026-04-10", "2026-07-01"]


def stream(seed=0):
    """Rows with the moment at which the label of each is known."""
    random, n = np.random.default_rng(seed), len(DAYS)
    y = random.random(n) < 0.4
    columns = {
        "id": random.permutation(n) + 1000,
        "day": DAYS,
        "sex": np.where(random.random(n) < 0.3, "F", "M").astype(object),
        "live": random.random(n) < np.where(y, 0.7, 0.2),
        "age": random.integers(18, 80, n),
    }
    decisions = random.random(n) < np.where(y, 0.7, 0.2)
    return decisions, y, columns, DAYS + (random.exponential(40.0, n) * 24).astype("m8[h]")


def taken(rows, which, now):
    """Some rows, with the labels that are known by now."""
    decisions, y, columns, known = rows
    labels = np.where(known <= np.datetime64(now), y, None)
    return decisions[which], labels[which], {name: each[which] for name, each in columns.items()}


def watched(rows, **given):
    """A monitor with ids, which gets each row once and its label when it is known, saved in between."""
    monitor = rb.Monitor(PROMISES, decided="day", wait=30, key="id", **given)
    seen = np.zeros(len(DAYS), dtype=bool)
    for now in NOWS:
        old, seen = seen, np.datetime64(now) >= DAYS
        decisions, labels, columns = taken(rows, seen & ~old, now)
        late = taken(rows, old, now)
        monitor.add_labels(late[2]["id"], late[1])
        monitor.update(decisions, labels, columns, now=now)
        monitor = rb.Monitor.from_json(monitor.to_json())
    return monitor


def test_every_label_counts_in_the_month_of_its_decision():
    rows = decisions, y, columns, known = stream()
    months, female = DAYS.astype("M8[M]").astype(str), columns["sex"] == "F"
    have = known <= np.datetime64(NOWS[-1])
    assert 0 < (~have).sum() < 100
    entries = watched(rows).to_dict()["months"]
    assert [each["month"] for each in entries] == ["2026-01", "2026-02", "2026-03", "2026-04"]
    for entry in entries:
        own = months == entry["month"]
        counts = (own.sum(), (own & have).sum(), (own & ~have).sum())
        assert (entry["rows"], entry["labelled"], entry["awaited"]) == counts
        positive, told = own & have & y, {each["words"]: each for each in entry["promises"]}
        assert told[PROMISES[0]]["value"] == pytest.approx(decisions[positive & female].mean())
        assert told[PROMISES[0]]["bound"] == pytest.approx(0.9 * decisions[positive].mean())
        assert told[PROMISES[1]]["value"] == pytest.approx(decisions[own & female].mean())
        assert told[PROMISES[1]]["rows"] == (own & female).sum()
        assert told[PROMISES[2]]["value"] == pytest.approx(y[own & have & decisions].mean())
        assert told[PROMISES[3]]["value"] == pytest.approx((decisions != columns["live"])[own].mean())
        groups = {each["words"]: each for each in entry["groups"]}
        for words, inside in {
            "everyone": own,
            'sex == "F"': own & female,
            "25 <= age < 40": own & (columns["age"] >= 25) & (columns["age"] < 40),
        }.items():
            exact = binomtest(int(decisions[inside].sum()), int(inside.sum())).proportion_ci(0.9)
            said = groups[words]["positive_rate"], groups[words]["low"], groups[words]["high"]
            assert said == pytest.approx((decisions[inside].mean(), exact.low, exact.high))


def test_a_month_is_measured_as_an_audit_of_its_rows():
    decisions, y, columns, _ = stream()
    monitor = rb.Monitor(PROMISES, month_of="day")
    monitor.update(decisions, y, columns)
    for entry in monitor.to_dict()["months"]:
        own = DAYS.astype("M8[M]").astype(str) == entry["month"]
        part = {name: each[own] for name, each in columns.items()}
        people = rb.Population(None, y[own], columns=part)
        report = rb.audit(PROMISES, decisions=decisions[own], rows=people)
        for said, promise in zip(entry["promises"], report.promises, strict=True):
            assert (said["value"], said["bound"]) == pytest.approx((promise.value, promise.bound))
            if promise.relation == ">=":
                ends = promise.bound + promise.slack_low, promise.bound + promise.slack_high
            else:
                ends = promise.bound - promise.slack_high, promise.bound - promise.slack_low
            assert (said["low"], said["high"]) == pytest.approx(ends)


def test_rows_with_ids_are_bet_on_as_rows_that_are_passed_again():
    rows = stream()
    with_ids = watched(rows)
    again = rb.Monitor(PROMISES, decided="day", wait=30)
    for now in NOWS:
        again.update(*taken(rows, np.datetime64(now) >= DAYS, now), now=now)
    assert with_ids.state["promises"] == again.state["promises"]
    assert with_ids.clocks["train"].unlabelled == again.clocks["train"].unlabelled > 0
    assert with_ids.clocks["train"].early == 0
    evidence = [each["promises"][0]["evidence_broken"] for each in with_ids.to_dict()["months"]]
    assert evidence[-1] == pytest.approx(with_ids.watches[0].evidence[0])


def test_evidence_of_a_month_is_that_after_its_last_row():
    decisions, y, columns, _ = stream()
    whole = rb.Monitor(PROMISES, month_of="day")
    whole.update(decisions, y, columns)
    part = rb.Monitor(PROMISES)
    for entry in whole.to_dict()["months"]:
        own = DAYS.astype("M8[M]").astype(str) == entry["month"]
        part.update(decisions[own], y[own], {name: each[own] for name, each in columns.items()})
        money = [each["evidence_broken"] for each in entry["promises"]]
        assert money == pytest.approx([watch.evidence[0] for watch in part.watches])
    assert whole.state["promises"] == part.state["promises"]


def test_a_row_counts_once_and_a_label_once():
    rows = decisions, y, columns, _ = stream()
    monitor = watched(rows)
    before = monitor.state
    everything = decisions, np.where(rows[3] <= np.datetime64(NOWS[-1]), y, None), columns
    assert monitor.update(*everything, now=NOWS[-1]) == []
    assert monitor.state == before
    assert monitor.add_labels([1, 2], [1, 0]) == 0  # of nobody
    first = columns["id"][0]
    assert monitor.add_labels([first], [not y[0]]) == 0  # its label is known
    assert monitor.state == before
    waiting = [number for number, row in monitor.calendar.awaited.items() if row.label is None]
    assert (
        len(waiting)
        == monitor.to_dict()["awaited"]
        == sum(each["awaited"] for each in monitor.to_dict()["months"])
    )


def test_the_page_and_the_text():
    monitor = watched(stream())
    page, text = monitor.render("html"), str(monitor)
    for words in ("By month", "Evidence over time", "Yes by group", "2026-03"):
        assert words in page
        assert words in text
    assert page.count('class="dots"') == len(PROMISES)
    assert page.count('class="chart"') == len(PROMISES)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"key": "id"}, "key= needs decided="),
        ({"training": object()}, "training= takes a model that was fitted on a DataFrame"),
    ],
)
def test_arguments(given, reason):
    with pytest.raises(ValueError, match=reason):
        rb.Monitor(PROMISES, **given)


def test_what_cannot_be_read_changes_nothing():
    rows = stream()
    monitor = watched(rows)
    before = monitor.to_json()
    decisions, labels, columns = taken(rows, slice(0, 3), NOWS[-1])
    for change, reason in (
        ({"id": [5, 5, 6]}, "rows have an id that another row has"),
        ({"id": [5, None, 6]}, "1 rows have no id"),
        ({"day": ["2026-01-01", None, "2026-01-02"]}, "'day' is empty"),
        ({"sex": ["F", "M"]}, "'sex' has 2 rows"),
    ):
        with pytest.raises(ValueError, match=reason):
            monitor.update(decisions, labels, columns | change, now=NOWS[-1])
    with pytest.raises(ValueError, match="no column 'id' is given"):
        monitor.update(decisions, labels, {"day": columns["day"]}, now=NOWS[-1])
    with pytest.raises(ValueError, match=r"labels has 1 rows, and there are 2 ids"):
        monitor.add_labels([1, 2], [1])
    with pytest.raises(ValueError, match="holds neither dates nor months"):
        rb.Monitor(PROMISES, month_of="sex").update(decisions, labels, columns)
    assert monitor.to_json() == before


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["awaited"][0].__setitem__(1, "x"),
        lambda c: c["awaited"][0].__setitem__(0, 5),
        lambda c: c["awaited"][0].__setitem__(3, [1]),
        lambda c: c["months"]["2026-01"]["labelled"]["rows"].__setitem__(0, -1),
        lambda c: c["months"]["2026-01"]["labelled"].__setitem__("labels", None),
        lambda c: c["months"]["2026-01"]["labelled"]["columns"].pop("sex"),
        lambda c: c["months"]["2026-01"]["groups"].__setitem__("everyone", [1]),
        lambda c: c["months"]["2026-01"]["groups"].__setitem__("everyone", [0, 0]),
        lambda c: c["months"]["2026-01"]["groups"].__setitem__("everyone", [1, 2]),
        lambda c: c["months"]["2026-01"]["groups"].pop("everyone"),
        lambda c: c["months"]["2026-01"].__setitem__("evidence", [[1.0, 2.0]]),
        lambda c: c.__setitem__("known", "?"),
    ],
)
def test_a_calendar_that_was_tampered_with_is_refused(change):
    state = json.loads(watched(stream()).to_json())
    change(state["calendar"])
    with pytest.raises(ValueError, match="the monitor's state"):
        rb.Monitor.from_json(json.dumps(state))


# --- drift of features --------------------------------------------------------------------------------


def of_column(values):
    return bins_of("x", statistics_of(read_cells(values)))


@pytest.mark.parametrize(
    "values",
    [
        np.arange(2**62, 2**62 + 1000),  # whole numbers that are alike as decimal ones
        np.array([0.0, 5e-324] * 5),
        np.array([-1e300, 1e300] * 5),
    ],
)
def test_bins_of_numbers_at_the_ends_of_what_there_is(values):
    bins = of_column(values)
    assert Bins.from_json(bins.to_json()) == bins
    np.testing.assert_array_equal(bins.counted(values), bins.counts)
    assert sum(bins.counts) == len(values)


@pytest.mark.parametrize("kind", ["numbers", "few", "texts", "truth values"])
def test_bins_count_training_rows_as_later_ones(kind):
    random = np.random.default_rng(0)
    values = {
        "numbers": np.where(random.random(5000) < 0.1, np.nan, random.normal(size=5000)),
        "few": random.integers(0, 4, 5000).astype(float),
        "texts": np.array([None, *"abcdefghijklmnopqrstuvwxyz"], object)[random.integers(0, 27, 5000)],
        "truth values": random.random(5000) < 0.3,
    }[kind]
    bins = of_column(values)
    np.testing.assert_array_equal(bins.counted(values), bins.counts)
    assert sum(bins.counts) == 5000
    assert len(bins.words) == len(bins.counts)
    assert Bins.from_json(json.loads(json.dumps(bins.to_json()))) == bins
    if kind == "numbers":
        held = values[~np.isnan(values)]
        np.testing.assert_allclose(bins.edges, np.quantile(held, np.arange(1, 10) / 10), atol=0.01)
        assert bins.counts[-1] == np.isnan(values).sum()


def test_what_training_has_not_seen_has_a_bin():
    bins = of_column(np.array([*"aaaaaabbbbb", "Ada Lovelace"], dtype=object))
    assert (bins.values, bins.counts) == (("a", "b"), (6, 5, 1, 0))  # no text of a single row
    assert bins.counted(np.array(["c", None, "a"], dtype=object)).tolist() == [1, 0, 1, 1]
    assert of_column(np.array([5.0, 5.0])).counted(np.array([5.0, np.nan, 7.0])).tolist() == [2, 1]
    assert of_column(np.array(["2026-01-01"], dtype="M8[D]")) is None


def test_the_index_and_the_test_are_the_textbooks():
    random = np.random.default_rng(0)
    before, now = random.normal(size=20_000), random.normal(0.5, 1.2, size=10_000)
    bins = of_column(before)
    drift = drift_of(bins, bins.counted(now))
    ends = [-np.inf, *bins.edges, np.inf]
    e, a = (np.histogram(each, [-1e9, *np.nextafter(ends[1:-1], 9), 1e9])[0] for each in (before, now))
    p, q = e / e.sum(), a / a.sum()
    assert drift.index == pytest.approx(np.sum((q - p) * np.log(q / p)), rel=1e-2)
    assert drift.p_value == pytest.approx(chi2_contingency([e, a], correction=False).pvalue, abs=1e-12)
    assert drift_of(bins, bins.counted(now[:20])) is None


def test_drift_is_false_as_often_as_its_test_says():
    random = np.random.default_rng(0)
    bins = of_column(random.integers(0, 8, 100_000).astype(float))
    p_values = [drift_of(bins, bins.counted(random.integers(0, 8, 500))).p_value for _ in range(300)]
    assert 0.02 <= np.mean(np.array(p_values) < 0.05) <= 0.09


def test_features_of_a_model_are_watched_against_its_training_rows(tmp_path):
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(0)

    def people(n, older):
        age, work = random.normal(40 + older, 10, n), random.choice(["a", "b"], n)
        return pandas.DataFrame({"age": age, "work": work, "noise": random.normal(size=n)}), age > 40

    X, y = people(600, 0.0)
    fitted = RateConstrainedClassifier("recall() >= 0.5", random_state=0)
    model = make_policy(fitted.fit(X, y))
    model.save(tmp_path / "model.safetensors")
    for known in (model, rb.load(tmp_path / "model.safetensors")):
        monitor = rb.Monitor("recall() >= 0.5", training=known)
        for month, older in (("2026-01-31", 0.0), ("2026-02-28", 12.0)):
            X, y = people(400, older)
            monitor.update(model.predict(X), y, X, now=month)
            monitor = rb.Monitor.from_json(monitor.to_json())
        first, second = (
            {each["name"]: each for each in entry["features"]} for entry in monitor.to_dict()["months"]
        )
        assert first["age"]["index"] < 0.1 < 0.25 < second["age"]["index"]
        assert second["age"]["p_value"] < 1e-6
        assert second["age"]["moved"].startswith("above ")
        assert second["noise"]["index"] < 0.1
        assert "Drift of features" in monitor.render("html")


# --- months -------------------------------------------------------------------------------------------


def test_months_of_dates_in_any_library():
    days = ["2026-03-31", "2026-04-01"]
    for column in (
        days,
        np.array(days, "M8[s]"),
        pd.to_datetime(pd.Series(days)),
        ["31.3.2026", "1.4.2026"],
    ):
        assert months_of(column, "day").tolist() == ["2026-03", "2026-04"]


def test_runs_of_months():
    assert runs_of(np.array(["a", "a", "b"])) == [slice(0, 2), slice(2, 3)]
    assert runs_of(np.array(["b", "a", "b"])) == [slice(0, 3)]


@pytest.mark.parametrize(
    ("promises", "how"),
    [
        (['recall(day < "2026-02-01") >= 0.4', "positive_rate(missing(site)) <= 0.9"], {}),
        (['recall(sex == "F") >= 0.9 * recall(sex == "M")'], {"strata": "site"}),
        (['recall(sex == "F", of="cat") >= 0.1'], {"classes": ["ape", "cat", "dog"]}),
        (["referred() <= 0.5", "precision() >= 0.2"], {"classes": ["no", "yes"], "refer": "doctor"}),
    ],
    ids=["dates", "strata", "three classes", "referred"],
)
def test_months_of_other_promises_are_few_cells(promises, how):
    """The state grows with what promises tell apart and with months, not with rows."""
    random, n = np.random.default_rng(0), len(DAYS)
    said = [*how.get("classes", [False, True]), *([how["refer"]] if "refer" in how else [])]
    labels = how.get("classes", [False, True])
    decisions, y = np.array(said)[random.integers(0, len(said), n)], random.choice(labels, n)
    columns = {"day": DAYS, "sex": random.choice(["F", "M"], n), "site": random.choice(["n", None], n)}
    sizes = []
    for every in (4, 1):
        monitor = rb.Monitor(promises, month_of="day", **how)
        part = {name: values[::every] for name, values in columns.items()}
        monitor.update(decisions[::every], y[::every], part)
        again = rb.Monitor.from_json(monitor.to_json())
        assert again.to_dict() == monitor.to_dict()
        sizes.append(len(monitor.to_json()))
    assert sizes[1] < 1.5 * sizes[0]


@pytest.mark.parametrize("how", [{"month_of": "day"}, {"decided": "day", "wait": 5}])
def test_labels_and_columns_of_other_lengths_are_refused_in_words(how):
    monitor, days = rb.Monitor("recall() >= 0.1", **how), ["2026-01-01", "2026-01-02", "2026-02-01"]
    for labels in ([1, 0], [1, 0, 1, 1]):
        with pytest.raises(
            ValueError, match=rf"labels has {len(labels)} rows, and there are 3 decisions"
        ):
            monitor.update([1, 0, 1], labels, {"day": days}, now="2026-03-01")
    with pytest.raises(ValueError, match="column 'day' has 2 rows, and there are 3 decisions"):
        monitor.update([1, 0, 1], [1, 0, 1], {"day": days[:2]}, now="2026-03-01")
    assert monitor.rows == {"train": 0}


def test_labels_that_may_be_missing_in_a_data_frame():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"id": range(100), "day": pd.date_range("2026-01-01", periods=100)})
    y = pd.Series(random.random(100) < 0.5).astype("boolean")
    known = y.mask(frame["id"] % 5 == 0)
    monitor = rb.Monitor("recall() >= 0.1", decided="day", wait=5, key="id")
    monitor.update(random.random(100) < 0.5, known, frame, now="2026-03-01")
    assert monitor.add_labels(frame["id"], y) == 20
    monitor.update([], now="2026-06-01")
    assert [each["labelled"] for each in monitor.to_dict()["months"]] == [31, 28, 31, 10]
    assert monitor.rows["train"] == 100 - 11  # rows without a label on the first of March
