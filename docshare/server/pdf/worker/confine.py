"""Confine a process that reads untrusted files, after it has imported everything that it needs.

An attacker who exploits a PDF or image library then controls a process without files, network, other processes and
privileges, which can make few system calls. The layers are independent: a host that lacks one still has the others.
"""

import contextlib
import ctypes
import fcntl
import math
import os
import resource
import signal
import sys
import termios
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NoReturn

from docshare.server.confinement import kernel, landlock, namespaces, seccomp

LAYERS = {
    "user": "Allow root to change its user: add CAP_SETUID and CAP_SETGID, or start the server as an ordinary user.",
    "capabilities": "Allow the server to set no_new_privs and to drop its capabilities.",
    "processes": "Allow user namespaces for the account of the server (sysctl user.max_user_namespaces, AppArmor).",
    "namespaces": "Allow user namespaces for the account of the server (sysctl user.max_user_namespaces, AppArmor).",
    "root": "Allow mounts inside user namespaces for the account of the server (AppArmor, seccomp profile).",
    "landlock": (
        "Use Linux 5.13 or later with landlock in its list of security modules (lsm=landlock,...), and allow the system"
        " calls landlock_* in the filter of the container or the unit."
    ),
    "seccomp": "Use a kernel with seccomp filters on x86_64 or aarch64, and a container profile that allows them.",
    "limits": "Allow the server to lower its resource limits.",
}
"""The layers in the order in which they are applied, each with instructions for a host that lacks it."""

READABLE_PATHS = (
    "/usr/share/fonts", "/usr/local/share/fonts", "/usr/share/X11/fonts/Type1", "/usr/share/X11/fonts/TTF",
    "/dev/urandom",
)  # fmt: skip
"""The only files of the host that stay readable: pdfium looks there for fonts that a document does not embed, and qpdf
reads random numbers for encrypted documents."""

_MAX_OPEN_FILES = 48
_LIMITS = {"FSIZE": 0, "CORE": 0, "NOFILE": _MAX_OPEN_FILES, "NPROC": 0, "MEMLOCK": 0, "MSGQUEUE": 0}
# Unused user IDs, one per process, so that workers cannot signal each other. Containers with few IDs use "nobody".
_MIN_UID, _NOBODY_UID = 1_900_000_000, 65534


@dataclass(frozen=True)
class ConfinementStatus:
    """The result of ``confine``: ``missing`` maps each layer to the reason why it is missing, or None if it is active;
    ``landlock`` is the Landlock ABI version, or 0."""

    missing: dict[str, str | None]
    landlock: int

    def row(self) -> dict[str, object]:
        """Return the status as a JSON object."""
        return {"layers": self.missing, "landlock": self.landlock}


@dataclass(frozen=True)
class ProcessPlace:
    """Where a process runs: ``number`` is its process ID on the host; ``refusal`` the reason why it has no process
    namespace, or None if it has one."""

    number: int
    refusal: str | None


def leave_terminal() -> None:
    """Give up the terminal of the server, into which this process could otherwise type."""
    with contextlib.suppress(OSError):
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
        try:
            fcntl.ioctl(terminal, termios.TIOCNOTTY)
        finally:
            os.close(terminal)


def enter_process_namespace() -> ProcessPlace:
    """Continue in a child that is the first process of a new process namespace.

    The original process waits for the child and exits like it. Call this before importing anything large. Writes the
    process ID of the child to stdout as a line of JSON.
    """
    if not kernel.LINUX:
        return ProcessPlace(os.getpid(), _describe_unsupported())
    try:
        if kernel.is_filtered():
            try_in_child(_begin_process_namespace)
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
            os._exit(1)  # the parent has exited
        return ProcessPlace(int(number), None)
    os.write(1, b'{"pid": %d}\n' % child)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.write(writer, b"%d" % child)
    return _exit_like(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def _begin_process_namespace() -> None:
    """Make the next child the first process of a new process namespace."""
    kernel.prctl(kernel.PR_GET_NO_NEW_PRIVS)  # fails without prctl, which the child needs to end with this process
    if os.geteuid() == 0:
        namespaces.unshare(namespaces.PROCESSES)
    else:
        itself = namespaces.OwnProcDirectory()
        namespaces.unshare(namespaces.PROCESSES | namespaces.USER)
        itself.map_own_ids()
        itself.close()


def prepare() -> None:
    """Do once what each fork of this process would otherwise do in ``confine``, which takes 4 ms without it, else 3."""
    if kernel.LINUX:
        kernel.is_filtered()
        with contextlib.suppress(OSError):
            _assemble_filter(may_read=True, process_id=1)  # the first process of its namespace
    _exit_on_cpu_limit()


def confine(memory_bytes: int, place: ProcessPlace) -> ConfinementStatus:
    """Apply all layers to this single-threaded process permanently; return which of them are active.

    Parameters: ``memory_bytes`` limits the address space; ``place`` is the result of ``enter_process_namespace``.
    """
    missing = {"processes": place.refusal}
    landlock_abi = 0
    filtered = kernel.LINUX and kernel.is_filtered()

    def apply_layer(name: str, layer: Callable[[], None]) -> None:
        try:
            if filtered:
                try_in_child(layer)
            layer()
            missing[name] = None
        except OSError as error:
            missing[name] = _describe_error(error)

    os.chdir("/")
    _exit_on_cpu_limit()
    if kernel.LINUX:
        _leave_host(apply_layer, missing, place.number)
        apply_layer("capabilities", _drop_rights)
        with contextlib.suppress(OSError):
            if filtered:
                try_in_child(landlock.landlock_version)
            landlock_abi = landlock.landlock_version()
        apply_layer("landlock", lambda: _restrict_files(missing["root"] is None))
        readable = missing["root"] is None or missing["landlock"] is None
        apply_layer("seccomp", lambda: _filter_syscalls(may_read=readable))
        filtered = False  # from here on, nothing can be tried in a child
    apply_layer("limits", lambda: _set_limits(memory_bytes))
    if not kernel.LINUX:
        missing.update({name: _describe_unsupported() for name in LAYERS if name not in missing})
    return ConfinementStatus({name: missing[name] for name in LAYERS}, landlock_abi)


def extend_cpu_limit(seconds: float) -> None:
    """Limit the process to ``seconds`` more of processor time; the kernel then ends it with SIGXCPU.

    The parent enforces its own limits; this one ends a stalled worker whose parent has exited.
    """
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = usage.ru_utime + usage.ru_stime
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    limit = math.ceil(used + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


@cache
def _exit_on_cpu_limit() -> None:
    """Make SIGXCPU end this process and its forks. By default, the first process of a namespace ignores it."""
    libc = ctypes.CDLL(None)
    libc.signal.restype = ctypes.c_void_p
    libc.signal(int(signal.SIGXCPU), ctypes.cast(libc._exit, ctypes.c_void_p))


def release_memory() -> None:
    """Return free heap pages to the kernel; with the malloc settings of ``environment``, glibc keeps them."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _leave_host(
    apply_layer: Callable[[str, Callable[[], None]], None], missing: dict[str, str | None], number: int
) -> None:
    """Leave the namespaces and the files of the host, and give up root's IDs.

    Root leaves directly and then changes its user. Other users need a user namespace, and so does root in a container.
    """
    try:
        itself = namespaces.OwnProcDirectory()
    except OSError as error:
        missing["namespaces"] = missing["root"] = _describe_error(error)
        apply_layer("user", lambda: _change_user(number))
        return
    before = itself.namespaces()
    if os.geteuid() == 0:
        apply_layer("namespaces", lambda: _leave_namespaces(itself, before, 0))
        if missing["namespaces"] is None:
            apply_layer("root", lambda: namespaces.mount_only(READABLE_PATHS))
    apply_layer("user", lambda: _change_user(number))
    if missing.get("namespaces", "") is not None:
        itself.remember_ids()
        apply_layer("namespaces", lambda: _leave_namespaces(itself, before, namespaces.USER))
        missing["root"] = missing["namespaces"]
        if missing["namespaces"] is None:
            apply_layer("root", lambda: namespaces.mount_only(READABLE_PATHS))
    itself.close()


def try_in_child(layer: Callable[[], object]) -> None:
    """Try ``layer`` in a child first, because the seccomp filter of a service or container can kill the caller."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(OSError):
            layer()
        os._exit(0)
    if os.WIFSIGNALED(os.waitpid(child, 0)[1]):
        raise OSError("blocked by the system call filter of the service")


def _leave_namespaces(itself: namespaces.OwnProcDirectory, before: dict[int, str], user: int) -> None:
    namespaces.unshare(namespaces.ISOLATED_NAMESPACES | user)
    if user:
        itself.map_own_ids()
    if set(itself.namespaces().values()) & set(before.values()):
        raise OSError("a namespace of the host is still in use")


def _change_user(number: int) -> None:
    if os.geteuid() == 0:
        kernel.switch_user((_MIN_UID + number, _NOBODY_UID))


def _drop_rights() -> None:
    kernel.drop_capabilities()
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)  # protects its memory and its files in /proc
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)  # the kernel clears it when the user changes
    if kernel.prctl(kernel.PR_GET_NO_NEW_PRIVS) != 1:
        raise OSError("no_new_privs was not set")


def _restrict_files(own_root: bool) -> None:
    landlock.restrict_thread([(path, landlock.READ_RIGHTS) for path in READABLE_PATHS])
    with contextlib.suppress(PermissionError):
        os.close(os.open("/" if own_root else sys.executable, os.O_RDONLY | os.O_CLOEXEC))
        raise OSError("files can still be opened")


def _filter_syscalls(*, may_read: bool) -> None:
    seccomp.install_filter(_assemble_filter(may_read=may_read, process_id=os.getpid()))
    with contextlib.suppress(PermissionError):
        kernel.prctl(kernel.PR_GET_NO_NEW_PRIVS)
        raise OSError("the filter does not block system calls")


@cache
def _assemble_filter(*, may_read: bool, process_id: int) -> ctypes.Array[ctypes.c_char]:
    return seccomp.assemble_filter(seccomp.build_worker_rules(may_read=may_read, process_id=process_id))


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
    """Exit with ``status``, or raise the signal -``status`` if it is negative."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if status < 0 and -status != signal.SIGSTOP:
        signal.signal(-status, signal.SIG_DFL) if -status != signal.SIGKILL else None
        os.kill(os.getpid(), -status)
    os._exit(status if status >= 0 else 1)


def _describe_error(error: OSError) -> str:
    return str(error.strerror or error) if error.filename is None else f"{error.filename}: {error.strerror}"


def _describe_unsupported() -> str:
    return f"not available on {sys.platform}"
