"""Rate limits: moving windows of the ``limits`` library over a bounded store in this process's memory.

The window moves, so at most ``limit`` requests pass in *any* window.
"""

import math
import threading
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from limits import RateLimitItem, RateLimitItemPerSecond
from limits.storage import MovingWindowSupport, Storage
from limits.strategies import MovingWindowRateLimiter

from docshare.contract.limits import SECOND, RatePolicy
from docshare.server.rules.identity import network_prefix

MAX_KEYS = 50_000


@dataclass(frozen=True)
class Allowance:
    """The state of a policy: ``remaining`` of ``limit`` requests; ``reset_s`` whole seconds until the oldest of them
    leaves the window; ``allowed`` False when this request is one too many; ``policy`` whose window it is."""

    policy: RatePolicy
    limit: int
    remaining: int
    reset_s: int
    is_allowed: bool = True


class RateLimiter:
    """The limiter of one server. ``clock`` gives milliseconds; ``max_keys`` bounds the memory: the key that was
    silent longest is forgotten first."""

    def __init__(self, clock: Callable[[], int], max_keys: int = MAX_KEYS) -> None:
        self._clock = clock
        self._storage = _WindowStorage(clock, max_keys)
        self._windows = MovingWindowRateLimiter(self._storage)
        self._items: dict[tuple[str, int], RateLimitItem] = {}

    def hit(self, policy: RatePolicy, key: str, limit: int) -> Allowance:
        """Count one request of ``key``, at most ``limit`` in a window of ``policy``. A refused one counts nothing."""
        allowed = self._windows.hit(self._get_item(policy, limit), key)
        return self._build_allowance(policy, key, limit, allowed)

    def refund(self, policy: RatePolicy, key: str, limit: int) -> Allowance:
        """Take back the newest request of ``key`` that ``hit`` counted; returns what is left then."""
        self._storage.release(self._get_item(policy, limit).key_for(key))
        return self.peek(policy, key, limit)

    def peek(self, policy: RatePolicy, key: str, limit: int) -> Allowance:
        """Return what ``hit`` would return now, without counting."""
        return self._build_allowance(policy, key, limit, None)

    def ms_since_last_hit(self, policy: RatePolicy, key: str, limit: int) -> int:
        """How long ago the last request of ``key`` was counted, in milliseconds; 0 where none is known."""
        newest = self._storage.get_expiry(self._get_item(policy, limit).key_for(key))
        return self._clock() - round(newest * SECOND)

    def _build_allowance(self, policy: RatePolicy, key: str, limit: int, allowed: bool | None) -> Allowance:
        # Asked of the memory itself: the library would walk the window once for each figure.
        item = self._get_item(policy, limit)
        seconds = item.get_expiry()
        oldest, count = self._storage.get_moving_window(item.key_for(key), limit, seconds)
        wait = math.ceil(oldest + seconds - self._clock() / SECOND)
        if allowed is None:
            allowed = count < limit
        return Allowance(policy, limit, max(limit - count, 0), max(wait, 1), allowed)

    def _get_item(self, policy: RatePolicy, limit: int) -> RateLimitItem:
        item = self._items.get((policy.name, limit))
        if item is None:
            item = RateLimitItemPerSecond(limit, policy.window_ms // SECOND, namespace=policy.name)
            self._items[policy.name, limit] = item
        return item


def uncounted_allowance(policy: RatePolicy, limit: int) -> Allowance:
    """Return the allowance of a caller who cannot be identified; nothing was counted."""
    return Allowance(policy, limit, limit, policy.window_ms // SECOND)


def address_key(address: str) -> str:
    """The key of a network address. An IPv6 customer holds a whole /64, so that network counts as one address."""
    return network_prefix(address)


class _WindowStorage(Storage, MovingWindowSupport):
    """Arrival times by key.

    The memory storage of the library walks all keys in a separate thread after every request and never deletes
    one, so strangers could fill it. This one deletes old entries when their key is used, and limits the number of keys.
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
        """Note ``amount`` arrivals unless there would be more than ``limit`` in ``expiry`` seconds."""
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
        """When the oldest arrival of the last ``expiry`` seconds was (seconds), and how many there were."""
        now = self._clock()
        with self._lock:
            arrivals = self._drop_expired(key, now, expiry)
            return (arrivals[0] if arrivals else now) / SECOND, len(arrivals)

    def release(self, key: str) -> None:
        """Forget the newest arrival of ``key``."""
        with self._lock:
            arrivals = self._arrivals.get(key)
            if arrivals:
                arrivals.pop()

    def _drop_expired(self, key: str, now: int, expiry: int) -> "array[int]":
        arrivals = self._arrivals.get(key)
        if arrivals is None:
            return array("q")
        if arrivals and arrivals[-1] > now:
            # The clock of the host was set back; times still to come would lock the caller out until then.
            del arrivals[:]
        gone = bisect_right(arrivals, now - expiry * SECOND)
        if gone:  # deleting nothing would still move everything
            del arrivals[:gone]
        return arrivals

    def clear(self, key: str) -> None:
        """Forget one key."""
        with self._lock:
            self._arrivals.pop(key, None)

    def reset(self) -> int:
        """Forget everything; returns how many keys there were."""
        with self._lock:
            count = len(self._arrivals)
            self._arrivals.clear()
            return count

    def check(self) -> bool:
        """Memory is always there."""
        return True

    # The library asks every storage for plain counters too; the moving window never uses them.

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Note ``amount`` arrivals; returns how many there are in the last ``expiry`` seconds."""
        now = self._clock()
        with self._lock:
            arrivals = self._drop_expired(key, now, expiry)
            arrivals.extend([now] * amount)
            self._arrivals[key] = arrivals
            return len(arrivals)

    def get(self, key: str) -> int:
        """How many arrivals ``key`` still holds."""
        return len(self._arrivals.get(key, ()))

    def get_expiry(self, key: str) -> float:
        """When ``key`` was last heard of (seconds)."""
        arrivals = self._arrivals.get(key)
        return (arrivals[-1] if arrivals else self._clock()) / SECOND
