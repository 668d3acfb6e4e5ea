"""The tally of rows in pieces equals the tally of all rows, so audits of both are the same."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import ratebound._old as rb
from ratebound._old.auditing import tally, tallying
from ratebound._old.auditing.judged import judged

from ..pieces import InPieces

bounded = settings(
    max_examples=20,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TWO = [
    "recall(sex == 'F') >= 0.9 * recall()",
    "recall(age < 40, at=0.3) >= 0.6",
    "false_positive_rate(sex == 'F') - false_positive_rate(sex == 'M') <= 0.1",
    "accuracy(missing(score)) >= 0.5",
    "predicted_positives() <= 120",
    "predicted_positives(sex == 'F', per=1000) <= 300",
    "precision(sex in ('F', 'M')) >= 0.7",
    "f_score(not sex == 'F') >= 0.5",
    "precision(sex == 'F') >= 0.8 * precision()",
    "churn(versus='live') <= 0.2",
    "win_loss_ratio(versus='live') >= 1",
    "roc_auc() >= 0.7",
    "roc_auc(sex == 'F') >= 0.7",
    "cost(false_negative=10, false_positive=1) <= 3",
    "cost(column='loan') <= 9",
    "cost(sex == 'F', column='loan', per=1000) <= 9999",
    "recall(day < '2024-02-15') >= 0.5",
    "equal_opportunity(sex, ratio=0.9)",
    "recall(at='cautious') >= 0.5",
    "recall() >= 0.9 * recall(on='others')",
]
SEVERAL = [
    "recall(sex == 'F', of='cat') >= 0.9 * recall(of='cat')",
    "error_rate(age < 40) <= 0.4",
    "positive_rate(of='dog') <= 0.3",
    "confusion(label='cat', predicted='dog') <= 0.2",
    "precision(of='bird') >= 0.5",
    "churn(versus='live') <= 0.5",
    "cost(column='loan') <= 9",
    "equal_opportunity(sex, ratio=0.9)",
]
OBJECTIVES = ["error_rate()", "cost(column='loan')", "1 - 0.5 * recall(sex == 'F')"]
GOALS = [
    rb.Problem(maximize=rb.smallest(rb.recall(sex="F"), rb.recall(sex="M"))),
    rb.Problem(maximize="f_score()"),
]


def drawn(seed, n, weighted, classes):
    """Rows with the scores of two members, labels, and columns of every kind."""
    random = np.random.default_rng(seed)
    y = random.choice(len(classes), n)
    width = 1 if len(classes) == 2 else len(classes)
    shown = y[:, None] if width == 1 else np.eye(width)[y]
    X = np.hstack([random.normal(size=(n, width)) + shown - 0.3 for _ in range(2)]).round(1)
    columns = {
        "sex": random.choice(["F", "M", None], n, p=[0.3, 0.6, 0.1]),
        "age": random.integers(18, 80, n),
        "score": np.where(random.random(n) < 0.2, np.nan, random.normal(size=n)),
        "live": np.asarray(classes)[np.where(random.random(n) < 0.7, y, random.choice(len(classes), n))],
        "loan": random.choice([10.0, 20.5, 35.25], n),
        "day": random.choice(["31.1.2024", "12.2.2024", "3.3.2024"], n),
    }
    weights = random.choice([0.0, 0.5, 1.0, 3.0], n) if weighted else None
    labels = np.asarray(classes)[y]
    how = {"positive": classes[1]} if width == 1 else {"classes": classes}
    return rb.Population(X, labels, columns=columns, weights=weights, **how)


def mixture(classes, members):
    """Members whose scores are the columns of X."""
    weights = np.array([0.25, 0.75])[:members] if members == 2 else np.ones(1)
    width = 1 if len(classes) == 2 else len(classes)

    def scores(X):
        found = np.asarray(X).reshape(len(X), 2, width)[:, :members]
        return found[:, :, 0] if width == 1 else found.swapaxes(1, 2)

    cautious = np.array([0.2, 0.4])[:members] if width == 1 else np.full((members, width - 1), 0.3)
    return SimpleNamespace(
        weights=weights, thresholds={"cautious": cautious}, member_scores=scores, classes=classes
    )


@st.composite
def cases(draw):
    """A problem, a model and populations."""
    classes = draw(st.sampled_from([("no", "yes"), ("bird", "cat", "dog")]))
    several = len(classes) > 2
    seed, weighted = draw(st.integers(0, 10_000)), draw(st.booleans())
    rows = drawn(seed, draw(st.sampled_from([60, 150, 400])), weighted, classes)
    others = drawn(seed + 1, 80, draw(st.booleans()), classes)
    promises = draw(
        st.lists(st.sampled_from(SEVERAL if several else TWO), min_size=1, max_size=4, unique=True)
    )
    objective = draw(st.sampled_from(OBJECTIVES[:2] if several else [*OBJECTIVES, *GOALS]))
    problem = rb.Problem.stated(objective, promises)
    members = draw(st.sampled_from([1, 2]))
    plain = SimpleNamespace(predict=lambda X: np.asarray(classes)[(X[:, 0] > 0).astype(int)])
    needs_scores = any(rate.at is not None or rate.bins is not None for rate in problem.rates)
    model = mixture(classes, members)
    model = plain if not needs_scores and draw(st.booleans()) else model
    return problem, model, rows, others, draw(st.sampled_from([7, 33, 100]))


def said(report):
    """What a report says, but for where it comes from: rows on disk have another digest.

    On disk, members are not judged alone.
    """
    left_out = dict.fromkeys(("provenance", "card", "baselines", "limits"))
    return report.to_dict() | left_out


def alike(found, wanted, where="", rel=1e-9):
    """The same, numbers up to rounding."""
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys(), where
        for key in wanted:
            alike(found[key], wanted[key], f"{where}.{key}", rel)
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), where
        for index, (one, two) in enumerate(zip(found, wanted, strict=True)):
            alike(one, two, f"{where}[{index}]", rel)
    elif isinstance(wanted, float):
        assert math.isclose(found, wanted, rel_tol=rel, abs_tol=rel), (where, found, wanted)
    else:
        assert found == wanted, (where, found, wanted)


@bounded
@given(cases())
@pytest.mark.filterwarnings("ignore:.*no row and are left out")
def test_audits_of_pieces_are_those_of_all_rows(case):
    problem, model, rows, others, size = case
    wanted = rb.audit(problem, model, rows, others=others)
    beside = others if size == 7 else InPieces.of(others, size)
    found = rb.audit(problem, model, InPieces.of(rows, size), others=beside)
    costs = "cost(" in str(problem)  # whose covariances are in single precision
    alike(said(found), said(wanted), rel=1e-4 if costs else 1e-7)


@pytest.mark.parametrize("spans", [[2] * 40, [5, 10**12, 3], [2**20, 2**20, 2**20, 7], [1]])
def test_kinds_are_the_distinct_combinations_of_codes(spans):
    random = np.random.default_rng(0)
    few = [random.integers(-span, span, 20) for span in spans]
    rows = random.integers(20, size=500)
    codes = [each[rows] for each in few]
    kept, found = tally.told_apart(codes)
    whole = np.stack(codes)
    wanted, first, place = np.unique(whole, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(first)
    np.testing.assert_array_equal(kept, first[order])
    np.testing.assert_array_equal(whole[:, kept], wanted[:, order])
    np.testing.assert_array_equal(found, np.argsort(order)[place.ravel()])


def test_kinds_do_not_depend_on_the_pieces(monkeypatch):
    monkeypatch.setattr(tallying, "LINES_AT_ONCE", 30)
    rows = drawn(0, 400, True, ("no", "yes"))
    problem = rb.Problem("error_rate()", TWO[:8])
    model = mixture(("no", "yes"), 2)
    one, two = (rb.audit(problem, model, InPieces.of(rows, size)) for size in (13, 400))
    assert one == two


def test_rows_that_differ_too_much_are_refused_with_a_remedy(monkeypatch):
    monkeypatch.setattr(tallying, "NUMBERS_KEPT", 500)  # numbers, of which a line has five
    rows = drawn(0, 400, False, ("no", "yes"))
    rows.weights = np.random.default_rng(0).random(400)
    with pytest.raises(ValueError, match=r"more than 100 of its rows differ.*in_memory"):
        rb.audit(rb.Problem("error_rate()"), mixture(("no", "yes"), 1), InPieces.of(rows, 50))


@pytest.mark.parametrize(
    ("promise", "said"),
    [
        ("recall(sex == 'X') >= 0.5", 'no row has sex == "X"'),
        ("recall(age == 'F') >= 0.5", "'age' holds numbers but is compared with text"),
        ("recall(sex in ('F', 'X')) >= 0.5", 'no row has sex == "X"'),
        ("recall(sexx == 'F') >= 0.5", "did you mean 'sex'"),
        ("recall(at='bold') >= 0.5", "not learned"),
        ("recall(on='absent') >= 0.5", "population 'absent'"),
    ],
)
def test_errors_are_those_of_rows_in_memory(promise, said):
    rows = drawn(0, 100, False, ("no", "yes"))
    problem, model = rb.Problem("error_rate()", [promise]), mixture(("no", "yes"), 2)
    for people in (rows, InPieces.of(rows, 30)):
        with pytest.raises(ValueError, match=said):
            rb.audit(problem, model, people)


def test_a_group_without_rows_is_not_measured():
    rows = drawn(0, 300, False, ("no", "yes"))
    rows.columns["sex"][rows.y] = "M"
    problem = rb.Problem("error_rate()", ["recall(sex == 'F') >= 0.5", "recall() >= 0.5"])
    model = mixture(("no", "yes"), 1)
    wanted, found = (rb.audit(problem, model, p) for p in (rows, InPieces.of(rows, 70)))
    assert found.promises[0].why
    alike(said(found), said(wanted))


def test_every_value_that_a_condition_lists_may_be_on_few_rows():
    rows = drawn(0, 100, False, ("no", "yes"))
    rows.columns["sex"][:] = "F"
    rows.columns["sex"][70] = "M"
    problem, model = rb.Problem("error_rate()", [TWO[6]]), mixture(("no", "yes"), 1)
    wanted, found = (rb.audit(problem, model, p) for p in (rows, InPieces.of(rows, 30)))
    alike(said(found), said(wanted))


def test_existing_decisions_may_be_spelled_by_other_words():
    """Pieces with one of the two words only do not show how decisions are spelled."""
    rows = drawn(0, 90, False, ("no", "yes"))
    rows.columns["live"] = np.repeat([0, 1], 45)
    problem = rb.Problem("error_rate()", ["churn(versus='live') <= 0.2"])
    model = mixture(("no", "yes"), 1)
    wanted, found = (rb.audit(problem, model, p) for p in (rows, InPieces.of(rows, 10)))
    alike(said(found), said(wanted))


def test_audits_and_certificates_of_files_are_those_of_tables(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = drawn(0, 400, True, ("no", "yes"))
    table = {f"x{i}": rows.X[:, i] for i in range(2)} | rows.columns
    table |= {"repaid": np.where(rows.y, "yes", "no"), "weight": rows.weights}
    table["sex"] = arrow.array(table["sex"].tolist()).dictionary_encode()
    for name, own in (("a", slice(0, 170)), ("b", slice(170, 400))):
        part = arrow.table({key: values[own] for key, values in table.items()})
        parquet.write_table(part, tmp_path / f"{name}.parquet", row_group_size=60)
    how = {"label": "repaid", "positive": "yes", "weight": "weight", "features": ["x0", "x1"]}
    stored = rb.Parquet(tmp_path, columns=list(rows.columns), **how)
    model = mixture(("no", "yes"), 2)
    problem = rb.Problem("error_rate()", [*TWO[:4], *TWO[14:18], TWO[-1]])
    wanted = rb.audit(problem, model, rows, others=rows)
    found = rb.audit(problem, model, stored, others=rows)
    alike(said(found), said(wanted), rel=1e-4)
    some = stored.only(rows.y)
    wanted, found = (
        rb.certify(rb.Problem("error_rate()", TWO[:2]), mixture(("no", "yes"), 1), each)
        for each in (rows.only(rows.y), some)
    )
    assert [each.rows for each in found.promises] == [each.rows for each in wanted.promises]
    assert found.populations == {"certified": int(rows.y.sum())}


def test_mixtures_of_very_many_members_come_in_parts(monkeypatch):
    """Their rows are distinguished by the share of the members that say yes."""
    monkeypatch.setattr(tallying, "NUMBERS_AT_ONCE", 1)
    random = np.random.default_rng(0)
    rows = drawn(0, 3000, False, ("no", "yes"))
    levels = random.normal(size=40) / 3
    weights = random.random(40)
    model = SimpleNamespace(
        weights=weights / weights.sum(),
        thresholds={"cautious": random.random(40)},
        member_scores=lambda X: X[:, :1] + levels,
    )
    problem = rb.Problem("error_rate()", [TWO[0], TWO[1], TWO[-2]])
    wanted, found = (rb.audit(problem, model, each) for each in (rows, InPieces.of(rows, 2500)))
    alike(said(found), said(wanted), rel=1e-7)


# --- tallies ----------------------------------------------------------------------------------------


def terms(problem):
    """The rates of all promises and of the objective, without areas, which scores are kept for."""
    demanded = [rate for demand in problem.demands for rate in demand.expression.rates]
    return [rate for rate in dict.fromkeys(demanded) if rate.at is None or rate.at == "cautious"]


@bounded
@given(cases(), st.floats(0.2, 0.8))
@pytest.mark.filterwarnings("ignore:.*no row and are left out")
def test_tallies_add(case, share):
    """What is counted of two parts of the rows is what is counted of all, in whichever order."""
    problem, model, rows, others, _ = case
    linear = [promise for promise in problem.subject_to if "0.8 * precision" not in str(promise)]
    try:
        compiled = rb.compile(rb.Problem("error_rate()", linear), rows, others=others)
    except ValueError:  # a group has no row to count on
        assume(False)
    rates = compiled.problem.rates
    part = np.arange(len(rows)) < share * len(rows)

    def counted(chosen):
        people = {"train": rows.only(chosen), "others": others}
        return tallying.tallied(judged(model), people, rates)

    whole, first, second = counted(np.ones(len(rows), bool)), counted(part), counted(~part)
    for both in (first + second, second + first):
        lines, wanted = both["train"], whole["train"]
        assert lines.size == wanted.size == len(rows)
        assert dict(zip(map(tuple, lines.codes.T), lines.rows, strict=True)) == dict(
            zip(map(tuple, wanted.codes.T), wanted.rows, strict=True)
        )
        assert math.isclose(lines.total @ lines.weight, wanted.total @ wanted.weight)
        for rate in terms(compiled.problem):
            if rate.population == "train":
                alike(tally.value(both, rate), tally.value(whole, rate))


def share_of(weight, counted, over):
    return (weight * counted * over).sum() / (weight * over).sum()


DEFINED = {
    "recall(sex == 'F')": lambda w, y, p, c: share_of(w, p, y & (c["sex"] == "F")),
    "false_positive_rate(age < 40)": lambda w, y, p, c: share_of(w, p, ~y & (c["age"] < 40)),
    "false_negative_rate()": lambda w, y, p, c: share_of(w, 1 - p, y),
    "error_rate()": lambda w, y, p, c: share_of(w, np.where(y, 1 - p, p), 1.0),
    "accuracy(missing(score))": lambda w, y, p, c: share_of(
        w, np.where(y, p, 1 - p), np.isnan(c["score"])
    ),
    "positive_rate(sex in ('F', 'M'))": lambda w, y, p, c: share_of(
        w, p, np.isin(c["sex"].astype(str), ["F", "M"])
    ),
    "predicted_positives(sex == 'M', per=1000)": lambda w, y, p, c: (
        1000 * (w * p * (c["sex"] == "M")).sum() / w.sum()
    ),
    "true_positives()": lambda w, y, p, c: (w * p * y).sum(),
    "churn(versus='live')": lambda w, y, p, c: share_of(w, np.where(c["live"] == "yes", 1 - p, p), 1.0),
    "prevalence(sex == 'F')": lambda w, y, p, c: share_of(w, y, c["sex"] == "F"),
    "cost(false_negative=10, false_positive=2)": lambda w, y, p, c: share_of(
        w, np.where(y, 10 * (1 - p), 2 * p), 1.0
    ),
    "cost(age >= 40, column='loan')": lambda w, y, p, c: share_of(
        w, c["loan"] * np.where(y, 1 - p, p), c["age"] >= 40
    ),
}


@pytest.mark.parametrize("words", DEFINED)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("members", [1, 2])
def test_values_are_what_the_definitions_say_row_by_row(words, weighted, members):
    rows = drawn(3, 300, weighted, ("no", "yes"))
    model = mixture(("no", "yes"), members)
    ((rate, _),) = rb.parse(f"{words} <= 1").left.terms
    counted = tallying.tallied(judged(model), {"train": rows}, [rate])
    weight = np.ones(300) if rows.weights is None else rows.weights
    yes = (model.member_scores(rows.X) >= 0) @ model.weights
    wanted = DEFINED[words](weight, rows.y, yes, rows.columns)
    assert tally.value(counted, rate) == pytest.approx(float(wanted), rel=1e-12)


OF_CLASSES = {
    "recall(of='cat')": lambda w, y, p, c: share_of(w, p[:, 1], y == 1),
    "recall(sex == 'F', of='bird')": lambda w, y, p, c: share_of(
        w, p[:, 0], (y == 0) & (c["sex"] == "F")
    ),
    "positive_rate(of='dog')": lambda w, y, p, c: share_of(w, p[:, 2], 1.0),
    "error_rate()": lambda w, y, p, c: share_of(w, 1 - p[np.arange(len(y)), y], 1.0),
    "confusion(label='cat', predicted='dog')": lambda w, y, p, c: share_of(w, p[:, 2], y == 1),
    "cost(column='loan')": lambda w, y, p, c: share_of(
        w, c["loan"] * (1 - p[np.arange(len(y)), y]), 1.0
    ),
}


@pytest.mark.parametrize("words", OF_CLASSES)
@pytest.mark.parametrize("weighted", [False, True])
def test_values_of_several_classes_are_what_the_definitions_say(words, weighted):
    classes = ("bird", "cat", "dog")
    rows, model = drawn(4, 300, weighted, classes), mixture(classes, 2)
    ((rate, _),) = rb.parse(f"{words} <= 1").left.terms
    counted = tallying.tallied(judged(model), {"train": rows}, [rate])
    weight = np.ones(300) if rows.weights is None else rows.weights
    decided = 2 - model.member_scores(rows.X)[:, ::-1].argmax(axis=1)  # (n, members); ties: the later
    chance = np.stack([(decided == place) @ model.weights for place in range(3)], axis=1)
    wanted = OF_CLASSES[words](weight, rows.y, chance, rows.columns)
    assert tally.value(counted, rate) == pytest.approx(float(wanted), rel=1e-12)
