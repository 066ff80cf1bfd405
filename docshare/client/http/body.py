"""A multipart body that streams one file of known length.

``requests`` sends an object with ``__len__`` and ``__iter__`` block by block with a Content-Length. The object must not
have ``read``, because http.client would then request 16 KiB at a time. It can be sent again: each iteration restarts.
"""

import hashlib
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from docshare.client.errors import LocalFileError

BLOCK_BYTES = 256 * 1024  # bytes
# In a form these are the escapes of a quotation mark and a line break; filename* resolves the ambiguity.
_AMBIGUOUS_NAME = re.compile(r"%(?:22|0d|0a)", re.IGNORECASE)
_UNSENDABLE_NAME = re.compile(r"[\x00-\x1f\x7f]")  # a server rejects them without a reason, or stores other names


class BinarySource(Protocol):
    """A seekable binary file; if opened unbuffered, it is read directly into the block that is sent."""

    def seek(self, offset: int, whence: int = 0, /) -> int: ...
    def readinto(self, buffer: memoryview, /) -> int | None: ...


class MultipartFile:
    """``multipart/form-data`` with one file.

    Parameters:
        source: the file; its length is determined now.
        filename: name to send, unchanged.
        fields: text parts before the file, by name.
        progress: called with the number of bytes sent so far, after each block, and with 0 at each start.
        digest: compute the SHA-256 of the file while sending it.
        part: the name of the part with the file.

    ``started``: sending has begun; ``exhausted``: the last block is being sent, so the server may have the whole
    request. Raises ``LocalFileError`` if the file name contains control characters; iterating does so if the file
    cannot be read or changes its size.
    """

    def __init__(
        self,
        source: BinarySource,
        filename: str,
        *,
        fields: Mapping[str, str] | None = None,
        progress: Callable[[int], None] | None = None,
        digest: bool = False,
        part: str = "file",
    ) -> None:
        self._source = source
        self._progress = progress
        self._digest = digest
        self._hash = hashlib.sha256()
        boundary = f"docshare-{secrets.token_hex(16)}"
        self.content_type = f"multipart/form-data; boundary={boundary}"
        self.size = source.seek(0, os.SEEK_END)
        self._head = _encode_fields(boundary, fields or {}) + _encode_file_head(boundary, part, filename)
        self._tail = f"\r\n--{boundary}--\r\n".encode()
        self.started = False
        self.exhausted = False

    def __len__(self) -> int:
        return len(self._head) + self.size + len(self._tail)

    def __iter__(self) -> Iterator[bytes | memoryview]:
        self._rewind()
        self.started = True
        yield self._head
        yield from self._blocks()
        self.exhausted = True
        yield self._tail

    def sha256(self) -> str | None:
        """Return the hex digest of the file as last sent; None unless ``digest`` is set and the file was sent whole."""
        return self._hash.hexdigest() if self._digest and self.exhausted else None

    def hash_source(self) -> str:
        """Return the hex digest of the file; read the file again unless the digest was computed while sending."""
        on_the_way = self.sha256()
        if on_the_way is None:
            self._source.seek(0)
            digest = hashlib.sha256()
            buffer = memoryview(bytearray(BLOCK_BYTES))
            while count := self._read(buffer):
                digest.update(buffer[:count])
            on_the_way = digest.hexdigest()
        return on_the_way

    def _rewind(self) -> None:
        self.started = self.exhausted = False
        self._hash = hashlib.sha256()
        self._source.seek(0)
        self._report(0)

    def _blocks(self) -> Iterator[memoryview]:
        # One buffer for the whole file: sendall has sent a block before the next one is requested.
        buffer = memoryview(bytearray(BLOCK_BYTES))
        sent = 0
        while sent < self.size:
            count = self._read(buffer[: min(BLOCK_BYTES, self.size - sent)])
            if count == 0:
                raise LocalFileError("the file became shorter while it was sent")
            block = buffer[:count]
            if self._digest:
                self._hash.update(block)
            yield block
            sent += count
            self._report(sent)
        if self._read(buffer[:1]):
            raise LocalFileError("the file became longer while it was sent")

    def _report(self, sent: int) -> None:
        if self._progress is not None:
            self._progress(sent)

    def _read(self, into: memoryview) -> int:
        # Do not let an OSError through: requests would report it as a broken connection.
        try:
            return self._source.readinto(into) or 0
        except OSError as error:
            raise LocalFileError(f"the file cannot be read: {error.strerror or error}") from error


def _quote(text: str) -> str:
    # The form-data escapes of the HTML standard.
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _encode_fields(boundary: str, fields: Mapping[str, str]) -> bytes:
    return "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{_quote(name)}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ).encode()


def _encode_file_head(boundary: str, part: str, filename: str) -> bytes:
    # A name that is not UTF-8 on disk contains lone surrogates, which no server accepts.
    shown = os.fsencode(filename).decode("utf-8", "replace")
    if _UNSENDABLE_NAME.search(shown):
        raise LocalFileError(f"the file name {shown!r} contains control characters")
    disposition = f'form-data; name="{_quote(part)}"; filename="{_quote(shown)}"'
    if _AMBIGUOUS_NAME.search(shown):
        from urllib.parse import quote

        disposition += f"; filename*=UTF-8''{quote(shown, safe='')}"
    kind = _guess_media_type(shown)
    return f"--{boundary}\r\nContent-Disposition: {disposition}\r\nContent-Type: {kind}\r\n\r\n".encode()


def _guess_media_type(filename: str) -> str:
    from docshare.contract.media import DOCUMENTS

    extension = os.path.splitext(filename)[1].lower()
    return next((each.type for each in DOCUMENTS.values() if each.extension == extension), "application/octet-stream")
