"""``docshare variants export``: write the variants of a file as CSV, with their readership if the plan has it."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.settings.overrides import format_page_range
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.inputs import STDOUT, require_absent
from docshare.cli.local.storage import replace_file
from docshare.cli.terminal.csv_line import format_csv_line
from docshare.cli.terminal.output import Spec
from docshare.cli.terminal.text import clean
from docshare.client.errors import Refused

if TYPE_CHECKING:
    from docshare.client import Client

app = App()

Row = Mapping[str, Any]

_COLUMNS = ("label", "url", "uuid", "shortId", "allowDownload", "pages", "revoked", "redacted", "createdAt")
_READERSHIP_COLUMNS = ("sessions", "avgTimeMs")


def _render_row(row: Mapping[str, Any], _: Context) -> Iterator[str]:
    yield f"saved {clean(str(row['path']))} ({row['variants']} variants)"


EXPORT_SPEC = Spec(plain=("path",), fields=("variants",), id="path", human=_render_row)


@app.command("export", spec=EXPORT_SPEC)
def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    out: Annotated[str, typer.Option("--out", metavar="F", help="Write to this CSV file; '-' is stdout.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write the variants of a file as CSV.

    The columns are label, url, uuid, shortId, allowDownload, pages, revoked, redacted, createdAt and, if the server
    reports readership, sessions, and avgTimeMs. docshare variants create --from-csv accepts these columns. A label that
    looks like a formula is escaped with a quote unless --raw-csv is given.

    Examples:

      docshare variants export @last --out links.csv
      docshare variants export slug:offer --out - | head
    """
    ctx = current_context()
    require_absent(out, force=force)
    client = ctx.client()
    name = FileResolver(ctx, client).resolve(file)
    variants = client.variants.list(name)
    reading = _fetch_readership(ctx, client, name) if variants else None
    on_terminal = out == STDOUT and ctx.stdout_tty
    text = format_variants_csv(variants, reading, raw=ctx.options.raw_csv, on_terminal=on_terminal)
    if out == STDOUT:
        ctx.write(text)
        return
    replace_file(Path(out), text)
    ctx.emit({"path": out, "variants": len(variants)}, EXPORT_SPEC)


def _fetch_readership(ctx: Context, client: "Client", name: str) -> Mapping[str, Row] | None:
    try:
        return client.variants.list_figures(name)
    except Refused as refusal:
        if refusal.status not in (403, 404):
            raise
        why = "this server does not report it" if refusal.status == 404 else refusal.detail
        ctx.note(f"without the readership: {why}")
        return None


def format_variants_csv(
    variants: Sequence[Row], reading: Mapping[str, Mapping[str, Any]] | None, *, raw: bool, on_terminal: bool = False
) -> str:
    """Return the variants as CSV with a header line.

    Parameters: ``reading`` of each by UUID, None leaves its columns out; ``raw`` and ``on_terminal`` as of
    ``format_csv_line``.
    """
    lines = _rows(variants, reading)
    return "".join(f"{format_csv_line(line, raw=raw, on_terminal=on_terminal)}\n" for line in lines)


def _rows(variants: Sequence[Row], reading: Mapping[str, Mapping[str, Any]] | None) -> Iterator[Sequence[Any]]:
    columns = _COLUMNS if reading is None else (*_COLUMNS, *_READERSHIP_COLUMNS)
    yield columns
    for variant in variants:
        overrides = variant.get("overrides") or {}
        read = {} if reading is None else reading.get(str(variant.get("uuid")), {})
        values = {
            **variant,
            "allowDownload": overrides.get("allowDownload"),
            "pages": format_page_range(overrides),
            **{key: read.get(key) for key in _READERSHIP_COLUMNS},
        }
        yield [values.get(column) for column in columns]
