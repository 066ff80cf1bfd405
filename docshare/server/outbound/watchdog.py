"""Enforce one deadline for a whole exchange; the timeout of a socket starts again with every received byte."""

import contextlib
import socket
import threading
import time


class DeadlineWatchdog:
    """Shuts down the watched socket after ``seconds``, which wakes up a thread that reads from it or writes to it."""

    def __init__(self, seconds: float) -> None:
        self.has_expired = False
        self._deadline = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._watched: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.name = "watchdog"
        self._timer.daemon = True
        self._timer.start()

    def remaining_s(self) -> float:
        """Return the seconds until the deadline; never negative."""
        return max(0.0, self._deadline - time.monotonic())

    def watch(self, sock: socket.socket) -> None:
        """Watch ``sock`` instead of the previous socket."""
        with self._lock:
            self._watched = sock
            if self.has_expired:
                _shut_down(sock)

    def release(self) -> None:
        """Stop watching, before the socket is closed and its descriptor is reused."""
        self._timer.cancel()
        with self._lock:
            self._watched = None

    def _expire(self) -> None:
        with self._lock:
            self.has_expired = True
            if self._watched is not None:
                _shut_down(self._watched)


def _shut_down(sock: socket.socket) -> None:
    # Not the method of SSLSocket: it drops its TLS state, and a reader would treat received data as plain text.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
