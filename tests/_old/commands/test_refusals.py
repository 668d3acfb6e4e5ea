"""What is refused: each with one line that says what and where, and with nothing written."""

import gzip
import re

import pytest

import ratebound as rb
from ratebound._old.commands.runs import KEYS

from .conftest import make_people, write_csv

GOOD = "age,sex,y\n" + "".join(f"{20 + i},{'FM'[i % 2]},{i // 2 % 2}\n" for i in range(40))


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(GOOD)
    return path


@pytest.fixture
def train(refused, tmp_path):
    """A refused training; nothing is left behind."""

    def call(*arguments):
        before = sorted(tmp_path.glob("**/*"))
        line = refused("train", *arguments, "--out", tmp_path / "model")
        assert sorted(tmp_path.glob("**/*")) == before
        return line

    return call


TABLES = {
    "": "empty: its first line must name the columns",
    "a,y\n": "holds no rows",
    "a,y\n1,0\n2,1,3\n": "line 3: 3 cells, but the first line names 2 columns",
    "a,y\n1,0\n\n2\n": "line 4: 1 cells, but",
    'a,y\n1,"0\n': "line 2: unexpected end of data",
    "a,a,y\n1,2,0\n": "two columns are named 'a'",
    "1,0\n2,1\n": "the first line looks like a row, 1, 0, and should name the columns: use --no-header",
    "a,b\nc,y\na,b\nc,y\n": "the first line looks like a row, a, b",
    "a\0,y\n1,0\n": "it holds zero bytes",
}


@pytest.mark.parametrize("text", TABLES)
def test_tables_that_cannot_be_read(train, tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text)
    line = train(path, "--label", "y")
    assert TABLES[text] in line
    assert str(path) in line


def test_a_folder_without_rows(train, tmp_path):
    pytest.importorskip("pyarrow")
    assert "holds no Parquet file" in train(tmp_path, "--label", "y")


def test_files_that_are_none(train, tmp_path):
    assert "there is no file" in train(tmp_path / "none.csv", "--label", "y")
    assert "there is no file" in train(tmp_path / "none.parquet", "--label", "y")
    (tmp_path / "odd.csv").write_bytes(b"a,y\n\x81\xe9,0\n")
    assert "neither in UTF-8 nor in cp1252: set --encoding" in train(
        tmp_path / "odd.csv", "--label", "y"
    )
    (tmp_path / "people.xlsx").write_bytes(b"PK")
    assert "is a spreadsheet: save the sheet as a CSV" in train(tmp_path / "people.xlsx", "--label", "y")
    (tmp_path / "people.json").write_bytes(b"[]")
    assert "pandas.read_json('people.json')" in train(tmp_path / "people.json", "--label", "y")
    (tmp_path / "packed.csv.gz").write_bytes(gzip.compress(GOOD.encode())[:-20])
    assert "cannot be decompressed" in train(tmp_path / "packed.csv.gz", "--label", "y")


FLAGS = [
    (["--label", "Y"], "no label column 'Y', did you mean 'y'? It has 'age', 'sex', 'y'"),
    (["--label", "aeg"], "no label column 'aeg', did you mean 'age'?"),
    (["--label", "age"], "40 different values in 40 rows, 20, 21, 22"),
    (["--label", "y", "--positive", "yes"], "--positive 'yes' is not among the labels"),
    (["--label", "y", "--exclude", "sx"], "no excluded column 'sx', did you mean 'sex'?"),
    (["--label", "y", "--features", "sx"], "no feature column 'sx', did you mean 'sex'?"),
    (["--label", "y", "--features", "y"], "cannot be a feature, it is the label"),
    (["--label", "y", "--features", "age", "--exclude", "age"], "it is excluded"),
    (["--label", "y", "--exclude", "age", "sex"], "no column is left for the model"),
    (["--label", "y", "--known", "y"], "column 'y' is the label, which is not known when deciding"),
    (["--label", "y", "--known", "sx"], "no known column 'sx', did you mean 'sex'?"),
    (["--label", "y", "--weight", "w"], "no weight column 'w'"),
    (["--label", "y", "--weight", "sex"], "weight column 'sex' must hold numbers"),
    (["--label", "y", "--require", "recall() > 0.9"], "so write >="),
    (["--label", "y", "--require", "recal() >= 0.9"], "recal is not a rate; did you mean recall?"),
    (["--label", "y", "--require", "recall() >= 95"], "did you mean recall() >= 0.95?"),
    (["--label", "y", "--require", "predicted_positives() >= 50"], "per=40) is never above 40"),
    (["--label", "y", "--require", "recall( >= 0.9"], "cannot read"),
    (["--label", "y", "--minimize", "recall() >= 1"], "expected the end of the constraint here"),
    (["--label", "y", "--minimize", "recall()"], "to minimize recall() is to ask for the worst"),
    (["--label", "y", "--maximize", "error_rate()"], "to maximize error_rate() is to ask for the worst"),
    (["--label", "y", "--require", 'recall(sex == "X") >= 0.9'], 'sex == "X"; choose from F, M'),
    (["--label", "y", "--require", 'recall(sx == "F") >= 0.9'], "'sx'; did you mean sex?"),
    (["--label", "y", "--require", "recall(age > 90) >= 0.9"], "no row (or no weight)"),
    (["--label", "y", "--require", "recall(age < 23) >= 0.9"], "there are too few such rows"),
    (["--label", "y", "--require", 'recall(on="pool") >= 0.9'], "Add --population pool=FILE"),
    (["--label", "y", "--holdout", "1"], "--holdout takes a share of the rows"),
    (["--label", "y", "--holdout", "0.001"], "so nothing can be measured there"),
    (["--label", "y", "--seed", "-1"], "--seed takes a whole number from 0 on, got -1"),
    (["--label", "y", "--seed", "many"], "argument --seed: invalid int value: 'many'"),
    (["--label", "y", "--model", "chess"], "argument --model: invalid choice"),
    (["--label", "y", "--require", "recall() >= 0.5", "recall() <= 0.9"], "--require before each"),
    (["--label", "y", "--colour", "red"], "unrecognized arguments: --colour red"),
    ([], "which column is the label?"),
]  # fmt: skip


@pytest.mark.parametrize(("flags", "words"), FLAGS, ids=[" ".join(flags) for flags, _ in FLAGS])
def test_flags_that_make_no_sense(train, table, flags, words):
    assert words in train(table, *flags)


def test_columns_that_no_model_can_use(train, run, tmp_path):
    columns = make_people(1200)
    path = write_csv(tmp_path / "people.csv", columns | {"nothing": [""] * 1200})
    found = run("train", path, "--label", "income", "--quiet", "--out", tmp_path / "found")
    assert "'id': left out: almost all values differ" in found.err
    assert "'nothing': left out: it holds no value" in found.err
    only = train(path, "--label", "income", "--features", "nothing")
    assert "people.csv: no column is left that a model could learn from, 'nothing': left out" in only
    endless = write_csv(tmp_path / "endless.csv", columns | {"hours": ["inf", *columns["hours"][1:]]})
    line = train(endless, "--label", "income", "--holdout", "0")
    assert "'hours': refused: it holds infinite values" in line
    assert line.endswith("cap them, or leave them out: --exclude 'hours'\n")
    label = train(path, "--label", "city")
    assert "label column 'city' is missing in" in label
    assert "leave those rows out with --drop-unlabelled" in label


def test_places_that_cannot_be_written(refused, table, model, tmp_path):
    line = refused("train", table, "--label", "y", "--out", table)
    assert line == f"ratebound: --out {table} is a file; it must be a folder\n"
    assert table.read_text() == GOOD
    assert "cannot write in" in refused("train", table, "--label", "y", "--out", table / "model")
    assert "where should the model go?" in refused("train", table, "--label", "y")
    assert "is a folder" in refused("predict", model, table, "--out", tmp_path)
    assert "cannot write in" in refused(
        "audit", model, table, "--label", "y", "--json", tmp_path / "no" / "a"
    )


ENTRIES = {
    "sed = 3": "unknown key 'sed', did you mean 'seed'?",
    "zzz = 3": "unknown key 'zzz'.",
    "seed = '3'": "key 'seed' takes a whole number from 0 on, got '3'",
    "seed = true": "key 'seed' takes a whole number",
    "holdout = 1.5": "key 'holdout' takes a share",
    "require = [1]": "key 'require' takes a constraint in quotes, or a list of them, got [1]",
    "model = 'forest'": "key 'model' takes one of 'linear', 'mlp', 'lightgbm', 'xgboost'",
    "quiet = 1": "key 'quiet' takes true or false, got 1",
    "max-time = 0": "key 'max-time' takes a number of seconds above 0, got 0",
    "[train]\nseed = 3": "unknown key 'train'",
    "label = y": "is not TOML",
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_run_files_that_make_no_sense(train, tmp_path, entry):
    source = tmp_path / "run.toml"
    source.write_text(f"data = 'table.csv'\n{entry}\n")
    line = train(source)
    assert ENTRIES[entry] in line
    assert str(source) in line


def test_run_files_that_lack_something(train, tmp_path):
    assert "there is no file" in train(tmp_path / "none.toml")
    (tmp_path / "run.toml").write_text("label = 'y'\n")
    assert "names no table" in train(tmp_path / "run.toml")


def test_every_flag_is_a_key_of_run_files_and_every_key_a_flag(run):
    words = "".join(run(command, "--help").out for command in ("train", "explain", "inspect"))
    flags = set(re.findall(r"--([a-z]+(?:-[a-z]+)*)", words)) - {"help", "no-header"}
    assert flags == {key.replace("_", "-") for key in KEYS if key != "data"}


def test_models_that_are_damaged(refused, model, new_people, tmp_path):
    whole = (model / "model.safetensors").read_bytes()
    path = tmp_path / "model.safetensors"
    for content, words in {
        b"": "is not a whole safetensors file",
        whole[:-3]: "is not a whole safetensors file",
        whole[:-3] + b"abc": "was changed after it was saved",
    }.items():
        path.write_bytes(content)
        assert words in refused("predict", tmp_path, new_people)
        assert words in refused("audit", path, new_people, "--label", "income")
    assert "there is no saved model at" in refused("predict", tmp_path / "none", new_people)


def test_tables_that_do_not_fit_the_model(refused, run, model, new_people, tmp_path):
    columns = make_people(50, seed=1)
    lacking = write_csv(tmp_path / "lacking.csv", {n: v for n, v in columns.items() if n != "age"})
    assert "has no column 'age', which the model was trained on" in refused("predict", model, lacking)
    unread = write_csv(tmp_path / "unread.csv", columns | {"age": ["old"] * 50})
    assert "of 50 rows: 'age' in 50 ('old')" in run("predict", model, unread).err
    partly = write_csv(tmp_path / "partly.csv", columns | {"age": [*columns["age"][:-1], "old"]})
    assert "of 50 rows: 'age' in 1 ('old')" in run("predict", model, partly).err
    labels = write_csv(tmp_path / "labels.csv", columns | {"income": ["much"] * 50})
    assert "holds 'much', but the classes are" in refused("audit", model, labels, "--label", "income")
    assert "no label column 'incme'" in refused("audit", model, new_people, "--label", "incme")
    assert "no key column 'ID', did you mean 'id'?" in refused(
        "predict", model, new_people, "--key", "ID"
    )


def test_models_without_column_names(refused, new_people, tmp_path):
    fitted = rb.RateConstrainedClassifier("recall() >= 0.5", confidence=None)
    fitted.fit([[0.0], [1.0]] * 10, [0, 1] * 10).save(tmp_path)
    assert "trained on an array without column names" in refused("predict", tmp_path, new_people)


def test_a_call_without_a_command(refused):
    assert "required: command" in refused()
    assert "invalid choice: 'trane'" in refused("trane")
