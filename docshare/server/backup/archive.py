"""Where a backup goes: an archive that anybody's ``tar`` reads, or a directory that keeps what is there already."""

import hashlib
import os
import tarfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol

from docshare.server.backup import durable
from docshare.server.backup.manifest import (
    MANIFEST,
    NAMES,
    START,
    Manifest,
    Member,
    blob_path,
    build_start,
    parse_manifest,
)

_BLOCK_BYTES = 512  # bytes; what a tar is made of
_MODE = 0o600
_PARTIAL_SUFFIX = ".part"

Progress = Callable[[int], None]


class OtherInstance(Exception):
    """The directory holds the backup of another instance, whose documents would be removed."""


class Sink(Protocol):
    """Takes the members of one backup, then its manifest."""

    written: int
    """Bytes that were stored anew."""

    def begin(self, size: int, instance: str) -> None:
        """``size``: as many bytes will come at most; ``instance``: of which instance. Raises OtherInstance."""

    def has(self, digest: str, size: int) -> bool:
        """Whether the bytes of a blob are stored already, from this backup or one before."""

    def remembered(self, key: str) -> str | None:
        """The SHA-256 of the blob ``key``, where a backup before says it."""

    def add_named(self, name: str, source: Path, progress: Progress) -> Member:
        """Store the file ``source`` as the member ``name``."""

    def add_blob(self, source: Path, digest: str, size: int, progress: Progress) -> None:
        """Store the bytes of a blob."""

    def finish(self, manifest: Manifest) -> str:
        """Store the manifest, and return its SHA-256 once everything is safe."""


class TarSink:
    """A backup as one stream, ``out``: constant memory, nothing is gone back to."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._stored: set[str] = set()
        self.written = 0

    def begin(self, size: int, instance: str) -> None:  # noqa: ARG002 - as Sink
        """As ``Sink``."""
        self._add_bytes(START, build_start(size))

    def has(self, digest: str, size: int) -> bool:  # noqa: ARG002 - as Sink
        """As ``Sink``."""
        return digest in self._stored

    def remembered(self, key: str) -> str | None:  # noqa: ARG002 - as Sink
        """As ``Sink``: an archive knows none before it."""
        return None

    def add_named(self, name: str, source: Path, progress: Progress) -> Member:
        """As ``Sink``."""
        digest, size = durable.hash_file(source)
        self._add(name, source, size, progress)
        return Member(name, size, digest)

    def add_blob(self, source: Path, digest: str, size: int, progress: Progress) -> None:
        """As ``Sink``."""
        self._add(blob_path(digest), source, size, progress)
        self._stored.add(digest)

    def finish(self, manifest: Manifest) -> str:
        """As ``Sink``; whoever opened the stream closes it."""
        data = manifest.to_bytes()
        self._add_bytes(MANIFEST, data)
        self._out.write(bytes(2 * _BLOCK_BYTES))
        self._out.flush()
        return hashlib.sha256(data).hexdigest()

    def _add(self, path: str, source: Path, size: int, progress: Progress) -> None:
        self._out.write(_build_header(path, size))
        left = size
        with source.open("rb", buffering=0) as file:
            for block in durable.read_blocks(file, size):
                self._out.write(block)
                left -= len(block)
                progress(len(block))
        if left:
            raise OSError(f"{source} became shorter while it was read")
        self._out.write(_padding(size))
        self.written += size

    def _add_bytes(self, path: str, data: bytes) -> None:
        self._out.write(_build_header(path, len(data)) + data + _padding(len(data)))


def _build_header(path: str, size: int) -> bytes:
    info = tarfile.TarInfo(path)
    info.size, info.mode = size, _MODE
    return info.tobuf(tarfile.GNU_FORMAT)


def _padding(size: int) -> bytes:
    return bytes(-size % _BLOCK_BYTES)


class DirectorySink:
    """A backup in the directory ``root``, which may hold one already: what is there is not copied again. The manifest
    is replaced last, so that a crash leaves the backup before as it was. ``takeover``: that may be of another
    instance."""

    def __init__(self, root: Path, *, takeover: bool = False) -> None:
        self._root = root
        self._takeover = takeover
        self.written = 0
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._before: dict[str, str] = {}
        self._instance = ""
        with suppress(FileNotFoundError):
            before = parse_manifest((root / MANIFEST).read_bytes())
            self._before, self._instance = before.keys(), before.instance

    def begin(self, size: int, instance: str) -> None:  # noqa: ARG002 - as Sink
        """As ``Sink``."""
        if self._instance not in ("", instance) and not self._takeover:
            raise OtherInstance(str(self._root))
        for path in [*self._root.glob(f"*{_PARTIAL_SUFFIX}"), *self._root.glob(f"blobs/*/*{_PARTIAL_SUFFIX}")]:
            path.unlink()  # of a backup that was killed

    def has(self, digest: str, size: int) -> bool:
        """As ``Sink``."""
        try:
            return (self._root / blob_path(digest)).stat().st_size == size
        except FileNotFoundError:
            return False

    def remembered(self, key: str) -> str | None:
        """As ``Sink``."""
        return self._before.get(key)

    def add_named(self, name: str, source: Path, progress: Progress) -> Member:
        """As ``Sink``."""
        digest, size = durable.hash_file(source)
        member = Member(f"{name}.{digest[:16]}", size, digest)
        self._add(member.path, source, digest, progress)
        return member

    def add_blob(self, source: Path, digest: str, size: int, progress: Progress) -> None:  # noqa: ARG002 - as Sink
        """As ``Sink``."""
        self._add(blob_path(digest), source, digest, progress)

    def finish(self, manifest: Manifest) -> str:
        """As ``Sink``. What this backup does not name is removed: it may be of documents that were destroyed."""
        data = manifest.to_bytes()
        partial = self._root / f"{MANIFEST}{_PARTIAL_SUFFIX}"
        durable.write_file([data], partial, lambda count: None)
        durable.sync_tree(self._root)
        partial.replace(self._root / MANIFEST)
        durable.sync_directory(self._root)
        self._prune({member.path for member in manifest.members()})
        return hashlib.sha256(data).hexdigest()

    def _add(self, path: str, source: Path, digest: str, progress: Progress) -> None:
        target = self._root / path
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = target.with_name(f"{target.name}{_PARTIAL_SUFFIX}")
        partial.unlink(missing_ok=True)
        with source.open("rb", buffering=0) as file:
            if durable.write_file(durable.read_blocks(file), partial, progress) != digest:
                partial.unlink()
                raise OSError(f"{source} changed while it was read")
        partial.replace(target)
        self.written += target.stat().st_size

    def _prune(self, kept: set[str]) -> None:
        named = [path for name in NAMES for path in self._root.glob(f"{name}.*")]
        for path in [*named, *self._root.glob("blobs/*/*")]:
            if path.relative_to(self._root).as_posix() not in kept:
                path.unlink()


def require_usable_directory(root: Path) -> None:
    """Raise FileExistsError for a directory that holds something else than a backup."""
    if root.is_dir() and not (root / MANIFEST).exists() and any(_is_foreign(name) for name in os.listdir(root)):
        raise FileExistsError(str(root))


def _is_foreign(name: str) -> bool:
    # What a first backup leaves that was killed before its manifest stood.
    return not (
        name == "blobs" or name.endswith(_PARTIAL_SUFFIX) or any(name.startswith(f"{known}.") for known in NAMES)
    )
