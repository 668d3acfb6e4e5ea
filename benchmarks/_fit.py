"""Fits one way to one sample in a process of its own, whatever version of the library is on its path.

python benchmarks/_fit.py TASK RESULT     # files of joblib; `new_rows.py` writes and reads them
"""

import os
import sys
import time
import warnings
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when the libraries are imported

import joblib
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

FEW = 1000  # rows of a first fit, so that what is imported is not counted


def fit_stock(task: dict[str, Any]) -> Any:
    """Fit the library of the model alone, without constraints."""
    if task["model"] == "linear":
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    else:
        from lightgbm import LGBMClassifier

        model = LGBMClassifier(n_jobs=1, verbose=-1)
    return model.fit(task["X"], task["y"])


def fit_constrained(task: dict[str, Any]) -> Any:
    import ratebound as rb

    names = ("constraints", "model", "confidence")
    options = {name: task[name] for name in names}
    model = rb.RateConstrainedClassifier(**options, random_state=0)
    return model.fit(task["X"], task["y"], columns=task["columns"])


def shrink_task(task: dict[str, Any]) -> dict[str, Any]:
    """Return a small task of the same kind, with few rows and one constraint."""
    return task | {
        "constraints": task["constraints"][:1],
        "X": task["X"][:FEW],
        "y": task["y"][:FEW],
        "columns": {name: values[:FEW] for name, values in task["columns"].items()},
    }


def main() -> None:
    warnings.simplefilter("ignore")
    task = joblib.load(sys.argv[1])
    fit = fit_stock if task["way"] == "stock" else fit_constrained
    fit(shrink_task(task))
    started = time.process_time()
    model = fit(task)
    seconds = time.process_time() - started
    status = getattr(model, "status_", None)
    result = {
        "decisions": model.predict(task["new_X"]),
        "claim": getattr(status, "confidence", None),
        "seconds": seconds,
    }
    joblib.dump(result, sys.argv[2])


if __name__ == "__main__":
    main()
