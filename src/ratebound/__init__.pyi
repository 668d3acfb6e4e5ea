"""What `ratebound` offers, for editors and type checkers: the package imports it on demand."""

from ratebound._old import datasets as datasets
from ratebound._old.auditing.auditing import audit as audit
from ratebound._old.auditing.impact import ImpactRatios as ImpactRatios
from ratebound._old.auditing.impact import impact_ratios as impact_ratios
from ratebound._old.auditing.plots import plot_calibrators as plot_calibrators
from ratebound._old.auditing.plots import plot_convergence as plot_convergence
from ratebound._old.auditing.plots import plot_trade_off as plot_trade_off
from ratebound._old.auditing.report import Audit as Audit
from ratebound._old.certifying.certify import certify as certify
from ratebound._old.certifying.monitor import Alarm as Alarm
from ratebound._old.certifying.monitor import Monitor as Monitor
from ratebound._old.certifying.rows_needed import RowsNeeded as RowsNeeded
from ratebound._old.certifying.rows_needed import rows_needed as rows_needed
from ratebound._old.estimators.change_plan import ChangePlan as ChangePlan
from ratebound._old.estimators.policy import Policy as Policy
from ratebound._old.estimators.policy import load as load
from ratebound._old.estimators.release import Release as Release
from ratebound._old.estimators.scoring import make_scorer as make_scorer
from ratebound._old.game.game import Game as Game
from ratebound._old.game.learner import Answering as Answering
from ratebound._old.game.learner import Descending as Descending
from ratebound._old.game.learner import Differentiating as Differentiating
from ratebound._old.game.learner import Fit as Fit
from ratebound._old.game.learner import Growing as Growing
from ratebound._old.game.learner import Learner as Learner
from ratebound._old.game.players import ExternalRegret as ExternalRegret
from ratebound._old.game.players import Lagrangian as Lagrangian
from ratebound._old.game.players import Multipliers as Multipliers
from ratebound._old.game.players import Player as Player
from ratebound._old.game.players import SwapRegret as SwapRegret
from ratebound._old.game.players_by_fits import CuttingPlane as CuttingPlane
from ratebound._old.game.players_by_fits import Grid as Grid
from ratebound._old.game.rounds import play as play
from ratebound._old.game.rules import Keep as Keep
from ratebound._old.game.rules import Rules as Rules
from ratebound._old.game.rules import Stop as Stop
from ratebound._old.game.scorer import Scorer as Scorer
from ratebound._old.game.scorer import register_scorer as register_scorer
from ratebound._old.game.trace import Trace as Trace
from ratebound._old.learners.boosted import Boosted as Boosted
from ratebound._old.learners.lattice import Lattice as Lattice
from ratebound._old.learners.lattice import check_monotone as check_monotone
from ratebound._old.learners.linear import Linear as Linear
from ratebound._old.learners.oracle import Oracle as Oracle
from ratebound._old.learners.snapshots import trace_of as trace_of
from ratebound._old.learners.torch import MLP as MLP
from ratebound._old.learners.torch import Torch as Torch
from ratebound._old.problem.rows import Rows as Rows
from ratebound._old.solution.certificate import Certificate as Certificate
from ratebound._old.solution.duality import duality_gap as duality_gap
from ratebound._old.solution.mixture import Mixture as Mixture
from ratebound._old.solution.price import Price as Price
from ratebound._old.solution.prices import price as price
from ratebound._old.solution.reasons import Reasons as Reasons
from ratebound._old.solution.solutions import average as average
from ratebound._old.solution.solutions import best_iterate as best_iterate
from ratebound._old.solution.solutions import last_iterate as last_iterate
from ratebound._old.solution.solutions import select as select
from ratebound._old.solution.solutions import shrink as shrink
from ratebound._old.solution.status import Status as Status
from ratebound._old.tables.inspecting import Inspection as Inspection
from ratebound._old.tables.inspecting import inspect as inspect
from ratebound._old.tables.parquet import Parquet as Parquet
from ratebound._old.tables.treatments import Features as Features
from ratebound.learning.classifier import RateConstrainedClassifier as RateConstrainedClassifier
from ratebound.learning.explain import explain as explain
from ratebound.learning.ranker import RateConstrainedRanker as RateConstrainedRanker
from ratebound.learning.threshold import (
    ConstrainedThresholdClassifier as ConstrainedThresholdClassifier,
)
from ratebound.learning.uncertain import uncertain_group as uncertain_group
from ratebound.problem.compile import compile as compile
from ratebound.problem.compiled import Compiled as Compiled
from ratebound.problem.feasible import check_feasible as check_feasible
from ratebound.problem.population import Population as Population
from ratebound.problem.problem import Problem as Problem
from ratebound.problem.problem import parse_problem as parse_problem
from ratebound.rates import goals as goals
from ratebound.rates.conditions import Condition as Condition
from ratebound.rates.conditions import column as column
from ratebound.rates.conditions import decided as decided
from ratebound.rates.conditions import missing as missing
from ratebound.rates.conditions import where as where
from ratebound.rates.definitions import rate as rate
from ratebound.rates.definitions import ratio as ratio
from ratebound.rates.goals import Goal as Goal
from ratebound.rates.goals import goal as goal
from ratebound.rates.sums import Constraint as Constraint
from ratebound.rates.sums import Rate as Rate
from ratebound.rates.sums import Sum as Sum
from ratebound.rates.sums import constraint as constraint
from ratebound.rates.sums import equal as equal
from ratebound.rates.sums import largest as largest
from ratebound.rates.sums import smallest as smallest
from ratebound.rates.table import Kind
from ratebound.rates.text import parse as parse
from ratebound.rates.text import parse_condition as parse_condition
from ratebound.rates.text import parse_objective as parse_objective

__version__: str

accuracy: Kind
churn: Kind
confusion: Kind
cost: Kind
coverage: Kind
decisions: Kind
error_rate: Kind
errors: Kind
f_score: Kind
false_discovery_rate: Kind
false_negative_rate: Kind
false_negatives: Kind
false_omission_rate: Kind
false_positive_rate: Kind
false_positives: Kind
jaccard: Kind
loss_only_churn: Kind
losses: Kind
negative_predictive_value: Kind
negative_rate: Kind
positive_rate: Kind
precision: Kind
predicted_negatives: Kind
predicted_positives: Kind
prevalence: Kind
ranked_right: Kind
recall: Kind
referrals: Kind
referred: Kind
roc_auc: Kind
true_negative_rate: Kind
true_negatives: Kind
true_positive_rate: Kind
true_positives: Kind
win_loss_ratio: Kind
wins: Kind
