"""Train classifiers that meet constraints on their rates, and test honestly whether they do."""

from importlib import import_module

__version__ = "0.2.0"

from ratebound import _moved, _old

_moved.install()

# Public names, by the module that is their home. It is imported when a name of it is first used.
HOMES = {
    "_bridge": "compile",  # of problem.compile; it also takes what only old rooms know
    "problem.compiled": "Compiled",
    "problem.feasible": "check_feasible",
    "problem.population": "Population",
    "problem.problem": "Problem parse_problem",
    "learning.classifier": "RateConstrainedClassifier",
    "learning.explain": "explain",
    "learning.ranker": "RateConstrainedRanker",
    "learning.threshold": "ConstrainedThresholdClassifier",
    "learning.uncertain": "uncertain_group",
    "rates.conditions": "Condition column decided missing where",
    "rates.definitions": "rate ratio",
    "rates.goals": "Goal goal",
    "rates.sums": "Constraint Rate Sum constraint equal largest smallest",
    "rates.text": "parse parse_condition parse_objective",
}
HOME_OF_NAME = {name: home for home, names in HOMES.items() for name in names.split()}

# Public names that no new room has yet.
OLD = """
    Alarm Answering Audit Boosted Certificate ChangePlan CuttingPlane Descending Differentiating
    ExternalRegret Features Fit Game Grid Growing ImpactRatios Inspection Keep Lagrangian
    Lattice Learner Linear MLP Mixture Monitor Multipliers Oracle Parquet Player Policy Price
    Reasons Release Rows RowsNeeded Rules Scorer Status Stop SwapRegret Torch Trace audit
    average best_iterate certify check_monotone datasets duality_gap impact_ratios inspect
    last_iterate load make_scorer play plot_calibrators plot_convergence plot_trade_off price
    register_scorer rows_needed select shrink trace_of
"""
OLD_NAMES = OLD.split()


def __getattr__(name: str) -> object:
    if name in HOME_OF_NAME:
        return getattr(import_module(f"ratebound.{HOME_OF_NAME[name]}"), name)
    if name == "goals":
        return import_module("ratebound.rates.goals")
    if name == "__all__":
        return _list_names()
    if name in OLD_NAMES:
        from ratebound._bridge import find_old_name

        return find_old_name(name)
    if name in _old._ROOMS:
        return getattr(_old, name)
    from ratebound.rates.conditions import suggest_name
    from ratebound.rates.table import ALIASES, KINDS

    if name in KINDS or name in ALIASES:
        return KINDS[ALIASES.get(name, name)]
    goals = import_module("ratebound.rates.goals")
    if name in goals.GOALS and hasattr(goals, name):
        return getattr(goals, name)
    hint = "" if name.startswith("_") else suggest_name(name, _list_names())
    raise AttributeError(f"module 'ratebound' has no attribute {name!r}{hint}", name=name)


def __dir__() -> list[str]:
    return _list_names()


def _list_names() -> list[str]:
    from ratebound.rates.table import ALIASES, KINDS

    rates = [name for name, kind in KINDS.items() if not kind.is_own]
    return sorted({*HOME_OF_NAME, *rates, *ALIASES, *OLD_NAMES, "goals"})
