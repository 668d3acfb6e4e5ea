"""How long a person waits for a table: seconds and peak memory, beside a floor of the same run.

Five cases. "predict": a million rows of a frame with as many kinds of column as Adult's, decided by a
linear model; the floor is pandas' `get_dummies`, aligned to the columns of training, and scikit-learn's
LogisticRegression. "one": a row at a time, as a frame and as an array, by the estimator and the loaded
model; the floor is LogisticRegression on the array. "train": a million rows of 20 floats; "mixed": a
million of the frame. Their floor is one fit of LogisticRegression to the numbers. "wide": as many rows
and columns as KDD's census has, 500 features once encoded; the floor is one fit of LogisticRegression on
them as a sparse matrix.

Each case runs in a process of its own, so that its peak is its own. One thread throughout, and seconds
are those of the processor, so that others on the machine count less.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy is imported

import numpy as np
import pandas
from _common import Aim, machine, markdown, options, tell, warm_up
from sklearn.linear_model import LogisticRegression

import ratebound as rb

PROMISES = "equal_opportunity(sex, ratio=0.95)"
AIMS = {  # at most so much, of what
    "predict": (2.0, "s"),
    "one": (0.3, "ms"),
    "train": (1.5, "GB"),
    "mixed": (1.5, "GB"),
    "wide": (15.0, "s"),
}
Lines = list[dict[str, Any]]


def people(rows: int, numbers: int, sizes: list[int], seed: int = 0) -> tuple[pandas.DataFrame, Any]:
    """A frame of so many numbers and texts with so many values each, and labels that depend on both."""
    random = np.random.default_rng(seed)
    sex = random.choice(["Female", "Male"], rows)
    frame = {"sex": sex.astype(object)}
    score = 3.0 * (sex == "Male") + random.logistic(size=rows)
    for i in range(numbers):
        values = random.gamma(2.0, 10.0 + i, rows)
        frame[f"number {i}"] = values.round() if i % 2 else values
        score += random.normal() * (values / (20 + 2 * i) - 1)
    for i, size in enumerate(sizes):
        names = np.array([f"{i} value {j}" for j in range(size)], dtype=object)
        codes = np.minimum(random.zipf(1.5, rows) - 1, size - 1)
        frame[f"text {i}"] = names[codes]
        score += random.normal(size=size)[codes]
    return pandas.DataFrame(frame), score > np.quantile(score, 0.76)


def adult_like(rows: int) -> tuple[pandas.DataFrame, Any]:
    return people(rows, 11, [9, 16, 7, 15, 6, 5, 42, 4])


def timed(action: Callable[[], Any], repeats: int = 1) -> float:
    """Seconds of the fastest of several runs."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        found.append(time.process_time() - start)
    return min(found)


def line(what: str, seconds: float, floor: float, peak: int | None = None) -> dict[str, Any]:
    return {"what": what, "seconds": seconds, "floor": floor, "peak": peak}


def peak() -> int:
    """Bytes this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def fitted(X: Any, y: Any) -> Any:
    model = rb.RateConstrainedClassifier(PROMISES, random_state=0, confidence=None)
    return model.fit(X, y, columns=X)


def logistic(X: Any, y: Any) -> Any:
    return LogisticRegression(max_iter=100).fit(X, y)


def predict(rows: int) -> Lines:
    frame, y = adult_like(20_000)
    model = fitted(frame, y)
    dummies = pandas.get_dummies(frame, dtype=np.float32)
    plain = logistic(dummies, y)
    many, _ = adult_like(rows)
    category = many.astype(dict.fromkeys(many.select_dtypes(exclude="number"), "category"))
    numbers = rb.RateConstrainedClassifier("positive_rate() <= 0.2", confidence=None)
    X = np.random.default_rng(0).normal(size=(rows, 20)).astype(np.float32)
    numbers.fit(X[:20_000], X[:20_000, 0] > 0)
    of_numbers = logistic(X[:20_000], X[:20_000, 0] > 0)

    def floor() -> None:
        seen = pandas.get_dummies(many, dtype=np.float32).reindex(columns=dummies.columns, fill_value=0)
        plain.predict(seen)

    least = timed(floor)
    found = [line("a frame of texts and numbers", timed(lambda: model.predict(many)), least)]
    found += [line("the same as categories", timed(lambda: model.predict(category)), least)]
    found += [line("decision_function", timed(lambda: model.decision_function(many)), least)]
    on_array = timed(lambda: of_numbers.predict(X))
    return [*found, line("an array of 20 floats", timed(lambda: numbers.predict(X)), on_array, peak())]


def one(rows: int) -> Lines:
    frame, y = adult_like(4_000)
    model = fitted(frame, y)
    X = frame.select_dtypes("number").to_numpy()
    on_array = rb.RateConstrainedClassifier(
        "recall(sex == 'Female') >= 0.95 * recall()",
        random_state=0,
        confidence=None,
    )
    on_array.fit(X, y, columns=frame[["sex"]])
    plain = logistic(X, y)
    with tempfile.TemporaryDirectory() as folder:
        loaded = [rb.load(each.save(Path(folder) / "model.safetensors")) for each in (model, on_array)]
    least = timed(lambda: plain.predict(X[:1]), rows)
    one_row, one_vector = frame[:1], X[:1]
    return [
        line("estimator, a frame", timed(lambda: model.predict(one_row), rows), least),
        line("estimator, an array", timed(lambda: on_array.predict(one_vector), rows), least),
        line("loaded, a frame", timed(lambda: loaded[0].predict(one_row), rows), least),
        line("loaded, an array", timed(lambda: loaded[1].predict(one_vector), rows), least),
    ]


def train(rows: int) -> Lines:
    random = np.random.default_rng(0)
    X = random.normal(size=(rows, 20))
    columns = {"sex": np.where(X[:, 0] + random.normal(size=rows) > 0, "Female", "Male")}
    y = X.sum(axis=1) + random.logistic(size=rows) > 1
    model = rb.RateConstrainedClassifier(PROMISES, random_state=0, confidence=None)
    seconds = timed(lambda: model.fit(X, y, columns=columns))
    held = peak()
    return [line("a million rows of 20 floats", seconds, timed(lambda: logistic(X, y)), held)]


def mixed(rows: int) -> Lines:
    frame, y = adult_like(rows)
    seconds = timed(lambda: fitted(frame, y))
    held = peak()
    least = timed(lambda: logistic(frame.select_dtypes("number"), y))
    return [line("a million rows of 9 texts and 11 numbers", seconds, least, held)]


def wide(rows: int) -> Lines:
    sizes = np.diff(np.linspace(0, 22, 33) ** 2).round().astype(int).clip(2).tolist()
    frame, y = people(rows, 7, sizes)
    seconds = timed(lambda: fitted(frame, y))
    held = peak()
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    texts = list(frame.select_dtypes(exclude="number"))
    encode = make_column_transformer((OneHotEncoder(), texts), remainder=StandardScaler())
    least = timed(lambda: logistic(encode.fit_transform(frame), y))
    return [line(f"{encode.transform(frame[:1]).shape[1]} features", seconds, least, held)]


CASES = {"predict": (predict, 1_000_000), "one": (one, 2_000), "train": (train, 1_000_000),
         "mixed": (mixed, 1_000_000), "wide": (wide, 210_000)}  # fmt: skip


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--here", action="store_true", help="run one case in this process, as JSON")
    given = parser.parse_args()
    if given.here:
        case, rows = CASES[given.cases[0]]
        warm_up()
        print(json.dumps(case(rows)))
        return
    print(f"{machine()}\n")
    table, cells, aims = [], {}, []
    for name in given.cases:
        command = [sys.executable, __file__, name, "--here"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        for each in json.loads(done.stdout):
            unit, per = ("ms", 1e3) if name == "one" else ("s", 1.0)
            most, of = AIMS[name]
            what, beside = f"tables, {name}: {each['what']}", {"floor": each["floor"] * per}
            cells[what] = each["seconds"] * per
            if of == "GB":
                cells[f"{what}, GB"] = each["peak"] / 1e9
                aims.append(Aim(f"{what}, at the peak", most, each["peak"] / 1e9, of, by="itself"))
            else:
                aims.append(Aim(what, most, each["seconds"] * per, of, by="itself", **beside))
            table.append([name, each["what"], f"{each['seconds'] * per:.2f} {unit}",
                          f"{each['floor'] * per:.2f} {unit}", f"{each['seconds'] / each['floor']:.1f}x",
                          "" if each["peak"] is None else f"{each['peak'] / 1e9:.2f} GB",
                          f"{most:g} {of}"])  # fmt: skip
    print(markdown(["case", "what", "time", "floor", "ratio", "peak", "aim"], table))
    tell(cells, aims, given.json)


if __name__ == "__main__":
    main()
