"""The kinds of settings: how each is typed, validated, and shown. A row of ``declarations`` names its kind."""

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from docshare.cli.commands.settings.values import parse_json, parse_page_range, parse_time
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import read_text
from docshare.cli.terminal.cells import format_cell
from docshare.contract import fields, limits
from docshare.contract.problems import Problem
from docshare.contract.wire import format_instant

if TYPE_CHECKING:
    from docshare.cli.commands.settings.declarations import SettingRow
    from docshare.cli.framework.context import Context


def _keep_text(_context: "Context", _row: "SettingRow", text: str) -> str:
    return text


def _parse_boolean(_context: "Context", row: "SettingRow", text: str) -> bool:
    if text not in ("true", "false"):
        raise Stop(ExitCode.USAGE, f"{row.key} must be true or false")
    return text == "true"


def _parse_number(_context: "Context", row: "SettingRow", text: str) -> float:
    kind: type[int] | type[float] = int if row.kind == "integer" else float
    try:
        number = kind(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or not text.isascii():
        what = "an integer" if kind is int else "a number"
        raise Stop(ExitCode.USAGE, f"{row.key} must be {what} from {row.low} to {row.high}")
    return number


def _parse_datetime(context: "Context", row: "SettingRow", text: str) -> str:
    return format_instant(parse_time(context, text, row.key))


def _parse_pages(_context: "Context", row: "SettingRow", text: str) -> dict[str, int] | None:
    return parse_page_range(text, row.key)


def _parse_domains(_context: "Context", _row: "SettingRow", text: str) -> list[str]:
    return [each.strip() for each in text.split(",")]


def _parse_form(_context: "Context", row: "SettingRow", text: str) -> Any:
    return parse_json(text, row.key)


# A server may have sent the value to format, so the formatters do not rely on its type.
def _format_quoted(value: Any) -> str:
    return f'"{value}"'


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
    parse: Callable[["Context", "SettingRow", str], Any] = _keep_text
    format: Callable[[Any], str] = format_cell


SETTING_KINDS: dict[str, Kind] = {
    "asset": Kind("id of an asset of the file"),
    "boolean": Kind("true, false", _parse_boolean),
    "color": Kind("#RRGGBB"),
    "datetime": Kind("7d, a date, a datetime", _parse_datetime),
    "domains": Kind("D,D...", _parse_domains, _format_domains),
    "form": Kind("@FILE.json or JSON", _parse_form, _format_form),
    "integer": Kind(parse=_parse_number),
    "label": Kind(f"1 to {limits.CTA_LABEL_CHARS} characters", format=_format_quoted),
    "measurement": Kind("G-XXXXXXXXXX"),
    "number": Kind(parse=_parse_number),
    "pages": Kind("FROM-TO", _parse_pages, _format_pages),
    "password": Kind("see --password-file"),
    "slug": Kind(f"1 to {limits.SLUG_CHARS} of a-z 0-9 -", format=_format_quoted),
    "url": Kind("https URL"),
    "word": Kind(),
}


def describe_allowed(row: "SettingRow") -> str:
    """Return the values that a setting allows as text."""
    return SETTING_KINDS[row.kind].allowed or ", ".join(row.words) or f"{row.low} to {row.high}"


def parse_text(context: "Context", row: "SettingRow", text: str) -> Any:
    """Convert ``text`` by the kind of ``row``; None means "clear". Raise Stop (2) if it does not fit the kind.

    Reject an empty text: it is usually an unset variable of a script.
    """
    require_text(row.key, text)
    if text == "null":
        return None
    if text.startswith("@"):
        return parse_json(read_text(context, text[1:], row.key), text)
    return SETTING_KINDS[row.kind].parse(context, row, text)


def require_text(key: str, value: object) -> None:
    """Raise Stop (2) for an empty text: it is usually an unset variable of a script."""
    if value == "":
        raise Stop(ExitCode.USAGE, f"{key} is empty", hint=f"To clear it: docshare settings clear FILE {key}")


def validate_value(row: "SettingRow", value: Any) -> None:
    """Raise Stop (2) with the allowed values if the setting does not accept ``value``.

    ``viewerSettings`` is checked field by field and strictly, because the server would drop or clamp values silently.
    """
    try:
        row.parse(value)
    except Problem as problem:
        detail = _describe_page_problem(value) if row.kind == "pages" else ""
        raise Stop(ExitCode.USAGE, detail or problem.detail, hint="", code="setting") from None


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
