"""Publishing a design again: which link is updated, and whether it may be changed. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from docshare.contract.limits import DESIGN_EXPIRY_MS
from docshare.contract.problems import Problem
from docshare.server.rules import lifecycle
from docshare.server.rules.settings import read_settings

UPDATES_SETTING = "designToolUpdatesEnabled"


class DesignFile(NamedTuple):
    """A file that shows a design. Times in ms; ``settings`` JSON as stored; ``expires_at`` the expiry that publishing
    set, None if it set none."""

    id: int
    uuid: str
    short_id: str
    content_version: int
    blob: str
    delete_at: int | None
    burned_at: int | None
    frozen_at: int | None
    owner_id: int | None
    view_count: int
    settings: str
    design_user: str
    expires_at: int | None

    @property
    def is_claimed(self) -> bool:
        """Return whether it belongs to an account."""
        return self.owner_id is not None

    def is_live(self, now: int) -> bool:
        """Return whether it has neither expired nor burned."""
        return self.burned_at is None and not lifecycle.is_expired(self.delete_at, now)

    def is_same_content(self, other: "DesignFile | None") -> bool:
        """Return whether ``other`` is this file with this content."""
        return other is not None and (self.id, self.content_version) == (other.id, other.content_version)


def select_unclaimed(found: Iterable[DesignFile], now: int) -> DesignFile | None:
    """Return the link that a user without an account publishes the design to. ``found``: its links, newest first.

    A frozen link that nobody has claimed remains the design's link after it has ended; otherwise waiting would bypass
    the freeze. A link that belongs to an account is returned only if there is no other.
    """
    rows = list(found)
    own = (row for row in rows if not row.is_claimed and (row.frozen_at is not None or row.is_live(now)))
    return next(own, None) or next((row for row in rows if row.is_claimed), None)


def is_claimable(bound: DesignFile, now: int) -> bool:
    """Return whether a claim token is issued for it: a live link that is neither claimed nor under review."""
    return not bound.is_claimed and bound.frozen_at is None and bound.is_live(now)


def require_updates_allowed(bound: DesignFile) -> None:
    """Raise ``forbidden`` if the design tool may not replace the document of the link."""
    if bound.frozen_at is not None:
        raise Problem(
            "forbidden", "The link is frozen while the operator reviews it.", hint="Ask the operator of this server."
        )
    if not read_settings(bound.settings)[UPDATES_SETTING]:
        hint = f"Switch {UPDATES_SETTING} on in the settings of the file."
        raise Problem("forbidden", "The link does not accept updates from the design tool.", hint=hint)


def require_unclaimed(bound: DesignFile) -> None:
    """Raise ``forbidden`` if the link belongs to an account."""
    if bound.is_claimed:
        hint = "Publish it from that account: POST /api/v1/files/import with both tokens of the design tool."
        raise Problem("forbidden", "The link of this design belongs to an account.", hint=hint)


def renew_expiry(bound: DesignFile, now: int) -> int | None:
    """Return the expiry of a link that was published again at ``now``: 365 days later, unless the uploader set one."""
    return now + DESIGN_EXPIRY_MS if bound.delete_at == bound.expires_at else bound.delete_at


def require_daily_quota(taken: int, oldest: int | None, *, most: int, window_ms: int, now: int) -> None:
    """Raise ``rate_limited`` if ``most`` were ``taken`` in the last ``window_ms``, the first one at ``oldest``."""
    if taken < most:
        return
    wait_s = -(-((oldest if oldest is not None else now) + window_ms - now) // 1000)
    raise Problem(
        "rate_limited",
        f"A user of the design tool can share {most} new designs a day.",
        hint="Publishing a design again does not count.",
        headers={"Retry-After": str(max(wait_s, 1))},
    )
