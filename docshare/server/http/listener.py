"""The bundled HTTP server: waitress with early verdicts, uploads that are written once, and a graceful stop."""

import errno
import logging
import resource
import select
import selectors
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from wsgiref.types import WSGIApplication

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer

from docshare.contract.plans import GB, MB
from docshare.server.http.channel import LINGER_SECONDS, Channel
from docshare.server.http.connection_limits import ConnectionLimiter, Phase
from docshare.server.http.event_loop import EventLoop
from docshare.server.http.fair_queue import ComputedKind, RequestDispatcher, RequestQueue
from docshare.server.http.request_parser import ListenerHooks
from docshare.server.http.verdicts import ErrorRenderer, Judge
from docshare.server.store.blobs import PartialFile

LOGGER = logging.getLogger("docshare.listener")
MAX_BODY_BYTES = 2 * GB + 8 * MB
"""The file limit of the largest plan plus the overhead of a form."""
MAX_HEADER_BYTES = 64 * 1024
RECEIVE_BYTES = 256 * 1024
"""Bytes per read of a socket; a larger value is not faster, and waitress's default is three times slower."""
_BODY_MEMORY_BYTES = 64 * 1024
"""Bytes of a body in memory; the rest is in a temporary file. With the 512 KiB of waitress, one address that sends 480
incomplete bodies would occupy 250 MB."""
MAX_CONNECTIONS = 2000
_DESCRIPTORS_PER_CONNECTION = 2  # its socket, and possibly a partial file
_RESERVED_DESCRIPTORS = 512  # for the database, open documents and pipes; at most half of all descriptors
_BACKLOG = 4096
_MAX_ACCEPTS_PER_TURN = 64
_MAX_ACCEPT_FAILURES = 4
_EXHAUSTED_ERRNOS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_CHECK_INTERVAL_SECONDS = 0.5
_LOG_INTERVAL_SECONDS = 60.0
_PHASES_BETWEEN_REQUESTS = (Phase.IDLE, Phase.WAITING)
_NEXT_REQUEST_SECONDS = 1.0  # time that an idle connection gets for another request when the server stops


class Listener(TcpWSGIServer):  # type: ignore[misc]  # waitress has no types
    """One listening socket of a Server, in its ``loop``; ``limiter`` counts the connections of all its sockets.

    ``is_shared``: other processes accept from the same socket, so each accepts one connection per turn and leaves the
    next one to an idle process.
    """

    channel_class = Channel

    def __init__(
        self,
        *arguments: Any,
        loop: EventLoop,
        limiter: ConnectionLimiter,
        hooks: ListenerHooks,
        is_shared: bool,
        **settings: Any,
    ) -> None:
        self.loop = loop
        self.limiter = limiter
        self.hooks = hooks
        self._max_accepts = 1 if is_shared else _MAX_ACCEPTS_PER_TURN
        self.is_stopping = False
        self.thread_state = threading.local()
        # Re-entrant: a signal handler that calls stop may interrupt the loop anywhere.
        self._wake_lock = threading.RLock()
        super().__init__(*arguments, map=loop, **settings)

    def handle_accept(self) -> None:
        """Accept waiting connections, up to the limit of one turn."""
        failures = 0
        # Fewer at a time under a low limit, so that each gets some turns for its request to arrive.
        for _ in range(max(1, min(self._max_accepts, self.limiter.limit // 8))):
            try:
                sock, address = self.socket.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno not in _EXHAUSTED_ERRNOS:
                    continue  # the client has closed it already
                failures += 1
                if failures > _MAX_ACCEPT_FAILURES or not self.limiter.make_room():
                    self.loop.watch(self, 0)  # until ``resume``: each turn would try in vain
                    return
                continue
            try:
                if self.limiter.admit(address[0]):
                    self.set_socket_options(sock)
                    self.channel_class(self, sock, address, self.adj, map=self.loop)
                else:
                    sock.close()
            except Exception as error:
                sock.close()
                if not isinstance(error, OSError):
                    raise

    def handle_error(self) -> None:
        """Log the current exception. waitress would close the listening socket, for good, because of one connection."""
        LOGGER.exception("a connection could not be accepted")

    def resume(self) -> None:
        """Accept connections again after descriptors had run out."""
        if not self.is_stopping:
            self.loop.watch(self, selectors.EVENT_READ)

    def pull_trigger(self) -> None:
        """Wake the loop if necessary. waitress calls this in the thread of a worker that has changed its connection.

        After an ordinary request it is not necessary: the worker has sent the response, and the loop still waits for
        the client's next request.
        """
        channel: Channel = self.thread_state.channel
        self.loop.schedule(channel)
        if channel.needs_loop:
            self.wake()

    def wake(self, channel: Channel | None = None, thunk: Callable[[], None] | None = None) -> None:
        """Wake the loop, call ``thunk`` in it and process ``channel``; from any thread."""
        if thunk is not None:
            with self.trigger.lock:
                self.trigger.thunks.append(thunk)
        if channel is not None:
            self.loop.schedule(channel)
        # A worker may outlive the server; another file may then use the descriptor of the trigger.
        with self._wake_lock:
            if not self.trigger._closed:
                self.trigger.pull_trigger()

    def accept_queued(self) -> None:
        """Accept the connections that the system has queued, because closing the listening socket would reset them."""
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        for _ in range(_BACKLOG):
            if not poll.poll(0):
                return
            self.handle_accept()

    def stop_accepting(self) -> None:
        """Close the listening socket; connections stay open."""
        self.is_stopping = True
        wasyncore.dispatcher.close(self)

    def close(self) -> None:
        """Close all resources; the loop must have ended."""
        self.stop_accepting()
        with self._wake_lock:
            self.trigger.close()


class Server:
    """Serves one application on all addresses of one host. ``host`` and ``port`` are those actually bound."""

    def __init__(
        self,
        app: WSGIApplication,
        adjustments: Adjustments,
        hooks: ListenerHooks,
        limiter: ConnectionLimiter,
        sockets: Sequence[socket.socket],
        *,
        is_shared: bool,
    ) -> None:
        self._hooks = hooks
        self._loop = EventLoop(limiter.clock)
        self.limiter = limiter
        self._check_at = 0.0
        self._logged_at = -_LOG_INTERVAL_SECONDS
        self._stop_deadline: float | None = None
        self._dispatcher = RequestDispatcher(
            RequestQueue(
                Channel.find_client,
                lambda channel: hooks.find_kind(*channel.get_method_and_path()),
                lambda channel: channel.is_next_an_upload,
                limiter.clock,
            )
        )
        limiter.close_queued = self._close_queued
        self._listeners = [
            Listener(
                app,
                loop=self._loop,
                limiter=self.limiter,
                dispatcher=self._dispatcher,
                adj=adjustments,
                sockinfo=(sock.family, sock.type, sock.proto, sock.getsockname()),
                hooks=self._hooks,
                is_shared=is_shared,
                _sock=sock,
                bind_socket=False,
            )
            for sock in sockets
        ]
        self._dispatcher.set_thread_count(adjustments.threads)

    @property
    def host(self) -> str:
        """Return the first address, as an IP address."""
        return str(self._listeners[0].effective_host)

    @property
    def port(self) -> int:
        """Return the port, also if 0 was requested."""
        return int(self._listeners[0].effective_port)

    def run(self) -> None:
        """Serve until ``stop`` is called, then finish running requests and return."""
        try:
            while self._stop_deadline is None:
                self._run_once(_CHECK_INTERVAL_SECONDS)
            self._finish(self._stop_deadline)
        finally:
            self._close()

    def stop(self, timeout: float = 10.0) -> None:
        """Stop ``run``: accept no more connections, give running requests ``timeout`` seconds, and return.

        Returns at once; may be called from a signal handler and from any thread, also before ``run`` and twice.
        """
        if self._stop_deadline is None:
            self._stop_deadline = self.limiter.clock() + timeout
            self._listeners[0].wake()

    def _run_once(self, timeout: float) -> None:
        wake_after = self._dispatcher.wake_for_computed()
        self._loop.run_once(timeout if wake_after is None else min(timeout, wake_after), self._update_phase)
        now = self.limiter.clock()
        if now < self._check_at:
            return
        self._check_at = now + _CHECK_INTERVAL_SECONDS
        self.limiter.close_overdue()
        for listener in self._listeners:
            listener.resume()
        self._log_limits(now)

    def _update_phase(self, channel: Channel) -> None:
        self.limiter.update(channel, channel.current_phase(), channel.request_count)

    def _close_queued(self, network: str) -> bool:
        """Close the connection of ``network`` whose request was queued last; return False if it has none."""
        channel = self._dispatcher.drop_newest(network)
        if channel is None:
            return False
        channel.cancel()
        channel.handle_close()
        return True

    def _log_limits(self, now: float) -> None:
        """Log, from time to time, that connections were closed or refused because of the limits."""
        closed, refused = self.limiter.closed_count, self.limiter.refused_count
        if (closed or refused) and now - self._logged_at >= _LOG_INTERVAL_SECONDS:
            self._logged_at, self.limiter.closed_count, self.limiter.refused_count = now, 0, 0
            facts = {"open": len(self.limiter), "limit": self.limiter.limit, "closed": closed, "refused": refused}
            LOGGER.warning("too many connections", extra=facts)

    def _list_channels(self) -> list[Channel]:
        return [channel for listener in self._listeners for channel in listener.active_channels.values()]

    def _finish(self, until: float) -> None:
        for listener in self._listeners:
            listener.accept_queued()
            listener.stop_accepting()
        # An idle connection may be about to receive a request: a proxy reuses its connections, and cannot repeat a POST
        # if one is closed. The response to that request announces the end of the connection.
        ends: dict[Channel, float] = {}
        self._run_once(0)  # requests that have arrived meanwhile are answered
        while (now := self.limiter.clock()) < until:
            for channel in self._list_channels():
                if channel.current_phase() not in _PHASES_BETWEEN_REQUESTS:
                    ends.pop(channel, None)
                elif now >= ends.setdefault(channel, now + _NEXT_REQUEST_SECONDS) and not channel.has_unread_bytes():
                    channel.handle_close()
            if not self._list_channels():
                return
            self._run_once(0.1)

    def _close(self) -> None:
        for listener in self._listeners:
            listener.stop_accepting()
        for channel in self._list_channels():
            channel.handle_close()
        self._dispatcher.set_thread_count(0)
        with self._dispatcher.lock:  # here, because waitress would measure the wait by the wall clock
            self._dispatcher.thread_exit_cv.wait_for(lambda: not self._dispatcher.threads, 1)
        # Without the lock, which waitress would hold: a canceled request may queue another one that waited for it.
        while queued := self._dispatcher.take_all():
            for channel in queued:
                channel.cancel()
        self._hooks.writer.shutdown()
        for listener in self._listeners:
            listener.close()
        self._loop.close()


def bind_sockets(host: str, port: int) -> list[socket.socket]:
    """Bind all addresses of ``host`` to ``port`` (0: a free one, the same for all). Raises OSError if one cannot be
    bound."""
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, address in Adjustments(host=host, port=port).listen:
            sock = socket.socket(family, kind, protocol)
            sockets.append(sock)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((address[0], address[1] or sockets[0].getsockname()[1], *address[2:]))
            sock.listen(_BACKLOG)
    except OSError:
        for sock in sockets:
            sock.close()
        raise
    return sockets


def make_server(
    app: WSGIApplication,
    sockets: Sequence[socket.socket],
    *,
    judge: Judge,
    create_partial: Callable[[], PartialFile],
    render_error: ErrorRenderer,
    threads: int = 8,
    ident: str | None = None,
    headers: Sequence[tuple[str, str]] = (),
    header_seconds: float = 30,
    idle_seconds: float = 120,
    connections: int | None = None,
    is_exempt: Callable[[str], bool] = lambda peer: False,
    find_client: Callable[[str, str | None], str] = lambda peer, forwarded: peer,
    find_kind: Callable[[str, str], ComputedKind | None] = lambda method, path: None,
    clock: Callable[[], float] = time.monotonic,
    is_shared: bool = False,
) -> Server:
    """Return a server that owns the bound ``sockets``; nothing is answered before ``run``.

    Parameters: ``judge`` returns the verdict on a request before its body is read; it runs in the loop, so it must be
    quick. ``create_partial`` opens a partial file of the store. ``render_error`` renders the listener's own errors.
    ``threads`` is the number of threads that run the application. ``ident`` is the ``Server`` header (None: not sent).
    ``headers`` are added to every response, also to those of the listener itself. ``header_seconds`` is the maximum
    time for a header block, measured from the connection or the first byte. ``idle_seconds`` is the maximum time
    between two requests, and for each ``MIN_PROGRESS_BYTES`` of a body or a response. ``connections`` is their maximum
    number, by default as many as the system allows. ``is_exempt`` returns whether one address may use all of them.
    ``find_client`` returns the address of a client from that of its connection and its ``X-Forwarded-For`` header;
    requests are queued by that address, so clients of a trusted proxy wait only for their own. ``find_kind`` returns
    the kind of a method and a path, as in ``RequestQueue``. ``clock`` returns monotonic seconds. ``is_shared``: other
    processes accept from the same sockets.
    """
    adjustments = Adjustments(
        sockets=list(sockets),
        threads=threads,
        ident=ident,
        recv_bytes=RECEIVE_BYTES,
        max_request_header_size=MAX_HEADER_BYTES,
        max_request_body_size=MAX_BODY_BYTES,
        inbuf_overflow=_BODY_MEMORY_BYTES,
        backlog=_BACKLOG,
        log_socket_errors=False,
        # The application knows which proxies the operator trusts; waitress would drop their headers.
        clear_untrusted_proxy_headers=False,
    )
    # One thread: several would wait for the same disk, and an upload whose blocks change threads is a fifth slower.
    writer = ThreadPoolExecutor(1, thread_name_prefix="intake")
    seconds = dict.fromkeys((Phase.IDLE, Phase.TRANSFERRING), idle_seconds)
    seconds |= {Phase.WAITING: header_seconds, Phase.LINGERING: LINGER_SECONDS}
    limiter = ConnectionLimiter(connections or _compute_max_connections(), clock, seconds, is_exempt)
    hooks = ListenerHooks(judge, create_partial, render_error, writer, find_client, find_kind, tuple(headers))
    return Server(app, adjustments, hooks, limiter, sockets, is_shared=is_shared)


def _compute_max_connections() -> int:
    """Return the maximum number of connections, after raising the limit of descriptors of the process accordingly.

    The limit keeps descriptors free: without them, uploads fail, and the loop tries in vain to accept connections.
    """
    wanted = _DESCRIPTORS_PER_CONNECTION * MAX_CONNECTIONS + _RESERVED_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return (allowed - min(_RESERVED_DESCRIPTORS, allowed // 2)) // _DESCRIPTORS_PER_CONNECTION
