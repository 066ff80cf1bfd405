"""The readership report: JSON of the API in, HTML with SVG charts out.

Read ``drawing`` first. The page of the server and the file of ``docshare readership report`` use the same code, without
side effects. The JSON can come from any server and contains text of strangers: ``values`` checks every value, and the
templates escape it. Of docshare, it imports only the contract.
"""

from docshare.report.account import ORDERS as ACCOUNT_ORDERS
from docshare.report.account import AccountReportInput
from docshare.report.drawing import (
    STATIC,
    ReportInput,
    is_empty,
    list_thumbnail_pages,
    render_account_report,
    render_report,
    render_session,
    render_sessions,
)
from docshare.report.pages import Thumbnail
from docshare.report.periods import ReportPeriod
from docshare.report.session_list import CSV_COLUMNS, SessionListInput, list_csv_rows

__all__ = [
    "ACCOUNT_ORDERS",
    "CSV_COLUMNS",
    "STATIC",
    "AccountReportInput",
    "ReportInput",
    "ReportPeriod",
    "SessionListInput",
    "Thumbnail",
    "is_empty",
    "list_csv_rows",
    "list_thumbnail_pages",
    "render_account_report",
    "render_report",
    "render_session",
    "render_sessions",
]
