"""Rendering of the report: collect the data of all sections and pass it to the templates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from docshare.contract.amounts import format_plural
from docshare.contract.plans import Plan
from docshare.report import account, feedback, overview, pages, people, periods, session, session_list, words
from docshare.report.account import AccountReportInput
from docshare.report.pages import Thumbnail
from docshare.report.periods import ReportPeriod
from docshare.report.session_list import SessionListInput
from docshare.report.values import Row, clean_text, read_instant, read_number, read_object, read_web_address

STATIC = Path(__file__).with_name("static")
_TEMPLATES = Path(__file__).with_name("templates")
# The sections that a plan adds, shown to owners on a lower plan.
_SECTIONS_BY_PLAN = {
    Plan.BASIC: "views over time, how far they read, time per page, peak times, and where readers came from",
    Plan.PRO: "who is reading now, sessions with names and email addresses of readers, contacts, links per recipient, "
    "taps, marks, annotations, notes, and receipts",
}


@dataclass(frozen=True)
class ReportInput:
    """The input of a report: unchanged JSON of the API; None if the plan or the server does not provide it.

    ``report``, ``pages``, ``marks``, ``annotations``, and ``feedback`` are the responses of readership,
    readership/pages, page-marks, annotations, and feedback; ``pictures``: thumbnails by page number; ``code``:
    address of the image of the QR code, or None; ``created_at``: time of creation in milliseconds; ``uncounted``: the
    response of readership/sessions with ``counted=false``; ``sessions``: counted sessions as in the stream, newest
    first, instead of those of ``report``, which lack their pages. ``other_links``: the sessions through links that are
    not variants, as a row of ``variants``. ``period``: the days that ``report``, ``pages``,
    ``sessions`` and ``uncounted`` cover, None for all time. ``report_address``, ``sessions_address`` and
    ``file_address``: addresses of this page, of the pages of single sessions and of the page of the file; a report
    outside the server has none. ``cover``: the thumbnail beside the title.
    """

    report: Row
    created_at: int
    pages: Row | None = None
    marks: Row | None = None
    annotations: Row | None = None
    feedback: Row | None = None
    pictures: Mapping[int, Thumbnail] = field(default_factory=dict)
    code: str | None = None
    uncounted: Sequence[Row] = ()
    sessions: Sequence[Row] | None = None
    other_links: Row | None = None
    period: ReportPeriod | None = None
    report_address: str | None = None
    sessions_address: str | None = None
    file_address: str | None = None
    cover: Thumbnail | None = None

    @property
    def name(self) -> str:
        """Return the name of the document."""
        return clean_text(read_object(self.report.get("file")).get("originalName")) or "Document"

    @property
    def is_empty(self) -> bool:
        """Return whether nobody has ever read the document, nor downloaded it on the days of the report."""
        if self.period is not None and read_number(read_object(self.report.get("file")).get("viewCount")):
            return False
        return is_empty(self.report)

    @property
    def created_text(self) -> str:
        """Return the time of creation as text, in UTC."""
        return words.format_date_time(self.created_at)


def render_report(material: ReportInput) -> Markup:
    """Return the report as the content of a page, from its ``header`` to its ``footer``."""
    return Markup(_template_environment().get_template("report.html").render(build_context(material)))  # noqa: S704 - escaped there


def render_session(found: Row, report: Row, report_address: str, file_address: str) -> Markup:
    """Return the page of one session, from its ``header``. Parameters as in ``build_session_context``; the addresses
    are those of the pages of the report and of the file."""
    places = {"report_address": report_address, "file_address": file_address}
    return Markup(render_template("session.html", session.build_session_context(found, report) | places))  # noqa: S704 - escaped there


def render_sessions(material: SessionListInput) -> Markup:
    """Return the page of all sessions of a file, from its ``header``."""
    return Markup(render_template("sessions.html", session_list.build_list_context(material)))  # noqa: S704 - escaped there


def render_account_report(material: AccountReportInput) -> Markup:
    """Return the page about all files of an account, from its ``header``."""
    return Markup(render_template("account.html", account.build_account_context(material)))  # noqa: S704 - escaped there


def render_template(name: str, values: Mapping[str, Any]) -> str:
    """Render the template ``name`` of this package with ``values``."""
    return _template_environment().get_template(name).render(values)


def list_thumbnail_pages(material: ReportInput) -> list[int]:
    """Return the numbers of the pages for which the report shows thumbnails, in order."""
    read = None if material.is_empty else material.pages
    leaves = pages.list_thumbnail_numbers(read, _page_range(read_object(material.report.get("file"))))
    return sorted(
        {*leaves, *feedback.list_proofed_numbers(material.marks, material.annotations)[: pages.MAX_THUMBNAILS]}
    )


def build_context(material: ReportInput) -> dict[str, Any]:
    """Return the variables of the templates."""
    report, file = material.report, read_object(material.report.get("file"))
    period = material.period
    seen = _page_range(file)
    total = read_number(file.get("totalPages"))
    figures = [
        overview.build_views_figure(report, "Views per day" if material.period else ""),
        overview.build_funnel_figure(report),
        overview.build_peak_times_figure(report),
    ]
    views, funnel, peaks = figures
    return {
        "name": material.name,
        "facts": _describe_file(file, total),
        "link": read_web_address(file.get("shareUrl")),
        "cover": material.cover,
        "code": material.code,
        "state": _describe_state(file),
        "window": None if seen is None or file.get("pageRangeEmpty") else words.format_pages(*seen),
        "empty": material.is_empty,
        "ranges": periods.list_choices(material.report_address, period) if material.report_address else [],
        "period": period,
        "period_words": periods.describe_period(report, period) if period else "",
        "report_address": material.report_address,
        "reading_now": overview.count_active_readers(report),
        "tiles": overview.list_tiles(report, period.previous if period else None),
        "views": views,
        "funnel": funnel,
        "peaks": peaks,
        "file_address": material.file_address,
        "uncounted_sessions": session.list_uncounted(list(material.uncounted), material.sessions_address),
        "uncounted": overview.describe_uncounted(report),
        "breakdowns": overview.list_breakdowns(report),
        "pages": pages.build_pages_section(material.pages, material.pictures, seen, report.get("funnel")),
        "page_head": pages.TABLE_HEAD,
        "sessions": people.list_sessions(report, material.sessions_address, material.sessions),
        "shown": people.MAX_VISIBLE_ROWS,
        "few": session.MAX_VISIBLE_UNCOUNTED,
        "all_sessions": _build_list_address(material),
        "contacts": people.build_contact_table(report),
        "recipients": people.list_recipient_links(report, material.other_links),
        "taps": people.list_taps(report),
        "proofs": feedback.list_proofed_pages(material.marks, material.annotations, material.pictures),
        "mark_totals": feedback.summarize_marks(material.marks),
        "who_marked": feedback.list_marks_by_viewer(material.marks),
        "notes": feedback.list_notes(material.feedback),
        "receipts": feedback.list_receipts(material.feedback),
        "hidden": _list_hidden_sections(clean_text(report.get("tier"))),
    }


def _build_list_address(material: ReportInput) -> str | None:
    """Return the address of the page of all sessions of the days of the report, if there is one."""
    if material.sessions_address is None or material.period is None:
        return material.sessions_address
    return f"{material.sessions_address}?{material.period.query}"


def _page_range(file: Row) -> tuple[int, int] | None:
    """Return the first and the last page of the page range; None without a page range."""
    window = read_object(file.get("pageRange"))
    first, last = read_number(window.get("from")), read_number(window.get("to"))
    return (first, last) if 0 < first <= last else None


def is_empty(report: Row) -> bool:
    """Return whether nobody has read the document yet."""
    summary = read_object(report.get("summary"))
    return not any(
        read_number(summary.get(key)) for key in ("totalViews", "totalSessions", "activeReaders", "downloads")
    )


def _describe_file(file: Row, total: int) -> list[str]:
    """Return short facts about the document."""
    found = [format_plural(total, "page")] if total else []
    if (version := read_number(file.get("contentVersion"))) > 1:
        found.append(f"version {version}")
    created = read_instant(file.get("createdAt"))
    if created is not None:
        found.append(f"shared {words.format_date(created)}")
    return found


def _describe_state(file: Row) -> str:
    """Return sentences about the current limits of the link; empty if there are none."""
    burned, ends = read_instant(file.get("burnedAt")), read_instant(file.get("deleteAt"))
    if burned is not None:
        when = words.format_date_time(burned)
        return f"The view limit was reached on {when} UTC. The link is closed; readership is kept."
    sentences = []
    if file.get("pageRangeEmpty"):
        first, last = (
            read_number(read_object(file.get("pageRange")).get("from")),
            read_number(read_object(file.get("pageRange")).get("to")),
        )
        sentences.append(
            f"Readers see no pages: this version does not contain the shared {words.format_pages(first, last)}."
        )
    if limit := read_number(file.get("viewLimit")):
        used = words.format_count(read_number(file.get("viewsConsumed")))
        sentences.append(f"{used} of {format_plural(limit, 'view')} are used.")
    if ends is not None:
        sentences.append(f"The link ends on {words.format_date_time(ends)} UTC.")
    return " ".join(sentences)


def _list_hidden_sections(tier: str) -> list[tuple[str, str]]:
    """Return the higher plans with the sections that each adds: ``(name, words)``."""
    plans = {plan.tier: plan for plan in Plan}
    if tier not in plans:
        return []
    return [(plan.tier.title(), parts) for plan, parts in _SECTIONS_BY_PLAN.items() if plan > plans[tier]]


@cache
def _template_environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
