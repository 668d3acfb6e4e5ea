"""The studio's server: one page, its script, its style, and their requests, on this machine only.

It listens on 127.0.0.1. Its address holds a secret token, compared in constant time; a request with
another host name, or from a page of another origin, is refused, whatever its token. So neither another
site in the same browser nor another name for this machine (DNS rebinding) reaches the table.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import sys
import threading
import time
import traceback
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from ratebound._old.base.extras import import_extra
from ratebound._old.base.progress import heard_by
from ratebound._old.studio import session
from ratebound._old.studio.making import WRITTEN
from ratebound._old.studio.session import State

HOST = "127.0.0.1"
LARGEST = 2**20  # bytes of a request
PAGE = {
    "": ("index.html", "text/html; charset=utf-8"),
    "studio.css": ("studio.css", "text/css; charset=utf-8"),
    "studio.js": ("studio.js", "text/javascript; charset=utf-8"),
}
TYPES = {".html": "text/html; charset=utf-8", ".json": "application/json", ".toml": "application/toml"}
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Refused(Exception):
    """A request that is not answered, with its status."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


@dataclass
class Job:
    """A long action, and its progress."""

    action: str
    started: float = field(default_factory=time.monotonic)
    done: int = 0
    total: int = 0
    unit: str = ""
    answer: dict[str, Any] | None = None
    error: str | None = None

    def told(self) -> dict[str, Any]:
        """The data for the page."""
        running = self.answer is None and self.error is None
        seconds = time.monotonic() - self.started
        own = {"action": self.action, "running": running, "seconds": round(seconds, 1)}
        return own | {name: getattr(self, name) for name in ("done", "total", "unit", "answer", "error")}


class Session:
    """The only state, and its locks."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.job: Job | None = None
        self.lock = threading.Lock()  # for the state and the job
        self.searching = threading.Lock()  # for exact answers; only the latest one counts
        self.latest = 0

    @property
    def busy(self) -> bool:
        return self.job is not None and self.job.answer is None and self.job.error is None

    def ask(self, action: str, given: dict[str, Any]) -> dict[str, Any]:
        """The answer to an action, or a notice that a long one has begun."""
        if action in session.LONG:
            return self._begin(action, given)
        if action not in session.ACTIONS:
            raise Refused(404, f"there is no action {action!r}")
        if action == "answer" and given.get("exact"):
            return self._latest(given)
        before = self.state
        after, answer = session.ACTIONS[action](before, given)
        if after is not before:
            with self.lock:
                if self.busy or self.state is not before:
                    raise ValueError("another action is still running: wait until it ends")
                self.state = after
        return answer

    def _latest(self, given: dict[str, Any]) -> dict[str, Any]:
        """An exact answer, unless a later one was requested meanwhile."""
        number = given.get("number", 0)
        self.latest = max(self.latest, number)
        with self.searching:
            if number < self.latest:
                return {"stale": True}
            return session.ACTIONS["answer"](self.state, given)[1]

    def _begin(self, action: str, given: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            if self.busy:
                raise ValueError("another action is still running: wait until it ends")
            job = self.job = Job(action)
        threading.Thread(target=self._work, args=(job, given), daemon=True).start()
        return job.told()

    def _work(self, job: Job, given: dict[str, Any]) -> None:
        def listen(done: int, total: int, unit: str) -> None:
            job.done, job.total, job.unit = done, total, unit

        try:
            with heard_by(listen):
                after, answer = session.LONG[job.action](self.state, given)
            json.dumps(answer, allow_nan=False)
            with self.lock:
                self.state = after
                job.answer = answer
        except (ValueError, TypeError, OSError, ImportError, FloatingPointError) as error:
            job.error = str(error)
        except Exception:
            print(traceback.format_exc(), file=sys.stderr)
            job.error = "this is a bug in ratebound: the terminal shows the lines to report"


def application(own: Session, token: str, port: int) -> Any:
    """The ASGI application, which answers only on this port and with this token."""
    starlette = import_extra("starlette.applications", "Starlette and uvicorn", "studio")
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    names = {f"{name}:{port}" for name in (HOST, "localhost")}

    def check(request: Request) -> None:
        if request.headers.get("host", "") not in names:
            raise Refused(403, "this address is for this machine only")
        origin = request.headers.get("origin")
        if origin is not None and origin not in {f"http://{name}" for name in names}:
            raise Refused(403, "requests from another site are refused")
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Refused(403, "requests from another site are refused")
        if not hmac.compare_digest(request.path_params["token"].encode(), token.encode()):
            raise Refused(403, "the token in the address is not right: take the one in the terminal")

    async def page(request: Request) -> Response:
        check(request)
        name = request.path_params.get("name", "")
        if name not in PAGE:
            raise Refused(404, "there is no such page")
        file, kind = PAGE[name]
        text = files(__package__).joinpath("page", file).read_text("utf-8")
        return Response(text, media_type=kind)

    async def act(request: Request) -> Response:
        check(request)
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            raise Refused(415, "requests are JSON")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LARGEST:
                raise Refused(413, "the request is too large")
        try:
            given = json.loads(body)
        except ValueError:
            raise Refused(400, "the request is not JSON") from None
        if not isinstance(given, dict):
            raise Refused(400, "a request is an object")
        action = request.path_params["action"]
        answer = await run_in_threadpool(own.ask, action, given)
        return JSONResponse(answer)

    async def job(request: Request) -> Response:
        check(request)
        return JSONResponse({} if own.job is None else own.job.told())

    async def file(request: Request) -> Response:
        check(request)
        name, folder = request.path_params["name"], own.state.written
        if folder is None or name not in WRITTEN:
            raise Refused(404, "there is no such file")
        path = Path(folder) / name
        told = {"Content-Disposition": f'attachment; filename="{name}"'}
        kind = TYPES.get(path.suffix, "application/octet-stream")
        return Response(path.read_bytes(), media_type=kind, headers=told)

    def answered(handler: Callable[..., Any]) -> Callable[..., Any]:
        """Add the headers of every answer, and turn errors into words."""

        async def call(request: Request) -> Response:
            try:
                response = await handler(request)
            except Refused as refusal:
                response = JSONResponse({"error": str(refusal)}, refusal.status)
            except (ValueError, TypeError, KeyError, OSError, ImportError) as error:
                response = JSONResponse({"error": _words(error)}, 400)
            except Exception:
                print(traceback.format_exc(), file=sys.stderr)
                words = "this is a bug in ratebound: the terminal shows the lines to report"
                response = JSONResponse({"error": words}, 500)
            response.headers.update(HEADERS)
            return response

        return call

    routes = [
        Route("/{token}/", answered(page)),
        Route("/{token}/api/{action}", answered(act), methods=["POST"]),
        Route("/{token}/job", answered(job)),
        Route("/{token}/file/{name}", answered(file)),
        Route("/{token}/{name}", answered(page)),
    ]
    return starlette.Starlette(routes=routes)


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split()) or type(error).__name__


@dataclass(frozen=True)
class Served:
    """A server that runs, and where."""

    address: str
    server: Any
    thread: threading.Thread

    def stop(self) -> None:
        """End it."""
        self.server.should_exit = True
        self.thread.join()


def serve(state: State, port: int = 0) -> Served:
    """Serve the studio in its own thread; port 0 takes any free port."""
    address, server, listening = _prepared(state, port)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    return Served(address, server, thread)


def _prepared(state: State, port: int) -> tuple[str, Any, socket.socket]:
    uvicorn = import_extra("uvicorn", "Starlette and uvicorn", "studio")
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((HOST, port))
    port, token = listening.getsockname()[1], secrets.token_urlsafe(24)
    app = application(Session(state), token, port)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, lifespan="off"
    )
    return f"http://{HOST}:{port}/{token}/", uvicorn.Server(config), listening


def studio(
    data: str,
    out: Path | None = None,
    port: int = 0,
    browser: bool = True,
) -> int:
    """Serve the studio until it is interrupted."""
    import_extra("uvicorn", "Starlette and uvicorn", "studio")
    address, server, listening = _prepared(session.started(data, out), port)
    print(f"The studio is at {address}\nIt is for this machine only; Ctrl-C ends it.", flush=True)
    if browser:
        webbrowser.open(address)
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
    return 0
