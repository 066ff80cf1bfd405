"""How often the loop processes a connection, and which ones it processes first."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import chain, count
from selectors import EVENT_WRITE as WRITE

import pytest

from docshare.server.http.channel import Channel
from docshare.server.http.event_loop import MIN_EVENTS_PER_TURN, TURN_SECONDS, TURNS_PER_ROUND
from tests.http.harness import ListenerHarness, MonotonicClock, RawConnection, build_request, wait_until

ROUNDS = 20


def test_the_loop_leaves_a_connection_alone_while_a_worker_sends_to_it(
    listener: ListenerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its socket accepts bytes all the time, so the loop would run without a pause and delay the worker."""
    has_sent, may_return = threading.Event(), threading.Event()
    turns: list[Channel] = []
    send, advance = Channel.send, Channel.advance

    def send_and_wait(channel: Channel, data: bytes, do_close: bool = True) -> int:
        sent = send(channel, data, do_close)
        if b"/first" in data:
            has_sent.set()
            may_return.wait(20)
        return sent

    monkeypatch.setattr(Channel, "send", send_and_wait)
    monkeypatch.setattr(Channel, "advance", lambda channel: turns.append(channel) or advance(channel))
    with RawConnection(listener.port) as wire, RawConnection(listener.port) as other:
        wire.send(build_request("GET", "/first"))
        assert has_sent.wait(20)
        assert wire.read_response().facts["path"] == "/first"
        turns.clear()
        wire.send(build_request("GET", "/second"))
        for _ in range(ROUNDS):
            other.send(build_request("GET", "/other"))
            assert other.read_response().facts["path"] == "/other"
        assert wait_until(lambda: len(set(turns)) == 2)
        counts = [turns.count(channel) for channel in set(turns)]
        may_return.set()
        assert wire.read_response().facts["path"] == "/second"
    assert min(counts) <= 2, counts
    assert max(counts) >= ROUNDS


def test_the_loop_sends_what_a_worker_could_not(listener: ListenerHarness) -> None:
    with RawConnection(listener.port, receive=4096) as wire:
        wire.send(build_request("GET", "/big"))
        assert len(wire.read_response().body) == 12 * 1024 * 1024
        wire.send(build_request("GET", "/after"))
        assert wire.read_response().facts["path"] == "/after"


def test_a_turn_of_the_loop_ends_although_more_connections_are_scheduled(
    start_listener: Callable[..., ListenerHarness], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a new connection waits for all of them, and the threads schedule still more for the next turn."""
    clock = MonotonicClock()
    rig = start_listener(run=False, clock=clock)
    handled: list[Channel] = []

    def advance_slowly(channel: Channel) -> None:
        handled.append(channel)
        clock.now += TURN_SECONDS / 2

    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(RawConnection(rig.port))
        assert wait_until(lambda: rig.server._run_once(0) or len(rig.server.limiter) == 100)
        channels = rig.list_connections()
        monkeypatch.setattr(Channel, "advance", advance_slowly)
        for channel in channels:
            rig.server._loop.schedule(channel)
        counts = []
        while len(handled) < 100:
            before = len(handled)
            rig.server._run_once(60)  # does not wait: the others are due
            counts.append(len(handled) - before)
        assert handled == channels
    rig.thread.start()  # to close it
    assert max(counts) == MIN_EVENTS_PER_TURN


def test_scheduled_connections_of_one_client_delay_no_other(
    start_listener: Callable[..., ListenerHarness], monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = start_listener(run=False, is_exempt=lambda peer: True, clock=make_fast_clock())
    size = 3 * MIN_EVENTS_PER_TURN
    handled: list[Channel] = []
    with ExitStack() as stack:
        for _ in range(size):
            stack.enter_context(RawConnection(rig.port))
        stack.enter_context(RawConnection(rig.port, "127.0.0.2"))
        assert wait_until(lambda: rig.server._run_once(0) or len(rig.server.limiter) == size + 1)
        channels = sorted(rig.list_connections(), key=lambda channel: channel.peer)
        monkeypatch.setattr(Channel, "advance", lambda channel: handled.append(channel))
        for channel in [*channels, channels[0]]:
            rig.server._loop.schedule(channel)
        *crowd, visitor = channels
        while len(handled) <= size:
            rig.server._run_once(60)
        rig.server._run_once(0)
        assert handled == [crowd[0], visitor, *crowd[1:]]
    rig.thread.start()


def make_fast_clock() -> Callable[[], float]:
    """Return a clock that advances by a turn of the loop with each reading."""
    return partial(next, count(1.0, TURN_SECONDS))


def have_bytes_arrived(rig: ListenerHarness) -> bool:
    """Return whether every connection has bytes to read: on a busy machine they arrive a moment after they are sent."""
    return all(channel.has_unread_bytes() for channel in rig.list_connections())


def test_a_turn_of_the_loop_reads_the_connections_of_other_clients_first(
    start_listener: Callable[..., ListenerHarness],
) -> None:
    rig = start_listener(run=False, is_exempt=lambda peer: True, clock=make_fast_clock())
    size, busy = 3 * MIN_EVENTS_PER_TURN, "127.0.0.1"
    with ExitStack() as stack:
        crowd = [stack.enter_context(RawConnection(rig.port, busy)) for _ in range(size)]
        visitors = [stack.enter_context(RawConnection(rig.port, f"127.0.0.{last}")) for last in (2, 3)]
        while len(rig.server.limiter) < size + 2:
            rig.server._run_once(1)
        for number, wire in enumerate([*crowd, *visitors]):
            wire.send(build_request("GET", f"/{number}"))
        assert wait_until(lambda: have_bytes_arrived(rig))
        read = []
        while len(rig.heads) < size + 2:
            before = len(rig.heads)
            rig.server._run_once(1)
            read.append([int(head.path[1:]) for head in rig.heads[before:]])
        assert {size, size + 1} < set(read[0])
        assert max(len(numbers) for numbers in read) <= MIN_EVENTS_PER_TURN
        assert sorted(chain.from_iterable(read)) == list(range(size + 2))
        rig.thread.start()
        assert all(wire.read_response().status == 200 for wire in [*crowd, *visitors])


def test_a_connection_that_is_always_ready_does_not_delay_others_of_its_client(
    start_listener: Callable[..., ListenerHarness],
) -> None:
    rig = start_listener(run=False, is_exempt=lambda peer: True, clock=make_fast_clock())
    size = 2 * MIN_EVENTS_PER_TURN
    with ExitStack() as stack:
        crowd = [stack.enter_context(RawConnection(rig.port)) for _ in range(size)]
        while len(rig.server.limiter) < size:
            rig.server._run_once(1)
        for wire in crowd:
            wire.send(b"GET / HTTP/1.1\r\n")
        assert wait_until(lambda: have_bytes_arrived(rig))
        received = set[int]()
        for _ in range(4):
            rig.server._run_once(1)
            channels = rig.server._list_channels()
            received |= {id(channel) for channel in channels if channel.transferred_bytes()}
            for wire in crowd[:MIN_EVENTS_PER_TURN]:
                wire.send(b"X: y\r\n")
        assert len(received) == size
        rig.thread.start()


def test_a_client_that_receives_much_is_not_delayed_like_one_that_sends_much(
    start_listener: Callable[..., ListenerHarness], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docshare.server.http.channel.SEND_BYTES_PER_TURN", 100_000)
    rig = start_listener(run=False, is_exempt=lambda peer: True, clock=make_fast_clock())
    size = MIN_EVENTS_PER_TURN
    with ExitStack() as stack:
        crowd = [stack.enter_context(RawConnection(rig.port)) for _ in range(size)]
        reader = stack.enter_context(RawConnection(rig.port, "127.0.0.2", receive=4096))
        while len(rig.server.limiter) < size + 1:
            rig.server._run_once(1)
        reader.send(build_request("GET", "/big"))
        for wire in crowd:
            wire.send(b"GET / HTTP/1.1\r\n")
        (channel,) = (channel for channel in rig.list_connections() if channel.peer == "127.0.0.2")
        assert wait_until(lambda: rig.server._run_once(0) or (channel.total_outbufs_len and channel.watched & WRITE))
        before = channel.socket_bytes
        unread = before // 2  # so that the system accepts more
        while unread > 0:
            unread -= len(reader.socket.recv(unread))
        for wire in crowd:
            wire.send(b"X: y\r\n")
        assert wait_until(lambda: all(other.has_unread_bytes() for other in rig.list_connections() if other != channel))
        rig.server._run_once(1)
        assert channel.turn == rig.server._loop._turn > 0
        assert 100_000 < channel.socket_bytes - before < 300_000
        assert not rig.server._loop._large_networks
        rig.thread.start()


def test_a_turn_handles_more_if_very_many_networks_wait(
    start_listener: Callable[..., ListenerHarness],
) -> None:
    rig = start_listener(run=False, clock=make_fast_clock())
    size = 5 * TURNS_PER_ROUND + 1
    with ExitStack() as stack:
        crowd = [stack.enter_context(RawConnection(rig.port, f"127.0.1.{last}")) for last in range(1, size + 1)]
        while len(rig.server.limiter) < size:
            rig.server._run_once(1)
        for wire in crowd:
            wire.send(b"GET / HTTP/1.1\r\n")
        assert wait_until(lambda: have_bytes_arrived(rig))
        rig.server._run_once(1)
        assert sum(channel.received_bytes > 0 for channel in rig.list_connections()) == 6
        for channel in rig.list_connections():
            rig.server._loop.schedule(channel)
        rig.server._run_once(1)
        assert rig.server._loop._scheduled.count() == (size - 6, size - 6)
        rig.thread.start()


def test_networks_that_send_much_do_not_delay_those_that_send_little(
    start_listener: Callable[..., ListenerHarness],
) -> None:
    rig = start_listener(run=False, is_exempt=lambda peer: True, clock=make_fast_clock())
    size, part = 3 * MIN_EVENTS_PER_TURN + 1, b"a" * 20_000

    def run_turns(count: int) -> None:
        assert wait_until(lambda: sum(channel.has_unread_bytes() for channel in rig.list_connections()) >= size)
        for _ in range(count):
            rig.server._run_once(1)

    with ExitStack() as stack:
        crowd = [stack.enter_context(RawConnection(rig.port, f"127.0.1.{last}")) for last in range(1, size + 1)]
        visitor = stack.enter_context(RawConnection(rig.port, "127.0.0.2"))
        while len(rig.server.limiter) < size + 1:
            rig.server._run_once(1)
        for wire in crowd:
            wire.send(b"GET / HTTP/1.1\r\nX: " + part)
        run_turns(3)
        for wire in crowd:
            wire.send(part)
        run_turns(3)
        assert len(rig.server._loop._large_networks) == size
        for visits in (1, 2):  # most networks of the crowd are due before that of the visitor the second time
            for wire in crowd:
                wire.send(part)
            visitor.send(build_request("GET", "/visitor"))
            assert wait_until(lambda: have_bytes_arrived(rig))
            run_turns(2)
            assert len(rig.heads) == visits
            assert visitor.read_response().facts["path"] == "/visitor"
            assert wait_until(lambda: not any(channel.requests for channel in rig.list_connections()))
        rig.thread.start()
