"""The settings of a file as the command line knows them: one row per key, built from the tables of the contract.

A key is the name of a field of the settings body (``slug``) or a dotted key into ``viewerSettings`` (``flip.speedMs``).
The kind of a row says how its values are typed, validated and shown.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from docshare.cli.commands.settings.overrides import parse_page_range
from docshare.cli.commands.settings.values import parse_json, parse_time
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.cells import format_cell
from docshare.contract import fields, kinds, limits, viewer
from docshare.contract.patterns import SLUG_CHARS
from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.settings import SETTINGS, Setting
from docshare.contract.wire import format_instant

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


def _parse_boolean(_context: Context, row: "SettingRow", text: str) -> bool:
    if text not in ("true", "false"):
        raise Stop(ExitCode.USAGE, f"{row.key} must be true or false")
    return text == "true"


def _parse_number(_context: Context, row: "SettingRow", text: str) -> float:
    kind: type[int] | type[float] = int if row.kind == "integer" else float
    try:
        number = kind(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or not text.isascii():
        what = "an integer" if kind is int else "a number"
        raise Stop(ExitCode.USAGE, f"{row.key} must be {what} from {row.low} to {row.high}")
    return number


# A server may have sent the value to format, so the formatters do not rely on its type.
def _format_pages(value: Any) -> str:
    return f"{value.get('from')}-{value.get('to')}" if isinstance(value, Mapping) else format_cell(value)


def _format_domains(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else format_cell(value)


def _format_form(value: Any) -> str:
    if not isinstance(value, list):
        return format_cell(value)
    return ", ".join(str(field.get("label")) for field in value if isinstance(field, Mapping))


class Kind(NamedTuple):
    """``allowed``: the allowed values as text, empty if the row lists them; ``parse``: text to API value, None to clear
    the setting; ``format``: API value to text."""

    allowed: str = ""
    parse: Callable[[Context, "SettingRow", str], Any] = lambda _context, _row, text: text
    format: Callable[[Any], str] = format_cell


SETTING_KINDS: dict[str, Kind] = {
    "asset": Kind("id of an asset of the file"),
    "boolean": Kind("true, false", _parse_boolean),
    "color": Kind("#RRGGBB"),
    "datetime": Kind(
        "7d, a date, a datetime", lambda context, row, text: format_instant(parse_time(context, text, row.key))
    ),
    "domains": Kind("D,D...", lambda _context, _row, text: [each.strip() for each in text.split(",")], _format_domains),
    "form": Kind("@FILE.json or JSON", lambda _context, row, text: parse_json(text, row.key), _format_form),
    "integer": Kind(parse=_parse_number),
    "label": Kind(f"1 to {limits.CTA_LABEL_CHARS} characters", format='"{}"'.format),
    "measurement": Kind("G-XXXXXXXXXX"),
    "number": Kind(parse=_parse_number),
    "pages": Kind("FROM-TO", lambda _context, row, text: parse_page_range(text, row.key), _format_pages),
    "password": Kind("see --password-file"),
    "slug": Kind(f"1 to {SLUG_CHARS} of a-z 0-9 -", format='"{}"'.format),
    "url": Kind("https URL"),
    "word": Kind(),
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

    def describe_allowed(self) -> str:
        """Return the allowed values as text."""
        return SETTING_KINDS[self.kind].allowed or ", ".join(self.words) or f"{self.low} to {self.high}"

    def parse(self, context: Context, text: str) -> Any:
        """Return the API value of ``text``; None clears the setting. Raise Stop (2) if the kind does not allow it."""
        return SETTING_KINDS[self.kind].parse(context, self, text)

    def validate(self, value: object) -> None:
        """Raise Stop (2) with the allowed values if the setting does not accept ``value``.

        The fields of ``viewerSettings`` are checked strictly, because the server would drop or clamp values silently.
        """
        try:
            kinds.parse(self, self.key, value)
        except Problem as problem:
            detail = _describe_page_problem(value) if self.kind == "pages" else ""
            raise Stop(ExitCode.USAGE, detail or problem.detail, hint="", code="setting") from None

    def format(self, value: object) -> str:
        """Return a value that a server sent or should get as text."""
        return SETTING_KINDS[self.kind].format(value)

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


def _describe_page_problem(value: object) -> str:
    """Return what is wrong with a rejected page range such as ``3-1``; empty if it is not a page range at all."""
    first, last = (value.get("from"), value.get("to")) if isinstance(value, Mapping) else (None, None)
    if not fields.is_integer(first) or not fields.is_integer(last):
        return ""
    if first > last:
        why = "the first page comes after the last"
    else:
        why = "page numbers start at 1" if first < 1 else f"a file has at most {limits.PAGES_PER_FILE} pages"
    return f"pages {first}-{last}: {why}"


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
    """Return whether the value of a canonical key is an object: all of ``viewerSettings`` or one of its blocks."""
    return key == VIEWER or is_block(key)


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
