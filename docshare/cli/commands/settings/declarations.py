"""The settings of a file as the command line knows them: one row per key, built from the tables of the contract.

A key is the name of a field of the settings body (``slug``) or a dotted key into ``viewerSettings`` (``flip.speedMs``).
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.contract import kinds, viewer
from docshare.contract.plans import Plan
from docshare.contract.settings import SETTINGS, Setting

VIEWER = "viewerSettings"

# Setting -> its name in messages; the others are named by their key.
_NOUNS = {
    "deleteAt": "expiry",
    "gateDomains": "email domains",
    "gateFields": "form",
    "pageRange": "page range",
    "slug": "slug",
    "viewLimit": "view limit",
}


class SettingRow(NamedTuple):
    """One setting.

    ``kind``: a key of ``SETTING_KINDS``; ``words``, or ``low`` and ``high``: the allowed values; ``clear``: the API
    value that clears it, None if there is none; ``group``: its block, or ``file``; ``noun``: its name in messages,
    empty for its key.
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
    noun: str = ""

    @property
    def is_viewer_setting(self) -> bool:
        """Return whether the setting is part of ``viewerSettings``."""
        return self.group != "file"

    def parse(self, value: object) -> Any:
        """Return ``value`` in the form to store; raise ``bad_request`` if the contract does not allow it."""
        return kinds.parse(self, self.key, value)

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


def _build_row(key: str, row: Setting | viewer.ViewerField, *, clear: object = None, group: str) -> SettingRow:
    return SettingRow(
        key, row.kind, row.plan, row.default, row.words, row.low, row.high, clear, group, _NOUNS.get(key, "")
    )


def _build_rows() -> Iterator[SettingRow]:
    for setting in SETTINGS.values():
        if setting.name != VIEWER:
            yield _build_row(setting.name, setting, clear=next(iter(setting.clears), None), group="file")
    for block, table in viewer.VIEWER_BLOCKS.items():
        if isinstance(table, viewer.ViewerField):
            yield _build_row(block, table, group=block)
        else:
            for name, field in table.items():
                yield _build_row(f"{block}.{name}", field, group=block)


ROWS: dict[str, SettingRow] = {row.key: row for row in _build_rows()}
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
    """Return whether ``key`` names a block of ``viewerSettings`` that has fields."""
    return isinstance(viewer.VIEWER_BLOCKS.get(key), Mapping)


def is_object_key(key: str) -> bool:
    """Return whether the value of ``key`` is an object: all of ``viewerSettings`` or one of its blocks."""
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
