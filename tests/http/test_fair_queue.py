"""Requests wait only for others of the same client, also behind a trusted proxy.

Connections of one client also wait for those of others before they are read.
"""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import chain, count

import pytest

from docshare.server.http.connection_limits import Phase
from docshare.server.http.event_loop import MIN_EVENTS_PER_TURN, TURN_SECONDS
from docshare.server.http.fair_queue import LINK_PAGE_SECONDS
from tests.http.harness import (
    ListenerHarness,
    RawConnection,
    build_form,
    build_part,
    build_request,
    build_upload,
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


@pytest.fixture
def page_listener(start_listener: Callable[..., ListenerHarness]) -> tuple[ListenerHarness, list[float]]:
    """Return a listener for which ``/slow`` and paths below ``/page`` are pages of links, and its clock."""
    now = [1.0]

    def is_link_page(method: str, path: str) -> bool:
        return path == "/slow" or path.startswith("/page")

    return start_listener(is_link_page=is_link_page, clock=lambda: now[0]), now


def delay_page(rig: ListenerHarness, slow: RawConnection, other: RawConnection) -> None:
    """Request a page from ``other`` while one from ``slow`` runs."""
    slow.send(build_request("GET", "/slow"))
    assert rig.entered.wait(10)
    other.send(build_request("GET", "/page"))
    assert wait_until(lambda: len(rig.heads) == 2)


def test_pages_of_links_run_one_at_a_time_and_delay_no_other_requests(
    page_listener: tuple[ListenerHarness, list[float]],
) -> None:
    rig, _ = page_listener
    with ExitStack() as stack:
        slow, *pages = [stack.enter_context(RawConnection(rig.port, f"127.0.0.{last}")) for last in range(1, 4)]
        slow.send(build_request("GET", "/slow"))
        assert rig.entered.wait(10)
        for number, wire in enumerate(pages):
            wire.send(build_request("GET", f"/page/{number}"))
        with RawConnection(rig.port, "127.0.0.9") as visitor:
            for number in range(5):
                visitor.send(build_request("GET", f"/other/{number}"))
                assert visitor.read_response().status == 200
        assert rig.calls == ["/slow", *(f"/other/{number}" for number in range(5))]
        rig.gate.set()
        assert all(wire.read_response().status == 200 for wire in (slow, *pages))


def test_a_page_that_waits_for_something_else_does_not_delay_the_next(
    page_listener: tuple[ListenerHarness, list[float]],
) -> None:
    rig, now = page_listener
    with RawConnection(rig.port, "127.0.0.1") as slow, RawConnection(rig.port, "127.0.0.2") as other:
        delay_page(rig, slow, other)
        assert rig.calls == ["/slow"]
        now[0] += LINK_PAGE_SECONDS
        assert other.read_response().status == 200
        rig.gate.set()
        assert slow.read_response().status == 200


@pytest.mark.parametrize("ends", [True, False], ids=["the upload ends", "the upload takes long"])
def test_a_page_waits_for_an_upload_but_not_long(
    page_listener: tuple[ListenerHarness, list[float]], *, ends: bool
) -> None:
    rig, now = page_listener
    with RawConnection(rig.port, "127.0.0.1") as sender, RawConnection(rig.port, "127.0.0.2") as reader:
        reader.send(build_request("GET", "/page/1"))  # the time that the next one waits begins with this page
        assert reader.read_response().status == 200
        sender.send(build_upload(build_form(build_part(b"%PDF-1.7")), "/slow-files"))
        assert rig.entered.wait(10)
        reader.send(build_request("GET", "/page/2"))
        with RawConnection(rig.port, "127.0.0.3") as visitor:
            visitor.send(build_request("GET", "/other"))
            assert visitor.read_response().status == 200
        assert rig.calls == ["/page/1", "/slow-files", "/other"]
        if ends:
            rig.gate.set()
        else:
            now[0] += LINK_PAGE_SECONDS
        assert reader.read_response().status == 200
        rig.gate.set()
        assert sender.read_response().status == 200


def test_pages_and_other_requests_take_turns(start_listener: Callable[..., ListenerHarness]) -> None:
    rig = start_listener(threads=1, is_link_page=lambda method, path: path.startswith("/page"))
    paths = [*(f"/page/{number}" for number in range(4)), *(f"/other/{number}" for number in range(4))]
    with ExitStack() as stack:
        wires = [stack.enter_context(RawConnection(rig.port, f"127.0.0.{last}")) for last in range(1, 10)]
        wires[8].send(build_request("GET", "/slow"))
        assert rig.entered.wait(10)
        for wire, path in zip(wires, paths, strict=False):
            wire.send(build_request("GET", path))
        assert wait_until(lambda: rig.count_connections(Phase.RUNNING) == 9)  # all are queued
        rig.gate.set()
        assert all(wire.read_response().status == 200 for wire in wires)
    kinds = [path.split("/")[1] for path in rig.calls[1:]]  # the first was slow
    assert kinds in (["page", "other"] * 4, ["other", "page"] * 4)


def test_a_stop_does_not_wait_for_pages_that_are_queued(page_listener: tuple[ListenerHarness, list[float]]) -> None:
    rig, _ = page_listener
    with RawConnection(rig.port, "127.0.0.1") as slow, RawConnection(rig.port, "127.0.0.2") as other:
        delay_page(rig, slow, other)
        rig.server.stop(0)
        assert other.read_to_end() == b""
