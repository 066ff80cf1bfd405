"""Restricted API keys: fewer scopes, optionally for one file and with an end. A personal key has none of these limits.

Only the account itself manages them, with a personal key or in a signed-in browser: a restricted key or an app must not
be able to give itself more.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from docshare.contract import fields
from docshare.contract.limits import MAX_RESTRICTED_KEYS
from docshare.contract.problems import Problem
from docshare.contract.scopes import CHALLENGE, CREDENTIAL_CHARS, RESTRICTED_KEY_PREFIX, SCOPES, Lane, normalize_scopes
from docshare.contract.wire import drop_none, format_instant, parse_instant
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import accounts
from docshare.server.services.accounts.accounts import NewKey
from docshare.server.services.accounts.callers import Caller, digest, recheck_caller
from docshare.server.services.files import files
from docshare.server.store.tables import ApiKey, library
from docshare.server.store.tables import accounts as account_rows

_TAIL_CHARS = 4


@dataclass(frozen=True)
class KeyInput:
    """A restricted key to create: ``scopes`` separated by spaces; ``file`` a UUID or a short id, None for all files;
    ``expires_at`` in milliseconds, None for no end."""

    name: str
    scopes: str
    file: str | None = None
    expires_at: int | None = None


def parse_key(body: Mapping[str, Any]) -> KeyInput:
    """Parse the body of a create request: ``name`` and ``scopes``, and optionally ``file`` and ``expiresAt``.

    Raises ``bad_request`` naming the field. Unknown keys are ignored.
    """
    asked = body.get("scopes")
    scopes = normalize_scopes(" ".join(asked) if isinstance(asked, list) and all(map(_is_text, asked)) else None)
    if scopes is None:
        detail = f"scopes must be a list of one or more of: {', '.join(SCOPES)}."
        raise Problem("bad_request", detail, field="scopes")
    file = fields.text_parser(1, 40)("file", body["file"]) if "file" in body else None
    expires_at = None
    if "expiresAt" in body:
        expires_at = parse_instant(body["expiresAt"]) if _is_text(body["expiresAt"]) else None
        if expires_at is None:
            detail = "expiresAt must be an instant such as 2027-01-31T09:00:00Z."
            raise Problem("bad_request", detail, field="expiresAt")
    return KeyInput(accounts.require_key_name(body.get("name")), scopes, file, expires_at)


def create_personal(rt: Runtime, caller: Caller, name: str) -> NewKey:
    """Create a personal key of the caller's account. Raises ``forbidden`` for a caller that may not manage keys,
    ``bad_request`` for a malformed ``name``, ``unauthorized`` if the caller's credential was revoked meanwhile."""
    require_full_access(caller)
    with rt.db.write():
        return accounts.create_key(rt, recheck_caller(rt, caller).email, name)


def create(rt: Runtime, caller: Caller, wanted: KeyInput) -> tuple[dict[str, Any], str]:
    """Create a restricted key of the caller's account; return its description and the key, which is shown only now.

    Raises ``forbidden`` for a caller that may not manage keys, ``not_found`` for a file that is not the caller's,
    ``bad_request`` for an end in the past and above the maximum number of keys, ``unauthorized`` if the caller's
    credential was revoked meanwhile.
    """
    require_full_access(caller)
    now = rt.clock()
    if wanted.expires_at is not None and wanted.expires_at <= now:
        raise Problem("bad_request", "expiresAt must be in the future.", field="expiresAt")
    key = f"{RESTRICTED_KEY_PREFIX}{rt.random_token(CREDENTIAL_CHARS)}"
    with rt.db.write(caller.account_id):
        caller = recheck_caller(rt, caller)
        file = None if wanted.file is None else files.get_owned(rt, caller, wanted.file)
        active = [row for row in account_rows.list_keys(rt.db, caller.account_id) if row.scopes and not row.revoked_at]
        if len(active) >= MAX_RESTRICTED_KEYS:
            raise Problem(
                "bad_request", f"The account has {MAX_RESTRICTED_KEYS} restricted keys, the maximum for an account."
            )
        uuid = rt.random_uuid()
        account_rows.insert_key(
            rt.db,
            uuid,
            caller.account_id,
            name=wanted.name,
            digest=digest(key),
            tail=key[-_TAIL_CHARS:],
            now=now,
            scopes=wanted.scopes,
            file_id=file.id if file else None,
            expires_at=wanted.expires_at,
        )
        row = account_rows.find_key(rt.db, uuid, caller.account_id)
    assert row is not None
    return describe(rt, row), key


def list_active(rt: Runtime, caller: Caller) -> list[dict[str, Any]]:
    """Return the keys of the caller's account that were not revoked, newest first, personal ones too; never the keys
    themselves. Raises ``forbidden`` for a caller that may not manage keys."""
    require_full_access(caller)
    rows = account_rows.list_keys(rt.db, caller.account_id)
    return [describe(rt, row) for row in reversed(rows) if row.revoked_at is None]


def revoke(rt: Runtime, caller: Caller, uuid: str) -> None:
    """Revoke the key ``uuid`` of the caller's account; it stops working at once. Raises ``forbidden`` for a caller that
    may not manage keys, ``not_found``."""
    require_full_access(caller)
    accounts.revoke_key(rt, uuid, caller.account_id)


def require_full_access(caller: Caller) -> None:
    """Raise ``forbidden`` unless the caller is a personal key or a signed-in browser."""
    if caller.is_restricted or caller.lane not in (Lane.API_KEY, Lane.SESSION):
        headers = {"WWW-Authenticate": f'{CHALLENGE} error="insufficient_scope"'}
        raise Problem("forbidden", "Only personal API keys and the account page can manage keys.", headers=headers)


def describe(rt: Runtime, row: ApiKey) -> dict[str, Any]:
    """Return a key as the API shows it. A personal key has no ``scopes``: it has all of them."""
    used_at = max(row.used_at or 0, rt.key_uses.get(row.digest, 0))
    file = None if row.file_id is None else library.find_uuid(rt.db, row.file_id)
    return drop_none(
        {
            "uuid": row.uuid,
            "name": row.name,
            "tail": row.tail,
            "scopes": row.scopes.split() if row.scopes else None,
            "fileUuid": file if row.file_id is None else file or "",
            "createdAt": format_instant(row.created_at),
            "expiresAt": None if row.expires_at is None else format_instant(row.expires_at),
            "lastUsedAt": format_instant(used_at) if used_at else None,
        }
    )


def save_uses(rt: Runtime) -> int:
    """Store when keys were used since the last call; return 0, so that the job logs nothing."""
    uses: dict[str, int] = {}
    while rt.key_uses:  # other threads add to it meanwhile
        credential, used_at = rt.key_uses.popitem()
        uses[credential] = used_at
    if uses:
        try:
            with rt.db.write():
                account_rows.save_key_uses(rt.db, uses)
        except Exception:  # the database cannot be written; the next run stores them
            for credential, used_at in uses.items():
                rt.key_uses.setdefault(credential, used_at)
            raise
    return 0


def _is_text(value: object) -> bool:
    return isinstance(value, str)
