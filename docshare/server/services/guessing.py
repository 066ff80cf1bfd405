"""Checking the password of a link, slowly enough that nobody can try many (hardening M4).

Wrong ones are counted by file and network address, and by file: the first keeps one network from going on, the second
slows down many networks together, and both let go again by themselves. Right ones are counted nowhere.
"""

import math

from docshare.contract.limits import HOUR, MINUTE, SECOND, RatePolicy
from docshare.contract.problems import Problem
from docshare.server.limits import address_key
from docshare.server.rules import guesses
from docshare.server.rules.gates import PASSWORD
from docshare.server.runtime import Runtime
from docshare.server.services import passwords

_ADDRESS = RatePolicy("password", 10, 15 * MINUTE, "address")
_FILE = RatePolicy("password-file", 100, HOUR, "file")
_LONG_S = 120  # said in minutes


def require_password(rt: Runtime, file_id: int, stored: str, password: str, address: str) -> None:
    """Return if ``stored`` is the hash of ``password``, sent from the network address ``address``.

    Raises ``forbidden``, and ``rate_limited`` without looking at the password after too many wrong ones; ``at`` of the
    ``extra`` says which field is meant.
    """
    here, file = f"{file_id} {address_key(address)}", str(file_id)
    # One at a time, or many sent at once would all be looked at before the first is counted.
    with rt.db.turn(("password", file_id)):
        _require_patience(rt, here, file)
        if passwords.matches(stored, password):
            return
        rt.limits.hit(_ADDRESS, here, _ADDRESS.limit)
        rt.limits.hit(_FILE, file, _FILE.limit)
    raise Problem("forbidden", "This is not the password.", extra={"at": PASSWORD})


def _require_patience(rt: Runtime, here: str, file: str) -> None:
    allowance = rt.limits.look(_ADDRESS, here, _ADDRESS.limit)
    wrong = _FILE.limit - rt.limits.look(_FILE, file, _FILE.limit).remaining
    wait = math.ceil(guesses.wait_ms(wrong, rt.limits.since(_FILE, file, _FILE.limit)) / SECOND)
    if not allowance.allowed:
        wait = max(wait, allowance.reset_s)
    if wait:
        said = f"Too many wrong passwords were tried. Try again in {_in_words(wait)}."
        raise Problem("rate_limited", said, headers={"Retry-After": str(wait)}, extra={"at": PASSWORD})


def _in_words(seconds: int) -> str:
    count, unit = (seconds, "second") if seconds < _LONG_S else (math.ceil(seconds / 60), "minute")
    return f"{count} {unit}{'' if count == 1 else 's'}"
