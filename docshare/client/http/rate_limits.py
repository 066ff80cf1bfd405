"""Rate limits: reading them from response headers, and pacing requests to stay below them."""

import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from threading import Lock
from typing import NamedTuple

from docshare.contract.patterns import Pattern

RESERVED_SHARE = 0.2  # the share of the limit that is left to other processes with the same token

_NAMED_ITEM = re.compile(r'("(?:[^"\\]|\\.)*")((?:\s*;\s*[a-z*][a-z0-9_.*-]*(?:=[^;,]*)?)*)')
_PAIR = re.compile(r"([a-z]+)\s*=\s*(\d{1,12})")
_LAX_POLICY = Pattern(r"(\d{1,9})\s*;\s*w=(\d{1,9})")
_MIN_EPOCH_SECONDS = 100_000_000  # a larger X-RateLimit-Reset is a moment, not a duration


class RateBudget(NamedTuple):
    """``remaining`` requests for the next ``reset`` seconds, of ``limit`` per ``window`` seconds."""

    remaining: int
    reset: float
    limit: int
    window: float

    def spacing(self) -> float:
        """Return the seconds to leave before the next request: 0 above the reserve, otherwise spread evenly."""
        if self.remaining > self.limit * RESERVED_SHARE:
            return 0.0
        return max(self.reset / max(self.remaining, 1), self.window / self.limit)

    def duration(self, requests: int) -> float:
        """Return the seconds that ``requests`` requests take with this spacing."""
        unhindered = max(self.remaining - int(self.limit * RESERVED_SHARE), 0)
        return max(requests - unhindered, 0) * self.window / self.limit


def read_budget(headers: Mapping[str, str], wall: float) -> RateBudget | None:
    """Return the tightest budget in the headers (in any case), or None. ``wall``: the time in seconds since 1970.

    Supported are ``RateLimit: "name";r=50;t=30`` with ``RateLimit-Policy: "name";q=120;w=60``, the older
    ``RateLimit: limit=, remaining=, reset=``, and the ``RateLimit-*`` and ``X-RateLimit-*`` triples.
    """
    low = {key.lower(): value for key, value in headers.items()}
    found = (
        _parse_named_budgets(low)
        or _parse_flat_budget(low)
        or _parse_header_triple(low, "ratelimit", wall)
        or _parse_header_triple(low, "x-ratelimit", wall)
    )
    return min(found, key=lambda budget: budget.remaining / max(budget.limit, 1), default=None)


def read_retry_after(headers: Mapping[str, str], wall: float) -> float | None:
    """Return the seconds in ``Retry-After`` (a number or a date), or None."""
    text = {key.lower(): value for key, value in headers.items()}.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    moment = _parse_http_date(text)
    return None if moment is None else max(moment - wall, 0.0)


def read_date(headers: Mapping[str, str]) -> float | None:
    """Return the time of the server in its ``Date`` header (seconds since 1970), or None."""
    return _parse_http_date({key.lower(): value for key, value in headers.items()}.get("date", ""))


def _parse_http_date(text: str) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _parse_named_budgets(low: Mapping[str, str]) -> list[RateBudget]:
    policies, states = (
        {name: dict(_PAIR.findall(params)) for name, params in _NAMED_ITEM.findall(low.get(header, ""))}
        for header in ("ratelimit-policy", "ratelimit")
    )
    return [
        _make_budget(
            remaining=state["r"],
            reset=float(state.get("t", 0)),
            limit=policies.get(name, {}).get("q"),
            window=policies.get(name, {}).get("w"),
        )
        for name, state in states.items()
        if "r" in state
    ]


def _parse_flat_budget(low: Mapping[str, str]) -> list[RateBudget]:
    pairs = dict(_PAIR.findall(low.get("ratelimit", "")))
    if "remaining" not in pairs:
        return []
    policy = _LAX_POLICY.search(low.get("ratelimit-policy", ""))
    window = policy.group(2) if policy else None
    return [_make_budget(pairs["remaining"], float(pairs.get("reset", 0)), pairs.get("limit"), window)]


def _parse_header_triple(low: Mapping[str, str], prefix: str, wall: float) -> list[RateBudget]:
    remaining, limit, reset = (low.get(f"{prefix}-{name}", "").strip() for name in ("remaining", "limit", "reset"))
    if not remaining.isdigit():
        return []
    seconds = float(reset) if reset.isdigit() else 0.0
    if seconds > _MIN_EPOCH_SECONDS:
        seconds = max(seconds - wall, 0.0)
    return [_make_budget(remaining, seconds, limit if limit.isdigit() else None, None)]


def _make_budget(remaining: str, reset: float, limit: str | None, window: str | None) -> RateBudget:
    if limit is None or window is None:  # the defaults of the API
        from docshare.contract.limits import REQUESTS

        limit, window = limit or str(REQUESTS.limit), window or str(REQUESTS.window_ms / 1000)
    return RateBudget(int(remaining), reset, max(int(limit), 1), float(window))


class RateMeter:
    """The last received budget, shared by all connections of one credential. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._budget: RateBudget | None = None
        self._updated_at = 0.0

    def update(self, headers: Mapping[str, str], wall: float, now: float) -> None:
        """Store the budget in the headers of a response; ``now`` is the monotonic time in seconds."""
        budget = read_budget(headers, wall)
        if budget is not None:
            with self._lock:
                self._budget, self._updated_at = budget, now

    def spacing(self) -> float:
        """Return the seconds to leave between two requests; 0 while the limit is not close or unknown."""
        budget = self._budget
        return 0.0 if budget is None else budget.spacing()

    def duration(self, requests: int) -> float:
        """Return the seconds that ``requests`` requests take; 0 while no limit is known."""
        budget = self._budget
        return 0.0 if budget is None else budget.duration(requests)

    def seconds_until_due(self, now: float) -> float:
        """Return the seconds from ``now`` (monotonic) until the next request should be sent."""
        with self._lock:
            return max(self._updated_at + self.spacing() - now, 0.0)
