"""The settings of a file as the command line knows them: one row per key, built from the tables of the contract.

A key is the name of a field of the settings body (``slug``) or a dotted key into ``viewerSettings`` (``flip.speedMs``).
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.contract import fields, limits, viewer
from docshare.contract.plans import Plan
from docshare.contract.settings import SETTINGS, Setting

VIEWER = "viewerSettings"

# Parsers of the contract and their type names here; those with their own bounds are in ``_BOUNDED``.
_KINDS: dict[Any, str] = {
    fields.parse_boolean: "boolean",
    fields.parse_password: "password",
    fields.parse_instant: "datetime",
    fields.parse_page_range: "pages",
    fields.parse_gate_fields: "form",
    fields.parse_domains: "domains",
    fields.parse_slug: "slug",
}


class SettingRow(NamedTuple):
    """One setting.

    ``kind``: its type; ``words``, or ``low`` and ``high``: the allowed values; ``clear``: the API value that clears it,
    None if there is none; ``group``: its block, or ``file``.
    """

    key: str
    kind: str
    plan: Plan
    default: object = None
    words: tuple[str, ...] = ()
    low: float = 0
    high: float = 0
    clear: object = None
    group: str = "file"

    @property
    def is_viewer_setting(self) -> bool:
        """Whether the setting is part of ``viewerSettings``."""
        return self.group != "file"

    @property
    def allowed_values(self) -> str:
        """Return the allowed values as text."""
        if self.words:
            return ", ".join(self.words)
        if self.kind in ("integer", "number"):
            return f"{self.low} to {self.high}"
        return _ALLOWED.get(self.kind, self.kind)

    def as_json(self) -> dict[str, Any]:
        """Return the row as JSON; ``path`` is the position of the value in the request body."""
        shown: dict[str, Any] = {
            "key": self.key,
            "path": f"{VIEWER}.{self.key}" if self.is_viewer_setting else self.key,
        }
        shown |= {"type": self.kind, "plan": self.plan.tier}
        shown |= {"values": list(self.words)} if self.words else {}
        if self.high and self.kind != "label":
            shown |= {"minimum": self.low, "maximum": self.high}
        shown |= {"default": self.default} if self.default is not None else {}
        return shown | ({"clear": self.clear} if self.clear is not None else {})


_ALLOWED = {
    "boolean": "true, false",
    "password": "see --password-file",
    "datetime": "7d, a date, a datetime",
    "pages": "FROM-TO",
    "form": "@FILE.json or JSON",
    "domains": "D,D...",
    "slug": f"1 to {limits.SLUG_CHARS} of a-z 0-9 -",
    "color": "#RRGGBB",
    "url": "https URL",
    "asset": "id of an asset of the file",
    "measurement": "G-XXXXXXXXXX",
    "label": f"1 to {limits.CTA_LABEL_CHARS} characters",
}


def _build_file_row(row: Setting) -> SettingRow:
    clear = row.clears[0] if row.clears else None
    made = SettingRow(row.name, _KINDS.get(row.parse, ""), row.plan, row.default, clear=clear)
    if row.name == "viewerMode":
        return SettingRow(row.name, "word", row.plan, row.default, viewer.VIEWER_MODES)
    if row.name == "viewLimit":
        return SettingRow(row.name, "integer", row.plan, low=0, high=limits.VIEW_LIMIT_MAX, clear=clear)
    return made


def _build_viewer_row(key: str, block: str, row: viewer.ViewerField) -> SettingRow:
    return SettingRow(key, row.kind, row.plan, row.default, row.words, row.low, row.high, group=block)


def _build_rows() -> dict[str, SettingRow]:
    rows = [_build_file_row(row) for row in SETTINGS.values() if row.name != VIEWER]
    for block, table in viewer.VIEWER_BLOCKS.items():
        if isinstance(table, viewer.ViewerField):
            rows.append(_build_viewer_row(block, block, table))
        else:
            rows += [_build_viewer_row(f"{block}.{name}", block, row) for name, row in table.items()]
    return {row.key: row for row in rows}


ROWS: dict[str, SettingRow] = _build_rows()
"""Every setting by its key, in the order of FileSettings in openapi.yaml."""

_ALIASES = {
    f"{block}.{row.alias}": f"{block}.{name}"
    for block, table in viewer.VIEWER_BLOCKS.items()
    if isinstance(table, Mapping)
    for name, row in table.items()
    if row.alias
}


def canonicalize(key: str) -> str:
    """Return ``key`` without the prefix ``viewerSettings.`` and with an old name replaced by the current one."""
    short = key.removeprefix(f"{VIEWER}.")
    return _ALIASES.get(short, short)


def is_block(key: str) -> bool:
    """Whether ``key`` names a block of ``viewerSettings`` that has fields."""
    return isinstance(viewer.VIEWER_BLOCKS.get(key), Mapping)


def is_object_key(key: str) -> bool:
    """Whether the value of ``key`` is an object: all of ``viewerSettings`` or one of its blocks."""
    return key == VIEWER or is_block(canonicalize(key))


def find_setting(key: str) -> SettingRow:
    """Return the row of a canonical key; raise Stop (2) with similar keys if there is none."""
    if key in ROWS:
        return ROWS[key]
    near = get_close_matches(key, ROWS, n=2)
    hint = f"Did you mean {' or '.join(near)}?" if near else "List them with: docshare settings schema"
    raise Stop(ExitCode.USAGE, f"unknown setting {key!r}", hint=hint)


def list_completions() -> tuple[str, ...]:
    """Return ``key=value`` words for completion; a setting with many values ends at the equals sign."""
    words: list[str] = []
    for row in ROWS.values():
        values = row.words or (("true", "false") if row.kind == "boolean" else ("",))
        words += [f"{row.key}={value}" for value in values if row.kind != "password"]
    return tuple(words)
