"""Boosted trees on some of the rows, as one of several processes of XGBoost's collective.

``python boosted_together.py folder name='"value"' ...``, with what the tracker tells its workers, plays
every game of `GAMES` on this process's rows and leaves what it found in the folder.
"""

import json
import sys
from pathlib import Path

import numpy as np

import ratebound._old as rb
from ratebound._old.base import processes

rng = np.random.default_rng(8)
N = 900
# Few values a feature, so that its bins are the same however the rows are dealt out.
X = np.round(rng.normal(size=(N, 5)) * 8) / 8
X[:, 4] = rng.integers(0, 6, N)  # codes of a category
GROUP = np.where(X[:, 1] > 0.9, "rare", "usual")
SIGNAL = X[:, 0] + X[:, 1] + np.isin(X[:, 4], (1, 4)) + rng.normal(size=N)
X[rng.random(X.shape) < 0.05] = np.nan
TWO = SIGNAL > 1.0
THREE = np.array(["low", "mid", "top"])[(SIGNAL > 0.0).astype(int) + (SIGNAL > 1.5)]
WEIGHTS = rng.integers(1, 4, N).astype(float)

EVERY_THIRD = np.arange(N) % 3 == 0
SHARES = {"uneven": EVERY_THIRD, "by group": GROUP == "rare"}  # the rows of process 0; 1 has the others
PARITY = rb.positive_rate(group="usual") >= 0.9 * rb.positive_rate()
COMMON = rb.recall(of="mid", group="usual") >= 0.6

GAMES = {
    "plain": {"player": rb.ExternalRegret(0.3)},
    "weighted, by category": {"player": rb.SwapRegret(0.3), "weights": WEIGHTS, "categorical": [4]},
    "two settings, relaxed": {"player": rb.Lagrangian((0.1, 0.3))},
    "a group in one process": {"player": rb.ExternalRegret(0.3), "shares": "by group"},
    "three classes": {"player": rb.SwapRegret(0.2), "y": THREE, "promise": COMMON},
}


def played(player, rows=slice(None), y=TWO, weights=None, promise=PARITY, categorical=(), shares=None):
    """The trace of one game on these rows."""
    import xgboost

    own = None if weights is None else weights[rows]
    classes = sorted(set(THREE)) if y is THREE else None
    people = rb.Population(X[rows], y[rows], {"group": GROUP[rows]}, weights=own, classes=classes)
    compiled = rb.compile(rb.Problem(rb.error_rate(), [promise]), people)
    model = xgboost.XGBClassifier(n_estimators=8, learning_rate=0.3, max_depth=3, n_jobs=1)
    learner = rb.Boosted(model, categorical=categorical)
    return rb.play(compiled, learner, player=player, watch={"own": compiled}, progress=False)


def found(trace):
    """What is compared: numbers of the trace, its scores on every row, and the trees themselves."""
    return {
        "multipliers": trace.multipliers,
        "objectives": trace.objectives,
        "violations": trace.violations,
        "watched": trace.watched["own"].violations,
        "scores": trace.scorer.scores(trace.parameters, X),
        **trace.scorer.describe()[1],
    }


def talked(rank):
    """What the processes say to each other."""
    return {
        "processes": [processes.count(), processes.rank()],
        "gathered": processes.gathered({"rank": rank, "nothing": None}),
        "of the first": processes.of_first(None if rank == 0 else "not this"),
        "total": processes.total(np.array([[rank + 0.5, 1.0]])).tolist(),
        "counted": processes.total(np.array([True, rank == 1])).tolist(),
        "rows": np.concatenate(processes.gathered(np.arange(2 - rank))).tolist(),
    }


def main(folder, *given):
    from xgboost import collective

    with collective.CommunicatorContext(
        **{n: json.loads(v) for n, v in (g.split("=", 1) for g in given)}
    ):
        rank = collective.get_rank()
        (Path(folder) / f"talked {rank}.json").write_text(json.dumps(talked(rank)), "utf-8")
        for name, game in GAMES.items():
            first = SHARES[game.get("shares", "uneven")]
            trace = played(rows=first if rank == 0 else ~first, **game)
            np.savez(Path(folder) / f"{name} {rank}.npz", **found(trace))


if __name__ == "__main__":
    main(*sys.argv[1:])
