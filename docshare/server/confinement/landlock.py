"""Restrict a process with Landlock: no file system, no TCP, no signals to other processes.

Landlock is permanent and needs no privileges. This module makes its three system calls directly, because no binding on
PyPI is mature.
"""

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

from docshare.server.confinement import kernel

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_VERSION_FLAG = 1
_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FILE_ONLY_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
# Pairs of ABI version and the rights that it added: for files, for TCP (bind, connect), and scopes that end at the
# sandbox (abstract Unix sockets, signals).
_FILE_RIGHTS_BY_VERSION = ((1, (1 << 13) - 1), (2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV))
_NET_RIGHTS_BY_VERSION = ((4, 0b11),)
_SCOPES_BY_VERSION = ((6, 0b11),)

READ_RIGHTS = _READ_FILE | _READ_DIR
RUN_RIGHTS = READ_RIGHTS | _EXECUTE


class _Ruleset(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("files", "net", "scoped")]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("rights", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def landlock_version() -> int:
    """Return the Landlock ABI version. Raises OSError if the kernel does not support Landlock."""
    return kernel.syscall("landlock", _CREATE_RULESET, None, 0, _VERSION_FLAG)


def restrict_thread(allowed: Iterable[tuple[str | Path, int]] = (), writable: Iterable[Path] = ()) -> int:
    """Deny this thread all files except those below ``allowed`` and ``writable``, all TCP, and signals to other
    processes. Return the Landlock ABI version.

    ``allowed`` holds pairs of a path and its rights (``READ_RIGHTS``, ``RUN_RIGHTS``). Paths in ``writable`` have all
    rights except execution. Paths that do not exist are skipped. Requires ``PR_SET_NO_NEW_PRIVS``. Raises OSError.
    """
    known = landlock_version()
    handled = _combine_rights(_FILE_RIGHTS_BY_VERSION, known)
    attributes = _Ruleset(
        handled, _combine_rights(_NET_RIGHTS_BY_VERSION, known), _combine_rights(_SCOPES_BY_VERSION, known)
    )
    # Older kernels have a shorter structure, but accept a longer one whose remaining fields are zero.
    size = ctypes.sizeof(attributes)
    ruleset = kernel.syscall("landlock_create_ruleset", _CREATE_RULESET, ctypes.byref(attributes), size, 0)
    try:
        for path, rights in (*allowed, *((path, handled & ~_EXECUTE) for path in writable)):
            _add_rule(ruleset, path, rights & handled)
        kernel.syscall("landlock_restrict_self", _RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return known


def _add_rule(ruleset: int, path: str | Path, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        beneath = _PathBeneath(rights if os.path.isdir(path) else rights & _FILE_ONLY_RIGHTS, handle)
        kernel.syscall("landlock_add_rule", _ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(beneath), 0)
    finally:
        os.close(handle)


def _combine_rights(steps: tuple[tuple[int, int], ...], known: int) -> int:
    return sum(rights for since, rights in steps if known >= since)
