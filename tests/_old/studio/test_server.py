"""The server answers its own page alone, with its token, by its own name and from its own origin."""

import http.client
import json
from urllib.parse import urlsplit

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")
pytest.importorskip("starlette", reason="Starlette is not installed")

from ratebound._old.studio.server import serve


@pytest.fixture(scope="module")
def served(start):
    own = serve(start)
    yield own
    own.stop()


def request(served, path="", method="GET", body=None, token=None, **headers):
    at = urlsplit(served.address)
    connection = http.client.HTTPConnection(at.hostname, at.port, timeout=30)
    place = at.path if token is None else f"/{token}/"
    given = {"Content-Type": "application/json"} if body is not None else {}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, f"{place}{path}", body, given)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response, content


def test_the_page_and_its_parts_are_served_with_a_policy(served):
    for path in ("", "studio.css", "studio.js"):
        response, content = request(served, path)
        assert response.status == 200
        assert content
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]
        assert response.headers["Cache-Control"] == "no-store"
        assert "access-control-allow-origin" not in {name.lower() for name in response.headers}
        assert b"http://" not in content
        assert b"https://" not in content


def test_it_listens_on_this_machine_alone(served):
    (socket,) = served.server.servers[0].sockets
    assert socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_strangers_are_refused_whatever_token_they_have(served, headers):
    for path, method, body in (("", "GET", None), ("api/start", "POST", "{}"), ("job", "GET", None)):
        response, content = request(served, path, method, body, **headers)
        assert response.status == 403
        assert b"people.csv" not in content


def test_another_port_is_another_origin(served):
    port = urlsplit(served.address).port
    assert request(served, "api/start", "POST", "{}", Origin=f"http://127.0.0.1:{port}")[0].status == 200
    assert (
        request(served, "api/start", "POST", "{}", Origin=f"http://127.0.0.1:{port + 1}")[0].status
        == 403
    )


@pytest.mark.parametrize("token", ["x", "é", "a" * 32])
def test_nothing_is_there_without_the_token(served, token):
    response, content = request(served, "api/start", "POST", "{}", token=token.encode().hex())
    assert response.status == 403
    assert b"people.csv" not in content


def test_requests_that_are_none_are_refused(served):
    assert request(served, "api/start", "POST", "{}", Content_Type="text/plain")[0].status == 415
    assert request(served, "api/start", "POST", "{")[0].status == 400
    assert request(served, "api/start", "POST", "[]")[0].status == 400
    assert request(served, "api/start", "POST", " " * (2**20 + 1))[0].status == 413
    assert request(served, "api/nothing", "POST", "{}")[0].status == 404
    assert request(served, "api/start")[0].status == 405
    assert request(served, "file/..%2f..%2fetc%2fpasswd")[0].status == 404
    assert request(served, "file/report.html")[0].status == 404  # nothing was signed
    response, content = request(served, "api/choose", "POST", json.dumps({"label": "nothing"}))
    assert response.status == 400
    assert "nothing" in json.loads(content)["error"]
