"""Descriptions of a plan and of its retention times for the account page."""

from dataclasses import dataclass

from docshare.contract.amounts import format_plural, format_size
from docshare.contract.limits import (
    ACTIVITY_RETENTION_MS,
    BEACON_RETENTION_MS,
    BURN_DELAY_MS,
    LOGIN_LINK_MS,
    MINUTE,
    READER_SALT_MS,
    REFRESH_TOKEN_MS,
    UNCOUNTED_RETENTION_MS,
)
from docshare.contract.plans import DAY, PLAN_LIMITS, Plan
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import accounts, sign_in
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import files
from docshare.server.services.operations import mail
from docshare.server.services.webhooks import deliveries

_INCLUDED_FEATURES = {
    Plan.FREE: (
        "Links with an end date, a QR code, downloads on or off, the events feed, webhooks, and a first look at who "
        "reads."
    ),
    Plan.BASIC: (
        "Everything in Free, plus passwords, view limits, receipts, email notifications, the appearance of the viewer, "
        "logos and sounds, and reports by day, page, country, and device."
    ),
    Plan.PRO: (
        "Everything in Basic, plus page ranges, email gates and forms, watermarks, custom links, personal links, "
        "invitations, replacing content, and reports on single readers."
    ),
}


@dataclass(frozen=True)
class PlanDescription:
    """A plan as text.

    ``slots``: file slots used and in total; ``share``: percentage used, 0 to 100, None without a limit; ``stored``,
    ``largest``: sizes; ``trash``: how deleted files are handled.
    """

    name: str
    included: str
    slots: str
    share: int | None
    stored: str
    largest: str
    trash: str


@dataclass(frozen=True)
class RetentionRule:
    """A retention time: ``what`` is kept, and how ``long``."""

    what: str
    long: str


def describe_plan(rt: Runtime, caller: Caller) -> PlanDescription:
    """Describe the caller's plan and its current usage."""
    limits = PLAN_LIMITS[caller.plan]
    used = files.count_active(rt, caller.account_id)
    most, stored = limits.file_slots, accounts.sum_stored_bytes(rt, caller.account_id)
    return PlanDescription(
        name=caller.plan.tier.title(),
        included=_INCLUDED_FEATURES[caller.plan],
        slots=format_plural(used, "file") if most is None else f"{used} of {format_plural(most, 'file')}",
        share=None if most is None else min(100 * used // most, 100),
        stored=format_size(stored) if stored else "nothing",
        largest=format_size(limits.stored_bytes),
        trash=_describe_trash(caller.plan),
    )


def list_retention_rules(plan: Plan) -> list[RetentionRule]:
    """Return how long data is kept for an owner on ``plan``."""
    return [
        RetentionRule("Your documents", "until you delete them. " + _describe_trash(plan)),
        RetentionRule(
            "A document that reached its view limit",
            f"its content is deleted {_format_period(BURN_DELAY_MS)} after the last view",
        ),
        RetentionRule("Readership, and the feedback of readers", "as long as the document"),
        RetentionRule(
            "Beacons, from which reading times are computed",
            f"{_format_period(BEACON_RETENTION_MS)} after the end of the session",
        ),
        RetentionRule(
            "Visits that do not count, such as link previews, with the reason", _format_period(UNCOUNTED_RETENTION_MS)
        ),
        RetentionRule(
            "The key that recognizes two visits of one reader",
            f"replaced every {_format_period(READER_SALT_MS)}",
        ),
        RetentionRule("IP addresses of readers", "never stored"),
        RetentionRule("Events in the activity feed", _format_period(ACTIVITY_RETENTION_MS)),
        RetentionRule("Webhook deliveries and their attempts", _format_period(deliveries.RETENTION_MS)),
        RetentionRule("Sent emails", _format_period(mail.RETENTION_MS)),
        RetentionRule(
            "Your sign-in in a browser",
            f"{_format_period(sign_in.SESSION_LIFETIME_MS)}; a sign-in link works for {_format_period(LOGIN_LINK_MS)}",
        ),
        RetentionRule(
            "The access of an app",
            f"ends {_format_period(REFRESH_TOKEN_MS)} after you allowed it, or when you revoke it",
        ),
    ]


def _describe_trash(plan: Plan) -> str:
    trash = PLAN_LIMITS[plan].trash_ms
    if trash is None:
        return "Deleted files cannot be restored."
    return f"Deleted files can be restored for {_format_period(trash)}."


def _format_period(millis: int) -> str:
    if millis >= DAY:
        return format_plural(millis // DAY, "day")
    return format_plural(millis // MINUTE, "minute")
