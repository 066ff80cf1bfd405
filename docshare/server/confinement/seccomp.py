"""Restrict the system calls of a process with seccomp.

This module assembles the classic BPF program itself: libseccomp is missing on minimal hosts, and its binding on PyPI
dates from 2021.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from docshare.server.confinement import kernel
from docshare.server.confinement.syscalls import SYSCALL_NUMBERS

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column of the table, AUDIT_ARCH
_SECCOMP_NUMBERS = (317, 277)
_SET_MODE_FILTER, _TSYNC = 1, 1
_X32 = 0x40000000

_KILL_PROCESS, _RETURN_ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16

_PROT_EXEC = 4
_AT_EMPTY_PATH = 0x1000
_AF_UNIX = 1
_F_DUPFD_CLOEXEC = 1030
_O_TMPFILE = 0x400000
# Namespace flags of clone: user, mount, process, network, ipc, uts, cgroup, time.
_NEW_NAMESPACES = 0x7E020080


@dataclass(frozen=True)
class SyscallRule:
    """The action for a system call: ``action``, or ``otherwise`` if the low 32 bits of argument ``argument`` are not
    one of ``values`` or contain any of ``bits``."""

    action: int = _ALLOW
    argument: int = 0
    values: tuple[int, ...] = ()
    bits: int = 0
    otherwise: int = _KILL_PROCESS


def errno_action(number: int) -> int:
    """Return the action that makes a call fail with the error ``number``."""
    return _RETURN_ERRNO | number


def build_worker_rules(*, may_read: bool, process_id: int) -> dict[str, SyscallRule]:
    """Return rules for a process that renders and edits documents: memory, time, and open file descriptors.

    ``may_read`` allows opening files for reading. Use it only if another layer hides sensitive files. ``process_id`` is
    the ID of the process in its process namespace.
    """
    rules = {name: SyscallRule() for name in _WORKER_SYSCALLS}
    rules |= {name: SyscallRule(errno_action(errno.EACCES)) for name in _DENIED_SYSCALLS}
    reading = SyscallRule(
        bits=os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | _O_TMPFILE, otherwise=errno_action(errno.EACCES)
    )
    if may_read:
        rules |= {
            "openat": replace(reading, argument=2),
            "open": replace(reading, argument=1),
            **{name: SyscallRule() for name in _METADATA_SYSCALLS},
        }
    no_code = SyscallRule(argument=2, bits=_PROT_EXEC, otherwise=errno_action(errno.EACCES))
    by_handle = SyscallRule(argument=3, values=(_AT_EMPTY_PATH,), otherwise=errno_action(errno.EACCES))
    return rules | {
        "mmap": no_code,
        "mprotect": no_code,
        "newfstatat": SyscallRule() if may_read else by_handle,
        "fcntl": SyscallRule(argument=1, values=(1, 2, 3, _F_DUPFD_CLOEXEC), otherwise=errno_action(errno.EPERM)),
        "prlimit64": SyscallRule(argument=0, values=(0,)),  # only its own limits, which it can only lower
        "tgkill": SyscallRule(argument=0, values=(process_id,)),  # abort()
        "ioctl": SyscallRule(errno_action(errno.ENOTTY)),
        "prctl": SyscallRule(errno_action(errno.EPERM)),
    }


def build_program_rules(*, sockets_apart: bool) -> dict[str, SyscallRule]:
    """Return rules that block what a document converter does not need: other processes, privileges, namespaces, kernel
    interfaces, network.

    ``sockets_apart`` allows Unix sockets. Use it only if other layers hide the sockets of other programs.
    """
    rules = {name: SyscallRule(errno_action(errno.EPERM)) for name in _FORBIDDEN_SYSCALLS}
    rules["clone"] = SyscallRule(argument=0, bits=_NEW_NAMESPACES, otherwise=errno_action(errno.EPERM))
    rules["clone3"] = SyscallRule(
        errno_action(errno.ENOSYS)
    )  # a filter cannot read its flags; libc falls back to clone
    rules["io_uring_setup"] = SyscallRule(errno_action(errno.ENOSYS))
    rules["prlimit64"] = SyscallRule(argument=0, values=(0,), otherwise=errno_action(errno.EPERM))  # own limits
    rules["socket"] = SyscallRule(argument=0, values=(_AF_UNIX,), otherwise=errno_action(errno.EAFNOSUPPORT))
    if not sockets_apart:
        rules |= {
            name: SyscallRule(errno_action(errno.ECONNREFUSED)) for name in ("connect", "sendto", "sendmsg", "sendmmsg")
        }
        # LibreOffice listens for a second instance of itself; pretend that this succeeds.
        rules |= {name: SyscallRule(errno_action(0)) for name in ("bind", "listen")}
    return rules


def assemble_filter(rules: Mapping[str, SyscallRule], *, rest_allowed: bool = False) -> ctypes.Array[ctypes.c_char]:
    """Return the filter for ``install_filter`` that applies ``rules``.

    Calls without a rule kill the process, or are allowed with ``rest_allowed``. Raises OSError if the architecture is
    not supported.
    """
    column, architecture = _find_machine()
    program = b"".join(struct.pack("<HBBI", *line) for line in _assemble(rules, column, architecture, rest_allowed))
    return ctypes.create_string_buffer(program, len(program))


def install_filter(program: ctypes.Array[ctypes.c_char]) -> None:
    """Filter the system calls of all threads of this process and of its children with ``program``, permanently.

    Requires ``PR_SET_NO_NEW_PRIVS``. Raises OSError if the kernel or the architecture does not support the filter.
    """
    column, _ = _find_machine()
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(program))
    if kernel.syscall("seccomp", _SECCOMP_NUMBERS[column], _SET_MODE_FILTER, _TSYNC, header):
        raise OSError(errno.EBUSY, "seccomp: a thread has another filter")


def _find_machine() -> tuple[int, int]:
    machine = os.uname().machine
    if machine not in _MACHINES:
        raise OSError(errno.ENOSYS, f"system call numbers for {machine} are unknown")
    return _MACHINES[machine]


def _assemble(
    rules: Mapping[str, SyscallRule], column: int, architecture: int, rest_allowed: bool
) -> Iterable[tuple[int, int, int, int]]:
    """Yield BPF instructions as (code, jump if true, jump if false, value)."""
    yield _LOAD, 0, 0, _ARCH_AT
    yield _EQUAL, 1, 0, architecture
    yield _RETURN, 0, 0, _KILL_PROCESS
    yield _LOAD, 0, 0, _NUMBER_AT
    yield _AT_LEAST, 0, 1, _X32  # the x32 ABI of x86_64
    yield _RETURN, 0, 0, _KILL_PROCESS
    for name, rule in rules.items():
        number = SYSCALL_NUMBERS[name][column]
        if number is not None:
            body = list(_assemble_rule(rule))
            yield _EQUAL, 0, len(body), number
            yield from body
    yield _RETURN, 0, 0, _ALLOW if rest_allowed else _KILL_PROCESS


def _assemble_rule(rule: SyscallRule) -> Iterable[tuple[int, int, int, int]]:
    if rule.values or rule.bits:
        yield _LOAD, 0, 0, _ARGUMENTS_AT + 8 * rule.argument
    for index, value in enumerate(rule.values):
        yield _EQUAL, len(rule.values) - index, 0, value
    if rule.bits:
        yield _ANY_BIT, 0, 1, rule.bits
    if rule.values or rule.bits:
        yield _RETURN, 0, 0, rule.otherwise
    yield _RETURN, 0, 0, rule.action


# Most frequent first, because the filter checks them in order.
_WORKER_SYSCALLS = (
    "read", "pread64", "lseek", "write", "futex", "munmap", "brk", "madvise", "mremap", "recvmsg", "pselect6", "select",
    "poll", "ppoll", "readv", "writev", "close", "fstat", "getrandom", "getrusage", "clock_gettime", "clock_getres",
    "gettimeofday", "time", "times", "nanosleep", "clock_nanosleep", "getpid", "gettid", "getuid", "geteuid", "getgid",
    "getegid", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall", "sched_yield",
    "sched_getaffinity", "sysinfo", "uname", "getcwd", "exit", "exit_group",
)  # fmt: skip
# Libraries try these calls, but work without them.
_METADATA_SYSCALLS = ("stat", "lstat", "access", "faccessat", "faccessat2", "getdents64")
_DENIED_SYSCALLS = (
    *_METADATA_SYSCALLS, "open", "openat", "openat2", "statx", "readlink", "readlinkat", "getdents", "newfstatat",
)  # fmt: skip
_FORBIDDEN_SYSCALLS = (
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp", "pidfd_open",
    "pidfd_getfd", "pidfd_send_signal", "move_pages", "migrate_pages",
    "bpf", "perf_event_open", "userfaultfd", "vmsplice", "memfd_secret", "io_uring_enter", "io_uring_register",
    "shmget", "shmat", "semget", "msgget",
    "add_key", "request_key", "keyctl", "fanotify_init", "open_by_handle_at", "name_to_handle_at", "lookup_dcookie",
    "unshare", "setns", "mount", "umount2", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick",
    "mount_setattr", "pivot_root", "chroot", "mknod", "mknodat", "quotactl", "quotactl_fd", "acct", "swapon", "swapoff",
    "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot", "syslog", "vhangup",
    "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "iopl", "ioperm", "modify_ldt", "personality",
    "nfsservctl", "uselib", "sysfs", "ustat", "_sysctl", "sethostname", "setdomainname",
)  # fmt: skip
