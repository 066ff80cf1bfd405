"""Measure the memory, processes and disk space that a running conversion uses.

The kernel limits single processes and files. This module measures their totals while the server waits.
"""

import contextlib
import os
import signal
import stat
from collections import defaultdict
from pathlib import Path

from docshare.contract.plans import GB

MEMORY_BYTES = 3 * GB
DISK_BYTES = 2 * GB
MAX_FILES = 10_000
"""Limit for files and directories; LibreOffice creates about a hundred."""
MAX_THREADS = 1_024
"""Limit for the threads of all processes, because each takes an entry in the process table."""
_MAX_DEPTH = 64
_STAT_BLOCK = 512  # bytes per unit of st_blocks, on every file system
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PROC = Path("/proc")


class ExcessError(Exception):
    """The conversion exceeds a limit; the message names the resource, such as "too much memory"."""


def check(launcher: int, home: Path) -> None:
    """Raise ExcessError if ``launcher`` and its descendants use too much memory, too many threads, or too much disk
    space in ``home`` and in deleted files. Raises OSError if the server cannot open another directory.
    """
    processes = [launcher, *descendants(launcher)]
    disk = _Disk()
    disk.add_tree(home)
    memory = disk.add_deleted(processes, home) + _resident(processes)
    if memory > MEMORY_BYTES:
        raise ExcessError("too much memory")


def descendants(ancestor: int) -> list[int]:
    """Return the IDs of all descendants of the process ``ancestor``; empty without ``/proc``."""
    children = defaultdict(list)
    with contextlib.suppress(FileNotFoundError):
        for name in filter(str.isdecimal, os.listdir(_PROC)):
            with contextlib.suppress(OSError, IndexError, ValueError):
                # The program name before it, in parentheses, can contain any characters.
                after_name = (_PROC / name / "stat").read_bytes().rpartition(b")")[2].split()
                children[int(after_name[1])].append(int(name))
    found = children.pop(ancestor, [])
    for number in found:  # grows during the loop
        found.extend(children.pop(number, ()))  # pop, because a reused process ID could form a cycle
    return found


def end_descendants() -> None:
    """Kill and reap all descendants of this process. It must be a subreaper, so that orphans become its children."""
    with contextlib.suppress(ChildProcessError):
        while True:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            left = descendants(os.getpid())
            if not left:
                return  # without /proc, descendants are unknown
            for number in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(number, signal.SIGKILL)
            os.waitpid(-1, 0)


def _resident(processes: list[int]) -> int:
    """Return the bytes of memory and swap that ``processes`` use. Raises ExcessError for too many threads."""
    threads, resident = 0, 0
    for number in processes:
        fields = _fields(number, "status")
        threads += fields.get("Threads", 0)
        resident += fields.get("VmRSS", 0) + fields.get("VmSwap", 0)
    if threads > MAX_THREADS:
        raise ExcessError("too many processes")
    if resident * 1024 <= MEMORY_BYTES:
        return resident * 1024
    # Shared pages were counted once per process. The exact sum is slower, so it is computed only above the limit.
    return sum(_proportional(number) for number in processes) * 1024


def _proportional(number: int) -> int:
    """Return the memory of process ``number`` in kB with its share of shared pages, or with all of them if the share is
    not readable."""
    fields = _fields(number, "smaps_rollup")
    if "Pss" in fields:
        return fields["Pss"] + fields.get("SwapPss", 0)
    fields = _fields(number, "status")
    return fields.get("VmRSS", 0) + fields.get("VmSwap", 0)


def _fields(number: int, file: str) -> dict[str, int]:
    """Return the numeric lines ``Name: 12 kB`` of ``/proc/<number>/<file>``; empty if the process has ended."""
    found = {}
    with contextlib.suppress(OSError):
        for line in (_PROC / str(number) / file).read_bytes().splitlines():
            name, _, value = line.partition(b":")
            words = value.split()
            if words and words[0].isdigit():
                found[name.decode("ascii", "replace")] = int(words[0])
    return found


class _Disk:
    """A total of allocated bytes. Its methods raise ExcessError as soon as the total is too large."""

    def __init__(self) -> None:
        self._size = self._files = 0

    def add_tree(self, home: Path) -> None:
        """Add everything in ``home`` without following links: a hostile program may change it at the same time."""
        with contextlib.suppress(FileNotFoundError):
            self._add_directory(_open(None, str(home)), 0)

    def add_deleted(self, processes: list[int], home: Path) -> int:
        """Add the deleted files that ``processes`` hold open. Return the bytes of those on other file systems than
        ``home``, which are in memory."""
        seen = set()
        memory = 0
        with contextlib.suppress(FileNotFoundError):
            disk = home.stat().st_dev
            for found in filter(_is_deleted, _open_files(processes)):
                if (found.st_dev, found.st_ino) in seen:
                    continue
                seen.add((found.st_dev, found.st_ino))
                if found.st_dev == disk:
                    self._add(found)
                else:
                    memory += found.st_blocks * _STAT_BLOCK
        return memory

    def _add(self, found: os.stat_result) -> None:
        self._size += found.st_blocks * _STAT_BLOCK  # allocated size, which is smaller for a sparse file
        self._files += 1
        if self._size > DISK_BYTES or self._files > MAX_FILES:
            raise ExcessError("too much disk space")

    def _add_directory(self, handle: int, depth: int) -> None:
        try:
            if depth > _MAX_DEPTH:
                raise ExcessError("too much disk space")
            with os.scandir(handle) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # changed meanwhile
                        found = entry.stat(follow_symlinks=False)
                        self._add(found)
                        if stat.S_ISDIR(found.st_mode):
                            self._add_directory(_open(handle, entry.name), depth + 1)
        finally:
            os.close(handle)


def _open(parent: int | None, name: str) -> int:
    try:
        return os.open(name, _DIRECTORY, dir_fd=parent)
    except PermissionError as error:
        # LibreOffice does not make its directories unreadable, so this one hides files.
        raise ExcessError("too much disk space") from error


def _is_deleted(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 0


def _open_files(processes: list[int]) -> list[os.stat_result]:
    found = []
    for number in processes:
        folder = _PROC / str(number) / "fd"
        with contextlib.suppress(OSError):  # the process has ended, or access is denied
            for name in os.listdir(folder):
                with contextlib.suppress(OSError):
                    found.append(os.stat(folder / name))
    return found
