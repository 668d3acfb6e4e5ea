"""Certificates about groups that are guessed hold for every grouping, or are refused."""

import numpy as np
import pytest

import ratebound._old as rb


class Signs:
    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0).astype(int)


def test_probabilities_are_not_certified_but_other_promises_are() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(2000, 1)) + 1.5, np.ones(2000, int)
    y[:200] = 0
    p = random.random(2000)
    race = rb.guessed("race", probabilities=["p_a", "p_b"])
    promises = ['recall(race == "a") >= 0.9', "recall() >= 0.9"]
    rows = rb.Population(X, y, {"p_a": p, "p_b": 1 - p})
    certificate = rb.certify(rb.Problem("error_rate()", promises, guessed=race), Signs(), rows)
    plain = rb.certify(rb.Problem("error_rate()", promises[1:]), Signs(), rows)
    by_words = {str(each.constraint): each for each in certificate.promises}
    assert not certificate.holds
    assert by_words["recall() >= 0.9"].p_value == plain.promises[0].p_value
    refused = by_words['recall(race == "a") >= 0.9']
    assert "whose true group is known, about" in refused.why
    assert "assumed to be right" in str(certificate)
    assert rb.Certificate.from_dict(certificate.to_dict()) == certificate


def test_the_number_of_audited_rows_is_about_enough() -> None:
    """It is the number that rows with known groups ask for themselves, or somewhat more."""
    random = np.random.default_rng(1)
    p = random.random(20_000)
    race = np.where(random.random(20_000) < p, "a", "b")
    X, y = np.where(random.random(20_000) < 0.8, 1.0, -1.0)[:, None], np.arange(20_000) % 2
    way = rb.guessed("race", probabilities=["p_a", "p_b"])
    for promise in (
        'positive_rate(race == "a") >= 0.76',
        'recall(race == "b") >= 0.9 * recall(race == "a")',
    ):
        guesses = rb.Population(X, y, {"p_a": p, "p_b": 1 - p})
        refused = rb.certify(rb.Problem("error_rate()", [promise], guessed=way), Signs(), guesses)
        told = int(refused.promises[0].why.partition("about ")[2].split()[0].replace(",", ""))
        known = rb.certify(
            rb.Problem("error_rate()", [promise]), Signs(), rb.Population(X, y, {"race": race})
        )
        (exact,) = known.promises
        assert 0.8 <= told / (exact.rows_needed / exact.rows * 20_000) <= 4


@pytest.mark.parametrize("level", ["anything", "audited"])
def test_a_promise_that_a_grouping_breaks_is_seldom_certified(level: str) -> None:
    random = np.random.default_rng(2)
    rows, share = 400, 0.78
    promise = 'positive_rate(race == "a") >= 0.8'
    way = (
        rb.guessed("race", missing="anything")
        if level == "anything"
        else rb.guessed("race", audited="seen")
    )
    problem = rb.Problem("error_rate()", [promise], guessed=way)
    held = 0
    for _ in range(120):
        if level == "anything":
            # Known: 85% yes. A tenth is missing, of which two thirds say yes: in the worst case the
            # noes among them are all of the group.
            race = random.choice(["a", "b", None], rows, p=[0.45, 0.45, 0.1]).astype(object)
            yes = random.random(rows) < np.where(race == None, 0.6, 0.85)  # noqa: E711
            worst = 0.45 * 0.85 / (0.45 + 0.1 * 0.4)
            columns = {"race": race}
        else:
            true = random.choice(["a", "b"], rows).astype(object)
            yes = random.random(rows) < np.where(true == "a", share, 0.95)
            worst = share
            columns = {"race": true[::-1], "seen": np.where(random.random(rows) < 0.5, true, None)}
        assert worst < 0.8
        X = np.where(yes, 1.0, -1.0)[:, None]
        people = rb.Population(X, np.ones(rows, int), columns, classes=[0, 1])
        held += rb.certify(problem, Signs(), people, confidence=0.9).holds
    assert held <= 20  # of 120, at 90%


def test_a_promise_kept_in_every_grouping_is_certified() -> None:
    random = np.random.default_rng(3)
    race = random.choice(["a", "b", None], 3000, p=[0.48, 0.48, 0.04]).astype(object)
    X = np.where(random.random(3000) < 0.9, 1.0, -1.0)[:, None]
    rows = rb.Population(X, np.ones(3000, int), {"race": race}, classes=[0, 1])
    way = rb.guessed("race", missing="anything")
    problem = rb.Problem("error_rate()", ['positive_rate(race == "a") >= 0.8'], guessed=way)
    certificate = rb.certify(problem, Signs(), rows)
    assert certificate.holds
    assert "whatever its missing values are" in str(certificate)


def test_monitors_and_rows_needed_refuse_what_is_assumed() -> None:
    race = rb.guessed("race", probabilities=["p_a", "p_b"])
    problem = rb.Problem("error_rate()", ['recall(race == "a") >= 0.9'], guessed=race)
    with pytest.raises(ValueError, match="probabilities are assumed"):
        rb.Monitor(problem)
    rows = rb.Population([[0.0]] * 4, [0, 1, 0, 1], {"p_a": [0.5] * 4, "p_b": [0.5] * 4})
    needed = rb.rows_needed(
        problem.promising([*problem.subject_to, "recall() >= 0.5"]), rows, margin=0.05
    )
    plain = rb.rows_needed(rb.Problem("error_rate()", ["recall() >= 0.5"]), rows, margin=0.05)
    assert "probabilities are assumed" in needed.promises[0].why
    assert needed.promises[1] == plain.promises[0]
    with pytest.raises(ValueError, match="audited rows"):
        rb.Monitor(
            rb.Problem(
                "error_rate()", ['recall(race == "a") >= 0.9'], guessed=rb.guessed("race", audited="s")
            )
        )


def test_rows_needed_says_so_of_groups_that_every_row_may_be_in() -> None:
    rows = rb.Population(None, [1, 0] * 20, columns={"p_a": [0.4] * 40, "p_b": [0.6] * 40})
    race = rb.guessed("race", probabilities=["p_a", "p_b"])
    promises = ['positive_rate(race == "b") >= 0.2', "recall() >= 0.5"]
    problem = rb.Problem("error_rate()", promises, guessed=race)
    of_group, of_all = (rb.rows_needed(problem, rows, margin=0.2).promises[place] for place in (0, 1))
    assert "assumed, not shown" in of_group.why
    assert of_all.rows_needed
