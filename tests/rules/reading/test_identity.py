"""Readers are distinguished, but cannot be identified."""

import pytest

from docshare.server.rules.identity import network_prefix, reader_key

SALT = bytes(32)


def test_equal_address_and_browser_are_one_reader() -> None:
    assert reader_key(SALT, "203.0.113.7", "Chrome") == reader_key(SALT, "203.0.113.7", "Chrome")


@pytest.mark.parametrize(
    ("salt", "address", "browser"),
    [(b"\1" * 32, "203.0.113.7", "Chrome"), (SALT, "203.0.113.8", "Chrome"), (SALT, "203.0.113.7", "Firefox")],
)
def test_another_salt_address_or_browser_is_another_reader(salt: bytes, address: str, browser: str) -> None:
    assert reader_key(salt, address, browser) != reader_key(SALT, "203.0.113.7", "Chrome")


def test_a_reader_key_is_hexadecimal() -> None:
    name = reader_key(SALT, "203.0.113.7", "Chrome")
    assert len(name) == 32
    assert set(name) <= set("0123456789abcdef")


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:aaaa:bbbb:cccc:dddd", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("", ""),
    ],
)
def test_the_network_prefix_of_an_address(address: str, network: str) -> None:
    assert network_prefix(address) == network
