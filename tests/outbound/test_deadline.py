"""The deadline of outgoing connections, by a clock that the test advances."""

import ipaddress
from types import SimpleNamespace

import pytest

from docshare.server.outbound import watchdog
from docshare.server.outbound.addresses import Address, is_operator_allowed
from docshare.server.outbound.exchange import OutboundClient, OutboundRequest
from docshare.server.outbound.failures import OutboundTimeout
from docshare.server.outbound.targets import OutboundTarget


def test_a_lookup_that_ends_at_the_deadline_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that enforces the deadline may notice that later."""
    now = [0.0]
    monkeypatch.setattr(watchdog, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def resolve(host: str) -> list[Address]:
        now[0] += 10
        return [ipaddress.ip_address("127.0.0.1")]

    request = OutboundRequest(OutboundTarget("http", "files.example", 9, "/"))
    with (
        pytest.raises(OutboundTimeout),
        OutboundClient(resolve=resolve).exchange(request, is_operator_allowed, deadline_s=10),
    ):
        pass
