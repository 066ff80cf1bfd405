"""Files (section Endpoints, Files)."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from docshare.client.options import UPLOAD_TIMEOUT
from docshare.client.retries import Call
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.client.body import Source
    from docshare.client.transport import Transport

_FILE_ID = re.compile(r"[0-9A-Za-z_-]+")
_EXTENDED_NAME = re.compile(r"filename\*\s*=\s*utf-8'[^']*'([^\s;]*)", re.IGNORECASE)
_DOWNLOAD_BLOCK = 256 * 1024  # bytes


class Content(NamedTuple):
    """A stored PDF on its way: ``blocks`` of its bytes, the ``filename`` the server names (None: it names none), its
    ``length`` in bytes (None: not told) and its media ``type`` in lower case, without parameters (empty: not told)."""

    blocks: Iterator[bytes]
    filename: str | None
    length: int | None
    type: str


class Files:
    """``client.files``. Every ``file`` is a UUID or a short id; File objects are the server's JSON as it was sent."""

    def __init__(self, transport: "Transport", uploaded: set[str]) -> None:
        self._transport = transport
        self._uploaded = uploaded

    def list(self) -> list[dict[str, Any]]:
        """``GET /files``: the active files, newest first. Problems: unauthorized, insufficient_scope."""
        return self._transport.json_rows(Call("GET", "/files"))

    def show(self, file: str) -> dict[str, Any]:
        """``GET /files/{id}``: one File with its ``revisions``. Problems: not_found (also for a foreign file)."""
        return self._transport.json_object(Call("GET", file_path(file)))

    def delete(self, file: str, purge: bool = False) -> dict[str, Any]:
        """``DELETE /files/{id}``: ``{trashed, trashedAt?, purgeAt?}``; with ``purge`` for good. Problems: forbidden,
        not_found."""
        return self._transport.json_object(Call("DELETE", file_path(file), {"purge": 1} if purge else {}))

    def content(self, file: str) -> Content:
        """``GET /files/{id}/content``: the stored bytes. Reading ``blocks`` may raise ``TransportError``; closing it
        closes the connection. Problems: not_found, gone (a burned link)."""
        # Compressed on the way, the length told would not be that of the file.
        call = Call("GET", file_path(file) + "/content", encoding="identity", stream=True)
        response = self._transport.send(call)
        length = response.headers.get("Content-Length", "")
        return Content(
            self._transport.blocks(response, call, _DOWNLOAD_BLOCK),
            _disposition_name(response.headers.get("Content-Disposition", "")),
            int(length) if length.isdigit() else None,
            response.headers.get("Content-Type", "").partition(";")[0].strip().lower(),
        )

    def qr(self, file: str) -> bytes:
        """``GET /files/{id}/qr-code``: a PNG that shows the share link. Problems: not_found."""
        return self._transport.send(Call("GET", file_path(file) + "/qr-code")).content

    def upload(
        self,
        source: "Source",
        name: str,
        *,
        progress: Callable[[int], None] | None = None,
        digest: bool = False,
    ) -> dict[str, Any]:
        """``POST /files``: the upload result ``{uuid, shortId, shareUrl, message}``, with ``sha256`` if ``digest``.

        Parameters:
            source: a seekable binary file; opened unbuffered it is sent without another copy.
            name: the file name that readers will see.
            progress: called with the bytes of the file sent so far; back to 0 when the file is sent again.
            digest: compute the SHA-256 on the way.

        The API knows no idempotency key. When the answer is lost after the server may have had everything, the list of
        files decides: one new file of that name and size is the result (``"recovered": true``), none means that it is
        sent once more, and anything else raises ``UnknownOutcome``. Problems: bad_request, forbidden (file limit),
        payload_too_large, unprocessable, unavailable. Raises ``LocalFileError`` if the file changes while it is sent.
        """
        from docshare.client.body import MultipartFile
        from docshare.client.recovery import UploadProbe

        body = MultipartFile(source, name, progress=progress, digest=digest)
        call = Call("POST", "/files", body=body, repeatable=False, read_timeout=UPLOAD_TIMEOUT)
        result = UploadProbe(self._transport, call, body, name, known=self._uploaded).guard()
        self._uploaded.add(str(result.get("uuid")))
        return {**result, "sha256": body.sha256()} if digest else result

    def replace(
        self,
        file: str,
        source: "Source",
        name: str,
        *,
        keep_anchors: bool = False,
        progress: Callable[[int], None] | None = None,
        digest: bool = False,
    ) -> dict[str, Any]:
        """``POST /files/{id}/content``: put another document behind the link; the replace result
        ``{uuid, contentVersion, originalName, size, anchorsCleared, clearedHotspots, clearedNotes, clearedMarks,
        clearedAnnotations, message}``, with ``pageRangeEmpty`` and ``emptyVariants`` where links show no pages now.

        ``source``, ``name``, ``progress`` and ``digest`` as of ``upload``; ``keep_anchors`` leaves what is on the
        pages.
        When the answer is lost, the revisions of the file decide as the list of files does there (a recovered result
        does not know what was cleared). Problems: not_found, forbidden (another account's), plan_required, gone
        (expired), conflict (changed meanwhile), payload_too_large, unprocessable, unavailable.
        """
        from docshare.client.body import MultipartFile
        from docshare.client.recovery import ReplaceProbe

        path = file_path(file)
        body = MultipartFile(source, name, progress=progress, digest=digest)
        params = {"clearAnchors": "false"} if keep_anchors else {}
        call = Call("POST", f"{path}/content", params, body=body, repeatable=False, read_timeout=UPLOAD_TIMEOUT)
        result = ReplaceProbe(self._transport, call, body, name, path=path).guard()
        return {**result, "sha256": body.sha256()} if digest else result

    def restore(self, file: str) -> dict[str, Any]:
        """``POST /files/{id}/restore``: the File, out of the trash. An addition of docshare. Problems: not_found,
        forbidden (no free slot)."""
        return self._transport.json_object(Call("POST", f"{file_path(file)}/restore", repeatable=False))

    def claim(self, token: str) -> dict[str, Any]:
        """``POST /files/claim``: take over the file of a claim token; ``{uuid, shortId, shareUrl, message}``. Again is
        the same. Problems: unauthorized (also for the token), forbidden (no free slot), not_found, conflict (another
        account's), payload_too_large."""
        from docshare.client.json_body import JsonBody

        return self._transport.json_object(Call("POST", "/files/claim", body=JsonBody({"claimToken": token})))


def file_path(file: str) -> str:
    """The path of a file below ``/api/v1``. Problems: not_found for what is no id."""
    # An id that is none must not become part of the path: "..", for one, would name another resource.
    if not _FILE_ID.fullmatch(file):
        raise Problem("not_found", f"'{file}' is neither a UUID nor a short id")
    return f"/files/{file}"


def _disposition_name(value: str) -> str | None:
    # HTTP headers arrive decoded as Latin-1, whatever the server wrote.
    with suppress(UnicodeError):
        value = value.encode("latin-1").decode()
    extended = _EXTENDED_NAME.search(value)
    if extended:  # where both stand, this one is the name and the other a fallback (RFC 6266)
        return unquote(extended.group(1)) or None
    from email.message import Message

    message = Message()
    message["Content-Disposition"] = value
    return message.get_filename() or None
