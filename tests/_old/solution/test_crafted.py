"""Crafted files, well signed, are refused with one ValueError that names them, or load and decide."""

import copy
import io
import json
import os
import random
import subprocess
import sys
import zipfile
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

import ratebound._old as rb
from ratebound import RateConstrainedClassifier
from ratebound._bridge import make_policy
from ratebound._old.learners import _torch_scorer as torch_scorer
from ratebound._old.learners.calibration import Calibration
from ratebound._old.solution import files
from ratebound._old.solution.deciders import GroupThresholds
from ratebound._old.solution.mixture import Members, Mixture
from ratebound._old.solution.record import Record
from ratebound._old.solution.status import Status
from ratebound._old.tables.fitting import fit_encoding
from ratebound._old.tables.table import Table

from ..extras import pd
from ..given_scores import GivenScores

rng = np.random.default_rng(4)
TABLE = Table({"x": rng.normal(size=120), "town": rng.choice(["Oslo", "Rome"], 120).astype(object)})
GROUP = rng.choice(["a", "b"], 120)
Y = TABLE["x"] + rng.normal(size=120) > 0
PROMISES = ['positive_rate(group == "a") <= 0.3', "precision() >= 0.9", 'recall(at="t") >= 0.2']
FREE = [("record", "audited"), ("record", "versions")]  # where anything may be said
ODD = [None, True, -1, 0, 1, 2**70, 1e308, "", "x", [], {}, [[]], ["x"], {"x": 1}, "error_rate()", -0.5]


def trained(learner, style="scaled", promises=PROMISES):
    encoding = fit_encoding(TABLE, style=style)
    people = rb.Population(encoding.transform(TABLE), Y, columns={"group": GROUP})
    compiled = rb.compile(rb.Problem("error_rate()", promises), people)
    trace = rb.play(compiled, learner, rounds=12, keep=rb.Keep(4), batch_size=None, progress=False)
    return replace(rb.average(trace), encoding=encoding, classes=("no", "yes"))


def chain():
    nn = pytest.importorskip("torch", reason="PyTorch is not installed").nn
    return nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 1))


def small_trees():
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    own = {"min_child_samples": 5, "num_leaves": 4, "n_jobs": 1, "verbosity": -1}
    return rb.Boosted(lightgbm.LGBMClassifier(**own), categorical=[1])


WIDE = np.stack([-TABLE["x"], -np.abs(TABLE["x"]), TABLE["x"]])  # a score for each


def by_group(scores=1):
    """Thresholds for each group, or offsets of several scores, on scores that rows hold."""
    given = GivenScores(1, scores)
    at = np.arange(2.0 * 2 * scores).reshape(2, 2, scores) / 4 - 0.5
    decider = GroupThresholds(("group",), (("a",), ("b",)), np.zeros((2, 2), dtype=int), at)
    status = Status(True, 0.0, (), (), "feasible")
    record = Record(rb.Problem("error_rate()", PROMISES[:1]), status)
    classes = (False, True) if scores == 1 else ("low", "mid", "high")
    return Mixture(Members(np.array([0.4, 0.6]), np.zeros((1, 1)), given), decider, record, classes)


def rule():
    model = RateConstrainedClassifier(PROMISES[:2], random_state=0)
    return make_policy(model.fit(pd.DataFrame(TABLE.values), Y, columns={"group": GROUP}))


def nearest():
    from sklearn.naive_bayes import GaussianNB

    pytest.importorskip("skops", reason="skops is not installed")
    X = TABLE["x"][:, None]
    people = rb.Population(X, Y, columns={"group": GROUP})
    compiled = rb.compile(rb.Problem("error_rate()", PROMISES[:1]), people)
    return rb.average(rb.play(compiled, rb.Oracle(GaussianNB()), rounds=3, progress=False))


MAKERS = {
    "linear": lambda: trained(rb.Linear(0.1)),
    "chain": lambda: trained(rb.Torch(chain)),
    "lattice": lambda: trained(rb.Lattice(lattices=2, rank=2, keypoints=3, categorical=[1]), "codes"),
    "trees": lambda: trained(small_trees(), "codes"),
    "by group": by_group,
    "offsets by group": lambda: by_group(3),
    "oracle": nearest,
    "rule": rule,
}


@pytest.fixture(scope="module", params=MAKERS)
def saved(request, tmp_path_factory):
    """A file, its document and its tensors, and rows to decide on."""
    if request.param in ("chain", "lattice"):
        pytest.importorskip("torch", reason="PyTorch is not installed")
    mixture = MAKERS[request.param]()
    intercept = (0.5,) if len(mixture.classes) == 2 else (0.0, 0.5, -0.5)
    mixture = replace(mixture, calibration=Calibration(1.0, intercept, "here", 10))
    path = mixture.save(tmp_path_factory.mktemp(request.param) / "model.safetensors")
    given = {"by group": TABLE["x"], "offsets by group": WIDE.T, "oracle": TABLE["x"][:, None]}
    known = {"group": GROUP} if request.param.endswith("by group") else None
    return path, *opened(path), given.get(request.param, TABLE), known


def opened(path):
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])["__metadata__"]
    return json.loads(header["mixture"]), read_tensors(content)


def write(path, document, tensors):
    """A file with a digest to match, as anyone can make it."""
    words = document if isinstance(document, str) else json.dumps(document)
    header = {"format": files.FORMAT, "mixture": words, "digest": files._digest(words, tensors)}
    path.write_bytes(write_tensors(tensors, metadata=header))
    return path


def refused(path, rows=None, columns=None):
    """Whether a file is refused with an error that names it, or else decides, or says why it cannot."""
    try:
        mixture = rb.load(path)
    except ValueError as error:
        return str(path) in str(error)
    with suppress(ValueError, UserWarning):
        mixture.predict(rows, columns=columns)
        mixture.decision_proba(rows, columns=columns)
        mixture.predict_proba(rows)
        str(mixture)
    return False


def test_a_changed_document_is_refused_or_decides(saved, places, tmp_path):
    path, document, tensors, rows, columns = saved
    assert not refused(path, rows, columns)
    ways = [way for way in places(document) if way[:2] not in FREE]
    chance = random.Random(0)
    count = 0
    for *way, last in ways:
        for value in (*chance.sample(ODD, 2), "gone"):
            changed = copy.deepcopy(document)
            part = changed
            for key in way:
                part = part[key]
            if value == "gone":
                del part[last]
            else:
                part[last] = value
            count += refused(write(tmp_path / "model.safetensors", changed, tensors), rows, columns)
    assert count > 1.5 * len(ways)


def test_changed_tensors_are_refused_or_decide(saved, tmp_path):
    _, document, tensors, rows, columns = saved
    for name, tensor in tensors.items():
        finite = np.nan_to_num(tensor)
        others = [
            tensor[:-1], tensor[None], tensor.reshape(-1), np.zeros_like(tensor), -tensor.astype(float),
            finite.astype(np.int64), finite.astype(np.uint8), np.full_like(tensor, 127),
            np.full(tensor.shape, np.nan), np.empty((0,)), np.ones((3, 3, 3)),
        ]  # fmt: skip
        for other in others:
            changed = tensors | {name: np.ascontiguousarray(other)}
            refused(write(tmp_path / "model.safetensors", document, changed), rows, columns)
        rest = {other: value for other, value in tensors.items() if other != name}
        assert refused(write(tmp_path / "model.safetensors", document, rest))


@pytest.mark.parametrize("words", ["", "[]", "null", "1", "{", '{"version": 1}', "[" * 100_000])
def test_documents_that_are_none_are_refused(saved, tmp_path, words):
    _, _, tensors, _, _ = saved
    assert refused(write(tmp_path / "model.safetensors", words, tensors))


@pytest.mark.parametrize("version", [0, -1, None, "1", 1.0, True, [1]])
def test_versions_below_the_first_are_refused(saved, tmp_path, version):
    _, document, tensors, _, _ = saved
    path = write(tmp_path / "model.safetensors", document | {"version": version}, tensors)
    with pytest.raises(ValueError, match="not a whole number of at least 1"):
        rb.load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_pipes_and_devices_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "model.safetensors")
    for path in (tmp_path, tmp_path / "model.safetensors", "/dev/zero"):
        with pytest.raises(ValueError, match="not a file"):
            rb.load(path)
    os.mkdir(tmp_path / "folder")
    os.mkdir(tmp_path / "folder" / "model.safetensors")
    with pytest.raises(ValueError, match="not a file"):
        rb.load(tmp_path / "folder")


# --- sizes that are declared and not there -------------------------------------------------------


@pytest.mark.parametrize(
    "layers",
    [
        [{"layer": "Linear", "in": 40_000, "out": 40_000, "bias": True}],
        [{"layer": "Linear", "in": 3, "out": 2**40, "bias": True}],
        [{"layer": "Linear", "in": 3, "out": 4, "bias": True},
         {"layer": "Linear", "in": 5, "out": 1, "bias": True}],
        [{"layer": "Linear", "in": 3, "out": 7, "bias": False}],
        [{"layer": "ReLU"}],
        [{"layer": "Lattices", "features": [{"kind": "Categorical", "size": 2**40, "order": []}],
          "subsets": [[0]], "output_bounds": None, "outputs": 1}],
        [{"layer": "Lattices", "features": [{"kind": "Numeric", "keypoints": [0, 1], "sign": 0}],
          "subsets": [[0] * 60], "output_bounds": None, "outputs": 1}],
    ],
)  # fmt: skip
def test_layers_that_are_not_there_are_never_made(tmp_path, monkeypatch, layers):
    pytest.importorskip("torch")
    path = trained(rb.Torch(chain)).save(tmp_path)
    document, tensors = opened(path)
    document["scorer"]["layers"] = layers
    monkeypatch.setattr(torch_scorer, "build", lambda layers: pytest.fail("it was made"))
    assert refused(write(path, document, tensors))


def archive_of(path, change):
    """The file's estimator, with its archive written anew."""
    document, tensors = opened(path)
    name = "scorer member 0"
    entries = {}
    with zipfile.ZipFile(io.BytesIO(tensors[name].tobytes())) as archive:
        entries = {entry: archive.read(entry) for entry in archive.namelist()}
    return document, tensors | {name: np.frombuffer(change(entries), np.uint8)}


def zipped(entries, compression=zipfile.ZIP_STORED):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return made.getvalue()


def declaring(shape):
    """An array that declares a shape and holds nothing."""
    made = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(made, header)
    return made.getvalue()


def packed_zeros(entries):
    inner = zipped({"data.npy": declaring((10**7,)) + bytes(8 * 10**7)}, zipfile.ZIP_DEFLATED)
    return zipped(entries | {"more.npz": inner})


ARCHIVES = {
    "none": lambda entries: b"no archive",
    "packed": lambda entries: zipped(entries, zipfile.ZIP_DEFLATED),
    "an array that is not there": lambda entries: zipped(
        entries | {"more.npy": declaring((40_000, 40_000))}
    ),
    "an array of bytes": lambda entries: zipped(entries | {"more.npy": b"x"}),
    "a matrix packed too well": packed_zeros,
    "no words": lambda entries: zipped({"schema.json": "{}"}),
    "deep words": lambda entries: zipped({"schema.json": "[" * 100_000}),
}


@pytest.mark.parametrize("change", ARCHIVES.values(), ids=ARCHIVES)
def test_crafted_archives_are_refused(tmp_path, change):
    path = nearest().save(tmp_path)
    document, tensors = archive_of(path, zipped)
    assert not refused(write(path, document, tensors), TABLE["x"][:, None])
    assert refused(write(path, *archive_of(path, change)))


def test_sparse_matrices_are_packed_and_load(tmp_path):
    from sklearn.linear_model import LogisticRegression

    pytest.importorskip("skops", reason="skops is not installed")
    model = nearest()
    fitted = LogisticRegression().fit(TABLE["x"][:, None], Y).sparsify()
    scorer = replace(model.scorer, members=tuple(fitted for _ in model.scorer.members))
    mixture = replace(model, members=replace(model.members, scorer=scorer))
    rows = TABLE["x"][:, None]
    again = rb.load(mixture.save(tmp_path), trusted=["scipy.sparse._csr.csr_matrix"])
    np.testing.assert_array_equal(again.predict(rows), mixture.predict(rows))


def ask_for_trust():
    """Fitted estimators that compiled code decides for, and what they have to be trusted by."""
    from scipy.sparse import csr_matrix
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    rows = np.round(TABLE["x"][:, None])
    return {
        "sklearn.svm._classes.SVC": SVC().fit(rows, Y),
        "sklearn.tree._tree.Tree": DecisionTreeClassifier(max_depth=2).fit(rows, Y),
        "sklearn.neighbors._kd_tree.KDTree": KNeighborsClassifier(algorithm="kd_tree").fit(rows, Y),
        "sklearn.ensemble._gb.GradientBoostingClassifier": GradientBoostingClassifier(
            n_estimators=2
        ).fit(rows, Y),
        "sklearn.preprocessing._encoders.OneHotEncoder": make_pipeline(
            OneHotEncoder(handle_unknown="ignore"), LogisticRegression()
        ).fit(rows, Y),
        f"{csr_matrix.__module__}.csr_matrix": LogisticRegression().fit(rows, Y).sparsify(),
    }


def holding(fitted, tmp_path):
    """A file with this estimator as its only kind of member."""
    model = nearest()
    scorer = replace(model.scorer, members=tuple(fitted for _ in model.scorer.members))
    return replace(model, members=replace(model.members, scorer=scorer)).save(tmp_path)


def test_what_compiled_code_follows_is_trusted_by_name_alone(tmp_path):
    pytest.importorskip("skops", reason="skops is not installed")
    rows = np.round(TABLE["x"][:, None])
    for name, fitted in ask_for_trust().items():
        path = holding(fitted, tmp_path)
        with pytest.raises(ValueError, match=f"not trusted, .*{name}.*rb.load") as asked:
            rb.load(path)
        trusted = str(asked.value).split("--trusted ")[1].split()
        assert len(rb.load(path, trusted=trusted).predict(rows)) == len(rows)
        if len(trusted) > 1:  # each of them has to be named
            with pytest.raises(ValueError, match="not trusted"):
                rb.load(path, trusted=trusted[1:])


SHAKEN = """
import io, json, random, sys, warnings, zipfile
import numpy as np
from sklearn import naive_bayes as bayes
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import LinearSVC
from ratebound._old.learners.oracle import member_scores
from ratebound._old.learners._archives import archived, restored

warnings.simplefilter("ignore")
np.seterr(all="ignore")
rows = np.abs(np.random.default_rng(0).normal(size=(60, 3))).round(0)
labels = rows[:, 0] > 0
kinds = [
    bayes.GaussianNB(), bayes.BernoulliNB(), bayes.MultinomialNB(), bayes.ComplementNB(),
    bayes.CategoricalNB(), LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(reg_param=0.5),
    DummyClassifier(), MLPClassifier((3,), max_iter=3), LinearSVC(),
    make_pipeline(SimpleImputer(), StandardScaler(), RobustScaler(), LogisticRegression()),
    make_pipeline(MinMaxScaler(), RidgeClassifier()),
]
ODD = [0, -1, 2**31, 2**62, -(2**63), float("nan"), float("inf"), 1e308]


def shaken(array, chance):
    way = chance.randrange(4)
    if way == 0:
        return array.reshape(-1)[: chance.randrange(array.size + 1)]
    if way == 1:
        return np.broadcast_to(array, (2, *array.shape)).copy()
    if way == 2:
        return array.astype(chance.choice(["i1", "i8", "u1", "f2", "f8", "?", "U3"]))
    array = array.copy()
    if array.size and array.dtype.kind in "iuf":
        odd = np.array(chance.choice(ODD)).astype(array.dtype)
        array.reshape(-1)[chance.randrange(array.size)] = odd
    return array


tried = decided = 0
for kind in kinds:
    data = archived(kind.fit(rows, labels))
    for seed in range(12):
        chance, archive, changed = random.Random(seed), zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        which = chance.choice([*names, "schema.json"])
        with zipfile.ZipFile(changed, "w") as target:
            for name in archive.namelist():
                content = archive.read(name)
                if name == which and name != "schema.json":
                    kept = io.BytesIO()
                    np.save(kept, shaken(np.load(io.BytesIO(content)), chance))
                    content = kept.getvalue()
                elif name == which:
                    text = content.decode()
                    wholes = [i for i, part in enumerate(text.split('"')) if part.isdigit()]
                    parts = text.split('"')
                    if wholes:
                        parts[chance.choice(wholes)] = str(chance.choice([0, -1, 2**31, 10**12]))
                    content = '"'.join(parts).encode()
                target.writestr(name, content)
        tried += 1
        try:
            member_scores(restored(changed.getvalue(), ()), rows, 2)
            decided += 1
        except Exception:
            pass
print(tried, decided)
"""


def test_shaken_estimators_that_need_no_trust_never_crash():
    """In a process of its own, which a read out of bounds would end."""
    pytest.importorskip("skops", reason="skops is not installed")
    ran = subprocess.run([sys.executable, "-c", SHAKEN], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-2000:]
    tried, decided = map(int, ran.stdout.split())
    assert tried == 144
    assert 10 < decided < 140
