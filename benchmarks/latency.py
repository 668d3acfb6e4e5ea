"""How long a decision takes: one row at a time, and a hundred thousand at once.

The models keep two promises on the census rows of Adult. They decide on rows of an array of 122
features and, where it says so, on rows of a table of 14 columns as people have them. Milliseconds are
of the processor (one thread), each the fastest of several blocks. The floors are scikit-learn's own
logistic regression and LightGBM's own trees.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy and PyTorch are imported

import numpy as np
import pandas as pd
from _common import machine, markdown, options, tell
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression

import ratebound as rb
from ratebound._bridge import make_policy

PROMISES = "equal_opportunity(sex, ratio=0.95)"
MANY, BLOCKS, SECONDS = 100_000, 5, 0.2


def fastest(decide: Callable[[], Any]) -> float:
    """Milliseconds of the processor that a call takes."""
    decide()
    found = []
    for _ in range(BLOCKS):
        calls, start = 0, time.process_time()
        while time.process_time() - start < SECONDS:
            decide()
            calls += 1
        found.append((time.process_time() - start) / calls)
    return 1000 * min(found)


def exported(model: Any, rows: np.ndarray) -> Callable[[int], Callable[[], Any]]:
    """Decisions of the first rows by the model's ONNX graph."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        path = model.to_onnx(Path(folder) / "model.onnx")
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    held = {given.name: given.type for given in session.get_inputs()}
    kind = np.float64 if held["features"] == "tensor(double)" else np.float32

    def on(count: int) -> Callable[[], Any]:
        given: dict[str, Any] = {"features": rows[:count].astype(kind)}
        if "key" in held:
            given["key"] = np.arange(count)
        return lambda: session.run(["decision"], given)

    return on


def predicting(model: Any, rows: Any) -> Callable[[int], Callable[[], Any]]:
    def on(count: int) -> Callable[[], Any]:
        some = rows[:count]
        return lambda: model.predict(some)

    return on


def contenders() -> Iterator[tuple[str, Callable[[int], Callable[[], Any]]]]:
    adult = rb.datasets.load_adult()
    rows, y = np.resize(adult.test.X, (MANY, adult.test.X.shape[1])), adult.train.y
    stock = {
        "scikit-learn's logistic regression": LogisticRegression(solver="liblinear"),
        "LightGBM's own 100 trees": LGBMClassifier(n_jobs=1, verbose=-1),
    }
    for name, model in stock.items():
        yield name, predicting(model.fit(adult.train.X, y), rows)
    for name in ("linear", "mlp", "lightgbm"):
        fitted = rb.RateConstrainedClassifier(PROMISES, model=name, random_state=0)
        fitted.fit(adult.train.X, y, columns=adult.train.columns)
        yield f"{name}, a rule", predicting(fitted, rows)
        yield f"{name}, ONNX", exported(make_policy(fitted), rows)
    table = pd.DataFrame(adult.train.columns)
    fitted = rb.RateConstrainedClassifier(PROMISES, random_state=0).fit(table, y, columns=table)
    people = pd.concat([table] * -(-MANY // len(table)), ignore_index=True)
    yield "linear on a table", predicting(fitted, people)


def main() -> None:
    given = options(__doc__).parse_args()
    cells, lines = {}, []
    for name, on in contenders():
        one, many = fastest(on(1)), fastest(on(MANY))
        cells |= {f"{name}, one row": one, f"{name}, {MANY:,} rows": many}
        lines.append([name, f"{one:.3f}", f"{many:,.0f}", f"{MANY / many / 1000:.2f}"])
    print(f"{machine()}, one thread.\n")
    print(markdown(["model", "one row, ms", f"{MANY:,} rows, ms", "million rows a second"], lines))
    tell(cells, [], given.json)


if __name__ == "__main__":
    main()
