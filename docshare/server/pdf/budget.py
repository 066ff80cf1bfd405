"""Processor time by owner and by content within a moving window: who is over the budget, and which documents are slow.

Nothing here is forgiven by success. A document is known by the SHA-256 of its bytes, so an upload of the same bytes
brings its record along.
"""

from collections import OrderedDict, deque
from dataclasses import dataclass, field

WINDOW_S = 600.0
OWNER_BUDGET_S = 30.0  # an owner above it goes last and is shed first
SLOW_JOB_S = 1.0  # a job that takes longer is slow
OWNER_SLOW_LIMIT_S = 10.0  # of slow jobs; above it, new documents of the owner are expected to be slow too
OWNER_LIMITED_S = 60.0  # of slow jobs; above it, each job of the owner gets the short limit
CONTENT_SLOW_S = 2.0
SHORT_LIMIT_S = 2.0
RESTART_S = 0.5  # charged for a worker that has to be replaced
_BUCKET_S = 10.0
_MAX_KEYS = 10_000


@dataclass(frozen=True)
class Tenant:
    """On whose behalf a job runs: the account or address ``owner``, the SHA-256 ``content`` of the document, and the
    address ``reader`` that asks (empty where nobody does)."""

    owner: str
    content: str
    reader: str = ""


@dataclass
class _Spending:
    total: float = 0.0
    buckets: deque[tuple[float, float]] = field(default_factory=deque)


def _is_over(spending: _Spending, now: float) -> bool:
    return spending.buckets[-1][0] + _BUCKET_S <= now - WINDOW_S


class SpendingWindow:
    """Seconds by key within the last ``WINDOW_S`` seconds, of the ``max_keys`` keys that spent last."""

    def __init__(self, max_keys: int = _MAX_KEYS) -> None:
        self._max_keys = max_keys
        self._spending: OrderedDict[str, _Spending] = OrderedDict()

    def add(self, key: str, seconds: float, now: float) -> None:
        """Charge ``seconds`` to ``key`` at ``now`` (monotonic seconds)."""
        spending = self._spending.setdefault(key, _Spending())
        self._spending.move_to_end(key)
        start = now - now % _BUCKET_S
        if spending.buckets and spending.buckets[-1][0] == start:
            spending.buckets[-1] = (start, spending.buckets[-1][1] + seconds)
        else:
            spending.buckets.append((start, seconds))
        spending.total += seconds
        while len(self._spending) > self._max_keys or _is_over(next(iter(self._spending.values())), now):
            self._spending.popitem(last=False)

    def __len__(self) -> int:
        return len(self._spending)

    def total(self, key: str, now: float) -> float:
        """Return the seconds that ``key`` spent within the window that ends at ``now``."""
        spending = self._spending.get(key)
        if spending is None:
            return 0.0
        while spending.buckets and spending.buckets[0][0] + _BUCKET_S <= now - WINDOW_S:
            spending.total -= spending.buckets.popleft()[1]
        if not spending.buckets:
            del self._spending[key]
            return 0.0
        return spending.total


class ProcessorBudget:
    """What owners and documents cost. Not thread-safe."""

    def __init__(self) -> None:
        self._used = SpendingWindow()
        self._slow_owners = SpendingWindow()
        self._slow_contents = SpendingWindow()
        self._stalled_owners = SpendingWindow()
        self._stalled_contents = SpendingWindow()
        self._quick = SpendingWindow()

    def charge(self, tenant: Tenant, seconds: float, now: float, *, stalled: bool = False, proves: bool = True) -> None:
        """Charge a job that took ``seconds`` of processor time.

        ``stalled``: it crashed or had to be stopped; ``proves``: if it was quick, others about the document may be.
        """
        if stalled:
            seconds += RESTART_S
            self._stalled_owners.add(tenant.owner, 1.0, now)
            self._stalled_contents.add(tenant.content, 1.0, now)
        self._used.add(tenant.owner, seconds, now)
        if stalled or seconds >= SLOW_JOB_S:
            self._slow_owners.add(tenant.owner, seconds, now)
            self._slow_contents.add(tenant.content, seconds, now)
        elif proves:
            self._quick.add(tenant.content, 1.0, now)

    def is_proven(self, tenant: Tenant, now: float) -> bool:
        """Return whether a job about the document was quick before."""
        return self._quick.total(tenant.content, now) > 0

    def is_over(self, owner: str, now: float) -> bool:
        """Return whether ``owner`` used more than a fair share of the window."""
        return self._used.total(owner, now) > OWNER_BUDGET_S

    def used(self, owner: str, now: float) -> float:
        """Return the seconds that all jobs of ``owner`` took within the window."""
        return self._used.total(owner, now)

    def is_risky(self, tenant: Tenant, now: float) -> bool:
        """Return whether the next job of ``tenant`` is expected to hold its worker for long: its document did, or its
        owner has others that did and this one is not known to be quick."""
        return (
            self._stalled_contents.total(tenant.content, now) > 0
            or self._slow_contents.total(tenant.content, now) >= CONTENT_SLOW_S
            or self._slow_owners.total(tenant.owner, now) >= OWNER_SLOW_LIMIT_S
            or (self._stalled_owners.total(tenant.owner, now) > 0 and not self.is_proven(tenant, now))
        )

    def limit_s(self, tenant: Tenant, most_s: float, now: float) -> float:
        """Return the processor seconds that the next job of ``tenant`` may take, ``most_s`` without a record."""
        stalled = self._stalled_contents.total(tenant.content, now) > 0
        if stalled or self._slow_owners.total(tenant.owner, now) >= OWNER_LIMITED_S:
            return min(SHORT_LIMIT_S, most_s)
        return most_s
