"""Replace a live model, and flip few decisions
============================================

At most 2% of the live model's decisions may change, with at least two wins for every loss. The live
model never saw capital gains. A new model trained freely is better, but flips four times as many
decisions as allowed. Two models flip at most 2%. The first stands alone, so the live model can be
switched off. The second reads the live decision as one more feature: both models must keep running, but
the flips are better chosen. To be fair, a rule without constraints does as well as the second: follow
the free model on the rows of which its score is most certain, and the live one elsewhere.
"""

from importlib.util import find_spec

import numpy as np

import ratebound as rb

PROMISES = [rb.churn(versus="live") <= 0.02, rb.win_loss_ratio(versus="live") >= 2]
ASKED = [rb.churn(versus="live") <= 0.018, rb.win_loss_ratio(versus="live") >= 2.3]  # room for new rows


class Live:
    """The model in production. Its decisions are a column of the rows."""

    def __init__(self, old, feature_names):
        self.seen = np.array(["capital" not in name for name in feature_names])
        self.model = train(rb.Population(old.X[:10_000, self.seen], old.y[:10_000]))

    def predict(self, X):
        return self.model.predict(X[:, self.seen])


def train(population, promises=()):
    problem = rb.Problem(minimize=rb.error_rate(), subject_to=promises)
    trace = rb.play(
        rb.compile(problem, population), rb.Linear(), rules=rb.Rules(proxy="hinge"), epochs=40
    )
    return rb.shrink(trace) if promises else rb.last_iterate(trace)


def report(name, population, scores, weights=1.0):
    """One line on models with scores (M, n), or (n,) for one model, and weights (M,)."""
    rates = [rate(versus="live") <= 0 for rate in (rb.churn, rb.wins, rb.losses)]
    compiled = rb.compile(rb.Problem(rb.error_rate(), [*rates, *PROMISES]), population)
    values = compiled.evaluate(np.atleast_2d(scores))
    error, above = (np.sum(weights * each.T, axis=-1) for each in values)
    churn, wins, losses, *lacking = above
    flips, ratio = ("kept" if one <= 1e-9 else "BROKEN" for one in lacking)
    quality = f"{wins:4.0f} / {losses:3.0f} = {wins / losses:.2f} {ratio}" if losses else ""
    print(f"  {name:25}{error:.4f}    {churn:.4f} {flips:10}{quality}".rstrip())
    return name, churn, error


def main():
    adult = rb.datasets.load_adult()
    live = Live(adult.train, adult.feature_names)
    splits = {"train": adult.train, "test": adult.test}
    rows = {
        name: rb.Population(p.X, p.y, columns={"live": live.predict(p.X)}) for name, p in splits.items()
    }
    reading = {
        name: rb.Population(np.column_stack([p.X, p.columns["live"]]), p.y, columns=p.columns)
        for name, p in rows.items()
    }
    free = train(rows["train"])
    own, reader = train(rows["train"], ASKED), train(reading["train"], ASKED)

    scores, now = free.member_scores(rows["train"].X)[:, 0], rows["train"].columns["live"]
    sure = np.sort(abs(scores[(scores >= 0) != now]))[-int(0.018 * len(now))]
    for name, p in rows.items():
        print(f"{name:27}error     churn             wins / losses")
        now, scores = p.columns["live"] - 0.5, free.member_scores(p.X)[:, 0]
        found = [
            report("live", p, now),
            report("free", p, scores),
            report("own", p, own.member_scores(p.X).T, own.weights),
            report("reads live", p, reader.member_scores(reading[name].X).T, reader.weights),
            report("free if sure, else live", p, np.where(abs(scores) >= sure, scores, now)),
        ]
    print("On test rows the ratio of own rests on some 300 flips: it is uncertain by 0.2 either way.")
    return found


if __name__ == "__main__":
    found = main()

# %%
# Each model on new rows. Left of the line it flips few enough decisions.

if __name__ == "__main__" and find_spec("matplotlib"):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(layout="constrained")
    for name, churn, error in found:
        ax.plot(churn, error, "o", label=name)
    ax.axvline(0.02, color="grey", linewidth=1)
    ax.set(xlabel="decisions flipped", ylabel="error")
    ax.legend()
    plt.show()
