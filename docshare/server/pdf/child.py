"""One worker process as its parent sees it: start, ask, end.

The protocol on the pipes: one JSON line to the worker; back comes one JSON line (the header) whose ``size`` says how
many raw bytes follow. What comes back is never trusted further than that: the worker reads hostile files.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import docshare

START_TIMEOUT_S = 20.0
_MAX_HEADER = 4096
_MAX_BODY = 64 << 20
_MAX_FILE = 1 << 30
_BLOCK = 1 << 20
_PIPE_BYTES = 1 << 20
# glibc gives big buffers back to the system and faults them in again for every page; that doubles the time of a page.
_MALLOC = {
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(256 << 20),
    "MALLOC_ARENA_MAX": "1",
}
# Nothing else of the environment is handed on: secrets of the server stay out of the reach of hostile documents.
_KEPT = ("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "PYTHONHOME", "PYTHONPATH", "PYTHONUSERBASE")


class BrokenWorkerError(Exception):
    """The worker died, or answered something that is not the protocol."""


class LateWorkerError(Exception):
    """The worker did not answer in time."""


@dataclass(frozen=True)
class Reply:
    """``header`` without its size, and the raw ``body`` that followed."""

    header: dict[str, Any]
    body: bytes


class Child:
    """A running worker; used by one thread at a time.

    Parameters: ``memory_bytes`` limit of its address space; ``timeout_s`` wall clock and processor seconds for one
    job. Raises BrokenWorkerError or LateWorkerError when it does not come up.
    """

    def __init__(self, *, memory_bytes: int, timeout_s: float) -> None:
        self.jobs = 0
        self._timeout_s = timeout_s
        self._rest = bytearray()
        command = [sys.executable, "-P", "-m", "docshare.server.pdf.worker", str(memory_bytes), str(timeout_s)]
        try:
            self._process = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
                start_new_session=True,  # Ctrl-C in the terminal is for the server, which then ends its workers
            )
        except OSError as error:
            raise BrokenWorkerError(f"the worker cannot be started: {error}") from error
        try:
            self._widen_pipe()
            hello = self._receive(time.monotonic() + START_TIMEOUT_S).header
        except BaseException:
            self.kill()
            raise
        if hello != {"ready": True}:
            self.kill()
            raise BrokenWorkerError(f"the worker did not come up: {hello.get('error', 'no reason given')}")

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def ask(self, job: dict[str, Any], timeout_s: float | None = None, sink: IO[bytes] | None = None) -> Reply:
        """Send one job and wait for its answer, ``timeout_s`` seconds at most instead of what every job may take.

        The body of the answer goes into the file ``sink`` if there is one (it may be larger then), else it stands in
        the reply. Raises BrokenWorkerError or LateWorkerError; after that only ``kill`` is left. OSError of ``sink``.
        """
        assert self._process.stdin is not None
        deadline = time.monotonic() + (self._timeout_s if timeout_s is None else timeout_s)
        self.jobs += 1
        try:
            self._process.stdin.write(json.dumps(job).encode("ascii") + b"\n")
        except OSError as error:
            raise BrokenWorkerError("the worker is gone") from error
        return self._receive(deadline, sink)

    def was_killed(self) -> bool:
        """After its end: whether it was killed, by somebody or for want of memory, and did not crash by itself."""
        return self._process.returncode == -signal.SIGKILL

    def interrupt(self) -> None:
        """End it from another thread; the thread that uses it sees it die and collects it."""
        self._process.kill()

    def kill(self) -> None:
        """End it at once and collect it."""
        self._process.kill()
        self._collect()

    def close(self) -> None:
        """Ask it to leave by closing its input; killed if it does not leave within a second."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._collect()

    def _collect(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process.wait()

    def _widen_pipe(self) -> None:
        """A page image then fits into the pipe, so that the worker need not wait for its reader."""
        if sys.platform == "linux":
            import fcntl

            assert self._process.stdout is not None
            with contextlib.suppress(OSError):
                fcntl.fcntl(self._process.stdout, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def _receive(self, deadline: float, sink: IO[bytes] | None = None) -> Reply:
        line_end = -1
        while line_end < 0:
            if len(self._rest) > _MAX_HEADER:
                raise BrokenWorkerError("the header of the answer is too long")
            self._read(deadline)
            line_end = self._rest.find(b"\n")
        header = _header(bytes(self._rest[:line_end]))
        size = header.pop("size", 0)
        if not isinstance(size, int) or not 0 <= size <= (_MAX_BODY if sink is None else _MAX_FILE):
            raise BrokenWorkerError("the answer is too long")
        del self._rest[: line_end + 1]
        return Reply(header, self._body(size, deadline) if sink is None else self._pour(size, deadline, sink))

    def _body(self, size: int, deadline: float) -> bytes:
        while len(self._rest) < size:
            self._read(deadline)
        body = bytes(self._rest[:size])
        del self._rest[:size]
        return body

    def _pour(self, size: int, deadline: float, sink: IO[bytes]) -> bytes:
        """Move the body into ``sink`` as it comes; nothing is left for the reply."""
        sink.seek(0)
        sink.truncate()
        while size:
            if not self._rest:
                self._read(deadline)
            block = self._rest[:size]
            del self._rest[: len(block)]
            sink.write(block)
            size -= len(block)
        return b""

    def _read(self, deadline: float) -> None:
        assert self._process.stdout is not None
        handle = self._process.stdout.fileno()
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            raise LateWorkerError("the worker took too long")
        block = os.read(handle, _BLOCK)
        if not block:
            raise BrokenWorkerError("the worker died")
        self._rest += block


def _header(line: bytes) -> dict[str, Any]:
    try:
        header = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BrokenWorkerError("the answer is not JSON") from error
    if not isinstance(header, dict):
        raise BrokenWorkerError("the answer is not an object")
    return header


def _environment() -> dict[str, str]:
    """What the worker gets to know: where Python and this package are, and how to use memory."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    root = Path(docshare.__file__).resolve().parent.parent
    if root.name not in ("site-packages", "dist-packages"):  # run from a checkout, not installed
        kept["PYTHONPATH"] = os.pathsep.join(filter(None, (str(root), kept.get("PYTHONPATH"))))
    return {**kept, **_MALLOC}
