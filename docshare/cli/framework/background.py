"""Work beside a server that must stop at a signal whatever else is going on.

An exception raised by a signal handler can strike inside a callback and get lost there, so a program that has to end
at the first SIGTERM waits for an event in its main thread and does everything else in an errand.
"""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType


class _StopRequested(Exception):
    """The program stops, so whatever sleeps in the errand gives up."""


def sleep_or_stop(stop: threading.Event, seconds: float) -> None:
    """Sleep in an errand; ends the errand as soon as ``stop`` is set."""
    if stop.wait(seconds):
        raise _StopRequested


class BackgroundTask(threading.Thread):
    """Runs ``work``, which returns an exit code, and sets ``over`` when it ended. ``ended``: it did so by itself."""

    def __init__(self, work: Callable[[], int], over: threading.Event) -> None:
        super().__init__(name="errand", daemon=True)
        self._work, self._over = work, over
        self._code = 0
        self._error: BaseException | None = None
        self.ended = False

    def run(self) -> None:
        """Called by ``start``."""
        try:
            self._code = self._work()
            self.ended = True
        except _StopRequested:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again by ``result``, in the main thread
            self._error = error
            self.ended = True
        finally:
            self._over.set()

    def result(self) -> int:
        """Its exit code; raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._code


@contextmanager
def trap_signals() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C or SIGTERM sets; a second one ends the process at once."""
    stop = threading.Event()

    def set_stop(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        stop.set()

    before = {number: signal.signal(number, set_stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def make_ephemeral_env(env: Mapping[str, str], data_dir: Path) -> dict[str, str]:
    """An environment in which commands keep everything beside ``data_dir``: ids, cursors and keys of a server that is
    gone soon must not stay with the user, and no profile of theirs is touched."""
    places = {f"DOCSHARE_{kind.upper()}_DIR": str(data_dir.with_name(kind)) for kind in ("config", "state", "cache")}
    kept = {key: value for key, value in env.items() if key != "DOCSHARE_PROFILE"}
    return {**kept, **places, "DOCSHARE_DATA_DIR": str(data_dir)}
