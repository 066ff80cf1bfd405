"""Compare the settings of a file with those in ``share.yaml``."""

from collections.abc import Mapping, Sequence
from typing import Any

from docshare.cli.commands.apply.model import DesiredFile
from docshare.cli.commands.apply.state import is_hash_of
from docshare.cli.commands.settings.changes import SettingChanges
from docshare.cli.commands.settings.stored import find_differences, get_viewer_settings
from docshare.contract.settings import SETTINGS
from docshare.contract.wire import format_instant, parse_instant

Row = dict[str, Any]

# The settings of a fresh upload.
NEW_FILE_SETTINGS: Row = {
    name: row.default for name, row in SETTINGS.items() if row.default is not None and row.visibility == "always"
}  # fmt: skip


def build_settings_body(
    desired: DesiredFile, row: Mapping[str, Any], entry: Mapping[str, Any], now: int, gone: Sequence[str]
) -> Row:
    """Return the settings body that turns ``row``, a File object, into ``desired``; empty if nothing differs.

    Parameters:
        entry: from the state, which has a hash of the password that was set.
        now: milliseconds since 1970.
        gone: settings to reset to their defaults.

    Raise Stop (2) for an impossible result, such as a call to action without a URL.
    """
    body = _merge_changes(desired, gone).build_body(get_viewer_settings(row))
    if desired.lifetime is not None:
        body["deleteAt"] = format_instant(resolve_end(desired, row, entry, now) or now)
    found = {name: value for name, value in body.items() if find_differences(row, {name: value})}
    secret = "" if desired.password is None and "password" in gone else desired.password
    if secret is not None and not _has_password(row, entry, secret):
        found["password"] = secret
    return found


def resolve_end(desired: DesiredFile, row: Mapping[str, Any], entry: Mapping[str, Any], now: int) -> int | None:
    """Return the intended expiry (milliseconds since 1970), None for never or unspecified.

    A duration counts from the first upload, so that later runs compute the same expiry.
    """
    if desired.lifetime is None:
        return parse_instant(str(desired.changes.fields.get("deleteAt", "")))
    born = parse_instant(str(row.get("createdAt") or entry.get("createdAt") or ""))
    return (now if born is None else born) + desired.lifetime


def _merge_changes(desired: DesiredFile, gone: Sequence[str]) -> SettingChanges:
    """Return the changes, with the ``gone`` settings reset first."""
    changes = SettingChanges()
    for key in gone:
        if key != "password":
            changes.put(key, None)
    changes.fields |= desired.changes.fields
    changes.viewer_fields |= desired.changes.viewer_fields
    changes.replaces_viewer = changes.replaces_viewer or desired.changes.replaces_viewer
    return changes


def _has_password(row: Mapping[str, Any], entry: Mapping[str, Any], secret: str) -> bool:
    if not secret or not row.get("protected"):
        return bool(row.get("protected")) == bool(secret)
    return is_hash_of(secret, str(entry.get("password", "")))
