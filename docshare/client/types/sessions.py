"""Reading sessions."""

from typing import Literal, NotRequired, TypedDict

from docshare.client.types.settings import ViewerMode


class Session(TypedDict):
    """A reading session that has ended."""

    sessionId: str
    startedAt: str
    totalTimeMs: int
    pagesViewed: int
    country: NotRequired[str]
    deviceType: Literal["Desktop", "Mobile", "Tablet"]
    browser: str
    returning: bool
    email: NotRequired[str]
    name: NotRequired[str]
    fromInvite: bool
    inviteUuid: NotRequired[str]
    variantUuid: NotRequired[str]
    contentVersion: int
    shownPages: int
    pseudonym: str


class SessionPageTime(TypedDict):
    """The time on one page, in milliseconds."""

    page: int
    timeMs: int


class StreamedSession(Session):
    """A counted session, with its id in the stream."""

    id: int
    pages: list[SessionPageTime]


_UncountedSessionKeys = TypedDict(
    "_UncountedSessionKeys", {"class": Literal["unconfirmed", "burst", "scanner", "preview", "tool", "prefetch"]}
)  # a keyword cannot be an attribute


class UncountedSession(Session, _UncountedSessionKeys):
    """A session that was not counted, and why."""

    reason: str


class SessionPageFigures(TypedDict):
    """The figures of one page in one session."""

    page: int
    timeMs: int
    views: int
    backTurns: int


class BeaconPage(TypedDict):
    """One page in a report of a browser."""

    page: int
    ms: int
    views: int
    back: int


class SessionBeacon(TypedDict):
    """One report of a browser; times in milliseconds since the previous one."""

    seq: int
    receivedAt: str
    part: int
    ageMs: int
    visible: bool
    visibleMs: int
    input: bool
    turns: int
    backTurns: int
    prefetch: NotRequired[bool]
    closing: NotRequired[bool]
    reload: NotRequired[bool]
    pages: list[BeaconPage]
    accepted: list[BeaconPage]


_SessionAccountKeys = TypedDict(
    "_SessionAccountKeys", {"class": Literal["human", "unconfirmed", "burst", "scanner", "preview", "tool", "prefetch"]}
)  # a keyword cannot be an attribute


class SessionAccount(Session, _SessionAccountKeys):
    """A session with everything that its browser reported."""

    id: NotRequired[int]
    reason: str
    countedAt: NotRequired[str]
    lastHeardAt: str
    endedAt: NotRequired[str]
    visibleMs: int
    turns: int
    backTurns: int
    source: str
    referrer: NotRequired[str]
    viewerMode: ViewerMode
    prefetched: bool
    pages: list[SessionPageFigures]
    beacons: list[SessionBeacon]
