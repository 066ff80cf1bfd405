"""Documents with an outline (table of contents)."""

import io
from collections.abc import Sequence

import pikepdf

OutlineRow = tuple[int, int | None, str]


def add_outline(content: bytes, rows: Sequence[OutlineRow]) -> bytes:
    """Return the PDF ``content`` with an outline of ``rows``: level from 0, page from 1 or None, and title."""
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(content)) as pdf:
        with pdf.open_outline() as outline:
            above: list[pikepdf.OutlineItem] = []
            for level, page, title in rows:
                item = pikepdf.OutlineItem(title, None if page is None else page - 1)
                del above[level:]
                (above[-1].children if above else outline.root).append(item)
                above.append(item)
        pdf.save(out)
    return out.getvalue()
