"""``docshare upload``: share documents and print their links."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli import bulk, comforts
from docshare.cli.context import Context, current
from docshare.cli.exits import ExitCode, Stop
from docshare.cli.manifest import Manifest
from docshare.cli.sources import STDIN, Item, checked, expanded, items_of, listed_paths, spooled, within_plan
from docshare.cli.typer_compat import App
from docshare.cli.upload_report import PRINTED, UPLOADED, Report, upload_spec
from docshare.cli.uploading import Row, Skips, Uploader
from docshare.contract.wire import parse_instant

if TYPE_CHECKING:
    from docshare.client import Client

app = App()

_MOST_JOBS = 4


def _word(value: str) -> str:
    if value not in PRINTED:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(PRINTED)}.")
    return value


@app.command("upload", spec=UPLOADED)
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
        str, typer.Option("--print", metavar="url|id|uuid", callback=_word, help="What a pipe gets per file.")
    ] = "url",
    manifest: Annotated[
        Path | None, typer.Option(metavar="F.jsonl", help="Keep a ledger; skip what it says is done.")
    ] = None,
    skip_existing: Annotated[
        bool, typer.Option("--skip-existing", help="Skip what has the name and size of a file of the account.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, max=_MOST_JOBS, metavar="N", help="Send so many at a time.")] = 1,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Begin nothing new after a failure.")] = False,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Look at the files before sending.")] = True,
    qr: Annotated[bool, typer.Option("--qr", help="Draw the QR code of the link.")] = False,
    copy: Annotated[bool, typer.Option("--copy", help="Copy the link to the clipboard.")] = False,
    open_: Annotated[bool, typer.Option("--open", help="Open the link in the browser.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would be sent; send nothing.")] = False,
) -> ExitCode:
    """Share documents: upload them and print their links.

    A pipe gets exactly one line per file, its link, in the order of the input. A file that fails has no line: its
    reason is on stderr and the exit code is 12 if others went through. --json prints one object for one path and an
    array for many; --format jsonl prints each as it is done; --format plain prints path, link and status.

    PDFs are stored as they are; Word (.docx) and PowerPoint files are converted by the server.

    Examples:

      docshare upload deck.pdf
      url=$(docshare upload deck.pdf)
      docshare upload -r reports --manifest shared.jsonl --jobs 4
      make-pdf | docshare upload - --name report.pdf
    """
    ctx = current()
    given = list(paths or [])
    single = len(given) == 1 and not recursive and files_from is None
    if name is not None and not single:
        raise Stop(ExitCode.USAGE, "--name needs exactly one path")
    if null and files_from is None:
        raise Stop(ExitCode.USAGE, "-0 is about --files-from, which is not given")
    if include and not recursive:
        raise Stop(ExitCode.USAGE, "--include is about folders, which need -r")
    if (qr or open_) and not single:
        raise Stop(ExitCode.USAGE, "--qr and --open need exactly one path")
    printer = ctx.emitter(upload_spec(ctx, PRINTED[printed]))
    with ExitStack() as held:
        given += [] if files_from is None else listed_paths(ctx, files_from, null=null)
        items = _items(ctx, given, name, held, recursive=recursive, include=include or [])
        if check:
            items = [checked(item) for item in items]
        if dry_run:
            return _planned(ctx, items, single=single)
        ledger = None if manifest is None else Manifest(manifest).load()
        client = held.enter_context(ctx.client())
        items = within_plan(client, items) if check else items
        skips = Skips(ledger, _existing(ctx, client) if skip_existing else {})
        digest = ledger is not None or not printer.natural
        uploader = Uploader(ctx, client, items, skips, jobs=jobs, fail_fast=fail_fast, digest=digest)
        report = Report(ctx, printer, items, single=single)
        ending = _carried_out(ctx, uploader, report, ledger)
        comforts.offer(ctx, report.links, qr=qr, copy=copy, open_link=open_)
        return ending


def _carried_out(ctx: Context, uploader: Uploader, report: Report, ledger: Manifest | None) -> ExitCode:
    try:
        for done in uploader.run():
            if ledger is not None and done.row is not None and "skipped" not in done.row:
                ledger.add(done.row, ctx.now())
            report.take(done)
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


def _planned(ctx: Context, items: Sequence[Item], *, single: bool) -> ExitCode:
    refusals = [item.refusal for item in items if item.refusal is not None]
    if single and refusals:
        raise refusals[0]
    for refusal in refusals:
        ctx.err(f"error: {refusal.detail}", "error")
    words = [f"file={item.name} ({item.size} bytes)" for item in items if item.refusal is None]
    bulk.planned(ctx, [("POST", "/api/v1/files", word) for word in words])
    return ExitCode.PARTIAL if refusals else ExitCode.OK


def _existing(ctx: Context, client: "Client") -> dict[tuple[str, int], Row]:
    """The living files of the account by name and size; of several the newest, which the list has first."""
    files = [file for file in client.files.list() if "burnedAt" not in file and not _expired(file, ctx.now())]
    return {(str(file.get("originalName")), int(file.get("size", -1))): file for file in reversed(files)}


def _expired(file: Mapping[str, Any], now: int) -> bool:
    expiry = parse_instant(str(file.get("deleteAt", "")))
    return expiry is not None and expiry <= now
