"""The readership report: JSON of the API in, HTML with SVG charts out.

Read ``drawing`` first. The page of the server and the file of ``docshare readership report`` use the same code, without
side effects. The JSON can come from any server and contains text of strangers: ``values`` checks every value, and the
templates escape it. Of docshare, it imports only the contract.
"""

from docshare.report.drawing import STATIC, ReportInput, is_empty, list_thumbnail_pages, render_report, render_session
from docshare.report.pages import Thumbnail
from docshare.report.periods import ReportPeriod

__all__ = [
    "STATIC",
    "ReportInput",
    "ReportPeriod",
    "Thumbnail",
    "is_empty",
    "list_thumbnail_pages",
    "render_report",
    "render_session",
]
