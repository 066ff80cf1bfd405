"""One session page by page, and the list of sessions that were not counted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from docshare.report import charts, countries, people, strips, words
from docshare.report.people import DisplayTime
from docshare.report.svg import described_svg, element, format_length, tooltip
from docshare.report.values import Row, clean_text, list_objects, read_number, read_object

_MIN_LABELED_SHARE = 4.0  # percent of the strip; narrower pages have a tooltip only
_NOT_COUNTED = {
    "unconfirmed": "opened, but not touched",
    "burst": "burst of short sessions",
    "scanner": "left immediately",
    "preview": "link preview",
    "tool": "program",
    "prefetch": "loaded ahead",
}
MAX_VISIBLE_UNCOUNTED = 8  # the others are collapsed
_MAYBE_PEOPLE = ("unconfirmed", "burst")


@dataclass(frozen=True)
class UncountedEntry:
    """One session that was not counted: ``what`` it was taken for, and ``why``."""

    what: str
    why: str
    where: str
    started: DisplayTime | None
    href: str | None


@dataclass(frozen=True)
class PageLine:
    """The reading of one page in one session, as text and as a bar."""

    page: str
    time: str
    bar: Markup
    views: str
    back: str


def list_uncounted(rows: object, address: str | None) -> list[UncountedEntry]:
    """Return the sessions that were not counted, newest first. ``address``: see ``ReportInput.sessions_address``."""
    return [
        UncountedEntry(
            _describe_class(row),
            clean_text(row.get("reason")),
            " · ".join(filter(None, (_describe_person(row), people.describe_place(row)))),
            people.display_time(row.get("startedAt")),
            people.build_session_link(row, address),
        )
        for row in list_objects(rows)
    ]


def build_session_context(session: Row, report: Row) -> dict[str, Any]:
    """Return the variables of ``session.html``.

    Parameters: ``session`` the response of ``readership/sessions/{sessionId}``, ``report`` that of ``readership``.
    """
    file = people.read_file_facts(report)
    entry = people.build_session(session, file)
    pages = list_objects(session.get("pages"))
    return {
        "name": clean_text(read_object(report.get("file")).get("originalName")) or "Document",
        "session": entry,
        "is_counted": "countedAt" in session,
        "what": _describe_class(session),
        "why": clean_text(session.get("reason")),
        "is_open": "endedAt" not in session,
        "facts": _list_facts(session, entry.pages, file.labels),
        "strip": _draw_strip(pages, strips.describe_page_times(session)),
        "lines": _list_lines(pages),
    }


def _describe_class(row: Row) -> str:
    klass = clean_text(row.get("class"))
    return _NOT_COUNTED.get(klass, klass)


def _describe_person(row: Row) -> str:
    """Return who it was, if the session may be that of a person."""
    if clean_text(row.get("class")) not in _MAYBE_PEOPLE:
        return ""
    return clean_text(row.get("name")) or clean_text(row.get("email")) or clean_text(row.get("pseudonym"))


def _list_facts(session: Row, pages: str, labels: Mapping[str, str]) -> list[tuple[str, str]]:
    turns = words.format_count(read_number(session.get("turns")))
    back = read_number(session.get("backTurns"))
    found = [
        ("Reading time", words.format_millis(read_number(session.get("totalTimeMs")))),
        ("Pages seen", pages),
        ("Page turns", f"{turns}, {words.format_count(back)} of them back" if back else turns),
        (
            "Device",
            ", ".join(filter(None, (clean_text(session.get("deviceType")), clean_text(session.get("browser"))))),
        ),
        ("Country", countries.country_name(clean_text(session.get("country")))),
        ("Link", _describe_link(session, labels)),
        ("Opened through", words.name_source(clean_text(session.get("source")))),
        ("Came from", clean_text(session.get("referrer"))),
        ("Viewer mode", clean_text(session.get("viewerMode")).capitalize()),
    ]
    return [(name, value) for name, value in found if value]


def _describe_link(session: Row, labels: Mapping[str, str]) -> str:
    variant = clean_text(session.get("variantUuid"))
    if variant:
        label = labels.get(variant)
        return f"Personal link of {label}" if label else "Personal link without a label"
    return "Personal link of an invitation" if session.get("fromInvite") is True else "Share link of the file"


def _list_lines(pages: list[Row]) -> list[PageLine]:
    longest = max((read_number(row.get("timeMs")) for row in pages), default=0) or 1
    return [
        PageLine(
            words.format_count(read_number(row.get("page"))),
            words.format_millis(read_number(row.get("timeMs"))),
            charts.draw_bar(read_number(row.get("timeMs")) * 100 / longest),
            words.format_count(read_number(row.get("views"))),
            words.format_count(read_number(row.get("backTurns"))),
        )
        for row in pages
    ]


def _draw_strip(pages: list[Row], description: str) -> Markup | None:
    """Return the pages side by side, each as wide as its share of the time; None if no page was read."""
    times = [(read_number(row.get("page")), read_number(row.get("timeMs"))) for row in pages]
    whole, longest = sum(millis for _, millis in times), max((millis for _, millis in times), default=0)
    if not whole:
        return None
    parts, x = [], 0.0
    for page, millis in times:
        width = millis * 100 / whole
        level = charts.heat_level(millis, longest)
        drawn = [
            tooltip(f"Page {words.format_count(page)}: {words.format_millis(millis)}"),
            element("rect", x=format_length(x), width=format_length(width), height="100%", class_=f"heat heat-{level}"),
        ]
        if width >= _MIN_LABELED_SHARE:
            middle = format_length(x + width / 2)
            label = words.format_count(page)
            drawn.append(
                element(
                    "text", label, x=middle, y="50%", dy="0.35em", text_anchor="middle", class_=f"heat-word on-{level}"
                )
            )
        if millis:
            parts.append(element("g", *drawn, class_="tipped"))
        x += width
    return described_svg(
        "strip", "Time on each page", f"{description}. The table below has all numbers.", *parts, class_="plot strip"
    )
