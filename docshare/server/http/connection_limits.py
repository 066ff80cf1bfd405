"""Limit connections. Standard library only.

A connection is closed after a deadline, or to make room for a new one.

Limits for one address apply to its *network*: an IPv4 address, or a /64 of IPv6 (``network_key``).
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from enum import IntEnum
from ipaddress import IPv6Address
from itertools import islice
from typing import Protocol

SHARE_DIVISOR = 4
"""One network may hold this fraction of the limit of connections: 1/4. An office of 80 people behind one address needs
a few hundred. If it needs more, its idle connections are closed to make room for its new ones."""
MIN_SHARE = 16
MIN_PROGRESS_BYTES = 16 * 1024
"""Part of a body or a response that must be transferred within the idle time; about 140 bytes per second."""
CHURN_SECONDS = 1.0
"""The minimum age of a connection that is closed for a new one of the same network. If all are younger, the new one is
refused, which costs less than accepting it."""
_GRACE_SECONDS = 2.0
_CROWD_SIZE = 16  # connections of a network that are more than a reader's browser opens; less under a low limit
_MAX_CANDIDATES = 8  # connections per phase that are considered for closing
_RANKING_SECONDS = 0.05  # interval of searching the largest network, which takes 0.1 ms among 2,000


class Phase(IntEnum):
    """The phase of a connection."""

    IDLE = 0  # between two requests
    WAITING = 1  # no complete header block yet
    LINGERING = 2  # answered, while the rest of a rejected body is discarded
    TRANSFERRING = 3  # a body is being received, or a response sent
    RUNNING = 4  # the application is running


_EVICTION_ORDER = (
    (Phase.IDLE, 0.0),
    (Phase.WAITING, _GRACE_SECONDS),
    (Phase.LINGERING, 0.0),
    (Phase.TRANSFERRING, _GRACE_SECONDS),
    (Phase.WAITING, CHURN_SECONDS),
    (Phase.TRANSFERRING, CHURN_SECONDS),
)
"""The order in which connections are closed to make room: each phase, with the minimum time in it in seconds. As long
as there are others to close, a new connection gets time to send its request, and an active one to progress."""
_LAST_RESORT = ((Phase.WAITING, 0.0), (Phase.TRANSFERRING, 0.0))
"""The last connections to be closed, after the queued requests of a network with more connections than a browser opens,
but before those of a smaller one. A newcomer whose network has more connections than the other one is refused instead:
otherwise, a network whose requests fill the server could close each connection of a visitor before the request
arrives."""


class TrackedConnection(Protocol):
    """A connection. ``peer`` is the address of the other end; the limiter maintains the rest."""

    peer: str
    network: str
    phase: Phase
    phase_request_count: int
    phase_since: float
    phase_bytes: int

    def transferred_bytes(self) -> int:
        """Return how many bytes have been transferred so far, in both directions."""

    def handle_close(self) -> None:
        """Close the connection; the limiter removes it."""


class _PhaseQueues:
    """The connections of one network or of all, by phase; those longest in their phase come first.

    ``peer``: the address of one connection of the network; empty for all networks.
    """

    def __init__(self, peer: str = "") -> None:
        self.peer = peer
        self.size = 0
        self.by_phase = tuple(OrderedDict[TrackedConnection, None]() for _ in Phase)

    def first(self, phase: Phase) -> TrackedConnection | None:
        return next(iter(self.by_phase[phase]), None)


class ConnectionLimiter:
    """All connections of a server, at most ``limit``, and at most ``share`` of one network unless it is exempt.

    Parameters: ``clock`` returns monotonic seconds; ``seconds`` is how long a connection may stay in each phase (no
    entry: no limit); ``is_exempt`` whether one address may use all connections.

    ``close_queued`` closes the connection of a network whose request was queued last; it returns False if the network
    has no queued request. ``closed_count`` and ``refused_count`` count the connections that were closed or refused
    because of the limits.
    """

    close_queued: Callable[[str], bool] = staticmethod(lambda _: False)  # set by the server, which has the queue

    def __init__(
        self,
        limit: int,
        clock: Callable[[], float],
        seconds: dict[Phase, float],
        is_exempt: Callable[[str], bool],
    ) -> None:
        self.limit = limit
        self.share = max(MIN_SHARE, limit // SHARE_DIVISOR)
        self._crowd = min(_CROWD_SIZE, limit // 8)
        self.clock = clock
        self._seconds = seconds
        self._is_exempt = is_exempt
        self._all = _PhaseQueues()
        self._by_network: dict[str, _PhaseQueues] = {}
        self._largest = ""
        self._ranked_at = -_RANKING_SECONDS
        self.closed_count = 0
        self.refused_count = 0

    def __len__(self) -> int:
        return self._all.size

    def admit(self, peer: str) -> bool:
        """Return whether another connection from ``peer`` is accepted, after closing another one if necessary."""
        own = self._by_network.get(network_key(peer))
        if own is not None and own.size >= self.share and not self._is_exempt(peer):
            admitted = self._evict(own, at_least=CHURN_SECONDS)
        else:
            own_size = own.size if own else 0
            admitted = (
                self._all.size < self.limit
                or self._evict(self._all)
                or self._shrink_largest(own_size, at_least=self._crowd)
                or self._evict(self._all, _LAST_RESORT, min_network_size=own_size)
                or self._shrink_largest(own_size)
            )
        self.refused_count += not admitted
        return admitted

    def make_room(self) -> bool:
        """Close the least important connection; return whether there was one."""
        return self._evict(self._all) or self._evict(self._all, _LAST_RESORT)

    def add(self, connection: TrackedConnection) -> None:
        """Add an accepted connection."""
        connection.network = network_key(connection.peer)
        connection.phase, connection.phase_request_count, connection.phase_since, connection.phase_bytes = (
            Phase.WAITING,
            0,
            self.clock(),
            0,
        )
        for queues in (self._all, self._by_network.setdefault(connection.network, _PhaseQueues(connection.peer))):
            queues.size += 1
            queues.by_phase[Phase.WAITING][connection] = None

    def remove(self, connection: TrackedConnection) -> None:
        """Remove a closed connection."""
        own = self._by_network[connection.network]
        for queues in (self._all, own):
            queues.size -= 1
            del queues.by_phase[connection.phase][connection]
        if not own.size:
            del self._by_network[connection.network]

    def update(self, connection: TrackedConnection, phase: Phase, request_count: int) -> None:
        """Record that ``connection`` is in ``phase`` now and has received ``request_count`` requests. With each
        request, the time in the phase starts again."""
        if phase is connection.phase and request_count == connection.phase_request_count:
            if (
                phase is Phase.TRANSFERRING
                and connection.transferred_bytes() - connection.phase_bytes >= MIN_PROGRESS_BYTES
            ):
                self._enter_phase(connection, phase)
            return
        connection.phase_request_count = request_count
        self._enter_phase(connection, phase)

    def close_overdue(self) -> None:
        """Close the connections that have been in their phase for too long."""
        now = self.clock()
        for phase, seconds in self._seconds.items():
            while (connection := self._all.first(phase)) is not None and now - connection.phase_since > seconds:
                if not self._has_progressed(connection):
                    connection.handle_close()

    def _enter_phase(self, connection: TrackedConnection, phase: Phase) -> None:
        for queues in (self._all, self._by_network[connection.network]):
            del queues.by_phase[connection.phase][connection]
            queues.by_phase[phase][connection] = None
        connection.phase, connection.phase_since = phase, self.clock()
        if phase is Phase.TRANSFERRING:
            connection.phase_bytes = connection.transferred_bytes()

    def _evict(
        self,
        queues: _PhaseQueues,
        order: Iterable[tuple[Phase, float]] = _EVICTION_ORDER,
        *,
        at_least: float = 0.0,
        min_network_size: int = 0,
    ) -> bool:
        """Close the first connection of ``queues`` in ``order`` that has been in its phase for ``at_least`` seconds and
        whose network has ``min_network_size`` connections; return whether there was one."""
        now = self.clock()
        for phase, seconds in order:
            for connection in list(islice(queues.by_phase[phase], _MAX_CANDIDATES)):
                if now - connection.phase_since < max(seconds, at_least):
                    break
                if self._by_network[connection.network].size < min_network_size:
                    continue
                if not self._has_progressed(connection):
                    self.closed_count += 1
                    connection.handle_close()
                    return True
        return False

    def _shrink_largest(self, own_size: int, at_least: int = 0) -> bool:
        """Close a queued connection of the network with the most connections, so that a few busy networks do not keep
        out all others. Return whether one was closed.

        The network must have ``at_least`` connections, and more than twice as many as that of the newcomer, which has
        ``own_size``.
        """
        now = self.clock()
        if now - self._ranked_at >= _RANKING_SECONDS:
            sizes = ((own.size, name) for name, own in self._by_network.items() if not self._is_exempt(own.peer))
            (_, self._largest), self._ranked_at = max(sizes, default=(0, "")), now
        largest = self._by_network.get(self._largest)
        most = largest.size if largest else 0  # it may have shrunk since
        closed = most >= at_least and most > 2 * own_size + 1 and self.close_queued(self._largest)
        self.closed_count += closed
        return closed

    def _has_progressed(self, connection: TrackedConnection) -> bool:
        """Return whether the connection has made progress that the loop has not seen, because the system has sent bytes
        from its buffers; if so, restart its deadline."""
        if (
            connection.phase is not Phase.TRANSFERRING
            or connection.transferred_bytes() - connection.phase_bytes < MIN_PROGRESS_BYTES
        ):
            return False
        self._enter_phase(connection, Phase.TRANSFERRING)
        return True


def network_key(peer: str) -> str:
    """Return the network of ``peer``: its IPv4 address, or the /64 of IPv6 that a provider assigns to one customer."""
    if ":" not in peer:
        return peer
    return str(int(IPv6Address(peer.partition("%")[0])) >> 64)
