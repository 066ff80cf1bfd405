"""Set and check the password of an account: optional, stored as argon2id. Sign-in links always work too."""

from docshare.contract.limits import HOUR, MINUTE, RatePolicy
from docshare.contract.problems import Problem
from docshare.server.rules import sign_in as rules
from docshare.server.rules.identity import network_prefix
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import sign_in
from docshare.server.services.accounts.callers import Caller, digest
from docshare.server.services.links import guessing, share_passwords
from docshare.server.services.links.guessing import AttemptLimits
from docshare.server.store.tables import accounts as account_rows
from docshare.server.store.tables import sign_in as sign_in_rows
from docshare.server.store.tables.sign_in import INVITATION, RESET

# A network is limited over all accounts: trying one password on many accounts is guessing too.
_ATTEMPT_LIMITS = AttemptLimits(
    per_network=RatePolicy("sign-in", 10, 15 * MINUTE, "address"),
    overall=RatePolicy("sign-in-account", 100, HOUR, "account"),
)
# The hash of a random, discarded password: an email without an account or without a password takes as long to check as
# any other.
_DUMMY_HASH = "$argon2id$v=19$m=19456,t=2,p=1$MEBsrv1RuCEo9X0jn4BlrQ$dwHnAumFIPFNUFUPvp962jOcoZcqANpZIViy9RyH7sY"


def has_password(rt: Runtime, caller: Caller) -> bool:
    """Return whether the caller can sign in by password."""
    return account_rows.has_password(rt.db, caller.account_id)


def set_password(rt: Runtime, caller: Caller, password: str) -> None:
    """Set the password of the caller, end links that were mailed for one, and sign out every other browser.

    The old password is not required: a user who forgot it signs in by a link to set a new one. Raises ``bad_request``,
    and ``unauthorized`` if the caller was signed out meanwhile.
    """
    _save_hash(rt, caller, hash_new_password(rt, password, caller.email))


def hash_new_password(rt: Runtime, password: str, email: str) -> str:
    """Return the hash of a new password for the account of ``email``. Raises ``bad_request`` if it is not allowed."""
    return share_passwords.hash_password(rt, rules.require_password(password, email))


def remove_password(rt: Runtime, caller: Caller) -> None:
    """Remove the password of the caller and sign out every other browser; sign-in links keep working. Raises
    ``unauthorized`` if the caller was signed out meanwhile."""
    _save_hash(rt, caller, None)


def sign_in_by_password(rt: Runtime, email: str, password: str, address: str) -> str:
    """Sign in to the account of ``email``; return the value of the session cookie.

    Raises ``forbidden``, with the same text and after the same time for an unknown account, an account without a
    password and a wrong password; ``rate_limited`` after too many wrong passwords from the network ``address`` or for
    the account.
    """
    email = email.strip()
    found = account_rows.find_password(rt.db, email)
    stored = found[1] if found else None
    # Count by the account where there is one: another one may have an address that Python lowers to the same text.
    whole = digest(f"account {found[0]}" if found else email.lower())
    is_correct = guessing.verify_password(
        rt, _ATTEMPT_LIMITS, stored or _DUMMY_HASH, password, address, here=network_prefix(address), whole=whole
    )
    if not (is_correct and found and stored):
        raise _wrong_credentials()
    cookie = sign_in.create_session(rt, found[0], stored)
    if cookie is None:  # the password was changed meanwhile
        raise _wrong_credentials()
    return cookie


def _save_hash(rt: Runtime, caller: Caller, stored: str | None) -> None:
    with rt.db.write():
        account_rows.set_password_hash(rt.db, caller.account_id, stored)
        # Otherwise, somebody who requested a reset before could replace the new password.
        sign_in_rows.delete_links(rt.db, caller.account_id, INVITATION, RESET)
        # Hashing took time. For a browser that was signed out during it this raises, so that it does not take over the
        # account.
        sign_in.end_other_sessions(rt, caller)


def _wrong_credentials() -> Problem:
    return Problem(
        "forbidden",
        "The email address or the password is incorrect.",
        hint="If you have not set a password, or forgot it, use a sign-in link.",
    )
