"""Linux system calls and constants that the Python standard library lacks."""

import contextlib
import ctypes
import os
import sys
from functools import cache
from pathlib import Path

LINUX = sys.platform == "linux"

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_SECUREBITS = 28
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_GET_NO_NEW_PRIVS = 39
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

# All securebits with their locks: user ID 0 never gains capabilities, and ambient capabilities are disabled.
ALL_SECUREBITS = 0b11101111

_CAPABILITY_VERSION_3 = 0x20080522
_CAPABILITY_COUNT = 64
_CapabilityHeader = ctypes.c_uint32 * 2
_CapabilitySets = ctypes.c_uint32 * 6


def call_libc(name: str, *arguments: object) -> int:
    """Call the function ``name`` of the C library and return its result. Raises OSError if that is negative."""
    result = int(getattr(_open_libc(), name)(*arguments))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


@cache
def _open_libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    if LINUX:
        for name in ("capget", "capset", "setns", "syscall", "unshare"):
            getattr(libc, name)  # finds it, which forks of this process then need not do
        libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
        libc.mount.argtypes = [*[ctypes.c_char_p] * 3, ctypes.c_ulong, ctypes.c_char_p]
    return libc


def syscall(name: str, number: int, *arguments: object) -> int:
    """Make the system call ``number`` with integers as 64 bits. Raises OSError with ``name`` in its message."""
    wide = [ctypes.c_long(value) if isinstance(value, int) else value for value in (number, *arguments)]
    try:
        return call_libc("syscall", *wide)
    except OSError as error:
        raise OSError(error.errno, f"{name}: {os.strerror(error.errno or 0)}") from None


def prctl(option: int, value: int = 0, extra: int = 0) -> int:
    """Call ``prctl``. Raises OSError."""
    return call_libc("prctl", option, value, extra, 0, 0)


@cache
def is_filtered() -> bool:
    """Return whether this process had, or may have had, a seccomp filter at the first call; its forks inherit it. Reads
    ``/proc``, because a filter can kill the process for calling ``prctl``."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return True
    return "Seccomp:\t0" not in lines


def drop_bounding_set() -> None:
    """Drop all capabilities from the bounding set, so that programs started later cannot gain any. Without permission,
    do nothing."""
    libc = _open_libc()
    for number in range(_CAPABILITY_COUNT):
        if libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) < 0:
            return  # no permission, or past the last capability


def drop_capabilities() -> None:
    """Drop all capabilities of this process and of programs that it executes. Raises OSError if one is left."""
    drop_bounding_set()
    for option, value in ((PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL), (PR_SET_SECUREBITS, ALL_SECUREBITS)):
        with contextlib.suppress(OSError):  # an old kernel, or no permission
            prctl(option, value)
    header, sets = _CapabilityHeader(_CAPABILITY_VERSION_3, 0), _CapabilitySets()
    call_libc("capset", header, sets)
    call_libc("capget", header, sets)
    if any(sets):
        raise OSError("capabilities are left")


def switch_user(candidates: tuple[int, ...]) -> None:
    """Switch to the first user and group ID of ``candidates`` that this host supports, without supplementary groups.

    Requires root. Raises OSError.
    """
    drop_bounding_set()
    os.setgroups([])
    for number in candidates:
        try:
            os.setresgid(number, number, number)
        except OSError:
            continue  # a container may have few IDs
        os.setresuid(number, number, number)
        break
    if 0 in (*os.getresuid(), *os.getresgid()) or os.getgroups():
        raise OSError("the process still runs as root")
