"""Draw a watermark, slanted lines of repeated text, on the pages of a PDF. Runs only inside the worker."""

import math
import zlib
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pikepdf
from pikepdf import Array, Dictionary, Name, Stream

from docshare.server.pdf.worker.cut import find_inherited
from docshare.server.pdf.worker.leaks import DocumentContents
from docshare.server.pdf.worker.mark_layout import SLANT_DEGREES, lay_out_mark

PageBox = tuple[float, float, float, float]  # left, bottom, right, top in points

_LETTER_SIZE: PageBox = (0.0, 0.0, 612.0, 792.0)
_SAVE_STATE, _RESTORE_STATE = b"q\n", b"\nQ\n"


def draw_watermark(
    pdf: pikepdf.Pdf, text: str, opacity: float, density: str, *, wrapped: bool = False
) -> DocumentContents:
    """Draw ``text`` over every page of ``pdf``; return everything that was added to the document.

    Parameters: ``text`` in ASCII; ``opacity`` 0 to 1; ``density`` ``sparse``, ``normal`` or ``dense``; ``wrapped``:
    first move the contents of each page into a form, because truncated contents would hide the watermark.
    """
    added = DocumentContents()
    forms: dict[tuple[float, ...], Any] = {}
    for page in pdf.pages:
        if wrapped:
            added.add(_wrap_contents(pdf, page))
        box, turn = _visible_box(page.obj), _rotation(page.obj)
        key = (*box, turn)
        if key not in forms:
            forms[key] = _make_mark_form(pdf, box, opacity, _build_instructions(box, turn, text, density))
            added.add_recursively(forms[key])
        name = page.add_resource(forms[key], Name.XObject, prefix="Mark")
        added.names.add(str(name))
        for instructions, first in ((_SAVE_STATE, True), (_RESTORE_STATE + str(name).encode() + b" Do\n", False)):
            stream = Stream(pdf, instructions)
            added.add(stream)
            page.contents_add(stream, prepend=first)
    return added


def _wrap_contents(pdf: pikepdf.Pdf, page: pikepdf.Page) -> Any:
    """Move the contents of ``page`` into a form, which the page then draws; return the form."""
    contents = page.obj.get("/Contents")
    parts = []
    for stream in contents if isinstance(contents, Array) else (contents,):
        if isinstance(stream, Stream):
            with suppress(pikepdf.PdfError):  # contents that cannot be decoded draw nothing
                parts.append(stream.read_bytes())
    form = Stream(pdf, zlib.compress(b"\n".join(parts)), Filter=Name.FlateDecode, Type=Name.XObject, Subtype=Name.Form)
    form.BBox = Array([round(side, 3) for side in _visible_box(page.obj)])
    form.Resources = find_inherited(page.obj, "/Resources") or Dictionary()
    page.obj.Resources = Dictionary(XObject=Dictionary(Page=pdf.make_indirect(form)))
    page.obj.Contents = pdf.make_stream(b"/Page Do")
    return form


def _make_mark_form(pdf: pikepdf.Pdf, box: PageBox, opacity: float, instructions: bytes) -> Any:
    """Return a form of the size ``box`` that draws ``instructions`` with ``opacity``."""
    font = Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Helvetica, Encoding=Name.WinAnsiEncoding)
    state = Dictionary(Type=Name.ExtGState, ca=round(opacity, 3))
    form = Stream(pdf, instructions)
    form.Type, form.Subtype, form.BBox = Name.XObject, Name.Form, Array([round(side, 3) for side in box])
    form.Resources = Dictionary(Font=Dictionary(F=font), ExtGState=Dictionary(G=state))
    return form


def _build_instructions(box: PageBox, turn: int, text: str, density: str) -> bytes:
    """Return the content stream that fills ``box`` with ``text``, for pages rotated by ``turn`` degrees clockwise."""
    left, bottom, right, top = box
    angle = math.radians(SLANT_DEGREES + turn)
    cos, sin = math.cos(angle), math.sin(angle)
    layout = lay_out_mark(right - left, top - bottom, text, density, SLANT_DEGREES + turn)
    escaped = layout.text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)").encode("ascii", "replace")
    lines = [b"/G gs 0.45 g BT /F %.2f Tf" % layout.size]
    for x, y in layout.middles:
        x += (left + right) / 2 - layout.length / 2 * cos
        y += (bottom + top) / 2 - layout.length / 2 * sin
        lines.append(b"%.4f %.4f %.4f %.4f %.2f %.2f Tm (%s) Tj" % (cos, sin, -sin, cos, x, y, escaped))
    return b"\n".join([*lines, b"ET"])


def _visible_box(page: Any) -> PageBox:
    """Return the crop box of the page, or else its media box; US Letter if neither is valid."""
    for key in ("/CropBox", "/MediaBox"):
        values = find_inherited(page, key)
        if isinstance(values, Array) and len(values) == 4 and all(isinstance(side, int | Decimal) for side in values):
            x0, y0, x1, y1 = (float(side) for side in values)
            if x0 != x1 and y0 != y1:
                return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)
    return _LETTER_SIZE


def _rotation(page: Any) -> int:
    turn = find_inherited(page, "/Rotate")
    return turn % 360 if isinstance(turn, int) else 0
