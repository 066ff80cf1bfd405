"""Distinguish readers without storing who they are.

A reader is identified by an HMAC of IP address and browser family, keyed with a secret of the file that is
replaced every 30 days (``READER_SALT_MS``). The same person has different keys for two files, and for one file after
its salt was replaced; nothing links these keys. The address itself is not stored.
"""

import hmac
import ipaddress
from functools import lru_cache


def reader_key(salt: bytes, address: str, browser: str) -> str:
    """Return the key of a reader: 32 hex digits.

    Parameters: ``salt`` the file's secret; ``address`` the reader's IP address; ``browser`` its family. The same
    address and browser family are one visitor, however many sessions they have.
    """
    return hmac.digest(salt, f"{network_prefix(address)}\n{browser}".encode(), "sha256").hex()[:32]


@lru_cache(maxsize=4096)
def network_prefix(address: str) -> str:
    """Return the stable part of ``address``: IPv4 unchanged, IPv6 cut to its /64, because devices change the rest
    daily.

    A text that is not an address is returned unchanged.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((int(parsed), 64), strict=False))
    return str(parsed)
