"""The public names, written out; each has a docstring, and importing them is light."""

import inspect
import subprocess
import sys

import pytest

import ratebound as rb

PUBLIC = {
    "words": """Area Constraint Expression Goal Range Rate Ratio Subset column equal goal missing parse
        ratio where""",
    "objectives": "g_mean h_mean kl_divergence largest smallest",
    "rates": """accuracy accuracy_of churn confusion cost coverage error_rate f_score
        false_discovery_rate
        false_negative_rate false_negatives false_omission_rate false_positive_rate false_positives
        jaccard loss_only_churn losses negative_predictive_value negative_rate positive_rate
        positive_rate_of precision predicted_negatives predicted_positives prevalence recall roc_auc
        true_negative_rate true_negatives true_positive_rate true_positives win_loss_ratio wins""",
    "goals": """accurate_coverage decision_rule egregious_examples equal_accuracy equal_odds
        equal_opportunity limited_churn minimum_accuracy minimum_coverage minimum_recall
        no_lost_benefits not_worse_off statistical_parity steering_examples""",
    "problem": "Compiled Population Problem compile",
    "tables": "Features Inspection Parquet inspect",
    "game": """Answering CuttingPlane Descending ExternalRegret Fit Folds Game Grid Growing Keep
        Lagrangian Learner Multipliers Player Rules Scorer Stop SwapRegret Trace play register_scorer""",
    "learners": "Boosted Lattice Linear MLP Oracle Torch check_monotone trace_of",
    "solution": """Certificate Determined Mixture Price Status at_levels average best_iterate determinize
        duality_gap last_iterate price select shrink thresholds""",
    "auditing": "Audit audit plot_calibrators plot_convergence plot_trade_off",
    "certifying": "Alarm Monitor RowsNeeded certify rows_needed",
    "estimators": "Explanation Plan Policy RateConstrainedClassifier Training explain load plan",
    "data": "datasets",
}
NAMES = sorted(" ".join(PUBLIC.values()).split())


def test_all_is_exactly_the_public_names():
    assert sorted(rb.__all__) == NAMES


def test_everything_public_is_listed():
    assert set(NAMES) | {"__version__"} <= set(dir(rb))


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_documented(name):
    public = getattr(rb, name)
    assert inspect.getdoc(public)
    if inspect.isclass(public):  # a sentence of its own, not its base's nor a dataclass's signature
        assert public.__doc__
        assert not public.__doc__.startswith(f"{name}(")


def test_importing_is_light():
    """Torch, scikit-learn and DataFrames are imported where they are used, and only there."""
    heavy = ["torch", "sklearn", "pandas", "polars", "lightgbm", "matplotlib", "jax"]
    code = f"import ratebound, sys; print(*[m for m in {heavy} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
