"""The sections about readers: sessions, contacts, recipient links, and taps."""

from dataclasses import dataclass

from markupsafe import Markup

from docshare.report import charts, countries, words
from docshare.report.values import Row, block, moment, number, rows, text

SHOWN = 20  # visible lines; the others are collapsed
_FIELDS = 8  # maximum number of columns of contacts, whatever a server sends


@dataclass(frozen=True)
class Moment:
    """An instant: ``machine`` for programs, ``human`` as text."""

    machine: str
    human: str


@dataclass(frozen=True)
class Session:
    """One session: the reader (``known``: by name or email address), country and device, start, duration, and pages."""

    who: str
    known: bool
    where: str
    started: Moment | None
    time: str
    pages: str
    bar: Markup
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Contacts:
    """The form responses: the keys of the fields, and one line per response."""

    head: tuple[str, ...]
    lines: tuple[tuple[tuple[str, ...], Moment | None], ...]


@dataclass(frozen=True)
class Recipient:
    """One variant: its label, its state, and its sessions."""

    label: str
    state: str
    sessions: str
    time: str
    bar: Markup


@dataclass(frozen=True)
class Tap:
    """A hotspot or button that readers tapped."""

    name: str
    place: str
    count: str
    bar: Markup


def when(value: object) -> Moment | None:
    """Return an instant of the report; None if it is malformed."""
    millis = moment(value)
    return None if millis is None else Moment(text(value), words.moment(millis))


def sessions(report: Row, pages: int) -> list[Session] | None:
    """Return the newest sessions; None if the plan does not include them. ``pages``: the number of pages for sessions
    that do not contain their own."""
    if "sessions" not in report:
        return None
    labels = {text(row.get("uuid")): text(row.get("label")) for row in rows(report.get("variants"))}
    current = number(block(report.get("file")).get("contentVersion"))
    return [_session(row, pages, labels, current) for row in rows(report["sessions"])]


def _session(row: Row, pages: int, labels: dict[str, str], current: int) -> Session:
    name, email = text(row.get("name")), text(row.get("email"))
    who = f"{name} ({email})" if name and email else name or email
    where = (countries.name_of(text(row.get("country"))), text(row.get("deviceType")), text(row.get("browser")))
    seen, pages = number(row.get("pagesViewed")), number(row.get("shownPages")) or pages
    return Session(
        who or "A reader",
        bool(who),
        " · ".join(filter(None, where)),
        when(row.get("startedAt")),
        words.duration(number(row.get("totalTimeMs"))),
        f"{words.count(seen)} of {words.count(pages)}" if seen <= pages else words.plural(seen, "page"),
        charts.bar(min(seen * 100 / pages, 100.0) if pages else 0.0),
        tuple(_tags(row, labels, current)),
    )


def _tags(row: Row, labels: dict[str, str], current: int) -> list[str]:
    found = []
    if row.get("returning") is True:
        found.append("returning")
    if row.get("fromInvite") is True:
        found.append("invited")
    variant = text(row.get("variantUuid"))
    if variant:
        found.append(f"link of {labels[variant]}" if labels.get(variant) else "recipient link")
    version = number(row.get("contentVersion"))
    if version and version != current:
        found.append(f"version {version}")
    return found


def contacts(report: Row) -> Contacts | None:
    """Return the form responses; None if the plan does not include them."""
    if "contacts" not in report:
        return None
    told = rows(report["contacts"])
    head = tuple(dict.fromkeys(text(key) for row in told for key in block(row.get("fields"))))[:_FIELDS]
    lines = []
    for row in told:
        fields = {text(key): text(value) for key, value in block(row.get("fields")).items()}
        lines.append((tuple(fields.get(key, "") for key in head), when(row.get("createdAt"))))
    return Contacts(head, tuple(lines))


def recipients(report: Row) -> list[Recipient] | None:
    """Return the variants, those with most sessions first; None if the plan does not include them."""
    if "variants" not in report:
        return None
    told = sorted(rows(report["variants"]), key=lambda row: -number(row.get("sessions")))
    highest = max((number(row.get("sessions")) for row in told), default=0) or 1
    return [
        Recipient(
            text(row.get("label")) or ("Label erased" if row.get("redacted") is True else "Without a label"),
            "revoked" if row.get("revoked") is True else "",
            words.count(number(row.get("sessions"))),
            words.duration(number(row.get("avgTimeMs"))),
            charts.bar(number(row.get("sessions")) * 100 / highest),
        )
        for row in told
    ]


def taps(report: Row) -> list[Tap] | None:
    """Return the taps on hotspots and on the call to action; None if the plan does not include them."""
    if "hotspotTaps" not in report and "ctaTaps" not in report:
        return None
    told = [
        (text(row.get("label")) or "Hotspot", f"page {words.count(number(row.get('page')))}", number(row.get("count")))
        for row in rows(report.get("hotspotTaps"))
    ]
    cta = number(report.get("ctaTaps"))
    if cta:
        told.append(("Call to action", "on every page", cta))
    highest = max((found for _, _, found in told), default=0) or 1
    return [Tap(name, place, words.count(found), charts.bar(found * 100 / highest)) for name, place, found in told]
