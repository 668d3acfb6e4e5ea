"""Running an experiment: the rows, going on where a run was interrupted, and the published tables."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from ratebound_experiments.business_entity import BUSINESS_ENTITY
from ratebound_experiments.thresholding import THRESHOLDING

import ratebound._old as rb
from ratebound._old.problem.population import Population
from ratebound_experiments import running
from ratebound_experiments.experiment import Rates, lattices, linear, network
from ratebound_experiments.kept import ARRAYS
from ratebound_experiments.problems import ADULT, BANK, COMPAS
from ratebound_experiments.published import published
from ratebound_experiments.rows import VALUES
from ratebound_experiments.running import run, solved

from . import tiny as tiny_module
from .tiny import tiny

TABLES = (
    "bank", "adult", "compas", "business_entity", "thresholding", "map_intent", "filtering",
)  # fmt: skip


def same(first, second):
    for one, other in zip(first, second, strict=True):
        assert (one.algorithm, one.model_rates) == (other.algorithm, other.model_rates)
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(one.trace, name), getattr(other.trace, name))
        for name, values in one.trace.watched.items():
            np.testing.assert_array_equal(values.objectives, other.trace.watched[name].objectives)
            np.testing.assert_array_equal(values.violations, other.trace.watched[name].violations)


def rows(played):
    return [row for row, _ in solved(played)]


@pytest.fixture(scope="module")
def played():
    return run(tiny("adult", rates=Rates(model=(0.01, 0.1))), 0)


@pytest.fixture
def games(monkeypatch):
    """The algorithms played, in order."""
    found = []
    play = running._play

    def counted(experiment, data, algorithm, *rest):
        found.append(algorithm)
        return play(experiment, data, algorithm, *rest)

    monkeypatch.setattr(running, "_play", counted)
    return found


def test_the_rows_are_the_published_ones_and_in_their_order(played):
    ours = [(row.algorithm, row.solution) for row in rows(played)]
    assert ours == [(row.algorithm, row.solution) for row in published("adult")]


@pytest.mark.parametrize("algorithm", ["hinge", "swap", "ext"])
@pytest.mark.parametrize(
    ("name", "solution"),
    [
        ("m-stoch", rb.shrink),
        ("t-stoch", lambda trace: rb.average(trace, weighting="uniform")),
        ("best", lambda trace: rb.best_iterate(trace, ranking="literal")),
        ("last", rb.last_iterate),
    ],
    ids=["m-stoch", "t-stoch", "best", "last"],
)
def test_a_row_is_the_solution_chosen_by_its_ranks_on_validation_rows(played, algorithm, name, solution):
    (trace,) = (one.trace for one in played if one.algorithm == algorithm)
    (row,) = (r for r in rows(played) if (r.algorithm, r.solution) == (algorithm, name))
    found = [solution(trace.of_setting(k)) for k in trace.settings]
    errors = [one.objectives["validation"] for one in found]
    worst = [one.violations["validation"].max() for one in found]
    larger = [  # the paper's heuristic, written out
        max(sum(e < error for e in errors), sum(w < violation for w in worst))
        for error, violation in zip(errors, worst, strict=True)
    ]
    k = min(range(len(found)), key=lambda k: (larger[k], errors[k], worst[k]))
    parts = ("train", "validation", "test")
    expected = [found[k].objectives[p] for p in parts] + [found[k].violations[p].max() for p in parts]
    assert row.values() == pytest.approx(expected, abs=1e-12)


def test_the_unconstrained_row_is_the_setting_of_least_validation_error(played):
    trace = played[0].trace
    last = [rb.last_iterate(trace.of_setting(k)) for k in trace.settings]
    assert rows(played)[0].valid_error == min(one.objectives["validation"] for one in last)
    assert np.all(trace.multipliers[:, 1:] < 1e-9)


def test_games_are_read_again_from_where_they_are_kept(tmp_path, games):
    first = run(tiny("adult"), 0, keep=tmp_path)
    assert games == ["unconstrained", "hinge", "swap", "ext"]
    second = run(tiny("adult"), 0, keep=tmp_path)
    assert len(games) == 4
    same(first, second)
    assert rows(first) == rows(second)


def damaged(whole):
    """A file's bytes damaged: none left, a part, and all with one changed in each of sixteen places."""
    yield from (b"", whole[: len(whole) // 2], whole[:-1], whole + b"x")
    for place in np.linspace(0, len(whole) - 1, 16).astype(int):
        yield whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]


def test_a_damaged_game_is_played_again(tmp_path, games):
    one = tiny("adult", algorithms=("swap",))
    first = run(one, 0, keep=tmp_path)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    for content in damaged(whole):
        file.write_bytes(content)
        games.clear()
        with pytest.warns(RuntimeWarning, match=f"{file.name} is damaged or another game's"):
            same(first, run(one, 0, keep=tmp_path))
        assert games == ["swap"]
        assert [played.resumed for played in run(one, 0, keep=tmp_path)] == [True]
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_another_games_file_is_not_accepted(tmp_path, games):
    run(tiny("adult"), 0, keep=tmp_path)
    files = sorted(tmp_path.iterdir())
    contents = [file.read_bytes() for file in files]
    for file, content in zip(files, contents[1:] + contents[:1], strict=True):
        file.write_bytes(content)
    games.clear()
    with pytest.warns(RuntimeWarning, match="another game's"):
        run(tiny("adult"), 0, keep=tmp_path)
    assert games == ["unconstrained", "hinge", "swap", "ext"]


def on_rows(**changed):
    """The small problem with something of its rows, its promise or its model changed."""

    def splits(folder, seed):
        splits = tiny_module.splits(folder, seed)
        for population in (splits.train, splits.validation, splits.test):
            population.columns |= {"base": population.X[:, 0] > 0}
        if "weights" in changed:
            splits.train.weights = changed["weights"]
        people = getattr(splits, changed.get("of", "train"))
        people.columns |= {name: change(people) for name, change in changed.get("columns", {}).items()}
        if "labels" in changed:
            people.y = changed["labels"](people)
        return splits

    promises = [rb.churn(versus="base") <= changed.get("bound", 0.2)]
    model = changed.get("model", linear)
    return {"splits": splits, "promises": lambda splits: promises, "model": model}


def one_less(name):
    """Another value in the first row of a column."""

    def change(people):
        values = np.array(people.columns[name])
        values[0] = not values[0] if values.dtype == bool else {"a": "b", "b": "a"}[values[0]]
        return values

    return change


OTHERS = {
    "a column": {"columns": {"group": one_less("group")}},
    "a column as objects": {"columns": {"group": lambda p: one_less("group")(p).astype(object)}},
    "a base model": {"columns": {"base": one_less("base")}},
    "a base model's test rows": {"of": "test", "columns": {"base": one_less("base")}},
    "one column more": {"columns": {"other": lambda p: np.zeros(len(p))}},
    "weights": {"weights": np.linspace(1, 2, 300)},
    "a label": {"labels": lambda p: p.y ^ (np.arange(len(p)) == 7)},
    "a bound": {"bound": 0.3},
    "another model": {"model": partial(network, hidden=2)},
    "a smaller model": {"model": partial(network, hidden=1)},
}


@pytest.mark.parametrize("changed", OTHERS)
def test_other_data_or_another_model_is_another_game(tmp_path, games, changed):
    if "model" in OTHERS[changed]:
        pytest.importorskip("torch")
    given = {"model": partial(network, hidden=3)} if changed == "a smaller model" else {}
    for parts in (on_rows(**given), on_rows(**given), on_rows(**OTHERS[changed])):
        run(tiny("adult", **parts, algorithms=("swap",), epochs=1), 0, keep=tmp_path)
    assert games == ["swap", "swap"]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_model_is_known_by_its_kind_and_size():
    three = replace(tiny_module.splits(None, 0), monotone={0: 1})
    four = replace(three, feature_names=("1", "2", "3", "4"))
    models = [linear(three, None), linear(four, None)]
    models += [network(three, None, 4), network(three, None, 5), network(four, None, 4)]
    models += [lattices(three, None, *size) for size in ((2, 3), (3, 3), (2, 2))]
    models += [lattices(replace(three, monotone={0: -1}), None, 2, 3)]
    assert len({model.words for model in models}) == len(models)


@pytest.mark.parametrize(
    "changed",
    [
        {"batch_size": 60}, {"keep_every": 2}, {"loss": "hinge"}, {"proxy": "logistic"},
        {"rates": Rates(model=(0.01,), swap=(0.2,))},
    ],
    ids=lambda changed: next(iter(changed)),
)  # fmt: skip
def test_another_setting_is_another_game(tmp_path, games, changed):
    one = tiny("adult", algorithms=("swap",))
    run(one, 0, keep=tmp_path)
    run(replace(one, **changed), 0, keep=tmp_path)
    assert games == ["swap", "swap"]


def test_the_proxy_of_the_others_does_not_change_the_baseline(tmp_path, games):
    one = tiny("adult", algorithms=("hinge",))
    run(one, 0, keep=tmp_path)
    run(replace(one, proxy="logistic"), 0, keep=tmp_path)
    assert games == ["hinge"]


def test_another_seed_or_length_is_another_game(tmp_path, games):
    one = tiny("adult", algorithms=("ext",))
    run(one, 0, keep=tmp_path)
    run(one, 1, keep=tmp_path)
    run(replace(one, epochs=2), 0, keep=tmp_path)
    assert games == ["ext"] * 3


def test_an_interruption_keeps_the_games_that_have_ended(tmp_path, games, monkeypatch):
    play = running.play

    def interrupted(*args, **kwargs):
        trace = play(*args, **kwargs)
        return replace(trace, ended="interrupted") if games[-1] == "swap" else trace

    monkeypatch.setattr(running, "play", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(tiny("adult"), 0, keep=tmp_path)
    monkeypatch.setattr(running, "play", play)
    assert games == ["unconstrained", "hinge", "swap"]
    again = run(tiny("adult"), 0, keep=tmp_path)
    assert games[3:] == ["swap", "ext"]
    same(again, run(tiny("adult"), 0))


def test_the_model_trained_on_steering_examples_is_judged_on_the_problem():
    def splits(folder, seed):
        rng = np.random.default_rng(9)
        X = rng.normal(size=(40, 3))
        steering = Population(X, X[:, 2] > 0)  # which has nothing to do with the problem's own labels
        return replace(tiny_module.splits(folder, seed), others={"steering": steering})

    one = tiny("thresholding", splits=splits, algorithms=("unconstrained", "steering-only"), epochs=20)
    played = run(one, 0)
    free, alone = rows(played)
    assert free.train_error < 0.35 < alone.train_error
    trace = played[1].trace
    assert trace.round.max() == 20 * (300 // 50)  # as many rounds as the others had
    assert trace.violations.shape[1] == 2


@pytest.mark.parametrize("name", TABLES)
def test_published_tables_are_whole(name):
    table = published(name)
    assert len(table) == (14 if name == "thresholding" else 13)
    assert len({(row.algorithm, row.solution) for row in table}) == len(table)
    for row in table:
        assert all(0 < error < 1 for error in row.values()[:3])
        assert all(abs(violation) < 0.5 for violation in row.values()[3:])
    assert len(VALUES) == 6


@pytest.mark.parametrize(
    "experiment", [ADULT, BANK, COMPAS, BUSINESS_ENTITY, THRESHOLDING], ids=lambda one: one.name
)
def test_learning_rates_are_all_pairs_of_powers_of_ten(experiment):
    for algorithm in experiment.algorithms:
        model, multipliers = experiment.rates.pairs(algorithm)
        assert len(set(zip(model, multipliers, strict=True))) == len(model)
        for rate in (*model, *multipliers):
            assert rate == pytest.approx(10.0 ** round(np.log10(rate)))
    assert len(experiment.rates.pairs("unconstrained")[0]) == len(experiment.rates.model)
    assert len(experiment.rates.pairs("swap")[0]) == len(experiment.rates.model) * 3
