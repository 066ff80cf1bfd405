"""The plans that operations and the parts of the readership report require.

Operations have the names of ``scopes.OPERATIONS``; every plan may call those that are not listed. The plans of single
settings are in ``settings`` and ``viewer``.
"""

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem

OPERATION_PLANS: dict[str, Plan] = {
    "files.replace": Plan.PRO,
    "assets.create": Plan.BASIC,
    # Update and delete require no plan, so that an owner can still revoke and redact variants after a downgrade.
    "variants.list": Plan.PRO,
    "variants.create": Plan.PRO,
    "readership.pages": Plan.BASIC,
    "readership.marks": Plan.PRO,
    "readership.annotations": Plan.PRO,
    "readership.feedback": Plan.PRO,
    "readership.sessions": Plan.PRO,
    "readership.session": Plan.PRO,
    "invites.list": Plan.PRO,
    "invites.create": Plan.PRO,
    "gate.list": Plan.PRO,
}

REPORT_SUMMARY: dict[str, Plan] = {
    "totalViews": Plan.FREE,
    "totalSessions": Plan.FREE,
    "uniqueVisitors": Plan.FREE,
    "uniqueCountries": Plan.FREE,
    "avgTimeMs": Plan.FREE,
    "downloads": Plan.FREE,
    "unconfirmedSessions": Plan.FREE,
    "medianTimeMs": Plan.BASIC,
    "totalTurns": Plan.BASIC,
    "completionRate": Plan.BASIC,
    "backTurnShare": Plan.BASIC,
    "activeReaders": Plan.PRO,
    "newSessions": Plan.PRO,
    "returningSessions": Plan.PRO,
    "invitedNotViewed": Plan.PRO,
}
"""Keys of the report's ``summary``, in order."""

REPORT_SECTIONS: dict[str, Plan] = {
    "tier": Plan.FREE,
    "summary": Plan.FREE,
    "file": Plan.FREE,
    "effectivePages": Plan.FREE,
    "viewsOverTime": Plan.BASIC,
    "funnel": Plan.BASIC,
    "referrers": Plan.BASIC,
    "browsers": Plan.BASIC,
    "sources": Plan.BASIC,
    "viewerModes": Plan.BASIC,
    "peakTimes": Plan.BASIC,
    "devices": Plan.BASIC,
    "countries": Plan.BASIC,
    "uncounted": Plan.BASIC,
    "sessions": Plan.PRO,
    "hotspotTaps": Plan.PRO,
    "ctaTaps": Plan.PRO,
    "variants": Plan.PRO,
    "contacts": Plan.PRO,
}
"""Top-level keys of the report, in order; ``effectivePages`` is present only while a page range is active."""


def required_plan(operation: str) -> Plan:
    """Return the lowest plan that may call ``operation`` (a key of ``scopes.OPERATIONS``)."""
    return OPERATION_PLANS.get(operation, Plan.FREE)


def plan_problem(needed: Plan, what: str, field: str = "") -> Problem:
    """Return the problem that rejects ``what`` (a singular noun phrase that starts the sentence) below plan ``needed``;
    ``field`` as in ``Problem``.

    Clients recognize it by the words "requires the <tier> plan" in its detail.
    """
    return Problem("plan_required", f"{what} requires the {needed.tier} plan or higher.", field=field)


def require_plan(plan: Plan, operation: str, what: str) -> None:
    """Raise ``plan_required`` when ``plan`` may not call ``operation``; ``what`` as for ``plan_problem``."""
    needed = required_plan(operation)
    if plan < needed:
        raise plan_problem(needed, what)


def visible_keys(table: dict[str, Plan], plan: Plan) -> tuple[str, ...]:
    """Return the keys of ``REPORT_SUMMARY`` or ``REPORT_SECTIONS`` that ``plan`` may see, in order."""
    return tuple(key for key, needed in table.items() if plan >= needed)
