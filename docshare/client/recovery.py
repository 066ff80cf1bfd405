"""What became of an upload whose answer was lost. The API has no idempotency key, so the list of files must tell."""

import os
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from docshare.client.errors import ConnectionLost, NotAnApi, Refused, TimedOut, TransportError, UnknownOutcome
from docshare.client.retries import Call
from docshare.contract.problems import Problem
from docshare.contract.wire import parse_instant

if TYPE_CHECKING:
    from docshare.client.body import MultipartFile
    from docshare.client.transport import Transport

Row = dict[str, Any]

_LOOKS = (0.0, 2.0, 5.0)  # seconds before each look; a server may still be storing what it received
_SLACK = 2.0  # seconds; the Date header has no fractions


class UploadProbe:
    """Sends one upload and, if its answer is lost, finds out. ``known``: UUIDs that other uploads produced."""

    def __init__(self, transport: "Transport", body: "MultipartFile", name: str, *, known: set[str]) -> None:
        self._transport = transport
        self._body = body
        self._name = name
        self._known = known
        self._clock = transport.options.clock
        self._began = self._clock.monotonic()

    def guard(self, send: Callable[[], Row]) -> Row:
        """The result of ``send()``, or of the file it turns out to have made (then with ``recovered``).

        Sends a second time only if the connection broke and no such file appeared. Raises ``UnknownOutcome`` where the
        list does not settle it, and whatever ``send`` raises for a failure that is certain.
        """
        first = self._attempt(send)
        if isinstance(first, dict):
            return first
        if _is_broken(first) and self._transport.options.retries > 0:
            second = self._attempt(send)
            if isinstance(second, dict):
                return second
            first = second
        raise self._unknown("no such file has appeared", [], first) from first

    def _attempt(self, send: Callable[[], Row]) -> Row | TransportError | Refused:
        """The result, the one file found in its place, or the error after which no file was found."""
        try:
            return send()
        except (TransportError, Refused) as error:
            if not self._is_ambiguous(error):
                raise
            found = self._look(error)
            if len(found) > 1:
                raise self._unknown(f"{len(found)} files could be its result", found, error) from error
            return self._recovered(found[0]) if found else error

    def _is_ambiguous(self, error: TransportError | Refused) -> bool:
        if isinstance(error, Refused):
            return error.status in (502, 504)  # a gateway's: the server behind it may have finished
        return isinstance(error, ConnectionLost | TimedOut | NotAnApi) and self._body.exhausted

    def _look(self, error: TransportError | Refused) -> list[Row]:
        for delay in _LOOKS:
            if delay:
                self._clock.sleep(delay)
            try:
                rows = self._transport.json_rows(Call("GET", "/files"))
            except (TransportError, Problem) as failure:
                why = f"the list of files cannot be read either ({failure})"
                raise self._unknown(why, [], error) from failure
            found = [row for row in rows if self._fits(row)]
            if found:
                return found
        return []

    def _fits(self, row: Row) -> bool:
        created = parse_instant(str(row.get("createdAt")))
        began = self._transport.server_time() - (self._clock.monotonic() - self._began) - _SLACK
        if row.get("uuid") in self._known or created is None or created / 1000 < began:
            return False
        # Spec gap: sha256 is an addition of docshare; where it is missing, name and size must do.
        if row.get("sha256") == self._body.hash_source():
            return True
        name = str(row.get("originalName"))
        if self._name.lower().endswith(_converted()):
            return _stem(name) == _stem(self._name)  # the size is that of the PDF made of it
        return "sha256" not in row and row.get("size") == self._body.size and _normal(name) == _normal(self._name)

    def _recovered(self, row: Row) -> Row:
        link = row.get("shareUrl") or f"{self._transport.address.base}/{row.get('shortId') or row['uuid']}"
        result: Row = {key: row[key] for key in ("uuid", "shortId") if key in row}
        return {**result, "shareUrl": link, "recovered": True}

    def _unknown(self, why: str, candidates: list[Row], error: TransportError | Refused) -> UnknownOutcome:
        return UnknownOutcome(
            f"the answer to the upload was lost ({error}), and {why}",
            hint="Look at the list of files before you upload it again.",
            method="POST",
            path="/api/v1/files",
            candidates=candidates,
        )


def _is_broken(error: TransportError | Refused) -> bool:
    # Silence is different: the server may still be at work on it, and a second upload would make a second file.
    return isinstance(error, ConnectionLost) or (isinstance(error, Refused) and error.status == 502)


def _converted() -> tuple[str, ...]:
    from docshare.contract.media import DOCUMENTS

    return tuple(document.extension for document in DOCUMENTS.values() if document.converted)


def _normal(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _stem(name: str) -> str:
    return _normal(os.path.splitext(name)[0])
