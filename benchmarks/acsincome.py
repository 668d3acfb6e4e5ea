"""ACSIncome beside the published decisions of other libraries, on the same 332,900 test rows.

    python benchmarks/acsincome.py                # a few minutes; needs the folder shared/bench

Everyone is judged by accuracy, and by the least recall among the nine races over everyone's recall and
over the largest, computed here from row-level decisions. The published models were trained on 998,700
other rows of the survey and tuned in a hundred trials each; ours are trained on the 332,900 rows of the
published validation file, with default settings, and never see the test file.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from _common import markdown

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "bench"
PUBLISHED = {  # the most accurate published model of each library
    "LightGBM": "lightgbm_baseline",
    "ExponentiatedGradient (Fairlearn)": "exponentiated_gradient",
    "thresholds by race (Aequitas)": "group_threshold",
    "FairGBM": "fairgbm",
}
ASKED = (0.8, 0.9)


def judged(y: np.ndarray, race: np.ndarray, yes: np.ndarray) -> tuple[float, float, float]:
    """Accuracy, and the least recall of a race over everyone's and over the largest."""
    recalls = [yes[(race == one) & y].mean() for one in np.unique(race)]
    return float((yes == y).mean()), min(recalls) / yes[y].mean(), min(recalls) / max(recalls)


def ours(train, test, ratio: float | None, confidence: float | None) -> tuple[np.ndarray, float, str]:
    """Decisions on the test rows, CPU seconds of the fit, and what the status says."""
    import ratebound as rb

    X, y, races = train
    asked = (
        [f"recall(RAC1P == {race}) >= {ratio} * recall()" for race in np.unique(races)] if ratio else []
    )
    model = rb.RateConstrainedClassifier(asked, model="lightgbm", confidence=confidence, random_state=0)
    started = time.process_time()
    model.fit(X, y, columns={"RAC1P": races})
    seconds = time.process_time() - started
    return model.predict(test[0]).astype(bool), seconds, str(model.status_)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="train on so many rows only")
    given = parser.parse_args()
    if not FOLDER.exists():
        sys.exit(f"ACSIncome does not ship with the package: {FOLDER} is not there")
    import pandas as pd

    parts = []
    for part in ("train", "test"):
        table = pd.read_parquet(FOLDER / f"acsincome_{part}.parquet")
        if part == "train" and given.rows:
            table = table.sample(given.rows, random_state=0)
        y = table.pop("PINCP").to_numpy() == 1
        parts.append((table.to_numpy(np.float32), y, table["RAC1P"].to_numpy()))
    train, test = parts
    published = pd.read_parquet(FOLDER / "acsincome_published.parquet")
    lines = []
    for title, start in PUBLISHED.items():
        named = [name for name in published.columns if name.startswith(start)]
        values = [judged(*test[1:], published[name].to_numpy(bool)) for name in named]
        lines.append([title, "998,700", *_printed(max(values)), ""])
    for ratio in (None, *ASKED):
        yes, seconds, status = ours(train, test, ratio, 0.9)
        values = judged(*test[1:], yes)
        title = "LightGBM, no promise"
        if ratio:
            title = f"**ratebound**, LightGBM, recall of each race at least {ratio:.0%} of everyone's"
        print(title, *values, f"{seconds:.0f} s", status, file=sys.stderr, flush=True)
        lines.append([title, f"{len(train[1]):,}", *_printed(values), f"{seconds:.0f}"])
    header = [
        "",
        "trained on rows",
        "accuracy",
        "least recall over everyone's",
        "over the largest",
        "CPU s",
    ]
    print(markdown(header, lines))


def _printed(values: tuple[float, float, float]) -> list[str]:
    return [f"{values[0]:.4f}", *(f"{ratio:.3f}" for ratio in values[1:])]


if __name__ == "__main__":
    main()
