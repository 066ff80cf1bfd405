"""Write a backup to a tar archive, or to a directory, which keeps the bytes that it already has."""

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
from docshare.server.store.file_names import sync_directory

_BLOCK_BYTES = 512  # bytes; the block size of tar
_MODE = 0o600
_PARTIAL_SUFFIX = ".part"

Progress = Callable[[int], None]


class OtherInstance(Exception):
    """The directory contains a backup of another instance, whose documents would be deleted."""


class Sink(Protocol):
    """Receive the members of one backup, then its manifest."""

    written: int
    """Bytes that were not stored before."""

    def begin(self, size: int, instance: str) -> None:
        """Begin a backup of ``instance`` with at most ``size`` bytes. Raises OtherInstance."""

    def has(self, digest: str, size: int) -> bool:
        """Return whether the bytes of a blob are stored, by this backup or an earlier one."""

    def find_digest(self, key: str) -> str | None:
        """Return the SHA-256 of the blob ``key`` from the manifest of an earlier backup, or None."""

    def add_named(self, name: str, source: Path, progress: Progress) -> Member:
        """Store the file ``source`` as the member ``name``."""

    def add_blob(self, source: Path, digest: str, size: int, progress: Progress) -> None:
        """Store the bytes of a blob."""

    def finish(self, manifest: Manifest) -> str:
        """Store the manifest, and return its SHA-256 once everything is durable."""


class TarSink:
    """Write a backup as one stream, ``out``, in constant memory and without seeking."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._stored: set[str] = set()
        self.written = 0

    def begin(self, size: int, instance: str) -> None:  # noqa: ARG002 - see Sink
        """See ``Sink``."""
        self._add_bytes(START, build_start(size))

    def has(self, digest: str, size: int) -> bool:  # noqa: ARG002 - see Sink
        """See ``Sink``."""
        return digest in self._stored

    def find_digest(self, key: str) -> str | None:  # noqa: ARG002 - see Sink
        """Return None: an archive does not know earlier backups."""
        return None

    def add_named(self, name: str, source: Path, progress: Progress) -> Member:
        """See ``Sink``."""
        digest, size = durable.hash_file(source)
        self._add(name, source, size, progress)
        return Member(name, size, digest)

    def add_blob(self, source: Path, digest: str, size: int, progress: Progress) -> None:
        """See ``Sink``."""
        self._add(blob_path(digest), source, size, progress)
        self._stored.add(digest)

    def finish(self, manifest: Manifest) -> str:
        """See ``Sink``. The caller closes the stream."""
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
    """Write a backup to the directory ``root``; bytes of an earlier backup in it are not copied again. The manifest is
    replaced last, so that a crash leaves the earlier backup intact. ``takeover``: allow one of another instance."""

    def __init__(self, root: Path, *, takeover: bool = False) -> None:
        self._root = root
        self._allows_takeover = takeover
        self.written = 0
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._previous_digests: dict[str, str] = {}
        self._instance = ""
        with suppress(FileNotFoundError):
            before = parse_manifest((root / MANIFEST).read_bytes())
            digests, self._instance = before.digests_by_key(), before.instance
            # Bytes that were damaged are read again: they may have been repaired since.
            self._previous_digests = {key: digest for key, digest in digests.items() if key not in before.damaged}

    def begin(self, size: int, instance: str) -> None:  # noqa: ARG002 - see Sink
        """See ``Sink``."""
        if self._instance not in ("", instance) and not self._allows_takeover:
            raise OtherInstance(str(self._root))
        for path in [*self._root.glob(f"*{_PARTIAL_SUFFIX}"), *self._root.glob(f"blobs/*/*{_PARTIAL_SUFFIX}")]:
            path.unlink()  # from a backup that was killed

    def has(self, digest: str, size: int) -> bool:
        """See ``Sink``."""
        try:
            return (self._root / blob_path(digest)).stat().st_size == size
        except FileNotFoundError:
            return False

    def find_digest(self, key: str) -> str | None:
        """See ``Sink``."""
        return self._previous_digests.get(key)

    def add_named(self, name: str, source: Path, progress: Progress) -> Member:
        """See ``Sink``."""
        digest, size = durable.hash_file(source)
        member = Member(f"{name}.{digest[:16]}", size, digest)
        self._add(member.path, source, digest, progress)
        return member

    def add_blob(self, source: Path, digest: str, size: int, progress: Progress) -> None:  # noqa: ARG002 - see Sink
        """See ``Sink``."""
        self._add(blob_path(digest), source, digest, progress)

    def finish(self, manifest: Manifest) -> str:
        """See ``Sink``. Delete what this backup does not refer to, because the documents may have been purged."""
        data = manifest.to_bytes()
        partial = self._root / f"{MANIFEST}{_PARTIAL_SUFFIX}"
        durable.write_file([data], partial, lambda count: None)
        durable.sync_tree(self._root)
        partial.replace(self._root / MANIFEST)
        sync_directory(self._root)
        self._prune({member.path for member in manifest.iterate_members()})
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
    """Raise FileExistsError for a directory that contains anything but a backup."""
    if root.is_dir() and not (root / MANIFEST).exists() and any(_is_foreign(name) for name in os.listdir(root)):
        raise FileExistsError(str(root))


def _is_foreign(name: str) -> bool:
    # A first backup that is killed before it writes its manifest leaves these names.
    return not (
        name == "blobs" or name.endswith(_PARTIAL_SUFFIX) or any(name.startswith(f"{known}.") for known in NAMES)
    )
