"""Draw a watermark over a page image. Runs only inside the worker."""

import io
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


def stamp_image(file: BinaryIO, mark: dict[str, Any]) -> bytes:
    """Return the JPEG in ``file`` with a watermark, at the same quality.

    ``mark`` holds the arguments of ``draw_image_mark``. Raises PdfRefused ``page``.
    """
    out = io.BytesIO()
    try:
        with PIL.Image.open(file, formats=("JPEG",)) as image:
            image.load()
            draw_image_mark(image, **mark)
            image.save(out, "JPEG", quality="keep")
    except OSError as error:
        raise PdfRefused("page") from error
    return out.getvalue()


@lru_cache(maxsize=8)  # consecutive pages often have the same size
def _render_line(text: str, size: int, opacity: float) -> PIL.Image.Image:
    """Return one slanted line of text as a mask for ``Image.paste``."""
    font = PIL.ImageFont.load_default(size)
    left, top, right, bottom = font.getbbox(text)
    level = PIL.Image.new("L", (max(1, round(right - left)), max(1, round(bottom - top))), 0)
    PIL.ImageDraw.Draw(level).text((-left, -top), text, round(255 * opacity), font)
    return level.rotate(SLANT_DEGREES, PIL.Image.Resampling.BILINEAR, expand=True)
