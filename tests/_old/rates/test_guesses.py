"""What `rb.guessed` says, what it refuses, and promises that hold whatever is missing."""

import pytest

import ratebound._old as rb
from ratebound._old.problem.problem import from_plain, to_plain
from ratebound._old.rates.guesses import possibly, surely

ANYTHING = rb.guessed("race", missing="anything")


def said(promise: str) -> str:
    return str(rb.Problem("error_rate()", [promise], guessed=ANYTHING).subject_to[0])


@pytest.mark.parametrize(
    ("columns", "values"),
    [
        (["p_black", "p_white"], ("black", "white")),
        (["race_p_white", "race_p_who", "race_p_other"], ("white", "who", "other")),
        (["bifsg_2", "bifsg_1"], ("2", "1")),
    ],
)
def test_values_follow_from_names(columns: list[str], values: tuple[str, ...]) -> None:
    assert rb.guessed("race", probabilities=columns).values == values


def test_values_of_columns_may_be_said() -> None:
    by_list = rb.guessed("race", probabilities=["b", "w"], values=["black", "white"])
    assert by_list == rb.guessed("race", probabilities={"black": "b", "white": "w"})
    assert by_list.columns == ("b", "w")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "nothing is given"),
        ({"probabilities": ["p_a", "p_b"], "missing": "anything"}, "probabilities and missing exclude"),
        ({"audited": "seen", "missing": "anything"}, "give one of"),
        ({"missing": "anything", "values": ["a"]}, "values="),
        ({"probabilities": "p_a"}, "several columns"),
    ],
)
def test_one_way_is_said(options: dict[str, object], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        rb.guessed("race", **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"probabilities": ["black", "white"]}, "do not tell the values"),
        ({"probabilities": ["p_a"]}, "do not tell the values|at least two values"),
        ({"probabilities": ["p_a", "p_b"], "values": ["a"]}, "1 values for 2 columns"),
        ({"probabilities": ["p_a", "p_b"], "values": ["a", "a"]}, "'a' is given twice"),
        ({"probabilities": {"a": "p", "b": "p"}}, "'p' is given twice"),
        ({"missing": "random"}, "takes 'anything'"),
        ({"audited": "race"}, "another column"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        rb.guessed("race", **options)


def test_a_column_is_known_in_one_way() -> None:
    one, two = ANYTHING, rb.guessed("race", audited="seen")
    with pytest.raises(ValueError, match="'race' is given twice"):
        rb.Problem("error_rate()", guessed=[one, two])
    with pytest.raises(ValueError, match="two columns do not give the probabilities of both"):
        rb.Problem(
            "error_rate()",
            guessed=[rb.guessed(name, probabilities=["p_a", "p_b"]) for name in ("race", "sex")],
        )
    with pytest.raises(TypeError, match=r"rb\.guessed"):
        rb.Problem("error_rate()", guessed="race")


def test_a_promise_about_what_is_missing_is_a_ratio_in_words() -> None:
    words = said('recall(race == "b", sex == "f") >= 0.8')
    group = 'race == "b" and sex == "f"'
    maybe = '(race == "b" or missing(race)) and sex == "f"'
    right = f"true_positives({group})"
    assert words == f"{right} / ({right} + false_negatives({maybe})) >= 0.8"
    assert said("recall() >= 0.8") == "recall() >= 0.8"
    assert rb.parse(words) == rb.Problem("error_rate()", [words]).subject_to[0]


def test_it_is_named_as_it_was_said() -> None:
    promise = 'positive_rate(race == "b") >= 0.8 * positive_rate(race == "w")'
    (kept,) = rb.Problem("error_rate()", [promise], guessed=ANYTHING).subject_to
    assert kept.name == promise


@pytest.mark.parametrize(
    "promise",
    [
        'cost(race == "b", false_negative=2) <= 0.1',
        'recall(race == "b") + recall(race == "w") >= 1.5',
        'recall(race == "b") + recall() >= 1.5 * recall(race == "w")',
        'roc_auc(race == "b") >= 0.8',
        'true_positives(race == "b") / predicted_positives(race == "b") >= 0.5',
        "equal_opportunity(race, slack=0.1)",
    ],
)
def test_worst_cases_that_are_not_known_are_refused(promise: str) -> None:
    with pytest.raises(ValueError, match="race"):
        said(promise)


def test_an_objective_names_no_group_that_may_be_anything() -> None:
    with pytest.raises(ValueError, match="only in promises"):
        rb.Problem('error_rate(race == "b")', guessed=ANYTHING)


def test_two_columns_of_which_nothing_is_known_are_refused_together() -> None:
    both = [ANYTHING, rb.guessed("sex", missing="anything")]
    with pytest.raises(ValueError, match="race and sex"):
        rb.Problem("error_rate()", ['recall(race == "b", sex == "f") >= 0.5'], guessed=both)


@pytest.mark.parametrize(
    "text",
    [
        'race == "a"',
        'race != "a"',
        'not race == "a"',
        'race in ("a", "b") and sex == "f"',
        'not (race == "a" or sex == "f")',
        'race == "a" or race == "b"',
    ],
)
def test_surely_and_possibly_hold_for_every_value(text: str) -> None:
    # A rate carries the subset; of every completion, surely is inside and possibly is not outside.
    (rate,) = rb.parse(f"positive_rate({text}) <= 1").rates
    races, sexes = ["a", "b", "c", None], ["f", "m"]
    rows = [(race, sex) for race in races for sex in sexes]

    def inside(subset: rb.Subset, people: list[tuple[str | None, str]]) -> list[bool]:
        from ratebound._old.problem.masks import masker

        columns = {"race": [race for race, _ in people], "sex": [sex for _, sex in people]}
        mask = masker(rb.Population(None, columns=columns), absent=True)
        return mask(subset).tolist()

    sure, possible = (inside(each(rate.subset, "race"), rows) for each in (surely, possibly))
    for place, (race, sex) in enumerate(rows):
        may_be = [race] if race is not None else ["a", "b", "c"]
        each = inside(rate.subset, [(value, sex) for value in may_be])
        assert sure[place] <= all(each)
        assert possible[place] >= any(each)
        if text.count("race") == 1:  # then both are exact
            assert (sure[place], possible[place]) == (all(each), any(each))


@pytest.mark.parametrize(
    "way",
    [
        ANYTHING,
        rb.guessed("race", audited="seen"),
        rb.guessed("race", probabilities={"b": "p_b", "w": "p_w"}),
    ],
)
def test_files_keep_how_a_column_is_known(way: rb.Guessed) -> None:
    problem = rb.Problem("error_rate()", ['recall(race == "b") >= 0.8'], guessed=way)
    again = from_plain(to_plain(problem))
    assert again == problem
    assert again.guessed == (way,)
    assert problem.promising(["recall() >= 0.5"]).guessed == (way,)


def test_a_column_alone_is_refused_with_promises_that_can_be_written():
    guessed = rb.guessed("race", missing="anything")
    with pytest.raises(
        ValueError, match=r'in recall\(race == "a"\) >= 0.9 \* recall\(\), or in Python rb'
    ):
        rb.Problem("error_rate()", "recall(race) >= 0.5 * recall()", guessed=guessed)
    assert rb.Problem("error_rate()", 'recall(race == "a") >= 0.9 * recall()', guessed=guessed)
    two = rb.equal_opportunity({"race": ("a", "b")}, ratio=0.9)
    assert len(rb.Problem("error_rate()", two, guessed=guessed).subject_to) == 2
