"""Games that one process plays, or several together with a share of the rows each.

As a script, ``python -m tests._old.game.in_processes FOLDER RANK COUNT``, it plays them all and writes
the results to a file. The rows of process p of N are p, p + N, ... Results that begin with OWN depend on
random draws of each process.
"""

import os
import signal
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import ratebound._old as rb
from ratebound._old.base import processes
from ratebound._old.game import _resuming


def people(count, seed, weighted=False):
    random = np.random.default_rng(seed)
    X, sex = random.normal(size=(count, 5)), random.choice(["F", "M"], count)
    X[:, 0] += sex == "F"
    y = X @ [1.0, -1.0, 0.5, 0.0, 0.0] + random.normal(size=count) > 0
    columns = {"sex": sex, "price": random.uniform(1, 3, count)}
    return rb.Population(X, y, columns, weights=random.uniform(0.5, 2, count) if weighted else None)


def flowers(count, rank, processes):
    """Rows of four classes; each of two processes has three of them."""
    random = np.random.default_rng(5)
    y = random.integers(3, size=count) + np.arange(count) % 2
    X = random.normal(size=(count, 5)) + np.eye(4, 5)[y]
    X, y, wild = (each[rank::processes] for each in (X, y, random.random(count) > 0.4))
    return rb.Population(X, np.array(["iris", "lily", "rose", "tulip"])[y], {"wild": wild})


PROBLEM = rb.Problem(
    rb.error_rate(),
    [
        rb.recall(sex="F") >= 0.95 * rb.recall(),
        rb.positive_rate(sex="M") <= 0.3,
        rb.positive_rate(on="pool") <= 0.35,
        "equal_opportunity(sex, slack=0.05)",
    ],
)
IN_ORDER = rb.Rules(shuffle=False)


def network():
    from torch import nn

    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))


def played(rank, count, folder):
    """All games, by name, on the share of this process; `folder` has rows in a Parquet file."""

    def share(rows):
        return rows.only(np.arange(rank, len(rows), count))

    def compiled(problem, rows, **others):
        return rb.compile(problem, share(rows), **{name: share(o) for name, o in others.items()})

    pool = people(303, 1)
    train = compiled(PROBLEM, people(1001, 0, weighted=True), pool=pool)
    other = compiled(train.problem, people(200, 2), pool=pool)
    batches: dict = {"batch_size": 100, "rules": IN_ORDER}
    learners = {
        "linear": rb.Linear([0.01, 0.1], l2=0.01),
        "network": rb.Torch(network, 0.01),
        "networks": rb.Torch(network, [0.01, 0.02], l2=0.01),
    }
    games = {}
    for name, learner in learners.items():
        keep = {"rounds": 8, "keep": rb.Keep(every=4)}
        games[f"{name}, all rows"] = rb.play(train, learner, batch_size=None, **keep)
        games[f"{name}, batches"] = rb.play(train, learner, watch={"other": other}, **batches, **keep)
    how: dict = {**batches, "rounds": 8, "keep": rb.Keep(every=4)}
    wide = rb.Linear(0.1, dtype="float64")
    unbiased = rb.Rules(estimate="unbiased", shuffle=False)
    games["unbiased"] = rb.play(train, wide, **how | {"rules": unbiased})
    theorem = rb.SwapRegret("theorem", optimizer="sgd")
    games["theorem"] = rb.play(train, wide, player=theorem, **how | {"rules": unbiased})
    games["proxies"] = rb.play(train, wide, player=rb.Lagrangian(), **how)
    area = rb.Problem(rb.error_rate(), [rb.roc_auc() >= 0.7, rb.false_positive_rate(at="low") <= 0.5])
    games["learned thresholds"] = rb.play(compiled(area, people(400, 3)), wide, **how)
    costs = rb.Problem(rb.cost(false_negative=2, column="price"), [rb.positive_rate() <= 0.3])
    games["costs"] = rb.play(compiled(costs, people(400, 3, weighted=True)), wide, **how)
    best = compiled(rb.Problem(maximize=rb.f_score()), people(400, 4))
    games["a goal that is not a sum"] = rb.play(best, wide, **how | {"rounds": 4})
    several = rb.Problem(rb.error_rate(), [rb.recall(of="rose", wild=True) >= 0.8])
    games["several classes"] = rb.play(rb.compile(several, flowers(400, rank, count)), wide, **how)
    on_disk = rb.Parquet(f"{folder}/rows.parquet", label="y", columns=["sex"])
    stored = rb.compile(rb.Problem(rb.error_rate(), [rb.positive_rate(sex="M") <= 0.3]), on_disk)
    drawn = {"batch_size": 64, "rounds": 8, "keep": rb.Keep(every=4)}
    games["OWN shuffled"] = rb.play(train, wide, **drawn)
    games["OWN on disk"] = rb.play(stored, wide, **drawn)
    return games


def judged(rank, count):
    """The results of audits and certificates of given models, on the share of this process."""

    def share(rows):
        return rows.only(np.arange(rank, len(rows), count))

    def model(*weights):
        return SimpleNamespace(
            weights=weights, thresholds={}, member_scores=lambda X: X[:, : len(weights)]
        )

    problem = PROBLEM.promising(
        [*PROBLEM.subject_to, rb.predicted_positives() <= 300, "precision() >= 0.5"]
    )
    people_of = {"pool": share(people(303, 1))}
    audit = rb.audit(problem, model(0.25, 0.75), share(people(601, 6, weighted=True)), **people_of)
    certificate = rb.certify(problem, model(1.0), share(people(601, 6)), **people_of)
    needed = rb.rows_needed(problem, share(people(601, 6)), **people_of)
    return {
        "audit": {
            "promises": [(p.value, p.slack_low, p.slack_high, p.rows) for p in audit.promises],
            "groups": [(group.rows, group.recall) for group in audit.groups],
            "rows": list(audit.populations.values()),
        },
        "certificate": {"promises": [(p.value, p.p_value, p.rows) for p in certificate.promises]},
        "rows needed": {"promises": [(p.rows, p.rows_needed) for p in needed.promises]},
    }


def numbers(trace):
    """The arrays of a trace that are compared."""
    names = ("objectives", "violations", "multipliers", "parameters", "round", "setting")
    compared = {name: getattr(trace, name) for name in names}
    compared |= {f"watched {name}": values.violations for name, values in trace.watched.items()}
    return compared | {f"threshold {name}": at for name, at in trace.thresholds.items()}


def main(folder, rank, count):
    import torch
    import torch.distributed

    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=count
    )
    results = {
        f"{game}/{name}": array
        for game, trace in played(rank, count, folder).items()
        for name, array in numbers(trace).items()
    }
    results |= {
        f"{what}/{name}": each for what, own in judged(rank, count).items() for name, each in own.items()
    }
    results["refused"] = refused(rank, count)
    np.savez(Path(folder) / f"{rank}.npz", **results)
    try:
        lose_one(rank, count, folder)
    except processes.ProcessLost as error:
        (Path(folder) / "lost").write_text(str(error))
        os._exit(0)  # the other process is gone, so a regular exit would hang


class Drifting(rb.Linear):
    """A model whose steps are not the same in all processes."""

    def start(self, rows, settings, seed):
        fit = super().start(rows, settings, seed)
        fit.descend = lambda gradient: fit.restore(fit.parameters() + processes.rank())
        return fit


def refused(rank, count):
    """The errors if several processes cannot train a model."""
    import pyarrow
    from sklearn.linear_model import LogisticRegression
    from torch import nn

    rows = rb.compile(rb.Problem(rb.error_rate()), people(200, rank))
    norm = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    models = (Drifting(), rb.Oracle(LogisticRegression()), rb.Torch(norm))
    games = [partial(rb.play, rows, learner, rounds=2) for learner in models]
    own, errors = people(200, rank), rb.Problem(rb.error_rate())
    table = pyarrow.table(dict.fromkeys(("ab", "ba")[rank], own.X[:, 0]))
    games += [
        partial(rb.compile, rb.Problem(rb.error_rate(), [rb.recall() >= 0.5 + rank / 10]), own),
        partial(rb.compile, errors, rb.Population(table, own.y)),
        partial(rb.play, rows, rb.Linear(), rounds=2 + rank),
    ]
    words = []
    for game in games:
        try:
            game()
        except ValueError as error:
            words.append(str(error))
    return words


def lose_one(rank, count, folder):
    """A game in whose middle the last process dies."""

    def dying(trace):
        if rank == count - 1 and trace.round[-1] == 6:
            os.kill(os.getpid(), signal.SIGKILL)
        return False

    train = rb.compile(rb.Problem(rb.error_rate()), people(200, rank))
    _resuming.SECONDS = 0.0
    keep = rb.Keep(every=2, folder=f"{folder}/games")
    rb.play(train, rb.Linear(), rounds=10, keep=keep, stop=rb.Stop(when=dying))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
