"""The rooms as they were, each until a new one replaces it."""

from importlib import import_module
from threading import RLock
from typing import Any

from ratebound import __version__ as __version__

# The public names, by module. A module is imported when one of its names is first used: to import all of
# them, with NumPy and SciPy, takes most of a second. `__init__.pyi` tells type checkers the same.
_NAMES = {
    "auditing.auditing": "audit",
    "auditing.impact": "impact_ratios ImpactRatios",
    "auditing.plots": "plot_calibrators plot_convergence plot_trade_off",
    "auditing.report": "Audit",
    "certifying.certify": "certify",
    "certifying.monitor": "Alarm Monitor",
    "certifying.rows_needed": "rows_needed RowsNeeded",
    "estimators.change_plan": "ChangePlan",
    "estimators.policy": "load Policy",
    "estimators.release": "Release",
    "estimators.scoring": "make_scorer",
    "game.game": "Game",
    "game.learner": "Answering Descending Differentiating Fit Growing Learner",
    "game.players": "ExternalRegret Lagrangian Multipliers Player SwapRegret",
    "game.players_by_fits": "CuttingPlane Grid",
    "game.rounds": "play",
    "game.rules": "Keep Rules Stop",
    "game.scorer": "register_scorer Scorer",
    "game.trace": "Trace",
    "learners.boosted": "Boosted",
    "learners.lattice": "check_monotone Lattice",
    "learners.linear": "Linear",
    "learners.oracle": "Oracle",
    "learners.snapshots": "trace_of",
    "learners.torch": "MLP Torch",
    "problem.compiled": "Compiled",
    "problem.compiling": "compile",
    "problem.population": "Population",
    "problem.rows": "Rows",
    "problem.problem": "Problem",
    "rates.alike": "equal",
    "rates.beyond_sums": "largest smallest",
    "rates.expressions": "Area Constraint Expression Rate Ratio",
    "rates.goals": """
        accurate_coverage decision_rule egregious_examples equal_accuracy equal_opportunity
        equalized_odds limited_churn minimum_accuracy minimum_coverage minimum_recall
        no_lost_benefits not_worse_off statistical_parity steering_examples""",
    "rates.general": "constraint",
    "rates.grouping": "Goal",
    "rates.naming": "rate ratio",
    "rates.ranges": "Range",
    "rates.stating": "goal",
    "rates.subsets": "column decided missing Subset where",
    "rates.text": "parse",
    "solution.certificate": "Certificate",
    "solution.duality": "duality_gap",
    "solution.mixture": "Mixture",
    "solution.price": "Price",
    "solution.prices": "price",
    "solution.reasons": "Reasons",
    "solution.solutions": "average best_iterate last_iterate select shrink",
    "solution.status": "Status",
    "tables.treatments": "Features",
    "tables.inspecting": "inspect Inspection",
    "tables.parquet": "Parquet",
}
# The names that `dir(rb)` lists: what most programs need. Rates are listed in `rb.rates`, goals in
# `rb.goals`, and the parts of training in `rb.game`; each is also a name of the package itself.
_FIRST = """
    Boosted ChangePlan Features Game Lattice Linear MLP Monitor Oracle Parquet Population
    Problem Torch audit average
    best_iterate certify column compile constraint datasets equal game goal goals
    inspect last_iterate load make_scorer missing parse play plot_convergence plot_trade_off price
    rate rates ratio rows_needed select shrink trace_of where"""
_PLACES = {name: place for place, names in _NAMES.items() for name in names.split()}
_ROOMS = {*(place.partition(".")[0] for place in _NAMES), "base", "datasets"}

_ONE_AT_A_TIME = RLock()


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return _all()
    if name in _PLACES:
        room, place = _PLACES[name].partition(".")[0], f"ratebound._old.{_PLACES[name]}"
    elif name in _ROOMS or name == "goals":
        with _ONE_AT_A_TIME:
            return import_module(
                "ratebound._old.rates.goals" if name == "goals" else f"ratebound._old.{name}"
            )
    elif name in _rates():
        room, place = "rates", "ratebound._old.rates.named"
    else:
        meant = ""
        if not name.startswith("_"):
            from ratebound._old.rates.spellings import meant as _meant

            meant = _meant(name, _all()).rstrip(".")
        # Pass the name but not this module, or Python would add a suggestion of its own.
        raise AttributeError(f"module 'ratebound' has no attribute {name!r}{meant}", name=name)
    with _ONE_AT_A_TIME:  # otherwise two threads could wait for each other's modules
        import_module(f"ratebound._old.{room}")
        globals()[name] = value = getattr(import_module(place), name)
    return value


def _all() -> list[str]:
    return sorted([*_PLACES, *_rates(), "datasets", "game", "goals", "rates"])


def _rates() -> list[str]:
    """The named rates; only the table of rates lists them."""
    with _ONE_AT_A_TIME:
        names: list[str] = import_module("ratebound._old.rates").named.RATES
    return names


def __dir__() -> list[str]:
    return [*_FIRST.split(), "__version__"]
