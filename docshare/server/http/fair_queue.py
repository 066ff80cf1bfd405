"""The order in which threads run the requests that wait for them. Standard library only."""

from collections import deque
from collections.abc import Callable
from typing import Any

from docshare.server.http.connection_limits import network_key

LINK_PAGE_SECONDS = 0.03
"""The maximum time that a running page of a link, or a running upload, delays the next page. Computing a page takes
2 to 10 ms, so a page that runs longer is itself waiting for something."""


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


class RequestQueue:
    """The requests that wait for a worker thread, in a fair order; pages of links run one at a time, after uploads.

    Pages are computed in this process, and threads that compute hinder each other: 12 clients get 440 pages a second if
    their pages run at once, and 570 if they run one at a time. All other requests share the interpreter with the
    running pages, and an upload needs it again and again, after each step of the disk: beside those clients, an upload
    takes 100 ms, 35 ms with one page at a time, and 20 ms (11 without them) if no page starts while it runs
    (``tests.torture.rendering pages_and_codes``). ``LINK_PAGE_SECONDS`` after a page has started, the next one waits
    for neither.

    This class has those methods of a deque that waitress calls, with its lock held. ``is_link_page`` and ``is_upload``
    return what a channel queues; ``find_client`` is that of FairQueue; ``clock`` returns monotonic seconds.
    """

    def __init__(
        self,
        find_client: Callable[[Any], str],
        is_link_page: Callable[[Any], bool],
        is_upload: Callable[[Any], bool],
        clock: Callable[[], float],
    ) -> None:
        self._is_link_page = is_link_page
        self._is_upload = is_upload
        self._clock = clock
        self._link_pages = FairQueue(find_client)
        self._others = FairQueue(find_client)
        self._running_page: Any | None = None
        self._running_uploads: set[Any] = set()
        self._next_page_at = 0.0
        self._is_page_next = False

    def __len__(self) -> int:
        """Return how many requests can run now."""
        return len(self._others) + (len(self._link_pages) if self._may_run_page() else 0)

    def append(self, channel: Any) -> None:
        """Queue the request of ``channel``."""
        (self._link_pages if self._is_link_page(channel) else self._others).append(channel)

    def popleft(self) -> Any:
        """Return the channel whose request is next: pages and other requests take turns. There must be one that can
        run now."""
        takes_page = bool(self._link_pages) and self._may_run_page() and (self._is_page_next or not self._others)
        self._is_page_next = not takes_page
        if not takes_page:
            channel = self._others.popleft()
            if self._is_upload(channel):
                self._running_uploads.add(channel)
            return channel
        self._next_page_at = self._clock() + LINK_PAGE_SECONDS
        self._running_page = self._link_pages.popleft()
        return self._running_page

    def finish(self, channel: Any) -> bool:
        """Record that the request of ``channel`` has ended; return whether this allows a waiting page to run."""
        if channel is self._running_page:
            self._running_page = None
        elif channel in self._running_uploads:
            self._running_uploads.remove(channel)
        else:
            return False
        return bool(self._link_pages) and self._may_run_page()

    def has_waiting_pages(self) -> bool:
        """Return whether pages wait. Needs no lock."""
        return bool(self._link_pages)

    def take_all(self) -> list[Any]:
        """Remove and return all channels."""
        queues = (self._link_pages, self._others)
        return [queue.popleft() for queue in queues for _ in range(len(queue))]

    def drop_newest(self, network: str) -> Any | None:
        """Remove and return the newest page of ``network``, else its newest other request; None if it has neither."""
        return self._link_pages.drop_newest(network) or self._others.drop_newest(network)

    def _may_run_page(self) -> bool:
        is_delayed = self._running_page is not None or bool(self._running_uploads)
        return not is_delayed or self._clock() >= self._next_page_at
