"""Read a backup from an archive, as a stream, or from a directory: member by member, and the manifest last.

A backup is untrusted input: its paths are only compared with known names, and its sizes are limited.
"""

import gzip
import io
import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol, cast

from docshare.server.backup import durable
from docshare.server.backup.manifest import (
    MANIFEST,
    START,
    InvalidBackup,
    build_start,
    parse_manifest,
    parse_member_digest,
)

_BLOCK_BYTES = 512
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_WINDOW = 1 << 27  # bytes; the default memory limit of the zstd program
_START_BYTES = 4096
_MANIFEST_BYTES = 1 << 30  # enough for some million blobs


@dataclass(frozen=True)
class MemberStream:
    """A member while it is read: its content is ``size`` bytes of ``source``, to be read before the next member."""

    path: str
    size: int
    source: IO[bytes]


class Source(Protocol):
    """Read a backup."""

    def iterate_members(self) -> Iterator[MemberStream]:
        """Yield ``backup.json``, the members, and the manifest. Raises InvalidBackup, OSError."""


class TarSource:
    """Read a backup from a stream. Only plain members are accepted: links, devices and long names are rejected."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def iterate_members(self) -> Iterator[MemberStream]:
        """See ``Source``."""
        seen: set[str] = set()
        while (info := self._read_header()) is not None:
            if info.name in seen:
                raise InvalidBackup(f"it contains {info.name} twice")
            seen.add(info.name)
            yield MemberStream(info.name, info.size, self._stream)
            self._read(-info.size % _BLOCK_BYTES)
        self._stream.read(_BLOCK_BYTES)  # the second end block, so that a writer to a pipe does not fail

    def _read_header(self) -> tarfile.TarInfo | None:
        """Return the next header, or None at the end of the archive."""
        head = self._read(_BLOCK_BYTES)
        if not any(head):
            return None
        try:
            info = tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
        except tarfile.HeaderError:
            raise InvalidBackup("it is not a tar archive, or it is damaged") from None
        if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.size < 0:
            raise InvalidBackup(f"it contains {info.name!r}, which is not a regular file")
        _require_known_member(info)
        return info

    def _read(self, size: int) -> bytes:
        found = bytearray()
        while len(found) < size:
            block = self._stream.read(size - len(found))
            if not block:
                raise InvalidBackup("it is truncated")
            found += block
        return bytes(found)


def _require_known_member(info: tarfile.TarInfo) -> None:
    limits = {START: _START_BYTES, MANIFEST: _MANIFEST_BYTES}
    if info.name not in limits:
        parse_member_digest(info.name)
    elif info.size > limits[info.name]:
        raise InvalidBackup(f"its {info.name} is too large")


class DirectorySource:
    """Read a backup from a directory. Files that its manifest does not list are ignored."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def iterate_members(self) -> Iterator[MemberStream]:
        """See ``Source``."""
        try:
            data = self._read_file(MANIFEST, _MANIFEST_BYTES)
        except FileNotFoundError:
            raise InvalidBackup(f"it does not contain {MANIFEST}: it is not a backup, or it is incomplete") from None
        manifest = parse_manifest(data)
        head = build_start(manifest.size)
        yield MemberStream(START, len(head), io.BytesIO(head))
        for member in manifest.iterate_members():
            parse_member_digest(member.path)
            try:
                source = self._open(member.path)
            except FileNotFoundError:
                raise InvalidBackup(f"{member.path} is missing") from None
            with source:
                yield MemberStream(member.path, os.fstat(source.fileno()).st_size, source)
        yield MemberStream(MANIFEST, len(data), io.BytesIO(data))

    def _read_file(self, path: str, limit: int) -> bytes:
        with self._open(path) as source:
            data = source.read(limit + 1)
        if len(data) > limit:
            raise InvalidBackup(f"its {path} is too large")
        return data

    def _open(self, path: str) -> IO[bytes]:
        # Links are not followed, and a pipe without a writer does not block.
        handle = os.open(self._root / path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        return open(handle, "rb")


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """Open the backup at ``path``: a directory, a tar archive, or a compressed one. Raises OSError."""
    if path.is_dir():
        yield DirectorySource(path)
        return
    with path.open("rb") as file, open_stream(file) as source:
        yield source


@contextmanager
def open_stream(stream: IO[bytes]) -> Iterator[Source]:
    """Open the archive that is read from ``stream``, which may be a pipe."""
    head = b""
    while len(head) < len(_ZSTD_MAGIC) and (more := stream.read(len(_ZSTD_MAGIC) - len(head))):  # pipes may return less
        head += more
    whole = io.BufferedReader(_RejoinedStream(head, stream), durable.BLOCK_BYTES)
    if head.startswith(_GZIP_MAGIC):
        with gzip.GzipFile(fileobj=whole, mode="rb") as plain:
            yield TarSource(cast(IO[bytes], plain))
    elif head == _ZSTD_MAGIC:
        yield TarSource(cast(IO[bytes], io.BufferedReader(_ZstdReader(whole), durable.BLOCK_BYTES)))
    else:
        yield TarSource(whole)


class _ZstdReader(io.RawIOBase):
    """Decompress all frames of a Zstandard stream. Raises InvalidBackup if it is damaged."""

    def __init__(self, packed: IO[bytes]) -> None:
        import zstandard

        self._bad = zstandard.ZstdError
        unpacker = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        self._plain = unpacker.stream_reader(packed, read_across_frames=True)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            return self._plain.readinto(buffer)
        except self._bad:
            raise InvalidBackup("it is damaged") from None


class _RejoinedStream(io.RawIOBase):
    """A stream whose first bytes, ``head``, were already read."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head or self._rest.read(len(buffer))
        self._head = b""
        buffer[: len(data)] = data
        return len(data)
