"""Tables of several seeds beside the published ones, as text and as JSON."""

import json
import statistics
from dataclasses import replace

import pytest

from ratebound_experiments.published import published
from ratebound_experiments.rows import VALUES
from ratebound_experiments.running import run, solved
from ratebound_experiments.tables import STAND_IN, from_json, reproduced, text, to_json

from .tiny import tiny


@pytest.fixture(scope="module")
def runs():
    return [run(tiny("adult"), seed) for seed in range(3)]


def made(runs, **changed):
    return reproduced(tiny("adult", **changed), runs)


def test_several_seeds_are_means_and_deviations(runs):
    given = to_json(made(runs))["rows"]
    alone = [[row for row, _ in solved(played)] for played in runs]
    assert [(row["algorithm"], row["solution"]) for row in given] == [
        (row.algorithm, row.solution) for row in published("adult")
    ]
    for row, *same in zip(given, *alone, strict=True):
        for name in VALUES:
            values = [getattr(one, name) for one in same]
            assert row[name] == row[f"{name}_mean"] == pytest.approx(statistics.fmean(values))
            assert row[f"{name}_sd"] == pytest.approx(statistics.stdev(values), abs=1e-12)


def test_one_seed_has_no_deviations(runs):
    (first, *_) = to_json(made(runs[:1]))["rows"]
    assert set(first) == {"algorithm", "solution", *VALUES, "learning_rates"}
    assert "±" not in text(made(runs[:1]))


@pytest.mark.parametrize("count", [1, 3])
def test_json_gives_the_table_back(runs, count):
    table = made(runs[:count], stand_in=True)
    again = from_json(json.loads(json.dumps(to_json(table), allow_nan=False)))
    assert text(again) == text(table)
    assert again.chosen == table.chosen
    assert to_json(again) == to_json(table)


def test_every_row_names_the_setting_it_was_chosen_with(runs):
    table = made(runs)
    for summary, chosen in zip(table.rows, table.chosen, strict=True):
        assert len(chosen) == 3
        assert {one.model for one in chosen} <= {0.01, 0.1}
        free = summary.row.algorithm == "unconstrained"
        assert {one.multipliers for one in chosen} <= ({None} if free else {0.1, 0.001})


def test_the_text_has_both_tables_in_columns(runs):
    lines = text(made(runs)).split("\n")
    ours = [line for line in lines if line.startswith(("Unc", "Hinge ", "0-1"))][:13]
    assert len({len(line) for line in ours}) == 1
    for line, row in zip(ours, published("adult"), strict=True):
        assert line.startswith(row.title)
        assert [float(cell) for cell in line.split()[-6:]] == row.values()
    assert sum("±0." in line for line in lines) == 13
    assert "seconds of training on cpu" in lines[-1]


def test_stand_ins_say_so(runs):
    assert STAND_IN in text(made(runs, stand_in=True))
    assert "published, other data" in text(made(runs, stand_in=True))
    assert "other data" not in text(made(runs))


def test_a_row_that_was_never_published_stands_alone(runs):
    table = replace(made(runs[:1]), published=published("adult")[:1])
    assert text(table).count("–") == 12 * 6
