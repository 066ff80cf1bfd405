"""The page with all sessions of a file, and the same sessions as lines of a CSV file."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from docshare.report import overview, people, periods
from docshare.report.periods import ReportPeriod
from docshare.report.values import Row, clean_text, list_objects, read_number, read_object

CSV_COLUMNS = (
    "sessionId", "startedAt", "reader", "name", "email", "link", "timeMs", "pagesViewed", "shownPages", "country",
    "deviceType", "browser", "returning", "contentVersion", "pageTimesMs",
)  # fmt: skip


@dataclass(frozen=True)
class SessionListInput:
    """The input of the page: ``report`` as in ``ReportInput``, and ``rows`` of the stream of sessions, newest first.

    ``address``, ``report_address``, ``file_address``, ``csv``: addresses of this page, of the report, of the page of
    the file and of the CSV file; ``csv_limit``: how many sessions that has at most, the newest ones; ``older`` and
    ``newest``: addresses of the next older and of the newest sessions, None if the page shows them.
    """

    report: Row
    rows: Sequence[Row]
    address: str
    report_address: str
    file_address: str
    csv: str
    csv_limit: int
    older: str | None
    newest: str | None
    period: ReportPeriod | None


def build_list_context(material: SessionListInput) -> dict[str, Any]:
    """Return the variables of ``sessions.html``."""
    file, period = people.read_file_facts(material.report), material.period
    query = f"?{period.query}" if period else ""
    uncounted = overview.describe_uncounted(material.report)  # of all time
    return {
        "name": clean_text(read_object(material.report.get("file")).get("originalName")) or "Document",
        "sessions": [people.build_session(row, file, material.address) for row in material.rows],
        "ranges": periods.list_choices(material.address, period),
        "period": period,
        "period_words": "",
        "report_address": material.address,  # of the form of the days
        "whole_report": f"{material.report_address}{query}",
        "file_address": material.file_address,
        "csv": material.csv,
        "csv_label": _describe_csv(material),
        "older": material.older,
        "newest": material.newest,
        "uncounted": "" if period else uncounted,
        "reasons": f"{material.report_address}{query}#uncounted-heading" if uncounted else "",
    }


def _describe_csv(material: SessionListInput) -> str:
    counted = read_number(read_object(material.report.get("summary")).get("totalSessions"))  # of all time
    newest = f"the newest {material.csv_limit:,} " if counted > material.csv_limit else ""
    return f"Download {newest}as CSV"


def list_csv_rows(report: Row, rows: Sequence[Row]) -> list[list[str | int]]:
    """Return the cells of ``CSV_COLUMNS`` of each session."""
    labels = people.read_file_facts(report).labels
    return [_build_csv_row(row, labels.get(clean_text(row.get("variantUuid")), "")) for row in rows]


def _build_csv_row(row: Row, label: str) -> list[str | int]:
    pages = list_objects(row.get("pages"))
    times = (f"{read_number(page.get('page'))}:{read_number(page.get('timeMs'))}" for page in pages)
    return [
        *(clean_text(row.get(key)) for key in ("sessionId", "startedAt", "pseudonym", "name", "email")),
        label,
        *(read_number(row.get(key)) for key in ("totalTimeMs", "pagesViewed", "shownPages")),
        *(clean_text(row.get(key)) for key in ("country", "deviceType", "browser")),
        "true" if row.get("returning") is True else "false",
        read_number(row.get("contentVersion")),
        " ".join(times),
    ]
