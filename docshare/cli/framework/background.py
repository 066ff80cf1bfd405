"""Run work in a background thread that must stop on a signal.

An exception raised by a signal handler can be lost inside a callback. A program that must end at the first SIGTERM
therefore waits for an event in its main thread and does everything else in a ``BackgroundTask``.
"""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from types import FrameType

from docshare.cli.framework.signals import disarm, list_ending_signals

_INSTANCE_SETTINGS = frozenset(
    f"DOCSHARE_{name}"
    for name in ("DATA_DIR", "DATABASE_URL", "STORAGE_URL", "REDIS_URL", "SECRET_KEY_FILE", "WORKERS")
)
_SIGNAL_POLL_S = 0.5  # longest delay of a signal that does not interrupt the wait of the main thread


class _StopRequested(Exception):
    """Raised in the background task to end it when the program stops."""


def sleep_or_stop(stop: threading.Event, seconds: float) -> None:
    """Sleep in a background task; end the task as soon as ``stop`` is set."""
    if stop.wait(seconds):
        raise _StopRequested


class BackgroundTask(threading.Thread):
    """Runs ``work``, which returns an exit code, and sets ``over`` at the end. ``has_ended``: it returned by itself."""

    def __init__(self, work: Callable[[], int], over: threading.Event) -> None:
        super().__init__(name="background task", daemon=True)
        self._work, self._over = work, over
        self._code = 0
        self._error: BaseException | None = None
        self.has_ended = False

    def run(self) -> None:
        """Run the work; called by ``start``."""
        try:
            self._code = self._work()
            self.has_ended = True
        except _StopRequested:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again by ``result``, in the main thread
            self._error = error
            self.has_ended = True
        finally:
            self._over.set()

    def result(self) -> int:
        """Return the exit code of the work, or raise its exception."""
        if self._error is not None:
            raise self._error
        return self._code


def wait_in_main_thread(stop: threading.Event) -> None:
    """Wait until ``stop`` is set by a signal handler or another thread.

    Handlers run only in the main thread, between two of its instructions. An untimed wait never runs the handler of a
    signal that arrived just before it, or that the system delivered to another thread.
    """
    while not stop.wait(_SIGNAL_POLL_S):
        pass


@contextmanager
def trap_signals() -> Iterator[threading.Event]:
    """Yield an event that the first Ctrl-C, SIGTERM, or SIGHUP sets; a second one ends the process at once.

    A handler interrupts the main thread anywhere, also while it holds the lock of the event that it waits for, and
    would then wait for itself. So the handler only adds to a queue, and a thread sets the event.
    """
    stop = threading.Event()
    arrivals: SimpleQueue[bool] = SimpleQueue()  # its ``put`` is reentrant, so that signal handlers may call it

    def set_stop() -> None:
        if arrivals.get():
            stop.set()

    def note_signal(number: int, _: FrameType | None) -> None:
        disarm(number)
        arrivals.put(True)

    threading.Thread(target=set_stop, name="signals", daemon=True).start()
    before = {number: signal.signal(number, note_signal) for number in list_ending_signals()}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        arrivals.put(False)


@contextmanager
def handle_signal(name: str, call: Callable[[], None]) -> Iterator[None]:
    """Have the signal ``name`` make a ``call`` that is reentrant, where the system knows it."""
    number = getattr(signal, name, None)
    if number is None:
        yield
        return
    before = signal.signal(number, lambda *_: call())
    try:
        yield
    finally:
        signal.signal(number, before)


def drop_instance_settings(env: Mapping[str, str]) -> dict[str, str]:
    """Return ``env`` without the settings that select an instance, which a temporary server must not write to."""
    return {key: value for key, value in env.items() if key not in _INSTANCE_SETTINGS}


def make_ephemeral_env(env: Mapping[str, str], data_dir: Path) -> dict[str, str]:
    """Return an environment in which commands store everything next to ``data_dir``.

    Ids, cursors and keys of a temporary server must not stay in the user's directories or profiles.
    """
    places = {f"DOCSHARE_{kind.upper()}_DIR": str(data_dir.with_name(kind)) for kind in ("config", "state", "cache")}
    kept = {key: value for key, value in drop_instance_settings(env).items() if key != "DOCSHARE_PROFILE"}
    return {**kept, **places, "DOCSHARE_DATA_DIR": str(data_dir)}
