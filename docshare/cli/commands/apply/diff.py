"""The output of ``docshare apply`` for people: a diff."""

from collections.abc import Iterator, Mapping
from typing import Any

from docshare.cli.commands.apply.output import CREATE, DELETE, REPLACE, UPDATE
from docshare.cli.commands.settings.describe import describe_difference
from docshare.cli.commands.settings.overrides import describe_overrides
from docshare.cli.commands.settings.stored import Difference
from docshare.cli.framework.context import Context
from docshare.cli.terminal.capabilities import Screen
from docshare.cli.terminal.text import clean

# The sign of an action, and its color.
_SIGNS = {CREATE: ("+", "ok"), UPDATE: ("~", "warn"), REPLACE: ("~", "warn"), DELETE: ("-", "error")}


def render_row(row: Mapping[str, Any], context: Context) -> Iterator[str]:
    """Yield the lines for an action on standard output."""
    yield from render_action(row, context, context.out_screen)


def render_action(row: Mapping[str, Any], context: Context, screen: Screen) -> Iterator[str]:
    """Yield a line for an action, and a second line for the link that it created."""
    sign, role = _SIGNS[str(row["action"])]
    named = clean(f"{row['action']} {row['kind']} {row['name']}")
    place = f" of {clean(str(row['file']))}" if row.get("file") not in (None, row["name"]) else ""
    changes = ", ".join(filter(None, (_describe_change(context, *each) for each in row.get("changes", {}).items())))
    yield screen.paint(role, f"{sign} {named}") + place + (f": {clean(changes)}" if changes else "")
    if "url" in row:
        yield f"  {screen.paint('bold', clean(str(row['url'])))}"


def _describe_change(context: Context, key: str, change: Mapping[str, Any]) -> str:
    old, new = change["from"], change["to"]
    if key == "sha256":
        return ""
    if key == "overrides":
        before, after = (describe_overrides(each) or "as the file" for each in (old, new))
        return f"{before} {context.err_screen.glyph('→')} {after}"
    if key == "events":
        return ", ".join(new) if old is None else f"{', '.join(old)} {context.err_screen.glyph('→')} {', '.join(new)}"
    return describe_difference(context, Difference(key, old, new))
