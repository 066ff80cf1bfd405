"""Load and use once everything that rendering jobs need. Runs only inside the worker, before it is confined.

Libraries import some of their modules on first use, and ctypes then allocates memory for its callbacks. A confined
process can do neither. ``editing`` does the same for jobs that edit.
"""

import codecs
import heapq
import io
import tempfile
from typing import IO

import PIL.Image
import PIL.MpoImagePlugin
import PIL.TiffImagePlugin
import PIL.WebPImagePlugin

from docshare.server.pdf.worker import image_mark, inspect, palette, picture, render, text
from docshare.server.pdf.worker.documents import OpenPdfDocument
from docshare.server.store import segments
from docshare.server.store.stored_bytes import decrypt_file

_CODECS = ("ascii", "latin-1", "utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-16-le", "cp1252")
SAMPLE_MARK = {"text": "x", "opacity": 0.5, "density": "sparse"}
_SAMPLE_TILE = {"left": 0, "top": 0, "size": (8, 8), "page": (16, 16)}
_PRELOADED = (
    PIL.MpoImagePlugin,
    PIL.TiffImagePlugin,
    PIL.WebPImagePlugin,
    palette,
    heapq,
)  # otherwise imported on first use
# Its font is not embedded, so pdfium reads all fonts of the host, once instead of in every fork (2 ms each).
_SAMPLE_PDF = b"""%PDF-1.4
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 72 72]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>> endobj
4 0 obj <</Length 30>>stream
BT /F 40 Tf 10 10 Td (x) Tj ET
endstream endobj
5 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj
trailer <</Root 1 0 R/Size 6>>
"""


def _open_encrypted(content: bytes) -> IO[bytes]:
    """Return a reader of ``content`` that decrypts it, as it does with most documents."""
    key = salt = bytes(segments.KEY_BYTES)
    file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - the reader closes it
    file.write(segments.encrypt_bytes(content, key, salt))
    return decrypt_file(file, key)


def warm_up_drawing() -> None:
    """Run every kind of rendering job on a small page."""
    for name in _CODECS:
        codecs.lookup(name)
    PIL.Image.preinit()
    document = OpenPdfDocument(_open_encrypted(_SAMPLE_PDF))  # type: ignore[arg-type]  # a file for all that it does
    image = render.render_jpeg(document, 1, 8)
    render.render_tile(document, 1, _SAMPLE_TILE, SAMPLE_MARK)
    inspect.measure_pages(document, 1)
    inspect.list_outline(document, 1 << 20)
    text.extract_page_text(document, 1)
    text.extract_plain_texts(document, 1, 1, 1.0, 1 << 20)
    document.close()
    image_mark.stamp_image(io.BytesIO(image), SAMPLE_MARK)
    picture.reencode_image(io.BytesIO(image), "image/jpeg")
