"""A mixture written to ONNX decides in onnxruntime as it decides here."""

import json
import sys
from dataclasses import replace
from importlib import metadata

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.learners._torch_scorer import ACTIVATIONS
from ratebound._old.learners.linear import LinearScorer
from ratebound._old.solution._choosing import uniform_from_key
from ratebound._old.solution.deciders import Draw, Vote
from ratebound._old.solution.mixture import Members
from ratebound._old.solution.onnx import to_onnx
from ratebound._old.solution.record import Record
from ratebound._old.solution.status import Status
from ratebound._old.tables.fitting import fit_encoding

PROBLEM = rb.Problem(rb.error_rate(), [rb.recall(sex="Female") >= 0.9])
ROWS = 3000
IDS = np.concatenate([np.arange(-ROWS, ROWS - 4), [2**62, -(2**63), 2**63 - 1, 0]])[::2]
rng = np.random.default_rng(0)
X = rng.normal(size=(ROWS, 3)).astype(np.float32)


@pytest.fixture
def onnx():
    return pytest.importorskip("onnx", reason="pip install 'ratebound[onnx]' to test the export")


@pytest.fixture
def run(onnx, tmp_path):
    """Write a mixture, read it with onnxruntime, and run it: its outputs by name."""
    runtime = pytest.importorskip("onnxruntime", reason="pip install 'ratebound[onnx]' to run exports")

    def run(mixture, features, *, choose="key", **chooser):
        path = to_onnx(mixture, tmp_path / "mixture.onnx", choose=choose)
        session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
        given = features
        if not isinstance(features, dict):
            given = {"features": np.asarray(features, np.float32)}
        assert {i.name for i in session.get_inputs()} == {*given, *chooser}
        found = session.run(None, {**given, **chooser})
        return dict(zip([o.name for o in session.get_outputs()], found, strict=True))

    return run


def mixture_of(parameters, weights, scorer=None, **options):
    return rb.Mixture(
        Members(np.asarray(weights, float), np.asarray(parameters), scorer or LinearScorer()),
        options.pop("decider", Draw()),
        Record(PROBLEM, Status(True, -0.1, (), (), "all kept")),
        **options,
    )


def linear(members, columns=3, **options):
    weights = np.random.default_rng(members).dirichlet(np.ones(members))
    parameters = np.random.default_rng(1).normal(size=(members, columns + 1)).astype(np.float32)
    return mixture_of(parameters, weights, **options)


def chain(members, *layers, **options):
    torch = pytest.importorskip("torch", reason="pip install 'ratebound[torch]' to export its modules")
    from ratebound._old.learners._torch_scorer import TorchScorer

    scorer = TorchScorer(torch.nn.Sequential(*layers) if len(layers) != 1 else layers[0])
    size = sum(shape.numel() for shape in scorer.shapes.values())
    parameters = np.random.default_rng(1).normal(size=(members, size)).astype(np.float32)
    weights = np.random.default_rng(members).dirichlet(np.ones(members))
    return mixture_of(parameters, weights, scorer, **options)


def mlp(members, columns=3, **options):
    nn = pytest.importorskip("torch", reason="pip install 'ratebound[torch]' to export its modules").nn
    return chain(members, nn.Linear(columns, 8), nn.ReLU(), nn.Linear(8, 1, bias=False), **options)


def assert_agrees(mixture, found, X, key):
    """Scores to rounding; decisions and probabilities wherever no rounded score is next to 0."""
    scores = mixture.member_scores(X)
    rounding = 1e-5 * (1 + np.abs(scores).max())
    np.testing.assert_allclose(found["scores"], scores, rtol=0, atol=rounding)
    clear = ((np.abs(scores) > rounding) | (found["scores"] == scores)).all(axis=1)
    assert clear.mean() > 0.99
    expected = mixture.decision_proba(X)[clear, 1]
    np.testing.assert_allclose(found["decision_probability"][clear], expected, rtol=0, atol=1e-6)
    assert found["decision"].dtype == np.int64
    decided = np.asarray(mixture.classes)[found["decision"]]
    np.testing.assert_array_equal(decided[clear], mixture.predict(X, key=key)[clear])


# --- agreement -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [linear, mlp])
@pytest.mark.parametrize("members", [1, 2, 7])
@pytest.mark.parametrize("salt", [0, 12345, 2**64 - 1])
def test_the_same_key_gets_the_same_decision(run, kind, members, salt):
    mixture = kind(members, decider=Draw(salt), classes=("no", "yes"))
    found = run(mixture, X, key=IDS)
    assert found["scores"].shape == (ROWS, members)
    assert found["decision_probability"].shape == found["decision"].shape == (ROWS,)
    assert_agrees(mixture, found, X, IDS)


def test_the_hash_is_that_of_predict_for_every_key(run):
    """A hundred members that differ on one row show which of them was chosen."""
    members = 100
    mixture = linear(members, columns=members, decider=Draw(7))
    parameters = np.column_stack([np.eye(members), np.full(members, -0.5)]).astype(np.float32)
    mixture = replace(mixture, members=replace(mixture.members, parameters=parameters))
    keys = np.random.default_rng(2).integers(-(2**63), 2**63 - 1, size=ROWS)
    ends = np.cumsum(mixture.weights)
    member = np.searchsorted(ends, uniform_from_key(keys, 7) * ends[-1], side="right")
    rows = np.eye(members, dtype=np.float32)[member]
    assert run(mixture, rows, key=keys)["decision"].all()
    assert not run(mixture, np.roll(rows, 1, axis=1), key=keys)["decision"].any()


@pytest.mark.parametrize("kind", [linear, mlp])
def test_a_uniform_number_chooses_for_ids_that_are_texts(run, kind):
    mixture = kind(5, decider=Draw(3))
    names = [f"customer {i}" for i in range(ROWS)]
    found = run(mixture, X, choose="uniform", uniform=mixture.uniform(X, key=names))
    assert_agrees(mixture, found, X, names)
    found = run(mixture, X, choose="uniform", uniform=mixture.uniform(X))
    assert_agrees(mixture, found, X, None)


def test_a_uniform_number_at_an_end_belongs_to_the_next_member(run):
    mixture = mixture_of([[0.0, 1.0], [0.0, -1.0], [0.0, 1.0]], [0.25, 0.5, 0.25])
    uniform = np.array([0.0, np.nextafter(0.25, 0), 0.25, np.nextafter(0.75, 0), 0.75, 1.0])
    found = run(mixture, np.zeros((6, 1)), choose="uniform", uniform=uniform)
    np.testing.assert_array_equal(found["decision"], [1, 1, 0, 0, 1, 1])


def test_a_score_of_exactly_zero_is_a_yes(run):
    mixture = mixture_of([[1.0, -2.0], [-1.0, 3.0]], [0.25, 0.75])
    rows = np.array([[1.0], [2.0], [3.0], [4.0]])
    found = run(mixture, rows, key=np.arange(4))
    np.testing.assert_array_equal(found["scores"], [[-1, 2], [0, 1], [1, 0], [2, -1]])
    np.testing.assert_array_equal(found["decision_probability"], [0.75, 1, 1, 0.25])
    np.testing.assert_array_equal(found["decision"], mixture.predict(rows, key=np.arange(4)))
    np.testing.assert_array_equal(mixture.decision_proba(rows)[:, 1], found["decision_probability"])


def test_a_score_that_only_single_precision_rounds_to_zero_is_still_a_no(run):
    mixture = mixture_of([[1.0, -1.0 - 1e-50], [1e-60, -1e-50]], [0.5, 0.5], LinearScorer("float64"))
    found = run(mixture, [[1.0]], key=np.array([0]))
    np.testing.assert_array_equal(found["scores"], [[0, 0]])
    expected = mixture.decision_proba(np.ones((1, 1)))[:, 1]
    np.testing.assert_array_equal(found["decision_probability"], expected)
    assert found["decision_probability"] == 0.5  # the second says no


def test_a_row_with_nan_has_no_score_and_gets_a_no(run):
    found = run(linear(2), [[np.nan, 0, 0], [0, 0, 0]], key=np.arange(2))
    assert np.isnan(found["scores"]).tolist() == [[True, True], [False, False]]
    assert (found["decision_probability"][0], found["decision"][0]) == (0, 0)


def test_no_rows(run):
    found = run(linear(2), np.empty((0, 3)), key=np.arange(0))
    assert {name: values.shape for name, values in found.items()} == {
        "decision": (0,),
        "decision_probability": (0,),
        "scores": (0, 2),
    }


@pytest.mark.parametrize("kind", [linear, mlp])
@pytest.mark.parametrize("members", [1, 5])
def test_a_vote_needs_no_key(run, kind, members):
    mixture = kind(members, decider=Vote())
    found = run(mixture, X)
    assert_agrees(mixture, found, X, None)
    np.testing.assert_array_equal(found["decision_probability"], found["decision"])


def test_yes_wins_a_tied_vote(run):
    parameters = [[1.0, 0.0]] * 3 + [[-1.0, -0.5]] * 3
    tied = mixture_of(parameters, [0.1, 0.1, 0.3, 0.3, 0.1, 0.1], decider=Vote())
    close = mixture_of(parameters, [0.1, 0.1, 0.29, 0.31, 0.1, 0.1], decider=Vote())
    rows = np.array([[1.0], [-1.0]])
    for mixture, expected in ((tied, [1, 1]), (close, [0, 1])):
        assert run(mixture, rows)["decision"].tolist() == expected
        assert mixture.predict(rows).tolist() == expected


# --- encodings -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [linear, mlp])
@pytest.mark.parametrize("members", [1, 4])
def test_an_array_is_standardised_in_the_graph(run, kind, members):
    raw = (X * [1, 1000, 0.001] + [5, -2e4, 0]).astype(np.float32)
    mixture = kind(members, encoding=fit_encoding(raw))
    assert_agrees(mixture, run(mixture, raw, key=IDS), raw, IDS)


def test_a_model_of_double_precision_stays_one(run):
    mixture = linear(3, encoding=fit_encoding(X), scorer=LinearScorer("float64"))
    found = run(mixture, X, key=IDS)
    np.testing.assert_allclose(found["scores"], mixture.member_scores(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(found["decision"], mixture.predict(X, key=IDS))


# --- layers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_activation_is_pytorchs(run, name):
    nn = pytest.importorskip("torch").nn
    mixture = chain(3, nn.Linear(3, 6), getattr(nn, name)(), nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 1))
    assert_agrees(mixture, run(mixture, X * 10, key=IDS), X * 10, IDS)


def test_chains_of_one_layer_and_chains_that_begin_with_an_activation(run):
    nn = pytest.importorskip("torch").nn
    for mixture in (chain(2, nn.Linear(3, 1)), chain(2, nn.Tanh(), nn.Linear(3, 1), nn.Identity())):
        assert_agrees(mixture, run(mixture, X, key=IDS), X, IDS)


def test_a_game_played_and_written(run):
    nn = pytest.importorskip("torch").nn
    problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.3])
    compiled = rb.compile(problem, rb.Population(X, X.sum(axis=1) > 0))
    for learner in (
        rb.Linear(0.1),
        rb.Torch(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))),
    ):
        mixture = rb.average(rb.play(compiled, learner, rounds=20, keep=rb.Keep(4)))
        assert len(mixture) > 1
        assert_agrees(mixture, run(mixture, X, key=IDS), X, IDS)


# --- the file ------------------------------------------------------------------------------------


def test_the_file_passes_the_checker_and_says_what_it_is(onnx, tmp_path):
    mixture = linear(
        2, classes=(np.str_("stays"), np.str_("leaves")), encoding=fit_encoding(X), decider=Draw(9)
    )
    path = to_onnx(mixture, str(tmp_path / "m.onnx"))
    assert path == tmp_path / "m.onnx"
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]  # nothing half-written is left
    onnx.checker.check_model(path, full_check=True)
    model = onnx.load(path)
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 18)]
    assert model.ir_version == 8
    props = {p.key: p.value for p in model.metadata_props}
    assert props["problem"] == str(PROBLEM)
    assert json.loads(props["classes"]) == ["stays", "leaves"]
    assert json.loads(props["feature_names"]) == ["0", "1", "2"]
    assert json.loads(props["weights"]) == mixture.weights.tolist()
    assert props["features"] == "raw columns"
    assert props["decides"] == "one member, chosen at random"
    assert props["ratebound"] == metadata.version("ratebound")
    assert (props["salt"], props["status"]) == ("9", str(mixture.status))


def test_without_an_encoding_there_are_no_names(onnx, tmp_path):
    props = {p.key for p in onnx.load(to_onnx(linear(1), tmp_path / "m.onnx")).metadata_props}
    assert "feature_names" not in props


# --- errors --------------------------------------------------------------------------------------


class Unwritten(rb.Scorer):
    kind = "unwritten"

    def scores(self, parameters, X):
        return (parameters @ X.T)[:, None]


def test_a_failed_write_leaves_the_earlier_file(onnx, tmp_path):
    path = to_onnx(linear(1), tmp_path / "m.onnx")
    before = path.read_bytes()
    with pytest.raises(ValueError, match="kind 'unwritten': their scorer, Unwritten, has no to_graph"):
        to_onnx(linear(1, scorer=Unwritten()), path)
    assert path.read_bytes() == before
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        to_onnx(linear(1), tmp_path / "folder")
    assert not list(tmp_path.glob(".*.part"))


def test_unknown_ways_to_choose():
    with pytest.raises(ValueError, match="choose must be 'key' or 'uniform', got 'dice'"):
        to_onnx(linear(1), "nowhere.onnx", choose="dice")


def test_other_modules_are_refused(onnx, tmp_path):
    torch = pytest.importorskip("torch")
    nn = torch.nn

    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 1)

        def forward(self, x):
            return self.layer(x)

    normed = nn.Linear(3, 1)
    torch.nn.utils.parametrizations.weight_norm(normed)
    for module in (Own(), nn.Sequential(nn.Linear(3, 1), nn.LeakyReLU()), nn.Sequential(), normed):
        with pytest.raises(ValueError, match=r"a mixture of .*torch\.onnx\.export"):
            to_onnx(chain(2, module), tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'ratebound\[onnx\]'"):
        to_onnx(linear(1), "nowhere.onnx")
