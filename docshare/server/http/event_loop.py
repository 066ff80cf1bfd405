"""The loop of the listener: a descriptor is registered once, and its interest changes only when it has changed.

waitress asks every connection before every turn and accepts one newcomer a turn; with thousands of silent connections
each newcomer waits for as many questions.
"""

import selectors
from collections import deque
from collections.abc import Callable
from selectors import EVENT_READ as READ
from typing import Any

from docshare.server.http.channel import Channel


class EventLoop(dict[int, Any]):
    """The map of descriptors that waitress keeps, and the selector behind it. Used by one thread, but for ``notice``.
    ``clock`` gives monotonic seconds.

    Handlers other than a Channel only read: their ``handle_read_event`` is called while they are not paused.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._postponed: deque[tuple[float, Channel]] = deque()
        self._selector = selectors.DefaultSelector()
        self._scheduled: deque[Channel] = deque()

    def __setitem__(self, descriptor: int, handler: Any) -> None:
        """Called by waitress when a handler gets its descriptor."""
        super().__setitem__(descriptor, handler)
        self._selector.register(descriptor, READ, handler)
        handler.watched = READ

    def __delitem__(self, descriptor: int) -> None:
        """Called by waitress before a handler closes its descriptor."""
        handler = self.pop(descriptor)
        if handler.watched:
            self._selector.unregister(descriptor)
        handler.watched = 0

    def watch(self, handler: Any, events: int) -> None:
        """Have ``handler`` called for ``events`` and nothing else."""
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
        """Look at ``channel`` again in this turn or the next; from any thread. The loop is not woken for it."""
        self._scheduled.append(channel)

    def postpone(self, channel: Channel, until: float) -> None:
        """Look at ``channel`` again at ``until``. Calls come in the order of their moments."""
        self._postponed.append((until, channel))

    def run_once(self, timeout: float, settled: Callable[[Channel], None]) -> None:
        """Wait up to ``timeout`` seconds for events and handle them; ``settled`` is called with each open channel
        that was looked at."""
        if self._postponed:
            timeout = min(timeout, max(0.0, self._postponed[0][0] - self._clock()))
        ready = self._selector.select(timeout)
        while self._postponed and self._postponed[0][0] <= self._clock():
            self._scheduled.append(self._postponed.popleft()[1])
        # Newcomers last: they may cost the place of one whose request has arrived in the meantime.
        ready.sort(key=lambda event: event[0].data.accepting)
        for key, events in ready:
            handler = key.data
            # One that was handled before it in this turn may have closed it, and its number may be taken again.
            if handler._fileno != key.fd:
                continue
            try:
                if isinstance(handler, Channel):
                    self._advance_channel(handler, settled, unwanted=handler.handle_events(events))
                else:
                    handler.handle_read_event()
            except Exception:  # noqa: BLE001 - one connection must not end the loop
                handler.handle_error()
        for _ in range(len(self._scheduled)):
            channel = self._scheduled.popleft()
            try:
                self._advance_channel(channel, settled)
            except Exception:  # noqa: BLE001
                channel.handle_error()

    def close(self) -> None:
        """Let go of the selector; all handlers must have been closed."""
        self._selector.close()

    def _advance_channel(self, channel: Channel, settled: Callable[[Channel], None], unwanted: int = 0) -> None:
        """Do what ``channel`` can do at once, and register what it waits for."""
        channel.advance()
        while channel._fileno is not None:
            wanted = channel.wanted_events()
            # A client that waits for its answer sends nothing, so the registration can stay until something comes.
            self.watch(channel, wanted | (channel.watched & READ & ~unwanted))
            # A worker that reads "watched" before this changes it leaves the rest to this thread.
            if not channel.wanted_events() & ~channel.watched:
                settled(channel)
                return
            unwanted = 0
