"""``docshare settings schema``: list the settings."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from docshare.cli.commands.settings.declarations import ROWS, SettingRow, canonicalize, find_setting
from docshare.cli.framework.app import App
from docshare.cli.framework.context import current_context
from docshare.cli.terminal.output import Column, Spec
from docshare.contract.plans import Plan

app = App()


def _format_plan(row: Mapping[str, Any]) -> str:
    return "" if row["plan"] == Plan.FREE.tier else str(row["plan"])


def _format_allowed(row: Mapping[str, Any]) -> str:
    return ROWS[row["key"]].describe_allowed()


SCHEMA = Spec(
    table=(
        Column("key", "SETTING", role="bold"),
        Column("allowed", "VALUES", flexible=True, show=_format_allowed),
        Column("default", "DEFAULT", rank=1),
        Column("plan", "PLAN", rank=2, show=_format_plan),
    ),
    plain=("key", "type", "allowed", "default", "plan"),
    fields=("path", "values", "minimum", "maximum", "clear"),
    id="key",
)


def build_schema_rows(keys: Sequence[str], *, for_programs: bool) -> list[dict[str, Any]]:
    """Return the schema of all settings or of ``keys``; for people, ``allowed`` is a single text."""
    rows: list[SettingRow] = [find_setting(canonicalize(key)) for key in keys] if keys else list(ROWS.values())
    return [row.as_json() | ({} if for_programs else {"allowed": row.describe_allowed()}) for row in rows]


@app.command("schema", spec=SCHEMA)
def schema(
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="SETTING...", help="Settings to describe. The default is all.")
    ] = None,
) -> None:
    """List all settings with type, values, default, and plan.

    Works offline. --json adds the type, the range, and the value that clears the setting.

    Examples:

      docshare settings schema
      docshare settings schema flip.speedMs --json
    """
    ctx = current_context()
    printer = ctx.emitter(SCHEMA)
    printer.emit(build_schema_rows(keys or [], for_programs=printer.format in ("json", "jsonl")))
