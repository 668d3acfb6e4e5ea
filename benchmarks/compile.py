"""What many groups cost: seconds to read and compile a problem, milliseconds to evaluate and to train.

The problem is ``recall(group) >= 0.5 * recall()`` for m groups by the texts of one column, or by m
columns whose groups overlap, on 30,000 rows. The player is `ExternalRegret`, whose own steps are small:
`SwapRegret` holds a matrix of m × m. Times are the processor's own, so that others on the machine do
not count; of rounds and evaluations the fastest of a few blocks counts.
"""

import os
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy is imported

import numpy as np
from _common import machine, markdown, options, tell, warm_up

import ratebound._old as rb

ROWS, ROUNDS, BATCH, SETTINGS = 30_000, 50, 512, 9


def drawn(groups: int, layout: str) -> tuple[list[str], rb.Population]:
    random = np.random.default_rng(0)
    X = random.normal(size=(ROWS, 5)).astype(np.float32)
    y = X[:, 0] + random.normal(size=ROWS) > 0
    if layout == "disjoint":
        y[:groups] = True  # so that every group has a recall
        columns = {"group": np.array([f"g{i % groups}" for i in range(ROWS)], dtype=object)}
        conditions = [f'group == "g{i}"' for i in range(groups)]
    else:
        columns = {f"c{i}": random.integers(0, 2, ROWS) for i in range(groups)}
        conditions = [f"c{i} == 1" for i in range(groups)]
    words = [f"recall({condition}) >= 0.5 * recall()" for condition in conditions]
    return words, rb.Population(X, y, columns=columns)


def seconds(work: Callable[[], object]) -> tuple[float, object]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def measured(groups: int, layout: str) -> dict[str, float]:
    """Seconds to read and to compile, milliseconds to evaluate and to play a round."""
    words, people = drawn(groups, layout)
    reading, problem = seconds(lambda: rb.Problem("error_rate()", words))
    compiling, compiled = seconds(lambda: rb.compile(problem, people))
    scores = np.random.default_rng(1).normal(size=(SETTINGS, ROWS))
    compiled.evaluate(scores)
    evaluating = min(seconds(lambda: compiled.evaluate(scores))[0] for _ in range(5))
    learner = rb.Linear([0.001 * (i + 1) for i in range(SETTINGS)])
    game = rb.Game(compiled, rb.ExternalRegret(), settings=SETTINGS)
    fit = learner.start(compiled, SETTINGS, 0)
    state = game.start(fit.all_scores())
    batches = np.random.default_rng(2).integers(0, ROWS, (ROUNDS, BATCH))

    def rounds(count: int) -> None:
        nonlocal state
        for rows in batches[:count]:
            gradient, state = game.round(state, fit.scores(rows), game.batch(rows))
            fit.descend(gradient)

    rounds(3)  # in which loops are compiled
    playing = min(seconds(lambda: rounds(ROUNDS))[0] for _ in range(4))
    return {
        "read, s": reading,
        "compile, s": compiling,
        f"evaluate {SETTINGS}, ms": 1000 * evaluating,
        "round, ms": 1000 * playing / ROUNDS,
    }


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--groups", type=int, nargs="+", default=[250, 1000, 2000, 4000])
    given = parser.parse_args()
    warm_up()
    found = {
        (layout, f"{m:,}"): measured(m, layout)
        for layout in ("disjoint", "overlapping")
        for m in given.groups
    }
    print(f"{machine()}; {ROWS:,} rows, {SETTINGS} settings, batches of {BATCH}\n")
    columns = list(next(iter(found.values())))
    table = [[*key, *(f"{value:.2f}" for value in each.values())] for key, each in found.items()]
    print(markdown(["groups", "m", *columns], table))
    cells = {
        f"{layout}, m = {m}: {column}": value
        for (layout, m), each in found.items()
        for column, value in each.items()
    }
    tell(cells, [], given.json)


if __name__ == "__main__":
    main()
