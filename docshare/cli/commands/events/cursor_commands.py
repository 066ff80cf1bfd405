"""``docshare events cursor``: show, move and delete the named cursors of ``events tail``."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from docshare.cli.commands.events import cursor_files
from docshare.cli.commands.events.cursor_files import Cursor, CursorBinding, CursorFile
from docshare.cli.commands.events.selection import KINDS_HELP, StreamSelection, choose_streams, resolve_file
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import DryRun, preview_changes
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.output import Column, Spec

app = App("List, show, set, and reset the cursors of events tail.")

_NAME_HELP = "Name of a cursor of events tail."


def _format_position(row: Mapping[str, Any]) -> str:
    at = row["cursor"]
    if isinstance(at, Mapping):
        return " ".join(f"{stream}:{_format_id(id)}" for stream, id in at.items())
    return _format_id(at)


def _format_id(at: int | None) -> str:
    return "start" if at is None else str(at)


_COLUMNS = (
    Column("name", "NAME", role="bold"),
    Column("stream", "STREAM"),
    Column("file", "FILE", rank=3),
    Column("cursor", "CURSOR", role="id", show=_format_position),
    Column("updatedAt", "UPDATED", kind="when", rank=1),
    Column("origin", "SERVER", rank=2),
)
_PLAIN = ("name", "stream", "file", "cursor", "updatedAt", "origin")
_SPEC = Spec(table=_COLUMNS, plain=_PLAIN, fields=("v", "account", "recent"), id="name", empty="no cursors")


def _build_row(name: str, cursor: Cursor) -> dict[str, Any]:
    return {"name": name, **cursor.to_json()}


@app.command("list", spec=_SPEC)
def list_cursors() -> None:
    """List the named cursors.

    Examples:

      docshare events cursor list
    """
    ctx = current_context()
    printer = ctx.emitter(_SPEC)
    rows = []
    for name in cursor_files.list_names(ctx):
        try:
            cursor = cursor_files.open_cursor_file(ctx, name).load()
        except Stop as refusal:
            ctx.warn(refusal.detail)
            continue
        if cursor is not None:
            rows.append(_build_row(name, cursor))
    printer.emit(rows)


@app.command("show", spec=_SPEC)
def show(name: Annotated[str, typer.Argument(metavar="NAME", help=_NAME_HELP)]) -> None:
    """Show one cursor.

    Examples:

      docshare events cursor show nightly --json
    """
    ctx = current_context()
    printer = ctx.emitter(_SPEC)
    printer.emit(_build_row(name, _require_cursor(cursor_files.open_cursor_file(ctx, name))))


@app.command("set")
def set_cursor(
    name: Annotated[str, typer.Argument(metavar="NAME", help=_NAME_HELP)],
    position: Annotated[str, typer.Argument(metavar="start|now|ID", help="Position from which the next tail resumes.")],
    types: Annotated[
        list[str] | None, typer.Option("--type", metavar="TYPE", help="Stream of a new cursor. The default is view.")
    ] = None,
    kinds: Annotated[
        list[str] | None, typer.Option("--kind", metavar="EVENT", help=f"Kinds of a new cursor. {KINDS_HELP}")
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", metavar="FILE", help=f"File of a new cursor: {FILE_HELP}")
    ] = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Create or move a cursor.

    The next tail that uses the cursor prints the rows after the given id; start selects all rows, now only later ones.
    If the cursor has several streams, --type selects the stream of the id.

    Examples:

      docshare events cursor set nightly start
      docshare events cursor set leads 5123 --type gate
    """
    ctx = current_context()
    target = cursor_files.open_cursor_file(ctx, name)
    if dry_run:
        return preview_changes(
            ctx, ("WRITE", target.path, _build_cursor(ctx, target, position, types, kinds, file).to_json())
        )
    with target.lock():
        cursor = _build_cursor(ctx, target, position, types, kinds, file)
        target.save(cursor, ctx.now())
    ctx.note(f"{name}: {_format_position(cursor.to_json())}")
    return ExitCode.OK


def _build_cursor(
    ctx: Context,
    target: CursorFile,
    position: str,
    types: Sequence[str] | None,
    kinds: Sequence[str] | None,
    file: str | None,
) -> Cursor:
    """Return the new or moved cursor."""
    cursor = target.load()
    if cursor is None:
        cursor = Cursor(_build_binding(ctx, choose_streams(types, kinds), file))
    elif file is not None or kinds:
        fixed = "file" if file is not None else "choice of kinds"
        raise Stop(ExitCode.USAGE, f"{target.label} already exists; its {fixed} cannot be changed")
    moved = dict(_list_positions(ctx, cursor, position, types))
    return cursor._replace(at={**cursor.at, **moved}, recent={**cursor.recent, **dict.fromkeys(moved, ())})


@app.command("reset")
def reset(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help=_NAME_HELP)],
    dry_run: DryRun = False,
) -> ExitCode:
    """Delete cursors.

    Examples:

      docshare events cursor reset nightly
    """
    ctx = current_context()
    targets = [cursor_files.open_cursor_file(ctx, name) for name in names]
    if dry_run:
        return preview_changes(ctx, *(("DELETE", target.path, {}) for target in targets if target.load() is not None))
    for target in targets:
        with target.lock():
            target.remove()
    return ExitCode.OK


def _require_cursor(target: CursorFile) -> Cursor:
    cursor = target.load()
    if cursor is None:
        raise Stop(ExitCode.NOT_FOUND, f"{target.label} does not exist", hint="See: docshare events cursor list")
    return cursor


def _build_binding(ctx: Context, choice: StreamSelection, file: str | None) -> CursorBinding:
    uuid = None
    if file is not None:
        client = ctx.client()
        uuid = resolve_file(ctx, client, FileResolver(ctx, client), file)
    return CursorBinding(ctx.connection.origin, choice.streams, file=uuid, kinds=choice.kinds)


def _list_positions(
    ctx: Context, cursor: Cursor, position: str, types: Sequence[str] | None
) -> Iterator[tuple[str, int | None]]:
    """Yield the new position of each stream to which ``position`` applies."""
    streams = cursor.binding.streams if not types else choose_streams(types).streams
    unknown = set(streams) - set(cursor.binding.streams)
    if unknown:
        raise Stop(
            ExitCode.USAGE, f"this cursor is for {','.join(cursor.binding.streams)}, not for {','.join(unknown)}"
        )
    for stream in streams:
        yield stream, _resolve_position(ctx, cursor.binding, stream, position, alone=len(streams) == 1)


def _resolve_position(ctx: Context, binding: CursorBinding, stream: str, position: str, *, alone: bool) -> int | None:
    if position == "start":
        return None
    if position == "now":
        feed = StreamSelection(binding.streams, kinds=binding.kinds).open_feeds(ctx.client(), (stream,))[stream]
        newest = feed.newest(1, binding.file)
        return int(newest[0]["id"]) if newest else None
    if not (position.isascii() and position.isdigit()):
        raise Stop(ExitCode.USAGE, f"{position!r} is not start, now, or an id")
    if not alone:
        raise Stop(ExitCode.USAGE, "an id requires a single stream", hint="Select it with --type.")
    at = int(position)
    if cursor_files.find_stream_out_of_range({stream: at}):
        raise Stop(ExitCode.USAGE, f"id {at} is out of range for the {stream} stream")
    return at or None
