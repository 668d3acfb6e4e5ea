"""`RateConstrainedClassifier(guessed=...)`: trained, told, audited, saved and loaded, on all levels."""

import numpy as np
import pandas
import pytest
from sklearn.base import clone

import ratebound._old as rb

PROMISE = 'positive_rate(race == "a") >= 0.8 * positive_rate(race == "b")'
OPTIONS = {"features": ["x", "z"], "random_state": 0}


def drawn(seed: int, rows: int = 2500, missing: float = 0.04) -> tuple[pandas.DataFrame, np.ndarray]:
    """Rows whose race is as likely as p_a says, given all that the model sees and the label."""
    random = np.random.default_rng(seed)
    x, z = random.normal(size=(2, rows))
    y = x + 0.4 * z + random.normal(0, 0.7, rows) > 0
    p = np.where(x < 0, 0.55, 0.25)
    race = np.where(random.random(rows) < p, "a", "b").astype(object)
    hidden = np.where(random.random(rows) < missing, None, race)
    seen = np.where(random.random(rows) < 0.4, race, None)
    columns = {"x": x, "z": z, "p_a": p, "p_b": 1 - p, "true": race, "hidden": hidden, "seen": seen}
    return pandas.DataFrame(columns), y


PROBABILITIES = rb.guessed("race", probabilities=["p_a", "p_b"])


@pytest.fixture(scope="module")
def calibrated() -> rb.RateConstrainedClassifier:
    people, y = drawn(0)
    return rb.RateConstrainedClassifier(PROMISE, guessed=PROBABILITIES, **OPTIONS).fit(people, y)


def ratio(model: rb.RateConstrainedClassifier, people: pandas.DataFrame, share: np.ndarray) -> float:
    yes = model.predict(people).astype(float)
    return (share @ yes / share.sum()) / ((1 - share) @ yes / (1 - share).sum())


def test_probabilities_keep_the_promise_for_true_groups(
    calibrated: rb.RateConstrainedClassifier,
) -> None:
    people, _ = drawn(0)
    assert ratio(calibrated, people, people["p_a"].to_numpy()) >= 0.8
    new, _ = drawn(1, 40_000)
    plain = rb.RateConstrainedClassifier(**OPTIONS).fit(*drawn(0))
    true = (new["true"] == "a").to_numpy(float)
    assert ratio(plain, new, true) < 0.7 < 0.78 < ratio(calibrated, new, true)


def test_the_status_and_the_audit_say_what_is_assumed(calibrated: rb.RateConstrainedClassifier) -> None:
    assert calibrated.status_.feasible
    assert "assumed to be right" in str(calibrated.status_)
    people, y = drawn(2, 1000)
    report = calibrated.audit(people, y)
    assert "assumed to be right" in str(report)
    assert report.populations == {"audited": 1000}
    assert max(group.rows for group in report.groups) == 1000
    share, yes = people["p_a"].to_numpy(), calibrated.predict(people)
    assert report.promises[0].value == pytest.approx(share @ yes / share.sum())


def test_intervals_do_not_take_copies_for_rows(calibrated: rb.RateConstrainedClassifier) -> None:
    """Rooms vary from sample to sample no more than their intervals say."""
    problem = rb.Problem("error_rate()", [PROMISE, "recall() >= 0.5"], guessed=PROBABILITIES)
    rooms, widths = [], []
    for seed in range(30):
        people, y = drawn(100 + seed, 600)
        promises = rb.audit(problem, calibrated, rb.Population(people, y)).promises
        rooms.append([each.slack for each in promises])
        widths.append([(each.slack_high - each.slack_low) / 2 / 1.645 for each in promises])
    spread, said = np.std(rooms, axis=0), np.mean(widths, axis=0)
    assert (spread <= 1.2 * said).all()
    assert said[1] <= 1.5 * spread[1]  # which no copies would make narrower


def test_files_keep_how_the_group_is_known(calibrated: rb.RateConstrainedClassifier, tmp_path) -> None:
    people, y = drawn(3, 500)
    again = rb.load(calibrated.save(tmp_path / "model.safetensors"))
    assert again.problem.guessed == (PROBABILITIES,)
    assert str(again.status) == str(calibrated.status_)
    assert again.audit(people, y).promises == calibrated.audit(people, y).promises


def test_other_promises_are_solved_without_a_fit(calibrated: rb.RateConstrainedClassifier) -> None:
    people, _ = drawn(0)
    other = calibrated.with_constraints(PROMISE.replace("0.8", "0.9"))
    assert ratio(other, people, people["p_a"].to_numpy()) >= 0.9
    assert clone(calibrated).get_params()["guessed"] == PROBABILITIES


def test_whatever_is_missing_the_promise_is_kept_on_these_rows() -> None:
    people, y = drawn(0, 1200)
    way = rb.guessed("hidden", missing="anything")
    promise = PROMISE.replace("race", "hidden")
    model = rb.RateConstrainedClassifier(promise, guessed=way, confidence=None, **OPTIONS).fit(people, y)
    assert model.status_.feasible
    assert "nothing is assumed" in str(model.status_)
    yes = model.decision_proba(people)[:, 1]
    gone = people["hidden"].isna().to_numpy()
    random = np.random.default_rng(0)
    adversary = np.where(gone, np.where(yes > 0.5, "b", "a"), people["hidden"])
    others = [np.where(gone, random.choice(["a", "b"], len(y)), people["hidden"]) for _ in range(5)]
    for race in (adversary, *others, people["true"].to_numpy()):
        assert yes[race == "a"].mean() >= 0.8 * yes[race == "b"].mean() - 1e-9
    assert model.audit(people, y).kept


def test_if_nothing_is_missing_anything_is_the_plain_model(tmp_path) -> None:
    people, y = drawn(0, 800)
    people["race"] = people["true"]
    way = rb.guessed("race", missing="anything")
    plain, own = (
        rb.RateConstrainedClassifier(PROMISE, guessed=each, **OPTIONS).fit(people, y)
        for each in (None, way)
    )
    new, labels = drawn(1, 1500)
    assert (plain.decision_function(new) == own.decision_function(new)).all()
    assert "nothing is assumed" in str(own.status_)
    again = rb.load(own.save(tmp_path / "model.safetensors"))
    hidden = new.assign(race=new["hidden"])
    for model in (own, again):  # rows with missing values are audited for their worst case
        told, worst = (
            model.audit(rows, labels).promises[0] for rows in (new.assign(race=new["true"]), hidden)
        )
        assert "missing" not in told.words
        assert worst.slack < told.slack
    strict = own.with_constraints(PROMISE.replace("0.8", "0.85"))
    assert "missing" not in str(strict.constraints_[0])
    assert "missing(race)" in str(rb.certify(own.solution_.problem, own, rb.Population(hidden, labels)))


def test_audited_rows_are_enough_to_train_on() -> None:
    people, y = drawn(0)
    way = rb.guessed("race", audited="seen")
    model = rb.RateConstrainedClassifier(PROMISE, guessed=way, confidence=0.6, **OPTIONS).fit(people, y)
    assert "a random sample of all" in str(model.status_)
    new, _ = drawn(1, 40_000)
    assert ratio(model, new, (new["true"] == "a").to_numpy(float)) > 0.74


def more(*columns: str) -> rb.Guessed:
    return rb.guessed("race", probabilities=dict(zip("abc", columns, strict=False)))


def test_a_group_that_is_missing_in_every_row_is_refused() -> None:
    people, y = drawn(0, 300)
    for missing in (None, np.nan):
        unknown = people.assign(race=missing)
        for way, words in (
            (None, "column 'race' has no value in any row"),
            (rb.guessed("race", missing="anything"), "'race' is missing in every row.*audit some rows"),
        ):
            with pytest.raises(ValueError, match=words):
                rb.RateConstrainedClassifier(PROMISE, guessed=way, **OPTIONS).fit(unknown, y)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"guessed": PROBABILITIES, "known": "race"}, "it is not known when deciding"),
        ({"guessed": PROBABILITIES, "certify": 0.3}, "certify on rows whose group is known"),
        ({"guessed": rb.guessed("race", audited="few")}, "at least 30 are needed: have about"),
        ({"guessed": rb.guessed("race", audited="none")}, "missing in every row"),
        ({"guessed": rb.guessed("race", audited="gone")}, "no column 'gone'"),
        ({"guessed": rb.guessed("Race", missing="anything")}, "no promise names 'Race', did you mean"),
        ({"guessed": rb.guessed("race", audited="other")}, "drawn at random; it holds 'c'"),
        (
            {"guessed": rb.guessed("race", audited="seen"), "features": ["x", "seen"]},
            "leave it out of features",
        ),
        ({"guessed": more("half", "third")}, "must sum to 1, but in 300 of 300 rows .* to 0.8"),
        ({"guessed": more("most", "less")}, "between 0 and 1: divide percentages by 100"),
        ({"guessed": more("half", "some")}, "'some' has no probability in 1 rows"),
        ({"guessed": more("half", "words")}, "'words' holds text"),
        ({"guessed": more("half", "gone")}, "no column 'gone'"),
    ],
)
def test_what_cannot_be_asked_is_refused(options: dict, words: str) -> None:
    people, y = drawn(0, 300)
    few = people["true"].to_numpy(dtype=object)
    few[40:] = None
    people = people.assign(few=few, none=None, other=np.where(people["x"] > 0, "c", None))
    people = people.assign(
        half=0.5, third=0.3, most=80.0, less=20.0, words="half", some=[None, *[0.5] * 299]
    )
    with pytest.raises(ValueError, match=words):
        rb.RateConstrainedClassifier(PROMISE, **(OPTIONS | options)).fit(people, y)
    with pytest.raises(TypeError, match=r"rb\.guessed"):
        rb.RateConstrainedClassifier(PROMISE, guessed="race", **OPTIONS).fit(people, y)
