"""Shared by listing and following a feed: the choice of streams, and the order of rows."""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from docshare.cli.commands.events.cursor_files import ACTIVITY_FEED
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.options import split_words
from docshare.client.errors import Refused
from docshare.contract.streams import DEFAULT_STREAM, STREAMS
from docshare.contract.wire import parse_instant

if TYPE_CHECKING:
    from docshare.cli.framework.arguments import FileResolver
    from docshare.cli.framework.context import Context
    from docshare.client import Client
    from docshare.client.paging import Feed

Row = Mapping[str, Any]

TYPES_HELP = "view, download, gate [Pro], comma-separated; all (these three); or activity (every kind of event)."
KINDS_HELP = "With --type activity: only these kinds, such as note.created, comma-separated."
ALL = "all"


class StreamSelection(NamedTuple):
    """The ``streams`` in the order of the API. ``is_all``: the user chose --type all; ``kinds``: the kinds to show of
    the activity feed, or all if empty; ``uses_gate_endpoint``: fetch gate rows from the gate-responses endpoint."""

    streams: tuple[str, ...]
    is_all: bool = False
    kinds: tuple[str, ...] = ()
    uses_gate_endpoint: bool = False

    def open_feeds(self, client: "Client", streams: Iterable[str]) -> "dict[str, Feed[Any]]":
        """Return the feed of each of ``streams``."""
        return {stream: self._open_feed(client, stream) for stream in streams}

    def _open_feed(self, client: "Client", stream: str) -> "Feed[Any]":
        if stream == ACTIVITY_FEED:
            return client.activity.feed(self.kinds)
        return client.events.gate_responses() if self.uses_gate_endpoint else client.events.stream(stream)


GATE_RESPONSES = StreamSelection(("gate",), uses_gate_endpoint=True)


def choose_streams(types: Sequence[str] | None, kinds: Sequence[str] | None = None) -> StreamSelection:
    """Parse ``--type`` and ``--kind``. Raise Stop (2) for an unknown value or an invalid combination."""
    words = split_words(types) or [DEFAULT_STREAM]
    if kinds and words != [ACTIVITY_FEED]:
        raise Stop(ExitCode.USAGE, "--kind requires --type activity", hint="Each other stream has a single kind.")
    if words == [ACTIVITY_FEED]:
        return StreamSelection((ACTIVITY_FEED,), kinds=_parse_kinds(kinds))
    if ACTIVITY_FEED in words:
        raise Stop(
            ExitCode.USAGE, "--type activity and other types cannot be used together", hint="It includes their events."
        )
    if words == [ALL]:
        return StreamSelection(tuple(STREAMS), is_all=True)
    unknown = [word for word in words if word not in STREAMS]
    if unknown:
        raise Stop(ExitCode.USAGE, f"--type: unknown stream: {', '.join(unknown)}", hint=f"Use {TYPES_HELP}")
    return StreamSelection(tuple(name for name in STREAMS if name in words))


def _parse_kinds(given: Sequence[str] | None) -> tuple[str, ...]:
    if not given:
        return ()
    from docshare.contract.webhooks import ACTIVITY_KINDS  # imported here because views do not need it

    words = split_words(given)
    unknown = [word for word in words if word not in ACTIVITY_KINDS]
    if unknown:
        raise Stop(
            ExitCode.USAGE, f"--kind: unknown kind: {', '.join(unknown)}", hint=f"Kinds: {', '.join(ACTIVITY_KINDS)}."
        )
    return tuple(kind for kind in ACTIVITY_KINDS if kind in words)


def filter_allowed_streams(
    context: "Context", client: "Client", choice: StreamSelection, *, require_all: bool
) -> tuple[str, ...]:
    """Return the chosen streams. For ``all``, skip those that the plan does not include and print a note.

    Raise ``Refused`` (plan_required) if such a stream was named or ``require_all`` is set, and Stop (3) if the server
    has no activity feed.
    """
    if choice.streams == (ACTIVITY_FEED,):
        _require_activity(client)
        return choice.streams
    kept = []
    for name in choice.streams:
        try:
            if choice.is_all and STREAMS[name].plan > min(stream.plan for stream in STREAMS.values()):
                client.events.page(name, None, 1)
            kept.append(name)
        except Refused as refusal:
            if refusal.code != "plan_required" or require_all:
                raise
            context.note(f"skipping the {name} stream: {refusal.detail}")
    return tuple(kept)


def _require_activity(client: "Client") -> None:
    try:
        client.activity.page(None, 1)
    except Refused as refusal:
        if refusal.status != 404:
            raise
        hint = "Use --type all for views, downloads, and gate responses."
        raise Stop(ExitCode.NOT_FOUND, f"{client.origin} has no activity feed", hint=hint) from refusal


def resolve_file(context: "Context", client: "Client", names: "FileResolver", word: str | None) -> str | None:
    """Return the UUID for ``--file``.

    The feed of an unknown file is empty, so the file is looked up first to detect typos. If the credential lacks the
    scope for that, the name is used unchecked.
    """
    if word is None:
        return None
    name = names.resolve(word)
    try:
        return str(client.files.show(name)["uuid"])
    except Refused as refusal:
        if refusal.code != "insufficient_scope":
            raise
        context.note(f"cannot check that {name} exists: {refusal.detail}")
        return name


def stream_of(row: Mapping[str, Any]) -> str:
    """Return the stream of the row; rows of the activity feed have no ``type``."""
    return str(row.get("type", ACTIVITY_FEED))


def moment_of(row: Mapping[str, Any]) -> int | None:
    """Return ``readAt``, or ``timestamp`` for activity, in milliseconds; None if the row has neither."""
    return parse_instant(str(row.get("readAt", row.get("timestamp", ""))))


def merge_by_time(streams: Sequence[Iterable[Row]]) -> Iterator[Row]:
    """Merge the rows of several streams by time, keeping the order within each stream.

    A view becomes a row when its session ends, so ``readAt`` may decrease within a stream or be missing. Such a row
    follows its predecessor.
    """
    return heapq.merge(*streams, key=lambda row: moment_of(row) or 0)
