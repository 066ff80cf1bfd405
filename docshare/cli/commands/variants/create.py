"""``docshare variants create``: one link, numbered links, or one for each row of a CSV file."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from docshare.cli.commands.settings.overrides import Overrides, build_overrides
from docshare.cli.commands.variants.rows import LINKS, build_links_spec
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local.storage import make_directory
from docshare.cli.terminal.text import format_page_count

if TYPE_CHECKING:
    from docshare.cli.commands.variants.plan import RecipientLink
    from docshare.cli.commands.variants.recipients import RecipientSheet
    from docshare.cli.commands.variants.result_file import Result
    from docshare.client import Client

app = App()

_RECHECK_DELAYS = (2.0, 5.0)  # seconds before each look at what a run that died may have left behind
_DELIMITERS = {"tab": "\t", "\\t": "\t"}


def _parse_delimiter(value: str) -> str:
    found = _DELIMITERS.get(value, value)
    if len(found) != 1 or found in '"\r\n':
        raise typer.BadParameter(f"{value!r} is not one character or the word tab.")
    return found


class VariantOptions(NamedTuple):
    """What is to be made of a sheet. ``source``: how messages call it; the others are options of the command, with
    ``pictures`` for ``--qr``."""

    source: str
    label_column: str = "label"
    out: Path | None = None
    pictures: Path | None = None
    skip_duplicates: bool = False
    partial: bool = False


@app.command("create", spec=LINKS)
def create(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    label: Annotated[str | None, typer.Option(metavar="TEXT", help="Who the link is for.")] = None,
    download: Annotated[
        bool | None, typer.Option("--download/--no-download", help="Override whether the reader may download.")
    ] = None,
    pages: Annotated[str | None, typer.Option(metavar="A-B|all", help="Override the pages the reader gets.")] = None,
    count: Annotated[
        int | None, typer.Option(min=1, max=200, metavar="N", help="Make N links named by --label-template.")
    ] = None,
    label_template: Annotated[
        str | None, typer.Option(metavar="TEXT", help="With --count: '{n}' is the number, '{n:03}' padded.")
    ] = None,
    from_csv: Annotated[
        str | None, typer.Option(metavar="F", help="Make a link for each row of this CSV file; '-' is stdin.")
    ] = None,
    label_column: Annotated[
        str, typer.Option(metavar="NAME", help="The column that says who a link is for.")
    ] = "label",
    delimiter: Annotated[
        str, typer.Option(metavar="CHAR", callback=_parse_delimiter, help="What stands between cells; 'tab' is a tab.")
    ] = ",",
    out: Annotated[
        Path | None, typer.Option(metavar="F", help="Write the rows with their links here; go on from what it holds.")
    ] = None,
    qr: Annotated[Path | None, typer.Option("--qr", metavar="DIR", help="Write a QR image per link here.")] = None,
    skip_duplicates: Annotated[
        bool, typer.Option("--skip-duplicates", help="Leave rows alone whose label has a link.")
    ] = False,
    partial: Annotated[bool, typer.Option("--partial", help="Fill the file up to its 200 variants.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would be sent; send nothing.")] = False,
) -> ExitCode:
    """Make links for single recipients, one or one per row of a CSV file.

    [Pro] Each link counts its own readers and can be revoked alone. The first row of the CSV file names the columns:
    label, and if wanted allowDownload (true or false) and pages (3-9, 5 or all) or from and to; --download and --pages
    hold where a row says nothing. All rows are checked before the first link is made.

    --out gets the columns of the input and uuid, shortId, url, status, error and, with --qr, qr. With it an interrupted
    run can be repeated as it was: rows that have their link are left alone, and a link whose answer was lost is found
    by its label. No row ever gets two.

    A pipe gets label and link of each row, with -q the link alone. Exit code 12 if some rows got none.

    Examples:

      docshare variants create @last --label "Ann Lee"
      docshare variants create slug:offer --from-csv guests.csv --out links.csv
      docshare variants create @last --count 20 --label-template "Guest {n:03}" --qr codes
    """
    ctx = current_context()
    _check_exclusive({"--label": label, "--count": count, "--from-csv": from_csv})
    if (count is None) != (label_template is None):
        raise Stop(ExitCode.USAGE, "--count and --label-template need each other")
    overrides = build_overrides(download, pages)
    if count is None and from_csv is None:
        _check_unused({"--out": out, "--qr": qr, "--skip-duplicates": skip_duplicates, "--partial": partial})
        return _create_one(ctx, file, label, overrides, dry_run=dry_run)
    from docshare.cli.commands.variants.recipients import describe_source, generate_recipients, read_sheet

    if from_csv is None:
        source, label_column = "--label-template", "label"
        sheet = generate_recipients(ctx, count or 1, label_template or "", overrides)
    else:
        source = describe_source(from_csv)
        sheet = read_sheet(ctx, from_csv, label_column=label_column, delimiter=delimiter, defaults=overrides)
    order = VariantOptions(source, label_column, out, qr, skip_duplicates, partial)
    if dry_run:
        return _preview_requests(ctx, file, sheet, order)
    with ctx.client() as client:
        return create_all(ctx, client, FileResolver(ctx, client).one(file), sheet, order)


def _check_exclusive(ways: Mapping[str, object]) -> None:
    given = [name for name, value in ways.items() if value is not None]
    if len(given) > 1:
        raise Stop(ExitCode.USAGE, f"{' and '.join(given)} exclude each other")


def _check_unused(options: Mapping[str, object]) -> None:
    for name, value in options.items():
        if value:
            raise Stop(ExitCode.USAGE, f"{name} is about many links: it needs --from-csv or --count")


def _create_one(ctx: Context, file: str, label: str | None, overrides: Overrides, *, dry_run: bool) -> ExitCode:
    with ctx.client() as client:
        name = FileResolver(ctx, client).one(file)
        if dry_run:
            return _print_requests(ctx, name, [_build_body(label, overrides)])
        printer = ctx.emitter(build_links_spec(ctx))
        standing = [] if label is None else _list_if_allowed(client, name)
        _check_label_unused(standing, label)
        known = [str(row.get("uuid")) for row in standing]
        variant = client.variants.create(name, label, overrides, known=known)
    if variant.get("recovered"):
        ctx.note("the answer was lost, but the link had been made")
    if variant.get("downloadWarning"):
        ctx.warn(variant["downloadWarning"])
    if printer.format == "json":
        printer.emit(variant)
    else:
        printer.row(variant)
    return ExitCode.OK


def _list_if_allowed(client: "Client", name: str) -> list[dict[str, Any]]:
    """The variants of the file; none where the credential may only write."""
    from docshare.client.errors import Refused

    try:
        return client.variants.list(name)
    except Refused as refusal:
        if refusal.code != "insufficient_scope":
            raise
        return []


def _check_label_unused(standing: Sequence[Mapping[str, Any]], label: str | None) -> None:
    """Stop (7) if a living variant has the label: the recipient would have two links, and the readership two rows."""
    alive = [row for row in standing if row.get("label") and not row.get("revoked")]
    same = next((row for row in alive if label is not None and row["label"] == label.strip()), None)
    if same is not None:
        raise Stop(
            ExitCode.CONFLICT,
            f"a variant with the label {label!r} exists already: {same.get('url')}",
            hint="Choose another label, or revoke that link first.",
        )


def _preview_requests(ctx: Context, file: str, sheet: "RecipientSheet", order: VariantOptions) -> ExitCode:
    from docshare.cli.commands.variants.result_file import ResultFile

    before = {} if order.out is None else ResultFile(order.out, sheet, order.label_column, pictures=False).load()
    done = {label for label, result in before.items() if result["uuid"]}
    bodies = [_build_body(each.label, each.overrides) for each in sheet.recipients if each.label not in done]
    with ctx.client() as client:
        return _print_requests(ctx, FileResolver(ctx, client).one(file), bodies)


def _build_body(label: str | None, overrides: Mapping[str, Any]) -> dict[str, Any]:
    return {**({} if label is None else {"label": label}), **({"overrides": overrides} if overrides else {})}


def _print_requests(ctx: Context, name: str, bodies: Sequence[dict[str, Any]]) -> ExitCode:
    import json

    from docshare.cli.framework import bulk

    path = f"/api/v1/files/{name}/variants"
    return bulk.print_requests(ctx, [("POST", path, json.dumps(body, ensure_ascii=False)) for body in bodies])


def create_all(ctx: Context, client: "Client", name: str, sheet: "RecipientSheet", order: VariantOptions) -> ExitCode:
    """Make the links of ``sheet`` for the file ``name`` and print them; 0, or 12 if some rows got none. Raises what
    stops the rest, after everything that was done is printed and in the result file."""
    from docshare.cli.commands.variants.make import VariantCreator
    from docshare.cli.commands.variants.plan import LinkOptions, resolve_links
    from docshare.cli.commands.variants.result_file import ResultFile

    pictures = order.pictures
    with ExitStack() as held:
        results = None
        if order.out is not None:
            results = ResultFile(order.out, sheet, order.label_column, pictures=pictures is not None)
            if not held.enter_context(results.lock(ctx)):
                raise Stop(ExitCode.CONFLICT, f"another process is at work on {order.out}")
        before = {} if results is None else results.load()
        if pictures is not None:
            make_directory(pictures)  # what cannot be kept is not begun
        standing = _fetch_variants(ctx, client, name, before)
        wishes = LinkOptions(order.skip_duplicates, order.partial, order.source)
        links = resolve_links(ctx, sheet, before, standing, wishes)
        check_page_ranges(ctx, client, name, links, order.source)
        printer = ctx.emitter(build_links_spec(ctx))
        mint = VariantCreator(
            ctx, client, name, links, known=standing, results=results, pictures=pictures, printer=printer
        )
        return mint.run()


def _fetch_variants(ctx: Context, client: "Client", name: str, before: Mapping[str, "Result"]) -> list[dict[str, Any]]:
    """The variants of the file, once a request that an earlier run left behind had time to be worked off."""
    from docshare.cli.commands.variants.plan import is_outcome_unknown

    found = client.variants.list(name)
    for seconds in _RECHECK_DELAYS:
        if is_outcome_unknown(before, found):
            ctx.note("the last run ended in the middle of a request; looking again what became of it")
            ctx.sleep(seconds)
            found = client.variants.list(name)
    return found


def check_page_ranges(ctx: Context, client: "Client", name: str, links: "Sequence[RecipientLink]", source: str) -> None:
    """Stop (2) for page ranges that end behind the last page; the file is asked for only if there are ranges."""
    from docshare.cli.commands.variants.recipients import reject_bad_rows

    wanted = [link.recipient for link in links if link.wanted]
    ends = [(each, each.overrides.get("pageRange", {"to": 0})["to"]) for each in wanted]
    if not any(end for _, end in ends):
        return
    total = client.files.show(name).get("totalPages")
    if isinstance(total, int):
        why = f"the document has {format_page_count(total)}"
        reject_bad_rows(ctx, [(each, f"pages end at {end} and {why}") for each, end in ends if end > total], source)
