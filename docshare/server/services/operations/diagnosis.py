"""Check the health of this instance for ``docshare doctor``: a table of quick checks, none of which changes anything.

``docshare admin check`` reads every byte; these checks finish within seconds on a busy server.
"""

import stat
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docshare.contract.amounts import format_size
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
from docshare.server.rules.mails import is_placeholder
from docshare.server.runtime import Runtime, random_bytes
from docshare.server.services.operations import database_checks, encryption, engine_checks, environment_checks
from docshare.server.store import inspection
from docshare.server.store.migrations import STEPS
from docshare.server.store.tables import accounts, deliveries, instance, webhooks
from docshare.server.store.tables import mail as mail_rows
from docshare.server.store.vault import Vault

DoctorArguments = Mapping[str, str]
"""Optional tests that the operator requested: ``egress`` an address, ``mail`` the recipient of a test mail."""

_CHECK_TIMEOUT_S = 10.0
_SCAN_TIMEOUT_S = 5.0
_LOW_DISK_BYTES, _CRITICAL_DISK_BYTES = 2 * GB, 200 * MB
_LARGE_WAL_BYTES = 256 * MB
_LATE_MS = 5 * MINUTE
_SILENT_MS = 2 * MINUTE
_PRIVATE_FILES = ("docshare.db", "docshare.db-wal", "docshare.db-shm", "instance.key", "vault.key", "config.toml")


@dataclass(frozen=True)
class DiagnosisCheck:
    """One row of the table; ``fix``: what to do if the check fails or takes too long."""

    name: str
    run: Callable[[Runtime, DoctorArguments], DiagnosticFinding]
    fix: str = "See the log of the server."


def _check_disk(rt: Runtime, arguments: DoctorArguments) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    free = rt.blobs.free_bytes()
    detail = f"{format_size(free)} free"
    fix = f"Free space on the file system of {rt.config.data_dir}, or move the data directory."
    if free < _CRITICAL_DISK_BYTES:
        return error_finding(f"{detail}: uploads are rejected", fix)
    return warning_finding(detail, fix) if free < _LOW_DISK_BYTES else passed_finding(detail)


def _check_wal(rt: Runtime, arguments: DoctorArguments) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    path = rt.config.database_path.with_name(rt.config.database_path.name + "-wal")
    size = path.stat().st_size if path.exists() else 0
    if size > _LARGE_WAL_BYTES:
        return warning_finding(
            f"the write-ahead log has grown to {format_size(size)}",
            "A long read prevents checkpoints; restart the server when it is not in use.",
        )
    return passed_finding(f"the write-ahead log is {format_size(size)}")


def _check_database(rt: Runtime, arguments: DoctorArguments) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    repair = "Stop the server, then: docshare admin check; restore a backup if it finds damage."
    try:
        damage = inspection.find_damage(rt.config.database_path, _SCAN_TIMEOUT_S)
    except TimeoutError:
        return skipped_finding(f"the scan takes more than {_SCAN_TIMEOUT_S:.0f} s; run: docshare admin check")
    return error_finding(damage, repair) if damage else passed_finding("the database is not damaged")


def _check_schema(rt: Runtime, arguments: DoctorArguments) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    with inspection.open_reader(rt.db) as database:
        step = database.schema_version()
    detail = f"schema step {step} of {len(STEPS)}"
    if step == len(STEPS):
        return passed_finding(detail)
    return error_finding(detail, "Restart the server with this version of docshare.")


def _check_master_key(rt: Runtime, arguments: DoctorArguments) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    if not (rt.vault.keys.exist() or instance.has_data_keys(rt.db)):
        return skipped_finding("there is no master key yet")
    # The server has keys in memory that its key file may not have any more.
    problem = encryption.find_key_problem(rt, Vault(rt.vault.keys, random_bytes))
    if problem is None:
        return passed_finding("the master key is that of the database")
    return error_finding(
        problem, "Put the key back before the next start, which would fail; see docshare help encryption."
    )


def _check_permissions(rt: Runtime, arguments: DoctorArguments) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    folder = rt.config.data_dir
    exposed = [path for path in (folder, *(folder / name for name in _PRIVATE_FILES)) if _is_exposed(path)]
    if not exposed:
        return passed_finding("other users of this machine cannot read the data")
    names = ", ".join(str(path) for path in exposed)
    commands = "; ".join(f"chmod {700 if path == folder else 600} {path}" for path in exposed)
    return error_finding(f"other users of this machine can read {names}", commands)


def _is_exposed(path: Path) -> bool:
    return path.exists() and bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


def _check_jobs(rt: Runtime, arguments: DoctorArguments) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    if not rt.heartbeats:
        return skipped_finding("the server is not running, so no background jobs run")
    now = rt.clock()
    silent = [f"{name} for {(now - at) // SECOND} s" for name, at in rt.heartbeats.items() if now - at > _SILENT_MS]
    if silent:
        return error_finding(
            f"background jobs have stalled: {', '.join(silent)}", "See the log, then restart the server."
        )
    return passed_finding(f"background jobs are running: {', '.join(sorted(rt.heartbeats))}")


def _check_deliveries(rt: Runtime, arguments: DoctorArguments) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    now = rt.clock()
    with inspection.open_reader(rt.db) as database:
        late = deliveries.count_late(database, now - _LATE_MS)
        abandoned = deliveries.count_abandoned(database, now - 2 * DAY, now - DAY)
        disabled = webhooks.count_disabled(database)
    if late or abandoned or disabled:
        return warning_finding(
            f"deliveries late: {late}, abandoned in 24 hours: {abandoned}; webhooks disabled: {disabled}",
            "List them: docshare admin deliveries list; enable a webhook: docshare webhooks enable ID",
        )
    return passed_finding("webhook deliveries are on time")


def _check_owner(rt: Runtime, arguments: DoctorArguments) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    owner = accounts.find_first(rt.db)
    if owner is None:
        return skipped_finding("this instance has no accounts")
    if not is_placeholder(owner.email):
        return passed_finding(f"the owner is {owner.email}")
    detail = f"the owner has the address {owner.email}, which no email reaches"
    fix = f"Set yours: docshare admin account set-email {owner.email} YOU@EXAMPLE.COM"
    return warning_finding(detail, fix) if rt.mailer.is_configured else skipped_finding(f"{detail}; no email is sent")


def _check_outbox(rt: Runtime, arguments: DoctorArguments) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    now = rt.clock()
    with inspection.open_reader(rt.db) as database:
        late = mail_rows.count_late(database, now - _LATE_MS)
        failed = mail_rows.count_failed(database, now - DAY)
    if late or failed:
        detail = f"emails late: {late}, failed in 24 hours: {failed}"
        return warning_finding(detail, "See why: docshare admin outbox list")
    return passed_finding("emails are on time")


_SQLITE_CHECKS = (DiagnosisCheck("database", _check_database), DiagnosisCheck("wal", _check_wal))
_DATABASE_FIX = "Check DOCSHARE_DATABASE_URL, and that the PostgreSQL server accepts connections."
_POSTGRESQL_CHECKS = (
    DiagnosisCheck("database", database_checks.check_server, _DATABASE_FIX),
    DiagnosisCheck("database-clock", database_checks.check_clock, _DATABASE_FIX),
    DiagnosisCheck("database-rights", database_checks.check_rights, _DATABASE_FIX),
    DiagnosisCheck("database-tls", database_checks.check_tls, _DATABASE_FIX),
    DiagnosisCheck("database-pool", database_checks.check_pool, _DATABASE_FIX),
)
_COMMON_CHECKS = (
    DiagnosisCheck("disk", _check_disk),
    DiagnosisCheck("permissions", _check_permissions),
    DiagnosisCheck("schema", _check_schema),
    DiagnosisCheck("master-key", _check_master_key),
    DiagnosisCheck("jobs", _check_jobs),
    DiagnosisCheck("deliveries", _check_deliveries),
    DiagnosisCheck("owner", _check_owner),
    DiagnosisCheck("outbox", _check_outbox),
    DiagnosisCheck(
        "smtp",
        environment_checks.check_mail_server,
        "Check DOCSHARE_SMTP_URL, and whether a firewall blocks the connection.",
    ),
    DiagnosisCheck("confinement", environment_checks.check_confinement),
    DiagnosisCheck("converter", environment_checks.check_converter, "Start LibreOffice to see why: soffice --version"),
    DiagnosisCheck("egress", environment_checks.check_egress),
    DiagnosisCheck("design-keys", environment_checks.check_design_keys),
    DiagnosisCheck("countries", environment_checks.check_countries),
    DiagnosisCheck("proxies", environment_checks.check_proxies),
)


_STORAGE_CHECK = DiagnosisCheck("storage", engine_checks.check_storage, "Check DOCSHARE_STORAGE_URL.")
_SHARED_STORAGE_CHECKS = (_STORAGE_CHECK, DiagnosisCheck("storage-tls", engine_checks.check_storage_tls))
_REDIS_CHECKS = (
    DiagnosisCheck("redis", engine_checks.check_redis, "Check DOCSHARE_REDIS_URL, and that the server answers."),
    DiagnosisCheck("redis-tls", engine_checks.check_redis_tls),
)


def _list_checks(rt: Runtime) -> tuple[DiagnosisCheck, ...]:
    """Return the checks of this instance: those of the engines it uses, then those of every instance."""
    database = _POSTGRESQL_CHECKS if rt.db.is_shared else _SQLITE_CHECKS
    storage = _SHARED_STORAGE_CHECKS if rt.blobs.is_shared else (_STORAGE_CHECK,) if rt.db.is_shared else ()
    redis = _REDIS_CHECKS if rt.shared is not None else ()
    return (*database, *storage, *redis, *_COMMON_CHECKS)


def run_checks(rt: Runtime, arguments: DoctorArguments) -> list[dict[str, Any]]:
    """Run all checks at once; return one row per check: ``{check, ok, level, detail, fix}``.

    It never raises: a check that fails reports the error in its row, and does not affect the others.
    """
    checks, rows = _list_checks(rt), dict[str, dict[str, Any]]()

    def run(check: DiagnosisCheck) -> None:
        rows[check.name] = run_check(_CHECK_TIMEOUT_S, lambda: check.run(rt, arguments), check.fix).row(check.name)

    threads = [threading.Thread(target=run, args=(check,), daemon=True) for check in checks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [rows[check.name] for check in checks]
