"""Recovery of writes whose response was lost. The API has no idempotency keys, so the client looks for the result in
the list of resources."""

import os
import unicodedata
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from docshare.client.errors import ConnectionLost, Refused, TransportError, UnknownOutcome
from docshare.client.http.call import Call
from docshare.client.http.retries import is_ambiguous
from docshare.contract.problems import Problem
from docshare.contract.wire import parse_instant

if TYPE_CHECKING:
    from docshare.client.http.body import MultipartFile
    from docshare.client.http.transport import Transport

Row = dict[str, Any]

_LOOKUP_DELAYS = (0.0, 2.0, 5.0)  # seconds before each look; the server may still be storing the request
_CLOCK_TOLERANCE = 2.0  # seconds; the Date header has no fractions


class Probe(ABC):
    """Send one ``call`` that creates a resource and, if its response is lost, look for the resource. ``known``: UUIDs
    of resources that other calls created. For messages: ``what`` the call does, the ``kind`` of resource, and the
    ``place`` where it is listed."""

    what: ClassVar[str]
    kind: ClassVar[str]
    place: ClassVar[str]

    def __init__(self, transport: "Transport", call: Call, *, known: set[str]) -> None:
        self._transport = transport
        self._call = call
        self._known = known
        self._clock = transport.options.clock
        self._started_at = self._clock.monotonic()

    @abstractmethod
    def list_rows(self) -> list[Row]:
        """Return the list in which to look."""

    @abstractmethod
    def matches(self, row: Row) -> bool:
        """Return whether ``row``, which is new, is what the call should have created."""

    @abstractmethod
    def build_result(self, row: Row) -> Row:
        """Return ``row`` in the format of the response to the call."""

    def call_and_recover(self) -> Row:
        """Return the response to the call, or the resource found in the list (with ``recovered``).

        Retry once, only if the connection broke and no new resource appeared. Raise ``UnknownOutcome`` if the list does
        not show what happened, and the error of the call if it certainly failed.
        """
        first = self._attempt()
        if isinstance(first, dict):
            return first
        if _is_connection_failure(first) and self._transport.options.retries > 0:
            second = self._attempt()
            if isinstance(second, dict):
                return second
            first = second
        raise self._unknown_outcome(f"no such {self.kind} has appeared", [], first) from first

    def _attempt(self) -> Row | TransportError | Refused:
        """Return the response, the one resource found instead, or the error after which nothing was found."""
        try:
            return self._transport.json_object(self._call)
        except (TransportError, Refused) as error:
            if not is_ambiguous(self._call, error):
                raise
            found = self._find_created(error)
            if len(found) > 1:
                raise self._unknown_outcome(f"{len(found)} {self.kind}s could be its result", found, error) from error
            return {**self.build_result(found[0]), "recovered": True} if found else error

    def _find_created(self, error: TransportError | Refused) -> list[Row]:
        for delay in _LOOKUP_DELAYS:
            if delay:
                self._clock.sleep(delay)
            try:
                rows = self.list_rows()
            except (TransportError, Problem) as failure:
                why = f"{self.place} cannot be read either ({failure})"
                raise self._unknown_outcome(why, [], error) from failure
            found = [row for row in rows if self._is_new(row) and self.matches(row)]
            if found:
                return found
        return []

    def _is_new(self, row: Row) -> bool:
        created = parse_instant(str(row.get("createdAt")))
        began = self._transport.server_time() - (self._clock.monotonic() - self._started_at) - _CLOCK_TOLERANCE
        return row.get("uuid") not in self._known and created is not None and created / 1000 >= began

    def _unknown_outcome(self, why: str, candidates: list[Row], error: TransportError | Refused) -> UnknownOutcome:
        return UnknownOutcome(
            f"the answer to the {self.what} was lost ({error}), and {why}",
            hint=f"Check {self.place} before you try again.",
            method="POST",
            path=self._call.whole_path,
            candidates=candidates,
        )


def send_once(transport: "Transport", call: Call, what: str, advice: str) -> Row:
    """Return the response to ``call``, which is not repeatable and whose result cannot be found afterwards.

    Raise ``UnknownOutcome`` with ``advice`` as its hint if the response to ``what`` is lost, and otherwise as
    ``Transport.json_object``.
    """
    try:
        return transport.json_object(call)
    except (TransportError, Refused) as error:
        if not is_ambiguous(call, error):
            raise
        raise UnknownOutcome(
            f"the answer to {what} was lost ({error})", hint=advice, method=call.method, path=call.whole_path
        ) from error


class UploadProbe(Probe):
    """Look for a new file of the same bytes or, if the server sends no digest, of the same name and size."""

    what, kind, place = "upload", "file", "the list of files"

    def __init__(
        self, transport: "Transport", call: Call, body: "MultipartFile", name: str, *, known: set[str]
    ) -> None:
        super().__init__(transport, call, known=known)
        self._body = body
        self._name = name

    def list_rows(self) -> list[Row]:
        """Return the files of the account."""
        return self._transport.json_rows(Call("GET", "/files"))

    def matches(self, row: Row) -> bool:
        """Return whether the file is the one that was sent."""
        return _is_same_content(row, self._body, self._name)

    def build_result(self, row: Row) -> Row:
        """Return the upload result."""
        link = row.get("shareUrl") or f"{self._transport.address.base}/{row.get('shortId') or row['uuid']}"
        result: Row = {key: row[key] for key in ("uuid", "shortId") if key in row}
        return {**result, "shareUrl": link, "message": "The file was uploaded; the response was lost."}


class ReplaceProbe(Probe):
    """Look for a new revision of the file ``path``, like ``UploadProbe``."""

    what, kind, place = "replacement", "revision", "the file"

    def __init__(self, transport: "Transport", call: Call, body: "MultipartFile", name: str, *, path: str) -> None:
        super().__init__(transport, call, known=set())
        self._body = body
        self._name = name
        self._path = path
        self._uuid = ""

    def list_rows(self) -> list[Row]:
        """Return the newest revision of the file; an older one has been replaced by another call."""
        file = self._transport.json_object(Call("GET", self._path))
        self._uuid = str(file.get("uuid"))
        revisions: list[Row] = file.get("revisions") or []
        return revisions[:1]

    def matches(self, row: Row) -> bool:
        """Return whether the revision is the document that was sent."""
        return _is_same_content(row, self._body, self._name)

    def build_result(self, row: Row) -> Row:
        """Return the replace result, without the keys that only the lost response contained."""
        kept: Row = {key: row[key] for key in ("contentVersion", "originalName", "size") if key in row}
        return {"uuid": self._uuid, **kept}


def _is_same_content(row: Row, body: "MultipartFile", name: str) -> bool:
    """Return whether ``row``, a file or a revision, is the document ``body`` that was sent as ``name``."""
    # Other servers of this API do not send sha256; then compare name and size.
    if row.get("sha256") == body.hash_source():
        return True
    stored = str(row.get("originalName"))
    if name.lower().endswith(_converted_extensions()):
        return _normalize_stem(stored) == _normalize_stem(name)  # the size is that of the PDF made of it
    return "sha256" not in row and row.get("size") == body.size and _normalize(stored) == _normalize(name)


def _is_connection_failure(error: TransportError | Refused) -> bool:
    # Not after a timeout: the server may still be working on it, and a retry would create a second file.
    return isinstance(error, ConnectionLost) or (isinstance(error, Refused) and error.status == 502)


def _converted_extensions() -> tuple[str, ...]:
    from docshare.contract.media import DOCUMENTS

    return tuple(document.extension for document in DOCUMENTS.values() if document.is_converted)


def _normalize(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _normalize_stem(name: str) -> str:
    return _normalize(os.path.splitext(name)[0])
