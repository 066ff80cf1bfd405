"""What ``docshare events tail`` says while nothing arrives: a status line, a sign of life, how a failure goes on."""

from typing import TYPE_CHECKING

from docshare.cli.cursors import Cursor
from docshare.cli.exits import Stop, exit_code
from docshare.cli.text import human_duration
from docshare.client.errors import NotConnected, RateLimited, Redirected, Refused, TransportError

if TYPE_CHECKING:
    from docshare.cli.context import Context
    from docshare.client import Client

_SLOWDOWN = 1.5  # each quiet answer makes the interval longer by this factor
_SLOWEST_HERE = 3.0  # seconds; a server on this host has no request limit for its operator
_JITTER = 0.1  # of the interval, so that many do not ask in step
_LONGEST_BACKOFF = 30.0  # seconds between two tries while the server fails
_TOLD_AGAIN = 60.0  # seconds between two remarks about the same failure
_CLEAR = "\r\x1b[K"


def lengthen(client: "Client", interval: float, slowest: float) -> float:
    """The seconds between two questions after another answer with nothing new, at most ``slowest``."""
    return min(interval * _SLOWDOWN, max(interval, _SLOWEST_HERE) if client.on_this_host else slowest)


def pause(client: "Client", interval: float) -> float:
    """``interval`` seconds more or less, and no less than the rate limit allows for one request."""
    return max(interval * (1 + _JITTER * (2 * client.clock.chance() - 1)), client.spacing())


def is_final(error: Refused | TransportError) -> bool:
    """Whether asking again would bring the same: a refusal, an address that redirects or cannot be trusted."""
    if isinstance(error, Refused):
        return error.status < 500 and error.status != 429
    return isinstance(error, Redirected) or (isinstance(error, NotConnected) and error.final)


class Trouble:
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
            lasted = human_duration(int((now - self._since) * 1000))
            raise Stop(exit_code(error), f"gave up after {self._tries} tries in {lasted}: {error}")
        self._tell(error, now)
        asked = error.retry_after if isinstance(error, RateLimited) else None
        return min(asked or min(interval * 2.0 ** (self._tries - 1), _LONGEST_BACKOFF), left)

    def over(self) -> None:
        """A poll went well."""
        if self._tries:
            lasted = human_duration(int((self._ctx.monotonic() - self._since) * 1000))
            self._ctx.note(f"the server answers again (failed tries: {self._tries}, {lasted})")
            self._tries = 0

    def _tell(self, error: Refused | TransportError, now: float) -> None:
        if self._tries == 1:
            asked = error.retry_after if isinstance(error, RateLimited) else None
            self._ctx.warn(f"rate limited, waiting {round(asked)} s" if asked else f"{error}; trying again")
            self._told = now
        elif now - self._told >= _TOLD_AGAIN:
            lasted = human_duration(int((now - self._since) * 1000))
            self._ctx.warn(f"still failing ({self._tries} tries, {lasted}): {error}")
            self._told = now


class Presence:
    """Shows that the tail is alive: a status line where a person watches, else a line every ``heartbeat`` seconds."""

    def __init__(self, context: "Context", heartbeat: float) -> None:
        self._ctx = context
        self._heartbeat = heartbeat
        self._watched = (
            context.stdout_tty
            and context.stderr_tty
            and not (context.in_ci or context.options.quiet or context.env.get("TERM") == "dumb")
        )
        self._last_word = context.monotonic()
        self._visible = False

    def ready(self, cursor: Cursor) -> None:
        """The first poll went well."""
        self._ctx.note(f"following {','.join(cursor.at)} from {position(cursor)}")

    def heard(self) -> None:
        """A row is about to be printed."""
        self.clear()
        self._last_word = self._ctx.monotonic()

    def waiting(self, cursor: Cursor, rows: int, left: float) -> None:
        """``left`` seconds remain until the next poll; ``rows`` were shown so far."""
        now = self._ctx.monotonic()
        if self._watched:
            dot = self._ctx.err_screen.glyph("·")
            words = f"waiting {dot} {position(cursor)} {dot} next poll {max(round(left), 1)} s"
            self._ctx.err_raw(_CLEAR + self._ctx.err_screen.paint("dim", words))
            self._visible = True
        elif not self._ctx.stderr_tty and self._heartbeat and now - self._last_word >= self._heartbeat:
            self._ctx.note(f"still following; {position(cursor)}; {rows} rows so far")
            self._last_word = now

    def clear(self) -> None:
        """Take the status line away."""
        if self._visible:
            self._ctx.err_raw(_CLEAR)
            self._visible = False


def position(cursor: Cursor) -> str:
    """``cursor 5123``; of several streams ``cursor view:5123 gate:17``."""
    at = {stream: "start" if id is None else str(id) for stream, id in cursor.at.items()}
    if len(cursor.home.streams) == 1:
        return f"cursor {at.get(cursor.home.streams[0], 'start')}"
    return "cursor " + " ".join(f"{stream}:{id}" for stream, id in at.items())
