"""``docshare files wait``: stand still until a file has been viewed so often, or until its link is in some state."""

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

_INTERVAL = 2.0  # seconds between two questions at first
_MAX_INTERVAL = 15.0  # ... and after a while
_WAIT_SPEC = FILE_SPEC._replace(plain=FILE_LIST_SPEC.plain)


def _check_state(word: str | None) -> str | None:
    if word is not None and word not in STATES:
        raise typer.BadParameter(f"{word!r} is not one of {', '.join(STATES)}.")
    return word


def wait(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    views: Annotated[int | None, typer.Option(min=1, metavar="N", help="Until it has so many views in all.")] = None,
    state: Annotated[
        str | None, typer.Option(metavar="CONDITION", callback=_check_state, help=f"Until it is {', '.join(STATES)}.")
    ] = None,
    timeout: Annotated[str | None, duration_option("Give up after this time, with code 124.")] = None,
    interval: Annotated[str | None, duration_option("Ask this often (2s), at least 1s; slower after a while.")] = None,
    give_up_after: Annotated[str, duration_option("End with code 11 after failing for so long.")] = "10m",
) -> ExitCode:
    """Wait until a file has views, or its link a state, and print the file.

    Live is a link that opens. Expired and burned links have ended by their date and by their number of views; either
    can be live again. Gone is a file in the trash or deleted, which nobody can tell apart from outside; what is printed
    then is the file as it was. A file that is unknown from the start ends it with code 3, also for gone: a wrong name
    must not look like success. To wait for a reader or a page, see docshare wait.

    Examples:

      docshare files wait @last --views 1 --timeout 48h && ./send-invoice
      docshare files wait slug:offer --state expired --json | jq -r .viewCount
    """
    from docshare.cli.framework.polling import MIN_INTERVAL, PollSchedule  # here: docshare files list waits for nothing

    ctx = current_context()
    if (views is None) == (state is None):
        raise Stop(ExitCode.USAGE, "give either --views or --state")
    printer = ctx.emitter(_WAIT_SPEC)
    client = ctx.client()
    name = FileResolver(ctx, client).one(file)
    rounds = PollSchedule(
        interval=_INTERVAL if interval is None else max(parse_duration(interval), MIN_INTERVAL),
        slowest=_MAX_INTERVAL,
        timeout=None if timeout is None else parse_duration(timeout),
        patience=parse_duration(give_up_after),
    )
    found = _poll_until_met(ctx, client, name, _make_goal(ctx, views, state), rounds)
    if found is None:
        raise Stop(ExitCode.DEADLINE, f"the time is over: {_describe_miss(views, state)}")
    if printer.for_people:
        printer.emit(found)
    else:
        printer.row(found)
    return ExitCode.OK


def state_of(file: Row, now: int) -> str:
    """The state of a file that the server shows; ``now`` in milliseconds since 1970."""
    if "burnedAt" in file:
        return BURNED
    ends = parse_instant(str(file.get("deleteAt", "")))
    return EXPIRED if ends is not None and ends <= now else LIVE


def _make_goal(ctx: Context, views: int | None, state: str | None) -> Callable[[Row | None], bool]:
    """Whether the file as it is, None for gone, is what is waited for."""
    if views is not None:
        return lambda file: file is not None and int(file.get("viewCount", 0)) >= views
    return lambda file: (GONE if file is None else state_of(file, ctx.now())) == state


def _poll_until_met(
    ctx: Context, client: "Client", name: str, is_met: Callable[[Row | None], bool], rounds: "PollSchedule"
) -> Row | None:
    """The file once ``is_met``, or as it was before it was gone; None when the time is over."""
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

        told = False
        for met in poll(ctx, poller, look, rounds):
            if met:
                return last
            if not told:
                ctx.note("waiting")
                told = True
    return None


def _describe_miss(views: int | None, state: str | None) -> str:
    return f"it has fewer than {views} views" if views is not None else f"it is not {state}"
