"""``docshare variants create``: create one link, numbered links, or one per row of a CSV file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from docshare.cli.commands.settings.overrides import (
    DownloadOption,
    PagesOption,
    ReaderChoiceOption,
    build_overrides,
)
from docshare.cli.commands.variants.rows import LINKS
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.context import current_context
from docshare.cli.framework.exits import ExitCode, Stop

app = App()

_DELIMITERS = {"tab": "\t", "\\t": "\t"}


def _parse_delimiter(value: str) -> str:
    found = _DELIMITERS.get(value, value)
    if len(found) != 1 or found in '"\r\n':
        raise typer.BadParameter(f"{value!r} is not a single character or the word tab.")
    return found


@app.command("create", spec=LINKS)
def create(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    label: Annotated[list[str] | None, typer.Option(metavar="TEXT", help="Recipient of a link. Repeatable.")] = None,
    download: DownloadOption = None,
    pages: PagesOption = None,
    reader_choice: ReaderChoiceOption = None,
    count: Annotated[
        int | None, typer.Option(min=1, max=200, metavar="N", help="Create N links named by --label-template.")
    ] = None,
    label_template: Annotated[
        str | None, typer.Option(metavar="TEXT", help="With --count: '{n}' is the number, '{n:03}' is padded.")
    ] = None,
    from_csv: Annotated[
        str | None, typer.Option(metavar="F", help="Create a link per row of a CSV file; '-' is stdin.")
    ] = None,
    label_column: Annotated[str, typer.Option(metavar="NAME", help="Column with the recipient.")] = "label",
    delimiter: Annotated[
        str, typer.Option(metavar="CHAR", callback=_parse_delimiter, help="Cell delimiter; 'tab' is a tab.")
    ] = ",",
    out: Annotated[Path | None, typer.Option(metavar="F", help="Write rows and links here; resume from it.")] = None,
    qr: Annotated[Path | None, typer.Option("--qr", metavar="DIR", help="Write a QR image per link to DIR.")] = None,
    skip_duplicates: Annotated[
        bool, typer.Option("--skip-duplicates", help="Skip rows whose label already has a link.")
    ] = False,
    partial: Annotated[bool, typer.Option("--partial", help="Stop at the limit of 200 variants per file.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Print the requests without sending them.")] = False,
) -> ExitCode:
    """Create links for single recipients.

    [Pro] Creates one link, one per --label, or one per row of a CSV file. Each link counts its own readers and can be
    revoked on its own. The first row of the CSV file names the columns: label, and optionally allowDownload (true or
    false) and pages (3-9, 5, or all) or from and to; --download and --pages apply to rows without a value. All rows are
    checked before the first link is created.

    --out writes the columns of the input and uuid, shortId, url, status, error and, with --qr, qr. To resume an
    interrupted run, run the same command again: it skips rows that have a link, and uses
    the label to find a link whose response was lost. No row ever gets two links.

    On a pipe, prints label and link of each row, with -q only the link. The exit code is 12 if some rows got no link.

    Examples:

      docshare variants create @last --label "Ann Lee" --label "Bob Roe"
      docshare variants create slug:offer --from-csv guests.csv --out links.csv
      docshare variants create @last --count 20 --label-template "Guest {n:03}" --qr codes
    """
    ctx = current_context()
    labels = label or []
    _check_exclusive({"--label": label, "--count": count, "--from-csv": from_csv})
    if (count is None) != (label_template is None):
        raise Stop(ExitCode.USAGE, "--count and --label-template must be used together")
    overrides = build_overrides(download, pages, choice=reader_choice)
    if count is None and from_csv is None and len(labels) < 2:
        _check_unused({"--out": out, "--qr": qr, "--skip-duplicates": skip_duplicates, "--partial": partial})
        from docshare.cli.commands.variants.single import create_one

        return create_one(ctx, file, labels[0] if labels else None, overrides, dry_run=dry_run)
    from docshare.cli.commands.variants import batch, recipients

    if from_csv is None:
        source, label_column = "--label" if labels else "--label-template", "label"
        labels = labels or recipients.expand_template(count or 1, label_template or "")
        sheet = recipients.build_sheet(ctx, labels, overrides, source)
    else:
        source = recipients.describe_source(from_csv)
        sheet = recipients.read_sheet(ctx, from_csv, label_column=label_column, delimiter=delimiter, defaults=overrides)
    order = batch.VariantOptions(source, label_column, out, qr, skip_duplicates, partial)
    if dry_run:
        return batch.preview_requests(ctx, file, sheet, order)
    with ctx.client() as client:
        return batch.create_all(ctx, client, FileResolver(ctx, client).resolve(file), sheet, order)


def _check_exclusive(ways: Mapping[str, object]) -> None:
    given = [name for name, value in ways.items() if value is not None]
    if len(given) > 1:
        raise Stop(ExitCode.USAGE, f"{' and '.join(given)} cannot be used together")


def _check_unused(options: Mapping[str, object]) -> None:
    for name, value in options.items():
        if value:
            raise Stop(ExitCode.USAGE, f"{name} requires --from-csv, --count, or several --label")
