"""How often the loop processes a connection."""

import threading

import pytest

from docshare.server.http.channel import Channel
from tests.http.harness import ListenerHarness, RawConnection, build_request, wait_until

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
