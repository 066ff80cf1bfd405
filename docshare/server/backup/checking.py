"""Check the integrity of an instance. Every finding is a row ``{check, ok, detail, fix}``.

The check only reads, so a server may be running.
"""

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docshare.private_files import is_locked
from docshare.server.backup import contents, placing, reading
from docshare.server.backup.manifest import CONFIG, DATABASE, VAULT_KEY
from docshare.server.store.blobs import BACKUP_LOCK, BlobStore, open_folder
from docshare.server.store.database_file import DatabaseFile
from docshare.server.store.master_keys import MasterKeyError
from docshare.server.store.migrations import STEPS
from docshare.server.store.tables import contents as content_rows
from docshare.server.store.tables import deliveries, files, sharing, webhooks
from docshare.server.store.tables.contents import BlobRow
from docshare.server.store.vault import Vault

PRIVATE_PATHS = (".", DATABASE, VAULT_KEY, "instance.key", CONFIG, "blobs", "tmp", "cache")
_UPLOAD_GRACE_MS = 3_600_000  # while a server runs, a younger file may be an upload that does not have a row yet
_REPAIR_HINT = "docshare admin check --repair, while no server runs"
_RESTORE_HINT = "restore a backup: docshare admin restore"
# Rows that docshare never writes: a description, and the function that returns their UUIDs.
_INCONSISTENCIES: tuple[tuple[str, Callable[[DatabaseFile], list[str]]], ...] = (
    ("a file whose settings cannot be read", files.list_with_invalid_settings),
    ("a file in the trash without a purge date", files.list_without_purge_date),
    ("a file with more views than its view limit", files.list_over_view_limit),
    ("a file whose version has no revision", files.list_without_revision),
    ("a link for one recipient whose settings cannot be read", sharing.list_with_invalid_overrides),
    ("a delivery whose body cannot be read", deliveries.list_with_invalid_body),
)


@dataclass(frozen=True)
class Finding:
    """The result of one check: ``detail`` what was found; ``fix`` what to do, empty if the check passed."""

    check: str
    ok: bool
    detail: str
    fix: str = ""

    def to_row(self) -> dict[str, Any]:
        """Return the row that ``--json`` prints."""
        return {"check": self.check, "ok": self.ok, "detail": self.detail, "fix": self.fix or None}


@dataclass(frozen=True)
class DamagedRow:
    """A row whose bytes are missing or differ: ``problem`` as text."""

    row: BlobRow
    problem: str


class InstanceCheck:
    """Check the instance in ``data_dir``.

    Parameters: ``now`` ms; ``serving`` whether a server may be running; ``database`` a snapshot of the database and
    ``blobs`` the store of the bytes, where they are not in ``data_dir``; ``vault`` with the master keys; ``hashes``
    whether to read all bytes; ``progress`` is called with the bytes done and the total.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        now: int,
        serving: bool,
        vault: Vault,
        database: Path | None = None,
        blobs: BlobStore | None = None,
        hashes: bool = True,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        self._data = data_dir
        self._database = database or data_dir / DATABASE
        self._vault = vault
        self._blobs = blobs or open_folder(data_dir)
        self._older_than = now - _UPLOAD_GRACE_MS if serving else None
        self._hashes = hashes
        self._progress = progress

    def list_findings(self) -> list[Finding]:
        """Run all checks and return the findings. Raises OSError if the directory cannot be read."""
        return list(self._check_all())

    def _check_all(self) -> Iterator[Finding]:
        yield from self._check_permissions()
        try:
            with reading.open_database(self._database) as database:
                step = database.schema_version()
                yield from _check_integrity(database)
                yield from _check_schema(step)
                if step != len(STEPS):
                    return
                yield from self._check_encryption(database)
                yield from self._check_content(database)
                yield from self._check_unreferenced(database)
                yield from self._check_secrets(database)
                yield from _check_rows(database)
        except sqlite3.Error as error:
            yield Finding("database", False, f"it cannot be read: {error}", _RESTORE_HINT)

    def _check_permissions(self) -> Iterator[Finding]:
        wide = find_exposed(self._data)
        for path in wide:
            yield Finding("permissions", False, f"other users of this machine can read {path}", _REPAIR_HINT)
        if not wide:
            yield Finding("permissions", True, "other users of this machine cannot read it")

    def _check_content(self, database: DatabaseFile) -> Iterator[Finding]:
        # All at once, because a long read transaction keeps the write-ahead log from being truncated.
        rows = list(content_rows.stream_rows(database))
        size, done, damages = sum(row.size for row in rows), 0, []
        for row in rows:
            damage = self._find_damage(row)
            if damage is not None and content_rows.list_stored(database, [row.blob]):  # else it was deleted or replaced
                damages.append(damage)
            done += row.size
            self._progress(done, size)
        for found in damages:
            fix = f"have its owner replace it, or {_RESTORE_HINT}" if found.row.kind == "file" else _RESTORE_HINT
            yield Finding("content", False, f"{found.row.kind} {found.row.uuid}: {found.problem}", fix)
        if not damages:
            how = "with their SHA-256" if self._hashes else "with their size"
            yield Finding("content", True, f"{len(rows)} files and assets, {size} bytes, are in the store {how}")

    def list_damaged(self) -> list[DamagedRow]:
        """Return the rows whose bytes are missing or changed."""
        with reading.open_database(self._database) as database:
            found = (self._find_damage(row) for row in content_rows.stream_rows(database))
            return [damage for damage in found if damage is not None]

    def _find_damage(self, row: BlobRow) -> DamagedRow | None:
        size = self._blobs.find_size(row.blob)
        if size is None:
            return DamagedRow(row, "its content is missing from the store")
        if size != row.size:
            return DamagedRow(row, f"its content has {size} bytes instead of {row.size}")
        if not self._hashes:
            return None
        try:
            if not contents.is_intact(self._blobs, row, self._vault):
                return DamagedRow(row, "its content is not what was uploaded")
        except FileNotFoundError:
            return DamagedRow(row, "its content is missing from the store")
        except OSError as error:
            if not contents.is_unreadable(error):
                raise
            return DamagedRow(row, f"its content cannot be read: {error.strerror}")
        except (MasterKeyError, ValueError):
            return DamagedRow(row, f"{self._vault.keys.name} cannot decrypt its content")
        return None

    def _check_unreferenced(self, database: DatabaseFile) -> Iterator[Finding]:
        if is_locked(self._data / BACKUP_LOCK):
            yield Finding(
                "leftovers", True, "a backup is running; files deleted during the backup are removed after it"
            )
            return
        stray = self.list_unreferenced(database)
        for path in stray:
            yield Finding("leftovers", False, f"nothing refers to {path.relative_to(self._data)}", _REPAIR_HINT)
        if not stray:
            yield Finding("leftovers", True, "everything in the store belongs to a file or asset")
        for path in sorted(self._data.glob(f"{placing.ASIDE_PREFIX}*")):
            yield Finding("leftovers", True, f"{path.name} was replaced by a restore; delete it if you do not need it")

    def list_unreferenced(self, database: DatabaseFile) -> list[Path]:
        """Return blobs that no row refers to, and unfinished uploads."""
        known = {row.blob for row in content_rows.stream_rows(database)}
        # In a shared store, bytes without a row may be uploads to other instances; a server deletes them after a day.
        stored = [] if self._blobs.is_shared else (self._data / "blobs").glob("*/*")
        blobs = [path for path in stored if path.name not in known]
        return sorted(path for path in [*blobs, *(self._data / "tmp").glob("*")] if self._is_old(path))

    def _is_old(self, path: Path) -> bool:
        try:
            return self._older_than is None or path.stat().st_mtime * 1000 < self._older_than
        except FileNotFoundError:  # it was deleted meanwhile
            return False

    def _check_secrets(self, database: DatabaseFile) -> Iterator[Finding]:
        sealed, key = webhooks.list_secrets(database), self._vault.keys.name
        if sealed and not self._vault.keys.exist():
            fix = f"put {key} back; without it, create the webhooks again"
            yield Finding("secrets", False, f"{key} is missing: no delivery can be signed", fix)
            return
        closed = [uuid for uuid, secret in sealed if not _can_open(self._vault, secret, uuid)]
        for uuid in closed:
            detail = f"{key} cannot decrypt the secret of webhook {uuid}"
            yield Finding("secrets", False, detail, "create the webhook again")
        if not closed:
            yield Finding("secrets", True, f"{key} decrypts the secrets of all {len(sealed)} webhooks")

    def _check_encryption(self, database: DatabaseFile) -> Iterator[Finding]:
        rows = list(content_rows.stream_rows(database))
        encrypted = sum(row.sealed_key is not None for row in rows)
        if encrypted and not self._vault.keys.exist():
            fix = f"put {self._vault.keys.name} back: from a backup, or from docshare admin vault export"
            detail = f"{self._vault.keys.name} is missing: {encrypted} files and assets cannot be read"
            yield Finding("encryption", False, detail, fix)
            return
        yield Finding("encryption", True, f"{encrypted} of {len(rows)} files and assets are encrypted")


def find_exposed(data_dir: Path) -> list[Path]:
    """Return the paths of the instance that other users of this machine may open."""
    paths = [data_dir / name for name in PRIVATE_PATHS]
    return [path for path in paths if path.exists() and path.stat().st_mode & 0o077]


def _check_integrity(database: DatabaseFile) -> Iterator[Finding]:
    problems = [verdict for (verdict,) in database.fetch_all("PRAGMA integrity_check") if verdict != "ok"]
    for table, row_id, parent, _ in database.fetch_all("PRAGMA foreign_key_check"):
        problems.append(f"row {row_id} of {table} points to a missing row of {parent}")
    for problem in problems:
        yield Finding("database", False, problem, f"{_REPAIR_HINT}; if that does not help, {_RESTORE_HINT}")
    if not problems:
        yield Finding("database", True, "its pages, indexes, and references are intact")


def _check_schema(step: int) -> Iterator[Finding]:
    if step > len(STEPS):
        yield Finding(
            "schema", False, f"it is at step {step}; this docshare supports up to step {len(STEPS)}", "upgrade docshare"
        )
    elif step < len(STEPS):
        detail = f"it is at step {step} of {len(STEPS)}: the next start of the server upgrades it"
        yield Finding("schema", True, f"{detail}; check again after that")
    else:
        yield Finding("schema", True, f"it is at step {step}, which this docshare requires")


def _check_rows(database: DatabaseFile) -> Iterator[Finding]:
    found = [(what, uuid) for what, list_uuids in _INCONSISTENCIES for uuid in list_uuids(database)]
    for what, uuid in found:
        yield Finding("rows", False, f"{what}: {uuid}", _RESTORE_HINT)
    if not found:
        yield Finding("rows", True, "no row is inconsistent")


def _can_open(vault: Vault, sealed: bytes, about: str) -> bool:
    try:
        vault.open(sealed, about)
    except (MasterKeyError, ValueError):
        return False
    return True
