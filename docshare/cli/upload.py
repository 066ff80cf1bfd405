"""``docshare upload``: share documents and print their links."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from docshare.cli import bulk, comforts
from docshare.cli.collecting import collecting
from docshare.cli.context import Context, current
from docshare.cli.exits import ExitCode, Stop
from docshare.cli.manifest import Manifest
from docshare.cli.setting_options import UploadSettings
from docshare.cli.sources import STDIN, Item, checked, expanded, items_of, listed_paths, spooled, within_plan
from docshare.cli.typer_compat import App
from docshare.cli.upload_report import PRINTED, UPLOADED, Report, printed_word, upload_spec
from docshare.cli.upload_settings import NewSettings, new_settings
from docshare.cli.uploading import Done, Row, Skips, Uploader
from docshare.contract.wire import parse_instant

if TYPE_CHECKING:
    from docshare.cli.upload_links import NewLinks
    from docshare.client import Client

app = App()

_MOST_JOBS = 4


@app.command("upload", spec=UPLOADED)
@collecting(UploadSettings)
def upload(
    paths: Annotated[list[str] | None, typer.Argument(metavar="PATH...", help="Files to share; '-' is stdin.")] = None,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Name that readers see; needed with '-'.")] = None,
    files_from: Annotated[str | None, typer.Option(metavar="F", help="Take paths from a file; '-' is stdin.")] = None,
    null: Annotated[bool, typer.Option("--null", "-0", help="With --files-from: paths end with NUL.")] = False,
    recursive: Annotated[bool, typer.Option("--recursive", "-r", help="Upload the documents in folders.")] = False,
    include: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="With -r: names to take (PDF, Word, PowerPoint).")
    ] = None,
    printed: Annotated[
        str, typer.Option("--print", metavar="url|id|uuid", callback=printed_word, help="What a pipe gets per file.")
    ] = "url",
    manifest: Annotated[
        Path | None, typer.Option(metavar="F.jsonl", help="Keep a ledger; skip what it says is done.")
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="[Pro] With --manifest: replace what has changed behind its old link.")
    ] = False,
    skip_existing: Annotated[
        bool, typer.Option("--skip-existing", help="Skip what has the name and size of a file of the account.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, max=_MOST_JOBS, metavar="N", help="Send so many at a time.")] = 1,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Begin nothing new after a failure.")] = False,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Look at the files before sending.")] = True,
    lint: Annotated[
        bool, typer.Option("--lint", help="Look into PDFs first; send nothing if docshare lint warns of any.")
    ] = False,
    qr: Annotated[bool, typer.Option("--qr", help="Draw the QR code of the link.")] = False,
    copy: Annotated[bool, typer.Option("--copy", help="Copy the link to the clipboard.")] = False,
    open_: Annotated[bool, typer.Option("--open", help="Open the link in the browser.")] = False,
    rollback: Annotated[
        bool, typer.Option("--rollback", help="Delete a new file for good if its settings or links fail.")
    ] = False,
    variants_csv: Annotated[
        str | None, typer.Option(metavar="F", help="[Pro] Make a link per row of this CSV file; '-' is stdin.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would be sent; send nothing.")] = False,
    *,
    given: UploadSettings,
) -> ExitCode:
    """Share documents: upload them and print their links.

    A pipe gets exactly one line per file, its link, in the order of the input. A file that fails has no line: its
    reason is on stderr and the exit code is 12 if others went through. --json prints one object for one path and an
    array for many; --format jsonl prints each as it is done; --format plain prints path, link and status.

    PDFs are stored as they are; Word (.docx) and PowerPoint files are converted by the server.

    Settings are written right after each upload. If that fails, the file stays, its link is not printed, the exit code
    is 12 and stderr has the line that sets them; with --rollback the file is deleted instead.

    With --variants-csv a pipe gets a line with label and link for each recipient, below that of the file. Its rows are
    checked first, but for page numbers beyond the end of the document, which is known only then.

    With --manifest a second run sends only what is new or changed; with --update as well, a changed document becomes
    the next version of the file it was shared as, behind the same link, and hotspots, notes, marks and annotations on
    its pages are cleared. Settings go to new files only.

    With --lint each PDF is looked into first; if one has a warning or an error, nothing at all is sent and the exit
    code is 13. What is found goes to stderr. See: docshare lint --help.

    Examples:

      docshare upload deck.pdf
      docshare upload deck.pdf --password-file secret.txt --expires 7d --no-download
      url=$(docshare upload deck.pdf)
      docshare upload -r reports --manifest shared.jsonl --update --jobs 4
      make-pdf | docshare upload - --name report.pdf
    """
    ctx = current()
    named = list(paths or [])
    single = len(named) == 1 and not recursive and files_from is None
    if name is not None and not single:
        raise Stop(ExitCode.USAGE, "--name needs exactly one path")
    if null and files_from is None:
        raise Stop(ExitCode.USAGE, "-0 is about --files-from, which is not given")
    if include and not recursive:
        raise Stop(ExitCode.USAGE, "--include is about folders, which need -r")
    if update and manifest is None:
        raise Stop(ExitCode.USAGE, "--update needs --manifest: which file was a document shared as?")
    if lint and not check:
        raise Stop(ExitCode.USAGE, "--lint needs to look at the files, which --no-check rules out")
    if (qr or open_ or variants_csv) and not single:
        raise Stop(ExitCode.USAGE, "--qr, --open and --variants-csv need exactly one path")
    printer = ctx.emitter(upload_spec(ctx, PRINTED[printed]))
    stdin_taken = STDIN in (*named, files_from)
    links = _new_links(ctx, variants_csv, rollback=rollback, stdin_taken=stdin_taken)
    stdin_taken = stdin_taken or variants_csv == STDIN
    settings = new_settings(
        ctx, given, rollback=rollback, linked=links is not None, single=single, stdin_taken=stdin_taken
    )
    with ExitStack() as held:
        named += [] if files_from is None else listed_paths(ctx, files_from, null=null)
        items = _items(ctx, named, name, held, recursive=recursive, include=include or [])
        if check:
            items = [checked(item) for item in items]
        if lint:
            from docshare.cli.lint import require_clean

            require_clean(ctx, items)
        ledger = None if manifest is None else Manifest(manifest).load()
        if dry_run:
            return _planned(ctx, items, Skips(ledger, {}, update), settings, links, single=single)
        client = held.enter_context(ctx.client())
        items = within_plan(client, items) if check else items
        if check and settings is not None:
            settings.require_plan(client)
        if check and links is not None:
            links.require_plan(client)
        skips = Skips(ledger, _existing(ctx, client) if skip_existing else {}, update)
        digest = ledger is not None or not printer.natural
        uploader = Uploader(ctx, client, items, skips, jobs=jobs, fail_fast=fail_fast, digest=digest, settings=settings)
        report = Report(ctx, printer, items, single=single, settings=settings)
        linking = (
            None if links is None else _Linking(partial(links.settle, client), partial(links.make, client, printer))
        )
        ending = _carried_out(ctx, uploader, report, ledger, linking)
        comforts.offer(ctx, report.links, qr=qr, copy=copy, open_link=open_)
        return ending if links is None else links.ending or ending


class _Linking(NamedTuple):
    """What happens to the result of an upload before it is told, and after."""

    settle: Callable[[Done], Done]
    make: Callable[[Row], None]


def _new_links(ctx: Context, source: str | None, *, rollback: bool, stdin_taken: bool) -> "NewLinks | None":
    if source is None:
        return None
    if source == STDIN and stdin_taken:
        raise Stop(ExitCode.USAGE, "'-' (stdin) can be read only once")
    from docshare.cli.upload_links import NewLinks

    return NewLinks(ctx, source, rollback=rollback)


def _carried_out(
    ctx: Context, uploader: Uploader, report: Report, ledger: Manifest | None, linking: _Linking | None
) -> ExitCode:
    try:
        for result in uploader.run():
            done = result if linking is None else linking.settle(result)
            if ledger is not None and done.row is not None and "skipped" not in done.row:
                ledger.add(done.row, ctx.now())
            report.take(done)
            if linking is not None and done.row is not None:
                linking.make(done.row)
    finally:
        report.finish()
    return report.ending()


def _items(
    ctx: Context, given: Sequence[str], name: str | None, held: ExitStack, *, recursive: bool, include: Sequence[str]
) -> list[Item]:
    if STDIN in given:
        if len(given) > 1:
            raise Stop(ExitCode.USAGE, "'-' (stdin) cannot be mixed with other paths")
        if name is None:
            raise Stop(ExitCode.USAGE, "'-' needs --name: what shall the file be called?")
        return [spooled(ctx, name, held)]
    items = items_of(list(expanded(given, recursive=recursive, include=include)), name)
    if not items:
        raise Stop(ExitCode.USAGE, "there is nothing to upload", hint="Name files, or folders with -r.")
    return items


def _planned(
    ctx: Context,
    items: Sequence[Item],
    skips: Skips,
    settings: NewSettings | None,
    links: "NewLinks | None",
    *,
    single: bool,
) -> ExitCode:
    refusals = [item.refusal for item in items if item.refusal is not None]
    if single and refusals:
        raise refusals[0]
    for refusal in refusals:
        ctx.err(f"error: {refusal.detail}", "error")
    sent = [item for item in items if item.refusal is None and skips.row_for(item) is None]
    second = [] if settings is None else [("PUT", "/api/v1/files/{uuid}/settings", settings.shown())]
    second += [] if links is None else links.planned()
    requests: list[tuple[str, str, str]] = []
    for item in sent:
        known = skips.outdated(item)
        path = "/api/v1/files" if known is None else f"/api/v1/files/{known['uuid']}/content"
        requests += [("POST", path, f"file={item.name} ({item.size} bytes)"), *(second if known is None else [])]
    bulk.planned(ctx, requests)
    return ExitCode.PARTIAL if refusals else ExitCode.OK


def _existing(ctx: Context, client: "Client") -> dict[tuple[str, int], Row]:
    """The living files of the account by name and size; of several the newest, which the list has first."""
    files = [file for file in client.files.list() if "burnedAt" not in file and not _expired(file, ctx.now())]
    return {(str(file.get("originalName")), int(file.get("size", -1))): file for file in reversed(files)}


def _expired(file: Mapping[str, Any], now: int) -> bool:
    expiry = parse_instant(str(file.get("deleteAt", "")))
    return expiry is not None and expiry <= now
