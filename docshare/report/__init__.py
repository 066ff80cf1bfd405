"""The readership report: JSON of the API in, HTML with SVG charts out.

The page of the server and the file of ``docshare readership report`` use the same code, without side effects. The JSON
can come from any server and contains text of strangers: ``values`` checks every value, and the templates escape it.
"""

from docshare.report.drawing import STATIC, Material, draw, is_empty, pictured_pages
from docshare.report.pages import Picture

__all__ = ["STATIC", "Material", "Picture", "draw", "is_empty", "pictured_pages"]
