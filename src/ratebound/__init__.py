"""Train classifiers to keep promises: goals as rate constraints, on any model."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ratebound import datasets
from ratebound.auditing import Audit, audit
from ratebound.auditing.plots import plot_calibrators, plot_convergence, plot_trade_off
from ratebound.certifying.certify import certify
from ratebound.certifying.monitor import Alarm, Monitor
from ratebound.certifying.rows_needed import RowsNeeded, rows_needed
from ratebound.estimators.policy import Policy, load
from ratebound.game.cutting_plane import CuttingPlane
from ratebound.game.game import Game
from ratebound.game.grid import Grid
from ratebound.game.learner import Answering, Descending, Fit, Growing, Learner
from ratebound.game.players import ExternalRegret, Lagrangian, Multipliers, Player, SwapRegret
from ratebound.game.rounds import play
from ratebound.game.rules import Folds, Keep, Rules, Stop
from ratebound.game.scorer import Scorer, register_scorer
from ratebound.game.trace import Trace
from ratebound.learners.boosted import Boosted
from ratebound.learners.lattice import Lattice, check_monotone
from ratebound.learners.linear import Linear
from ratebound.learners.mlp import MLP
from ratebound.learners.oracle import Oracle
from ratebound.learners.snapshots import trace_of
from ratebound.learners.torch import Torch
from ratebound.problem.compiled import Compiled
from ratebound.problem.compiling import compile
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem
from ratebound.rates.alike import equal
from ratebound.rates.beyond_sums import g_mean, h_mean, kl_divergence, largest, smallest
from ratebound.rates.expressions import Area, Constraint, Expression, Ratio
from ratebound.rates.goals import (
    accurate_coverage,
    decision_rule,
    egregious_examples,
    equal_accuracy,
    equal_odds,
    equal_opportunity,
    limited_churn,
    minimum_accuracy,
    minimum_coverage,
    minimum_recall,
    no_lost_benefits,
    not_worse_off,
    statistical_parity,
    steering_examples,
)
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
from ratebound.solution.certificate import Certificate
from ratebound.solution.determinize import Determined, determinize
from ratebound.solution.duality import duality_gap
from ratebound.solution.leveling import at_levels
from ratebound.solution.mixture import Mixture
from ratebound.solution.price import Price
from ratebound.solution.prices import price
from ratebound.solution.solutions import (
    average,
    best_iterate,
    last_iterate,
    select,
    shrink,
)
from ratebound.solution.status import Status
from ratebound.solution.thresholds import thresholds
from ratebound.tables.features import Features
from ratebound.tables.inspecting import Inspection, inspect
from ratebound.tables.parquet import Parquet

if TYPE_CHECKING:
    from ratebound.estimators.choices import Training as Training
    from ratebound.estimators.classifier import RateConstrainedClassifier as RateConstrainedClassifier
    from ratebound.estimators.explaining import explain as explain
    from ratebound.estimators.explanation import Explanation as Explanation
    from ratebound.estimators.planning import Plan as Plan
    from ratebound.estimators.planning import plan as plan


__version__ = "0.1.0"

# Imported when they are asked for: scikit-learn takes a second to load.
_LATER = {
    "Explanation": "ratebound.estimators.explanation",
    "Plan": "ratebound.estimators.planning",
    "RateConstrainedClassifier": "ratebound.estimators.classifier",
    "explain": "ratebound.estimators.explaining",
    "Training": "ratebound.estimators.choices",
    "plan": "ratebound.estimators.planning",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'ratebound' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


__all__ = [
    "MLP",
    "Alarm",
    "Answering",
    "Area",
    "Audit",
    "Boosted",
    "Certificate",
    "Compiled",
    "Constraint",
    "CuttingPlane",
    "Descending",
    "Determined",
    "Explanation",
    "Expression",
    "ExternalRegret",
    "Features",
    "Fit",
    "Folds",
    "Game",
    "Goal",
    "Grid",
    "Growing",
    "Inspection",
    "Keep",
    "Lagrangian",
    "Lattice",
    "Learner",
    "Linear",
    "Mixture",
    "Monitor",
    "Multipliers",
    "Oracle",
    "Parquet",
    "Plan",
    "Player",
    "Policy",
    "Population",
    "Price",
    "Problem",
    "Range",
    "Rate",
    "RateConstrainedClassifier",
    "Ratio",
    "RowsNeeded",
    "Rules",
    "Scorer",
    "Status",
    "Stop",
    "Subset",
    "SwapRegret",
    "Torch",
    "Trace",
    "Training",
    "accuracy",
    "accuracy_of",
    "accurate_coverage",
    "at_levels",
    "audit",
    "average",
    "best_iterate",
    "certify",
    "check_monotone",
    "churn",
    "column",
    "compile",
    "confusion",
    "cost",
    "coverage",
    "datasets",
    "decision_rule",
    "determinize",
    "duality_gap",
    "egregious_examples",
    "equal",
    "equal_accuracy",
    "equal_odds",
    "equal_opportunity",
    "error_rate",
    "explain",
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
    "inspect",
    "jaccard",
    "kl_divergence",
    "largest",
    "last_iterate",
    "limited_churn",
    "load",
    "loss_only_churn",
    "losses",
    "minimum_accuracy",
    "minimum_coverage",
    "minimum_recall",
    "missing",
    "negative_predictive_value",
    "negative_rate",
    "no_lost_benefits",
    "not_worse_off",
    "parse",
    "plan",
    "play",
    "plot_calibrators",
    "plot_convergence",
    "plot_trade_off",
    "positive_rate",
    "positive_rate_of",
    "precision",
    "predicted_negatives",
    "predicted_positives",
    "prevalence",
    "price",
    "ratio",
    "recall",
    "register_scorer",
    "roc_auc",
    "rows_needed",
    "select",
    "shrink",
    "smallest",
    "statistical_parity",
    "steering_examples",
    "thresholds",
    "trace_of",
    "true_negative_rate",
    "true_negatives",
    "true_positive_rate",
    "true_positives",
    "where",
    "win_loss_ratio",
    "wins",
]
