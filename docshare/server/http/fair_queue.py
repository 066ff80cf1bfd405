"""The order in which threads run the requests that wait for them, and the threads."""

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Any

from waitress.task import ThreadedTaskDispatcher

from docshare.server.http.connection_limits import network_key

COMPUTING_SECONDS = 0.03
"""The maximum time that a running request of a ComputedKind delays the next one. It takes 2 to 15 ms, so a request that
runs longer is itself waiting for something. Also the length of the turns of uploads and computed requests."""
MAX_UPLOAD_SECONDS = 0.25
"""The maximum time that an upload delays computed requests. It takes 20 ms, so one that runs longer is itself waiting,
for a conversion or for a slow disk."""


class FairQueue:
    """The requests that wait for a worker thread, in a fair order: a network with many requests delays only itself.

    Networks with queued requests take turns in a rotation. Every other turn goes to a network that has just begun to
    queue, if there is one; after its first turn it joins the rotation.

    This class has those methods of a deque that waitress calls, with its lock held. ``find_client`` returns the address
    of the client whose request a channel queues.
    """

    def __init__(self, find_client: Callable[[Any], str]) -> None:
        self._find_client = find_client
        self._size = 0
        self._queues: dict[str, deque[Any]] = {}  # an empty queue is removed when it is the turn of its network
        self._new_networks: deque[str] = deque()
        self._rotation: deque[str] = deque()
        self._is_rotation_next = False

    def __len__(self) -> int:
        return self._size

    def append(self, channel: Any) -> None:
        """Queue the request of ``channel``."""
        self._size += 1
        network = network_key(self._find_client(channel))
        if network not in self._queues:
            self._queues[network] = deque()
            self._new_networks.append(network)
        self._queues[network].append(channel)

    def popleft(self) -> Any:
        """Return the channel whose request is next; there must be one."""
        while True:
            networks = (
                self._rotation
                if self._rotation and (self._is_rotation_next or not self._new_networks)
                else self._new_networks
            )
            network = networks.popleft()
            if self._queues[network]:
                break
            del self._queues[network]
        self._is_rotation_next = networks is self._new_networks
        self._rotation.append(network)
        self._size -= 1
        return self._queues[network].popleft()

    def drop_newest(self, network: str) -> Any | None:
        """Remove and return the channel of ``network`` that was queued last; None if it has no queued request."""
        queue = self._queues.get(network)
        if not queue:
            return None
        self._size -= 1
        return queue.pop()


class ComputedKind(Enum):
    """The kinds of requests that this process computes by itself."""

    LINK_PAGE = "link page"  # a page of a link, its QR code, oEmbed document or metadata
    PAGE_PART = "page part"  # what such a page loads
    API = "API"  # a read of it
    OTHER_PAGE = "other page"  # of this server, such as the owner's


class RequestQueue:
    """The requests that wait for a worker thread, in a fair order; *computed* ones, those of a ComputedKind, run one at
    a time, after uploads.

    Threads that compute hinder each other: 12 clients get 440 pages a second if their pages run at once, and 570 if
    they run one at a time; 16 clients of the API get 665 and 860 responses. All other requests share the interpreter
    with them, and an upload needs it again and again, after each step of the disk. An upload takes 22 ms alone, 120 ms
    beside 12 clients whose images run at once, and 28 ms if no image starts before the upload ends (p50). If uploads
    overlap, they and computed requests take turns of ``COMPUTING_SECONDS``. The kinds take turns too: a part takes a
    third of the time of a page.

    This class has those methods of a deque that waitress calls, with its lock held. ``find_kind`` and ``is_upload``
    return what a channel queues; ``find_client`` is that of FairQueue; ``clock`` returns monotonic seconds.
    """

    def __init__(
        self,
        find_client: Callable[[Any], str],
        find_kind: Callable[[Any], ComputedKind | None],
        is_upload: Callable[[Any], bool],
        clock: Callable[[], float],
    ) -> None:
        self._find_kind = find_kind
        self._is_upload = is_upload
        self._clock = clock
        self._computed = {kind: FairQueue(find_client) for kind in ComputedKind}
        self._others = FairQueue(find_client)
        self._turns: deque[FairQueue] = deque([*self._computed.values(), self._others])
        self._running: Any | None = None  # the last computed request, until it ends
        self._running_until = 0.0
        self._uploads: dict[Any, float] = {}  # running ones, and when they began
        self._uploads_until = 0.0  # the end of the turn of uploads

    def __len__(self) -> int:
        """Return how many requests can run now."""
        return len(self._others) + (sum(map(len, self._computed.values())) if self.delay_s() <= 0 else 0)

    def append(self, channel: Any) -> None:
        """Queue the request of ``channel``."""
        kind = self._find_kind(channel)
        (self._others if kind is None else self._computed[kind]).append(channel)

    def popleft(self) -> Any:
        """Return the channel whose request is next: the kinds and other requests take turns. There must be one that
        can run now."""
        may_compute, now = self.delay_s() <= 0, self._clock()
        queue = next(queue for queue in self._turns if queue and (may_compute or queue is self._others))
        self._turns.remove(queue)
        self._turns.append(queue)
        channel = queue.popleft()
        if queue is not self._others:
            self._running, self._running_until = channel.next_request, now + COMPUTING_SECONDS
            if self._is_uploading(now) and now >= self._uploads_until + COMPUTING_SECONDS:
                self._uploads_until = now + COMPUTING_SECONDS
        elif self._is_upload(channel):
            if not self._is_uploading(now):
                self._uploads_until = now + COMPUTING_SECONDS
            self._uploads[channel.next_request] = now
        return channel

    def finish(self, request: Any) -> None:
        """Record that ``request`` has ended, or only waits from now on."""
        if request is self._running:
            self._running = None
        self._uploads.pop(request, None)

    def has_computed(self) -> bool:
        """Return whether computed requests wait. Needs no lock."""
        return any(self._computed.values())

    def delay_s(self) -> float:
        """Return in how many seconds a computed request may run: 0 if it may run now. It is less if others end."""
        now = self._clock()
        running_s = 0.0 if self._running is None else self._running_until - now
        uploads_s = self._uploads_until - now if self._is_uploading(now) else 0.0
        return max(running_s, uploads_s, 0.0)

    def _is_uploading(self, now: float) -> bool:
        return any(now < start + MAX_UPLOAD_SECONDS for start in self._uploads.values())

    def take_all(self) -> list[Any]:
        """Remove and return all channels."""
        return [queue.popleft() for queue in self._turns for _ in range(len(queue))]

    def drop_newest(self, network: str) -> Any | None:
        """Remove and return the newest request of the first kind of which ``network`` has any, else its newest other
        one; None if it has none."""
        for queue in (*self._computed.values(), self._others):
            channel = queue.drop_newest(network)
            if channel is not None:
                return channel
        return None


class RequestDispatcher(ThreadedTaskDispatcher):  # type: ignore[misc]  # waitress has no types
    """The worker threads. A waiting one is woken only for a request that can run now: each other wake-up would delay
    the request that runs. All methods can be called from any thread."""

    def __init__(self, queue: RequestQueue) -> None:
        super().__init__()
        self.queue: RequestQueue = queue

    def add_task(self, task: Any) -> None:
        """Queue the request of the channel ``task``. waitress calls this."""
        with self.lock:
            self.queue.append(task)
            self._wake_thread()

    def finish(self, request: Any) -> None:
        """Record that ``request`` has ended. Wakes no thread: its own one takes the next request."""
        with self.lock:
            self.queue.finish(request)

    def report_wait(self, request: Any) -> None:
        """Record that ``request`` only waits from now on, so that another one can run."""
        with self.lock:
            self.queue.finish(request)
            self._wake_thread()

    def wake_for_computed(self) -> float | None:
        """Wake a thread if a computed request waits and can run now. Return after how many seconds to call this again,
        or None if none waits: nothing else reports that a running request is considered to wait itself."""
        if not self.queue.has_computed():
            return None
        with self.lock:
            delay_s = self.queue.delay_s()
            if delay_s <= 0:
                self.queue_cv.notify()
        return delay_s or COMPUTING_SECONDS

    def drop_newest(self, network: str) -> Any | None:
        """Do as ``RequestQueue.drop_newest``."""
        with self.lock:
            return self.queue.drop_newest(network)

    def take_all(self) -> list[Any]:
        """Remove and return all channels with waiting requests."""
        with self.lock:
            return self.queue.take_all()

    def _wake_thread(self) -> None:
        if self.queue:
            self.queue_cv.notify()
