"""What may be said: rates, expressions, constraints and goals. No data, no arrays.

`rb.rates` lists the words themselves; goals are in `rb.goals`.
"""

# Importing the named rates and the goals fills the tables that text, and constraints that are unpickled,
# look them up in: whoever imports anything of this room finds them full.
from ratebound.rates import goals as goals
from ratebound.rates.alike import equal
from ratebound.rates.beyond_sums import g_mean, h_mean, kl_divergence, largest, smallest
from ratebound.rates.expressions import Area, Constraint, Expression, Ratio
from ratebound.rates.grouping import Goal
from ratebound.rates.named import (
    accuracy,
    accuracy_of,
    churn,
    confusion,
    cost,
    coverage,
    error_rate,
    f_score,
    false_discovery_rate,
    false_negative_rate,
    false_negatives,
    false_omission_rate,
    false_positive_rate,
    false_positives,
    jaccard,
    loss_only_churn,
    losses,
    negative_predictive_value,
    negative_rate,
    positive_rate,
    positive_rate_of,
    precision,
    predicted_negatives,
    predicted_positives,
    prevalence,
    ratio,
    recall,
    roc_auc,
    true_negative_rate,
    true_negatives,
    true_positive_rate,
    true_positives,
    win_loss_ratio,
    wins,
)
from ratebound.rates.ranges import Range
from ratebound.rates.rate import Rate
from ratebound.rates.stating import goal
from ratebound.rates.subsets import Subset, column, missing, where
from ratebound.rates.text import parse

__all__ = [
    "Area",
    "Constraint",
    "Expression",
    "Goal",
    "Range",
    "Rate",
    "Ratio",
    "Subset",
    "accuracy",
    "accuracy_of",
    "churn",
    "column",
    "confusion",
    "cost",
    "coverage",
    "equal",
    "error_rate",
    "f_score",
    "false_discovery_rate",
    "false_negative_rate",
    "false_negatives",
    "false_omission_rate",
    "false_positive_rate",
    "false_positives",
    "g_mean",
    "goal",
    "h_mean",
    "jaccard",
    "kl_divergence",
    "largest",
    "loss_only_churn",
    "losses",
    "missing",
    "negative_predictive_value",
    "negative_rate",
    "parse",
    "positive_rate",
    "positive_rate_of",
    "precision",
    "predicted_negatives",
    "predicted_positives",
    "prevalence",
    "ratio",
    "recall",
    "roc_auc",
    "smallest",
    "true_negative_rate",
    "true_negatives",
    "true_positive_rate",
    "true_positives",
    "where",
    "win_loss_ratio",
    "wins",
]


def __dir__() -> list[str]:
    return __all__
