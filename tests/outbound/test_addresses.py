"""Which addresses the server may connect to: a manual table that includes the errors of ``is_global``."""

import ipaddress

import pytest

from docshare.server.outbound.addresses import is_operator_allowed, is_public

PUBLIC = [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
    "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.1",
    "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "203.0.112.255", "223.255.255.255",
    "2001:200::1", "2001:db7::1", "2001:db9::1", "2003::1", "2606:4700::1111", "2a00:1450:4001::1", "3ffe::1",
]  # fmt: skip
PRIVATE = [
    "10.0.0.0", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.1.2.3", "172.16.0.1",
    "172.31.255.255", "192.168.0.1", "192.168.255.255", "::1", "fc00::1", "fd12:3456::1",
    # Addresses that embed an IPv4 address are for operators only, who know whether their network translates them.
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "64:ff9b::7f00:1", "64:ff9b::808:808",
]  # fmt: skip
ALWAYS_REJECTED = [
    "0.0.0.0", "0.1.2.3", "169.254.0.1", "169.254.169.254", "169.254.170.2", "192.0.0.1", "192.0.0.192", "192.0.2.1",
    "192.31.196.1", "192.52.193.1", "192.88.99.1", "192.175.48.1", "198.18.0.1", "198.19.255.255", "198.51.100.1",
    "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "100.100.100.200", "168.63.129.16",
    "::", "::7f00:1", "::ffff:0:7f00:1", "::ffff:169.254.169.254", "::ffff:0.0.0.0", "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::7f00:1", "::5efe:7f00:1", "1::1", "100::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:1ff::1", "2001:db8::1", "2002:7f00:1::", "2002:a9fe:a9fe::", "2002:808:808::1", "3fff::1", "3fff:fff::1",
    "4000::1", "5f00::1", "fd00:ec2::254", "fd20:ce::254", "fe80::1", "febf::1", "fec0::1", "ff02::1", "ff0e::1",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "for_users", "for_operators"),
    [
        *((text, True, True) for text in PUBLIC),
        *((text, False, True) for text in PRIVATE),
        *((text, False, False) for text in ALWAYS_REJECTED),
    ],
)
def test_an_address_is_allowed_for_users_operators_or_nobody(text: str, for_users: bool, for_operators: bool) -> None:
    """Operators may configure private addresses; users may not supply them. ``is_private`` is not sufficient."""
    address = ipaddress.ip_address(text)
    assert (is_public(address), is_operator_allowed(address)) == (for_users, for_operators)
