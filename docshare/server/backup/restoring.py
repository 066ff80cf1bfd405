"""Restore a backup: verify and build all of it beside the content of the data directory before replacing anything."""

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
from docshare.server.backup import contents, durable, reading
from docshare.server.backup.archive import Progress
from docshare.server.backup.manifest import (
    DATABASE,
    MANIFEST,
    NAMES,
    START,
    VAULT_KEY,
    InvalidBackup,
    Manifest,
    Member,
    parse_manifest,
    parse_member_digest,
    parse_start,
)
from docshare.server.backup.placing import ASIDE_NAME_FILE, ASIDE_PREFIX, PARTIAL, READY, finish_restore
from docshare.server.backup.sources import MemberStream, Source
from docshare.server.store.database_file import DatabaseFile
from docshare.server.store.file_names import link_or_copy, sync_directory
from docshare.server.store.master_keys import KeyFile
from docshare.server.store.migrations import STEPS
from docshare.server.store.tables import STREAMS, deliveries, mail, oauth, sign_in
from docshare.server.store.tables import contents as content_rows
from docshare.server.store.vault import Vault

_INCOMING = "incoming"  # the members as received, below PARTIAL
# Clients keep the last id that they saw of a stream, and would miss later events with lower ids.
_STREAM_ID_STEP = 1_000_000_000


class NotEnoughSpace(Exception):
    """The disk does not have enough free space for the backup."""


@dataclass(frozen=True)
class VerifiedBackup:
    """A complete backup. ``sha256`` of its manifest; ``undecryptable``: how many documents and assets the key in it
    does not decrypt, 0 without a key."""

    manifest: Manifest
    sha256: str
    undecryptable: int


def verify(source: Source, scratch: Path, progress: Callable[[int, int], None]) -> VerifiedBackup:
    """Verify a backup by reading all of it, without keeping anything.

    Parameters: ``scratch`` an empty directory for its database; ``progress`` as for ``making.make_backup``. Raises
    InvalidBackup, NotEnoughSpace, OSError.
    """
    return _BackupReader(scratch, progress, keep_blobs=False).read_backup(source)


def restore(
    source: Source, data_dir: Path, *, now: int, hold: bool, expected: str = "", progress: Callable[[int, int], None]
) -> tuple[VerifiedBackup, Path | None]:
    """Replace the content of ``data_dir``, whose lock the caller holds, with a backup.

    Parameters: ``hold`` whether to cancel pending deliveries and mails; ``expected`` the SHA-256 that the manifest must
    have, empty for any. Returns the backup and the path of the replaced instance. Raises what ``verify`` raises, and
    then changes nothing.
    """
    finish_restore(data_dir)
    partial = data_dir / PARTIAL
    (partial / _INCOMING).mkdir(mode=0o700, parents=True)
    try:
        verified = _BackupReader(partial / _INCOMING, progress, keep_blobs=True).read_backup(source)
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
    sync_directory(data_dir)
    return verified, finish_restore(data_dir)


class _BackupReader:
    """Write the members of a backup to ``folder``, under flat names, and compare them with its manifest."""

    def __init__(self, folder: Path, progress: Callable[[int, int], None], *, keep_blobs: bool) -> None:
        self._folder = folder
        self._progress = progress
        self._keep_blobs = keep_blobs
        self._limit = 0  # bytes that may be received
        self._received_bytes = 0
        self._done = 0
        self._members: dict[str, Member] = {}

    def read_backup(self, source: Source) -> VerifiedBackup:
        try:
            pieces = source.iterate_members()
            self._begin(next(pieces, None))
            manifest, digest = self._read_members(pieces)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise InvalidBackup("it is compressed and damaged") from None
        self._require_match(manifest)
        _require_valid_database(self._folder / manifest.files[DATABASE].path, manifest)
        return VerifiedBackup(manifest, digest, self._count_undecryptable(manifest))

    def _count_undecryptable(self, manifest: Manifest) -> int:
        if VAULT_KEY not in manifest.files:
            return 0
        key = self._folder / manifest.files[VAULT_KEY].path
        vault = Vault(KeyFile(key, os.urandom, may_create=False), os.urandom)
        with reading.open_database(self._folder / manifest.files[DATABASE].path, still=True) as database:
            return sum(not contents.has_key(row, vault) for row in content_rows.stream_rows(database))

    def _begin(self, first: MemberStream | None) -> None:
        if first is None or first.path != START:
            raise InvalidBackup("it is not a backup of docshare")
        self._limit = parse_start(first.source.read(first.size))
        room = shutil.disk_usage(self._folder).free
        if self._keep_blobs and self._limit > room:
            raise NotEnoughSpace(f"{self._limit} bytes are needed, but only {room} are free")

    def _read_members(self, pieces: Iterator[MemberStream]) -> tuple[Manifest, str]:
        for piece in pieces:
            if piece.path == MANIFEST:
                data = piece.source.read(piece.size)
                if next(pieces, None) is not None:
                    raise InvalidBackup("data follows its manifest")
                return parse_manifest(data), hashlib.sha256(data).hexdigest()
            self._received_bytes += piece.size
            if self._received_bytes > self._limit:
                raise InvalidBackup("it is larger than it declares")
            self._read_member(piece)
        raise InvalidBackup("it is incomplete: it ends before its manifest")

    def _read_member(self, piece: MemberStream) -> None:
        promised = parse_member_digest(piece.path)
        blocks = durable.read_blocks(piece.source, piece.size)
        if promised is None or self._keep_blobs:
            digest = durable.write_file(blocks, self._folder / _flat_name(piece.path), self._report)
        else:
            digest = _hash_blocks(blocks, self._report)
        if promised not in (None, digest):
            raise InvalidBackup(f"{piece.path} is damaged")
        self._members[piece.path] = Member(piece.path, piece.size, digest)

    def _report(self, count: int) -> None:
        self._done += count
        self._progress(self._done, self._limit)

    def _require_match(self, manifest: Manifest) -> None:
        for member in manifest.iterate_members():
            found = self._members.pop(member.path, None)
            if found is None:
                raise InvalidBackup(f"{member.path} is missing")
            if found != member:
                raise InvalidBackup(f"{member.path} is damaged")
        if self._members:
            raise InvalidBackup(f"its manifest does not list {next(iter(self._members))}")


def _hash_blocks(blocks: Iterable[bytes], progress: Progress) -> str:
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block)
        progress(len(block))
    return digest.hexdigest()


def _flat_name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _require_valid_database(database: Path, manifest: Manifest) -> None:
    """Raise InvalidBackup unless the database can be used and every row has its bytes."""
    try:
        with reading.open_database(database, still=True) as opened:
            step = opened.schema_version()
            if step > len(STEPS):
                raise InvalidBackup(
                    f"its database version {step} is newer than this docshare ({len(STEPS)}); upgrade it"
                )
            ((verdict,),) = opened.fetch_all("PRAGMA integrity_check(1)")
            if verdict != "ok":
                raise InvalidBackup(f"its database is damaged: {verdict}")
            if step != manifest.schema:
                raise InvalidBackup(f"its database is at step {step}, but its {MANIFEST} names step {manifest.schema}")
            keys = manifest.digests_by_key()
            for row in content_rows.stream_rows(opened):
                found = keys.get(row.blob)
                if row.blob not in manifest.damaged and (found is None or found != (row.sha256 or found)):
                    raise InvalidBackup(f"the content of {row.kind} {row.uuid} is missing")
    except sqlite3.Error as error:
        raise InvalidBackup(f"its database is damaged: {error}") from None


def _build_instance(partial: Path, manifest: Manifest) -> None:
    """Build the instance from the received members, with each blob under all its keys."""
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
            link_or_copy(incoming / digest, target)  # blobs are never changed, so two keys may share one file
    shutil.rmtree(incoming)


def _prepare_database(database: Path, now: int, *, hold: bool) -> None:
    """Update the restored database: end sign-ins, advance stream ids and, with ``hold``, cancel pending messages."""
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        opened = DatabaseFile(connection)
        opened.execute("PRAGMA secure_delete = ON")
        opened.execute("BEGIN IMMEDIATE")
        # Sessions and tokens that were revoked after the backup must not become valid again.
        sign_in.delete_all(opened)
        oauth.delete_all_tokens(opened)
        opened.advance_last_ids(STREAMS, _STREAM_ID_STEP)
        if hold:
            deliveries.cancel_pending(opened, now)
            mail.cancel_pending(opened, now)
        opened.execute("COMMIT")
