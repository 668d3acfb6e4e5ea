"""Constraints of one's own after training: files, audits, and what refuses them."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import ratebound._old as rb

from ..small_tables import people

torch = pytest.importorskip("torch")

TABLE = people(n=200, slopes=(1.0, -0.5), by="group")
NEW = people(n=150, slopes=(1.0, -0.5), by="group", seed=1)


def l1(model, rows):
    return model.module.weight.abs().sum()


def gap(model, rows):
    return (torch.sigmoid(model.scores).mean() - rows.y.mean()).abs()


OWN = [
    rb.constraint(gap, name="gap", at_most=0.02),
    rb.constraint(l1, name="L1 norm", at_most=0.5, scale=2.0),
]
PROBLEM = rb.Problem("error_rate()", ["recall() >= 0.7", *OWN])


@pytest.fixture(scope="module")
def mixture():
    compiled = rb.compile(PROBLEM, TABLE.population())
    trace = rb.play(
        compiled,
        rb.Torch(lambda width: torch.nn.Linear(width, 1), learning_rate=0.05),
        rounds=60,
        batch_size=64,
        keep=rb.Keep(every=10),
        player=rb.SwapRegret(0.3),
    )
    return rb.average(trace)


def by_hand(mixture, X, y):
    """The expectations of gap and norm over the members."""
    weights = mixture.parameters[:, :2].astype(float)
    scores = weights @ X.T + mixture.parameters[:, 2:]
    gaps = abs((1 / (1 + np.exp(-scores))).mean(axis=1) - y.mean())
    return mixture.weights @ gaps, mixture.weights @ abs(weights).sum(axis=1)


@pytest.mark.parametrize("table", [TABLE, NEW], ids=["trained on", "new"])
def test_an_audit_measures_by_the_same_functions(mixture, table):
    report = rb.audit(PROBLEM, mixture, table.population())
    expected = by_hand(mixture, table.X, table.y)
    assert [each.value for each in report.promises[1:]] == pytest.approx(expected, abs=1e-5)
    for promise, bound in zip(report.promises[1:], (0.02, 0.5), strict=True):
        assert promise.bound == bound
        assert promise.slack == pytest.approx(bound - promise.value)
        assert promise.kept == (promise.value <= bound)
        assert (promise.slack_low, promise.verdict, promise.method) == (None, "may not hold", "none")
        assert "a custom function" in promise.why
    alone = rb.audit(PROBLEM.promising(PROBLEM.subject_to[:1]), mixture, table.population())
    assert report.promises[0] == alone.promises[0]
    assert report.objective == alone.objective


def test_on_the_rows_trained_on_it_is_what_training_says(mixture):
    report = rb.audit(PROBLEM, mixture, TABLE.population())
    measured = [each.violation for each in report.promises[1:]]
    assert measured == pytest.approx(mixture.violations["train"][1:].tolist(), abs=1e-6)


def test_every_format(mixture):
    report = rb.audit(PROBLEM, mixture, NEW.population())
    assert "gap <= 0.02" in str(report)
    assert "No interval: gap" in str(report)
    data = json.loads(json.dumps(report.to_dict()))
    assert [each["words"] for each in data["promises"]][1:] == ["gap <= 0.02", "L1 norm <= 0.5"]
    for kind in ("markdown", "html", "json"):
        assert "L1 norm" in report.render(kind)
    assert len(report.to_frame()) == 3


def test_a_file_holds_names_and_last_values_and_no_code(mixture, tmp_path):
    loaded = rb.load(mixture.save(tmp_path))
    assert loaded.problem == PROBLEM
    np.testing.assert_array_equal(loaded.violations["train"], mixture.violations["train"])
    assert str(loaded.status) == str(mixture.status)
    assert all(each.left.value is None for each in loaded.problem.constraints[1:])
    np.testing.assert_array_equal(loaded.predict(NEW.X), mixture.predict(NEW.X))

    rows = NEW.population()
    alone = rb.audit(loaded.problem, loaded, rows)
    again = rb.audit(PROBLEM, loaded, rows)
    assert alone.promises[0] == again.promises[0] == rb.audit(PROBLEM, mixture, rows).promises[0]
    for promise in alone.promises[1:]:
        assert (promise.kept, promise.verdict) == (None, "not measured")
        assert "give the problem with rb.constraint(value=..., name=" in promise.why
    assert [each.value for each in again.promises[1:]] == pytest.approx(
        by_hand(mixture, NEW.X, NEW.y), abs=1e-5
    )
    assert "2 could not be measured" in str(alone)
    with pytest.raises(ValueError, match="gap: a file holds the name of a user-defined constraint"):
        rb.compile(loaded.problem, rows)


def test_a_policy_that_was_loaded_audits_the_rates(mixture, tmp_path):
    loaded = rb.load(mixture.save(tmp_path))
    report = loaded.audit(NEW.X, NEW.y, columns=NEW.columns)
    assert [each.kept is None for each in report.promises] == [False, True, True]


def test_other_classifiers_are_measured_by_their_scores():
    model = LogisticRegression().fit(TABLE.X, TABLE.y)
    brier = rb.constraint(lambda m, r: ((1 / (1 + np.exp(-m.scores)) - r.y) ** 2).mean(), name="Brier")
    norm = rb.constraint(lambda m, r: abs(m.module.coef_).sum(), name="norm")
    report = rb.audit(rb.Problem("error_rate()", [brier, norm]), model, NEW.population())
    probability = model.predict_proba(NEW.X)[:, 1]
    assert report.promises[0].value == pytest.approx(((probability - NEW.y) ** 2).mean())
    assert report.promises[1].value == pytest.approx(abs(model.coef_).sum())

    class Always:
        def predict(self, X):
            return np.ones(len(X))

    with pytest.raises(ValueError, match=r"Brier <= 0.0: .*Always has no decision_function"):
        rb.audit(rb.Problem("error_rate()", [brier]), Always(), NEW.population())


def test_what_a_function_does_wrong_in_an_audit(mixture):
    bad = rb.constraint(lambda model, rows: rows.column("age").mean(), name="mean age")
    with pytest.raises(ValueError, match=r"mean age: its function value= raised .*no column 'age'"):
        rb.audit(rb.Problem("error_rate()", [bad]), mixture, NEW.population())
    elsewhere = rb.constraint(gap, name="gap", on="pool")
    with pytest.raises(ValueError, match=r"gap <= 0.0: population 'pool' is not given"):
        rb.audit(rb.Problem("error_rate()", [elsewhere]), mixture, NEW.population())


def test_an_audit_on_another_population(mixture):
    elsewhere = rb.constraint(gap, name="gap", on="pool")
    problem = rb.Problem("error_rate()", [elsewhere])
    report = rb.audit(problem, mixture, TABLE.population(), pool=NEW.population())
    assert report.promises[0].value == pytest.approx(by_hand(mixture, NEW.X, NEW.y)[0], abs=1e-5)


REFUSES = {
    "a certificate": lambda rows, model: rb.certify(PROBLEM, model, rows),
    "a monitor": lambda rows, model: rb.Monitor(PROBLEM),
    "rows_needed": lambda rows, model: rb.rows_needed(PROBLEM, rows, margin=0.1),
}


@pytest.mark.parametrize("who", REFUSES)
def test_what_knows_rates_alone_names_it_and_says_what_to_do(who, mixture):
    with pytest.raises(ValueError, match=r"gap <= 0.02: .* handles only rates") as error:
        REFUSES[who](NEW.population(), mixture)
    said = str(error.value)
    assert who in said
    assert any(word in said for word in ("Leave it out", "Train for it"))
