"""What a worker process gives up before it opens its first file: memory, files, processes, network, privileges."""

import contextlib
import ctypes
import math
import os
import resource
import sys

_OPEN_FILES = 48
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION_3 = 0x20080522
_CAP_DAC_OVERRIDE = 1 << 1
_CAP_DAC_READ_SEARCH = 1 << 2


def confine(memory_bytes: int) -> None:
    """Limit this process for good: ``memory_bytes`` of address space, no file writing, no children, no network.

    Leaving the network is best effort: it needs a right that not every system gives. A worker of root keeps of root's
    powers only that it may open files of other users, which a data directory on a mounted volume may hold.
    """
    _limit(resource.RLIMIT_AS, memory_bytes)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
    if sys.platform == "linux":
        _leave_network()
        _drop_capabilities()
    _limit(resource.RLIMIT_NPROC, 0)


def allow_seconds(seconds: float) -> None:
    """Let the process use ``seconds`` more of processor time; past that the kernel ends it (SIGXCPU).

    The parent watches the wall clock; this ends a stalled worker whose parent is gone.
    """
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = usage.ru_utime + usage.ru_stime
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    wanted = math.ceil(used + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def release_memory() -> None:
    """Give the heap's free pages back to the system (glibc keeps them by our malloc settings)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _limit(which: int, value: int) -> None:
    hard = resource.getrlimit(which)[1]
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(which, (bound, bound))


def _leave_network() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # Root leaves directly; others need a user namespace of their own, where the system allows one.
    flags = _CLONE_NEWNET if os.geteuid() == 0 else _CLONE_NEWNET | _CLONE_NEWUSER
    libc.unshare(flags)


def _drop_capabilities() -> None:
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; twice
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.capget(header, sets) == 0:
        kept = sets[1] & (_CAP_DAC_OVERRIDE | _CAP_DAC_READ_SEARCH)
        libc.capset(header, (ctypes.c_uint32 * 6)(kept, kept, 0, 0, 0, 0))
