"""The report as one file: with embedded styles and images, without scripts and external resources."""

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

from markupsafe import Markup

from docshare.report.drawing import STATIC, ReportInput, render_report, render_template

_POLICY = "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'"
# The stylesheet of the share pages, which is part of the server package.
_DESIGN_STYLE = Path(__file__).parents[1] / "server" / "web" / "static" / "design.css"
_STYLES = ("report.css", "tables.css", "sessions.css", "feedback.css", "screens.css", "strip.css")
_FONT_FACE = re.compile(r"@font-face \{.*?\n\}\n", re.DOTALL)


def render_standalone(material: ReportInput, instance: str) -> str:
    """Return the whole file. ``instance``: address of the server."""
    digest = base64.b64encode(hashlib.sha256(_inline_style().encode()).digest()).decode()
    values = {
        "policy": f"{_POLICY}; style-src 'sha256-{digest}'",
        "name": material.name,
        "style": Markup(_inline_style()),  # noqa: S704 - our own
        "content": render_report(material),
        "made": material.created_text,
        "instance": instance,
    }
    return render_template("standalone.html", values)


@cache
def _inline_style() -> str:
    """Return all styles without the web font, which would be loaded from the server; the system font replaces it."""
    design = _FONT_FACE.sub("", _DESIGN_STYLE.read_text(encoding="utf-8"))
    return "\n".join((design, *((STATIC / name).read_text(encoding="utf-8") for name in _STYLES)))
