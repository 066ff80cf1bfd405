"""Where a backup comes from: an archive as a stream, or a directory. Both hand over their members one by one, and the
manifest last. Nothing that they say is believed: no path leads anywhere, no size is taken for granted.
"""

import gzip
import io
import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol, cast

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
_ZSTD_WINDOW = 1 << 27  # bytes; as much memory as the zstd program itself gives to an archive of a stranger
_START_BYTES = 4096
_MANIFEST_BYTES = 1 << 30  # some million blobs


class MemberStream(NamedTuple):
    """A member as it is read: ``size`` bytes of ``source`` are its content, to be read before the next piece."""

    path: str
    size: int
    source: IO[bytes]


class Source(Protocol):
    """Hands over a backup."""

    def pieces(self) -> Iterator[MemberStream]:
        """``backup.json``, the members, the manifest. Raises BadBackup, OSError."""


class TarSource:
    """A backup that comes as a stream. Only plain members are taken: no links, no devices, no long names."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def pieces(self) -> Iterator[MemberStream]:
        """As ``Source``."""
        seen: set[str] = set()
        while (info := self._next()) is not None:
            if info.name in seen:
                raise InvalidBackup(f"it holds {info.name} twice")
            seen.add(info.name)
            yield MemberStream(info.name, info.size, self._stream)
            self._read(-info.size % _BLOCK_BYTES)
        self._stream.read(_BLOCK_BYTES)  # the second block of the end, that who writes to a pipe sees it taken

    def _next(self) -> tarfile.TarInfo | None:
        """The next head, None at the end of the archive."""
        head = self._read(_BLOCK_BYTES)
        if not any(head):
            return None
        try:
            info = tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
        except tarfile.HeaderError:
            raise InvalidBackup("it is no tar archive, or a damaged one") from None
        if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.size < 0:
            raise InvalidBackup(f"it holds {info.name!r}, which is no plain file")
        _require_known_member(info)
        return info

    def _read(self, size: int) -> bytes:
        found = bytearray()
        while len(found) < size:
            block = self._stream.read(size - len(found))
            if not block:
                raise InvalidBackup("it ends in the middle")
            found += block
        return bytes(found)


def _require_known_member(info: tarfile.TarInfo) -> None:
    limits = {START: _START_BYTES, MANIFEST: _MANIFEST_BYTES}
    if info.name not in limits:
        parse_member_digest(info.name)
    elif info.size > limits[info.name]:
        raise InvalidBackup(f"its {info.name} is too large")


class DirectorySource:
    """A backup in a directory. What its manifest does not name is left alone."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def pieces(self) -> Iterator[MemberStream]:
        """As ``Source``."""
        try:
            data = self._bytes(MANIFEST, _MANIFEST_BYTES)
        except FileNotFoundError:
            raise InvalidBackup(f"there is no {MANIFEST} in it: it is no backup, or an unfinished one") from None
        manifest = parse_manifest(data)
        head = build_start(manifest.size)
        yield MemberStream(START, len(head), io.BytesIO(head))
        for member in manifest.members():
            parse_member_digest(member.path)
            try:
                source = self._open(member.path)
            except FileNotFoundError:
                raise InvalidBackup(f"{member.path} is missing") from None
            with source:
                yield MemberStream(member.path, os.fstat(source.fileno()).st_size, source)
        yield MemberStream(MANIFEST, len(data), io.BytesIO(data))

    def _bytes(self, path: str, limit: int) -> bytes:
        with self._open(path) as source:
            data = source.read(limit + 1)
        if len(data) > limit:
            raise InvalidBackup(f"its {path} is too large")
        return data

    def _open(self, path: str) -> IO[bytes]:
        # Not through links, and not into a pipe that nobody writes to.
        handle = os.open(self._root / path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        return open(handle, "rb")


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """The backup at ``path``: a directory, a tar archive, or a compressed one. Raises OSError."""
    if path.is_dir():
        yield DirectorySource(path)
        return
    with path.open("rb") as file, open_stream(file) as source:
        yield source


@contextmanager
def open_stream(stream: IO[bytes]) -> Iterator[Source]:
    """The archive that comes out of ``stream``, which need not be a file."""
    head = b""
    while len(head) < len(_ZSTD_MAGIC) and (more := stream.read(len(_ZSTD_MAGIC) - len(head))):  # a pipe may give less
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
    """What a Zstandard stream holds, all its frames. Raises BadBackup where it is damaged."""

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
    """A stream of which ``head`` was read already."""

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
