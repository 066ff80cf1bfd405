"""Match the files of ``share.yaml`` with those on the server: by state, UUID, slug, or name."""

import os
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from docshare.cli.commands.apply.model import DesiredFile
from docshare.cli.commands.apply.state import ApplyState
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.contract.media import DOCUMENTS

Row = dict[str, Any]


def match_files(wishes: Sequence[DesiredFile], rows: Sequence[Row], state: ApplyState) -> dict[str, Row]:
    """Return the matching File object of each desired file, by key. ``rows``: the active files of the account.

    Certain matches come first, so that a name never claims a file that another entry identifies. Raise Stop (3) for a
    UUID that no active file has, and Stop (2) if several files match, or one file matches twice.
    """
    by_uuid = {str(row.get("uuid")): row for row in rows}
    by_slug = {row["slug"]: row for row in rows if row.get("slug")}
    found: dict[str, Row] = {}
    for wish in wishes:
        row = _find_certain(wish, by_uuid, by_slug, state)
        if row is not None:
            _assign_row(found, wish, row)
    taken = {row["uuid"] for row in found.values()}
    for wish in wishes:
        if wish.key not in found:
            row = _find_by_name(wish, [row for row in rows if row.get("uuid") not in taken])
            if row is not None:
                _assign_row(found, wish, row)
    return found


def _assign_row(found: dict[str, Row], wish: DesiredFile, row: Row) -> None:
    other = next((key for key, each in found.items() if each["uuid"] == row["uuid"]), None)
    if other is not None:
        raise Stop(ExitCode.USAGE, f"{other} and {wish.key} match the same file, {row['uuid']}")
    found[wish.key] = row


def _find_certain(
    wish: DesiredFile, by_uuid: Mapping[str, Row], by_slug: Mapping[str, Row], state: ApplyState
) -> Row | None:
    if wish.uuid is not None:
        if wish.uuid not in by_uuid:
            raise Stop(ExitCode.NOT_FOUND, f"{wish.key}: no active file {wish.uuid}", hint="See: docshare files list")
        return by_uuid[wish.uuid]
    known = by_uuid.get(str(state.files.get(wish.key, {}).get("uuid")))
    return by_slug.get(wish.slug) if known is None else known


def _find_by_name(wish: DesiredFile, rows: Sequence[Row]) -> Row | None:
    """Return the only file of that name.

    If the entry has a slug that no file has, the file must have no slug and the same bytes: an earlier run uploaded it
    but did not set the slug.
    """
    rows = [row for row in rows if _has_name(row, wish)]
    if wish.slug:
        rows = [row for row in rows if not row.get("slug") and row.get("sha256") == wish.digest]
    if len(rows) > 1:
        uuids = ", ".join(str(row.get("uuid")) for row in rows)
        hint = "Identify the file in the YAML file with: uuid: UUID"
        raise Stop(ExitCode.USAGE, f"{wish.key}: {len(rows)} files are named {wish.item.name!r}: {uuids}", hint=hint)
    return rows[0] if rows else None


def _has_name(row: Row, wish: DesiredFile) -> bool:
    stored, name = _normalize(str(row.get("originalName"))), _normalize(wish.item.name)
    if wish.item.kind is not None and DOCUMENTS[wish.item.kind].is_converted:
        return os.path.splitext(stored)[0] == os.path.splitext(name)[0]
    return stored == name


def _normalize(name: str) -> str:
    return unicodedata.normalize("NFC", name)
