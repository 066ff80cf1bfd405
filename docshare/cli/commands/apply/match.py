"""Match the files of ``share.yaml`` with those on the server: by state, UUID, slug, or name."""

import os
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from docshare.cli.commands.apply.model import DesiredFile
from docshare.cli.commands.apply.state import ApplyState
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.contract.media import DOCUMENTS

Row = Mapping[str, Any]


def match_files(files: Sequence[DesiredFile], rows: Sequence[Row], state: ApplyState) -> dict[str, Row]:
    """Return the matching File object of each desired file, by key. ``rows``: the active files of the account.

    Certain matches come first, so that a name never claims a file that another entry identifies. Raise Stop (3) for a
    UUID that no active file has, and Stop (2) if several files match, or one file matches twice.
    """
    by_uuid = {str(row.get("uuid")): row for row in rows}
    by_slug = {row["slug"]: row for row in rows if row.get("slug")}
    found: dict[str, Row] = {}
    for desired in files:
        row = _find_certain(desired, by_uuid, by_slug, state)
        if row is not None:
            _assign_row(found, desired, row)
    taken = {row["uuid"] for row in found.values()}
    for desired in files:
        if desired.key not in found:
            row = _find_by_name(desired, [row for row in rows if row.get("uuid") not in taken])
            if row is not None:
                _assign_row(found, desired, row)
    return found


def _assign_row(found: dict[str, Row], desired: DesiredFile, row: Row) -> None:
    other = next((key for key, each in found.items() if each["uuid"] == row["uuid"]), None)
    if other is not None:
        raise Stop(ExitCode.USAGE, f"{other} and {desired.key} match the same file, {row['uuid']}")
    found[desired.key] = row


def _find_certain(
    desired: DesiredFile, by_uuid: Mapping[str, Row], by_slug: Mapping[str, Row], state: ApplyState
) -> Row | None:
    if desired.uuid is not None:
        if desired.uuid not in by_uuid:
            raise Stop(
                ExitCode.NOT_FOUND, f"{desired.key}: no active file {desired.uuid}", hint="See: docshare files list"
            )
        return by_uuid[desired.uuid]
    known = by_uuid.get(str(state.files.get(desired.key, {}).get("uuid")))
    return by_slug.get(desired.slug) if known is None else known


def _find_by_name(desired: DesiredFile, rows: Sequence[Row]) -> Row | None:
    """Return the only file of that name.

    If the entry has a slug that no file has, the file must have no slug and the same bytes: an earlier run uploaded it
    but did not set the slug.
    """
    rows = [row for row in rows if _has_name(row, desired)]
    if desired.slug:
        rows = [row for row in rows if not row.get("slug") and row.get("sha256") == desired.digest]
    if len(rows) > 1:
        uuids = ", ".join(str(row.get("uuid")) for row in rows)
        hint = "Identify the file in the YAML file with: uuid: UUID"
        raise Stop(
            ExitCode.USAGE, f"{desired.key}: {len(rows)} files are named {desired.item.name!r}: {uuids}", hint=hint
        )
    return rows[0] if rows else None


def _has_name(row: Row, desired: DesiredFile) -> bool:
    stored, name = _normalize(str(row.get("originalName"))), _normalize(desired.item.name)
    if desired.item.kind is not None and DOCUMENTS[desired.item.kind].is_converted:
        return os.path.splitext(stored)[0] == os.path.splitext(name)[0]
    return stored == name


def _normalize(name: str) -> str:
    return unicodedata.normalize("NFC", name)
