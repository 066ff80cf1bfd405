"""Restoring a backup: everything is verified and built beside the data directory's content before any of it moves."""

import gzip
import hashlib
import os
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from docshare.contract.wire import format_instant
from docshare.server.backup import durable, reading
from docshare.server.backup.archive import Progress
from docshare.server.backup.manifest import (
    DATABASE,
    MANIFEST,
    NAMES,
    START,
    InvalidBackup,
    Manifest,
    Member,
    parse_manifest,
    parse_member_digest,
    parse_start,
)
from docshare.server.backup.placing import ASIDE_NAME_FILE, ASIDE_PREFIX, PARTIAL, READY, finish_restore
from docshare.server.backup.sources import MemberStream, Source
from docshare.server.store.migrations import STEPS

_INCOMING = "incoming"  # the members as they come, below PARTIAL
# A sign-in, or a token of an app, that was ended after the backup must not live again; people and apps sign
# in again.
_SIGN_IN_TABLES = ("login_links", "web_sessions", "oauth_tokens", "oauth_codes")
# So far on go the ids of streams: clients keep the last id they saw, and would miss events that got lower
# ones.
_SEQUENCE_JUMP = 1_000_000_000
_SEQUENCE_TABLES = ("view_rows", "download_rows", "gate_rows", "activity_rows", "session_rows", "deliveries")
_HOLD_BACK = (
    "UPDATE deliveries SET next_at = NULL, claimed_at = NULL, abandoned_at = ?1 WHERE next_at IS NOT NULL",
    "UPDATE mails SET next_at = NULL, gathers_until = NULL, failed_at = ?1, error = 'held back by a restore' "
    "WHERE next_at IS NOT NULL",
)


class NotEnoughSpace(Exception):
    """The disk is too small for what would be restored."""


@dataclass(frozen=True)
class VerifiedBackup:
    """A backup that is whole. ``sha256`` of its manifest."""

    manifest: Manifest
    sha256: str


def verify(source: Source, scratch: Path, progress: Callable[[int, int], None]) -> VerifiedBackup:
    """Read all of a backup and keep nothing: is it whole?

    Parameters: ``scratch`` an empty directory for its database; ``progress`` as for ``making.make``. Raises BadBackup,
    NoRoom, OSError.
    """
    return _BackupReader(scratch, progress, keep_blobs=False).take(source)


def restore(
    source: Source, data_dir: Path, *, now: int, hold: bool, expected: str = "", progress: Callable[[int, int], None]
) -> tuple[VerifiedBackup, Path | None]:
    """Put a backup in place of what is in ``data_dir``, whose lock the caller holds.

    Parameters: ``hold`` whether deliveries and mails that were waiting stay unsent; ``expected`` the SHA-256 that the
    manifest must have. Returns what was restored and where the old instance went. Raises as ``verify``; nothing is
    changed then.
    """
    finish_restore(data_dir)
    partial = data_dir / PARTIAL
    (partial / _INCOMING).mkdir(mode=0o700, parents=True)
    try:
        verified = _BackupReader(partial / _INCOMING, progress, keep_blobs=True).take(source)
        if expected not in ("", verified.sha256):
            raise InvalidBackup(f"it is another backup: its manifest has the SHA-256 {verified.sha256}")
        _build_instance(partial, verified.manifest)
        _prepare_database(partial / DATABASE, now, hold=hold)
        stamp = format_instant(now).replace("-", "").replace(":", "").replace(".", "")
        (partial / ASIDE_NAME_FILE).write_text(f"{ASIDE_PREFIX}{stamp}", encoding="ascii")
        durable.chown_to_owner(data_dir, partial, *partial.rglob("*"))
        durable.sync_tree(partial)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    partial.rename(data_dir / READY)
    durable.sync_directory(data_dir)
    return verified, finish_restore(data_dir)


class _BackupReader:
    """Takes the members of a backup into ``folder``, under flat names, and holds them against its manifest."""

    def __init__(self, folder: Path, progress: Callable[[int, int], None], *, keep_blobs: bool) -> None:
        self._folder = folder
        self._progress = progress
        self._keep_blobs = keep_blobs
        self._limit = 0  # bytes that may come
        self._got = 0
        self._done = 0
        self._members: dict[str, Member] = {}

    def take(self, source: Source) -> VerifiedBackup:
        try:
            pieces = source.pieces()
            self._begin(next(pieces, None))
            manifest, digest = self._all(pieces)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise InvalidBackup("it is compressed and damaged") from None
        self._compare(manifest)
        _require_valid_database(self._folder / manifest.files[DATABASE].path, manifest)
        return VerifiedBackup(manifest, digest)

    def _begin(self, first: MemberStream | None) -> None:
        if first is None or first.path != START:
            raise InvalidBackup("it is no backup of docshare")
        self._limit = parse_start(first.source.read(first.size))
        room = shutil.disk_usage(self._folder).free
        if self._keep_blobs and self._limit > room:
            raise NotEnoughSpace(f"{self._limit} bytes are to be restored and {room} are free")

    def _all(self, pieces: Iterator[MemberStream]) -> tuple[Manifest, str]:
        for piece in pieces:
            if piece.path == MANIFEST:
                data = piece.source.read(piece.size)
                if next(pieces, None) is not None:
                    raise InvalidBackup("it goes on after its manifest")
                return parse_manifest(data), hashlib.sha256(data).hexdigest()
            self._got += piece.size
            if self._got > self._limit:
                raise InvalidBackup("more comes than it says")
            self._one(piece)
        raise InvalidBackup("it ends before its manifest: it is not whole")

    def _one(self, piece: MemberStream) -> None:
        promised = parse_member_digest(piece.path)
        blocks = durable.read_blocks(piece.source, piece.size)
        if promised is None or self._keep_blobs:
            digest = durable.write_file(blocks, self._folder / _flat_name(piece.path), self._tell)
        else:
            digest = _hash_blocks(blocks, self._tell)
        if promised not in (None, digest):
            raise InvalidBackup(f"{piece.path} is damaged")
        self._members[piece.path] = Member(piece.path, piece.size, digest)

    def _tell(self, count: int) -> None:
        self._done += count
        self._progress(self._done, self._limit)

    def _compare(self, manifest: Manifest) -> None:
        for member in manifest.members():
            found = self._members.pop(member.path, None)
            if found is None:
                raise InvalidBackup(f"{member.path} is missing")
            if found != member:
                raise InvalidBackup(f"{member.path} is damaged")
        if self._members:
            raise InvalidBackup(f"its manifest does not name {next(iter(self._members))}")


def _hash_blocks(blocks: Iterable[bytes], progress: Progress) -> str:
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block)
        progress(len(block))
    return digest.hexdigest()


def _flat_name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _require_valid_database(database: Path, manifest: Manifest) -> None:
    """Raise BadBackup unless the database can be used, and every row has its bytes."""
    try:
        with reading.open_database(database, still=True) as connection:
            step = reading.schema_step(connection)
            if step > len(STEPS):
                raise InvalidBackup(
                    f"its database version {step} is newer than this docshare ({len(STEPS)}); upgrade it"
                )
            (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if verdict != "ok":
                raise InvalidBackup(f"its database is damaged: {verdict}")
            if step != manifest.schema:
                raise InvalidBackup(f"its database is at version {step}, and its {MANIFEST} says {manifest.schema}")
            keys = manifest.keys()
            for row in reading.list_rows(connection):
                found = keys.get(row.blob)
                if row.blob not in manifest.damaged and (found is None or found != (row.sha256 or found)):
                    raise InvalidBackup(f"the bytes of the {row.kind} {row.uuid} are not in it")
    except sqlite3.Error as error:
        raise InvalidBackup(f"its database is damaged: {error}") from None


def _build_instance(partial: Path, manifest: Manifest) -> None:
    """The instance out of what came in: names as a server knows them, each blob under each of its keys."""
    incoming = partial / _INCOMING
    for name in NAMES:
        if name in manifest.files:
            (incoming / _flat_name(manifest.files[name].path)).rename(partial / name)
    for folder in ("tmp", "cache", "blobs"):
        (partial / folder).mkdir(mode=0o700)
    for digest, content in manifest.blobs.items():
        for key in content.keys:
            target = partial / "blobs" / key[:2] / key
            target.parent.mkdir(mode=0o700, exist_ok=True)
            os.link(incoming / digest, target)  # no blob is ever written again, so that two may be one file
    shutil.rmtree(incoming)


def _prepare_database(database: Path, now: int, *, hold: bool) -> None:
    """Change in the restored database what must not be as it was then."""
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        connection.execute("BEGIN IMMEDIATE")
        for table in tables.intersection(_SIGN_IN_TABLES):
            connection.execute(f"DELETE FROM {table}")  # noqa: S608 - a name from above
        for table in _SEQUENCE_TABLES:
            connection.execute("UPDATE sqlite_sequence SET seq = seq + ? WHERE name = ?", (_SEQUENCE_JUMP, table))
        if hold and tables.issuperset({"deliveries", "mails"}):
            for statement in _HOLD_BACK:
                connection.execute(statement, (now,))
        connection.execute("COMMIT")
