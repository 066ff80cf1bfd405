"""The settings in a File object: look them up, and compare them with those that a request sends."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from docshare.cli.commands.settings.declarations import ROWS, VIEWER
from docshare.cli.terminal.cells import format_cell
from docshare.contract.problems import Problem
from docshare.contract.settings import SETTINGS, parse_value
from docshare.contract.wire import parse_instant

ASSETS = ("background.assetId", "logo.assetId")  # keys that refer to the file's own assets
MASK = "***"
_SHOWN_KEYS = {"neverExpire": "deleteAt"}

ViewerSettings = dict[str, Any]


class Difference(NamedTuple):
    """One setting by its key, with its old and its new value; None stands for the default."""

    key: str
    old: Any
    new: Any


def mask(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``body`` without secrets."""
    return {**body, "password": MASK} if body.get("password") else dict(body)


def get_viewer_settings(file: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the ``viewerSettings`` of a File object; empty if the server sends none."""
    found = file.get(VIEWER)
    return found if isinstance(found, Mapping) else {}


def get_setting_value(file: Mapping[str, Any], key: str) -> Any:
    """Return the value of a setting in a File object; None if it is unset or write-only."""
    if key == "password":
        return file.get("protected", False)
    if key in ROWS and ROWS[key].is_viewer_setting:
        return dict(flatten_viewer(get_viewer_settings(file))).get(key)
    return file.get(key)


def flatten_viewer(stored: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every dotted key of a ``viewerSettings`` object with its value."""
    for block, value in stored.items():
        if isinstance(value, Mapping):
            yield from ((f"{block}.{name}", inner) for name, inner in value.items())
        else:
            yield block, value


def merge_viewer(stored: Mapping[str, Any], changes: Mapping[str, Any]) -> ViewerSettings:
    """Return ``viewerSettings`` with the dotted keys of ``changes`` applied; None removes a field or block."""
    result: ViewerSettings = {
        key: dict(value) if isinstance(value, Mapping) else value for key, value in stored.items()
    }
    for key, value in changes.items():
        block, dot, name = key.partition(".")
        if dot and not isinstance(result.get(block), dict):
            result[block] = {}
        place = result[block] if dot else result
        if value is None:
            place.pop(name or block, None)
        else:
            place[name or block] = value
        if dot and not place:
            del result[block]
    return result


def has_non_default_value(key: str, value: Any) -> bool:
    """Return whether a field of ``viewerSettings`` differs from its default."""
    row = ROWS.get(key)
    return row is None or not _is_same_value(value, row.default)


def _is_same_value(one: Any, other: Any) -> bool:
    """Return whether two values of a field are equal; colors compare case-insensitively."""
    return bool(_fold_case(one) == _fold_case(other))


def _fold_case(value: Any) -> Any:
    return value.lower() if isinstance(value, str) and value.startswith("#") else value


def find_differences(file: Mapping[str, Any], body: Mapping[str, Any]) -> list[Difference]:
    """Return what writing ``body`` changes in ``file``: each changed field and each changed ``viewerSettings`` key."""
    found = []
    for name, value in body.items():
        if name == VIEWER:
            found += find_viewer_differences(get_viewer_settings(file), value)
        elif name == "password" and value:  # possibly unchanged: the server does not return it
            found.append(Difference(name, get_setting_value(file, name), MASK))
        elif not is_applied(name, value, file):
            key = _SHOWN_KEYS.get(name, name)
            found.append(
                Difference(key, get_setting_value(file, key), normalize_value(name, value) if key == name else None)
            )
    return found


def find_viewer_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    """Return the dotted keys that differ between two ``viewerSettings``; a default counts as unset."""
    before, after = (
        {key: value for key, value in flatten_viewer(each) if has_non_default_value(key, value)} for each in (old, new)
    )
    keys = dict.fromkeys((*before, *after))
    return [
        Difference(key, before.get(key), after.get(key))
        for key in keys
        if not _is_same_value(before.get(key), after.get(key))
    ]


def normalize_value(name: str, value: Any) -> Any:
    """Return ``value`` as the server stores it; None for "unset". An invalid value is returned unchanged."""
    if name not in SETTINGS:
        return value
    try:
        parsed = parse_value(name, value)
    except Problem:
        return value
    return value if name == "deleteAt" and parsed is not None else parsed


def list_values(body: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> list[tuple[str, Any]]:
    """Return the settings in ``body`` by key, with the values that the server stores; None for "unset".

    Of ``viewerSettings``, only what differs from the File ``before``; ``viewerSettings`` itself if nothing is set.
    """
    found: list[tuple[str, Any]] = []
    for name, value in body.items():
        if name == VIEWER:
            changes = [(key, new) for key, _, new in find_viewer_differences(get_viewer_settings(before or {}), value)]
            found += changes if changes or before is not None else [(VIEWER, None)]
        else:
            found.append((name, normalize_value(name, value)))
    return found


def is_applied(name: str, value: Any, file: Mapping[str, Any]) -> bool:
    """Return whether a File object shows the written field; true for a write-only field."""
    if name == "password":
        return bool(file.get("protected")) == bool(value)
    if name == "neverExpire":
        return not value or "deleteAt" not in file
    if name not in SETTINGS or SETTINGS[name].visibility == "never":
        return True
    if name == "deleteAt":
        return parse_instant(str(value)) == parse_instant(str(file.get(name, "")))
    return bool(normalize_value(name, value) == file.get(name))


def describe_mismatches(file: Mapping[str, Any], body: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for every sent value that the server did not store as sent."""
    for name, value in body.items():
        if name == VIEWER:
            for key, sent, kept in find_viewer_differences(value, get_viewer_settings(file)):
                shown = "its default" if kept is None else format_cell(kept)
                yield f"{key}: sent {_format_optional(sent)}, the server keeps {shown}"
        elif name not in SETTINGS:
            yield f"{name}: the server does not know this setting"
        elif not is_applied(name, value, file):
            shown = get_setting_value(file, _SHOWN_KEYS.get(name, name))
            why = (
                ", because of the form (remove it with --gate none)"
                if name == "requireEmail" and file.get("gateFields")
                else ""
            )
            sent = format_cell(mask({name: value})[name])
            yield f"{name}: sent {sent}, the server keeps {_format_optional(shown)}{why}"


def _format_optional(value: Any) -> str:
    return "nothing" if value is None else format_cell(value)


def describe_ineffective_domains(body: Mapping[str, Any], file: Mapping[str, Any]) -> str:
    """Return a warning if email domains are set but have no effect, else an empty string.

    ``body``: the settings that were written; ``file``: the settings now.
    """
    touched = {"gateDomains", "requireEmail"} & body.keys()
    if not touched or not file.get("gateDomains") or file.get("requireEmail") is not False:
        return ""
    return "the email domains have no effect unless readers must enter an address; use --require-email"


def describe_prompt_change(body: Mapping[str, Any], file: Mapping[str, Any]) -> str:
    """Return a note if adding or removing a gate form left the email prompt on, else an empty string.

    Parameters as of ``describe_ineffective_domains``.
    """
    # A form turns the prompt on; only requireEmail turns it off.
    if "gateFields" not in body or "requireEmail" in body or not file.get("requireEmail"):
        return ""
    if file.get("gateFields"):
        return "the form also makes readers enter an email address"
    return "readers must still enter an email address; turn that off with --no-require-email"
