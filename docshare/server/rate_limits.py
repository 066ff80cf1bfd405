"""Rate limits: moving windows of the ``limits`` library, in a bounded store in memory, or in Redis if instances share
them.

The window moves, so at most ``limit`` requests pass in *any* window. The key of an IP address is its
``network_prefix``: all addresses of an IPv6 /64 share one, because they belong to one customer.

**Shared limits.** With ``redis_url``, all instances count these together, because they protect what the instances share
or promise a number to the caller:

- ``default``, ``address``, ``design-user``, ``design-address``, ``public-qr``: the rates of the API, by credential,
  address or user, and failed credentials and unknown links by address.
- ``password``, ``password-file``, ``sign-in``, ``sign-in-account``: wrong passwords. Another instance must not
  allow another ten attempts.
- ``anonymous-uploads``: disk space in the store. Uploads with a credential count as requests.
- ``webhook-test``: test deliveries, which load the machines of others.
- ``entries``, ``sessions``, ``downloads``, ``feedback``, ``marks``: forms, view sessions, files, feedback and marks of
  readers, by address. They are stored as rows in the one database.

**Limits per instance.** Each instance counts these alone, because they protect its own host:

- ``beacons``: the limit of 9000 a minute from one address protects the threads of the process, and a query to Redis
  would cost more than the beacon itself.
- ``searches``: like page images and texts, they use the processors of the host.
- Connections, running requests and slots (``connection_limits``, ``fair_slots``, ``pdf/budget``): they divide the
  sockets, threads and processors of the host.

**Limits without a window.** Rows of the database count the uploads of the design tool per day (``design_uploads``).
Sign-in links are not limited, because only ``docshare admin login-link`` creates them.

**While Redis is not reachable,** each instance counts alone, in windows that begin empty, and does not add its counts
to Redis afterwards. So in each outage a caller can use its limit once more on each instance.

``_WindowStorage`` replaces the memory storage of the library, which never deletes a key: after 20,000 keys had expired,
all were still stored. Both are equally fast: with 50 keys, a request takes 9 microseconds of processor time in the
storage of the library and 11 in this one; with 20,000 keys 14 and 8.
"""

import math
import threading
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from limits import RateLimitItem, RateLimitItemPerSecond
from limits.storage import MovingWindowSupport, Storage
from limits.strategies import MovingWindowRateLimiter

from docshare.contract.limits import SECOND, RatePolicy
from docshare.server.rules.identity import network_prefix as network_prefix  # also for api and web, without rules

if TYPE_CHECKING:
    from docshare.server.shared_windows import SharedWindows

MAX_KEYS = 50_000
_PER_INSTANCE = frozenset({"beacons", "searches"})  # policies that are never shared


@dataclass(frozen=True)
class WindowState:
    """The state of a window: it holds ``used`` requests, the oldest of ``oldest_ms`` (now if there is none).
    ``is_allowed``: the current request passes."""

    oldest_ms: int
    used: int
    is_allowed: bool


@dataclass(frozen=True)
class Allowance:
    """The rest of a limit: a caller may still send ``remaining`` of ``limit`` requests under ``policy``.

    ``reset_s``: whole seconds until the oldest request leaves the window; ``is_allowed``: the current request passes.
    """

    policy: RatePolicy
    limit: int
    remaining: int
    reset_s: int
    is_allowed: bool = True


class RateLimiter:
    """The limiter of one server.

    Parameters: ``clock`` returns milliseconds; ``max_keys`` limits the memory by dropping the keys that were not used
    for the longest time; ``shared`` are the windows that all instances share, if there are several instances.
    """

    def __init__(
        self, clock: Callable[[], int], max_keys: int = MAX_KEYS, shared: "SharedWindows | None" = None
    ) -> None:
        self._clock = clock
        self._storage = _WindowStorage(clock, max_keys)
        self._windows = MovingWindowRateLimiter(self._storage)
        self._shared = shared
        self._items: dict[tuple[str, int], RateLimitItem] = {}

    def hit(self, policy: RatePolicy, key: str, limit: int) -> Allowance:
        """Count a request of ``key`` unless the window of ``policy`` already holds ``limit`` requests; return the
        resulting allowance."""
        shared = self._find_shared(policy)
        state = shared.hit(policy.name, key, limit, policy.window_ms // SECOND) if shared else None
        if state is None:
            allowed = self._windows.hit(self._get_item(policy, limit), key)
            state = self._read_window(policy, key, limit, allowed)
        return self._build_allowance(policy, limit, state)

    def refund(self, policy: RatePolicy, key: str, limit: int) -> Allowance:
        """Remove the newest counted request of ``key``; return the resulting allowance."""
        shared = self._find_shared(policy)
        if shared is None or not shared.release(policy.name, key):
            self._storage.release(self._get_item(policy, limit).key_for(key))
        return self.peek(policy, key, limit)

    def peek(self, policy: RatePolicy, key: str, limit: int) -> Allowance:
        """Return the allowance of ``key`` without counting a request."""
        shared = self._find_shared(policy)
        state = shared.peek(policy.name, key, limit, policy.window_ms // SECOND) if shared else None
        return self._build_allowance(policy, limit, state or self._read_window(policy, key, limit, None))

    def ms_since_last_hit(self, policy: RatePolicy, key: str, limit: int) -> int:
        """Return the time since the newest request of ``key`` was counted, in milliseconds; 0 if none is stored."""
        shared = self._find_shared(policy)
        newest = shared.find_newest(policy.name, key) if shared else None
        if newest is None:
            newest = round(self._storage.get_expiry(self._get_item(policy, limit).key_for(key)) * SECOND)
        return self._clock() - newest

    def _find_shared(self, policy: RatePolicy) -> "SharedWindows | None":
        return None if self._shared is None or policy.name in _PER_INSTANCE else self._shared

    def _read_window(self, policy: RatePolicy, key: str, limit: int, allowed: bool | None) -> WindowState:
        # Read from the storage directly: the library would read the window again for each value.
        item = self._get_item(policy, limit)
        oldest, count = self._storage.get_moving_window(item.key_for(key), limit, item.get_expiry())
        return WindowState(round(oldest * SECOND), count, count < limit if allowed is None else allowed)

    def _build_allowance(self, policy: RatePolicy, limit: int, state: WindowState) -> Allowance:
        wait = math.ceil((state.oldest_ms + policy.window_ms - self._clock()) / SECOND)
        return Allowance(policy, limit, max(limit - state.used, 0), max(wait, 1), state.is_allowed)

    def _get_item(self, policy: RatePolicy, limit: int) -> RateLimitItem:
        item = self._items.get((policy.name, limit))
        if item is None:
            item = RateLimitItemPerSecond(limit, policy.window_ms // SECOND, namespace=policy.name)
            self._items[policy.name, limit] = item
        return item


def build_uncounted_allowance(policy: RatePolicy, limit: int) -> Allowance:
    """Return the full allowance, for a caller who cannot be identified and for whom nothing is counted."""
    return Allowance(policy, limit, limit, policy.window_ms // SECOND)


class _WindowStorage(Storage, MovingWindowSupport):
    """The arrival times of each key, in memory.

    The memory storage of the library scans all keys in a separate thread and never deletes one, so strangers could
    fill it. This storage deletes the expired times of a key whenever the key is used, and limits the number of keys.
    """

    STORAGE_SCHEME = None
    base_exceptions = ()

    def __init__(self, clock: Callable[[], int], max_keys: int) -> None:
        super().__init__()
        self._clock = clock
        self._max_keys = max_keys
        self._lock = threading.Lock()
        self._arrivals: OrderedDict[str, array[int]] = OrderedDict()

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Store ``amount`` arrivals unless there would be more than ``limit`` in ``expiry`` seconds; return whether
        they were stored."""
        now = self._clock()
        with self._lock:
            arrivals = self._drop_expired(key, now, expiry)
            if len(arrivals) + amount > limit:
                return False
            arrivals.extend([now] * amount)
            self._arrivals[key] = arrivals
            self._arrivals.move_to_end(key)
            if len(self._arrivals) > self._max_keys:
                self._arrivals.popitem(last=False)
            return True

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:  # noqa: ARG002
        """Return the time (seconds) of the oldest arrival of the last ``expiry`` seconds, and their number."""
        now = self._clock()
        with self._lock:
            arrivals = self._drop_expired(key, now, expiry)
            return (arrivals[0] if arrivals else now) / SECOND, len(arrivals)

    def release(self, key: str) -> None:
        """Remove the newest arrival of ``key``."""
        with self._lock:
            arrivals = self._arrivals.get(key)
            if arrivals:
                arrivals.pop()

    def _drop_expired(self, key: str, now: int, expiry: int) -> "array[int]":
        arrivals = self._arrivals.get(key)
        if arrivals is None:
            return array("q")
        if arrivals and arrivals[-1] > now:
            # The clock of the host was set back: times in the future would lock the caller out until they have passed.
            del arrivals[:]
        expired_count = bisect_right(arrivals, now - expiry * SECOND)
        if expired_count:  # deleting an empty slice would still move all entries
            del arrivals[:expired_count]
        return arrivals

    def clear(self, key: str) -> None:
        """Remove one key."""
        with self._lock:
            self._arrivals.pop(key, None)

    def reset(self) -> int:
        """Remove all keys; return how many there were."""
        with self._lock:
            count = len(self._arrivals)
            self._arrivals.clear()
            return count

    def check(self) -> bool:
        """Return True: memory is always available."""
        return True

    # The library requires plain counters of every storage too; the moving window never uses them.

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Record ``amount`` arrivals; return how many there are in the last ``expiry`` seconds."""
        now = self._clock()
        with self._lock:
            arrivals = self._drop_expired(key, now, expiry)
            arrivals.extend([now] * amount)
            self._arrivals[key] = arrivals
            return len(arrivals)

    def get(self, key: str) -> int:
        """Return how many arrivals of ``key`` are stored."""
        return len(self._arrivals.get(key, ()))

    def get_expiry(self, key: str) -> float:
        """Return the time of the last arrival of ``key`` (seconds)."""
        arrivals = self._arrivals.get(key)
        return (arrivals[-1] if arrivals else self._clock()) / SECOND
