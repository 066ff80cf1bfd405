"""Signals as exceptions, so that every command cleans up in plain ``finally`` blocks."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from docshare.cli.framework.exits import DeadlinePassed, HungUp, Terminated

_RETRY_INTERVAL = 0.01  # seconds between attempts to raise a lost signal again
_MAX_DEADLINE = 366 * 86_400.0  # seconds; the system clock does not accept every number
_received: list[type[BaseException]] = []  # exceptions that the signals of this command raised


def _terminate(_number: int, _frame: FrameType | None) -> None:
    disarm(signal.SIGTERM)
    _received.append(Terminated)
    raise Terminated


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    disarm(signal.SIGINT)
    _received.append(KeyboardInterrupt)
    raise KeyboardInterrupt


def _hang_up(_number: int, _frame: FrameType | None) -> None:
    disarm(signal.SIGHUP)
    _received.append(HungUp)
    raise HungUp


def disarm(number: int) -> None:
    """Have the next signal ``number`` end the process at once. SIGHUP is then ignored: if a terminal is closed, the
    system and the shell may both send it."""
    signal.signal(number, signal.SIG_IGN if number == getattr(signal, "SIGHUP", None) else signal.SIG_DFL)


def list_ending_signals() -> list[signal.Signals]:
    """Return the signals that end a command: SIGHUP only where the system has it and nohup does not ignore it."""
    has_hangup = hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if has_hangup else [])]


def raise_lost_signal() -> None:
    """Raise the exception of an earlier signal again, for endless loops: if they still run, the signal was lost."""
    if _received:
        raise _received[-1]


def _expire(_number: int, _frame: FrameType | None) -> None:
    raise DeadlinePassed


_HANDLERS = {"SIGINT": _interrupt, "SIGTERM": _terminate, "SIGHUP": _hang_up}


@contextmanager
def handle_signals() -> Iterator[None]:
    """Turn SIGINT, SIGTERM, SIGHUP and the deadline into exceptions while one command runs."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return
    handlers: dict[int, Any] = {number: _HANDLERS[number.name] for number in list_ending_signals()}
    if hasattr(signal, "SIGALRM"):
        handlers[signal.SIGALRM] = _expire
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    _received.clear()
    hook = sys.unraisablehook
    sys.unraisablehook = _make_unraisable_hook(handlers, hook)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        set_deadline(0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _make_unraisable_hook(handlers: dict[int, Any], otherwise: Callable[[Any], Any]) -> Callable[[Any], None]:
    """Return a hook for exceptions that Python drops, as in ``__del__`` and in weak reference callbacks.

    A signal there would be lost with its exception and the command would continue, so the hook raises it again.
    """
    numbers = {Terminated: signal.SIGTERM, KeyboardInterrupt: signal.SIGINT}
    if hasattr(signal, "SIGALRM"):
        numbers[DeadlinePassed] = signal.SIGALRM
    if hasattr(signal, "SIGHUP"):
        numbers[HungUp] = signal.SIGHUP

    def hook(dropped: Any) -> None:
        number = numbers.get(dropped.exc_type)
        if number is None:
            otherwise(dropped)
            return
        over = False

        def again() -> None:
            while not over:  # an exception raised inside this hook would be lost as well
                time.sleep(_RETRY_INTERVAL)
            _send_signal(number)

        try:
            signal.signal(number, handlers[number])
            threading.Thread(target=again, daemon=True).start()
        finally:  # even if a second signal arrives here
            over = True  # must be the last statement: from here on, no signal is raised again

    return hook


def _send_signal(number: signal.Signals) -> None:
    if hasattr(signal, "pthread_kill"):  # wakes the main thread from a blocking call
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)


@contextmanager
def defer_signals() -> Iterator[None]:
    """Defer the first SIGINT, SIGTERM or SIGHUP to the end of the block, so that cleanup finishes.

    A second signal, or one after an earlier signal, ends the process at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        disarm(number)
        came.append(number)

    before: dict[int, Any] = {number: signal.getsignal(number) for number in list_ending_signals()}
    handlers = {number: handler for number, handler in before.items() if callable(handler)}
    for number in handlers:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for number in came:
        handlers[number](number, None)


def set_deadline(seconds: float | None) -> None:
    """Raise ``DeadlinePassed`` after ``seconds``; 0 cancels the deadline."""
    if seconds is not None and hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, min(seconds, _MAX_DEADLINE))
