"""Cursor files, which store the position in a feed.

A cursor is valid for one stream of one account on one server; elsewhere it would silently select the wrong rows. So
the file records its binding, and using it for another one is an error.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local.storage import hold_lock, replace_file
from docshare.contract.streams import ACTIVITY, STREAMS
from docshare.contract.wire import format_instant

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

VERSION = 1
ACTIVITY_FEED = "activity"
FEEDS = {**STREAMS, ACTIVITY_FEED: ACTIVITY}  # everything that a cursor can be a position in
MAX_RECENT_IDS = 100  # ids per stream, to recognize rows that were already seen
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", re.ASCII)


class CursorBinding(NamedTuple):
    """The scope of a cursor. ``account`` and ``file`` are UUIDs; None means an unknown account and all files.
    ``kinds`` are the kinds of the activity feed, or all if empty."""

    origin: str
    streams: tuple[str, ...]
    account: str | None = None
    file: str | None = None
    kinds: tuple[str, ...] = ()

    def find_difference(self, other: "CursorBinding") -> str | None:
        """Return why a cursor with this binding cannot be used for ``other``, or None."""
        if self.origin != other.origin:
            return f"it belongs to {self.origin}, not to {other.origin}"
        if self.streams != other.streams:
            return f"it is for the stream {','.join(self.streams)}, not for {','.join(other.streams)}"
        if self.file != other.file:
            return f"it is for {_describe_file(self.file)}, not for {_describe_file(other.file)}"
        if self.kinds != other.kinds:
            return f"it is for {_describe_kinds(self.kinds)}, not for {_describe_kinds(other.kinds)}"
        if None not in (self.account, other.account) and self.account != other.account:
            return f"it belongs to the account {self.account}, not to {other.account}"
        return None


def _describe_file(file: str | None) -> str:
    return "all files" if file is None else f"the file {file}"


def _describe_kinds(kinds: tuple[str, ...]) -> str:
    return ",".join(kinds) or "all kinds"


class Cursor(NamedTuple):
    """``at`` is the last id read of each stream (None: nothing yet); ``recent`` are recently read ids, ascending."""

    binding: CursorBinding
    at: Mapping[str, int | None] = MappingProxyType({})
    recent: Mapping[str, tuple[int, ...]] = MappingProxyType({})
    updated: str = ""

    def advance(self, stream: str, id: int) -> "Cursor":
        """Return the cursor after the row ``id`` of ``stream``."""
        at = max(id, self.at.get(stream) or 0)
        recent = tuple(sorted({*self.recent.get(stream, ()), id}))[-MAX_RECENT_IDS:]
        return self._replace(at={**self.at, stream: at}, recent={**self.recent, stream: recent})

    def to_json(self) -> dict[str, Any]:
        """Return the content of the file. The cursor is a number for one stream and an object for several."""
        binding = self.binding
        one = binding.streams[0] if len(binding.streams) == 1 else None
        return {
            "v": VERSION,
            "origin": binding.origin,
            "account": binding.account,
            "stream": ",".join(binding.streams),
            "file": binding.file,
            **({"kinds": list(binding.kinds)} if binding.kinds else {}),
            "cursor": self.at.get(one) if one else dict(self.at),
            "recent": list(self.recent.get(one, ())) if one else {key: list(ids) for key, ids in self.recent.items()},
            "updatedAt": self.updated,
        }


class CursorFile:
    """One cursor file, called ``label`` in errors."""

    def __init__(self, path: Path, label: str) -> None:
        self.path = path
        self.label = label

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the file. Raise Stop (7), naming the process that holds the lock, if it is in use."""
        lock = self.path.with_name(f".{self.path.name}.lock")
        with hold_lock(lock, wait=False) as mine:
            if not mine:
                raise Stop(ExitCode.CONFLICT, f"{self.label} is in use{_describe_holder(lock)}")
            lock.write_text(f"{os.getpid()}\n")
            yield

    def load(self) -> Cursor | None:
        """Return the saved cursor, or None if there is no file. Raise Stop (2) if it is not a cursor file."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeError) as error:
            raise self.make_stop(f"cannot be read: {error}") from error
        try:
            return _parse_cursor(json.loads(text))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self.make_stop("is not a cursor file") from None

    def save(self, cursor: Cursor, now: int) -> None:
        """Replace the file atomically. ``now`` is in milliseconds since 1970."""
        values = cursor._replace(updated=format_instant(now)).to_json()
        replace_file(self.path, json.dumps(values) + "\n", private=True)

    def remove(self) -> None:
        """Delete the cursor, if it exists."""
        with suppress(FileNotFoundError):
            self.path.unlink()

    def make_stop(self, why: str) -> Stop:
        """Return a Stop (2) about this file."""
        return Stop(
            ExitCode.USAGE, f"{self.label} {why}", hint="Use another cursor, or --reset to discard its position."
        )


def _describe_holder(lock: Path) -> str:
    with suppress(OSError, ValueError):
        return f" by process {int(lock.read_text())}"
    return ""


def _parse_cursor(values: Any) -> Cursor:
    if values["v"] != VERSION:
        raise ValueError("unsupported version")
    streams = tuple(str(values["stream"]).split(","))
    one = len(streams) == 1
    at = {streams[0]: values["cursor"]} if one else values["cursor"]
    recent = {streams[0]: values["recent"]} if one else values["recent"]
    if not set(streams) <= FEEDS.keys() or not set(at) <= set(streams) or not all(map(_is_position, at.values())):
        raise ValueError("unknown stream or invalid position")
    kinds = tuple(str(kind) for kind in values.get("kinds", ()))
    binding = CursorBinding(str(values["origin"]), streams, values["account"], values["file"], kinds)
    ids = {key: tuple(int(id) for id in ids) for key, ids in recent.items()}
    return Cursor(binding, at, ids, str(values["updatedAt"]))


def _is_position(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def find_stream_out_of_range(cursor: Mapping[str, int | None]) -> str | None:
    """Return the first stream whose id exceeds the maximum, which the server would silently clamp, or None."""
    return next((name for name, at in cursor.items() if at is not None and at > FEEDS[name].max_cursor), None)


def cursors_dir(context: "Context") -> Path:
    """Return the directory of the named cursors."""
    return context.state_dir / "cursors"


def open_cursor_file(context: "Context", name: str) -> CursorFile:
    """Return the file of a named cursor. Raise Stop (2) for an invalid name."""
    if not _NAME.fullmatch(name):
        raise Stop(
            ExitCode.USAGE, f"{name!r} is not a valid cursor name", hint="Use letters, digits, '-', '_', and '.'."
        )
    return CursorFile(cursors_dir(context) / f"{name}.json", f"the cursor {name!r}")


def list_names(context: "Context") -> list[str]:
    """Return the names of all cursors, sorted."""
    return sorted(path.stem for path in cursors_dir(context).glob("[!.]*.json"))
