"""One jailed command as the server sees it: start, wait, end."""

import contextlib
import json
import logging
import os
import signal
import subprocess
import time
from pathlib import Path

from docshare.server.office import usage
from docshare.server.office.environment import python_command
from docshare.server.office.jail import JailJob

_END_TIMEOUT_S = 5.0
_CHECK_S = 0.5
_log = logging.getLogger(__name__)


class JailTimeout(Exception):
    """The command did not end in time."""


class JailSetupError(Exception):
    """The command was not started: the host does not allow the level, or has no processes left."""


class JailedCommand:
    """A command that runs. Parameter: ``order`` (``jail.Order``). ``missing``: after its end, why it ran without a
    layer of confinement, by the name of that. Raises SetupError."""

    def __init__(self, order: JailJob) -> None:
        self.missing: dict[str, str] = {}
        self._home = Path(order["home"])
        command, environment = python_command("docshare.server.office.jail", json.dumps(order))
        try:
            self._process = subprocess.Popen(
                command,
                env=environment,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C in the terminal is for the server
            )
        except OSError as error:
            raise JailSetupError(str(error)) from error

    def wait(self, timeout_s: float) -> int:
        """The exit status of the command, negative for a signal; none of its processes runs any more.

        Raises LateError after ``timeout_s`` seconds, ExcessError (``usage``), SetupError.
        """
        try:
            answer = self._answer(timeout_s)
        finally:
            self._end()
        try:
            found = json.loads(answer)
            self.missing = {str(name): str(reason) for name, reason in found.get("missing", {}).items()}
            return int(found["exit"])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise JailSetupError(answer.decode("utf-8", "replace").strip() or "it did not start") from error

    def _answer(self, timeout_s: float) -> bytes:
        """What the launcher says at its end. The usage of the command is checked until then."""
        ends = time.monotonic() + timeout_s
        while (left := ends - time.monotonic()) > 0:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self._process.communicate(timeout=min(left, _CHECK_S))[0]
            usage.check(self._process.pid, self._home)
        raise JailTimeout(f"it ran longer than {timeout_s:g} seconds")

    def interrupt(self) -> None:
        """End the command from another thread; the one that waits sees it end."""
        self._process.terminate()

    def _end(self) -> None:
        """Have the launcher end everything, or else do it without the launcher."""
        with self._process:
            self._process.terminate()
            try:
                self._process.wait(_END_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                _log.error("the launcher of LibreOffice does not end and is killed")
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
