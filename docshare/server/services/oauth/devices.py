"""Log in programs without a browser (RFC 8628): the program shows a code, and a person enters it on another device.

The server stores only digests of the codes. A login that was exchanged for tokens is deleted, so its code works once.
"""

from typing import NamedTuple

from docshare.contract.limits import DEVICE_CODE_MS, DEVICE_POLL_MS, MINUTE, RatePolicy
from docshare.contract.problems import Problem
from docshare.server.rules.identity import network_prefix
from docshare.server.rules.oauth import USER_CODE_BYTES, format_user_code, parse_user_code
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller, digest, recheck_caller
from docshare.server.services.oauth import clients, grants
from docshare.server.services.oauth.clients import RegisteredClient
from docshare.server.services.oauth.grants import TokenPair
from docshare.server.store.tables import sign_in
from docshare.server.store.tables.sign_in import DeviceRow as DeviceRow

_DEVICE_CODE_CHARS = 43  # base62: 256 bits
# Each login stores a row, and needs no credential.
LOGINS_PER_NETWORK = RatePolicy("device-login", 30, 15 * MINUTE, "address")
WRONG_CODES_PER_ACCOUNT = RatePolicy("device-code-account", 10, 15 * MINUTE, "account")
WRONG_CODES_PER_NETWORK = RatePolicy("device-code", 30, 15 * MINUTE, "address")


class NewLogin(NamedTuple):
    """The two codes of a new login, shown only now."""

    device_code: str
    user_code: str


def begin(rt: Runtime, client: RegisteredClient, scopes: str, address: str) -> NewLogin | None:
    """Begin a login of ``client`` from the network ``address``; return None if the client was removed meanwhile. Raises
    ``rate_limited`` after too many logins."""
    allowance = rt.limits.hit(LOGINS_PER_NETWORK, network_prefix(address), LOGINS_PER_NETWORK.limit)
    if not allowance.is_allowed:
        raise _too_many("Too many logins from your network.", allowance.reset_s)
    now = rt.clock()
    new = NewLogin(rt.random_token(_DEVICE_CODE_CHARS), format_user_code(rt.random_bytes(USER_CODE_BYTES)))
    with rt.db.write():
        if clients.find(rt, client.client_id) is None:
            return None
        sign_in.insert_device_login(
            rt.db,
            digest(new.device_code),
            _user_digest(new.user_code),
            client.id,
            scopes=scopes,
            address=address,
            poll_ms=DEVICE_POLL_MS,
            now=now,
            expires_at=now + DEVICE_CODE_MS,
        )
    return new


def find_login(rt: Runtime, device_code: str, client: RegisteredClient) -> DeviceRow | None:
    """Return the login of ``client`` with this device code, also after it expired, or None."""
    found = sign_in.find_device_login(rt.db, digest(device_code))
    return found if found is not None and found.client_id == client.id else None


def is_polled_too_soon(rt: Runtime, login: DeviceRow) -> bool:
    """Record a poll; return whether it came too soon. Then the interval of all further polls is 5 seconds longer."""
    now = rt.clock()
    too_soon = login.polled_at is not None and now - login.polled_at < login.poll_ms
    with rt.db.write():
        sign_in.mark_device_polled(rt.db, login.digest, now, login.poll_ms + (DEVICE_POLL_MS if too_soon else 0))
    return too_soon


def exchange(rt: Runtime, login: DeviceRow) -> TokenPair | None:
    """Exchange an approved ``login`` for tokens; return None when another request exchanged it first, or if its
    approval was ended meanwhile."""
    assert login.account_id is not None
    with rt.db.write():
        if not sign_in.delete_approved_login(rt.db, login.digest):
            return None
        return grants.create_grant(rt, login.account_id, login.client_id, login.scopes, rt.clock())[1]


def find_by_user_code(rt: Runtime, caller: Caller, typed: str, address: str) -> tuple[str, DeviceRow]:
    """Return the code that the caller ``typed``, as the terminal shows it, and its undecided login.

    Case and separators of ``typed`` do not matter. Raises ``not_found`` for an unknown, expired or used code,
    ``rate_limited`` after too many of them from the account or from the network ``address``.
    """
    counters = ((WRONG_CODES_PER_ACCOUNT, caller.uuid), (WRONG_CODES_PER_NETWORK, network_prefix(address)))
    for policy, key in counters:
        allowance = rt.limits.peek(policy, key, policy.limit)
        if not allowance.is_allowed:
            raise _too_many("Too many wrong codes.", allowance.reset_s)
    code = parse_user_code(typed)
    found = None if code is None else sign_in.find_undecided_login(rt.db, _user_digest(code), rt.clock())
    if code is None or found is None:
        for policy, key in counters:
            rt.limits.hit(policy, key, policy.limit)
        raise Problem("not_found", "This code is wrong or has expired.", hint="Check it, or begin the login again.")
    return code, found


def decide(rt: Runtime, caller: Caller, login: DeviceRow, *, is_approved: bool) -> None:
    """Approve or deny ``login``. Raises ``not_found`` if somebody else decided first, ``unauthorized`` if the caller
    was signed out meanwhile."""
    with rt.db.write():
        recheck_caller(rt, caller)
        if not sign_in.decide_device_login(rt.db, login.digest, caller.account_id, rt.clock(), is_approved=is_approved):
            raise Problem("not_found", "This code was used already.", hint="Begin the login again.")


def _user_digest(user_code: str) -> str:
    return digest(f"user code {user_code}")


def _too_many(detail: str, reset_s: int) -> Problem:
    hint = f"Try again in {max(1, -(-reset_s // 60))} min."
    return Problem("rate_limited", detail, hint=hint, headers={"Retry-After": str(reset_s)})
