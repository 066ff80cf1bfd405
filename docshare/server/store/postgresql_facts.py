"""Query a PostgreSQL server about itself and about the connection, for ``docshare doctor``.

It only needs the store, so that an instance on SQLite can import it without the packages of PostgreSQL.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

from docshare.server.store.database import Store

_VERSION = "SELECT current_setting('server_version'), CAST(current_setting('server_version_num') AS BIGINT)"
_CLOCK = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
_RIGHTS = (
    "SELECT CAST(current_user AS TEXT), pg_is_in_recovery(), "
    "current_schema() IS NOT NULL AND has_schema_privilege(current_schema(), 'CREATE'), "
    "(SELECT rolsuper FROM pg_roles WHERE rolname = current_user), "
    "(SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema() AND NOT pg_has_role(tableowner, 'USAGE'))"
)
_TLS = (
    "SELECT COALESCE(ssl, FALSE), COALESCE(version, ''), COALESCE(host(inet_client_addr()), '') "
    "FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
)
_CONNECTIONS = (
    "SELECT (SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), "
    "CAST(current_setting('max_connections') AS BIGINT) "
    "- CAST(current_setting('superuser_reserved_connections') AS BIGINT)"
)
_ROUND_TRIPS = 5


class ServerVersion(NamedTuple):
    """The version as text and as a number: 150004 is 15.4."""

    text: str
    number: int


class RoleRights(NamedTuple):
    """The role of the connection.

    Whether the server is a read-only standby, whether the role may create tables and is a superuser, and how many
    tables of the schema belong to roles that it is not a member of.
    """

    role: str
    is_standby: bool
    can_create: bool
    is_superuser: bool
    foreign_tables: int


class Encryption(NamedTuple):
    """Whether the connection uses TLS, in which version, and the address it comes from; empty for a Unix socket."""

    is_encrypted: bool
    version: str
    client: str


class ServerConnections(NamedTuple):
    """The connections of all clients of the server, and the limit for roles that are not superusers."""

    used: int
    limit: int


def read_version(store: Store) -> ServerVersion:
    """Return the version of the server."""
    return ServerVersion._make(store.fetch_all(_VERSION)[0])


def measure_latency_ms(store: Store) -> float:
    """Return the median duration of a statement that reads no table."""
    found = []
    for _ in range(_ROUND_TRIPS):
        begun = time.monotonic()
        store.fetch_all("SELECT 1")
        found.append((time.monotonic() - begun) * 1000)
    return sorted(found)[_ROUND_TRIPS // 2]


def read_clock(store: Store) -> int:
    """Return the time of the server in ms since 1970."""
    return int(store.fetch_all(_CLOCK)[0][0])


def measure_lead(store: Store, clock: Callable[[], int]) -> int:
    """Return by how many ms ``clock`` is ahead of the clock of the server, negative if it is behind."""
    before = clock()
    there = read_clock(store)
    after = clock()
    # The server read its clock between these two moments, so only a time outside of them is a difference.
    return before - there if there < before else min(0, after - there)


def read_rights(store: Store) -> RoleRights:
    """Return the rights of the role that the instance uses."""
    return RoleRights._make(store.fetch_all(_RIGHTS)[0])


def read_encryption(store: Store) -> Encryption:
    """Return how the connection is encrypted."""
    return Encryption._make(store.fetch_all(_TLS)[0])


def read_connections(store: Store) -> ServerConnections:
    """Return how many connections the server has and allows."""
    return ServerConnections._make(store.fetch_all(_CONNECTIONS)[0])
