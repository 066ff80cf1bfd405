"""Signals as exceptions, so that every command cleans up in plain ``finally`` blocks."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from docshare.cli.framework.exits import DeadlinePassed, Terminated

_RETRY_INTERVAL = 0.01  # seconds between looks whether a signal that was lost can be raised again
_MAX_DEADLINE = 366 * 86_400.0  # no clock of the system takes every number
_received: list[type[BaseException]] = []  # what the signals of this command raised


def _terminate(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one ends the process at once
    _received.append(Terminated)
    raise Terminated


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _received.append(KeyboardInterrupt)
    raise KeyboardInterrupt


def raise_lost_signal() -> None:
    """Raise what a signal raised before. For loops that run until one comes: a loop that still runs has lost it."""
    if _received:
        raise _received[-1]


def _expire(_number: int, _frame: FrameType | None) -> None:
    raise DeadlinePassed


@contextmanager
def handle_signals() -> Iterator[None]:
    """Turn SIGINT, SIGTERM and the deadline into exceptions for the time of one command."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return
    handlers: dict[int, Any] = {signal.SIGTERM: _terminate, signal.SIGINT: _interrupt}
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
    """A hook for exceptions that Python drops, as it does in ``__del__`` and in callbacks of weak references. A signal
    that strikes just there would be lost with its exception and the command would run on, so it is raised once more."""
    numbers = {Terminated: signal.SIGTERM, KeyboardInterrupt: signal.SIGINT}
    if hasattr(signal, "SIGALRM"):
        numbers[DeadlinePassed] = signal.SIGALRM

    def hook(dropped: Any) -> None:
        number = numbers.get(dropped.exc_type)
        if number is None:
            otherwise(dropped)
            return
        over = False

        def again() -> None:
            while not over:  # what strikes inside this hook would be lost like the first
                time.sleep(_RETRY_INTERVAL)
            _send_signal(number)

        try:
            signal.signal(number, handlers[number])
            threading.Thread(target=again, daemon=True).start()
        finally:  # also if a second one strikes here
            over = True  # the last thing that is done: no signal is looked for between this and the end

    return hook


def _send_signal(number: signal.Signals) -> None:
    if hasattr(signal, "pthread_kill"):  # wakes the main thread where it waits
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)


@contextmanager
def defer_signals() -> Iterator[None]:
    """Let cleaning up end well: a first SIGINT or SIGTERM counts from the end of the block on. A second one, also
    after one that came before, ends the process at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        came.append(number)

    before: dict[int, Any] = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
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
    """End the command with ``DeadlinePassed`` after that many seconds; 0 takes it back."""
    if seconds is not None and hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, min(seconds, _MAX_DEADLINE))
