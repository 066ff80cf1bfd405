"""The running server: the listener, the jobs, and a clean stop."""

import ctypes
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from flask import Flask

from docshare.server.api import discovery
from docshare.server.api.early_verdict import make_judge
from docshare.server.api.problems import build_error_refusal
from docshare.server.app import create_app
from docshare.server.http.listener import make_server
from docshare.server.http.verdicts import Judge, Refusal, RequestHead, Verdict
from docshare.server.http.views import is_trusted_proxy
from docshare.server.outbound.fair_slots import MAX_SLOTS, MAX_WAITING
from docshare.server.store import instance as instances
from docshare.server.store.blobs import PartialFile
from docshare.server.store.instance import Instance
from docshare.server.workers.dispatcher import Dispatcher
from docshare.server.workers.jobs import MAIL_JOBS, RECORD_DENIALS, Worker, run_job

# Test deliveries wait for other machines, so they have separate threads beside those of requests.
PARKED_THREADS = MAX_SLOTS + MAX_WAITING
_PRELOAD_DELAY_SECONDS = 1.0  # after the start, which must not wait for it
STOP_SECONDS = 10.0  # how long running requests may take to finish
# The listener asks for the interpreter several times for each connection, and each time it waits for so long behind
# threads that compute. Python's 5 ms add up to half a second when one client keeps all workers busy.
_SWITCH_INTERVAL_SECONDS = 0.0005
# glibc gives each thread a separate memory arena, and some forty threads keep much free memory in pieces: after 12
# minutes of mixed load 109 MB are resident with two arenas, and 118 MB without this limit.
_ARENAS = 2
_M_ARENA_MAX = -8  # malloc.h
_DEV_HEADER = ("X-Docshare-Dev", "1")
_LOOPBACK_BY_WILDCARD = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound


class PortInUse(Exception):
    """The address cannot be listened on."""


@dataclass(frozen=True)
class ServingInstance:
    """A server that answers. ``url`` is its address on this host, whatever the public base URL is."""

    instance: Instance
    url: str


class BoundServer:
    """A bound address, taken before anything else is made so that links can name its port. Nothing is answered
    until an instance stands behind it. ``dev``: every response has a header that marks the server as one for
    development. Raises ``PortTaken``."""

    _app: Flask
    _judge: Judge
    _create_partial: Callable[[], PartialFile]
    _draw_error: Callable[[int, str | None, str], Refusal]
    _is_proxy: Callable[[str], bool]

    def __init__(self, host: str, port: int, threads: int, *, dev: bool = False) -> None:
        with suppress(OSError, AttributeError):  # only glibc has it, and it takes effect before threads start
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)
        try:
            self.server = make_server(
                self._call_app,
                host,
                port,
                judge=lambda head: self._call_judge(head),
                parts=lambda: self._create_partial(),
                draw_error=lambda status, path, detail: self._draw_error(status, path, detail),
                threads=threads + PARKED_THREADS,
                headers=[_DEV_HEADER] if dev else [],
                is_exempt=lambda peer: self._is_proxy(peer),
            )
        except OSError as error:
            raise PortInUse(f"cannot listen on {host} port {port}: {error.strerror or error}") from None

    @property
    def url(self) -> str:
        """The address by which this host reaches the door."""
        host = _LOOPBACK_BY_WILDCARD.get(self.server.host, self.server.host)
        return f"http://[{host}]:{self.server.port}" if ":" in host else f"http://{host}:{self.server.port}"

    def attach_instance(self, instance: Instance) -> None:
        """Let ``instance`` answer from the moment the server runs."""
        rt = instance.rt
        self._app = create_app(rt)
        self._judge = make_judge(rt)
        self._create_partial = rt.blobs.create_partial
        self._draw_error = lambda status, path, detail: build_error_refusal(rt, status, path, detail)
        self._is_proxy = lambda peer: is_trusted_proxy(rt, peer)

    def _call_app(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        return self._app(environ, start_response)

    def _call_judge(self, head: RequestHead) -> Verdict:
        return self._judge(head)


@contextmanager
def serve_instance(door: BoundServer, instance: Instance) -> Iterator[ServingInstance]:
    """Serve ``instance`` at ``door`` for the length of the block; running requests are finished at its end."""
    rt = instance.rt
    sys.setswitchinterval(_SWITCH_INTERVAL_SECONDS)
    # A request body that does not stream into the store is spooled beside it, never into a small /tmp.
    tempfile.tempdir = str(rt.config.data_dir / "tmp")
    door.attach_instance(instance)
    loop = threading.Thread(target=door.server.run, name="listener", daemon=True)
    workers = (Worker(rt), Worker(rt, MAIL_JOBS, "mail"), Dispatcher(rt))
    loop.start()
    for worker in workers:
        worker.start()
    later = threading.Timer(_PRELOAD_DELAY_SECONDS, discovery.preload_openapi, [rt.config.base_url])
    later.daemon = True
    later.start()
    try:
        instances.announce(instance, door.url, door.server.host)
        yield ServingInstance(instance, door.url)
    finally:
        later.cancel()
        for worker in workers:
            worker.stop()
        door.server.stop(STOP_SECONDS)
        loop.join()
        for worker in workers:
            worker.join(STOP_SECONDS)
        run_job(rt, RECORD_DENIALS)
