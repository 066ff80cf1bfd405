"""How often the loop processes a connection."""

import threading
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from docshare.server.http.channel import Channel
from docshare.server.http.event_loop import MIN_EVENTS_PER_TURN
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
        clock.now += 0.001

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
