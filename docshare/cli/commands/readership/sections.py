"""The sections of a readership report: their names on the command line, and each as flat lines for scripts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from docshare.cli.framework.exits import ExitCode, Stop
from docshare.contract.features import REPORT_SECTIONS, REPORT_SUMMARY
from docshare.contract.plans import Plan

ReportData = Mapping[str, Any]

HEADER_KEYS = ("tier", "file", "effectivePages")  # what the header of the drawing says

BREAKDOWNS = {
    "countries": "countries",
    "devices": "devices",
    "browsers": "browsers",
    "sources": "sources",
    "referrers": "referrers",
    "viewerModes": "viewer modes",
    "uncounted": "not counted",
}
"""Key of a breakdown in the report -> its title."""

SUMMARY = {
    "totalViews": "views",
    "totalSessions": "sessions",
    "uniqueVisitors": "visitors",
    "uniqueCountries": "countries",
    "avgTimeMs": "average time",
    "downloads": "downloads",
    "unconfirmedSessions": "opened, not touched",
    "medianTimeMs": "median time",
    "totalTurns": "page turns",
    "completionRate": "read through",
    "backTurnShare": "turned back",
    "activeReaders": "reading now",
    "newSessions": "by new readers",
    "returningSessions": "by returning readers",
    "invitedNotViewed": "invited, not seen",
}
"""Key of the summary -> its title."""

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
"""Word of ``--section`` -> keys of the report, in the order in which they are drawn."""

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
"""Key of a section that is a list -> its columns in CSV, in an order that never changes."""


class FlatRow(NamedTuple):
    """One value of a report and where it stands."""

    section: str
    key: str
    value: Any


def parse_sections(text: str) -> dict[str, tuple[str, ...]]:
    """The words of ``--section`` and the keys of the report that each means."""
    return {word: SECTIONS.get(word, (word,)) for word in map(str.strip, text.split(","))}


def select_keys(text: str | None, report: ReportData) -> tuple[str, ...]:
    """The keys of ``report`` that ``--section`` names, in the order of the report; all without it. A name may be a key
    of the report itself. Stop (2) for a word that is neither."""
    if text is None:
        return tuple(report)
    wanted: set[str] = set()
    for word, keys in parse_sections(text).items():
        if not set(keys) & (set(report) | set(REPORT_SECTIONS)):
            known = ", ".join(SECTIONS)
            raise Stop(ExitCode.USAGE, f"--section: no such section: {word!r}", hint=f"Use {known}.")
        wanted.update(keys)
    return tuple(key for key in report if key in wanted)


def flatten(report: ReportData, keys: Sequence[str]) -> Iterator[FlatRow]:
    """The values under ``keys`` one by one; rows of a list are named by what tells them apart, or by their place."""
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
    """What a better plan would add, in words; empty where nothing is hidden."""
    told = ((plan, _list_plan_sections(plan)) for plan in (Plan.BASIC, Plan.PRO) if _parse_plan(report) < plan)
    return "; ".join(f"{', '.join(words)} need{'s' * (len(words) == 1)} {plan.name.title()}" for plan, words in told)


def describe_hidden_sections(text: str, report: ReportData) -> str:
    """Which of the sections that ``--section`` names the plan hides, and the plan they need; empty where none is."""
    plan = _parse_plan(report)
    missing = [(word, keys[0]) for word, keys in parse_sections(text).items() if not set(keys) & set(report)]
    needed = [(word, REPORT_SECTIONS.get(key, Plan.FREE)) for word, key in missing]
    told = [f"{word} (needs {above.name.title()})" for word, above in needed if plan < above]
    return f"not in the report on this plan: {', '.join(told)}" if told else ""


def _parse_plan(report: ReportData) -> Plan:
    try:
        return Plan.of(str(report.get("tier")))
    except KeyError:  # a plan of another server: what it hides is not known
        return Plan.PRO


def _list_plan_sections(plan: Plan) -> list[str]:
    numbers = [SUMMARY[key] for key, needed in REPORT_SUMMARY.items() if needed == plan]
    return [word for word, keys in SECTIONS.items() if REPORT_SECTIONS[keys[0]] == plan] + numbers
