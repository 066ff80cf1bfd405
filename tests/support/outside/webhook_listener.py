"""``docshare webhooks listen``, in a separate process, or in a thread with a fake clock."""

from __future__ import annotations

import json
import queue
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import IO, Any

import requests

from docshare.cli.framework.context import current_context
from docshare.contract.signing import sign
from tests.support.documents.pdfs import simple_pdf
from tests.support.polling import wait_until
from tests.support.servers.server_process import COMMAND, ServerProcess
from tests.support.shell import CommandResult, Shell

Listen = Callable[..., AbstractContextManager["ListenerProcess"]]
"""Starts a listener with the options it is called with."""

_TIMEOUT_S = 60.0  # seconds without output until a process counts as stuck
_END = ""
_SECRET = re.compile("whsec_[0-9a-f]{64}")


class ListenerProcess:
    """A listener in a separate process; ``stderr_lines``: its lines on stderr so far."""

    def __init__(self, env: Mapping[str, str], *options: str, stdout: int = subprocess.PIPE) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "webhooks", "listen", *options],
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        self.stderr_lines: list[str] = []
        self._words = _queue_lines(self.process.stderr)
        self._rows = _queue_lines(self.process.stdout) if self.process.stdout else queue.SimpleQueue[str]()

    def wait_for_line(self, text: str) -> str:
        """Wait for a line on stderr that contains ``text``; return it."""
        while True:
            line = self._words.get(timeout=_TIMEOUT_S)
            assert line != _END, f"it ended without saying {text!r}: {self.stderr_lines}"
            self.stderr_lines.append(line)
            if text in line:
                return line

    @property
    def url(self) -> str:
        """Wait for the URL at which it receives deliveries; return it."""
        return self.wait_for_line("ready: deliveries arrive at ").split()[-1]

    @property
    def last_secret(self) -> str:
        """Return the secret that it printed."""
        found = _SECRET.search("\n".join(self.stderr_lines))
        assert found is not None, self.stderr_lines
        return found[0]

    def read_line(self) -> str:
        """Return the next line on stdout."""
        line = self._rows.get(timeout=_TIMEOUT_S)
        assert line != _END, f"it ended: {self.read_stderr()}"
        return line

    def read_row(self) -> dict[str, Any]:
        """Return the next row of ``--json``."""
        found: dict[str, Any] = json.loads(self.read_line())
        return found

    def read_stderr(self) -> str:
        """Return its output on stderr, after its end."""
        while (line := self._words.get(timeout=_TIMEOUT_S)) != _END:
            self.stderr_lines.append(line)
        self._words.put(_END)
        return "\n".join(self.stderr_lines)

    def read_remaining(self) -> list[str]:
        """Return the remaining lines on stdout, after its end."""
        found = []
        while (line := self._rows.get(timeout=_TIMEOUT_S)) != _END:
            found.append(line)
        self._rows.put(_END)
        return found

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal; return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(_TIMEOUT_S)

    def wait(self) -> int:
        """Wait until it ends by itself and return the exit code."""
        return self.process.wait(_TIMEOUT_S)


def _queue_lines(stream: IO[str]) -> queue.SimpleQueue[str]:
    """Return a queue that gets every line of ``stream``, and an empty string at its end."""
    found: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        with stream:
            for line in stream:
                found.put(line.rstrip("\n"))
        found.put(_END)

    threading.Thread(target=read, daemon=True).start()
    return found


@contextmanager
def run_listener(env: Mapping[str, str], *options: str, stdout: int = subprocess.PIPE) -> Iterator[ListenerProcess]:
    """Yield a listener, which ends with the block. ``stdout``: a file descriptor, by default a pipe."""
    found = ListenerProcess(env, *options, stdout=stdout)
    try:
        yield found
    finally:
        if found.process.poll() is None:
            found.end(signal.SIGTERM)
        found.read_stderr()


class ListenerThread(threading.Thread):
    """``docshare webhooks listen`` in a thread, with a fake clock."""

    def __init__(self, shell: Shell, *options: str) -> None:
        super().__init__(daemon=True)
        self._shell = shell
        self._options = options
        self.result: CommandResult | None = None
        shell.time.wall = time.time()  # signatures are made by a server on real time
        self.start()

    def run(self) -> None:
        self.result = self._shell("webhooks", "listen", *self._options)

    def advance_time(self, seconds: float = 5.0) -> bool:
        """Advance the fake clock."""
        self._shell.time.passed += seconds
        return False

    @property
    def stderr(self) -> str:
        """Return its output on stderr so far."""
        try:
            stream: Any = current_context().stderr
        except IndexError:  # it has not started
            return ""
        text: str = stream.text()
        return text

    def wait_for_end(self) -> CommandResult:
        """Wait until it ends by itself and return its result."""
        wait_until(lambda: self.advance_time() or not self.is_alive(), seconds=60)
        assert self.result is not None
        return self.result


def upload_file(server: ServerProcess, headers: dict[str, str] | None = None) -> str:
    """Upload a file, by default as the owner of the server, otherwise with ``headers``; return its UUID."""
    files = {"file": ("deck.pdf", simple_pdf(pages=1))}
    answer = requests.post(f"{server.url}/api/v1/files", headers=headers or server.headers, files=files, timeout=30)
    return str(answer.json()["uuid"])


def replace_content(server: ServerProcess, file: str, headers: dict[str, str] | None = None) -> None:
    """Cause an event: replace the document of a file."""
    files = {"file": ("next.pdf", simple_pdf(pages=2))}
    url = f"{server.url}/api/v1/files/{file}/content"
    assert requests.post(url, headers=headers or server.headers, files=files, timeout=30).status_code == 200


def post_delivery(url: str, secret: str, body: bytes, **headers: str) -> int:
    """Send a signed delivery, as the server would."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    signature = {"X-Service-Signature": sign(secret, body, int(time.time() * 1000))}
    return requests.post(url, data=body, headers=signature | named, timeout=30).status_code
