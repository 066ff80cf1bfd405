"""Read a secret from the terminal without showing it."""

import getpass
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

try:
    import termios
except ImportError:  # pragma: no cover - Windows, where getpass reads keys and no command can be stopped
    termios = None  # type: ignore[assignment]


def read_hidden(prompt: str, stream: TextIO) -> str:
    """Write ``prompt`` to ``stream`` and return the line that is typed. Raise ``EOFError`` at the end of input."""
    with _hide_after_resume(prompt):
        return getpass.getpass(prompt, stream=stream)


@contextmanager
def _hide_after_resume(prompt: str) -> Iterator[None]:
    """Hide what is typed, and repeat ``prompt``, also after the command was stopped (Ctrl-Z) and resumed: the shell
    turned the echo on for its own line."""
    if termios is None:  # pragma: no cover
        yield
        return
    before = signal.signal(signal.SIGCONT, lambda *_: _turn_echo_off(prompt))
    try:
        yield
    finally:
        signal.signal(signal.SIGCONT, before)


def _turn_echo_off(prompt: str) -> None:
    with suppress(OSError, termios.error):
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
        try:
            modes = termios.tcgetattr(terminal)
            modes[3] &= ~termios.ECHO
            termios.tcsetattr(terminal, termios.TCSANOW, modes)
            os.write(terminal, prompt.encode())  # the stream may be in use by what this signal interrupted
        finally:
            os.close(terminal)
