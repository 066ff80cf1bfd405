"""The dominant colours of the images on the first page. Runs inside the worker only.

Each image is drawn small, as its masks leave it and the larger the more of the page it covers; then all their pixels
together are counted.
"""

import math
import time
from collections import Counter, defaultdict
from typing import NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from docshare.contract.limits import PALETTE_COLORS
from docshare.server.pdf.worker.documents import OpenPdfDocument, PdfRefused

_MIN_SHARE = 0.02  # of all pixels: less is a blurred edge
_MAX_PIXELS = 64_000_000  # of all images together: more cannot be decoded in time
_MAX_IMAGES = 16  # the largest count
_MAX_OBJECTS = 2_000
_MAX_DEPTH = 4  # of forms within forms
_SAMPLES = 9_216  # pixels in all
_MAX_SIDE = 256
_MIN_OPACITY = 128
_CELL_SIZE = 16  # levels of red, green and blue that are counted together at first
_MAX_COLOR_DISTANCE = 56.0  # distance of two colours that count as one
_Color = tuple[int, int, int]


class _PlacedImage(NamedTuple):
    """An image and the ``area`` it covers on the page, in square points."""

    image: pypdfium2.PdfImage
    area: float


def find_palette(document: OpenPdfDocument, budget_s: float) -> list[str]:
    """Up to six ``#rrggbb`` of the first page's images, most dominant first; empty where there are none.

    Raises Refused ``page`` for what cannot be read, is too large, or is not done within ``budget_s`` seconds.
    """
    ends = time.monotonic() + budget_s
    with document.page(1) as page:
        pictures = _find_largest_images(page, ends)
        whole = sum(picture.area for picture in pictures)
        pixels = bytearray()
        for picture in pictures:
            _require_time(ends)
            pixels += _sample_pixels(picture.image, picture.area / whole)
    return _find_dominant_colors(bytes(pixels)) if pixels else []


def _find_largest_images(page: pypdfium2.PdfPage, ends: float) -> list[_PlacedImage]:
    found = []
    for number, item in enumerate(page.get_objects(max_depth=_MAX_DEPTH)):
        if number >= _MAX_OBJECTS:
            break
        _require_time(ends)
        if item.type == pdfium.FPDF_PAGEOBJ_IMAGE:
            found.append(_PlacedImage(item, _covered_area(item)))
    seen = [picture for picture in found if math.isfinite(picture.area) and picture.area > 0]
    largest = sorted(seen, key=lambda picture: -picture.area)[:_MAX_IMAGES]
    if sum(math.prod(picture.image.get_px_size()) for picture in largest) > _MAX_PIXELS:
        raise PdfRefused("page")
    return largest


def _covered_area(item: pypdfium2.PdfObject | None) -> float:
    """What the unit square of ``item`` covers on the page, through all forms around it."""
    area = 1.0
    while item is not None:
        matrix = item.get_matrix()
        area *= abs(matrix.a * matrix.d - matrix.b * matrix.c)
        item = item.container
    return area


def _sample_pixels(image: pypdfium2.PdfImage, share: float) -> bytes:
    """``image`` as red, green and blue of about ``share`` of all samples; what its masks hide is left out."""
    wide, tall = image.get_px_size()
    if not wide or not tall:
        raise PdfRefused("page")
    count = max(1.0, _SAMPLES * share)
    width = min(max(1, round(math.sqrt(count * wide / tall))), _MAX_SIDE)
    height = min(max(1, round(count / width)), _MAX_SIDE)
    # Nothing of this is written to the document: the page forgets it when it is closed.
    image.set_matrix(pypdfium2.PdfMatrix(width, 0, 0, height, 0, 0))
    drawn = image.get_bitmap(render=True, scale_to_original=False).to_pil().convert("RGBA").tobytes()
    return b"".join(drawn[at : at + 3] for at in range(0, len(drawn), 4) if drawn[at + 3] >= _MIN_OPACITY)


def _find_dominant_colors(pixels: bytes) -> list[str]:
    """The colours that most of ``pixels`` are like. Like ones count together but are not mixed: what is told occurs."""
    counts = Counter(zip(pixels[::3], pixels[1::3], pixels[2::3], strict=True))
    cells: dict[_Color, Counter[_Color]] = defaultdict(Counter)
    for colour, count in counts.items():
        red, green, blue = colour
        cells[red // _CELL_SIZE, green // _CELL_SIZE, blue // _CELL_SIZE][colour] = count
    shares: dict[_Color, int] = {}
    for cell in sorted(cells.values(), key=Counter.total, reverse=True):
        colour = cell.most_common(1)[0][0]
        like = next((known for known in shares if math.dist(known, colour) < _MAX_COLOR_DISTANCE), colour)
        shares[like] = shares.get(like, 0) + cell.total()
    kept = [colour for colour, count in shares.items() if count >= _MIN_SHARE * len(pixels) / 3]
    return ["#" + bytes(colour).hex() for colour in sorted(kept, key=lambda each: -shares[each])[:PALETTE_COLORS]]


def _require_time(ends: float) -> None:
    if time.monotonic() > ends:
        raise PdfRefused("page")
