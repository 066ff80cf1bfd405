"""Separate a process from the files, the network and the processes of the host with Linux namespaces."""

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

from docshare.server.confinement import kernel

MOUNTS = 0x00020000
IPC, USER, PROCESSES, NETWORK = 0x08000000, 0x10000000, 0x20000000, 0x40000000
ISOLATED_NAMESPACES = MOUNTS | IPC | NETWORK
"""The namespaces to leave, except the user namespace and the process namespace, which applies only to children."""
_PROC_NAMES = {MOUNTS: "mnt", IPC: "ipc", NETWORK: "net"}

NOSUID, NODEV, NOEXEC = 2, 4, 8
SAFE_MOUNT_FLAGS = NOSUID | NODEV | NOEXEC
BIND, MOVE, REC, PRIVATE = 0x1000, 0x2000, 0x4000, 0x40000
_SYS_MOUNT_SETATTR = 442  # the same number on every architecture
_AT_FDCWD, RECURSIVE = -100, 0x8000
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV, ATTR_NOEXEC = 1, 2, 4, 8


class OwnProcDirectory:
    """An open handle of ``/proc/self``, which still works after the process has lost access to all other files."""

    def __init__(self) -> None:
        """Raise OSError if ``/proc`` is not mounted."""
        self._ids = os.geteuid(), os.getegid()  # a new user namespace reports different IDs until they are mapped
        self._handle = os.open("/proc/self", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def remember_ids(self) -> None:
        """Store the current IDs for ``map_own_ids``, after the process changed its user."""
        self._ids = os.geteuid(), os.getegid()

    def namespaces(self) -> dict[int, str]:
        """Return the identifiers of the process's current namespaces of ``ISOLATED_NAMESPACES``, by flag."""
        return {flag: os.readlink(f"ns/{name}", dir_fd=self._handle) for flag, name in _PROC_NAMES.items()}

    def map_own_ids(self) -> None:
        """Map the user and group to the same IDs inside the new user namespace. Raises OSError."""
        uid, gid = self._ids
        self._write("setgroups", "deny")
        self._write("uid_map", f"{uid} {uid} 1")
        self._write("gid_map", f"{gid} {gid} 1")

    def close(self) -> None:
        """Close the handle."""
        os.close(self._handle)

    def _write(self, name: str, value: str) -> None:
        # After a change of user, a process owns its files in /proc only if it is dumpable.
        kernel.prctl(kernel.PR_SET_DUMPABLE, 1)
        handle = os.open(name, os.O_WRONLY | os.O_CLOEXEC, dir_fd=self._handle)
        try:
            os.write(handle, value.encode("ascii"))
        finally:
            os.close(handle)


def unshare(flags: int) -> None:
    """Move this process to new namespaces of the types ``flags``. ``USER`` requires a single-threaded process. Raises
    OSError."""
    kernel.call_libc("unshare", ctypes.c_int(flags))


def enter(handle: int, kind: int) -> None:
    """Move this process, or with ``PROCESSES`` its next children, to the namespace in the open file ``handle``, which
    is of the type ``kind``. Raises OSError."""
    kernel.call_libc("setns", ctypes.c_int(handle), ctypes.c_int(kind))


def mount_only(paths: Iterable[str]) -> None:
    """Replace the root directory with one that contains only the absolute ``paths``, read-only. Devices are allowed.

    Requires a separate mount namespace. Raises OSError.
    """
    os.umask(0o022)  # makes ``paths`` accessible after a later change of user
    mount("none", "/", None, REC | PRIVATE)
    root = "/proc"  # a temporary mount point that exists on every Linux system
    mount("tmpfs", root, "tmpfs", SAFE_MOUNT_FLAGS, "mode=755,size=64k")
    for path in filter(os.path.exists, paths):
        device_flag = ATTR_NODEV if os.path.isdir(path) else 0
        bind_mount(path, root + path, BIND | REC, ATTR_RDONLY | ATTR_NOSUID | ATTR_NOEXEC | device_flag)
    move_to_root(root)


def move_to_root(root: str | Path) -> None:
    """Make the mount at ``root`` the root directory, read-only. Raises OSError."""
    os.chdir(root)
    mount(".", "/", None, MOVE)
    os.chroot(".")
    os.chdir("/")
    set_mount_attributes("/", ATTR_RDONLY, 0)


def bind_mount(source: str | Path, target: str | Path, how: int, attributes: int) -> None:
    """Create ``target`` and mount ``source`` there with the restrictions ``attributes``. Raises OSError."""
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666))
    mount(str(source), str(target), None, how)
    set_mount_attributes(str(target), attributes, RECURSIVE)


def path_beneath(root: Path, path: Path) -> Path:
    """Return the absolute ``path`` relocated below ``root``."""
    return root / path.relative_to("/")


class _MountAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "user_namespace")]


def set_mount_attributes(path: str, attributes: int, flags: int) -> None:
    """Add ``attributes`` to the mount at ``path``. Raises OSError."""
    change = _MountAttributes(attributes, 0, 0, 0)
    arguments = (_AT_FDCWD, path.encode(), flags, ctypes.byref(change), ctypes.sizeof(change))
    kernel.syscall("mount_setattr", _SYS_MOUNT_SETATTR, *arguments)


def mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """Call ``mount``. Raises OSError."""
    texts = [text.encode() if text is not None else None for text in (source, target, kind, options)]
    kernel.call_libc("mount", *texts[:3], flags, texts[3])
