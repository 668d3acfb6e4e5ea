"""FairGBM: boosted trees under bounds on group-wise false positives and negatives."""

import fairgbm.sklearn as module
from fairgbm import FairGBMClassifier


def spelled(check):
    """Rename an argument of scikit-learn back to its name before 1.6."""
    return lambda *given, force_all_finite, **more: check(
        *given, ensure_all_finite=force_all_finite, **more
    )


module._LGBMCheckXY = spelled(module._LGBMCheckXY)
module._LGBMCheckArray = spelled(module._LGBMCheckArray)
TYPES = {"positive_rate": "FNR,FPR", "recall": "FNR", "false_positive_rate": "FPR"}


def trees(train, test, promises):
    asked = {"constraint_type": TYPES[promises[0].rate], "multiplier_learning_rate": 0.1}
    model = FairGBMClassifier(n_jobs=1, verbosity=-1, random_state=0, **asked)
    model.fit(train.X, train.y.astype(int), constraint_group=train.cells)
    return [model.predict_proba(rows.X)[:, -1] >= 0.5 for rows in (train, test)]
