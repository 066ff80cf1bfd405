"""Change the settings of a file, and look up the appearance of its share page."""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.scopes import Lane
from docshare.contract.settings import parse_settings
from docshare.server.rules import lifecycle, viewer_settings
from docshare.server.rules import settings as rules
from docshare.server.rules.looks import PRESETS as PRESETS
from docshare.server.rules.looks import LooksPreset as LooksPreset
from docshare.server.rules.looks import expand_preset as expand_preset
from docshare.server.rules.looks import list_contrast_warnings as list_contrast_warnings
from docshare.server.rules.settings import read_settings as read_settings
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller, recheck_caller
from docshare.server.services.designs import designs
from docshare.server.services.files import copy_checks, files
from docshare.server.services.files.files import FileRow
from docshare.server.services.links import share_passwords
from docshare.server.services.links.links import Link, owner_plan
from docshare.server.store.tables import assets, sharing
from docshare.server.store.tables import files as file_rows

# Settings that SQL filters by have a column; all others are in the JSON of ``settings``.
_COLUMNS = {"password": "password_hash", "deleteAt": "delete_at", "viewLimit": "view_limit", "slug": "slug"}
_IMAGE_KINDS = ("logo", "background")  # kinds of assets
_COPY_SETTINGS = frozenset({"allowDownload", "pageRange", "viewerSettings", "watermark"})


class PageAppearance(NamedTuple):
    """The viewer mode of a share page, and all its viewer settings with the defaults filled in."""

    viewer_mode: str
    viewer_settings: dict[str, Any]


def change_settings(
    rt: Runtime,
    caller: Caller,
    name: str,
    body: Mapping[str, Any],
    *,
    merge: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> None:
    """Store the settings in ``body`` for the caller's file ``name`` (UUID or short id); an error changes nothing.

    ``merge`` returns the ``viewerSettings`` to store instead of those in ``body``, from those that are stored now: two
    forms that change parts of them at once keep the changes of both. If the settings affect what readers download, the
    copy is tried; a failure becomes a warning of the file.

    Raises ``not_found``; ``gone`` for a dead link; ``plan_required``, ``forbidden``, ``bad_request`` and
    ``payload_too_large`` like ``rules.settings.resolve_settings``; ``conflict`` for a slug that is taken;
    ``unauthorized`` if the credential was revoked while a password was hashed.
    """
    now = rt.clock()
    sent = parse_settings(body)
    if sent.get("password"):
        # Checked twice: a rejected request must not cost a hash, and hashing must not hold the write lock.
        _resolve_change(rt, caller, name, sent, now)
        sent["password"] = share_passwords.hash_password(rt, sent["password"])
    # A custom link is unique among all accounts.
    with rt.db.write(None if "slug" in sent else caller.account_id):
        if sent.get("password"):
            caller = recheck_caller(rt, caller)  # hashing took time
        if merge is not None:
            stored = read_settings(files.get_owned(rt, caller, name).settings)
            sent |= parse_settings({"viewerSettings": merge(stored["viewerSettings"])})
        file, settled, kept = _resolve_change(rt, caller, name, sent, now)
        if sent:
            _save(rt, file, settled, kept, now)
        if sent.get("detachDesignToolDesign"):
            designs.detach(rt, file.id)
    if not _COPY_SETTINGS.isdisjoint(sent):
        copy_checks.try_file(rt, file.uuid)


def find_appearance(rt: Runtime, link: Link) -> PageAppearance:
    """Return how the share page of ``link`` looks on the current plan of its owner, or on Free without an owner."""
    return _resolve_appearance(link.settings, owner_plan(rt, link))


def preview_appearance(rt: Runtime, caller: Caller, name: str, body: Mapping[str, Any]) -> PageAppearance:
    """Return how the share page of the caller's file ``name`` would look with the settings in ``body``.

    Stores nothing. Raises what ``change_settings`` raises.
    """
    _, _, kept = _resolve_change(rt, caller, name, parse_settings(body), rt.clock())
    return _resolve_appearance(read_settings(json.dumps(kept)), caller.plan)


def _resolve_appearance(settings: Mapping[str, Any], plan: Plan) -> PageAppearance:
    return PageAppearance(settings["viewerMode"], viewer_settings.effective_settings(settings["viewerSettings"], plan))


def _resolve_change(
    rt: Runtime, caller: Caller, name: str, sent: Mapping[str, Any], now: int
) -> tuple[FileRow, dict[str, Any], dict[str, Any]]:
    """Return the file, the settings that change, by wire name (None clears), and the JSON of settings to store.

    Raises what ``change_settings`` raises.
    """
    file = files.get_owned(rt, caller, name)
    # This applies to the owner too, so that a dead link cannot be revived by a later expiry.
    if (
        lifecycle.file_state(trashed_at=None, burned_at=file.burned_at, delete_at=file.delete_at, now=now)
        != lifecycle.LIVE
    ):
        raise Problem("gone", "The link has ended: it expired, or its view limit was reached.")
    current = rules.CurrentFile(file.size, file.total_pages, json.loads(file.settings))
    managed = caller.lane is Lane.MANAGE
    settled = rules.resolve_settings(sent, current, plan=caller.plan, managed=managed, now=now)
    kept = rules.drop_defaults(current.settings, {key: settled[key] for key in settled.keys() - _COLUMNS.keys()})
    if settled.get("viewerSettings"):
        _require_assets(rt, file, settled["viewerSettings"])
    if settled.get("slug") not in (None, file.slug):
        _require_slug_free(rt, settled["slug"])
    return file, settled, kept


def _require_assets(rt: Runtime, file: FileRow, settings: Mapping[str, Any]) -> None:
    """Raise ``bad_request`` unless all images that ``settings`` refer to were uploaded to this file."""
    wanted = viewer_settings.list_asset_ids(settings)
    if not wanted:
        return
    missing = wanted - assets.list_uuids(rt.db, file.id, _IMAGE_KINDS)
    if missing:
        detail = f"viewerSettings names the asset {min(missing)}, which is not an image of this file."
        raise Problem("bad_request", detail, hint="Upload it to this file first, as the kind logo or background.")


def _require_slug_free(rt: Runtime, slug: str) -> None:
    """Raise ``conflict`` if ``slug`` is used already.

    Slugs of trashed files and all short ids are reserved: they appear in the same addresses, and a link that was sent
    must never lead to another document.
    """
    if sharing.is_slug_taken(rt.db, slug):
        raise Problem("conflict", f"The custom link '{slug}' is taken.", hint="Choose another one.", field="slug")


def _save(rt: Runtime, file: FileRow, settled: Mapping[str, Any], kept: Mapping[str, Any], now: int) -> None:
    columns = {column: settled[name] for name, column in _COLUMNS.items() if name in settled}
    if "viewLimit" in settled:
        columns["views_consumed"] = 0  # each limit starts its own count
    file_rows.update_settings(rt.db, file.id, json.dumps(kept, separators=(",", ":")), now, **columns)
