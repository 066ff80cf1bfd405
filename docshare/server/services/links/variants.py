"""Create, change, revoke and redact the variants of a file's link, one for each recipient."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from docshare.contract.features import require_plan
from docshare.contract.fields import is_uuid
from docshare.contract.problems import Problem
from docshare.server.rules import variants as rules
from docshare.server.rules.settings import read_settings
from docshare.server.rules.variants import VariantInput
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import copy_checks, files, purge, short_ids
from docshare.server.services.files.files import FileRow
from docshare.server.store.tables import deliveries, events, sharing
from docshare.server.store.tables.sharing import VariantRow as VariantRow


def list_variants(rt: Runtime, caller: Caller, name: str) -> list[VariantRow]:
    """Return the variants of the caller's file ``name`` (UUID or short id), newest first, revoked and redacted ones
    too.

    Raises ``plan_required`` below Pro, ``not_found``.
    """
    require_plan(caller.plan, "variants.list", "The list of variants")
    file = files.get_owned(rt, caller, name)
    return sharing.list_variants(rt.db, file.id)


def create(rt: Runtime, caller: Caller, name: str, body: Mapping[str, Any]) -> VariantRow:
    """Create a variant of the caller's file ``name`` from the request ``body``.

    Raises ``plan_required`` below Pro, ``not_found``, ``bad_request`` (malformed, or the file has 200 variants) and
    ``payload_too_large`` (a page range of a file over 100 MB).
    """
    require_plan(caller.plan, "variants.create", "A variant")
    now = rt.clock()
    with rt.db.write(caller.account_id):
        file = files.get_owned(rt, caller, name)
        wanted = rules.parse_create(body)
        _require_variant_fits(wanted, file)
        rules.require_variant_slot(sharing.count_variants(rt.db, file.id))
        uuid = rt.random_uuid()
        sharing.insert_variant(
            rt.db,
            uuid,
            short_ids.create_short_id(rt),
            file.id,
            label=wanted.label or None,
            overrides=_encode_overrides(wanted.overrides or {}),
            now=now,
        )
        created = _get_variant(rt, file, uuid)
    if not wanted.overrides:
        return created
    copy_checks.try_variant(rt, uuid)
    return _get_variant(rt, file, uuid)


def update(
    rt: Runtime,
    caller: Caller,
    name: str,
    variant: str,
    body: Mapping[str, Any],
    *,
    merge: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> VariantRow:
    """Change the variant ``variant`` (its UUID) of the caller's file ``name`` as the request ``body`` says.

    ``merge`` returns the ``overrides`` to store instead of those in ``body``, from those that are stored now.

    Raises ``not_found``, ``bad_request``, ``payload_too_large`` and ``conflict`` (a label for a redacted variant).
    """
    now = rt.clock()
    with rt.db.write(caller.account_id):
        file = files.get_owned(rt, caller, name)
        row = _get_variant(rt, file, variant)
        merged = {} if merge is None else {"overrides": merge(json.loads(row.overrides))}
        wanted = rules.parse_update({**body, **merged})
        _require_variant_fits(wanted, file)
        rules.require_label_writable(wanted, redacted=row.redacted_at is not None)
        label = row.label if wanted.label is None else wanted.label or None
        overrides = row.overrides if wanted.overrides is None else _encode_overrides(wanted.overrides)
        revoked_at = row.revoked_at
        if wanted.revoked is not None:
            revoked_at = (revoked_at or now) if wanted.revoked else None
        sharing.update_variant(rt.db, row.id, label=label, overrides=overrides, revoked_at=revoked_at)
        if wanted.revoked:
            purge.revoke_grants(rt, "variant_id", row.id)
    if wanted.overrides is not None or wanted.revoked is False:  # revoked variants are not tried
        copy_checks.try_variant(rt, row.uuid)
    return _get_variant(rt, file, row.uuid)


def delete(rt: Runtime, caller: Caller, name: str, variant: str) -> None:
    """Delete the variant ``variant`` (its UUID) and keep its sessions and events, unattributed. Raises
    ``not_found``."""
    with rt.db.write(caller.account_id):
        row = _get_variant(rt, files.get_owned(rt, caller, name), variant)
    purge.unattribute(rt, row.id)
    with rt.db.write():
        purge.unattribute(rt, row.id)  # rows that were added meanwhile
        sharing.delete_variant(rt.db, row.id)
    rt.db.truncate_wal()


def redact(rt: Runtime, caller: Caller, name: str, variant: str) -> None:
    """Erase the label of the variant ``variant`` (its UUID) in every table that stores it; the link keeps working.

    Redacting it again changes nothing. Raises ``not_found``.
    """
    now = rt.clock()
    with rt.db.write(caller.account_id):
        row = _get_variant(rt, files.get_owned(rt, caller, name), variant)
        if row.redacted_at is None:
            events.erase_variant_label(rt.db, row.id)
            deliveries.erase_variant_label(rt.db, row.id)
            sharing.erase_variant_label(rt.db, row.id)
            sharing.mark_variant_redacted(rt.db, row.id, now)
    rt.db.truncate_wal()


def _get_variant(rt: Runtime, file: FileRow, variant: str) -> VariantRow:
    """Return the variant of ``file`` with that UUID, in either case. Its short id is not accepted."""
    found = sharing.find_variant(rt.db, file.id, variant.lower()) if is_uuid(variant) else None
    if found is None:
        raise Problem("not_found", "There is no such variant.")
    return found


def _require_variant_fits(wanted: VariantInput, file: FileRow) -> None:
    watermark = bool(read_settings(file.settings)["watermark"])
    rules.require_variant_fits(wanted, total_pages=file.total_pages, size=file.size, watermark=watermark)


def _encode_overrides(overrides: dict[str, Any]) -> str:
    return json.dumps(overrides, separators=(",", ":"))
