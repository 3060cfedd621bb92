"""The example service over HTTP, among clients that are slow, many, or lie about lengths."""

import contextlib
import re
import socket
import threading
import time
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pytest
from e2e_cases import example

import latticework as lw

http_service = example("http_service")


@lw.program
def double(x: lw.Secret[4]):
    return 2 * x


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the service reads, and a request."""
    folder = tmp_path_factory.mktemp("service")
    model = lw.compile(double, ring_degree=1024, insecure=True, precision_bits=8)
    model.save(folder / "model.lwplan")
    client = model.client(threads=1)
    client.keygen().public().save(folder / "for-server")
    return SimpleNamespace(path=folder, client=client, request=client.encrypt(np.ones(4)).to_bytes())


def served(folder, **options):
    """The service of the folder's files, while the block runs."""
    return http_service.serving(lw.Server.load(folder.path / "model.lwplan", folder.path / "for-server"), **options)


@pytest.fixture(scope="module")
def running(folder):
    with served(folder) as running:
        yield running


def exchanged(running, sent):
    """What comes back on a connection until the service ends it."""
    with socket.create_connection(running.server_address, timeout=20) as connection:
        connection.sendall(sent)
        parts = []
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def status_of(answer):
    return int(re.match(rb"HTTP/1\.\d (\d+) ", answer)[1])


def is_served(running, folder):
    """Whether an honest client gets its result."""
    url = running.url
    with urlopen(Request(url, data=folder.request), timeout=20) as response:
        result = folder.client.decrypt(folder.client.load_encrypted(response.read()))
    return np.allclose(result.reveal(), 2, atol=0.1)


@pytest.mark.parametrize(
    "length",
    [b"-1", b"+5", b"", b" ", b"1e3", b"0x10", b"1_0", b"five", b"1000001", b"999999999", b"9" * 5000, "\u0665".encode(),
     b"3, 3", b"1 1", b"3.0"],
)  # fmt: skip
def test_lengths_that_are_none_or_too_large_are_refused(running, folder, length):
    answer = exchanged(running, b"POST / HTTP/1.0\r\nContent-Length: " + length + b"\r\n\r\n")
    assert status_of(answer) == 413 and answer.endswith(b"give a Content-Length of at most 1000000 bytes")
    assert is_served(running, folder)


@pytest.mark.parametrize("more", [b"", b"Transfer-Encoding: chunked\r\n"])
def test_a_missing_length_is_refused(running, more):
    assert status_of(exchanged(running, b"POST / HTTP/1.0\r\n" + more + b"\r\n")) == 413


def test_what_is_no_request_for_the_program_is_refused(running, folder):
    assert status_of(exchanged(running, b"POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc")) == 400
    assert status_of(exchanged(running, b"POST / HTTP/1.0\r\nContent-Length: 0\r\n\r\n")) == 400
    assert status_of(exchanged(running, b"GET / HTTP/1.0\r\n\r\n")) == 501
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(running.url, data=b"none"), timeout=20)
    with refused.value as answer:
        assert answer.code == 400 and answer.read()
    assert is_served(running, folder)


def test_clients_that_wait_stop_nobody(running, folder):
    beginnings = (
        b"",
        b"POST",
        b"POST / HTTP/1.0\r\nContent-Length: 9\r\n",
        b"POST / HTTP/1.0\r\nContent-Length: 9\r\n\r\nab",
    )
    with contextlib.ExitStack() as stack:
        for beginning in beginnings * 5:
            idle = stack.enter_context(socket.create_connection(running.server_address, timeout=20))
            idle.sendall(beginning)
        assert is_served(running, folder)


def test_connections_are_bounded(running, folder):
    assert http_service.CONNECTIONS == 32
    before = threading.active_count()
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.create_connection(running.server_address, timeout=20)) for _ in range(40)]
        ended = 0
        for connection in held[http_service.CONNECTIONS :]:
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(1) == b""  # hung up on at once
            ended += 1
        assert ended == 8
        assert threading.active_count() <= before + 2 * http_service.CONNECTIONS  # with their deadlines
        for connection in held[: http_service.CONNECTIONS]:
            connection.setblocking(False)
            with pytest.raises(BlockingIOError):
                connection.recv(1)
    for _ in range(400):  # the places of those that went are free again
        with contextlib.suppress(OSError):
            assert is_served(running, folder)
            break
        time.sleep(0.01)
    else:
        pytest.fail("the service does not come back")


def test_a_request_that_does_not_arrive_in_time_is_dropped(folder):
    """However it drips: a byte now and then keeps no connection."""
    with served(folder, seconds=0.2) as running:
        for beginning in (b"", b"POST / HTTP/1.0\r\nContent-Length: 100000\r\n\r\n"):
            with socket.create_connection(running.server_address, timeout=20) as connection:
                connection.sendall(beginning)
                with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                    for _ in range(400):
                        connection.sendall(b"a")
                        time.sleep(0.01)
                    pytest.fail("it may go on for ever")
        assert is_served(running, folder)


def test_results_come_over_http():
    found, expected, refusal = http_service.run()
    assert np.allclose(found, expected, atol=0.01)
    assert refusal.startswith("400 ")
