"""A server of a model over HTTP, with Python's `http.server`, and a client that uses it.

The service bounds the length of requests, the time for them to arrive, and the number of connections: clients that are
slow, many, or lie about lengths stop nobody. Limits for each address, TLS and authentication belong in front of it.
"""

from __future__ import annotations

import re
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np

import latticework as lw

LARGEST = 1_000_000  # bytes of a request; inputs of this program take less
CONNECTIONS = 32  # at a time
SECONDS = 10.0  # for a request to arrive, and for its answer to be taken


@lw.program
def score(x: lw.Secret[8], weights):
    return np.square(x) @ weights


class Service(ThreadingHTTPServer):
    """Answers POST requests, encrypted inputs of one client, with encrypted results, at any free port of this host."""

    request_queue_size = CONNECTIONS

    def __init__(self, server: lw.Server, seconds: float = SECONDS) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.computes = server
        self.seconds = seconds
        self.computing = threading.Lock()  # a run uses all cores, so they go one after the other
        self.places = threading.Semaphore(CONNECTIONS)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"

    def process_request(self, request: Any, address: Any) -> None:
        if self.places.acquire(blocking=False):
            super().process_request(request, address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, address: Any) -> None:
        try:
            super().process_request_thread(request, address)
        finally:
            self.places.release()


class Answer(BaseHTTPRequestHandler):
    """One connection."""

    server: Service

    def setup(self) -> None:
        self.timeout = self.server.seconds
        super().setup()
        self.deadline = threading.Timer(self.timeout, self.hang_up)  # the timeout alone begins anew with every byte
        self.deadline.daemon = True
        self.deadline.start()

    def hang_up(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def finish(self) -> None:
        self.deadline.cancel()
        super().finish()

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,9}", length) or int(length) > LARGEST:
            return self.answer(413, f"give a Content-Length of at most {LARGEST} bytes".encode())
        data = self.rfile.read(int(length))
        self.deadline.cancel()
        if len(data) < int(length):  # it did not arrive
            return None
        computes = self.server.computes
        try:
            with self.server.computing:
                status, body = 200, computes(computes.load_encrypted(data)).to_bytes()
        except lw.UserError as error:  # what does not fit, without the server's file and line
            status, body = 400, error.message.encode()
        return self.answer(status, body)

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serving(server: lw.Server, seconds: float = SECONDS) -> Iterator[Service]:
    """A service that runs until the block ends."""
    service = Service(server, seconds)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    try:
        yield service
    finally:
        service.shutdown()
        service.server_close()


def ask(service: str, client: lw.Client, x: Any) -> Any:
    """The result for x: encrypted and decrypted here, computed at that address."""
    with urlopen(Request(service, data=client.encrypt(x).to_bytes())) as response:
        return client.decrypt(client.load_encrypted(response.read()))


def run() -> tuple[Any, Any, str]:
    """A result over HTTP, the same in the clear, and how the service refuses what is no ciphertext."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(8, 3))
    model = lw.compile(score, weights=(weights,), calibrate=rng.uniform(-1, 1, size=(100, 8)))
    x = np.array([0.5, -0.25, 0, 1, 0, 0, 0.125, -1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model.save(folder / "model.lwplan")  # for the server
        model.client().save(folder / "model.lwclient")  # for the client, which sends keys without the secret one
        client = lw.Client.load(folder / "model.lwclient")
        client.keygen().public().save(folder / "for-server")
        with serving(lw.Server.load(folder / "model.lwplan", folder / "for-server")) as service:
            result = ask(service.url, client, x).reveal()
            try:
                urlopen(Request(service.url, data=b"not a ciphertext"))
                refusal = ""
            except HTTPError as error:
                refusal = f"{error.code} {error.read().decode()}"
    return result, score(x, weights), refusal


if __name__ == "__main__":
    found, expected, refusal = run()
    print("over HTTP:", found)
    print("in the clear:", expected)
    print("no ciphertext:", refusal)
    assert np.allclose(found, expected, atol=0.01)
