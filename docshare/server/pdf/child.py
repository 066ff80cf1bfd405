"""One worker process as its parent sees it: start, ask, end.

The protocol: one JSON line goes to the worker, and with it the document as an open file, for the worker can open none.
Back comes one JSON line (the header) whose ``size`` says how many raw bytes follow. An answer is never trusted further
than that: the worker reads hostile files.
"""

import contextlib
import json
import math
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from docshare.server.pdf import environment
from docshare.server.pdf.worker.main import MAX_JSON_BYTES

START_TIMEOUT_S = 10.0  # for each of two attempts: on a busy host one in some hundreds hung
_MAX_HEADER_BYTES = 4096
_MAX_BODY_BYTES = 64 << 20
_MAX_FILE_BYTES = 1 << 30
# JSON may take 30 times its size in memory once it is read. The worker keeps to MAX_JSON; six colours need a hundred
# bytes, and two numbers for each of 50,000 pages 800,000.
_MAX_BYTES_BY_JOB = {"text": MAX_JSON_BYTES, "lint": MAX_JSON_BYTES, "palette": 4 << 10, "inspect": 1 << 20}
_EDITING_JOBS = ("derive", "lint", "clean")  # jobs that need qpdf, which takes as long to load as everything else
_BLOCK_BYTES = 1 << 20
_PIPE_BYTES = 1 << 20
_DEMOTED_PRIORITY = 15  # niceness
_IDLE_CPU_S = 0.5  # processor time without a job; an honest worker takes a fraction of it to tidy up
_PROCESS_CLOCK_TYPE = 2  # Linux: the clock of a process is its number, inverted, and this


class BrokenWorkerError(Exception):
    """The worker died, or answered something that is not the protocol."""


class WorkerTimeoutError(Exception):
    """The worker did not answer in time."""


@dataclass(frozen=True)
class WorkerReply:
    """``header`` without its size, and the raw ``body`` that followed."""

    header: dict[str, Any]
    body: bytes


@dataclass(frozen=True)
class ConfinementLayers:
    """How a worker is confined: ``missing`` maps each layer of ``confine.LAYERS`` to why it is missing, None if it is
    active; ``landlock`` is the version of that interface."""

    missing: dict[str, str | None]
    landlock: int

    def reasons(self) -> dict[str, str]:
        """Why layers are missing, by their names; empty if every layer is active."""
        return {name: reason for name, reason in self.missing.items() if reason is not None}


class WorkerProcess:
    """A running worker; used by one thread at a time.

    Parameters: ``memory_bytes`` limit of its address space; ``timeout_s`` wall clock and processor seconds for one
    job; ``required``: every layer of ``confine`` must hold; ``edits``: it is for jobs that edit, lint or repair, for
    which another one starts a second process when the first of them comes. ``layers`` names the layers that are
    missing; ``spent_s``: processor seconds of the last job, as the kernel counts them. Raises BrokenWorkerError or
    LateWorkerError when it does not come up.
    """

    def __init__(self, *, memory_bytes: int, timeout_s: float, required: bool = False, edits: bool = False) -> None:
        self.jobs = 0
        self.spent_s = 0.0
        self._asked: tuple[float, float] | None = None
        self._cpu_deadline = math.inf
        self._rested_s = 0.0
        self._is_demoted = False
        self._editor: WorkerProcess | None = None
        self._new_editor = (
            None
            if edits
            else partial(WorkerProcess, memory_bytes=memory_bytes, timeout_s=timeout_s, required=required, edits=True)
        )
        self._timeout_s = timeout_s
        self._rest = bytearray()
        command = [sys.executable, "-P", "-m", "docshare.server.pdf.worker.main", str(memory_bytes), str(timeout_s)]
        command += ["edit"] * edits
        try:
            self._start(command)
        except WorkerTimeoutError:
            self._rest.clear()
            self._start(command)
        if required:
            try:
                self._require_layers()
            except BrokenWorkerError:
                self.kill()
                raise

    def _start(self, command: list[str]) -> None:
        """Start the process and wait until it is ready. Raises BrokenWorkerError and LateWorkerError."""
        self._jobs, jobs = socket.socketpair()
        try:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                command,
                bufsize=0,
                stdin=jobs.fileno(),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",  # that of the server may be gone, and Python does not start in such a place
                env=environment.of_worker(),
                start_new_session=True,  # Ctrl-C in the terminal is for the server, which then ends its workers
            )
        except OSError as error:
            self._jobs.close()
            raise BrokenWorkerError(f"the worker cannot be started: {error}") from error
        finally:
            jobs.close()
        self._pid = self._process.pid
        try:
            self._widen_pipe()
            self._jobs.shutdown(socket.SHUT_RD)  # nothing comes back this way, no file either
            self.layers = self._greet(time.monotonic() + START_TIMEOUT_S)
            self._rested_s = self._cpu_s()
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        """Its process id. Where process namespaces are allowed, the process that was started only waits for it."""
        return self._pid

    def ask(
        self,
        job: dict[str, Any],
        timeout_s: float | None = None,
        sink: IO[bytes] | None = None,
        *,
        cpu_s: float = math.inf,
    ) -> WorkerReply:
        """Send one job and wait for its answer, ``timeout_s`` seconds at most instead of what every job may take, and
        while the worker uses at most ``cpu_s`` seconds of processor time.

        The body of the answer goes into the file ``sink`` if there is one (it may be larger then), else it stands in
        the reply. The worker gets the file at ``path`` of the job and not its name; a file that cannot be opened is
        answered with the error ``missing``. Raises BrokenWorkerError or LateWorkerError; after that only ``kill`` is
        left. OSError of ``sink``.
        """
        self.jobs += 1
        self._asked = (time.monotonic(), self._all_cpu_s())
        try:
            if self._new_editor is not None and job["do"] in _EDITING_JOBS:
                return self._edit(job, timeout_s, sink, cpu_s)
            reply = self._ask(job, timeout_s, sink, cpu_s)
            if self._new_editor is not None and reply.header.get("error") == "repair":
                return self._edit(job, timeout_s, sink, cpu_s)
            return reply
        finally:
            self.spent_s = self.spending_s()
            self._asked = None

    def _edit(self, job: dict[str, Any], timeout_s: float | None, sink: IO[bytes] | None, cpu_s: float) -> WorkerReply:
        """As ``ask``, in the second process."""
        if self._editor is None:
            assert self._new_editor is not None
            self._editor = self._new_editor()
            if self._is_demoted:
                self._editor.demote()
        return self._editor.ask(job, timeout_s, sink, cpu_s=cpu_s)

    def _ask(self, job: dict[str, Any], timeout_s: float | None, sink: IO[bytes] | None, cpu_s: float) -> WorkerReply:
        self._require_silence()
        self._require_rest()
        deadline = time.monotonic() + (self._timeout_s if timeout_s is None else timeout_s)
        self._cpu_deadline = self._cpu_s() + cpu_s
        line = json.dumps({key: value for key, value in job.items() if key != "path"}).encode("ascii") + b"\n"
        try:
            file = _open_regular_file(job["path"])
        except OSError:
            return WorkerReply({"error": "missing"}, b"")
        try:
            sent = socket.send_fds(self._jobs, [line], [file])
            self._jobs.sendall(line[sent:])
        except OSError as error:
            raise BrokenWorkerError("the worker is gone") from error
        finally:
            os.close(file)
        reply = self._receive(deadline, sink, _MAX_BYTES_BY_JOB.get(job["do"], _MAX_BODY_BYTES))
        self._require_silence()
        self._rested_s = self._cpu_s()
        return reply

    def spending_s(self) -> float:
        """Processor seconds of the job in progress; at least a third of its time, for it holds a place meanwhile."""
        asked = self._asked
        if asked is None:
            return 0.0
        return max(self._all_cpu_s() - asked[1], (time.monotonic() - asked[0]) / 3)

    def _all_cpu_s(self) -> float:
        editor = self._editor
        return self._cpu_s() + (0.0 if editor is None else editor._cpu_s())

    def _cpu_s(self) -> float:
        """Processor seconds of the process so far; 0 where it is gone or the system does not say."""
        try:
            return time.clock_gettime(~self.pid << 3 | _PROCESS_CLOCK_TYPE)
        except (AttributeError, OSError):
            return 0.0

    def demote(self) -> None:
        """Let other processes have the processor first, for good."""
        self._is_demoted = True
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self.pid, _DEMOTED_PRIORITY)
            # Where the kernel groups processes by session, the group counts and not the process.
            Path(f"/proc/{self.pid}/autogroup").write_text(str(_DEMOTED_PRIORITY), encoding="ascii")
        if self._editor is not None:
            self._editor.demote()

    def was_killed(self) -> bool:
        """After its end: whether it was killed, by somebody or for want of memory, and did not crash by itself."""
        killed = self._process.returncode == -signal.SIGKILL
        return self._editor.was_killed() if self._editor is not None and not killed else killed

    def interrupt(self) -> None:
        """End it from another thread; the thread that uses it sees it die and collects it."""
        self._process.kill()
        if self._editor is not None:
            self._editor.interrupt()

    def kill(self) -> None:
        """End it at once and collect it."""
        if self._editor is not None:
            self._editor.kill()
        self._process.kill()
        self._collect()

    def close(self) -> None:
        """Ask it to leave by closing its input; killed if it does not leave within a second."""
        if self._editor is not None:
            self._editor.close()
        self._jobs.close()
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._collect()

    def _require_layers(self) -> None:
        reasons = [f"{name}: {reason}" for name, reason in self.layers.reasons().items()]
        if reasons:
            raise BrokenWorkerError(f"the worker cannot be confined ({'; '.join(reasons)})")

    def _collect(self) -> None:
        self._jobs.close()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process.wait()

    def _greet(self, deadline: float) -> ConfinementLayers:
        """Learn the worker's number, wait until it is confined, and return how. Raises BrokenWorkerError."""
        header = self._receive(deadline).header
        if isinstance(header.get("pid"), int):
            self._pid = header["pid"]
            header = self._receive(deadline).header
        if header.get("ready") is not True:
            raise BrokenWorkerError(f"the worker did not come up: {header.get('error', 'no reason given')}")
        return ConfinementLayers(header["layers"], header["landlock"])

    def _widen_pipe(self) -> None:
        """A page image then fits into the pipe, so that the worker need not wait for its reader."""
        if sys.platform == "linux":
            import fcntl

            assert self._process.stdout is not None
            with contextlib.suppress(OSError):
                fcntl.fcntl(self._process.stdout, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def _receive(self, deadline: float, sink: IO[bytes] | None = None, most: int = 0) -> WorkerReply:
        line_end = -1
        while line_end < 0:
            if len(self._rest) > _MAX_HEADER_BYTES:
                raise BrokenWorkerError("the header of the answer is too long")
            self._read(deadline)
            line_end = self._rest.find(b"\n")
        header = _parse_header(bytes(self._rest[:line_end]))
        size = header.pop("size", 0)
        if type(size) is not int or not 0 <= size <= (most if sink is None else _MAX_FILE_BYTES):
            raise BrokenWorkerError("the answer is too long")
        del self._rest[: line_end + 1]
        return WorkerReply(header, self._body(size, deadline) if sink is None else self._pour(size, deadline, sink))

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

    def _require_silence(self) -> None:
        """Raise BrokenWorkerError if the worker has said something that nobody asked for: taken for the answer to the
        next question, it would reach another owner."""
        assert self._process.stdout is not None
        poll = select.poll()
        poll.register(self._process.stdout, select.POLLIN)
        if self._rest or any(event & select.POLLIN for _, event in poll.poll(0)):
            raise BrokenWorkerError("the worker said more than it was asked")

    def _require_rest(self) -> None:
        """Raise BrokenWorkerError if the worker has computed since its last job: it does so for a stranger, and nobody
        has accounted for it."""
        if self._cpu_s() - self._rested_s > _IDLE_CPU_S:
            raise BrokenWorkerError("the worker was busy without a job")

    def _read(self, deadline: float) -> None:
        assert self._process.stdout is not None
        handle = self._process.stdout.fileno()
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        while True:
            # It cannot use more processor time than passes on the clock.
            left = min(deadline - time.monotonic(), self._cpu_deadline - self._cpu_s())
            if left <= 0:
                raise WorkerTimeoutError("the worker took too long")
            if poll.poll(math.ceil(left * 1000)):
                break
        block = os.read(handle, _BLOCK_BYTES)
        if not block:
            raise BrokenWorkerError("the worker died")
        self._rest += block


def _open_regular_file(path: str) -> int:
    """A descriptor that reads the file at ``path``, which is a plain one. Raises OSError."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise FileNotFoundError(path)
    return file


def _parse_header(line: bytes) -> dict[str, Any]:
    try:
        header = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BrokenWorkerError("the answer is not JSON") from error
    if not isinstance(header, dict):
        raise BrokenWorkerError("the answer is not an object")
    return header
