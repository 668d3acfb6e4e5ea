"""Costs: their syntax, the values that a column of amounts may hold, and blocks with amounts."""

import numpy as np
import pytest

import ratebound._old as rb


def people(n=60, seed=0, **columns):
    random = np.random.default_rng(seed)
    own = {"loan": random.choice([5.0, 20.0, 300.0], n), "sex": random.choice(["F", "M"], n)} | columns
    return rb.Population(random.normal(size=(n, 2)), random.random(n) < 0.5, columns=own)


@pytest.mark.parametrize(
    ("said", "printed"),
    [
        ({"false_negative": 10}, "cost(false_negative=10, false_positive=1)"),
        ({"false_negative": 10, "false_positive": 1.0}, "cost(false_negative=10, false_positive=1)"),
        ({"column": "loan"}, 'cost(column="loan")'),
        ({"column": "loan", "false_positive": 1}, 'cost(column="loan")'),
        ({"column": 3, "false_negative": 2.5}, "cost(false_negative=2.5, column=3)"),
        (
            {"false_negative": "loan", "sex": "F"},
            'cost(sex == "F", false_negative="loan", false_positive=1)',
        ),
        ({"column": "loan", "per": 1000, "on": "pool"}, 'cost(column="loan", on="pool", per=1000)'),
        ({"label": "a", "predicted": "b"}, 'cost(label="a", predicted="b")'),
        ({"of": "a", "false_negative": 2}, 'cost(of="a", false_negative=2, false_positive=1)'),
    ],
)
def test_a_cost_has_one_form_that_is_read_back(said, printed):
    cost = rb.cost(**said)
    assert str(cost) == printed
    assert rb.parse(f"{printed} <= 3") == (cost <= 3)
    assert rb.parse(f"2 * {printed} <= accuracy() + 1") == (2 * cost <= rb.accuracy() + 1)


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ({}, "give the cost of errors, as in"),
        ({"sex": "F"}, "give the cost of errors, as in"),
        ({"false_negative": -1}, "takes a number that is not negative, got -1"),
        ({"false_negative": 0, "false_positive": 0}, "no error costs anything"),
        ({"false_negative": True}, "false_negative= of a cost, or a column"),
        ({"false_negative": float("inf")}, "finite"),
        ({"column": True}, "takes the name of a column, got True"),
        ({"column": ""}, "takes the name of a column"),
        ({"column": "loan", "false_negative": "fee"}, "is a column already"),
        ({"label": "a"}, "give both label= and predicted="),
        ({"label": "a", "predicted": "b", "false_negative": 2}, "give both label= and predicted="),
        ({"label": "a", "predicted": "b", "of": "a"}, "leave out of="),
        ({"column": "loan", "per": 0}, "above 0"),
        ({"column": "loan", "versus": "live"}, "cost does not take versus="),
    ],
)
def test_what_is_no_cost_is_refused(said, complaint):
    with pytest.raises((TypeError, ValueError), match=complaint):
        rb.cost(**said)


@pytest.mark.parametrize(
    ("column", "complaint"),
    [
        ([1.0, -2.0, 3.0, 4.0], "column 'loan' .* contains -2: costs must be finite and not negative"),
        ([1.0, np.inf, 3.0, 4.0], "column 'loan' .* contains inf"),
        ([0, 0, 0, 0], "column 'loan' is 0 in every row"),
        (["1", "2", "3", "4"], "column 'loan' .* contains text: it holds '1', '2', '3'"),
        (
            [1.0, np.nan, 3.0, 4.0],
            "column 'loan' has no value in 1 of the 2 rows whose errors it prices",
        ),
        ([None, None, None, None], "column 'loan' .* no value in any row"),
    ],
)
def test_a_column_that_is_no_amount_is_an_error_that_names_it(column, complaint):
    rows = rb.Population(None, [1, 1, 0, 0], columns={"loan": column})
    for words in ('cost(column="loan")', 'cost(false_negative="loan")'):
        with pytest.raises(ValueError, match=rf"cost\(.*population 'train': {complaint}"):
            rb.compile(rb.Problem(words), rows)
    with pytest.raises(ValueError, match=r"there is no column 'lone', did you mean 'loan'"):
        rb.compile(rb.Problem('cost(column="lone")'), rows)


def test_amounts_may_lack_where_no_error_is_priced_by_them():
    loss = [100.0, 50.0, None, None]  # a loss is known only for people who did not pay
    rows = rb.Population(None, [1, 1, 0, 0], columns={"loss": loss})
    compiled = rb.compile(rb.Problem('cost(false_negative="loss", false_positive=20)'), rows)
    assert compiled.evaluate([-1.0, 1.0, 1.0, -1.0])[0] == pytest.approx((100 + 20) / 4)


def test_costs_have_blocks_of_their_own_in_units_of_the_most_they_can_be():
    rows = people()
    problem = rb.Problem('cost(column="loan")', ["recall() >= 0.5", "cost(false_negative=9) <= 4"])
    compiled = rb.compile(problem, rows)
    assert [block.amounts is None for block in compiled.blocks] == [True, False]
    share = rows.y.mean()
    wanted = [rows.columns["loan"].mean(), 1.0, 9 * share + (1 - share)]
    np.testing.assert_allclose(compiled.scale, wanted)
    everything_wrong = np.where(rows.y, -1.0, 1.0)
    assert compiled.evaluate(everything_wrong)[0] == pytest.approx(compiled.scale[0])
    other = rb.compile(problem, people(loan=np.ones(60)))
    assert compiled.digest != other.digest
    assert problem.columns == ("loan",)


def test_a_slip_in_the_bound_is_found():
    for words in ("cost(false_negative=10) <= -1", "cost(false_negative=10) >= 11"):
        with pytest.raises(ValueError, match="no model can keep this"):
            rb.Problem("error_rate()", [words])
    rb.Problem("error_rate()", ['cost(column="loan") <= 5000', "cost(false_negative=9, per=100) <= 800"])


# ---- several classes ---------------------------------------------------------------------------------


def several(n=80, seed=0, weighted=True):
    random = np.random.default_rng(seed)
    y = random.choice(["bird", "cat", "dog"], n)
    columns = {"amount": random.choice([1.0, 7.0], n), "sex": random.choice(["F", "M"], n)}
    weights = random.choice([0.5, 2.0], n) if weighted else None
    return rb.Population(None, y, columns=columns, weights=weights), random.normal(size=(3, n))


@pytest.mark.parametrize("weighted", [False, True])
def test_costs_of_several_classes_are_those_counted_by_hand(weighted):
    rows, scores = several(weighted=weighted)
    names = np.array(rows.classes)
    label, decided = names[rows.y], names[scores.argmax(axis=0)]
    weights, amount = rows.row_weights, rows.columns["amount"]
    matrix = {("cat", "dog"): 5.0, ("cat", "bird"): 2.0, ("dog", "cat"): 0.5, ("bird", "bird"): 0.25}
    missed, alarm = (label == "cat") & (decided != "cat"), (label != "cat") & (decided == "cat")
    women = rows.columns["sex"] == "F"
    wanted = {
        'cost(of="cat", false_negative=10, false_positive=3)': (10 * missed + 3 * alarm, 1),
        'cost(of="cat", false_negative=10, column="amount")': ((10 * missed + alarm) * amount, 1),
        'cost(column="amount")': ((label != decided) * amount, 1),
        'cost(sex == "F", column="amount")': ((label != decided) * amount, women),
        " + ".join(f'{c} * cost(label="{a}", predicted="{b}")' for (a, b), c in matrix.items()): (
            sum(c * ((label == a) & (decided == b)) for (a, b), c in matrix.items()),
            1,
        ),
    }
    for words, (each, inside) in wanted.items():
        compiled = rb.compile(rb.Problem(words), rows)
        value = (weights * each * inside).sum() / (weights * inside).sum()
        assert compiled.evaluate(scores)[0] == pytest.approx(value), words
    summed = sum(c * rb.cost(label=a, predicted=b) for (a, b), c in matrix.items())
    assert rb.Problem(list(wanted)[-1]).objective == summed


def test_an_error_of_several_classes_says_of_which():
    rows, _ = several()
    with pytest.raises(ValueError, match=r"there are 3 classes, so name one: cost\(of=\"bird\""):
        rb.compile(rb.Problem("cost(false_negative=2)"), rows)
    with pytest.raises(ValueError, match='there is no class "rat"'):
        rb.compile(rb.Problem('cost(label="rat", predicted="dog")'), rows)


def test_of_two_classes_either_may_be_named():
    rows = people()
    scores = rows.X[:, 0]

    def value(words):
        return rb.compile(rb.Problem(words), rows).evaluate(scores)[0]

    plain = value('cost(false_negative=10, false_positive="loan")')
    assert value('cost(of=True, false_negative=10, false_positive="loan")') == pytest.approx(plain)
    assert value('cost(of=False, false_negative="loan", false_positive=10)') == pytest.approx(plain)
    cells = 'cost(label=False, predicted=True, column="loan")', "10 * cost(label=True, predicted=False)"
    assert value(" + ".join(cells)) == pytest.approx(plain)
    right = ((scores >= 0) & rows.y).mean()
    assert value("cost(label=True, predicted=True)") == pytest.approx(right)


def test_counts_are_per_so_many_rows_of_a_population_of_known_size():
    applicants = rb.Population(np.arange(50.0)[:, None])
    words = [
        'predicted_positives(on="applicants") <= 8',
        'predicted_positives(on="applicants", per=1000) <= 8',
    ]
    compiled = rb.compile(rb.Problem("error_rate()", words), people(), applicants=applicants)
    scores = {"train": np.ones(60), "applicants": np.where(np.arange(50) < 10, 1.0, -1.0)}
    np.testing.assert_allclose(compiled.evaluate(scores)[1], [10 - 8, 200 - 8])
    assert str(compiled.constraints[0]) == 'predicted_positives(on="applicants", per=50) <= 8.0'
