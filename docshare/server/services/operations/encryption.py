"""Encrypt data that earlier versions stored in clear, and rotate the master key.

Every function can be interrupted at any moment and continues later: bytes in clear and encrypted ones, and keys
sealed by earlier master keys and by the current one, are all readable meanwhile.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from docshare.contract.problems import Problem
from docshare.private_files import is_locked
from docshare.server import faults
from docshare.server.backup.making import hold_backup_lock
from docshare.server.config import ConfigError
from docshare.server.logs import LOGGER
from docshare.server.runtime import Runtime
from docshare.server.services.files import removals, sealed_blobs
from docshare.server.services.operations import secrets
from docshare.server.store.blobs import StorageUnreachableError
from docshare.server.store.lock import AlreadyLocked
from docshare.server.store.master_keys import KEY_BYTES, KeyFile, MasterKeyError
from docshare.server.store.tables import assets, files, webhooks
from docshare.server.store.tables import instance as instance_rows
from docshare.server.store.tables import removals as removal_rows
from docshare.server.store.tables.instance import UnencryptedBlob
from docshare.server.store.vault import Vault, name_data_key

_BATCH = 100  # rows, or files of one run of the job
_BLOCK_BYTES = 1 << 20
_RUN_SECONDS = 2.0  # other jobs wait meanwhile
_REPLACE_BLOB = {"files": files.replace_blob, "assets": assets.replace_blob}


@dataclass(frozen=True)
class _SealedRow:
    """A value that the vault sealed: its ``table`` and ``name`` there, and the context in the vault."""

    table: str
    name: str
    about: str
    sealed: bytes


def require_master_key(rt: Runtime) -> None:
    """Raise ConfigError if the master key is not that of the database, unless nothing but webhooks depends on it.

    A single instance without encrypted documents starts nevertheless; it can no longer sign for its webhooks.
    """
    problem = find_key_problem(rt, rt.vault)
    if problem is None and instance_rows.find_secret(rt.db, secrets.VAULT_FINGERPRINT) is None:
        with rt.db.write():
            instance_rows.insert_secret(rt.db, secrets.VAULT_FINGERPRINT, rt.vault.fingerprints()[0])
        problem = find_key_problem(rt, rt.vault)  # another instance may have been first
    if problem is not None:
        raise ConfigError(problem)
    known, stored = rt.vault.fingerprints(), instance_rows.find_secret(rt.db, secrets.VAULT_FINGERPRINT)
    if stored in known:
        return
    name = rt.vault.keys.name
    LOGGER.warning("%s is not the master key of this database: existing webhooks can no longer be signed", name)
    with rt.db.write():
        instance_rows.update_secret(rt.db, secrets.VAULT_FINGERPRINT, known[0], stored or b"")


def find_key_problem(rt: Runtime, vault: Vault) -> str | None:
    """Return why the server does not start with the master keys of ``vault``, or None if it does."""
    stored = instance_rows.find_secret(rt.db, secrets.VAULT_FINGERPRINT)
    is_needed = instance_rows.has_data_keys(rt.db)
    name = vault.keys.name
    if stored is not None and is_needed and not vault.keys.exist():
        return (
            f"{rt.config.vault_path} is missing, so no document can be decrypted; put it back from a backup, or from "
            "what docshare admin vault export printed"
        )
    try:
        known = vault.fingerprints()
    except MasterKeyError as error:
        return str(error)
    except OSError as error:
        return f"{name}: {error.strerror}: {error.filename}"
    if stored is None or stored in known or not (rt.db.is_shared or is_needed):
        return None
    return f"{name} is not the master key of this database" + (
        "; every instance on it needs the same key" if rt.db.is_shared else ", so no document can be decrypted"
    )


def encrypt_stored(rt: Runtime) -> int:
    """Encrypt stored bytes in clear, some at a time; return how many.

    Nothing with ``encryption = off``, or during a backup, because the bytes in clear are deleted afterwards. Those that
    cannot be read are logged and tried again; the random order keeps them from blocking the others.
    """
    if not rt.config.encryption or is_locked(rt.blobs.backup_lock):
        return 0
    count, end = 0, time.monotonic() + _RUN_SECONDS
    for each in instance_rows.list_unencrypted(rt.db, _BATCH):
        if time.monotonic() > end:
            break
        try:
            count += _encrypt(rt, each)
        except (OSError, StorageUnreachableError) as error:
            faults.log_error(error, "a stored document could not be encrypted", blob=each.blob)
    return count


def count_encrypted(rt: Runtime) -> tuple[int, int]:
    """Return how many stored blobs are encrypted, and how many there are."""
    return instance_rows.count_encrypted(rt.db)


def _encrypt(rt: Runtime, old: UnencryptedBlob) -> bool:
    """Store an encrypted copy of ``old``, let its row refer to that, and delete the original."""
    part = rt.blobs.create_partial()
    try:
        with sealed_blobs.open_blob(rt, old.blob).open() as source:
            while block := source.read(_BLOCK_BYTES):
                part.write(block)
        stored = sealed_blobs.store(rt, part)
    except FileNotFoundError:  # deleted or replaced meanwhile, or lost, which docshare admin check reports
        return False
    finally:
        part.discard()
    try:
        with rt.db.write(old.owner_id):
            is_current = _REPLACE_BLOB[old.kind](rt.db, old.id, stored.blob, old.blob)
            if is_current:
                sealed_blobs.insert_key(rt, stored)
                removal_rows.add(rt.db, [old.blob], rt.clock())
    except BaseException as error:
        if not faults.may_have_committed(error):
            rt.blobs.delete(stored.blob)
        raise
    if not is_current:
        rt.blobs.delete(stored.blob)
        return False
    removals.delete_now(rt, [old.blob])
    rt.pages.files.delete_derived(old.file_uuid)  # in clear
    return True


def describe(rt: Runtime) -> dict[str, Any]:
    """Return the state of the master keys, JSON-ready: how many there are, and how many values are sealed with the
    current one, with an earlier one, and with none of them."""
    encrypted, total = count_encrypted(rt)
    counts = _count_by_key(rt)
    return {
        "source": "file" if isinstance(rt.vault.keys, KeyFile) else "command",
        "name": str(rt.vault.keys.path) if isinstance(rt.vault.keys, KeyFile) else rt.config.key_command,
        "fingerprint": rt.vault.fingerprint().hex(),
        "keys": len(rt.vault.fingerprints()),
        "sealedCurrent": counts["current"],
        "sealedEarlier": counts["earlier"],
        "unreadable": counts["unreadable"],
        "encryption": rt.config.encryption,
        "encrypted": encrypted,
        "stored": total,
    }


def rotate(rt: Runtime) -> dict[str, Any]:
    """Seal everything with a new master key; return the new state.

    The file ``vault.key`` of the data directory gets a new key. A file or command of the operator must already provide
    the new key, followed by the old one. The old key is deleted from ``vault.key`` once nothing needs it, unless other
    instances may still use it. Raises ``conflict`` if there is no new key, or while a backup is being made.
    """
    with _exclude_backups(rt):
        return _rotate(rt)


@contextmanager
def _exclude_backups(rt: Runtime) -> Iterator[None]:
    """Keep backups from being made during the block: one that copied the database before a rotation and the key after
    it would contain no key that decrypts its documents. Raises ``conflict``."""
    try:
        with hold_backup_lock(rt.config.data_dir):
            yield
    except AlreadyLocked:
        raise Problem("conflict", "A backup is being made.", hint="Rotate the key when it has finished.") from None


def _rotate(rt: Runtime) -> dict[str, Any]:
    keys = rt.vault.keys
    is_own = isinstance(keys, KeyFile) and rt.config.secret_key_file is None
    if is_own and isinstance(keys, KeyFile) and len(rt.vault.fingerprints()) == 1:  # else: resume a rotation
        keys.replace([rt.random_bytes(KEY_BYTES), *keys.load()])
    if len(rt.vault.fingerprints()) == 1:
        raise Problem(
            "conflict",
            f"{keys.name} contains only one key.",
            hint="Put the new key before the old one, restart every instance, and rotate then.",
        )
    for found in _reseal_outdated(rt):
        with rt.db.write():
            _update_all(rt, found)
    with rt.db.write():
        # Again, for what was sealed meanwhile; no other transaction of this process runs now.
        for found in list(_reseal_outdated(rt)):
            _update_all(rt, found)
        if stored := instance_rows.find_secret(rt.db, secrets.VAULT_FINGERPRINT):
            instance_rows.update_secret(rt.db, secrets.VAULT_FINGERPRINT, rt.vault.fingerprint(), stored)
    if is_own and isinstance(keys, KeyFile) and not rt.db.is_shared:
        keys.replace(keys.load()[:1])
    rt.db.truncate_wal()
    return describe(rt)


def export(rt: Runtime) -> dict[str, list[str]]:
    """Return the master keys in hexadecimal digits, the current one first. Raises ``conflict`` if a command of the
    operator provides them."""
    if not isinstance(rt.vault.keys, KeyFile):
        raise Problem("conflict", "The master key comes from DOCSHARE_KEY_COMMAND.", hint="Run that command instead.")
    return {"keys": [key.hex() for key in rt.vault.keys.load()]}


def seal_plain_secrets(rt: Runtime) -> None:
    """Seal the secrets of the instance that an earlier version stored in clear."""
    for name, value in instance_rows.list_secrets(rt.db):
        if secrets.may_seal(name) and secrets.is_plain(value):
            with rt.db.write():
                instance_rows.update_secret(rt.db, name, rt.vault.seal_bytes(value, name), value)


def _count_by_key(rt: Runtime) -> dict[str, int]:
    current = rt.vault.current_id()
    counts = {"current": 0, "earlier": 0, "unreadable": 0}
    for row in _list_sealed(rt):
        if row.sealed.startswith(current):
            counts["current"] += 1
        else:
            counts["earlier" if _open(rt, row) is not None else "unreadable"] += 1
    return counts


def _list_sealed(rt: Runtime) -> Iterator[_SealedRow]:
    """Yield everything that the vault sealed."""
    last = ""
    while rows := instance_rows.list_data_keys(rt.db, last, _BATCH):
        for blob, sealed in rows:
            yield _SealedRow("data_keys", blob, name_data_key(blob), sealed)
        last = rows[-1][0]
    for uuid, sealed in webhooks.list_secrets(rt.db):
        yield _SealedRow("webhooks", uuid, uuid, sealed)
    for name, value in instance_rows.list_secrets(rt.db):
        if secrets.may_seal(name) and not secrets.is_plain(value):
            yield _SealedRow("instance_secrets", name, name, value)


def _open(rt: Runtime, row: _SealedRow) -> bytes | None:
    try:
        return rt.vault.open_bytes(row.sealed, row.about)
    except ValueError:
        return None


def _reseal_outdated(rt: Runtime) -> Iterator[list[tuple[_SealedRow, bytes]]]:
    """Yield the rows that the current key did not seal, with their new values, some at a time. Values that no key can
    open are left unchanged."""
    current, found = rt.vault.current_id(), []
    for row in _list_sealed(rt):
        if not row.sealed.startswith(current) and (secret := _open(rt, row)) is not None:
            found.append((row, rt.vault.seal_bytes(secret, row.about)))
        if len(found) == _BATCH:
            yield found
            found = []
    if found:
        yield found


def _update_all(rt: Runtime, found: list[tuple[_SealedRow, bytes]]) -> None:
    for row, sealed in found:
        _UPDATES[row.table](rt.db, row.name, sealed, row.sealed)


_UPDATES = {
    "data_keys": instance_rows.update_data_key,
    "webhooks": webhooks.update_secret,
    "instance_secrets": instance_rows.update_secret,
}
