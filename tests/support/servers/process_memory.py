"""Read the memory of a process and of its children, as a core dump would contain it."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_BLOCK_BYTES = 16 << 20
_OVERLAP_BYTES = 256  # two blocks overlap, so that a text at their border is in one of them


class MemoryBlock(NamedTuple):
    """A part of the memory of a process: the name of the process, where the block begins, and its bytes."""

    process: str
    address: int
    content: bytes


def list_process_tree(pid: int) -> list[int]:
    """Return ``pid`` and all its running descendants."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for each in found:  # grows meanwhile
        found += [child for child, parent in parents.items() if parent == each]
    return found


def read_memory(pid: int) -> Iterator[MemoryBlock]:
    """Yield the writable memory of ``pid`` and its descendants."""
    for each in list_process_tree(pid):
        with suppress(ProcessLookupError, FileNotFoundError):
            yield from _read_process(each)


def read_open_files(pid: int) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the regular files that ``pid`` and its descendants hold open, including deleted
    ones."""
    for each in list_process_tree(pid):
        with suppress(OSError):
            for entry in Path(f"/proc/{each}/fd").iterdir():
                with suppress(OSError):
                    if entry.is_file():
                        yield f"{os.readlink(entry)}, open in {each}", entry.read_bytes()


def _read_process(pid: int) -> Iterator[MemoryBlock]:
    command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    name = f"{pid} {b' '.join(command[2:5]).decode(errors='replace')}"
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, rights, *_ = line.split()
            if not rights.startswith("rw"):
                continue
            start, end = (int(each, 16) for each in span.split("-"))
            for at in range(start, end, _BLOCK_BYTES):
                with suppress(OSError, ValueError, OverflowError):
                    memory.seek(at)
                    yield MemoryBlock(name, at, memory.read(min(_BLOCK_BYTES + _OVERLAP_BYTES, end - at)))
