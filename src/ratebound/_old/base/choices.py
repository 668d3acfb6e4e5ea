"""The names that a user may choose from, listed once; the packages that own them define each name.

They are here so that the command line can list them before it has loaded anything else.
"""

from __future__ import annotations

MODELS = ("linear", "mlp", "lightgbm", "xgboost", "catboost")
PLAYERS = ("auto", "swap", "external", "lagrangian")
PROXIES = ("hinge", "logistic", "sigmoid")
EXPERIMENTS = ("bank", "adult", "compas", "business_entity", "thresholding", "map_intent", "filtering")
CONFIDENCE = 0.9  # the default confidence that constraints hold on new rows
SPENDING = ("equal", "carried")  # how a change plan spends its error
FAIL_ON = ("broken", "uncertain", "training")  # what makes train and audit exit with 1
TEMPLATES = ("ll144", "lending", "annex-iv", "model-card")  # forms of an audit
