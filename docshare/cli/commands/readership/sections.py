"""The sections of a readership report: their names on the command line, and flat rows for scripts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.options import split_words
from docshare.contract.features import REPORT_SECTIONS, REPORT_SUMMARY
from docshare.contract.plans import Plan

ReportData = Mapping[str, Any]

HEADER_KEYS = ("tier", "file", "effectivePages")  # shown in the header of the report

BREAKDOWNS = {
    "countries": "countries",
    "devices": "devices",
    "browsers": "browsers",
    "sources": "sources",
    "referrers": "referrers",
    "viewerModes": "viewer modes",
    "uncounted": "not counted",
}
"""The titles of the breakdowns, by key of the report."""

SUMMARY = {
    "totalViews": "views",
    "totalSessions": "sessions",
    "uniqueVisitors": "visitors",
    "uniqueCountries": "countries",
    "avgTimeMs": "average time",
    "downloads": "downloads",
    "unconfirmedSessions": "without interaction",
    "medianTimeMs": "median time",
    "totalTurns": "page turns",
    "completionRate": "completion rate",
    "backTurnShare": "page turns back",
    "activeReaders": "active readers",
    "newSessions": "new sessions",
    "returningSessions": "returning sessions",
    "invitedNotViewed": "invited, not viewed",
}
"""The titles of the numbers in the summary, by key."""

SECTIONS: dict[str, tuple[str, ...]] = {
    "summary": ("summary",),
    "views": ("viewsOverTime",),
    "funnel": ("funnel",),
    "breakdowns": tuple(BREAKDOWNS),
    "times": ("peakTimes",),
    "sessions": ("sessions",),
    "contacts": ("contacts",),
    "taps": ("hotspotTaps", "ctaTaps"),
    "variants": ("variants",),
}
"""The keys of the report for each value of ``--section``, in display order."""

_ROW_KEYS: dict[str, tuple[str, ...]] = {
    "viewsOverTime": ("day",),
    "funnel": ("page",),
    **dict.fromkeys(BREAKDOWNS, ("label",)),
    "peakTimes": ("dow", "hour"),
    "sessions": ("sessionId",),
    "variants": ("uuid",),
    "hotspotTaps": ("hotspotUuid",),
}


TABLES: dict[str, tuple[str, ...]] = {
    "viewsOverTime": ("day", "count"),
    "funnel": ("page", "reached", "pct"),
    **dict.fromkeys(BREAKDOWNS, ("label", "count")),
    "peakTimes": ("dow", "hour", "count"),
    "sessions": (
        "sessionId", "startedAt", "totalTimeMs", "pagesViewed", "country", "deviceType", "browser", "returning",
        "email", "name", "fromInvite", "variantUuid", "contentVersion",
    ),
    "contacts": ("createdAt", "fields"),
    "hotspotTaps": ("hotspotUuid", "page", "label", "count"),
    "variants": ("uuid", "label", "sessions", "avgTimeMs", "revoked", "redacted"),
}  # fmt: skip
"""The CSV columns of each section that is a list. Their order never changes."""


class FlatRow(NamedTuple):
    """One value of a report and its location."""

    section: str
    key: str
    value: Any


def parse_sections(given: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the values of ``--section`` with the report keys of each."""
    return {word: SECTIONS.get(word, (word,)) for word in split_words(given)}


def select_keys(given: Sequence[str] | None, report: ReportData) -> tuple[str, ...]:
    """Return the keys of ``report`` selected by ``--section`` (none: all), in the order of the report.

    A value is a section or a key of the report. Raise Stop (2) for anything else.
    """
    if not given:
        return tuple(report)
    wanted: set[str] = set()
    for word, keys in parse_sections(given).items():
        if not set(keys) & (set(report) | set(REPORT_SECTIONS)):
            known = ", ".join(SECTIONS)
            raise Stop(ExitCode.USAGE, f"--section: unknown section {word!r}", hint=f"Use {known}.")
        wanted.update(keys)
    return tuple(key for key in report if key in wanted)


def flatten(report: ReportData, keys: Sequence[str]) -> Iterator[FlatRow]:
    """Yield the values under ``keys``; rows of a list are named by their identifying keys or by their index."""
    for section in keys:
        for key, value in _flatten_value(section, report[section]):
            yield FlatRow(section, key, value)


def _flatten_value(section: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _prefix_keys(str(name), _flatten_value("", inner))
    elif isinstance(value, list):
        for place, row in enumerate(value):
            yield from _flatten_row(section, place, row)
    else:
        yield "", value


def _flatten_row(section: str, place: int, row: Any) -> Iterator[tuple[str, Any]]:
    named = _ROW_KEYS.get(section, ())
    if not isinstance(row, Mapping) or not named or not all(key in row for key in named):
        yield from _prefix_keys(str(place), _flatten_value("", row))
        return
    name = ".".join(str(row[key]) for key in named)
    rest = [key for key in row if key not in named]
    for key in rest:
        yield from _prefix_keys(
            name, _flatten_value("", row[key]) if len(rest) == 1 else _prefix_keys(key, _flatten_value("", row[key]))
        )


def _prefix_keys(name: str, leaves: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    return ((f"{name}.{key}" if key else name, value) for key, value in leaves)


def describe_upgrade(report: ReportData) -> str:
    """Describe the sections that a higher plan would add, or return nothing."""
    missing = ((plan, _list_plan_sections(plan)) for plan in (Plan.BASIC, Plan.PRO) if _parse_plan(report) < plan)
    return "; ".join(
        f"{', '.join(words)} require{'s' * (len(words) == 1)} {plan.name.title()}" for plan, words in missing
    )


def describe_hidden_sections(given: Sequence[str], report: ReportData) -> str:
    """Describe which sections of ``--section`` require a higher plan, or return nothing."""
    plan = _parse_plan(report)
    missing = [(word, keys[0]) for word, keys in parse_sections(given).items() if not set(keys) & set(report)]
    needed = [(word, REPORT_SECTIONS.get(key, Plan.FREE)) for word, key in missing]
    hidden = [f"{word} (requires {above.name.title()})" for word, above in needed if plan < above]
    return f"not included in this plan: {', '.join(hidden)}" if hidden else ""


def _parse_plan(report: ReportData) -> Plan:
    try:
        return Plan.from_tier(str(report.get("tier")))
    except KeyError:  # an unknown plan of another server, whose hidden sections are unknown
        return Plan.PRO


def _list_plan_sections(plan: Plan) -> list[str]:
    numbers = [SUMMARY[key] for key, needed in REPORT_SUMMARY.items() if needed == plan]
    return [word for word, keys in SECTIONS.items() if REPORT_SECTIONS[keys[0]] == plan] + numbers
