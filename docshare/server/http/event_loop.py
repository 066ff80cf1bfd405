"""The loop of the listener: a descriptor is registered once, and its events are updated only when they have changed.

waitress polls every connection in every turn and accepts one new connection per turn; with thousands of idle
connections each new one waits for as many polls.
"""

import selectors
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from selectors import EVENT_READ as READ
from selectors import SelectorKey
from typing import Any

from docshare.server.http.channel import Channel

TURN_SECONDS = 0.005
"""After it, the remaining events wait for the next turn. A new connection waits for a whole turn, and 480 busy ones of
one client made that most of a second."""
MIN_EVENTS_PER_TURN = 16
_MAX_NETWORKS = 4096


class EventLoop(dict[int, Any]):
    """The map of descriptors that waitress maintains, and the selector behind it.

    Used by one thread, except for ``schedule``. ``clock`` returns monotonic seconds. Handlers other than a Channel
    only read: their ``handle_read_event`` is called while they are not paused.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._postponed: deque[tuple[float, Channel]] = deque()
        self._selector = selectors.DefaultSelector()
        self._scheduled: deque[Channel] = deque()
        self._turn = 0
        self._network_turns: dict[str, int] = {}  # the last turn of networks that recently had to wait

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
        """Call ``handler`` for ``events`` and nothing else."""
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
        """Process ``channel`` again in this turn or the next; from any thread. This does not wake the loop."""
        self._scheduled.append(channel)

    def postpone(self, channel: Channel, until: float) -> None:
        """Process ``channel`` again at ``until``. Calls come in the order of their times."""
        self._postponed.append((until, channel))

    def run_once(self, timeout: float, settled: Callable[[Channel], None]) -> None:
        """Wait up to ``timeout`` seconds for events and handle them; call ``settled`` with each processed open
        channel."""
        if self._postponed:
            timeout = min(timeout, max(0.0, self._postponed[0][0] - self._clock()))
        ready = self._selector.select(timeout)
        while self._postponed and self._postponed[0][0] <= self._clock():
            self._scheduled.append(self._postponed.popleft()[1])
        channels = [event for event in ready if isinstance(event[0].data, Channel)]
        self._handle_channels(channels, settled)
        # New connections last: they may displace a connection whose request has arrived in the meantime.
        others = [event[0] for event in ready if not isinstance(event[0].data, Channel)]
        for key in sorted(others, key=lambda key: key.data.accepting):
            if key.data._fileno == key.fd:
                self._run_handler(key.data, key.data.handle_read_event)
        for _ in range(len(self._scheduled)):
            channel = self._scheduled.popleft()
            self._run_handler(channel, partial(self._advance_channel, channel, settled))

    def _handle_channels(self, ready: list[tuple[SelectorKey, int]], settled: Callable[[Channel], None]) -> None:
        """Handle events of connections, until the turn is over; the selector reports the others again."""
        is_crowded = len(ready) > MIN_EVENTS_PER_TURN
        self._turn += is_crowded
        ordered = self._order_fairly(ready) if is_crowded else ready
        end = self._clock() + TURN_SECONDS  # ordering thousands of events takes as long
        for number, (key, events) in enumerate(ordered):
            if number >= MIN_EVENTS_PER_TURN and self._clock() >= end:
                break
            channel = key.data
            # A handler processed earlier in this turn may have closed it, and its number may be in use again.
            if channel._fileno == key.fd:
                if is_crowded:
                    channel.turn = self._network_turns[channel.network] = self._turn
                self._run_handler(channel, partial(self._handle_channel, channel, events, settled))

    def _handle_channel(self, channel: Channel, events: int, settled: Callable[[Channel], None]) -> None:
        self._advance_channel(channel, settled, unwanted=channel.handle_events(events))

    def _run_handler(self, handler: Any, handle: Callable[[], object]) -> None:
        try:
            handle()
        except Exception:  # noqa: BLE001 - one connection must not end the loop
            handler.handle_error()

    def _order_fairly(self, ready: list[tuple[SelectorKey, int]]) -> list[tuple[SelectorKey, int]]:
        """Return the events of many connections in the order of a turn.

        The first connection of each network comes before the second of any, and before those of networks that were in
        a turn more recently. So a client with hundreds of busy connections delays only itself.
        """
        if len(self._network_turns) > _MAX_NETWORKS:
            self._network_turns.clear()
        ready.sort(key=lambda event: event[0].data.turn)
        ranks = Counter[str]()
        ranked = []
        for number, (key, _) in enumerate(ready):
            network = key.data.network
            ranked.append((ranks[network], self._network_turns.get(network, 0), number))
            ranks[network] += 1
        return [ready[number] for *_, number in sorted(ranked)]

    def close(self) -> None:
        """Close the selector; all handlers must have been closed."""
        self._selector.close()

    def _advance_channel(self, channel: Channel, settled: Callable[[Channel], None], unwanted: int = 0) -> None:
        """Do what ``channel`` can do now, and register the events it waits for."""
        channel.advance()
        while channel._fileno is not None:
            wanted = channel.wanted_events()
            # A client that waits for its response sends nothing, so the registration can stay until an event occurs.
            self.watch(channel, wanted | (channel.watched & READ & ~unwanted))
            # A worker that reads "watched" before this changes it leaves the rest to this thread.
            if not channel.wanted_events() & ~channel.watched:
                settled(channel)
                return
            unwanted = 0
