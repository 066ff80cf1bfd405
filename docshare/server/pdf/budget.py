"""Track processor time by owner and by document in a sliding window, to find owners over budget and slow documents.

A successful job does not clear a bad record. A document is identified by the SHA-256 of its bytes, so uploading the
same bytes again keeps the record.
"""

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from itertools import islice

WINDOW_S = 600.0
OWNER_BUDGET_S = 30.0  # jobs of an owner above it run last and are rejected first
QUICK_JOB_S = 0.1  # a job that takes longer is heavy; most take less
SLOW_JOB_S = 1.0  # a job that takes longer is slow
OWNER_SLOW_S = 10.0  # spent on slow jobs; from this on, all jobs of the owner are likely slow
OWNER_LIMITED_S = 60.0  # spent on slow jobs; from this on, all jobs of the owner get the short limit
CONTENT_SLOW_S = 2.0  # spent on slow jobs; from this on, all jobs on the document are likely slow
SHORT_LIMIT_S = 2.0
RESTART_S = 0.5  # charged to a job whose worker must be replaced
_UNKNOWN_JOB_S = 0.05  # expected of the first job of an owner; most pages take less
_RECENT_OWNER_S = 60.0
_RECENT_SHARE = 0.3  # of the newest job in the running average of its document
_BUCKET_S = 10.0
_MAX_KEYS = 10_000


@dataclass(frozen=True)
class Tenant:
    """The party that a job is charged to: ``owner`` is an account or IP address, ``content`` the SHA-256 of the
    document, ``reader`` the IP address of the reader (empty for background jobs)."""

    owner: str
    content: str
    reader: str = ""


@dataclass
class _Spending:
    total: float = 0.0
    buckets: deque[tuple[float, float]] = field(default_factory=deque)


def _is_expired(spending: _Spending, now: float) -> bool:
    return spending.buckets[-1][0] + _BUCKET_S <= now - WINDOW_S


class SpendingWindow:
    """Seconds spent by each key in the last ``WINDOW_S`` seconds, for the ``max_keys`` most recent keys."""

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
        while len(self._spending) > self._max_keys or _is_expired(next(iter(self._spending.values())), now):
            self._spending.popitem(last=False)

    def __len__(self) -> int:
        return len(self._spending)

    def total_s(self, key: str, now: float) -> float:
        """Return the seconds that ``key`` spent in the window that ends at ``now``."""
        spending = self._spending.get(key)
        if spending is None:
            return 0.0
        while spending.buckets and spending.buckets[0][0] + _BUCKET_S <= now - WINDOW_S:
            spending.total -= spending.buckets.popleft()[1]
        if not spending.buckets:
            del self._spending[key]
            return 0.0
        return spending.total


class _RunningAverages:
    """The average seconds of the recent jobs of each key. Keys without a job in ``WINDOW_S`` seconds are forgotten, and
    the oldest ones above ``max_keys``."""

    def __init__(self, max_keys: int = _MAX_KEYS) -> None:
        self._max_keys = max_keys
        self._averages: OrderedDict[str, tuple[float, float]] = OrderedDict()  # seconds, time of the last job

    def add(self, key: str, seconds: float, now: float) -> None:
        average, _ = self._averages.get(key, (seconds, now))
        self._averages[key] = average + _RECENT_SHARE * (seconds - average), now
        self._averages.move_to_end(key)
        while len(self._averages) > self._max_keys or next(iter(self._averages.values()))[1] <= now - WINDOW_S:
            self._averages.popitem(last=False)

    def get(self, key: str) -> float | None:
        average, _ = self._averages.get(key, (None, 0.0))
        return average


class ProcessorBudget:
    """Processor time used by owners and documents. Not thread-safe.

    ``schedule`` explains the terms *quick*, *heavy*, *slow* and *proven*. A job *stalls* if its worker crashed or was
    killed; a stalled job counts as slow.
    """

    def __init__(self) -> None:
        self._owner_averages = _RunningAverages()
        self._content_averages = _RunningAverages()
        self._used = SpendingWindow()
        self._slow_owners = SpendingWindow()
        self._slow_contents = SpendingWindow()
        self._stalled_owners = SpendingWindow()
        self._stalled_contents = SpendingWindow()
        self._proven_contents = SpendingWindow()
        self._quick_owners: OrderedDict[str, float] = OrderedDict()  # when the last quick job of each owner ended

    def charge(self, tenant: Tenant, seconds: float, now: float, *, stalled: bool = False, proves: bool = True) -> None:
        """Charge ``tenant`` for a job that took ``seconds`` of processor time.

        ``proves``: the document is proven if the job is not slow.
        """
        self._owner_averages.add(tenant.owner, seconds, now)
        self._content_averages.add(tenant.content, seconds, now)
        if stalled:
            seconds += RESTART_S
            self._stalled_owners.add(tenant.owner, 1.0, now)
            self._stalled_contents.add(tenant.content, 1.0, now)
        self._used.add(tenant.owner, seconds, now)
        if stalled or seconds >= SLOW_JOB_S:
            self._slow_owners.add(tenant.owner, seconds, now)
            self._slow_contents.add(tenant.content, seconds, now)
        elif proves:
            self._proven_contents.add(tenant.content, 1.0, now)
        if not stalled and seconds <= QUICK_JOB_S:
            self._quick_owners[tenant.owner] = now
            self._quick_owners.move_to_end(tenant.owner)
            if len(self._quick_owners) > _MAX_KEYS:
                self._quick_owners.popitem(last=False)

    def is_proven(self, tenant: Tenant, now: float) -> bool:
        """Return whether the document is proven."""
        return self._proven_contents.total_s(tenant.content, now) > 0

    def is_over_budget(self, owner: str, now: float) -> bool:
        """Return whether ``owner`` used more than ``OWNER_BUDGET_S`` in the window."""
        return self._used.total_s(owner, now) > OWNER_BUDGET_S

    def used_s(self, owner: str, now: float) -> float:
        """Return the processor seconds of all jobs of ``owner`` in the window."""
        return self._used.total_s(owner, now)

    def is_likely_slow(self, tenant: Tenant, now: float) -> bool:
        """Return whether the next job of ``tenant`` is likely slow: earlier jobs on the document were, the owner has
        spent much time on slow jobs, or a job of the owner stalled and the document is unproven."""
        return (
            self._stalled_contents.total_s(tenant.content, now) > 0
            or self._slow_contents.total_s(tenant.content, now) >= CONTENT_SLOW_S
            or self._slow_owners.total_s(tenant.owner, now) >= OWNER_SLOW_S
            or (self._stalled_owners.total_s(tenant.owner, now) > 0 and not self.is_proven(tenant, now))
        )

    def expected_s(self, tenant: Tenant) -> float:
        """Return how many processor seconds the next job of ``tenant`` will probably take: as many as recent jobs on
        the document, or on other documents of the owner."""
        average = self._content_averages.get(tenant.content) or self._owner_averages.get(tenant.owner)
        return average or _UNKNOWN_JOB_S

    def is_likely_heavy(self, tenant: Tenant) -> bool:
        """Return whether the next job of ``tenant`` is likely heavy."""
        return self.expected_s(tenant) > QUICK_JOB_S

    def has_other_quick_owner(self, owner: str, now: float) -> bool:
        """Return whether an owner other than ``owner`` had a quick job recently, so that more of them are expected."""
        newest = reversed(self._quick_owners.items())
        return any(other != owner and now - ended <= _RECENT_OWNER_S for other, ended in islice(newest, 2))

    def limit_s(self, tenant: Tenant, most_s: float, now: float, *, is_contended: bool = False) -> float:
        """Return the limit in processor seconds for the next job of ``tenant``.

        It is ``most_s``, but at most ``SHORT_LIMIT_S`` if a job on the document stalled or the owner has spent
        ``OWNER_LIMITED_S`` on slow jobs. While other owners wait (``is_contended``), one slow job on the document is
        enough; a document with slow pages is still readable while nobody else waits.
        """
        stalled = self._stalled_contents.total_s(tenant.content, now) > 0
        slow = is_contended and self._slow_contents.total_s(tenant.content, now) > 0
        if stalled or slow or self._slow_owners.total_s(tenant.owner, now) >= OWNER_LIMITED_S:
            return min(SHORT_LIMIT_S, most_s)
        return most_s
