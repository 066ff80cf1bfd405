"""One-time links that sign in, invite, reset a password or confirm an address, the sessions of signed-in owners, and
pending logins of programs without a browser (RFC 8628)."""

from typing import Any, NamedTuple

from peewee import SQL, ForeignKeyField, IntegerField, TextField

from docshare.server.store.database import Store
from docshare.server.store.database_file import DatabaseFile
from docshare.server.store.tables.accounts import Account
from docshare.server.store.tables.base import Row
from docshare.server.store.tables.oauth import OAuthClient

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


class DeviceCode(Row):
    digest = TextField(primary_key=True)
    user_digest = TextField(unique=True)
    client = ForeignKeyField(OAuthClient, on_delete="CASCADE", index=False)
    account = ForeignKeyField(Account, null=True, on_delete="CASCADE", index=False)  # who approved it
    scopes = TextField()  # separated by spaces
    address = TextField()  # of the program that requested the login
    poll_ms = IntegerField()  # the least time between two polls
    polled_at = IntegerField(null=True)
    created_at = IntegerField()
    expires_at = IntegerField()
    approved_at = IntegerField(null=True)
    denied_at = IntegerField(null=True)

    class Meta:
        table_name = "device_codes"
        without_rowid = True
        indexes = (
            SQL("CREATE INDEX device_codes_account ON device_codes(account_id) WHERE account_id IS NOT NULL"),
            SQL("CREATE INDEX device_codes_client ON device_codes(client_id)"),
        )


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


# Run for every request of a signed-in owner, by the benchmark ``library``.
_SELECT_SESSION = (
    "SELECT s.account_id, a.email, a.name, s.csrf FROM web_sessions s JOIN accounts a ON a.id = s.account_id "
    "WHERE s.digest = ? AND s.expires_at > ? AND a.disabled_at IS NULL"
)
# Parameters among the columns of a SELECT are shorter as text.
_INSERT_SESSION = (
    "INSERT INTO web_sessions (digest, account_id, csrf, created_at, expires_at) "
    "SELECT ?, id, ?, ?, ? FROM accounts "
    "WHERE id = ? AND disabled_at IS NULL AND (CAST(? AS TEXT) IS NULL OR password_hash = ?)"
)
_DELETE_ALL = {
    "login_links": "DELETE FROM login_links",
    "web_sessions": "DELETE FROM web_sessions",
    "device_codes": "DELETE FROM device_codes",
}


def insert_link(
    store: Store, digest: str, account_id: int, kind: str, expires_at: int, new_email: str | None = None
) -> None:
    """Insert a link. ``new_email`` is the address that a ``CONFIRMATION`` confirms."""
    query = LoginLink.insert(digest=digest, account=account_id, kind=kind, expires_at=expires_at, new_email=new_email)
    store.execute(query)


def find_link(store: Store, digest: str, now: int) -> LinkRow | None:
    """Return a link, or None if it is unknown, used or expired, or its account is disabled."""
    query = LoginLink.select(LoginLink.account, Account.email, LoginLink.kind, LoginLink.new_email).join(Account)
    found = store.fetch_one(query.where(_is_usable(digest, now), Account.disabled_at.is_null()))
    return LinkRow._make(found) if found else None


def delete_links(store: Store, account_id: int, *kinds: str) -> None:
    """Delete the links of an account of some kinds, used ones too."""
    store.execute(LoginLink.delete().where(LoginLink.account == account_id, LoginLink.kind.in_(kinds)))


def mark_link_used(store: Store, digest: str, now: int) -> bool:
    """Store when a link was used; return False if it is unknown, used or expired."""
    return store.execute(LoginLink.update(used_at=now).where(_is_usable(digest, now))) > 0


def _is_usable(digest: str, now: int) -> Any:
    return (LoginLink.digest == digest) & LoginLink.used_at.is_null() & (LoginLink.expires_at > now)


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
    query = WebSession.select().where(_is_other(account_id, digest), WebSession.expires_at > now)
    return int(query.count(store.engine))


def delete_other_sessions(store: Store, account_id: int, digest: str) -> int:
    """Delete the sessions of an account but the one with this digest; return how many."""
    return store.execute(WebSession.delete().where(_is_other(account_id, digest)))


def _is_other(account_id: int, digest: str) -> Any:
    return (WebSession.account == account_id) & (WebSession.digest != digest)


def delete_sessions(store: Store, account_id: int) -> None:
    """Delete all sessions of an account."""
    store.execute(WebSession.delete().where(WebSession.account == account_id))


def delete_session(store: Store, digest: str) -> None:
    """Delete a session."""
    store.execute(WebSession.delete().where(WebSession.digest == digest))


def delete_expired(store: Store, now: int) -> int:
    """Delete expired links and sessions; return how many."""
    links, sessions = LoginLink.expires_at <= now, WebSession.expires_at <= now
    return store.execute(LoginLink.delete().where(links)) + store.execute(WebSession.delete().where(sessions))


class DeviceRow(NamedTuple):
    """A pending login. Times in milliseconds; ``account_id`` is None until somebody approves it."""

    digest: str
    client_id: int
    client_name: str
    account_id: int | None
    scopes: str
    address: str
    poll_ms: int
    polled_at: int | None
    created_at: int
    expires_at: int
    approved_at: int | None
    denied_at: int | None


def insert_device_login(
    store: Store,
    digest: str,
    user_digest: str,
    client_id: int,
    *,
    scopes: str,
    address: str,
    poll_ms: int,
    now: int,
    expires_at: int,
) -> None:
    """Insert a pending login with the digests of its device code and of its user code."""
    query = DeviceCode.insert(
        digest=digest,
        user_digest=user_digest,
        client=client_id,
        scopes=scopes,
        address=address,
        poll_ms=poll_ms,
        created_at=now,
        expires_at=expires_at,
    )
    store.execute(query)


def find_device_login(store: Store, digest: str) -> DeviceRow | None:
    """Return the login whose device code has this digest, expired and decided ones too, or None."""
    return _find_login(store, DeviceCode.digest == digest)


def find_undecided_login(store: Store, user_digest: str, now: int) -> DeviceRow | None:
    """Return the login whose user code has this digest, if it has neither expired nor been decided, or None."""
    is_current = (DeviceCode.user_digest == user_digest) & (DeviceCode.expires_at > now)
    return _find_login(store, is_current & _is_undecided())


def _find_login(store: Store, condition: Any) -> DeviceRow | None:
    columns = (OAuthClient.name if name == "client_name" else getattr(DeviceCode, name) for name in DeviceRow._fields)
    found = store.fetch_one(DeviceCode.select(*columns).join(OAuthClient).where(condition))
    return DeviceRow._make(found) if found else None


def _is_undecided() -> Any:
    return DeviceCode.approved_at.is_null() & DeviceCode.denied_at.is_null()


def decide_device_login(store: Store, digest: str, account_id: int, now: int, *, is_approved: bool) -> bool:
    """Store the decision of an account; return False if another one was stored before."""
    decision = {"approved_at": now, "account": account_id} if is_approved else {"denied_at": now}
    return store.execute(DeviceCode.update(**decision).where(DeviceCode.digest == digest, _is_undecided())) > 0


def mark_device_polled(store: Store, digest: str, now: int, poll_ms: int) -> None:
    """Store the time of a poll, and the least time until the next one."""
    store.execute(DeviceCode.update(polled_at=now, poll_ms=poll_ms).where(DeviceCode.digest == digest))


def deny_approved_logins(store: Store, account_id: int, now: int) -> None:
    """Turn the approvals of an account that were not exchanged yet into denials."""
    is_approved = (DeviceCode.account == account_id) & DeviceCode.approved_at.is_null(False)
    store.execute(DeviceCode.update(approved_at=None, denied_at=now).where(is_approved))


def delete_approved_login(store: Store, digest: str) -> bool:
    """Delete an approved login; return False if it was deleted or denied before."""
    is_approved = (DeviceCode.digest == digest) & DeviceCode.approved_at.is_null(False)
    return store.execute(DeviceCode.delete().where(is_approved)) > 0


def delete_expired_device_logins(store: Store, expired_by: int) -> int:
    """Delete the logins that expired by ``expired_by`` (ms); return how many."""
    return store.execute(DeviceCode.delete().where(DeviceCode.expires_at <= expired_by))


def delete_all(database: DatabaseFile) -> None:
    """Delete all links, sessions and device logins. Works at every step of the schema."""
    for table, statement in _DELETE_ALL.items():
        if database.has_table(table):
            database.execute(statement)
