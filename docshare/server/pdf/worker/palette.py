"""Find the dominant colors of the images on the first page. Runs only inside the worker.

Each image is sampled in proportion to the area that it covers on the page, with its masks applied. The colors are those
most frequent among all samples.
"""

import math
import time
from collections import Counter, defaultdict
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium

from docshare.contract.limits import PALETTE_COLORS
from docshare.server.pdf.worker.documents import OpenPdfDocument, PdfRefused

_MIN_SHARE = 0.02  # of all samples; a smaller share is a blurred edge
_MAX_PIXELS = 64_000_000  # of all images together; more cannot be decoded in time
_MAX_IMAGES = 16  # the largest images are sampled
_MAX_OBJECTS = 2_000
_MAX_DEPTH = 4  # of forms within forms
_SAMPLES = 9_216  # pixels in total
_MAX_SIDE = 256
_MIN_OPACITY = 128
_CELL_SIZE = 16  # levels of red, green and blue that share a histogram cell
_MAX_COLOR_DISTANCE = 56.0  # closer colors count as one
_Color = tuple[int, int, int]


@dataclass(frozen=True)
class _PlacedImage:
    """An image and the ``area`` that it covers on the page, in square points."""

    image: pypdfium2.PdfImage
    area: float


def find_palette(document: OpenPdfDocument, budget_s: float) -> list[str]:
    """Return up to six colors (``#rrggbb``) of the images on the first page, most dominant first; empty without images.

    Raises PdfRefused ``page`` if the images cannot be read, are too large, or take more than ``budget_s`` seconds.
    """
    deadline = time.monotonic() + budget_s
    with document.page(1) as page:
        images = _find_largest_images(page, deadline)
        total_area = sum(placed.area for placed in images)
        pixels = bytearray()
        for placed in images:
            _require_time(deadline)
            pixels += _sample_pixels(placed.image, placed.area / total_area)
    return _find_dominant_colors(bytes(pixels)) if pixels else []


def _find_largest_images(page: pypdfium2.PdfPage, deadline: float) -> list[_PlacedImage]:
    found = []
    for number, item in enumerate(page.get_objects(max_depth=_MAX_DEPTH)):
        if number >= _MAX_OBJECTS:
            break
        _require_time(deadline)
        if item.type == pdfium.FPDF_PAGEOBJ_IMAGE:
            found.append(_PlacedImage(item, _covered_area(item)))
    visible = [placed for placed in found if math.isfinite(placed.area) and placed.area > 0]
    largest = sorted(visible, key=lambda placed: -placed.area)[:_MAX_IMAGES]
    if sum(math.prod(placed.image.get_px_size()) for placed in largest) > _MAX_PIXELS:
        raise PdfRefused("page")
    return largest


def _covered_area(item: pypdfium2.PdfObject | None) -> float:
    """Return the area of the unit square of ``item`` on the page, transformed by all enclosing forms."""
    area = 1.0
    while item is not None:
        matrix = item.get_matrix()
        area *= abs(matrix.a * matrix.d - matrix.b * matrix.c)
        item = item.container
    return area


def _sample_pixels(image: pypdfium2.PdfImage, share: float) -> bytes:
    """Return about ``share`` of all samples from ``image`` as RGB bytes, without transparent pixels."""
    wide, tall = image.get_px_size()
    if not wide or not tall:
        raise PdfRefused("page")
    count = max(1.0, _SAMPLES * share)
    width = min(max(1, round(math.sqrt(count * wide / tall))), _MAX_SIDE)
    height = min(max(1, round(count / width)), _MAX_SIDE)
    # The change is lost when the page is closed; the document is never saved.
    image.set_matrix(pypdfium2.PdfMatrix(width, 0, 0, height, 0, 0))
    rgba = image.get_bitmap(render=True, scale_to_original=False).to_pil().convert("RGBA").tobytes()
    return b"".join(rgba[at : at + 3] for at in range(0, len(rgba), 4) if rgba[at + 3] >= _MIN_OPACITY)


def _find_dominant_colors(pixels: bytes) -> list[str]:
    """Return the most frequent colors of ``pixels``. Similar colors count as the most frequent of them, so every result
    is a color of the image."""
    counts = Counter(zip(pixels[::3], pixels[1::3], pixels[2::3], strict=True))
    cells: dict[_Color, Counter[_Color]] = defaultdict(Counter)
    for color, count in counts.items():
        red, green, blue = color
        cells[red // _CELL_SIZE, green // _CELL_SIZE, blue // _CELL_SIZE][color] = count
    shares: dict[_Color, int] = {}
    for cell in sorted(cells.values(), key=Counter.total, reverse=True):
        color = cell.most_common(1)[0][0]
        similar = next((known for known in shares if math.dist(known, color) < _MAX_COLOR_DISTANCE), color)
        shares[similar] = shares.get(similar, 0) + cell.total()
    kept = [color for color, count in shares.items() if count >= _MIN_SHARE * len(pixels) / 3]
    return ["#" + bytes(color).hex() for color in sorted(kept, key=lambda each: -shares[each])[:PALETTE_COLORS]]


def _require_time(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise PdfRefused("page")
