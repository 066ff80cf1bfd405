"""Asking again and again: the loop of ``readership show --watch`` and of ``wait``.

As ``events tail`` does it: a failure is told once and then now and then, and ends it after a while; what the server
refuses for good ends it at once; quiet makes it slower; the rate limit is kept clear of.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from docshare.cli.exits import Stop, exit_code
from docshare.cli.waiting import Trouble, is_final, lengthen, pause
from docshare.client.errors import Refused, TransportError

if TYPE_CHECKING:
    from docshare.cli.context import Context
    from docshare.client import Client

T = TypeVar("T")

LEAST_INTERVAL = 1.0  # seconds between two questions, whatever a user asks for


class Rounds(NamedTuple):
    """``interval`` seconds between two questions, growing up to ``slowest`` while answers are empty; ``timeout``
    seconds until the last one, None for no end; ``patience`` seconds of failure that are borne."""

    interval: float
    slowest: float
    timeout: float | None = None
    patience: float = 600.0


def asked(context: "Context", client: "Client", ask: Callable[[], T], rounds: Rounds) -> Iterator[T]:
    """What ``ask`` returns, again and again until the time is over. ``client``: whose pacing holds; it should not
    repeat by itself. Raises what is refused for good; Stop (11; 10 for the rate limit) after failing for too long, or
    all the time.
    """
    trouble = Trouble(context, rounds.patience)
    ends = None if rounds.timeout is None else context.monotonic() + rounds.timeout
    interval = rounds.interval
    answered = False
    failure: Refused | TransportError | None = None
    while True:
        try:
            found = ask()
        except (Refused, TransportError) as error:
            if is_final(error):
                raise
            failure = error
            wait = trouble.after(error, rounds.interval)
        else:
            trouble.over()
            answered = True
            yield found
            slowest = max(rounds.slowest, rounds.interval)
            interval = rounds.interval if found else lengthen(client, interval, slowest)
            wait = pause(client, interval)
        left = None if ends is None else ends - context.monotonic()
        if left is not None and left <= 0:
            if not answered and failure is not None:
                raise Stop(exit_code(failure), f"the server could not be reached before the time was over: {failure}")
            return
        context.sleep(wait if left is None else min(wait, left))
