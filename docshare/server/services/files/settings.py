"""The settings of a file: written by its owner or a manage token, shown to readers."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from docshare.contract.problems import Problem
from docshare.contract.scopes import Lane
from docshare.contract.settings import SETTINGS, parse_settings
from docshare.server.rules import lifecycle, viewer_settings
from docshare.server.rules import settings as rules
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.designs import designs
from docshare.server.services.files import files, trials
from docshare.server.services.files.files import FileRow
from docshare.server.services.links import share_passwords
from docshare.server.services.links.links import Link, owner_plan
from docshare.server.store.tables import Asset, File, ShortId

# What SQL looks for has a column; everything else stands in the JSON of ``settings``.
_COLUMNS = {"password": "password_hash", "deleteAt": "delete_at", "viewLimit": "view_limit", "slug": "slug"}
_IMAGE_KINDS = ("logo", "background")  # kinds of assets
_COPY_SETTINGS = frozenset({"allowDownload", "pageRange", "viewerSettings", "watermark"})


class PageAppearance(NamedTuple):
    """How a share page is to look: its viewer mode, and every viewer setting with the defaults filled in."""

    viewer_mode: str
    viewer_settings: dict[str, Any]


def change_settings(rt: Runtime, caller: Caller, name: str, body: Mapping[str, Any]) -> None:
    """Write the settings in ``body`` to the caller's file ``name`` (UUID or short id); any refusal changes nothing.

    Where the settings decide what readers download, that is tried; a copy that cannot be made is a warning of the file.

    Raises ``not_found``; ``gone`` for a dead link; ``plan_required``, ``forbidden``, ``bad_request`` and
    ``payload_too_large`` as ``rules.settings.settle``; ``conflict`` for a slug that is taken.
    """
    now = rt.clock()
    sent = parse_settings(body)
    if sent.get("password"):
        # Judged twice: a write that is refused must not cost the hash, and hashing must not hold the database.
        _resolve_change(rt, caller, name, sent, now)
        sent["password"] = share_passwords.hash_password(rt, sent["password"])
    with rt.db.write():
        file, settled = _resolve_change(rt, caller, name, sent, now)
        if sent:
            _save(file, settled, now)
        if sent.get("detachDesignToolDesign"):
            designs.detach(rt, file.id)
    if not _COPY_SETTINGS.isdisjoint(sent):
        trials.try_file(rt, file.uuid)


def find_appearance(rt: Runtime, link: Link) -> PageAppearance:
    """How the share page of ``link`` looks now, on the plan its owner has now; nobody's file is on Free."""
    settings = json.loads(link.file.settings)
    mode = settings.get("viewerMode", SETTINGS["viewerMode"].default)
    return PageAppearance(
        mode, viewer_settings.effective_settings(settings.get("viewerSettings", {}), owner_plan(rt, link))
    )


def _resolve_change(
    rt: Runtime, caller: Caller, name: str, sent: Mapping[str, Any], now: int
) -> tuple[FileRow, dict[str, Any]]:
    """The file and what is to be stored of ``sent``, by wire name. Raises what ``change`` raises."""
    file = files.get_owned(rt, caller, name)
    # For the owner too, so a dead link cannot be brought back by moving its expiry.
    if (
        lifecycle.file_state(trashed_at=None, burned_at=file.burned_at, delete_at=file.delete_at, now=now)
        != lifecycle.LIVE
    ):
        raise Problem("gone", "The link is dead: it expired, or its view limit was reached.")
    standing = rules.CurrentFile(file.size, file.total_pages, json.loads(file.settings))
    managed = caller.lane is Lane.MANAGE
    settled = rules.resolve_settings(sent, standing, plan=caller.plan, managed=managed, now=now)
    _require_assets(file, settled.get("viewerSettings", {}))
    _require_slug_free(file, settled.get("slug"))
    return file, settled


def _require_assets(file: FileRow, settings: Mapping[str, Any]) -> None:
    """Raise ``bad_request`` unless all images that ``settings`` refer to were uploaded to this very file."""
    wanted = viewer_settings.list_asset_ids(settings)
    if not wanted:
        return
    images = Asset.select(Asset.uuid).where((Asset.file == file.id) & Asset.kind.in_(_IMAGE_KINDS))
    missing = wanted - {row.uuid for row in images}
    if missing:
        detail = f"viewerSettings names the asset {min(missing)}, which is no image of this file."
        raise Problem("bad_request", detail, hint="Upload it to this file first, as the kind logo or background.")


def _require_slug_free(file: FileRow, slug: str | None) -> None:
    """Raise ``conflict`` when ``slug`` names something already. Slugs of trashed files and all short ids are reserved:
    they stand at the same place in addresses, and a link that was sent must never lead to another document."""
    if slug is None or slug == file.slug:
        return
    taken = File.select(File.id).where(File.slug == slug) | ShortId.select(ShortId.short_id).where(
        ShortId.short_id == slug
    )
    if taken.exists():
        raise Problem("conflict", f"The link name '{slug}' is taken.", hint="Choose another one.")


def _save(file: FileRow, settled: Mapping[str, Any], now: int) -> None:
    columns = {column: settled[name] for name, column in _COLUMNS.items() if name in settled}
    if "viewLimit" in settled:
        columns["views_consumed"] = 0  # the count belongs to the limit that it counts for
    rest = {name: value for name, value in settled.items() if name not in _COLUMNS}
    kept = json.dumps(rules.drop_defaults(json.loads(file.settings), rest), separators=(",", ":"))
    File.update(**columns, settings=kept, updated_at=now).where(File.id == file.id).execute()
