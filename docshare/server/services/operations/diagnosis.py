"""How is this instance? What ``docshare doctor`` asks of it: a table of quick checks, none of which changes anything.

``admin check`` looks at every byte; here a busy server answers within seconds.
"""

import sqlite3
import stat
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from docshare.contract.findings import (
    DiagnosticFinding,
    error_finding,
    passed_finding,
    run_check,
    skipped_finding,
    warning_finding,
)
from docshare.contract.limits import MINUTE, SECOND
from docshare.contract.plans import DAY, GB, MB
from docshare.server.runtime import Runtime
from docshare.server.services.operations import surroundings
from docshare.server.store.migrations import STEPS

DoctorArguments = Mapping[str, str]
"""What the operator wants tried besides: ``egress`` an address, ``mail`` the recipient of a test mail."""

_CHECK_TIMEOUT_S = 10.0
_SCAN_TIMEOUT_S = 5.0
_LOW_DISK_BYTES, _CRITICAL_DISK_BYTES = 2 * GB, 200 * MB
_LARGE_WAL_BYTES = 256 * MB
_LATE_MS = 5 * MINUTE
_SILENT_MS = 2 * MINUTE
_PRIVATE_FILES = ("docshare.db", "docshare.db-wal", "docshare.db-shm", "instance.key", "vault.key", "config.toml")

_LATE_DELIVERIES = (
    "SELECT COUNT(*) FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id "
    "WHERE d.next_at <= ? AND w.disabled_at IS NULL"
)
_ABANDONED_DELIVERIES = "SELECT COUNT(*) FROM deliveries WHERE created_at > ? AND abandoned_at > ?"
_DISABLED_WEBHOOKS = "SELECT COUNT(*) FROM webhooks WHERE disabled_at IS NOT NULL"
_LATE_MAILS = "SELECT COUNT(*) FROM mails WHERE next_at <= ?"
_FAILED_MAILS = "SELECT COUNT(*) FROM mails WHERE failed_at > ?"


class DiagnosisCheck(NamedTuple):
    """One row of the table; ``fix``: what helps where it fails or takes too long."""

    name: str
    run: Callable[[Runtime, DoctorArguments], DiagnosticFinding]
    fix: str = "Look into the log of the server."


def _check_disk(rt: Runtime, wish: DoctorArguments) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    free = rt.blobs.free_bytes()
    words = f"{free / GB:.1f} GB free"
    fix = f"Free space on the file system of {rt.config.data_dir}, or move the data directory."
    if free < _CRITICAL_DISK_BYTES:
        return error_finding(f"{words}: uploads are refused", fix)
    return warning_finding(words, fix) if free < _LOW_DISK_BYTES else passed_finding(words)


def _check_wal(rt: Runtime, wish: DoctorArguments) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    path = rt.config.database.with_name(rt.config.database.name + "-wal")
    size = path.stat().st_size if path.exists() else 0
    if size > _LARGE_WAL_BYTES:
        return warning_finding(
            f"the write-ahead log has grown to {size / MB:.0f} MB",
            "A long read keeps it from being folded in; restart the server when nobody uses it.",
        )
    return passed_finding(f"the write-ahead log has {size / MB:.1f} MB")


def _check_database(rt: Runtime, wish: DoctorArguments) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    repair = "Stop the server, then: docshare admin check; restore a backup if it finds damage."
    with _open_read_only(rt) as connection:
        timer = threading.Timer(_SCAN_TIMEOUT_S, connection.interrupt)
        timer.start()
        try:
            ((answer,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
        except sqlite3.OperationalError as error:
            if timer.is_alive():
                return error_finding(str(error), repair)
            return skipped_finding(
                f"too large to be looked through in {_SCAN_TIMEOUT_S:.0f} s; docshare admin check does"
            )
        except sqlite3.DatabaseError as error:
            return error_finding(str(error), repair)
        finally:
            timer.cancel()
    return passed_finding("the database is sound") if answer == "ok" else error_finding(str(answer), repair)


def _check_schema(rt: Runtime, wish: DoctorArguments) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    taken = _query_number(rt, "PRAGMA user_version")
    words = f"schema step {taken} of {len(STEPS)}"
    return (
        passed_finding(words)
        if taken == len(STEPS)
        else error_finding(words, "Restart the server with this version of docshare.")
    )


def _check_permissions(rt: Runtime, wish: DoctorArguments) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    folder = rt.config.data_dir
    open_ones = [path for path in (folder, *(folder / name for name in _PRIVATE_FILES)) if _is_exposed(path)]
    if not open_ones:
        return passed_finding("nobody else on this machine can read the data")
    names = ", ".join(str(path) for path in open_ones)
    commands = "; ".join(f"chmod {700 if path == folder else 600} {path}" for path in open_ones)
    return error_finding(f"others on this machine can read {names}", commands)


def _is_exposed(path: Path) -> bool:
    return path.exists() and bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


def _check_jobs(rt: Runtime, wish: DoctorArguments) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    if not rt.pulses:
        return skipped_finding("no server runs, so nothing is destroyed, sent or delivered")
    now = rt.clock()
    silent = [f"{name} for {(now - at) // SECOND} s" for name, at in rt.pulses.items() if now - at > _SILENT_MS]
    if silent:
        return error_finding(
            f"background work stands still: {', '.join(silent)}", "Look into the log, restart the server."
        )
    return passed_finding(f"background work goes on: {', '.join(sorted(rt.pulses))}")


def _check_deliveries(rt: Runtime, wish: DoctorArguments) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    now = rt.clock()
    late, abandoned, disabled = (
        _query_number(rt, _LATE_DELIVERIES, now - _LATE_MS),
        _query_number(rt, _ABANDONED_DELIVERIES, now - 2 * DAY, now - DAY),
        _query_number(rt, _DISABLED_WEBHOOKS),
    )
    words = f"deliveries late: {late}, given up in 24 hours: {abandoned}; webhooks disabled: {disabled}"
    if late or abandoned or disabled:
        return warning_finding(
            words, "See which: docshare admin deliveries list; enable again: docshare webhooks enable ID"
        )
    return passed_finding("no webhook delivery is late or was given up")


def _check_outbox(rt: Runtime, wish: DoctorArguments) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    now = rt.clock()
    late, failed = _query_number(rt, _LATE_MAILS, now - _LATE_MS), _query_number(rt, _FAILED_MAILS, now - DAY)
    if late or failed:
        words = f"mails late: {late}, given up in 24 hours: {failed}"
        return warning_finding(words, "See why: docshare admin outbox list")
    return passed_finding("no mail is late or was given up")


def _query_number(rt: Runtime, sql: str, *params: int) -> int:
    with _open_read_only(rt) as connection:
        ((number,),) = connection.execute(sql, params).fetchall()
    return int(number)


def _open_read_only(rt: Runtime) -> "closing[sqlite3.Connection]":
    """A connection of its own, closed at the end of the block: the store keeps those of its threads for good, and a
    scan that is cut short must not disturb anybody else's."""
    return closing(sqlite3.connect(f"{rt.config.database.as_uri()}?mode=ro", uri=True))


CHECKS: tuple[DiagnosisCheck, ...] = (
    DiagnosisCheck("disk", _check_disk),
    DiagnosisCheck("permissions", _check_permissions),
    DiagnosisCheck("database", _check_database),
    DiagnosisCheck("schema", _check_schema),
    DiagnosisCheck("wal", _check_wal),
    DiagnosisCheck("jobs", _check_jobs),
    DiagnosisCheck("deliveries", _check_deliveries),
    DiagnosisCheck("outbox", _check_outbox),
    DiagnosisCheck(
        "smtp", surroundings.check_mail_server, "Is DOCSHARE_SMTP_URL right, and does a firewall let it through?"
    ),
    DiagnosisCheck("confinement", surroundings.check_confinement),
    DiagnosisCheck("converter", surroundings.check_converter, "Start it by hand to see why: soffice --version"),
    DiagnosisCheck("egress", surroundings.check_egress),
    DiagnosisCheck("design-keys", surroundings.check_design_keys),
    DiagnosisCheck("countries", surroundings.check_countries),
    DiagnosisCheck("proxies", surroundings.check_proxies),
)


def run_checks(rt: Runtime, wish: DoctorArguments) -> list[dict[str, Any]]:
    """Look at everything; returns one row per check: ``{check, ok, level, detail, fix}``. Nothing is raised: a check
    that fails says so in its row, and the others are made all the same."""
    rows: dict[str, dict[str, Any]] = {}

    def look(check: DiagnosisCheck) -> None:
        rows[check.name] = run_check(_CHECK_TIMEOUT_S, lambda: check.run(rt, wish), check.fix).row(check.name)

    threads = [threading.Thread(target=look, args=(check,), daemon=True) for check in CHECKS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [rows[check.name] for check in CHECKS]
