"""Close connections after deadlines and in favor of new ones. Standard library only.

Limits for one address apply to its *network*: an IPv4 address, or a /64 of IPv6 (``network_key``).
"""

from collections import OrderedDict
from collections.abc import Callable
from enum import IntEnum
from ipaddress import IPv6Address
from typing import Protocol

SHARE_DIVISOR = 4
"""One network may hold the limit of connections divided by this. An office of 80 people behind one address needs a few
hundred, and if it needs more, its idle connections are closed for its new ones."""
MIN_SHARE = 16
MIN_PROGRESS_BYTES = 16 * 1024
"""The minimum of a body or a response that must be transferred in the idle time: about 140 bytes per second."""
CHURN_SECONDS = 1.0
"""The minimum age of a connection that is closed for a new one of the same network. If all are younger, the new one is
refused, which costs less than accepting it."""
_GRACE_SECONDS = 2.0
_MAX_CANDIDATES = 8
_RANKING_SECONDS = 0.05  # interval of finding the largest network, which takes 0.1 ms among 2,000


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
    (Phase.WAITING, 0.0),
    (Phase.TRANSFERRING, 0.0),
)
"""The order in which connections are closed for new ones: by phase, if they have been in it for these seconds. A new
connection gets time to send its request, and an active one to progress, as long as there are others to close."""


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
    """The connections of one network or of all, by phase; those longest in their phase come first. ``peer``: the
    address of the first connection of a network."""

    def __init__(self, peer: str = "") -> None:
        self.peer = peer
        self.size = 0
        self.by_phase = tuple(OrderedDict[TrackedConnection, None]() for _ in Phase)

    def first(self, phase: Phase) -> TrackedConnection | None:
        return next(iter(self.by_phase[phase]), None)


class ConnectionLimiter:
    """All connections of a server, at most ``limit``.

    ``share`` is the maximum of one network, unless ``is_exempt(address)``. ``clock`` returns monotonic seconds;
    ``seconds`` is how long a connection may stay in each phase (no entry: no limit). ``close_queued(network)`` closes,
    of the connections of a network, the one with the newest queued request, and returns False if there is none.
    ``closed_count`` and ``refused_count`` count the connections closed or refused because of the limits.
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
        self.clock = clock
        self._seconds = seconds
        self._is_exempt = is_exempt
        self._all = _PhaseQueues()
        self._by_network: dict[str, _PhaseQueues] = {}
        self._largest: tuple[str, int] = ("", 0)
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
            admitted = self._all.size < self.limit or self.make_room() or self._shrink_largest(own.size if own else 0)
        self.refused_count += not admitted
        return admitted

    def make_room(self) -> bool:
        """Close the least important connection; return whether there was one."""
        return self._evict(self._all)

    def add(self, member: TrackedConnection) -> None:
        """Add an accepted connection."""
        member.network = network_key(member.peer)
        member.phase, member.phase_request_count, member.phase_since, member.phase_bytes = (
            Phase.WAITING,
            0,
            self.clock(),
            0,
        )
        for queues in (self._all, self._by_network.setdefault(member.network, _PhaseQueues(member.peer))):
            queues.size += 1
            queues.by_phase[Phase.WAITING][member] = None

    def remove(self, member: TrackedConnection) -> None:
        """Remove a closed connection."""
        own = self._by_network[member.network]
        for queues in (self._all, own):
            queues.size -= 1
            del queues.by_phase[member.phase][member]
        if not own.size:
            del self._by_network[member.network]

    def update(self, member: TrackedConnection, phase: Phase, request_count: int) -> None:
        """Record that ``member`` is in ``phase`` now and has received ``request_count`` requests. The same phase of
        another request begins anew."""
        if phase is member.phase and request_count == member.phase_request_count:
            if phase is Phase.TRANSFERRING and member.transferred_bytes() - member.phase_bytes >= MIN_PROGRESS_BYTES:
                self._enter_phase(member, phase)
            return
        member.phase_request_count = request_count
        self._enter_phase(member, phase)

    def close_overdue(self) -> None:
        """Close the connections that have been in their phase for too long."""
        now = self.clock()
        for phase, seconds in self._seconds.items():
            while (member := self._all.first(phase)) is not None and now - member.phase_since > seconds:
                if not self._has_progressed(member):
                    member.handle_close()

    def _enter_phase(self, member: TrackedConnection, phase: Phase) -> None:
        for queues in (self._all, self._by_network[member.network]):
            del queues.by_phase[member.phase][member]
            queues.by_phase[phase][member] = None
        member.phase, member.phase_since = phase, self.clock()
        if phase is Phase.TRANSFERRING:
            member.phase_bytes = member.transferred_bytes()

    def _evict(self, queues: _PhaseQueues, at_least: float = 0.0) -> bool:
        """Close the first connection of ``queues`` in ``_EVICTION_ORDER`` that has been in its phase for ``at_least``
        seconds; return whether there was one."""
        now = self.clock()
        for phase, seconds in _EVICTION_ORDER:
            for _ in range(_MAX_CANDIDATES):
                member = queues.first(phase)
                if member is None or now - member.phase_since < max(seconds, at_least):
                    break
                if not self._has_progressed(member):
                    self.closed_count += 1
                    member.handle_close()
                    return True
        return False

    def _shrink_largest(self, size: int) -> bool:
        """Close a queued connection of the network with the most connections, if it has more than twice ``size``, so
        that a few busy networks do not keep out all others. Return whether one was closed."""
        now = self.clock()
        if now - self._ranked_at >= _RANKING_SECONDS:
            sizes = ((name, own.size) for name, own in self._by_network.items() if not self._is_exempt(own.peer))
            self._largest, self._ranked_at = max(sizes, key=lambda each: each[1], default=("", 0)), now
        network, most = self._largest
        closed = most > 2 * size + 1 and self.close_queued(network)
        self.closed_count += closed
        return closed

    def _has_progressed(self, member: TrackedConnection) -> bool:
        """Return whether the connection has transferred bytes from the buffers of the system, without the loop; if so,
        restart its deadline."""
        if (
            member.phase is not Phase.TRANSFERRING
            or member.transferred_bytes() - member.phase_bytes < MIN_PROGRESS_BYTES
        ):
            return False
        self._enter_phase(member, Phase.TRANSFERRING)
        return True


def network_key(peer: str) -> str:
    """Return the network of ``peer``: its IPv4 address, or the /64 of IPv6 that a provider assigns to one customer."""
    if ":" not in peer:
        return peer
    return str(int(IPv6Address(peer.partition("%")[0])) >> 64)
