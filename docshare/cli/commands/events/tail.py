"""``docshare events tail``: resolve the start position, follow the streams and process each row."""

import json
import shlex
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.events import cursor_files
from docshare.cli.commands.events.cursor_files import Cursor, CursorBinding, CursorFile
from docshare.cli.commands.events.follow import Follower, PollTiming, RowSink, TailLimits
from docshare.cli.commands.events.options import TailOptions
from docshare.cli.commands.events.rows import build_feed_spec
from docshare.cli.commands.events.selection import (
    Row,
    StreamSelection,
    filter_allowed_streams,
    resolve_file,
    stream_of,
)
from docshare.cli.commands.events.start import NOW, StartResolver, fetch_account_id, load_cursor
from docshare.cli.framework.arguments import FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import require_file_path
from docshare.cli.framework.times import parse_until
from docshare.cli.terminal.output import Emitter, compile_query, run_query
from docshare.cli.terminal.text import parse_duration

if TYPE_CHECKING:
    from docshare.client import Client

_INTERVAL = 2.0  # seconds, for one or two streams
_INTERVAL_FOR_THREE = 4.0  # polling three streams every 2 s would use three quarters of the rate limit
_TERMINAL_BACKLOG = 10
_MAX_EXEC_BACKOFF = 30.0  # seconds


def follow(choice: StreamSelection, given: TailOptions, *, require_all: bool = False) -> ExitCode:
    """Follow the streams of ``choice`` and return the exit code.

    Raise Stop (2) for options that cannot be used together, and as ``Follower.run`` and ``filter_allowed_streams``
    raise.
    """
    ctx = current_context()
    ctx.is_endless = True
    backlog = _TERMINAL_BACKLOG if ctx.stdout_tty else 0
    plan = _TailSettings(
        choice=choice,
        file=given.file,
        require_all=require_all,
        backlog=backlog if given.backlog is None else given.backlog,
        start=given.start,
        cursor_file=_choose_cursor_file(ctx, given),
        reset=given.reset,
        interval=_parse_optional_duration(given.interval),
        heartbeat=parse_duration(given.heartbeat),
        overlap=given.overlap,
        command=_parse_command(given.execute),
        exec_retries=given.exec_retries,
    )
    limits = TailLimits(
        once=given.once,
        count=given.count,
        is_match=_make_matcher(given.until_match),
        until=None if given.until is None else parse_until(given.until, ctx.now()),
        timeout=_parse_optional_duration(given.timeout),
        idle=_parse_optional_duration(given.idle),
        give_up_after=parse_duration(given.give_up_after),
    )
    return _Tail(ctx, plan, limits).run()


@dataclass(frozen=True)
class _TailSettings:
    """The validated options. Times are in seconds; ``cursor_file`` is None without one."""

    choice: StreamSelection
    file: str | None
    require_all: bool
    backlog: int
    start: str | None
    cursor_file: CursorFile | None
    reset: bool
    interval: float | None
    heartbeat: float
    overlap: int
    command: list[str]
    exec_retries: int


class _Tail:
    def __init__(self, context: Context, plan: _TailSettings, limits: TailLimits) -> None:
        self._ctx = context
        self._settings = plan
        self._limits = limits
        self._printer: Emitter = context.emitter(build_feed_spec(plan.choice))

    def run(self) -> ExitCode:
        with ExitStack() as held:
            client = held.enter_context(self._ctx.client())
            if self._settings.cursor_file is not None:
                held.enter_context(self._settings.cursor_file.lock())
            binding, streams = self._locate_cursor(client)
            cursor = self._find_start(client, binding, streams)
            # The loop retries by itself, so that its limits apply and a failure is reported once.
            poller = client if self._limits.once else held.enter_context(client.fork(retries=0))
            rhythm = PollTiming(self._choose_interval(streams), self._settings.heartbeat, self._settings.overlap)
            sink = RowSink(self._process_row, self._save, save_each_row=bool(self._settings.command))
            feeds = self._settings.choice.open_feeds(poller, streams)
            return Follower(self._ctx, poller, feeds, cursor, rhythm, self._limits, sink).run()

    def _locate_cursor(self, client: "Client") -> tuple[CursorBinding, tuple[str, ...]]:
        """Return the binding of the cursor and the streams that can be read now."""
        plan = self._settings
        file = resolve_file(self._ctx, client, FileResolver(self._ctx, client), plan.file)
        streams = filter_allowed_streams(self._ctx, client, plan.choice, require_all=plan.require_all)
        account = None if plan.cursor_file is None else fetch_account_id(client)
        return CursorBinding(client.origin, plan.choice.streams, account, file, plan.choice.kinds), streams

    def _find_start(self, client: "Client", binding: CursorBinding, streams: tuple[str, ...]) -> Cursor:
        """Print the backlog and return the start position."""
        plan = self._settings
        saved = None if plan.cursor_file is None or plan.reset else load_cursor(plan.cursor_file, binding)
        fresh = plan.start == NOW or (plan.start is None and saved is None)
        feeds = plan.choice.open_feeds(client, streams)
        beginning = StartResolver(feeds, binding, plan.overlap, plan.backlog if fresh else 0)
        if saved is not None and plan.start is None:
            cursor = beginning.complete(saved)
        else:
            cursor = beginning.resolve(plan.start or NOW)
        for row in beginning.list_backlog():
            self._printer.emit_row(row)
        if cursor != saved:
            self._save(cursor)
        return cursor

    def _choose_interval(self, streams: tuple[str, ...]) -> float:
        usual = (
            _INTERVAL if len(streams) < len(self._settings.choice.streams) or len(streams) < 3 else _INTERVAL_FOR_THREE
        )
        return usual if self._settings.interval is None else self._settings.interval

    def _save(self, cursor: Cursor) -> None:
        if self._settings.cursor_file is not None:
            self._settings.cursor_file.save(cursor, self._ctx.now())

    def _process_row(self, row: Row) -> None:
        if self._settings.command:
            self._execute(row)
        self._printer.emit_row(row)

    def _execute(self, row: Row) -> None:
        """Run the command until it exits with 0. Raise Stop (12) if it never does; the cursor stays before the row."""
        status = 0
        for attempt in range(self._settings.exec_retries + 1):
            if attempt:
                self._ctx.sleep(min(2.0 ** (attempt - 1), _MAX_EXEC_BACKOFF))
            status = _exit_status(self._settings.command, row)
            if status == 0:
                return
        raise Stop(
            ExitCode.PARTIAL,
            f"the --exec command exited with {status} for row {row['id']} of the {stream_of(row)} stream",
            hint="The row counts as unread; the cursor stays before it.",
        )


def _exit_status(command: list[str], row: Row) -> int:
    try:
        # Standard output carries only rows, so the output of the command goes to standard error (descriptor 2).
        return subprocess.run(command, input=json.dumps(row).encode() + b"\n", stdout=2, check=False).returncode
    except OSError as error:
        raise Stop(ExitCode.USAGE, f"--exec: cannot run {command[0]}: {error.strerror or error}") from error


def _parse_command(text: str | None) -> list[str]:
    if text is None:
        return []
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise Stop(ExitCode.USAGE, f"--exec: {error}") from None
    if not words:
        raise Stop(ExitCode.USAGE, "--exec requires a command")
    return words


def _choose_cursor_file(ctx: Context, given: TailOptions) -> CursorFile | None:
    if sum((given.cursor is not None, given.cursor_file is not None, given.no_cursor)) > 1:
        raise Stop(ExitCode.USAGE, "--cursor, --cursor-file, and --no-cursor cannot be used together")
    if given.cursor is not None:
        return cursor_files.open_cursor_file(ctx, given.cursor)
    if given.cursor_file is not None:
        require_file_path("--cursor-file", given.cursor_file)
        return CursorFile(given.cursor_file, f"the cursor file {given.cursor_file}")
    if given.reset:
        raise Stop(ExitCode.USAGE, "--reset requires --cursor or --cursor-file")
    return None


def _make_matcher(text: str | None) -> Callable[[Row], bool] | None:
    query = compile_query(text, "--until-match")
    if query is None:
        return None
    return lambda row: _is_true(run_query(query, row, "--until-match"))


def _is_true(value: Any) -> bool:
    # In JMESPath only these values are false; every number is true.
    return not (value is None or value is False or value in ("", [], {}))


def _parse_optional_duration(text: str | None) -> float | None:
    return None if text is None else parse_duration(text)
