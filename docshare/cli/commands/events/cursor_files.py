"""Cursor files: how far a reader of the feed got, kept so that no row is lost and no stream is mistaken for another.

A cursor means something in one stream of one account on one server only; elsewhere it silently selects the wrong rows.
So the file says where it belongs, and whoever uses it elsewhere is refused.
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
from docshare.contract.wire import instant

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

VERSION = 1
ACTIVITY_FEED = "activity"
FEEDS = {**STREAMS, ACTIVITY_FEED: ACTIVITY}  # everything that a cursor can be a position in
MAX_RECENT_IDS = 100  # ids per stream that are kept to recognise rows seen before
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", re.ASCII)


class CursorBinding(NamedTuple):
    """Where a cursor belongs. ``account`` and ``file`` are UUIDs; None: not known, and every file. ``kinds``: what is
    shown of the activity feed, everything if empty."""

    origin: str
    streams: tuple[str, ...]
    account: str | None = None
    file: str | None = None
    kinds: tuple[str, ...] = ()

    def difference(self, other: "CursorBinding") -> str | None:
        """What makes a cursor of this home unusable in ``other``, or None."""
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
    """``at``: the last id read of each stream (None: nothing yet); ``recent``: ids read lately, ascending."""

    home: CursorBinding
    at: Mapping[str, int | None] = MappingProxyType({})
    recent: Mapping[str, tuple[int, ...]] = MappingProxyType({})
    updated: str = ""

    def moved(self, stream: str, id: int) -> "Cursor":
        """The cursor after the row ``id`` of ``stream`` was read."""
        at = max(id, self.at.get(stream) or 0)
        recent = tuple(sorted({*self.recent.get(stream, ()), id}))[-MAX_RECENT_IDS:]
        return self._replace(at={**self.at, stream: at}, recent={**self.recent, stream: recent})

    def to_json(self) -> dict[str, Any]:
        """The content of the file. A cursor of one stream is a plain number, of several an object by stream."""
        home = self.home
        one = home.streams[0] if len(home.streams) == 1 else None
        return {
            "v": VERSION,
            "origin": home.origin,
            "account": home.account,
            "stream": ",".join(home.streams),
            "file": home.file,
            **({"kinds": list(home.kinds)} if home.kinds else {}),
            "cursor": self.at.get(one) if one else dict(self.at),
            "recent": list(self.recent.get(one, ())) if one else {key: list(ids) for key, ids in self.recent.items()},
            "updatedAt": self.updated,
        }


class CursorFile:
    """One cursor file. Errors name it as ``label``."""

    def __init__(self, path: Path, label: str) -> None:
        self.path = path
        self.label = label

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep every other process away from the file; Stop (7) that names the process which has it."""
        lock = self.path.with_name(f".{self.path.name}.lock")
        with hold_lock(lock, wait=False) as mine:
            if not mine:
                raise Stop(ExitCode.CONFLICT, f"{self.label} is in use{_describe_holder(lock)}")
            lock.write_text(f"{os.getpid()}\n")
            yield

    def load(self) -> Cursor | None:
        """The saved cursor; None if there is none yet. Stop (2) if the file is no cursor file."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeError) as error:
            raise self.refusal(f"cannot be read: {error}") from error
        try:
            return _parse_cursor(json.loads(text))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self.refusal("is no cursor file") from None

    def save(self, cursor: Cursor, now: int) -> None:
        """Replace the file as a whole; ``now`` in milliseconds since 1970."""
        values = cursor._replace(updated=instant(now)).to_json()
        replace_file(self.path, json.dumps(values) + "\n", private=True)

    def remove(self) -> None:
        """Forget the cursor, if there is one."""
        with suppress(FileNotFoundError):
            self.path.unlink()

    def refusal(self, why: str) -> Stop:
        """The Stop (2) about this file."""
        return Stop(ExitCode.USAGE, f"{self.label} {why}", hint="Use another one, or --reset to forget what it says.")


def _describe_holder(lock: Path) -> str:
    with suppress(OSError, ValueError):
        return f" by process {int(lock.read_text())}"
    return ""


def _parse_cursor(values: Any) -> Cursor:
    if values["v"] != VERSION:
        raise ValueError("a cursor of another version")
    streams = tuple(str(values["stream"]).split(","))
    one = len(streams) == 1
    at = {streams[0]: values["cursor"]} if one else values["cursor"]
    recent = {streams[0]: values["recent"]} if one else values["recent"]
    if not set(streams) <= FEEDS.keys() or not set(at) <= set(streams) or not all(map(_is_position, at.values())):
        raise ValueError("a cursor of no stream")
    kinds = tuple(str(kind) for kind in values.get("kinds", ()))
    home = CursorBinding(str(values["origin"]), streams, values["account"], values["file"], kinds)
    ids = {key: tuple(int(id) for id in ids) for key, ids in recent.items()}
    return Cursor(home, at, ids, str(values["updatedAt"]))


def _is_position(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def find_stream_out_of_range(cursor: Mapping[str, int | None]) -> str | None:
    """The stream in which a cursor is greater than the server keeps it (it would be clamped silently), or None."""
    return next((name for name, at in cursor.items() if at is not None and at > FEEDS[name].largest), None)


def cursors_dir(context: "Context") -> Path:
    """Where named cursors are kept."""
    return context.state_dir / "cursors"


def open_cursor_file(context: "Context", name: str) -> CursorFile:
    """The file of a named cursor; Stop (2) for a name that is none."""
    if not _NAME.fullmatch(name):
        raise Stop(ExitCode.USAGE, f"{name!r} is no cursor name", hint="Use letters, digits, '-', '_' and '.'.")
    return CursorFile(cursors_dir(context) / f"{name}.json", f"the cursor {name!r}")


def list_names(context: "Context") -> list[str]:
    """The names of all named cursors, sorted."""
    return sorted(path.stem for path in cursors_dir(context).glob("[!.]*.json"))
