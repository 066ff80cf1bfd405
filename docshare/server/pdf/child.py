"""Control one worker process from the server: start it, send jobs, receive replies, end it.

Protocol: the server sends one JSON line and passes the document as an open file descriptor, because the worker cannot
open files. The worker replies with one JSON line (the header) whose ``size`` is the number of raw bytes that follow.
The worker reads hostile files, so ``answers`` validates everything else in the reply.
"""

import contextlib
import errno
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
from typing import IO, Any

from docshare.server.pdf import program
from docshare.server.pdf.program import StartedProcess, WorkerOptions, WorkerStarter
from docshare.server.pdf.worker.main import MAX_JSON_BYTES

START_TIMEOUT_S = 10.0  # per attempt, of two
# The host lacks something or fails; the file itself may be fine.
_HOST_FAULTS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO)
_MAX_HEADER_BYTES = 4096
_MAX_BODY_BYTES = 64 << 20
_MAX_FILE_BYTES = 1 << 30
# Parsed JSON can take 30 times its size in memory. The worker limits its JSON to MAX_JSON_BYTES; six colors need about
# 100 bytes, and two numbers for each of 50,000 pages need 800,000.
_MAX_BYTES_BY_JOB = {
    "text": MAX_JSON_BYTES, "texts": MAX_JSON_BYTES, "outline": MAX_JSON_BYTES, "lint": MAX_JSON_BYTES,
    "palette": 4 << 10, "inspect": 1 << 20,
}  # fmt: skip
_EDITING_JOBS = ("derive", "lint", "clean")  # jobs that need qpdf, which doubles the start-up time of a worker
_BLOCK_BYTES = 1 << 20
_PIPE_BYTES = 1 << 20
_DEMOTED_PRIORITY = 15  # niceness
_IDLE_CPU_S = 0.5  # processor time allowed between jobs; an honest worker needs a fraction of it to clean up
_PROCESS_CLOCK_TYPE = 2  # Linux: the clock ID of a process combines its inverted process ID and this type


class BrokenWorkerError(Exception):
    """The worker died or violated the protocol."""


class WorkerTimeoutError(Exception):
    """The worker did not reply in time."""


@dataclass(frozen=True)
class WorkerReply:
    """``header`` is the JSON header without ``size``; ``body`` the raw bytes that follow it."""

    header: dict[str, Any]
    body: bytes


@dataclass(frozen=True)
class ConfinementLayers:
    """How a worker is confined: ``missing`` maps each layer of ``confine.LAYERS`` to the reason why it is missing, or
    None if it is active; ``landlock`` is the Landlock ABI version."""

    missing: dict[str, str | None]
    landlock: int

    def list_missing(self) -> dict[str, str]:
        """Return the missing layers with their reasons; empty if every layer is active."""
        return {name: reason for name, reason in self.missing.items() if reason is not None}


class WorkerProcess:
    """A running worker. Not thread-safe.

    Parameters: ``memory_bytes`` limits its address space; ``timeout_s`` limits the wall-clock and processor seconds of
    one job; ``required``: fail unless every layer of ``confine`` is active; ``edits``: load the libraries for editing,
    linting and repair. A worker without ``edits`` starts a second process for the first such job. ``start`` starts the
    processes. ``layers`` reports the confinement; ``spent_s`` is the processor time of the last job, measured by the
    kernel; ``is_demoted`` and ``is_idle``: it runs at low, or the lowest, priority. Raises BrokenWorkerError or
    WorkerTimeoutError if the process does not start.
    """

    def __init__(
        self,
        *,
        memory_bytes: int,
        timeout_s: float,
        required: bool = False,
        edits: bool = False,
        start: WorkerStarter = program.start_worker,
    ) -> None:
        self.jobs = 0
        self.spent_s = 0.0
        self._job_start: tuple[float, float] | None = None
        self._cpu_deadline = math.inf
        self._idle_start_s = 0.0
        self.is_demoted = self.is_idle = False
        self._demoted_pid: int | None = None
        self._editor: WorkerProcess | None = None
        self._new_editor = (
            None
            if edits
            else partial(
                WorkerProcess,
                memory_bytes=memory_bytes,
                timeout_s=timeout_s,
                required=required,
                edits=True,
                start=start,
            )
        )
        self._timeout_s = timeout_s
        self._buffer = bytearray()
        options = WorkerOptions(memory_bytes, timeout_s, edits)
        try:
            self._start(start, options)
        except WorkerTimeoutError:
            self._buffer.clear()
            self._start(start, options)
        if required:
            try:
                self._require_layers()
            except BrokenWorkerError:
                self.kill()
                raise

    def _start(self, start: WorkerStarter, options: WorkerOptions) -> None:
        """Start the process and wait until it is ready. Raises BrokenWorkerError or WorkerTimeoutError."""
        self._jobs, jobs = socket.socketpair()
        try:
            self._process: StartedProcess = start(jobs, options)
        except OSError as error:
            self._jobs.close()
            raise BrokenWorkerError(f"the worker cannot be started: {error}") from error
        except BaseException:
            self._jobs.close()
            raise
        finally:
            jobs.close()
        self._pid = self._process.pid
        try:
            self._widen_pipe()
            self._jobs.shutdown(socket.SHUT_RD)  # replies come by stdout; the worker must not send descriptors
            self.layers = self._handshake(time.monotonic() + START_TIMEOUT_S)
            self._idle_start_s = self._cpu_s()
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        """The process ID of the worker. With process namespaces, the process that was started only waits for it."""
        return self._pid

    def ask(
        self,
        job: dict[str, Any],
        timeout_s: float | None = None,
        sink: IO[bytes] | None = None,
        *,
        cpu_s: float = math.inf,
    ) -> WorkerReply:
        """Send one job and return the reply.

        ``timeout_s`` overrides the wall-clock limit of the worker; ``cpu_s`` limits the processor time. If ``sink`` is
        given, the body of the reply is written to it and may be larger; ``body`` is then empty. The worker receives
        the file at ``job["path"]`` as a descriptor, never its name. If the file cannot be opened, the reply has the
        error ``missing``. Raises OSError if ``sink`` cannot be written, or if the host is the cause that the file
        cannot be opened. Raises BrokenWorkerError or WorkerTimeoutError; the caller must then call ``kill``.
        """
        self.jobs += 1
        self._job_start = (time.monotonic(), self._all_cpu_s())
        try:
            if self._new_editor is not None and job["do"] in _EDITING_JOBS:
                return self._edit(job, timeout_s, sink, cpu_s)
            reply = self._ask(job, timeout_s, sink, cpu_s)
            if self._new_editor is not None and reply.header.get("error") == "repair":
                return self._edit(job, timeout_s, sink, cpu_s)
            return reply
        finally:
            self.spent_s = self.current_job_s()
            self._job_start = None

    def _edit(self, job: dict[str, Any], timeout_s: float | None, sink: IO[bytes] | None, cpu_s: float) -> WorkerReply:
        """Do what ``ask`` does, in the second process."""
        if self._editor is None:
            assert self._new_editor is not None
            self._editor = self._new_editor()
            if self.is_demoted:
                self._editor.demote(idle=self.is_idle)
        return self._editor.ask(job, timeout_s, sink, cpu_s=cpu_s)

    def _ask(self, job: dict[str, Any], timeout_s: float | None, sink: IO[bytes] | None, cpu_s: float) -> WorkerReply:
        self._require_silence()
        self._require_idle()
        deadline = time.monotonic() + (self._timeout_s if timeout_s is None else timeout_s)
        self._cpu_deadline = self._cpu_s() + cpu_s
        line = json.dumps({key: value for key, value in job.items() if key != "path"}).encode("ascii") + b"\n"
        try:
            file = _open_regular_file(job["path"])
        except OSError as error:
            if error.errno in _HOST_FAULTS:
                raise
            return WorkerReply({"error": "missing"}, b"")
        try:
            sent_bytes = socket.send_fds(self._jobs, [line], [file])
            self._jobs.sendall(line[sent_bytes:])
        except OSError as error:
            raise BrokenWorkerError("the worker has exited") from error
        finally:
            os.close(file)
        reply = self._receive(deadline, sink, _MAX_BYTES_BY_JOB.get(job["do"], _MAX_BODY_BYTES))
        self._require_silence()
        self._idle_start_s = self._cpu_s()
        return reply

    def current_job_s(self) -> float:
        """Return the processor seconds of the running job, at least a third of its wall-clock time: an idle job still
        occupies the worker."""
        start = self._job_start
        if start is None:
            return 0.0
        return max(self._all_cpu_s() - start[1], (time.monotonic() - start[0]) / 3)

    def _all_cpu_s(self) -> float:
        editor = self._editor
        return self._cpu_s() + (0.0 if editor is None else editor._cpu_s())

    def _cpu_s(self) -> float:
        """Return the processor seconds of the process so far; 0 if it has exited or the system has no such clock."""
        try:
            return time.clock_gettime(~self.pid << 3 | _PROCESS_CLOCK_TYPE)
        except (AttributeError, OSError):
            return 0.0

    def demote(self, *, idle: bool) -> None:
        """Lower the priority of the worker permanently; ``idle``: so far that it runs only when nothing else does.

        A process of low priority may still finish its time slice while the server waits, which happens several times in
        each request; an idle one may not. Uploads beside slow documents took 28 ms instead of 16 ms (p95). But on a
        busy host an idle process may wait for longer than its job may take.
        """
        self.is_demoted, self.is_idle, self._demoted_pid = True, idle or self.is_idle, self.pid
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self.pid, _DEMOTED_PRIORITY)
            if idle and hasattr(os, "SCHED_IDLE"):
                os.sched_setscheduler(self.pid, os.SCHED_IDLE, os.sched_param(0))
        if self._editor is not None:
            self._editor.demote(idle=idle)

    def is_killed(self) -> bool:
        """Return whether SIGKILL ended the worker, by hand or by the OOM killer, rather than a crash."""
        killed = self._process.returncode == -signal.SIGKILL
        return self._editor.is_killed() if self._editor is not None and not killed else killed

    def interrupt(self) -> None:
        """Kill the process from another thread. The thread that uses the worker gets BrokenWorkerError and reaps it."""
        program.kill_worker(self._process, self._demoted_pid)
        if self._editor is not None:
            self._editor.interrupt()

    def kill(self) -> None:
        """Kill the process and reap it."""
        if self._editor is not None:
            self._editor.kill()
        program.kill_worker(self._process, self._demoted_pid)
        self._reap()

    def close(self) -> None:
        """Close the input of the worker, which then exits; kill it if it does not exit within a second."""
        if self._editor is not None:
            self._editor.close()
        self._jobs.close()
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            program.kill_worker(self._process, self._demoted_pid)
        self._reap()

    def _require_layers(self) -> None:
        reasons = [f"{name}: {reason}" for name, reason in self.layers.list_missing().items()]
        if reasons:
            raise BrokenWorkerError(f"the worker cannot be confined ({'; '.join(reasons)})")

    def _reap(self) -> None:
        self._jobs.close()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process.wait()

    def _handshake(self, deadline: float) -> ConfinementLayers:
        """Read the process ID of the worker, wait until it is confined, and return its layers. Raises
        BrokenWorkerError."""
        header = self._receive(deadline).header
        if isinstance(header.get("pid"), int):
            self._pid = header["pid"]
            header = self._receive(deadline).header
        if header.get("ready") is not True:
            raise BrokenWorkerError(f"the worker did not start: {header.get('error', 'no reason given')}")
        return ConfinementLayers(header["layers"], header["landlock"])

    def _widen_pipe(self) -> None:
        """Enlarge the pipe to fit a page image, so that the worker does not wait for its reader."""
        if sys.platform == "linux":
            import fcntl

            assert self._process.stdout is not None
            with contextlib.suppress(OSError):
                fcntl.fcntl(self._process.stdout, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def _receive(self, deadline: float, sink: IO[bytes] | None = None, max_bytes: int = 0) -> WorkerReply:
        while (line_end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > _MAX_HEADER_BYTES:
                raise BrokenWorkerError("the header of the reply is too long")
            self._read(deadline)
        header = _parse_header(bytes(self._buffer[:line_end]))
        size = header.pop("size", 0)
        if type(size) is not int or not 0 <= size <= (max_bytes if sink is None else _MAX_FILE_BYTES):
            raise BrokenWorkerError("the reply is too long")
        del self._buffer[: line_end + 1]
        return WorkerReply(
            header, self._read_body(size, deadline) if sink is None else self._stream_body(size, deadline, sink)
        )

    def _read_body(self, size: int, deadline: float) -> bytes:
        while len(self._buffer) < size:
            self._read(deadline)
        body = bytes(self._buffer[:size])
        del self._buffer[:size]
        return body

    def _stream_body(self, size: int, deadline: float, sink: IO[bytes]) -> bytes:
        """Stream the body to ``sink``; return an empty body for the reply."""
        sink.seek(0)
        sink.truncate()
        while size:
            if not self._buffer:
                self._read(deadline)
            block = self._buffer[:size]
            del self._buffer[: len(block)]
            sink.write(block)
            size -= len(block)
        return b""

    def _require_silence(self) -> None:
        """Raise BrokenWorkerError if the worker has sent data outside of a job. Taken for the reply to the next job, it
        would reach another owner."""
        assert self._process.stdout is not None
        poll = select.poll()
        poll.register(self._process.stdout, select.POLLIN)
        if self._buffer or any(event & select.POLLIN for _, event in poll.poll(0)):
            raise BrokenWorkerError("the worker sent unexpected data")

    def _require_idle(self) -> None:
        """Raise BrokenWorkerError if the worker has computed since its last job: no owner is charged for that time, and
        honest code does not run then."""
        if self._cpu_s() - self._idle_start_s > _IDLE_CPU_S:
            raise BrokenWorkerError("the worker was busy without a job")

    def _read(self, deadline: float) -> None:
        assert self._process.stdout is not None
        handle = self._process.stdout.fileno()
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        while True:
            # Processor time advances no faster than the clock, so the remaining budget also bounds the wait.
            left = min(deadline - time.monotonic(), self._cpu_deadline - self._cpu_s())
            if left <= 0:
                raise WorkerTimeoutError("the worker took too long")
            if poll.poll(math.ceil(left * 1000)):
                break
        block = os.read(handle, _BLOCK_BYTES)
        if not block:
            raise BrokenWorkerError("the worker died")
        self._buffer += block


def _open_regular_file(path: str) -> int:
    """Open the file at ``path`` for reading; return its descriptor. Raises OSError if it is not a regular file."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise FileNotFoundError(path)
    return file


def _parse_header(line: bytes) -> dict[str, Any]:
    try:
        header = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BrokenWorkerError("the reply is not JSON") from error
    if not isinstance(header, dict):
        raise BrokenWorkerError("the reply is not an object")
    return header
