"""``ratebound reproduce``: tables, files, several seeds, and going on after an interruption."""

import json
import sys
from dataclasses import replace

import pytest

from ratebound_experiments import reproduce, running
from ratebound_experiments.problems import EXPERIMENTS
from ratebound_experiments.published import published
from ratebound_experiments.rows import VALUES

from ..experiments.tiny import splits, tiny

ALGORITHMS = ["unconstrained", "hinge", "swap", "ext"]


@pytest.fixture
def small(monkeypatch):
    """Three small experiments in place of the paper's; the last two need a folder."""

    def from_folder(folder, seed):
        (folder / "pairs.csv").read_text()
        return splits(folder, seed)

    found = [
        tiny("adult"),
        tiny("compas", stand_in=True),
        tiny("thresholding", stand_in=True, splits=from_folder),
    ]
    monkeypatch.setattr(reproduce, "EXPERIMENTS", {experiment.name: experiment for experiment in found})


@pytest.fixture
def undrawn(monkeypatch):
    """Tables without figures, which take longer than these experiments."""
    for module in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, module, None)


@pytest.fixture
def games(monkeypatch):
    """How many games were played; the game that `interrupt_at` counts to is interrupted."""
    play, found = running.play, {"played": 0, "interrupt_at": None}

    def counted(*arguments, **settings):
        trace = play(*arguments, **settings)
        found["played"] += 1
        return replace(trace, ended="interrupted") if found["played"] == found["interrupt_at"] else trace

    monkeypatch.setattr(running, "play", counted)
    return found


def without_seconds(path):
    given = json.loads(path.read_text("utf-8"))
    return {name: value for name, value in given.items() if not name.startswith("seconds")}


def test_the_registry_holds_published_experiments():
    for name, experiment in EXPERIMENTS.items():
        assert experiment.name == name
        assert published(name)


def test_adult_end_to_end(run, tmp_path):
    pytest.importorskip("matplotlib")
    out, file = tmp_path / "out", tmp_path / "adult.json"
    answer = run("reproduce", "adult", "--epochs", "1", "--json", file, "--out", out, "--quiet")
    assert (answer.status, answer.err) == (0, "")
    given = json.loads(file.read_text("utf-8"))
    assert [(row["algorithm"], row["solution"]) for row in given["rows"]] == [
        (row.algorithm, row.solution) for row in published("adult")
    ]
    for row in given["rows"]:
        assert set(row) == {"algorithm", "solution", *VALUES, "learning_rates"}
        assert all(0 < row[name] < 0.5 for name in VALUES if name.endswith("error"))
    assert (given["name"], given["seeds"], given["epochs"], given["stand_in"]) == (
        "adult",
        [0],
        1,
        False,
    )
    assert given["seconds"] == pytest.approx(sum(given["seconds_by_algorithm"].values()))
    assert "0-1 swap m-stoch." in answer.out
    assert " 0.1428 " in answer.out  # published, unconstrained, on test rows
    assert (out / "adult.txt").read_text("utf-8") in answer.out
    assert json.loads((out / "adult.json").read_text("utf-8")) == given


def test_all_leaves_out_what_it_has_no_files_of(run, small, tmp_path):
    pytest.importorskip("matplotlib")
    command = ("reproduce", "all", "--out", tmp_path, "--json", tmp_path / "all.json")
    answer = run(*command)
    assert answer.status == 0
    assert "thresholding was left out: its files do not ship" in answer.err
    given = json.loads((tmp_path / "all.json").read_text("utf-8"))
    assert list(given["tables"]) == ["adult"]
    assert list(given["left_out"]) == ["compas", "thresholding"]

    answer = run(*command, "--data", tmp_path, "--quiet")
    assert answer.status == 0
    given = json.loads((tmp_path / "all.json").read_text("utf-8"))
    assert list(given["tables"]) == ["adult", "compas"]
    assert list(given["left_out"]) == ["thresholding"]
    assert given["tables"]["compas"]["stand_in"]
    assert answer.err.count("\n") == 1
    assert "thresholding was left out" in answer.err
    assert "pairs.csv" in answer.err
    (tmp_path / "pairs.csv").write_text("")
    assert run("reproduce", "all", "--out", tmp_path, "--data", tmp_path, "--quiet").err == ""
    assert (tmp_path / "thresholding.json").exists()


def test_stand_ins_are_labelled_wherever_they_are_shown(run, small, tmp_path):
    answer = run("reproduce", "compas", "--out", tmp_path, "--data", tmp_path)
    written = [(tmp_path / name).read_text("utf-8") for name in ("compas.txt", "index.html")]
    for shown in (answer.out, *written):
        assert "Stand-in data: the published table is of other data" in shown
    assert json.loads((tmp_path / "compas.json").read_text("utf-8"))["stand_in"] is True


def test_the_page_shows_all_tables_that_lie_in_the_folder(run, small, tmp_path):
    pytest.importorskip("matplotlib")
    run("reproduce", "adult", "--out", tmp_path)
    run("reproduce", "compas", "--out", tmp_path, "--data", tmp_path)
    page = (tmp_path / "index.html").read_text("utf-8")
    assert 'id="adult"' in page
    assert 'id="compas"' in page
    assert page.count("data:image/png") == 4
    (tmp_path / "adult.json").write_text("{}")
    answer = run("reproduce", "compas", "--out", tmp_path, "--data", tmp_path)
    assert "adult.json is not a table that this version wrote" in answer.err
    assert 'id="adult"' not in (tmp_path / "index.html").read_text("utf-8")


def test_several_seeds(run, small, undrawn, tmp_path):
    file = tmp_path / "adult.json"
    answer = run(
        "reproduce", "adult", "--seeds", 3, "--json", file, "--out", tmp_path / "out", "--quiet"
    )
    given = json.loads(file.read_text("utf-8"))
    assert given["seeds"] == [0, 1, 2]
    for row in given["rows"]:
        assert {f"{name}_{end}" for name in VALUES for end in ("mean", "sd")} <= set(row)
        assert len(row["learning_rates"]) == 3
    assert "mean ± sd of 3 seeds" in answer.out


@pytest.mark.parametrize("at", [1, 2, 6])
def test_an_interrupted_run_goes_on_where_it_was(run, small, undrawn, games, tmp_path, at):
    command = ("reproduce", "adult", "--seeds", 2, "--out", tmp_path / "out")
    games["interrupt_at"] = at
    answer = run(*command)
    assert (answer.status, answer.out) == (130, "")
    assert "the same command goes on from there" in answer.err
    assert not (tmp_path / "out" / "adult.json").exists()

    answer = run(*command)
    assert answer.status == 0
    assert games["played"] == 8 + 1  # the interrupted one twice
    assert ("kept from an earlier run: unconstrained" in answer.err) == (at > 1)
    whole = run("reproduce", "adult", "--seeds", 2, "--out", tmp_path / "whole")
    assert "kept" not in whole.err
    again, never = (without_seconds(tmp_path / name / "adult.json") for name in ("out", "whole"))
    assert again == never


def test_other_settings_are_other_games(run, small, undrawn, games, tmp_path, monkeypatch):
    run("reproduce", "adult", "--out", tmp_path)
    run("reproduce", "adult", "--out", tmp_path, "--epochs", 2)
    run("reproduce", "adult", "--out", tmp_path, "--seeds", 2)
    assert games["played"] == 12

    def other_rows(folder, seed):
        return splits(folder, seed + 100)

    monkeypatch.setitem(reproduce.EXPERIMENTS, "adult", tiny("adult", splits=other_rows))
    run("reproduce", "adult", "--out", tmp_path)
    assert games["played"] == 16


def test_a_damaged_game_is_played_again_and_said_so(run, small, undrawn, games, tmp_path):
    whole = run("reproduce", "adult", "--out", tmp_path)
    (file,) = (tmp_path / "games").glob("adult-swap-*")
    file.write_bytes(file.read_bytes()[:-1])
    answer = run("reproduce", "adult", "--out", tmp_path)
    assert (answer.status, games["played"]) == (0, 5)
    assert f"note: {file} is damaged or another game's, so the game is played again\n" in answer.err
    assert "kept from an earlier run: unconstrained, hinge, ext\n" in answer.err
    assert answer.out.splitlines()[:20] == whole.out.splitlines()[:20]  # all but the seconds


def test_seconds_are_those_of_the_games_also_where_they_were_kept(run, small, undrawn, tmp_path):
    seconds = []
    for _ in range(2):
        run("reproduce", "adult", "--out", tmp_path)
        given = json.loads((tmp_path / "adult.json").read_text("utf-8"))
        assert list(given["seconds_by_algorithm"]) == ALGORITHMS
        seconds.append(given["seconds"])
    assert seconds[0] == seconds[1] > 0


def test_without_matplotlib_there_are_tables_and_no_figures(run, small, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    run("reproduce", "adult", "--out", tmp_path)
    assert len(list(tmp_path.glob("*.png"))) == 2
    for module in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, module, None)
    answer = run("reproduce", "adult", "--out", tmp_path, "--quiet")
    assert answer.status == 0
    assert "Unconstrained" in answer.out
    assert answer.err == (
        "ratebound: no figures are drawn: this needs matplotlib: pip install 'ratebound[plot]'\n"
    )
    assert not list(tmp_path.glob("*.png"))
    assert "<img" not in (tmp_path / "index.html").read_text("utf-8")


def test_one_thing_can_be_changed(run, small, undrawn, games, tmp_path):
    """What is changed is played anew and said in the table; all else is kept from before."""
    run("reproduce", "adult", "--out", tmp_path)
    before = without_seconds(tmp_path / "adult.json")
    answer = run("reproduce", "adult", "--out", tmp_path, "--proxy", "hinge")
    after = without_seconds(tmp_path / "adult.json")
    assert games["played"] == 4 + 3  # all but the baseline, whose proxy was the hinge before
    assert "with the hinge as proxy instead of the sigmoid" in answer.out
    assert before["rows"][1:5] == after["rows"][1:5]  # four solutions of the baseline
    assert before["rows"][5:] != after["rows"][5:]

    run("reproduce", "adult", "--out", tmp_path, "--loss", "sigmoid")
    assert games["played"] == 7 + 4
    run("reproduce", "adult", "--out", tmp_path, "--loss", "logistic", "--proxy", "sigmoid")
    assert games["played"] == 11  # its own
    assert without_seconds(tmp_path / "adult.json") == before


def test_only_some_players_and_learning_rates(run, small, undrawn, games, tmp_path):
    answer = run(
        "reproduce", "adult", "--out", tmp_path, "--player", "external", "--rates", "0.1/0.01", "0.1/1"
    )
    given = without_seconds(tmp_path / "adult.json")
    assert answer.status == 0
    assert list(dict.fromkeys(row["algorithm"] for row in given["rows"])) == ["unconstrained", "ext"]
    pairs = {tuple(pair) for row in given["rows"] for pair in row["learning_rates"]}
    assert pairs <= {(0.1, None), (0.1, 0.01), (0.1, 1.0)}
    assert "with learning rates 0.1/0.01, 0.1/1" in answer.out
    assert games["played"] == 2
    one = run("reproduce", "adult", "--out", tmp_path / "one", "--player", "swap", "lagrangian")
    assert "0-1 ext" not in one.out
    assert "Hinge m-stoch." in one.out


REFUSED = [
    (["adlt"], "there is no experiment 'adlt', did you mean 'adult'? There are adult, compas, thr"),
    (["nothing"], "there is no experiment 'nothing'. There are"),
    (["thresholding"], "the data of thresholding does not ship with the package"),
    (["adult", "--seeds", "0"], "--seeds takes a whole number from 1 on, got 0"),
    (["adult", "--epochs", "-1"], "--epochs takes a whole number from 1 on, got -1"),
    (["adult", "--data", "nowhere"], "--data nowhere: there is no such folder"),
    (["adult", "--json", "nowhere/file.json"], "--json nowhere/file.json: cannot write in"),
    (["adult", "--proxy", "ramp"], "argument --proxy: invalid choice: 'ramp'"),
    (["adult", "--player", "auto"], "argument --player: invalid choice: 'auto'"),
    (["adult", "--rates", "0.1"], "'0.1' is not a pair of learning rates above 0, as in 0.01/0.1"),
    (["adult", "--rates", "0.1/nan"], "'0.1/nan' is not a pair of learning rates above 0"),
    (["adult", "--colour", "red"], "unrecognized arguments: --colour red"),
    ([], "the following arguments are required: name"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), REFUSED, ids=[" ".join(a) for a, _ in REFUSED])
def test_what_is_refused_is_refused_before_anything_runs(refused, small, tmp_path, arguments, words):
    assert words in refused("reproduce", *arguments, "--out", tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_device_that_is_not_there_is_refused_before_anything_runs(refused, small, tmp_path):
    pytest.importorskip("torch")
    line = refused("reproduce", "adult", "--device", "cuba", "--out", tmp_path / "out")
    assert "--device cuba: PyTorch cannot use it here" in line
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_not_in_the_folder_is_an_error_for_one_experiment(refused, small, tmp_path):
    line = refused("reproduce", "thresholding", "--data", tmp_path, "--out", tmp_path / "out", "--quiet")
    assert "pairs.csv" in line


def test_which_release_of_bank_it_is_is_said(run, tmp_path):
    answer = run("reproduce", "bank", "--epochs", "1", "--out", tmp_path, "--quiet")
    assert answer.status == 0
    assert "on the release that ships, bank-full" in answer.out


def test_without_the_repository_it_says_where_the_experiments_are(refused, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ratebound_experiments", None)
    assert "clone the repository" in refused("reproduce", "adult", "--out", tmp_path / "out")
