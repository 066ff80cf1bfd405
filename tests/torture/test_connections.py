"""The short form of ``connections``: attacks on a real server, with exact counts instead of times."""

import resource
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from threading import Thread

import pytest

from tests.torture.connections import (
    ATTACKS,
    FULL_BODY,
    GET,
    LARGE,
    MANY,
    SLOW_MODES,
    VISITOR,
    ConnectionAttack,
    attack_in_background,
    count_open_sockets,
    count_temporary_files,
    measure_memory,
    run_limited_server,
    run_slowhttptest,
    visit,
)

LIMIT = 2000
SHARE = 500
FEW_CONNECTIONS = 256
VISITS = 10
MANY_SOCKETS = 50


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[int, int]]:
    with run_limited_server() as (port, pid):
        yield port, pid


def count_sockets_under_attack(attack: ConnectionAttack, port: int, pid: int) -> int:
    """Run an attack and send requests from another address; return the highest number of open sockets of the server."""
    until = time.monotonic() + 60
    while count_open_sockets(pid) > MANY_SOCKETS:  # of the attack before, whose connections were reset
        assert time.monotonic() < until
        visit(port, timeout=60)
    with attack_in_background(port, attack) as opened:
        sockets, responses, visits, until = 0, 0, 0, time.monotonic() + 150
        while opened() < attack.count or responses < VISITS:
            responses += visit(port, timeout=60) < float("inf")
            sockets = max(sockets, count_open_sockets(pid))
            visits += 1
            assert time.monotonic() < until, f"{opened()} opened, {responses} responses"
        assert responses == visits
        return sockets


@pytest.mark.parametrize(
    ("name", "count", "most"),
    [
        ("5000 silent, 200 reopened", 1500, SHARE),
        ("1600 addresses, 8000 silent", 2500, LIMIT),
        ("slow headers of 1600 addresses", 2500, LIMIT),
        ("slow bodies", 800, SHARE),
        ("answers read by 100 addresses", 20, LIMIT),
        ("half closed", 200, SHARE),
        ("busy keep-alive", 100, SHARE),
        ("busy keep-alive of 6 addresses", 200, LIMIT),
        ("pipelined", 3, SHARE),
        ("resets", 20, SHARE),
        ("TLS", 800, SHARE),
    ],
)
def test_requests_from_another_address_are_always_served(
    server: tuple[int, int], name: str, count: int, most: int
) -> None:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 5000:
        most = LIMIT
    attack = replace(ATTACKS[name], count=count, sources=MANY if "addresses" in name else ("127.0.0.1",))
    assert count_sockets_under_attack(attack, *server) <= most + 20


@pytest.mark.skipif(not shutil.which("slowhttptest"), reason="slowhttptest is not installed (Debian: slowhttptest)")
@pytest.mark.parametrize("mode", SLOW_MODES)
def test_requests_from_another_address_are_served_during_slowhttptest(server: tuple[int, int], mode: str) -> None:
    port, pid = server
    with run_slowhttptest(port, mode, 30):
        until = time.monotonic() + 60
        while count_open_sockets(pid) < MANY_SOCKETS and mode != "range":  # their responses are not slow
            assert time.monotonic() < until
        times = [visit(port, timeout=60) for _ in range(VISITS)]
        assert count_open_sockets(pid) <= SHARE + 20
    assert max(times) < float("inf")


def test_the_attacks_request_a_large_response(server: tuple[int, int]) -> None:
    address = ("127.0.0.1", server[0])
    with socket.create_connection(address, 30, (VISITOR, 0)) as sock, sock.makefile("rb") as response:
        sock.sendall(LARGE)
        assert response.readline().startswith(b"HTTP/1.1 200")
        lengths = [line for line in iter(response.readline, b"\r\n") if line.lower().startswith(b"content-length:")]
        assert int(lengths[0].split(b":")[1]) > 100_000


@pytest.mark.parametrize("has_ended_early", [False, True])
def test_a_visit_fails_if_its_response_ends_early(has_ended_early: bool) -> None:
    body = b"x" * (90_000 if has_ended_early else 100_000)

    def respond() -> None:
        with listener.accept()[0] as sock:
            sock.recv(65536)
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + body)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=respond)
        thread.start()
        assert (visit(listener.getsockname()[1], is_large=True) == float("inf")) == has_ended_early
        thread.join()


def test_an_attack_that_reads_receives_every_response() -> None:
    """The responses are larger in total than the buffers of two sockets."""
    attack = ConnectionAttack(1, 0, opening=GET, drip=GET, every=0.01, is_reading=True)
    with socket.create_server(("127.0.0.1", 0)) as listener, attack_in_background(listener.getsockname()[1], attack):
        listener.settimeout(60)
        with listener.accept()[0] as sock:
            sock.settimeout(20)
            for _ in range(40):
                assert sock.recv(65536).startswith(GET)
                sock.sendall(b"x" * 1_000_000)


def test_unfinished_bodies_occupy_little_memory(server: tuple[int, int]) -> None:
    port, pid = server
    count, before = 60, measure_memory(server[1])
    with ExitStack() as stack:
        for _ in range(count):
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", port), 30))
            sock.sendall(FULL_BODY)
        until = time.monotonic() + 60
        while count_temporary_files(pid) < count:
            assert time.monotonic() < until
            visit(port, timeout=60)
        assert measure_memory(pid) - before < 15


def test_a_server_with_few_descriptors_stays_reachable() -> None:
    with run_limited_server(FEW_CONNECTIONS) as (port, pid):
        assert count_sockets_under_attack(ConnectionAttack(count=600, reopen_count=0), port, pid) < FEW_CONNECTIONS
        assert (
            count_sockets_under_attack(ConnectionAttack(count=600, reopen_count=0, sources=MANY), port, pid)
            < FEW_CONNECTIONS
        )
