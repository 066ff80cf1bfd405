"""A local Redis server that stores nothing on disk."""

import atexit
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import redis

from tests.support.polling import wait_until
from tests.support.ports import find_free_port


@dataclass
class RedisServer:
    """A server on a free port, which can be stopped and started again; ``tls``: the folder of ``cert.pem`` and
    ``key.pem`` for ``tls_port``."""

    port: int
    folder: str
    tls: Path | None = None
    tls_port: int = 0
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        if self.processes and self.processes[-1].poll() is None:
            self.processes[-1].send_signal(signal.SIGCONT)
            return
        words = ["--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--appendonly", "no"]
        if self.tls is not None:
            files = ["--tls-cert-file", f"{self.tls}/cert.pem", "--tls-key-file", f"{self.tls}/key.pem"]
            authority = ["--tls-ca-cert-file", f"{self.tls}/cert.pem", "--tls-auth-clients", "no"]
            words += ["--tls-port", str(self.tls_port), *files, *authority]
        process = subprocess.Popen(
            ["redis-server", *words, "--dir", self.folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.processes.append(process)
        wait_until(self.is_answering)

    def is_answering(self) -> bool:
        assert self.processes[-1].poll() is None, "redis-server ended"
        with redis.Redis.from_url(self.url, socket_timeout=1) as client:
            try:
                return bool(client.ping())
            except (redis.ConnectionError, redis.TimeoutError):  # it has not started to listen, or to answer
                return False

    def pause(self) -> None:
        """Make it accept connections without responding until it is started again."""
        self.processes[-1].send_signal(signal.SIGSTOP)

    def kill(self) -> None:
        self.processes[-1].kill()
        self.processes[-1].wait(10)

    def list_keys(self) -> list[bytes]:
        with redis.Redis.from_url(self.url) as client:
            return sorted(client.keys("*"))

    def run(self, *words: str) -> object:
        """Run one Redis command."""
        with redis.Redis.from_url(self.url) as client:
            return client.execute_command(*words)


@contextmanager
def run_redis(tls: Path | None = None) -> Iterator[RedisServer]:
    """Yield a running server; it ends with the block."""
    folder = mkdtemp(prefix="redis")
    server = RedisServer(find_free_port(), folder, tls, find_free_port())
    try:
        server.start()
        yield server
    finally:
        for process in server.processes:
            process.kill()
            process.wait(10)
        shutil.rmtree(folder)


@cache
def start_for_run() -> str:
    """Return the address of a server that ends with this process."""
    context = run_redis()
    atexit.register(context.__exit__, None, None, None)
    return context.__enter__().url


_PATIENCE = """\
import sys

if "serve" in sys.orig_argv:
    from docshare.server.outbound import shared_memory

    shared_memory._TIMEOUT_S = 10.0
    shared_memory._START_S = 60.0
"""


def make_patient_environ(folder: Path) -> dict[str, str]:
    """Return variables with which a server in another process waits for Redis as long as a busy machine needs. Its
    Python imports a module in ``folder`` at the start."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_PATIENCE)
    known = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": f"{folder}{os.pathsep}{known}" if known else str(folder)}


@contextmanager
def run_silent_server() -> Iterator[str]:
    """Yield the URL of a server that accepts connections and never responds."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        yield f"redis://127.0.0.1:{silent.getsockname()[1]}"
