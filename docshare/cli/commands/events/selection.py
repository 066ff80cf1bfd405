"""What listing and following a feed share: the choice of streams, moments as they are typed, and the order of rows."""

import heapq
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from docshare.cli.commands.events.cursor_files import ACTIVITY_FEED
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.text import parse_duration
from docshare.client.errors import Refused
from docshare.contract.streams import STREAMS
from docshare.contract.wire import parse_instant

if TYPE_CHECKING:
    from docshare.cli.framework.arguments import FileResolver
    from docshare.cli.framework.context import Context
    from docshare.client import Client
    from docshare.client.walking import Feed

Row = dict[str, Any]

TYPES_HELP = "view, download, gate [Pro], several with commas, all (three), or activity (every kind of event)."
KINDS_HELP = "With --type activity: only these kinds, such as note.created, several with commas."
ALL = "all"
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


class StreamSelection(NamedTuple):
    """The ``streams`` in the order of the specification; ``all``: they were not named one by one; ``kinds``: what is
    wanted of the activity feed, everything if empty; ``aliased``: gate rows come from the address of their own."""

    streams: tuple[str, ...]
    all: bool = False
    kinds: tuple[str, ...] = ()
    aliased: bool = False

    def feeds(self, client: "Client", streams: Iterable[str]) -> "dict[str, Feed]":
        """Where the rows of each of ``streams`` come from."""
        return {stream: self._feed(client, stream) for stream in streams}

    def _feed(self, client: "Client", stream: str) -> "Feed":
        if stream == ACTIVITY_FEED:
            return client.activity.feed(self.kinds)
        return client.events.gate_responses() if self.aliased else client.events.stream(stream)


GATE_RESPONSES = StreamSelection(("gate",), aliased=True)


def choose_streams(text: str, kinds: str | None = None) -> StreamSelection:
    """Read ``--type`` and ``--kind``; Stop (2) for an unknown word, and for what does not go together."""
    words = [word.strip() for word in text.split(",")]
    if kinds is not None and words != [ACTIVITY_FEED]:
        raise Stop(ExitCode.USAGE, "--kind needs --type activity", hint="The other streams hold one kind each.")
    if words == [ACTIVITY_FEED]:
        return StreamSelection((ACTIVITY_FEED,), kinds=_parse_kinds(kinds))
    if ACTIVITY_FEED in words:
        raise Stop(ExitCode.USAGE, "--type activity cannot be mixed with others", hint="It holds their events, too.")
    if words == [ALL]:
        return StreamSelection(tuple(STREAMS), all=True)
    strange = [word for word in words if word not in STREAMS]
    if strange:
        raise Stop(ExitCode.USAGE, f"--type: no such stream: {', '.join(strange)}", hint=f"Use {TYPES_HELP}")
    return StreamSelection(tuple(name for name in STREAMS if name in words))


def _parse_kinds(text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    from docshare.contract.webhooks import ACTIVITY_KINDS  # here and elsewhere: views need nothing of it

    words = [word.strip() for word in text.split(",")]
    strange = [word for word in words if word not in ACTIVITY_KINDS]
    if strange:
        raise Stop(
            ExitCode.USAGE, f"--kind: no such kind: {', '.join(strange)}", hint=f"Kinds: {', '.join(ACTIVITY_KINDS)}."
        )
    return tuple(kind for kind in ACTIVITY_KINDS if kind in words)


def filter_allowed_streams(
    context: "Context", client: "Client", choice: StreamSelection, *, require_all: bool
) -> tuple[str, ...]:
    """The streams without those that the plan does not include, if ``all`` were asked for; a note says so once.

    Raises ``Refused`` (plan_required) if such a stream was named, or with ``require_all``; Stop (3) where the server
    keeps no activity feed.
    """
    if choice.streams == (ACTIVITY_FEED,):
        _require_activity(client)
        return choice.streams
    kept = []
    for name in choice.streams:
        try:
            if choice.all and STREAMS[name].plan > min(stream.plan for stream in STREAMS.values()):
                client.events.page(name, None, 1)
            kept.append(name)
        except Refused as refusal:
            if refusal.code != "plan_required" or require_all:
                raise
            context.note(f"without the {name} stream: {refusal.detail}")
    return tuple(kept)


def _require_activity(client: "Client") -> None:
    try:
        client.activity.page(None, 1)
    except Refused as refusal:
        if refusal.status != 404:
            raise
        hint = "Views, downloads and gate answers are there as --type all."
        raise Stop(ExitCode.NOT_FOUND, f"{client.origin} keeps no activity feed", hint=hint) from refusal


def resolve_file(context: "Context", client: "Client", names: "FileResolver", word: str | None) -> str | None:
    """The UUID for ``--file``. The feed has no rows for an unknown id, so it is looked up first: a typo must not look
    like silence. A credential that may not look it up (scope) is taken at its word."""
    if word is None:
        return None
    name = names.one(word)
    try:
        return str(client.files.show(name)["uuid"])
    except Refused as refusal:
        if refusal.code != "insufficient_scope":
            raise
        context.note(f"cannot check that {name} exists: {refusal.detail}")
        return name


class Since(NamedTuple):
    """``--since``: an ``id`` of one stream, or a moment in milliseconds since 1970 (``at``)."""

    id: int | None = None
    at: int | None = None


def parse_since(text: str, now: int) -> Since:
    """Read ``5123``, ``2h``, ``2026-11-20`` (here, midnight) or a full datetime; Stop (2) for anything else."""
    if text.isascii() and text.isdigit():
        return Since(id=int(text))
    if _DATE.fullmatch(text):
        text = _to_local_midnight(text)
    moment = parse_instant(text)
    if moment is not None:
        return Since(at=moment)
    try:
        return Since(at=now - int(parse_duration(text) * 1000))
    except ValueError:
        hint = "Use an id such as 5123, a time ago such as 2h, or a date such as 2026-11-20."
        raise Stop(ExitCode.USAGE, f"--since: {text!r} is none of these", hint=hint) from None


def parse_until(text: str, now: int) -> int:
    """Read ``--until``: a date, a datetime, ``18:30`` (the next one) or ``2h`` from now; in milliseconds since 1970."""
    clock = re.fullmatch(r"(\d\d):(\d\d)", text, re.ASCII)
    if clock:
        today = datetime.fromtimestamp(now / 1000).astimezone()
        try:
            moment = today.replace(hour=int(clock[1]), minute=int(clock[2]), second=0, microsecond=0)
        except ValueError:
            raise Stop(ExitCode.USAGE, f"--until: {text!r} is no time of day") from None
        at = int(moment.timestamp() * 1000)
        return at if at > now else at + 86_400_000
    stamp = parse_instant(_to_local_midnight(text) if _DATE.fullmatch(text) else text)
    if stamp is not None:
        return stamp
    try:
        return now + int(parse_duration(text) * 1000)
    except ValueError:
        raise Stop(ExitCode.USAGE, f"--until: {text!r} is neither a date, a time of day nor a duration") from None


def _to_local_midnight(text: str) -> str:
    try:
        return datetime.fromisoformat(text).astimezone().isoformat()
    except ValueError:
        return text


def stream_of(row: Mapping[str, Any]) -> str:
    """The stream whose row this is; rows of the activity feed do not say."""
    return str(row.get("type", ACTIVITY_FEED))


def moment_of(row: Mapping[str, Any]) -> int | None:
    """``readAt``, or the ``timestamp`` of activity, in milliseconds; None for the rare row without it."""
    return parse_instant(str(row.get("readAt", row.get("timestamp", ""))))


def merge_by_time(streams: Sequence[Iterable[Row]]) -> Iterator[Row]:
    """Rows of several streams by time; the order inside a stream stays as it is.

    A view becomes a row when its session ends, so ``readAt`` may go back inside a stream, or be missing: such a row
    comes right after the one before it.
    """
    return heapq.merge(*streams, key=lambda row: moment_of(row) or 0)
