"""A language model behind an endpoint of this machine: it answers as the scripted models do."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.scripted_models import MODELS

KEY = "sk-fake-0123456789abcdef"


class Endpoint(ThreadingHTTPServer):
    """A server that answers as the scripted models do, after the faults that it is told to make first."""

    daemon_threads = True
    request_queue_size = 64  # connections that wait to be taken: of more, some are lost for a second

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.faults: list[tuple[int, str] | None] = []  # None lets a request pass
        self.requests: list[dict[str, Any]] = []
        self.authorizations: set[str | None] = set()
        self.at_once, self.most_at_once = 0, 0
        self.barrier: threading.Barrier | None = None
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def log_message(self, *arguments: Any) -> None:
        pass

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        authorization, server = self.headers["Authorization"], self.server
        with server.lock:
            server.requests.append(request)
            server.authorizations.add(authorization)
            fault = server.faults.pop(0) if server.faults else None
        if fault is not None:
            self._send(fault[0], {"error": {"message": f"{fault[1]} (you sent {authorization})"}})
        elif self.path != "/v1/chat/completions":
            self._send(404, {"error": {"message": "nothing is here"}})
        else:
            if server.barrier is not None:
                try:
                    server.barrier.wait()
                except threading.BrokenBarrierError:
                    return  # nobody waits for the reply any more
            name = request["model"]
            reply = f"{authorization} [4]" if name == "echo" else self._reply(name, request)
            message = {"role": "assistant", "content": reply}
            choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
            completion = {"id": "1", "object": "chat.completion", "created": 0, "model": name}
            self._send(200, {"no": "choices"} if name == "nothing" else {**completion, "choices": choices})

    def _reply(self, name: str, request: dict[str, Any]) -> str | None:
        return None if name in ("silent", "nothing") else MODELS[name](request["messages"][-1]["content"])

    def _send(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("retry-after-ms", "1")
        self.end_headers()
        self.wfile.write(content)
