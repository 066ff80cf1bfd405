"""Bridging: turn the feed of a remote server into signed deliveries on this machine.

This needs no inbound connection. A cursor like that of ``events tail`` stores the position.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.events import cursor_files
from docshare.cli.commands.events.cursor_files import ACTIVITY_FEED, Cursor, CursorBinding, CursorFile
from docshare.cli.commands.events.follow import Follower, PollTiming, RowSink, TailLimits
from docshare.cli.commands.events.selection import Row, StreamSelection, filter_allowed_streams, stream_of
from docshare.cli.commands.events.start import NOW, StartResolver, fetch_account_id, load_cursor
from docshare.cli.commands.webhooks.listen.forward import Forwarder, ForwardResult
from docshare.cli.commands.webhooks.listen.output import Journal, ReceivedDelivery
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.client.errors import NotAnApi, Refused
from docshare.contract.signing import sign
from docshare.contract.webhooks import (
    ATTEMPT_HEADER,
    CONTENT_TYPE,
    ENVELOPE_KEYS,
    EVENT_HEADER,
    ID_HEADER,
    KINDS,
    SIGNATURE_HEADER,
    USER_AGENT,
)

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client
    from docshare.client.paging import Feed

BRIDGE_HEADER = "X-Docshare-Bridge"

_KIND_BY_STREAM = {"view": "file.viewed", "download": "file.downloaded", "gate": "gate.completed"}
_EXTRA_KEYS = {"view": ("pagesViewed", "timeMs")}
_RETRY_DELAYS_S = (1.0, 2.0, 4.0, 8.0)  # seconds between the attempts to forward an event


@dataclass(frozen=True)
class BridgeOptions:
    """The events to bridge. ``events`` are kinds, ``file`` a UUID or None, ``cursor`` a name or an empty string for a
    derived one; ``start`` and ``reset`` are those of ``events tail``; ``interval`` is in seconds; ``skip_failed``
    skips events that every receiver rejected."""

    events: tuple[str, ...]
    file: str | None
    cursor: str
    start: str | None
    reset: bool
    interval: float
    heartbeat: float
    skip_failed: bool


class Bridge:
    """Reads the feed of the server of ``client`` and forwards each event, signed with ``secret``."""

    def __init__(
        self,
        context: "Context",
        client: "Client",
        plan: BridgeOptions,
        secret: str,
        journal: Journal,
        forwarder: Forwarder,
    ) -> None:
        self._ctx = context
        self._client = client
        self._plan = plan
        self._secret = secret
        self._journal = journal
        self._forwarder = forwarder

    def run(self, limits: TailLimits) -> ExitCode:
        """Bridge until a limit is reached.

        Raise what ``Follower.run`` raises, and Stop (12) for an event that was rejected.
        """
        with ExitStack() as held:
            choice = self._select_streams()
            streams = filter_allowed_streams(self._ctx, self._client, choice, require_all=False)
            binding = CursorBinding(
                self._client.origin, choice.streams, fetch_account_id(self._client), self._plan.file, choice.kinds
            )
            keeper = cursor_files.open_cursor_file(
                self._ctx, self._plan.cursor or choose_cursor_name(self._ctx, binding)
            )
            held.enter_context(keeper.lock())
            cursor = self._begin(choice.open_feeds(self._client, streams), binding, keeper)
            # The loop retries by itself, so that its limits apply and a failure is reported once.
            poller = held.enter_context(self._client.fork(retries=0))
            rhythm = PollTiming(self._plan.interval, self._plan.heartbeat)
            sink = RowSink(self._forward, lambda now: keeper.save(now, self._ctx.now()), save_each_row=True)
            return Follower(self._ctx, poller, choice.open_feeds(poller, streams), cursor, rhythm, limits, sink).run()

    def _select_streams(self) -> StreamSelection:
        """Return the activity feed, or the three streams if the server has none.

        Raise Stop (3) if the streams contain none of the selected kinds.
        """
        try:
            self._client.activity.page(None, 1)
        except Refused as refusal:
            if refusal.status != 404:
                raise
        else:
            return StreamSelection((ACTIVITY_FEED,), kinds=self._plan.events)
        streams = tuple(stream for stream, kind in _KIND_BY_STREAM.items() if kind in self._plan.events)
        if not streams:
            detail = f"{self._client.origin} has no activity feed, and its other feeds contain none of these events"
            raise Stop(ExitCode.NOT_FOUND, detail)
        self._ctx.warn(
            "this server has no activity feed; only file.viewed, file.downloaded and gate.completed are available, "
            "without sessionId and variant keys, and your own downloads are included"
        )
        return StreamSelection(streams, is_all=True)

    def _begin(self, feeds: "Mapping[str, Feed[Any]]", binding: CursorBinding, keeper: CursorFile) -> Cursor:
        saved = None if self._plan.reset else load_cursor(keeper, binding)
        beginning = StartResolver(feeds, binding, 0, 0)
        if saved is not None and self._plan.start is None:
            cursor = beginning.complete(saved)
            self._ctx.note(f"resuming from {keeper.label}")
        else:
            cursor = beginning.resolve(self._plan.start or NOW)
        if cursor != saved:
            keeper.save(cursor, self._ctx.now())
        return cursor

    def _forward(self, row: Row) -> None:
        """Forward a row, with retries, until every receiver accepts it.

        Raise Stop (12) if all of them still reject it; the cursor then stays before the row.
        """
        waiting = list(self._forwarder.urls)
        for number, pause in enumerate((*_RETRY_DELAYS_S, 0.0), start=1):
            forwards = self._attempt(row, number, waiting)
            waiting = [forward.url for forward in forwards if not forward.is_accepted]
            if not waiting:
                return
            self._ctx.sleep(pause)
        lost = f"{waiting[0]} rejected event {row['id']} in {len(_RETRY_DELAYS_S) + 1} attempts"
        if len(waiting) == len(self._forwarder.urls) and not self._plan.skip_failed:
            hint = "The next run resumes with this event; --skip-failed skips it."
            raise Stop(ExitCode.PARTIAL, lost, hint=hint)
        self._ctx.warn(f"{lost}; skipping it")

    def _attempt(self, row: Row, number: int, urls: list[str]) -> list[ForwardResult]:
        envelope = build_envelope(row)
        body = json.dumps(envelope, ensure_ascii=False, separators=(",", ":")).encode()
        now = self._ctx.now()
        headers = {
            "Content-Type": CONTENT_TYPE,
            "User-Agent": USER_AGENT,
            SIGNATURE_HEADER: sign(self._secret, body, now),
            ID_HEADER: self._delivery_id(row),
            EVENT_HEADER: str(envelope["event"]),
            ATTEMPT_HEADER: str(number),
            BRIDGE_HEADER: "1",
        }
        forwards = self._forwarder.send(headers, body, urls)
        self._journal.add(ReceivedDelivery(now, headers, body).row(forwards, None))
        return forwards

    def _delivery_id(self, row: Row) -> str:
        # Always the same for a row, so that a receiver can detect duplicates after a crash.
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self._client.origin}/{stream_of(row)}/{row['id']}"))


def build_envelope(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the delivery envelope of a row.

    For the activity feed it equals that of a real delivery; for other streams, keys that they lack are missing. Raise
    NotAnApi for an invalid row.
    """
    stream = stream_of(row)
    if stream == ACTIVITY_FEED:
        if not row.keys() >= set(ENVELOPE_KEYS):
            raise NotAnApi(f"the activity feed has a row without {', '.join(ENVELOPE_KEYS)}")
        return {key: row[key] for key in ENVELOPE_KEYS}
    data = {key: row[key] for key in ("fileUuid", "fileName", *_EXTRA_KEYS.get(stream, ())) if key in row}
    if stream == "gate":
        data.update(_list_gate_extras(row.get("fields")))
    return {"event": _KIND_BY_STREAM[stream], "timestamp": row.get("readAt", ""), "data": data}


def _list_gate_extras(fields: Any) -> Iterator[tuple[str, Any]]:
    # Without fields it was the email prompt, whose address is not in the gate stream.
    yield "source", "form" if fields else "email"
    if isinstance(fields, Mapping) and fields:
        if "email" in fields:
            yield "email", fields["email"]
        yield "fields", fields


def choose_cursor_name(context: "Context", binding: CursorBinding) -> str:
    """Derive the name of the cursor from the server or profile and from the selected kinds and file."""
    connection = context.connection
    profile = connection.profile.value
    is_same_server = connection.url.origin == f"profile {profile}"
    name = (
        "listen-"
        + re.sub(r"[^A-Za-z0-9_.-]+", "-", str(profile) if is_same_server else binding.origin.split("://")[1])[:40]
    )
    if binding.streams == (ACTIVITY_FEED,) and binding.file is None and set(binding.kinds) == set(KINDS):
        return name
    scope = json.dumps([binding.streams, binding.file, sorted(binding.kinds)])
    return f"{name}-{hashlib.sha256(scope.encode()).hexdigest()[:8]}"
