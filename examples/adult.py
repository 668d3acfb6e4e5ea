"""Recall for every group at least 95% of everyone's
=================================================

Women, men, Black and white people: four promises on census data that ship with the package. Trains a
linear model without and with them, and prints both models side by side for each constraint, on the
training rows and on new rows.
"""

import time
from importlib.util import find_spec

import numpy as np

import ratebound as rb

RACE, SEX = rb.column("race"), rb.column("sex")
GROUPS = [RACE == "Black", RACE == "White", SEX == "Female", SEX == "Male"]
PROMISES = [rb.recall(group) >= 0.95 * rb.recall() for group in GROUPS]
RATES = (0.003, 0.01, 0.03)  # of the model; each is trained with three rates of the multipliers


def train(adult, promises):
    """The solution chosen on validation data among nine settings."""
    problem = rb.Problem(minimize=rb.error_rate(), subject_to=promises)
    trace = rb.play(
        rb.compile(problem, adult.train),
        rb.Linear(learning_rate=np.repeat(RATES, 3).tolist()),
        player=rb.SwapRegret(learning_rate=[0.01, 0.03, 0.1] * 3),
        rules=rb.Rules(proxy="sigmoid"),
        epochs=40,
        watch={"validation": rb.compile(problem, adult.validation)},
    )
    return rb.select(trace)


def value(expression, mixture, population):
    """The value of an expression for a mixture: its expectation over the members."""
    compiled = rb.compile(rb.Problem(rb.error_rate(), [expression <= 0]), population)
    _, members = compiled.evaluate(mixture.member_scores(population.X).T)
    return float(mixture.weights @ members[:, 0])


def side_by_side(plain, kept, population):
    """One line for the error and one per promise: each model's value and the bound it must reach."""
    yield "error_rate()", [(value(rb.error_rate(), m, population), None) for m in (plain, kept)]
    for promise in PROMISES:
        sides = promise.sum, promise.low
        yield str(promise), [[value(side, m, population) for side in sides] for m in (plain, kept)]


def cell(reached, needed):
    """A value, and whether it reaches the bound it needs."""
    if needed is None:
        return f"  {reached:.4f}{'':18}"
    return f"  {reached:.4f}  {'kept  ' if reached >= needed - 1e-9 else 'BROKEN'} ({needed:.3f})  "


def main():
    started = time.perf_counter()
    adult = rb.datasets.load_adult()
    plain, kept = train(adult, ()), train(adult, PROMISES)
    found = {}
    for name in ("train", "test"):
        population = getattr(adult, name)
        found[name] = list(side_by_side(plain, kept, population))
        print(f"\n{name}, {len(population):,} rows{'':21}unconstrained{'':13}constrained")
        for words, columns in found[name]:
            print(f"  {words:46}{''.join(cell(*column) for column in columns)}".rstrip())
    print(f"\nOn the rows trained on: {kept.status}.")
    print(f"{len(kept)} models, mixed {', '.join(f'{w:.0%}' for w in kept.weights)}; ", end="")
    print(f"{time.perf_counter() - started:.1f} seconds in all. The bound each value must reach is in")
    print("parentheses. On new rows a promise can break: rates of small groups vary, so leave slack.")
    return found


if __name__ == "__main__":
    found = main()

# %%
# Each dot is the recall of a group, as a share of everyone's. Right of the line the promise is kept.

if __name__ == "__main__" and find_spec("matplotlib"):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, sharey=True, layout="constrained")
    for ax, (name, lines) in zip(axes, found.items(), strict=True):
        groups = [words.split(" >=")[0] for words, _ in lines[1:]]
        for model, label in enumerate(("unconstrained", "constrained")):
            sides = [columns[model] for _, columns in lines[1:]]
            ax.plot([0.95 * reached / needed for reached, needed in sides], groups, "o", label=label)
        ax.axvline(0.95, color="grey", linewidth=1)
        ax.set(title=f"{name} rows", xlabel="recall / recall of everyone")
    axes[0].legend()
    plt.show()
