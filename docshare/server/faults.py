"""Faults of the host: a full or failing disk, a data directory that is read-only, missing or not permitted, no
descriptors, no memory.

The caller has not caused them, and the server recovers from them without a restart. So the API and the pages answer all
of them with 503 and ``Retry-After``, and log one line without a traceback.
"""

import errno
import logging
import sqlite3
import threading
import time
from dataclasses import dataclass

from docshare.contract.problems import Problem
from docshare.server.logs import LOGGER
from docshare.server.store.blobs import StorageUnreachableError
from docshare.server.store.database import CommitUnknownError
from docshare.server.store.master_keys import MasterKeyError
from docshare.server.store.segments import DamagedBytesError

RETRY_AFTER_S = 30
"""Seconds after which a client may retry."""
_LOG_INTERVAL_S = 10.0


@dataclass(frozen=True)
class HostFault:
    """A fault. ``detail`` is shown to every caller, ``hint`` to the operator; ``log`` is the line in the log."""

    detail: str
    hint: str
    log: str


_DISK_FULL = HostFault(
    "The disk of the server is full.", "Free disk space; the server recovers by itself.", "the disk is full"
)
_DISK_ERROR = HostFault(
    "The disk of the server fails.", "Check the disk and the system log of the host.", "the disk reports an error"
)
_READ_ONLY = HostFault(
    "The data directory of the server is read-only.",
    "Make the data directory writable for the user that runs the server.",
    "the data directory is read-only",
)
_NOT_PERMITTED = HostFault(
    "The server has no permission for its data directory.",
    "Give the user that runs the server all rights on the data directory and everything in it.",
    "permission denied",
)
_NO_DIRECTORY = HostFault(
    "The data directory of the server is missing.",
    "Check that the file system of the data directory is mounted.",
    "a directory is missing",
)
_NO_DESCRIPTORS = HostFault(
    "The server is out of file descriptors.", "Raise the limit of open files.", "the limit of open files is reached"
)
_DATABASE_CANNOT_OPEN = HostFault(
    "The server cannot open its database.",
    "Check the limit of open files, and that the data directory exists and is writable.",
    "the database cannot be opened",
)
_OUT_OF_MEMORY = HostFault("The server is out of memory.", "Give the server more memory.", "memory is exhausted")
DATABASE_DAMAGED = HostFault(
    "The database of the server is damaged.",
    "Stop the server and run: docshare admin check",
    "the database is damaged; stop the server and run docshare admin check",
)
_DATABASE_BUSY = HostFault(
    "The database of the server is busy.", "Try again later.", "the database is locked or too slow"
)

_DATABASE_UNREACHABLE = HostFault(
    "The server cannot reach its database.",
    "Check that PostgreSQL is running and that DOCSHARE_DATABASE_URL is correct.",
    "the database cannot be reached",
)
_DATABASE_CROWDED = HostFault(
    "The database of the server has no free connection.",
    "Raise max_connections of PostgreSQL, or run fewer instances on it.",
    "the database has no free connection",
)
_DATABASE_REFUSES = HostFault(
    "The database of the server rejects writes.",
    "Give the user in DOCSHARE_DATABASE_URL all rights on the database, and point it at the primary server.",
    "the database rejects writes",
)

STORAGE_UNREACHABLE = HostFault(
    "The server cannot reach its storage.",
    "Check that the store of DOCSHARE_STORAGE_URL answers and accepts the credentials.",
    "the storage cannot be reached",
)
_COMMIT_UNKNOWN_DETAIL = "The server lost its database during the change; it is unknown whether the change was stored."
_COMMIT_UNKNOWN_HINT = "Check whether the change was made before you try again."
_NO_MASTER_KEY = HostFault(
    "The server cannot read its master key.",
    "Put the master key back where it was; see docshare help encryption.",
    "the master key cannot be read",
)
_BYTES_DAMAGED = HostFault(
    "The stored document is damaged.",
    "Run docshare admin check, and restore the document from a backup.",
    "stored bytes are damaged",
)

_BY_ERRNO = {
    errno.ENOSPC: _DISK_FULL,
    errno.EDQUOT: _DISK_FULL,
    errno.EFBIG: _DISK_FULL,
    errno.EIO: _DISK_ERROR,
    errno.ESTALE: _DISK_ERROR,  # of a network file system
    errno.EROFS: _READ_ONLY,
    errno.EACCES: _NOT_PERMITTED,
    errno.EPERM: _NOT_PERMITTED,
    errno.ENOTDIR: _NO_DIRECTORY,
    errno.EMFILE: _NO_DESCRIPTORS,
    errno.ENFILE: _NO_DESCRIPTORS,
    errno.ENOMEM: _OUT_OF_MEMORY,
}
_BY_SQLITE = {
    sqlite3.SQLITE_FULL: _DISK_FULL,
    sqlite3.SQLITE_IOERR: _DISK_ERROR,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_CANTOPEN: _DATABASE_CANNOT_OPEN,
    sqlite3.SQLITE_NOMEM: _OUT_OF_MEMORY,
    sqlite3.SQLITE_CORRUPT: DATABASE_DAMAGED,
    sqlite3.SQLITE_NOTADB: DATABASE_DAMAGED,
    sqlite3.SQLITE_BUSY: _DATABASE_BUSY,
    sqlite3.SQLITE_PROTOCOL: _DATABASE_BUSY,
}
# The keys are the first characters of an SQLSTATE (Appendix A of PostgreSQL's manual). A lost connection has no
# SQLSTATE; ``_find_sqlstate`` returns class 08 for it.
_BY_SQLSTATE = {
    "08": _DATABASE_UNREACHABLE,
    "28": _DATABASE_UNREACHABLE,
    "3D000": _DATABASE_UNREACHABLE,
    "57P": _DATABASE_UNREACHABLE,
    "53100": _DISK_FULL,
    "53200": _OUT_OF_MEMORY,
    "53300": _DATABASE_CROWDED,
    "25006": _DATABASE_REFUSES,
    "42501": _DATABASE_REFUSES,
    "58030": _DISK_ERROR,
    "25P03": _DATABASE_BUSY,
    "40P01": _DATABASE_BUSY,
    "55P03": _DATABASE_BUSY,
    "57014": _DATABASE_BUSY,
    "XX001": DATABASE_DAMAGED,
}
# PostgreSQL or its pooler refuses a connection with one of these messages, and without an SQLSTATE.
_CROWDED_MESSAGES = ("too many clients", "too many connections", "connection slots are reserved")
_DISCONNECTED_CLASSES = ("08", "57P")  # the connection failed; the server closed it because it stops or restarts
_PRIMARY_CODE_MASK = 0xFF  # the low byte of an extended result code of SQLite is its primary code


def find_fault(error: BaseException) -> HostFault | None:
    """Return the fault of the host that ``error`` reports, or None for any other exception."""
    if isinstance(error, MemoryError):
        return _OUT_OF_MEMORY
    if isinstance(error, StorageUnreachableError):
        return STORAGE_UNREACHABLE
    if isinstance(error, MasterKeyError):
        return _NO_MASTER_KEY
    if isinstance(error, DamagedBytesError):
        return _BYTES_DAMAGED
    code = _find_sqlite_code(error)
    if code is not None:
        return _BY_SQLITE.get(code & _PRIMARY_CODE_MASK)
    state = _find_sqlstate(error)
    if state is not None and is_crowded(error):
        return _DATABASE_CROWDED
    if state is not None:
        return next((fault for start, fault in _BY_SQLSTATE.items() if state.startswith(start)), None)
    return _BY_ERRNO.get(error.errno or 0) if isinstance(error, OSError) else None


def is_crowded(error: BaseException) -> bool:
    """Return whether PostgreSQL refused a connection because it has too many."""
    return any(text in str(error) for text in _CROWDED_MESSAGES)


def to_problem(error: BaseException) -> Problem | None:
    """Return the Problem ``unavailable`` for an exception that reports a fault of the host, or None.

    Its status is 504, without ``Retry-After``, if the transaction may have been committed: a client that repeats the
    request without checking that first could store everything twice.
    """
    if isinstance(error, CommitUnknownError):
        return Problem("unavailable", _COMMIT_UNKNOWN_DETAIL, hint=_COMMIT_UNKNOWN_HINT, status=504)
    fault = find_fault(error)
    if fault is None:
        return None
    return Problem("unavailable", fault.detail, hint=fault.hint, headers={"Retry-After": str(RETRY_AFTER_S)})


def may_have_committed(error: BaseException) -> bool:
    """Return whether the transaction that failed with ``error`` may have been committed nevertheless.

    After a failed ``fsync``, the commit may still be in the log of SQLite, and a connection to PostgreSQL may break
    during a commit. So the caller must not delete the blobs that the transaction added. If it was not committed, the
    blobs have no rows, and the deletion of orphans removes them.
    """
    if isinstance(error, CommitUnknownError):
        return True
    code = _find_sqlite_code(error)
    return code is not None and code & _PRIMARY_CODE_MASK == sqlite3.SQLITE_IOERR


def is_disconnected(error: BaseException) -> bool:
    """Return whether the connection to PostgreSQL broke with ``error``."""
    return (_find_sqlstate(error) or "").startswith(_DISCONNECTED_CLASSES)


_last_logged: dict[str, float] = {}
_log_lock = threading.Lock()


def log_error(error: BaseException, message: str, **facts: object) -> None:
    """Log ``error``. A fault of the host gets one line with its reason, at most every ten seconds; any other error gets
    its traceback."""
    fault = find_fault(error)
    if fault is None:
        LOGGER.error(message, exc_info=error, extra=facts)
        return
    now = time.monotonic()
    with _log_lock:
        if now - _last_logged.get(fault.log, -_LOG_INTERVAL_S) < _LOG_INTERVAL_S:
            return
        _last_logged[fault.log] = now
    LOGGER.log(logging.ERROR, f"{message}: {fault.log}", extra={**facts, "reason": find_reason(error) or None})


def find_reason(error: BaseException) -> str:
    """Return why PostgreSQL, a bucket or the master key cannot be used, in its own words, or the path that the system
    refused; "" for any other error."""
    if isinstance(error, StorageUnreachableError | MasterKeyError):
        return str(error)
    if isinstance(error, PermissionError | NotADirectoryError):
        return str(error.filename or "")
    found = _find_driver_error(error)
    if not _is_of_postgresql(found):
        return ""
    return next((line.strip() for line in str(found).splitlines() if line.strip()), "")


def _find_sqlite_code(error: BaseException) -> int | None:
    code = getattr(_find_driver_error(error), "sqlite_errorcode", None)
    return code if isinstance(code, int) else None


def _find_sqlstate(error: BaseException) -> str | None:
    """Return the SQLSTATE of an error of PostgreSQL's driver, None for any other error. If the driver reports no
    SQLSTATE, return "08000" for a failed connection, else "XX000"."""
    found = _find_driver_error(error)
    if not _is_of_postgresql(found):
        return None
    return getattr(found, "sqlstate", None) or ("08000" if _is_connection_error(found) else "XX000")


def _is_of_postgresql(error: BaseException) -> bool:
    return type(error).__module__.partition(".")[0] in ("psycopg", "psycopg_pool")


def _is_connection_error(error: BaseException) -> bool:
    return any(base.__name__ in ("OperationalError", "InterfaceError") for base in type(error).__mro__)


def _find_driver_error(error: BaseException) -> BaseException:
    """Return the error of the database driver inside ``error``. peewee wraps it once, or twice if it had to connect."""
    while isinstance(inner := getattr(error, "orig", None), BaseException):
        error = inner
    return error
