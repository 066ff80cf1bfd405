"""Check the PostgreSQL server of an instance for ``docshare doctor``. ``diagnosis`` checks the file of SQLite."""

import ipaddress
from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

from docshare.contract.findings import DiagnosticFinding, error_finding, passed_finding, warning_finding
from docshare.contract.limits import SECOND
from docshare.server.runtime import Runtime
from docshare.server.store import postgresql_facts

_MIN_VERSION = 130_000
_SLOW_MS = 20.0  # a page view takes several statements, one after the other
_CLOCK_ERROR_MS, _CLOCK_WARNING_MS = 30 * SECOND, 2 * SECOND
_VERIFYING_MODES = ("verify-full", "verify-ca")


def check_server(rt: Runtime, arguments: Mapping[str, str]) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    """Check the version of the server and the time of a round trip."""
    version = postgresql_facts.read_version(rt.db)
    latency = postgresql_facts.measure_latency_ms(rt.db)
    detail = f"PostgreSQL {version.text} answers in {latency:.1f} ms"
    if version.number < _MIN_VERSION:
        return error_finding(f"{detail}; docshare requires version 13 or later", "Upgrade the PostgreSQL server.")
    if latency > _SLOW_MS:
        return warning_finding(f"{detail}: every page needs several round trips", "Run docshare near its database.")
    return passed_finding(detail)


def check_clock(rt: Runtime, arguments: Mapping[str, str]) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    """Compare the clock of the database with that of this machine, which decides when links expire."""
    difference = abs(postgresql_facts.measure_lead(rt.db, rt.clock))
    detail = f"the clock of the database differs by {difference / SECOND:.1f} s"
    fix = "Synchronize both clocks with NTP: timedatectl status"
    if difference > _CLOCK_ERROR_MS:
        return error_finding(detail, fix)
    if difference > _CLOCK_WARNING_MS:
        return warning_finding(detail, fix)
    return passed_finding(f"the clock of the database agrees within {_CLOCK_WARNING_MS // SECOND} s")


def check_rights(rt: Runtime, arguments: Mapping[str, str]) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    """Check that the role can write and upgrade the schema, and nothing else."""
    rights = postgresql_facts.read_rights(rt.db)
    role = rights.role
    if rights.is_standby:
        return error_finding("the server is a read-only standby", "Point DOCSHARE_DATABASE_URL to the primary.")
    if not rights.can_create:
        return error_finding(
            f"the role {role} cannot create tables, so an upgrade fails",
            f'As an administrator: GRANT CREATE, USAGE ON SCHEMA public TO "{role}"',
        )
    if rights.foreign_tables:
        return error_finding(
            f"{rights.foreign_tables} tables belong to another role, so an upgrade fails",
            f'As an administrator, for each table: ALTER TABLE NAME OWNER TO "{role}"',
        )
    if rights.is_superuser:
        return warning_finding(
            f"the role {role} is a superuser",
            "Use a role that owns only its database: CREATE ROLE docshare LOGIN; ALTER DATABASE NAME OWNER TO docshare",
        )
    return passed_finding(f"the role {role} can write and upgrade the schema")


def check_tls(rt: Runtime, arguments: Mapping[str, str]) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    """Check that a connection to another machine is encrypted and verifies the server."""
    found = postgresql_facts.read_encryption(rt.db)
    if _is_local(found.client):
        return passed_finding("the connection does not leave this machine")
    fix = "Add sslmode=verify-full and sslrootcert=FILE to DOCSHARE_DATABASE_URL: the certificate of its authority."
    if not found.is_encrypted:
        return error_finding("the connection is not encrypted", fix)
    query = parse_qs(urlsplit(rt.config.database_url or "").query)
    if query.get("sslmode", [""])[-1] not in _VERIFYING_MODES:
        return warning_finding(f"{found.version}, but the certificate of the server is not verified", fix)
    return passed_finding(f"{found.version}; the certificate of the server is verified")


def _is_local(client: str) -> bool:
    return not client or ipaddress.ip_address(client).is_loopback


def check_pool(rt: Runtime, arguments: Mapping[str, str]) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    """Check that threads get a connection at once, and that the server has room for the whole pool."""
    pool, server = rt.db.count_connections(), postgresql_facts.read_connections(rt.db)
    most, waiting = rt.db.max_connections, pool["waiting"]
    detail = (
        f"{pool['used']} of {most} connections in use, threads waiting: {waiting}; "
        f"the server has {server.used} of {server.limit}"
    )
    missing = most - pool["used"] - pool["idle"]
    # A pool that still grows lets threads wait for a moment.
    if waiting and missing <= 0:
        return warning_finding(detail, "Add an instance, or find slow statements in pg_stat_activity.")
    if server.used + missing > server.limit:
        fix = f"Raise max_connections of PostgreSQL to {most} for each instance and a reserve."
        return warning_finding(f"{detail}: this pool cannot grow to its limit", fix)
    return passed_finding(detail)
