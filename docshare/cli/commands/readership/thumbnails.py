"""Render thumbnails of the pages of a PDF."""

import base64
import io
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from docshare.report import Thumbnail

_WIDTH, _HEIGHT = 280, 560  # maximum pixels
_QUALITY = 62


def render_thumbnails(path: Path, pages: Sequence[int], done: Callable[[int], None]) -> dict[int, Thumbnail]:
    """Render ``pages`` of the PDF at ``path`` as ``data:`` URLs of JPEGs, by page number.

    ``done`` is called with the number of finished pages. Pages that cannot be rendered are missing from the result; if
    the document cannot be opened, it is empty.
    """
    import pypdfium2

    found: dict[int, Thumbnail] = {}
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError:
        return found
    try:
        for count, number in enumerate(pages, 1):
            if number <= len(document):
                with suppress(pypdfium2.PdfiumError, ValueError, MemoryError):
                    found[number] = _render_page(document[number - 1])
            done(count)
    finally:
        document.close()
    return found


def _render_page(page: Any) -> Thumbnail:
    wide, tall = page.get_size()
    image = page.render(scale=min(_WIDTH / max(wide, 1), _HEIGHT / max(tall, 1))).to_pil().convert("RGB")
    target = io.BytesIO()
    image.save(target, "JPEG", quality=_QUALITY, optimize=True)
    return Thumbnail(f"data:image/jpeg;base64,{base64.b64encode(target.getvalue()).decode()}", *image.size)
