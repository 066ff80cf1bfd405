"""Asking again and again: the loop of ``readership show --watch`` and of ``wait``.

As ``events tail`` does it: a failure is told once and then now and then, and ends it after a while; what the server
refuses for good ends it at once; quiet makes it slower; the rate limit is kept clear of.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from docshare.cli.framework.exits import Stop, exit_code
from docshare.cli.terminal.text import format_duration
from docshare.client.errors import NotConnected, RateLimited, Redirected, Refused, TransportError

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client

T = TypeVar("T")

MIN_INTERVAL = 1.0  # seconds between two questions, whatever a user asks for

_SLOWDOWN = 1.5  # each quiet answer makes the interval longer by this factor
_MAX_LOCAL_INTERVAL = 3.0  # seconds; a server on this host has no request limit for its operator
_JITTER = 0.1  # of the interval, so that many do not ask in step
_MAX_BACKOFF = 30.0  # seconds between two tries while the server fails
_REPEAT_WARNING_AFTER = 60.0  # seconds between two remarks about the same failure


class PollSchedule(NamedTuple):
    """``interval`` seconds between two questions, growing up to ``slowest`` while answers are empty; ``timeout``
    seconds until the last one, None for no end; ``patience`` seconds of failure that are borne."""

    interval: float
    slowest: float
    timeout: float | None = None
    patience: float = 600.0


def lengthen_interval(client: "Client", interval: float, slowest: float) -> float:
    """The seconds between two questions after another answer with nothing new, at most ``slowest``."""
    return min(interval * _SLOWDOWN, max(interval, _MAX_LOCAL_INTERVAL) if client.on_this_host else slowest)


def compute_pause(client: "Client", interval: float) -> float:
    """``interval`` seconds more or less, and no less than the rate limit allows for one request."""
    return max(interval * (1 + _JITTER * (2 * client.clock.chance() - 1)), client.spacing())


def is_final(error: Refused | TransportError) -> bool:
    """Whether asking again would bring the same: a refusal, an address that redirects or cannot be trusted."""
    if isinstance(error, Refused):
        return error.status < 500 and error.status != 429
    return isinstance(error, Redirected) or (isinstance(error, NotConnected) and error.final)


class FailureTracker:
    """Failures in a row: told once, then now and then, and given up after ``patience`` seconds."""

    def __init__(self, context: "Context", patience: float) -> None:
        self._ctx = context
        self._patience = patience
        self._tries = 0
        self._since = self._told = 0.0

    @property
    def going_on(self) -> bool:
        """Whether the last poll failed."""
        return self._tries > 0

    def after(self, error: Refused | TransportError, interval: float) -> float:
        """Note one more failure; returns the seconds until the next try. Stop (11, or 10 for the rate limit) when it
        has lasted too long."""
        now = self._ctx.monotonic()
        if not self._tries:
            self._since = now
        self._tries += 1
        left = self._patience - (now - self._since)
        if left <= 0:
            lasted = format_duration(int((now - self._since) * 1000))
            raise Stop(exit_code(error), f"gave up after {self._tries} tries in {lasted}: {error}")
        self._tell(error, now)
        asked = error.retry_after if isinstance(error, RateLimited) else None
        return min(asked or min(interval * 2.0 ** (self._tries - 1), _MAX_BACKOFF), left)

    def over(self) -> None:
        """A poll went well."""
        if self._tries:
            lasted = format_duration(int((self._ctx.monotonic() - self._since) * 1000))
            self._ctx.note(f"the server answers again (failed tries: {self._tries}, {lasted})")
            self._tries = 0

    def _tell(self, error: Refused | TransportError, now: float) -> None:
        if self._tries == 1:
            asked = error.retry_after if isinstance(error, RateLimited) else None
            self._ctx.warn(f"rate limited, waiting {round(asked)} s" if asked else f"{error}; trying again")
            self._told = now
        elif now - self._told >= _REPEAT_WARNING_AFTER:
            lasted = format_duration(int((now - self._since) * 1000))
            self._ctx.warn(f"still failing ({self._tries} tries, {lasted}): {error}")
            self._told = now


def poll(context: "Context", client: "Client", ask: Callable[[], T], rounds: PollSchedule) -> Iterator[T]:
    """What ``ask`` returns, again and again until the time is over. ``client``: whose pacing holds; it should not
    repeat by itself. Raises what is refused for good; Stop (11; 10 for the rate limit) after failing for too long, or
    all the time.
    """
    trouble = FailureTracker(context, rounds.patience)
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
            interval = rounds.interval if found else lengthen_interval(client, interval, slowest)
            wait = compute_pause(client, interval)
        left = None if ends is None else ends - context.monotonic()
        if left is not None and left <= 0:
            if not answered and failure is not None:
                raise Stop(exit_code(failure), f"the server could not be reached before the time was over: {failure}")
            return
        context.sleep(wait if left is None else min(wait, left))
