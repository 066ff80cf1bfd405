"""One-time links that sign in, invite, reset a password or confirm an address, and the sessions of signed-in
owners."""

from typing import NamedTuple

from peewee import ForeignKeyField, IntegerField, TextField

from docshare.server.store.database import Store
from docshare.server.store.tables.accounts import Account
from docshare.server.store.tables.base import Row

SIGN_IN, INVITATION, RESET, CONFIRMATION = "sign-in", "invitation", "reset", "confirmation"
"""The kinds of links."""


class LoginLink(Row):
    digest = TextField(primary_key=True)
    account = ForeignKeyField(Account, on_delete="CASCADE", index=False)
    expires_at = IntegerField()
    used_at = IntegerField(null=True)
    kind = TextField(default=SIGN_IN)
    new_email = TextField(null=True)  # the address that the link confirms

    class Meta:
        table_name = "login_links"
        without_rowid = True


class WebSession(Row):
    digest = TextField(primary_key=True)
    account = ForeignKeyField(Account, on_delete="CASCADE", index=False)
    csrf = TextField()
    created_at = IntegerField()
    expires_at = IntegerField()

    class Meta:
        table_name = "web_sessions"
        without_rowid = True


class SignedInAccount(NamedTuple):
    """A signed-in owner; ``csrf`` is the token that every form of theirs must carry."""

    account_id: int
    email: str
    name: str
    csrf: str


class LinkRow(NamedTuple):
    """A link that can be used, of the account ``account_id`` with the address ``email``; ``new_email`` is the address
    that it confirms."""

    account_id: int
    email: str
    kind: str
    new_email: str | None


_SELECT_LINK = (
    "SELECT l.account_id, a.email, l.kind, l.new_email FROM login_links l JOIN accounts a ON a.id = l.account_id "
    "WHERE l.digest = ? AND l.used_at IS NULL AND l.expires_at > ? AND a.disabled_at IS NULL"
)
_MARK_LINK_USED = "UPDATE login_links SET used_at = ? WHERE digest = ? AND used_at IS NULL AND expires_at > ?"
_SELECT_SESSION = (
    "SELECT s.account_id, a.email, a.name, s.csrf FROM web_sessions s JOIN accounts a ON a.id = s.account_id "
    "WHERE s.digest = ? AND s.expires_at > ? AND a.disabled_at IS NULL"
)
_INSERT_SESSION = (
    "INSERT INTO web_sessions (digest, account_id, csrf, created_at, expires_at) "
    "SELECT ?, id, ?, ?, ? FROM accounts "
    "WHERE id = ? AND disabled_at IS NULL AND (CAST(? AS TEXT) IS NULL OR password_hash = ?)"
)


def insert_link(
    store: Store, digest: str, account_id: int, kind: str, expires_at: int, new_email: str | None = None
) -> None:
    """Insert a link. ``new_email`` is the address that a ``CONFIRMATION`` confirms."""
    LoginLink.insert(digest=digest, account=account_id, kind=kind, expires_at=expires_at, new_email=new_email).execute(
        store.engine
    )


def find_link(store: Store, digest: str, now: int) -> LinkRow | None:
    """Return a link, or None if it is unknown, used or expired, or its account is disabled."""
    found = store.fetch_one(_SELECT_LINK, (digest, now))
    return LinkRow._make(found) if found else None


def delete_links(store: Store, account_id: int, *kinds: str) -> None:
    """Delete the links of an account of some kinds, used ones too."""
    LoginLink.delete().where(LoginLink.account == account_id, LoginLink.kind.in_(kinds)).execute(store.engine)


def mark_link_used(store: Store, digest: str, now: int) -> bool:
    """Store when a link was used; return False if it is unknown, used or expired."""
    return store.execute(_MARK_LINK_USED, (now, digest, now)) > 0


def insert_session(
    store: Store, digest: str, account_id: int, csrf: str, password_hash: str | None, *, now: int, expires_at: int
) -> bool:
    """Insert a session; return False if the account does not exist, or if ``password_hash`` is given and is not the
    current one."""
    row = (digest, csrf, now, expires_at, account_id, password_hash, password_hash)
    return store.execute(_INSERT_SESSION, row) > 0


def find_session(store: Store, digest: str, now: int) -> SignedInAccount | None:
    """Return the account of a session, or None if the session is unknown or expired."""
    found = store.fetch_one(_SELECT_SESSION, (digest, now))
    return SignedInAccount._make(found) if found else None


def count_other_sessions(store: Store, account_id: int, digest: str, now: int) -> int:
    """Return how many sessions an account has besides the one with this digest."""
    ((count,),) = store.fetch_all(
        "SELECT COUNT(*) FROM web_sessions WHERE account_id = ? AND digest <> ? AND expires_at > ?",
        (account_id, digest, now),
    )
    return int(count)


def delete_other_sessions(store: Store, account_id: int, digest: str) -> int:
    """Delete the sessions of an account but the one with this digest; return how many."""
    return store.execute("DELETE FROM web_sessions WHERE account_id = ? AND digest <> ?", (account_id, digest))


def delete_sessions(store: Store, account_id: int) -> None:
    """Delete all sessions of an account."""
    WebSession.delete().where(WebSession.account == account_id).execute(store.engine)


def delete_session(store: Store, digest: str) -> None:
    """Delete a session."""
    WebSession.delete().where(WebSession.digest == digest).execute(store.engine)


def delete_expired(store: Store, now: int) -> int:
    """Delete expired links and sessions; return how many."""
    return store.execute("DELETE FROM login_links WHERE expires_at <= ?", (now,)) + store.execute(
        "DELETE FROM web_sessions WHERE expires_at <= ?", (now,)
    )
