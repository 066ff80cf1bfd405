"""Those who got a link of their own (variants and invitations), and how far each has read. Nothing here asks a server.

A session belongs to the variant or the invitation whose link it came by. What a reader types into a gate proves
nothing: anybody can name an address that was invited. Page numbers are those of the document.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from docshare.cli.commands.readership.sessions import SEEN_MS, read_number, read_objects
from docshare.cli.commands.variants.names import short_id
from docshare.contract.wire import parse_instant

Row = Mapping[str, Any]
IdentityKey = tuple[str, str]

NEVER, STOPPED_EARLY, OLD_VERSION = "never", "stopped_early", "old_version"


class LinkRecipient(NamedTuple):
    """A recipient: of the ``kind`` variant or invite; ``pages`` of the document that their link shows; ``opened_at``:
    when they first did, in ms, where the server tells."""

    kind: str
    uuid: str
    name: str
    url: str
    pages: range
    email: str = ""
    opened_at: int | None = None

    @property
    def marks(self) -> frozenset[IdentityKey]:
        """What a session of theirs bears, any of it."""
        link = (self.kind, self.uuid.casefold())
        return frozenset({link, ("address", self.email.casefold())} if self.email else {link})

    def owns(self, session: Row) -> bool:
        """Whether they read in ``session``."""
        return not self.marks.isdisjoint(_list_session_keys(session))


def _list_session_keys(session: Row) -> Iterator[IdentityKey]:
    """By what ``session`` is known to belong to somebody. A server that does not tell the invitation it was opened
    through at least tells that there was one; the address is then the invited one."""
    known = {"variant": session.get("variantUuid"), "invite": session.get("inviteUuid")}
    if not known["invite"] and session.get("fromInvite") is True:
        known["address"] = session.get("email")
    return ((kind, str(value).casefold()) for kind, value in known.items() if value)


def list_recipients(file: Row, variants: Iterable[Row], invites: Iterable[Row]) -> list[LinkRecipient]:
    """Everybody whose link works: variants that are not revoked, then invitations."""
    by_link = [
        LinkRecipient(
            "variant",
            str(row.get("uuid")),
            str(row.get("label") or short_id(dict(row))),
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
    """The pages of the document that a link shows: of the file, or of a variant with its own range."""
    total = int(read_number(file, "totalPages"))
    overrides = (variant or {}).get("overrides")
    own = overrides.get("pageRange") if isinstance(overrides, Mapping) else None
    chosen = file.get("pageRange") if own is None else own
    last = int(read_number(chosen, "to")) if isinstance(chosen, Mapping) else 0
    if not isinstance(chosen, Mapping) or last < 1:  # Spec: Variant. {0, 0} serves the full document.
        return range(1, total + 1)
    return range(max(1, int(read_number(chosen, "from"))), min(last, total) + 1)


def page_time(session: Row, page: int) -> float:
    """Milliseconds that ``session`` spent on ``page``."""
    return sum(read_number(row, "timeMs") for row in read_objects(session, "pages") if row.get("page") == page)


@dataclass
class ReadingProgress:
    """How far somebody got, in the sessions added so far. Times in ms; ``version`` the newest they read in,
    ``last_at`` when their last session began; pages and times are those of the versions that count."""

    version: int = 0
    last_at: int | None = None
    time_ms: float = 0
    page_ms: dict[int, float] = field(default_factory=dict)

    def add(self, session: Row, from_version: int) -> None:
        """Add one session; what was read in a version before ``from_version`` counts as no page."""
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

    def seen(self, pages: range) -> int:
        """How many of ``pages`` were seen."""
        return sum(self.page_ms.get(page, 0) >= SEEN_MS for page in pages)


class ReadCriteria(NamedTuple):
    """What counts as having read: ``page`` for ``min_ms``; without a page the ``share`` (0 to 1) of the pages shown,
    and ``min_ms`` altogether; in ``version`` or a later one."""

    page: int | None
    min_ms: float
    share: float
    version: int

    def lacking(self, person: LinkRecipient, progress: ReadingProgress) -> str | None:
        """Why ``person`` has not read yet: never, old_version, stopped_early; None if they have."""
        if not progress.version:  # a first reading may still go on
            return NEVER if person.opened_at is None else STOPPED_EARLY
        if progress.version < self.version:
            return OLD_VERSION
        return None if self._met(person, progress) else STOPPED_EARLY

    def _met(self, person: LinkRecipient, progress: ReadingProgress) -> bool:
        if self.page is not None:
            return progress.page_ms.get(self.page, 0) >= max(self.min_ms, SEEN_MS)
        # As a number of pages, so that two thirds of three pages are two, whatever floats make of it.
        wanted = -(-round(self.share * 10_000) * len(person.pages) // 10_000)
        return bool(person.pages) and progress.seen(person.pages) >= wanted and progress.time_ms >= self.min_ms


def measure_progress(
    everybody: Iterable[LinkRecipient], sessions: Iterable[Row], from_version: int
) -> dict[str, ReadingProgress]:
    """How far each got, by UUID, from one walk over all ``sessions``."""
    found: dict[str, ReadingProgress] = {}
    owners: dict[IdentityKey, list[ReadingProgress]] = {}
    for person in everybody:
        found[person.uuid] = ReadingProgress()
        for mark in person.marks:
            owners.setdefault(mark, []).append(found[person.uuid])
    for session in sessions:
        for mark in _list_session_keys(session):
            for progress in owners.get(mark, ()):
                progress.add(session, from_version)
    return found
