"""The table of rates: what each name counts, its options, its formula and its help."""

from itertools import product

import pytest

import ratebound as rb
from ratebound.rates.goals import GOALS
from ratebound.rates.sums import OPTIONS, Part
from ratebound.rates.table import ALIASES, KINDS, evaluate_event, join_event, list_directions

FORMULAS = {
    "positive_rate": "#(ŷ) / #(1)",
    "negative_rate": "#(~ŷ) / #(1)",
    "recall": "#(ŷ & y) / #(y)",
    "false_negative_rate": "#(~ŷ & y) / #(y)",
    "false_positive_rate": "#(ŷ & ~y) / #(~y)",
    "true_negative_rate": "#(~ŷ & ~y) / #(~y)",
    "accuracy": "#(ŷ==y) / #(1)",
    "error_rate": "#(ŷ!=y) / #(1)",
    "precision": "#(y & ŷ) / #(ŷ)",
    "false_discovery_rate": "#(~y & ŷ) / #(ŷ)",
    "negative_predictive_value": "#(~y & ~ŷ) / #(~ŷ)",
    "false_omission_rate": "#(y & ~ŷ) / #(~ŷ)",
    "jaccard": "#(ŷ & y) / #(ŷ or y)",
    "f_score": "2 #(ŷ & y) / (#(ŷ) + #(y))",
    "confusion": "#(ŷ=predicted & y=label) / #(y=label)",
    "prevalence": "#(y) / #(1)",
    "churn": "#(ŷ!=v) / #(1)",
    "loss_only_churn": "#(ŷ!=y & v==y) / #(v==y)",
    "referred": "#(~decided) / #(1)",
    "win_loss_ratio": "#(ŷ==y & v!=y) / #(ŷ!=y & v==y)",
    "cost": "(10 #(~ŷ & y) + #(ŷ & ~y)) / #(1)",
    "roc_auc": "mean across thresholds of #(ŷ & y) / #(y)",
    "ranked_right": "#(ŷ) / #(1)",
    # counts
    "predicted_positives": "#(ŷ)",
    "predicted_negatives": "#(~ŷ)",
    "true_positives": "#(ŷ & y)",
    "false_negatives": "#(~ŷ & y)",
    "false_positives": "#(ŷ & ~y)",
    "true_negatives": "#(~ŷ & ~y)",
    "errors": "#(ŷ!=y)",
    "losses": "#(ŷ!=y & v==y)",
    "wins": "#(ŷ==y & v!=y)",
    "referrals": "#(~decided)",
    "decisions": "#(decided)",
}


def built_in_names():
    return [name for name, kind in KINDS.items() if not kind.is_own]


def test_the_formulas_are_those_of_all_rates():
    assert set(FORMULAS) == set(built_in_names())


@pytest.mark.parametrize("name", FORMULAS)
def test_the_formula_says_what_is_counted(name):
    assert KINDS[name].formula == FORMULAS[name]


@pytest.mark.parametrize("name", built_in_names())
def test_help_describes_the_rate(name):
    kind = getattr(rb, name)
    assert kind.__name__ == name
    first, _, rest = kind.__doc__.partition("\n")
    assert first == kind.meaning
    assert first.endswith(".")
    assert f"It is ``{FORMULAS[name]}``" in rest
    assert f">>> {kind.make_example()}" in rest
    for option in kind.takes:
        assert f"\n{option} : " in rest


@pytest.mark.parametrize("alias", ALIASES)
def test_an_alias_is_the_same_rate(alias):
    assert getattr(rb, alias) is KINDS[ALIASES[alias]]


def test_no_name_is_taken_twice():
    assert not {*KINDS} & {*ALIASES}
    assert not {*KINDS, *ALIASES} & {*GOALS}
    assert not {*KINDS, *ALIASES, *GOALS} & {*OPTIONS}


TAKES = {
    "recall": "of by on at top per",
    "precision": "of by on at top per",
    "positive_rate": "of by on at",
    "predicted_positives": "of by on at per",
    "accuracy": "by on at",
    "errors": "by on at per",
    "prevalence": "of on",
    "churn": "versus on at",
    "wins": "versus on at per",
    "confusion": "label predicted by on at",
    "f_score": "of beta by on at",
    "roc_auc": "of on bins",
    "referred": "on at",
    "ranked_right": "",
}


@pytest.mark.parametrize("name", TAKES)
def test_options_follow_from_what_is_counted(name):
    assert list(KINDS[name].takes) == TAKES[name].split()


@pytest.mark.parametrize(
    ("event", "holds"),
    [
        ("1", lambda d, y, v: True),
        ("d", lambda d, y, v: d == "b"),
        ("~d", lambda d, y, v: d in ("a", "c")),  # a referral is not a class
        ("y", lambda d, y, v: y == "b"),
        ("~y", lambda d, y, v: y != "b"),
        ("v", lambda d, y, v: v == "b"),
        ("d==y", lambda d, y, v: d == y),
        ("d!=y", lambda d, y, v: d != "ask" and d != y),
        ("v!=y", lambda d, y, v: v != "ask" and v != y),
        ("d!=v", lambda d, y, v: d != v),
        ("d==v", lambda d, y, v: d == v),
        ("decided", lambda d, y, v: d != "ask"),
        ("~decided", lambda d, y, v: d == "ask"),
        ("d & ~y", lambda d, y, v: d == "b" and y != "b"),
        ("d or y", lambda d, y, v: "b" in (d, y)),
        ("d=predicted & y=label", lambda d, y, v: (d, y) == ("c", "a")),
    ],
)
def test_where_an_event_holds(event, holds):
    classes = ["a", "b", "c"]
    decisions = [*classes, "ask"]
    named = {"label": 0, "predicted": 2}
    table = evaluate_event(event, len(decisions), len(classes), 1, named)
    for d, y, v in product(range(4), range(3), range(4)):
        indices = [min(index, size - 1) for index, size in zip((d, y, v), table.shape, strict=True)]
        expected = holds(decisions[d], classes[y], decisions[v])
        assert table[tuple(indices)] == expected, (decisions[d], classes[y], decisions[v])


@pytest.mark.parametrize(
    ("event", "literal", "joined"),
    [
        ("d & y", "decided", "d & y & decided"),
        ("d & y", "y", "d & y"),
        ("d & y", "1", "d & y"),
        ("1", "decided", "decided"),
        ("d or y", "decided", "d & decided or y & decided"),
    ],
)
def test_a_literal_joins_every_alternative(event, literal, joined):
    assert join_event(event, literal) == joined


@pytest.mark.parametrize(
    ("text", "directions"),
    [
        ("recall()", {"more"}),
        ("error_rate() - recall()", {"less"}),
        ("error_rate() + recall()", {"more", "less"}),
        ("prevalence() + recall()", {"more"}),
        ("positive_rate()", {"either"}),
        ("recall() / accuracy()", {"either"}),
        ("cost(false_negative=2)", {"less"}),
    ],
)
def test_directions_in_which_a_sum_becomes_better(text, directions):
    assert list_directions(rb.parse_objective(text)) == directions


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("cost(false_negative=10)", [Part("~d & y", 10), Part("d & ~y", 1)]),
        ("cost(false_negative=0, false_positive=3)", [Part("d & ~y", 3)]),
        ('cost(column="loan")', [Part("d!=y", 1, "loan")]),
        ("cost(column=3)", [Part("d!=y", 1, 3)]),
        (
            'cost(false_negative=3, column="loan")',
            [Part("~d & y", 3, "loan"), Part("d & ~y", 1, "loan")],
        ),
        (
            'cost(false_negative="loan", false_positive=2)',
            [Part("~d & y", 1, "loan"), Part("d & ~y", 2)],
        ),
        ('cost(label="a", predicted="b")', [Part("d=predicted & y=label", 1)]),
    ],
)
def test_a_cost_prices_each_kind_of_error(text, parts):
    (rate,) = rb.parse_objective(text).rates
    assert list(rate.counted) == parts
    assert rate.among == (Part("1"),)


@pytest.mark.parametrize(
    ("text", "counted", "among"),
    [
        ('recall(by="live")', "v & y", "y"),
        ('accuracy(by="live")', "v==y", "1"),
        ('confusion(label=1, predicted=2, by="live")', "v=predicted & y=label", "y=label"),
        ("recall(decided)", "d & y & decided", "y & decided"),
        ("error_rate(decided and a == 1)", "d!=y & decided", "decided"),
        ('churn(decided, versus="live")', "d!=v & decided", "decided"),
    ],
)
def test_options_and_conditions_change_what_is_counted(text, counted, among):
    (rate,) = rb.parse_objective(text).rates
    assert [part.event for part in rate.counted] == [counted]
    assert [part.event for part in rate.among] == [among]
