"""How far a call walks: the files of the package that run, and how often a problem is compiled.

A file counts as visited if one of its functions runs during the call; importing it does not count. Each
walk runs in a process of its own, once to warm up (imports, compiled loops) and once counted.

    python benchmarks/walks.py            # the table
    python benchmarks/walks.py certify    # the files of one walk, by room
"""

import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import ratebound._old as rb
from ratebound._old.cli import main

ROOT = Path(rb.__file__).parent / "_old"  # new rooms are counted when there are some
PROMISES = ['recall(sex == "F") >= 0.9 * recall()', "positive_rate() <= 0.5"]


def people(rows=600, seed=0):
    """A small table with a promise that binds."""
    rng = np.random.default_rng(seed)
    sex = np.where(rng.random(rows) < 0.4, "F", "M")
    X = rng.normal(size=(rows, 3)).round(3)
    y = (X @ [1.0, 0.6, 0.0] + 0.5 * (sex == "M") + rng.logistic(size=rows) > 0.3).astype(int)
    return X, y, {"sex": sex}


def fitted(**options):
    X, y, columns = people()
    model = rb.RateConstrainedClassifier(PROMISES, random_state=0, **options)
    return model.fit(X, y, columns=columns)


def fit():
    return lambda: fitted(confidence=0.9)


def train():
    X, y, columns = people()
    folder = Path(tempfile.mkdtemp())
    names = ["a", "b", "c", "sex", "label"]
    lines = [",".join(names)]
    lines += [
        ",".join(map(str, [*row, group, label]))
        for row, group, label in zip(X.tolist(), columns["sex"], y, strict=True)
    ]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    flags = [word for promise in PROMISES for word in ("--require", promise)]
    out = ["--out", str(folder / "model"), "--quiet", "--force"]  # it walks twice

    def walk():
        status = main(["train", str(folder / "rows.csv"), "--label", "label", *flags, *out])
        assert status in (0, 1), status

    return walk


def step():
    X, y, columns = people()
    compiled = rb.compile(
        rb.Problem(rb.error_rate(), [rb.parse(p) for p in PROMISES]), rb.Population(X, y, columns)
    )
    game = rb.Game(compiled, rb.SwapRegret())
    scores = np.zeros(len(y))
    state, batch = game.start(scores), game.batch(np.arange(len(y)))
    return lambda: game.round(state, scores, batch)


def predict():
    model, X = fitted(), people()[0]
    return lambda: model.predict(X[:1])


def certify():
    model, (X, y, columns) = fitted(), people(seed=1)
    problem, rows = model.solution_.record.problem, rb.Population(X, y, columns)
    return lambda: rb.certify(problem, model.solution_, rows)


def audit():
    import pyarrow as pa
    import pyarrow.parquet as pq

    model, (X, y, columns) = fitted(), people(seed=1)
    file = Path(tempfile.mkdtemp()) / "rows.parquet"
    cells = {f"x{i}": X[:, i] for i in range(3)} | {"sex": columns["sex"], "label": y}
    pq.write_table(pa.table(cells), file, row_group_size=200)
    rows = rb.Parquet(str(file), label="label", features=["x0", "x1", "x2"], columns=["sex"])
    problem = model.solution_.record.problem
    return lambda: rb.audit(problem, model.solution_, rows)


WALKS = {
    "fit": ("fit(confidence=0.9)", fit),
    "train": ("ratebound train", train),
    "step": ("one step", step),
    "predict": ("predict one row", predict),
    "certify": ("certify", certify),
    "audit": ("audit on disk", audit),
}


def counted(walk):
    """The files visited by a call, each with how many of its functions ran, and who compiled."""
    ran = set()

    def note(frame, event, _):
        file, function = frame.f_code.co_filename, frame.f_code.co_name
        if event == "call" and function != "<module>":
            ran.add((file, function))
            if function == "compile_on" and file.endswith("compiling.py"):
                compiles.append(frame.f_back.f_code.co_filename)

    compiles = []
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        walk()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    files = Counter(name for name, _ in ran if name.startswith(str(ROOT)))
    return {str(Path(name).relative_to(ROOT)): n for name, n in files.items()}, compiles


def one(name):
    walk = WALKS[name][1]()
    walk()
    return counted(walk)


def table():
    print("| walk | files | functions | compiles |\n|---|---|---|---|")
    for name in WALKS:
        done = subprocess.run(
            [sys.executable, __file__, name, "--numbers"], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        print(done.stdout.splitlines()[-1], flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        table()
        sys.exit()
    files, compiles = one(sys.argv[1])
    if "--numbers" not in sys.argv:
        for file, functions in sorted(files.items()):
            print(f"{file} {functions}")
        for caller in compiles:
            print(f"compiled by {Path(caller).relative_to(ROOT)}")
    print(f"| {WALKS[sys.argv[1]][0]} | {len(files)} | {sum(files.values())} | {len(compiles)} |")
