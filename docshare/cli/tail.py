"""``docshare events tail``: options, where to begin, and what is done with each row."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli import cursors
from docshare.cli.arguments import FILE_HELP, FileNames
from docshare.cli.beginning import NOW, Beginning, account_of, saved_cursor
from docshare.cli.context import Context, current
from docshare.cli.cursors import Cursor, CursorFile, Home
from docshare.cli.durations import duration_option
from docshare.cli.exits import ExitCode, Stop
from docshare.cli.feed import (
    TYPES_HELP,
    Choice,
    Row,
    allowed_streams,
    checked_file,
    chosen_streams,
    feed_spec,
    parse_until,
)
from docshare.cli.following import Follower, Limits, Rhythm, Sink
from docshare.cli.output import Emitter, compiled_query, run_query
from docshare.cli.text import seconds

if TYPE_CHECKING:
    from docshare.client import Client

_INTERVAL = 2.0  # seconds; for one or two streams
_INTERVAL_OF_THREE = 4.0  # every 2 s they would use three quarters of the rate limit
_BACKLOG_ON_TERMINAL = 10
_LONGEST_EXEC_BACKOFF = 30.0  # seconds


def tail(
    types: Annotated[str, typer.Option("--type", metavar="TYPE", help=TYPES_HELP)] = "view",
    file: Annotated[str | None, typer.Option("--file", metavar="FILE", help=f"Only this file: {FILE_HELP}")] = None,
    require_all: Annotated[bool, typer.Option("--require-all", help="Fail if --type all means fewer.")] = False,
    backlog: Annotated[
        int | None,
        typer.Option("--backlog", "-n", min=0, metavar="N", help="First show the last N rows (10 on a terminal)."),
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="start|now|ID", help="Begin here, not at the saved cursor or now.")
    ] = None,
    cursor: Annotated[str | None, typer.Option(metavar="NAME", help="Go on where this cursor is, and keep it.")] = None,
    cursor_file: Annotated[Path | None, typer.Option(metavar="P", help="The same with a file of yours.")] = None,
    no_cursor: Annotated[bool, typer.Option("--no-cursor", help="Keep no cursor (the default).")] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Forget what the cursor says.")] = False,
    once: Annotated[bool, typer.Option("--once", help="Show what is new and end.")] = False,
    count: Annotated[int | None, typer.Option(min=1, metavar="N", help="End after N rows.")] = None,
    until_match: Annotated[
        str | None, typer.Option(metavar="EXPR", help="End with the first row for which this JMESPath is true.")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="End at 18:30, on a date, or in 2h.")] = None,
    timeout: Annotated[
        str | None, duration_option("End after this time: code 124 if --count or --until-match is unmet.")
    ] = None,
    idle: Annotated[str | None, duration_option("End after so long without a row.")] = None,
    interval: Annotated[
        str | None, duration_option("Poll this often (2s; 4s for three streams); slower while quiet.")
    ] = None,
    overlap: Annotated[
        int, typer.Option(min=0, max=cursors.REMEMBERED, metavar="K", help="Read the last K ids again for late rows.")
    ] = 0,
    execute: Annotated[
        str | None, typer.Option("--exec", metavar="CMD", help="Run this for each row, with the row as JSON on stdin.")
    ] = None,
    exec_retries: Annotated[int, typer.Option(min=0, metavar="N", help="Run it again up to N times if it fails.")] = 0,
    heartbeat: Annotated[
        str, duration_option("A sign of life on stderr when that is no terminal; 0 for none.")
    ] = "60s",
    give_up_after: Annotated[str, duration_option("End with code 11 after failing for so long.")] = "10m",
) -> ExitCode:
    """Follow views, downloads and gate answers as they happen.

    With --cursor NAME the position is kept: the next tail with that name goes on where this one ended. It is saved
    after the rows are out, so that after a crash rows may come twice but never get lost; a cursor is refused for
    another server, account, stream or file.

    With --exec a row counts as read once the command ended with 0; the row is printed then, and what the command
    prints goes to stderr. The command is run without a shell.

    A pipe gets tab-separated type, id, readAt, fileUuid, fileName, country, pagesViewed, timeMs, fields; --json one
    line of JSON per row.

    Examples:

      docshare events tail
      docshare events tail --type all --cursor crm --once --json
      docshare events tail --type download --file @last --until-match 'country == `"DE"`' --timeout 1h
      docshare events tail --cursor mail --exec 'notify-me --stdin'
    """
    ctx = current()
    plan = _Plan(
        choice=chosen_streams(types),
        file=file,
        require_all=require_all,
        backlog=backlog if backlog is not None else _BACKLOG_ON_TERMINAL if ctx.stdout_tty else 0,
        start=start,
        keeper=_keeper(ctx, cursor, cursor_file, no_cursor=no_cursor, reset=reset),
        reset=reset,
        interval=_seconds(interval),
        heartbeat=seconds(heartbeat),
        overlap=overlap,
        command=_command(execute),
        exec_retries=exec_retries,
    )
    limits = Limits(
        once=once,
        count=count,
        matches=_matcher(until_match),
        until=None if until is None else parse_until(until, ctx.now()),
        timeout=_seconds(timeout),
        idle=_seconds(idle),
        give_up_after=seconds(give_up_after),
    )
    return _Tail(ctx, plan, limits).run()


@dataclass(frozen=True)
class _Plan:
    """What was asked for, checked. Times in seconds; ``keeper``: the cursor file, if one is kept."""

    choice: Choice
    file: str | None
    require_all: bool
    backlog: int
    start: str | None
    keeper: CursorFile | None
    reset: bool
    interval: float | None
    heartbeat: float
    overlap: int
    command: list[str]
    exec_retries: int


class _Tail:
    def __init__(self, context: Context, plan: _Plan, limits: Limits) -> None:
        self._ctx = context
        self._plan = plan
        self._limits = limits
        self._printer: Emitter = context.emitter(feed_spec(several=len(plan.choice.streams) > 1))

    def run(self) -> ExitCode:
        with ExitStack() as held:
            client = held.enter_context(self._ctx.client())
            if self._plan.keeper is not None:
                held.enter_context(self._plan.keeper.held())
            home, streams = self._home(client)
            cursor = self._begin(client, home, streams)
            # Once begun, the loop waits by itself, so that its limits hold and a failure is told once.
            poller = client if self._limits.once else held.enter_context(client.fork(retries=0))
            rhythm = Rhythm(self._interval(streams), self._plan.heartbeat, self._plan.overlap)
            sink = Sink(self._hand_over, self._save, each_row=bool(self._plan.command))
            return Follower(self._ctx, poller, streams, cursor, rhythm, self._limits, sink).run()

    def _home(self, client: "Client") -> tuple[Home, tuple[str, ...]]:
        """Where the cursor belongs, and which of its streams can be read now."""
        plan = self._plan
        file = checked_file(self._ctx, client, FileNames(self._ctx, client), plan.file)
        streams = allowed_streams(self._ctx, client, plan.choice, require_all=plan.require_all)
        account = None if plan.keeper is None else account_of(client)
        return Home(client.origin, plan.choice.streams, account, file), streams

    def _begin(self, client: "Client", home: Home, streams: tuple[str, ...]) -> Cursor:
        """The position to go on from, after the rows before it were shown."""
        plan = self._plan
        saved = None if plan.keeper is None or plan.reset else saved_cursor(plan.keeper, home)
        fresh = plan.start == NOW or (plan.start is None and saved is None)
        beginning = Beginning(client, home, streams, plan.overlap, plan.backlog if fresh else 0)
        if saved is not None and plan.start is None:
            cursor = beginning.completed(saved)
        else:
            cursor = beginning.at(plan.start or NOW)
        for row in beginning.backlog():
            self._printer.row(row)
        if cursor != saved:
            self._save(cursor)
        return cursor

    def _interval(self, streams: tuple[str, ...]) -> float:
        usual = _INTERVAL if len(streams) < len(self._plan.choice.streams) or len(streams) < 3 else _INTERVAL_OF_THREE
        return usual if self._plan.interval is None else self._plan.interval

    def _save(self, cursor: Cursor) -> None:
        if self._plan.keeper is not None:
            self._plan.keeper.save(cursor, self._ctx.now())

    def _hand_over(self, row: Row) -> None:
        if self._plan.command:
            self._execute(row)
        self._printer.row(row)

    def _execute(self, row: Row) -> None:
        """Run the command until it ends with 0. Stop (12) if it never does: the cursor then stays before the row."""
        status = 0
        for attempt in range(self._plan.exec_retries + 1):
            if attempt:
                self._ctx.sleep(min(2.0 ** (attempt - 1), _LONGEST_EXEC_BACKOFF))
            status = _exit_status(self._plan.command, row)
            if status == 0:
                return
        raise Stop(
            ExitCode.PARTIAL,
            f"--exec ended with {status} for row {row['id']} of the {row['type']} stream",
            hint="The row counts as not read: a cursor stays before it.",
        )


def _exit_status(command: list[str], row: Row) -> int:
    import subprocess

    try:
        # Standard output carries rows only, so what the command prints goes to standard error (descriptor 2).
        return subprocess.run(command, input=json.dumps(row).encode() + b"\n", stdout=2, check=False).returncode
    except OSError as error:
        raise Stop(ExitCode.USAGE, f"--exec: cannot run {command[0]}: {error.strerror or error}") from error


def _command(text: str | None) -> list[str]:
    if text is None:
        return []
    import shlex

    try:
        words = shlex.split(text)
    except ValueError as error:
        raise Stop(ExitCode.USAGE, f"--exec: {error}") from None
    if not words:
        raise Stop(ExitCode.USAGE, "--exec names no command")
    return words


def _keeper(ctx: Context, name: str | None, file: Path | None, *, no_cursor: bool, reset: bool) -> CursorFile | None:
    if sum((name is not None, file is not None, no_cursor)) > 1:
        raise Stop(ExitCode.USAGE, "--cursor, --cursor-file and --no-cursor exclude each other")
    if name is not None:
        return cursors.named(ctx, name)
    if file is not None:
        return CursorFile(file, f"the cursor file {file}")
    if reset:
        raise Stop(ExitCode.USAGE, "--reset needs --cursor or --cursor-file")
    return None


def _matcher(text: str | None) -> Callable[[Row], bool] | None:
    query = compiled_query(text, "--until-match")
    if query is None:
        return None
    return lambda row: _is_true(run_query(query, row, "--until-match"))


def _is_true(value: Any) -> bool:
    # The truth of JMESPath: only these are false, and every number is true.
    return not (value is None or value is False or value in ("", [], {}))


def _seconds(text: str | None) -> float | None:
    return None if text is None else seconds(text)
