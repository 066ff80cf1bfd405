"""Plans and what each allows (sections Conventions and Limits)."""

from enum import IntEnum
from typing import NamedTuple

MB = 1024 * 1024
GB = 1024 * MB
DAY = 24 * 60 * 60 * 1000  # milliseconds


class Plan(IntEnum):
    """The three plans, ordered, so that every gate reads ``caller.plan >= row.plan``."""

    FREE = 0
    BASIC = 1
    PRO = 2

    @property
    def tier(self) -> str:
        """The plan's name on the wire: ``free``, ``basic`` or ``pro``."""
        return self.name.lower()

    @classmethod
    def of(cls, tier: str) -> "Plan":
        """The plan of that wire name; KeyError for any other word."""
        return cls[tier.upper()]


class PlanLimits(NamedTuple):
    """``file_slots``: active files, None without limit; ``stored_bytes``: largest stored PDF; ``trash_ms``: how long
    a deleted file can be restored, None where delete is final."""

    file_slots: int | None
    stored_bytes: int
    trash_ms: int | None


PLAN_LIMITS: dict[Plan, PlanLimits] = {
    Plan.FREE: PlanLimits(file_slots=3, stored_bytes=20 * MB, trash_ms=None),
    Plan.BASIC: PlanLimits(file_slots=100, stored_bytes=200 * MB, trash_ms=7 * DAY),
    Plan.PRO: PlanLimits(file_slots=None, stored_bytes=2 * GB, trash_ms=30 * DAY),
}
