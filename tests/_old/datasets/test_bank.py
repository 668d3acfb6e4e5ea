"""Bank Marketing as loaded and as fetched: both releases, the published shares, UCI's own file."""

import csv
import gzip
import hashlib
import io
import urllib.error
import urllib.request
import zipfile
from importlib import resources

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ratebound._old.datasets import Splits, fetch_bank, load_bank

NAME = "bank_additional_full.csv.gz"
PARTS = ("train", "validation", "test")
# How many features each column becomes, in the order of the features.
EARLIER = {"job": 12, "marital": 3, "education": 4, "default": 2, "housing": 2, "loan": 2, "contact": 3}
EARLIER |= {"month": 12, "poutcome": 4, "age": 5, "duration": 5}
LATER = {"job": 12, "marital": 4, "education": 8, "default": 3, "housing": 3, "loan": 3, "contact": 2}
LATER |= {"month": 10, "poutcome": 3, "age": 4, "duration": 4, "euribor3m": 4}


@pytest.fixture(scope="module")
def earlier() -> Splits:
    return load_bank()


@pytest.fixture(scope="module")
def later(folder_with) -> Splits:
    return load_bank(folder_with(NAME))


def errors(splits):
    """The errors of a logistic regression on the three parts."""
    model = LogisticRegression(solver="liblinear").fit(splits.train.X, splits.train.y)
    return [float(np.mean(model.predict(part.X) != part.y)) for part in parts(splits)]


def parts(splits):
    return [getattr(splits, part) for part in PARTS]


def check_blocks(splits, blocks):
    starts = np.cumsum([0, *blocks.values()])
    for population in parts(splits):
        indicators = population.X[:, : starts[-1]]
        assert set(np.unique(indicators)) == {0.0, 1.0}
        np.testing.assert_array_equal(np.add.reduceat(indicators, starts[:-1], axis=1), 1)
    named = [column for column, width in blocks.items() for _ in range(width)]
    assert all(column in name for column, name in zip(named, splits.feature_names, strict=False))
    assert len(set(splits.feature_names)) == 60


def test_the_earlier_release_has_its_sizes(earlier):
    assert [part.X.shape for part in parts(earlier)] == [(31_648, 60), (4_521, 60), (9_042, 60)]
    assert sum(part.y.sum() for part in parts(earlier)) == 5_289  # as UCI says
    assert earlier.train.X.dtype == np.float32
    check_blocks(earlier, EARLIER)
    numbers = earlier.train.X[:, 54:]
    assert earlier.feature_names[54:] == ("balance", "day", "duration", "campaign", "pdays", "previous")
    np.testing.assert_allclose(numbers.mean(axis=0, dtype=float), 0, atol=1e-5)
    np.testing.assert_allclose(numbers.std(axis=0, dtype=float), 1, atol=1e-5)


def test_the_later_release_has_the_published_shares_of_positives(later):
    assert [part.X.shape for part in parts(later)] == [(28_832, 60), (4_119, 60), (8_237, 60)]
    assert sum(part.y.sum() for part in parts(later)) == 4_640  # as UCI says
    always_no = [round(float(part.y.mean()), 4) for part in parts(later)]
    assert always_no == [0.1122, 0.1129, 0.1140]  # "Hinge Last" in the paper's table
    check_blocks(later, LATER)


def test_a_linear_model_errs_as_measured_elsewhere(earlier):
    np.testing.assert_allclose(errors(earlier), (0.0963, 0.0984, 0.0970), atol=0.004)


def test_a_linear_model_errs_nearly_as_published(later):
    np.testing.assert_allclose(errors(later), (0.0948, 0.0935, 0.0937), atol=0.006)


@pytest.mark.parametrize("release", ["earlier", "later"])
def test_age_groups_are_fifths_of_the_training_rows(request, release):
    train = request.getfixturevalue(release).train
    age, group = train.columns["age"], train.columns["age_group"]
    edges = np.quantile(age, (0.2, 0.4, 0.6, 0.8))
    np.testing.assert_array_equal(group, 1 + np.digitize(age, edges, right=True))
    shares = np.bincount(group)[1:] / len(group)
    assert len(shares) == 5
    assert ((shares > 0.15) & (shares < 0.25)).all()  # ages are whole, so not quite a fifth each


def test_columns_can_be_spoken_of_and_the_label_is_not_among_them(later):
    assert {"emp_var_rate", "day_of_week", "euribor3m", "age_group"} <= set(later.train.columns)
    assert all(name.isidentifier() for name in later.train.columns)
    assert "y" not in later.train.columns


def test_seeds_redraw_all_parts_and_repeat(earlier):
    again, other = load_bank(seed=845), load_bank(seed=1)
    for part, same, different in zip(parts(earlier), parts(again), parts(other), strict=True):
        np.testing.assert_array_equal(part.X, same.X)
        np.testing.assert_array_equal(part.y, same.y)
        assert part.X.shape == different.X.shape
        assert not np.array_equal(part.columns["balance"], different.columns["balance"])


def test_rows_are_those_of_the_reference_copy(folder_with):
    reference = gzip.decompress((folder_with("bank_full.csv.gz") / "bank_full.csv.gz").read_bytes())
    shipped = resources.files("ratebound._old.datasets") / "data" / "bank_full.csv.gz"
    assert gzip.decompress(shipped.read_bytes()) == reference


def offline(*args, **kwargs):
    raise urllib.error.URLError("Name or service not known")


def answering(archive):
    return lambda *args, **kwargs: io.BytesIO(archive)


def zipped(files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def uci_archive(text):
    """UCI's archive around its CSV: a zip within a zip."""
    inner = zipped({"bank-additional/bank-additional-full.csv": text})
    return zipped({"bank-additional.zip": inner, "bank.zip": b""})


def test_offline_it_says_so_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(urllib.request, "urlopen", offline)
    with pytest.raises(ConnectionError, match=r"archive\.ics\.uci\.edu.*Name or service.*load_bank\(\)"):
        fetch_bank(tmp_path / "data")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        (b"<html>Not found</html>", "no longer the archive it was"),
        (zipped({"bank.zip": b""}), "no longer the archive it was"),
        (uci_archive('"age";"y"\n56;"no"\n'), "expected 5797716d"),
    ],
    ids=["a-page", "another-archive", "other-rows"],
)
def test_what_is_not_the_data_is_not_written(tmp_path, monkeypatch, archive, message):
    monkeypatch.setattr(urllib.request, "urlopen", answering(archive))
    with pytest.raises(ValueError, match=message):
        fetch_bank(tmp_path)
    assert not list(tmp_path.iterdir())


def test_without_the_file_the_error_says_how_to_fetch_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"bank_additional_full\.csv\.gz.*fetch_bank\(folder\)"):
        load_bank(tmp_path)


def test_fetched_from_uci_it_is_the_reference_copy(tmp_path, monkeypatch, folder_with):
    """UCI's CSV is rebuilt from the reference, and known to be UCI's by the digest others publish."""
    reference = gzip.decompress((folder_with(NAME) / NAME).read_bytes())
    text = as_uci_writes_it(reference.decode())
    digest = "74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8"
    assert hashlib.sha256(text.encode()).hexdigest() == digest

    monkeypatch.setattr(urllib.request, "urlopen", answering(uci_archive(text)))
    path = fetch_bank(tmp_path / "data")
    assert [path] == list((tmp_path / "data").iterdir())
    assert gzip.decompress(path.read_bytes()) == reference
    assert len(load_bank(path.parent).train) == 28_832


def as_uci_writes_it(text):
    """Semicolons, quoted texts, reals without .0, and the line ends of Windows."""
    header, *rows = csv.reader(text.splitlines())
    texts = {"job", "marital", "education", "default", "housing", "loan", "contact", "month"}
    texts |= {"day_of_week", "poutcome", "y"}

    def cell(name, value):
        return f'"{value}"' if name in texts else value.removesuffix(".0")

    lines = [";".join(f'"{name}"' for name in header)]
    lines += [";".join(map(cell, header, row)) for row in rows]
    return "\r\n".join([*lines, ""])
