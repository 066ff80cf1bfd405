"""``docshare variants export``: the variants of a file as CSV, with their readership where the plan has it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.settings.overrides import pages_text
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileNames
from docshare.cli.framework.context import Context, current
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.output import Spec, csv_line
from docshare.cli.terminal.text import clean

if TYPE_CHECKING:
    from docshare.client import Client

app = App()

Row = dict[str, Any]

_STDOUT = "-"
_COLUMNS = ("label", "url", "uuid", "shortId", "allowDownload", "pages", "revoked", "redacted", "createdAt")
_READING = ("sessions", "avgTimeMs")


def _saved(row: Mapping[str, Any], _: Context) -> Iterator[str]:
    yield f"saved {clean(str(row['path']))} ({row['variants']} variants)"


EXPORTED = Spec(plain=("path",), fields=("variants",), id="path", human=_saved)


@app.command("export", spec=EXPORTED)
def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    out: Annotated[str, typer.Option("--out", metavar="F", help="The CSV file to write; '-' is stdout.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
) -> None:
    """Write the variants of a file as CSV.

    The columns are label, url, uuid, shortId, allowDownload, pages, revoked, redacted, createdAt and, from a server
    that reports the readership, sessions and avgTimeMs. docshare variants create --from-csv reads the same columns. A
    label that starts like a formula gets a quote before it unless --raw-csv is given.

    Examples:

      docshare variants export @last --out links.csv
      docshare variants export slug:offer --out - | head
    """
    ctx = current()
    if out != _STDOUT and not force and Path(out).exists():
        raise Stop(ExitCode.USAGE, f"{out} exists", hint="Overwrite it with --force.")
    client = ctx.client()
    name = FileNames(ctx, client).one(file)
    variants = client.variants.list(name)
    reading = _reading(ctx, client, name) if variants else None
    text = csv_text(variants, reading, raw=ctx.options.raw_csv)
    if out == _STDOUT:
        ctx.write(text)
        return
    from docshare.cli.local.storage import replace_file

    replace_file(Path(out), text)
    ctx.emit({"path": out, "variants": len(variants)}, EXPORTED)


def _reading(ctx: Context, client: "Client", name: str) -> Mapping[str, Row] | None:
    from docshare.client.errors import Refused

    try:
        return client.variants.reading(name)
    except Refused as refusal:
        if refusal.status not in (403, 404):
            raise
        why = "this server does not report it" if refusal.status == 404 else refusal.detail
        ctx.note(f"without the readership: {why}")
        return None


def csv_text(variants: list[Row], reading: Mapping[str, Mapping[str, Any]] | None, *, raw: bool) -> str:
    """The variants as CSV with a header line. ``reading``: of each by UUID, None leaves its columns out; ``raw``: cells
    that look like formulas stay as they are."""
    return "".join(f"{line}\n" for line in _lines(variants, reading, raw=raw))


def _lines(variants: list[Row], reading: Mapping[str, Mapping[str, Any]] | None, *, raw: bool) -> Iterator[str]:
    columns = _COLUMNS if reading is None else (*_COLUMNS, *_READING)
    yield csv_line(columns, raw=raw)
    for variant in variants:
        overrides = variant.get("overrides") or {}
        read = {} if reading is None else reading.get(str(variant.get("uuid")), {})
        values = {
            **variant,
            "allowDownload": overrides.get("allowDownload"),
            "pages": pages_text(overrides),
            **{key: read.get(key) for key in _READING},
        }
        yield csv_line([values.get(column) for column in columns], raw=raw)
