"""Counts are out of a stated number of rows: all rows given, or as many as they say."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import ratebound._old as rb


def people(rows=60, seed=0, weights=None, labelled=True):
    random = np.random.default_rng(seed)
    columns = {"sex": random.choice(["F", "M"], rows), "live": random.random(rows) < 0.5}
    y = random.random(rows) < 0.4 if labelled else None
    own = None if weights is None else random.choice(weights, rows)
    return rb.Population(random.normal(size=(rows, 1)), y, columns=columns, weights=own)


def test_compiling_states_out_of_how_many_rows():
    compiled = rb.compile(rb.Problem("false_negatives()", ["predicted_positives() <= 18"]), people())
    assert str(compiled.problem.objective) == "false_negatives(per=60)"
    assert list(map(str, compiled.constraints)) == ["predicted_positives(per=60) <= 18.0"]
    assert compiled.constraints == compiled.problem.subject_to
    assert compiled.scale.tolist() == [60, 60]


def test_what_says_it_already_and_what_is_no_count_stays():
    words = ["predicted_positives(per=7) <= 3", "recall() >= 0.2", "precision() >= 0.3"]
    problem = rb.Problem("error_rate()", words)
    assert rb.compile(problem, people()).problem is problem


COUNTED = {
    "predicted_positives()": lambda f, y, w, h: f,
    "predicted_negatives()": lambda f, y, w, h: ~f,
    "true_positives()": lambda f, y, w, h: f & y,
    'predicted_positives(sex == "F")': lambda f, y, w, h: f & w,
    'wins(versus="live")': lambda f, y, w, h: (f != h) & (f == y),
}


@pytest.mark.parametrize("weights", [None, (0.5, 1.0, 2.5)], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("said", COUNTED)
def test_a_part_says_what_the_whole_would(said, weights):
    whole = people(600, weights=weights)
    everyone = rb.compile(rb.Problem("error_rate()", [f"{said} <= 20"]), whole)
    chosen = np.arange(600) % 5 == 0
    part = whole.only(chosen)
    compiled = rb.compile(everyone.problem, part)
    scores = part.X[:, 0]
    v = np.ones(len(part)) if weights is None else part.weights
    total = 600 if weights is None else whole.weights.sum()
    inside = COUNTED[said](scores >= 0, part.y, part.columns["sex"] == "F", part.columns["live"])
    expected = v[inside].sum() * total / v.sum() - 20
    assert compiled.evaluate(scores)[1] == pytest.approx(expected)
    assert compiled.scale[1] == pytest.approx(total)


def test_each_population_has_its_own_number():
    words = ["predicted_positives() + predicted_positives(on='pool') <= 30"]
    train, pool = people(), people(200, 1, labelled=False)
    compiled = rb.compile(rb.Problem("error_rate()", words), train, pool=pool)
    (constraint,) = compiled.constraints
    assert str(constraint.left) == (
        'predicted_positives(per=60) + predicted_positives(on="pool", per=200)'
    )
    half = rb.compile(compiled.problem, train, pool=pool.only(np.arange(100)))
    decided = {"train": np.ones(60), "pool": np.ones(100)}
    assert half.evaluate(decided)[1] == pytest.approx(60 + 200 - 30)


def test_the_population_may_be_named_in_words():
    compiled = rb.compile(
        rb.Problem("error_rate()", ["losses(versus='live', on='train') <= 3"]), people()
    )
    assert compiled.constraints[0].left.terms[0][0].per == 60


def test_counts_out_of_different_numbers_add_up():
    words = ["predicted_positives() + predicted_positives(per=60) <= 30"]
    compiled = rb.compile(rb.Problem("error_rate()", words), people())
    assert str(compiled.constraints[0]) == "2.0 * predicted_positives(per=60) <= 30.0"


def test_names_survive():
    promise = replace(rb.predicted_positives() <= 9, name="what we can serve")
    compiled = rb.compile(rb.Problem("error_rate()", [promise]), people())
    assert compiled.constraints[0].name == "what we can serve"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("recall(per=10) >= 0.5", "recall takes per= only with top="),
        ("churn(versus='live', per=10) <= 0.5", "churn does not take per="),
        ("precision(per=10) >= 0.5", "precision takes per= only with top="),
        ("predicted_positives(per=0) <= 5", "a number of rows above 0, got 0"),
        ("predicted_positives(per=-3) <= 5", "above 0"),
        ("predicted_positives(per='x') <= 5", "a number of rows, as in"),
    ],
)
def test_what_per_does_not_take(words, complaint):
    with pytest.raises(ValueError, match=complaint):
        rb.parse(words)


@pytest.mark.parametrize("text", ["6000", "12.5"])
def test_text_reads_back(text):
    words = f'wins(sex == "F", versus="live", on="pool", per={text}) >= 3.0'
    assert str(rb.parse(words)) == words


def test_rows_without_weight_are_no_population():
    whole = rb.Population([[1.0], [2.0]], [0, 1], weights=[0.0, 1.0])
    with pytest.raises(ValueError, match="all have weight zero"):
        whole.only([0])


def test_watched_counts_must_be_out_of_as_many_rows():
    train, other = people(600), people(100, 1)
    problem = rb.Problem("error_rate()", ["predicted_positives() <= 60"])
    compiled, watched = rb.compile(problem, train), rb.compile(problem, other)
    for learner in (rb.Linear(), rb.Oracle(DecisionTreeClassifier(max_depth=1))):
        with pytest.raises(ValueError, match=r"'other' are out of 100 rows, but training's .* 600"):
            rb.play(compiled, learner, rounds=1, watch={"other": watched})
    watched = rb.compile(compiled.problem, other)
    trace = rb.play(compiled, rb.Linear(), rounds=1, watch={"other": watched})
    yeses = 60 + trace.watched["other"].violations[0, 0]
    assert yeses % 6 == pytest.approx(0, abs=1e-9)  # each of the hundred stands for six
