"""A clock that only a test advances."""

from datetime import timedelta

START = 1_790_000_000_000  # 2026-09-21T13:33:20Z


class FakeClock:
    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def advance(self, **amount: float) -> int:
        """Advance by ``timedelta(**amount)``; return the new time in milliseconds."""
        self.now += timedelta(**amount) // timedelta(milliseconds=1)
        return self.now
