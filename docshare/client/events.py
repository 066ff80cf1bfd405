"""The polling feed and its alias for gate responses (section Events feed)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from docshare.client.errors import Refused
from docshare.client.walking import Feed, Row
from docshare.contract.streams import DEFAULT_STREAM, LIMIT_DEFAULT

if TYPE_CHECKING:
    from docshare.client.transport import Transport

_PATH, _GATE_PATH = "/events", "/gate-responses"
_GATE = "gate"


class Events:
    """``client.events``. A ``type`` is view, download or gate; cursors of one mean nothing in another. Problems of the
    gate stream: plan_required (below Pro)."""

    def __init__(self, transport: "Transport") -> None:
        self._transport = transport

    def stream(self, type: str = DEFAULT_STREAM) -> Feed:
        """``GET /events``: one stream."""
        return (_GateFeed if type == _GATE else Feed)(self._transport, _PATH, {"type": type})

    def gate_responses(self) -> Feed:
        """``GET /gate-responses``: the gate stream by an address of its own, with the same rows and cursors."""
        return _GateFeed(self._transport, _GATE_PATH, {})

    def page(
        self, type: str = DEFAULT_STREAM, since: int | None = None, limit: int = LIMIT_DEFAULT, file: str | None = None
    ) -> list[Row]:
        """One page of a stream; see ``Feed.page``."""
        return self.stream(type).page(since, limit, file)

    def newest(self, type: str, count: int, file: str | None = None) -> list[Row]:
        """The newest ``count`` rows of a stream, newest first; see ``Feed.newest``."""
        return self.stream(type).newest(count, file)

    def rows_after(self, type: str, cursor: int | None, file: str | None = None) -> Iterator[Row]:
        """Every row of a stream with an id above ``cursor``, ascending; see ``Feed.rows_after``."""
        return self.stream(type).rows_after(cursor, file)


class _GateFeed(Feed):
    """The gate stream, whose refusal is told like any other."""

    def page(self, since: int | None = None, limit: int = LIMIT_DEFAULT, file: str | None = None) -> list[Row]:
        """As of any feed. Problems: plan_required."""
        try:
            return super().page(since, limit, file)
        except Refused as error:
            # Spec: Errors; below Pro the gate stream answers 403 in plain text, the one refusal without a code.
            raise plan_required(error) if error.status == 403 and error.plain else error from error


def plan_required(error: Refused) -> Refused:
    """The refusal of the gate stream, which says so in plain text, with the code that it means."""
    refusal = Refused("plan_required", error.detail, status=403, method=error.method, path=error.path, body=error.body)
    refusal.headers = error.headers
    return refusal
