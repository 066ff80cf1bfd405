"""The bundled HTTP server: waitress with early verdicts, one-copy uploads and a graceful stop."""

import resource
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from wsgiref.types import WSGIApplication

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

from docshare.contract.plans import GB, MB
from docshare.server.blobs import Part
from docshare.server.channel import Channel
from docshare.server.request_parser import Hooks
from docshare.server.verdicts import Accept, DrawError, Head, Judge, Refuse, Verdict

__all__ = ["Accept", "DrawError", "Head", "Judge", "Refuse", "Server", "Verdict", "make_server"]

MAX_BODY = 2 * GB + 8 * MB
"""The largest plan's file and what a form puts around it."""
MAX_HEADERS = 64 * 1024
RECEIVE_BYTES = 256 * 1024
"""One read of a socket; a larger one is not faster, and waitress's default is three times slower."""
CONNECTIONS = 2000
_LEAST_CONNECTIONS = 32
_DESCRIPTORS_PER_CONNECTION = 2  # its socket, and perhaps a partial file
_OTHER_DESCRIPTORS = 512  # the database, documents being read, pipes to workers


class Listener(TcpWSGIServer):  # type: ignore[misc]  # waitress has no types
    """One listening socket of a Server."""

    channel_class = Channel

    def __init__(self, *arguments: Any, hooks: Hooks, header_seconds: float, **settings: Any) -> None:
        self.hooks = hooks
        self.stopping = False
        self._header_seconds = header_seconds
        # Re-entrant: a signal handler that calls stop may interrupt the loop anywhere.
        self._waking = threading.RLock()
        super().__init__(*arguments, **settings)

    def maintenance(self, now: float) -> None:
        """Close connections that are idle, and those whose header block takes too long: any byte resets idleness."""
        super().maintenance(now)
        late = time.monotonic() - self._header_seconds
        for channel in self.active_channels.values():
            request = channel.request
            if request is not None and not request.headers_finished and request.begun < late:
                channel.will_close = True

    def pull_trigger(self, thunk: Callable[[], None] | None = None) -> None:
        """Wake the loop, and have it call ``thunk``; from any thread."""
        if thunk is not None:
            with self.trigger.lock:
                self.trigger.thunks.append(thunk)
        # A worker may outlive the server, and the descriptor may then be somebody else's.
        with self._waking:
            if not self.trigger._closed:
                self.trigger.pull_trigger()

    def stop_accepting(self) -> None:
        """Close the listening socket; connections live on."""
        self.stopping = True
        wasyncore.dispatcher.close(self)

    def close(self) -> None:
        """Let go of everything; the loop must have ended."""
        self.stop_accepting()
        with self._waking:
            self.trigger.close()


class Server:
    """Serves one application on all addresses of one host. ``host`` and ``port`` are those really bound."""

    def __init__(self, app: WSGIApplication, adjustments: Adjustments, hooks: Hooks, header_seconds: float) -> None:
        self._hooks = hooks
        self._map: dict[int, Any] = {}
        self._stop_by: float | None = None
        self._timeout = adjustments.asyncore_loop_timeout
        self._dispatcher = ThreadedTaskDispatcher()
        self._listeners: list[Listener] = []
        try:
            for family, kind, protocol, address in adjustments.listen:
                if self._listeners and address[1] == 0:  # port 0 was asked for: one free port serves all addresses
                    address = (address[0], self.port, *address[2:])
                self._listen(app, adjustments, (family, kind, protocol, address), header_seconds)
        except OSError:
            wasyncore.close_all(self._map)
            raise
        self._dispatcher.set_thread_count(adjustments.threads)

    def _listen(self, app: WSGIApplication, adjustments: Adjustments, sockinfo: Any, header_seconds: float) -> None:
        listener = Listener(
            app,
            self._map,
            dispatcher=self._dispatcher,
            adj=adjustments,
            sockinfo=sockinfo,
            hooks=self._hooks,
            header_seconds=header_seconds,
        )
        self._listeners.append(listener)

    @property
    def host(self) -> str:
        """The first address, as numbers."""
        return str(self._listeners[0].effective_host)

    @property
    def port(self) -> int:
        """The port, also when 0 was asked for."""
        return int(self._listeners[0].effective_port)

    def run(self) -> None:
        """Serve until ``stop`` is called, then finish what runs and return."""
        try:
            while self._stop_by is None:
                self._turn(self._timeout)
            self._finish(self._stop_by)
        finally:
            self._close()

    def stop(self, timeout: float = 10.0) -> None:
        """Ask ``run`` to accept nothing more, to give running requests ``timeout`` seconds, and to return.

        Returns at once; may be called from a signal handler and from any thread, also before ``run`` and twice.
        """
        if self._stop_by is None:
            self._stop_by = time.monotonic() + timeout
            self._listeners[0].pull_trigger()

    def _turn(self, timeout: float) -> None:
        wasyncore.loop(timeout=timeout, use_poll=True, map=self._map, count=1)

    def _channels(self) -> list[Channel]:
        return [channel for listener in self._listeners for channel in listener.active_channels.values()]

    def _finish(self, until: float) -> None:
        for listener in self._listeners:
            listener.stop_accepting()
        while time.monotonic() < until:
            for channel in self._channels():
                if not channel.busy:
                    channel.handle_close()
            if not self._channels():
                return
            self._turn(0.1)

    def _close(self) -> None:
        for listener in self._listeners:
            listener.stop_accepting()
        for channel in self._channels():
            channel.handle_close()
        self._dispatcher.shutdown(timeout=1)
        self._hooks.writer.shutdown()
        for listener in self._listeners:
            listener.close()


def make_server(
    app: WSGIApplication,
    host: str,
    port: int,
    *,
    judge: Judge,
    parts: Callable[[], Part],
    draw_error: DrawError,
    threads: int = 8,
    ident: str | None = None,
    headers: Sequence[tuple[str, str]] = (),
    header_seconds: float = 30,
    idle_seconds: int = 120,
) -> Server:
    """Bind ``host`` and ``port`` (0 takes a free one); nothing is answered before ``run``.

    Parameters: ``judge`` is asked once per request, in the thread of the loop, before its body is read, so it must be
    quick; ``parts`` opens a partial file of the store; ``draw_error`` draws the listener's own errors; ``threads`` run
    the application; ``ident`` the Server header, none by default; ``headers`` are set on every answer, also on those of
    the listener itself; ``header_seconds`` how long a header block may take; ``idle_seconds`` how long a connection
    may be silent. Raises OSError if the address cannot be bound.
    """
    adjustments = Adjustments(
        host=host,
        port=port,
        threads=threads,
        ident=ident,
        recv_bytes=RECEIVE_BYTES,
        max_request_header_size=MAX_HEADERS,
        max_request_body_size=MAX_BODY,
        connection_limit=_connections(),
        channel_timeout=idle_seconds,
        cleanup_interval=1,
        log_socket_errors=False,
        # The application knows which proxies the operator trusts; waitress would drop their headers.
        clear_untrusted_proxy_headers=False,
    )
    # One thread: more of them wait for the same disk, and one upload that changes threads is a fifth slower.
    writer = ThreadPoolExecutor(1, thread_name_prefix="intake")
    return Server(app, adjustments, Hooks(judge, parts, draw_error, writer, tuple(headers)), header_seconds)


def _connections() -> int:
    """How many connections the process may hold, after asking the system for as many descriptors as that takes.

    Without a descriptor to spare nobody could upload, and the loop would try in vain to accept the next connection.
    """
    wanted = _DESCRIPTORS_PER_CONNECTION * CONNECTIONS + _OTHER_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(_LEAST_CONNECTIONS, (allowed - _OTHER_DESCRIPTORS) // _DESCRIPTORS_PER_CONNECTION)
