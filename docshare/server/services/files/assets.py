"""Assets: the images and sounds of a share page, uploaded to one file."""

import json
import mmap
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from docshare.contract.features import require_plan
from docshare.contract.fields import is_uuid
from docshare.contract.media import ASSET_KINDS
from docshare.server.http.multipart import ReceivedFile
from docshare.server.pdf.budget import Tenant
from docshare.server.rules import assets as rules
from docshare.server.rules import intake as intake_rules
from docshare.server.rules import mp3
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller, recheck_caller
from docshare.server.services.files import files, intake, tenants
from docshare.server.services.links.links import Link
from docshare.server.store.blobs import PartialFile
from docshare.server.store.tables import Asset

_OF_FILE = "SELECT id, uuid, kind, blob FROM assets WHERE file_id = ?"
_LIST = "SELECT uuid, kind, mime_type, size FROM assets WHERE file_id = ? ORDER BY id"
_SELECT_SERVED = "SELECT blob, mime_type FROM assets WHERE file_id = ? AND uuid = ?"


class AssetRow(NamedTuple):
    """What an asset upload answers; ``size`` in bytes as stored."""

    uuid: str
    kind: str
    mime_type: str
    size: int


class ServedAsset(NamedTuple):
    """An asset as its reader gets it."""

    path: Path
    mime_type: str


def admit(rt: Runtime, caller: Caller, name: str, length: int | None) -> int:
    """Judge an upload to the file ``name`` (UUID or short id) by what is known before its bytes.

    Parameters: ``length`` the least size of the asset in bytes, None if unknown. Returns the largest asset that may
    follow. Raises ``plan_required`` below Basic, ``not_found``, ``payload_too_large``, ``unavailable``.
    """
    require_plan(caller.plan, "assets.create", "An asset")
    files.get_owned(rt, caller, name)
    rules.require_size(length or 0, rules.MAX_ASSET_BYTES)
    intake_rules.require_disk_space(rt.blobs.free_bytes(), length or 0)
    return rules.MAX_ASSET_BYTES


def add(rt: Runtime, caller: Caller, name: str, kind: str | None, received: ReceivedFile) -> AssetRow:
    """Store ``received`` as an asset of the caller's file ``name``; of a singleton kind it replaces the one before.

    Raises as ``admit``, ``bad_request`` (unknown kind, a type that the kind does not take, or ten assets stand) and
    ``unprocessable`` (an image or a sound that cannot be read).
    """
    require_plan(caller.plan, "assets.create", "An asset")
    files.get_owned(rt, caller, name)
    kind = rules.require_kind(kind)
    part = received.part
    rules.require_size(part.size, ASSET_KINDS[kind].cap)
    media_type = rules.require_type(kind, part.head)
    made = rt.blobs.part()
    try:
        _strip_metadata(rt, part, media_type, made, tenants.account_tenant_key(caller.account_id))
        size, blob = made.size, rt.blobs.keep(made)
    except OSError as error:
        raise intake_rules.disk_space_problem() from error
    finally:
        made.discard()
    row = AssetRow(rt.uuid(), kind, media_type, size)
    try:
        replaced = _insert(rt, caller, name, row, blob)
    except BaseException as error:
        intake.discard_blob(rt, blob, error)
        raise
    for old in replaced:
        # The rows are the truth from here on. Bytes that cannot be removed now go at the next start.
        with suppress(OSError):
            rt.blobs.delete(old)
    return row


def list_assets(rt: Runtime, caller: Caller, name: str) -> list[AssetRow]:
    """The assets of the caller's file ``name`` (UUID or short id), oldest first. Raises ``not_found``."""
    return [AssetRow._make(found) for found in rt.db.rows(_LIST, (files.get_owned(rt, caller, name).id,))]


def find_served(rt: Runtime, link: Link, asset_id: str) -> ServedAsset | None:
    """The asset ``asset_id`` of the file behind ``link``, None for an unknown one and for one of another file."""
    found = rt.db.row(_SELECT_SERVED, (link.file.id, asset_id.lower())) if is_uuid(asset_id) else None
    return None if found is None else ServedAsset(rt.blobs.path(found[0]), found[1])


def _strip_metadata(rt: Runtime, source: PartialFile, media_type: str, made: PartialFile, owner: str) -> None:
    """Write to ``made`` what is kept of the upload ``source``: pixels or frames of sound, no metadata."""
    if media_type != "audio/mpeg":
        made.write(rt.engine.picture(source.path, media_type, Tenant(owner, source.sha256())))
        return
    with source.path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for start, end in mp3.find_frames(data):
            made.write(data[start:end])
    if not made.size:
        raise rules.mp3_problem()


def _insert(rt: Runtime, caller: Caller, name: str, row: AssetRow, blob: str) -> list[str]:
    """Write the new asset down; returns the blobs of those it replaced."""
    now = rt.clock()
    with rt.db.write():
        # Judged again: plan, file and the other assets may have changed while this one was read.
        caller = recheck_caller(rt, caller)
        require_plan(caller.plan, "assets.create", "An asset")
        file = files.get_owned(rt, caller, name)
        standing = rt.db.rows(_OF_FILE, (file.id,))
        replaced = [each for each in standing if ASSET_KINDS[row.kind].singleton and each[2] == row.kind]
        rules.require_asset_slot(len(standing) - len(replaced))
        Asset.create(**row._asdict(), file=file.id, blob=blob, created_at=now)
        if replaced:
            rt.db.execute(
                "DELETE FROM assets WHERE file_id = ? AND kind = ? AND uuid <> ?", (file.id, row.kind, row.uuid)
            )
            settings = rules.replace_asset_ids(
                json.loads(file.settings), frozenset(each[1] for each in replaced), row.uuid
            )
            text = json.dumps(settings, separators=(",", ":"))
            rt.db.execute("UPDATE files SET settings = ?, updated_at = ? WHERE id = ?", (text, now, file.id))
    return [each[3] for each in replaced]
