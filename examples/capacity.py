"""Approve as many as can be served
================================

20% of all applicants, and at most 33% of those who come on weekends. Labels exist for a convenience
sample, in which good cases are twice as frequent as among applicants. So a model trained on it approves
far too many. The applicants have no labels, but a promise about how many are approved needs none. It
refers to them as a second population, ``pool``. To be fair, one threshold moved after training keeps the
first promise too, and a threshold for each group keeps both promises with equally good approvals.
"""

from importlib.util import find_spec

import numpy as np

import ratebound as rb

WEEKEND = rb.column("hours_per_week") > 45  # people who work all week come on weekends


def capacity(slack, weekend, on=None):
    everyone = rb.equal(rb.positive_rate(on=on), 0.20, slack=slack)
    return [everyone, rb.positive_rate(WEEKEND, on=on) <= weekend]


PROMISED = capacity(slack=0.01, weekend=0.33)
ASKED = capacity(slack=0.003, weekend=0.31, on="pool")  # stricter, to leave room for other applicants


def chosen(population, rows):
    hours = population.columns["hours_per_week"][rows]
    return rb.Population(population.X[rows], population.y[rows], columns={"hours_per_week": hours})


def train(sample, pool, promises=()):
    problem = rb.Problem(minimize=rb.error_rate(), subject_to=promises)
    compiled = rb.compile(problem, sample, pool=pool)
    trace = rb.play(compiled, rb.Linear(), rules=rb.Rules(proxy="sigmoid"), epochs=60)
    return rb.shrink(trace) if promises else rb.last_iterate(trace)


def report(name, people, scores, weights=(1.0,)):
    """One line: who is approved, and which share of them later turns out to be good."""
    scores, weights = np.atleast_2d(scores), np.array(weights)
    compiled = rb.compile(rb.Problem(minimize=rb.positive_rate(), subject_to=PROMISED), people)
    everyone, violations = (weights @ values for values in compiled.evaluate(scores))
    total, weekend = ("kept  " if v <= 1e-9 else "BROKEN" for v in (violations[:2].max(), violations[2]))
    approved = weights @ (scores >= 0)  # each person's chance of approval
    print(f"  {name:22}{everyone:.3f} {total}   {0.33 + violations[2]:.3f} {weekend}", end="   ")
    print(f"{approved @ people.y / approved.sum():.3f}")
    return name, everyone, 0.33 + violations[2]


def main():
    adult, random = rb.datasets.load_adult(), np.random.default_rng(0)
    half = random.random(len(adult.train)) < 0.5
    asked = half & (random.random(len(half)) < np.where(adult.train.y, 0.9, 0.3))
    sample, applicants = chosen(adult.train, asked), chosen(adult.train, ~half)
    pool = rb.Population(applicants.X, columns=applicants.columns)  # without labels
    plain, kept = train(sample, pool), train(sample, pool, ASKED)

    scores, weekend = plain.member_scores(pool.X)[:, 0], pool.columns["hours_per_week"] > 45
    one = np.quantile(scores, 1 - 0.20)
    others = (0.20 - 0.31 * weekend.mean()) / (1 - weekend.mean())
    two = np.quantile(scores[~weekend], 1 - others), np.quantile(scores[weekend], 1 - 0.31)
    print(f"{len(sample):,} labels, {sample.y.mean():.0%} good; {len(pool):,} applicants without labels")
    for name, people in ("applicants", applicants), ("new applicants", chosen(adult.test, slice(None))):
        print(f"{name:24}approved       weekends       of them good")
        scores, weekend = plain.member_scores(people.X)[:, 0], people.columns["hours_per_week"] > 45
        found = [
            report("as trained", people, scores),
            report("one threshold", people, scores - one),
            report("two thresholds", people, scores - np.where(weekend, two[1], two[0])),
            report("promised", people, kept.member_scores(people.X).T, kept.weights),
        ]
    print(f"Promised: a mixture of {len(kept)} models, {kept.status}.")
    return found


if __name__ == "__main__":
    found = main()

# %%
# On new applicants: bars within the lines of their colour keep the promises.

if __name__ == "__main__" and find_spec("matplotlib"):
    import matplotlib.pyplot as plt

    names, everyone, weekends = zip(*found, strict=True)
    figure, ax = plt.subplots(layout="constrained")
    places = np.arange(len(names))
    ax.bar(places - 0.2, everyone, 0.38, label="of all")
    ax.bar(places + 0.2, weekends, 0.38, label="of those who come on weekends")
    ax.axhline(0.21, color="C0", linewidth=1)
    ax.axhline(0.33, color="C1", linewidth=1)
    ax.set_xticks(places, names)
    ax.set_ylabel("share approved")
    ax.legend()
    plt.show()
