"""The status line of ``docshare events tail`` while no row arrives, and its heartbeat where nobody watches."""

from typing import TYPE_CHECKING

from docshare.cli.commands.events.cursor_files import Cursor

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

_CLEAR = "\r\x1b[K"


class StatusLine:
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
        self._ctx.note(f"following {','.join(cursor.at)} from {describe_position(cursor)}")

    def heard(self) -> None:
        """A row is about to be printed."""
        self.clear()
        self._last_word = self._ctx.monotonic()

    def waiting(self, cursor: Cursor, rows: int, left: float) -> None:
        """``left`` seconds remain until the next poll; ``rows`` were shown so far."""
        now = self._ctx.monotonic()
        if self._watched:
            dot = self._ctx.err_screen.glyph("·")
            words = f"waiting {dot} {describe_position(cursor)} {dot} next poll {max(round(left), 1)} s"
            self._ctx.err_raw(_CLEAR + self._ctx.err_screen.paint("dim", words))
            self._visible = True
        elif not self._ctx.stderr_tty and self._heartbeat and now - self._last_word >= self._heartbeat:
            self._ctx.note(f"still following; {describe_position(cursor)}; {rows} rows so far")
            self._last_word = now

    def clear(self) -> None:
        """Take the status line away."""
        if self._visible:
            self._ctx.err_raw(_CLEAR)
            self._visible = False


def describe_position(cursor: Cursor) -> str:
    """``cursor 5123``; of several streams ``cursor view:5123 gate:17``."""
    at = {stream: "start" if id is None else str(id) for stream, id in cursor.at.items()}
    if len(cursor.home.streams) == 1:
        return f"cursor {at.get(cursor.home.streams[0], 'start')}"
    return "cursor " + " ".join(f"{stream}:{id}" for stream, id in at.items())
