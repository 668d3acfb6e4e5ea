"""Decisions without a model: the same numbers as counted by hand, however they are spelled."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ratebound._old as rb

PROMISE = 'positive_rate(sex == "f") >= 0.8 * positive_rate(sex == "m")'


def rows(n=200, seed=0):
    random = np.random.default_rng(seed)
    sex, y = random.choice(["f", "m"], n), random.random(n) < 0.5
    return sex, y, (random.random(n) < np.where(sex == "f", 0.4, 0.7)) | (y & (sex == "m"))


def test_rates_are_those_counted_by_hand():
    sex, y, said = rows()
    people = rb.Population(None, y, columns={"sex": sex})
    report = rb.audit(
        rb.Problem("error_rate()", [PROMISE, "recall() >= 0.5"]), decisions=said, rows=people
    )
    assert report.objective.value == pytest.approx(np.mean(said != y))
    assert report.promises[0].value == pytest.approx(said[sex == "f"].mean())
    assert report.promises[0].bound == pytest.approx(0.8 * said[sex == "m"].mean())
    assert report.promises[1].value == pytest.approx(said[y].mean())
    assert report.decided
    assert report.model == "the decisions given"


class Made:
    """A model that decides as somebody did."""

    def __init__(self, said):
        self.said = said

    def predict(self, X):
        return self.said


def test_same_as_a_model_that_decides_so():
    sex, y, said = rows()
    problem = rb.Problem("error_rate()", [PROMISE, "precision() >= 0.4"])
    people = rb.Population(np.zeros((len(y), 1)), y, columns={"sex": sex})
    by_model = rb.audit(problem, Made(said), people)
    without = rb.audit(problem, decisions=said, rows=people)
    assert without.promises == by_model.promises
    assert without.groups == by_model.groups
    certificates = (
        rb.certify(problem, Made(said), people),
        rb.certify(problem, decisions=said, rows=people),
    )
    assert certificates[0].promises == certificates[1].promises


SPELLED = {
    "truth values": lambda said: said,
    "numbers": lambda said: said.astype(int),
    "floats": lambda said: said.astype(float),
    "class names": lambda said: np.where(said, "good", "bad"),
    "words": lambda said: np.where(said, "Yes", "no "),
    "texts of truth values": lambda said: said.astype(str),
}


@pytest.mark.parametrize("spell", SPELLED.values(), ids=SPELLED)
@pytest.mark.parametrize("labels", [True, False])
def test_spellings(spell, labels):
    sex, y, said = rows()
    named = np.where(y, "good", "bad") if labels else None
    positive = {"classes": ["bad", "good"]}
    plain = rb.Population(None, named, columns={"sex": sex}, **positive)
    beside = rb.Population(None, named, columns={"sex": sex, "approved": spell(said)}, **positive)
    problem = rb.Problem("positive_rate()", [PROMISE])
    expected = rb.audit(problem, decisions=said, rows=plain).promises
    assert rb.audit(problem, decisions=spell(said), rows=plain).promises == expected
    assert rb.audit(problem, decisions="approved", rows=beside).promises == expected


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_conditions_decide_as_their_truth_values(pairs):
    said, female = map(np.array, zip(*pairs, strict=True))
    frame = {"status": np.where(said, "ok", "no"), "sex": np.where(female, "f", "m")}
    problem = rb.Problem("positive_rate()", ["positive_rate() >= 0.5"])
    people = rb.Population(None, columns=frame)
    asked = rb.column("status") == "ok"
    if not said.any():
        with pytest.raises(ValueError, match="no row has status"):
            rb.audit(problem, decisions=asked, rows=people)
        return
    report = rb.audit(problem, decisions=asked, rows=people)
    assert report.promises[0].value == pytest.approx(said.mean())


def test_without_labels_the_objective_is_not_measured():
    sex, _, said = rows()
    report = rb.audit(
        rb.Problem("error_rate()", [PROMISE]),
        decisions=said,
        rows=rb.Population(None, columns={"sex": sex}),
    )
    assert report.objective.value is None
    assert report.objective.why == "there are no labels"
    assert not report.labelled
    for form in ("html", "markdown", "json", "text"):
        assert "error_rate()" in report.render(form)
    assert any("no labels" in each for each in report.limits)


def test_several_classes_and_tables():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"site": ["a", "b"] * 30, "triage": ["low", "high", "mid"] * 20})
    people = rb.Population(None, columns=frame, classes=["low", "mid", "high"])
    problem = rb.Problem('positive_rate(of="low")', ['positive_rate(of="high") <= 0.5'])
    report = rb.audit(problem, decisions="triage", rows=people)
    assert report.promises[0].value == pytest.approx(1 / 3)
    two = rb.Problem("positive_rate()", ['positive_rate(site == "a") <= 0.5'])
    assert rb.audit(two, decisions=[0, 1] * 30, rows=frame).kept


def test_rows_on_disk(tmp_path):
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    sex, y, said = rows()
    frame = pandas.DataFrame({"sex": sex, "y": y, "approved": np.where(said, "yes", "no")})
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=17)
    stored = rb.Parquet(tmp_path / "rows.parquet", "y", [], ["sex", "approved"])
    problem = rb.Problem("error_rate()", [PROMISE, "recall() >= 0.5"])
    on_disk = rb.audit(problem, decisions="approved", rows=stored)
    in_memory = rb.audit(problem, decisions=said, rows=rb.Population(None, y, columns={"sex": sex}))
    assert on_disk.promises == in_memory.promises


APPROVED = {"approved": [1, 0], "sex": ["f", "m"]}
REFUSED = {
    "missing": (
        {"decisions": [1, None, 0], "rows": rb.Population(None, columns={"sex": ["f", "m", "m"]})},
        "1 of 3 rows have none, the first in row 2",
    ),
    "wrong number": (
        {"decisions": [True], "rows": rb.Population(None, columns={"sex": ["f", "m", "m"]})},
        "1 decisions for 3 rows",
    ),
    "no such column": (
        {"decisions": "aproved", "rows": rb.Population(None, columns=APPROVED)},
        "did you mean 'approved'",
    ),
    "unknown words": (
        {"decisions": ["A", "D"], "rows": rb.Population(None, columns={"sex": ["f", "m"]})},
        "state what is yes",
    ),
    "probabilities": (
        {"decisions": [0.2, 0.7], "rows": rb.Population(None, columns={"sex": ["f", "m"]})},
        "instead of probabilities",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("how", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(how, message):
    with pytest.raises(ValueError, match=message):
        rb.audit(rb.Problem("positive_rate()", [PROMISE]), **how)


def test_a_model_or_decisions_and_not_both():
    problem = rb.Problem("positive_rate()", [PROMISE])
    people = rb.Population(None, columns={"sex": ["f", "m"]})
    for how in ({"rows": people}, {"decisions": [1, 0]}, {"model": Made([1, 0]), "decisions": [1, 0]}):
        with pytest.raises(TypeError, match="in their place"):
            rb.audit(problem, **how)
    with pytest.raises(TypeError, match="give decisions that were made as decisions="):
        rb.audit("positive_rate() >= 0.1", np.array([1, 0]), rb.Population(np.zeros((2, 1))))
    with pytest.raises(TypeError, match="for decisions without a model"):
        rb.certify(problem)
