"""A proxy that is not trusted is named: in the log, on the owner's pages, and by doctor."""

import ipaddress
import logging
from collections.abc import Callable

import pytest

from docshare.server.http.proxy_probes import UntrustedProxies
from docshare.server.services.operations import diagnosis
from tests.support.cast import World
from tests.support.owner import sign_in_browser


def request_through(world: World, peer: str, path: str = "/", forwarded: str | None = "203.0.113.7") -> None:
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    world.http.get(path, headers=headers, environ_overrides={"REMOTE_ADDR": peer})


def proxy_finding(world: World) -> dict[str, object]:
    (row,) = (row for row in diagnosis.run_checks(world.rt, {}) if row["check"] == "proxies")
    return row


@pytest.mark.parametrize("peer", ["127.0.0.1", "::1", "10.1.2.3", "172.17.0.1", "192.168.0.4", "fd00::1"])
def test_a_neighbor_that_says_for_whom_it_asks_is_named(
    world: World, peer: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    for path in ("/", "/api/files/000000000000/metadata", "/0" * 3):
        request_through(world, peer, path)
    (line,) = (record for record in caplog.records if record.message == "proxy not trusted")
    assert (line.peer, line.fix) == (peer, f"DOCSHARE_TRUSTED_PROXIES={peer}")
    row = proxy_finding(world)
    assert row["level"] == "error"
    assert f"DOCSHARE_TRUSTED_PROXIES={peer}" in str(row["fix"])
    assert f"<code>DOCSHARE_TRUSTED_PROXIES={peer}</code>" in sign_in_browser(world, world.fay).get("/files").text
    world.clock.advance(minutes=59)
    request_through(world, peer)
    assert len([record for record in caplog.records if record.message == "proxy not trusted"]) == 1
    world.clock.advance(minutes=1)
    request_through(world, peer)
    assert len([record for record in caplog.records if record.message == "proxy not trusted"]) == 2


@pytest.mark.parametrize(
    ("peer", "path", "forwarded"),
    [
        ("127.0.0.1", "/", None),
        ("203.0.113.9", "/", "203.0.113.7"),
        ("127.0.0.1", "/healthz", "203.0.113.7"),
        ("", "/", "203.0.113.7"),
    ],
    ids=["no header", "a reader", "doctor", "nobody"],
)
def test_nobody_else_is(world: World, peer: str, path: str, forwarded: str | None) -> None:
    request_through(world, peer, path, forwarded)
    assert proxy_finding(world)["level"] == "info"
    assert "DOCSHARE_TRUSTED_PROXIES" not in sign_in_browser(world, world.fay).get("/files").text


def test_a_trusted_proxy_is_not_named(make: Callable[..., World]) -> None:
    world = make(trusted_proxies=(ipaddress.ip_network("127.0.0.0/8"),))
    request_through(world, "127.0.0.1")
    assert proxy_finding(world)["ok"]
    request_through(world, "10.0.0.1")
    value = "DOCSHARE_TRUSTED_PROXIES=127.0.0.0/8,10.0.0.1"
    assert value in str(proxy_finding(world)["fix"])
    assert f"<code>{value}</code>" in sign_in_browser(world, world.fay).get("/files").text


def test_a_proxy_is_forgotten_after_a_day(world: World) -> None:
    request_through(world, "127.0.0.1")
    world.clock.advance(days=1)
    assert world.rt.untrusted_proxies.list_recent(world.clock.now) == []


def test_no_more_than_a_few_are_remembered() -> None:
    forwarders = UntrustedProxies()
    for number in range(1000):
        forwarders.record(f"10.0.{number // 256}.{number % 256}", number)
    assert len(forwarders.list_recent(1000)) == 32
