"""Communities & Crime: promises on new rows where the data is small, beside what TFCO's notebook prints.

Label: violent crime above its 70th percentile. The false positive rate of communities above and below
the median of each of four race percentages must be at most everyone's. Every way sees 1,336 of 1,994
rows; error and worst violation are measured on the others. The published rows are single runs; ours are
means over splits.

As written the promises ask each pair of groups for equal rates, and at two or three false positives
among the 460 negatives of a test the worst of eight rates is mostly chance. So the last way, a forest
as an oracle, keeps all false positives rare instead, cross-fitted; how rare is chosen on the training
rows alone: the most for which thresholds set on one half of them, by scores out of fold, violate the
promises by at most .004 on the other half, on average.
"""

import argparse
import gzip
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when the libraries are imported

import numpy as np
from _common import machine, markdown
from sklearn.ensemble import ExtraTreesClassifier

import ratebound._old as rb
from ratebound._old.solution import shrink_weights

DATA = Path(__file__).resolve().parents[2] / "shared" / "bench" / "communities_crime.csv.gz"
LABEL, DROPPED = "ViolentCrimesPerPop", ("Black", "class", "state", "communityname", "fold")
RACES = ("racepctblack", "racePctWhite", "racePctAsian", "racePctHisp")
SIDES = ("above", "below")
TRAIN = 1336
PUBLISHED = {
    "unconstrained": (0.1353, 0.1787),
    "one data set": (0.2310, 0.0252),
    "split": (0.2280, 0.0042),
}
AIM = (0.228, 0.004)
PLAYER = rb.ExternalRegret((0.01, 0.03, 0.1))  # the best is chosen by what the training says
CAPS = (0.0005, 0.001, 0.0015, 0.002, 0.003, 0.004, 0.006, 0.008)
LEAVES = (10, 20)
HALVINGS = 20  # of the training rows, to choose a cap on

group_rate = rb.false_positive_rate
PROMISES = [group_rate(**{race: side}) <= group_rate() for race in RACES for side in SIDES]
PROBLEM = rb.Problem(rb.error_rate(), PROMISES)


def load(path):
    """Features with the groups' indicators, labels, and the groups as columns."""
    with gzip.open(path, "rt") as file:
        names = file.readline().strip().split(",")
        keep = [i for i, name in enumerate(names) if name not in DROPPED]
        table = np.genfromtxt(file, delimiter=",", usecols=keep)
    by_name = {names[i]: table[:, j] for j, i in enumerate(keep)}
    crime = by_name.pop(LABEL)
    groups = {race: np.where(by_name[race] > np.nanmedian(by_name[race]), *SIDES) for race in RACES}
    indicators = [groups[race] == side for race in RACES for side in SIDES]
    return np.column_stack([*by_name.values(), *indicators]), crime > np.quantile(crime, 0.7), groups


class Split:
    """One split into training and test rows; missing values are training means."""

    def __init__(self, data, seed):
        X, y, groups = data
        order = np.random.default_rng(seed).permutation(len(y))
        means = np.nanmean(X[order[:TRAIN]], axis=0)
        self.X, self.y, self.groups = np.where(np.isnan(X), means, X), y, groups
        self.train, self.test, self.seed = order[:TRAIN], order[TRAIN:], seed

    def compiled(self, rows, problem=PROBLEM):
        columns = {name: values[rows] for name, values in self.groups.items()}
        return rb.compile(problem, rb.Population(self.X[rows], self.y[rows], columns=columns))

    def judged(self, mixture):
        """Error and worst violation on the test rows, in expectation over the mixture."""
        test = self.compiled(self.test)
        errors, violations = test.evaluate(mixture.member_scores(test.features).T.astype(float))
        return mixture.weights @ errors, (mixture.weights @ violations).max()

    def play(self, compiled, **how):
        """The notebook's network and steps."""
        learner = rb.MLP((10,), 0.01)
        options = {"rounds": 1400, "batch_size": 100, "keep": rb.Keep(14), "progress": False}
        return rb.play(compiled, learner, player=PLAYER, seed=self.seed, **options, **how)


def unconstrained(split):
    return rb.last_iterate(split.play(split.compiled(split.train, rb.Problem(rb.error_rate()))))


def one_data_set(split):
    return rb.select(split.play(split.compiled(split.train)), on="train")


def split_in_halves(split):
    own, other = np.split(split.train, 2)
    return rb.select(split.play(split.compiled(own), judge=split.compiled(other)), on="train")


def cross_fitted(split):
    return rb.select(split.play(split.compiled(split.train), judge=rb.Folds(3)), on="train")


def rare(split):
    """A forest at thresholds that make false positives rare, as rare as the training rows call for.

    Of two sizes of leaves, the one that errs less out of fold is taken.
    """
    problem = rb.Problem(rb.error_rate(), [rb.false_positive_rate() <= 0.004])
    compiled = split.compiled(split.train, problem)
    found = []
    for leaf in LEAVES:
        forest = ExtraTreesClassifier(
            150, min_samples_leaf=leaf, max_features=0.7, random_state=split.seed
        )
        trace = rb.play(
            compiled, rb.Oracle(forest), judge=rb.Folds(5), rounds=3, seed=split.seed, progress=False
        )
        rules = Thresholds(trace.scores(compiled)[:, 0], split.y[split.train])
        weights = rules.best(chosen_cap(rules, split), np.arange(TRAIN))
        errors = (rules.yes != rules.labels).mean(axis=1)
        found.append((float(weights @ errors), len(found), trace, rules, weights))
    _, _, trace, rules, weights = min(found, key=lambda each: each[:2])
    used = np.flatnonzero(weights)
    test = split.compiled(split.test)
    scores = trace.scorer.scores(trace.parameters[rules.model[used]], test.features)[:, 0]
    errors, violations = test.evaluate(scores - rules.at[used][:, None])
    return weights[used] @ errors, (weights[used] @ violations).max()


class Thresholds:
    """Every model of a trace at thresholds that let few negatives pass, by scores out of fold (N, n)."""

    def __init__(self, scores, labels, most=12):
        self.labels = labels
        passing = -np.sort(-scores[:, ~labels], axis=1)[:, :most]
        self.model = np.repeat(np.arange(len(scores)), most)
        self.at = np.nextafter(passing.ravel(), np.inf)
        self.yes = scores[self.model] >= self.at[:, None]

    def best(self, cap, rows):
        """Weights of the rules whose mixture errs least on `rows` with false positives up to `cap`."""
        yes, labels = self.yes[:, rows], self.labels[rows]
        rates = yes[:, ~labels].mean(axis=1) - cap
        return shrink_weights((yes != labels).mean(axis=1), rates[:, None])


def chosen_cap(rules, split):
    """The largest cap whose rules, chosen on half of the rows, violate little on the other half."""
    random = np.random.default_rng(split.seed)
    inside = np.array([split.groups[race][split.train] == side for race in RACES for side in SIDES])
    found = {cap: [] for cap in CAPS}
    for _ in range(HALVINGS):
        one, other = np.array_split(random.permutation(TRAIN), 2)
        negative = other[~rules.labels[other]]
        for cap in CAPS:
            yes = rules.best(cap, one) @ rules.yes[:, negative]
            rates = inside[:, negative] @ yes / inside[:, negative].sum(axis=1)
            found[cap].append((rates - yes.mean()).max())
    kept = [cap for cap in CAPS if np.mean(found[cap]) <= AIM[1]]
    return max(kept, default=CAPS[0])


WAYS = {
    "unconstrained": unconstrained,
    "one data set": one_data_set,
    "split": split_in_halves,
    "cross-fitted": cross_fitted,
    "cross-fitted forest, rare": rare,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    given = parser.parse_args()
    if not DATA.exists():
        raise SystemExit(f"Communities & Crime is not here: this benchmark reads {DATA}")
    data, lines = load(DATA), []
    for name in given.ways:
        found = []
        for seed in range(given.seeds):
            split = Split(data, seed)
            result = WAYS[name](split)
            found.append(result if isinstance(result, tuple) else split.judged(result))
        (error, violation), spread = np.mean(found, axis=0), np.std(found, axis=0)
        published = " / ".join(
            f"{v:+.4f}" if i else f"{v:.4f}" for i, v in enumerate(PUBLISHED.get(name, ()))
        )
        ours = f"{error:.4f} ± {spread[0]:.3f} / {violation:+.4f} ± {spread[1]:.3f}"
        lines.append([name, ours, published])
        print(name, ours, flush=True)
    print(f"\nCommunities & Crime, {given.seeds} splits, on {machine()}.\n")
    print(markdown(["way", "ours: test error / worst violation", "TFCO's, one run"], lines))
    met = "met" if error <= AIM[0] and violation <= AIM[1] else "MISSED"
    print(f"\n- {met}: error at most {AIM[0]} at a mean violation of at most {AIM[1]}, by the last way")


if __name__ == "__main__":
    main()
