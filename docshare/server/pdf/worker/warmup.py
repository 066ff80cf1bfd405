"""Load and use once whatever the jobs of a worker need. Runs inside the worker only, before it is confined.

Libraries import parts of themselves at first use, and ctypes gets memory for its callbacks then: neither is possible
afterwards. What only the jobs need that edit is in ``editing``.
"""

import codecs
import heapq
import io

import PIL.Image
import PIL.MpoImagePlugin
import PIL.TiffImagePlugin
import PIL.WebPImagePlugin

from docshare.server.pdf.worker import image_mark, inspect, palette, picture, render, text
from docshare.server.pdf.worker.documents import OpenPdfDocument

_CODECS = ("ascii", "latin-1", "utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-16-le", "cp1252")
SAMPLE_MARK = {"text": "x", "opacity": 0.5, "density": "sparse"}
_PRELOADED = (
    PIL.MpoImagePlugin,
    PIL.TiffImagePlugin,
    PIL.WebPImagePlugin,
    palette,
    heapq,
)  # otherwise when first needed
_BLANK_PDF = b"""%PDF-1.4
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 72 72]>> endobj
trailer <</Root 1 0 R/Size 4>>
"""


def warm_up_drawing() -> None:
    """Make every kind of answer about a page without anything on it."""
    for name in _CODECS:
        codecs.lookup(name)
    PIL.Image.preinit()
    document = OpenPdfDocument(io.BytesIO(_BLANK_PDF))
    drawn = render.render_jpeg(document, 1, 8)
    inspect.measure_pages(document, 1)
    text.extract_page_text(document, 1)
    document.close()
    image_mark.stamp_image(io.BytesIO(drawn), SAMPLE_MARK)
    picture.reencode_image(io.BytesIO(drawn), "image/jpeg")
