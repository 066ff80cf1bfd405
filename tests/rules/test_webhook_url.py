"""Valid webhook URLs, and the addresses that their hosts may resolve to."""

import ipaddress

import pytest

from docshare.contract.problems import Problem
from docshare.server.outbound.targets import OutboundTarget
from docshare.server.rules.webhook_url import LOOPBACK, parse_allowed, vet_url
from tests.support.outside.forbidden_urls import FORMS, RESERVED_ADDRESSES

NONE_ALLOWED = parse_allowed(())
LISTED = parse_allowed(("10.0.0.0/8", "192.168.7.7", "fd12::/32", "receiver.lan", "0.0.0.0/0", "::/0"))


@pytest.mark.parametrize("url", FORMS, ids=repr)
def test_an_invalid_url_is_a_bad_request(url: str) -> None:
    with pytest.raises(Problem) as caught:
        vet_url(url, NONE_ALLOWED)
    assert caught.value.code == "bad_request"


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://hook.example", OutboundTarget("https", "hook.example", 443, "/")),
        ("HTTPS://Hook.Example:8443/In?a=%40#x", OutboundTarget("https", "hook.example", 8443, "/In?a=%40")),
        ("https://[2606:4700::1111]/", OutboundTarget("https", "2606:4700::1111", 443, "/")),
        ("https://8.8.8.8/", OutboundTarget("https", "8.8.8.8", 443, "/")),
    ],
)
def test_a_valid_url_is_parsed(url: str, target: OutboundTarget) -> None:
    assert vet_url(url, NONE_ALLOWED)[0] == target


@pytest.mark.parametrize(
    "text", [*RESERVED_ADDRESSES, "127.0.0.1", "10.0.0.1", "::1", "169.254.169.254", "fe80::1", "::ffff:8.8.8.8"]
)
def test_a_user_supplied_host_must_not_resolve_to_a_special_address(text: str) -> None:
    _, permit = vet_url("https://hook.example/", NONE_ALLOWED)
    assert not permit(ipaddress.ip_address(text))
    assert permit(ipaddress.ip_address("93.184.216.34"))


@pytest.mark.parametrize(
    ("url", "address", "permitted"),
    [
        # a host listed by name: any address except those that are never allowed
        ("http://receiver.lan/", "172.16.0.1", True),
        ("http://receiver.lan/", "93.184.216.34", True),
        ("http://receiver.lan/", "::ffff:10.0.0.1", True),
        ("http://receiver.lan/", "169.254.169.254", False),
        ("http://receiver.lan/", "0.0.0.0", False),
        ("http://receiver.lan/", "224.0.0.1", False),
        ("http://receiver.lan/", "fe80::1", False),
        # another host: decided by its address
        ("https://hook.example/", "10.1.2.3", True),
        ("http://hook.example/", "10.1.2.3", True),
        ("https://hook.example/", "169.254.169.254", False),
        ("https://hook.example/", "100.100.100.200", False),
        ("https://hook.example/", "ff02::1", False),
        ("https://hook.example/", "::", False),
    ],
)
def test_listed_targets_may_be_private_but_never_special(url: str, address: str, permitted: bool) -> None:
    """Metadata, link-local, multicast and unspecified addresses are rejected whatever is listed."""
    _, permit = vet_url(url, LISTED)
    assert permit(ipaddress.ip_address(address)) is permitted


@pytest.mark.parametrize(
    ("address", "permitted"),
    [("10.1.2.3", True), ("93.184.216.34", False), ("192.168.0.1", False), ("::ffff:10.1.2.3", False)],
)
def test_http_to_an_unlisted_host_is_allowed_only_to_listed_addresses(address: str, permitted: bool) -> None:
    _, permit = vet_url("http://hook.example/", parse_allowed(("10.0.0.0/8",)))
    assert permit(ipaddress.ip_address(address)) is permitted


def test_http_requires_a_listed_target() -> None:
    for allowed in (NONE_ALLOWED, parse_allowed(("receiver.lan",))):
        with pytest.raises(Problem, match="https://"):
            vet_url("http://hook.example/", allowed)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:4000/", "http://127.9.9.9/", "http://[::1]:4000/", "https://127.0.0.1/"]
)
def test_a_listener_may_be_on_this_machine(url: str) -> None:
    vet_url(url, LOOPBACK)


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1/", "http://8.8.8.8/", "http://[::ffff:127.0.0.1]/", "http://0.0.0.0/"]
)
def test_a_listener_elsewhere_is_rejected(url: str) -> None:
    with pytest.raises(Problem):
        vet_url(url, LOOPBACK)


@pytest.mark.parametrize(
    "entry",
    [
        "receiver",
        "receiver.lan",
        "a_b.example",
        "1receiver.example",
        "10.0.0.1",
        "10.0.0.0/8",
        "10.1.2.3/8",
        "::1",
        "fd12::/32",
        "::/0",
    ],
)
def test_an_entry_is_a_host_an_address_or_a_network(entry: str) -> None:
    allowed = parse_allowed((entry,))
    assert len(allowed.names) + len(allowed.networks) == 1


@pytest.mark.parametrize(
    "entry",
    [
        "*.example.com",
        "https://a.example",
        "a.example/x",
        "a.example:8080",
        "10.0.0.0/33",
        "10.0.0.256",
        "10.1",
        "0x7f000001",
        "127.0.0.1:80",
        "[::1]",
        "::1/129",
        "a b",
        "",
        ".example",
        "example.",
        "-a.example",
        "me@a.example",
        "\u0192iles.example",
        "10.0.0.0-10.0.0.9",
    ],
)
def test_an_invalid_entry_is_rejected(entry: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_allowed((entry,))
