"""The named rates. Text, compiling, audits, `help` and the docs all follow from this one definition.

`event` is what a formula counts, and among which rows ({c} is the class a rate is about). `example` is a
demand in plain words, and the promise that states it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ratebound._old.base.checks import as_number
from ratebound._old.rates.costs import OWN, check_costs, priced
from ratebound._old.rates.expressions import Area, Expression, Ratio
from ratebound._old.rates.kinds import ANY, KINDS, NO, YES, Atom, Kind
from ratebound._old.rates.naming import RateFunction, define, linear, of_decided, quotient
from ratebound._old.rates.subsets import Value


def _beta(own: Mapping[str, Any]) -> dict[str, Value]:
    beta = as_number(own.get("beta", 1.0), "how much recall counts, as in f_score(beta=2)")
    if beta <= 0:
        raise ValueError(f"f_score: beta= takes a number above 0, got {own['beta']!r}")
    return {} if beta == 1 else {"beta": int(beta) if beta.is_integer() else beta}


def _f_sides(own: Mapping[str, Any]) -> tuple[Expression, Expression]:
    square = float(own.get("beta", 1.0)) ** 2
    right = (1 + square) * true_positives()
    return right, right + square * false_negatives() + false_positives()


def _confusion_of_decided(own: Mapping[str, Any]) -> tuple[Expression, Expression]:
    of = own["label"]
    return confusion(**own), recall(of=of) + false_negative_rate(of=of)


def _cost_of_decided(own: Mapping[str, Any]) -> tuple[Expression, Expression]:
    return cost(per=1, **own), decisions(per=1)


positive_rate = linear(
    "positive_rate",
    lambda s, c: (Atom(YES, s, s),),
    "Share of rows the model says yes to.",
    decided=of_decided("predicted_positives", "decisions"),
    event=("ŷ = {c}", ""),
    example=("We invite at most 15 of 100 applicants.", "positive_rate() <= 0.15"),
)
coverage = linear(
    "coverage",
    lambda s, c: (Atom(YES, s, s),),
    "Share of rows the model says yes to.",
    same_as="positive_rate",
    decided=of_decided("predicted_positives", "decisions"),
    event=("ŷ = {c}", ""),
    example=(
        "At least 30 of 100 claims are settled without human review.",
        "coverage() >= 0.3",
    ),
)
negative_rate = linear(
    "negative_rate",
    lambda s, c: (Atom(NO, s, s),),
    "Share of rows the model says no to.",
    decided=of_decided("predicted_negatives", "decisions"),
    event=("ŷ ≠ {c}", ""),
    example=("At least half of all emails pass the filter.", "negative_rate() >= 0.5"),
)
recall = linear(
    "recall",
    lambda s, c: (Atom(YES, s & c.label, s & c.label),),
    "Share of positive rows the model says yes to.",
    top=True,
    better="more",
    decided=of_decided("true_positives", "true_positives false_negatives"),
    event=("ŷ = {c}", "y = {c}"),
    example=("At least 95 of 100 people with the disease are found.", "recall() >= 0.95"),
)
true_positive_rate = linear(
    "true_positive_rate",
    lambda s, c: (Atom(YES, s & c.label, s & c.label),),
    "Share of positive rows the model says yes to.",
    same_as="recall",
    top=True,
    better="more",
    decided=of_decided("true_positives", "true_positives false_negatives"),
    event=("ŷ = {c}", "y = {c}"),
    example=(
        "At least 80 of 100 women who would repay get the loan.",
        'true_positive_rate(sex == "Female") >= 0.8',
    ),
)
false_negative_rate = linear(
    "false_negative_rate",
    lambda s, c: (Atom(NO, s & c.label, s & c.label),),
    "Share of positive rows the model says no to.",
    better="less",
    decided=of_decided("false_negatives", "true_positives false_negatives"),
    event=("ŷ ≠ {c}", "y = {c}"),
    example=(
        "At most 5 of 100 people with the disease are missed.",
        "false_negative_rate() <= 0.05",
    ),
)
false_positive_rate = linear(
    "false_positive_rate",
    lambda s, c: (Atom(YES, s & ~c.label, s & ~c.label),),
    "Share of negative rows the model says yes to.",
    better="less",
    decided=of_decided("false_positives", "false_positives true_negatives"),
    event=("ŷ = {c}", "y ≠ {c}"),
    example=(
        "At most 2 of 100 healthy people are called back for nothing.",
        "false_positive_rate() <= 0.02",
    ),
)
true_negative_rate = linear(
    "true_negative_rate",
    lambda s, c: (Atom(NO, s & ~c.label, s & ~c.label),),
    "Share of negative rows the model says no to.",
    better="more",
    decided=of_decided("true_negatives", "false_positives true_negatives"),
    event=("ŷ ≠ {c}", "y ≠ {c}"),
    example=(
        "At least 99 of 100 honest customers are not bothered.",
        "true_negative_rate() >= 0.99",
    ),
)
accuracy = linear(
    "accuracy",
    lambda s, c: (Atom(YES, s & c.label, s),),
    "Share of rows whose decision equals their label.",
    speaks="every class",
    better="more",
    decided=of_decided("decisions -errors", "decisions"),
    event=("ŷ = y", ""),
    example=("At least 9 of 10 decisions on ward B are right.", 'accuracy(ward == "B") >= 0.9'),
)
error_rate = linear(
    "error_rate",
    lambda s, c: (Atom(NO, s & c.label, s),),
    "Share of rows whose decision differs from their label.",
    speaks="every class",
    better="less",
    decided=of_decided("errors", "decisions"),
    event=("ŷ ≠ y", ""),
    example=("At most 2 of 10 decisions on people under 25 are wrong.", "error_rate(age < 25) <= 0.2"),
)
confusion = linear(
    "confusion",
    lambda s, c: (Atom(YES, s & c.label, s & c.label),),
    "Share of the rows with one label that the model takes for another class.",
    speaks="two classes",
    decided=_confusion_of_decided,
    event=("ŷ = {predicted}", "y = {label}"),
    example=(
        "At most 1 of 100 patients with a stroke is sent home with a migraine.",
        'confusion(label="stroke", predicted="migraine") <= 0.01',
    ),
)
referred = linear(
    "referred",
    lambda s, c: (Atom(YES, s, s),),
    "Share of rows that are referred to a person and not decided.",
    speaks="the referral",
    better="less",
    event=("ŷ = refer", ""),
    example=("At most 15 of 100 applications go to a person.", "referred() <= 0.15"),
)
prevalence = linear(
    "prevalence",
    lambda s, c: (Atom(ANY, s & c.label, s),),
    "Share of rows whose label is positive, whatever the model says.",
    better="neither",
    event=("y = {c}", ""),
    example=("We say yes about as often as the labels do.", "positive_rate() <= prevalence() + 0.02"),
)
predicted_positives = linear(
    "predicted_positives",
    lambda s, c: (Atom(YES, s, None),),
    "Number of rows the model says yes to.",
    event=("ŷ = {c}", ""),
    example=("The team can look into 80 of every 1,000 cases.", "predicted_positives(per=1000) <= 80"),
)
predicted_negatives = linear(
    "predicted_negatives",
    lambda s, c: (Atom(NO, s, None),),
    "Number of rows the model says no to.",
    event=("ŷ ≠ {c}", ""),
    example=(
        "At least 600 of every 1,000 letters go out without being read by a person.",
        "predicted_negatives(per=1000) >= 600",
    ),
)
true_positives = linear(
    "true_positives",
    lambda s, c: (Atom(YES, s & c.label, None),),
    "Number of positive rows the model says yes to.",
    better="more",
    event=("ŷ = {c}, y = {c}", ""),
    example=("At least 30 of every 1,000 inspections find something.", "true_positives(per=1000) >= 30"),
)
false_positives = linear(
    "false_positives",
    lambda s, c: (Atom(YES, s & ~c.label, None),),
    "Number of negative rows the model says yes to.",
    better="less",
    event=("ŷ = {c}, y ≠ {c}", ""),
    example=(
        "At most 5 of every 1,000 customers are bothered without cause.",
        "false_positives(per=1000) <= 5",
    ),
)
true_negatives = linear(
    "true_negatives",
    lambda s, c: (Atom(NO, s & ~c.label, None),),
    "Number of negative rows the model says no to.",
    better="more",
    event=("ŷ ≠ {c}, y ≠ {c}", ""),
    example=(
        "At least 950 of every 1,000 travellers are allowed to pass and do pass.",
        "true_negatives(per=1000) >= 950",
    ),
)
false_negatives = linear(
    "false_negatives",
    lambda s, c: (Atom(NO, s & c.label, None),),
    "Number of positive rows the model says no to.",
    better="less",
    event=("ŷ ≠ {c}, y = {c}", ""),
    example=(
        "At most 3 tumours are overlooked in every 10,000 images.",
        "false_negatives(per=10000) <= 3",
    ),
)
errors = linear(
    "errors",
    lambda s, c: (Atom(NO, s & c.label, None),),
    "Number of rows whose decision differs from their label.",
    speaks="every class",
    better="less",
    event=("ŷ ≠ y", ""),
    example=("At most 40 of every 1,000 decisions are wrong.", "errors(per=1000) <= 40"),
)
decisions = linear(
    "decisions",
    lambda s, c: (Atom(YES, s, None),),
    "Number of rows the model decides and does not refer.",
    speaks="every class",
    event=("ŷ ≠ refer", ""),
    example=("At least 700 of every 1,000 letters are answered at once.", "decisions(per=1000) >= 700"),
)
referrals = linear(
    "referrals",
    lambda s, c: (Atom(YES, s, None),),
    "Number of rows that are referred to a person and not decided.",
    speaks="the referral",
    better="less",
    event=("ŷ = refer", ""),
    example=("The team can look at 80 of every 1,000 cases.", "referrals(per=1000) <= 80"),
)
cost: RateFunction[Expression] = define(
    Kind(
        "cost",
        "Mean cost of the model's errors, over all rows.",
        "cost",
        labels=True,
        versus=False,
        counts=lambda s, c: (Atom(NO, s & c.label, s), Atom(YES, s & ~c.label, s)),
        prices=priced,
        own=OWN,
        check_own=check_costs,
        better="less",
        decided=_cost_of_decided,
        event=("cost", ""),
        example=(
            "A missed default costs ten times a good customer refused; the mean is at most 0.5.",
            "cost(false_negative=10, false_positive=1) <= 0.5",
        ),
    ),
    "Give at least one of its options. The mean is over all rows of the subset; right decisions cost 0.",
)

churn = linear(
    "churn",
    lambda s, c: (Atom(YES, s & ~c.existing, s),),
    "Share of rows whose decision differs from the existing model's.",
    speaks="every class",
    better="less",
    event=("ŷ ≠ v", ""),
    example=(
        "The new version changes at most 2 of 100 decisions of the one in use.",
        'churn(versus="live") <= 0.02',
    ),
)
loss_only_churn = linear(
    "loss_only_churn",
    lambda s, c: (Atom(NO, s & c.existing & c.label, s & c.agreed),),
    "Share of the rows the existing model gets right that the new one gets wrong.",
    speaks="every class",
    better="less",
    event=("ŷ ≠ y", "v = y"),
    example=(
        "At most 1 of 100 cases that the old version got right becomes wrong.",
        'loss_only_churn(versus="live") <= 0.01',
    ),
)
wins = linear(
    "wins",
    lambda s, c: (Atom(YES, s & ~c.existing & c.label, None),),
    "Number of rows the model gets right and the existing one wrong.",
    speaks="every class",
    better="more",
    event=("ŷ = y, v ≠ y", ""),
    example=(
        "At least 20 of every 1,000 cases change from wrong to right.",
        'wins(versus="live", per=1000) >= 20',
    ),
)
losses = linear(
    "losses",
    lambda s, c: (Atom(NO, s & c.existing & c.label, None),),
    "Number of rows the model gets wrong and the existing one right.",
    speaks="every class",
    better="less",
    event=("ŷ ≠ y, v = y", ""),
    example=(
        "At most 5 of every 1,000 cases change from right to wrong.",
        'losses(versus="live", per=1000) <= 5',
    ),
)
positive_rate_of = linear(
    "positive_rate_of",
    lambda s, c: (Atom(ANY, s & c.existing, s),),
    "Share of rows the *existing* model says yes to, whatever the new one says.",
    better="neither",
    event=("v = {c}", ""),
    example=(
        "People under 25 are accepted at least as often as today.",
        'positive_rate(age < 25) >= positive_rate_of(age < 25, versus="live")',
    ),
)
accuracy_of = linear(
    "accuracy_of",
    lambda s, c: (Atom(ANY, s & c.agreed, s),),
    "Share of rows the *existing* model gets right, whatever the new one says.",
    speaks="no class",
    better="neither",
    event=("v = y", ""),
    example=(
        "The new version is right at least as often as the one in use.",
        'accuracy() >= accuracy_of(versus="live")',
    ),
)
error_rate_of = linear(
    "error_rate_of",
    lambda s, c: (Atom(ANY, s & ~c.agreed, s),),
    "Share of rows the *existing* model gets wrong, whatever the new one says.",
    speaks="no class",
    better="neither",
    event=("v ≠ y", ""),
    example=(
        "The new version makes at most 5 more errors in 1,000 decisions than the one in use.",
        'error_rate() <= error_rate_of(versus="live") + 0.005',
    ),
)
recall_of = linear(
    "recall_of",
    lambda s, c: (Atom(ANY, s & c.label & c.existing, s & c.label),),
    "Share of positive rows the *existing* model says yes to, whatever the new one says.",
    better="neither",
    event=("v = {c}", "y = {c}"),
    example=(
        "The new version finds at most 1 in 100 fewer sick people than the one in use.",
        'recall() >= recall_of(versus="live") - 0.01',
    ),
)
false_positive_rate_of = linear(
    "false_positive_rate_of",
    lambda s, c: (Atom(ANY, s & ~c.label & c.existing, s & ~c.label),),
    "Share of negative rows the *existing* model says yes to, whatever the new one says.",
    better="neither",
    event=("v = {c}", "y ≠ {c}"),
    example=(
        "Hardly more healthy people are called back than today.",
        'false_positive_rate() <= false_positive_rate_of(versus="live") + 0.002',
    ),
)

precision = quotient(
    "precision",
    true_positives,
    predicted_positives,
    "Share of the model's yeses that are right.",
    top=True,
    event=("y = {c}", "ŷ = {c}"),
    example=("When we raise an alarm, it is real in at least 8 of 10 cases.", "precision() >= 0.8"),
)
false_discovery_rate = quotient(
    "false_discovery_rate",
    false_positives,
    predicted_positives,
    "Share of the model's yeses that are wrong.",
    event=("y ≠ {c}", "ŷ = {c}"),
    example=("At most 1 of 100 people we accuse is innocent.", "false_discovery_rate() <= 0.01"),
)
negative_predictive_value = quotient(
    "negative_predictive_value",
    true_negatives,
    predicted_negatives,
    "Share of the model's noes that are right.",
    event=("y ≠ {c}", "ŷ ≠ {c}"),
    example=(
        "At least 999 of 1,000 people we send home are healthy.",
        "negative_predictive_value() >= 0.999",
    ),
)
false_omission_rate = quotient(
    "false_omission_rate",
    false_negatives,
    predicted_negatives,
    "Share of the model's noes that are wrong.",
    event=("y = {c}", "ŷ ≠ {c}"),
    example=(
        "At most 1 of 1,000 people we let pass should have been stopped.",
        "false_omission_rate() <= 0.001",
    ),
)
jaccard = quotient(
    "jaccard",
    true_positives,
    true_positives() + false_positives() + false_negatives(),
    "Share of right yeses among the rows that are positive or that the model says yes to.",
    example=("The area we mark and the damaged area overlap by at least 60%.", "jaccard() >= 0.6"),
)
f_score: RateFunction[Ratio] = define(
    Kind(
        "f_score",
        "The harmonic mean of precision and recall; recall counts `beta` squared times as much.",
        "ratio",
        labels=True,
        versus=False,
        sides=_f_sides,
        own=("beta",),
        check_own=_beta,
        example=(
            "Precision and recall, weighted equally, reach at least 0.7.",
            "f_score() >= 0.7",
        ),
    ),
)
win_loss_ratio = quotient(
    "win_loss_ratio",
    wins,
    losses,
    "Wins divided by losses against an existing model.",
    example=(
        "For every case that becomes wrong, at least two become right.",
        'win_loss_ratio(versus="live") >= 2',
    ),
)

roc_auc: RateFunction[Area] = define(
    Kind(
        "roc_auc",
        "Area under the ROC curve, by the midpoint rule over `bins` false-positive budgets.",
        "area",
        labels=True,
        versus=False,
        speaks="no class",
        example=(
            "The score ranks a sick person above a healthy one in at least 85 of 100 pairs.",
            "roc_auc() >= 0.85",
        ),
    ),
    """Each budget has a threshold of its own, which is learned with the model. ``roc_auc() >= 0.8`` asks
that the mean recall at these thresholds is at least 0.8 and that each threshold keeps its budget. The
paper takes budgets l/L, which overstate the area by up to 1/L. The midpoints (l - 1/2)/L overstate it by
at most half of that, and a little on any concave curve. An audit measures the area itself.""",
)

RATES = [name for name in globals() if name in KINDS]
