"""Random tables and promises, through the whole library and the command line.

Whatever people bring, one of two things must happen: an error of ours that names what is wrong, or a
model whose audit equals an independent count of its decisions, made here row by row.
"""

import csv
import json
import math
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ratebound._old as rb
from ratebound import RateConstrainedClassifier
from ratebound._old.cli import main

from .extras import pd

bounded = settings(
    max_examples=25,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
NAMES = ["age", "hours per week", "class", "it's", 'a "b"', "größe", "1st", "Income", "x_1"]
VALUES = {
    "numbers": lambda r, n: r.normal(40, 10, n).round(2).tolist(),
    "whole numbers": lambda r, n: r.integers(0, 5, n).tolist(),
    "large numbers": lambda r, n: (r.normal(size=n) * 1e12).tolist(),
    "numbers with gaps": lambda r, n: [
        None if r.random() < 0.3 else float(r.integers(9)) for _ in range(n)
    ],
    "texts": lambda r, n: r.choice(["Female", "Male"], n).tolist(),
    "texts with gaps": lambda r, n: [
        None if r.random() < 0.2 else f"v{r.integers(3)}" for _ in range(n)
    ],
    "odd texts": lambda r, n: r.choice(["a,b", 'say "x"', "naïve", "=1+1", "it's"], n).tolist(),
    "truth values": lambda r, n: (r.random(n) < 0.4).tolist(),
    "dates": lambda r, n: [f"202{r.integers(4)}-0{r.integers(1, 9)}-1{r.integers(9)}" for _ in range(n)],
    "one value": lambda r, n: ["same"] * n,
    "nothing": lambda r, n: [None] * n,
    "ids": lambda r, n: [f"id-{i}-{r.integers(99)}" for i in range(n)],
    "mixed": lambda r, n: [["7", "x", None, "2024-01-01"][r.integers(4)] for _ in range(n)],
}
LABELS = [(0, 1), ("N", "Y"), (False, True), (1, 2), ("bad", "good"), (-1, 1)]
RATES = {  # which rows a rate is a share of, and whether a row counts in it
    "positive_rate": (lambda label: True, lambda yes, label: yes),
    "recall": (lambda label: label, lambda yes, label: yes),
    "false_positive_rate": (lambda label: not label, lambda yes, label: yes),
    "true_negative_rate": (lambda label: not label, lambda yes, label: 1 - yes),
    "accuracy": (lambda label: True, lambda yes, label: yes if label else 1 - yes),
}


class Group:
    """A condition in words, and as a function of a row."""

    def __init__(self, words, holds):
        self.words, self.holds = words, holds


EVERYONE = Group("", lambda row: True)


@st.composite
def tables(draw):
    """Columns by name, and the labels."""
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    n = draw(st.sampled_from([12, 40, 60]))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=5, unique=True))
    columns = {name: VALUES[draw(st.sampled_from(list(VALUES)))](random, n) for name in names}
    signal = random.normal(size=n)
    columns["signal"] = signal.round(3).tolist()
    no, yes = draw(st.sampled_from(LABELS))
    one_class = draw(st.integers(0, 9)) == 9
    positive = signal + random.normal(size=n) > (9 if one_class else 0)
    labels = [yes if each else no for each in positive]
    if draw(st.integers(0, 9)) == 9:
        labels[0] = None
    return columns, labels, yes


def column_words(name):
    plain = name.isidentifier() and name.isascii() and name != "class"
    return name if plain else f"column({json.dumps(name, ensure_ascii=False)})"


@st.composite
def groups(draw, columns):
    if draw(st.integers(0, 3)) == 0:
        return EVERYONE
    name = draw(st.sampled_from(list(columns)))
    value, words = draw(st.sampled_from(columns[name])), column_words(name)
    form = draw(st.sampled_from(["value", "value", "order", "between", "missing", "not"]))
    if value is None or form == "missing":
        return Group(f"missing({words})", lambda row: row[name] is None)
    said = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
    if isinstance(value, str | bool) or form == "value":
        return Group(f"{words} == {said}", lambda row: row[name] == value)
    if form == "order":
        return Group(f"{words} < {said}", lambda row: row[name] is not None and row[name] < value)
    if form == "between":
        return Group(
            f"{said} <= {words} < {value + 10!r}",
            lambda row: row[name] is not None and value <= row[name] < value + 10,
        )
    return Group(f"not {words} == {said}", lambda row: row[name] != value)


class Said:
    """A promise in words, and whether given decisions keep it (None: no row to count)."""

    def __init__(self, words, parts, kept):
        self.words, self.parts, self.kept = words, parts, kept


@st.composite
def promises(draw, columns):
    kind, group = draw(st.sampled_from(list(RATES))), draw(groups(columns))
    bound = draw(st.sampled_from([0.0, 0.2, 0.5, 0.8]))
    one, all_of_them = f"{kind}({group.words})", f"{kind}()"
    form = draw(st.sampled_from(["least", "most", "share", "apart", "between"]))
    parts = [(kind, group), (kind, EVERYONE)]
    if form == "least":
        return Said(f"{one} >= {bound}", parts, lambda a, _: a >= bound - 1e-9)
    if form == "most":
        return Said(f"{one} <= {1 - bound}", parts, lambda a, _: a <= 1 - bound + 1e-9)
    if form == "share":
        return Said(f"{one} >= {bound} * {all_of_them}", parts, lambda a, b: a >= bound * b - 1e-9)
    if form == "apart":
        words = f"abs({one} - {all_of_them}) <= {bound}"
        return Said(words, parts, lambda a, b: abs(a - b) <= bound + 1e-9)
    words = f"{bound / 2} <= {one} <= {1 - bound / 2}"
    return Said(words, parts, lambda a, _: bound / 2 - 1e-9 <= a <= 1 - bound / 2 + 1e-9)


@st.composite
def cases(draw):
    columns, labels, yes = draw(tables())
    return columns, labels, yes, draw(st.lists(promises(columns), min_size=1, max_size=2))


def counted(kind, group, rows, labels, yes_share):
    """The rate, counted row by row."""
    among, counts = RATES[kind]
    chosen = [i for i, row in enumerate(rows) if group.holds(row) and among(labels[i])]
    return sum(counts(yes_share[i], labels[i]) for i in chosen) / len(chosen)


def assert_ours(error):
    """The error was raised by us on purpose, in words that name something."""
    where = traceback.extract_tb(error.__traceback__)[-1].filename
    assert isinstance(error, ValueError | TypeError), repr(error)
    assert "ratebound" in Path(where).parts or "sklearn" in Path(where).parts, (
        traceback.format_exception(error)
    )
    assert len(str(error)) > 20, str(error)


@bounded
@given(case=cases(), confident=st.booleans())
def test_an_error_of_ours_or_rates_as_counted(case, confident):
    columns, labels, yes, said = case
    table = pd.DataFrame({name: pd.Series(values, dtype=object if None in values else None)
                          for name, values in columns.items()})  # fmt: skip
    model = RateConstrainedClassifier(
        [each.words for each in said], confidence=0.8 if confident else None, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(table, labels, columns=table)
            report = model.audit(table, labels, columns=table)
        except Exception as error:
            assert_ours(error)
            return
        shares = (model.predict(table) == yes).astype(float)
    check_report(report.to_dict()["promises"], case, shares)


def check_report(reported, case, shares):
    columns, labels, yes, said = case
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    positive = [label == yes for label in labels]
    remaining = list(reported)
    for each in said:
        values = [counted(kind, group, rows, positive, shares) for kind, group in each.parts]
        own = [
            remaining.pop(0) for _ in range(1 + each.words.startswith("abs") + each.words[0].isdigit())
        ]
        assert all(part["kept"] for part in own) == each.kept(*values), each.words
        if not each.words.startswith("abs"):
            assert all(math.isclose(part["value"], values[0], abs_tol=1e-9) for part in own), each.words
    assert not remaining


@settings(bounded, max_examples=12)
@given(case=cases())
def test_the_command_line_alike(case, tmp_path_factory, capsys):
    columns, labels, yes, said = case
    folder = tmp_path_factory.mktemp("fuzz")
    path, out = folder / "people.csv", folder / "model"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*columns, "the label"])
        writer.writerows(zip(*columns.values(), labels, strict=True))
    asked = [part for each in said for part in ("--require", each.words)]
    flags = ["--confidence", "none", "--holdout", "0", "--positive", str(yes)]
    status = main(
        ["train", str(path), "--label", "the label", *flags, *asked, "--out", str(out), "--quiet"]
    )
    told = capsys.readouterr()
    assert status in (0, 1, 2), told.err
    if status == 2:
        assert told.err.splitlines()[-1].startswith("ratebound: ")
        assert len(told.err) > 30
        return
    assert (out / "report.html").exists()
    reported = json.loads((out / "audit.json").read_text())["promises"]
    assert main(["predict", str(out), str(path), "--out", str(folder / "p.csv")]) == 0
    with open(folder / "p.csv", newline="", encoding="utf-8") as file:
        decided = [row["prediction"] for row in csv.DictReader(file)]
    capsys.readouterr()
    assert len(decided) == len(labels)
    assert set(decided) <= {str(label) for label in labels}
    if rb.load(out).weights.tolist() == [1.0]:
        shares = [float(decision == str(yes)) for decision in decided]
        check_report(reported, case, shares)


@pytest.mark.slow
@settings(bounded, max_examples=1500, derandomize=False)
@given(case=cases(), confident=st.booleans())
def test_many_more(case, confident):
    test_an_error_of_ours_or_rates_as_counted.hypothesis.inner_test(case, confident)
