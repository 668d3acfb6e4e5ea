"""The service, over a real socket of this machine."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest

import ratebound as rb
from ratebound._old.commands.serve import Server, Service, digest_of

pandas = pytest.importorskip("pandas")


def people(n=400, seed=0):
    random = np.random.default_rng(seed)
    table = pandas.DataFrame(
        {
            "age": random.integers(20, 60, n),
            "income": random.normal(3, 1, n),
            "job": random.choice(["clerk", "nurse"], n),
            "sex": random.choice(["f", "m"], n),
        }
    )
    y = table["income"] + (table["job"] == "nurse") + random.normal(0, 0.7, n) > 3.2
    return table, np.where(y, "yes", "no")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    table, y = people()
    model = rb.RateConstrainedClassifier(
        'positive_rate(sex == "f") <= 0.45',
        features=["age", "income", "job"],
        confidence=None,
        random_state=0,
    )
    folder = tmp_path_factory.mktemp("model")
    model.fit(table, y).save(folder)
    return folder


@contextmanager
def served(folder, **options):
    key = options.pop("key", None)
    service = Service(rb.load(folder), digest_of(folder), key)
    with Server(("127.0.0.1", 0), service, **options) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.stop()
            thread.join()


def ask(port, body, path="/decide", method="POST", kind="application/json"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    content = body if isinstance(body, bytes) else json.dumps(body)
    connection.request(method, path, content, {"Content-Type": kind})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


@pytest.fixture(scope="module")
def port(folder):
    with served(folder, max_bytes=5000) as port:
        yield port


def test_a_row_and_rows_are_decided_as_by_the_model(port, folder):
    table, _ = people(20, seed=1)
    records, model = json.loads(table.to_json(orient="records")), rb.load(folder)
    status, answers = ask(port, records)
    assert status == 200
    assert [each["decision"] for each in answers] == model.predict(records).tolist()
    np.testing.assert_allclose(
        [each["probability"] for each in answers], model.predict_proba(records)[:, 1]
    )
    assert [each["reasons"] for each in answers] == model.reasons(records).against()
    assert ask(port, records[0]) == (200, answers[0])
    assert ask(port, []) == (200, [])


def test_the_same_id_gets_the_answer_of_predict(folder):
    table, _ = people(60, seed=2)
    records = json.loads(table.assign(id=range(60)).to_json(orient="records"))
    with served(folder, key="id") as port:
        status, answers = ask(port, records)
        assert status == 200
        expected = rb.load(folder).predict(table, key=np.arange(60)).tolist()
        assert [each["decision"] for each in answers] == expected
        spelled = [row | {"id": str(row["id"])} for row in records]
        assert ask(port, spelled) == (200, answers)
        assert ask(port, spelled[7]) == (200, answers[7])
        assert ask(port, {"age": 30, "income": 3.0, "job": "clerk"})[0] == 400


def test_it_says_that_it_is_there(port, folder):
    status, health = ask(port, b"", "/health", "GET")
    assert status == 200
    assert health["status"] == "ok"
    assert health["model"] == digest_of(folder)
    assert health["promises"] == ['positive_rate(sex == "f") <= 0.45']
    assert health["columns"] == ["age", "income", "job"]


ROW = {"age": 30, "income": 3.0, "job": "clerk"}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "Expecting property name"),
        (b"3", "send a row as a JSON object"),
        (b'"a"', "send a row as a JSON object"),
        (b"null", "send a row as a JSON object"),
        (b"[1, 2]", "send a row as a JSON object"),
        (b'{"age": NaN}', "NaN, which is not JSON"),
        (b"\xff\xfe", ""),
        (b"[" * 4000, ""),
        ({"age": 30, "job": "clerk"}, "row 0 has no 'income'"),
        ([ROW, {"age": 30}], "row 1 has no 'income'"),
        (ROW | {"incom": 3}, "'incom' is not a column that the model was trained with, did you mean"),
        (ROW | {"income": [1]}, "holds list, not one value"),
        (ROW | {"income": {"a": 1}}, "column 'income'"),
    ],
)
def test_what_cannot_be_read_is_a_bad_request(port, body, words):
    status, answer = ask(port, body)
    assert status == 400
    assert words in answer["error"]


@pytest.mark.parametrize(
    ("call", "status"),
    [
        ({"body": b" " * 6000}, 413),
        ({"body": ROW, "kind": "text/plain"}, 415),
        ({"body": b"", "path": "/decide", "method": "GET"}, 405),
        ({"body": b"", "path": "/", "method": "GET"}, 404),
        ({"body": ROW, "path": "/../model.safetensors"}, 404),
    ],
)
def test_other_requests_are_refused(port, call, status):
    assert ask(port, **call)[0] == status


def test_a_request_says_how_long_it_is(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.putrequest("POST", "/decide")
    connection.putheader("Content-Type", "application/json")
    connection.endheaders()
    assert connection.getresponse().status == 411


def test_what_training_has_not_seen_is_noted(port):
    status, answer = ask(port, ROW | {"job": "smith"})
    assert status == 200
    assert "unlike any in training" in answer["notes"][0]
    assert "notes" not in ask(port, ROW)[1]


def test_many_at_once_get_the_same_answers(port):
    table, _ = people(12, seed=3)
    records = json.loads(table.to_json(orient="records"))
    expected, answers = ask(port, records)[1], {}
    threads = [
        threading.Thread(target=lambda place=place: answers.update({place: ask(port, records[place])}))
        for place in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answers[place] for place in range(12)] == [(200, each) for each in expected]


def test_very_many_at_once_are_all_answered(port):
    """More than a system keeps waiting by default."""
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(ask(port, ROW)[0])) for _ in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * 60


def test_a_client_that_sends_too_much_gets_to_read_why(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", "/decide", b" " * 200_000, {"Content-Type": "application/json"})
    response = connection.getresponse()
    assert (response.status, "send fewer rows" in response.read().decode()) == (413, True)


def test_it_stops_when_asked_to(folder):
    command = [sys.executable, "-m", "ratebound", "serve", str(folder), "--port", "0", "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        try:
            line = process.stderr.readline()
            port = int(line.rpartition(":")[2])
            assert "127.0.0.1" in line
            assert ask(port, ROW)[0] == 200
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()
    with pytest.raises(ConnectionRefusedError):
        ask(port, ROW)
