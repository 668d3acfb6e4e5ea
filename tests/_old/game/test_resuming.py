"""An interrupted game that is played again gives the same result, to the last bit."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.game import _resuming
from ratebound._old.game.turns import Taken

from ..small_tables import people

torch = pytest.importorskip("torch")


class Interrupted(Exception):
    pass


def interrupting(kept):
    """Ends a game from outside, once this many iterates are kept."""
    seen = []

    def when(trace):
        seen.append(trace)
        if len(seen) == kept:
            raise Interrupted
        return False

    return rb.Stop(when=when)


def network():
    layers = torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1)
    return torch.nn.Sequential(*layers)


@pytest.fixture(autouse=True)
def writing_always(monkeypatch):
    monkeypatch.setattr(_resuming, "SECONDS", 0.0)


@pytest.fixture(scope="module")
def compiled():
    table = people(600, slopes=(1.0, 1.0, 1.0, 1.0), by="sex", groups=("F", "M"))
    goals = [rb.recall(sex="F") >= 0.95 * rb.recall(), rb.positive_rate(sex="M") <= 0.3]
    return rb.compile(rb.Problem(rb.error_rate(), goals), table.population())


@pytest.fixture(scope="module")
def others(compiled):
    return rb.compile(compiled.problem, compiled.first.only(np.arange(0, 600, 3)))


def assert_same(resumed, expected):
    for name in ("objectives", "violations", "multipliers", "parameters", "setting", "round"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(expected, name), strict=True)
    assert resumed.watched.keys() == expected.watched.keys()
    for name, values in expected.watched.items():
        np.testing.assert_array_equal(resumed.watched[name].violations, values.violations)
    assert resumed.ended == expected.ended


@dataclass
class Stalled:
    """Stops a game after so many kept rounds without a lower objective."""

    patience: int
    best: float = np.inf
    waited: int = 0

    def __call__(self, trace):
        latest = float(trace.objectives[-1])
        self.waited = 0 if latest < self.best else self.waited + 1
        self.best = min(self.best, latest)
        return self.waited >= self.patience


LEARNERS = {
    "linear": lambda: rb.Linear([0.01, 0.1]),
    "sgd": lambda: rb.Linear(0.1, optimizer="sgd", dtype="float64"),
    "dropout": lambda: rb.Torch(network, 0.01),
    "side by side": lambda: rb.Torch(network, [0.01, 0.02]),
    "bf16": lambda: rb.Torch(network, 0.01, precision="bf16"),
}
PLAYERS = {"swap": rb.SwapRegret(), "external": rb.ExternalRegret(), "lagrangian": rb.Lagrangian()}
ROWS = {
    "own": lambda others: {},
    "watched": lambda others: {"watch": {"others": others}},
}
PAIRS = [("swap", "own"), ("external", "watched"), ("lagrangian", "own")]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(("player", "rows"), PAIRS)
def test_an_interrupted_game_goes_on(learner, player, rows, compiled, others, tmp_path):
    how = {"player": PLAYERS[player], "rounds": 40, "batch_size": 100, "seed": 3} | ROWS[rows](others)
    model = LEARNERS[learner]()
    whole = rb.play(compiled, model, keep=rb.Keep(every=7), **how)
    keep = rb.Keep(every=7, folder=tmp_path)
    with pytest.raises(Interrupted):
        rb.play(compiled, model, keep=keep, stop=interrupting(4), **how)
    assert len(list(tmp_path.iterdir())) == 1
    assert_same(rb.play(compiled, model, keep=keep, **how), whole)
    assert_same(rb.play(compiled, model, keep=keep, stop=interrupting(1), **how), whole)  # read


@pytest.mark.parametrize("at", [3, 7, 30, 40])
@pytest.mark.parametrize("learner", ["linear", "dropout"])
def test_an_interrupt_from_the_keyboard_loses_nothing(learner, at, compiled, tmp_path, monkeypatch):
    monkeypatch.setattr(_resuming, "SECONDS", 1e9)  # so only the interrupt writes
    how, model, take, taken = {"rounds": 40, "batch_size": 100}, LEARNERS[learner](), Taken.step, []
    keep = rb.Keep(every=7, folder=tmp_path)
    whole = rb.play(compiled, model, keep=rb.Keep(every=7), **how)

    def pressing(turns):
        taken.append(1)
        if len(taken) == at:
            signal.raise_signal(signal.SIGINT)  # in the middle of a round
        take(turns)

    monkeypatch.setattr(Taken, "step", pressing)
    part = rb.play(compiled, model, keep=keep, **how)
    assert (part.ended, part.round[-1], len(taken)) == ("interrupted", at, at)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert_same(rb.play(compiled, model, keep=keep, **how), whole)
    assert len(taken) == 40


def test_games_that_run_out_of_time_go_on(compiled, tmp_path):
    how, model = {"rounds": 9, "batch_size": 100}, rb.Linear(0.1)
    whole = rb.play(compiled, model, keep=rb.Keep(every=4), **how)
    keep, late = rb.Keep(every=4, folder=tmp_path), rb.Stop(max_time=1e-9)
    for done in range(1, 9):
        part = rb.play(compiled, model, keep=keep, stop=late, **how)
        assert (part.ended, part.round[-1]) == ("time", done)
    assert_same(rb.play(compiled, model, keep=keep, **how), whole)


def test_the_rows_the_problem_and_every_setting_name_the_file(compiled, others, tmp_path):
    keep, model = rb.Keep(folder=tmp_path), rb.Linear()
    rb.play(compiled, model, rounds=3, keep=keep)
    others_too = [
        {"compiled": others},
        {"compiled": compiled.tightened(np.array([0.1, 0.0]))},
        {"learner": rb.Linear(l2=0.1)},
        {"learner": model.starting_at(np.ones(5))},
        {"player": rb.SwapRegret(0.3)},
        {"rules": rb.Rules(window=5)},
        {"batch_size": 50},
        {"rounds": 4},
        {"seed": 1},
        {"watch": {"others": others}},
    ]
    for count, change in enumerate(others_too, start=2):
        rb.play(**({"compiled": compiled, "learner": model, "rounds": 3, "keep": keep} | change))
        assert len(list(tmp_path.iterdir())) == count


def test_what_stops_a_game_remembers_what_it_saw(compiled, tmp_path):
    class Once(Stalled):
        def __call__(self, trace):
            if trace.round.max() == 8 and not (tmp_path / "seen").exists():
                (tmp_path / "seen").touch()
                raise Interrupted
            return super().__call__(trace)

    how = {"rounds": 200, "batch_size": 100}
    keep, model = rb.Keep(every=4, folder=tmp_path / "games"), rb.Linear(0.1)
    whole = rb.play(compiled, model, stop=rb.Stop(when=Stalled(3)), keep=rb.Keep(every=4), **how)
    with pytest.raises(Interrupted):
        rb.play(compiled, model, stop=rb.Stop(when=Once(3)), keep=keep, **how)
    resumed = rb.play(compiled, model, stop=rb.Stop(when=Once(3)), keep=keep, **how)
    assert_same(resumed, whole)
    assert resumed.ended == "stopped"


def test_finished_games_of_other_models_are_read_with_their_models(compiled, tmp_path):
    from sklearn.linear_model import LogisticRegression

    model, keep = rb.Oracle(LogisticRegression()), rb.Keep(folder=tmp_path)
    whole = rb.play(compiled, model, rounds=5, keep=keep)
    resumed = rb.play(compiled, model, rounds=5, keep=keep, stop=interrupting(1))
    assert_same(resumed, whole)
    np.testing.assert_array_equal(resumed.answered, whole.answered)
    np.testing.assert_array_equal(resumed.scores(compiled), whole.scores(compiled))
    assert rb.shrink(resumed).status.feasible == rb.shrink(whole).status.feasible


def test_goals_that_are_no_sums_have_a_file_for_each_game(tmp_path, compiled):
    goal = rb.compile(rb.Problem(maximize=rb.f_score()), compiled.first)
    how = {"rounds": 20, "keep": rb.Keep(every=10, folder=tmp_path)}
    whole = rb.play(goal, rb.Linear(0.1), **how)
    assert len(list(tmp_path.iterdir())) > 1
    assert_same(rb.play(goal, rb.Linear(0.1), stop=interrupting(1), **how), whole)


def test_a_file_that_is_no_game_is_named(compiled, tmp_path):
    keep = rb.Keep(folder=tmp_path)
    rb.play(compiled, rb.Linear(), rounds=3, keep=keep)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(ValueError, match=r"a damaged game file .*: remove it"):
        rb.play(compiled, rb.Linear(), rounds=3, keep=keep)


def test_a_game_on_disk_goes_on_without_evaluating_what_it_kept(tmp_path, monkeypatch):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    random = np.random.default_rng(0)
    X, sex = random.normal(size=(900, 3)), random.choice(["F", "M"], 900)
    columns = {f"x{i}": X[:, i] for i in range(3)} | {"y": X.sum(axis=1) > 0, "sex": sex}
    parquet.write_table(arrow.table(columns), tmp_path / "rows.parquet", row_group_size=100)
    people = rb.Parquet(tmp_path / "rows.parquet", label="y", columns=["sex"])
    compiled = rb.compile(rb.Problem(rb.error_rate(), [rb.positive_rate(sex="M") <= 0.3]), people)
    how = {"rounds": 40, "batch_size": 100}
    whole = rb.play(compiled, rb.Linear(0.1), keep=rb.Keep(every=7), **how)
    keep, take, taken = rb.Keep(every=7, folder=tmp_path / "games"), Taken.step, []

    def failing(turns):
        taken.append(1)
        if len(taken) == 30:
            raise Interrupted
        take(turns)

    with monkeypatch.context() as patch:
        patch.setattr(Taken, "step", failing)
        with pytest.raises(Interrupted):
            rb.play(compiled, rb.Linear(0.1), keep=keep, **how)
    assert_same(rb.play(compiled, rb.Linear(0.1), keep=keep, **how), whole)


# --- names ---------------------------------------------------------------------------------------


def chain(activation=torch.nn.ReLU, tied=False):
    torch.manual_seed(0)
    first, second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    second.load_state_dict(first.state_dict())
    if tied:
        second.weight = first.weight
    return torch.nn.Sequential(first, activation(), second, torch.nn.Linear(4, 1))


class Steep(torch.nn.Module):
    def __init__(self, slope=1.0):
        super().__init__()
        torch.manual_seed(0)
        self.inner, self.slope = torch.nn.Linear(4, 1), slope

    def forward(self, rows):
        return self.slope * self.inner(rows)


def penalty(strength):
    return lambda module: strength * sum(p.abs().sum() for p in module.parameters())


def steps(momentum):
    return lambda parameters: torch.optim.SGD(parameters, 0.1, momentum=momentum)


def estimators(name, values):
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB

    kind = {"priors": GaussianNB}.get(name, LogisticRegression)
    return [rb.Oracle(kind(**{name: value})) for value in values]


ALIKE = {  # two learners that differ only in a value
    "float32": lambda: estimators("C", [np.float32(1e-4), np.float32(100)]),
    "int64": lambda: estimators("max_iter", [np.int64(300), np.int64(500)]),
    "array": lambda: estimators("priors", [np.array([0.01, 0.99]), np.array([0.99, 0.01])]),
    "activation": lambda: [rb.Torch(chain(), 0.05), rb.Torch(chain(torch.nn.Tanh), 0.05)],
    "tied": lambda: [rb.Torch(chain(), 0.05), rb.Torch(chain(tied=True), 0.05)],
    "attribute": lambda: [rb.Torch(Steep(), 0.05), rb.Torch(Steep(2.0), 0.05)],
    "factory": lambda: [rb.Torch(lambda: Steep(), 0.05), rb.Torch(lambda: Steep(2.0), 0.05)],
    "closure": lambda: [rb.Torch(chain(), 0.05, regularizer=penalty(s)) for s in (0.0, 1.0)],
    "optimizer": lambda: [rb.Torch(chain(), 0.05, optimizer=steps(m)) for m in (0.0, 0.9)],
    "code": lambda: [
        rb.Torch(chain(), 0.05, regularizer=lambda module: module[0].weight.abs().sum()),
        rb.Torch(chain(), 0.05, regularizer=lambda module: module[0].weight.square().sum()),
    ],
}


@pytest.mark.parametrize("name", ALIKE)
def test_a_game_of_another_model_is_never_taken_up(name, compiled, tmp_path):
    first, second = ALIKE[name]()
    how = {"rounds": 3, "seed": 0}
    alone = rb.play(compiled, second, **how)
    keep = rb.Keep(folder=tmp_path)
    rb.play(compiled, first, keep=keep, **how)
    resumed = rb.play(compiled, second, keep=keep, **how)
    np.testing.assert_array_equal(resumed.scores(compiled), alone.scores(compiled))
    assert len(list(tmp_path.iterdir())) == 2
    rb.play(compiled, ALIKE[name]()[1], keep=keep, **how)  # made again, it is the same
    assert len(list(tmp_path.iterdir())) == 2


NAMED = """
import numpy as np, torch, ratebound as rb
from ratebound._old.game._resuming import Contents
torch.manual_seed(0)
STRENGTH = 0.5
class Own(torch.nn.Module):
    kinds = {"a", "b", "c"}
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 1)
        self.register_buffer("one", torch.ones(1), persistent=False)
        self.register_buffer("two", torch.ones(1), persistent=False)
    def forward(self, rows):
        return self.inner(rows)
def penalty(module):
    return STRENGTH * sum(p.abs().sum() for p in module.parameters())
learner = rb.Torch(Own(), np.float32(0.1), regularizer=penalty)
print(Contents().of({"learner": learner, "chance": np.random.RandomState(3)}, "settings"))
"""


def test_a_name_is_the_same_in_another_process_and_another_where_a_number_is():
    both = [NAMED, NAMED.replace("STRENGTH = 0.5", "STRENGTH = 0.6")]
    code = f"for each in {both!r}: exec(each, {{'__name__': '__main__'}})"
    first, again = (
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for seed in "12"
    )
    assert first == again
    assert len(set(first)) == 2


def test_what_cannot_be_told_apart_is_refused(compiled, tmp_path):
    import threading

    lock = threading.Lock()

    def waiting(module):
        with lock:
            return module[0].weight.abs().sum()

    learner = rb.Torch(chain(), 0.05, regularizer=waiting)
    rb.play(compiled, learner, rounds=2)
    with pytest.raises(
        ValueError, match=r"learner\.regularizer: lock holds a _thread\.lock, .* no folder"
    ):
        rb.play(compiled, learner, rounds=2, keep=rb.Keep(folder=tmp_path))


def test_a_game_that_something_else_ended_is_played_on(compiled, tmp_path):
    how = {"rounds": 60, "batch_size": 100}
    keep, model = rb.Keep(every=2, folder=tmp_path), rb.Linear(0.1)
    alone = rb.play(compiled, model, stop=rb.Stop(when=Stalled(9)), keep=rb.Keep(every=2), **how)
    short = rb.play(compiled, model, stop=rb.Stop(when=Stalled(1)), keep=keep, **how)
    assert short.ended == "stopped"
    assert_same(rb.play(compiled, model, stop=rb.Stop(when=Stalled(1)), keep=keep, **how), short)
    assert_same(rb.play(compiled, model, stop=rb.Stop(when=Stalled(9)), keep=keep, **how), alone)


def test_a_finished_game_that_nobody_trusts_is_played_again(compiled, tmp_path):
    from sklearn.tree import DecisionTreeClassifier

    pytest.importorskip("skops")
    model, keep = rb.Oracle(DecisionTreeClassifier(max_depth=2)), rb.Keep(folder=tmp_path)
    whole = rb.play(compiled, model, rounds=3, keep=keep)
    assert_same(rb.play(compiled, model, rounds=3, keep=keep), whole)
