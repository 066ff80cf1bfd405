"""``docshare files wait``: wait until a file has a number of views, or until its link is in a state."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.files.rows import FILE_LIST_SPEC, FILE_SPEC
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.durations import duration_option
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.text import parse_duration
from docshare.client.errors import Refused
from docshare.contract.wire import parse_instant

if TYPE_CHECKING:
    from docshare.cli.framework.polling import PollSchedule
    from docshare.client import Client

Row = Mapping[str, Any]

LIVE, EXPIRED, BURNED, GONE = "live", "expired", "burned", "gone"
STATES = (LIVE, EXPIRED, BURNED, GONE)

_INTERVAL = 2.0  # seconds between requests at first
_MAX_INTERVAL = 15.0  # ... and after a while
_WAIT_SPEC = FILE_SPEC._replace(plain=FILE_LIST_SPEC.plain)


def _check_state(word: str | None) -> str | None:
    if word is not None and word not in STATES:
        raise typer.BadParameter(f"{word!r} is not one of {', '.join(STATES)}.")
    return word


def wait(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    views: Annotated[int | None, typer.Option(min=1, metavar="N", help="Wait for this total number of views.")] = None,
    state: Annotated[
        str | None,
        typer.Option(metavar="STATE", callback=_check_state, help=f"Wait for this state: {', '.join(STATES)}."),
    ] = None,
    timeout: Annotated[str | None, duration_option("Time out with code 124 after this time.")] = None,
    interval: Annotated[str | None, duration_option("Polling interval (2s), at least 1s; slows down later.")] = None,
    give_up_after: Annotated[str, duration_option("Exit with code 11 after failing this long.")] = "10m",
) -> ExitCode:
    """Wait for views or for a link state, and print the file.

    A live link opens the document. An expired link has passed its date, and a burned link has used up its view limit;
    both can become live again. A gone file is in the trash or deleted (the API does not distinguish the two); the
    command prints the last known state of the file. A file that is unknown from the start exits with code 3, even for
    gone, so that a wrong name does not look like success. To wait for a reader or a page, see docshare wait.

    Examples:

      docshare files wait @last --views 1 --timeout 48h && ./send-invoice
      docshare files wait slug:offer --state expired --json | jq -r .viewCount
    """
    from docshare.cli.framework.polling import MIN_INTERVAL, PollSchedule  # here: docshare files list does not poll

    ctx = current_context()
    if (views is None) == (state is None):
        raise Stop(ExitCode.USAGE, "either --views or --state is required")
    printer = ctx.emitter(_WAIT_SPEC)
    client = ctx.client()
    name = FileResolver(ctx, client).resolve(file)
    rounds = PollSchedule(
        interval=_INTERVAL if interval is None else max(parse_duration(interval), MIN_INTERVAL),
        slowest=_MAX_INTERVAL,
        timeout=None if timeout is None else parse_duration(timeout),
        patience=parse_duration(give_up_after),
    )
    found = _poll_until_met(ctx, client, name, _make_goal(ctx, views, state), rounds)
    if found is None:
        raise Stop(ExitCode.DEADLINE, f"timed out after {timeout}: {_describe_miss(views, state)}")
    if printer.is_for_people:
        printer.emit(found)
    else:
        printer.emit_row(found)
    return ExitCode.OK


def state_of(file: Row, now: int) -> str:
    """Return the state of an existing file; ``now`` in milliseconds since 1970."""
    if "burnedAt" in file:
        return BURNED
    ends = parse_instant(str(file.get("deleteAt", "")))
    return EXPIRED if ends is not None and ends <= now else LIVE


def _make_goal(ctx: Context, views: int | None, state: str | None) -> Callable[[Row | None], bool]:
    """Return a predicate on the current file (None if gone) that is true once the wait is over."""
    if views is not None:
        return lambda file: file is not None and int(file.get("viewCount", 0)) >= views
    return lambda file: (GONE if file is None else state_of(file, ctx.now())) == state


def _poll_until_met(
    ctx: Context, client: "Client", name: str, is_met: Callable[[Row | None], bool], rounds: "PollSchedule"
) -> Row | None:
    """Return the file once ``is_met``, its last known state if it is gone, or None on a timeout."""
    from docshare.cli.framework.polling import poll

    last: Row | None = None
    with client.fork(retries=0) as poller:

        def look() -> list[Row | None]:
            nonlocal last
            try:
                file: Row | None = poller.files.show(name)
            except Refused as refusal:
                if refusal.status != 404 or last is None or not is_met(None):
                    raise
                return [None]
            last = file
            return [file] if is_met(file) else []

        is_announced = False
        for met in poll(ctx, poller, look, rounds):
            if met:
                return last
            if not is_announced:
                ctx.note("waiting")
                is_announced = True
    return None


def _describe_miss(views: int | None, state: str | None) -> str:
    return f"the file has fewer than {views} views" if views is not None else f"the file is not {state}"
