"""What promises cost does not grow with their number: the defaults beside cutting planes."""

import pytest
from sklearn.linear_model import LogisticRegression

import ratebound._old as rb

RACES = ("White", "Black", "Asian-Pac-Islander", "Other")
PROMISES = {
    "four": rb.equal_opportunity({"race": ("Black", "White"), "sex": ("Female", "Male")}, ratio=0.95),
    "thirty-two": [
        promise
        for sex in ("Female", "Male")
        for race in RACES
        for rate in (rb.recall, rb.false_positive_rate)
        for promise in (
            rate(sex=sex, race=race) <= rate() + 0.05,
            rate(sex=sex, race=race) >= rate() - 0.05,
        )
    ],
}


@pytest.mark.parametrize("name", [pytest.param("four", marks=pytest.mark.slow), "thirty-two"])
def test_the_defaults_cost_no_more_than_cutting_planes(name):
    people = rb.datasets.load_adult().train
    model = rb.RateConstrainedClassifier(PROMISES[name], random_state=0, confidence=None)
    model.fit(people.X, people.y, columns=people.columns)
    assert model.status_.feasible
    compiled = rb.compile(rb.Problem(rb.error_rate(), PROMISES[name]), people)
    oracle = rb.Oracle(LogisticRegression(solver="liblinear"))
    best = rb.shrink(rb.play(compiled, oracle, rounds=30))
    assert model.solution_.objectives["train"] <= best.objectives["train"] + 0.003


@pytest.mark.parametrize(("constraints", "player"), [(100, rb.SwapRegret), (101, rb.ExternalRegret)])
def test_among_many_the_players_rates_are_shared(constraints, player):
    found = rb.Linear().opponent(constraints)
    assert isinstance(found, player)
    if player is rb.ExternalRegret:
        assert max(found.learning_rate) * constraints == pytest.approx(0.3)
