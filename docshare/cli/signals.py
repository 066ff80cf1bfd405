"""Signals as exceptions, so that every command cleans up in plain ``finally`` blocks."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from docshare.cli.exits import DeadlinePassed, Terminated


def _terminate(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one ends the process at once
    raise Terminated


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    raise KeyboardInterrupt


def _expire(_number: int, _frame: FrameType | None) -> None:
    raise DeadlinePassed


@contextmanager
def handled() -> Iterator[None]:
    """Turn SIGINT, SIGTERM and the deadline into exceptions for the time of one command."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return
    handlers: dict[int, Any] = {signal.SIGTERM: _terminate, signal.SIGINT: _interrupt}
    if hasattr(signal, "SIGALRM"):
        handlers[signal.SIGALRM] = _expire
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        set_deadline(0)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def shielded() -> Iterator[None]:
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
        signal.setitimer(signal.ITIMER_REAL, seconds)
