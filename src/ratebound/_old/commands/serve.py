"""``ratebound serve``: a saved model behind HTTP, with the standard library alone.

``POST /decide`` takes one row as a JSON object, or several as a list of them, and answers in kind: the
decision, the probability of the label, what the objective and each promise add to the score, and for a
no the columns that count most against a yes. ``GET /health`` says that the service runs, and what it
serves. The same row, or the same id, gets the same answer as from ``ratebound predict``.

It is for one machine or behind a proxy: it has no passwords and no encryption, and by default it listens
on the local address only. Rows are never written to the log.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import warnings
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NoReturn

from ratebound._old.base.tensors import read_tensors
from ratebound._old.base.types import Array
from ratebound._old.commands.saved import load_for_tables, rows_for, truths
from ratebound._old.estimators.policy import Policy
from ratebound._old.rates.kinds import label_classes
from ratebound._old.solution.files import NAME
from ratebound._old.solution.reasons import Reasons, reasons
from ratebound._old.tables.cells import as_ids
from ratebound._old.tables.records import check_names, is_records, table_of

PORT, MOST_BYTES = 8000, 2**20
PASSED_OVER = 64  # times the largest request are read of one that is larger still
PATIENCE = 10.0  # seconds that a client may be silent for


def serve(
    model: Path,
    host: str = "127.0.0.1",
    port: int = PORT,
    key: str | None = None,
    max_bytes: int = MOST_BYTES,
    trusted: Sequence[str] = (),
    quiet: bool = False,
) -> int:
    """Answer requests until SIGTERM or Ctrl-C; requests under way are still answered."""
    service = Service(load_for_tables(model, trusted), digest_of(model), key)
    with Server((host, port), service, max_bytes, quiet) as server:
        stops = [signal.SIGTERM, signal.SIGINT]
        before = [signal.signal(each, lambda *_: server.stop()) for each in stops]
        try:
            name, number = server.server_address[:2]
            print(f"ratebound: serving {model} at http://{name!s}:{number}", file=sys.stderr, flush=True)
            server.serve_forever(poll_interval=0.1)
        finally:
            for each, handler in zip(stops, before, strict=True):
                signal.signal(each, handler)
    return 0


def digest_of(model: Path) -> str:
    """The digest of a model's file, to tell models apart."""
    return str(read_tensors(model / NAME if model.is_dir() else model)[0]["digest"])


class Service:
    """A model that answers rows as JSON."""

    def __init__(self, model: Policy, digest: str, key: str | None = None) -> None:
        assert model.encoding is not None
        self.model, self.digest, self.key = model, digest, key
        seen = [*(column.name for column in model.encoding.columns), *model.decider.known]
        given = [*(each.name for each in model.encoding.treatments), *model.problem.columns]
        self.names = list(dict.fromkeys([*seen, *given, *([key] if key else [])]))
        self.needs = list(dict.fromkeys([*seen, *([key] if key else [])]))
        self._one_at_a_time = threading.Lock()  # warnings are caught for the whole process

    def health(self) -> dict[str, Any]:
        """That the service runs, and what it serves."""
        return {
            "status": "ok",
            "model": self.digest,
            "promises": [str(each) for each in self.model.problem.subject_to],
            "feasible": self.model.status.feasible,
            "columns": [str(name) for name in self.needs],
            "key": self.key,
        }

    def decide(self, request: Any) -> Any:
        """The answer to one row, or a list of the answers to several."""
        if request == []:
            return []
        if not is_records(request):
            raise ValueError("send a row as a JSON object, or a list of such rows")
        rows = [request] if isinstance(request, dict) else request
        assert self.model.encoding is not None
        table = table_of(rows, self.model.encoding, [name for name in self.needs if name != self.key])
        check_names(rows, self.names)
        ids = None if self.key is None else as_ids(table.column(self.key, "key"))
        with self._one_at_a_time, warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            why = reasons(self.model, rows_for(self.model, table), truths(self.model, table), ids)
        notes = [str(each.message) for each in told if issubclass(each.category, UserWarning)]
        answers = [self._answer(why, row, against) for row, against in enumerate(why.against())]
        for answer in answers if notes else ():
            answer["notes"] = notes
        return answers[0] if isinstance(request, dict) else answers

    def _answer(self, why: Reasons, row: int, against: list[str]) -> dict[str, Any]:
        return {
            "decision": _plain(why.decisions[row]),
            "probability": self._probability(why.probabilities[row]),
            "score": float(why.scores[row]),
            "parts": dict(zip(why.names, map(float, why.parts[row]), strict=True)),
            "reasons": against,
        }

    def _probability(self, chances: Array) -> float | dict[str, float]:
        """The probability of a yes, or with more than two labels of each."""
        labels = self.model.classes_.tolist()
        if len(labels) == 2:
            return float(chances[labels.index(_plain(label_classes(self.model.classes)[1]))])
        return {str(label): float(chance) for label, chance in zip(labels, chances, strict=True)}


class Server(ThreadingHTTPServer):
    """Hands requests to a service, each in its own thread; closing waits for requests under way."""

    daemon_threads, block_on_close = False, True
    request_queue_size = 128  # that wait to be accepted; further ones are turned away by the system

    def __init__(
        self, address: tuple[str, int], service: Service, max_bytes: int = MOST_BYTES, quiet: bool = True
    ) -> None:
        self.service, self.max_bytes, self.quiet = service, max_bytes, quiet
        super().__init__(address, Handler)

    def stop(self) -> None:
        """End `serve_forever`, also from within it, as a signal does."""
        threading.Thread(target=self.shutdown, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    """One request, and its answer as JSON."""

    server: Server
    server_version = "ratebound"
    timeout = PATIENCE

    def do_GET(self) -> None:
        if self.path == "/health":
            self._send(HTTPStatus.OK, self.server.service.health())
        elif self.path == "/decide":
            self._refuse(HTTPStatus.METHOD_NOT_ALLOWED, "POST /decide takes a row, or a list of rows")
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "there are POST /decide and GET /health")

    def do_POST(self) -> None:
        if self.path != "/decide":
            self._refuse(HTTPStatus.NOT_FOUND, "there are POST /decide and GET /health")
            return
        if self.headers.get_content_type() != "application/json":  # other types a web page could send
            reason = "send JSON, with the header Content-Type: application/json"
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, reason)
            return
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            self._refuse(
                HTTPStatus.LENGTH_REQUIRED, "give the length of the request, with Content-Length"
            )
            return
        if int(length) > self.server.max_bytes:
            reason = f"at most {self.server.max_bytes:,} bytes: send fewer rows at a time"
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason)
            self._pass_over(min(int(length), PASSED_OVER * self.server.max_bytes))
            return
        try:
            request = json.loads(self.rfile.read(int(length)), parse_constant=_no_number)
            answer = self.server.service.decide(request)
        except RecursionError:
            self._refuse(HTTPStatus.BAD_REQUEST, "the request holds too many nested lists")
        except (ValueError, TypeError) as error:  # wrong JSON, columns or values
            self._refuse(HTTPStatus.BAD_REQUEST, str(error))
        except Exception as error:
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, "this row could not be decided")
            print(f"ratebound: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        else:
            self._send(HTTPStatus.OK, answer)

    def _pass_over(self, length: int) -> None:
        """Read what is not wanted, so that a client that is still sending gets to read the answer."""
        self.close_connection = True
        while length > 0 and (part := self.rfile.read(min(length, 2**16))):
            length -= len(part)

    def _refuse(self, status: HTTPStatus, words: str) -> None:
        self._send(status, {"error": words})

    def _send(self, status: HTTPStatus, answer: Any) -> None:
        content = json.dumps(answer, allow_nan=False, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        if not self.server.quiet:
            super().log_message(format, *args)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"it holds {text}, which is not JSON: write null for a missing value")
