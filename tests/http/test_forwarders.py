"""An untrusted proxy is reported in the log, on the owner's pages, and by doctor."""

import ipaddress
import logging
from collections.abc import Callable

import pytest

from docshare.server.http.proxy_probes import UntrustedProxies
from docshare.server.services.operations import diagnosis
from tests.support.owner.browser import sign_in_browser
from tests.support.people.cast import World


def send_through(world: World, peer: str, path: str = "/", forwarded: str | None = "203.0.113.7") -> None:
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    world.http.get(path, headers=headers, environ_overrides={"REMOTE_ADDR": peer})


def find_proxy_check(world: World) -> dict[str, object]:
    (row,) = (row for row in diagnosis.run_checks(world.rt, {}) if row["check"] == "proxies")
    return row


@pytest.mark.parametrize("peer", ["127.0.0.1", "::1", "10.1.2.3", "172.17.0.1", "192.168.0.4", "fd00::1"])
def test_a_local_peer_that_sends_x_forwarded_for_is_reported(
    world: World, peer: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    for path in ("/", "/api/files/000000000000/metadata", "/0" * 3):
        send_through(world, peer, path)
    (line,) = (record for record in caplog.records if record.message == "proxy not trusted")
    assert (line.peer, line.fix) == (peer, f"DOCSHARE_TRUSTED_PROXIES={peer}")
    row = find_proxy_check(world)
    assert row["level"] == "error"
    assert f"DOCSHARE_TRUSTED_PROXIES={peer}" in str(row["fix"])
    assert f"<code>DOCSHARE_TRUSTED_PROXIES={peer}</code>" in sign_in_browser(world, world.fay).get("/files").text
    world.clock.advance(minutes=59)
    send_through(world, peer)
    assert len([record for record in caplog.records if record.message == "proxy not trusted"]) == 1
    world.clock.advance(minutes=1)
    send_through(world, peer)
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
def test_other_peers_are_not_reported(world: World, peer: str, path: str, forwarded: str | None) -> None:
    send_through(world, peer, path, forwarded)
    assert find_proxy_check(world)["level"] == "info"
    assert "DOCSHARE_TRUSTED_PROXIES" not in sign_in_browser(world, world.fay).get("/files").text


def test_a_trusted_proxy_is_not_reported(make: Callable[..., World]) -> None:
    world = make(trusted_proxies=(ipaddress.ip_network("127.0.0.0/8"),))
    send_through(world, "127.0.0.1")
    assert find_proxy_check(world)["ok"]
    send_through(world, "10.0.0.1")
    value = "DOCSHARE_TRUSTED_PROXIES=127.0.0.0/8,10.0.0.1"
    assert value in str(find_proxy_check(world)["fix"])
    assert f"<code>{value}</code>" in sign_in_browser(world, world.fay).get("/files").text


def test_a_proxy_is_forgotten_after_a_day(world: World) -> None:
    send_through(world, "127.0.0.1")
    world.clock.advance(days=1)
    assert world.rt.untrusted_proxies.list_recent(world.clock.now) == []


def test_at_most_32_proxies_are_remembered() -> None:
    forwarders = UntrustedProxies()
    for number in range(1000):
        forwarders.record(f"10.0.{number // 256}.{number % 256}", number)
    assert len(forwarders.list_recent(1000)) == 32
