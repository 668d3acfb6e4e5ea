"""The README's customers as files: python docs/customers.py FOLDER writes two CSVs and a run file."""

import sys
from pathlib import Path

from sklearn.model_selection import train_test_split

import ratebound as rb

RUN = """data = "customers.csv"
label = "bought"
minimize = "positive_rate()"
require = ["recall(age < 30) >= 0.6", "recall(age >= 30, age < 60) >= 0.6", "recall(age >= 60) >= 0.6"]
holdout = 0
out = "model"
"""


def main() -> None:
    """Write half of the rows to train on, half as the customers of tomorrow, and what is promised."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    X, y = rb.datasets.load_frame("bank")
    halves = train_test_split(X.assign(bought=y), test_size=0.5, random_state=1)
    for name, rows in zip(("customers", "new"), halves, strict=True):
        rows.to_csv(folder / f"{name}.csv", index=False)
    (folder / "customers.toml").write_text(RUN, "utf-8")


if __name__ == "__main__":
    main()
