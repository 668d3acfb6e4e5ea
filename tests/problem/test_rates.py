"""Rates on rows: scikit-learn's values, rates of one's own, and costs counted by hand."""

import numpy as np
import pytest
from sklearn import metrics

import ratebound as rb

RANDOM = np.random.default_rng(0)
ROWS = 200
LABELS = RANDOM.random(ROWS) < 0.4
YES = RANDOM.random(ROWS) < 0.5
WEIGHTS = RANDOM.integers(1, 4, ROWS).astype(float)

SKLEARN = {
    "recall()": metrics.recall_score,
    "precision()": metrics.precision_score,
    "accuracy()": metrics.accuracy_score,
    "error_rate()": metrics.zero_one_loss,
    "f_score()": metrics.f1_score,
    "f_score(beta=2)": lambda *arguments, **options: metrics.fbeta_score(
        *arguments, beta=2, **options
    ),
    "jaccard()": metrics.jaccard_score,
    "0.5 * recall() + 0.5 * true_negative_rate()": metrics.balanced_accuracy_score,
    "positive_rate(of=True, by=\"yes\")": lambda label, yes, sample_weight: np.average(
        yes, weights=sample_weight
    ),
}  # fmt: skip


@pytest.mark.parametrize("rate", SKLEARN)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
def test_rates_are_what_scikit_learn_computes(rate, weights):
    expected = SKLEARN[rate](LABELS, YES, sample_weight=weights)
    rows = rb.Population(None, LABELS, {"yes": YES}, weights)
    sense = "minimize" if rate == "error_rate()" else "maximize"
    compiled = rb.compile(rb.Problem(**{sense: rate}), rows)
    sign = 1 if sense == "minimize" else -1
    scores = np.where(YES, 1.0, -1.0)
    assert sign * compiled.evaluate(scores)[0] == pytest.approx(expected)


# --- rates of one's own ---------------------------------------------------------------------------

OWN = [  # a definition, and the rate of the table that it should equal
    (("own_yes", "d"), "positive_rate"),
    (("own_recall", "d", "y"), "recall"),
    (("own_alarm", "d&~y", "~y"), "false_positive_rate"),
    (("own_hits", "d & y", None), "true_positives"),
    (("own_errors", "d!=y"), "error_rate"),
    (("own_precision", "y", "d"), "precision"),
    (("own_churn", "d!=v"), "churn"),
    (("own_losses", "d!=y", "v==y"), "loss_only_churn"),
]


@pytest.mark.parametrize(("definition", "built_in"), OWN)
def test_rates_of_ones_own_count_as_the_table_does(definition, built_in):
    require_same_values(rb.rate(*definition).name, built_in)


def test_ratios_of_ones_own_count_as_the_table_does():
    rb.ratio("own_jaccard", "d & y", "d or y")
    require_same_values("own_jaccard", "jaccard")


def require_same_values(name, built_in):
    sex = RANDOM.choice(["F", "M"], ROWS)
    rows = rb.Population(None, LABELS, {"sex": sex, "live": YES})
    versus = ', versus="live"' if built_in in ("churn", "loss_only_churn") else ""
    texts = [f'{rate}(sex == "F"{versus}) >= 0.3' for rate in (name, built_in)]
    compiled = rb.compile(rb.Problem("error_rate()", texts), rows)
    violations = compiled.evaluate(RANDOM.normal(size=(5, ROWS)))[1]
    np.testing.assert_allclose(violations[:, 0], violations[:, 1])


def test_a_ratio_of_ones_own_may_be_above_1():
    rb.ratio("frequency_bias", "d", "y")
    rows = rb.Population(None, LABELS)
    compiled = rb.compile(rb.Problem("error_rate()", ["frequency_bias() <= 1.1"]), rows)
    (violation,) = compiled.evaluate(np.ones(ROWS))[1]
    assert violation == pytest.approx(ROWS / LABELS.sum() - 1.1)


# --- costs ----------------------------------------------------------------------------------------

COLUMNS = {
    "loan": RANDOM.integers(1, 9, ROWS).astype(float),
    "fee": RANDOM.random(ROWS),
    "sex": RANDOM.choice(["F", "M"], ROWS),
}
MISSED = LABELS & ~YES
ALARM = ~LABELS & YES
COSTS = {  # a cost, and what it is for each row
    "cost(false_negative=10)": 10 * MISSED + ALARM,
    "cost(false_negative=10, false_positive=0.5)": 10 * MISSED + 0.5 * ALARM,
    "cost(false_negative=0, false_positive=3)": 3 * ALARM,
    'cost(column="loan")': (MISSED | ALARM) * COLUMNS["loan"],
    'cost(false_negative=3, column="loan")': (3 * MISSED + ALARM) * COLUMNS["loan"],
    'cost(false_negative="loan", false_positive="fee")': MISSED * COLUMNS["loan"]
    + ALARM * COLUMNS["fee"],
    'cost(false_negative="loan", false_positive=0.5)': MISSED * COLUMNS["loan"] + 0.5 * ALARM,
    "cost(label=False, predicted=True)": ALARM,
    "cost(label=True, predicted=True)": LABELS & YES,
    'cost(label=True, predicted=False, column="loan")': MISSED * COLUMNS["loan"],
    'cost(of=False, false_negative="loan", false_positive=10)': ALARM * COLUMNS["loan"]
    + 10 * MISSED,
}


@pytest.mark.parametrize("text", COSTS)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
def test_costs_are_those_counted_by_hand(text, weights):
    rows = rb.Population(None, LABELS, COLUMNS, weights)
    scores = np.where(YES, 1.0, -1.0)
    compiled = rb.compile(rb.Problem(text), rows)
    assert compiled.evaluate(scores)[0] == pytest.approx(np.average(COSTS[text], weights=weights))
    women = COLUMNS["sex"] == "F"
    of_women = text.replace("cost(", 'cost(sex == "F", ')
    compiled = rb.compile(rb.Problem(of_women), rows)
    used = None if weights is None else weights[women]
    expected = np.average(COSTS[text][women], weights=used)
    assert compiled.evaluate(scores)[0] == pytest.approx(expected)


def test_costs_per_so_many_rows_are_a_total():
    rows = rb.Population(None, LABELS, COLUMNS)
    scores = np.where(YES, 1.0, -1.0)
    texts = ['cost(sex == "F", column="loan", per=1000) <= 0']
    (violation,) = rb.compile(rb.Problem("error_rate()", texts), rows).evaluate(scores)[1]
    women = COLUMNS["sex"] == "F"
    total = ((MISSED | ALARM) * COLUMNS["loan"])[women].sum()
    assert violation == pytest.approx(total * 1000 / ROWS)


def test_amounts_are_not_needed_where_nothing_is_priced():
    loan = np.where(LABELS, COLUMNS["loan"], np.nan)  # unknown where there was no loan
    rows = rb.Population(None, LABELS, {"loan": loan})
    compiled = rb.compile(rb.Problem('cost(false_negative="loan")'), rows)
    costs = np.where(LABELS, COLUMNS["loan"], 0) * MISSED + ALARM
    assert compiled.evaluate(np.where(YES, 1.0, -1.0))[0] == pytest.approx(costs.mean())
    with pytest.raises(ValueError, match="whose errors it prices"):
        rb.compile(rb.Problem('cost(column="loan")'), rows)


@pytest.mark.parametrize("weighted", [False, True])
def test_costs_of_several_classes_are_those_counted_by_hand(weighted):
    random = np.random.default_rng(1)
    labels = random.choice(["bird", "cat", "dog"], 80)
    amount = random.choice([1.0, 7.0], 80)
    weights = random.choice([0.5, 2.0], 80) if weighted else None
    rows = rb.Population(None, labels, {"amount": amount}, weights)
    scores = random.normal(size=(3, 80))
    decided = np.array(["bird", "cat", "dog"])[scores.argmax(axis=0)]
    missed = (labels == "cat") & (decided != "cat")
    alarm = (labels != "cat") & (decided == "cat")
    dog_for_cat = (labels == "cat") & (decided == "dog")
    cat_for_dog = (labels == "dog") & (decided == "cat")
    expected = {
        'cost(of="cat", false_negative=10, false_positive=3)': 10 * missed + 3 * alarm,
        'cost(of="cat", false_negative=10, column="amount")': (10 * missed + alarm) * amount,
        'cost(column="amount")': (labels != decided) * amount,
        '5 * cost(label="cat", predicted="dog") + 0.5 * cost(label="dog", predicted="cat")':
            5 * dog_for_cat + 0.5 * cat_for_dog,
    }  # fmt: skip
    for text, costs in expected.items():
        compiled = rb.compile(rb.Problem(text), rows)
        value = np.average(costs, weights=weights)
        assert compiled.evaluate(scores)[0] == pytest.approx(value), text


# --- counts ---------------------------------------------------------------------------------------


def test_counts_are_out_of_all_rows_or_as_many_as_they_say():
    pool = rb.Population(columns={"a": range(50)})
    texts = [
        "predicted_positives() <= 8",
        "predicted_positives(per=1000) <= 8",
        'predicted_positives(on="pool") <= 8',
        'predicted_positives(on="pool", per=1000) <= 8',
        "predicted_positives() + predicted_positives(per=200) <= 8",
    ]
    rows = rb.Population(None, LABELS)
    compiled = rb.compile(rb.Problem("error_rate()", texts), rows, pool=pool)
    scores = np.append(np.where(YES, 1.0, -1.0), np.where(np.arange(50) < 10, 1.0, -1.0))
    counts = [YES.sum(), 1000 * YES.mean(), 10, 200, 2 * YES.sum()]
    np.testing.assert_allclose(compiled.evaluate(scores)[1], np.array(counts) - 8)


def test_weights_count_as_copies_of_rows():
    copies = np.repeat(np.arange(ROWS), WEIGHTS.astype(int))
    texts = [
        "recall() >= 0.5",
        "predicted_positives() <= 8",
        "precision() >= 0.5",
        "roc_auc() >= 0",
    ]
    problem = rb.Problem("error_rate()", texts)
    scores = RANDOM.normal(size=(3, ROWS))
    weighted = rb.compile(problem, rb.Population(None, LABELS, weights=WEIGHTS))
    copied = rb.compile(problem, rb.Population(None, LABELS[copies]))
    for ours, theirs in zip(
        weighted.evaluate(scores), copied.evaluate(scores[:, copies]), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
