"""Implement ``docshare webhooks replay``: read saved events, sign each one and send it at its original pace."""

from collections.abc import Iterator, Sequence

from docshare.cli.commands.webhooks.listen.forward import Forwarder, ForwardResult, check_forward_url
from docshare.cli.commands.webhooks.recorded import Event, parse_events
from docshare.cli.commands.webhooks.signatures import read_secret, validate_header_name
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import print_requests
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import read_bytes
from docshare.cli.terminal.output import Emitter
from docshare.contract.signing import sign
from docshare.contract.webhooks import (
    ATTEMPT_HEADER,
    CONTENT_TYPE,
    EVENT_HEADER,
    ID_HEADER,
    KINDS,
    TEST_KIND,
    TIMEOUT_MS,
    USER_AGENT,
)
from docshare.contract.wire import format_duration

_ANNOUNCE_MS = 10_000  # ms; replays that take at least this long print their duration first


def replay_events(
    printer: Emitter,
    file: str,
    to: str,
    *,
    secret_file: str | None,
    header_name: str,
    speed: float | None,
    only: Sequence[str],
    verify: bool,
    dry_run: bool,
) -> ExitCode:
    """Send the events of ``file`` to the receiver at ``to``, and print each response.

    ``speed``: how many times the original pace, None for no delays; the other parameters are the unparsed options of
    the command. Raise Stop (2) for invalid ones.
    """
    ctx = current_context()
    url, header = check_forward_url(to, "--to"), validate_header_name(header_name)
    secret = read_secret(ctx, secret_file, also=file)
    found = _select_events(ctx, list(parse_events(read_bytes(ctx, file, "F"))), only)
    if dry_run:
        return print_requests(ctx, (("POST", url, event.body.decode("utf-8", "replace")) for event in found))
    forwarder = Forwarder((url,), TIMEOUT_MS / 1000, verify=verify, keep_responses=False)
    answers: list[ForwardResult] = []
    for event in _pace(ctx, found, speed):
        (answer,) = forwarder.send(_build_headers(ctx, event, secret, header), event.body)
        answers.append(answer)
        _print_response(printer, event, answer)
    return _summarize(ctx, answers)


def _select_events(ctx: Context, found: Sequence[Event], only: Sequence[str]) -> list[Event]:
    """Return the events of the selected kinds. Raise Stop (2) for an unknown kind."""
    known = (*KINDS, TEST_KIND)
    unknown = [kind for kind in only if kind not in known]
    if unknown:
        raise Stop(ExitCode.USAGE, f"--only: unknown kind of event {unknown[0]!r}", hint=f"Kinds: {', '.join(known)}.")
    forged = sum(not event.is_verified for event in found)
    if forged:  # a new signature would make it look genuine
        ctx.warn(f"skipped events without a valid signature, which anyone may have sent: {forged}")
    silent = sum(not event.is_sendable for event in found)
    if silent:
        ctx.note(f"skipped access.denied events, which are never sent to webhooks: {silent}")
    wanted = [event for event in found if event.is_verified and event.is_sendable and (not only or event.kind in only)]
    if not wanted:
        ctx.note("no events to send")
    return wanted


def _pace(ctx: Context, found: Sequence[Event], factor: float | None) -> Iterator[Event]:
    """Yield each event with its original delay after the first one, divided by ``factor``."""
    times = [event.at for event in found if event.at is not None]
    if factor is None or not times:
        yield from found
        return
    lasts = int((max(times) - times[0]) / factor)
    if lasts >= _ANNOUNCE_MS:
        ctx.note(f"the replay takes {format_duration(lasts)}")
    began = ctx.monotonic()
    for event in found:
        due = began + ((event.at or times[0]) - times[0]) / 1000 / factor
        if due > ctx.monotonic():
            ctx.sleep(due - ctx.monotonic())
        yield event


def _build_headers(ctx: Context, event: Event, secret: str, header: str) -> dict[str, str]:
    return {
        "User-Agent": USER_AGENT,
        "Content-Type": CONTENT_TYPE,
        header: sign(secret, event.body, ctx.now()),
        ID_HEADER: event.id,
        EVENT_HEADER: event.kind,
        ATTEMPT_HEADER: str(event.attempt),
    }


def _print_response(printer: Emitter, event: Event, answer: ForwardResult) -> None:
    row = {"line": event.line, "kind": event.kind, "id": event.id, "status": answer.status, "ms": answer.ms}
    printer.emit_row({**row, **({"error": answer.error} if answer.error else {})})


def _summarize(ctx: Context, answers: Sequence[ForwardResult]) -> ExitCode:
    failed = [answer for answer in answers if not answer.is_accepted]
    if not failed:
        return ExitCode.OK
    ctx.err(f"error: the receiver did not accept {len(failed)} of {len(answers)} events", "error")
    reached = any(answer.status for answer in answers)
    return ExitCode.PARTIAL if reached else ExitCode.UNREACHABLE
