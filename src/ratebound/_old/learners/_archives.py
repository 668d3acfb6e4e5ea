"""Fitted estimators as bytes: archives that skops makes, written in one form and checked when read.

Such an archive is a zip of JSON, which names the types of all objects, and of plain arrays. On loading,
the names are first compared, without importing anything, with `CHECKED` and with those the caller
trusts; one other name, and nothing is built. Then the types are imported, and their own code restores
the objects from what the file says. So no code comes from the file, but the types named are trusted with
its content. Much of scikit-learn is not `CHECKED`: compiled code follows the indices of its trees,
support vectors and sparse matrices unchecked, and reads or writes any memory if a file says so. A small
archive can also declare any size, so what it unpacks to is compared with what it holds.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np

from ratebound._old.base.extras import import_extra

ROOM = 2**24  # bytes that compressed arrays may take in any case
RATIO = 100  # times their compressed size that they may take beyond it
SCHEMA = "schema.json"
SHARED = ("JsonNode", "TypeNode", "FunctionNode")  # which are the same whether they are shared or not

# What a file may be made of without being trusted: values, and estimators that decide with NumPy alone,
# which checks every index. Those that hold trees or other estimators say so by their types too.
VALUES = """
    builtins.dict builtins.list builtins.tuple builtins.set builtins.str builtins.int builtins.float
    builtins.bool builtins.slice collections.OrderedDict collections.defaultdict
"""
NUMBERS = "ndarray bool bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"
ESTIMATORS = """
    compose._column_transformer.ColumnTransformer pipeline.Pipeline
    discriminant_analysis.LinearDiscriminantAnalysis
    discriminant_analysis.QuadraticDiscriminantAnalysis
    dummy.DummyClassifier
    ensemble._forest.ExtraTreesClassifier ensemble._forest.RandomForestClassifier
    impute._base.SimpleImputer
    linear_model._logistic.LogisticRegression linear_model._logistic.LogisticRegressionCV
    linear_model._ridge.RidgeClassifier linear_model._ridge.RidgeClassifierCV
    naive_bayes.BernoulliNB naive_bayes.CategoricalNB naive_bayes.ComplementNB
    naive_bayes.GaussianNB naive_bayes.MultinomialNB
    neural_network._multilayer_perceptron.MLPClassifier
    preprocessing._data.MinMaxScaler preprocessing._data.RobustScaler
    preprocessing._data.StandardScaler preprocessing._label.LabelBinarizer
    preprocessing._label.LabelEncoder
    svm._classes.LinearSVC
    tree._classes.DecisionTreeClassifier tree._classes.ExtraTreeClassifier
"""
CHECKED = frozenset(
    VALUES.split()
    + [f"numpy.{name}" for name in NUMBERS.split()]
    + [f"sklearn.{name}" for name in ESTIMATORS.split()]
)


def archived(estimator: Any) -> bytes:
    """An estimator as bytes that are known to be readable."""
    skops = import_extra("skops.io", "skops", "skops")
    try:
        data: bytes = skops.dumps(estimator)
        skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    except Exception as error:  # skops has no error of its own for what it cannot store
        raise ValueError(
            f"skops cannot store this {type(estimator).__name__}, so nothing was written; the mixture "
            f"itself is as it was. skops says: {error}"
        ) from error
    return in_one_form(data)


def restored(data: bytes, trusted: Sequence[str]) -> Any:
    """The estimator that `archived` wrote; ValueError for one of types that nobody trusts."""
    skops = import_extra("skops.io", "skops", "skops")
    check_archive(data)
    named = types_in(data) - CHECKED | set(skops.get_untrusted_types(data=data))
    unknown = sorted(named - set(trusted))
    if unknown:
        raise ValueError(
            f"the file holds objects of types that are not trusted, {', '.join(unknown)}: if you know "
            f"where it comes from, allow them with rb.load(path, trusted={[*trusted, *unknown]}), or "
            f"on the command line with --trusted {' '.join([*trusted, *unknown])}"
        )
    return skops.loads(data, trusted=list(trusted))


def check_archive(data: bytes) -> None:
    """Raise ValueError unless a skops archive holds what it declares, and unpacks to a moderate size.

    skops compresses only sparse matrices, which SciPy puts into archives of their own.
    """
    with _opened(data) as archive:
        entries = archive.infolist()
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise ValueError("its estimator is a compressed archive, which skops never writes")
        if sum(entry.file_size for entry in entries) > len(data):
            raise ValueError("its estimator is an archive that declares more than it holds")
        for entry in entries:
            if entry.filename.endswith(".npz"):
                _check_packed(archive.read(entry))
            elif entry.filename.endswith(".npy"):
                with archive.open(entry) as file:
                    _check_array(file, entry.file_size)


def types_in(data: bytes) -> set[str]:
    """The names of all types and functions that an archive says it is made of; nothing is imported."""
    with _opened(data) as archive:
        return {name for node in _nodes(json.loads(archive.read(SCHEMA))) for name in _named(node)}


def _named(node: dict[str, Any]) -> Iterator[str]:
    for module, name in (("__module__", "__class__"), ("module_path", "function")):
        if module in node or name in node:
            yield f"{node.get(module)}.{node.get(name)}"


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Every object in JSON, from the outside in."""
    if isinstance(tree, dict):
        yield tree
    if isinstance(tree, dict | list):
        for each in tree.values() if isinstance(tree, dict) else tree:
            yield from _nodes(each)


def in_one_form(data: bytes) -> bytes:
    """The same archive, with the same bytes for the same estimator.

    skops calls objects and files by their place in memory, zip writes the time, and between the fields
    of an array of records is whatever was there.
    """
    with _opened(data) as archive:
        tree = json.loads(archive.read(SCHEMA))
        numbers: dict[Any, int] = {}
        files: dict[str, str] = {}
        for node in _nodes(tree):
            if node.get("__loader__") == "SetNode":  # in the order of their hashes
                node["content"].sort(key=lambda each: str(each.get("content")))
            if "__id__" in node and node["__loader__"] in SHARED:
                del node["__id__"]
            elif "__id__" in node:
                node["__id__"] = numbers.setdefault(node["__id__"], 1 + len(numbers))
            if "file" in node:
                ending = node["file"].rpartition(".")[2]
                node["file"] = files.setdefault(node["file"], f"{1 + len(files)}.{ending}")
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as target:
            for before, after in files.items():
                content = archive.read(before)
                packed = _without_gaps(content) if after.endswith(".npy") else content
                target.writestr(zipfile.ZipInfo(after), packed)
            target.writestr(zipfile.ZipInfo(SCHEMA), json.dumps(tree))
    return written.getvalue()


def _without_gaps(content: bytes) -> bytes:
    array = np.load(io.BytesIO(content), allow_pickle=False)
    if array.dtype.names is None:
        return content
    clean, written = np.zeros(array.shape, array.dtype), io.BytesIO()
    for name in array.dtype.names:
        clean[name] = array[name]
    np.save(written, clean, allow_pickle=False)
    return written.getvalue()


def _check_packed(data: bytes) -> None:
    with _opened(data) as archive:
        entries = archive.infolist()
        if sum(entry.file_size for entry in entries) > ROOM + RATIO * len(data):
            raise ValueError(
                f"its estimator holds arrays compressed to less than 1/{RATIO} of their size"
            )
        for entry in entries:
            with archive.open(entry) as file:
                _check_array(file, entry.file_size)


def _check_array(file: IO[bytes], size: int) -> None:
    """Raise unless an array is as large as its header declares."""
    version = np.lib.format.read_magic(file)
    reads: dict[tuple[int, int], Any] = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in reads:
        raise ValueError(f"its estimator holds an array of an unknown format, {version}")
    shape, _, dtype = reads[version](file)
    if math.prod(shape) * dtype.itemsize > size:
        raise ValueError(f"its estimator declares an array of shape {shape} that it does not hold")


def _opened(data: bytes) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except zipfile.BadZipFile as error:
        raise ValueError(f"its estimator is not an archive: {error}") from None
