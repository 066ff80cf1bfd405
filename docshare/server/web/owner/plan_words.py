"""A plan, and what is kept of everything how long, in the words of the account page."""

from typing import NamedTuple

from docshare.contract.limits import (
    ACTIVITY_KEPT_MS,
    BEACONS_KEPT_MS,
    BURN_DELAY_MS,
    LOGIN_LINK_MS,
    MINUTE,
    READER_SALT_MS,
    REFRESH_TOKEN_MS,
    UNCOUNTED_KEPT_MS,
)
from docshare.contract.plans import DAY, PLAN_LIMITS, Plan
from docshare.report import words
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import accounts, sign_in
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import files
from docshare.server.services.operations import mail
from docshare.server.services.webhooks import deliveries
from docshare.server.web.owner.wording import size

_INCLUDED = {
    Plan.FREE: (
        "Links with an end date, a QR code, downloads on or off, the feed of events, webhooks, and a first look at who "
        "reads."
    ),
    Plan.BASIC: (
        "All of Free, and passwords, view limits, receipts, a mail when somebody reads, the look of the viewer, logos "
        "and sounds, and reports by day, page, country and device."
    ),
    Plan.PRO: (
        "All of Basic, and page ranges, e-mail gates and forms, watermarks, link names, links for single recipients, "
        "invitations, replacing content, and reports on single readers."
    ),
}


class PlanTold(NamedTuple):
    """``slots``: file slots in use and in all; ``share``: the part that is used, 0 to 100, None without limit;
    ``stored``, ``largest``: sizes in words; ``trash``: what becomes of deleted files."""

    name: str
    included: str
    slots: str
    share: int | None
    stored: str
    largest: str
    trash: str


class Kept(NamedTuple):
    """``what`` is kept, and how ``long``."""

    what: str
    long: str


def told(rt: Runtime, caller: Caller) -> PlanTold:
    """The caller's plan, with what of it is used now."""
    limits = PLAN_LIMITS[caller.plan]
    used = files.active_count(rt, caller.account_id)
    most, stored = limits.file_slots, accounts.stored_bytes(rt, caller.account_id)
    return PlanTold(
        name=caller.plan.tier.title(),
        included=_INCLUDED[caller.plan],
        slots=words.plural(used, "file") if most is None else f"{used} of {words.plural(most, 'file')}",
        share=None if most is None else min(100 * used // most, 100),
        stored=size(stored) if stored else "nothing",
        largest=size(limits.stored_bytes),
        trash=_trash(caller.plan),
    )


def kept(plan: Plan) -> list[Kept]:
    """What is kept how long, for an owner on ``plan``."""
    return [
        Kept("Your documents", "until you delete them. " + _trash(plan)),
        Kept(
            "A document whose views are used up", f"its bytes are destroyed {_long(BURN_DELAY_MS)} after the last one"
        ),
        Kept("Who read what, page by page, and what readers wrote", "as long as the document"),
        Kept("The reports of the page that a reading is computed from", f"{_long(BEACONS_KEPT_MS)} after it ended"),
        Kept("Visits that do not count, such as link previews, with the reason", _long(UNCOUNTED_KEPT_MS)),
        Kept("The key by which two visits of one reader are recognised", f"replaced every {_long(READER_SALT_MS)}"),
        Kept("Network addresses of readers", "never stored"),
        Kept("The record of events", _long(ACTIVITY_KEPT_MS)),
        Kept("What was sent to webhooks, and how that went", _long(deliveries.KEPT_MS)),
        Kept("Mails that were sent", _long(mail.KEPT_MS)),
        Kept("Being signed in here", f"{_long(sign_in.SESSION_MS)}; a sign-in link works for {_long(LOGIN_LINK_MS)}"),
        Kept("The access of an app", f"ends {_long(REFRESH_TOKEN_MS)} after you allowed it, or when you revoke it"),
    ]


def _trash(plan: Plan) -> str:
    trash = PLAN_LIMITS[plan].trash_ms
    if trash is None:
        return "Deleted files are destroyed at once."
    return f"Deleted files can be restored for {_long(trash)}."


def _long(millis: int) -> str:
    if millis >= DAY:
        return words.plural(millis // DAY, "day")
    return words.plural(millis // MINUTE, "minute")
