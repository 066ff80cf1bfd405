"""The recipients of a file (variants and invitations), and how far each has read. This module sends no requests.

A session belongs to the variant or invitation whose link was opened. The email address entered into a gate form is
ignored, because anyone can enter the address of an invitee. Page numbers are those of the full document.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from docshare.contract.wire import drop_none, format_instant, parse_instant

Row = Mapping[str, Any]
IdentityKey = tuple[str, str]

SEEN_MS = 1_000  # a page counts as seen after one second

_MAX_NUMBER = 2**63
NEVER, STOPPED_EARLY, OLD_VERSION = "never", "stopped_early", "old_version"


class LinkRecipient(NamedTuple):
    """A recipient. ``kind`` is "variant" or "invite", ``pages`` are the pages their link shows; ``opened_at`` is the
    time of their first view in ms, if the server reports it."""

    kind: str
    uuid: str
    name: str
    url: str
    pages: range
    email: str = ""
    opened_at: int | None = None

    @property
    def identity_keys(self) -> frozenset[IdentityKey]:
        """Return the keys that identify a session of this recipient; one match is enough."""
        link = (self.kind, self.uuid.casefold())
        return frozenset({link, ("address", self.email.casefold())} if self.email else {link})

    def is_reader_in(self, session: Row) -> bool:
        """Return whether ``session`` belongs to this recipient."""
        return not self.identity_keys.isdisjoint(_list_session_keys(session))


def _list_session_keys(session: Row) -> Iterator[IdentityKey]:
    """Yield the keys by which ``session`` belongs to a recipient.

    A server that does not report the invitation may still report ``fromInvite``; then the email address is the invited
    one.
    """
    known = {"variant": session.get("variantUuid"), "invite": session.get("inviteUuid")}
    if not known["invite"] and session.get("fromInvite") is True:
        known["address"] = session.get("email")
    return ((kind, str(value).casefold()) for kind, value in known.items() if value)


def list_recipients(file: Row, variants: Iterable[Row], invites: Iterable[Row]) -> list[LinkRecipient]:
    """Return the recipients whose links work: variants that are not revoked, then invitations."""
    by_link = [
        LinkRecipient(
            "variant",
            str(row.get("uuid")),
            str(row.get("label") or row.get("shortId") or row.get("uuid", "")),
            str(row.get("url", "")),
            visible_pages(file, row),
        )
        for row in variants
        if not row.get("revoked")
    ]
    by_mail = [
        LinkRecipient(
            "invite",
            str(row.get("uuid")),
            str(row.get("name") or row.get("email", "")),
            str(row.get("url", "")),
            visible_pages(file),
            email=str(row.get("email", "")),
            opened_at=parse_instant(str(row.get("viewedAt", ""))),
        )
        for row in invites
    ]
    return by_link + by_mail


def visible_pages(file: Row, variant: Row | None = None) -> range:
    """Return the pages that the link of the file, or of ``variant``, shows."""
    total = int(read_number(file, "totalPages"))
    overrides = (variant or {}).get("overrides")
    own = overrides.get("pageRange") if isinstance(overrides, Mapping) else None
    chosen = file.get("pageRange") if own is None else own
    last = int(read_number(chosen, "to")) if isinstance(chosen, Mapping) else 0
    if not isinstance(chosen, Mapping) or last < 1:  # A range of {0, 0} shows the full document.
        return range(1, total + 1)
    return range(max(1, int(read_number(chosen, "from"))), min(last, total) + 1)


def page_time(session: Row, page: int) -> float:
    """Return the milliseconds that ``session`` spent on ``page``."""
    return sum(read_number(row, "timeMs") for row in read_objects(session, "pages") if row.get("page") == page)


@dataclass
class ReadingProgress:
    """How far a recipient got in the sessions added so far, times in ms. ``version`` is the newest version they read,
    ``last_at`` the start of their last session. Pages and times include only the versions that count."""

    version: int = 0
    last_at: int | None = None
    time_ms: float = 0
    page_ms: dict[int, float] = field(default_factory=dict)

    def add(self, session: Row, from_version: int) -> None:
        """Add one session. Pages read in a version before ``from_version`` do not count."""
        version = int(read_number(session, "contentVersion"))
        began = parse_instant(str(session.get("startedAt", "")))
        self.version = max(self.version, version)
        self.last_at = max(filter(None, (self.last_at, began)), default=None)
        if version < from_version:
            return
        self.time_ms += read_number(session, "totalTimeMs")
        for row in read_objects(session, "pages"):
            page = int(read_number(row, "page"))
            self.page_ms[page] = self.page_ms.get(page, 0) + read_number(row, "timeMs")

    def count_seen(self, pages: range) -> int:
        """Return how many of ``pages`` were seen."""
        return sum(self.page_ms.get(page, 0) >= SEEN_MS for page in pages)


class ReadCriteria(NamedTuple):
    """The definition of read: ``page`` for ``min_ms``, or without a page the ``share`` (0 to 1) of the pages shown and
    ``min_ms`` in total; both in ``version`` or a later one."""

    page: int | None
    min_ms: float
    share: float
    version: int

    def explain_unread(self, person: LinkRecipient, progress: ReadingProgress) -> str | None:
        """Return why ``person`` has not read the file (never, old_version, stopped_early), or None if they have."""
        if not progress.version:  # the first session may not have ended yet
            return NEVER if person.opened_at is None else STOPPED_EARLY
        if progress.version < self.version:
            return OLD_VERSION
        return None if self._is_met(person, progress) else STOPPED_EARLY

    def _is_met(self, person: LinkRecipient, progress: ReadingProgress) -> bool:
        if self.page is not None:
            return progress.page_ms.get(self.page, 0) >= max(self.min_ms, SEEN_MS)
        # In whole pages, so that two thirds of three pages are two despite floating-point rounding.
        wanted = -(-round(self.share * 10_000) * len(person.pages) // 10_000)
        return bool(person.pages) and progress.count_seen(person.pages) >= wanted and progress.time_ms >= self.min_ms


def measure_progress(
    everybody: Iterable[LinkRecipient], sessions: Iterable[Row], from_version: int
) -> dict[str, ReadingProgress]:
    """Return the progress of each recipient by UUID, in one pass over ``sessions``."""
    found: dict[str, ReadingProgress] = {}
    owners: dict[IdentityKey, list[ReadingProgress]] = {}
    for person in everybody:
        found[person.uuid] = ReadingProgress()
        for mark in person.identity_keys:
            owners.setdefault(mark, []).append(found[person.uuid])
    for session in sessions:
        for mark in _list_session_keys(session):
            for progress in owners.get(mark, ()):
                progress.add(session, from_version)
    return found


def build_pending_row(person: LinkRecipient, progress: ReadingProgress, reason: str) -> dict[str, Any]:
    """Return the row of a recipient who has not read the file, for ``reason``."""
    last = progress.last_at or person.opened_at
    return drop_none(
        {
            "kind": person.kind,
            "name": person.name,
            "email": person.email or None,
            "reason": reason,
            "lastReadAt": None if last is None else format_instant(last),
            "contentVersion": progress.version or None,
            "pagesRead": progress.count_seen(person.pages),
            "pages": len(person.pages),
            "timeMs": int(progress.time_ms),
            "url": person.url,
            "uuid": person.uuid,
        }
    )


def read_number(row: Row, key: str) -> float:
    """Return the number under ``key``, or 0 if it is missing or not a usable number."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return value if abs(value) <= _MAX_NUMBER else 0  # NaN fails the comparison


def read_objects(answer: Row, key: str) -> list[Row]:
    """Return the objects in the list under ``key``, or nothing if it is not a list."""
    found = answer.get(key)
    return [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []
