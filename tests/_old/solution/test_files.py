"""Saved models come back the same, or not at all; a file holds no code, no rows and no paths."""

import io
import json
import os
import pickle
import stat
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

import ratebound._old as rb
from ratebound._old.base import writing
from ratebound._old.solution import files
from ratebound._old.solution.deciders import Vote
from ratebound._old.tables.fitting import fit_encoding

from ..extras import pd
from ..small_tables import people

TABLE = people(200, seed=8, slopes=(1.0, -1.0, 0.5), noise=0.5)
X, Y, GROUP = TABLE
PEOPLE = TABLE.population()
FAIR = replace(rb.recall(group="a") >= 0.95 * rb.recall(), name="fair to a")
PROBLEM = rb.Problem(
    0.75 * rb.error_rate() + rb.false_positive_rate() / 3,
    [FAIR, rb.positive_rate(rb.where(group=("a", "b"))) <= 0.3, rb.precision() >= 0.6],
)


def trained(problem=PROBLEM, learner=None, people=PEOPLE, rounds=30):
    compiled = rb.compile(problem, people)
    return rb.play(compiled, learner or rb.Linear(0.1), rounds=rounds, batch_size=None, keep=rb.Keep(3))


@pytest.fixture(scope="module")
def linear():
    return rb.average(trained())


def assert_same(one, other, rows=X):
    """Everything a file holds, and every decision that follows from it."""
    assert str(one.problem) == str(other.problem)
    assert one.problem == other.problem
    assert [c.name for c in one.problem.subject_to] == [c.name for c in other.problem.subject_to]
    assert one.constraints == other.constraints
    for name in ("weights", "parameters"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), strict=True)
    assert list(one.thresholds) == list(other.thresholds)
    for name, values in one.thresholds.items():
        np.testing.assert_array_equal(values, other.thresholds[name])
    assert one.objectives == other.objectives
    assert list(one.violations) == list(other.violations)
    for name, values in one.violations.items():
        np.testing.assert_array_equal(values, other.violations[name])
    for name in ("classes", "encoding", "decider"):
        assert getattr(one, name) == getattr(other, name), name
    for name in ("setting", "seed", "data", "date", "versions", "audited"):
        assert getattr(one.record, name) == getattr(other.record, name), name
    assert list(map(type, one.classes)) == list(map(type, other.classes))
    assert str(one) == str(other)
    assert one.status == other.status
    np.testing.assert_array_equal(one.member_scores(rows), other.member_scores(rows), strict=True)
    np.testing.assert_array_equal(one.predict(rows), other.predict(rows), strict=True)
    np.testing.assert_array_equal(one.decision_proba(rows), other.decision_proba(rows))
    key = np.arange(len(rows))
    np.testing.assert_array_equal(one.predict(rows, key=key), other.predict(rows, key=key))


def document_of(path):
    """The header of a file, and its tensors."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size])["__metadata__"], read_tensors(content)


def rewrite(path, change):
    """The file with its document changed, and a digest to match: as another version would write it."""
    header, tensors = document_of(path)
    document = json.loads(header["mixture"])
    change(document)
    header["mixture"] = json.dumps(document)
    header["digest"] = files._digest(header["mixture"], tensors)
    path.write_bytes(write_tensors(tensors, metadata=header))


# --- there and back ------------------------------------------------------------------------------


def test_a_linear_mixture_comes_back(linear, tmp_path):
    assert len(linear) > 1
    path = linear.save(tmp_path / "model.safetensors")
    assert path == tmp_path / "model.safetensors"
    assert_same(rb.load(path), linear)
    assert_same(rb.load(str(path)), linear)
    double = rb.shrink(trained(learner=rb.Linear(0.1, dtype="float64")))
    assert double.parameters.dtype == np.float64
    assert_same(rb.load(double.save(path)), double)  # over the old one
    assert os.listdir(tmp_path) == ["model.safetensors"]


def test_a_loaded_mixture_can_be_saved_again(linear, tmp_path):
    once = rb.load(linear.save(tmp_path / "once"))
    assert_same(rb.load(once.save(tmp_path / "twice")), linear)


def test_the_same_mixture_is_the_same_bytes(linear, tmp_path):
    """safetensors orders the keys of a header by chance: six copies are rarely alike."""
    found = {linear.save(tmp_path / str(i)).read_bytes() for i in range(6)}
    assert len(found) == 1
    (content,) = found
    size = int.from_bytes(content[:8], "little")
    assert size % 8 == 0  # so that what follows is aligned, as the format asks for
    assert list(json.loads(content[8 : 8 + size])) == ["__metadata__", "parameters", "weights"]


def test_words_and_names_come_back(linear, tmp_path):
    loaded = rb.load(linear.save(tmp_path))
    assert loaded.problem.subject_to[0].name == loaded.constraints[0].name == "fair to a"
    compiled = rb.compile(loaded.problem, PEOPLE)
    objectives, violations = compiled.evaluate(loaded.member_scores(X).T)
    assert loaded.weights @ objectives == pytest.approx(linear.objectives["train"])
    np.testing.assert_allclose(loaded.weights @ violations, linear.violations["train"], atol=1e-12)


def test_what_is_broken_and_what_conflicts_come_back(tmp_path):
    problem = rb.Problem("error_rate()", ["positive_rate() <= 0.1", "recall() >= 0.95", FAIR])
    mixture = rb.shrink(trained(problem))
    assert len(mixture.status.broken) >= 2
    assert len(mixture.status.conflict) >= 2
    loaded = rb.load(mixture.save(tmp_path))
    assert_same(loaded, mixture)
    assert loaded.status.broken[0] in loaded.constraints


def test_a_long_problem_comes_back(tmp_path):
    """Longer than any text that is parsed at once: in its sums, and in a single rate."""
    groups = [f"{'group' * 5} {number:04d}" for number in range(1500)]
    columns = {"town": np.resize(groups, 3000)}
    mean = sum((rb.positive_rate(town=name) for name in groups[1:]), rb.positive_rate(town=groups[0]))
    problem = rb.Problem(mean / 1500, [mean <= 300, rb.positive_rate(town=tuple(groups)) >= 0.1])
    assert min(len(str(part)) for part in (problem.objective, *problem.subject_to)) > 20_000
    people = rb.Population(np.resize(X, (3000, 3)), np.resize(Y, 3000), columns=columns)
    mixture = rb.last_iterate(trained(problem, people=people, rounds=2))
    assert_same(rb.load(mixture.save(tmp_path)), mixture)


def test_watched_populations_and_settings(tmp_path):
    compiled = rb.compile(PROBLEM, PEOPLE)
    trace = rb.play(
        compiled, rb.Linear([0.01, 0.1]), rounds=20, batch_size=None, watch={"validation": compiled}
    )
    mixture = rb.select(trace)
    assert set(mixture.violations) == {"train", "validation"}
    assert_same(rb.load(mixture.save(tmp_path)), mixture)


def test_learned_thresholds_come_back(tmp_path):
    problem = rb.Problem(
        rb.error_rate(), [rb.roc_auc(bins=3) >= 0.9, rb.positive_rate(at='a "high" one') <= 0.1]
    )
    mixture = rb.average(trained(problem))
    assert len(mixture.thresholds) == 4
    assert len(mixture.constraints) == 5
    assert_same(rb.load(mixture.save(tmp_path)), mixture)


@pytest.mark.parametrize(
    "classes", [("no", "yes"), (0, 1), (-1, 1), (False, True), (0.5, 1.5), ('ja "✓"', "né\n")], ids=str
)
def test_classes_come_back_as_what_they_were(linear, tmp_path, classes):
    named = replace(linear, classes=classes)
    assert_same(rb.load(named.save(tmp_path)), named)


@pytest.mark.parametrize("kind", [np.int64, np.bool_, np.float64, np.str_])
def test_classes_of_numpy_are_plain_in_the_file(linear, tmp_path, kind):
    named = replace(linear, classes=(kind(0), kind(1)))
    loaded = rb.load(named.save(tmp_path))
    assert loaded.classes == (kind(0).item(), kind(1).item())
    np.testing.assert_array_equal(loaded.predict(X), named.predict(X))


def test_labels_of_other_kinds_cannot_be_saved(linear, tmp_path):
    with pytest.raises(ValueError, match="labels must be texts, numbers or truth values"):
        replace(linear, classes=(None, (1, 2))).save(tmp_path / "model.safetensors")
    assert os.listdir(tmp_path) == []


def test_an_encoding_comes_back(tmp_path):
    towns = np.array(["Oslo", "Rome", None], object)
    table = pd.DataFrame({"x": X[:, 0], "town": towns[np.arange(200) % 3], "member": X[:, 1] > 0})
    table.loc[::7, "x"] = np.nan
    encoding = fit_encoding(table)
    people = rb.Population(encoding.transform(table), Y, columns={"group": GROUP})
    mixture = rb.average(trained(people=people))
    mixture = replace(
        mixture, encoding=encoding, classes=("no", "yes"), decider=mixture.decider.salted(77)
    )
    loaded = rb.load(mixture.save(tmp_path))
    assert_same(loaded, mixture, table)
    with pytest.warns(UserWarning, match="'town' in 1 .'Paris'."):
        found = loaded.predict(pd.DataFrame({"x": [None], "town": ["Paris"], "member": [True]}))
    assert found.shape == (1,)


def test_votes_and_audits_come_back(linear, tmp_path):
    audited = {"rows": 200, "kept": [True, False], "level": 0.95}
    vote = replace(linear, decider=Vote()).recorded(audited=audited)
    assert_same(rb.load(vote.save(tmp_path)), vote)


# --- modules -------------------------------------------------------------------------------------


def chain():
    nn = pytest.importorskip("torch").nn
    return nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 1, bias=False))


def normed(width=4):
    nn = pytest.importorskip("torch").nn
    return nn.Sequential(nn.Linear(3, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 1))


def test_a_chain_of_layers_needs_no_code(tmp_path):
    pytest.importorskip("torch")
    mixture = rb.average(trained(learner=rb.Torch(chain)))
    path = mixture.save(tmp_path)
    assert_same(rb.load(path), mixture)
    assert_same(rb.load(path, module=chain), mixture)


def test_a_module_of_ones_own_is_given_on_loading(tmp_path):
    pytest.importorskip("torch")
    mixture = rb.average(trained(learner=rb.Torch(normed)))
    path = mixture.save(tmp_path)
    with pytest.raises(ValueError, match=r"a module of your own, Sequential: pass it.*module="):
        rb.load(path)
    assert_same(rb.load(path, module=normed), mixture)
    module = normed()
    assert_same(rb.load(path, module=module), mixture)
    with pytest.raises(ValueError, match=r"holds 37 parameters a model, and Sequential has 46"):
        rb.load(path, module=lambda: normed(5))
    with pytest.raises(ValueError, match=r"parameters a model.*pass the module it was trained with"):
        rb.load(path, module=chain)


# --- where ---------------------------------------------------------------------------------------


def test_a_folder_or_a_file(linear, tmp_path):
    path = linear.save(tmp_path / "deep" / "folder")
    assert path == tmp_path / "deep" / "folder" / "model.safetensors"
    assert_same(rb.load(tmp_path / "deep" / "folder"), linear)
    assert_same(rb.load(path), linear)
    path = linear.save(tmp_path / "not" / "yet" / "there.safetensors")
    assert path == tmp_path / "not" / "yet" / "there.safetensors"
    assert_same(rb.load(path), linear)


def test_nothing_there(linear, tmp_path):
    for path in (tmp_path, tmp_path / "model.safetensors", tmp_path / "nowhere"):
        with pytest.raises(FileNotFoundError, match="no saved model at"):
            rb.load(path)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_others_may_read_it_as_any_file(linear, tmp_path):
    (tmp_path / "plain").touch()
    path = linear.save(tmp_path / "model.safetensors")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


# --- broken files --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small():
    problem = rb.Problem(rb.error_rate(), [rb.roc_auc(bins=2) >= 0.9])
    return rb.average(trained(problem, rounds=9))


def load_or_refuse(path, content, expected):
    """Loading raises ValueError or gives the same as ever; which of the two it was."""
    path.write_bytes(content)
    try:
        loaded = rb.load(path)
    except ValueError:
        return False
    assert_same(loaded, expected)
    return True


def test_a_file_cut_short_is_refused(small, tmp_path):
    path = small.save(tmp_path / "model.safetensors")
    content = path.read_bytes()
    for length in range(len(content)):
        assert not load_or_refuse(path, content[:length], small), length
    for more in (b"\0", b" ", content):
        assert not load_or_refuse(path, content + more, small)


def test_a_changed_byte_is_refused_or_harmless(small, tmp_path):
    path = small.save(tmp_path / "model.safetensors")
    content = path.read_bytes()
    others = np.random.default_rng(0).integers(256, size=len(content)).tolist()
    harmless = 0
    for place in range(len(content)):
        for byte in (content[place] ^ 1, others[place]):
            changed = bytearray(content)
            changed[place] = byte
            harmless += byte != content[place] and load_or_refuse(path, bytes(changed), small)
    assert harmless < 25  # blanks between the header and the numbers


def test_files_of_other_kinds_are_refused(small, tmp_path):
    path = tmp_path / "model.safetensors"
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("model", "x")
    others = {
        "pickle": pickle.dumps({"weights": np.ones(3)}),
        "zip": archive.getvalue(),
        "npy": b"\x93NUMPY\x01\x00v\x00",
        "text": b'{"format": "ratebound mixture"}',
        "empty": b"",
        "zeros": bytes(1000),
        "tensors": write_tensors({"weights": np.ones(3)}),
        "someone else's": write_tensors({"weights": np.ones(3)}, metadata={"format": "pt"}),
        "a bare name": write_tensors({"weights": np.ones(3)}, metadata={"format": files.FORMAT}),
    }
    for name, content in others.items():
        assert not load_or_refuse(path, content, small), name


class Trap:
    """Unpickling this leaves a file behind."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_loading_runs_no_code(tmp_path):
    trace = tmp_path / "executed"
    path = tmp_path / "model.safetensors"
    path.write_bytes(pickle.dumps(Trap(trace)))
    with pytest.raises(ValueError, match="not a whole safetensors file"):
        rb.load(path)
    assert not trace.exists()


def test_messages_say_what_is_wrong(small, tmp_path):
    path = small.save(tmp_path / "model.safetensors")
    header, tensors = document_of(path)
    path.write_bytes(write_tensors(tensors, metadata=header | {"format": "other"}))
    with pytest.raises(ValueError, match="not written by ratebound"):
        rb.load(path)
    path.write_bytes(write_tensors(tensors | {"weights": tensors["weights"] * 2}, metadata=header))
    with pytest.raises(ValueError, match="changed after it was saved"):
        rb.load(path)
    path.write_bytes(write_tensors({**tensors, "more": np.ones(1)}, metadata=header))
    with pytest.raises(ValueError, match="changed after it was saved"):
        rb.load(path)


def test_a_later_version_or_an_unknown_model_is_refused(small, tmp_path):
    path = small.save(tmp_path / "model.safetensors")
    rewrite(path, lambda document: None)
    assert_same(rb.load(path), small)
    rewrite(path, lambda document: document.update(version=files.VERSION + 1))
    with pytest.raises(ValueError, match=r"format version 2, this ratebound reads up to 1: update"):
        rb.load(path)
    rewrite(path, lambda document: document.update(version=1, scorer={"kind": "forest"}))
    with pytest.raises(ValueError, match=r"'forest', which is not registered here.*rb\.register_scorer"):
        rb.load(path)


# --- writing -------------------------------------------------------------------------------------


class Failure(Exception):
    pass


@pytest.mark.parametrize("step", ["replace", "fsync"])
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt, Failure])
def test_a_failure_while_writing_leaves_the_old_file(small, linear, tmp_path, monkeypatch, step, error):
    path = small.save(tmp_path / "model.safetensors")
    before = path.read_bytes()

    def fail(*_):
        raise error("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(writing.os, step, fail)
        with pytest.raises(error):
            linear.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.safetensors"]
    assert_same(rb.load(linear.save(path)), linear)


def test_what_cannot_be_written_leaves_the_old_file(small, tmp_path):
    path = small.save(tmp_path / "model.safetensors")
    before = path.read_bytes()
    with pytest.raises(ValueError, match="Out of range float"):
        small.recorded(objectives={"train": float("nan")}).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.safetensors"]


def test_a_file_holds_no_rows_and_no_paths(tmp_path):
    table = pd.DataFrame({"x": X[:, 0], "town": np.where(X[:, 1] > 0, "Oslo", "Rome")})
    names = [f"person {i}" for i in range(200)]
    encoding = fit_encoding(table)
    people = rb.Population(encoding.transform(table), Y, columns={"group": GROUP, "name": names})
    mixture = replace(rb.average(trained(people=people)), encoding=encoding)
    content = mixture.save(tmp_path / "model.safetensors").read_bytes()
    for path in (os.getcwd(), str(tmp_path), os.path.expanduser("~"), rb.__path__[0]):
        assert path.encode() not in content
    assert b"person" not in content
    features = people.features
    for rows in (X, features):
        for kind in (np.float32, np.float64):
            assert not any(row.astype(kind).tobytes() in content for row in rows)
    for value in table["x"]:
        assert repr(float(value)).encode() not in content
    size = int.from_bytes(content[:8], "little")
    assert len(content) - size < 8 * (mixture.weights.size + mixture.parameters.size) + 100
