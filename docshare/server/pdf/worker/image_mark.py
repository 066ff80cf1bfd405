"""Draw a watermark over a page image. Runs only inside the worker."""

import io
import math
from functools import lru_cache
from typing import Any, BinaryIO

import PIL.Image
import PIL.ImageDraw
import PIL.ImageFont
import PIL.JpegImagePlugin

from docshare.server.pdf.worker.documents import PdfRefused
from docshare.server.pdf.worker.mark_layout import SLANT_DEGREES, lay_out_mark

_GRAY_LEVEL = 115  # visible on white and on black


def draw_image_mark(image: PIL.Image.Image, text: str, opacity: float, density: str) -> None:
    """Fill ``image`` with the watermark ``text``, in place.

    Parameters: ``text`` in ASCII; ``opacity`` 0 to 1; ``density`` ``sparse``, ``normal`` or ``dense``.
    """
    wide, tall = image.size
    lines = lay_out_mark(wide, tall, text, density, SLANT_DEGREES)
    mask = _render_line(lines.text, max(1, round(lines.size)), opacity)
    for x, y in lines.middles:
        position = (round(wide / 2 + x - mask.width / 2), round(tall / 2 - y - mask.height / 2))
        image.paste((_GRAY_LEVEL,) * len(image.getbands()), position, mask)


def draw_tile_mark(image: PIL.Image.Image, tile: dict[str, Any], text: str, opacity: float, density: str) -> None:
    """Draw the part of the watermark of a page that is on the ``tile`` of ``render.render_tile``, in place.

    A slanted line of a whole page would need hundreds of megabytes at a high zoom, so only the tile is slanted. The
    other parameters are those of ``draw_image_mark``.
    """
    wide, tall = tile["page"]
    lines = lay_out_mark(wide, tall, text, density, SLANT_DEGREES)
    strip = _render_straight_line(lines.text, max(1, round(lines.size)), opacity)
    cos, sin = math.cos(math.radians(SLANT_DEGREES)), math.sin(math.radians(SLANT_DEGREES))
    reach = math.hypot(*strip.size) / 2
    for x, y in lines.middles:
        # The middle of the line, in pixels of the tile.
        across, down = wide / 2 + x - tile["left"], tall / 2 - y - tile["top"]
        if not (-reach < across < image.width + reach and -reach < down < image.height + reach):
            continue
        # From a pixel of the tile to one of the straight line.
        start = strip.width / 2 - cos * across + sin * down, strip.height / 2 - sin * across - cos * down
        matrix = cos, -sin, start[0], sin, cos, start[1]
        mask = strip.transform(image.size, PIL.Image.Transform.AFFINE, matrix, PIL.Image.Resampling.BILINEAR)
        image.paste((_GRAY_LEVEL,) * len(image.getbands()), (0, 0), mask)


def stamp_image(file: BinaryIO, mark: dict[str, Any], tile: dict[str, Any] | None = None) -> bytes:
    """Return the JPEG in ``file``, a page or a ``tile`` of one, with a watermark, at the same quality.

    ``mark`` holds the arguments of ``draw_image_mark``. Raises PdfRefused ``page``.
    """
    out = io.BytesIO()
    try:
        with PIL.Image.open(file, formats=("JPEG",)) as image:
            image.load()
            if tile is None:
                draw_image_mark(image, **mark)
            else:
                draw_tile_mark(image, tile, **mark)
            image.save(out, "JPEG", quality="keep")
    except OSError as error:
        raise PdfRefused("page") from error
    return out.getvalue()


@lru_cache(maxsize=8)  # consecutive pages often have the same size
def _render_line(text: str, size: int, opacity: float) -> PIL.Image.Image:
    """Return one slanted line of text as a mask for ``Image.paste``."""
    return _render_straight_line(text, size, opacity).rotate(SLANT_DEGREES, PIL.Image.Resampling.BILINEAR, expand=True)


def _render_straight_line(text: str, size: int, opacity: float) -> PIL.Image.Image:
    font = PIL.ImageFont.load_default(size)
    left, top, right, bottom = font.getbbox(text)
    level = PIL.Image.new("L", (max(1, round(right - left)), max(1, round(bottom - top))), 0)
    PIL.ImageDraw.Draw(level).text((-left, -top), text, round(255 * opacity), font)
    return level
