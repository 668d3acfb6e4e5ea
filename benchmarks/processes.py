"""Games played by one process, and by two together: milliseconds a round.

Each process has its share of the same rows, and one thread. "own" are milliseconds of work in the
process that takes longest, "passed" those on the clock, which wait for the other too; "sent" are the
bytes that a process gives in a round, to be summed over all. The last line is how long it takes to sum
a kilobyte.
"""

import multiprocessing
import os
import tempfile
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when the libraries are imported

import numpy as np
from _common import machine, markdown, options, tell

import ratebound._old as rb
from ratebound._old.base import processes

FEATURES, GROUPS = 20, 10
GAMES = {  # model, rows a round, rounds
    "linear": (rb.Linear(0.01), 512, 300),
    "linear, large batches": (rb.Linear(0.01), 8192, 200),
    "network, 64 hidden": (rb.MLP((64,)), 8192, 60),
    "network, 512 and 512": (rb.MLP((512, 512)), 8192, 12),
}


def share(rows):
    """This process's rows; all together are the same rows however many processes there are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, FEATURES)).astype(np.float32)
    group = rng.integers(0, GROUPS, rows)
    y = X[:, :5].sum(axis=1) + rng.normal(size=rows) > 0
    own = slice(processes.rank(), None, processes.count())
    return rb.Population(X[own], y[own], {"group": group[own]})


def a_round(compiled, learner, batch, rounds):
    """CPU and wall-clock milliseconds of a round: the difference of a long and a short game."""
    found = []
    for count in (1, 1, 1 + rounds):  # libraries set themselves up in the first
        worked, started = time.process_time(), time.perf_counter()
        rb.play(
            compiled, learner, rounds=count, batch_size=batch, keep=rb.Keep(rounds + 1), progress=False
        )
        found.append([time.process_time() - worked, time.perf_counter() - started])
    return 1e3 * np.subtract(found[2], found[1]) / rounds


def measured(rows):
    """For every game what a process measured and sends, and how long a sum takes."""
    problem = rb.Problem(rb.error_rate(), rb.equal_opportunity("group", slack=0.03))
    compiled, found = rb.compile(problem, share(rows)), {}
    for name, (learner, batch, rounds) in GAMES.items():
        own, passed = a_round(compiled, learner, batch, rounds)
        parameters = learner.start(compiled, 1, 0).parameters().shape[1]
        sent = 4 * (2 * compiled.slice_count + parameters) * (processes.count() > 1)
        found[name] = max(processes.gathered(own)), passed, sent
    started = time.perf_counter()
    for _ in range(100):
        processes.total(np.ones(128))
    return found, (time.perf_counter() - started) * 10


def work(meeting, rank, count, rows, results):
    """One of several processes."""
    import torch

    torch.set_num_threads(1)
    if count > 1:
        torch.distributed.init_process_group("gloo", f"file://{meeting}", rank=rank, world_size=count)
    results.put(measured(rows))
    if count > 1:
        torch.distributed.destroy_process_group()


def together(count, rows):
    """What `count` processes measure together."""
    spawn = multiprocessing.get_context("spawn")
    results = spawn.Queue()
    with tempfile.TemporaryDirectory() as folder:
        given = [(f"{folder}/meeting", rank, count, rows, results) for rank in range(count)]
        running = [spawn.Process(target=work, args=each) for each in given]
        for each in running:
            each.start()
        found, *_ = [results.get() for _ in running]
        for each in running:
            each.join()
    return found


def main():
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    given = parser.parse_args()
    rows = given.rows
    measures = {count: together(count, rows) for count in (1, 2)}
    lines = []
    for name in GAMES:
        for count, (found, _) in measures.items():
            own, passed, sent = found[name]
            lines.append([name, str(count), f"{own:.2f}", f"{passed:.2f}", f"{sent:,}"])
    print(f"{machine()}\n")
    print(markdown(["model", "processes", "own, ms", "passed, ms", "sent, bytes"], lines))
    print(f"\nA kilobyte is summed over two processes in {measures[2][1]:.2f} ms.")
    tell({f"{line[0]}, {line[1]} processes": float(line[2]) for line in lines}, [], given.json)


if __name__ == "__main__":
    main()
