"""`rb.guessed(..., audited=, worst=)`: promises kept for every grouping that is possible."""

import numpy as np
import pytest

import ratebound._old as rb

PROMISE = 'positive_rate(race == "a") >= 0.8 * positive_rate(race == "b")'


def drawn(seed: int, rows: int = 2000, audited: float = 0.4):
    random = np.random.default_rng(seed)
    x, z = random.normal(size=(2, rows))
    y = x + 0.4 * z + random.normal(0, 0.7, rows) > 0
    race = np.where(random.random(rows) < np.where(x < 0, 0.55, 0.25), "a", "b").astype(object)
    guess = np.where(random.random(rows) < 0.1, np.where(race == "a", "b", "a"), race)
    seen = np.where(random.random(rows) < audited, race, None)
    return np.column_stack([x, z]), y, race, {"race": guess, "seen": seen}


def fitted(columns, X, y, worst, promise=PROMISE, **options):
    way = rb.guessed("race", audited="seen", worst=worst)
    model = rb.RateConstrainedClassifier(promise, guessed=way, random_state=0, **options)
    return model.fit(X, y, columns=columns)


@pytest.fixture(scope="module")
def both():
    X, y, _, columns = drawn(0)
    return fitted(columns, X, y, None), fitted(columns, X, y, 0.9)


def worst_of(model, X, y, columns) -> float:
    problem = rb.Problem("error_rate()", [PROMISE], guessed=rb.guessed("race", audited="seen"))
    (promise,) = rb.audit(problem, model, rb.Population(X, y, columns), confidence=0.9).promises
    return promise.worst


def test_the_worst_grouping_keeps_the_promise_where_it_did_not(both) -> None:
    X, y, race, columns = drawn(0)
    counted, for_all = both
    assert worst_of(counted, X, y, columns) < 0
    assert worst_of(for_all, X, y, columns) > -0.01  # out of fold it is 0 or more
    assert for_all.status_.feasible
    assert "In the worst grouping" in str(for_all.status_)
    assert "are asked for every grouping" in str(for_all.status_)
    yes = for_all.predict(X)
    assert yes[race == "a"].mean() >= 0.8 * yes[race == "b"].mean()


def test_no_adversary_within_what_the_audit_left_open_breaks_it(both) -> None:
    """Swap the unaudited rows' groups at random around the guesses, as often as audited rows allow."""
    X, _, _, columns = drawn(0)
    yes, random = both[1].predict(X).astype(bool), np.random.default_rng(1)
    seen, guess = columns["seen"], columns["race"]
    known = np.array([each is not None for each in seen])
    for _ in range(20):
        race = seen.copy()
        for j in ("a", "b"):
            for decided in (False, True):
                own = (guess == j) & (yes == decided)
                p = np.mean(seen[own & known] == "a")
                race[own & ~known] = random.choice(["a", "b"], (own & ~known).sum(), p=[p, 1 - p])
        assert yes[race == "a"].mean() >= 0.8 * yes[race == "b"].mean()


def test_too_few_audited_rows_are_said_with_how_many_it_takes() -> None:
    X, y, _, columns = drawn(1, 1500, audited=0.12)
    strict = 'positive_rate(race == "a") >= 0.97 * positive_rate(race == "b")'
    both_ways = [strict, strict.replace('"a"', '"c"').replace('"b"', '"a"').replace('"c"', '"b"')]
    model = fitted(columns, X, y, 0.99, both_ways, confidence=0.5)
    assert not model.status_.feasible
    assert model.status_.violation > 0
    assert "not kept for every grouping" in str(model.status_)
    assert "audited rows" in str(model.status_)


def test_files_and_other_promises_keep_what_was_asked(both, tmp_path) -> None:
    X, y, _, columns = drawn(0)
    again = rb.load(both[1].save(tmp_path / "model.safetensors"))
    assert again.problem.guessed[0].worst == 0.9
    assert str(again.status) == str(both[1].status_)
    other = both[1].with_constraints(PROMISE.replace("0.8", "0.7"))
    assert worst_of(other, X, y, columns) + 0.01 > -0.1 * other.predict(X).mean()
    assert "In the worst grouping" in str(other.status_)


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        ({}, {"method": "game"}, "found by the plug-in"),
        ({"race": None}, {}, "no column 'race' with a guess"),
        ({}, {"promise": 'precision(race == "a") >= 0.5'}, "worst case over groupings of 'race'"),
    ],
)
def test_what_cannot_be_asked_is_refused(given, options, words) -> None:
    X, y, _, columns = drawn(0, 400)
    columns = {name: value for name, value in (columns | given).items() if value is not None}
    with pytest.raises(ValueError, match=words):
        fitted(columns, X, y, 0.9, **options)


def test_worst_is_beside_audited() -> None:
    with pytest.raises(TypeError, match="give audited='column' too"):
        rb.guessed("race", missing="anything", worst=0.9)
    with pytest.raises(ValueError, match="below 1"):
        rb.guessed("race", audited="seen", worst=1.5)
    assert str(rb.guessed("race", audited="seen", worst=0.9)).endswith('audited="seen", worst=0.9)')
