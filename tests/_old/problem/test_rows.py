"""A source of rows as a user would write it: an SQLite query, against the same rows in memory."""

import sqlite3

import numpy as np
import pytest

import ratebound._old as rb

PIECE, ROWS = 300, 1000


class Query(rb.Rows):
    """Rows of a table in SQLite, `PIECE` of them at a time."""

    column_names = ("sex", "age")

    def __init__(self, path):
        self.path = path
        ((rows,),) = self.ask("select count(*) from people")
        self.piece_sizes = [min(PIECE, rows - start) for start in range(0, rows, PIECE)]

    def ask(self, words):
        with sqlite3.connect(self.path) as database:
            return database.execute(words).fetchall()

    def read(self, place, names):
        first = place * PIECE
        rows = self.ask(
            f"select {', '.join(names)} from people where rowid > {first} and rowid <= {first + PIECE}"
        )
        return dict(zip(names, zip(*rows, strict=True), strict=True))

    def piece(self, place, columns=(), *, inputs=False):
        seen = ["a", "b"] if inputs else []
        values = self.read(place, ["repaid", "weight", *columns, *seen])
        return rb.Population(
            np.column_stack([values[name] for name in seen]) if inputs else None,
            values["repaid"],
            columns={name: values[name] for name in columns},
            weights=values["weight"],
            classes=["no", "yes"],
        )


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 2))
    sex = np.where(rng.random(ROWS) < 0.4, "F", "M")
    y = np.where(X[:, 0] - 0.7 * (sex == "F") + rng.normal(size=ROWS) > 0, "yes", "no")
    columns = {"sex": sex, "age": rng.integers(18, 80, ROWS)}
    return rb.Population(X, y, columns=columns, weights=rng.integers(1, 4, ROWS))


@pytest.fixture
def query(people, tmp_path):
    path = tmp_path / "people.db"
    y = np.where(people.y, "yes", "no")
    parts = (
        people.X[:, 0],
        people.X[:, 1],
        people.column("sex"),
        people.column("age"),
        y,
        people.weights,
    )
    with sqlite3.connect(path) as database:
        database.execute(
            "create table people (a real, b real, sex text, age int, repaid text, weight real)"
        )
        rows = zip(*(part.tolist() for part in parts), strict=True)
        database.executemany("insert into people values (?, ?, ?, ?, ?, ?)", rows)
    return Query(path)


PROBLEM = rb.Problem(
    "error_rate()", ["minimum_recall(sex, at_least=0.6)", "positive_rate(age < 30) <= 0.6"]
)


def test_a_query_is_compiled_as_the_same_rows_are(query, people):
    read, known = rb.compile(PROBLEM, query), rb.compile(PROBLEM, people)
    scores = np.random.default_rng(1).normal(size=ROWS)
    for ours, theirs in zip(read.evaluate(scores), known.evaluate(scores), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    assert (query.y == people.y).all()
    assert query.classes == people.classes == ("no", "yes")
    assert repr(query) == f"Query(1,000 rows, {people.y.sum()} positive, columns sex, age)"


def test_a_query_is_trained_on_audited_and_certified_as_the_same_rows_are(query, people):
    options = {"epochs": 4, "batch_size": 50, "rules": rb.Rules(shuffle=False), "seed": 0}
    first = np.arange(ROWS) < 400
    models = [
        rb.shrink(rb.play(rb.compile(PROBLEM, rows.only(first)), rb.Linear(), **options))
        for rows in (query, people)
    ]
    assert models[0].status.message == models[1].status.message
    ours, theirs = (rb.audit(PROBLEM, models[0], rows) for rows in (query, people))
    np.testing.assert_array_equal(models[0].predict(people.X), models[1].predict(people.X))
    for one, other in zip(ours.promises, theirs.promises, strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-12)
        assert (one.words, one.kept) == (other.words, other.kept)
    assert ours.groups[0].rows == theirs.groups[0].rows == ROWS
    proved = [rb.certify(PROBLEM, models[0], rows.only(~first)) for rows in (query, people)]
    for one, other in zip(proved[0].promises, proved[1].promises, strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-12)
        assert one.holds == other.holds


def test_a_query_is_inspected_piece_by_piece_as_the_same_rows_are(query, people):
    assert str(rb.inspect(query)) == str(rb.inspect(people))
    assert str(rb.inspect(query, label="age")) == str(rb.inspect(people, label="age"))
    with pytest.raises(ValueError, match="there is no label column 'agee'"):
        rb.inspect(query, label="agee")


def test_windows_hold_as_many_pieces_as_memory_allows(query, people):
    query.memory = 3 * PIECE * (2 * 8 + 16)  # enough for three windows of one piece each
    numbers = np.concatenate(list(query.features.windows(np.random.default_rng(0))))
    assert sorted(numbers.tolist()) == list(range(ROWS))
    np.testing.assert_array_equal(query.features.take(numbers[-50:]), people.X[numbers[-50:]])


def test_parts_of_a_query_and_what_an_encoding_makes_of_it(query, people):
    chosen = people.column("sex") == "F"
    part, there = query.only(chosen).only(np.arange(0, int(chosen.sum()), 2)), people.only(chosen)
    there = there.only(np.arange(0, len(there), 2))
    assert part.column("age").tolist() == there.column("age").tolist()
    assert (part.y == there.y).all()
    assert (part.weights == there.weights).all()
    doubled = part.seen_through(lambda X: 2 * X)
    np.testing.assert_array_equal(doubled.features.everything(), 2 * there.X)
    whole = doubled.in_memory()
    np.testing.assert_array_equal(whole.X, 2 * there.X)
    assert whole.column("sex").tolist() == there.column("sex").tolist()
    assert part.digest != query.digest


def test_what_a_source_lacks_is_said(query):
    with pytest.raises(ValueError, match="there is no column 'sexe', did you mean 'sex'"):
        rb.compile(rb.Problem("error_rate()", ['recall(sexe == "F") >= 0.5']), query)
    query.memory = 100
    with pytest.raises(ValueError, match=r"a piece of Query.* allow more, or make pieces"):
        query.features  # noqa: B018


def test_pieces_name_all_labels():
    class Unnamed(rb.Rows):
        column_names, piece_sizes = (), (2, 2)

        def piece(self, place, columns=(), *, inputs=False):
            return rb.Population(None, [["a", "b"], ["a", "c"]][place])

    with pytest.raises(ValueError, match=r"pieces of Unnamed have different labels: .* classes="):
        rb.compile(rb.Problem("error_rate()"), Unnamed())
