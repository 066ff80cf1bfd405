"""Run ``docshare upload``: check, upload, apply settings, create links, and report each file."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.lint.command import require_clean
from docshare.cli.commands.upload.links import UploadLinks
from docshare.cli.commands.upload.manifest import UploadManifest
from docshare.cli.commands.upload.options import UploadOptions
from docshare.cli.commands.upload.report import UploadReport
from docshare.cli.commands.upload.rows import PRINT_FIELDS, build_upload_spec
from docshare.cli.commands.upload.send import Row, SkipRules, Uploader, UploadResult
from docshare.cli.commands.upload.settings import NewSettings, build_new_settings
from docshare.cli.framework.context import Context
from docshare.cli.framework.dry_run import print_requests
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import STDIN
from docshare.cli.framework.sources import (
    Item,
    build_items,
    check_item,
    check_plan_limits,
    expand_folders,
    read_paths,
    spool_stdin,
)
from docshare.cli.local import accounts
from docshare.contract.wire import parse_instant

if TYPE_CHECKING:
    from docshare.client import Client


def run_upload(
    ctx: Context, paths: Sequence[str], given: UploadOptions, present: Callable[..., None] | None = None
) -> ExitCode:
    """Upload ``paths`` and return the exit code. Raise Stop (2) for options that cannot be used together.

    ``present`` draws, copies and opens the links as ``given``; None if no option asks for it.
    """
    named = list(paths)
    single = len(named) == 1 and not given.recursive and given.files_from is None
    if given.name is not None and not single:
        raise Stop(ExitCode.USAGE, "--name requires exactly one path")
    if given.null and given.files_from is None:
        raise Stop(ExitCode.USAGE, "-0 requires --files-from")
    if given.include and not given.recursive:
        raise Stop(ExitCode.USAGE, "--include requires --recursive")
    if given.update and given.manifest is None:
        raise Stop(ExitCode.USAGE, "--update requires --manifest")
    if (given.fail_on or given.ignore) and not given.lint:
        raise Stop(ExitCode.USAGE, "--fail-on and --ignore require --lint")
    if given.lint and not given.check:
        raise Stop(ExitCode.USAGE, "--lint and --no-check cannot be used together")
    if (given.qr or given.open_ or given.variants_csv) and not single:
        raise Stop(ExitCode.USAGE, "--qr, --open, and --variants-csv require exactly one path")
    printer = ctx.emitter(build_upload_spec(ctx, PRINT_FIELDS[given.print_field]))
    stdin_taken = STDIN in (*named, given.files_from)
    links = _prepare_links(ctx, given.variants_csv, rollback=given.rollback, stdin_taken=stdin_taken)
    stdin_taken = stdin_taken or given.variants_csv == STDIN
    settings = build_new_settings(
        ctx, given, rollback=given.rollback, linked=links is not None, single=single, stdin_taken=stdin_taken
    )
    with ExitStack() as held:
        named += [] if given.files_from is None else read_paths(ctx, given.files_from, null=given.null)
        items = _collect_items(ctx, named, given.name, held, recursive=given.recursive, include=given.include or [])
        if given.check:
            items = [check_item(item) for item in items]
        if given.lint:
            require_clean(ctx, items, given.fail_on, given.ignore or ())
        ledger = None if given.manifest is None else UploadManifest(given.manifest).load()
        if given.dry_run:
            return _preview_requests(ctx, items, SkipRules(ledger, {}, given.update), settings, links, single=single)
        client = held.enter_context(ctx.client())
        items = check_plan_limits(client, items) if given.check else items
        if given.check and settings is not None:
            settings.require_plan(client)
        if given.check and links is not None:
            links.require_plan(client)
        if any(item.refusal is None for item in items):
            accounts.prefetch_account(ctx, client)
        skips = SkipRules(ledger, _index_existing_files(ctx, client) if given.skip_existing else {}, given.update)
        digest = ledger is not None or not printer.is_default_shape
        uploader = Uploader(
            ctx, client, items, skips, jobs=given.jobs, fail_fast=given.fail_fast, digest=digest, settings=settings
        )
        report = UploadReport(ctx, printer, items, single=single, settings=settings)
        linking = (
            None
            if links is None
            else _LinkSteps(partial(links.create_or_roll_back, client), partial(links.create, client, printer))
        )
        ending = _upload_and_report(ctx, uploader, report, ledger, linking)
        if present is not None:
            present(ctx, report.links, qr=given.qr, copy=given.copy, open_link=given.open_)
        return ending if links is None else links.exit_code or ending


@dataclass(frozen=True)
class _LinkSteps:
    """The steps that an upload result goes through before and after it is reported."""

    create_or_roll_back: Callable[[UploadResult], UploadResult]
    create: Callable[[Row], None]


def _prepare_links(ctx: Context, source: str | None, *, rollback: bool, stdin_taken: bool) -> UploadLinks | None:
    if source is None:
        return None
    if source == STDIN and stdin_taken:
        raise Stop(ExitCode.USAGE, "only one value can come from stdin")
    return UploadLinks(ctx, source, rollback=rollback)


def _upload_and_report(
    ctx: Context, uploader: Uploader, report: UploadReport, ledger: UploadManifest | None, linking: _LinkSteps | None
) -> ExitCode:
    try:
        for result in uploader.run():
            done = result if linking is None else linking.create_or_roll_back(result)
            if ledger is not None and done.row is not None and "skipped" not in done.row:
                ledger.add(done.row, ctx.now())
            report.add(done)
            if linking is not None and done.row is not None:
                linking.create(done.row)
    finally:
        report.finish()
    return report.exit_code()


def _collect_items(
    ctx: Context, given: Sequence[str], name: str | None, held: ExitStack, *, recursive: bool, include: Sequence[str]
) -> list[Item]:
    if STDIN in given:
        if len(given) > 1:
            raise Stop(ExitCode.USAGE, "'-' (stdin) and other paths cannot be used together")
        if name is None:
            raise Stop(ExitCode.USAGE, "reading from stdin requires --name")
        return [spool_stdin(ctx, name, held)]
    items = build_items(list(expand_folders(given, recursive=recursive, include=include)), name)
    if not items:
        raise Stop(ExitCode.USAGE, "no files to upload", hint="Name files, or directories with -r.")
    return items


def _preview_requests(
    ctx: Context,
    items: Sequence[Item],
    skips: SkipRules,
    settings: NewSettings | None,
    links: UploadLinks | None,
    *,
    single: bool,
) -> ExitCode:
    refusals = [item.refusal for item in items if item.refusal is not None]
    if single and refusals:
        raise refusals[0]
    for refusal in refusals:
        ctx.err(f"error: {refusal.detail}", "error")
    sent = [item for item in items if item.refusal is None and skips.find_row(item) is None]
    second = [] if settings is None else [("PUT", "/api/v1/files/{uuid}/settings", settings.format_body())]
    second += [] if links is None else links.list_requests()
    requests: list[tuple[str, str, str]] = []
    for item in sent:
        known = skips.find_outdated(item)
        path = "/api/v1/files" if known is None else f"/api/v1/files/{known['uuid']}/content"
        requests += [("POST", path, f"file={item.name} ({item.size} bytes)"), *(second if known is None else [])]
    print_requests(ctx, requests)
    return ExitCode.PARTIAL if refusals else ExitCode.OK


def _index_existing_files(ctx: Context, client: "Client") -> dict[tuple[str, int], Mapping[str, Any]]:
    """Return the files of the account by name and size, the newest of several (the list has it first)."""
    files = [file for file in client.files.list() if "burnedAt" not in file and not _is_expired(file, ctx.now())]
    return {(str(file.get("originalName")), int(file.get("size", -1))): file for file in reversed(files)}


def _is_expired(file: Mapping[str, Any], now: int) -> bool:
    expiry = parse_instant(str(file.get("deleteAt", "")))
    return expiry is not None and expiry <= now
