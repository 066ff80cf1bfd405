"""The addresses that the server may connect to. Pure.

The module does not use ``is_global`` and ``is_private`` of the standard library, because these allow multicast,
metadata services and tunnels to 127.0.0.1.
"""

import ipaddress
from collections.abc import Callable
from enum import Enum

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
AddressPolicy = Callable[[Address], bool]
"""Returns whether a request may connect to an address."""


class AddressClass(Enum):
    """Who may make the server connect to an address."""

    PUBLIC = "anybody"
    PRIVATE = "the operator, by naming the host"
    NEVER = "nobody"


def classify_address(address: Address) -> AddressClass:
    """Return the class of ``address``. An IPv6 address is at least as restricted as the IPv4
    address that it contains."""
    if isinstance(address, ipaddress.IPv4Address):
        return _classify_ipv4(address)
    embedded = _find_embedded_ipv4(address)
    if embedded is not None:
        # Only the operator knows whether the network routes such an address, for example by NAT64.
        return AddressClass.NEVER if _classify_ipv4(embedded) is AddressClass.NEVER else AddressClass.PRIVATE
    if address in _NEVER_6:
        return AddressClass.NEVER
    if any(address in network for network in _PRIVATE_6):
        return AddressClass.PRIVATE
    unicast = address in _UNICAST_6 and not any(address in network for network in _SPECIAL_6)
    return AddressClass.PUBLIC if unicast else AddressClass.NEVER


def is_public(address: Address) -> bool:
    """Return whether users may supply the address: public unicast addresses only."""
    return classify_address(address) is AddressClass.PUBLIC


def is_operator_allowed(address: Address) -> bool:
    """Return whether the operator may supply the address: private networks and this machine too.

    Metadata services and link-local addresses are never allowed.
    """
    return classify_address(address) is not AddressClass.NEVER


def _classify_ipv4(address: ipaddress.IPv4Address) -> AddressClass:
    if address in _NEVER_4 or any(address in network for network in _SPECIAL_4):
        return AddressClass.NEVER
    return AddressClass.PRIVATE if any(address in network for network in _PRIVATE_4) else AddressClass.PUBLIC


def _find_embedded_ipv4(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None


def _parse_ipv4_networks(*texts: str) -> tuple[ipaddress.IPv4Network, ...]:
    return tuple(ipaddress.IPv4Network(text) for text in texts)


def _parse_ipv6_networks(*texts: str) -> tuple[ipaddress.IPv6Network, ...]:
    return tuple(ipaddress.IPv6Network(text) for text in texts)


_PRIVATE_4 = _parse_ipv4_networks("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
# The rest of IANA's special registry: this network, link-local, protocol assignments, documentation, relays, tests,
# multicast, reserved and broadcast.
_SPECIAL_4 = _parse_ipv4_networks(
    "0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24",
    "192.88.99.0/24", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
)  # fmt: skip
# Metadata and control services of hosting providers in ordinary ranges.
_NEVER_4 = frozenset(map(ipaddress.IPv4Address, ("100.100.100.200", "168.63.129.16")))
_NEVER_6 = frozenset(map(ipaddress.IPv6Address, ("fd00:ec2::254", "fd20:ce::254")))

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_UNICAST_6 = ipaddress.IPv6Network("2000::/3")
_PRIVATE_6 = _parse_ipv6_networks("::1/128", "fc00::/7")
# Within 2000::/3: protocol assignments with Teredo, documentation (both), 6to4.
_SPECIAL_6 = _parse_ipv6_networks("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
