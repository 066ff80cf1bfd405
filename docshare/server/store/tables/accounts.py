"""Accounts and their API keys."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from peewee import SQL, ForeignKeyField, IntegerField, TextField

from docshare.server.store.database import Store
from docshare.server.store.tables.base import NocaseField, Row, SequenceField

DEFAULT_NAME = "Owner"
"""The name of the first account until its owner chooses one."""


class Account(Row):
    id = SequenceField()
    uuid = TextField(unique=True)
    email = NocaseField()
    name = TextField()
    plan = IntegerField()
    created_at = IntegerField()
    password_hash = TextField(null=True)
    disabled_at = IntegerField(null=True)

    class Meta:
        table_name = "accounts"
        indexes = (SQL("CREATE UNIQUE INDEX accounts_address ON accounts (NOCASE(email))"),)


class ApiKey(Row):
    uuid = TextField(unique=True)
    account = ForeignKeyField(Account, backref="keys", on_delete="CASCADE", index=False)
    name = TextField()
    digest = TextField(unique=True)
    tail = TextField()
    created_at = IntegerField()
    revoked_at = IntegerField(null=True)
    scopes = TextField(null=True)  # separated by spaces; None: all, also those added later
    file_id = IntegerField(null=True)  # the only file that the key is for
    expires_at = IntegerField(null=True)
    used_at = IntegerField(null=True)

    class Meta:
        table_name = "api_keys"
        indexes = (SQL("CREATE INDEX api_keys_account ON api_keys(account_id)"),)


class AccountRow(NamedTuple):
    """The columns of an account that a request of its owner needs. ``created_at`` in milliseconds."""

    id: int
    uuid: str
    email: str
    name: str
    plan: int
    created_at: int


class KeyRow(NamedTuple):
    """The account of an API key, and what the key is limited to; see ``ApiKey``. Times in milliseconds."""

    account: AccountRow
    scopes: str | None
    file_id: int | None
    expires_at: int | None


# ``tests.benchmarks.json_endpoint`` runs the first for every request with a key, ``page_warm`` the second for every
# page image, and ``library`` the third for every request of a signed-in owner.
_ACCOUNT_OF_KEY = """
SELECT a.id, a.uuid, a.email, a.name, a.plan, a.created_at, k.scopes, k.file_id, k.expires_at
FROM api_keys k JOIN accounts a ON a.id = k.account_id
WHERE k.digest = ? AND k.revoked_at IS NULL AND a.disabled_at IS NULL
"""
_SELECT_PLAN = "SELECT plan FROM accounts WHERE id = ?"
_ACCOUNT = "SELECT id, uuid, email, name, plan, created_at FROM accounts WHERE id = ?"
_SELECT_ID_BY_EMAIL = "SELECT id FROM accounts WHERE NOCASE(email) = NOCASE(?)"
_SELECT_PASSWORD = "SELECT id, password_hash FROM accounts WHERE NOCASE(email) = NOCASE(?) AND disabled_at IS NULL"  # noqa: S105 - no password


def find_by_id(store: Store, account_id: int | None) -> AccountRow | None:
    """Return an account, or None."""
    found = store.fetch_one(_ACCOUNT, (account_id,))
    return AccountRow._make(found) if found else None


def find_by_key(store: Store, digest: str) -> KeyRow | None:
    """Return the API key with this digest, or None if it is unknown or revoked, or its account is disabled."""
    return _parse_key(store.fetch_one(_ACCOUNT_OF_KEY, (digest,)))


def recall_by_key(store: Store, digest: str) -> KeyRow | None:
    """Return what ``find_by_key`` returns, from the cache of the store."""
    return _parse_key(store.fetch_cached(_ACCOUNT_OF_KEY, (digest,)))


def _parse_key(found: tuple[Any, ...] | None) -> KeyRow | None:
    return None if found is None else KeyRow(AccountRow._make(found[:6]), *found[6:])


def recall_plan(store: Store, account_id: int | None) -> int | None:
    """Return the plan of an account, or None if the account does not exist."""
    found = store.fetch_cached(_SELECT_PLAN, (account_id,))
    return int(found[0]) if found else None


def find_name(store: Store, account_id: int | None) -> tuple[str, str] | None:
    """Return the name and the email of an account, or None if the account does not exist."""
    found = store.fetch_one(Account.select(Account.name, Account.email).where(Account.id == account_id))
    return None if found is None else (str(found[0]), str(found[1]))


def find_by_email(store: Store, email: str) -> Account | None:
    """Return the account of ``email``, which may differ in case, or None."""
    found = store.fetch_one(_SELECT_ID_BY_EMAIL, (email,))
    if found is None:
        return None
    account: Account | None = Account.select().where(Account.id == found[0]).first(store.engine)
    return account


def find_by_uuid(store: Store, uuid: str) -> Account | None:
    """Return the account ``uuid``, or None."""
    account: Account | None = Account.select().where(Account.uuid == uuid).first(store.engine)
    return account


def find_first(store: Store) -> Account | None:
    """Return the oldest account, or None."""
    account: Account | None = Account.select().order_by(Account.id).first(store.engine)
    return account


def list_all(store: Store) -> list[Account]:
    """Return all accounts, oldest first."""
    return list(Account.select().order_by(Account.id).execute(store.engine))


def insert(store: Store, uuid: str, email: str, name: str, plan: int, now: int) -> Account:
    """Insert an account and return it."""
    columns = {"uuid": uuid, "email": email, "name": name, "plan": plan, "created_at": now}
    return Account(id=Account.insert(**columns).execute(store.engine), **columns)


def set_name(store: Store, account_id: int, name: str) -> None:
    """Change the name of an account."""
    store.execute(Account.update(name=name).where(Account.id == account_id))


def set_email(store: Store, account_id: int, email: str) -> None:
    """Change the email address of an account."""
    store.execute(Account.update(email=email).where(Account.id == account_id))


def set_disabled(store: Store, account_id: int, disabled_at: int | None) -> None:
    """Disable an account, or enable it again with None."""
    store.execute(Account.update(disabled_at=disabled_at).where(Account.id == account_id))


def set_plan(store: Store, account_id: int, plan: int) -> None:
    """Change the plan of an account."""
    store.execute(Account.update(plan=plan).where(Account.id == account_id))


def delete(store: Store, account_id: int) -> None:
    """Delete an account; every row that belongs to it goes with it."""
    store.execute(Account.delete().where(Account.id == account_id))


def find_password(store: Store, email: str) -> tuple[int, str | None] | None:
    """Return the id of the account of ``email`` and the hash of its password; None if there is no such account, or if
    it is disabled."""
    found = store.fetch_one(_SELECT_PASSWORD, (email,))
    return (found[0], found[1]) if found else None


def has_password(store: Store, account_id: int) -> bool:
    """Return whether an account has a password."""
    query = Account.select().where(Account.id == account_id, Account.password_hash.is_null(False))
    return bool(query.exists(store.engine))


def set_password_hash(store: Store, account_id: int, password_hash: str | None) -> None:
    """Replace the password of an account, or remove it with None."""
    store.execute(Account.update(password_hash=password_hash).where(Account.id == account_id))


def insert_key(
    store: Store, uuid: str, account_id: int, *, name: str, digest: str, tail: str, now: int, **limits: str | int | None
) -> None:
    """Insert an API key. ``tail`` is the end of the key, by which its owner recognizes it; ``limits`` are ``scopes``,
    ``file_id`` and ``expires_at`` of a restricted key."""
    values = {"uuid": uuid, "account": account_id, "name": name, "digest": digest, "tail": tail, "created_at": now}
    store.execute(ApiKey.insert(**values, **limits))


def save_key_uses(store: Store, used_at: Mapping[str, int]) -> None:
    """Store when the API keys with these digests were last used, in milliseconds."""
    for digest, now in used_at.items():
        store.execute(ApiKey.update(used_at=now).where(ApiKey.digest == digest))


def list_keys(store: Store, account_id: int) -> list[ApiKey]:
    """Return the API keys of an account, oldest first, revoked ones too."""
    keys = ApiKey.select().where(ApiKey.account == account_id).order_by(ApiKey.id)
    return list(keys.execute(store.engine))


def find_key(store: Store, uuid: str, account_id: int | None) -> ApiKey | None:
    """Return the API key ``uuid``, or None; with ``account_id`` only if that account owns it."""
    matching = ApiKey.select().where(ApiKey.uuid == uuid)
    if account_id is not None:
        matching = matching.where(ApiKey.account == account_id)
    key: ApiKey | None = matching.first(store.engine)
    return key


def revoke_key(store: Store, key_id: int, now: int) -> None:
    """Revoke an API key."""
    store.execute(ApiKey.update(revoked_at=now).where(ApiKey.id == key_id))


def delete_keys(store: Store, account_id: int) -> None:
    """Delete all API keys of an account."""
    store.execute(ApiKey.delete().where(ApiKey.account == account_id))


def get_uuid(store: Store, account_id: int) -> str:
    """Return the UUID of an existing account."""
    ((uuid,),) = store.fetch_all(Account.select(Account.uuid).where(Account.id == account_id))
    return str(uuid)


def find_id(store: Store, uuid: str) -> int | None:
    """Return the id of the account ``uuid``, or None."""
    found = store.fetch_one(Account.select(Account.id).where(Account.uuid == uuid))
    return int(found[0]) if found else None
