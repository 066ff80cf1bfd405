"""Attacks from inside a compromised process, as after an exploit of a PDF library.

Uses only the standard library, because it also runs in place of LibreOffice, and imports everything before the
confinement. Each attempt returns whether it succeeded. A blocked attempt raises OSError or kills the process.
"""

import contextlib
import ctypes
import errno
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable
from typing import Any

Targets = dict[str, Any]
ATTEMPTS: dict[str, Callable[[Targets], bool]] = {}
"""All attempts by name, in the order of execution."""

BREATHE = "breathe"

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.sbrk.restype = ctypes.c_size_t
_X86 = os.uname().machine == "x86_64"
_CHANGED = b"changed by the payload"
_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x00020000
_PTRACE_SEIZE = 0x4206


def register_attempt(work: Callable[[Targets], bool]) -> Callable[[Targets], bool]:
    """Add ``work`` to ``ATTEMPTS``."""
    ATTEMPTS[work.__name__] = work
    return work


def call_system(number: int, *arguments: Any) -> int:
    """Make a system call. Raises OSError."""
    wide = [ctypes.c_long(value) if isinstance(value, int) else value for value in (number, *arguments)]
    result = int(_LIBC.syscall(*wide))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _select_syscall(x86: int, generic: int) -> int:
    return x86 if _X86 else generic


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


@register_attempt
def read_vault_key(at: Targets) -> bool:
    return at["secret"].encode() in _read(at["vault"])


@register_attempt
def read_database(at: Targets) -> bool:
    return bool(_read(at["database"]))


@register_attempt
def read_blob(at: Targets) -> bool:
    return bool(_read(at["blob"]))


@register_attempt
def overwrite_database_by_mmap(at: Targets) -> bool:
    with open(at["database"], "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[: len(_CHANGED)] = _CHANGED
    return True


@register_attempt
def delete_blob(at: Targets) -> bool:
    os.unlink(at["doomed"])
    return True


@register_attempt
def write_file(at: Targets) -> bool:
    with open(at["folder"] + "/written", "wb") as file:
        file.write(_CHANGED)
    return os.path.exists(at["vault"])  # otherwise it is a folder of that name in a private file system


@register_attempt
def kill_process(at: Targets) -> bool:
    os.kill(at["victim"], signal.SIGKILL)
    return True


@register_attempt
def ptrace(at: Targets) -> bool:
    call_system(_select_syscall(101, 117), _PTRACE_SEIZE, at["victim"], 0, 0)
    return True


@register_attempt
def read_memory(at: Targets) -> bool:
    found = ctypes.create_string_buffer(len(at["secret"]))
    mine = (ctypes.c_uint64 * 2)(ctypes.addressof(found), len(found))
    theirs = (ctypes.c_uint64 * 2)(at["address"], len(found))
    call_system(_select_syscall(310, 270), at["server"], mine, 1, theirs, 1, 0)
    return found.raw == at["secret"].encode()


@register_attempt
def read_memory_by_proc(at: Targets) -> bool:
    with open(f"/proc/{at['server']}/mem", "rb", buffering=0) as memory:
        memory.seek(at["address"])
        return memory.read(len(at["secret"])) == at["secret"].encode()


@register_attempt
def connect_to_unix_socket(at: Targets) -> bool:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(at["socket"])
    return True


@register_attempt
def connect_to_tcp(at: Targets) -> bool:
    socket.create_connection(("127.0.0.1", at["port"]), 5).close()
    return True


@register_attempt
def fork(at: Targets) -> bool:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return True


@register_attempt
def execute(at: Targets) -> bool:
    child = os.posix_spawn("/bin/true", ["true"], {})
    return os.waitpid(child, 0)[1] == 0


@register_attempt
def gain_capabilities(at: Targets) -> bool:
    if _LIBC.unshare(_NEW_USER) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    _LIBC.capget(header, sets)
    return bool(sets[0])


@register_attempt
def open_document_of_another_by_proc(at: Targets) -> bool:
    return at["secret"].encode() in _read(f"/proc/{at['server']}/fd/{at['descriptor']}")


# Attempts of an attacker who knows that the direct methods are blocked.


@register_attempt
def openat2(at: Targets) -> bool:
    open_how = struct.pack("QQQ", os.O_RDONLY, 0, 0)
    return call_system(437, -100, at["vault"].encode(), open_how, len(open_how)) >= 0


@register_attempt
def open_in_the_legacy_way(at: Targets) -> bool:
    return call_system(2, at["vault"].encode(), os.O_RDONLY, 0) >= 0 if _X86 else bool(_read(at["vault"]))


@register_attempt
def io_uring(at: Targets) -> bool:
    return call_system(425, 4, ctypes.create_string_buffer(256)) >= 0


@register_attempt
def pidfd_getfd(at: Targets) -> bool:
    handle = call_system(434, at["server"], 0)
    return call_system(438, handle, at["descriptor"], 0) >= 0


@register_attempt
def memfd_and_execute(at: Targets) -> bool:
    program = _read("/bin/true")
    handle = call_system(_select_syscall(319, 279), b"x", 0)
    os.write(handle, program)
    if os.fork() == 0:
        os.execve(handle, ["true"], {})
    return os.waitstatus_to_exitcode(os.wait()[1]) == 0


@register_attempt
def limit_the_server(at: Targets) -> bool:
    resource.prlimit(at["server"], resource.RLIMIT_NICE, resource.prlimit(at["server"], resource.RLIMIT_NICE))
    return True


@register_attempt
def netlink(at: Targets) -> bool:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()
    return True


@register_attempt
def udp(at: Targets) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        return sock.sendto(b"x", ("127.0.0.1", at["port"])) == 1


@register_attempt
def abstract_socket(at: Targets) -> bool:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect("\0" + at["abstract"])
    return True


@register_attempt
def keyring(at: Targets) -> bool:
    return (
        call_system(_select_syscall(248, 217), b"user", b"docshare-test", b"x", 1, -3) > 0
    )  # into the keyring of the session


@register_attempt
def shared_memory(at: Targets) -> bool:
    return call_system(_select_syscall(29, 194), at["key"], 0, 0) >= 0  # the shared memory segment of the server


@register_attempt
def message_queue(at: Targets) -> bool:
    return call_system(_select_syscall(68, 186), 0, 0o600) >= 0


@register_attempt
def signal_by_lease(at: Targets) -> bool:
    one, other = socket.socketpair()
    fcntl.fcntl(one, fcntl.F_SETOWN, at["victim"])
    fcntl.fcntl(one, fcntl.F_SETSIG, signal.SIGTERM)
    fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC)
    return other.send(b"x") == 1


@register_attempt
def new_mount(at: Targets) -> bool:
    if _LIBC.unshare(_NEW_USER | _NEW_MOUNTS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    if _LIBC.mount(b"none", b"/proc", b"tmpfs", 0, None) != 0:
        raise OSError(ctypes.get_errno(), "mount")
    return True


@register_attempt
def become_root_again(at: Targets) -> bool:
    os.setresuid(os.getuid(), os.getuid(), os.getuid())  # denied to processes that cannot change their user
    return True


@register_attempt
def run_written_code(at: Targets) -> bool:
    code = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.close()
    return True


@register_attempt
def list_processes(at: Targets) -> bool:
    return str(at["server"]) in os.listdir("/proc")


@register_attempt
def truncate_what_is_open(at: Targets) -> bool:
    for handle in range(3, 48):
        try:
            path = f"/proc/self/fd/{handle}"
            if os.path.realpath(path) == at["document"]:
                with open(path, "r+b") as file:
                    file.truncate(0)
                return True
        except OSError:
            continue
    raise OSError("nothing is open")


@register_attempt
def write_into_the_document(at: Targets) -> bool:
    for handle in range(3, 48):
        try:
            if os.fstat(handle).st_size == at["document_size"]:
                return os.pwrite(handle, b"x", 0) == 1
        except OSError:
            continue
    with open(at["document"], "r+b") as file:  # not open in this process
        return file.write(b"x") == 1


@register_attempt
def hand_descriptors_back(at: Targets) -> bool:
    own, _other = socket.socketpair()
    for handle in (*range(3, 12), own.fileno()):
        try:
            with socket.socket(fileno=os.dup(handle)) as sock:
                if sock.family == socket.AF_UNIX and sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 0:
                    return socket.send_fds(sock, [b"x"], [0]) == 1
        except OSError:
            continue
    return False


@register_attempt
def fork_by_clone3(at: Targets) -> bool:
    child = call_system(435, struct.pack("8Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0), 64)
    if child == 0:
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


@register_attempt
def clone_into_a_user_namespace(at: Targets) -> bool:
    child = call_system(_select_syscall(56, 220), _NEW_USER | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


@register_attempt
def start_a_thread(at: Targets) -> bool:
    ran = threading.Event()
    threading.Thread(target=ran.set).start()
    return ran.wait(5)


@register_attempt
def read_open_document_of_another_owner(at: Targets) -> bool:
    needle = _build_needle(at)
    for handle in range(3, 48):
        with contextlib.suppress(OSError):
            if needle in os.pread(handle, 1 << 20, 0):
                return True
    return False


@register_attempt
def find_document_of_another_owner_in_memory(at: Targets) -> bool:
    end = start = _LIBC.sbrk(0) & -mmap.PAGESIZE
    while _is_mapped(start - mmap.PAGESIZE):
        start -= mmap.PAGESIZE
    return _build_needle(at) in ctypes.string_at(start, end - start)  # the heap of libraries in C


def _build_needle(at: Targets) -> bytes:
    """Return a text that only the document of another owner contains: this code knows the secret itself."""
    return bytes(at["secret"][::-1], "ascii")


def _is_mapped(address: int) -> bool:
    """Return whether memory at ``address`` can be read. The call of futex does nothing but fail in one of two ways."""
    try:
        call_system(_select_syscall(202, 98), address, 0, 0xDEADBEEF, struct.pack("qq", 0, 0))
    except OSError as error:
        return error.errno != errno.EFAULT
    return True


def run_attempt(name: str, at: Targets) -> str:
    """Run one attempt; return ``achieved`` or the reason of the failure. The attempt ``breathe`` always succeeds."""
    try:
        return "achieved" if name == BREATHE or ATTEMPTS[name](at) else "in vain"
    except (OSError, ValueError) as error:
        return f"refused: {error}"


if __name__ == "__main__":  # without confinement, or in place of LibreOffice
    with open(sys.argv[2], "rb") as targets_file:
        aims = json.load(targets_file)
    sys.stdout.write(run_attempt(sys.argv[1], aims) + "\n")
