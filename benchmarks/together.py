"""Boosted trees grown by one process, and by two together: seconds a tree.

Each process has its share of the same rows, and one thread. "own" are seconds of work in the process
that takes longest, "passed" are seconds on the clock, which wait for the others too; "a sum" is how
long a kilobyte takes to be summed over the processes, which a round does a few times.
"""

import multiprocessing
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when the libraries are imported

import numpy as np
from _common import machine, markdown, options, tell
from xgboost import XGBClassifier, collective
from xgboost.tracker import RabitTracker

import ratebound._old as rb
from ratebound._old.base import processes

FEATURES, TREES = 20, 20


def share(rows):
    """This process's rows; all together are the same rows however many processes there are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, FEATURES)).astype(np.float32)
    group = rng.integers(0, 4, rows)
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * group + rng.normal(size=rows) > 0.5
    own = slice(processes.rank(), None, processes.count())
    return rb.Population(X[own], y[own], {"group": group[own]})


def measured(rows):
    """Seconds of work a tree, seconds that passed, and seconds a sum takes."""
    problem = rb.Problem(rb.error_rate(), rb.statistical_parity("group", ratio=0.9))
    compiled = rb.compile(problem, share(rows))
    learner = rb.Boosted(XGBClassifier(n_estimators=TREES, max_depth=6, n_jobs=1))
    worked, started = time.process_time(), time.perf_counter()
    rb.play(compiled, learner, keep=rb.Keep(every=TREES), progress=False)
    worked, ended = time.process_time() - worked, time.perf_counter()
    for _ in range(100):
        processes.total(np.ones(128))
    summed = (time.perf_counter() - ended) / 100
    return max(processes.gathered(worked)) / TREES, (ended - started) / TREES, summed


def work(told, rank, rows, results):
    """One of several processes."""
    with collective.CommunicatorContext(**told, dmlc_task_id=str(rank)):
        results.put(measured(rows))


def together(count, rows):
    """What `count` processes measure together."""
    tracker = RabitTracker(n_workers=count, host_ip="127.0.0.1", sortby="task")
    tracker.start()
    spawn = multiprocessing.get_context("spawn")
    results, told = spawn.Queue(), tracker.worker_args()
    given = [(told, rank, rows, results) for rank in range(count)]
    workers = [spawn.Process(target=work, args=each) for each in given]
    for worker in workers:
        worker.start()
    found = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    tracker.wait_for()
    return np.max(found, axis=0)


def main():
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    print(f"{machine()}; {given.rows:,} rows of {FEATURES} features, {TREES} trees\n")
    table, cells = [], {}
    for count in given.processes:
        least = np.min([together(count, given.rows) for _ in range(given.repeats)], axis=0)
        cells[f"a tree, {count} processes"] = 1e3 * least[0]
        table.append([str(count), *(f"{1e3 * seconds:.2f} ms" for seconds in least)])
    print(markdown(["processes", "a tree, own", "a tree, passed", "a sum"], table))
    tell(cells, [], given.json)


if __name__ == "__main__":
    main()
