"""Rendering of the report: collect the data of all sections and pass it to the templates."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from docshare.contract.plans import Plan
from docshare.report import feedback, overview, pages, people, words
from docshare.report.pages import Picture
from docshare.report.values import Row, block, moment, number, text, web_address

STATIC = Path(__file__).with_name("static")
_TEMPLATES = Path(__file__).with_name("templates")
# The sections that a plan adds, shown to owners on a lower plan.
_PARTS = {
    Plan.BASIC: "views over time, how far they read, time per page, peak times, and where readers came from",
    Plan.PRO: "who is reading now, sessions with names and email addresses of readers, contacts, links per recipient, "
    "taps, marks, annotations, notes, and receipts",
}


@dataclass(frozen=True)
class Material:
    """The input of a report: unchanged JSON of the API; None if the plan or the server does not provide it.

    ``report``, ``pages``, ``marks``, ``annotations``, and ``feedback`` are the responses of readership,
    readership/pages, page-marks, annotations, and feedback; ``pictures``: thumbnails by page number; ``code``: address
    of the image of the QR code, or None; ``made_at``: time of creation in milliseconds.
    """

    report: Row
    made_at: int
    pages: Row | None = None
    marks: Row | None = None
    annotations: Row | None = None
    feedback: Row | None = None
    pictures: Mapping[int, Picture] = field(default_factory=dict)
    code: str | None = None

    @property
    def name(self) -> str:
        """The name of the document."""
        return text(block(self.report.get("file")).get("originalName")) or "Document"

    @property
    def made(self) -> str:
        """The time of creation as text, in UTC."""
        return words.moment(self.made_at)


def draw(material: Material) -> Markup:
    """Return the report as the content of a page, from its ``header`` to its ``footer``."""
    return Markup(_environment().get_template("report.html").render(facts(material)))  # noqa: S704 - escaped there


def page(name: str, values: Mapping[str, Any]) -> str:
    """Render the template ``name`` of this package with ``values``."""
    return _environment().get_template(name).render(values)


def pictured_pages(material: Material) -> list[int]:
    """Return the numbers of the pages for which the report shows thumbnails, in order."""
    read = None if is_empty(material.report) else material.pages
    leaves = pages.first_pages(read, _window(block(material.report.get("file"))))
    return sorted({*leaves, *feedback.proofed_pages(material.marks, material.annotations)[: pages.SHOWN]})


def facts(material: Material) -> dict[str, Any]:
    """Return the variables of the templates."""
    report, file = material.report, block(material.report.get("file"))
    seen = _window(file)
    total = number(file.get("totalPages"))
    readable = number(report.get("effectivePages")) or total
    figures = [overview.views(report), overview.funnel(report), overview.peak_times(report)]
    views, funnel, peaks = figures
    return {
        "name": material.name,
        "facts": _about(file, total),
        "link": web_address(file.get("shareUrl")),
        "code": material.code,
        "state": _state(file),
        "window": None if seen is None or file.get("pageRangeEmpty") else words.pages(*seen),
        "empty": is_empty(report),
        "reading_now": overview.reading_now(report),
        "tiles": overview.tiles(report),
        "views": views,
        "funnel": funnel,
        "peaks": peaks,
        "uncounted": overview.uncounted_note(report),
        "breakdowns": overview.breakdowns(report),
        "pages": pages.pages(material.pages, material.pictures, seen),
        "page_head": pages.HEAD,
        "sessions": people.sessions(report, readable),
        "shown": people.SHOWN,
        "contacts": people.contacts(report),
        "recipients": people.recipients(report),
        "taps": people.taps(report),
        "proofs": feedback.proofs(material.marks, material.annotations, material.pictures),
        "mark_totals": feedback.totals(material.marks),
        "who_marked": feedback.who_marked(material.marks),
        "notes": feedback.notes(material.feedback),
        "receipts": feedback.receipts(material.feedback),
        "hidden": _hidden(text(report.get("tier"))),
    }


def _window(file: Row) -> tuple[int, int] | None:
    """Return the first and the last page of the page range; None without a page range."""
    window = block(file.get("pageRange"))
    first, last = number(window.get("from")), number(window.get("to"))
    return (first, last) if 0 < first <= last else None


def is_empty(report: Row) -> bool:
    """Return whether nobody has read the document yet."""
    summary = block(report.get("summary"))
    return not any(number(summary.get(key)) for key in ("totalViews", "totalSessions", "activeReaders", "downloads"))


def _about(file: Row, total: int) -> list[str]:
    """Return short facts about the document."""
    found = [words.plural(total, "page")] if total else []
    if (version := number(file.get("contentVersion"))) > 1:
        found.append(f"version {version}")
    created = moment(file.get("createdAt"))
    if created is not None:
        found.append(f"shared {words.day_of(created)}")
    return found


def _state(file: Row) -> str:
    """Return sentences about the current limits of the link; empty if there are none."""
    burned, ends = moment(file.get("burnedAt")), moment(file.get("deleteAt"))
    if burned is not None:
        return f"The view limit was reached on {words.moment(burned)} UTC. The link is closed; readership is kept."
    said = []
    if file.get("pageRangeEmpty"):
        first, last = number(block(file.get("pageRange")).get("from")), number(block(file.get("pageRange")).get("to"))
        said.append(f"Readers see no pages: this version does not contain the shared {words.pages(first, last)}.")
    if limit := number(file.get("viewLimit")):
        said.append(f"{words.count(number(file.get('viewsConsumed')))} of {words.plural(limit, 'view')} are used.")
    if ends is not None:
        said.append(f"The link ends on {words.moment(ends)} UTC.")
    return " ".join(said)


def _hidden(tier: str) -> list[tuple[str, str]]:
    """Return the higher plans with the sections that each adds: ``(name, words)``."""
    plans = {plan.tier: plan for plan in Plan}
    if tier not in plans:
        return []
    return [(plan.tier.title(), parts) for plan, parts in _PARTS.items() if plan > plans[tier]]


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
