"""``docshare variants create``: create one link, numbered links, or one per row of a CSV file."""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from docshare.cli.commands.settings.overrides import (
    DownloadOption,
    Overrides,
    PagesOption,
    ReaderChoiceOption,
    build_overrides,
)
from docshare.cli.commands.variants.rows import LINKS, build_links_spec
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local.storage import make_directory
from docshare.cli.terminal.text import format_page_count
from docshare.client.errors import Refused

if TYPE_CHECKING:
    from docshare.cli.commands.variants.plan import RecipientLink
    from docshare.cli.commands.variants.recipients import RecipientSheet
    from docshare.cli.commands.variants.result_file import Result
    from docshare.client import Client

app = App()

_RECHECK_DELAYS = (2.0, 5.0)  # seconds before each check of what a crashed run may have left behind
_DELIMITERS = {"tab": "\t", "\\t": "\t"}


def _parse_delimiter(value: str) -> str:
    found = _DELIMITERS.get(value, value)
    if len(found) != 1 or found in '"\r\n':
        raise typer.BadParameter(f"{value!r} is not a single character or the word tab.")
    return found


class VariantOptions(NamedTuple):
    """How to create the links of a sheet.

    ``source``: its name in messages; ``pictures``: the directory of ``--qr``; the rest are options of the command.
    """

    source: str
    label_column: str = "label"
    out: Path | None = None
    pictures: Path | None = None
    skip_duplicates: bool = False
    partial: bool = False


@app.command("create", spec=LINKS)
def create(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    label: Annotated[list[str] | None, typer.Option(metavar="TEXT", help="Recipient of a link; repeatable.")] = None,
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
    false) and pages (3-9, 5 or all) or from and to; --download and --pages apply to rows without a value. All rows are
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
        raise Stop(ExitCode.USAGE, "--count and --label-template require each other")
    overrides = build_overrides(download, pages, choice=reader_choice)
    if count is None and from_csv is None and len(labels) < 2:
        _check_unused({"--out": out, "--qr": qr, "--skip-duplicates": skip_duplicates, "--partial": partial})
        return _create_one(ctx, file, labels[0] if labels else None, overrides, dry_run=dry_run)
    from docshare.cli.commands.variants import recipients

    if from_csv is None:
        source, label_column = "--label" if labels else "--label-template", "label"
        labels = labels or recipients.expand_template(count or 1, label_template or "")
        sheet = recipients.build_sheet(ctx, labels, overrides, source)
    else:
        source = recipients.describe_source(from_csv)
        sheet = recipients.read_sheet(ctx, from_csv, label_column=label_column, delimiter=delimiter, defaults=overrides)
    order = VariantOptions(source, label_column, out, qr, skip_duplicates, partial)
    if dry_run:
        return _preview_requests(ctx, file, sheet, order)
    with ctx.client() as client:
        return create_all(ctx, client, FileResolver(ctx, client).resolve(file), sheet, order)


def _check_exclusive(ways: Mapping[str, object]) -> None:
    given = [name for name, value in ways.items() if value is not None]
    if len(given) > 1:
        raise Stop(ExitCode.USAGE, f"{' and '.join(given)} exclude each other")


def _check_unused(options: Mapping[str, object]) -> None:
    for name, value in options.items():
        if value:
            raise Stop(ExitCode.USAGE, f"{name} requires --from-csv, --count or several --label")


def _create_one(ctx: Context, file: str, label: str | None, overrides: Overrides, *, dry_run: bool) -> ExitCode:
    with ctx.client() as client:
        name = FileResolver(ctx, client).resolve(file)
        if dry_run:
            return _print_requests(ctx, name, [_build_body(label, overrides)])
        printer = ctx.emitter(build_links_spec(ctx))
        existing = [] if label is None else _list_if_allowed(client, name)
        _check_label_unused(existing, label)
        known = [str(row.get("uuid")) for row in existing]
        variant = client.variants.create(name, label, overrides, known=known)
    if variant.get("recovered"):
        ctx.note("the response was lost, but the link was created")
    if variant.get("downloadWarning"):
        ctx.warn(variant["downloadWarning"])
    if printer.format == "json":
        printer.emit(variant)
    else:
        printer.emit_row(variant)
    return ExitCode.OK


def _list_if_allowed(client: "Client", name: str) -> Sequence[Mapping[str, Any]]:
    """Return the variants of the file; empty if the credential may only write."""
    try:
        return client.variants.list(name)
    except Refused as refusal:
        if refusal.code != "insufficient_scope":
            raise
        return []


def _check_label_unused(existing: Sequence[Mapping[str, Any]], label: str | None) -> None:
    """Raise Stop (7) if an active variant has the label: two links would split the recipient's readership."""
    alive = [row for row in existing if row.get("label") and not row.get("revoked")]
    same = next((row for row in alive if label is not None and row["label"] == label.strip()), None)
    if same is not None:
        raise Stop(
            ExitCode.CONFLICT,
            f"a variant with the label {label!r} already exists: {same.get('url')}",
            hint="Choose another label, or revoke that link first.",
        )


def _preview_requests(ctx: Context, file: str, sheet: "RecipientSheet", order: VariantOptions) -> ExitCode:
    from docshare.cli.commands.variants.result_file import ResultFile

    before = {} if order.out is None else ResultFile(order.out, sheet, order.label_column, pictures=False).load()
    done = {label for label, result in before.items() if result["uuid"]}
    bodies = [_build_body(each.label, each.overrides) for each in sheet.recipients if each.label not in done]
    with ctx.client() as client:
        return _print_requests(ctx, FileResolver(ctx, client).resolve(file), bodies)


def _build_body(label: str | None, overrides: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**({} if label is None else {"label": label}), **({"overrides": overrides} if overrides else {})}


def _print_requests(ctx: Context, name: str, bodies: Sequence[Mapping[str, Any]]) -> ExitCode:
    from docshare.cli.framework import bulk

    path = f"/api/v1/files/{name}/variants"
    return bulk.print_requests(ctx, [("POST", path, json.dumps(body, ensure_ascii=False)) for body in bodies])


def create_all(ctx: Context, client: "Client", name: str, sheet: "RecipientSheet", order: VariantOptions) -> ExitCode:
    """Create and print the links of ``sheet`` for the file ``name``; return 0, or 12 if some rows got none.

    An error that stops the run is raised after all finished rows are printed and in the result file.
    """
    from docshare.cli.commands.variants.make import VariantCreator
    from docshare.cli.commands.variants.plan import LinkOptions, resolve_links
    from docshare.cli.commands.variants.result_file import ResultFile

    pictures = order.pictures
    with ExitStack() as held:
        results = None
        if order.out is not None:
            results = ResultFile(order.out, sheet, order.label_column, pictures=pictures is not None)
            if not held.enter_context(results.lock(ctx)):
                raise Stop(ExitCode.CONFLICT, f"another process is using {order.out}")
        before = {} if results is None else results.load()
        if pictures is not None:
            make_directory(pictures)  # fail before the first link if the directory cannot be created
        existing = _fetch_variants(ctx, client, name, before)
        link_options = LinkOptions(order.skip_duplicates, order.partial, order.source)
        links = resolve_links(ctx, sheet, before, existing, link_options)
        check_page_ranges(ctx, client, name, links, order.source)
        printer = ctx.emitter(build_links_spec(ctx))
        mint = VariantCreator(
            ctx, client, name, links, known=existing, results=results, pictures=pictures, printer=printer
        )
        return mint.run()


def _fetch_variants(
    ctx: Context, client: "Client", name: str, before: Mapping[str, "Result"]
) -> Sequence[Mapping[str, Any]]:
    """Return the variants of the file, after waiting for a request that an earlier run may have left pending."""
    from docshare.cli.commands.variants.plan import is_outcome_unknown

    found = client.variants.list(name)
    for seconds in _RECHECK_DELAYS:
        if is_outcome_unknown(before, found):
            ctx.note("the last run ended during a request; checking whether its link was created")
            ctx.sleep(seconds)
            found = client.variants.list(name)
    return found


def check_page_ranges(ctx: Context, client: "Client", name: str, links: "Sequence[RecipientLink]", source: str) -> None:
    """Raise Stop (2) for page ranges beyond the last page; fetch the file only if there are ranges."""
    from docshare.cli.commands.variants.recipients import reject_bad_rows

    wanted = [link.recipient for link in links if link.is_wanted]
    ends = [(each, each.overrides.get("pageRange", {"to": 0})["to"]) for each in wanted]
    if not any(end for _, end in ends):
        return
    total = client.files.show(name).get("totalPages")
    if isinstance(total, int):
        why = f"the document has {format_page_count(total)}"
        reject_bad_rows(ctx, [(each, f"pages end at {end} and {why}") for each, end in ends if end > total], source)
