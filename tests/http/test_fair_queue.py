"""Requests wait only for others of the same client, also behind a trusted proxy."""

from collections.abc import Callable
from contextlib import ExitStack

import pytest

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
