"""One model in place of a mixture: which one, and what it costs, counted by hand."""

from dataclasses import replace

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.learners.linear import LinearScorer
from ratebound._old.solution.deciders import Draw, Vote
from ratebound._old.solution.determinize import determinize, evaluate
from ratebound._old.solution.mixture import Members, Mixture
from ratebound._old.solution.record import Record
from ratebound._old.solution.status import Status
from ratebound._old.tables.fitting import fit_encoding

from ..extras import pd

rng = np.random.default_rng(5)
X = rng.normal(size=(400, 1))
Y = X[:, 0] + 0.5 * rng.normal(size=400) > 0
GROUP = rng.choice(["a", "b"], 400)
PEOPLE = rb.Population(X, Y, columns={"group": GROUP})
PROBLEM = rb.Problem(
    rb.error_rate(), [rb.positive_rate() <= 0.3, rb.recall(group="a") >= 0.8, rb.precision() >= 0.5]
)
COMPILED = rb.compile(PROBLEM, PEOPLE)
AT = np.array([-0.5, 0.0, 0.7])  # the members say yes from here on


def mixture_of(weights, at=AT):
    parameters = np.column_stack([np.ones(len(at)), -np.asarray(at)])
    status = Status(True, 0.0, (), (), "of the mixture")
    values = {"objectives": {"train": 9.0}, "violations": {"train": np.full(3, 9.0)}, "setting": 0}
    record = Record(PROBLEM, status, **values)
    return Mixture(Members(np.asarray(weights), parameters, LinearScorer("float64")), Draw(), record)


MIXTURE = mixture_of([0.3, 0.3, 0.4])


def learning(thresholds):
    return replace(MIXTURE, members=replace(MIXTURE.members, thresholds=thresholds))


def by_hand(yes):
    """Objective and violations of decisions, written out."""
    a = GROUP == "a"
    return np.mean(yes != Y), [
        yes.mean() - 0.3,
        0.8 - yes[a & Y].mean(),
        (0.5 * yes.sum() - (yes & Y).sum()) / len(yes),
    ]


@pytest.mark.parametrize("method", ["best", "vote"])
def test_before_and_after_are_exact(method):
    determined = determinize(MIXTURE, COMPILED, method)
    members = [by_hand(X[:, 0] >= at) for at in AT]
    assert determined.before.objective == pytest.approx(MIXTURE.weights @ [m[0] for m in members])
    np.testing.assert_allclose(determined.before.violations, MIXTURE.weights @ [m[1] for m in members])
    objective, violations = by_hand(determined.model.predict(X))
    assert determined.after.objective == pytest.approx(objective)
    np.testing.assert_allclose(determined.after.violations, violations, atol=1e-15)
    again = evaluate(determined.model, COMPILED)
    assert again.objective == determined.after.objective
    np.testing.assert_array_equal(again.violations, determined.after.violations)


def test_a_vote_says_yes_at_one_half():
    model = determinize(MIXTURE, COMPILED, "vote").model
    yes = MIXTURE.decision_proba(X)[:, 1] >= 0.5
    np.testing.assert_array_equal(model.predict(X), yes)
    np.testing.assert_array_equal(model.decision_proba(X)[:, 1], yes)
    assert len(model) == 3
    assert model.decider == Vote()


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (AT, 1),  # second in both, where the others are last in one
        ([-0.1, 0.1, 0.3], 1),  # the first errs least, and breaks a constraint by most
        ([0.1, 0.3, 0.0, -0.2], 2),  # second in both
        ([-9.0, 0.5, 9.0], 1),
        ([0.0, 9.0], 0),
        ([0.2], 0),
    ],
)
def test_the_best_member_is_first_by_rank(at, expected):
    mixture = mixture_of(np.full(len(at), 1 / len(at)), at)
    model = determinize(mixture, COMPILED).model
    assert len(model) == 1
    assert model.decider.draw is not None
    np.testing.assert_array_equal(model.parameters, mixture.parameters[[expected]])
    np.testing.assert_array_equal(model.predict(X), X[:, 0] >= at[expected])


def test_other_rows_other_member():
    """What is judged are the rows given, not those of training."""
    problem = rb.Problem(rb.error_rate())
    for at in (0, 2):
        people = rb.Population(X, X[:, 0] >= AT[at])
        model = determinize(MIXTURE, rb.compile(problem, people)).model
        np.testing.assert_array_equal(model.parameters, MIXTURE.parameters[[at]])


def test_what_is_recorded_is_the_models_own():
    for method in ("best", "vote"):
        determined = determinize(MIXTURE, COMPILED, method)
        model, violations = determined.model, determined.after.violations
        assert model.objectives == model.violations == {}
        assert model.status.feasible == (violations.max() <= 0)
        assert model.status.violation == max(violations.max(), 0)
        assert {str(c) for c in model.status.broken} == {
            str(c) for c, v in zip(COMPILED.constraints, violations, strict=True) if v > 0
        }
        assert "of the mixture" not in str(model)
        assert "on the rows that it was determinized on" in str(model) or "broken" in str(model)


def test_a_table_says_what_it_costs():
    determined = determinize(MIXTURE, COMPILED)
    head, columns, objective, *lines = str(determined).splitlines()
    assert head.startswith("one model in place of the mixture")
    assert columns.split() == ["before", "after"]
    assert objective.split() == [
        "minimize", "error_rate()", f"{determined.before.objective:.4f}",
        f"{determined.after.objective:.4f}",
    ]  # fmt: skip
    for i, (constraint, line) in enumerate(zip(COMPILED.constraints, lines, strict=True)):
        before, after = determined.before.violations[i], determined.after.violations[i]
        assert line.startswith(str(constraint))
        assert line.split()[-3:] == [
            f"{before:+.4f}",
            f"{after:+.4f}",
            "kept" if after <= 0 else "broken",
        ]
    assert {line.split()[-1] for line in lines} == {"kept", "broken"}
    assert str(determinize(MIXTURE, COMPILED, "vote")).startswith("the members' vote in place")


def test_several_populations_and_no_constraints():
    problem = rb.Problem(rb.error_rate(), [rb.positive_rate(on="pool") <= 0.2])
    pool = rb.Population(np.linspace(-1, 2, 100)[:, None])
    compiled = rb.compile(problem, PEOPLE, pool=pool)
    for method in ("best", "vote"):
        determined = determinize(MIXTURE, compiled, method)
        pooled = determined.model.predict(pool.X).mean()
        np.testing.assert_allclose(determined.after.violations, [pooled - 0.2])
        assert determined.model.constraints == compiled.constraints
    free = determinize(MIXTURE, rb.compile(rb.Problem(rb.error_rate()), PEOPLE))
    assert free.after.violations.shape == (0,)
    assert len(str(free).splitlines()) == 3


def test_tables_go_through_the_encoding():
    table = pd.DataFrame({"x": 10 + 3 * X[:, 0], "town": np.where(X[:, 0] > 0, "Oslo", "Rome")})
    mixture = replace(MIXTURE, encoding=fit_encoding(table, features=["x"]))
    compiled = rb.compile(PROBLEM, rb.Population(table, Y, columns={"group": GROUP}))
    for method in ("best", "vote"):
        determined = determinize(mixture, compiled, method)
        objective, violations = by_hand(determined.model.predict(table))
        assert determined.after.objective == pytest.approx(objective)
        np.testing.assert_allclose(determined.after.violations, violations, atol=1e-15)


def test_areas_and_thresholds():
    area = rb.Problem(rb.error_rate(), [rb.roc_auc(bins=4) >= 0.8, rb.positive_rate(at=0.5) <= 0.2])
    compiled = rb.compile(area, PEOPLE)
    mixture = learning({name: np.full(3, 1e6) for name in compiled.learnable})
    for method in ("best", "vote"):
        determined = determinize(mixture, compiled, method)
        _, expected = compiled.evaluate(X[:, 0])  # all members rank alike
        np.testing.assert_allclose(determined.after.violations[:-1], expected[:-1])
    scores = X[:, :1] - AT
    yes = (scores >= 0.5) @ MIXTURE.weights >= 0.5
    assert determined.after.violations[-1] == pytest.approx(yes.mean() - 0.2)


def test_members_keep_thresholds_they_learned_but_cannot_vote_at_them():
    compiled = rb.compile(rb.Problem(rb.error_rate(), [rb.positive_rate(at="high") <= 0.1]), PEOPLE)
    mixture = learning({"high": np.array([1.0, 1.1, 1.2])})
    determined = determinize(mixture, compiled)
    index = int(np.argmin(np.abs(mixture.parameters[:, 1] - determined.model.parameters[0, 1])))
    assert determined.model.thresholds["high"] == mixture.thresholds["high"][index]
    scores = X[:, 0] - AT[index]
    expected = np.mean(scores >= mixture.thresholds["high"][index]) - 0.1
    np.testing.assert_allclose(determined.after.violations, [expected])
    with pytest.raises(ValueError, match=r"learned its own threshold 'high'.*method='best'"):
        determinize(mixture, compiled, "vote")


def test_a_vote_can_be_determinized_too():
    vote = determinize(MIXTURE, COMPILED, "vote")
    best = determinize(vote.model, COMPILED, "best")
    assert best.before.objective == vote.after.objective
    assert len(best.model) == 1
    assert best.model.decider.draw is not None
    again = determinize(vote.model, COMPILED, "vote")
    np.testing.assert_array_equal(again.after.violations, again.before.violations)


def test_bad_arguments_raise():
    with pytest.raises(ValueError, match="method must be 'best' or 'vote'"):
        determinize(MIXTURE, COMPILED, "median")
    blind = rb.compile(rb.Problem(rb.error_rate()), rb.Population(None, Y))
    with pytest.raises(ValueError, match="population 'train' has no features"):
        determinize(MIXTURE, blind)
