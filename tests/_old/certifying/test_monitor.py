"""The monitor: what it says, what it remembers, and that nothing depends on how rows are cut."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ratebound._old as rb

from ..extras import pd, pl

PROMISES = [
    'recall(sex == "F") >= 0.9 * recall()',
    'recall(sex == "F") >= recall(sex == "M") - 0.05',
    "precision() >= 0.6",
    'positive_rate(sex == "F") <= 0.45',
    'churn(versus="live") <= 0.3',
    'accuracy() >= accuracy_of(versus="live") - 0.1',
    "predicted_positives(per=100) <= 40",
    "recall(age >= 3) + recall(age < 2) - 2 * recall(age == 2) <= 0.2",
    'false_positive_rate(sex == "F") / false_positive_rate() <= 1.5',
    'loss_only_churn(versus="live") <= 0.4',
    "cost(false_negative=10, false_positive=1) <= 3",
    'precision(sex == "F") >= 0.9 * precision(sex == "M")',
    'precision(age >= 1) >= 0.9 * precision(sex == "F")',
    'f_score(sex == "F") >= 0.9 * f_score()',
]


def stream(rows, seed=0, female=0.3, recall=0.7):
    random = np.random.default_rng(seed)
    sex = np.where(random.random(rows) < female, "F", "M").astype(object)
    labels = random.random(rows) < 0.4
    decisions = random.random(rows) < np.where(labels, recall, 0.2)
    live = random.random(rows) < np.where(labels, 0.7, 0.2)
    columns = {"sex": sex, "live": live, "age": random.integers(0, 5, rows)}
    columns |= {"site": random.choice(["north", "south", None], rows)}
    return decisions, labels, columns


def part(rows, start, stop):
    decisions, labels, columns = rows
    own = {name: values[start:stop] for name, values in columns.items()}
    return decisions[start:stop], labels[start:stop], own


def problem(*promises):
    return rb.Problem("error_rate()", promises or PROMISES)


def monitor_of(rows, *promises, **given):
    monitor = rb.Monitor(problem(*promises), **given)
    monitor.update(*rows)
    return monitor


# --- what it says ----------------------------------------------------------------------------------


def test_both_sides_are_those_of_an_audit():
    rows = stream(500)
    decisions, labels, columns = rows

    class Said:
        def predict(self, X):
            return decisions

    people = rb.Population(np.zeros((500, 1)), labels, columns=columns)
    audit = rb.audit(problem(), Said(), people)
    for watch, promise in zip(monitor_of(rows).watches, audit.promises, strict=True):
        assert watch.sides == pytest.approx((promise.value, promise.bound)), promise.words


def test_it_tells_broken_from_kept_and_goes_on():
    broken, kept = "recall() >= 0.8", "recall() >= 0.6"
    monitor = monitor_of(stream(3000), broken, kept)
    assert [watch.verdict for watch in monitor.watches] == ["broken", "kept"]
    (alarm,) = monitor.alarms
    assert str(alarm.constraint) == broken
    assert alarm.evidence >= monitor.threshold == pytest.approx(40)
    assert alarm.value < alarm.bound == 0.8
    assert str(alarm).startswith(f"{broken} is broken: after {alarm.row:,} rows recall() is 0.")
    assert monitor.update(*stream(500, seed=1, recall=1.0)) == []
    assert monitor.alarms == [alarm]
    assert not monitor.kept
    assert monitor_of(stream(3000), kept).kept


def test_an_alarm_says_which_rates_raised_it():
    """The numbers in its sentence are those of the rows until then, counted by hand."""
    random = np.random.default_rng(0)
    sex, y = random.choice(["F", "M"], 4000), random.random(4000) < 0.5
    yes = random.random(4000) < np.where(y, np.where(sex == "F", 0.6, 0.8), 0.2)
    watching = rb.Monitor(['recall(sex == "F") >= 0.95 * recall()', "precision() >= 0.9"])
    watching.update(yes, y, {"sex": sex})
    precise, compared = watching.alarms
    upto = slice(compared.row)
    women, everyone = y[upto] & (sex[upto] == "F"), y[upto]
    own, all_ = yes[upto][women].mean(), yes[upto][everyone].mean()
    assert (
        f'recall(sex == "F") is {own:.4f} ({women.sum():,} rows), at least {0.95 * all_:.4f} was '
        f"promised (0.95 * recall(): recall() is {all_:.4f} on {everyone.sum():,} rows)" in str(compared)
    )
    upto = slice(precise.row)
    right, said = (yes & y)[upto].sum(), yes[upto].sum()
    assert f"precision() is {right / said:.4f} ({right} / {said}), at least 0.9000" in str(precise)
    assert rb.Monitor.from_json(watching.to_json()).alarms == watching.alarms


def test_an_alarm_comes_at_the_row_and_with_the_rates_of_that_row():
    rows = stream(3000)
    monitor = monitor_of(rows, "recall() >= 0.8")
    (alarm,) = monitor.alarms
    before = monitor_of(part(rows, 0, alarm.row - 1), "recall() >= 0.8")
    assert before.alarms == []
    assert before.update(*part(rows, alarm.row - 1, alarm.row)) == [alarm]
    assert before.watches[0].evidence[0] == pytest.approx(alarm.evidence)


def test_a_promise_that_breaks_after_it_was_kept_for_long():
    monitor = monitor_of(stream(30_000, recall=0.9), "recall() >= 0.8")
    assert monitor.kept
    monitor.update(*stream(10_000, seed=1, recall=0.6))
    assert 30_000 < monitor.alarms[0].row < 32_000


def test_the_table():
    monitor = monitor_of(stream(3000), "recall() >= 0.8", 'precision(sex == "F") >= 0.2')
    text = str(monitor)
    assert text.startswith("Monitor after 3,000 rows, confidence 0.95\n\npromise")
    assert "BROKEN" in text
    assert "1 broken, 1 kept, 0 not known yet; a verdict takes evidence of 40 to 1." in text
    assert repr(monitor).startswith("Monitor(1 broken, 1 kept")
    page = monitor._repr_html_()
    assert page.endswith("</div>")
    assert "<table" in page
    assert "precision(sex == &quot;F&quot;)" in page
    empty = str(rb.Monitor(problem()))
    assert "after 0 rows" in empty
    assert "not known yet" in empty


# --- what it takes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [pd, pl], ids=["pandas", "polars"])
def test_columns_of_a_data_frame(frame):
    decisions, labels, columns = rows = stream(400)
    plain = monitor_of(rows)
    listed = frame.DataFrame({name: values.tolist() for name, values in columns.items()})
    framed = monitor_of((frame.Series(decisions.tolist()), frame.Series(labels.tolist()), listed))
    assert framed.state == plain.state


def test_decisions_and_labels_in_words():
    decisions, labels, columns = rows = stream(400)
    said = [np.where(each, ">50K", "<=50K") for each in (decisions, labels, columns["live"])]
    words = monitor_of((*said[:2], columns | {"live": said[2]}), positive=">50K")
    assert words.watches[0].evidence == monitor_of(rows).watches[0].evidence
    assert rb.Monitor.from_json(words.to_json()).positive == ">50K"
    alone = rb.Monitor(problem("recall() >= 0.5"), positive=2)
    alone.update([1, 1], [2, 2])
    assert alone.watches[0].sides == (0.0, 0.5)


@pytest.mark.parametrize(
    "given", [{"positive": False}, {"positive": np.False_}, {"classes": [True, False]}]
)
@pytest.mark.parametrize("kind", [bool, int, object, str])
def test_no_may_be_the_class_that_is_watched(given, kind):
    """Everyone is called True, so none of the False is found, as an audit says too."""
    labels = np.array([True] * 90 + [False] * 10)
    said = np.ones(100, dtype=bool)
    people = rb.Population(np.zeros((100, 1)), labels, positive=False)
    model = type("Model", (), {"predict": lambda self, X: said})()
    (promise,) = rb.audit(problem("recall() >= 0.5"), model, people).promises
    if kind is str:  # which are then named as texts too
        given = {name: np.array(each).astype(str).tolist() for name, each in given.items()}
    monitor = rb.Monitor(problem("recall() >= 0.5"), **given)
    monitor.update(said.astype(kind), labels.astype(kind))
    again = rb.Monitor.from_json(monitor.to_json())
    assert monitor.watches[0].sides[0] == again.watches[0].sides[0] == promise.value == 0.0


def test_of_two_classes_the_second_is_yes():
    named = rb.Monitor(problem("recall() >= 0.5"), classes=["bad", "good"])
    named.update(["bad", "good", "good"], ["good", "good", "bad"])
    assert named.watches[0].sides[0] == 0.5
    zero = rb.Monitor(problem("recall() >= 0.5"), positive="0")
    zero.update([1, 1, 0], [0, 0, 0])
    assert zero.watches[0].sides[0] == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="positive='fine' is not one of classes="):
        rb.Monitor(problem("recall() >= 0.5"), classes=["bad", "good"], positive="fine")


def test_no_labels_where_none_are_needed_and_no_rows_at_all():
    decisions, _, columns = stream(200)
    monitor = rb.Monitor(problem("positive_rate() <= 0.5", 'churn(versus="live") <= 0.5'))
    monitor.update(decisions, columns=columns)
    before = monitor.state
    assert monitor.update([], columns={"live": []}) == []
    assert monitor.state == before
    assert monitor.rows == {"train": 200}


def test_a_batch_may_lack_a_group():
    decisions, labels, columns = rows = stream(300)
    order = np.argsort(columns["sex"], kind="stable")
    moved = decisions[order], labels[order], {n: v[order] for n, v in columns.items()}
    one = monitor_of(moved)
    many = rb.Monitor(problem())
    for start in range(0, 300, 10):
        many.update(*part(moved, start, start + 10))
    assert many.state == one.state
    assert monitor_of(rows).watches[0].tallies.tolist() == one.watches[0].tallies.tolist()


def test_other_populations():
    experts = rb.Monitor(problem('accuracy(on="experts") >= 0.9', "recall() >= 0.5"))
    decisions, labels, _ = stream(500)
    (alarm,) = experts.update(decisions, labels, on="experts")
    assert alarm.row <= 500
    assert experts.rows == {"experts": 500, "train": 0}
    with pytest.raises(ValueError, match="no promise is about population 'expert', did you mean"):
        experts.update(decisions, labels, on="expert")


@pytest.mark.parametrize(
    ("promise", "reason"),
    [
        ("roc_auc() >= 0.8", "it is about the order of scores, and a monitor sees decisions"),
        ("recall(at=0.3) >= 0.8", "at a threshold, which needs scores"),
        ('recall(on="a") >= recall(on="b")', "compares the populations a, b"),
        ("predicted_positives() <= 40", "say out of how many rows"),
    ],
)
def test_promises_that_cannot_be_watched_are_refused(promise, reason):
    with pytest.raises(ValueError, match=reason):
        rb.Monitor(problem(promise))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (([0.2, 0.7, 0.9], [1, 0, 1]), "Pass decisions instead of probabilities"),
        (([1, 0, 1], [1, 0]), "labels has 2 rows, and there are 3 decisions"),
        (([1, 0, 1], [1, None, 1]), "labels has 1 missing values"),
        (([1, 0], None), "the promise recall.. >= 0.5: this rate needs labels"),
        (([[1, 0]], [1]), "one value for each row"),
        (("yes", [1]), "decisions takes a value for each row"),
    ],
)
def test_rows_that_cannot_be_read_change_nothing(given, reason):
    monitor = rb.Monitor(problem("positive_rate() <= 0.4", "recall() >= 0.5"))
    before = monitor.to_json()
    with pytest.raises((TypeError, ValueError), match=reason):
        monitor.update(*given)
    assert monitor.to_json() == before


def test_arguments():
    with pytest.raises(TypeError, match=r"Monitor takes promises first, .* got int"):
        rb.Monitor(3)
    with pytest.raises(ValueError, match="confidence, a probability"):
        rb.Monitor(problem(), confidence=95)
    with pytest.raises(ValueError, match="wait= needs decided="):
        rb.Monitor(problem(), wait=30)
    with pytest.raises(ValueError, match="makes no promises"):
        rb.Monitor(rb.Problem("error_rate()"))
    with pytest.raises(ValueError, match="its groups are not known"):
        rb.Monitor(problem("equal_opportunity(sex, ratio=0.9)"))


# --- labels that come later -----------------------------------------------------------------------


def slow_labels(seed, rows=2500):
    """All get a yes, and 85% of these are right; wrong ones are known after 100 rows, right ones after
    500."""
    random = np.random.default_rng(seed)
    right, day = random.random(rows) < 0.85, np.arange(float(rows))
    return right, day, day + random.exponential(np.where(right, 500.0, 100.0))


def test_labels_that_come_later_for_one_outcome_raise_no_false_alarms():
    """In the order of labels, most streams would; in the order of decisions, after 1,500 rows, few
    do."""
    by_label = by_decision = unlabelled = 0
    for seed in range(20):
        right, day, known = slow_labels(seed)
        order = np.argsort(known)
        wrong = rb.Monitor(problem("precision() >= 0.8"), confidence=0.8)
        wrong.update(np.ones(len(right)), right[order])
        monitor = rb.Monitor(problem("precision() >= 0.8"), 0.8, decided="day", wait=1500)
        for now in range(500, 4001, 500):  # all rows so far, again and again
            there = day <= now
            labels = np.where(known <= now, right, None)[there]
            monitor.update(np.ones(there.sum()), labels, {"day": day[there]}, now=now)
        by_label += bool(wrong.alarms)
        by_decision += bool(monitor.alarms)
        unlabelled += monitor.clocks["train"].unlabelled
        assert monitor.rows["train"] + monitor.clocks["train"].unlabelled == 2500
    assert by_label >= 18
    assert by_decision <= 5
    assert 0 < unlabelled / (20 * 2500) < 0.06  # exp(-3) of 85%


def test_rows_of_one_day_that_are_sorted_by_label_raise_no_false_alarms():
    """A table `ORDER BY day, outcome` has the failures of each day first."""
    as_given = as_decided = 0
    for seed in range(10):
        day = np.repeat(np.arange(20.0), 200)
        right = np.random.default_rng(seed).random(len(day)) < 0.82
        order = np.lexsort((right, day))
        wrong = rb.Monitor(problem("precision() >= 0.8"))
        wrong.update(np.ones(len(day)), right[order])
        as_given += bool(wrong.alarms)
        monitor, again = (rb.Monitor(problem("precision() >= 0.8"), decided="day") for _ in range(2))
        for each in (monitor, again):
            each.update(np.ones(len(day)), right[order], {"day": day}, now=20)
        assert monitor.state == again.state
        as_decided += bool(monitor.alarms)
    assert (as_given, as_decided) == (10, 0)


DAYS = np.arange("2024-01-01", "2025-08-23", dtype="M8[D]")  # 600 of them


@pytest.mark.parametrize("kind", ["M8[D]", str, object, float])
def test_rows_are_taken_in_the_order_of_decision_each_once(kind):
    """Whatever tables they come in, together with earlier rows and rows that are too young."""
    decisions, labels, columns = stream(600)
    random, cut = np.random.default_rng(0), rb.Monitor(problem(), decided="day", wait=30)
    for now in ("2024-03-01", "2024-12-31", "2025-02-01", "2026-01-01"):
        rows = random.permutation(np.flatnonzero(np.datetime64(now) >= DAYS))
        own = {name: values[rows] for name, values in columns.items()}
        own["day"], moment = DAYS[rows].astype(kind), now
        if kind is float:
            moment = float(np.datetime64(now).astype(int))
        cut.update(decisions[rows], labels[rows], own, now=moment)
        cut = rb.Monitor.from_json(cut.to_json())
        if now == "2024-12-31":  # 366 given, 30 too young, and the first 31 of March taken in before
            assert cut.rows["train"] == 336
            assert (cut.clocks["train"].early, cut.clocks["train"].late) == (30, 31)
            assert "30 rows are too young: give them again later.\n31 rows are passed over" in str(cut)
    whole = monitor_of((decisions, labels, columns))
    assert (cut.rows, cut.state["promises"]) == (whole.rows, whole.state["promises"])


def test_rows_of_one_moment_may_come_in_parts_and_without_labels():
    monitor = rb.Monitor(problem("recall() >= 0.5"), decided="day", wait=30)
    monitor.update([1, 0], [1, None], {"day": ["2024-01-02", "2024-01-01"]}, now="2024-02-01")
    monitor.update([1, 1], [None, 1], {"day": ["2024-01-01", "2024-01-02"]}, now="2024-02-01")
    assert monitor.rows == {"train": 2}
    assert monitor.to_dict()["left_out"] == {"train": {"unlabelled": 2, "early": 0, "late": 0}}
    assert "2 rows had no label by their time and do not count" in str(monitor)
    assert monitor.update([1], [None], {"day": ["2024-01-31"]}, now="2024-02-02") == []
    assert monitor.clocks["train"].early == 1


@pytest.mark.parametrize("frame", [pd, pl], ids=["pandas", "polars"])
def test_moments_and_strata_of_a_data_frame(frame):
    decisions, labels, columns = stream(300)
    how = {"decided": "day", "wait": 10, "strata": ["site", "age"]}
    lacking = [None if i % 9 == 0 else label for i, label in enumerate(labels.tolist())]
    states = []
    for read in (lambda values: values, frame.Series):
        monitor = rb.Monitor(problem(), **how)
        listed = {name: values.tolist() for name, values in columns.items()}
        listed["day"] = DAYS[:300].astype(object).tolist()
        given = listed if read is not frame.Series else frame.DataFrame(listed)
        monitor.update(read(decisions.tolist()), read(lacking), given, now="2024-09-30")
        states.append(monitor.state)
    assert states[0] == states[1]
    assert 0 < states[0]["clocks"]["train"]["unlabelled"] < 40


def test_strata_are_few_and_have_one_name_in_any_table():
    monitor = rb.Monitor(problem(PROMISES[0]), strata="age")
    decisions, labels, columns = stream(2000)
    monitor.update(decisions, labels, columns | {"age": columns["age"].astype(float)})
    monitor.update(decisions, labels, columns)
    assert sorted(monitor.watches[0].waiting) == [f"[{age}]" for age in range(5)]
    with pytest.raises(ValueError, match=r"0\.9 \* recall\(\): there are more than 1,000 strata"):
        monitor.update(decisions, labels, columns | {"age": np.arange(2000)})


def test_a_comparison_of_two_ratios_is_watched_as_it_was_asked_for():
    asked = problem(PROMISES[-3])
    leveled = asked.at_levels({asked.leveled[0]: 0.6})
    monitor = rb.Monitor(leveled)
    assert [str(watch.constraint) for watch in monitor.watches] == [PROMISES[-3]]
    decisions, labels, columns = stream(3000)
    wrong = decisions & (columns["sex"] == "F")  # told yes, and not so
    monitor.update(decisions, labels & ~wrong, columns)
    (alarm,) = monitor.alarms
    assert alarm.value < alarm.bound
    assert monitor.to_dict()["alarms"][0]["words"].startswith(f"{PROMISES[-3]} is broken: after ")
    assert monitor.watches[0].rows == int(wrong.sum())
    assert rb.Monitor.from_json(monitor.to_json(), asked).alarms == [alarm]
    with pytest.raises(ValueError, match="does not count the same rows above and below"):
        rb.Monitor(problem("recall() / positive_rate() >= 0.9 * precision()"))


@pytest.mark.parametrize(
    ("how", "given", "reason"),
    [
        ({}, {"day": [1, 2], "now": 5}, r"now= needs rb.Monitor"),
        ({"decided": "day"}, {"day": [1, 2, 3], "now": 5}, "column 'day' has 3 rows"),
        ({"decided": "day"}, {"day": [1, 2]}, "say which moment it is by now="),
        ({"decided": "date"}, {"day": [1, 2], "now": 5}, "no column 'date' is given"),
        ({"decided": "day"}, {"day": [1, None], "now": 5}, "column 'day' is empty in 1 rows"),
        ({"decided": "day"}, {"day": ["2024-01-01", "x"], "now": 5}, "'day' does not hold numbers"),
        (
            {"decided": "day"},
            {"day": ["2024-01-01", "x"], "now": "2025-01-01"},
            "column 'day' holds texts",
        ),
        ({"decided": "day"}, {"day": [1, 2], "now": "2025-01-01"}, "'day' does not hold dates"),
        ({"decided": "day"}, {"day": [1, 2], "now": 0}, "now= is before the now= of an earlier update"),
    ],
)
def test_moments_that_cannot_be_read_change_nothing(how, given, reason):
    monitor = rb.Monitor(problem("recall() >= 0.5"), **how)
    if "earlier" in reason:
        monitor.update([1], [1], {"day": [1]}, now=1)
    before = monitor.to_json()
    with pytest.raises(ValueError, match=reason):
        monitor.update([1, 0], [1, 1], {"day": given["day"]}, now=given.get("now"))
    assert monitor.to_json() == before


# --- what it remembers -----------------------------------------------------------------------------


@settings(max_examples=8, deadline=None)
@given(cuts=st.lists(st.integers(0, 400), max_size=6), seed=st.integers(0, 5))
def test_batches_and_saving_change_nothing(cuts, seed):
    rows = stream(400, seed)
    whole, cut = monitor_of(rows), rb.Monitor(problem())
    ends = [0, *sorted(cuts), 400]
    for start, stop in pairwise(ends):
        cut.update(*part(rows, start, stop))
        cut = rb.Monitor.from_json(cut.to_json(), problem())
    assert cut.state == whole.state
    assert cut.to_json() == whole.to_json()


def test_one_row_at_a_time():
    rows = stream(150)
    single = rb.Monitor(problem())
    for row in range(150):
        single.update(*part(rows, row, row + 1))
    assert single.to_json() == monitor_of(rows).to_json()


def test_memory_does_not_grow_with_the_rows():
    sizes = [len(monitor_of(stream(rows)).to_json()) for rows in (100, 20_000)]
    assert sizes[1] < 1.2 * sizes[0]


def test_a_file(tmp_path):
    monitor = monitor_of(stream(500))
    path = monitor.save(tmp_path / "state.json")
    assert [each.name for each in tmp_path.iterdir()] == ["state.json"]
    assert rb.Monitor.load(path, problem()).to_json() == monitor.to_json()
    with pytest.raises(ValueError, match=r"state\.json: the monitor's state is of another problem"):
        rb.Monitor.load(path, problem("recall() >= 0.9"))
    with pytest.raises(FileNotFoundError, match="there is no monitor's state at"):
        rb.Monitor.load(tmp_path / "other.json")


def test_a_state_of_others_is_never_replaced(tmp_path):
    path = monitor_of(stream(500)).save(tmp_path / "state.json")
    first, second = (rb.Monitor.load(path) for _ in range(2))
    first.update(*stream(100, seed=1))
    first.save(path)
    second.update(*stream(100, seed=2))
    with pytest.raises(ValueError, match=r"state\.json holds a state that this monitor did"):
        second.save(path)
    assert rb.Monitor.load(path).to_json() == first.to_json()
    with pytest.raises(ValueError, match="did not come from"):
        rb.Monitor(problem()).save(path)
    first.update(*stream(100, seed=2))
    first.save(path)
    path.unlink()
    with pytest.raises(ValueError, match="was removed"):
        first.save(path)
    assert second.save(tmp_path / "other.json").is_file()


def test_a_batch_with_a_name_counts_once():
    rows, twice = stream(100), rb.Monitor(problem(*PROMISES, 'recall(on="pool") >= 0.5'))
    twice.update(*rows, batch="monday")
    twice = rb.Monitor.from_json(twice.to_json())
    before = twice.state
    with pytest.raises(ValueError, match="batch 'monday' was taken in before"):
        twice.update(*rows, batch="monday")
    assert twice.state == before
    twice.update(*rows[:2], on="pool", batch="monday")
    with pytest.raises(ValueError, match="labels has 1 rows"):
        twice.update([1, 0], [1], batch="tuesday")
    assert twice.batches == {"train": ("monday",), "pool": ("monday",)}


def changed(**changes):
    return lambda state: state | changes


def in_promise(**changes):
    return lambda state: state | {"promises": [state["promises"][0] | changes]}


@pytest.mark.parametrize(
    "change",
    [
        changed(format="other"), changed(version=1), changed(confidence=7), changed(problem={}),
        changed(promises=[]), changed(batches={}),
        changed(batches={"train": [1]}), changed(clocks={}), changed(wait=-1),
        changed(rows={"train": -1}), changed(rows={"other": 1}),
        in_promise(promise="recall() >= 0.8"), in_promise(logs=[[1.0]]), in_promise(draws=1.5),
        in_promise(waiting={"[]": [[0.0] * 4] * 6}), in_promise(reserve=2.0),
        in_promise(tallies=[[1, 2], [1, 2]]),
        in_promise(squares="1"), in_promise(waiting={"[]": [None, 1.0]}), in_promise(waiting=[]),
        in_promise(alarm={"row": "x"}), in_promise(kept=-1), lambda state: [],
    ],
)  # fmt: skip
def test_a_state_that_was_tampered_with_is_refused(change):
    state = monitor_of(stream(100), PROMISES[0]).state
    with pytest.raises(ValueError, match="the monitor's state"):
        rb.Monitor.from_json(json.dumps(change(state)))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": NaN}'])
def test_a_text_that_is_no_state_is_refused(text):
    with pytest.raises(ValueError, match="the monitor's state"):
        rb.Monitor.from_json(text)


def test_a_file_cut_short_is_refused(tmp_path):
    path = monitor_of(stream(100)).save(tmp_path / "state.json")
    Path(path).write_bytes(path.read_bytes()[:300])
    with pytest.raises(ValueError, match=r"state\.json: the monitor's state cannot be read"):
        rb.Monitor.load(path)
