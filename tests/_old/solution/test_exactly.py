"""Yes to exactly so many rows, against all choices by brute force."""

import itertools
import warnings

import numpy as np
import pytest

import ratebound._old as rb
from ratebound import RateConstrainedClassifier
from ratebound._bridge import make_policy
from ratebound._old.solution.deciders import Draw, GroupThresholds
from ratebound._old.solution.exactly import chosen_exactly, highest, promises_on
from ratebound._old.solution.mixture import Members, Mixture
from ratebound._old.solution.record import Record
from ratebound._old.solution.status import Status

from ..given_scores import GivenScores


def brute(scores, group, count, low):
    """The best choice of `count` rows by the sum of scores, with at least `low` of group b."""
    best = max(
        (rows for rows in itertools.combinations(range(len(scores)), count)
         if np.isin(np.flatnonzero(group == "b"), rows).mean() >= low - 1e-12),
        key=lambda rows: scores[list(rows)].sum(),
    )  # fmt: skip
    return np.isin(np.arange(len(scores)), best)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("low", [0.3, 0.6, 1.0])
def test_the_best_rows_that_keep_a_promise_are_those_of_brute_force(seed, low):
    random = np.random.default_rng(seed)
    group = np.array(["a"] * 8 + ["b"] * 5)
    scores = random.normal(size=13) + 1.5 * (group == "a")
    problem = rb.Problem("error_rate()", [f'positive_rate(group == "b") >= {low}'])
    batch = promises_on(problem, None, {"group": group}, 13)
    assert (chosen_exactly(scores, np.zeros(13), 6, batch) == brute(scores, group, 6, low)).all()


def test_what_cannot_be_kept_is_broken_least_and_told():
    group = np.array(["a"] * 8 + ["b"] * 4)
    scores = np.arange(12.0)[::-1]
    problem = rb.Problem(
        "error_rate()", ['positive_rate(group == "b") >= 0.9', "positive_rate() <= 0.1"]
    )
    batch = promises_on(problem, None, {"group": group}, 12)
    with pytest.warns(UserWarning, match=r"no 3 of these rows keep .*positive_rate\(\) <= 0\.1"):
        chosen = chosen_exactly(scores, np.zeros(12), 3, batch)
    assert chosen.sum() == 3
    assert chosen[group == "b"].sum() == 3  # nearest to what was promised of b


def test_promises_that_need_labels_are_left_alone():
    problem = rb.Problem("error_rate()", ["recall() >= 0.9", 'positive_rate(group == "a") >= 0.1'])
    batch = promises_on(problem, None, None, 5)
    assert batch.compiled is None
    assert [str(each) for each in batch.unknown] == ['positive_rate(group == "a") >= 0.1']
    with pytest.warns(UserWarning, match="give the columns that it uses"):
        chosen_exactly(np.arange(5.0), np.zeros(5), 2, batch)


def test_ties_go_by_their_numbers_and_then_by_place():
    scores, ties = np.zeros(6), np.array([0.5, 0.1, 0.5, 0.2, 0.1, 0.9])
    assert np.flatnonzero(highest(scores, ties, 3)).tolist() == [1, 3, 4]
    assert np.flatnonzero(highest(scores, np.zeros(6), 2)).tolist() == [0, 1]


@pytest.fixture(scope="module")
def model():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 2))
    group = np.where(random.random(400) < 0.5, "a", "b")
    y = np.where(X[:, 0] + (group == "a") + random.normal(size=400) > 0, "yes", "no")
    promise = "statistical_parity(group, slack=0.02)"
    return (
        make_policy(
            RateConstrainedClassifier(promise, random_state=0).fit(X, y, columns={"group": group})
        ),
        X,
        group,
    )


def test_a_classifier_says_yes_to_exactly_so_many_whatever_their_order(model, tmp_path):
    classifier, X, group = model
    columns = {"group": group[:150]}
    decided = classifier.predict(X[:150], exactly=60, columns=columns)
    assert (decided == "yes").sum() == 60
    rates = [(decided[group[:150] == each] == "yes").mean() for each in "ab"]
    assert max(abs(rate - 0.4) for rate in rates) <= 0.02 + 1e-9
    order = np.random.default_rng(1).permutation(150)
    turned = classifier.predict(X[:150][order], exactly=60, columns={"group": group[:150][order]})
    assert (turned == decided[order]).all()
    policy = rb.load(classifier.save(tmp_path / "model.safetensors"))
    assert (policy.predict(X[:150], exactly=60, columns=columns) == decided).all()
    people = rb.Population(X[:150], columns=columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a policy reads only the columns that it decides by
        assert (policy.predict(people, exactly=60) == "yes").sum() == 60


def test_nobody_and_everybody(model):
    classifier, X, group = model
    for count in (0, 100):
        decided = classifier.predict(X[:100], exactly=count, columns={"group": group[:100]})
        assert (decided == "yes").sum() == count


@pytest.mark.parametrize(
    ("exactly", "kind"), [(101, ValueError), (-1, ValueError), (2.5, TypeError), (True, TypeError)]
)
def test_a_number_that_cannot_be_is_named(model, exactly, kind):
    classifier, X, _ = model
    with pytest.raises(kind, match="exactly="):
        classifier.predict(X[:100], exactly=exactly)


def test_several_classes_have_no_one_yes():
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 2))
    fitted = RateConstrainedClassifier(random_state=0, confidence=None)
    several = make_policy(fitted.fit(X, np.resize(["cat", "dog", "owl"], 150)))
    with pytest.raises(ValueError, match="there are 3 decisions to choose from"):
        several.predict(X, exactly=10)


def test_a_mixture_draws_nothing_and_takes_the_likeliest_first():
    members = Members(np.array([0.5, 0.5]), np.zeros((2, 1)), GivenScores(1, 1))
    at = np.array([[[2.5]], [[3.5]]])
    decider = GroupThresholds((), ((),), np.array([[0], [1]]), at, Draw(bare_scores=True))
    record = Record(rb.Problem("error_rate()"), Status(True, 0.0, (), (), "feasible"))
    mixture = Mixture(members, decider, record)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        decided = mixture.predict(np.array([1.0, 5.0, 3.0, 4.0, 2.0]), exactly=2)
    assert decided.tolist() == [False, True, False, True, False]


@pytest.mark.parametrize("seed", range(4))
def test_several_promises_at_once_are_those_of_brute_force(seed):
    """Overlapping groups, rates from both sides and a count, against all choices of 6 rows of 13."""
    random = np.random.default_rng(seed)
    columns = {"sex": np.resize(["f", "m"], 13), "old": np.arange(13) < 6}
    scores = random.normal(size=13) + columns["old"]
    promises = [
        'positive_rate(sex == "f") >= 0.8 * positive_rate()',
        "0.3 <= positive_rate(old == True) <= 0.6",
        'predicted_positives(sex == "m", per=13) <= 4',
    ]
    batch = promises_on(rb.Problem("error_rate()", promises), None, columns, 13)

    def kept(rows):
        yes = np.isin(np.arange(13), rows)
        female, old = columns["sex"] == "f", columns["old"]
        rates = yes[female].mean() >= 0.8 * yes.mean() - 1e-12 and 0.3 <= yes[old].mean() <= 0.6
        return rates and yes[~female].sum() <= 4

    every = filter(kept, itertools.combinations(range(13), 6))
    best = max(every, key=lambda rows: scores[list(rows)].sum())
    assert np.flatnonzero(chosen_exactly(scores, np.zeros(13), 6, batch)).tolist() == list(best)


def test_equals_are_chosen_alike_whatever_the_order_of_rows(model):
    classifier, _, _ = model
    X, key, group = np.zeros((20, 2)), np.arange(20), np.resize(["a", "b"], 20)
    mixed = np.random.default_rng(0).permutation(20)
    decided = []
    for order in (key, mixed):
        given = {"key": key[order], "columns": {"group": group[order]}}
        with pytest.warns(UserWarning, match="no 7 of these rows keep"):
            decided.append(classifier.predict(X[order], exactly=7, **given))
    assert (decided[0][mixed] == decided[1]).all()


def test_churn_counts_decisions_of_the_existing_model_by_name():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 2))
    y = np.where(X[:, 0] + random.normal(size=300) > 0, "yes", "no")
    columns = {"live": np.where(X[:, 1] > 0, "yes", "no")}
    fitted = RateConstrainedClassifier('churn(versus="live") <= 0.3', random_state=0)
    classifier = make_policy(fitted.fit(X, y, columns=columns))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decided = classifier.predict(X, exactly=150, columns=columns)
    assert (decided == "yes").sum() == 150
    assert (decided != columns["live"]).mean() <= 0.3


def test_known_groups_keep_promises_among_them():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 2))
    group = np.where(random.random(300) < 0.5, "a", "b")
    y = X[:, 0] + (group == "a") + random.normal(size=300) > 0
    constraint = "statistical_parity(group, slack=0.05)"
    fitted = RateConstrainedClassifier(constraint, known=["group"], random_state=0)
    classifier = make_policy(fitted.fit(X, y, columns={"group": group}))
    decided = classifier.predict(X, exactly=90, columns={"group": group})
    assert decided.sum() == 90
    rates = [decided[group == each].mean() for each in "ab"]
    assert max(abs(rate - 0.3) for rate in rates) <= 0.05 + 1e-9


def test_a_referral_is_no_yes_or_no():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 2))
    y = np.where(X[:, 0] + random.normal(size=200) > 0, "yes", "no")
    fitted = RateConstrainedClassifier(
        "referred() <= 0.2", "error_rate(decided) + 0.2 * referred()", refer="ask"
    )
    classifier = make_policy(fitted.fit(X, y))
    with pytest.raises(ValueError, match="without refer="):
        classifier.predict(X, exactly=10)
