"""What a report says first: one verdict by one convention, the cost, chance, limits, and who signed."""

from dataclasses import replace

import numpy as np
import pytest

import ratebound._old as rb
from ratebound import RateConstrainedClassifier
from ratebound._bridge import make_policy
from ratebound._old.auditing._first_page import state_of
from ratebound._old.auditing.provenance import SignOff
from ratebound._old.base.rendering import as_markdown

from .conftest import draw


class Column(rb.Scorer):
    """A member's score is one column of the rows, the third if its parameter is 1."""

    kind = "one column"

    def scores(self, parameters, X):
        return np.where(parameters[:, :1] > 0, X[:, 2], X[:, 0])[:, None]


PROMISES = [rb.recall() >= 0.5, rb.positive_rate() <= 0.9]
PROBLEM = rb.Problem(rb.error_rate(), PROMISES)


def mixture(weights, problem=None):
    """Members that decide by the third column, and by the first; with these weights."""
    compiled = rb.compile(PROBLEM if problem is None else problem, draw(3))
    trace = rb.trace_of(compiled, [[1.0], [0.0]][: len(weights)], scorer=Column())
    return rb.average(trace, weighting=weights)


def audited(model, people=None, problem=PROBLEM):
    return rb.audit(problem, model, draw() if people is None else people)


def certified(confidence=0.95, rows=None, problem=PROBLEM):
    """A report of a model with a certificate made from `rows`."""
    rows = draw(1) if rows is None else rows
    model = mixture([1.0])
    model = model.recorded(certificate=rb.certify(problem, model, rows, confidence=confidence))
    return audited(model, problem=problem)


def as_trained(report):
    return report.made_by("ratebound train", {}, unseen=False)


def test_rows_trained_on_are_not_evidence_for_new_ones():
    report = as_trained(audited(mixture([1.0])))
    assert report.trained
    assert {promise.verdict for promise in report.promises} == {"not shown"}
    assert not report.certain
    for text in (str(report), as_markdown(report.document())):
        assert "may not hold" not in text
        assert "% bounds" not in text
        assert "kept on 400 rows that were given to fit" in text
    assert state_of(report) == ("uncertain", "Kept on the training rows")
    assert "<circle" in report.render("html")  # dots, but no intervals
    assert 'class="whisker"' not in report.render("html")


def test_an_audit_knows_the_rows_that_its_model_was_trained_on():
    """In Python as on the command line; other rows, and a part of these, are not recognized."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = X[:, 0] + rng.normal(size=400) > 0
    fitted = RateConstrainedClassifier("recall() >= 0.5", random_state=0)
    model = make_policy(fitted.fit(X, y))
    assert model.audit(X, y).trained
    assert {each.verdict for each in model.audit(X, y).promises} == {"not shown"}
    for rows in (slice(399), slice(None, None, -1)):
        assert not model.audit(X[rows], y[rows]).trained


def test_a_certificate_is_the_headline_and_the_only_word_on_new_rows():
    for report in (certified(), as_trained(certified())):
        state, headline = state_of(report)
        assert (state, headline) == (
            "kept",
            "Certified: all 2 promises hold on new rows at 95% confidence",
        )
        text = str(report)
        assert text.count("certified") == 3  # of each promise, and in the last line
        assert "may not hold" not in text
        assert "may not hold" not in report.render("html").split("<main")[0]


def test_a_promise_without_proof_is_not_called_certified_and_doubtful_at_once():
    """So few rows that neither shows anything: the certificate alone says so."""
    few = draw(2, n=30)
    problem = rb.Problem(rb.error_rate(), [rb.recall() >= 0.9])
    model = mixture([1.0])
    model = model.recorded(certificate=rb.certify(problem, model, few))
    report = audited(model, few, problem)
    assert not model.certificate.holds
    assert report.promises[0].verdict == "may not hold"  # its interval, in the data
    text = str(report)
    assert "may not hold" not in text
    assert "not certified" in text
    if report.kept:
        assert state_of(report)[0] == "uncertain"


def test_what_is_broken_comes_before_a_certificate_of_other_rows():
    report = certified()
    broken = replace(report.promises[0], verdict="broken", kept=False)
    drifted = replace(report, promises=(broken, report.promises[1]))
    assert state_of(drifted) == (
        "broken",
        "A promise is broken on these rows, though other rows certified it",
    )


def test_the_headline_counts_every_promise_that_is_broken_on_these_rows():
    report = audited(mixture([1.0]))
    shown = replace(report.promises[0], verdict="broken", kept=False)
    missed = replace(report.promises[1], verdict="may not hold", kept=False)
    assert state_of(replace(report, promises=(shown, missed)))[1] == "2 of 2 promises are broken"


def test_promises_that_could_not_be_kept_together_are_named_with_the_verdict():
    problem = rb.Problem(rb.error_rate(), [rb.recall() >= 0.99, rb.positive_rate() <= 0.05])
    compiled = rb.compile(problem, draw(3))
    model = rb.shrink(rb.trace_of(compiled, [[1.0], [0.0]], scorer=Column()))
    assert model.status.conflict
    (note,) = audited(model, problem=problem).document().conclusion.notes
    assert all(str(promise) in note for promise in model.status.conflict)


def test_of_many_promises_those_with_the_least_room_are_drawn():
    report = audited(mixture([1.0]))
    rooms = np.linspace(0.3, -0.1, 40)
    many = tuple(
        replace(report.promises[0], words=f"promise {i}", slack=room, kept=bool(room >= 0))
        for i, room in enumerate(rooms)
    )
    page = replace(report, promises=many).render("html")
    drawn = page.split('id="overview"')[1].split("</section>")[0]
    assert "The 12 promises with the least room; 28 more are in the tables below." in drawn
    assert [i for i in range(40) if f'data-at="promises/{i}"' in drawn] == list(range(28, 40))


def test_a_certificate_of_other_promises_says_nothing():
    report = certified()
    other = audited(report.card.mixture, problem=rb.Problem(rb.error_rate(), [rb.recall() >= 0.4]))
    assert "certified" not in str(other)


def test_the_order_of_the_page():
    words = as_markdown(certified().document())
    titles = [line[3:] for line in words.splitlines() if line.startswith("## ")]
    first = ["What was reached", "Promises and groups", "Who is decided by chance", "Known limits"]
    assert titles[:6] == [*first, "Sign-off", "What was measured"]
    assert titles[-1] == "How this can be checked"


def test_chance_is_counted_by_rows():
    """By hand: two members that disagree on some rows."""
    people, drawn = draw(), mixture([0.5, 0.5])
    report = audited(drawn, people)
    chances = drawn.decision_proba(people.X)
    assert report.drawn == np.sum(chances.max(axis=1) < 1) > 0
    one = next(each for each in report.baselines if "one rule" in each.name)
    errors = [np.mean((people.X[:, column] >= 0) != people.y) for column in (2, 0)]
    assert one.objective == pytest.approx(min(errors))
    words = as_markdown(report.document())
    assert f"Chance decides for {report.drawn} of 400 rows" in words
    assert audited(mixture([1.0])).drawn == 0
    assert "Nobody is decided by chance" in as_markdown(audited(mixture([1.0])).document())


def test_nobody_has_signed_or_somebody_has():
    report = audited(mixture([1.0]))
    assert "Nobody has signed this report" in report.render("html")
    signed = SignOff("Credit risk", "loans", ("few rows",), "2027-06-30", "2026-01-02")
    page = replace(report, signed=signed).render("html")
    assert "Nobody has signed" not in page
    assert "Credit risk" in page


def test_a_bound_that_is_missed_by_little_shows_the_digits_that_decide():
    """It read 40.0 <= 40.0 BROKEN: a constraint of one's own is broken by more than a billionth."""
    size = rb.constraint(lambda model, rows: 40.00000002, name="size", at_most=40.0)
    report = audited(mixture([1.0]), problem=rb.Problem(rb.error_rate(), [size]))
    assert report.promises[0].kept is False
    line = next(each for each in str(report).splitlines() if "BROKEN" in each)
    assert "40.00000002  <= 40.00000000" in line
    assert "40.00000002, broken" in report.render("html")
