"""Poll a file until it has a number of views, or until its link is in a state."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.files.rows import GONE, state_of
from docshare.cli.framework.context import Context
from docshare.cli.framework.polling import MIN_INTERVAL, PollSchedule, poll
from docshare.cli.terminal.text import parse_duration
from docshare.client.errors import Refused

if TYPE_CHECKING:
    from docshare.client import Client

Row = Mapping[str, Any]

_INTERVAL = 2.0  # seconds between requests at first
_MAX_INTERVAL = 15.0  # ... and after a while


def make_schedule(timeout: str | None, interval: str | None, give_up_after: str) -> PollSchedule:
    """Return the times of requests from the options of the command."""
    return PollSchedule(
        interval=_INTERVAL if interval is None else max(parse_duration(interval), MIN_INTERVAL),
        slowest=_MAX_INTERVAL,
        timeout=None if timeout is None else parse_duration(timeout),
        patience=parse_duration(give_up_after),
    )


def make_goal(ctx: Context, views: int | None, state: str | None) -> Callable[[Row | None], bool]:
    """Return a predicate on the current file (None if gone) that is true once the wait is over."""
    if views is not None:
        return lambda file: file is not None and int(file.get("viewCount", 0)) >= views
    return lambda file: (GONE if file is None else state_of(file, ctx.now())) == state


def poll_until_met(
    ctx: Context, client: "Client", name: str, is_met: Callable[[Row | None], bool], rounds: PollSchedule
) -> Row | None:
    """Return the file once ``is_met``, its last known state if it is gone, or None on a timeout."""
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
