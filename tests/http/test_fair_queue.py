"""Requests wait only for others of the same client, also behind a trusted proxy.

Connections of one client also wait for those of others before they are read.
"""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import chain, count

import pytest

from docshare.server.http.event_loop import MIN_EVENTS_PER_TURN, TURN_SECONDS
from tests.http.harness import ListenerHarness, RawConnection, build_request, wait_until


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
        assert wait_until(lambda: len(rig.heads) == 32)
        rig.gate.set()
        assert visitor.read_response().status == 200
        assert all(wire.read_response().status == 200 for wire in crowd)
    assert rig.calls.index("/visitor") <= 2


def make_fast_clock() -> Callable[[], float]:
    """Return a clock that advances by a turn of the loop with each reading."""
    return partial(next, count(1.0, TURN_SECONDS))


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
        received = set[int]()
        for _ in range(4):
            rig.server._run_once(1)
            channels = rig.server._list_channels()
            received |= {id(channel) for channel in channels if channel.transferred_bytes()}
            for wire in crowd[:MIN_EVENTS_PER_TURN]:
                wire.send(b"X: y\r\n")
        assert len(received) == size
        rig.thread.start()
