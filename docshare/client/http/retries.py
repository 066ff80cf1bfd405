"""Which failed calls are retried, and after what delay."""

from collections import Counter

from docshare.client.errors import ConnectionLost, NotAnApi, NotConnected, Refused, TimedOut, TransportError
from docshare.client.http.call import Call
from docshare.client.options import ClientOptions

_MAX_BACKOFF = 8.0  # seconds
_MIN_RATE_LIMIT_WAIT = 0.5  # seconds; a Retry-After of 0 must not turn into a busy loop


class RetryPolicy:
    """The retries of one call: their number, and the total wait. ``has_lost_response``: a retried attempt may have
    succeeded."""

    def __init__(self, options: ClientOptions) -> None:
        self.has_lost_response = False
        self._options = options
        self._attempts = 0
        self._retries_by_status: Counter[int] = Counter()
        self._waited = 0.0

    def next_delay(self, call: Call, error: Refused | TransportError) -> float | None:
        """Return the seconds to wait before a retry; None if the call must not be retried or would wait too long."""
        if not self._should_retry(call, error):
            return None
        seconds = self._compute_delay(error)
        if self._waited + seconds > self._options.max_wait:
            return None
        self._attempts += 1
        self.has_lost_response |= is_ambiguous(call, error)
        if isinstance(error, Refused):
            self._retries_by_status[error.status] += 1
        self._waited += seconds
        return seconds

    def _should_retry(self, call: Call, error: Refused | TransportError) -> bool:
        if self._options.retries == 0:
            return False
        if isinstance(error, Refused) and error.status == 429:
            return True  # bounded by max_wait alone: the server says when
        if self._attempts >= self._options.retries:
            return False
        if isinstance(error, Refused):
            if error.status in call.retry_limits:
                return self._retries_by_status[error.status] < call.retry_limits[error.status]
            return error.status == 503 or (error.status in (500, 502, 504) and call.is_repeatable)
        if isinstance(error, NotConnected):
            return not error.is_final
        if isinstance(error, ConnectionLost | TimedOut):
            return call.is_repeatable or not call.may_have_arrived()
        return False

    def _compute_delay(self, error: Refused | TransportError) -> float:
        asked = error.retry_after if isinstance(error, Refused) else None
        if asked:
            return asked
        backoff = min(2.0**self._attempts, _MAX_BACKOFF) * self._options.clock.chance()
        limited = isinstance(error, Refused) and error.status == 429
        return max(backoff, _MIN_RATE_LIMIT_WAIT) if limited else backoff


def is_ambiguous(call: Call, error: Refused | TransportError) -> bool:
    """Return whether the server may have done what ``call`` says although it failed with ``error``."""
    if isinstance(error, Refused):
        return error.status in (502, 504)  # from a gateway: the server behind it may have finished
    return isinstance(error, ConnectionLost | TimedOut | NotAnApi) and call.may_have_arrived()


def describe_reason(error: Refused | TransportError) -> str:
    """Return a short reason why a call waits."""
    if isinstance(error, Refused):
        return "rate limited" if error.status == 429 else f"the server answered {error.status}"
    return error.detail
