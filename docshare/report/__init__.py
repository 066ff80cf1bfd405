"""The readership report as a page: the JSON of the API in, HTML with server-made SVG out.

Pure drawing, so that the page of the bundled server and the file that ``docshare readership report`` writes are the
same. What it draws may come from any server and quotes strangers: every value is checked in ``values`` and escaped.
"""

from docshare.report.drawing import STATIC, Material, draw, is_empty, pictured_pages
from docshare.report.pages import Picture

__all__ = ["STATIC", "Material", "Picture", "draw", "is_empty", "pictured_pages"]
