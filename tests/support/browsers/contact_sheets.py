"""Sheets of pictures with captions."""

from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

_GAP, _CAPTION = 24, 34
_PAPER, _INK, _EDGE = "#d9d9de", "#1b1b1e", "#8a8a94"


def write_sheets(folder: Path, name: str, pictures: Sequence[tuple[str, Path]], *, columns: int, width: int) -> None:
    """Write ``name-01.png`` and so on: 12 pictures each, scaled to ``width``, with their captions above."""
    for start in range(0, len(pictures), 12):
        sheet = _draw_sheet(pictures[start : start + 12], columns, width)
        sheet.save(folder / f"{name}-{start // 12 + 1:02d}.png")


def _draw_sheet(pictures: Sequence[tuple[str, Path]], columns: int, width: int) -> Image.Image:
    rows = [pictures[start : start + columns] for start in range(0, len(pictures), columns)]
    scaled = [[(caption, _load_scaled(path, width)) for caption, path in row] for row in rows]
    heights = [max(image.height for _, image in row) + _CAPTION + _GAP for row in scaled]
    sheet = Image.new("RGB", (columns * (width + _GAP) + _GAP, sum(heights) + _GAP), _PAPER)
    pen, font, top = ImageDraw.Draw(sheet), ImageFont.load_default(18), _GAP
    for row, height in zip(scaled, heights, strict=True):
        for column, (caption, image) in enumerate(row):
            left = _GAP + column * (width + _GAP)
            pen.text((left, top), caption, _INK, font)
            sheet.paste(image, (left, top + _CAPTION))
            frame = (left - 1, top + _CAPTION - 1, left + image.width, top + _CAPTION + image.height)
            pen.rectangle(frame, outline=_EDGE)
        top += height
    return sheet


def _load_scaled(path: Path, width: int) -> Image.Image:
    with Image.open(path) as image:
        return image.convert("RGB").resize(
            (width, max(1, image.height * width // image.width)), Image.Resampling.LANCZOS
        )
