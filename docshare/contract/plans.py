"""Subscription plans and their limits."""

from enum import IntEnum
from typing import NamedTuple

MB = 1024 * 1024
GB = 1024 * MB
DAY = 24 * 60 * 60 * 1000  # milliseconds


class Plan(IntEnum):
    """The three plans, ordered, so that every check reads ``caller.plan >= row.plan``."""

    FREE = 0
    BASIC = 1
    PRO = 2

    @property
    def tier(self) -> str:
        """Return the name of the plan on the wire: ``free``, ``basic``, or ``pro``."""
        return self.name.lower()

    @classmethod
    def from_tier(cls, tier: str) -> "Plan":
        """Return the plan with the wire name ``tier``; raise KeyError for any other word."""
        return cls[tier.upper()]


class PlanLimits(NamedTuple):
    """``file_slots``: maximum number of active files (None: unlimited); ``stored_bytes``: maximum size of a stored PDF;
    ``trash_ms``: how long a deleted file can be restored (None: deletion is final)."""

    file_slots: int | None
    stored_bytes: int
    trash_ms: int | None


PLAN_LIMITS: dict[Plan, PlanLimits] = {
    Plan.FREE: PlanLimits(file_slots=3, stored_bytes=20 * MB, trash_ms=None),
    Plan.BASIC: PlanLimits(file_slots=100, stored_bytes=200 * MB, trash_ms=7 * DAY),
    Plan.PRO: PlanLimits(file_slots=None, stored_bytes=2 * GB, trash_ms=30 * DAY),
}
