"""More connections than the limit allows, and connections without progress."""

import errno
import select
import socket
from collections.abc import Callable
from typing import Any

import pytest
import waitress.channel
import waitress.server

from docshare.server.http.channel import Channel
from docshare.server.http.connection_limits import MIN_PROGRESS_BYTES, Phase, network_key
from docshare.server.http.event_loop import EventLoop, compute_rejection_delay
from docshare.server.http.listener import Listener
from tests.http.harness import (
    BIG,
    Connect,
    ListenerHarness,
    MonotonicClock,
    RawConnection,
    advance_time,
    build_form,
    build_part,
    build_request,
    build_upload,
    is_closed,
    ping,
    wait_until,
)


def is_transferring(rig: ListenerHarness) -> bool:
    """Return whether a response is being sent or a body received."""
    return rig.count_connections(Phase.TRANSFERRING) > 0


def count_received_bytes(rig: ListenerHarness) -> int:
    """Return how many bytes the server has read from its open connections."""
    return sum(channel.transferred_bytes() for channel in rig.list_connections())


def test_at_the_limit_the_longest_idle_connection_is_closed_then_one_without_a_request(
    start_listener: Callable[..., ListenerHarness], connect: Connect
) -> None:
    rig = start_listener(connections=4, is_exempt=lambda peer: True)
    running, silent, first, second = (connect(rig.port) for _ in range(4))
    # The listener notices the end of a request after its client does.
    assert ping(first)
    assert wait_until(lambda: rig.count_connections(Phase.IDLE) == 1)
    assert ping(second)
    running.send(build_request("GET", "/slow"))
    assert rig.entered.wait(10)
    phases = (Phase.IDLE, Phase.RUNNING, Phase.WAITING)
    assert wait_until(lambda: [rig.count_connections(phase) for phase in phases] == [2, 1, 1])
    others = [silent, first, second]
    for gone in (first, second, silent):
        newcomer = connect(rig.port)
        assert wait_until(lambda gone=gone: is_closed(gone))  # type: ignore[misc]
        others.remove(gone)
        assert not any(is_closed(wire) for wire in others)
        newcomer.send(b"GET /x HTTP/1.1\r\n")
        others.append(newcomer)
        assert wait_until(lambda: len(rig.server.limiter) == 4)  # the newcomer is added after the other was closed
    rig.gate.set()
    assert running.read_response().status == 200


def test_many_silent_connections_do_not_lock_out_a_visitor(
    start_listener: Callable[..., ListenerHarness], connect: Connect
) -> None:
    rig = start_listener(connections=20, is_exempt=lambda peer: True)
    crowd = []
    for _ in range(60):
        crowd.append(connect(rig.port))
        with RawConnection(rig.port) as visitor:
            assert ping(visitor)
    assert len(rig.server.limiter) <= 20


def test_an_address_over_its_share_loses_its_own_oldest_connection(
    start_listener: Callable[..., ListenerHarness], monotonic: MonotonicClock, connect: Connect
) -> None:
    rig = start_listener(connections=64, clock=monotonic)
    with RawConnection(rig.port, "127.0.0.2") as visitor:
        assert ping(visitor)
        crowd = [connect(rig.port) for _ in range(16)]
        assert wait_until(lambda: len(rig.server.limiter) == 17)
        # Too fast: its connections were opened a moment ago.
        assert connect(rig.port).read_to_end() == b""
        monotonic.now += 2
        newcomer = connect(rig.port)
        assert ping(newcomer)
        assert crowd[0].read_to_end() == b""
        assert not any(is_closed(wire) for wire in crowd[1:])
        assert ping(visitor)


def test_a_trusted_proxy_may_open_all_connections(
    start_listener: Callable[..., ListenerHarness], connect: Connect
) -> None:
    rig = start_listener(connections=64, is_exempt=lambda peer: peer == "127.0.0.1")
    crowd = [connect(rig.port) for _ in range(60)]
    assert all(ping(wire) for wire in crowd)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
    ],
)
def test_an_ipv6_network_is_one_address(one: str, other: str, same: bool) -> None:
    assert (network_key(one) == network_key(other)) is same


def is_idle_after(rig: ListenerHarness, requests: int) -> bool:
    """Return whether the listener has noticed that the only connection is idle after ``requests`` requests: it does so
    a moment after the client has the response."""
    found = [(channel.phase, channel.phase_request_count) for channel in rig.list_connections()]
    return found == [(Phase.IDLE, requests)]


def test_idle_timeouts_use_the_monotonic_clock(
    start_listener: Callable[..., ListenerHarness], monotonic: MonotonicClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Tomorrow:
        @staticmethod
        def time() -> float:
            return 2e9 + 86_400

    rig = start_listener(clock=monotonic)
    with RawConnection(rig.port) as wire:
        assert ping(wire)
        assert wait_until(lambda: is_idle_after(rig, 1))
        for module in (waitress.channel, waitress.server):
            monkeypatch.setattr(module, "time", Tomorrow)
        advance_time(rig, monotonic, 100)
        advance_time(rig, monotonic, 10)
        assert not is_closed(wire)
        assert ping(wire)
        assert wait_until(lambda: is_idle_after(rig, 2))
        advance_time(rig, monotonic, 1)
        advance_time(rig, monotonic, 130)
        assert wait_until(lambda: is_closed(wire))


def test_a_connection_without_a_request_is_closed_after_the_header_timeout(
    start_listener: Callable[..., ListenerHarness], monotonic: MonotonicClock
) -> None:
    rig = start_listener(clock=monotonic)
    with RawConnection(rig.port) as wire:
        assert wait_until(lambda: len(rig.server.limiter) == 1)
        advance_time(rig, monotonic, 29)
        assert not is_closed(wire)
        advance_time(rig, monotonic, 2)
        assert wait_until(lambda: is_closed(wire))


def test_a_response_that_the_client_does_not_read_times_out(
    start_listener: Callable[..., ListenerHarness], monotonic: MonotonicClock
) -> None:
    rig = start_listener(clock=monotonic)
    with RawConnection(rig.port, receive=4096) as wire:
        wire.send(build_request("GET", "/big"))
        assert wait_until(lambda: rig.calls == ["/big"] and is_transferring(rig))
        advance_time(rig, monotonic, 119)
        assert len(rig.server.limiter) == 1
        advance_time(rig, monotonic, 2)
        assert wait_until(lambda: len(rig.server.limiter) == 0)


def test_a_slow_reader_receives_the_whole_response(
    start_listener: Callable[..., ListenerHarness], monotonic: MonotonicClock
) -> None:
    rig = start_listener(clock=monotonic)
    with RawConnection(rig.port, receive=100_000) as wire:
        wire.send(build_request("GET", "/big"))
        assert wait_until(lambda: rig.calls == ["/big"] and is_transferring(rig))
        for _ in range(4):
            # The kernel has buffered megabytes of the response, so the server itself sends nothing meanwhile.
            enough = len(wire.buffer) + 20 * MIN_PROGRESS_BYTES
            while len(wire.buffer) < enough:
                wire.buffer += wire.socket.recv(MIN_PROGRESS_BYTES)
            advance_time(rig, monotonic, 100)
        assert wire.read_response().body == BIG


def test_a_body_without_progress_times_out(
    start_listener: Callable[..., ListenerHarness], monotonic: MonotonicClock
) -> None:
    rig = start_listener(clock=monotonic)
    with RawConnection(rig.port) as wire:
        raw = build_upload(build_form(build_part(b"x" * 100_000)))
        wire.send(raw[:1000])
        # The file is created before the listener notices that the body has begun.
        assert wait_until(lambda: len(rig.list_partials()) == 1 and is_transferring(rig))
        for sent in range(4):
            advance_time(rig, monotonic, 35)
            if sent < 3:
                wire.send(b"x")
        assert wait_until(lambda: is_closed(wire))
        assert wait_until(lambda: rig.list_partials() == [])


def test_a_body_with_steady_progress_may_take_hours(
    start_listener: Callable[..., ListenerHarness], monotonic: MonotonicClock
) -> None:
    rig = start_listener(clock=monotonic)
    raw = build_upload(build_form(build_part(b"x" * 400_000)))
    with RawConnection(rig.port) as wire:
        for at in range(0, len(raw) - 50_000, 50_000):
            wire.send(raw[at : at + 50_000])
            assert wait_until(lambda at=at: count_received_bytes(rig) >= at + 50_000)  # type: ignore[misc]
            advance_time(rig, monotonic, 100)
        wire.send(raw[at + 50_000 :])
        assert wire.read_response().facts["files"]["file"]["size"] == 400_000


def test_silent_connections_do_not_slow_down_others(
    listener: ListenerHarness, monkeypatch: pytest.MonkeyPatch, connect: Connect
) -> None:
    crowd = [connect(listener.port) for _ in range(200)]
    with RawConnection(listener.port) as wire:
        assert ping(wire)
        asked, woken = [], []
        readable, wake = Channel.readable, Listener.wake
        monkeypatch.setattr(Channel, "readable", lambda self: asked.append(self) or readable(self))
        monkeypatch.setattr(Listener, "wake", lambda self, *more: woken.append(self) or wake(self, *more))
        for _ in range(20):
            assert ping(wire)
            # A request that arrives while the thread finishes the previous one does wake the loop.
            assert wait_until(lambda: not any(channel.requests for channel in listener.list_connections()))
    assert len({id(channel) for channel in asked}) == 1
    assert len(woken) <= 2  # a thread may be interrupted between its last steps
    assert not any(is_closed(other) for other in crowd)


def test_many_new_connections_are_accepted_in_one_loop_iteration(
    start_listener: Callable[..., ListenerHarness], monkeypatch: pytest.MonkeyPatch, connect: Connect
) -> None:
    turns: list[int] = []
    turn = EventLoop.run_once
    monkeypatch.setattr(EventLoop, "run_once", lambda self, *more: turns.append(len(self)) or turn(self, *more))
    rig = start_listener(run=False)
    crowd = [connect(rig.port) for _ in range(150)]
    rig.thread.start()
    assert ping(crowd[-1])
    assert sum(before < 150 for before in turns) <= 4


@pytest.mark.parametrize(("path", "status"), [("/busy", 503), ("/often", 429)])
def test_429_and_503_are_delayed_without_blocking_other_requests(
    start_listener: Callable[..., ListenerHarness], monotonic: MonotonicClock, path: str, status: int
) -> None:
    rig = start_listener(clock=monotonic, threads=1)
    with RawConnection(rig.port) as first, RawConnection(rig.port) as second, RawConnection(rig.port) as other:
        for wire in (first, second):
            wire.send(build_request("GET", path))
        assert wait_until(lambda: rig.calls == [path, path])
        assert ping(other)
        monotonic.now += 0.4
        assert ping(other)
        assert not select.select([first.socket, second.socket], [], [], 0)[0]
        monotonic.now += 0.2
        for wire in (first, second):
            assert wire.read_response().status == status
            assert ping(wire)


def find_answered(wires: list[RawConnection]) -> list[RawConnection]:
    """Return those connections that have received something."""
    sockets = select.select([wire.socket for wire in wires], [], [], 0)[0]
    return [wire for wire in wires if wire.socket in sockets]


def test_rejections_of_a_busy_network_are_delayed_longer_than_those_of_others(
    start_listener: Callable[..., ListenerHarness], monotonic: MonotonicClock, connect: Connect
) -> None:
    rig = start_listener(clock=monotonic, threads=1, find_client=lambda peer, forwarded: forwarded or peer)
    crowd, other, free = [connect(rig.port) for _ in range(60)], connect(rig.port), connect(rig.port)

    def request_busy(wire: RawConnection, client: str) -> None:
        rig.calls.clear()
        wire.send(build_request("GET", "/busy", b"", f"X-Forwarded-For: {client}"))
        assert wait_until(lambda: bool(rig.calls))
        assert ping(free)  # by the same thread, so it has delayed the rejection

    for number, wire in enumerate(crowd, 1):
        request_busy(wire, f"2001:db8::{number:x}")
    request_busy(other, "198.51.100.7")
    for seconds, expected in ((0.0, 0), (0.5, 12 + 1), (0.5, 25 + 1), (0.9, 47 + 1), (0.1, 60 + 1)):
        monotonic.now += seconds
        assert wait_until(lambda expected=expected: len(find_answered([*crowd, other])) >= expected)  # type: ignore[misc]
        assert ping(free)
        answered = find_answered([*crowd, other])
        assert (len(answered), other in answered) == (expected, expected > 0)
    assert [wire.read_response().status for wire in (*crowd, other)] == [503] * 61
    request_busy(crowd[0], "2001:db8::1")
    monotonic.now += 0.5
    assert crowd[0].read_response().status == 503


@pytest.mark.parametrize(("waiting", "seconds"), [(1, 0.5), (12, 0.5), (25, 1.0), (50, 2.0), (400, 2.0)])
def test_a_rejection_is_delayed_by_the_number_that_wait(waiting: int, seconds: float) -> None:
    assert compute_rejection_delay(waiting) == seconds


class ExhaustedSocket:
    """A listening socket that cannot accept for lack of file descriptors while ``full`` is set."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.full = True
        self.calls = 0

    def accept(self) -> Any:
        self.calls += 1
        if self.full:
            raise OSError(errno.EMFILE, "Too many open files")
        return self._sock.accept()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


def test_without_descriptors_an_idle_connection_is_closed_and_the_loop_does_not_spin(
    start_listener: Callable[..., ListenerHarness], monotonic: MonotonicClock
) -> None:
    rig = start_listener(clock=monotonic)
    with RawConnection(rig.port) as idle, RawConnection(rig.port) as running:
        assert ping(idle)
        # The client has its response a moment before the loop marks this connection as idle.
        assert wait_until(lambda: rig.count_connections(Phase.IDLE) == 1)
        running.send(build_request("GET", "/slow"))
        assert rig.entered.wait(10)
        listener = rig.server._listeners[0]
        exhausted = listener.socket = ExhaustedSocket(listener.socket)
        with RawConnection(rig.port) as newcomer:
            assert wait_until(lambda: is_closed(idle))
            assert wait_until(lambda: listener.watched == 0)
            calls = exhausted.calls
            assert calls <= 6
            rig.gate.set()
            assert running.read_response().status == 200
            assert exhausted.calls == calls
            exhausted.full = False
            monotonic.now += 1
            assert ping(newcomer)
