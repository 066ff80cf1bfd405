"""Confine a process that reads strangers' files: first what it needs is imported, then everything else is taken away.

A flaw in a PDF or image library then gives an attacker a process without files, network, other processes, rights, and
with few system calls. Each layer holds without the others; a host that does not have one still has the rest.
"""

import contextlib
import ctypes
import math
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn

from docshare.server.confinement import kernel, landlock, namespaces, seccomp

LAYERS = {
    "user": "Let root change its user: add CAP_SETUID and CAP_SETGID, or start the server as an ordinary user.",
    "capabilities": "Let the server set no_new_privs and drop its capabilities.",
    "processes": "Allow user namespaces to the account of the server (sysctl user.max_user_namespaces, AppArmor).",
    "namespaces": "Allow user namespaces to the account of the server (sysctl user.max_user_namespaces, AppArmor).",
    "root": "Allow mounts inside user namespaces to the account of the server (AppArmor, seccomp profile).",
    "landlock": "Use a kernel of 5.13 or later with landlock in its list of security modules (lsm=landlock,...).",
    "seccomp": "Use a kernel with seccomp filters on x86_64 or aarch64, and a container profile that allows them.",
    "limits": "Allow the server to lower its resource limits.",
}
"""Name of each layer, in the order in which they are put on, and what gets it where it is missing."""

READABLE_PATHS = tuple(map(Path, (
    "/usr/share/fonts", "/usr/local/share/fonts", "/usr/share/X11/fonts/Type1", "/usr/share/X11/fonts/TTF",
    "/dev/urandom",
)))  # fmt: skip
"""The only files of the host that stay readable: where pdfium looks for fonts that a document does not bring, and where
qpdf takes random numbers for encrypted documents."""

_MAX_OPEN_FILES = 48
_LIMITS = {"FSIZE": 0, "CORE": 0, "NOFILE": _MAX_OPEN_FILES, "NPROC": 0, "MEMLOCK": 0, "MSGQUEUE": 0}
# Ids that nobody has: one for each process, so that not even two of them can meet. A container may have few ids.
_MIN_UID, _NOBODY_UID = 1_900_000_000, 65534


class ConfinementStatus(NamedTuple):
    """What became of the layers: the reason why it is missing by the name of each, None where it is active; and the
    version of Landlock (0 without it)."""

    missing: dict[str, str | None]
    landlock: int

    def row(self) -> dict[str, object]:
        """As JSON."""
        return {"layers": self.missing, "landlock": self.landlock}


class ProcessPlace(NamedTuple):
    """Where a process runs: its ``number`` as the host sees it, and why it has no process namespace of its own (None
    where it has one)."""

    number: int
    refusal: str | None


def enter_process_namespace() -> ProcessPlace:
    """Go on as the first process of a process namespace; this one waits for it and ends as it does.

    Call it before anything large is imported. The number of the new process goes to standard output as a line of JSON.
    """
    if not kernel.LINUX:
        return ProcessPlace(os.getpid(), _describe_unsupported())
    try:
        if kernel.is_filtered():
            _try_in_child(_begin_process_namespace)
        _begin_process_namespace()
        reader, writer = os.pipe()
        child = os.fork()
    except OSError as error:
        return ProcessPlace(os.getpid(), _describe_error(error))
    if child == 0:
        os.close(writer)
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        number = os.read(reader, 20)
        os.close(reader)
        if not number:
            os._exit(1)  # the parent is gone already
        return ProcessPlace(int(number), None)
    os.write(1, b'{"pid": %d}\n' % child)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.write(writer, b"%d" % child)
    return _exit_like(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def _begin_process_namespace() -> None:
    """Let the next child be the first process of a namespace."""
    kernel.prctl(kernel.PR_GET_NO_NEW_PRIVS)  # without prctl, that child would not end with this process
    if os.geteuid() == 0:
        namespaces.unshare(namespaces.PROCESSES)
    else:
        itself = namespaces.OwnProcDirectory()
        namespaces.unshare(namespaces.PROCESSES | namespaces.USER)
        itself.map_own_ids()
        itself.close()


def confine(memory_bytes: int, place: ProcessPlace) -> ConfinementStatus:
    """Put all layers on this process, which has one thread, for good, and find out which of them hold.

    Parameters: ``memory_bytes`` of address space; ``place`` what ``enter_process_namespace`` returned.
    """
    status = ConfinementStatus({"processes": place.refusal}, 0)
    missing = status.missing

    filtered = kernel.LINUX and kernel.is_filtered()

    def put_on(name: str, layer: Callable[[], None]) -> None:
        try:
            if filtered:
                _try_in_child(layer)
            layer()
            missing[name] = None
        except OSError as error:
            missing[name] = _describe_error(error)

    os.chdir("/")
    _exit_on_cpu_limit()
    if kernel.LINUX:
        _leave_host(put_on, missing, place.number)
        put_on("capabilities", _drop_rights)
        with contextlib.suppress(OSError):
            if filtered:
                _try_in_child(landlock.landlock_version)
            status = status._replace(landlock=landlock.landlock_version())
        put_on("landlock", lambda: _restrict_files(missing["root"] is None))
        readable = missing["root"] is None or missing["landlock"] is None
        put_on("seccomp", lambda: _filter_syscalls(may_read=readable))
        filtered = False  # from here on, nothing can be tried in a child
    put_on("limits", lambda: _set_limits(memory_bytes))
    if not kernel.LINUX:
        missing.update({name: _describe_unsupported() for name in LAYERS if name not in missing})
    return status._replace(missing={name: missing[name] for name in LAYERS})


def extend_cpu_limit(seconds: float) -> None:
    """Let the process use ``seconds`` more of processor time; past that the kernel ends it (SIGXCPU).

    The parent watches the wall clock; this ends a stalled worker whose parent is gone.
    """
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = usage.ru_utime + usage.ru_stime
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    wanted = math.ceil(used + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def _exit_on_cpu_limit() -> None:
    """Let SIGXCPU end this process even as the first of its namespace, which signals do not end by default."""
    libc = ctypes.CDLL(None)
    libc.signal.restype = ctypes.c_void_p
    libc.signal(int(signal.SIGXCPU), ctypes.cast(libc._exit, ctypes.c_void_p))


def release_memory() -> None:
    """Give the heap's free pages back to the system (glibc keeps them by our malloc settings)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _leave_host(put_on: Callable[[str, Callable[[], None]], None], missing: dict[str, str | None], number: int) -> None:
    """Leave the namespaces of the host, its files, and root's ids.

    Root leaves directly and changes its user then; others need a user namespace, and so does root in a container.
    """
    try:
        itself = namespaces.OwnProcDirectory()
    except OSError as error:
        missing["namespaces"] = missing["root"] = _describe_error(error)
        put_on("user", lambda: _change_user(number))
        return
    before = itself.namespaces()
    if os.geteuid() == 0:
        put_on("namespaces", lambda: _leave_namespaces(itself, before, 0))
        if missing["namespaces"] is None:
            put_on("root", lambda: namespaces.mount_only(READABLE_PATHS))
    put_on("user", lambda: _change_user(number))
    if missing.get("namespaces", "") is not None:
        itself.remember_ids()
        put_on("namespaces", lambda: _leave_namespaces(itself, before, namespaces.USER))
        missing["root"] = missing["namespaces"]
        if missing["namespaces"] is None:
            put_on("root", lambda: namespaces.mount_only(READABLE_PATHS))
    itself.close()


def _try_in_child(layer: Callable[[], object]) -> None:
    """Try ``layer`` in a child first: the filter that a service or container has may kill who asks for it."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(OSError):
            layer()
        os._exit(0)
    if os.WIFSIGNALED(os.waitpid(child, 0)[1]):
        raise OSError("the system call filter of the service forbids it")


def _leave_namespaces(itself: namespaces.OwnProcDirectory, before: dict[int, str], user: int) -> None:
    namespaces.unshare(namespaces.ISOLATED_NAMESPACES | user)
    if user:
        itself.map_own_ids()
    if set(itself.namespaces().values()) & set(before.values()):
        raise OSError("a namespace is still that of the host")


def _change_user(number: int) -> None:
    if os.geteuid() == 0:
        kernel.switch_user((_MIN_UID + number, _NOBODY_UID))


def _drop_rights() -> None:
    kernel.drop_capabilities()
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)  # nobody reads its memory, and its files in /proc are root's
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)  # forgotten by the kernel when the user changed
    if kernel.prctl(kernel.PR_GET_NO_NEW_PRIVS) != 1:
        raise OSError("no_new_privs was not set")


def _restrict_files(own_root: bool) -> None:
    landlock.restrict_thread([(path, landlock.READ_RIGHTS) for path in READABLE_PATHS])
    with contextlib.suppress(PermissionError):
        os.close(os.open("/" if own_root else sys.executable, os.O_RDONLY | os.O_CLOEXEC))
        raise OSError("files can still be opened")


def _filter_syscalls(*, may_read: bool) -> None:
    seccomp.install_filter(seccomp.build_worker_rules(may_read=may_read))
    with contextlib.suppress(PermissionError):
        kernel.prctl(kernel.PR_GET_NO_NEW_PRIVS)
        raise OSError("the filter lets everything pass")


def _set_limits(memory_bytes: int) -> None:
    for name, value in {**_LIMITS, "AS": memory_bytes}.items():
        which = getattr(resource, f"RLIMIT_{name}", None)
        if which is None:
            continue
        hard = resource.getrlimit(which)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(which, (bound, bound))
        except ValueError as error:
            raise OSError(f"RLIMIT_{name}: {error}") from error


def _exit_like(status: int) -> NoReturn:
    """End as the process ended that has exited with ``status`` (negative: by a signal)."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if status < 0 and -status != signal.SIGSTOP:
        signal.signal(-status, signal.SIG_DFL) if -status != signal.SIGKILL else None
        os.kill(os.getpid(), -status)
    os._exit(status if status >= 0 else 1)


def _describe_error(error: OSError) -> str:
    return str(error.strerror or error) if error.filename is None else f"{error.filename}: {error.strerror}"


def _describe_unsupported() -> str:
    return f"{sys.platform} does not have it"
