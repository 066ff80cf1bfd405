"""Describe settings: what was set, what the server stored, and the command that sets it again; never a password."""

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from docshare.cli.commands.settings.declarations import ROWS, VIEWER
from docshare.cli.commands.settings.kinds import SETTING_KINDS
from docshare.cli.commands.settings.stored import flatten_viewer, has_non_default_value, is_same_value
from docshare.cli.terminal.cells import format_cell
from docshare.cli.terminal.text import format_local_time, format_relative_time
from docshare.contract.problems import Problem
from docshare.contract.settings import SETTINGS, parse_value
from docshare.contract.wire import parse_instant

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

MASK = "***"
_SHOWN_KEYS = {"neverExpire": "deleteAt"}


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
        if not is_same_value(before.get(key), after.get(key))
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
                yield f"{key}: sent {'nothing' if sent is None else format_cell(sent)}, the server keeps {shown}"
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


def describe_setting(context: "Context", key: str, value: Any) -> str:
    """Return a setting in a few words: ``slug "q3"``, ``expires 2026-12-01 09:00 (10 days)``, ``no view limit``."""
    if key in ("deleteAt", "neverExpire"):
        return _describe_expiry(context, None if key == "neverExpire" else value)
    if key == "password":
        return "password set" if value else "no password"
    noun = ROWS[key].noun if key in ROWS else ""
    if value is None:
        return f"no {noun}" if noun else f"{key} default"
    return f"{noun or key} {_format_value(key, value)}"


def _format_value(key: str, value: Any) -> str:
    return SETTING_KINDS[ROWS[key].kind].format(value) if key in ROWS else format_cell(value)


def _describe_expiry(context: "Context", value: Any) -> str:
    millis = parse_instant(str(value))
    if millis is None:
        return "never expires"
    away = format_relative_time(millis, context.now())
    words = f" ({away.removeprefix('in ')})" if away.startswith("in ") else ""
    return f"expires {format_local_time(millis)}{words}"


def describe_body(context: "Context", body: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> list[str]:
    """Describe every setting of ``body``; for ``viewerSettings``, only what differs from the File ``before``."""
    words = []
    for name, value in body.items():
        if name == VIEWER:
            changes = find_viewer_differences(get_viewer_settings(before or {}), value)
            words += [describe_setting(context, change.key, change.new) for change in changes]
            words += ["viewer at its defaults"] if before is None and not changes else []
        else:
            words.append(describe_setting(context, name, normalize_value(name, value)))
    return words or ["no changes"]


def describe_difference(context: "Context", change: Difference) -> str:
    """Return for example ``slug "q2" -> "q3"``."""
    arrow = context.err_screen.glyph("→")
    noun = ROWS[change.key].noun if change.key in ROWS else ""
    before, after = (_describe_side(context, change.key, each) for each in (change.old, change.new))
    return f"{noun or change.key} {before} {arrow} {after}"


def _describe_side(context: "Context", key: str, value: Any) -> str:
    if key == "deleteAt":
        return _describe_expiry(context, value).removeprefix("expires ").removesuffix(" expires")
    if key == "password":
        return "new" if value == MASK else "set" if value else "none"
    if value is None:
        default = ROWS[key].default if key in ROWS else None
        return "none" if default is None else format_cell(default)
    return _format_value(key, value)


def format_set_command(file: str, body: Mapping[str, Any], protect: str = "--password-prompt") -> str:
    """Return the command that sets ``body`` on ``file``; ``protect``: the option that sets the password again."""
    words = ["docshare", "settings", "set", file]
    for name, value in body.items():
        if name == "password":
            words.append(protect)
        elif name == VIEWER:
            words += [_format_assignment(key, inner) for key, inner in flatten_viewer(value)]
        else:
            words.append(_format_assignment(name, value))
    return " ".join(words)


def _format_assignment(key: str, value: Any) -> str:
    kind = ROWS[key].kind if key in ROWS else ""
    if kind == "pages" and value.get("from"):
        return f"{key}={value['from']}-{value['to']}"
    if kind == "domains" and value:
        return f"{key}={','.join(value)}"
    plain = isinstance(value, str) and kind not in ("form", "") and value not in ("", "null") and value[:1] != "@"
    if plain or isinstance(value, bool):
        return shlex.quote(f"{key}={value if isinstance(value, str) else str(value).lower()}")
    return shlex.quote(f"{key}:={json.dumps(value)}")
