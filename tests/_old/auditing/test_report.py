"""What people read: text, JSON, frames and the page; and the errors if something is wrong."""

import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.auditing.auditing import audit
from ratebound._old.base.charts import ticks

from .conftest import draw, mixture

EVIL = "<script>alert(1)</script>"
PROBLEM = rb.Problem(
    rb.error_rate(),
    [
        rb.recall(sex="F") >= 0.9 * rb.recall(),
        rb.positive_rate() <= 0.1,
        rb.predicted_positives() <= 400,
        rb.minimum_accuracy(at_least=0.2, on="steering"),
    ],
)


@pytest.fixture
def report():
    return audit(PROBLEM, mixture([0.5, 0.5]), draw(), steering=draw(1, n=30))


def test_text(report):
    lines = str(report).splitlines()
    assert lines[0] == "Audit of a mixture of 2 models on 400 rows (steering: 30)"
    table = [line for line in lines if line.startswith(("recall(", "positive_rate(", "accuracy("))]
    assert len(table) == 3
    assert len({line.index("[") for line in table}) == 1  # aligned
    assert "BROKEN" in table[1]
    assert re.match(r"\d of 4 promises kept on 400 rows", lines[-1])
    assert not report.kept


def test_long_words_go_on_below():
    several = rb.where(sex=("F", "M"), live=(True, False)) | rb.where(sex="F", live=True)
    people = draw()
    text = str(audit(rb.Problem(rb.error_rate(), [rb.recall(several) >= 0.1]), mixture([1.0]), people))
    assert max(map(len, text.splitlines())) < 145


def test_many_groups_are_cut_short_in_text_only():
    rng = np.random.default_rng(0)
    people = rb.Population(rng.normal(size=(900, 1)), columns={"g": rng.integers(0, 60, 900)})
    problem = rb.Problem(rb.positive_rate(), [rb.positive_rate(g=k) >= 0.1 for k in range(60)])
    report = audit(problem, mixture([1.0]), people)
    assert "… and 21 more groups" in str(report)
    assert len(report.groups) == 61


def test_json_goes_there_and_back(report):
    found = json.loads(report.render("json"), parse_constant=pytest.fail)
    assert found == report.to_dict()
    assert found["promises"][0]["words"] == 'recall(sex == "F") >= 0.9 * recall()'
    assert found["populations"] == {"audited": 400, "steering": 30}
    assert found["promises"][3]["name"] == 'minimum accuracy: accuracy(on="steering") >= 0.2'
    assert [g["population"] for g in found["groups"]] == [None, None, "steering"]


def test_frames(report):
    pytest.importorskip("pandas")
    frame = report.to_frame()
    assert list(frame["kept"]) == [p.kept for p in report.promises]
    assert list(report.to_frame("groups")["rows"]) == [g.rows for g in report.groups]
    with pytest.raises(ValueError, match="'promises' or 'groups'"):
        report.to_frame("rows")
    assert len(audit(rb.Problem(rb.error_rate()), mixture([1.0]), draw()).to_frame()) == 0


def test_frames_without_pandas(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install pandas, or use to_dict\(\)"):
        report.to_frame()


class Outline(HTMLParser):
    """The tags of a page, checked to be nested, and its text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.words, self.attributes = [], [], [], []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_a_page_of_its_own(report, tmp_path):
    report.save_html(tmp_path / "audit.html", title="Ours & theirs")
    page = (tmp_path / "audit.html").read_text("utf-8")
    outline = Outline(page)
    words = "".join(outline.words)
    assert "Ours & theirs" in words
    for promise in report.promises:
        assert promise.words in words
    panels = page.count('class="dots"')
    assert outline.tags.count("svg") == panels + len(report.promises) + 5 * len(report.groups)
    assert not {"link", "img", "iframe"} & set(outline.tags)
    assert outline.tags.count("script") == 1
    assert "src" not in outline.attributes
    assert "url(" not in page
    assert "http:" not in page
    assert "https:" not in page
    assert "prefers-color-scheme: dark" in page


def test_names_do_no_harm():
    people = draw()
    columns = {EVIL: np.where(people.columns["sex"] == "F", EVIL, '" onload="x')}
    group = rb.column(EVIL) == EVIL
    problem = rb.Problem(rb.error_rate(), [rb.recall(group) >= 0.5, rb.recall(on="a<b>") >= 0.5])
    given = rb.Population(people.X, people.y, columns=columns)
    report = audit(problem, mixture([1.0]), given, **{"a<b>": draw(1)})
    for page, scripts in ((report.render("html", title=EVIL), 1), (report._repr_html_(), 0)):
        outline = Outline(page)
        assert outline.tags.count("script") == scripts  # ours, on a page of its own
        assert "onload" not in outline.attributes
        assert EVIL in "".join(outline.words)


def test_a_notebook_gets_a_fragment(report):
    assert "<body" not in report._repr_html_()
    outline = Outline(report._repr_html_())
    assert not {"script", "nav", "id"} & {*outline.tags, *outline.attributes}
    assert repr(report).startswith("Audit(")


def test_a_page_with_nothing_promised_and_no_room():
    people = rb.Population(np.full((4, 1), -1.0), [0, 0, 0, 0])
    nothing = audit(rb.Problem(rb.error_rate()), mixture([1.0]), people)
    Outline(nothing.render("html"))
    bare = audit(rb.Problem(rb.positive_rate(), [rb.precision() >= 0.8]), mixture([1.0]), people)
    Outline(bare.render("html"))


def test_a_trace_of_many_settings_is_drawn():
    people = draw()
    problem = rb.Problem(rb.error_rate(), [rb.recall() >= 0.9])
    rates = np.linspace(0.01, 0.1, 14).tolist()
    trace = rb.play(rb.compile(problem, people), rb.Linear(learning_rate=rates), rounds=20)
    page = audit(problem, rb.shrink(trace), people).render("html")
    Outline(page)
    assert page.count("<polyline") == 24
    assert "first 12 settings" in page


def test_what_cannot_be_measured_here_is_said_and_the_rest_is_measured():
    """No man among these rows has a positive label, so there is no recall of men."""
    people = draw()
    y = people.y & (people.columns["sex"] == "F")
    promises = [rb.recall(sex="M") >= 0.5, rb.recall(sex="F") >= 0.0, rb.roc_auc(sex="M") >= 0.5]
    problem = rb.Problem(rb.error_rate(), promises)
    report = audit(problem, mixture([1.0]), rb.Population(people.X, y, columns=people.columns))
    assert [p.kept for p in report.promises] == [None, True, None]
    assert [p.verdict for p in report.promises] == ["not measured", "holds", "not measured"]
    assert [p.words for p in report.promises] == list(map(str, promises))
    assert not report.kept
    why = """population 'audited': no row (or no weight) where sex == "M" and the label is positive"""
    assert why in report.promises[0].why
    assert why in str(report)
    assert report.to_dict()["promises"][0]["violation"] is None
    assert repr(report).endswith(
        "1 of 3 promises kept on 400 rows; on new rows 1 holds (each alone, at 95%); 2 could not be "
        "measured on these rows)"
    )
    assert why in "".join(Outline(report.render("html")).words)
    assert {group.words for group in report.groups} == {"everyone", 'sex == "M"', 'sex == "F"'}
    with pytest.raises(ValueError, match=r"no row .*in the objective"):
        audit(
            rb.Problem(rb.false_negative_rate(sex="M"), promises),
            mixture([1.0]),
            rb.Population(people.X, y, columns=people.columns),
        )


def test_a_comparison_is_measured_beside_a_constraint_that_cannot_be():
    people = draw()
    y = np.where(people.columns["sex"] == "M", 0, people.y)
    promises = [rb.precision() >= 0.5 * rb.precision(sex="F"), rb.recall(sex="M") >= 0.5]
    problem = rb.Problem(rb.error_rate(), promises)
    report = audit(problem, mixture([1.0]), rb.Population(people.X, y, columns=people.columns))
    assert [p.verdict == "not measured" for p in report.promises] == [False, True]


@pytest.mark.parametrize("promise", ['recall(sx == "F") >= 0.5', "positive_rate(sex > 3) <= 0.5"])
def test_a_wrong_column_is_blamed_on_its_constraint(promise):
    rate, _, _ = promise.rsplit(" ", 2)
    problem, people = rb.Problem(rb.error_rate(), [promise]), draw()
    asked = {
        "audited": lambda: audit(problem, mixture([1.0]), people),
        "certified": lambda: rb.certify(problem, mixture([1.0]), people),
        "train": lambda: rb.rows_needed(problem, people),
    }
    for name, ask in asked.items():
        with pytest.raises(ValueError, match=r"'sx', did you mean 'sex'|'sex' holds text") as error:
            ask()
        assert str(error.value).startswith(f"{rate}: population {name!r}: ")
        assert str(error.value).endswith(f" (in the constraint {promise})")


def test_a_wrong_value_is_told_with_all_that_the_column_holds():
    problem = rb.Problem(rb.error_rate(), [rb.recall(sex="N") >= 0.5])
    with pytest.raises(ValueError, match=r"no row has sex == \"N\"; the column holds 'F', 'M'"):
        audit(problem, Always(), rb.Population([[0.0]] * 4, [1] * 4, columns={"sex": list("FMFM")}))


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3e-5, 2e-5), (0.12, 0.1201), (-1e6, 3)])
def test_ticks_are_few_and_inside(low, high):
    found = ticks(low, high)
    assert 2 <= len(found) <= 8
    assert low - 1e-9 <= min(found) <= max(found) <= high + 1e-9


MISTAKES = {
    "problem": (
        lambda p: audit(0.9, mixture([1]), p),
        TypeError,
        "takes promises first",
    ),
    "population": (lambda p: audit(PROBLEM, mixture([1]), p.X), TypeError, "third argument must be"),
    "missing": (
        lambda p: audit(PROBLEM, mixture([1]), p),
        ValueError,
        r"accuracy\(.*\): population 'steering': it is not given.* Pass it as a keyword, steering=",
    ),
    "model": (
        lambda p: audit(rb.Problem(rb.error_rate()), object(), p),
        TypeError,
        "rb.Mixture or a fitted",
    ),
    "features": (
        lambda p: audit(rb.Problem(rb.error_rate()), mixture([1]), rb.Population(None, p.y)),
        ValueError,
        "'audited' has no features X",
    ),
    "group": (
        lambda p: audit(rb.Problem(rb.error_rate(), [rb.recall(sex="X") >= 0.5]), mixture([1]), p),
        ValueError,
        "population 'audited': no row has .*the column holds 'F', 'M'",
    ),
    "scores": (
        lambda p: audit(rb.Problem(rb.error_rate(), [rb.roc_auc() >= 0.5]), Always(), p),
        ValueError,
        r"roc_auc\(bins=10\) needs scores, but Always gives only decisions",
    ),
    "threshold": (
        lambda p: audit(rb.Problem(rb.error_rate(), [rb.recall(at="t") >= 0.5]), mixture([1]), p),
        ValueError,
        "at='t', but the model has not learned this threshold; it has none",
    ),
    "weights": (
        lambda p: audit(rb.Problem(rb.error_rate()), mixture([1, 1]), p),
        ValueError,
        "probabilities that sum to 1",
    ),
    "shape": (
        lambda p: audit(rb.Problem(rb.error_rate()), mixture([0.25] * 4), p),
        ValueError,
        r"shape \(400, 3\)",
    ),
    "confidence": (
        lambda p: audit(rb.Problem(rb.error_rate()), mixture([1]), p, confidence=95),
        ValueError,
        "such as 0.95",
    ),
    "decisions": (
        lambda p: audit(rb.Problem(rb.error_rate()), Always("maybe"), p),
        ValueError,
        "what Always predicts on population 'audited'",
    ),
}


class Always:
    def __init__(self, answer=1):
        self.answer = answer

    def predict(self, X):
        return [self.answer] * len(X)


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named(name):
    mistake, kind, message = MISTAKES[name]
    with pytest.raises(kind, match=message):
        mistake(draw())


def test_verdicts_show_the_digits_that_decide():
    """A rate of 0.99999 beside a bound of 1 would read as 1.0000 and be called broken."""
    n = 100_000
    scores = np.where(np.arange(n) == 0, -1.0, 1.0)[:, None]
    problem = rb.Problem("error_rate()", ["recall() >= 1.0", "recall() >= 0.99999"])
    report = rb.audit(problem, mixture([1.0]), rb.Population(scores, np.ones(n, int)))
    broken, kept = str(report).splitlines()[6:8]
    assert broken.split()[3:7] == ["0.99999", ">=", "1.00000", "-0.00001"]
    assert "kept" in kept
    assert "0.99999<" in report.render("html")
    certified = rb.certify(problem, mixture([1.0]), rb.Population(scores, np.ones(n, int)))
    assert "0.99999  >= 1.00000" in str(certified)


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (False, True)])
@pytest.mark.parametrize("judge", [rb.audit, rb.certify])
def test_rows_and_model_have_to_take_the_same_label_for_yes(labels, judge):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.array(labels)[(X[:, 0] + rng.normal(size=300) > 0).astype(int)]
    rows = rb.Population(X, y, positive=labels[0])
    compiled = rb.compile(rb.Problem("error_rate()", ["recall() >= 0.6"]), rows)
    trained = rb.best_iterate(rb.play(compiled, rb.Linear(0.1), rounds=100))
    model = replace(trained, classes=tuple(rows.classes))
    problem = rb.Problem("error_rate()", ["recall() >= 0.6"])
    with pytest.raises(ValueError, match=rf"takes {labels[1]!r} for yes, .* positive={labels[0]!r}"):
        judge(problem, model, rb.Population(X, y))
    report = rb.audit(problem, model, rb.Population(X, y, positive=labels[0]))
    assert report.objective.value == pytest.approx(np.mean(model.predict(X) != y), abs=0.05)
