"""Sign in by a one-time link, and manage the sessions of signed-in browsers. By password: see ``passwords``; by a
mailed link: see ``invitations``.

The server stores only the SHA-256 of a link and of a cookie. A link works once and expires after 10 minutes; mailed
links are valid for longer.
"""

from docshare.contract.limits import LOGIN_LINK_MS
from docshare.contract.plans import DAY
from docshare.contract.problems import Problem
from docshare.contract.scopes import Lane, held_scopes
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller, digest, make_account_caller, recheck_caller
from docshare.server.store.tables import accounts, oauth
from docshare.server.store.tables import sign_in as sign_in_rows
from docshare.server.store.tables.sign_in import CONFIRMATION as CONFIRMATION
from docshare.server.store.tables.sign_in import INVITATION as INVITATION
from docshare.server.store.tables.sign_in import RESET as RESET
from docshare.server.store.tables.sign_in import SIGN_IN as SIGN_IN
from docshare.server.store.tables.sign_in import LinkRow as LinkRow
from docshare.server.store.tables.sign_in import SignedInAccount as SignedInAccount

SESSION_LIFETIME_MS = 30 * DAY

_TOKEN_CHARS = 40  # base62: about 238 bits


def cookie_name(rt: Runtime) -> str:
    """Return the name of the session cookie."""
    # With this prefix a browser accepts the cookie only over HTTPS and for exactly this host.
    return "__Host-docshare_session" if rt.config.is_secure else "docshare_session"


def create_link(rt: Runtime, email: str) -> str:
    """Return a sign-in link for the account of ``email``: an absolute URL that works once, for 10 minutes.

    Raises ``not_found``, ``conflict`` for a disabled account.
    """
    with rt.db.write():
        account = accounts.find_by_email(rt.db, email.strip())
        if account is None:
            hint = "List them: docshare admin account list"
            raise Problem("not_found", f"There is no account for {email.strip()}.", hint=hint)
        if account.disabled_at is not None:
            hint = f"Enable it: docshare admin account enable {account.email}"
            raise Problem("conflict", f"The account of {account.email} is disabled.", hint=hint)
        return create_account_link(rt, account.id, SIGN_IN, LOGIN_LINK_MS)


def create_account_link(rt: Runtime, account_id: int, kind: str, lifetime_ms: int, new_email: str | None = None) -> str:
    """Return a new one-time link of an account, in the caller's transaction: an absolute URL.

    Parameters: ``kind`` one of ``store.tables.sign_in``; ``new_email`` the address that a confirmation confirms.
    """
    token = rt.random_token(_TOKEN_CHARS)
    sign_in_rows.insert_link(rt.db, digest(token), account_id, kind, rt.clock() + lifetime_ms, new_email)
    return f"{rt.config.base_url}/login/{token}"


def get_link(rt: Runtime, token: str) -> LinkRow:
    """Return the link with ``token``; change nothing. Raises ``gone`` for a link that is used, expired or unknown, or
    of a disabled account."""
    return _get_link(rt, token, rt.clock())


def _get_link(rt: Runtime, token: str, now: int) -> LinkRow:
    link = sign_in_rows.find_link(rt.db, digest(token), now)
    if link is None:
        raise _link_expired()
    return link


def use_link(rt: Runtime, token: str) -> LinkRow:
    """Mark the link with ``token`` as used, in the caller's transaction, and return it. Raises ``gone`` like
    ``get_link``."""
    now = rt.clock()
    link = _get_link(rt, token, now)
    if not sign_in_rows.mark_link_used(rt.db, digest(token), now):
        raise _link_expired()
    return link


def redeem_link(rt: Runtime, token: str) -> str:
    """Use the sign-in link with ``token`` and return the value of the session cookie. Raises ``gone`` like
    ``get_link``."""
    with rt.db.write():
        cookie = create_session(rt, use_link(rt, token).account_id)
        assert cookie is not None  # the links of a deleted account are deleted with it
        return cookie


def create_session(rt: Runtime, account_id: int, password_hash: str | None = None) -> str | None:
    """Create a session of an account and return the value of its cookie. None if the account does not exist, or if
    ``password_hash`` is given and is not the current one."""
    now = rt.clock()
    cookie, csrf = rt.random_token(_TOKEN_CHARS), rt.random_token(_TOKEN_CHARS)
    expires_at = now + SESSION_LIFETIME_MS
    with rt.db.write():
        is_created = sign_in_rows.insert_session(
            rt.db, digest(cookie), account_id, csrf, password_hash, now=now, expires_at=expires_at
        )
        return cookie if is_created else None


def count_other_sessions(rt: Runtime, caller: Caller) -> int:
    """Return the number of other browsers in which the caller is signed in."""
    # The credential of a session is the digest of its cookie.
    return sign_in_rows.count_other_sessions(rt.db, caller.account_id, caller.credential, rt.clock())


def end_other_sessions(rt: Runtime, caller: Caller) -> int:
    """Sign the signed-in caller out of every other browser; return how many.

    This also ends what is pending: another browser may have begun it. Raises ``unauthorized`` if the caller was signed
    out meanwhile.
    """
    with rt.db.write():
        recheck_caller(rt, caller)  # of two browsers that sign each other out, the first one stays signed in
        end_pending(rt, caller.account_id)
        return sign_in_rows.delete_other_sessions(rt.db, caller.account_id, caller.credential)


def end_pending(rt: Runtime, account_id: int) -> None:
    """End what browsers of an account have begun and nobody sees yet, in the caller's transaction: the confirmation of
    a new address, and approvals of apps that have not fetched their tokens. Apps that have are listed on the account
    page, where their owner can revoke them."""
    sign_in_rows.delete_links(rt.db, account_id, CONFIRMATION)
    sign_in_rows.deny_approved_logins(rt.db, account_id, rt.clock())
    oauth.delete_pending_codes(rt.db, account_id)


def sign_out(rt: Runtime, cookie: str) -> None:
    """Delete the session of ``cookie``."""
    with rt.db.write():
        sign_in_rows.delete_session(rt.db, digest(cookie))


def find_signed_in(rt: Runtime, cookie: str | None) -> SignedInAccount | None:
    """Return the account of the session cookie ``cookie``, or None."""
    if not cookie:
        return None
    return sign_in_rows.find_session(rt.db, digest(cookie), rt.clock())


def find_caller(rt: Runtime, cookie: str | None) -> Caller | None:
    """Return the account of the session cookie ``cookie`` as a caller with every scope, or None."""
    signed_in = find_signed_in(rt, cookie)
    account = accounts.find_by_id(rt.db, signed_in.account_id) if signed_in else None
    if not cookie or not account:
        return None
    return make_account_caller(account, held_scopes(Lane.SESSION), Lane.SESSION, digest(cookie))


def find_account_id(rt: Runtime, cookie: str | None) -> int | None:
    """Return the id of the account of the session cookie ``cookie``, or None."""
    signed_in = find_signed_in(rt, cookie)
    return signed_in.account_id if signed_in else None


def _link_expired() -> Problem:
    return Problem(
        "gone",
        "This link was used or has expired.",
        hint="Sign in with your password, or ask the person who runs this server for a new link.",
    )
