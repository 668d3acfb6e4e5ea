"""A table of people with everything that the studio looks for, and names that want to be markup."""

import csv

import numpy as np
import pytest

from ratebound._old.studio.session import started

EVIL = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="session")
def people_csv(tmp_path_factory):
    """1,500 people: sex, age, a date, two features, a model in use, a label, missing in places."""
    rng = np.random.default_rng(0)
    n = 1500
    sex = rng.choice(["Female", "Male"], n, p=[0.4, 0.6])
    age = rng.integers(18, 80, n)
    skill, hours = rng.normal(0, 1, n) + 0.5 * (sex == "Male"), rng.integers(10, 60, n)
    right = skill + 0.02 * hours + rng.normal(0, 0.8, n) > 1.0
    days = np.datetime64("2023-01-01") + rng.integers(0, 500, n)
    site = rng.choice(["north", EVIL, "south"], n, p=[0.5, 0.49, 0.01])
    path = tmp_path_factory.mktemp("studio") / "people.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["sex", "age", "skill", "hours", f"site {EVIL}", "applied_on", "live", "approved"]
        )
        for i in range(n):
            label = "" if i % 100 == 0 else ("yes" if right[i] else "no")
            live = "yes" if skill[i] > 0.8 else "no"
            writer.writerow([sex[i], age[i], f"{skill[i]:.4f}", hours[i], site[i], days[i], live, label])
    return path


@pytest.fixture(scope="session")
def start(people_csv, tmp_path_factory):
    """The state that the studio starts with."""
    return started(str(people_csv), tmp_path_factory.mktemp("out") / "model")
