"""Describe settings in words, and by the command that sets them again; never a password."""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from docshare.cli.commands.settings.declarations import ROWS, VIEWER
from docshare.cli.commands.settings.stored import (
    MASK,
    Difference,
    flatten_viewer,
)
from docshare.cli.framework.context import Context
from docshare.cli.terminal.cells import format_cell
from docshare.cli.terminal.text import format_local_time, format_relative_time
from docshare.contract.wire import parse_instant


def _describe_setting(context: Context, key: str, value: Any) -> str:
    """Return a setting in a few words: ``slug "q3"``, ``expires 2026-12-01 09:00 (10 days)``, ``no view limit``."""
    if key in ("deleteAt", "neverExpire"):
        return _describe_expiry(context, None if key == "neverExpire" else value)
    if key == "password":
        return "password set" if value else "no password"
    if key == VIEWER:
        return "viewer at its defaults"
    noun = ROWS[key].noun if key in ROWS else ""
    if value is None:
        return f"no {noun}" if noun else f"{key} default"
    return f"{noun or key} {_format_value(key, value)}"


def _format_value(key: str, value: Any) -> str:
    return ROWS[key].format(value) if key in ROWS else format_cell(value)


def _describe_expiry(context: Context, value: Any) -> str:
    millis = parse_instant(str(value))
    if millis is None:
        return "never expires"
    away = format_relative_time(millis, context.now())
    words = f" ({away.removeprefix('in ')})" if away.startswith("in ") else ""
    return f"expires {format_local_time(millis)}{words}"


def describe_values(context: Context, values: Sequence[tuple[str, Any]]) -> list[str]:
    """Describe each of ``values``, which come from ``list_values``."""
    return [_describe_setting(context, key, value) for key, value in values] or ["no changes"]


def describe_difference(context: Context, change: Difference) -> str:
    """Return a change in a few words: ``slug "q2" -> "q3"``."""
    arrow = context.err_screen.glyph("→")
    noun = ROWS[change.key].noun if change.key in ROWS else ""
    before, after = (_describe_side(context, change.key, each) for each in (change.old, change.new))
    return f"{noun or change.key} {before} {arrow} {after}"


def _describe_side(context: Context, key: str, value: Any) -> str:
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
