"""Connections: keep-alive, pipelining, slow clients, and the limit of descriptors."""

import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from docshare.server.http.channel import Channel
from docshare.server.http.listener import bind_sockets, make_server
from tests.http.harness import (
    SMALL_BODY,
    ListenerHarness,
    MonotonicClock,
    RawConnection,
    advance_time,
    build_form,
    build_part,
    build_request,
    build_upload,
    ping,
    wait_until,
)
from tests.support.repository import ROOT


def test_a_connection_is_kept_alive_for_the_next_request(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        for raw, path in (
            (build_upload(build_form(build_part(b"%PDF-"))), "/files"),
            (build_request("POST", "/b", b"x" * 60_000), "/b"),
        ) * 3:
            wire.send(raw)
            assert wire.read_response().facts["path"] == path


def test_a_small_response_is_sent_in_one_call(listener: ListenerHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []
    send = Channel.send
    monkeypatch.setattr(
        Channel, "send", lambda self, data, **more: sent.append(bytes(data)) or send(self, data, **more)
    )
    with RawConnection(listener.port) as wire:
        for _ in range(2):
            wire.send(build_request("GET", "/a"))
            assert wire.read_response().facts["path"] == "/a"
    assert [block[:12] for block in sent] == [b"HTTP/1.1 200"] * 2
    assert all(block.endswith(b"}") for block in sent)


def test_connection_close_closes_the_connection(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_request("GET", "/a", b"", "Connection: close"))
        assert wire.read_response().headers["connection"] == "close"
        assert wire.read_to_end() == b""


def test_pipelined_responses_are_sent_in_order(listener: ListenerHarness) -> None:
    first, second = (
        build_upload(build_form(build_part(b"1" * 300_000))),
        build_upload(build_form(build_part(b"2" * 30))),
    )
    with RawConnection(listener.port) as wire:
        wire.send(
            build_request("GET", "/a") + first + second + build_request("POST", "/b", b"b") + build_request("GET", "/c")
        )
        answers = [wire.read_response().facts for _ in range(5)]
    assert [facts["path"] for facts in answers] == ["/a", "/files", "/files", "/b", "/c"]
    assert [facts["files"]["file"]["size"] for facts in answers[1:3]] == [300_000, 30]
    assert wait_until(lambda: listener.list_partials() == [])


def test_pipelined_requests_are_processed_one_by_one(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_request("GET", "/slow") + b"".join(build_request("GET", f"/{number}") for number in range(300)))
        assert listener.entered.wait(10)
        with RawConnection(listener.port) as other:
            other.send(build_request("GET", "/ping"))
            assert other.read_response().status == 200
        assert [head.path for head in listener.heads] == ["/slow", "/ping"]
        listener.gate.set()
        assert [wire.read_response().facts["path"] for _ in range(301)] == [
            "/slow",
            *(f"/{number}" for number in range(300)),
        ]


class CountedBytes(bytes):
    """Counts the bytes of all slices, also of slices of slices."""

    copied = 0

    def __getitem__(self, key: slice) -> bytes:  # type: ignore[override]  # nobody reads a single byte
        found = CountedBytes(super().__getitem__(key))
        CountedBytes.copied += len(found)
        return found


def test_an_incomplete_header_block_is_copied_once(
    start_listener: Callable[..., ListenerHarness], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CountedBytes, "copied", 0)
    rig = start_listener(run=False)
    with RawConnection(rig.port):
        assert wait_until(lambda: rig.server._run_once(0.01) or rig.list_connections() != [])
        (channel,) = rig.list_connections()
        block = CountedBytes(b"GET / HTTP/1.1\r\nX: " + b"a" * 60_000)
        assert channel.received(block)
        assert CountedBytes.copied == len(block)
    rig.thread.start()  # to close it


def test_a_client_that_closes_its_sending_side_gets_its_responses(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_request("GET", "/slow") + build_request("GET", "/b"))
        wire.socket.shutdown(socket.SHUT_WR)
        assert listener.entered.wait(10)
        listener.gate.set()
        assert [wire.read_response().facts["path"] for _ in range(2)] == ["/slow", "/b"]
        assert wire.read_to_end() == b""


def test_a_pipelined_upload_gets_100_continue_in_order(listener: ListenerHarness) -> None:
    body = build_form(build_part(b"%PDF-"))
    head, _, _ = build_upload(body, "/files", "Expect: 100-continue").partition(b"\r\n\r\n")
    with RawConnection(listener.port) as wire:
        wire.send(build_request("GET", "/slow") + head + b"\r\n\r\n")
        assert listener.entered.wait(10)
        listener.gate.set()
        assert wire.read_response().facts["path"] == "/slow"
        assert wire.read_response().status == 100
        wire.send(body)
        assert wire.read_response().facts["path"] == "/files"


def test_a_small_body_reaches_the_application(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_request("PUT", "/x", b"x" * SMALL_BODY))
        assert wire.read_response().facts["body"] == "x" * SMALL_BODY


def test_proxy_headers_reach_judge_and_application(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire:
        wire.send(build_request("GET", "/x", b"", "X-Forwarded-For: 198.51.100.7"))
        wire.read_response()
    assert listener.heads[0].headers["x-forwarded-for"] == "198.51.100.7"
    assert listener.environs[0]["HTTP_X_FORWARDED_FOR"] == "198.51.100.7"


def test_slow_senders_do_not_block_a_worker_thread(start_listener: Callable[..., ListenerHarness]) -> None:
    rig = start_listener(threads=1)
    slow = [RawConnection(rig.port) for _ in range(60)]
    for number, wire in enumerate(slow):
        wire.send(
            build_upload(build_form(build_part(b"x" * 10_000)))[: 300 + number]
            if number % 2
            else b"GET /x HTTP/1.1\r\nHost: a"
        )
    with RawConnection(rig.port) as other:
        for _ in range(20):
            other.send(build_request("GET", "/ping"))
            assert other.read_response().status == 200
    for wire in slow:
        wire.socket.close()
    assert wait_until(lambda: rig.list_partials() == [])


def test_a_body_in_single_bytes_arrives(listener: ListenerHarness) -> None:
    raw = build_upload(build_form(build_part(b"%PDF-\r\n--" + b"\r" * 30)))
    with RawConnection(listener.port) as wire:
        wire.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in raw:
            wire.send(bytes([byte]))
        assert wire.read_response().facts["files"]["file"]["size"] == 39


def test_a_slow_header_block_closes_the_connection(start_listener: Callable[..., ListenerHarness]) -> None:
    clock = MonotonicClock()
    rig = start_listener(header_seconds=5, clock=clock)
    with RawConnection(rig.port) as patient, RawConnection(rig.port) as wire:
        patient.send(build_request("GET", "/slow"))
        wire.send(b"GET /x HTTP/1.1\r\nX: ")
        wire.socket.setblocking(False)
        assert rig.entered.wait(10)
        assert wait_until(lambda: len(rig.server.limiter) == 2)
        for _ in range(5):
            advance_time(rig, clock, 1)
            assert not is_closed(wire)
        advance_time(rig, clock, 1)
        assert wait_until(lambda: is_closed(wire))
        rig.gate.set()
        assert patient.read_response().status == 200


def is_closed(wire: RawConnection) -> bool:
    """Return whether the other side has closed the connection while this side continues to send."""
    try:
        wire.socket.send(b"y")
        return wire.socket.recv(1, socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_an_error_while_one_connection_is_accepted_does_not_lock_out_the_next(
    listener: ListenerHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(peer: str) -> bool:
        raise MemoryError(peer)

    with monkeypatch.context() as patch:
        patch.setattr(listener.server.limiter, "admit", fail)
        with RawConnection(listener.port) as wire:
            assert wire.read_to_end() == b""
    assert wait_until(lambda: "could not be accepted" in caplog.text)
    with RawConnection(listener.port) as wire:
        assert ping(wire)


def test_the_descriptor_limit_is_raised_for_many_connections(listener: ListenerHarness) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft >= min(4512, hard)
    crowd = [RawConnection(listener.port) for _ in range(400)]
    with RawConnection(listener.port) as other:
        other.send(build_request("GET", "/ping"))
        assert other.read_response().status == 200
    for wire in crowd:
        wire.socket.close()


PROGRAM = """
import signal, sys
from pathlib import Path
from tests.http.harness import ListenerHarness

class Loud(ListenerHarness):
    def application(self, *arguments):
        print("entered", flush=True)
        return super().application(*arguments)

def stop(number, frame):
    rig.server.stop(10)
    rig.gate.set()

rig = Loud(Path(sys.argv[1]), run=False)
signal.signal(signal.SIGTERM, stop)
print(rig.port, flush=True)
rig.server.run()
print("stopped", flush=True)
"""


@contextmanager
def run_program(root: Path, descriptors: int = 5000) -> Iterator[subprocess.Popen[str]]:
    command = f'ulimit -n {descriptors}; exec "$0" "$@"'
    child = subprocess.Popen(
        ["sh", "-c", command, sys.executable, "-c", PROGRAM, str(root)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    with child:
        try:
            yield child
        finally:
            child.kill()


def read_line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline()


def test_a_signal_handler_can_stop_the_server(tmp_path: Path) -> None:
    with run_program(tmp_path) as child, RawConnection(int(read_line(child))) as wire:
        wire.send(build_request("GET", "/slow"))
        assert read_line(child) == "entered\n"
        child.send_signal(signal.SIGTERM)
        assert wire.read_response().facts["path"] == "/slow"
        assert read_line(child) == "stopped\n"
        assert child.wait(20) == 0


def test_many_connections_leave_descriptors_for_uploads_under_a_low_limit(tmp_path: Path) -> None:
    with run_program(tmp_path, descriptors=700) as child:
        port = int(read_line(child))
        crowd = [RawConnection(port, f"127.1.0.{1 + number % 200}") for number in range(800)]
        for wire in crowd[-50:]:
            wire.send(build_upload(build_form(build_part(b"x" * 100_000)))[:50_000])
        with RawConnection(port) as wire:
            wire.send(build_upload(build_form(build_part(b"x" * 100_000))))
            assert wire.read_response().status == 200
        for wire in crowd[-50:]:
            wire.send(build_upload(build_form(build_part(b"x" * 100_000)))[50_000:])
            assert wire.read_response().status == 200
        for wire in crowd:
            wire.socket.close()


def test_a_port_in_use_raises_and_leaves_no_open_descriptor(listener: ListenerHarness) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match="in use"):
        ListenerHarness(listener.blobs.root / "second", run=False, port=listener.port)
    assert len(os.listdir("/proc/self/fd")) == before


def test_port_0_selects_one_port_on_all_addresses_of_a_host(listener: ListenerHarness) -> None:
    listener.close()
    server = make_server(
        listener.application,
        bind_sockets("localhost", 0),
        judge=listener.judge,
        create_partial=listener.blobs.create_partial,
        render_error=listener.render_error,
        ident="docshare",
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    for family, kind, _, _, _ in socket.getaddrinfo("localhost", 80, type=socket.SOCK_STREAM):
        with socket.socket(family, kind) as client:
            client.connect(("localhost", server.port))
            client.sendall(build_request("GET", "/x", b"", "Connection: close"))
            assert b"\r\nServer: docshare\r\n" in client.recv(65536)
    server.stop()
    thread.join()
