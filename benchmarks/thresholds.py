"""Thresholds by known group: seconds against what cannot be saved, and quality against Fairlearn's.

The floor is what any such method must do: sort every model's scores, compile the problem, and solve the
last linear program once. Fairlearn's ThresholdOptimizer states problems of one column with equal rates;
on those both get the same scores, and are measured on the same rows.
"""

import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy is imported

import numpy as np
from _common import Aim, machine, markdown, options, tell, worst_of
from sklearn.linear_model import LogisticRegression

import ratebound._old as rb
from ratebound._old.base import linear_program

GROUPS = {"sex": ("Female", "Male"), "race": ("Black", "White")}
KNOWN = ["sex", "race"]
GOALS = {
    "4 recalls": rb.equal_opportunity(GROUPS, ratio=0.95),
    "16 odds": rb.equalized_odds(GROUPS, slack=0.02),
    "churn and precision": [
        rb.churn(versus="live") <= 0.12,
        rb.precision() >= 0.75,
        *rb.equal_opportunity(GROUPS, ratio=0.95),
    ],
}
AIMS = {"Adult": 1.0, "1.3 million rows": 6.0, "100 models": 4.0}  # seconds


def best_of(runs: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest time of several runs, and what the last gave."""
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        found = work()
        seconds.append(time.perf_counter() - start)
    return min(seconds), found


def last_program(problem: rb.Problem, scores: Any, population: rb.Population) -> Callable[[], Any]:
    """The last linear program that `rb.thresholds` solves on this problem, to be solved again."""
    solve, calls = linear_program.solve, []
    linear_program.solve = lambda *given: calls.append(given) or solve(*given)
    try:
        rb.thresholds(problem, scores, population, known=KNOWN)
    finally:
        linear_program.solve = solve
    return lambda: solve(*calls[-1])


def timed(name: str, goal: str, scores: Any, population: rb.Population, runs: int) -> list[str]:
    problem = rb.Problem(rb.error_rate(), GOALS[goal])
    own, policy = best_of(runs, lambda: rb.thresholds(problem, scores, population, known=KNOWN))
    compiling, _ = best_of(runs, lambda: rb.compile(problem, population))
    sorting, _ = best_of(runs, lambda: [np.argsort(row) for row in np.atleast_2d(scores)])
    solving, _ = best_of(runs, last_program(problem, scores, population))
    floor = compiling + sorting + solving
    worst = policy.violations["train"].max()
    return [
        name, goal, str(len(policy.constraints)), str(len(policy.decider.groups)), f"{own:.3f}",
        f"{compiling:.3f} + {sorting:.3f} + {solving:.3f}", f"{own / floor:.1f}",
        f"{policy.objectives['train']:.4f} / {worst:+z.1e}",
    ]  # fmt: skip


def adult() -> tuple[rb.Population, rb.Population, Any]:
    """Adult with a live model that has seen little, and a stock model."""
    splits = rb.datasets.load_adult()
    train, test = (
        rb.Population(p.X.astype(float), p.y, columns={n: p.columns[n] for n in KNOWN})
        for p in (splits.train, splits.test)
    )
    live = LogisticRegression(max_iter=1000).fit(train.X[:300], train.y[:300])
    train.columns["live"] = live.predict(train.X)
    return train, test, LogisticRegression(max_iter=1000).fit(train.X, train.y)


def many_rows(train: rb.Population, scores: Any, times: int) -> tuple[rb.Population, Any]:
    """The rows again and again, each with a score and a label of its own."""
    random = np.random.default_rng(0)
    log_odds = np.tile(np.log(scores / (1 - scores)), times)
    log_odds += 0.3 * random.normal(size=len(log_odds))
    y = random.random(len(log_odds)) < 1 / (1 + np.exp(-log_odds))
    columns = {name: np.tile(values, times) for name, values in train.columns.items()}
    return rb.Population(None, y, columns=columns), log_odds


# --- Fairlearn -----------------------------------------------------------------------------------

SEXES = {"sex": GROUPS["sex"]}
PARITIES = {
    "true_positive_rate_parity": rb.equal_opportunity(SEXES, slack=0, against="pairwise"),
    "demographic_parity": rb.statistical_parity(SEXES, slack=0, against="pairwise"),
    "equalized_odds": rb.equalized_odds(SEXES, slack=0, against="pairwise"),
}


def compared(parity: str, train: rb.Population, test: rb.Population, model: Any) -> list[list[str]]:
    """Both methods on one problem: seconds, and error / worst violation on either population."""
    from fairlearn.postprocessing import ThresholdOptimizer

    problem = rb.Problem(rb.error_rate(), PARITIES[parity])
    scores = {id(rows): model.predict_proba(rows.X)[:, 1] for rows in (train, test)}
    theirs = ThresholdOptimizer(
        estimator=model, constraints=parity, prefit=True, predict_method="predict_proba"
    )
    sexes = {id(rows): rows.columns["sex"] for rows in (train, test)}
    fitting, _ = best_of(1, lambda: theirs.fit(train.X, train.y, sensitive_features=sexes[id(train)]))

    def ours() -> rb.Mixture:
        return rb.thresholds(problem, model.predict_proba(train.X)[:, 1], train, known=["sex"])

    own, policy = best_of(1, ours)

    def outcome(rows: rb.Population, yes: Any) -> str:
        """The expected values of deciding yes with these probabilities (n,): rates are linear."""
        levels = np.append(np.unique(yes[yes > 0]), 1.0)
        shares = np.diff(levels[:-1], prepend=0.0)
        decisions = np.where(yes >= levels[:-1, None], 1.0, -1.0)
        never = np.append(*rb.compile(problem, rows).evaluate(np.full(len(yes), -1.0)))
        values = np.column_stack(rb.compile(problem, rows).evaluate(decisions))
        found = shares @ values + (1 - shares.sum()) * never
        return f"{found[0]:.5f} / {found[1:].max():+z.5f}"

    lines = []
    for name, seconds, yes in (
        (
            "Fairlearn",
            fitting,
            lambda r: theirs._pmf_predict(r.X, sensitive_features=sexes[id(r)])[:, 1],
        ),
        ("ratebound", own, lambda r: policy.decision_proba(scores[id(r)], columns=r.columns)[:, 1]),
    ):
        lines.append(
            [parity, name, f"{seconds:.2f}", outcome(train, yes(train)), outcome(test, yes(test))]
        )
    return lines


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    runs = given.runs
    train, test, model = adult()
    scores = model.predict_proba(train.X)[:, 1]
    wide = scores + 0.05 * np.random.default_rng(0).normal(size=(100, len(scores)))
    big = many_rows(train, scores, 44)
    print(f"Thresholds by sex and race on UCI Adult, on {machine()}.\n")
    rb.thresholds(rb.Problem(rb.error_rate()), scores, train, known=KNOWN)  # imports what it needs
    lines = [timed("Adult", goal, scores, train, runs) for goal in GOALS]
    lines += [timed("1.3 million rows", goal, *big[::-1], 1) for goal in GOALS]
    lines += [timed("100 models", goal, wide, train, 1) for goal in GOALS]
    header = [
        "rows",
        "goal",
        "m",
        "cells",
        "seconds",
        "floor: compile + sort + solve",
        "ratio",
        "error / worst",
    ]
    print(markdown(header, lines))
    try:
        rivals = [line for parity in PARITIES for line in compared(parity, train, test, model)]
    except ImportError:
        print("\nFairlearn is not installed, so there is no comparison with it.")
    else:
        print("\nEqual rates of women and men, error / worst violation (kept where <= 0):\n")
        print(markdown(["goal", "method", "seconds", "train", "test"], rivals))
    tell({f"{line[0]}, {line[1]}": float(line[4]) for line in lines}, aims(lines), given.json)


def aims(lines: list[list[str]]) -> list[Aim]:
    """Seconds for each number of rows and models; of several goals, the slowest."""
    found = {name: [] for name in AIMS}
    for name, goal, _, _, seconds, parts, *_ in lines:
        floor = sum(map(float, parts.split(" + ")))
        words = f"thresholds by known group, {name}"
        aim = Aim(words, AIMS[name], float(seconds), "s", floor=floor, by="itself", note=goal)
        found[name].append(aim)
    return [worst_of(cases) for cases in found.values()]


if __name__ == "__main__":
    main()
