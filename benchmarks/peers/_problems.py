"""The problems of the comparison: promises, and splits that every contender reads from the same file."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from _judge import Promise, Rows

SHARED = Path(__file__).resolve().parents[3] / "shared"
RACES, SEXES = ("Black", "White"), ("Female", "Male")
SUSPECTS = ("African-American", "Caucasian")


class NotHere(Exception):
    """Data that does not ship with the package and is not in the folder beside it."""


@dataclass(frozen=True)
class Problem:
    """Promises about data; `load` draws a split by its number: X, y, columns, and the training rows."""

    name: str
    title: str
    words: str
    promises: tuple[Promise, ...]
    splits: int
    load: Callable[[int], tuple[np.ndarray, np.ndarray, dict[str, np.ndarray], np.ndarray]]
    published: str = ""  # the problem's name in Friedler's results
    scale: bool = True  # the package's own loaders give indicators and small numbers, not scaled

    def write(self, split: int, file: Path) -> None:
        X, y, columns, train = self.load(split)
        X = np.asarray(X, np.float64)
        if self.scale:
            deviation = X[train].std(axis=0)
            X = (X - X[train].mean(axis=0)) / np.where(deviation > 0, deviation, 1)
        test = np.setdiff1d(np.arange(len(y)), train)
        arrays = {}
        for part, rows in (("train", train), ("test", test)):
            arrays |= {f"{part}_X": X[rows].astype(np.float32), f"{part}_y": np.asarray(y, bool)[rows]}
            arrays |= {f"{part}_of_{name}": np.asarray(v, str)[rows] for name, v in columns.items()}
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, **arrays)


def read(file: Path, labels: bool) -> tuple[Rows, Rows]:
    """Training and new rows of a split; without `labels` the labels of new rows are left out."""
    with np.load(file) as arrays:
        found = []
        for part in ("train", "test"):
            columns = {
                key.removeprefix(f"{part}_of_"): arrays[key]
                for key in arrays
                if key.startswith(f"{part}_of_")
            }
            y = arrays[f"{part}_y"] if labels or part == "train" else None
            found.append(Rows(arrays[f"{part}_X"], y, columns))
        return found[0], found[1]


def drawn(n: int, share: float, split: int) -> np.ndarray:
    """The training rows of a random split."""
    return np.sort(np.random.default_rng(split).permutation(n)[: round(share * n)])


# --- the paper's problems and Communities & Crime ----------------------------------------------------


def whole(splits, names):
    """All rows of a data set that comes in three parts, to be split again."""
    parts = (splits.train, splits.validation, splits.test)
    X = np.concatenate([part.X for part in parts])
    y = np.concatenate([np.asarray(part.y, bool) for part in parts])
    return X, y, {n: np.concatenate([np.asarray(part.columns[n]) for part in parts]) for n in names}


def with_rest(values, kept):
    return np.where(np.isin(values, kept), values, "other")


def adult(split):
    import ratebound._old as rb

    X, y, columns = whole(rb.datasets.load_adult(), ("race", "sex"))
    return X, y, columns | {"race": with_rest(columns["race"], RACES)}, drawn(len(y), 2 / 3, split)


def bank(split):
    import ratebound._old as rb

    folder = SHARED / "data"
    later = folder / "bank_additional_full.csv.gz"
    X, y, columns = whole(rb.datasets.load_bank(folder if later.exists() else None), ("age",))
    train = drawn(len(y), 2 / 3, split)
    ages = columns["age"].astype(float)
    bands = np.digitize(ages, np.quantile(ages[train], [0.2, 0.4, 0.6, 0.8])) + 1
    return X, y, {"age_group": bands}, train


def compas(split):
    import ratebound._old as rb

    X, y, columns = whole(rb.datasets.load_compas(), ("race", "sex"))
    return X, y, columns | {"race": with_rest(columns["race"], SUSPECTS)}, drawn(len(y), 2 / 3, split)


def communities(split):
    from communities import DATA, TRAIN
    from communities import load as load_communities

    if not DATA.exists():
        raise NotHere(f"Communities & Crime does not ship with the package; {DATA} is not there")
    X, y, groups = load_communities(DATA)
    train = drawn(len(y), TRAIN / len(y), split)
    return np.where(np.isnan(X), np.nanmean(X[train], axis=0), X), y, groups, train


# --- ACSIncome -----------------------------------------------------------------------------------------

CENSUS = SHARED / "bench"
RACES_OF_ACS = {0: "White", 1: "Black", 5: "Asian", 7: "other race", 8: "two or more"}
TRAINED, NEW = 20_000, 60_000  # rows of a sample, and rows to judge on
CODES = ("COW", "MAR", "RELP", "SEX", "RAC1P")


def acsincome(split):
    """Samples of the two published files: people, jobs and earnings. Codes are one-hot."""
    import pandas as pd

    files = [CENSUS / f"acsincome_{part}.parquet" for part in ("train", "test")]
    if not all(file.exists() for file in files):
        raise NotHere(f"ACSIncome does not ship with the package; {CENSUS} lacks it")
    parts = [
        pd.read_parquet(file).sample(size, random_state=split)
        for file, size in zip(files, (TRAINED, NEW), strict=True)
    ]
    table = pd.concat(parts, ignore_index=True)
    codes = table[[*CODES]].assign(job=table["OCCP"] // 400, abroad=table["POBP"] > 59)
    X = pd.get_dummies(codes.astype(str)).join(table[["SCHL", "WKHP", "AGEP"]]).to_numpy(float)
    race = table["RAC1P"].map(RACES_OF_ACS).fillna("rest").to_numpy(str)
    return X, table["PINCP"].to_numpy() == 1, {"race": race}, np.arange(TRAINED)


# --- Friedler's problems -----------------------------------------------------------------------------


def four_fifths(published: str, title: str) -> Problem:
    """One of Friedler's problems: each group gets a yes at least .8 times as often as the other."""
    sides = ("unprivileged", "privileged")

    def load(split):
        import friedler_data as friedler

        if not friedler.available():
            raise NotHere(f"Friedler's data does not ship with the package; {friedler.FOLDER} lacks it")
        table = friedler.load(published, seen=True)  # the group is a feature, for everyone
        train, _ = friedler.split(len(table.y), split)
        return table.X, table.y, {"group": np.array(sides)[table.group]}, np.sort(train)

    promises = tuple(
        Promise("positive_rate", ("group", one), ">=", 0.8, against=("group", other))
        for one, other in (sides, sides[::-1])
    )
    words = "either group is said yes to at least .8 times as often as the other"
    return Problem(f"friedler-{published}".lower(), title, words, promises, 10, load, published)


PROBLEMS = (
    four_fifths("adult_sex", "Friedler's Adult, sex"),
    four_fifths("german_sex", "Friedler's German credit, sex"),
    four_fifths("propublica-recidivism_sex", "Friedler's recidivism, sex"),
    four_fifths("ricci_Race", "Friedler's Ricci, race"),
    Problem(
        "adult",
        "Adult",
        "recall of Black, White, female and male people at least 95% of everyone's",
        tuple(
            Promise("recall", (name, value), ">=", 0.95)
            for name, values in (("race", RACES), ("sex", SEXES))
            for value in values
        ),
        10,
        adult,
        scale=False,
    ),
    Problem(
        "bank",
        "Bank",
        "five age groups said yes to at most .02 more often than everyone",
        tuple(Promise("positive_rate", ("age_group", str(k)), "<=", slack=0.02) for k in range(1, 6)),
        10,
        bank,
        scale=False,
    ),
    Problem(
        "compas",
        "COMPAS",
        "recall of African-American, Caucasian, female and male people at most .05 above everyone's",
        tuple(
            Promise("recall", (name, value), "<=", slack=0.05)
            for name, values in (("race", SUSPECTS), ("sex", SEXES))
            for value in values
        ),
        10,
        compas,
    ),
    Problem(
        "communities",
        "Communities & Crime",
        "false positive rate of eight overlapping groups at most everyone's",
        tuple(
            Promise("false_positive_rate", (race, side), "<=")
            for race in ("racepctblack", "racePctWhite", "racePctAsian", "racePctHisp")
            for side in ("above", "below")
        ),
        10,
        communities,
    ),
    Problem(
        "acsincome",
        "ACSIncome",
        "recall of five races at least 80% of everyone's",
        tuple(Promise("recall", ("race", race), ">=", 0.8) for race in RACES_OF_ACS.values()),
        10,
        acsincome,
    ),
)
