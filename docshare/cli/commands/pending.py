"""``docshare pending``: list recipients who have not read the document."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from docshare.cli.commands.readership.sessions import explain_forbidden
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.options import duration_option
from docshare.cli.terminal.output import Column, Spec
from docshare.cli.terminal.text import parse_duration
from docshare.client.recipients import (
    NEVER,
    OLD_VERSION,
    STOPPED_EARLY,
    LinkRecipient,
    ReadCriteria,
    ReadingProgress,
    build_pending_row,
    list_recipients,
    measure_progress,
    read_number,
)
from docshare.contract.amounts import format_plural

Row = Mapping[str, Any]

app = App()

_REASONS = {NEVER: "never opened", OLD_VERSION: "only version {version}", STOPPED_EARLY: "stopped early"}


def _describe_reason(row: Row) -> str:
    return _REASONS[row["reason"]].format(version=row.get("contentVersion", ""))


_PENDING = Spec(
    table=(
        Column("name", "RECIPIENT", role="bold", flexible=True),
        Column("kind", "KIND", rank=4),
        Column("reason", "REASON", role="warn", show=_describe_reason),
        Column("pagesRead", "PAGES", rank=2, show=lambda row: f"{row['pagesRead']}/{row['pages']}"),
        Column("timeMs", "TIME", kind="duration", rank=3),
        Column("lastReadAt", "LAST READ", kind="when", rank=1),
        Column("url", "LINK", role="id", rank=5, link="url"),
    ),
    plain=(
        "kind", "name", "reason", "lastReadAt", "contentVersion", "pagesRead", "pages", "timeMs", "email", "url",
        "uuid",
    ),
    id="url",
)  # fmt: skip


def _validate_percentage(text: str) -> str:
    try:
        share = float(text.removesuffix("%"))
    except ValueError:
        share = -1.0
    if not 0 < share <= 100:
        raise typer.BadParameter(f"{text!r} is not a percentage above 0 and up to 100.")
    return text


@app.command("pending", spec=_PENDING)
def pending(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    page: Annotated[int | None, typer.Option(min=1, metavar="N", help="Check only this page.")] = None,
    min_time: Annotated[str, duration_option("Minimum time on --page, or on the whole document.")] = "0s",
    min_share: Annotated[
        str,
        typer.Option(metavar="PERCENT", callback=_validate_percentage, help="Minimum percentage of pages seen."),
    ] = "100",
    any_version: Annotated[
        bool, typer.Option("--any-version", help="Also count older versions of the document.")
    ] = False,
) -> ExitCode:
    """List recipients who have not read the document.

    [Pro] Recipients are the variants that are not revoked and the people invited. A recipient is pending if they never
    opened their link, read only an older version of the document, or stopped early: they saw fewer pages than
    --min-share or read for less than --min-time. All sessions of a recipient count together. A page counts as seen
    after one second. A session counts once it has ended, 10 seconds after the page was closed. It belongs to the
    recipient whose link was opened, even if someone enters an invited address into the gate form of another link.

    The exit code is 13 if any recipient is pending. Piped output is tab-separated: kind, name, reason (never,
    old_version, stopped_early), lastReadAt, contentVersion, pagesRead, pages, timeMs, email, url, uuid.

    Examples:

      docshare pending @last
      docshare pending slug:offer --page 3 --min-time 20s
      docshare pending slug:offer --min-share 50 --json | jq -r '.[].email // empty'
    """
    ctx = current_context()
    printer = ctx.emitter(_PENDING)
    client = ctx.client()
    name = FileResolver(ctx, client).resolve(file)
    facts = client.files.show(name)
    _check_page(facts, page)
    version = 0 if any_version else int(read_number(facts, "contentVersion"))
    demand = ReadCriteria(page, parse_duration(min_time) * 1000, float(min_share.removesuffix("%")) / 100, version)
    with explain_forbidden():
        everybody = list_recipients(facts, client.variants.list(name), client.invites.list(name))
        asked = [person for person in everybody if (person.pages if page is None else page in person.pages)]
        walk = client.readership.sessions_after(name) if asked else ()
        progress = measure_progress(asked, walk, version)
    rows = list(_build_rows(asked, progress, demand))
    printer.emit(rows)
    _print_summary(ctx, page, everybody, asked, rows)
    return ExitCode.CHECK_FAILED if rows else ExitCode.OK


def _check_page(file: Row, page: int | None) -> None:
    total = int(read_number(file, "totalPages"))
    if page is not None and page > total > 0:
        raise Stop(ExitCode.USAGE, f"--page {page}: the document has {format_plural(total, 'page')}")


def _build_rows(
    everybody: list[LinkRecipient], progress: Mapping[str, ReadingProgress], demand: ReadCriteria
) -> Iterator[Row]:
    for person in everybody:
        got = progress[person.uuid]
        reason = demand.explain_unread(person, got)
        if reason is not None:
            yield build_pending_row(person, got, reason)


def _print_summary(
    ctx: Context, page: int | None, everybody: list[LinkRecipient], asked: list[LinkRecipient], rows: list[Row]
) -> None:
    if not everybody:
        ctx.note("the file has no recipients; add some with: docshare variants create, docshare invites create")
    elif len(asked) < len(everybody):
        reason = "does not show that page" if page is not None else "shows no page of the document"
        skipped = len(everybody) - len(asked)
        ctx.note(f"skipped {format_plural(skipped, 'recipient')} whose link {reason}")
    if asked:
        ctx.note(f"{len(rows)} of {len(asked)} have not read it yet" if rows else f"all {len(asked)} have read it")
