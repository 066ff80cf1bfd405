"""Stopping the server: it answers the requests that are on their way, within the grace period."""

import select
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path

from docshare.server.http.listener import bind_sockets, make_server
from docshare.server.http.verdicts import Acceptance, Refusal
from tests.http.harness import (
    ListenerHarness,
    MonotonicClock,
    RawConnection,
    advance_time,
    build_form,
    build_part,
    build_request,
    build_upload,
    wait_until,
)
from tests.support.ports import is_refused


def test_stopping_finishes_running_requests_and_rejects_new_connections(listener: ListenerHarness) -> None:
    with RawConnection(listener.port) as wire, RawConnection(listener.port) as idle:
        idle.send(build_request("GET", "/ping"))
        idle.read_response()
        wire.send(build_request("GET", "/slow"))
        assert listener.entered.wait(10)
        listener.server.stop(20)
        assert idle.read_to_end() == b""
        assert wait_until(lambda: is_refused("127.0.0.1", listener.port))
        assert listener.thread.is_alive()
        listener.gate.set()
        assert wire.read_response().facts["path"] == "/slow"
        assert wire.read_to_end() == b""
    listener.thread.join(10)
    assert not listener.thread.is_alive()


def test_stopping_completes_an_upload_in_progress(listener: ListenerHarness) -> None:
    raw = build_upload(build_form(build_part(b"x" * 500_000)), "/files?keep")
    with RawConnection(listener.port) as wire:
        wire.send(raw[:250_000])
        assert wait_until(lambda: len(listener.list_partials()) == 1)
        listener.server.stop(20)
        assert wait_until(lambda: is_refused("127.0.0.1", listener.port))
        wire.send(raw[250_000:])
        answer = wire.read_response()
        assert answer.facts["files"]["file"]["size"] == 500_000
        assert answer.headers["connection"] == "close"
    listener.thread.join(10)
    assert len(listener.list_stored()) == 1


def test_stopping_serves_the_first_request_of_a_new_connection(start_listener: Callable[..., ListenerHarness]) -> None:
    """When workers are restarted, the one that stops may have just accepted a connection."""
    clock = MonotonicClock()
    listener = start_listener(clock=clock)

    def is_closed_later(wire: RawConnection) -> bool:
        clock.now += 0.01  # again and again: the loop may not have noticed yet that the connection waits
        return bool(select.select([wire.socket], [], [], 0)[0])

    with RawConnection(listener.port) as wire, RawConnection(listener.port) as silent:
        assert wait_until(lambda: len(listener.server.limiter) == 2)
        listener.server.stop(1000)
        assert wait_until(lambda: is_refused("127.0.0.1", listener.port))
        wire.send(build_request("GET", "/late"))
        answer = wire.read_response()
        assert answer.facts["path"] == "/late"
        assert answer.headers["connection"] == "close"
        assert wait_until(lambda: is_closed_later(silent))
        assert silent.read_to_end() == b""
    listener.thread.join(10)
    assert not listener.thread.is_alive()


def test_stopping_serves_the_next_request_of_an_open_connection(start_listener: Callable[..., ListenerHarness]) -> None:
    """A proxy reuses its connections, and may send a request just before it notices that one was closed."""
    listener = start_listener(clock=MonotonicClock())
    with RawConnection(listener.port) as wire, RawConnection(listener.port) as slow:
        wire.send(build_request("GET", "/first"))
        assert wire.read_response().status == 200
        slow.send(build_request("GET", "/slow"))
        assert listener.entered.wait(10)
        listener.server.stop(20)
        assert wait_until(lambda: is_refused("127.0.0.1", listener.port))
        wire.send(build_request("GET", "/next"))
        listener.gate.set()
        assert slow.read_response().facts["path"] == "/slow"
        slow.send(build_request("GET", "/after"))
        for each, path in ((wire, "/next"), (slow, "/after")):
            answer = each.read_response()
            assert (answer.facts["path"], answer.headers["connection"]) == (path, "close")
            assert each.read_to_end() == b""
    listener.thread.join(10)
    assert not listener.thread.is_alive()


def test_stopping_serves_connections_that_nobody_has_accepted(tmp_path: Path) -> None:
    """Although the machine is so slow that each turn of the loop takes seconds."""
    clock = partial(next, count(1.0))
    waiting = ListenerHarness(tmp_path, run=False, clock=clock, header_seconds=1e9, idle_seconds=1e9)
    with ExitStack() as stack:
        wires = [stack.enter_context(RawConnection(waiting.port)) for _ in range(100)]
        for wire in wires:
            wire.send(build_request("GET", "/queued"))
        waiting.server.stop(1e9)
        waiting.thread.start()
        assert {wire.read_response().status for wire in wires} == {200}
    waiting.close()


def test_stopping_aborts_slow_requests_after_the_grace_period(start_listener: Callable[..., ListenerHarness]) -> None:
    clock = MonotonicClock()
    listener = start_listener(clock=clock)
    with RawConnection(listener.port) as wire, RawConnection(listener.port) as sender:
        wire.send(build_request("GET", "/slow"))
        sender.send(build_upload(build_form(build_part(b"x" * 500_000)))[:250_000])
        assert listener.entered.wait(10)
        assert wait_until(lambda: len(listener.list_partials()) == 1)
        listener.server.stop(20)
        assert wait_until(lambda: is_refused("127.0.0.1", listener.port))
        advance_time(listener, clock, 19)
        assert wait_until(lambda: len(listener.server.limiter) == 2)
        clock.now += 1
        listener.thread.join(10)
        assert not listener.thread.is_alive()
        assert listener.list_partials() == []
        assert wire.read_to_end() == b""


def test_a_server_that_is_stopped_before_it_runs_returns(listener: ListenerHarness) -> None:
    listener.close()

    def fail(*_: object) -> list[bytes]:
        raise AssertionError("the application was called")

    server = make_server(
        fail,
        bind_sockets("127.0.0.1", 0),
        judge=lambda head: Acceptance(0),
        create_partial=listener.blobs.create_partial,
        render_error=lambda status, path, detail: Refusal(status),
    )
    server.stop()
    server.run()
    server.stop()
