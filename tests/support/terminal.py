"""Run programs on a pseudo terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

_TIMEOUT_S = 60.0  # seconds until a program counts as stuck; a busy machine takes many to start one


@dataclass
class TerminalOutput:
    """``code``: the exit code; ``text``: the whole output, with the line ends of the program."""

    code: int
    text: str


class Terminal:
    """A program on its own terminal. ``only``: the streams (0, 1, 2) that are the terminal; the others are the null
    device."""

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], *, columns: int = 80, only: Sequence[int] = (0, 1, 2)
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        streams = [slave if number in only else subprocess.DEVNULL for number in range(3)]
        self.process = subprocess.Popen(
            list(argv),
            env=dict(env),
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(slave, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self.shown = ""

    def type(self, text: str) -> None:
        """Type ``text``."""
        os.write(self._master, text.encode())

    def turn_echo_on(self) -> None:
        """Have the terminal show what is typed, as a shell does at its prompt."""
        modes = termios.tcgetattr(self._master)
        modes[3] |= termios.ECHO
        termios.tcsetattr(self._master, termios.TCSANOW, modes)

    def wait_for_text(self, text: str, *, after: int = 0) -> str:
        """Wait until ``text`` is shown after the position ``after``; return everything shown so far."""
        give_up = time.monotonic() + _TIMEOUT_S
        while text not in self.shown[after:]:
            if not self._read(give_up):
                raise AssertionError(f"{text!r} was not shown, but: {self.shown[after:]!r}")
        return self.shown

    def wait_for_prompt(self, prompt: str, *, after: int = 0) -> None:
        """Wait until the output after the position ``after`` ends with ``prompt`` and the program's child reads.

        A signal between the prompt and the read is only seen after the next key: less waits for that key.
        """
        give_up = time.monotonic() + _TIMEOUT_S
        while not self.shown[after:].endswith(prompt):
            if not self._read(give_up):
                raise AssertionError(f"{prompt!r} was not the end of: {self.shown[after:]!r}")
        while self._is_child_running():
            assert time.monotonic() < give_up, "the child never waits"
            time.sleep(0.01)

    def _is_child_running(self) -> bool:
        (child,) = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return Path(f"/proc/{child}/stat").read_text().rpartition(") ")[2][0] != "S"

    def read_until_quiet(self, quiet: float = 0.3) -> str:
        """Read until ``quiet`` seconds pass without output; return everything shown so far."""
        while self._read(time.monotonic() + quiet):
            pass
        return self.shown

    def wait_for_exit(self) -> TerminalOutput:
        """Wait until the program ends by itself."""
        give_up = time.monotonic() + _TIMEOUT_S
        while self._read(give_up):
            pass
        return TerminalOutput(self.process.wait(timeout=_TIMEOUT_S), self.shown)

    def _read(self, give_up: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], max(give_up - time.monotonic(), 0))
        if not ready:
            return False
        try:
            block = os.read(self._master, 65536)
        except OSError:  # the last process closed the other side
            return False
        self.shown += block.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(block)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self._master)


def run_on_terminal(argv: Sequence[str], env: Mapping[str, str], **options: object) -> TerminalOutput:
    """Run a program on a terminal to its end."""
    with Terminal(argv, env, **options) as terminal:  # type: ignore[arg-type]
        return terminal.wait_for_exit()
