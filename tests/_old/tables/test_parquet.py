"""Populations on disk hold the rows that populations in memory hold, read in pieces and in windows."""

import decimal
import itertools
import pickle

import numpy as np
import pytest

import ratebound._old as rb
from ratebound import RateConstrainedClassifier

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

from ratebound._old.tables import _row_groups  # noqa: E402
from ratebound._old.tables.fitting import fit_encoding  # noqa: E402
from ratebound._old.tables.table import read_table  # noqa: E402

from ..extras import pd, pl  # noqa: E402

ROWS = 1000


@pytest.fixture(autouse=True)
def small_units(monkeypatch):
    monkeypatch.setattr(_row_groups, "ROWS_TOGETHER", 150)


def table(seed=0, rows=ROWS):
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "a": random.normal(size=rows).astype(np.float32),
            "b": random.normal(size=rows),
            "count": random.integers(0, 9, rows),
            "sex": random.choice(["F", "M"], rows),
            "weight": random.uniform(0.5, 2, rows),
            "y": random.integers(0, 2, rows),
        }
    )


def written(folder, whole, parts=(400,), row_group_size=130):
    cuts = [0, *parts, len(whole)]
    for place, (start, stop) in enumerate(itertools.pairwise(cuts)):
        path = folder / f"part-{place}.parquet"
        pq.write_table(whole.slice(start, stop - start), path, row_group_size=row_group_size)
    return folder / "*.parquet"


def on_disk(folder, whole, **roles):
    given = {"label": "y", "features": ["a", "b", "count"], "columns": ["sex"]} | roles
    return rb.Parquet(written(folder, whole), **given)


def test_it_holds_the_rows_of_all_files_in_order(tmp_path):
    whole = table()
    people = on_disk(tmp_path, whole, weight="weight")
    assert len(people) == ROWS
    assert people.stored
    assert len(people.piece_sizes) > 5  # small row groups are read together, large ones apart
    memory = people.in_memory()
    features = np.column_stack([whole[name].to_numpy() for name in ("a", "b", "count")])
    for rows in (memory.features, np.concatenate(list(people.features.pieces()))):
        np.testing.assert_array_equal(rows, features)
    np.testing.assert_array_equal(people.y, whole["y"].to_numpy() == 1)
    np.testing.assert_array_equal(people.weights, whole["weight"].to_numpy())
    np.testing.assert_array_equal(memory.column("sex"), whole["sex"].to_pylist())
    np.testing.assert_array_equal(people.column("sex"), whole["sex"].to_pylist())
    assert people.column_names == ["a", "b", "count", "sex"]


def test_pieces_follow_each_other(tmp_path):
    whole = table()
    people = on_disk(tmp_path, whole)
    pieces = list(people.pieces(["sex", "count"], inputs=True))
    assert len(pieces) == len(people.piece_sizes)
    assert sum(map(len, pieces)) == ROWS
    assert not any(piece.stored for piece in pieces)
    found = [value for piece in pieces for value in piece.column("sex")]
    assert found == whole["sex"].to_pylist()
    assert pieces[0].X.column_names == ["a", "b", "count"]
    bare = next(people.pieces())
    assert bare.X is None
    assert not bare.columns
    assert len(bare.y) == len(bare)


def test_some_of_its_rows_stay_on_disk(tmp_path):
    whole = table()
    people = on_disk(tmp_path, whole, weight="weight")
    chosen = np.random.default_rng(1).random(ROWS) < 0.3
    part = people.only(chosen)
    assert part.stored
    assert len(part) == chosen.sum()
    half = part.only(np.arange(0, len(part), 2))
    for some, rows in ((part, np.flatnonzero(chosen)), (half, np.flatnonzero(chosen)[::2])):
        memory = some.in_memory()
        np.testing.assert_array_equal(memory.features, people.in_memory().features[rows])
        np.testing.assert_array_equal(
            some.features.take(np.arange(len(some))[::-1]), memory.features[::-1]
        )
        np.testing.assert_array_equal(memory.column("sex"), np.array(whole["sex"].to_pylist())[rows])
        np.testing.assert_array_equal(some.weights, whole["weight"].to_numpy()[rows])
    with pytest.raises(ValueError, match="increasing indices"):
        people.only([3, 1])
    with pytest.raises(ValueError, match="at least one row"):
        people.only(np.zeros(ROWS, dtype=bool))


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("memory", [2**30, 20_000])
def test_windows_go_once_through_all_rows_and_hold_them(tmp_path, shuffled, memory):
    people = on_disk(tmp_path, table(), memory=memory)
    features, rows = people.features, people.in_memory().features
    random = np.random.default_rng(2) if shuffled else None
    seen, sizes = [], []
    for numbers in features.windows(random):
        np.testing.assert_array_equal(features.take(numbers[:7]), rows[numbers[:7]])
        seen.append(numbers)
        sizes.append(len(numbers))
    assert len(sizes) == 1 if memory == 2**30 else len(sizes) > 2
    assert max(sizes) * features.shape[1] * 8 * 3 <= memory
    order = np.concatenate(seen)
    np.testing.assert_array_equal(np.sort(order), np.arange(ROWS))
    assert (order == np.arange(ROWS)).all() != shuffled
    anywhere = np.array([0, 999, 500, 3])
    np.testing.assert_array_equal(features.take(anywhere), rows[anywhere])


def test_rows_are_encoded_as_they_are_read(tmp_path):
    people = on_disk(tmp_path, table())
    seen = people.seen_through(
        lambda X: np.column_stack([X["a"].to_numpy(), X["count"].to_numpy() * 2.0])
    )
    expected = people.in_memory().features[:, [0, 2]] * [1, 2]
    np.testing.assert_array_equal(np.concatenate(list(seen.features.pieces())), expected)
    np.testing.assert_array_equal(seen.only(np.arange(5)).in_memory().X, expected[:5])
    assert seen.in_memory().column("count")[0] == people.in_memory().column("count")[0]


def test_folders_named_after_values_make_columns(tmp_path):
    whole = table()
    for year in (2023, 2024):
        for place in ("north", "south"):
            folder = tmp_path / f"year={year}" / f"place={place}"
            folder.mkdir(parents=True)
            pq.write_table(whole.slice(0, 100), folder / "rows.parquet")
    (tmp_path / "_metadata.parquet").write_bytes(b"not read")
    people = rb.Parquet(tmp_path, label="y", features=["a"], columns=["year", "place"])
    assert len(people) == 400
    problem = rb.Problem("error_rate()", ['recall(place == "south", year >= 2024) >= 0.1'])
    assert rb.compile(problem, people).cell_count > 1
    assert set(people.column("year").tolist()) == {2023, 2024}


def test_what_is_in_columns_is_as_in_memory(tmp_path):
    odd = pa.table(
        {
            "price": pa.array([decimal.Decimal("1.5"), None, decimal.Decimal("2.5")]),
            "word": ["x", "", None],
            "flag": [True, None, False],
            "day": pa.array([0, 1, None], pa.date32()),
            "coded": pa.array(["u", "v", "u"]).dictionary_encode(),
            "y": ["yes", "no", "yes"],
        }
    )
    pq.write_table(odd, tmp_path / "odd.parquet")
    people = rb.Parquet(tmp_path / "odd.parquet", "y", features=["price"], positive="yes")
    assert people.classes == ("no", "yes")
    assert people.plain_column("price") == [1.5, None, 2.5]
    assert people.plain_column("word") == ["x", None, None]  # as an empty cell of a CSV
    assert people.plain_column("coded") == ["u", "v", "u"]
    compiled = rb.compile(
        rb.Problem("error_rate()", ['positive_rate(day >= "1970-01-02") <= 0.5']), people
    )
    assert compiled.cell_count == 2


def test_labels_of_several_classes_are_places(tmp_path):
    whole = table().append_column("kind", pa.array(["dog", "cat", "bird", "cat"] * (ROWS // 4)))
    people = on_disk(tmp_path, whole, label="kind")
    assert people.classes == ("bird", "cat", "dog")
    assert people.y[:4].tolist() == [2, 1, 0, 1]
    assert people.y.itemsize <= 2


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"label": "z"}, "has no column 'z', given as label"),
        ({"features": ["a", "bb"]}, "no column 'bb', given as features, did you mean 'b'"),
        ({"columns": "sex"}, r"columns takes a list of columns, as in \['sex'\]"),
        ({"features": ["y"]}, "'y' cannot be a feature"),
        ({"memory": 0}, "memory"),
        (
            {"label": "a", "features": ["b"]},
            "label column .a. of part-0.parquet.* not class labels",
        ),
        ({"weight": "sex"}, "weights must be numbers"),
    ],
)
def test_roles_that_make_no_sense_are_refused(tmp_path, roles, message):
    with pytest.raises((ValueError, TypeError), match=message):
        on_disk(tmp_path, table(), **roles)


def test_files_that_do_not_fit_together_are_refused(tmp_path):
    pq.write_table(table(), tmp_path / "0.parquet")
    pq.write_table(table().drop_columns(["b"]), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match=r"1\.parquet has no column 'b', which 0\.parquet has"):
        rb.Parquet(tmp_path, "y")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        rb.Parquet(tmp_path / "x*.parquet")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        rb.Parquet(tmp_path / "x.parquet")
    (tmp_path / "2.parquet").write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match="cannot be read as Parquet"):
        rb.Parquet(tmp_path / "2.parquet")
    pq.write_table(table().slice(0, 0), tmp_path / "3.parquet")
    with pytest.raises(ValueError, match="holds no rows"):
        rb.Parquet(tmp_path / "3.parquet")


def test_numbers_of_different_width_fit_together(tmp_path):
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int16()), "y": [0, 1]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"a": pa.array([3.5], pa.float64()), "y": [1]}), tmp_path / "1.parquet")
    np.testing.assert_array_equal(rb.Parquet(tmp_path, "y").in_memory().features[:, 0], [1, 2, 3.5])


def test_rows_without_a_label_are_left_out_if_asked_for(tmp_path):
    labels = pa.array([None if place % 3 == 0 else place % 2 for place in range(ROWS)])
    whole = table().set_column(5, "y", labels)
    people = on_disk(tmp_path, whole, weight="weight", drop_unlabelled=True)
    there = np.arange(ROWS) % 3 > 0
    np.testing.assert_array_equal(people.y, labels.drop_null().to_numpy() == 1)
    np.testing.assert_array_equal(people.weights, whole["weight"].to_numpy()[there])
    np.testing.assert_array_equal(people.in_memory().features[:, 1], whole["b"].to_numpy()[there])
    half = people.only(np.arange(len(people)) % 2 == 0)
    np.testing.assert_array_equal(half.features.take(np.arange(9)), people.in_memory().features[:18:2])


def test_missing_labels_are_refused(tmp_path):
    pq.write_table(pa.table({"a": [1, 2], "y": [0, None]}), tmp_path / "0.parquet")
    with pytest.raises(ValueError, match=r"label column .y. .* has missing labels"):
        rb.Parquet(tmp_path, "y")


def test_row_groups_are_dealt_out_to_processes(tmp_path):
    groups = _row_groups.open_groups(written(tmp_path, table()))
    shares = [groups.share(rank, 3) for rank in range(3)]
    assert sum(int(share.rows.sum()) for share in shares) == ROWS
    found = [
        share.read(unit, ["b"])["b"].to_pylist() for share in shares for unit in range(len(share.units))
    ]
    assert sorted(value for part in found for value in part) == sorted(table()["b"].to_pylist())
    with pytest.raises(ValueError, match="row groups for 100 processes"):
        groups.share(0, 100)


def test_files_that_change_are_not_mixed_with_what_was_read_before(tmp_path):
    people = on_disk(tmp_path, table())
    written(tmp_path, table(seed=1))
    with pytest.raises(ValueError, match=r"part-0\.parquet has changed since its labels were read"):
        people.in_memory()
    (tmp_path / "part-0.parquet").unlink()
    with pytest.raises(ValueError, match="has changed since"):
        list(people.pieces(["sex"]))


def test_a_file_named_twice_is_refused(tmp_path):
    pattern = written(tmp_path, table())
    with pytest.raises(ValueError, match=r"part-0\.parquet is named twice"):
        rb.Parquet([pattern, tmp_path / "part-0.parquet"], "y")


def test_small_row_groups_are_joined_as_far_as_memory_allows(tmp_path):
    pattern = written(tmp_path, table(), row_group_size=10)
    few, many = (rb.Parquet(pattern, "y", ["a", "b"], memory=bytes) for bytes in (2**30, 1_000))
    assert len(few.piece_sizes) < 10
    assert many.piece_sizes.max() <= 20
    assert len(many.features.take(np.arange(5))) == 5


def test_notes_of_other_programs_are_not_read(tmp_path):
    written(tmp_path, table())
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".part-0.parquet.crc").write_text("")
    for paths in (tmp_path, tmp_path / "*"):
        assert len(rb.Parquet(paths, "y")) == ROWS


def test_it_is_sent_to_other_processes_without_its_rows(tmp_path):
    people = on_disk(tmp_path, table())
    rb.play(rb.compile(rb.Problem("error_rate()"), people), rb.Linear(), epochs=1)
    sent = pickle.dumps(people)
    assert len(sent) < 200_000
    np.testing.assert_array_equal(pickle.loads(sent).in_memory().features, people.in_memory().features)


def test_what_programs_leave_beside_their_rows_is_not_read_at_any_depth(tmp_path):
    written(tmp_path, table())
    for name in ("_temporary", ".hidden", "_delta_log"):
        (tmp_path / name / "0").mkdir(parents=True)
        pq.write_table(table(), tmp_path / name / "0" / "a.parquet")
    assert len(rb.Parquet(tmp_path, "y")) == ROWS


def test_texts_are_texts_whether_or_not_a_file_numbers_them(tmp_path):
    pq.write_table(pa.table({"g": ["a", "b"], "y": [0, 1]}), tmp_path / "0.parquet")
    coded = pa.array(["b", "c"]).dictionary_encode()
    pq.write_table(pa.table({"g": coded, "y": [0, 1]}), tmp_path / "1.parquet")
    assert rb.Parquet(tmp_path, "y").column("g").tolist() == ["a", "b", "b", "c"]
    pq.write_table(pa.table({"g": [1.5, 2.5], "y": [0, 1]}), tmp_path / "2.parquet")
    with pytest.raises(ValueError, match="write each column with one type in all files"):
        rb.Parquet(tmp_path, "y")


@pytest.mark.parametrize("paths", [[], None, ""])
def test_nothing_is_no_file(paths):
    with pytest.raises(ValueError, match=r"no file is given|a path is empty"):
        rb.Parquet(paths)


OBJECTS = {
    "lists": lambda i: [i % 3],
    "structs": lambda i: {"a": i % 3},
    "bytes": lambda i: bytes([97 + i % 4]),
    "gaps": lambda i: [i] if i % 2 else None,
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_objects_are_left_out_in_memory_and_on_disk(tmp_path, kind):
    """Lists, structs and bytes are not values; the same file gives the same model in either way."""
    rows = [OBJECTS[kind](i) for i in range(60)]
    x = np.random.default_rng(0).normal(size=60)
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": x, "odd": rows, "y": x > 0}), path)
    frames = [
        read_table(path),
        pq.read_table(path),
        pq.read_table(path).to_pandas(),
        pl.read_parquet(path),
    ]
    said = "'odd': left out: it holds lists, bytes or other objects"
    encodings = []
    for table in frames:
        with pytest.warns(UserWarning, match=said):
            encodings.append(fit_encoding(table, features=rb.Features(exclude=["y"])))
        assert "left out: it holds lists" in str(rb.inspect(table))
    assert {each.columns for each in encodings} == {encodings[0].columns}
    trained = fit_encoding(pd.DataFrame({"odd": ["a", "b", "a"], "x": [1.0, 2.0, 4.0]}))
    for table in (*frames, read_table(path, {"odd": "text"})):
        with pytest.raises(ValueError, match="column 'odd' holds lists, bytes or other objects"):
            trained.transform(table)


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "dictionary"])
def test_texts_of_every_type_are_texts(tmp_path, kind):
    if kind == "string_view" and not hasattr(pa, "string_view"):
        pytest.skip("this version of PyArrow has no string_view")
    city = np.random.default_rng(0).choice(["Rome", "Oslo", None], 90)
    x = np.random.default_rng(1).normal(size=90)
    texts = pa.array(city.tolist())
    texts = texts.dictionary_encode() if kind == "dictionary" else texts.cast(kind)
    table = pa.table({"x": x, "city": texts, "y": (x > 0).astype(int)})
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=20)
    promise = 'recall(city == "Rome") >= 0.5'
    expected = pd.DataFrame({"x": x, "city": city})
    decided = []
    label = table["y"].to_numpy()
    for rows in (table.drop_columns("y"), expected):
        features = rb.Features(["x", "city"])
        model = RateConstrainedClassifier(promise, confidence=None, features=features, random_state=0)
        model.fit(rows, label, columns=rows)
        assert [column.name for column in model.encoding_.columns] == ["x", "city"]
        decided.append(model.predict(table.drop_columns("y")))
        np.testing.assert_array_equal(model.predict(expected), decided[-1])
    assert read_table(path)["city"].tolist() == city.tolist()
    part = rb.Parquet(path, label="y").only(np.arange(0, 90, 2))
    assert part.plain_column("city") == city[::2].tolist()
    np.testing.assert_array_equal(decided[0], decided[1])


@pytest.mark.skipif(not hasattr(pa, "binary_view"), reason="this version of PyArrow has none")
def test_binary_views_are_bytes(tmp_path):
    rows = pa.table({"x": [1.0, 2.0, 4.0], "raw": pa.array([b"a", b"b", None], pa.binary_view())})
    pq.write_table(rows, tmp_path / "rows.parquet")
    for table in (rb.Parquet(tmp_path / "rows.parquet"), read_table(tmp_path / "rows.parquet"), rows):
        assert "left out: it holds lists, bytes" in str(rb.inspect(table))
    assert len(rb.Parquet(tmp_path / "rows.parquet").only(np.array([0, 2])).in_memory()) == 2
