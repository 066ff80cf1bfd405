"""Repair what a check found, under the lock of the data directory.

Files are not deleted but moved to ``<data>/lost-and-found/<time>``, with a report of all repairs.
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from docshare.contract.wire import format_instant
from docshare.server.backup import placing
from docshare.server.backup.checking import DamagedRow, Finding, InstanceCheck, find_exposed
from docshare.server.backup.manifest import DATABASE
from docshare.server.store.database_file import DatabaseFile
from docshare.server.store.migrations import STEPS
from docshare.server.store.tables import files
from docshare.server.store.vault import Vault

LOST_AND_FOUND = "lost-and-found"


def repair(data_dir: Path, vault: Vault, *, now: int) -> list[Finding]:
    """Repair what can be repaired; return the repairs as findings that are ``ok``. The caller holds the lock.

    Parameters: ``vault`` with the master keys; ``now`` ms. Raises OSError, sqlite3.Error.
    """
    placing.finish_restore(data_dir)
    check = InstanceCheck(data_dir, now=now, serving=False, vault=vault)
    done = [_restrict_access(path) for path in find_exposed(data_dir)]
    with closing(sqlite3.connect(data_dir / DATABASE, isolation_level=None)) as connection:
        database = DatabaseFile(connection)
        if database.fetch_one("PRAGMA integrity_check(1)") != ("ok",):
            database.execute("REINDEX")
            done.append(Finding("database", True, "its indexes were rebuilt"))
        if database.schema_version() == len(STEPS):
            place = data_dir / LOST_AND_FOUND / format_instant(now).replace(":", "").replace("-", "").replace(".", "")
            done += [_move_aside(data_dir, path, place) for path in check.list_unreferenced(database)]
            for damage in check.list_damaged():
                done += _freeze_damaged(database, damage, now)
            if done:
                _write_report(place, done)
    return done


def _restrict_access(path: Path) -> Finding:
    path.chmod(0o700 if path.is_dir() else 0o600)
    return Finding("permissions", True, f"{path} is now readable only by its owner")


def _move_aside(data_dir: Path, path: Path, place: Path) -> Finding:
    target = place / path.relative_to(data_dir)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.rename(target)
    return Finding("leftovers", True, f"{path.relative_to(data_dir)} was moved to {target}")


def _freeze_damaged(database: DatabaseFile, damage: DamagedRow, now: int) -> list[Finding]:
    """Freeze the links of a damaged file: readers get a notice instead of errors, and the owner can still replace the
    document."""
    row = damage.row
    if row.kind != "file" or not files.freeze_by_uuid(database, row.uuid, now):
        return []
    detail = f"the links of file {row.uuid} were frozen: {damage.problem}"
    return [Finding("content", True, detail, "once its owner has replaced it: docshare admin unfreeze")]


def _write_report(place: Path, done: list[Finding]) -> None:
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    report = json.dumps([finding.to_row() for finding in done], indent=2)
    (place / "report.json").write_text(report + "\n", encoding="utf-8")
