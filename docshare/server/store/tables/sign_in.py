"""One-time sign-in links and the sessions of signed-in owners."""

from typing import NamedTuple

from peewee import ForeignKeyField, IntegerField, TextField

from docshare.server.store.database import Store
from docshare.server.store.tables.accounts import Account
from docshare.server.store.tables.base import Row


class LoginLink(Row):
    digest = TextField(primary_key=True)
    account = ForeignKeyField(Account, on_delete="CASCADE", index=False)
    expires_at = IntegerField()
    used_at = IntegerField(null=True)

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


_SELECT_LINK_EMAIL = (
    "SELECT a.email FROM login_links l JOIN accounts a ON a.id = l.account_id "
    "WHERE l.digest = ? AND l.used_at IS NULL AND l.expires_at > ?"
)
_MARK_LINK_USED = "UPDATE login_links SET used_at = ? WHERE digest = ? AND used_at IS NULL AND expires_at > ?"
_SELECT_SESSION = (
    "SELECT s.account_id, a.email, a.name, s.csrf FROM web_sessions s JOIN accounts a ON a.id = s.account_id "
    "WHERE s.digest = ? AND s.expires_at > ?"
)
_INSERT_SESSION = (
    "INSERT INTO web_sessions (digest, account_id, csrf, created_at, expires_at) "
    "SELECT ?, id, ?, ?, ? FROM accounts WHERE id = ? AND (CAST(? AS TEXT) IS NULL OR password_hash = ?)"
)


def insert_link(store: Store, digest: str, account_id: int, expires_at: int) -> None:
    """Insert a sign-in link."""
    LoginLink.insert(digest=digest, account=account_id, expires_at=expires_at).execute(store.engine)


def find_link_email(store: Store, digest: str, now: int) -> str | None:
    """Return the email of the account that the link signs in, or None if the link is unknown, used or expired."""
    found = store.fetch_one(_SELECT_LINK_EMAIL, (digest, now))
    return str(found[0]) if found else None


def mark_link_used(store: Store, digest: str, now: int) -> bool:
    """Store when a link was used; return False if it is unknown, used or expired."""
    return store.execute(_MARK_LINK_USED, (now, digest, now)) > 0


def get_link_account_id(store: Store, digest: str) -> int:
    """Return the id of the account of an existing link."""
    ((account_id,),) = store.fetch_all("SELECT account_id FROM login_links WHERE digest = ?", (digest,))
    return int(account_id)


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


def delete_session(store: Store, digest: str) -> None:
    """Delete a session."""
    WebSession.delete().where(WebSession.digest == digest).execute(store.engine)


def delete_expired(store: Store, now: int) -> int:
    """Delete expired links and sessions; return how many."""
    return store.execute("DELETE FROM login_links WHERE expires_at <= ?", (now,)) + store.execute(
        "DELETE FROM web_sessions WHERE expires_at <= ?", (now,)
    )
