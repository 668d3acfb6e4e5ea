"""The problems of Friedler et al. (2019): rows, protocol, how decisions are judged, published results.

Tables are as preprocessed there: categories one-hot, sensitive columns 0 or 1 with 1 the privileged.
Sensitive columns are not features unless `seen`, as in that study's baselines; its repairs, and the
methods that are trained with them, may use them to decide.
Ten random splits, two thirds of the rows to train. The promise is the four-fifths rule both ways.
"""

import csv
import gzip
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "bench"
SPLITS = 10
RATIO = 0.8
UNPRIVILEGED, PRIVILEGED = 0, 1
LABELS = {"adult": "income-per-year", "german": "credit", "propublica-recidivism": "two_year_recid",
          "ricci": "Class"}  # fmt: skip
SENSITIVE = {"adult": ("sex", "race"), "german": ("sex", "age"),
             "propublica-recidivism": ("sex", "race"), "ricci": ("Race",)}  # fmt: skip
PROBLEMS = ("adult_sex", "adult_race", "german_sex", "propublica-recidivism_sex",
            "propublica-recidivism_race", "ricci_Race")  # fmt: skip


@dataclass(frozen=True)
class Table:
    """Features (n, d), labels (n,) with True for a yes, and the group (n,), 1 for the privileged."""

    X: np.ndarray
    y: np.ndarray
    group: np.ndarray


def available():
    """Whether the tables are here."""
    return (FOLDER / "friedler_published.csv").exists()


def load(problem, seen=False):
    """The table of a problem, such as "adult_sex"; sensitive columns are features if they are `seen`."""
    name, _, attribute = problem.rpartition("_")
    with gzip.open(FOLDER / f"friedler_{name}.csv.gz", "rt") as file:
        heads, *rows = csv.reader(file)
    values = np.array(rows, dtype=float)
    sensitive = SENSITIVE[name]
    joint = {"-".join(pair) for pair in (sensitive, sensitive[::-1])}
    left = {LABELS[name], *joint, *(() if seen else sensitive)}
    X = values[:, [i for i, head in enumerate(heads) if head not in left]]
    y, group = values[:, heads.index(LABELS[name])] == 1, values[:, heads.index(attribute)]
    return Table(X, y, group.astype(int))


def split(rows, seed):
    """Training and test rows of a split; two thirds are to train on."""
    order = np.random.default_rng(seed).permutation(rows)
    return np.split(order, [2 * rows // 3])


def promises(rb, ratio=RATIO):
    """Each group is said yes to at least `ratio` times as often as the other; `rb` is the package."""
    pairs = (UNPRIVILEGED, PRIVILEGED), (PRIVILEGED, UNPRIVILEGED)
    return [rb.positive_rate(group=a) >= ratio * rb.positive_rate(group=b) for a, b in pairs]


@dataclass(frozen=True)
class Judged:
    """The study's measures of decisions, or their means over splits."""

    accuracy: float
    balanced_accuracy: float
    disparate_impact: float  # P(yes | unprivileged) / P(yes | privileged)
    calders_verwer: float  # 1 - (P(yes | privileged) - P(yes | unprivileged))


def judge(y, group, chances):
    """Decisions on rows, each a yes with a probability (n,), which is 0 or 1 if one model decides."""
    right = np.where(y, chances, 1.0 - chances)
    theirs, ours = chances[group == UNPRIVILEGED].mean(), chances[group == PRIVILEGED].mean()
    balanced = (right[y].mean() + right[~y].mean()) / 2
    impact = theirs / ours if ours else math.inf
    return Judged(right.mean(), balanced, impact, 1.0 - (ours - theirs))


@dataclass(frozen=True)
class Row:
    """An algorithm on a problem: means over splits, and standard deviations."""

    problem: str
    algorithm: str
    mean: Judged
    sd: Judged

    @property
    def parity(self):
        """How close both rates are, and its deviation: the impact, or 1 over it if it is above 1."""
        impact, sd = self.mean.disparate_impact, self.sd.disparate_impact
        return (impact, sd) if impact <= 1 else (1 / impact, sd / impact**2)


def row(problem, algorithm, judged):
    """The means and deviations of several splits."""
    values = np.array([list(vars(each).values()) for each in judged])
    return Row(problem, algorithm, Judged(*values.mean(axis=0)), Judged(*values.std(axis=0, ddof=1)))


def published():
    """The published rows of all problems."""
    with (FOLDER / "friedler_published.csv").open() as file:
        return [
            Row(line["problem"], line["algorithm"], *(
                Judged(*(float(line[f"{name}_{kind}"]) for name in Judged.__dataclass_fields__))
                for kind in ("mean", "sd")
            ))
            for line in csv.DictReader(file)
        ]  # fmt: skip


def ahead(other, ours):
    """By how many standard deviations a row is ahead of ours in accuracy and in parity.

    The deviation is that between splits: the root of the mean of both rows' squared deviations.
    """
    pairs = ((row.mean.accuracy, row.sd.accuracy) for row in (other, ours)), (other.parity, ours.parity)
    return [
        (theirs - own) / max(math.hypot(one, two) / math.sqrt(2), 1e-12)
        for (theirs, one), (own, two) in pairs
    ]


def dominates(other, ours):
    """Whether a row beats ours: at least as good in both, and ahead in one by over one deviation."""
    found = ahead(other, ours)
    return min(found) >= 0 and max(found) > 1


def unmatched(theirs, ours):
    """The rows that are over one deviation ahead, in accuracy or in parity, of every row of ours."""
    return [other for other in theirs if all(max(ahead(other, row)) > 1 for row in ours)]
