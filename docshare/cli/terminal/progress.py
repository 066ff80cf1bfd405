"""Progress on standard error: a bar on a terminal, occasional lines in a log, nothing for a short job."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from docshare.cli.terminal.text import cell_width, clean, clip
from docshare.contract.amounts import format_size
from docshare.contract.wire import format_duration

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

_REDRAW_INTERVAL = 0.1  # seconds between two updates of the bar
_FIRST_LINE_AFTER = 10.0  # seconds before the first plain line
_LINE_INTERVAL = 30.0  # seconds, and
_LINE_STEP = 0.25  # progress: both must have passed before the next plain line
_BAR_WIDTH = 24  # cells
_STAGE_INTERVALS = {"bar": 1.0, "plain": 30.0}  # seconds between two updates of a stage
_CLEAR = "\r\x1b[K"


def select_mode(context: "Context") -> str:
    """Return how to show progress: bar, plain, json or none."""
    if context.options.quiet:
        return "none"
    if context.options.progress != "auto":
        return context.options.progress
    watched = context.stderr_tty and not context.is_ci and context.env.get("TERM") != "dumb"
    return "bar" if watched else "plain"


class Progress:
    """The progress of one transfer. ``total`` in bytes, None if unknown; with ``counted``, a number of items."""

    def __init__(self, context: "Context", label: str, total: int | None, *, counted: bool = False) -> None:
        self._ctx = context
        self._amount: Callable[[int], str] = str if counted else format_size
        self._counted = counted
        self._label = clean(label)
        self._total = total
        self._done = 0
        self._stage = ""
        self._stage_started_at = 0.0
        self._stage_ended = threading.Event()
        self._stage_thread: threading.Thread | None = None
        self._stage_lock = threading.Lock()  # parallel uploads share one progress
        self._mode = select_mode(context)
        self._started_at = context.monotonic()
        self._last_output_at = (
            self._started_at - _REDRAW_INTERVAL
            if self._mode == "bar"
            else self._started_at + _FIRST_LINE_AFTER - _LINE_INTERVAL
        )
        self._last_share = -1.0
        self._is_visible = False

    def set_total(self, total: int) -> None:
        """Set the total once it is known."""
        self._total = total

    def advance(self, count: int) -> None:
        """Advance by ``count``."""
        self.update(self._done + count)

    def update(self, done: int) -> None:
        """Set the amount done (smaller than before if the transfer starts over)."""
        self._done = done
        self._refresh()

    def set_stage(self, words: str) -> None:
        """Show a stage after the transfer, such as "processing on server", with its elapsed time; empty ends it."""
        with self._stage_lock:
            self._end_stage()
            self._stage, self._stage_started_at = words, self._ctx.monotonic()
            if self._mode == "bar":
                self._draw()
            elif self._mode == "json":
                self._print_json()
            if words and self._mode in _STAGE_INTERVALS:
                self._stage_thread = threading.Thread(target=self._watch_stage, args=(self._stage_ended,), daemon=True)
                self._stage_thread.start()

    def close(self) -> None:
        """Remove the bar; the command itself reports the result."""
        with self._stage_lock:
            self._end_stage()
        if self._is_visible:
            self._ctx.err_raw(_CLEAR)
            self._is_visible = False

    def _watch_stage(self, over: threading.Event) -> None:
        while not over.wait(_STAGE_INTERVALS[self._mode]):
            if self._mode == "bar":
                self._draw()
            else:
                self._ctx.err(f"{self._label}: {self._describe_stage()}")

    def _end_stage(self) -> None:
        self._stage_ended.set()
        if self._stage_thread is not None:
            self._stage_thread.join()
        self._stage_thread, self._stage_ended, self._stage = None, threading.Event(), ""

    def _describe_stage(self) -> str:
        """Return the stage, with its elapsed time from the first second on."""
        elapsed = int((self._ctx.monotonic() - self._stage_started_at) * 1000)
        return f"{self._stage}, {format_duration(elapsed)}" if self._stage and elapsed >= 1000 else self._stage

    def _refresh(self) -> None:
        now = self._ctx.monotonic()
        if self._mode == "bar" and now - self._last_output_at >= _REDRAW_INTERVAL:
            self._last_output_at = now
            self._draw()
        elif self._mode in ("plain", "json") and now - self._last_output_at >= _LINE_INTERVAL and self._has_grown():
            self._last_output_at, self._last_share = now, self._share
            if self._mode == "json":
                self._print_json()
            else:
                self._ctx.err(self._format_line())

    @property
    def _share(self) -> float:
        return min(self._done / self._total, 1.0) if self._total else 0.0

    def _has_grown(self) -> bool:
        return self._total is None or self._last_share < 0 or self._share - self._last_share >= _LINE_STEP

    def _format_line(self) -> str:
        if self._total is None:
            return f"{self._label}: {self._amount(self._done)}"
        amount = f"{self._amount(self._done)} of {self._amount(self._total)}"
        return f"{self._label}: {self._share:.0%}, {amount}, {self._format_rate()}"

    def _format_rate(self) -> str:
        elapsed = max(self._ctx.monotonic() - self._started_at, 0.001)
        rate = self._done / elapsed
        left = format_duration(int((self._total - self._done) / rate * 1000)) if self._total and rate > 0 else ""
        speed = "" if self._counted else f"{format_size(int(rate))}/s"
        return ", ".join(filter(None, (speed, left and f"{left} left")))

    def _draw(self) -> None:
        screen = self._ctx.err_screen
        tail = self._describe_stage() or (self._format_rate() if self._done else "")
        if self._total:
            filled = int(self._share * _BAR_WIDTH)
            bar = screen.glyph("█") * filled + screen.glyph("░") * (_BAR_WIDTH - filled)
            tail = f"{bar} {self._share:4.0%}  {tail}"
        elif not self._stage:
            tail = f"{self._amount(self._done)}  {tail}"
        room = screen.width - 1
        name = f"{self._done} of {self._total} {self._label}" if self._counted else self._label
        label = clip(name, max(room - cell_width(tail) - 2, 8), screen.glyph("…"))
        self._ctx.err_raw(_CLEAR + clip(f"{label}  {tail}", room, ""))
        self._is_visible = True

    def _print_json(self) -> None:
        state = {"label": self._label, "done": self._done, "total": self._total, "stage": self._stage or "transfer"}
        self._ctx.err_raw(json.dumps({"progress": state}) + "\n")


@contextmanager
def show_progress(context: "Context", label: str, total: int | None, *, counted: bool = False) -> Iterator[Progress]:
    """Show progress inside a block; the bar is always removed afterwards."""
    progress = Progress(context, label, total, counted=counted)
    try:
        yield progress
    finally:
        progress.close()
