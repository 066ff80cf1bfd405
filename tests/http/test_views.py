"""The origin of a request: forwarded headers count only from trusted proxies."""

import ipaddress
from collections.abc import Callable

import pytest

from docshare.server.http.views import client_country, resolve_client_address
from tests.support.people.cast import World

PROXY = "10.0.0.1"


@pytest.fixture
def proxied_world(make: Callable[..., World]) -> World:
    """Return an instance that trusts the proxies of 10.0.0.0/8, which send the country."""
    return make(trusted_proxies=(ipaddress.ip_network("10.0.0.0/8"),), country_header="CF-IPCountry")


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        (PROXY, "203.0.113.7", "203.0.113.7"),
        (PROXY, "203.0.113.7:5678", "203.0.113.7"),
        (PROXY, "198.51.100.1, 203.0.113.7:5678, 10.0.0.2:80", "203.0.113.7"),
        (PROXY, "2001:db8::1", "2001:db8::1"),
        (PROXY, "[2001:db8::1]", "2001:db8::1"),
        (PROXY, "[2001:db8::1]:80", "2001:db8::1"),
        (PROXY, "[2001:db8::1]:x", PROXY),
        (PROXY, "203.0.113.7:", PROXY),
        (PROXY, "unknown", PROXY),
        (PROXY, "", PROXY),
        (PROXY, None, PROXY),
        ("::ffff:10.0.0.1", "203.0.113.7", "203.0.113.7"),
        (PROXY, "198.51.100.1, ::ffff:10.0.0.2", "198.51.100.1"),
        ("198.51.100.9", "203.0.113.7:5678", "198.51.100.9"),
    ],
)
def test_the_client_address_is_the_last_hop_that_is_not_a_trusted_proxy(
    proxied_world: World, peer: str, forwarded: str | None, address: str
) -> None:
    assert resolve_client_address(proxied_world.rt, peer, forwarded) == address


@pytest.mark.parametrize(
    ("peer", "header", "country"),
    [
        (PROXY, "FR", "FR"),
        (PROXY, "fr", "FR"),
        (PROXY, "XX", None),
        (PROXY, "ZZ", None),
        (PROXY, "T1", None),
        (PROXY, "FRA", None),
        ("198.51.100.9", "FR", None),
    ],
)
def test_the_country_is_read_only_from_a_trusted_proxy(
    proxied_world: World, peer: str, header: str, country: str | None
) -> None:
    headers = {"CF-IPCountry": header}
    with proxied_world.app.test_request_context(headers=headers, environ_base={"REMOTE_ADDR": peer}):
        assert client_country() == country
