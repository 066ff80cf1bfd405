"""The loop of ``docshare events tail``: poll, hand over rows, save the cursor, wait, and stop at a limit."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.events.cursor_files import Cursor
from docshare.cli.commands.events.selection import Row, merge_by_time, stream_of
from docshare.cli.commands.events.status import StatusLine
from docshare.cli.framework.exits import ExitCode
from docshare.cli.framework.polling import FailureTracker, compute_pause, is_final, lengthen_interval
from docshare.client.errors import Refused, TransportError

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client
    from docshare.client.paging import Feed

_SLEEP_SLICE_S = 1.0  # seconds until a suspended machine is noticed
_CLOCK_JUMP = 30.0  # seconds of drift between the two clocks after which connections count as dead
_MAX_QUIET_INTERVAL = 15.0  # seconds between polls of an idle feed


@dataclass(frozen=True, eq=False, repr=False)
class TailLimits:
    """When a tail ends. Times are in seconds, ``until`` in milliseconds since 1970; None means no limit."""

    once: bool = False
    count: int | None = None
    is_match: Callable[[Row], bool] | None = None
    until: int | None = None
    timeout: float | None = None
    idle: float | None = None
    give_up_after: float = 600.0

    @property
    def has_goal(self) -> bool:
        """Return whether the tail waits for rows, so that a timeout is a failure."""
        return self.count is not None or self.is_match is not None


@dataclass(frozen=True)
class PollTiming:
    """``interval`` and ``heartbeat`` (0: none) in seconds; ``overlap`` is the number of ids to read again."""

    interval: float
    heartbeat: float = 0.0
    overlap: int = 0


@dataclass(frozen=True)
class RowSink:
    """The destination of rows and cursors. ``hand_over`` returns once a row has been written; ``save`` stores the
    cursor after each row if ``save_each_row`` is set, otherwise after each poll."""

    hand_over: Callable[[Row], None]
    save: Callable[[Cursor], None]
    save_each_row: bool = False


class Follower:
    """Follows ``feeds`` (by stream), which send their requests through ``client``. ``cursor`` is the position after the
    last row handed over."""

    def __init__(
        self,
        context: "Context",
        client: "Client",
        feeds: "Mapping[str, Feed[Any]]",
        cursor: Cursor,
        rhythm: PollTiming,
        limits: TailLimits,
        sink: RowSink,
    ) -> None:
        self._ctx = context
        self._client = client
        self._feeds = feeds
        self.cursor = self._saved = cursor
        self._rhythm = rhythm
        self._limits = limits
        self._sink = sink
        self._trouble = FailureTracker(context, limits.give_up_after)
        self._presence = StatusLine(context, rhythm.heartbeat)
        self._interval = rhythm.interval
        self._began = self._last_row = context.monotonic()
        self._rows = 0
        self._matched = self._ready = False

    def run(self) -> ExitCode:
        """Follow until a limit is reached. Raise permanent server errors, and Stop (11) after failing too long."""
        try:
            while True:
                pause = self._poll()
                if self._has_reached_goal() or self._limits.once:
                    return ExitCode.OK
                ending = self._wait(pause)
                if ending is not None:
                    return ending
        finally:
            self._presence.clear()

    def _poll(self) -> float:
        """Hand over all new rows and return the seconds to wait before the next poll."""
        before = self._rows
        try:
            for row in merge_by_time([self._fetch_new(stream) for stream in self._feeds]):
                self._process(row)
                if self._has_reached_goal():
                    break
        except (Refused, TransportError) as error:
            if self._limits.once or is_final(error):
                raise
            self._presence.clear()
            return self._trouble.record_failure(error, self._rhythm.interval)
        finally:
            self._save_cursor()
        self._record_success()
        return self._compute_pause(quiet=self._rows == before)

    def _fetch_new(self, stream: str) -> Iterator[Row]:
        """Yield the rows of a stream that were not handed over yet, ascending."""
        at, known = self.cursor.at.get(stream), set(self.cursor.recent.get(stream, ()))
        since = None if at is None else at - self._rhythm.overlap
        for row in self._feeds[stream].rows_after(since, self.cursor.binding.file):
            # At or below the cursor, only rows that were committed late are new. A row older than all remembered ids
            # cannot be distinguished from one that was handed over long ago, so it is skipped.
            if at is None or row["id"] > at or (row["id"] not in known and row["id"] > min(known, default=at)):
                yield row

    def _process(self, row: Row) -> None:
        self._presence.prepare_for_row()
        self._sink.hand_over(row)
        self.cursor = self.cursor.advance(stream_of(row), int(row["id"]))
        self._rows += 1
        self._last_row = self._ctx.monotonic()
        self._matched = self._limits.is_match is not None and self._limits.is_match(row)
        if self._sink.save_each_row:
            self._save_cursor()

    def _save_cursor(self) -> None:
        if self.cursor != self._saved:
            self._sink.save(self.cursor)
            self._saved = self.cursor

    def _has_reached_goal(self) -> bool:
        return self._matched or (self._limits.count is not None and self._rows >= self._limits.count)

    def _record_success(self) -> None:
        self._trouble.record_success()
        if not (self._ready or self._limits.once):
            self._presence.print_start(self.cursor)
        self._ready = True

    def _compute_pause(self, *, quiet: bool) -> float:
        slowest = max(_MAX_QUIET_INTERVAL, self._rhythm.interval)
        self._interval = lengthen_interval(self._client, self._interval, slowest) if quiet else self._rhythm.interval
        return max(compute_pause(self._client, self._interval), self._client.spacing() * len(self._feeds))

    def _wait(self, pause: float) -> ExitCode | None:
        """Wait ``pause`` seconds. Return the exit code if a time limit is reached first."""
        end = self._ctx.monotonic() + pause
        while True:
            ending = self._check_time()
            left = end - self._ctx.monotonic()
            if ending is not None or left <= 0:
                return ending
            self._presence.show_waiting(self.cursor, self._rows, left)
            if self._sleep_and_detect_jump(min([left, _SLEEP_SLICE_S, *self._list_times_left()])):
                self._presence.clear()
                self._ctx.note("the clock jumped; reconnecting")
                self._client.close()
                return None

    def _sleep_and_detect_jump(self, seconds: float) -> bool:
        """Sleep, and return whether the wall clock jumped, as it does when the machine is suspended."""
        wall, monotonic = self._ctx.now() / 1000, self._ctx.monotonic()
        self._ctx.sleep(seconds)
        drift = (self._ctx.now() / 1000 - wall) - (self._ctx.monotonic() - monotonic)
        return abs(drift) > _CLOCK_JUMP

    def _check_time(self) -> ExitCode | None:
        now, limits = self._ctx.monotonic(), self._limits
        if limits.timeout is not None and now - self._began >= limits.timeout:
            return ExitCode.DEADLINE if limits.has_goal else ExitCode.OK
        if limits.until is not None and self._ctx.now() >= limits.until:
            return ExitCode.OK
        # While the server fails, missing rows do not mean that the feed is idle.
        if limits.idle is not None and now - self._last_row >= limits.idle and not self._trouble.is_failing:
            return ExitCode.OK
        return None

    def _list_times_left(self) -> Iterator[float]:
        """Yield the seconds until each time limit that is still ahead."""
        now, limits = self._ctx.monotonic(), self._limits
        ends = [
            None if limits.timeout is None else self._began + limits.timeout - now,
            None if limits.until is None else (limits.until - self._ctx.now()) / 1000,
            None if limits.idle is None else self._last_row + limits.idle - now,
        ]
        return (left for left in ends if left is not None and left > 0)
