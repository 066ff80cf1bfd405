"""Read stored bytes: a document, an asset, an upload in progress, or a file derived from a document."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, BinaryIO, Literal, Protocol, cast, runtime_checkable

from docshare.server.store import segments

_HEAD_BYTES = 16
_VERIFIED_BYTES = 4 << 20  # decrypting takes a millisecond; larger files would be read twice


@runtime_checkable
class RemoteBlob(Protocol):
    """A path-like object for bytes that another machine stores, and that are read through a local copy."""

    def discard_copy(self) -> None:
        """Delete the local copy, so that the next reader fetches the bytes again."""


@dataclass(frozen=True)
class StoredBytes:
    """A path-like object for a file and what its bytes are decrypted with.

    ``path``: the path of the file, or a blob of a bucket, which is fetched when its path is needed; ``data_key``: 32
    bytes, None if the file is not encrypted; ``context``: the name of a derived file, see ``segments``.
    """

    path: os.PathLike[str]
    data_key: bytes | None = field(default=None, repr=False)
    context: bytes = b""

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __str__(self) -> str:
        return str(self.path)

    def open(self, mode: Literal["rb"] = "rb", /) -> BinaryIO:
        """Open the plain bytes for reading. Raises FileNotFoundError (also if the key was destroyed), OSError,
        DamagedBytesError and StorageUnreachableError."""
        with discard_damaged_copy(self):
            file = self._decrypt(mode)
        if isinstance(file, segments.SegmentReader):
            file.on_damage = self.discard_copy
        return file

    def _decrypt(self, mode: Literal["rb"]) -> BinaryIO:
        return decrypt_file(cast("BinaryIO", open(self.path, mode, buffering=0)), self.data_key, self.context)

    def read_bytes(self) -> bytes:
        """Return the plain bytes. Raises what ``open`` raises."""
        with self.open() as file:
            return file.read()

    def discard_copy(self) -> None:
        """Delete the local copy of bytes that another machine stores; any other file is kept."""
        if isinstance(self.path, RemoteBlob):
            self.path.discard_copy()


@contextmanager
def discard_damaged_copy(path: os.PathLike[str]) -> Iterator[None]:
    """Discard the local copy of ``path`` if the block raises DamagedBytesError: the store may have the intact bytes."""
    try:
        yield
    except segments.DamagedBytesError:
        if isinstance(path, StoredBytes):
            path.discard_copy()
        raise


def decrypt_file(file: BinaryIO, data_key: bytes | None, context: bytes = b"") -> BinaryIO:
    """Return a reader of the plain bytes of ``file``, an unbuffered file, which it owns.

    Raises FileNotFoundError if the document is encrypted and there is no key, because the key of a destroyed document
    is deleted before its bytes; DamagedBytesError. The name of a derived file, ``context``, tells if it is encrypted.
    """
    try:
        if data_key is not None:
            return cast("BinaryIO", segments.SegmentReader(file, data_key, context))
        if not context and segments.is_encrypted(os.pread(file.fileno(), len(segments.MAGIC), 0)):
            raise FileNotFoundError("the key of these bytes was destroyed")
    except BaseException:
        file.close()
        raise
    return file


def measure(file: BinaryIO) -> tuple[int, int]:
    """Return the size of the plain bytes of ``file``, and the time of its last change in nanoseconds."""
    if isinstance(file, segments.SegmentReader):
        return file.size, file.status.st_mtime_ns
    status = os.fstat(file.fileno())
    return status.st_size, status.st_mtime_ns


def verify(file: IO[bytes]) -> None:
    """Decrypt all of a small ``file``, so that an error is reported before its first byte is sent. Raises
    DamagedBytesError."""
    if isinstance(file, segments.SegmentReader) and file.size <= _VERIFIED_BYTES:
        file.verify()


class EncryptedSink:
    """Writes an encrypted file into the empty ``file``, for a writer that may begin again. ``close`` is not needed.

    Parameters as for ``StoredBytes``; ``random(n)`` returns n random bytes.
    """

    def __init__(self, file: IO[bytes], data_key: bytes, random: Callable[[int], bytes], context: bytes) -> None:
        self._file = file
        self._data_key, self._random, self._context = data_key, random, context
        self._head = b""
        self._writer = self._begin()

    def _begin(self) -> segments.SegmentWriter:
        return segments.SegmentWriter(self._file, self._data_key, self._random(segments.SALT_BYTES), self._context)

    def seek(self, offset: int, /) -> int:
        """Do nothing: only the beginning can be read, and ``truncate`` begins again."""
        return offset

    def truncate(self) -> None:
        """Begin again."""
        self._file.seek(0)
        self._file.truncate()
        self._head = b""
        self._writer = self._begin()

    def write(self, block: bytes | bytearray) -> int:
        """Append ``block``."""
        self._head = self._head or bytes(block[:_HEAD_BYTES])
        self._writer.write(block)
        return len(block)

    def read(self, size: int) -> bytes:
        """Return the first bytes, up to the end of the first block that was written."""
        return self._head[:size]

    def finish(self) -> None:
        """Write the last segment."""
        self._writer.finish()
