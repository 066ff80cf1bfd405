"""Start workers as forks of one process, which costs a tenth of starting Python and loading the libraries.

That process, the template, runs ``worker.template`` and never receives a document, so each fork is as clean as a new
process.
"""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import IO, Any

from docshare.server.pdf import child, program
from docshare.server.pdf.child import BrokenWorkerError, WorkerTimeoutError
from docshare.server.pdf.program import StartedProcess, WorkerOptions

_MAX_REPLY_BYTES = 4096


class WorkerTemplate:
    """A template, started with the first worker, and again if it died. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards everything below
        self._can_fork = sys.platform == "linux"
        self._process: StartedProcess | None = None
        self._requests: socket.socket | None = None
        self._closed = False

    def start_worker(self, jobs: socket.socket, options: WorkerOptions) -> StartedProcess:
        """Fork a worker; start it as a new process if this host does not support that. See ``WorkerStarter``."""
        with self._lock:
            was_running = self._requests is not None
            if not was_running:
                self._start()
            if self._can_fork:
                try:
                    return self._fork(jobs, options)
                except (BrokenWorkerError, WorkerTimeoutError):
                    if not was_running or self._requests is not None:
                        raise
                self._start()
                return self._fork(jobs, options)
        return program.start_worker(jobs, options)

    def close(self) -> None:
        """End the template. Where it has a process namespace, its workers end too."""
        with self._lock:
            self._closed = True
            if self._requests is not None and self._process is not None:
                self._requests.close()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(1)
            self._kill()

    def _start(self) -> None:
        """Start the template if this host supports it; after a timeout, try once more."""
        try:
            self._try_start()
        except WorkerTimeoutError:
            self._try_start()

    def _try_start(self) -> None:
        if not self._can_fork:
            return
        if self._closed:
            raise BrokenWorkerError("the server is stopping")
        self._requests, end = socket.socketpair(type=socket.SOCK_SEQPACKET)
        self._requests.settimeout(child.START_TIMEOUT_S)
        try:
            with end:
                self._process = program.run_module("template", [], end, stdout=subprocess.DEVNULL)
        except OSError:
            self._kill()
            raise
        self._can_fork = self._receive()[0]["ready"]
        if not self._can_fork:
            self._kill()

    def _fork(self, jobs: socket.socket, options: WorkerOptions) -> StartedProcess:
        """Fork a worker. Raises BrokenWorkerError or WorkerTimeoutError, and forgets a template that has ended."""
        reader, writer = os.pipe()
        replies = os.fdopen(reader, "rb", buffering=0)
        try:
            reply, handles = self._ask({"fork": options}, [jobs.fileno(), writer])
            if not handles:
                raise BrokenWorkerError(f"the worker cannot be forked: {reply.get('error')}")
        except BaseException:
            replies.close()
            raise
        finally:
            os.close(writer)
        reap = partial(self._reap, self._requests, reply["number"])
        return _ForkedProcess(reply["number"], handles[0], replies, reap)

    def _reap(self, requests: socket.socket | None, number: int) -> int | None:
        """Return the exit status of a worker that has ended, or None if its template has ended too."""
        with self._lock, contextlib.suppress(BrokenWorkerError, WorkerTimeoutError):
            if self._requests is requests:
                status: int | None = self._ask({"reap": number}, [])[0].get("status")
                return status
        return None

    def _ask(self, request: dict[str, Any], descriptors: list[int]) -> tuple[dict[str, Any], list[int]]:
        """Send a request; return the reply and its descriptors. Ends a template that does not reply."""
        if self._requests is None:
            raise BrokenWorkerError("the template has ended")
        with contextlib.suppress(OSError):  # then there is no reply either
            socket.send_fds(self._requests, [json.dumps(request).encode("ascii")], descriptors)
        return self._receive()

    def _receive(self) -> tuple[dict[str, Any], list[int]]:
        assert self._requests is not None
        try:
            message, handles, _, _ = socket.recv_fds(self._requests, _MAX_REPLY_BYTES, 1)
        except TimeoutError as error:
            self._kill()
            raise WorkerTimeoutError("the template took too long") from error
        except OSError:
            message = b""
        if not message:
            self._kill()
            raise BrokenWorkerError("the template has ended")
        reply: dict[str, Any] = json.loads(message)
        return reply, handles

    def _kill(self) -> None:
        requests, self._requests = self._requests, None
        process, self._process = self._process, None
        if requests is not None:
            requests.close()
        if process is not None:
            process.kill()
            process.wait()


class _ForkedProcess:
    """A process whose parent is the template; see ``StartedProcess``. A descriptor identifies it; ``pid`` is its ID in
    the process namespace of the template."""

    def __init__(self, pid: int, handle: int, stdout: IO[bytes], reap: Callable[[], int | None]) -> None:
        self.pid = pid
        self.stdout = stdout
        self.returncode: int | None = None
        self._handle: int | None = handle
        self._lock = threading.Lock()  # guards the handle
        self._reap = reap

    def kill(self) -> None:
        with self._lock:
            if self._handle is not None:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        if self._handle is not None:
            poll = select.poll()
            poll.register(self._handle, select.POLLIN)
            if not poll.poll(None if timeout is None else timeout * 1000):
                raise subprocess.TimeoutExpired("worker", timeout or 0)
            status = self._reap()
            # Without the template, the status is unknown, and the worker may have ended with it.
            self.returncode = -signal.SIGKILL if status is None else status
            with self._lock:
                os.close(self._handle)
                self._handle = None
        assert self.returncode is not None
        return self.returncode
