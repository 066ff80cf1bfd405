"""The sections about readers: sessions, contacts, recipient links, and taps."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from docshare.contract.amounts import format_plural
from docshare.contract.fields import is_uuid
from docshare.report import charts, countries, periods, strips, words
from docshare.report.values import Row, clean_text, list_objects, read_instant, read_number, read_object

MAX_VISIBLE_ROWS = 20  # visible lines; the others are collapsed
_MAX_FIELDS = 8  # maximum number of columns of contacts, whatever a server sends


@dataclass(frozen=True)
class DisplayTime:
    """An instant: ``machine`` for programs, ``human`` as text."""

    machine: str
    human: str


@dataclass(frozen=True)
class FileFacts:
    """The file of a session: the labels of its variants by UUID, its ``current`` version, its ``total`` pages, and
    those that are ``readable`` now, for sessions that do not contain their own number."""

    labels: dict[str, str]
    current: int
    total: int
    readable: int


@dataclass(frozen=True)
class SessionEntry:
    """One session: the reader (``known``: by name, email address, or recipient link; ``alias``: the pseudonym of a
    known reader), country and device, start, duration, and pages, with the number of the page with most time
    (``longest``) and a strip or a bar of all; ``href``: address of its own page, if there is one."""

    who: str
    known: bool
    alias: str
    where: str
    started: DisplayTime | None
    time: str
    pages: str
    longest: str
    bar: Markup
    tags: tuple[str, ...]
    href: str | None


@dataclass(frozen=True)
class ContactTable:
    """The form responses: the keys of the fields, and one line per response."""

    head: tuple[str, ...]
    lines: tuple[tuple[tuple[str, ...], DisplayTime | None], ...]


@dataclass(frozen=True)
class RecipientLinkEntry:
    """One variant: its label, its state, its sessions, and their ``change`` since the range before."""

    label: str
    state: str
    sessions: str
    change: str
    time: str
    bar: Markup


@dataclass(frozen=True)
class TapEntry:
    """A hotspot or button that readers tapped."""

    name: str
    place: str
    count: str
    bar: Markup


def display_time(value: object) -> DisplayTime | None:
    """Return an instant of the report; None if it is malformed."""
    millis = read_instant(value)
    return None if millis is None else DisplayTime(clean_text(value), words.format_date_time(millis))


def list_sessions(
    report: Row, address: str | None = None, rows: Sequence[Row] | None = None
) -> list[SessionEntry] | None:
    """Return the newest sessions; None if the plan does not include them. ``address`` and ``rows``: see
    ``ReportInput.sessions_address`` and ``sessions``."""
    if "sessions" not in report:
        return None
    file = read_file_facts(report)
    found = list_objects(report["sessions"] if rows is None else list(rows))
    return [build_session(row, file, address) for row in found]


def read_file_facts(report: Row) -> FileFacts:
    """Return the facts in ``report`` that the rows of sessions need."""
    file = read_object(report.get("file"))
    total = read_number(file.get("totalPages"))
    return FileFacts(
        {clean_text(row.get("uuid")): clean_text(row.get("label")) for row in list_objects(report.get("variants"))},
        read_number(file.get("contentVersion")),
        total,
        read_number(report.get("effectivePages")) or total,
    )


def build_session(row: Row, file: FileFacts, address: str | None = None) -> SessionEntry:
    """Return one session. ``address``: see ``ReportInput.sessions_address``."""
    name, email = clean_text(row.get("name")), clean_text(row.get("email"))
    who = f"{name} ({email})" if name and email else name or email
    label = file.labels.get(clean_text(row.get("variantUuid")), "")
    seen, pages = read_number(row.get("pagesViewed")), read_number(row.get("shownPages")) or file.readable
    pseudonym, longest = clean_text(row.get("pseudonym")), strips.find_longest_page(row)
    return SessionEntry(
        who or label or pseudonym or "A reader",
        bool(who or label),
        pseudonym if who or label else "",
        describe_place(row),
        display_time(row.get("startedAt")),
        words.format_millis(read_number(row.get("totalTimeMs"))),
        f"{words.format_count(seen)} of {words.format_count(pages)}" if seen <= pages else format_plural(seen, "page"),
        "" if longest is None else words.format_count(longest),
        strips.draw_page_strip(row, file.total) or charts.draw_bar(min(seen * 100 / pages, 100.0) if pages else 0.0),
        tuple(_list_tags(row, file, is_headed_by_label=bool(label and not who))),
        build_session_link(row, address),
    )


def describe_place(row: Row) -> str:
    """Return country, device and browser of a session."""
    where = (
        countries.country_name(clean_text(row.get("country"))),
        clean_text(row.get("deviceType")),
        clean_text(row.get("browser")),
    )
    return " · ".join(filter(None, where))


def build_session_link(row: Row, address: str | None) -> str | None:
    """Return the address of the page of a session below ``address``; None without one."""
    session = clean_text(row.get("sessionId"))
    return f"{address}/{session}" if address and is_uuid(session) else None


def _list_tags(row: Row, file: FileFacts, *, is_headed_by_label: bool) -> list[str]:
    found = []
    if row.get("returning") is True:
        found.append("returning")
    if row.get("fromInvite") is True:
        found.append("invited")
    variant = clean_text(row.get("variantUuid"))
    if is_headed_by_label:
        found.append("personal link")  # which the recipient may have forwarded
    elif variant:
        found.append(f"link of {file.labels[variant]}" if file.labels.get(variant) else "personal link")
    version = read_number(row.get("contentVersion"))
    if version and version != file.current:
        found.append(f"version {version}")
    return found


def build_contact_table(report: Row) -> ContactTable | None:
    """Return the form responses; None if the plan does not include them."""
    if "contacts" not in report:
        return None
    rows = list_objects(report["contacts"])
    head = tuple(dict.fromkeys(clean_text(key) for row in rows for key in read_object(row.get("fields"))))[:_MAX_FIELDS]
    lines = []
    for row in rows:
        fields = {clean_text(key): clean_text(value) for key, value in read_object(row.get("fields")).items()}
        lines.append((tuple(fields.get(key, "") for key in head), display_time(row.get("createdAt"))))
    return ContactTable(head, tuple(lines))


def list_recipient_links(report: Row, others: Row | None = None) -> list[RecipientLinkEntry] | None:
    """Return the variants, those with the most sessions first; None if the plan does not include them. ``others``: see
    ``ReportInput.other_links``; they come last."""
    if "variants" not in report:
        return None
    rows = sorted(list_objects(report["variants"]), key=lambda row: -read_number(row.get("sessions")))
    if rows and others is not None:
        rows.append({**others, "label": "Share link and invitations"})
    highest = max((read_number(row.get("sessions")) for row in rows), default=0) or 1
    return [
        RecipientLinkEntry(
            clean_text(row.get("label")) or ("Label erased" if row.get("redacted") is True else "Without a label"),
            "revoked" if row.get("revoked") is True else "",
            words.format_count(read_number(row.get("sessions"))),
            _describe_change(row),
            words.format_millis(read_number(row.get("avgTimeMs"))),
            charts.draw_bar(read_number(row.get("sessions")) * 100 / highest),
        )
        for row in rows
    ]


def _describe_change(row: Row) -> str:
    if "sessionsBefore" not in row:
        return ""
    return periods.describe_change(read_number(row.get("sessions")), read_number(row["sessionsBefore"]))


def list_taps(report: Row) -> list[TapEntry] | None:
    """Return the taps on hotspots and on the call to action; None if the plan does not include them."""
    if "hotspotTaps" not in report and "ctaTaps" not in report:
        return None
    rows = [
        (
            clean_text(row.get("label")) or "Hotspot",
            f"page {words.format_count(read_number(row.get('page')))}",
            read_number(row.get("count")),
        )
        for row in list_objects(report.get("hotspotTaps"))
    ]
    cta = read_number(report.get("ctaTaps"))
    if cta:
        rows.append(("Call to action", "on every page", cta))
    highest = max((found for _, _, found in rows), default=0) or 1
    return [
        TapEntry(name, place, words.format_count(found), charts.draw_bar(found * 100 / highest))
        for name, place, found in rows
    ]
