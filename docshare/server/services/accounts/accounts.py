"""Accounts, their plans and their API keys, as the operator manages them."""

import json
import re
from dataclasses import dataclass
from typing import Any

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.scopes import CREDENTIAL_CHARS, LANES, Lane
from docshare.contract.wire import drop_none, format_instant
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import digest
from docshare.server.services.files import purge
from docshare.server.store.tables import Account, ApiKey, File, OAuthClient

OWNER_EMAIL = "owner@localhost"
CLI_CLIENT = "docshare-cli"
# RFC 8252: the port of a loopback redirect is free, so none stands here.
_CLI_REDIRECTS = ["http://127.0.0.1/callback"]

_EMAIL = re.compile(r"[^@\s\x00-\x1f\x7f]{1,64}@[^@\s\x00-\x1f\x7f]{1,189}")
_NAME_CHARS = 200
_SUM_STORED_BYTES = (
    "SELECT IFNULL(SUM(size), 0) FROM files WHERE owner_id = ? AND trashed_at IS NULL AND destroyed_at IS NULL"
)
_TAIL_CHARS = 4


@dataclass(frozen=True)
class NewKey:
    """An API key at the one moment it can be seen; afterwards only its SHA-256 is known."""

    uuid: str
    key: str


@dataclass(frozen=True)
class FirstRunResult:
    """``account`` owns the instance; ``api_key`` is its first key, None where the account already stood."""

    account: Account
    api_key: str | None


def initialize_instance(rt: Runtime, tier: Plan) -> FirstRunResult:
    """Make the owner's account on plan ``tier`` with one API key, and register the command line as an OAuth client.

    What already stands is left alone.
    """
    with rt.db.write():
        _register_command_line(rt)
        standing = Account.select().order_by(Account.id).first()
        if standing is not None:
            return FirstRunResult(standing, None)
        account = create_account(rt, OWNER_EMAIL, "Owner", tier)
        return FirstRunResult(account, create_key(rt, account.email, "first key").key)


def get_owner(rt: Runtime) -> Account:  # noqa: ARG001 - every service takes the runtime
    """The account that came first. Raises ``not_found`` on an instance without accounts."""
    account: Account | None = Account.select().order_by(Account.id).first()
    if account is None:
        raise Problem("not_found", "There is no account yet.")
    return account


def create_account(rt: Runtime, email: str, name: str, plan: Plan) -> Account:
    """Sign up ``email``; an empty ``name`` becomes the part before the ``@``.

    Raises ``bad_request`` for what is no address or too long, ``conflict`` when the address is taken.
    """
    email = email.strip()
    if _EMAIL.fullmatch(email) is None:
        raise Problem("bad_request", "email must be an address such as ada@example.com.", hint="")
    name = _require_name(name.strip() or email.partition("@")[0])
    now = rt.clock()
    with rt.db.write():
        if Account.get_or_none(Account.email == email) is not None:
            raise Problem(
                "conflict", f"There is already an account of {email}.", hint="List them: docshare admin account list"
            )
        return Account.create(uuid=rt.uuid(), email=email, name=name, plan=plan, created_at=now)


def rename(rt: Runtime, account_id: int, name: str) -> None:
    """Call the account ``name`` from now on. Raises ``bad_request`` for an empty or bad one."""
    name = name.strip()
    if not name:
        raise Problem("bad_request", "name must not be empty.")
    _require_name(name)
    with rt.db.write():
        Account.update(name=name).where(Account.id == account_id).execute()


def _require_name(name: str) -> str:
    if len(name) > _NAME_CHARS or not name.isprintable():
        raise Problem("bad_request", f"name must be one line of at most {_NAME_CHARS} characters.")
    return name


def list_accounts(rt: Runtime) -> list[Account]:  # noqa: ARG001 - every service takes the runtime
    """All accounts, oldest first."""
    return list(Account.select().order_by(Account.id))


def set_tier(rt: Runtime, email: str, plan: Plan) -> Account:
    """Put the account of ``email`` on ``plan``; returns it. Raises ``not_found``."""
    with rt.db.write():
        account = get_by_email(email)
        account.plan = plan
        account.save(only=[Account.plan])
    return account


def delete_account(rt: Runtime, email: str) -> Account:
    """Destroy the account of ``email`` with its files and keys; returns what it was. Raises ``not_found``."""
    now = rt.clock()
    with rt.db.write():
        account = get_by_email(email)
        # The keys go first: from here on nobody can add a file, and a crash is finished by the sweep of the trash.
        ApiKey.delete().where(ApiKey.account == account).execute()
        File.update(trashed_at=now, purge_at=now).where(File.owner == account).execute()
    while not _delete_if_empty(rt, account):
        # Whoever holds another credential than a key may still have added a file.
        due = rt.db.rows("SELECT id FROM files WHERE owner_id = ?", (account.id,))
        purge.purge(rt, *(file_id for (file_id,) in due))
    return account


def _delete_if_empty(rt: Runtime, account: Account) -> bool:
    """Delete the account if no file is left; its rows would go with it, but not their bytes."""
    with rt.db.write():
        if rt.db.row("SELECT 1 FROM files WHERE owner_id = ? LIMIT 1", (account.id,)):
            return False
        Account.delete().where(Account.id == account.id).execute()
    return True


def describe(account: Account) -> dict[str, Any]:
    """What ``docshare admin account ... --json`` prints of an account."""
    return {"uuid": account.uuid, "email": account.email, "name": account.name, "tier": Plan(account.plan).tier}


def create_key(rt: Runtime, email: str, name: str) -> NewKey:
    """A new API key of the account of ``email``. Raises ``not_found``, ``bad_request`` for a bad ``name``."""
    name = _require_name(name.strip() or "key")
    key = f"{LANES[Lane.API_KEY].prefix}{rt.token(CREDENTIAL_CHARS)}"
    now = rt.clock()
    with rt.db.write():
        row = ApiKey.create(
            uuid=rt.uuid(),
            account=get_by_email(email),
            name=name,
            digest=digest(key),
            tail=key[-_TAIL_CHARS:],
            created_at=now,
        )
    return NewKey(row.uuid, key)


def list_keys(rt: Runtime, email: str) -> list[dict[str, Any]]:  # noqa: ARG001 - every service takes the runtime
    """The keys of the account of ``email``, oldest first, as ``{uuid, name, tail, createdAt, revokedAt}``: never the
    keys themselves, only their last characters. Raises ``not_found``."""
    return [
        _describe_key(row) for row in ApiKey.select().where(ApiKey.account == get_by_email(email)).order_by(ApiKey.id)
    ]


def revoke_key(rt: Runtime, uuid: str, account_id: int | None = None) -> dict[str, Any]:
    """Make the key ``uuid`` useless from this moment; revoking it again changes nothing.

    Parameters: ``account_id`` whose key it must be; None for the operator. Raises ``not_found``.
    """
    now = rt.clock()
    with rt.db.write():
        row = ApiKey.get_or_none(ApiKey.uuid == uuid.lower())
        if row is None or account_id not in (None, row.account.id):
            hint = "List them: docshare admin key list EMAIL" if account_id is None else None
            raise Problem("not_found", "There is no key with this uuid.", hint=hint)
        if row.revoked_at is None:
            row.revoked_at = now
            row.save(only=[ApiKey.revoked_at])
    return _describe_key(row)


def sum_stored_bytes(rt: Runtime, account_id: int) -> int:
    """How many bytes the account's documents take, without those in the trash and those that are destroyed."""
    found = rt.db.row(_SUM_STORED_BYTES, (account_id,))
    return int(found[0]) if found else 0


def _describe_key(row: ApiKey) -> dict[str, Any]:
    revoked = None if row.revoked_at is None else format_instant(row.revoked_at)
    created = format_instant(row.created_at)
    return drop_none({"uuid": row.uuid, "name": row.name, "tail": row.tail, "createdAt": created, "revokedAt": revoked})


def get_by_email(email: str) -> Account:
    """The account of ``email``. Raises ``not_found``."""
    account = Account.get_or_none(Account.email == email.strip())
    if account is None:
        detail = f"There is no account of {email.strip()}."
        raise Problem("not_found", detail, hint="See 'docshare admin account list'.")
    return account


def _register_command_line(rt: Runtime) -> None:
    if OAuthClient.get_or_none(OAuthClient.client_id == CLI_CLIENT) is None:
        OAuthClient.create(
            client_id=CLI_CLIENT,
            name="docshare command line",
            redirect_uris=json.dumps(_CLI_REDIRECTS),
            created_at=rt.clock(),
        )
