"""The readership report."""

from typing import Literal, NotRequired, TypedDict

from docshare.client.types.account import Tier
from docshare.client.types.files import File
from docshare.client.types.sessions import Session


class ReadershipSummary(TypedDict):
    """The totals of a report."""

    totalViews: int
    totalSessions: int
    uniqueVisitors: int
    uniqueCountries: int
    avgTimeMs: int
    downloads: int
    unconfirmedSessions: NotRequired[int]
    medianTimeMs: NotRequired[int]
    totalTurns: NotRequired[int]
    completionRate: NotRequired[float]
    backTurnShare: NotRequired[float]
    activeReaders: NotRequired[int]
    newSessions: NotRequired[int]
    returningSessions: NotRequired[int]
    invitedNotViewed: NotRequired[int]


class DayCount(TypedDict):
    """Sessions that began on one day in UTC."""

    day: str
    count: int


class FunnelStep(TypedDict):
    """Sessions that reached a page."""

    page: int
    reached: int
    pct: float


class LabelCount(TypedDict):
    """Sessions with one label."""

    label: str
    count: int


class HourCount(TypedDict):
    """Sessions by weekday (0: Sunday) and hour in UTC."""

    dow: int
    hour: int
    count: int


class HotspotTapCount(TypedDict):
    """Taps on one hotspot."""

    hotspotUuid: str
    page: int
    label: str
    count: int


class VariantFigures(TypedDict):
    """The figures of one variant."""

    uuid: str
    label: NotRequired[str]
    sessions: int
    avgTimeMs: int
    revoked: bool
    redacted: bool


class GateContact(TypedDict, total=False):
    """Answers of one reader to the gate form."""

    fields: dict[str, str]
    createdAt: str


class Readership(TypedDict):
    """The report of a file. Sections that the plan does not include are absent."""

    tier: Tier
    summary: ReadershipSummary
    file: File
    effectivePages: NotRequired[int]
    viewsOverTime: NotRequired[list[DayCount]]
    funnel: NotRequired[list[FunnelStep]]
    referrers: NotRequired[list[LabelCount]]
    browsers: NotRequired[list[LabelCount]]
    sources: NotRequired[list[LabelCount]]
    viewerModes: NotRequired[list[LabelCount]]
    peakTimes: NotRequired[list[HourCount]]
    devices: NotRequired[list[LabelCount]]
    countries: NotRequired[list[LabelCount]]
    uncounted: NotRequired[list[LabelCount]]
    sessions: NotRequired[list[Session]]
    hotspotTaps: NotRequired[list[HotspotTapCount]]
    ctaTaps: NotRequired[int]
    variants: NotRequired[list[VariantFigures]]
    contacts: NotRequired[list[GateContact]]


class PageFigures(TypedDict):
    """The figures of one page."""

    pageNumber: int
    views: int
    avgDurationMs: int
    backTurns: int


class PageReadership(TypedDict):
    """The figures of each page."""

    totalPages: int
    pages: list[PageFigures]


class PendingRecipient(TypedDict):
    """A recipient who has not read a file; times in milliseconds. The client computes it, so it has no schema."""

    kind: Literal["variant", "invite"]
    name: str
    email: NotRequired[str]
    reason: Literal["never", "old_version", "stopped_early"]
    lastReadAt: NotRequired[str]
    contentVersion: NotRequired[int]
    pagesRead: int
    pages: int
    timeMs: int
    url: str
    uuid: str
