"""Poll the server, for ``readership show --watch`` and ``wait``.

The rules are those of ``events tail``: a failure is reported at once and then occasionally, and ends polling after a
while; a permanent error ends it at once. Empty responses lengthen the interval, which respects the rate limit.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from docshare.cli.framework.exits import Stop, exit_code
from docshare.client.errors import NotConnected, RateLimited, Redirected, Refused, TransportError
from docshare.contract.problems import Problem
from docshare.contract.wire import format_duration

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client

T = TypeVar("T")

MIN_INTERVAL = 1.0  # minimum seconds between two requests, even with a shorter --interval

_SLOWDOWN = 1.5  # factor for the interval after each empty response
_MAX_LOCAL_INTERVAL = 3.0  # seconds; a server on this host does not rate-limit its operator
_JITTER = 0.1  # of the interval, so that many clients do not poll in step
_MAX_BACKOFF = 30.0  # seconds between two attempts while the server fails
_REPEAT_WARNING_AFTER = 60.0  # seconds between two warnings about the same failure


class PollSchedule(NamedTuple):
    """``interval``: seconds between two requests, growing up to ``slowest`` while responses are empty; ``timeout``:
    seconds until the last request, None for no limit; ``patience``: seconds of failure until polling ends."""

    interval: float
    slowest: float
    timeout: float | None = None
    patience: float = 600.0


def lengthen_interval(client: "Client", interval: float, slowest: float) -> float:
    """Return the interval in seconds after another empty response, at most ``slowest``."""
    return min(interval * _SLOWDOWN, max(interval, _MAX_LOCAL_INTERVAL) if client.is_local else slowest)


def compute_pause(client: "Client", interval: float) -> float:
    """Return ``interval`` with some jitter, but no less than the rate limit requires."""
    return max(interval * (1 + _JITTER * (2 * client.clock.chance() - 1)), client.spacing())


def is_final(error: Problem | TransportError) -> bool:
    """Return whether a retry would fail the same way: a refusal, a redirect, or an untrusted server."""
    if isinstance(error, Problem):
        return error.status < 500 and error.status != 429
    return isinstance(error, Redirected) or (isinstance(error, NotConnected) and error.is_final)


class FailureTracker:
    """Consecutive failures: reported at once, then occasionally, and fatal after ``patience`` seconds."""

    def __init__(self, context: "Context", patience: float) -> None:
        self._ctx = context
        self._patience = patience
        self._tries = 0
        self._since = self._last_warning_at = 0.0

    @property
    def is_failing(self) -> bool:
        """Return whether the last request failed."""
        return self._tries > 0

    def record_failure(self, error: Problem | TransportError, interval: float) -> float:
        """Record a failure and return the seconds until the next attempt.

        Raise Stop (11, or 10 for the rate limit) if it has lasted too long.
        """
        now = self._ctx.monotonic()
        if not self._tries:
            self._since = now
        self._tries += 1
        left = self._patience - (now - self._since)
        if left <= 0:
            lasted = format_duration(int((now - self._since) * 1000))
            raise Stop(exit_code(error), f"stopped after {self._tries} failed attempts in {lasted}: {error}")
        self._warn(error, now)
        asked = error.retry_after if isinstance(error, RateLimited) else None
        return min(asked or min(interval * 2.0 ** (self._tries - 1), _MAX_BACKOFF), left)

    def record_success(self) -> None:
        """Record a successful request."""
        if self._tries:
            lasted = format_duration(int((self._ctx.monotonic() - self._since) * 1000))
            self._ctx.note(f"the server is responding again (failed attempts: {self._tries}, {lasted})")
            self._tries = 0

    def _warn(self, error: Problem | TransportError, now: float) -> None:
        if self._tries == 1:
            asked = error.retry_after if isinstance(error, RateLimited) else None
            self._ctx.warn(f"rate limited, waiting {round(asked)} s" if asked else f"{error}; retrying")
            self._last_warning_at = now
        elif now - self._last_warning_at >= _REPEAT_WARNING_AFTER:
            lasted = format_duration(int((now - self._since) * 1000))
            self._ctx.warn(f"still failing ({self._tries} attempts, {lasted}): {error}")
            self._last_warning_at = now


def poll(context: "Context", client: "Client", ask: Callable[[], T], schedule: PollSchedule) -> Iterator[T]:
    """Yield the results of ``ask`` until the timeout.

    ``client``: the client whose rate limit applies; it should not retry by itself. Raise permanent errors, and Stop
    (11; 10 for the rate limit) after failing for too long or until the timeout.
    """
    failures = FailureTracker(context, schedule.patience)
    ends = None if schedule.timeout is None else context.monotonic() + schedule.timeout
    interval = schedule.interval
    answered = False
    failure: Refused | TransportError | None = None
    while True:
        try:
            found = ask()
        except (Refused, TransportError) as error:
            if is_final(error):
                raise
            failure = error
            wait = failures.record_failure(error, schedule.interval)
        else:
            failures.record_success()
            answered = True
            yield found
            slowest = max(schedule.slowest, schedule.interval)
            interval = schedule.interval if found else lengthen_interval(client, interval, slowest)
            wait = compute_pause(client, interval)
        left = None if ends is None else ends - context.monotonic()
        if left is not None and left <= 0:
            if not answered and failure is not None:
                raise Stop(exit_code(failure), f"could not reach the server before the timeout: {failure}")
            return
        context.sleep(wait if left is None else min(wait, left))
