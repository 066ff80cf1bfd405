"""The loop of the listener. In each *turn*, it waits for events and handles them.

It registers a descriptor once and updates its events only when they change. The loop of waitress polls every connection
in every turn and accepts one new connection per turn, so with thousands of idle connections, each new one has to wait
for thousands of polls.
"""

import selectors
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from heapq import heappop, heappush
from itertools import count
from math import ceil, inf
from selectors import EVENT_READ as READ
from selectors import SelectorKey
from typing import Any, TypeVar

from docshare.server.http.channel import Channel
from docshare.server.http.connection_limits import network_key

TURN_SECONDS = 0.005
"""The time after which a turn handles no more events, and again no more scheduled channels, once it has handled the
minimum; the remaining ones wait for the next turn. A new connection has to wait for a whole turn. Without this limit,
480 busy connections of one client extended that to most of a second, and so did 1,900 of six clients with pipelined
requests: the longer a turn took, the more channels the threads had scheduled for the next."""
MIN_EVENTS_PER_TURN = 4
"""The number of events that a turn handles whatever they take, and again of scheduled channels. Beside threads that
compute, one takes up to 2 ms, and a visitor has to wait for several turns: 125 ms (p95) beside 480 busy connections
with a minimum of 16, and 75 ms with 4."""
TURNS_PER_ROUND = 40
"""If more than 160 networks wait, the minimum is higher, so that each is handled once in about this many turns. Each
turn orders all events that are ready; for 2,000 this takes 4 ms."""
MIN_REJECTION_SECONDS = 0.5
"""The minimum delay of a *rejection*, a 429 or 503 response. It limits a client to two of them per second and
connection; without it, twelve clients that retried in a loop used most of a core."""
MAX_REJECTION_SECONDS = 2.0
REJECTIONS_PER_SECOND = 25
"""Rejections that one network gets from this process in a second, if the maximum delay suffices for that. Beside 50
clients that got 90, an upload took 2.1 to 2.9 times as long as without them, and 1.1 to 1.7 times with 25
(``tests.torture.rendering medium_pages``)."""
_MAX_NETWORKS = 4096
_LARGE_RECEIVED_BYTES = 16 * 1024  # per event; the request of a visitor is smaller
_LARGE_SENT_BYTES = 256 * 1024  # per event; the response to a visitor with a slow network is sent in smaller parts
_T = TypeVar("_T")


class EventLoop(dict[int, Any]):
    """The map of descriptors that waitress maintains, and the selector behind it.

    Used by one thread, except for ``schedule`` and ``postpone``. ``clock`` returns monotonic seconds. Handlers other
    than a Channel only read: their ``handle_read_event`` is called while they are not paused.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._postponed = _Postponed()
        self._selector = selectors.DefaultSelector()
        self._scheduled = _Scheduled()
        self._turn = 0
        self._network_turns: dict[str, int] = {}  # the last turn of networks that recently had to wait
        self._large_networks: set[str] = set()  # the last event of each was large

    def __setitem__(self, descriptor: int, handler: Any) -> None:
        """Register a handler. waitress calls this when it gets its descriptor."""
        super().__setitem__(descriptor, handler)
        self._selector.register(descriptor, READ, handler)
        handler.watched = READ

    def __delitem__(self, descriptor: int) -> None:
        """Unregister a handler. waitress calls this before it closes its descriptor."""
        handler = self.pop(descriptor)
        if handler.watched:
            self._selector.unregister(descriptor)
        handler.watched = 0

    def watch(self, handler: Any, events: int) -> None:
        """Wait only for ``events`` of ``handler``."""
        if events == handler.watched:
            return
        if not events:
            self._selector.unregister(handler._fileno)
        elif handler.watched:
            self._selector.modify(handler._fileno, events, handler)
        else:
            self._selector.register(handler._fileno, events, handler)
        handler.watched = events

    def schedule(self, channel: Channel) -> None:
        """Queue ``channel`` to be advanced. Can be called from any thread; does not wake the loop."""
        self._scheduled.add(channel)

    def postpone(self, channel: Channel) -> float:
        """Advance ``channel`` when its rejection is to be sent; return that time in seconds of the clock. Can be called
        from any thread; does not wake the loop."""
        return self._postponed.add(channel, network_key(channel.find_client()), self._clock())

    def run_once(self, timeout: float, on_handled: Callable[[Channel], None]) -> None:
        """Run one turn: wait up to ``timeout`` seconds for events and handle them. Call ``on_handled`` with each
        channel that was handled and is still open."""
        timeout = min(timeout, max(0.0, self._postponed.next_time() - self._clock()))
        if self._scheduled:
            timeout = 0.0  # some had to wait for this turn
        ready = self._selector.select(timeout)
        for channel in self._postponed.take_due(self._clock()):
            self._scheduled.add(channel)
        channels = [event for event in ready if isinstance(event[0].data, Channel)]
        self._handle_channels(channels, on_handled)
        # Accept new connections last: others may be closed to make room, but none whose request has just arrived.
        others = [event[0] for event in ready if not isinstance(event[0].data, Channel)]
        for key in sorted(others, key=lambda key: key.data.accepting):
            if key.data._fileno == key.fd:
                self._run_handler(key.data, key.data.handle_read_event)
        channel_count, network_count = self._scheduled.count()
        for _ in self._until_turn_ends(range(channel_count), network_count):
            channel = self._scheduled.take()
            self._run_handler(channel, partial(self._advance_channel, channel, on_handled))

    def _handle_channels(self, ready: list[tuple[SelectorKey, int]], on_handled: Callable[[Channel], None]) -> None:
        """Handle events of connections until the turn is over. The selector reports the others again in the next."""
        is_crowded = len(ready) > MIN_EVENTS_PER_TURN
        self._turn += is_crowded
        network_count = len({key.data.network for key, _ in ready})
        for key, events in self._until_turn_ends(self._order_fairly(ready) if is_crowded else ready, network_count):
            channel = key.data
            # An earlier handler of this turn may have closed the channel, and its descriptor may be in use again.
            if channel._fileno == key.fd:
                received, transferred = channel.received_bytes, channel.socket_bytes
                self._run_handler(channel, partial(self._handle_channel, channel, events, on_handled))
                if is_crowded:
                    channel.turn = self._network_turns[channel.network] = self._turn
                    received, transferred = channel.received_bytes - received, channel.socket_bytes - transferred
                    if received > _LARGE_RECEIVED_BYTES or transferred > _LARGE_SENT_BYTES:
                        self._large_networks.add(channel.network)
                    else:
                        self._large_networks.discard(channel.network)

    def _until_turn_ends(self, items: Iterable[_T], network_count: int) -> Iterator[_T]:
        """Yield the minimum of ``items``, which are of ``network_count`` networks, and more until ``TURN_SECONDS`` have
        passed: from the first on, because ordering them can take as long as a turn."""
        minimum = max(MIN_EVENTS_PER_TURN, ceil(network_count / TURNS_PER_ROUND))
        end = self._clock() + TURN_SECONDS
        for number, item in enumerate(items):
            if number >= minimum and self._clock() >= end:
                return
            yield item

    def _handle_channel(self, channel: Channel, events: int, on_handled: Callable[[Channel], None]) -> None:
        self._advance_channel(channel, on_handled, unwanted=channel.handle_events(events))

    def _run_handler(self, handler: Any, handle: Callable[[], object]) -> None:
        try:
            handle()
        except Exception:  # noqa: BLE001 - one connection must not end the loop
            handler.handle_error()

    def _order_fairly(self, ready: list[tuple[SelectorKey, int]]) -> list[tuple[SelectorKey, int]]:
        """Return the events of many connections in the order in which to handle them.

        The first connection of each network comes before the second of any; among these, networks that were handled
        less recently come first. So a client with hundreds of busy connections delays only itself.

        In every other turn, the networks whose last event was large come last: it received more than
        ``_LARGE_RECEIVED_BYTES`` or transferred more than ``_LARGE_SENT_BYTES``. When 1,600 addresses send 200 kB on
        each connection, a visitor waits 0.1 s (p50). Without this rule, the network of the visitor is one of 1,600
        that take turns, and the visitor waits 4.6 s.
        """
        if len(self._network_turns) > _MAX_NETWORKS:
            self._network_turns.clear()
            self._large_networks.clear()
        delayed = self._large_networks if self._turn % 2 else ()
        ready.sort(key=lambda event: event[0].data.turn)
        ranks = Counter[str]()
        ranked = []
        for number, (key, _) in enumerate(ready):
            network = key.data.network
            turn = self._network_turns.get(network, 0) + (self._turn if network in delayed else 0)
            ranked.append((ranks[network], turn, number))
            ranks[network] += 1
        return [ready[number] for *_, number in sorted(ranked)]

    def close(self) -> None:
        """Close the selector; all handlers must have been closed."""
        self._selector.close()

    def _advance_channel(self, channel: Channel, on_handled: Callable[[Channel], None], unwanted: int = 0) -> None:
        """Do what ``channel`` can do now, and register the events it waits for."""
        channel.advance()
        while channel._fileno is not None:
            wanted = channel.wanted_events()
            # Keep waiting for bytes until some arrive: a client that waits for its response sends none.
            self.watch(channel, wanted | (channel.watched & READ & ~unwanted))
            # Check again: a worker may have changed the channel and compared its needs with the old ``watched``.
            if not channel.wanted_events() & ~channel.watched:
                on_handled(channel)
                return
            unwanted = 0


class _Scheduled:
    """The channels to advance, each at most once, in a rotation of their networks. Can be used from any thread.

    One client with 480 connections can have all of them scheduled. If a visitor's channel had to wait for these, its
    connection would be closed 2 s after the response.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._networks = OrderedDict[str, OrderedDict[Channel, None]]()

    def __bool__(self) -> bool:
        return bool(self._networks)

    def count(self) -> tuple[int, int]:
        """Return the number of channels, and of their networks."""
        with self._lock:
            return sum(map(len, self._networks.values())), len(self._networks)

    def add(self, channel: Channel) -> None:
        with self._lock:
            self._networks.setdefault(channel.network, OrderedDict())[channel] = None

    def take(self) -> Channel:
        """Remove the next channel and return it. There must be one, and only one thread may call this."""
        with self._lock:
            network, channels = self._networks.popitem(last=False)
            channel, _ = channels.popitem(last=False)
            if channels:
                self._networks[network] = channels
        return channel


class _Postponed:
    """The channels whose rejections are delayed. Can be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = count()
        self._heap: list[tuple[float, int, Channel, str]] = []
        self._sizes = Counter[str]()  # per network

    def add(self, channel: Channel, network: str, now: float) -> float:
        with self._lock:
            self._sizes[network] += 1
            send_at = now + compute_rejection_delay(self._sizes[network])
            heappush(self._heap, (send_at, next(self._numbers), channel, network))
        return send_at

    def next_time(self) -> float:
        with self._lock:
            return self._heap[0][0] if self._heap else inf

    def take_due(self, now: float) -> list[Channel]:
        due: list[Channel] = []
        with self._lock:
            while self._heap and self._heap[0][0] <= now:
                _, _, channel, network = heappop(self._heap)
                due.append(channel)
                self._sizes[network] -= 1
                if not self._sizes[network]:
                    del self._sizes[network]
        return due


def compute_rejection_delay(waiting: int) -> float:
    """Return the delay in seconds of a rejection, while ``waiting`` of the same network wait, including this one."""
    return min(max(MIN_REJECTION_SECONDS, waiting / REJECTIONS_PER_SECOND), MAX_REJECTION_SECONDS)
