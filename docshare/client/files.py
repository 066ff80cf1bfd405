"""Files: list, show, upload, replace, download, delete, restore, claim."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import IO, TYPE_CHECKING, NamedTuple, cast
from urllib.parse import unquote

from docshare.client.errors import LocalFileError
from docshare.client.http.call import Call
from docshare.client.http.resource import Resource
from docshare.client.links import file_path
from docshare.client.options import UPLOAD_TIMEOUT

if TYPE_CHECKING:
    from docshare.client.http.sources import Document
    from docshare.client.http.transport import Transport
    from docshare.client.types.files import DeleteResult, File, FileDetail, ReplaceResult, UploadResult

_EXTENDED_NAME = re.compile(r"filename\*\s*=\s*utf-8'[^']*'([^\s;]*)", re.IGNORECASE)
_DOWNLOAD_BLOCK = 256 * 1024  # bytes


class DownloadedContent(NamedTuple):
    """A download in progress: ``blocks`` of bytes, and, as far as the server sends them, ``filename``, ``length`` in
    bytes, and the media ``type`` in lower case without parameters (otherwise None, None, and empty)."""

    blocks: Iterator[bytes]
    filename: str | None
    length: int | None
    type: str


class FilesApi(Resource):
    """``client.files``. File objects are the JSON of the server, unchanged.

    A ``file`` is a UUID, a short id, a share link, an embed link, or ``slug:NAME``, here and wherever the client takes
    one. Resolving a custom link (slug) requires the list of files. A link of another server raises ``BadAddress``.

    Example::

        file = client.files.upload("offer.pdf")
        print(client.files.show(file["shareUrl"])["viewCount"])
    """

    def __init__(self, transport: "Transport", uploaded: set[str]) -> None:
        super().__init__(transport)
        self._uploaded = uploaded

    def list(self) -> "list[File]":
        """Return the active files, newest first (``GET /files``). Problems: unauthorized, insufficient_scope."""
        return cast("list[File]", self._transport.json_rows(Call("GET", "/files")))

    def show(self, file: str) -> "FileDetail":
        """Return one File with its ``revisions`` (``GET /files/{id}``). Problems: not_found (also for files of other
        accounts)."""
        return cast("FileDetail", self._transport.json_object(Call("GET", file_path(self._transport, file))))

    def delete(self, file: str, purge: bool = False) -> "DeleteResult":
        """Delete a file (``DELETE /files/{id}``) and return ``{trashed, trashedAt?, purgeAt?}``; ``purge``: bypass the
        trash. Problems: forbidden, not_found."""
        call = Call("DELETE", file_path(self._transport, file), {"purge": 1} if purge else {})
        response = self._transport.send_unless_done(call)
        result = {"trashed": False} if response is None else self._transport.parse_object(call, response)
        return cast("DeleteResult", result)

    def content(self, file: str) -> DownloadedContent:
        """Download the stored PDF (``GET /files/{id}/content``). Reading ``blocks`` may raise ``TransportError``;
        closing it closes the connection. Problems: not_found, gone (a burned link)."""
        # In a compressed response, Content-Length would not be the length of the file.
        call = Call("GET", file_path(self._transport, file) + "/content", encoding="identity", stream=True)
        response = self._transport.send(call)
        length = response.headers.get("Content-Length", "")
        return DownloadedContent(
            self._transport.blocks(response, call, _DOWNLOAD_BLOCK),
            _parse_disposition_name(response.headers.get("Content-Disposition", "")),
            int(length) if length.isdigit() else None,
            response.headers.get("Content-Type", "").partition(";")[0].strip().lower(),
        )

    def download(
        self,
        file: str,
        target: "str | os.PathLike[str] | IO[bytes]",
        *,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Download the stored PDF to a path or into a binary stream, and return its size in bytes.

        A path is replaced once all bytes have arrived, so it is complete or untouched. ``progress`` is called with the
        number of bytes received so far. Problems: as ``content``. Raise ``LocalFileError`` if the path cannot be
        written, and ``TransportError`` if the connection breaks.
        """
        content = self.content(file)
        if not isinstance(target, str | os.PathLike):
            return _copy_blocks(content, target, progress)
        path = os.path.realpath(target)
        part = f"{path}.{os.urandom(4).hex()}.part"
        try:
            with open(part, "xb") as out:
                size = _copy_blocks(content, out, progress)
                out.flush()
                os.fsync(out.fileno())
            os.replace(part, path)
        except OSError as error:
            raise LocalFileError(f"cannot write {os.fspath(target)}: {error.strerror or error}") from error
        finally:
            with suppress(OSError):
                os.unlink(part)
        return size

    def qr(self, file: str) -> bytes:
        """Return the QR code of the share link as PNG (``GET /files/{id}/qr-code``). Problems: not_found."""
        return self._transport.send(Call("GET", file_path(self._transport, file) + "/qr-code")).content

    def upload(
        self,
        source: "Document",
        name: str | None = None,
        *,
        progress: Callable[[int], None] | None = None,
        digest: bool = False,
    ) -> "UploadResult":
        """Upload a document (``POST /files``) and return ``{uuid, shortId, shareUrl, message}``, with ``sha256`` if
        ``digest``.

        Parameters:
            source: a path, bytes, or a binary stream. A seekable one is streamed, without another copy if it was
                opened unbuffered; another one is copied to a temporary file first.
            name: the file name that readers see; default: that of the path or stream.
            progress: called with the number of bytes sent so far; starts at 0 again for a retry.
            digest: compute the SHA-256 while sending.

        The API has no idempotency keys. If the response is lost after the server may have received everything, the
        client reads the list of files: exactly one new file of that name and size is the result
        (``"recovered": true``); if there is none, the client retries once; anything else raises ``UnknownOutcome``.
        Problems: bad_request, forbidden (file limit), payload_too_large, unprocessable, unavailable. Raise
        ``LocalFileError`` if the file changes while it is sent.
        """
        from docshare.client.http.body import MultipartFile
        from docshare.client.http.recovery import UploadProbe
        from docshare.client.http.sources import open_document

        with open_document(source, name) as (opened, shown):
            body = MultipartFile(opened, shown, progress=progress, digest=digest)
            call = Call("POST", "/files", body=body, is_repeatable=False, read_timeout=UPLOAD_TIMEOUT)
            result = UploadProbe(self._transport, call, body, shown, known=self._uploaded).call_and_recover()
        self._uploaded.add(str(result.get("uuid")))
        return cast("UploadResult", {**result, "sha256": body.sha256()} if digest else result)

    def replace(
        self,
        file: str,
        source: "Document",
        name: str | None = None,
        *,
        keep_anchors: bool = False,
        progress: Callable[[int], None] | None = None,
        digest: bool = False,
    ) -> "ReplaceResult":
        """Replace the document behind the link (``POST /files/{id}/content``) and return
        ``{uuid, contentVersion, originalName, size, anchorsCleared, clearedHotspots, clearedNotes, clearedMarks,
        clearedAnnotations, message}``, with ``pageRangeEmpty`` and ``emptyVariants`` if links now show no pages.

        ``source``, ``name``, ``progress``, and ``digest`` are as in ``upload``; ``keep_anchors`` keeps hotspots, notes,
        marks, and annotations. If the response is lost, the client recovers as in ``upload`` from the revisions of the
        file; a recovered result does not contain what was cleared. Problems: not_found, forbidden (file of another
        account), plan_required, gone (expired), conflict (changed meanwhile), payload_too_large, unprocessable,
        unavailable.
        """
        from docshare.client.http.body import MultipartFile
        from docshare.client.http.recovery import ReplaceProbe
        from docshare.client.http.sources import open_document

        path = file_path(self._transport, file)
        params = {"clearAnchors": "false"} if keep_anchors else {}
        with open_document(source, name) as (opened, shown):
            body = MultipartFile(opened, shown, progress=progress, digest=digest)
            call = Call("POST", f"{path}/content", params, body=body, is_repeatable=False, read_timeout=UPLOAD_TIMEOUT)
            result = ReplaceProbe(self._transport, call, body, shown, path=path).call_and_recover()
        return cast("ReplaceResult", {**result, "sha256": body.sha256()} if digest else result)

    def restore(self, file: str) -> "File":
        """Restore a file from the trash and return it (``POST /files/{id}/restore``). Problems: not_found, forbidden
        (no free slot)."""
        call = Call("POST", f"{file_path(self._transport, file)}/restore")
        response = self._transport.send_unless_done(call)
        if response is None:
            return self.show(file)
        return cast("File", self._transport.parse_object(call, response))

    def claim(self, token: str) -> "UploadResult":
        """Move the file of a claim token to this account (``POST /files/claim``) and return ``{uuid, shortId, shareUrl,
        message}``. Idempotent. Problems: unauthorized (also for the token), forbidden (no free slot), not_found,
        conflict (claimed by another account), payload_too_large."""
        from docshare.client.http.whole_body import JsonBody

        return cast(
            "UploadResult",
            self._transport.json_object(Call("POST", "/files/claim", body=JsonBody({"claimToken": token}))),
        )


def _copy_blocks(content: DownloadedContent, out: "IO[bytes]", progress: Callable[[int], None] | None) -> int:
    size = 0
    for block in content.blocks:
        out.write(block)
        size += len(block)
        if progress is not None:
            progress(size)
    return size


def _parse_disposition_name(value: str) -> str | None:
    # requests decodes HTTP headers as Latin-1, whatever the server sent.
    with suppress(UnicodeError):
        value = value.encode("latin-1").decode()
    extended = _EXTENDED_NAME.search(value)
    if extended:  # if both are present, this is the name and the other a fallback (RFC 6266)
        return unquote(extended.group(1)) or None
    from email.message import Message

    message = Message()
    message["Content-Disposition"] = value
    return message.get_filename() or None
