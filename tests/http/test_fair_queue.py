"""Requests wait only for others of the same client, also behind a trusted proxy."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise
from math import inf
from types import SimpleNamespace
from typing import Any

import pytest

from docshare.server.http.connection_limits import Phase
from docshare.server.http.fair_queue import COMPUTING_SECONDS, ComputedKind, RequestQueue
from tests.http.harness import (
    ListenerHarness,
    RawConnection,
    build_form,
    build_part,
    build_request,
    build_upload,
    ping,
    wait_until,
)


@pytest.mark.parametrize("through_proxy", [False, True])
def test_the_requests_of_one_client_do_not_delay_others(
    start_listener: Callable[..., ListenerHarness], through_proxy: bool
) -> None:
    rig = start_listener(threads=1, find_client=lambda peer, forwarded: forwarded or peer)

    def connect(address: str) -> RawConnection:
        return RawConnection(rig.port) if through_proxy else RawConnection(rig.port, address)

    def request(path: str, address: str) -> bytes:
        return build_request("GET", path, b"", *([f"X-Forwarded-For: {address}"] if through_proxy else []))

    one, other = "127.0.0.1", "127.0.0.2"
    with ExitStack() as stack:
        crowd = [stack.enter_context(connect(one)) for _ in range(31)]
        visitor = stack.enter_context(connect(other))
        crowd[0].send(request("/slow", one))
        assert rig.entered.wait(10)
        for number, wire in enumerate(crowd[1:]):
            wire.send(request(f"/{number}", one))
        assert wait_until(lambda: len(rig.heads) == 31)
        visitor.send(request("/visitor", other))
        assert wait_until(lambda: rig.count_connections(Phase.RUNNING) == 32)  # later than the judge, all are queued
        rig.gate.set()
        assert visitor.read_response().status == 200
        assert all(wire.read_response().status == 200 for wire in crowd)
    assert rig.calls.index("/visitor") <= 2


KINDS = {"page": ComputedKind.LINK_PAGE, "part": ComputedKind.PAGE_PART, "slow": ComputedKind.LINK_PAGE}


def find_kind(method: str, path: str) -> ComputedKind | None:
    """Return the kind that the first segment of ``path`` names."""
    return KINDS.get(path.split("/")[1])


@pytest.fixture
def computing_listener(start_listener: Callable[..., ListenerHarness]) -> tuple[ListenerHarness, list[float]]:
    """Return a listener that computes ``/slow`` and paths below ``/page`` and ``/part``, and its clock."""
    now = [1.0]
    return start_listener(find_kind=find_kind, clock=lambda: now[0]), now


def delay_page(rig: ListenerHarness, slow: RawConnection, other: RawConnection) -> None:
    """Request a page from ``other`` while one from ``slow`` runs."""
    slow.send(build_request("GET", "/slow"))
    assert rig.entered.wait(10)
    other.send(build_request("GET", "/page"))
    assert wait_until(lambda: len(rig.heads) == 2)


def test_pages_and_their_parts_run_one_at_a_time_and_delay_no_other_requests(
    computing_listener: tuple[ListenerHarness, list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    rig, _ = computing_listener
    with ExitStack() as stack:
        slow, *others = [stack.enter_context(RawConnection(rig.port, f"127.0.0.{last}")) for last in range(1, 6)]
        slow.send(build_request("GET", "/slow"))
        assert rig.entered.wait(10)
        for wire, path in zip(others, ("/page/0", "/page/1", "/part/0", "/part/1"), strict=True):
            wire.send(build_request("GET", path))
        with RawConnection(rig.port, "127.0.0.9") as visitor:
            for number in range(5):
                visitor.send(build_request("GET", f"/other/{number}"))
                assert visitor.read_response().status == 200
        assert rig.calls == ["/slow", *(f"/other/{number}" for number in range(5))]
        describe, running, most = rig.describe_request, list[str](), list[int]()

        def describe_slowly(environ: dict[str, Any]) -> dict[str, Any]:
            running.append(environ["PATH_INFO"])
            most.append(len(running))
            time.sleep(0.005)
            running.remove(environ["PATH_INFO"])
            return describe(environ)

        monkeypatch.setattr(rig, "describe_request", describe_slowly)
        rig.gate.set()
        assert all(wire.read_response().status == 200 for wire in (slow, *others))
        assert most == [1] * 5


def test_no_thread_is_woken_for_a_request_that_cannot_run(
    computing_listener: tuple[ListenerHarness, list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    rig, _ = computing_listener
    with RawConnection(rig.port, "127.0.0.1") as slow, RawConnection(rig.port, "127.0.0.2") as other:
        slow.send(build_request("GET", "/slow"))
        assert rig.entered.wait(10)
        woken: list[int] = []
        condition = rig.server._dispatcher.queue_cv
        notify = condition.notify
        monkeypatch.setattr(condition, "notify", lambda n=1: woken.append(n) or notify(n))
        other.send(build_request("GET", "/page"))
        assert wait_until(lambda: rig.count_connections(Phase.RUNNING) == 2)
        assert woken == []
        assert ping_other(rig)
        assert woken == [1]
        rig.gate.set()
        assert all(wire.read_response().status == 200 for wire in (slow, other))


def test_a_page_that_waits_for_something_else_does_not_delay_the_next(
    computing_listener: tuple[ListenerHarness, list[float]],
) -> None:
    rig, now = computing_listener
    with RawConnection(rig.port, "127.0.0.1") as slow, RawConnection(rig.port, "127.0.0.2") as other:
        delay_page(rig, slow, other)
        assert rig.calls == ["/slow"]
        now[0] += COMPUTING_SECONDS
        assert other.read_response().status == 200
        rig.gate.set()
        assert slow.read_response().status == 200


def test_a_page_that_reports_its_wait_does_not_delay_the_next_at_all(
    computing_listener: tuple[ListenerHarness, list[float]],
) -> None:
    rig, _ = computing_listener
    with RawConnection(rig.port, "127.0.0.1") as slow, RawConnection(rig.port, "127.0.0.2") as other:
        slow.send(build_request("GET", "/slow/reported"))
        assert rig.entered.wait(10)
        other.send(build_request("GET", "/page"))
        assert other.read_response().status == 200
        rig.gate.set()
        assert slow.read_response().status == 200


def test_the_loop_sleeps_until_the_next_page_may_run(
    computing_listener: tuple[ListenerHarness, list[float]],
) -> None:
    rig, now = computing_listener
    with RawConnection(rig.port, "127.0.0.1") as slow, RawConnection(rig.port, "127.0.0.2") as other:
        assert rig.server._dispatcher.wake_for_computed() is None
        delay_page(rig, slow, other)
        assert wait_until(lambda: rig.server._dispatcher.wake_for_computed() is not None)
        now[0] += COMPUTING_SECONDS * 0.9
        assert rig.server._dispatcher.wake_for_computed() == pytest.approx(COMPUTING_SECONDS * 0.1)
        rig.gate.set()
        assert all(wire.read_response().status == 200 for wire in (slow, other))


@pytest.mark.parametrize("kind", ["page", "part"])
def test_a_computed_request_waits_until_an_upload_ends(
    computing_listener: tuple[ListenerHarness, list[float]], kind: str
) -> None:
    rig, _ = computing_listener
    with RawConnection(rig.port, "127.0.0.1") as sender, RawConnection(rig.port, "127.0.0.2") as reader:
        sender.send(build_upload(build_form(build_part(b"%PDF-1.7")), "/slow-files"))
        assert rig.entered.wait(10)
        reader.send(build_request("GET", f"/{kind}"))
        assert ping_other(rig)
        assert rig.calls == ["/slow-files", "/other"]
        rig.gate.set()
        assert reader.read_response().status == 200
        assert sender.read_response().status == 200


def test_a_computed_request_does_not_wait_long_for_uploads(
    computing_listener: tuple[ListenerHarness, list[float]],
) -> None:
    rig, now = computing_listener
    upload = build_upload(build_form(build_part(b"%PDF-1.7")), "/slow-files")
    with ExitStack() as stack:
        reader, *senders = [stack.enter_context(RawConnection(rig.port, f"127.0.0.{last}")) for last in range(1, 4)]
        reader.send(build_request("GET", "/page"))
        assert reader.read_response().status == 200
        for sender in senders:  # the time that the next page waits begins with the first of these
            now[0] += COMPUTING_SECONDS * 0.6
            sender.send(upload)
            assert rig.entered.wait(10)
            rig.entered.clear()
        reader.send(build_request("GET", "/page"))
        assert ping_other(rig)
        assert rig.calls == ["/page", "/slow-files", "/slow-files", "/other"]
        now[0] += COMPUTING_SECONDS * 0.5
        assert reader.read_response().status == 200
        rig.gate.set()
        assert all(sender.read_response().status == 200 for sender in senders)


def ping_other(rig: ListenerHarness) -> bool:
    """Return whether a request of no kind is answered."""
    with RawConnection(rig.port, "127.0.0.9") as visitor:
        return ping(visitor, "/other")


def test_pages_and_parts_and_other_requests_take_turns(start_listener: Callable[..., ListenerHarness]) -> None:
    rig = start_listener(threads=1, find_kind=find_kind)
    paths = [f"/{kind}/{number}" for kind in ("page", "part", "other") for number in range(4)]
    with ExitStack() as stack:
        first, *wires = [stack.enter_context(RawConnection(rig.port, f"127.0.0.{last}")) for last in range(1, 14)]
        first.send(build_request("GET", "/slow"))
        assert rig.entered.wait(10)
        for wire, path in zip(wires, paths, strict=True):
            wire.send(build_request("GET", path))
        assert wait_until(lambda: rig.count_connections(Phase.RUNNING) == 13)  # all are queued
        rig.gate.set()
        assert all(wire.read_response().status == 200 for wire in (first, *wires))
    kinds = [path.split("/")[1] for path in rig.calls[1:]]  # the first was slow
    assert kinds == kinds[:3] * 4
    assert set(kinds) == {"page", "part", "other"}


def test_a_stop_does_not_wait_for_pages_that_are_queued(
    computing_listener: tuple[ListenerHarness, list[float]],
) -> None:
    rig, _ = computing_listener
    with RawConnection(rig.port, "127.0.0.1") as slow, RawConnection(rig.port, "127.0.0.2") as other:
        delay_page(rig, slow, other)
        rig.server.stop(0)
        assert other.read_to_end() == b""


class QueueSimulation:
    """A queue in which a computed request of 2 ms waits at any time. ``starts``: the milliseconds at which these were
    started."""

    def __init__(self) -> None:
        self.milliseconds = 0
        self.starts: list[int] = []
        self._ends: dict[Any, float] = {}
        self._queue = RequestQueue(
            lambda channel: "127.0.0.1",
            lambda channel: channel.kind,
            lambda channel: channel.kind is None,
            lambda: self.milliseconds / 1000,
        )

    def start(self, duration: float, kind: ComputedKind | None = None) -> None:
        """Queue a request that runs for ``duration`` milliseconds: an upload by default."""
        channel = SimpleNamespace(kind=kind, duration=duration, next_request=object())
        self._queue.append(channel)

    def advance(self, milliseconds: int) -> None:
        """Let time pass."""
        for _ in range(milliseconds):
            self.milliseconds += 1
            for request, end in list(self._ends.items()):
                if end <= self.milliseconds:
                    del self._ends[request]
                    self._queue.finish(request)
            if not self._queue.has_computed():
                self.start(2, ComputedKind.PAGE_PART)
            while self._queue:
                channel = self._queue.popleft()
                self._ends[channel.next_request] = self.milliseconds + channel.duration
                if channel.kind is ComputedKind.PAGE_PART:
                    self.starts.append(self.milliseconds)
                    break  # the next one is queued when this one has ended


def test_computed_requests_wait_until_a_short_upload_ends() -> None:
    simulation = QueueSimulation()
    for gap in range(5, 15):
        simulation.advance(gap)
        simulation.starts.clear()
        simulation.start(20)
        simulation.advance(20)
        assert len(simulation.starts) <= 1  # before the upload, in the same millisecond


def test_computed_requests_get_half_of_the_time_while_uploads_overlap() -> None:
    simulation = QueueSimulation()
    for _ in range(100):
        simulation.start(20)
        simulation.advance(10)
    assert 200 <= len(simulation.starts) <= 300  # of 500 without uploads


def test_an_upload_that_takes_long_does_not_delay_computed_requests() -> None:
    simulation = QueueSimulation()
    simulation.start(inf)
    simulation.advance(250)
    simulation.starts.clear()
    simulation.advance(100)
    assert len(simulation.starts) == 50


def test_a_computed_request_that_hangs_delays_others_briefly_also_beside_uploads() -> None:
    simulation = QueueSimulation()
    simulation.start(inf, ComputedKind.LINK_PAGE)
    for _ in range(100):
        simulation.start(20)
        simulation.advance(22)
    waits = [after - before for before, after in pairwise([0, *simulation.starts])]
    assert max(waits) <= 60
    assert len(waits) >= 50


def test_the_end_of_a_request_is_not_that_of_the_next_one_of_its_connection() -> None:
    queue = RequestQueue(lambda channel: "127.0.0.1", lambda channel: channel.kind, lambda channel: True, lambda: 1.0)
    first, second, other = object(), object(), object()
    channel = SimpleNamespace(kind=None, next_request=first)
    queue.append(channel)
    assert queue.popleft() is channel
    channel.next_request = second
    queue.append(channel)
    assert queue.popleft() is channel
    queue.finish(first)
    queue.append(SimpleNamespace(kind=ComputedKind.LINK_PAGE, next_request=other))
    assert len(queue) == 0
    queue.finish(second)
    assert len(queue) == 1
