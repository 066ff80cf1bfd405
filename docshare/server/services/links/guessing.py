"""Limit the rate at which passwords and names of links can be tried.

Requests for unknown links are counted by IP address, on every route that answers differently for a known link.
Wrong passwords are counted by IP address and by the link or account that they were tried on: the first count
stops one network, the second slows down many networks together, and both expire. Correct passwords are not counted.
"""

import math
from dataclasses import dataclass

from docshare.contract.amounts import format_plural
from docshare.contract.limits import ADDRESS, HOUR, MINUTE, SECOND, RatePolicy
from docshare.contract.patterns import LINK_NAME
from docshare.contract.problems import Problem
from docshare.server.rate_limits import Allowance
from docshare.server.rules import guess_limits
from docshare.server.rules.gates import PASSWORD
from docshare.server.rules.identity import network_prefix
from docshare.server.runtime import Runtime
from docshare.server.services.links import links, share_passwords
from docshare.server.services.links.links import Link

_TURN_WAIT_S = 30.0  # of a request that cannot wait without a thread
_BUSY_RETRY_S = 10
_MIN_MINUTES_S = 120  # a longer wait is given in minutes


@dataclass(frozen=True)
class AttemptLimits:
    """How many wrong passwords are accepted: from one network (``here``), and for one target from all (``whole``)."""

    per_network: RatePolicy
    overall: RatePolicy


_LINK_LIMITS = AttemptLimits(
    per_network=RatePolicy("password", 10, 15 * MINUTE, "address"),
    overall=RatePolicy("password-file", 100, HOUR, "file"),
)


def find_link(rt: Runtime, name: str, address: str, *, ids_only: bool = False) -> Link:
    """Return the link ``name``, whatever its state, for a request from the IP address ``address``.

    Parameters: ``ids_only`` whether slugs are not accepted. Raises ``not_found`` (the same for unknown, revoked and
    trashed links), and ``rate_limited`` for an address that tried too many unknown links, also when the link is known:
    otherwise the response would reveal that.
    """
    if LINK_NAME.fullmatch(name) is None:
        raise link_not_found()  # browsers request favicon.ico by themselves; it does not count as a guess
    require_link_budget(rt, address)
    link = links.resolve(rt, name)
    if link is None or (ids_only and link.public_id not in (name, name.lower())):
        _require_allowed(rt.limits.hit(ADDRESS, _link_key(address), rt.config.address_limit))
        raise link_not_found()
    return link


def require_link_budget(rt: Runtime, address: str) -> None:
    """Raise ``rate_limited`` for an IP address that tried too many unknown links."""
    _require_allowed(rt.limits.peek(ADDRESS, _link_key(address), rt.config.address_limit))


def link_not_found() -> Problem:
    """Return the problem for an unknown link, the same for all of them."""
    return Problem("not_found", "There is no such link.")


def require_password(rt: Runtime, file_id: int, stored: str, password: str, address: str) -> None:
    """Raise ``forbidden`` unless ``stored`` is the hash of ``password``, sent from the IP address ``address``.

    After too many wrong passwords it raises ``rate_limited`` without checking this one. ``at`` of the ``extra`` names
    the field.
    """
    here = f"{file_id} {network_prefix(address)}"
    if not verify_password(rt, _LINK_LIMITS, stored, password, address, here=here, whole=str(file_id)):
        raise Problem("forbidden", "The password is incorrect.", extra={"at": PASSWORD})


def verify_password(
    rt: Runtime, lock: AttemptLimits, stored: str, password: str, address: str, *, here: str, whole: str
) -> bool:
    """Return whether ``stored`` is the hash of ``password``, sent from the IP address ``address``. Wrong ones
    count for the keys ``here`` and ``whole`` of ``lock``.

    After too many wrong passwords it raises ``rate_limited`` without checking this one, and ``unavailable`` while too
    many are being checked. Hashing is slow, so do not call this inside a transaction. A request that has to wait
    may give up its thread; it is then run again from the beginning.
    """
    _require_no_delay(rt, lock, here, whole)
    turns = rt.password_turns
    key = turns.compute_key(stored, password)
    if turns.is_verified(key, rt.clock()):
        return True
    with turns.hold(key, network_prefix(address), _TURN_WAIT_S) as is_held:
        if is_held:
            return _check_password(rt, lock, stored, password, here, whole, key)
        if turns.is_verified(key, rt.clock()):
            return True
    raise Problem("unavailable", "Too many passwords are being checked.", headers={"Retry-After": str(_BUSY_RETRY_S)})


def _check_password(
    rt: Runtime, lock: AttemptLimits, stored: str, password: str, here: str, whole: str, key: bytes
) -> bool:
    # The lock: otherwise, all of many concurrent attempts would be checked before the first one is counted.
    with rt.db.lock_key((lock.per_network.name, here), (lock.overall.name, whole)):
        _require_no_delay(rt, lock, here, whole)
        if share_passwords.is_match(stored, password):
            rt.password_turns.remember(key, rt.clock())
            return True
        rt.limits.hit(lock.per_network, here, lock.per_network.limit)
        rt.limits.hit(lock.overall, whole, lock.overall.limit)
    return False


def _link_key(address: str) -> str:
    return f"link {network_prefix(address)}"


def _require_allowed(allowance: Allowance) -> None:
    if not allowance.is_allowed:
        retry = {"Retry-After": str(allowance.reset_s)}
        raise Problem("rate_limited", "Too many unknown links were requested from your network.", headers=retry)


def _require_no_delay(rt: Runtime, lock: AttemptLimits, here: str, whole: str) -> None:
    allowance = rt.limits.peek(lock.per_network, here, lock.per_network.limit)
    wrong = lock.overall.limit - rt.limits.peek(lock.overall, whole, lock.overall.limit).remaining
    wait = math.ceil(
        guess_limits.password_delay_ms(wrong, rt.limits.ms_since_last_hit(lock.overall, whole, lock.overall.limit))
        / SECOND
    )
    if not allowance.is_allowed:
        wait = max(wait, allowance.reset_s)
    if wait:
        detail = f"Too many wrong passwords were tried. Try again in {_format_wait(wait)}."
        raise Problem("rate_limited", detail, headers={"Retry-After": str(wait)}, extra={"at": PASSWORD})


def _format_wait(seconds: int) -> str:
    count, unit = (seconds, "second") if seconds < _MIN_MINUTES_S else (math.ceil(seconds / 60), "minute")
    return format_plural(count, unit)
