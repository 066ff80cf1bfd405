"""Render a page as a JPEG. Runs only inside the worker."""

import ctypes
import io
import math
import time
from collections.abc import Sequence
from typing import Any

import PIL.Image
import PIL.ImageChops
import PIL.JpegImagePlugin
import pypdfium2.raw as pdfium

from docshare.server.pdf.worker import image_mark
from docshare.server.pdf.worker.documents import OpenPdfDocument, PdfRefused

MAX_PIXELS = 16_000_000
_MAX_SIDE = 16_384  # JPEG allows 65,535, browsers and graphics cards much less
# Other formats are smaller, but encoding them takes longer than rendering. On pages of text, drawings, a scan, both
# mixed, and dense text, 1600 pixels wide, with Pillow on one core, relative to this JPEG (9 ms):
#   WebP 80, method 0 (the fastest)  66 to 84 % of the bytes, 6 to 10 times the processor time
#   WebP 75, method 4 (the default)  48 to 66 %, 20 to 25 times
#   AVIF 60, speed 10 (the fastest)  49 to 64 %, 13 to 22 times
#   JPEG, progressive                83 to 91 %, 4 to 5 times
#   JPEG, optimized                  92 to 96 %, twice
# Each page is encoded while its first reader waits, on cores that also serve the other readers.
_JPEG_QUALITY = 80
_WHITE = 0xFFFFFFFF
_COSTLY_S = 0.5  # processor time
_IS_ZERO = [255] + [0] * 255
_CONTRAST = 1.4


def render_jpeg(document: OpenPdfDocument, number: int, width: int, mark: dict[str, Any] | None = None) -> bytes:
    """Return page ``number`` (1-based) as a JPEG, ``width`` pixels wide, or narrower if the page is extremely tall.

    ``mark`` is None or the arguments of ``image_mark.draw_image_mark``. Raises PdfRefused ``page``.
    """
    with document.page(number) as page:
        width_pt, height_pt = page.get_size()
        size = pixel_size(width_pt, height_pt, width)
        image = _draw(page, size, (0, 0), size)
    if mark is not None:
        image_mark.draw_image_mark(image, **mark)
    return _encode(image)


def render_tile(
    document: OpenPdfDocument, number: int, tile: dict[str, Any], mark: dict[str, Any] | None = None
) -> bytes:
    """Return a part of page ``number`` (1-based) as a JPEG, with sharper text than ``render_jpeg``.

    ``tile``: the ``size`` of the part, what is to its ``left`` and above its ``top``, and the size of the whole
    ``page``, all in pixels (``ZoomTile.describe``). Otherwise as ``render_jpeg``.
    """
    with document.page(number) as page:
        place = tile["size"], (tile["left"], tile["top"]), tile["page"]
        began = time.process_time()
        image = _draw(page, *place)
        if time.process_time() - began < _COSTLY_S:  # the second time takes as long
            image = _sharpen_text(image, _draw(page, *place, pdfium.FPDF_LCD_TEXT))
    if mark is not None:
        image_mark.draw_tile_mark(image, tile, **mark)
    return _encode(image)


def _draw(
    page: Any, size: Sequence[int], offset: tuple[int, int], whole: Sequence[int], flags: int = 0
) -> PIL.Image.Image:
    """Return the part of ``page``, drawn at ``whole`` pixels, that is ``size`` pixels large, from ``offset`` on."""
    (wide, tall), (left, top) = size, offset
    # pdfium writes red, green, blue, unused; Pillow encodes directly from that buffer.
    pixels = bytearray(wide * tall * 4)
    buffer = (ctypes.c_char * len(pixels)).from_buffer(pixels)
    bitmap = pdfium.FPDFBitmap_CreateEx(wide, tall, pdfium.FPDFBitmap_BGRx, buffer, wide * 4)
    if not bitmap:
        raise PdfRefused("page")
    try:
        flags |= pdfium.FPDF_ANNOT | pdfium.FPDF_REVERSE_BYTE_ORDER
        pdfium.FPDFBitmap_FillRect(bitmap, 0, 0, wide, tall, _WHITE)
        pdfium.FPDF_RenderPageBitmap(bitmap, page, -left, -top, *whole, 0, flags)
        if page.formenv:
            pdfium.FPDF_FFLDraw(page.formenv, bitmap, page, -left, -top, *whole, 0, flags)
    finally:
        pdfium.FPDFBitmap_Destroy(bitmap)
    return PIL.Image.frombuffer("RGBX", (wide, tall), pixels, "raw", "RGBX", 0, 1)


def _sharpen_text(image: PIL.Image.Image, subpixels: PIL.Image.Image) -> PIL.Image.Image:
    """Return ``image`` with the sharper text of ``subpixels``, which is the same part drawn for the thirds of a pixel
    that LCDs have; a gray image if ``image`` has no color.

    pdfium always draws text in thirds and averages them by default, which blurs it. The middle third is sharp and in
    the same place. Where the image has no color, the middle third replaces all three colors, with a contrast to the
    other thirds that makes text as sharp as that of browsers.
    """
    red, green, blue = image.split()[:3]
    left, middle, right = subpixels.split()[:3]
    middle = PIL.Image.blend(PIL.Image.blend(left, right, 0.5), middle, _CONTRAST)
    color = PIL.ImageChops.lighter(PIL.ImageChops.difference(red, green), PIL.ImageChops.difference(green, blue))
    if not color.getbbox():
        return middle
    is_gray = color.point(_IS_ZERO)
    return PIL.Image.merge("RGB", [PIL.Image.composite(middle, one, is_gray) for one in (red, green, blue)])


def _encode(image: PIL.Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=_JPEG_QUALITY)
    return out.getvalue()


def pixel_size(width_pt: float, height_pt: float, width: int) -> tuple[int, int]:
    """Return the width and height in pixels of a page of ``width_pt`` x ``height_pt`` points at ``width`` pixels,
    scaled down to ``MAX_PIXELS`` and ``_MAX_SIDE``. Raises PdfRefused ``page`` if the page has no area."""
    if not (math.isfinite(width_pt) and math.isfinite(height_pt) and width_pt > 0 and height_pt > 0):
        raise PdfRefused("page")
    scale = width / width_pt
    area = width_pt * height_pt * scale * scale
    if area > MAX_PIXELS:
        scale *= math.sqrt(MAX_PIXELS / area)
    scale = min(scale, _MAX_SIDE / width_pt, _MAX_SIDE / height_pt)
    return max(1, round(width_pt * scale)), max(1, round(height_pt * scale))
