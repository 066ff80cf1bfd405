"""The password of an account: optional, stored as argon2id, and never the only way in, for links always work."""

from docshare.contract.limits import HOUR, MINUTE, RatePolicy
from docshare.contract.problems import Problem
from docshare.server.http.rate_limits import address_key
from docshare.server.rules import sign_in as rules
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import sign_in
from docshare.server.services.accounts.callers import Caller, digest
from docshare.server.services.links import guessing, share_passwords
from docshare.server.services.links.guessing import AttemptLimits

# By network over all accounts: the same password on many accounts is guessing too.
_ATTEMPT_LIMITS = AttemptLimits(
    here=RatePolicy("sign-in", 10, 15 * MINUTE, "address"),
    whole=RatePolicy("sign-in-account", 100, HOUR, "account"),
)
# The hash of a random word that nobody kept, made the way ``passwords`` makes them: who has no account or no password
# is looked at for as long as everybody else.
_DUMMY_HASH = "$argon2id$v=19$m=19456,t=2,p=1$MEBsrv1RuCEo9X0jn4BlrQ$dwHnAumFIPFNUFUPvp962jOcoZcqANpZIViy9RyH7sY"

_FIND = "SELECT id, password_hash FROM accounts WHERE email = ?"
_SELECT_HAS_HASH = "SELECT password_hash IS NOT NULL FROM accounts WHERE id = ?"
_SAVE_HASH = "UPDATE accounts SET password_hash = ? WHERE id = ?"


def has_password(rt: Runtime, caller: Caller) -> bool:
    """Whether the caller can sign in by password."""
    found = rt.db.row(_SELECT_HAS_HASH, (caller.account_id,))
    return bool(found and found[0])


def set_password(rt: Runtime, caller: Caller, password: str) -> None:
    """Let the caller sign in by ``password`` from now on; every other signed-in browser is signed out.

    The old one is not asked for: a session is begun by a link too, and whoever forgot their password comes that way.
    Raises ``bad_request``.
    """
    stored = share_passwords.hash_password(rt, rules.require_password(password, caller.email))
    _save_hash(rt, caller, stored)


def remove_password(rt: Runtime, caller: Caller) -> None:
    """Let the caller sign in by links only; every other signed-in browser is signed out."""
    _save_hash(rt, caller, None)


def sign_in_by_password(rt: Runtime, email: str, password: str, address: str) -> str:
    """Sign in as the account of ``email``; returns the value of the session's cookie.

    Raises ``forbidden``, the same for an unknown account, one without a password and a wrong one, and after as long;
    ``rate_limited`` after too many wrong ones from the network ``address`` or for the account.
    """
    email = email.strip()
    found = rt.db.row(_FIND, (email,))
    stored: str | None = found[1] if found else None
    fits = guessing.verify_password(
        rt, _ATTEMPT_LIMITS, stored or _DUMMY_HASH, password, here=address_key(address), whole=digest(email.lower())
    )
    if not (fits and found and stored):
        raise _wrong_credentials()
    cookie = sign_in.create_session(rt, found[0], stored)
    if cookie is None:  # it was changed meanwhile
        raise _wrong_credentials()
    return cookie


def _save_hash(rt: Runtime, caller: Caller, stored: str | None) -> None:
    with rt.db.write():
        rt.db.execute(_SAVE_HASH, (stored, caller.account_id))
        sign_in.end_other_sessions(rt, caller)


def _wrong_credentials() -> Problem:
    return Problem(
        "forbidden",
        "This e-mail address and this password do not belong together.",
        hint="If you have set no password, or forgot it, use a sign-in link.",
    )
