"""Render pages of documents in the process of the test, to compare how they look."""

import pypdfium2
from PIL import Image


def render_page(document: bytes, page: int) -> Image.Image:
    """Return a page (1-based) of ``document`` with its form fields, one pixel per point."""
    with pypdfium2.PdfDocument(document) as pdf:
        pdf.init_forms()
        picture: Image.Image = pdf[page - 1].render(scale=1, may_draw_forms=True).to_pil().convert("RGB")
        return picture
