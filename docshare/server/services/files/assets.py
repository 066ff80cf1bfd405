"""Upload, list and serve assets: the images and sounds of a share page, which belong to one file."""

import json
from dataclasses import dataclass

from docshare.contract.features import require_plan
from docshare.contract.fields import is_uuid
from docshare.contract.media import ASSET_KINDS
from docshare.server.pdf.budget import Tenant
from docshare.server.received_file import ReceivedFile
from docshare.server.rules import assets as rules
from docshare.server.rules import intake as intake_rules
from docshare.server.rules import mp3
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller, recheck_caller
from docshare.server.services.files import files, intake, removals, sealed_blobs, tenants
from docshare.server.services.files.sealed_blobs import StoredBlob
from docshare.server.services.links.links import Link
from docshare.server.store.blobs import PartialFile
from docshare.server.store.segments import DamagedBytesError
from docshare.server.store.stored_bytes import StoredBytes
from docshare.server.store.tables import assets as asset_rows
from docshare.server.store.tables import files as file_rows
from docshare.server.store.tables import removals as removal_rows
from docshare.server.store.tables.assets import AssetRow as AssetRow


@dataclass(frozen=True)
class ServedAsset:
    """The path and the media type of an asset that is sent to a reader."""

    path: StoredBytes
    mime_type: str


def admit(rt: Runtime, caller: Caller, name: str, length: int | None) -> int:
    """Check an upload to the file ``name`` (UUID or short id) before its bytes arrive.

    Parameters: ``length`` the minimum size of the asset in bytes, None if unknown. Returns the largest size allowed.
    Raises ``plan_required`` below Basic, ``not_found``, ``payload_too_large``, ``unavailable``.
    """
    require_plan(caller.plan, "assets.create", "An asset")
    files.get_owned(rt, caller, name)
    rules.require_size(length or 0, rules.MAX_ASSET_BYTES)
    intake_rules.require_disk_space(rt.blobs.free_bytes(), length or 0)
    return rules.MAX_ASSET_BYTES


def add(rt: Runtime, caller: Caller, name: str, kind: str | None, received: ReceivedFile) -> AssetRow:
    """Store ``received`` as an asset of the caller's file ``name``; a singleton kind replaces the current one.

    Raises what ``admit`` raises, ``bad_request`` (unknown kind, a type that the kind does not accept, or ten assets
    already stored) and ``unprocessable`` (an image or a sound that cannot be read).
    """
    require_plan(caller.plan, "assets.create", "An asset")
    files.get_owned(rt, caller, name)
    kind = rules.require_kind(kind)
    part = received.part
    rules.require_size(part.size, ASSET_KINDS[kind].cap)
    media_type = rules.require_type(kind, part.head)
    made = rt.blobs.create_partial()
    try:
        _strip_metadata(rt, part, media_type, made, tenants.account_tenant_key(caller.account_id))
        size, stored = made.size, sealed_blobs.store(rt, made)
    except DamagedBytesError:  # an OSError too, but not of the disk being full
        raise
    except OSError as error:
        raise intake_rules.disk_space_problem() from error
    finally:
        made.discard()
    row = AssetRow(rt.random_uuid(), kind, media_type, size)
    try:
        replaced = _insert(rt, caller, name, row, stored)
    except BaseException as error:
        intake.discard_blob(rt, stored.blob, error)
        raise
    removals.delete_now(rt, replaced)
    return row


def list_assets(rt: Runtime, caller: Caller, name: str) -> list[AssetRow]:
    """Return the assets of the caller's file ``name`` (UUID or short id), oldest first. Raises ``not_found``."""
    return asset_rows.list_of_file(rt.db, files.get_owned(rt, caller, name).id)


def find_served(rt: Runtime, link: Link, asset_id: str) -> ServedAsset | None:
    """Return the asset ``asset_id`` of the file behind ``link``, or None if the file does not have it."""
    found = asset_rows.find_served(rt.db, link.file.id, asset_id.lower()) if is_uuid(asset_id) else None
    return None if found is None else ServedAsset(sealed_blobs.open_blob(rt, found[0]), found[1])


def _strip_metadata(rt: Runtime, source: PartialFile, media_type: str, made: PartialFile, owner: str) -> None:
    """Write the pixels or the frames of sound of the upload ``source`` to ``made``, without metadata."""
    if media_type != "audio/mpeg":
        made.write(rt.engine.picture(source.finish(), media_type, Tenant(owner, source.sha256())))
        return
    with source.finish().open() as file:
        data = file.read()  # of 5 MB at most
    for start, end in mp3.find_frames(data):
        made.write(data[start:end])
    if not made.size:
        raise rules.mp3_problem()


def _insert(rt: Runtime, caller: Caller, name: str, row: AssetRow, stored: StoredBlob) -> list[str]:
    """Insert the new asset; return the blobs of the assets that it replaced."""
    now = rt.clock()
    with rt.db.write(caller.account_id):
        # Plan, file and the other assets may have changed while the upload was read, so all checks run again.
        caller = recheck_caller(rt, caller)
        require_plan(caller.plan, "assets.create", "An asset")
        file = files.get_owned(rt, caller, name)
        current = asset_rows.list_blobs(rt.db, file.id)
        replaced = [each for each in current if ASSET_KINDS[row.kind].singleton and each.kind == row.kind]
        rules.require_asset_slot(len(current) - len(replaced))
        asset_rows.insert(rt.db, file.id, row, stored.blob, now)
        sealed_blobs.insert_key(rt, stored)
        if replaced:
            asset_rows.delete_others(rt.db, file.id, row.kind, row.uuid)
            removal_rows.add(rt.db, [each.blob for each in replaced], now)
            replaced_ids = frozenset(each.uuid for each in replaced)
            settings = rules.replace_asset_ids(json.loads(file.settings), replaced_ids, row.uuid)
            file_rows.update_settings(rt.db, file.id, json.dumps(settings, separators=(",", ":")), now)
    return [each.blob for each in replaced]
