"""Start, monitor and end one jailed command from the server."""

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
    """The command exceeded its time limit."""


class JailSetupError(Exception):
    """The command was not started: the host does not support the isolation level, or has no free processes."""


class JailedCommand:
    """A running command. After its end, ``missing`` maps the layers of confinement that it ran without to the reasons,
    and ``cpu_s`` is the processor time of its processes in seconds. Raises JailSetupError."""

    def __init__(self, job: JailJob) -> None:
        self.missing: dict[str, str] = {}
        self.cpu_s = 0.0
        self._home = Path(job["home"])
        command, environment = python_command("docshare.server.office.jail", json.dumps(job))
        try:
            self._process = subprocess.Popen(
                command,
                env=environment,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C must reach only the server
            )
        except OSError as error:
            raise JailSetupError(str(error)) from error

    def wait(self, timeout_s: float) -> int:
        """Wait for the command and return its exit status, negative for a signal. All of its processes have then ended.

        Raises JailTimeout after ``timeout_s`` seconds, usage.ExcessError, or JailSetupError.
        """
        try:
            answer = self._read_output(timeout_s)
        finally:
            self._end()
        try:
            found = json.loads(answer)
            self.missing = {str(name): str(reason) for name, reason in found.get("missing", {}).items()}
            self.cpu_s = float(found["cpu_s"])
            return int(found["exit"])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise JailSetupError(answer.decode("utf-8", "replace").strip() or "it did not start") from error

    def _read_output(self, timeout_s: float) -> bytes:
        """Return the output of the launcher; until then, check the resource usage of the command."""
        deadline = time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self._process.communicate(timeout=min(left, _CHECK_S))[0]
            usage.check(self._process.pid, self._home)
        raise JailTimeout(f"it ran longer than {timeout_s:g} seconds")

    def interrupt(self) -> None:
        """End the command from another thread. The waiting thread returns."""
        self._process.terminate()

    def _end(self) -> None:
        """Ask the launcher to end all processes; kill the launcher if it does not respond."""
        with self._process:
            self._process.terminate()
            try:
                self._process.wait(_END_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                _log.error("The LibreOffice launcher does not exit; killing it")
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
