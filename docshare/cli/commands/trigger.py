"""``docshare trigger``: cause an event on a server on this machine, in the same way as a real reader."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from docshare.cli.commands.webhooks.deliveries import QUEUED, describe_last_response
from docshare.cli.commands.webhooks.samples import parse_assignments
from docshare.cli.framework.admin_channel import Data, RunningServer, find_local_data_dir, run_on_directory
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import read_text
from docshare.cli.framework.operator_files import resolve_operator_file
from docshare.cli.framework.options import duration_option
from docshare.cli.framework.prompts import confirm, confirm_irreversible
from docshare.cli.terminal.output import Column, Spec
from docshare.cli.terminal.text import clean, parse_duration
from docshare.client.links import extract_link_name
from docshare.contract.amounts import format_plural
from docshare.contract.problems import Problem
from docshare.contract.triggers import DESTRUCTIVE, parse_values

Row = Mapping[str, Any]
AdminCall = Callable[[str, dict[str, str]], Any]  # an admin command and its arguments to the instance

app = App()

_BURNED = "file.burned"
_SLUG_PREFIX = "slug:"
_POLL_INTERVAL = 0.5  # seconds between two polls of a delivery
_ATTEMPT_TIMEOUT = 60.0  # seconds until the first attempt ends: queue poll every 5, receiver timeout of 10
_MAX_COUNT = 1_000


class _Repetition(NamedTuple):
    """The number of events and the seconds between them."""

    number: int
    every: float


def _render_row(row: Row, context: Context) -> Iterator[str]:
    data = row["data"]
    queued = len(row["deliveries"])
    what = "no webhook subscribes to it" if not queued else format_plural(queued, "delivery", "deliveries")
    paint = context.out_screen.paint
    yield f"{paint('bold', row['event'])}  {clean(str(data['fileName']))}  {paint('dim', what)}"
    for delivery in row["deliveries"]:
        if isinstance(delivery, Mapping):
            delivered = delivery["state"] == "delivered"
            answer = paint("ok" if delivered else "error", clean(describe_last_response(delivery) or "no attempt yet"))
            yield f"  {clean(str(delivery['url']))}  {answer}"


TRIGGER_SPEC = Spec(
    plain=("id", "event", "timestamp", "data", "deliveries"),
    fields=("fileUuid", "fileName", "link", "values"),
    id="id",
    human=_render_row,
)
_DRY_RUN_SPEC = Spec(
    table=(
        Column("event", "EVENT", role="bold"),
        Column("fileName", "FILE"),
        Column("link", "LINK", role="id"),
        Column("values", "WITH"),
    ),
    plain=("event", "fileUuid", "fileName", "link", "values"),
    fields=("id", "timestamp", "data", "deliveries"),
)


@app.command("trigger", spec=TRIGGER_SPEC)
def trigger(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="Kind of event; see: docshare webhooks kinds.")],
    file: Annotated[str | None, typer.Option("--file", metavar="FILE", help=f"The file: {FILE_HELP}")] = None,
    variant: Annotated[
        str | None,
        typer.Option(
            "--variant", metavar="VARIANT", help="Use the link of this variant: UUID, short id, or label:TEXT."
        ),
    ] = None,
    values: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set a value of the event. Repeatable.")
    ] = None,
    raw: Annotated[
        str | None, typer.Option("--raw", metavar="F", help="Read values from a JSON object in a file; '-' is stdin.")
    ] = None,
    number: Annotated[int, typer.Option("--count", min=1, max=_MAX_COUNT, metavar="N", help="Number of events.")] = 1,
    every: Annotated[str, duration_option("Time between two events.")] = "1s",
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for the first delivery attempt; exit code 13 if it fails.")
    ] = False,
    typed: Annotated[
        str | None, typer.Option("--confirm", metavar="FILE", help="Confirm file.burned by repeating FILE.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Print the changes without making them.")] = False,
    data: Data = None,
) -> ExitCode:
    """Cause an event on a server on this machine.

    The server performs the action of a reader, so feed, readership, activity, and webhooks all show it. If the settings
    of the file do not allow the action, the command fails and a hint names the setting. Each event comes from a new
    reader. A view starts in the past, so that it ends now. file.burned and content.replaced change the file and ask for
    confirmation; using up a view of a file with a view limit requires --yes. The session of an invitee ends a minute
    later, with its file.viewed.

    Values for --set: pagesViewed, timeMs (file.viewed); email, fields.NAME (gate.completed, and file.viewed and
    file.downloaded behind a gate); author, body, pageNumber (note.created); name (receipt.confirmed); email, name
    (invite.viewed); kind, pageNumber (proofing.updated). For servers elsewhere, use 'docshare webhooks test', 'sample',
    or 'replay' instead.

    Examples:

      docshare trigger file.viewed --file @last --set pagesViewed=7 --set timeMs=102000
      docshare trigger file.viewed --file @last --set email=ann@example.com
      docshare trigger file.burned --file slug:offer --confirm slug:offer
      docshare trigger note.created --file slug:offer --set body='Is this final?' --wait
      docshare trigger gate.completed --file @last --set fields.company=Acme --count 20 --every 2s
    """
    ctx = current_context()
    directory = find_local_data_dir(ctx, data)
    if directory is None:
        hint = "Use --data DIR for its data directory. For other servers: docshare webhooks test, sample, or replay."
        raise Stop(ExitCode.USAGE, "trigger requires a server on this machine", hint=hint)
    if file is None:
        raise Stop(ExitCode.USAGE, "--file is required")
    arguments = _build_arguments(ctx, directory, kind, file, variant, _parse_values(ctx, kind, values or (), raw))
    if dry_run:
        arguments |= {"rehearse": "yes", **_build_consent(ctx)}
        ctx.emit(run_on_directory(directory, "trigger", arguments), _DRY_RUN_SPEC)
        return ExitCode.OK
    _confirm_destructive(ctx, kind, file, typed)
    consent = {"consent": "yes"} if kind in DESTRUCTIVE else _build_consent(ctx)
    # Only a running server delivers events.
    run_command = RunningServer(directory).run_command if wait else partial(run_on_directory, directory)
    return _trigger_repeatedly(
        ctx, run_command, {**arguments, **consent}, _Repetition(number, parse_duration(every)), wait=wait
    )


def _parse_values(ctx: Context, kind: str, words: Iterable[str], raw: str | None) -> dict[str, str]:
    """Return the values of ``--raw``, overridden by ``--set``. Raise Stop (2) for an unknown key or value."""
    texts = {**(_read_file(ctx, raw) if raw is not None else {}), **parse_assignments(words)}
    try:
        parse_values(kind, texts)
    except Problem as problem:
        raise Stop(ExitCode.USAGE, problem.detail, hint=problem.hint) from None
    return texts


def _read_file(ctx: Context, source: str) -> dict[str, str]:
    try:
        found = json.loads(read_text(ctx, source, "--raw"))
    except (ValueError, RecursionError) as error:
        raise Stop(ExitCode.USAGE, f"--raw: {source} is not valid JSON: {error}", code="local_file") from None
    if not isinstance(found, dict):
        raise Stop(ExitCode.USAGE, f"--raw: {source} is not a JSON object", code="local_file")
    return dict(_flatten(found, ""))


def _flatten(values: Mapping[str, Any], before: str) -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        if isinstance(value, dict) and not before:
            yield from _flatten(value, f"{key}.")
        elif isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
            yield f"{before}{key}", str(value)
        else:
            raise Stop(ExitCode.USAGE, f"--raw: {before}{key} is not a string or an integer", code="local_file")


def _build_arguments(
    ctx: Context, directory: Path, kind: str, file: str, variant: str | None, texts: Mapping[str, str]
) -> dict[str, str]:
    name = (
        file.removeprefix(_SLUG_PREFIX)
        if file.startswith(_SLUG_PREFIX)
        else resolve_operator_file(ctx, file, directory, FILE_HELP)
    )
    through = {} if variant is None else {"variant": extract_link_name(variant) if "://" in variant else variant}
    return {"kind": kind, "file": name, **through, **{f"set.{key}": text for key, text in texts.items()}}


def _build_consent(ctx: Context) -> dict[str, str]:
    return {"consent": "yes"} if ctx.options.yes else {}


def _confirm_destructive(ctx: Context, kind: str, file: str, typed: str | None) -> None:
    """Ask for confirmation if the event changes the file itself."""
    if kind == _BURNED:
        confirm_irreversible(ctx, f"Triggering {kind} on {file} (it {DESTRUCTIVE[kind]})", [file], typed=typed)
    elif kind in DESTRUCTIVE:
        confirm(ctx, f"{kind} on {file} {DESTRUCTIVE[kind]}. Continue?")


def _trigger_repeatedly(
    ctx: Context, run_command: AdminCall, arguments: dict[str, str], times: _Repetition, *, wait: bool
) -> ExitCode:
    printer = ctx.emitter(TRIGGER_SPEC)
    reached = True
    for turn in range(times.number):
        if turn:
            ctx.sleep(times.every)
        row = run_command("trigger", arguments)
        if wait:
            queued = row["deliveries"]
            row["deliveries"] = [
                found for each in queued if (found := _wait_for_attempt(ctx, run_command, each)) is not None
            ]
            reached = _check_delivery(ctx, row, gone=len(queued) - len(row["deliveries"])) and reached
        printer.emit_row(row)
    return ExitCode.OK if reached else ExitCode.CHECK_FAILED


def _wait_for_attempt(ctx: Context, run_command: AdminCall, delivery: int) -> Row | None:
    """Poll the delivery until its first attempt has ended or time is up, and return it.

    Return None if its webhook was deleted, as ``webhooks listen --exit-after 1`` does after receiving the event.
    """
    give_up = ctx.monotonic() + _ATTEMPT_TIMEOUT
    while True:
        try:
            row: Row = run_command("deliveries show", {"id": str(delivery)})
        except Problem as problem:
            if problem.code != "not_found":
                raise
            return None
        if row["attempts"] or row["state"] != QUEUED or ctx.monotonic() >= give_up:
            return row
        ctx.sleep(_POLL_INTERVAL)


def _check_delivery(ctx: Context, row: Row, *, gone: int) -> bool:
    """Return whether every webhook received the event; report those that did not. ``gone`` counts deleted webhooks."""
    if gone:
        webhooks = format_plural(gone, "subscribed webhook was", "subscribed webhooks were")
        ctx.note(f"{webhooks} deleted in the meantime; whether the event was received is unknown")
    if not row["deliveries"] and not gone:
        ctx.err(f"error: not delivered: no webhook subscribes to {row['event']} of this file", "error")
        return False
    missing = [delivery for delivery in row["deliveries"] if delivery["state"] != "delivered"]
    for delivery in missing:
        then = f"; next attempt at {delivery['nextAttemptAt']}" if "nextAttemptAt" in delivery else ""
        ctx.err(
            f"error: not delivered to {delivery['url']}: {describe_last_response(delivery) or 'no attempt yet'}{then}",
            "error",
        )
    return not missing
