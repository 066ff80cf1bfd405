"""The running server: the listener, the jobs, and a clean stop."""

import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from flask import Flask

from docshare.server import instance as instances
from docshare.server.api.early import make_judge
from docshare.server.api.problems import draw_error
from docshare.server.app import create_app
from docshare.server.blobs import Part
from docshare.server.dispatcher import Dispatcher
from docshare.server.instance import Instance
from docshare.server.jobs import MAIL_JOBS, WRITE_DOWN_REFUSALS, Worker, run
from docshare.server.listener import make_server
from docshare.server.verdicts import Head, Judge, Refuse, Verdict

STOP_SECONDS = 10.0  # how long running requests may take to finish
_DEV = ("X-Docshare-Dev", "1")
_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound


class PortTaken(Exception):
    """The address cannot be listened on."""


@dataclass(frozen=True)
class Running:
    """A server that answers. ``url`` is its address on this host, whatever the public base URL is."""

    instance: Instance
    url: str


class Door:
    """A bound address, taken before anything else is made so that links can name its port. Nothing is answered
    until an instance stands behind it. ``dev``: every answer says that this server is for development. Raises
    ``PortTaken``."""

    _app: Flask
    _judge: Judge
    _parts: Callable[[], Part]
    _draw_error: Callable[[int, str | None, str], Refuse]

    def __init__(self, host: str, port: int, threads: int, *, dev: bool = False) -> None:
        try:
            self.server = make_server(
                self._answer,
                host,
                port,
                judge=lambda head: self._ask(head),
                parts=lambda: self._parts(),
                draw_error=lambda status, path, detail: self._draw_error(status, path, detail),
                threads=threads,
                headers=[_DEV] if dev else [],
            )
        except OSError as error:
            raise PortTaken(f"cannot listen on {host} port {port}: {error.strerror or error}") from None

    @property
    def url(self) -> str:
        """The address by which this host reaches the door."""
        host = _WILDCARDS.get(self.server.host, self.server.host)
        return f"http://[{host}]:{self.server.port}" if ":" in host else f"http://{host}:{self.server.port}"

    def put_behind(self, instance: Instance) -> None:
        """Let ``instance`` answer from the moment the server runs."""
        rt = instance.rt
        self._app = create_app(rt)
        self._judge = make_judge(rt)
        self._parts = rt.blobs.part
        self._draw_error = lambda status, path, detail: draw_error(rt, status, path, detail)

    def _answer(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        return self._app(environ, start_response)

    def _ask(self, head: Head) -> Verdict:
        return self._judge(head)


@contextmanager
def running(door: Door, instance: Instance) -> Iterator[Running]:
    """Serve ``instance`` at ``door`` for the length of the block; running requests are finished at its end."""
    rt = instance.rt
    # A request body that does not stream into the store is spooled beside it, never into a small /tmp.
    tempfile.tempdir = str(rt.config.data_dir / "tmp")
    door.put_behind(instance)
    loop = threading.Thread(target=door.server.run, name="listener", daemon=True)
    workers = (Worker(rt), Worker(rt, MAIL_JOBS, "mail"), Dispatcher(rt))
    loop.start()
    for worker in workers:
        worker.start()
    instances.announce(instance, door.url, door.server.host)
    try:
        yield Running(instance, door.url)
    finally:
        for worker in workers:
            worker.stop()
        door.server.stop(STOP_SECONDS)
        loop.join()
        for worker in workers:
            worker.join(STOP_SECONDS)
        run(rt, WRITE_DOWN_REFUSALS)
