"""The numbers and pictures of docs/slack.md: the noise of a recall, and what slack costs on Adult.

`python benchmarks/slack.py` prints both tables and writes docs/images/slack-*.svg. Half of Adult is
drawn to train on and the other half stands for new rows, twice.
"""

import math
from pathlib import Path

import matplotlib as mpl
import numpy as np

import ratebound as rb

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SLACKS = (0.2, 0.1, 0.05, 0.02, 0.0)
CONFIDENCES = (None, 0.9)
SIZES = (30, 100, 300, 1000, 3000, 10000)
DRAWS = 2
RECALL = 0.6


def noise() -> list[tuple[int, float, float, float]]:
    """For n positive rows: standard error, half of the 95% range by formula, and the same by drawing."""
    random = np.random.default_rng(0)
    found = []
    for n in SIZES:
        error = math.sqrt(RECALL * (1 - RECALL) / n)
        low, high = np.quantile(random.binomial(n, RECALL, 200_000) / n, (0.025, 0.975))
        found.append((n, error, 1.96 * error, (high - low) / 2))
    return found


def halves(draw: int) -> tuple[rb.Population, rb.Population]:
    """Two halves of Adult at random."""
    adult = rb.datasets.load_adult()
    parts = (adult.train, adult.validation, adult.test)
    X, y = (np.concatenate([getattr(part, name) for part in parts]) for name in ("X", "y"))
    sex = np.concatenate([part.columns["sex"] for part in parts])
    order = np.random.default_rng(draw).permutation(len(y))
    first, second = order[: len(y) // 2], order[len(y) // 2 :]
    return tuple(rb.Population(X[rows], y[rows], {"sex": sex[rows]}) for rows in (first, second))


def on_adult() -> dict[tuple[float, float | None], np.ndarray]:
    """Errors and worst violations on both halves, (draws, 4), by slack and confidence."""
    found = {}
    for draw in range(DRAWS):
        train, new = halves(draw)
        for slack in SLACKS:
            constraint = f'equal_opportunity(sex, slack={slack}, against="pairwise")'
            for confidence in CONFIDENCES:
                model = rb.RateConstrainedClassifier(
                    constraint, confidence=confidence, random_state=draw
                )
                model.fit(train.X, train.y, columns=train.columns)
                measured = []
                for rows in (train, new):
                    audit = rb.audit(constraint, model, rows)
                    measured += [audit.objective.value, -min(each.slack for each in audit.promises)]
                found.setdefault((slack, confidence), []).append(measured)
                print(draw, slack, confidence, np.round(measured, 4), flush=True)
    return {key: np.array(values) for key, values in found.items()}


def figure():
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "ratebound"
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(6.4, 3.2), layout="constrained")
    return drawn, drawn.subplots()


def save(drawn, name: str) -> None:
    drawn.savefig(IMAGES / f"{name}.svg", metadata={"Date": None})


def draw_noise(table) -> None:
    drawn, axes = figure()
    n, _, half, _ = zip(*table, strict=True)
    axes.fill_between(n, [RECALL - h for h in half], [RECALL + h for h in half], color="#cfe1f5")
    axes.axhline(RECALL, color="#1d5fa8")
    axes.set(xscale="log", xlabel="positive rows", ylabel="recall measured", ylim=(0.4, 0.8))
    axes.set_title("True recall 0.6: where 95 of 100 samples lie", fontsize=10)
    save(drawn, "slack-noise")


def draw_price(results) -> None:
    drawn, axes = figure()
    slacks = [slack for slack in SLACKS if slack > 0]  # a slack of 0 leaves one decision for everyone
    for confidence, marker in zip(CONFIDENCES, ("o", "s"), strict=True):
        means = [results[slack, confidence].mean(axis=0) for slack in slacks]
        said = "the rows at hand" if confidence is None else f"new rows, confidence={confidence}"
        axes.plot(slacks, [m[2] for m in means], marker=marker, label=said)
    axes.set(xlabel="slack between the recalls of women and men", ylabel="error on new rows")
    axes.legend(frameon=False)
    save(drawn, "slack-price")


def main() -> None:
    table = noise()
    for n, error, half, simulated in table:
        print(f"| {n:,} | {error:.3f} | ± {half:.3f} | ± {simulated:.3f} |")
    draw_noise(table)
    results = on_adult()
    draw_price(results)
    for (slack, confidence), values in results.items():
        mean, kept = values.mean(axis=0), int((values[:, 3] <= 1e-9).sum())
        print(
            f"| {slack:g} | {confidence or 'none'} | {mean[0]:.4f} / {mean[1]:+.3f} | "
            f"{mean[2]:.4f} / {mean[3]:+.3f} | {kept} of {DRAWS} |"
        )


if __name__ == "__main__":
    main()
