"""Checking passwords and the names of links slowly enough that nobody can try many.

Unknown links are counted by network address, at every address that answers otherwise for a known one. Wrong passwords
are counted by network address too, and by what they were tried on: the first keeps one network from going on,
the second slows down many networks together, and both let go again by themselves. Right ones are counted nowhere.
"""

import math
import re
from dataclasses import dataclass

from docshare.contract.limits import ADDRESS, HOUR, MINUTE, SECOND, RatePolicy
from docshare.contract.problems import Problem
from docshare.server.http.rate_limits import Allowance, address_key
from docshare.server.rules import guesses
from docshare.server.rules.gates import PASSWORD
from docshare.server.runtime import Runtime
from docshare.server.services.links import links, share_passwords
from docshare.server.services.links.links import Link

_MIN_MINUTES_S = 120  # said in minutes
_LINK_NAME = re.compile(r"[A-Za-z0-9-]{1,64}", re.ASCII)


@dataclass(frozen=True)
class AttemptLimits:
    """How many wrong passwords are taken: from one network (``here``), and on one thing from everywhere (``whole``)."""

    here: RatePolicy
    whole: RatePolicy


_LINK_LIMITS = AttemptLimits(
    here=RatePolicy("password", 10, 15 * MINUTE, "address"),
    whole=RatePolicy("password-file", 100, HOUR, "file"),
)


def find_link(rt: Runtime, name: str, address: str, *, ids_only: bool = False) -> Link:
    """Return the link ``name``, whatever its state, for a request from the network address ``address``.

    Parameters: ``ids_only`` whether a slug is no name here. Raises ``not_found`` (unknown, revoked and trashed alike),
    and ``rate_limited`` for an address that tried too many unknown links: for known ones too, or the refusal would
    tell them apart.
    """
    if _LINK_NAME.fullmatch(name) is None:
        raise link_not_found()  # browsers ask for favicon.ico by themselves; it does not count as a guess
    require_link_budget(rt, address)
    link = links.resolve(rt, name)
    if link is None or (ids_only and link.public_id not in (name, name.lower())):
        _require_allowed(rt.limits.hit(ADDRESS, _link_key(address), rt.config.address_limit))
        raise link_not_found()
    return link


def require_link_budget(rt: Runtime, address: str) -> None:
    """Raise ``rate_limited`` for a network address that tried too many unknown links."""
    _require_allowed(rt.limits.look(ADDRESS, _link_key(address), rt.config.address_limit))


def link_not_found() -> Problem:
    """Return the answer for an unknown link, the same for all of them."""
    return Problem("not_found", "There is no such link.")


def require_password(rt: Runtime, file_id: int, stored: str, password: str, address: str) -> None:
    """Return if ``stored`` is the hash of ``password``, sent from the network address ``address``.

    Raises ``forbidden``, and ``rate_limited`` without looking at the password after too many wrong ones; ``at`` of the
    ``extra`` says which field is meant.
    """
    here = f"{file_id} {address_key(address)}"
    if not verify_password(rt, _LINK_LIMITS, stored, password, here=here, whole=str(file_id)):
        raise Problem("forbidden", "This is not the password.", extra={"at": PASSWORD})


def verify_password(rt: Runtime, lock: AttemptLimits, stored: str, password: str, *, here: str, whole: str) -> bool:
    """Whether ``stored`` is the hash of ``password``. Wrong ones count for the keys ``here`` and ``whole`` of ``lock``.

    Raises ``rate_limited`` without looking at the password after too many wrong ones. Never inside a transaction.
    """
    # One at a time, or many sent at once would all be looked at before the first is counted.
    with rt.db.turn((lock.here.name, here)), rt.db.turn((lock.whole.name, whole)):
        _require_no_delay(rt, lock, here, whole)
        if share_passwords.is_match(stored, password):
            return True
        rt.limits.hit(lock.here, here, lock.here.limit)
        rt.limits.hit(lock.whole, whole, lock.whole.limit)
    return False


def _link_key(address: str) -> str:
    return f"link {address_key(address)}"


def _require_allowed(allowance: Allowance) -> None:
    if not allowance.allowed:
        retry = {"Retry-After": str(allowance.reset_s)}
        raise Problem("rate_limited", "Too many links that do not exist were tried from here.", headers=retry)


def _require_no_delay(rt: Runtime, lock: AttemptLimits, here: str, whole: str) -> None:
    allowance = rt.limits.look(lock.here, here, lock.here.limit)
    wrong = lock.whole.limit - rt.limits.look(lock.whole, whole, lock.whole.limit).remaining
    wait = math.ceil(guesses.password_delay_ms(wrong, rt.limits.since(lock.whole, whole, lock.whole.limit)) / SECOND)
    if not allowance.allowed:
        wait = max(wait, allowance.reset_s)
    if wait:
        said = f"Too many wrong passwords were tried. Try again in {_format_wait(wait)}."
        raise Problem("rate_limited", said, headers={"Retry-After": str(wait)}, extra={"at": PASSWORD})


def _format_wait(seconds: int) -> str:
    count, unit = (seconds, "second") if seconds < _MIN_MINUTES_S else (math.ceil(seconds / 60), "minute")
    return f"{count} {unit}{'' if count == 1 else 's'}"
