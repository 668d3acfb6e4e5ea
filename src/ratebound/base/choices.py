"""The names a user may choose from, once each; the rooms that own them say what each name stands for.

They stand here so that the command line can list them before it has loaded anything.
"""

from __future__ import annotations

MODELS = ("linear", "mlp", "lattice", "lightgbm", "xgboost", "catboost")
PLAYERS = ("auto", "swap", "external", "lagrangian")
METHODS = ("auto", "plug-in", "game")  # of finding a model
SOLUTIONS = ("shrink", "best", "average", "last")
PROXIES = ("hinge", "logistic", "sigmoid")
EXPERIMENTS = ("bank", "adult", "compas", "business_entity", "thresholding", "map_intent", "filtering")
CONFIDENCE = 0.9  # the default probability with which promises are to hold on new rows
SPENDING = ("equal", "carried")  # of the error of a change plan
FAIL_ON = ("broken", "uncertain", "training")  # what makes train and audit exit with 1
TEMPLATES = ("ll144", "lending", "annex-iv", "model-card")  # forms of an audit
