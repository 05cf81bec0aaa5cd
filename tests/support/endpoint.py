"""A language model behind an endpoint of this machine that answers like the scripted models."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.support.scripted_models import MODELS

Fault = tuple[int, str] | Callable[["Exchange"], None]
"""A fault sent instead of a reply: a status with a message, or a function that acts on the connection."""
KEY = "sk-fake-0123456789abcdef"


class Endpoint(ThreadingHTTPServer):
    """A server that answers like the scripted models, after the faults that it is given."""

    daemon_threads = True
    request_queue_size = 64  # pending connections: beyond this number, some are delayed by a second

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Exchange)
        self.faults: list[Fault | None] = []  # None lets a request pass
        self.lasting: Fault | None = None  # the fault of all later requests
        self.requests: list[dict[str, Any]] = []
        self.authorizations: set[str | None] = set()
        self.at_once, self.most_at_once = 0, 0
        self.barrier: threading.Barrier | None = None
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Exchange(BaseHTTPRequestHandler):
    server: Endpoint

    def log_message(self, *arguments: Any) -> None:
        pass

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        authorization, server = self.headers["Authorization"], self.server
        with server.lock:
            server.requests.append(request)
            server.authorizations.add(authorization)
            fault = server.faults.pop(0) if server.faults else server.lasting
        if callable(fault):
            fault(self)
        elif fault is not None:
            self.send(fault[0], {"error": {"message": f"{fault[1]} (you sent {authorization})"}})
        elif self.path != "/v1/chat/completions":
            self.send(404, {"error": {"message": "nothing is here"}})
        else:
            if server.barrier is not None:
                try:
                    server.barrier.wait()
                except threading.BrokenBarrierError:
                    return  # no client waits for the reply any more
            name = request["model"]
            is_echo = name == "echo"
            reply = f"{authorization} [4]" if is_echo else MODELS[name](request["messages"][-1]["content"])
            self.send(200, completion(content=reply))

    def send(self, status: int, body: object, **headers: str) -> None:
        """Send a body, as JSON unless it is bytes, and request a short pause before the next attempt."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content_Type": "application/json", "Retry_After": "0.001", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def completion(finish_reason: str = "stop", **message: object) -> dict[str, Any]:
    """A chat completion with this message."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    return {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}


@contextmanager
def serving(patch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """A language model that listens on this machine, and its key in the environment."""
    pytest.importorskip("openai")
    patch.setenv("OPENAI_API_KEY", KEY)
    patch.setenv("NO_PROXY", "127.0.0.1")
    with Endpoint() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
