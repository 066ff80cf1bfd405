"""Progress on standard error: a bar on a terminal, occasional lines in a log, nothing for a short job."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from docshare.cli.terminal.text import cell_width, clean, clip, format_duration, format_size

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
    watched = context.stderr_tty and not context.in_ci and context.env.get("TERM") != "dumb"
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
        self._stage_began = 0.0
        self._stage_over = threading.Event()
        self._watch: threading.Thread | None = None
        self._staging = threading.Lock()  # parallel uploads share one progress
        self._mode = select_mode(context)
        self._began = context.monotonic()
        self._drawn = (
            self._began - _REDRAW_INTERVAL if self._mode == "bar" else self._began + _FIRST_LINE_AFTER - _LINE_INTERVAL
        )
        self._drawn_share = -1.0
        self._visible = False

    def of(self, total: int) -> None:
        """Set the total once it is known."""
        self._total = total

    def add(self, count: int) -> None:
        """Advance by ``count``."""
        self.at(self._done + count)

    def at(self, done: int) -> None:
        """Set the amount done (smaller than before if the transfer starts over)."""
        self._done = done
        self._tick()

    def stage(self, words: str) -> None:
        """Show a stage after the transfer, such as "processing on server", with its elapsed time; empty ends it."""
        with self._staging:
            self._end_stage()
            self._stage, self._stage_began = words, self._ctx.monotonic()
            if self._mode == "bar":
                self._draw()
            elif self._mode == "json":
                self._say_json()
            if words and self._mode in _STAGE_INTERVALS:
                self._watch = threading.Thread(target=self._watch_stage, args=(self._stage_over,), daemon=True)
                self._watch.start()

    def close(self) -> None:
        """Remove the bar; the command itself reports the result."""
        with self._staging:
            self._end_stage()
        if self._visible:
            self._ctx.err_raw(_CLEAR)
            self._visible = False

    def _watch_stage(self, over: threading.Event) -> None:
        while not over.wait(_STAGE_INTERVALS[self._mode]):
            if self._mode == "bar":
                self._draw()
            else:
                self._ctx.err(f"{self._label}: {self._staged()}")

    def _end_stage(self) -> None:
        self._stage_over.set()
        if self._watch is not None:
            self._watch.join()
        self._watch, self._stage_over, self._stage = None, threading.Event(), ""

    def _staged(self) -> str:
        """Return the stage, with its elapsed time from the first second on."""
        elapsed = int((self._ctx.monotonic() - self._stage_began) * 1000)
        return f"{self._stage}, {format_duration(elapsed)}" if self._stage and elapsed >= 1000 else self._stage

    def _tick(self) -> None:
        now = self._ctx.monotonic()
        if self._mode == "bar" and now - self._drawn >= _REDRAW_INTERVAL:
            self._drawn = now
            self._draw()
        elif self._mode in ("plain", "json") and now - self._drawn >= _LINE_INTERVAL and self._grown():
            self._drawn, self._drawn_share = now, self._share
            if self._mode == "json":
                self._say_json()
            else:
                self._ctx.err(self._words())

    @property
    def _share(self) -> float:
        return min(self._done / self._total, 1.0) if self._total else 0.0

    def _grown(self) -> bool:
        return self._total is None or self._drawn_share < 0 or self._share - self._drawn_share >= _LINE_STEP

    def _words(self) -> str:
        if self._total is None:
            return f"{self._label}: {self._amount(self._done)}"
        amount = f"{self._amount(self._done)} of {self._amount(self._total)}"
        return f"{self._label}: {self._share:.0%}, {amount}, {self._rate()}"

    def _rate(self) -> str:
        elapsed = max(self._ctx.monotonic() - self._began, 0.001)
        rate = self._done / elapsed
        left = format_duration(int((self._total - self._done) / rate * 1000)) if self._total and rate > 0 else ""
        speed = "" if self._counted else f"{format_size(int(rate))}/s"
        return ", ".join(filter(None, (speed, left and f"{left} left")))

    def _draw(self) -> None:
        screen = self._ctx.err_screen
        tail = self._staged() or (self._rate() if self._done else "")
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
        self._visible = True

    def _say_json(self) -> None:
        import json

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
