"""The report as one file: style and pictures inside, no script, and a policy that loads nothing from anywhere."""

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

from markupsafe import Markup

from docshare.report.drawing import STATIC, Material, draw, page

_POLICY = "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'"
# The design system of the share pages, so that there is one; the server's package is where it stands.
_DESIGN = Path(__file__).parents[1] / "server" / "web" / "static" / "design.css"
_STYLES = ("report.css", "tables.css", "feedback.css", "screens.css")
_TYPEFACE = re.compile(r"@font-face \{.*?\n\}\n", re.DOTALL)


def document(material: Material, instance: str) -> str:
    """The whole file. ``instance``: address of the server it was made from."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    values = {
        "policy": f"{_POLICY}; style-src 'sha256-{digest}'",
        "name": material.name,
        "style": Markup(_style()),  # noqa: S704 - our own
        "content": draw(material),
        "made": material.made,
        "instance": instance,
    }
    return page("standalone.html", values)


@cache
def _style() -> str:
    """Everything but the typeface, which would be fetched: the system's own takes its place."""
    design = _TYPEFACE.sub("", _DESIGN.read_text(encoding="utf-8"))
    return "\n".join((design, *((STATIC / name).read_text(encoding="utf-8") for name in _STYLES)))
