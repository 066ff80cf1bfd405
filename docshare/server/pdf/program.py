"""Start the programs of the engine: workers, and the template of workers."""

import contextlib
import os
import socket
import subprocess
import sys
from typing import IO, NamedTuple, Protocol

from docshare.server.pdf import environment


class WorkerOptions(NamedTuple):
    """The arguments of a worker, as in ``WorkerProcess``."""

    memory_bytes: int
    timeout_s: float
    edits: bool


class StartedProcess(Protocol):
    """The part of ``subprocess.Popen`` that controls a process; ``stdout`` is the pipe of its replies."""

    @property
    def pid(self) -> int: ...
    @property
    def stdout(self) -> IO[bytes] | None: ...
    @property
    def returncode(self) -> int | None: ...
    def kill(self) -> None: ...
    def wait(self, timeout: float | None = None) -> int: ...


class WorkerStarter(Protocol):
    """Starts a worker with the socket ``jobs`` as its stdin. Raises OSError, BrokenWorkerError or WorkerTimeoutError if
    it does not start."""

    def __call__(self, jobs: socket.socket, options: WorkerOptions) -> StartedProcess: ...


def start_worker(jobs: socket.socket, options: WorkerOptions) -> StartedProcess:
    """Start a worker as a new process."""
    arguments = [str(options.memory_bytes), str(options.timeout_s), *["edit"] * options.edits]
    return run_module("main", arguments, jobs, stdout=subprocess.PIPE)


def kill_worker(process: StartedProcess, demoted_pid: int | None) -> None:
    """Kill the worker ``process``. If its priority was lowered, ``demoted_pid`` is its process ID: it is killed at the
    priority of the server if the server may raise it. At the lowest one, it takes many seconds to die on a busy host,
    and the thread that reaps it waits. Never pass ``process.pid``, which may be another process of this host."""
    if demoted_pid is not None and process.returncode is None:
        with contextlib.suppress(OSError):
            if hasattr(os, "SCHED_IDLE") and os.sched_getscheduler(demoted_pid) == os.SCHED_IDLE:
                os.sched_setscheduler(demoted_pid, os.SCHED_OTHER, os.sched_param(0))
            os.setpriority(os.PRIO_PROCESS, demoted_pid, os.getpriority(os.PRIO_PROCESS, 0))
    process.kill()


def run_module(name: str, arguments: list[str], stdin: socket.socket, *, stdout: int) -> StartedProcess:
    """Start Python with the module ``name`` of the package ``worker``. Raises OSError."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", f"docshare.server.pdf.worker.{name}", *arguments],
        bufsize=0,
        stdin=stdin.fileno(),
        stdout=stdout,
        stderr=subprocess.DEVNULL,
        cwd="/",  # Python does not start in a deleted directory, which the server's can be
        env=environment.of_worker(),
        # Ctrl-C must reach only the server, which then ends its workers. In a session of its own, a demoted worker
        # would compete with the server as an equal: the kernel can schedule by session first (autogroup).
        process_group=0,
    )
