"""Manage accounts, their plans and their API keys, for the operator and for their owners."""

import json
from dataclasses import dataclass
from typing import Any

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.scopes import CREDENTIAL_CHARS, LANES, Lane
from docshare.contract.wire import drop_none, format_instant
from docshare.server.rules.mails import is_address, is_placeholder
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import sign_in
from docshare.server.services.accounts.callers import Caller, digest
from docshare.server.services.files import purge
from docshare.server.store.tables import Account, ApiKey, deliveries, library, oauth
from docshare.server.store.tables import accounts as account_rows
from docshare.server.store.tables import files as file_rows
from docshare.server.store.tables import mail as mail_rows
from docshare.server.store.tables import sign_in as sign_in_rows
from docshare.server.store.tables.sign_in import CONFIRMATION, INVITATION, RESET, SIGN_IN

OWNER_EMAIL = "owner@localhost"
CLI_CLIENT = "docshare-cli"
# Without a port: RFC 8252 lets a loopback redirect use any.
_CLI_REDIRECTS = ["http://127.0.0.1/callback"]

_NAME_CHARS = 200
_TAIL_CHARS = 4


@dataclass(frozen=True)
class NewKey:
    """A new API key, shown only now; the server stores only its SHA-256."""

    uuid: str
    key: str


@dataclass(frozen=True)
class FirstRunResult:
    """The ``account`` that owns the instance; ``api_key`` is its first key, None if the account existed before."""

    account: Account
    api_key: str | None


def initialize_instance(rt: Runtime, tier: Plan) -> FirstRunResult:
    """Create the owner's account on plan ``tier`` with one API key, and register the command line as an OAuth client.

    An account or a client that exists is not changed, but an owner without a real address gets the configured one.
    Raises ``conflict`` if another account has it.
    """
    configured = rt.config.owner
    with rt.db.write():
        _register_command_line(rt)
        existing = account_rows.find_first(rt.db)
        if existing is None:
            name = "" if configured else account_rows.DEFAULT_NAME
            account = create_account(rt, configured or OWNER_EMAIL, name, tier)
            return FirstRunResult(account, create_key(rt, account.email, "first key").key)
        if configured and is_placeholder(existing.email):
            existing = set_email(rt, existing.email, configured)
        return FirstRunResult(existing, None)


def is_instance_owner(rt: Runtime, account_id: int) -> bool:
    """Return whether the account is the oldest one, which owns the instance."""
    return bool(get_owner(rt).id == account_id)


def require_instance_owner(rt: Runtime, caller: Caller) -> None:
    """Raise ``forbidden`` unless the caller owns the instance."""
    if not is_instance_owner(rt, caller.account_id):
        raise Problem("forbidden", "Only the owner of this server can manage accounts.")


def get_owner(rt: Runtime) -> Account:
    """Return the oldest account. Raises ``not_found`` on an instance without accounts."""
    account = account_rows.find_first(rt.db)
    if account is None:
        raise Problem("not_found", "This instance has no accounts.")
    return account


def create_account(rt: Runtime, email: str, name: str, plan: Plan) -> Account:
    """Create an account for ``email``; an empty ``name`` becomes the part before the ``@``.

    Raises ``bad_request`` for an address or a name that is malformed or too long, ``conflict`` when the address is
    taken.
    """
    name = _require_name(name.strip() or email.strip().partition("@")[0])
    now = rt.clock()
    with rt.db.write():
        email = require_free_email(rt, email)
        return account_rows.insert(rt.db, rt.random_uuid(), email, name, plan, now)


def require_free_email(rt: Runtime, email: str, account_id: int | None = None) -> str:
    """Return ``email``, trimmed, if no account but ``account_id`` has it. Raises ``bad_request`` for a malformed
    address, ``conflict`` for one that is taken."""
    email = email.strip()
    if not is_address(email):
        detail = "email must be an address such as ada@example.com."
        raise Problem("bad_request", detail, hint="", field="email")
    taken = account_rows.find_by_email(rt.db, email)
    if taken is not None and taken.id != account_id:
        hint = "List them: docshare admin account list"
        raise Problem("conflict", f"An account for {email} already exists.", hint=hint, field="email")
    return email


def set_email(rt: Runtime, email: str, new_email: str) -> Account:
    """Change the address of the account of ``email`` and return the account. Its mails to the old address that were not
    sent yet go to the new one, but no invitations to read a file: they contain personal links, and anybody can take
    the address of an invitee while no mail server confirms it. A name that is the part of the old address before the
    ``@`` becomes that of the new one: readers would see it as a name that the owner chose.

    Raises ``not_found``, ``bad_request`` for a malformed address, ``conflict`` for one that is taken.
    """
    now = rt.clock()
    with rt.db.write():
        account = get_by_email(rt, email)
        old, account.email = account.email, require_free_email(rt, new_email, account.id)
        account_rows.set_email(rt.db, account.id, account.email)
        if account.name == old.partition("@")[0]:
            account.name = _require_name(account.email.partition("@")[0])
            account_rows.set_name(rt.db, account.id, account.name)
        sign_in_rows.delete_links(rt.db, account.id, CONFIRMATION, INVITATION, RESET)
        due = now if rt.mailer.is_configured and not is_placeholder(account.email) else None
        mail_rows.readdress(rt.db, account.id, old, account.email, due)
    return account


def disable(rt: Runtime, email: str) -> Account:
    """Disable the account of ``email`` and return it: nobody can sign in, keys and apps are rejected, and until it is
    enabled, no notices are mailed and no events are sent to its webhooks. Queued deliveries are abandoned. Its links
    stay open for readers. Repeating this changes nothing.

    Raises ``not_found``, ``conflict`` for the owner of the instance.
    """
    now = rt.clock()
    with rt.db.write():
        account = get_by_email(rt, email)
        if is_instance_owner(rt, account.id):
            raise Problem("conflict", "The account that owns this instance cannot be disabled.")
        if account.disabled_at is None:
            account.disabled_at = now
            account_rows.set_disabled(rt.db, account.id, now)
            sign_in_rows.delete_sessions(rt.db, account.id)
            sign_in_rows.delete_links(rt.db, account.id, SIGN_IN, INVITATION, RESET)
            sign_in.end_pending(rt, account.id)
            deliveries.abandon_disabled(rt.db, now)
    return account


def enable(rt: Runtime, email: str) -> Account:
    """Enable the account of ``email`` again and return it; its keys and apps work again. Raises ``not_found``."""
    with rt.db.write():
        account = get_by_email(rt, email)
        account_rows.set_disabled(rt.db, account.id, None)
        account.disabled_at = None
    return account


def rename_by_email(rt: Runtime, email: str, name: str) -> Account:
    """Change the name of the account of ``email`` and return the account. Raises ``not_found``, ``bad_request``."""
    with rt.db.write():
        account = get_by_email(rt, email)
        rename(rt, account.id, name)
    return get_by_email(rt, email)


def list_usage(rt: Runtime, email: str | None = None) -> list[dict[str, Any]]:
    """Return what each account uses, oldest first, or only that of ``email``.

    Each row has ``email``, ``name``, ``tier``, ``files`` without those in the trash, their ``bytes``, counted
    ``sessions`` of readers, and ``disabledAt``. Raises ``not_found``.
    """
    selected = list_accounts(rt) if email is None else [get_by_email(rt, email)]
    usage = library.measure_usage(rt.db)
    rows = []
    for account in selected:
        files, size, sessions = usage.get(account.id, (0, 0, 0))
        rows.append({**describe(account), "files": files, "bytes": size, "sessions": sessions})
    return rows


def rename(rt: Runtime, account_id: int, name: str) -> None:
    """Change the name of the account. Raises ``bad_request`` for an empty or malformed one."""
    name = name.strip()
    if not name:
        raise Problem("bad_request", "name must not be empty.", field="name")
    _require_name(name)
    with rt.db.write():
        account_rows.set_name(rt.db, account_id, name)


def require_key_name(name: object) -> str:
    """Return the trimmed name of a key. Raises ``bad_request``, also if only spaces around it make it too long, because
    ``openapi.yaml`` limits what is sent."""
    if not isinstance(name, str) or not name.strip():
        raise Problem("bad_request", "name must be a text.", field="name")
    if len(name) > _NAME_CHARS:
        raise _name_problem()
    return _require_name(name.strip())


def _require_name(name: str) -> str:
    if len(name) > _NAME_CHARS or not name.isprintable():
        raise _name_problem()
    return name


def _name_problem() -> Problem:
    return Problem("bad_request", f"name must be one line of at most {_NAME_CHARS} characters.", field="name")


def list_accounts(rt: Runtime) -> list[Account]:
    """Return all accounts, oldest first."""
    return account_rows.list_all(rt.db)


def set_tier(rt: Runtime, email: str, plan: Plan) -> Account:
    """Change the plan of the account of ``email`` and return the account. Raises ``not_found``."""
    with rt.db.write():
        account = get_by_email(rt, email)
        account_rows.set_plan(rt.db, account.id, plan)
        account.plan = plan
    return account


def delete_account(rt: Runtime, email: str) -> Account:
    """Delete the account of ``email`` with its files and keys; return the deleted account. Raises ``not_found``."""
    now = rt.clock()
    with rt.db.write():
        account = get_by_email(rt, email)
        # The keys are deleted first, so that they cannot add another file. After a crash the sweep of the trash
        # purges the files.
        account_rows.delete_keys(rt.db, account.id)
        file_rows.mark_all_for_purge(rt.db, account.id, now)
    while not _delete_if_empty(rt, account):
        # A session or an access token may have added a file meanwhile.
        purge.purge(rt, *library.list_ids_of_owner(rt.db, account.id))
    return account


def _delete_if_empty(rt: Runtime, account: Account) -> bool:
    """Delete the account if it has no file left; with an account, the rows of its files are deleted, but not their
    bytes."""
    with rt.db.write():
        if library.has_any(rt.db, account.id):
            return False
        account_rows.delete(rt.db, account.id)
        mail_rows.delete_unsent(rt.db, account.email)  # the links in them are deleted with it
    return True


def describe(account: Account) -> dict[str, Any]:
    """Return what ``docshare admin account ... --json`` prints about an account; ``disabledAt`` only if it is
    disabled."""
    shown = {"uuid": account.uuid, "email": account.email, "name": account.name, "tier": Plan(account.plan).tier}
    return shown if account.disabled_at is None else {**shown, "disabledAt": format_instant(account.disabled_at)}


def create_key(rt: Runtime, email: str, name: str) -> NewKey:
    """Create an API key of the account of ``email``. Raises ``not_found``, ``bad_request`` for a malformed ``name``."""
    name = _require_name(name.strip() or "key")
    key = f"{LANES[Lane.API_KEY].prefix}{rt.random_token(CREDENTIAL_CHARS)}"
    now = rt.clock()
    with rt.db.write():
        uuid, account = rt.random_uuid(), get_by_email(rt, email)
        account_rows.insert_key(
            rt.db, uuid, account.id, name=name, digest=digest(key), tail=key[-_TAIL_CHARS:], now=now
        )
    return NewKey(uuid, key)


def list_keys(rt: Runtime, email: str) -> list[dict[str, Any]]:
    """Return the keys of the account of ``email``, oldest first, as ``{uuid, name, tail, createdAt, revokedAt}``: never
    the keys themselves, only their last characters. Raises ``not_found``."""
    account = get_by_email(rt, email)
    return [_describe_key(key, key.revoked_at) for key in account_rows.list_keys(rt.db, account.id)]


def revoke_key(rt: Runtime, uuid: str, account_id: int | None = None) -> dict[str, Any]:
    """Revoke the key ``uuid`` and return its description; revoking it again changes nothing.

    Parameters: ``account_id`` that must own the key; None for the operator. Raises ``not_found``.
    """
    now = rt.clock()
    with rt.db.write():
        key = account_rows.find_key(rt.db, uuid.lower(), account_id)
        if key is None:
            hint = "List them: docshare admin key list EMAIL" if account_id is None else None
            raise Problem("not_found", "There is no such key.", hint=hint)
        if key.revoked_at is None:
            account_rows.revoke_key(rt.db, key.id, now)
    return _describe_key(key, key.revoked_at or now)


def sum_stored_bytes(rt: Runtime, account_id: int) -> int:
    """Return the size of the account's files in bytes, without those in the trash and those that were deleted."""
    return library.sum_stored_bytes(rt.db, account_id)


def _describe_key(key: ApiKey, revoked_at: int | None) -> dict[str, Any]:
    revoked = None if revoked_at is None else format_instant(revoked_at)
    created = format_instant(key.created_at)
    return drop_none({"uuid": key.uuid, "name": key.name, "tail": key.tail, "createdAt": created, "revokedAt": revoked})


def get_by_email(rt: Runtime, email: str) -> Account:
    """Return the account of ``email``. Raises ``not_found``."""
    account = account_rows.find_by_email(rt.db, email.strip())
    if account is None:
        detail = f"There is no account for {email.strip()}."
        raise Problem("not_found", detail, hint="List them: docshare admin account list")
    return account


def _register_command_line(rt: Runtime) -> None:
    if oauth.find_client(rt.db, CLI_CLIENT) is None:
        redirects = json.dumps(_CLI_REDIRECTS)
        oauth.insert_client(rt.db, CLI_CLIENT, "docshare command line", redirects, None, rt.clock())
