"""Adult: recall for women, men, Black and white people must be at least 95% of everyone's.

Trains a linear model without and with these four promises, on census data that ships with the
package. Prints both models side by side for each constraint, on the training rows and on new rows.
"""

import time

import numpy as np

import ratebound as rb

PROMISES = rb.equal_opportunity({"race": ("Black", "White"), "sex": ("Female", "Male")}, ratio=0.95)
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
    compiled = rb.compile(rb.Problem(minimize=expression), population)
    members, _ = compiled.evaluate(mixture.member_scores(population.X).T)
    return float(mixture.weights @ members)


def side_by_side(plain, kept, population):
    """One line for the error and one per promise: each model's value and the bound it must reach."""
    columns = [(value(rb.error_rate(), m, population), "") for m in (plain, kept)]
    yield "error_rate()", columns
    for promise in PROMISES:
        columns = []
        for mixture in (plain, kept):
            reached = value(promise.left, mixture, population)
            needed = value(promise.right, mixture, population)
            columns.append(
                (reached, f"{'kept  ' if reached >= needed - 1e-9 else 'BROKEN'} ({needed:.3f})")
            )
        yield str(promise), columns


def main():
    started = time.perf_counter()
    adult = rb.datasets.load_adult()
    plain, kept = train(adult, ()), train(adult, PROMISES)
    for name in ("train", "test"):
        population = getattr(adult, name)
        print(f"\n{name}, {len(population):,} rows{'':21}unconstrained{'':13}constrained")
        for words, columns in side_by_side(plain, kept, population):
            cells = "".join(f"  {reached:.4f}  {verdict:16}" for reached, verdict in columns)
            print(f"  {words:46}{cells}".rstrip())
    print(f"\nOn the rows trained on: {kept.status}.")
    print(f"{len(kept)} models, mixed {', '.join(f'{w:.0%}' for w in kept.weights)}; ", end="")
    print(f"{time.perf_counter() - started:.1f} seconds in all. The bound each value must reach is in")
    print("parentheses. On new rows a promise can break: rates of small groups vary, so leave slack.")


if __name__ == "__main__":
    main()
