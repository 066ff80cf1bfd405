"""Serve one port with several processes: start them, replace those that end, and restart all of them on request.

The parent owns the data directory and the listening sockets, which every worker process inherits. Connections wait in
the queue of the sockets during a restart, so none is rejected. The shared database does the rest: each process runs
jobs and sends deliveries like any other instance.
"""

import json
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace

from docshare.server.logs import LOGGER
from docshare.server.serve import STOP_SECONDS

READY = b"ready\n"
_START_SECONDS = 60.0  # until a worker process is ready; importing and connecting takes about two seconds
_END_SECONDS = 2 * STOP_SECONDS + 5  # it stops its listener and its jobs one after the other
_LAST_SECONDS = 5.0
_POLL_SECONDS = 0.2
_STEADY_SECONDS = 60.0  # a process that ran this long is replaced at once
_FIRST_DELAY_SECONDS = 0.5  # before any other is replaced; doubled each time
_MAX_DELAY_SECONDS = 30.0


class WorkerFailedError(Exception):
    """A worker process ended, or did not become ready, at the first start."""


@dataclass(frozen=True)
class WorkerOrder:
    """The line that a worker process reads from its standard input.

    The ``settings`` of the command line, the default base URL, its ``number``, the inherited ``descriptors`` of the
    listening sockets, and how to log.
    """

    settings: dict[str, str]
    base_url: str
    number: int
    descriptors: list[int]
    log: str
    access: bool
    dev: bool


class SupervisedProcess:
    """A process that runs ``order``. ``early_ends``: how many processes before it ended soon after their start."""

    def __init__(self, order: WorkerOrder, env: Mapping[str, str], early_ends: int = 0) -> None:
        self.number = order.number
        self._early_ends = early_ends
        self._started_at = time.monotonic()
        self._ended_at: float | None = None
        self._process = subprocess.Popen(
            [sys.executable, "-m", "docshare.server.worker_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(env),
            pass_fds=order.descriptors,
            start_new_session=True,  # Ctrl-C in a terminal only reaches the parent, which stops the others
        )
        # The pipe stays open: the process ends when the pipe is closed by the end of the parent.
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended already; its exit code is checked later
            self._process.stdin.write(json.dumps(asdict(order)).encode() + b"\n")
            self._process.stdin.flush()

    @property
    def pid(self) -> int:
        """Return the id of the process."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Return the exit code, None while it runs."""
        return self._process.poll()

    def wait_until_ready(self) -> bool:
        """Wait until it answers requests; return whether it does."""
        assert self._process.stdout is not None
        answered, _, _ = select.select([self._process.stdout], [], [], _START_SECONDS)
        if answered and self._process.stdout.readline() == READY:
            return True
        with suppress(subprocess.TimeoutExpired):  # it closed the pipe, and is about to end with its exit code
            self._process.wait(_LAST_SECONDS if answered else 0)
        return False

    def ask_to_end(self) -> None:
        """Ask it to finish running requests and end."""
        self._process.terminate()

    def end(self, seconds: float) -> None:
        """Wait up to ``seconds`` for its end, then kill it."""
        try:
            self._process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            LOGGER.warning("a worker process had to be killed", extra={"worker": self.number, "pid": self.pid})
            self._process.kill()
        with self._process:  # closes the pipes and waits
            pass

    def has_ended(self) -> bool:
        """Return whether it ended by itself; log that once."""
        if self.exit_code is None:
            return False
        if self._ended_at is None:
            self._ended_at = time.monotonic()
            facts = {"worker": self.number, "pid": self.pid, "exit": self.exit_code}
            LOGGER.warning("a worker process ended and will be replaced", extra=facts)
            self.end(0)
        return True

    def next_early_ends(self) -> int | None:
        """Return the ``early_ends`` of its successor, or None while it is too early to start one."""
        assert self._ended_at is not None
        if self._ended_at - self._started_at >= _STEADY_SECONDS:
            return 0
        delay = min(_MAX_DELAY_SECONDS, _FIRST_DELAY_SECONDS * 2**self._early_ends)
        return self._early_ends + 1 if time.monotonic() >= self._ended_at + delay else None


class Supervisor:
    """Keeps ``count`` worker processes running in the environment ``env``, with ``order`` and numbers from 1 on.

    ``close_sockets`` closes the listening sockets of this process: clients would wait in their queue until the end of a
    stop, and then be reset.
    """

    def __init__(
        self, order: WorkerOrder, count: int, env: Mapping[str, str], close_sockets: Callable[[], None]
    ) -> None:
        self._order, self._count, self._env = order, count, env
        self._close_sockets = close_sockets
        self._workers: list[SupervisedProcess] = []
        self._is_exchange_requested = False  # no lock or queue: a signal handler writes it
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="supervisor", daemon=True)

    def start(self) -> None:
        """Start all processes and wait until they answer. Raises ``WorkerFailedError``."""
        self._workers = [self._spawn(number) for number in range(1, self._count + 1)]
        for worker in self._workers:
            if not worker.wait_until_ready():
                code = worker.exit_code
                raise WorkerFailedError(
                    f"worker process {worker.number} "
                    + ("does not answer" if code is None else f"ended with exit code {code}")
                )
        self._thread.start()

    def request_exchange(self) -> None:
        """Restart all processes, one after the other; may be called from a signal handler."""
        self._is_exchange_requested = True

    def stop(self) -> None:
        """Let every process finish its requests and end."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._close_sockets()
        for worker in self._workers:
            worker.ask_to_end()
        until = time.monotonic() + _END_SECONDS
        for worker in self._workers:
            worker.end(until - time.monotonic())

    def _spawn(self, number: int, early_ends: int = 0) -> SupervisedProcess:
        return SupervisedProcess(replace(self._order, number=number), self._env, early_ends)

    def _loop(self) -> None:
        while not self._stopping.wait(_POLL_SECONDS):
            if self._is_exchange_requested:
                self._is_exchange_requested = False
                self._exchange_all()
            else:
                self._replace_ended()

    def _replace_ended(self) -> None:
        for place, worker in enumerate(self._workers):
            if worker.has_ended() and (early_ends := worker.next_early_ends()) is not None:
                self._workers[place] = self._spawn(worker.number, early_ends)

    def _exchange_all(self) -> None:
        """Replace each process once its successor is ready; if one does not become ready, keep the others."""
        for place, old in enumerate(self._workers):
            if self._stopping.is_set():
                return
            new = self._spawn(old.number)
            if not new.wait_until_ready():
                new.end(0)
                LOGGER.error("a new worker process does not answer, so the old ones continue")
                return
            self._workers[place] = new
            old.ask_to_end()
            old.end(_END_SECONDS)
        LOGGER.info("worker processes replaced", extra={"count": self._count})


@contextmanager
def run_workers(
    order: WorkerOrder, count: int, env: Mapping[str, str], close_sockets: Callable[[], None]
) -> Iterator[Supervisor]:
    """Serve with ``count`` worker processes for the duration of the block; parameters as of ``Supervisor``. Raises
    ``WorkerFailedError``."""
    supervisor = Supervisor(order, count, env, close_sockets)
    try:
        supervisor.start()
        yield supervisor
    finally:
        supervisor.stop()
