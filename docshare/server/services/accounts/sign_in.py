"""Signing in by a one-time link, and the sessions that follow. By password: see
``account_passwords``.

Of link and cookie only a SHA-256 is stored. A link works once, within 10 minutes of being made.
"""

from dataclasses import dataclass
from typing import Any

from docshare.contract.limits import LOGIN_LINK_MS
from docshare.contract.plans import DAY, Plan
from docshare.contract.problems import Problem
from docshare.contract.scopes import Lane, held_scopes
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller, digest

SESSION_LIFETIME_MS = 30 * DAY

_TOKEN_CHARS = 40  # base62: about 238 bits

_LINK = (
    "SELECT a.email FROM login_links l JOIN accounts a ON a.id = l.account_id "
    "WHERE l.digest = ? AND l.used_at IS NULL AND l.expires_at > ?"
)
_SESSION = (
    "SELECT s.account_id, a.email, a.name, s.csrf FROM web_sessions s JOIN accounts a ON a.id = s.account_id "
    "WHERE s.digest = ? AND s.expires_at > ?"
)
_ADD_SESSION = (
    "INSERT INTO web_sessions (digest, account_id, csrf, created_at, expires_at) "
    "SELECT ?, id, ?, ?, ? FROM accounts WHERE id = ? AND (? IS NULL OR password_hash = ?)"
)
_FROM_OTHER_SESSIONS = "FROM web_sessions WHERE account_id = ? AND digest <> ?"
_ACCOUNT = "SELECT id, uuid, email, name, plan, created_at FROM accounts WHERE id = ?"


@dataclass(frozen=True)
class SignedInAccount:
    """A signed-in owner; ``csrf`` is the token that every form of theirs must carry."""

    account_id: int
    email: str
    name: str
    csrf: str


def cookie_name(rt: Runtime) -> str:
    """The name of the session's cookie."""
    # By this prefix a browser takes the cookie only over HTTPS, from this very host, for all of it and nothing else.
    return "__Host-docshare_session" if rt.config.secure else "docshare_session"


def create_link(rt: Runtime, email: str) -> str:
    """A sign-in link for the account of ``email``: an absolute URL that works once, for 10 minutes.

    Raises ``not_found``.
    """
    token = rt.token(_TOKEN_CHARS)
    with rt.db.write():
        found = rt.db.row("SELECT id FROM accounts WHERE email = ?", (email.strip(),))
        if found is None:
            hint = "See 'docshare admin account list'."
            raise Problem("not_found", f"There is no account of {email.strip()}.", hint=hint)
        rt.db.execute(
            "INSERT INTO login_links (digest, account_id, expires_at) VALUES (?, ?, ?)",
            (digest(token), found[0], rt.clock() + LOGIN_LINK_MS),
        )
    return f"{rt.config.base_url}/login/{token}"


def get_link_email(rt: Runtime, token: str) -> str:
    """Whom the link with ``token`` would sign in; changes nothing. Raises ``gone`` for one used, too old or unknown."""
    found = rt.db.row(_LINK, (digest(token), rt.clock()))
    if found is None:
        raise _link_expired()
    return str(found[0])


def redeem_link(rt: Runtime, token: str) -> str:
    """Use up the link with ``token``; returns the value of the session's cookie. Raises ``gone`` as ``link_email``."""
    now = rt.clock()
    used = "UPDATE login_links SET used_at = ? WHERE digest = ? AND used_at IS NULL AND expires_at > ?"
    with rt.db.write():
        if rt.db.execute(used, (now, digest(token), now)) == 0:
            raise _link_expired()
        ((account_id,),) = rt.db.rows("SELECT account_id FROM login_links WHERE digest = ?", (digest(token),))
        cookie = create_session(rt, account_id)
        assert cookie is not None  # links go with their account
        return cookie


def create_session(rt: Runtime, account_id: int, password_hash: str | None = None) -> str | None:
    """A new session of an account, by the value of its cookie. None where the account is gone, or ``password_hash``
    is given and not that of its password any more."""
    now = rt.clock()
    cookie = rt.token(_TOKEN_CHARS)
    row = (
        digest(cookie),
        rt.token(_TOKEN_CHARS),
        now,
        now + SESSION_LIFETIME_MS,
        account_id,
        password_hash,
        password_hash,
    )
    with rt.db.write():
        return cookie if rt.db.execute(_ADD_SESSION, row) else None


def count_other_sessions(rt: Runtime, caller: Caller) -> int:
    """In how many other browsers the signed-in caller is signed in."""
    found = rt.db.row(
        f"SELECT COUNT(*) {_FROM_OTHER_SESSIONS} AND expires_at > ?", (*_other_sessions_key(caller), rt.clock())
    )
    return int(found[0]) if found else 0


def end_other_sessions(rt: Runtime, caller: Caller) -> int:
    """Sign the signed-in caller out of every other browser; returns how many they were."""
    with rt.db.write():
        return rt.db.execute(f"DELETE {_FROM_OTHER_SESSIONS}", _other_sessions_key(caller))


def _other_sessions_key(caller: Caller) -> tuple[Any, ...]:
    # A session's credential is the digest of its cookie.
    return caller.account_id, caller.credential


def sign_out(rt: Runtime, cookie: str) -> None:
    """End the session of ``cookie``; its cookie is worth nothing from now on."""
    with rt.db.write():
        rt.db.execute("DELETE FROM web_sessions WHERE digest = ?", (digest(cookie),))


def find_signed_in(rt: Runtime, cookie: str | None) -> SignedInAccount | None:
    """Who holds the session cookie ``cookie``, or None for nobody."""
    if not cookie:
        return None
    found = rt.db.row(_SESSION, (digest(cookie), rt.clock()))
    return SignedInAccount(*found) if found else None


def find_caller(rt: Runtime, cookie: str | None) -> Caller | None:
    """The account that holds the session cookie ``cookie`` as a caller, with every scope; None for nobody."""
    holder = find_signed_in(rt, cookie)
    found = holder and rt.db.row(_ACCOUNT, (holder.account_id,))
    if not cookie or not found:
        return None
    account_id, uuid, email, name, plan, created_at = found
    scopes = held_scopes(Lane.SESSION)
    return Caller(account_id, uuid, email, name, Plan(plan), created_at, scopes, Lane.SESSION, digest(cookie))


def find_account_id(rt: Runtime, cookie: str | None) -> int | None:
    """The id of the account that holds the session cookie ``cookie``, or None for nobody."""
    holder = find_signed_in(rt, cookie)
    return holder.account_id if holder else None


def _link_expired() -> Problem:
    return Problem(
        "gone",
        "This sign-in link was used or is too old.",
        hint="Make a new one with 'docshare dashboard' or 'docshare admin login-link EMAIL', or sign in at /login.",
    )
