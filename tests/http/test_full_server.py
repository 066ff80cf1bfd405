"""A server that is full of requests, or that many new connections fill: visitors are still served."""

from collections.abc import Callable
from dataclasses import dataclass

from docshare.server.http.connection_limits import ConnectionLimiter, Phase
from tests.http.harness import (
    Connect,
    ListenerHarness,
    MonotonicClock,
    RawConnection,
    build_request,
    is_closed,
    ping,
    wait_until,
)


def fill_with_requests(rig: ListenerHarness, connect: Connect) -> list[RawConnection]:
    """Fill all 20 connections with requests: 15 from 127.0.0.2, 5 from 127.0.0.3."""
    crowd = [connect(rig.port, "127.0.0.2") for _ in range(15)] + [connect(rig.port, "127.0.0.3") for _ in range(5)]
    for wire in crowd:
        wire.send(build_request("GET", "/slow"))
    assert wait_until(lambda: rig.count_connections(Phase.RUNNING) == 20)
    return crowd


def test_addresses_whose_requests_fill_the_server_do_not_lock_out_a_visitor(
    start_listener: Callable[..., ListenerHarness], monotonic: MonotonicClock, connect: Connect
) -> None:
    rig = start_listener(connections=20, threads=1, clock=monotonic)
    crowd = fill_with_requests(rig, connect)
    visitor = connect(rig.port)
    visitor.send(build_request("GET", "/ping"))
    assert wait_until(lambda: sum(map(is_closed, crowd[:15])) == 1)
    assert connect(rig.port, "127.0.0.2").read_to_end() == b""
    rig.gate.set()
    assert visitor.read_response().status == 200
    remaining = [wire for wire in crowd if not is_closed(wire)]
    assert [wire.read_response().status for wire in remaining] == [200] * 19
    assert len(rig.calls) == 20  # the request of the closed connection was dropped


def test_a_visitor_whose_request_is_on_its_way_is_not_closed_for_a_larger_network(
    start_listener: Callable[..., ListenerHarness], monotonic: MonotonicClock, connect: Connect
) -> None:
    rig = start_listener(connections=20, threads=1, clock=monotonic)
    crowd = fill_with_requests(rig, connect)
    visitors = [connect(rig.port, f"127.0.0.{number}") for number in (4, 5)]
    for _ in range(3):
        assert connect(rig.port, "127.0.0.2").read_to_end() == b""
    # Both visitors took the place of the network with the most connections, not that of each other.
    assert wait_until(lambda: sum(map(is_closed, crowd[:15])) == 2)
    assert not any(map(is_closed, [*crowd[15:], *visitors]))
    rig.gate.set()
    assert all(ping(visitor) for visitor in visitors)


def test_a_silent_visitor_is_closed_for_a_larger_network_after_a_second(
    start_listener: Callable[..., ListenerHarness], monotonic: MonotonicClock, connect: Connect
) -> None:
    rig = start_listener(connections=20, threads=1, clock=monotonic)
    fill_with_requests(rig, connect)
    silent = connect(rig.port)
    assert connect(rig.port, "127.0.0.2").read_to_end() == b""
    monotonic.now += 1
    newcomer = connect(rig.port, "127.0.0.2")
    assert wait_until(lambda: is_closed(silent))
    rig.gate.set()
    assert ping(newcomer)


def test_the_requests_of_a_browser_are_not_dropped_for_silent_connections_of_many_addresses(
    start_listener: Callable[..., ListenerHarness], monotonic: MonotonicClock, connect: Connect
) -> None:
    rig = start_listener(connections=64, threads=1, clock=monotonic)
    browser = [connect(rig.port, "127.0.0.2") for _ in range(6)]
    for wire in browser:
        wire.send(build_request("GET", "/slow"))
    assert wait_until(lambda: rig.count_connections(Phase.RUNNING) == 6)
    crowd = [connect(rig.port, f"127.0.1.{number}") for number in range(1, 151)]
    assert wait_until(lambda: sum(map(is_closed, crowd)) == 150 + 6 - 64)
    rig.gate.set()
    assert [wire.read_response().status for wire in browser] == [200] * 6


@dataclass(eq=False)
class OpenConnection:
    """A connection of ``limiter`` that transfers nothing."""

    limiter: ConnectionLimiter
    peer: str
    network: str = ""
    phase: Phase = Phase.WAITING
    phase_request_count: int = 0
    phase_since: float = 0.0
    phase_bytes: int = 0

    def transferred_bytes(self) -> int:
        return 0

    def handle_close(self) -> None:
        self.limiter.remove(self)


def test_an_address_that_had_more_connections_a_moment_ago_loses_no_request(monotonic: MonotonicClock) -> None:
    limiter, dropped = ConnectionLimiter(20, monotonic, {}, lambda peer: False), list[str]()
    limiter.close_queued = lambda network: dropped.append(network) is None
    addresses = ["127.0.0.2"] * 3 + [f"127.0.1.{number}" for number in range(1, 18)]
    connections = [OpenConnection(limiter, address) for address in addresses]
    for connection in connections:
        limiter.add(connection)
        limiter.update(connection, Phase.RUNNING, 1)
    assert limiter.admit("127.0.2.1")
    assert dropped == ["127.0.0.2"]
    for connection in connections[:2]:  # one is closed for the newcomer, and one ends
        connection.handle_close()
    for number in (1, 2):
        limiter.add(OpenConnection(limiter, f"127.0.2.{number}"))
    assert limiter.admit("127.0.2.3")
    assert dropped == ["127.0.0.2"]
    assert len(limiter) == 19, "a newcomer that has sent nothing was closed"
