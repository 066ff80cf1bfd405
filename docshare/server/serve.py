"""The running server: the listener, the jobs, and a graceful stop."""

import ctypes
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial

from docshare.server.api import discovery
from docshare.server.api.early_verdict import make_judge
from docshare.server.api.problems import build_error_refusal
from docshare.server.app import create_app, find_kind
from docshare.server.config import Config
from docshare.server.fair_slots import MAX_SLOTS, MAX_WAITING
from docshare.server.http.listener import bind_sockets, make_server
from docshare.server.http.views import is_trusted_proxy, resolve_client_address
from docshare.server.instance import Instance
from docshare.server.workers.dispatcher import Dispatcher
from docshare.server.workers.jobs import MAIL_JOBS, RECORD_DENIALS, Worker, run_job

# Test deliveries and lookups for new webhooks wait for other hosts, so they have threads of their own in addition to
# those of requests.
PARKED_THREADS = MAX_SLOTS + MAX_WAITING
_PRELOAD_DELAY_SECONDS = 1.0  # after the start, which must not be delayed by it
STOP_SECONDS = 10.0  # maximum time for running requests to finish
# The listener needs the interpreter several times per connection, and each time it waits this long for threads that
# compute. Python's 5 ms add up to half a second when one client keeps all workers busy.
_SWITCH_INTERVAL_SECONDS = 0.0005
# glibc gives each thread a separate memory arena, and some forty threads fragment the free memory: after 12 minutes
# of mixed load 109 MB are resident with two arenas, and 118 MB without this limit.
_ARENAS = 2
_M_ARENA_MAX = -8  # malloc.h
_DEV_HEADER = ("X-Docshare-Dev", "1")
_LOOPBACK_NETWORKS = ("127.0.0.0/8", "::1/128", "localhost")
_LOOPBACK_BY_WILDCARD = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound


class PortInUse(Exception):
    """The address is in use or not available."""


class InvalidHost(Exception):
    """The host is not an address, and its name cannot be resolved."""


@dataclass(frozen=True)
class ServingInstance:
    """A running server. ``url``: its address on this host, not the public base URL."""

    instance: Instance
    url: str


class BoundPort:
    """The listening sockets of a server, bound before anything else is created so that links can contain the port.

    Clients may connect; they are answered once this process or its worker processes serve an instance there.
    """

    def __init__(self, sockets: Sequence[socket.socket]) -> None:
        self.sockets = sockets

    @property
    def host(self) -> str:
        """Return the first IP address."""
        return str(self.sockets[0].getsockname()[0])

    @property
    def url(self) -> str:
        """Return the URL of the port on this host."""
        host, port = _LOOPBACK_BY_WILDCARD.get(self.host, self.host), self.sockets[0].getsockname()[1]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def close(self) -> None:
        """Close the sockets of this process; worker processes may still accept connections."""
        for sock in self.sockets:
            sock.close()


@contextmanager
def bind_port(host: str, number: int) -> Iterator[BoundPort]:
    """Bind port ``number`` of ``host`` (0: a free one) for the duration of the block. Raises ``PortInUse`` and
    ``InvalidHost``."""
    try:
        sockets = bind_sockets(host, number)
    except OSError as error:
        raise PortInUse(f"cannot listen on {host} port {number}: {error.strerror or error}") from None
    except ValueError:  # of waitress, also for a name that cannot be resolved
        raise InvalidHost(f"cannot listen on {host!r}: not an address, nor a name that can be resolved") from None
    port = BoundPort(sockets)
    try:
        yield port
    finally:
        port.close()


def allow_local_webhooks(config: Config) -> Config:
    """Return ``config`` for a development server, whose webhooks may connect to this machine."""
    return replace(config, webhook_allow=(*config.webhook_allow, *_LOOPBACK_NETWORKS))


@contextmanager
def serve_instance(port: BoundPort, instance: Instance, *, dev: bool = False) -> Iterator[ServingInstance]:
    """Serve ``instance`` at ``port`` for the duration of the block; running requests are finished at its end.

    ``dev``: every response has a header that marks a development server.
    """
    rt = instance.rt
    with suppress(OSError, AttributeError):  # only glibc has it, and it must be set before threads start
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)
    sys.setswitchinterval(_SWITCH_INTERVAL_SECONDS)
    # A request body that is not streamed into the store is spooled beside it, never into a small /tmp.
    tempfile.tempdir = str(rt.config.data_dir / "tmp")
    if rt.shared is not None:
        rt.shared.start()
    server = make_server(
        create_app(rt),
        port.sockets,
        judge=make_judge(rt),
        create_partial=rt.blobs.create_partial,
        render_error=lambda status, path, detail: build_error_refusal(rt, status, path, detail),
        threads=rt.config.threads + PARKED_THREADS,
        headers=[_DEV_HEADER] if dev else [],
        is_exempt=lambda peer: is_trusted_proxy(rt, peer),
        find_client=partial(resolve_client_address, rt),
        find_kind=find_kind,
        is_shared=rt.config.workers > 1,
    )
    loop = threading.Thread(target=server.run, name="listener", daemon=True)
    workers = (Worker(rt), Worker(rt, MAIL_JOBS, "mail"), Dispatcher(rt))
    loop.start()
    for worker in workers:
        worker.start()
    later = threading.Timer(_PRELOAD_DELAY_SECONDS, discovery.load_openapi, [rt.config.base_url])
    later.daemon = True
    later.start()
    try:
        yield ServingInstance(instance, port.url)
    finally:
        later.cancel()
        for worker in workers:
            worker.stop()
        server.stop(STOP_SECONDS)
        loop.join()
        for worker in workers:
            worker.join(STOP_SECONDS)
        run_job(rt, RECORD_DENIALS)
