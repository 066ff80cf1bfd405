"""Variants of a file's link, one for each recipient."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from docshare.contract.features import require_plan
from docshare.contract.fields import is_uuid
from docshare.contract.problems import Problem
from docshare.server.rules import variants as rules
from docshare.server.rules.variants import VariantInput
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import files, purge, short_ids, trials
from docshare.server.services.files.files import FileRow
from docshare.server.store.tables import Variant


class VariantRow(NamedTuple):
    """What the Variant object is drawn from. Times in milliseconds; ``overrides`` is JSON as stored."""

    id: int
    uuid: str
    short_id: str
    label: str | None
    overrides: str
    created_at: int
    revoked_at: int | None
    redacted_at: int | None
    download_warning: str | None
    total_pages: int  # of the file


_COLUMNS = ", ".join(f"v.{name}" for name in VariantRow._fields[:-1])
_OF_FILE = (
    f"SELECT {_COLUMNS}, f.total_pages FROM variants v JOIN files f ON f.id = v.file_id "  # noqa: S608 - columns from the row
    "WHERE v.file_id = ?"
)
_LIST = f"{_OF_FILE} ORDER BY v.id DESC"
_ONE = f"{_OF_FILE} AND v.uuid = ?"
_SAVE = "UPDATE variants SET label = ?, overrides = ?, revoked_at = ? WHERE id = ?"
# Every place that keeps the label of a variant. Stored and pending payloads too: a redacted body differs
# from that of the first attempt, and is signed afresh as every attempt is.
_ERASE_LABEL = (
    "UPDATE activity_rows SET data = json_remove(data, '$.variantLabel') WHERE variant_id = ?",
    "UPDATE deliveries SET body = json_remove(body, '$.data.variantLabel') WHERE variant_id = ?",
    "UPDATE variants SET label = NULL WHERE id = ?",
)


def list_variants(rt: Runtime, caller: Caller, name: str) -> list[VariantRow]:
    """The variants of the caller's file ``name`` (UUID or short id), newest first, revoked and redacted ones too.

    Raises ``plan_required`` below Pro, ``not_found``.
    """
    require_plan(caller.plan, "variants.list", "The list of variants")
    file = files.get_owned(rt, caller, name)
    return [VariantRow._make(found) for found in rt.db.rows(_LIST, (file.id,))]


def create(rt: Runtime, caller: Caller, name: str, body: Mapping[str, Any]) -> VariantRow:
    """Make a variant of the caller's file ``name`` as ``body`` says.

    Raises ``plan_required`` below Pro, ``not_found``, ``bad_request`` (malformed, or 200 variants stand) and
    ``payload_too_large`` (a page range of a file over 100 MB).
    """
    require_plan(caller.plan, "variants.create", "A variant")
    now = rt.clock()
    with rt.db.write():
        file = files.get_owned(rt, caller, name)
        wish = rules.parse_create(body)
        _require_variant_fits(wish, file)
        found = rt.db.row("SELECT COUNT(*) FROM variants WHERE file_id = ?", (file.id,))
        rules.require_variant_slot(found[0] if found else 0)
        made = Variant.create(
            uuid=rt.uuid(),
            short_id=short_ids.create_short_id(rt),
            file=file.id,
            label=wish.label or None,
            overrides=_encode_overrides(wish.overrides or {}),
            created_at=now,
        )
    if wish.overrides:
        trials.try_variant(rt, made.uuid)
    return _get_variant(rt, file, made.uuid)


def update(rt: Runtime, caller: Caller, name: str, variant: str, body: Mapping[str, Any]) -> VariantRow:
    """Change the variant ``variant`` (its UUID) of the caller's file ``name`` as ``body`` says.

    Raises ``not_found``, ``bad_request``, ``payload_too_large`` and ``conflict`` (a label for a redacted variant).
    """
    now = rt.clock()
    with rt.db.write():
        file = files.get_owned(rt, caller, name)
        row = _get_variant(rt, file, variant)
        wish = rules.parse_update(body)
        _require_variant_fits(wish, file)
        rules.require_label_writable(wish, redacted=row.redacted_at is not None)
        label = row.label if wish.label is None else wish.label or None
        overrides = row.overrides if wish.overrides is None else _encode_overrides(wish.overrides)
        revoked_at = row.revoked_at
        if wish.revoked is not None:
            revoked_at = (revoked_at or now) if wish.revoked else None
        rt.db.execute(_SAVE, (label, overrides, revoked_at, row.id))
        if wish.revoked:
            purge.revoke_grants(rt, "variant_id", row.id)
    if wish.overrides is not None:
        trials.try_variant(rt, row.uuid)
    return _get_variant(rt, file, row.uuid)


def delete(rt: Runtime, caller: Caller, name: str, variant: str) -> None:
    """Delete the variant ``variant`` (its UUID); its sessions and events stay, unattributed. Raises ``not_found``."""
    with rt.db.write():
        row = _get_variant(rt, files.get_owned(rt, caller, name), variant)
    purge.unattribute(rt, row.id)
    with rt.db.write():
        purge.unattribute(rt, row.id)  # what came in since
        rt.db.execute("DELETE FROM variants WHERE id = ?", (row.id,))
    rt.db.scrub()


def redact(rt: Runtime, caller: Caller, name: str, variant: str) -> None:
    """Erase the label of the variant ``variant`` (its UUID) wherever it is kept; the link goes on working.

    Doing it again changes nothing. Raises ``not_found``.
    """
    now = rt.clock()
    with rt.db.write():
        row = _get_variant(rt, files.get_owned(rt, caller, name), variant)
        if row.redacted_at is None:
            for statement in _ERASE_LABEL:
                rt.db.execute(statement, (row.id,))
            rt.db.execute("UPDATE variants SET redacted_at = ? WHERE id = ?", (now, row.id))
    rt.db.scrub()


def _get_variant(rt: Runtime, file: FileRow, variant: str) -> VariantRow:
    """The variant of ``file`` with that UUID, in either case. Its short id is not accepted."""
    found = rt.db.row(_ONE, (file.id, variant.lower())) if is_uuid(variant) else None
    if found is None:
        raise Problem("not_found", "There is no such variant.")
    return VariantRow._make(found)


def _require_variant_fits(wish: VariantInput, file: FileRow) -> None:
    watermark = bool(json.loads(file.settings).get("watermark"))
    rules.require_variant_fits(wish, total_pages=file.total_pages, size=file.size, watermark=watermark)


def _encode_overrides(overrides: dict[str, Any]) -> str:
    return json.dumps(overrides, separators=(",", ":"))
