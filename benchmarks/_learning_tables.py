"""Ten tables with constraints, and regimes in which learning went wrong: each plays a population.

Samples are drawn without replacement, models learn from a sample, and the truth is what they do on
the other rows. Tables are read from `$RATEBOUND_SHARED`, or `../shared`, with its folders `data` and
`bench`; missing tables are left out.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import ratebound as rb

SHARED = Path(os.environ.get("RATEBOUND_SHARED", Path(__file__).resolve().parents[2] / "shared"))
MOST_JUDGED = 120_000  # rows that say what is true


@dataclass(frozen=True)
class People:
    """Rows with features, labels and groups, what is constrained, and how many rows are drawn."""

    X: Any  # (n, d)
    y: Any  # (n,)
    columns: dict[str, Any]
    constraints: list[str]
    rows: int

    def select(self, rows: Any) -> "People":
        columns = {name: values[rows] for name, values in self.columns.items()}
        return replace(self, X=self.X[rows], y=self.y[rows], columns=columns)

    def split(self, seed: int) -> tuple["People", "People"]:
        """Return rows to train on and others to judge on; drawn again where a group is missing."""
        random = np.random.default_rng(seed)
        while True:
            order = random.permutation(len(self.y))
            train = self.select(order[: self.rows])
            judged = self.select(order[self.rows :][:MOST_JUDGED])
            try:
                train.compile()
            except ValueError:
                continue  # a group has no row that a rate is a share of
            return train, judged

    def compile(self) -> Any:
        problem = rb.Problem("error_rate()", self.constraints)
        return rb.compile(problem, rb.Population(None, self.y, self.columns))

    def judge(self, decisions: Any) -> tuple[float, float]:
        """Return the error and the worst violation of decisions (n,)."""
        compiled = self.compile()
        counts = compiled.count_decisions(np.asarray(decisions).astype(int))
        values = compiled.values(counts)[0]
        return float(values[0]), float(values[1:].max())


def _encode(table: pd.DataFrame) -> Any:
    texts = table.select_dtypes(exclude="number").columns
    encoded = pd.get_dummies(table, columns=list(texts), dtype=float)
    return encoded.fillna(encoded.median()).to_numpy(float)


def _read(name: str, drop: tuple[str, ...]) -> tuple[pd.DataFrame, Any]:
    path = SHARED / name
    table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    return table, _encode(table.drop(columns=list(drop)))


def adult() -> People:
    table, X = _read("data/adult.csv.gz", ("income", "uci_part", "fnlwgt"))
    columns = {"race": table.race.to_numpy(), "sex": table.gender.to_numpy()}
    groups = ('race == "Black"', 'race == "White"', 'sex == "Female"', 'sex == "Male"')
    constraints = [f"recall({group}) >= 0.95 * recall()" for group in groups]
    return People(X, table.income.str.startswith(">50K").to_numpy(), columns, constraints, 10_000)


def bank() -> People:
    table, X = _read("data/bank_full.csv.gz", ("y",))
    band = np.digitize(table.age, np.quantile(table.age, [0.2, 0.4, 0.6, 0.8]))
    constraints = [f"positive_rate(band == {k}) <= positive_rate() + 0.02" for k in range(5)]
    return People(X, (table.y == "yes").to_numpy(), {"band": band}, constraints, 10_000)


def compas() -> People:
    table, X = _read("data/compas_two_years.csv.gz", ("is_recid", "two_year_recid"))
    columns = {"race": table.race.to_numpy(), "sex": table.sex.to_numpy()}
    names = ('race == "African-American"', 'race == "Caucasian"', 'sex == "Female"', 'sex == "Male"')
    constraints = [f"recall({group}) <= recall() + 0.05" for group in names]
    return People(X, (table.two_year_recid == 1).to_numpy(), columns, constraints, 3000)


def synthetic() -> People:
    """Return four groups that the model cannot see, and serves each worse; the smallest has 5%."""
    random = np.random.default_rng(0)
    group = random.choice(["a", "b", "c", "d"], 300_000, p=[0.5, 0.3, 0.15, 0.05])
    X = random.normal(size=(len(group), 20))
    X[:, 0] -= np.select([group == name for name in "bcd"], [0.4, 0.8, 1.2], 0.0)
    chance = 1 / (1 + np.exp(1.0 - X @ np.linspace(1.0, 0.1, 20)))
    constraints = [f'recall(group == "{name}") >= 0.9 * recall()' for name in "abcd"]
    return People(X, random.random(len(group)) < chance, {"group": group}, constraints, 10_000)


def acs() -> People:
    """Return nine races, the smallest 1 in 2,000."""
    parts = [pd.read_parquet(SHARED / f"bench/acsincome_{part}.parquet") for part in ("train", "test")]
    table = pd.concat(parts, ignore_index=True)
    y = table.pop("PINCP").to_numpy(bool)
    race = table.RAC1P.to_numpy()
    table["occupations"] = table.OCCP // 500  # codes are in order of fields
    kinds = ["COW", "MAR", "RELP", "RAC1P", "occupations"]
    X = np.hstack([table, pd.get_dummies(table[kinds].astype(str))]).astype(np.float32)
    constraints = [f"recall(race == {k}) >= 0.8 * recall()" for k in range(9)]
    return People(X, y, {"race": race}, constraints, 20_000)


def hmda() -> People:
    table, X = _read("bench/hmda_train.parquet", ("high_priced", "row_id"))
    columns = {"black": table.black.to_numpy(int), "female": table.female.to_numpy(int)}
    constraints = [
        f"false_positive_rate({name} == 1) <= false_positive_rate() + 0.02" for name in columns
    ]
    constraints.append("recall() >= 0.3")
    return People(X, table.high_priced.to_numpy(bool), columns, constraints, 20_000)


def sba() -> People:
    table, X = _read("data/sba_filtering.csv.gz", ("region", "label", "label_real"))
    region = table.region.to_numpy(int)
    constraints = [f"recall(region == {k}) >= 0.9 * recall()" for k in np.unique(region)]
    return People(X, table.label.to_numpy() > 0.5, {"region": region}, constraints, 15_000)


def flights() -> People:
    table, X = _read("data/flights_map_intent.csv.gz", ("date", "carrier", "label"))
    carrier = table.carrier.to_numpy()
    codes, counts = np.unique(carrier, return_counts=True)
    large = codes[np.argsort(-counts)[:6]]
    constraints = [
        f'false_positive_rate(carrier == "{k}") <= false_positive_rate() + 0.02' for k in large
    ]
    constraints.append("recall() >= 0.4")
    return People(X, table.label.to_numpy() > 0.5, {"carrier": carrier}, constraints, 15_000)


def communities() -> People:
    name = "ViolentCrimesPerPop"
    table, X = _read("bench/communities_crime.csv.gz", ("communityname", "state", "fold", name, "class"))
    columns = {}
    for race in ("racepctblack", "racePctWhite", "racePctAsian", "racePctHisp"):
        columns[race] = (table[race] > table[race].median()).to_numpy(int)
    constraints = [
        f"false_positive_rate({race} == 1) <= false_positive_rate() + 0.1" for race in columns
    ]
    high = (table[name] > table[name].quantile(0.7)).to_numpy()
    return People(X, high, columns, constraints, 1000)


def german() -> People:
    table, X = _read("bench/friedler_german.csv.gz", ("credit", "sex-age"))
    columns = {"sex": table.sex.to_numpy(int)}
    constraints = ["recall(sex == 0) >= 0.9 * recall()", "false_positive_rate() <= 0.6"]
    return People(X, (table.credit == 1).to_numpy(), columns, constraints, 600)


TABLES: dict[str, Callable[[], People]] = {
    "adult": adult, "bank": bank, "compas": compas, "synthetic": synthetic, "acs": acs,
    "hmda": hmda, "sba": sba, "flights": flights, "communities": communities, "german": german,
}  # fmt: skip


# --- regimes --------------------------------------------------------------------------------------


def few_rows() -> People:
    return replace(adult(), rows=2000)


def at_odds() -> People:
    """Return constraints that no rule meets."""
    constraints = ["recall() >= 0.95", "false_positive_rate() <= 0.05"]
    return replace(adult(), constraints=constraints, rows=5000)


def many_constraints() -> People:
    """Return 32 overlapping groups: eight bands of four features."""
    people = synthetic()
    columns = {}
    for feature in range(3, 7):
        values = people.X[:, feature]
        columns[f"b{feature}"] = np.digitize(values, np.quantile(values, np.arange(1, 8) / 8))
    constraints = [f"recall({name} == {k}) >= 0.85 * recall()" for name in columns for k in range(8)]
    return replace(people, columns=columns, constraints=constraints)


def twenty_positives() -> People:
    """Return a group with about 20 positives among 10,000 rows."""
    people = synthetic()
    is_few = (people.columns["group"] == "d") & (np.random.default_rng(1).random(len(people.y)) < 0.15)
    columns = {"group": np.where(is_few, "few", "many")}
    constraints = ['recall(group == "few") >= 0.8 * recall()', "positive_rate() <= 0.5"]
    return replace(people, columns=columns, constraints=constraints)


def five_classes() -> People:
    """Return five classes and five groups: as the constraints, equalized odds."""
    table = pd.read_parquet(SHARED / "bench/acsincome_test.parquet")
    y = np.digitize(table.SCHL, [15.5, 17.5, 19.5, 21.5])
    g = table.RAC1P.map({0: 0, 1: 1, 5: 2, 7: 3}).fillna(4).to_numpy(int)
    X = table.drop(columns=["SCHL", "RAC1P"]).to_numpy(float)
    return People(X, y, {"g": g}, ["equalized_odds(g, slack=0.1)"], 10_000)


REGIMES: dict[str, Callable[[], People]] = {
    "2,000 rows": few_rows, "infeasible": at_odds, "32 constraints": many_constraints,
    "20 positives": twenty_positives, "five classes": five_classes,
}  # fmt: skip


@cache
def load(name: str) -> People | None:
    """Return a table or a regime; None, with a line that says so, if its file is missing."""
    try:
        return (TABLES | REGIMES)[name]()
    except FileNotFoundError as error:
        print(f"{name} is left out: {error.filename} is not there. Set RATEBOUND_SHARED.")
        return None
