"""Show the status line of ``docshare events tail``, or heartbeat lines if stderr is not a terminal."""

from typing import TYPE_CHECKING

from docshare.cli.commands.events.cursor_files import Cursor

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

_CLEAR = "\r\x1b[K"


class StatusLine:
    """Shows that the tail is running: a status line on a terminal, otherwise a line every ``heartbeat`` seconds."""

    def __init__(self, context: "Context", heartbeat: float) -> None:
        self._ctx = context
        self._heartbeat = heartbeat
        self._is_interactive = (
            context.stdout_tty
            and context.stderr_tty
            and not (context.is_ci or context.options.quiet or context.env.get("TERM") == "dumb")
        )
        self._last_output_at = context.monotonic()
        self._visible = False

    def print_start(self, cursor: Cursor) -> None:
        """Report that the first poll succeeded."""
        self._ctx.note(f"following {','.join(cursor.at)} from {describe_position(cursor)}")

    def prepare_for_row(self) -> None:
        """Clear the status line because a row is about to be printed."""
        self.clear()
        self._last_output_at = self._ctx.monotonic()

    def show_waiting(self, cursor: Cursor, rows: int, left: float) -> None:
        """Update the status: ``left`` seconds until the next poll, ``rows`` shown so far."""
        now = self._ctx.monotonic()
        if self._is_interactive:
            dot = self._ctx.err_screen.glyph("·")
            words = f"waiting {dot} {describe_position(cursor)} {dot} next poll {max(round(left), 1)} s"
            self._ctx.err_raw(_CLEAR + self._ctx.err_screen.paint("dim", words))
            self._visible = True
        elif not self._ctx.stderr_tty and self._heartbeat and now - self._last_output_at >= self._heartbeat:
            self._ctx.note(f"still following; {describe_position(cursor)}; {rows} rows so far")
            self._last_output_at = now

    def clear(self) -> None:
        """Clear the status line."""
        if self._visible:
            self._ctx.err_raw(_CLEAR)
            self._visible = False


def describe_position(cursor: Cursor) -> str:
    """Return ``cursor 5123``, or for several streams ``cursor view:5123 gate:17``."""
    at = {stream: "start" if id is None else str(id) for stream, id in cursor.at.items()}
    if len(cursor.binding.streams) == 1:
        return f"cursor {at.get(cursor.binding.streams[0], 'start')}"
    return "cursor " + " ".join(f"{stream}:{id}" for stream, id in at.items())
