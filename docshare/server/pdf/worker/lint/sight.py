"""Find text on a page that readers cannot see. Runs only inside the worker.

Text is suspected to be hidden if it is under a later opaque shape, nearly white or invisible, or outside the visible
area of the page. The page is then rendered with and without the suspected text: text that makes no difference is
hidden. OCR text over a scanned page (rendering mode 3 on an image) is invisible on purpose.
"""

import ctypes
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from typing import Any

import PIL.Image
import PIL.ImageChops
import pypdfium2
import pypdfium2.raw as pdfium

from docshare.contract.amounts import format_plural
from docshare.server.pdf.worker.documents import OpenPdfDocument, PdfRefused
from docshare.server.pdf.worker.geometry import PdfRect
from docshare.server.pdf.worker.lint.findings import FindingCollector
from docshare.server.pdf.worker.lint.shapes import INVISIBLE_MODE, PageShapes, collect_shapes, is_touching

_MAX_CHARS = 100_000  # equals the limit of the text layer
_RENDER_SCALE = 2.0  # pixels per point
_MAX_PIXELS = 16_000_000
_DIFFERENCE_THRESHOLD = 12  # of 255; smaller differences are rounding
_MIN_LETTERS = 2  # in a row; single letters are ornaments
_MIN_PALE_LETTERS = 4
_MAX_SLUG_LETTERS = 200
_MAX_DIFFERENT_SHARE = 0.1  # visible share of a hidden letter; boxes drawn by hand are imprecise


@dataclass(frozen=True)
class PageLetter:
    """One letter or digit: its ``box`` in points of the page (left, bottom, right, top), and the address ``owner`` of
    its text object."""

    char: str
    box: PdfRect
    owner: int


@dataclass
class SuspectedText:
    """Runs of suspected letters by reason: ``covered`` by a later shape; ``under_picture``, a later image, which may be
    the scan of the text; ``under_mode``: OCR text under a shape; ``pale``: invisible or nearly white. ``outside`` is
    the number of letters outside the visible area of the page."""

    covered: list[list[PageLetter]] = field(default_factory=list)
    under_picture: list[list[PageLetter]] = field(default_factory=list)
    under_mode: list[list[PageLetter]] = field(default_factory=list)
    pale: list[list[PageLetter]] = field(default_factory=list)
    outside: int = 0

    def runs(self) -> tuple[list[list[PageLetter]], ...]:
        """Return the runs of each reason."""
        return self.covered, self.under_picture, self.under_mode, self.pale


def check_hidden_text(document: OpenPdfDocument, findings: FindingCollector) -> None:
    """Check every page until time runs out."""
    for number in range(1, document.count + 1):
        if findings.is_out_of_time():
            message = f"Pages from {number} on were not checked for hidden text, because time ran out."
            findings.add("unchecked", "warning", message)
            return
        try:
            with document.page(number) as page:
                _check_page(page, number, findings)
        except PdfRefused:
            findings.add(
                "unchecked", "warning", "The page cannot be rendered, so it was not checked for hidden text.", number
            )


def _check_page(page: pypdfium2.PdfPage, number: int, findings: FindingCollector) -> None:
    shapes = collect_shapes(page)
    if not shapes.may_hide(page.get_bbox()):
        return
    with closing(page.get_textpage()) as source:
        suspects = _find_suspects(page, source.raw, shapes)
    if suspects.outside >= _MIN_LETTERS:
        message = f"{format_plural(suspects.outside, 'letter')} outside the visible area can be searched and copied."
        printing = suspects.outside <= _MAX_SLUG_LETTERS and _has_slug(page)
        findings.add("cropped-text", "note" if printing else "warning", message, number)
    if not any(suspects.runs()):
        return
    comparison = _PageComparison(page, shapes)
    covered = comparison.count_unseen(suspects.covered + comparison.filter_plain(suspects.under_picture))
    covered += sum(map(len, comparison.filter_plain(suspects.under_mode)))
    if covered >= _MIN_LETTERS:
        message = f"{format_plural(covered, 'letter')} under a box or image can be selected, searched, and copied."
        findings.add("covered-text", "error", message, number)
    pale = comparison.count_unseen(suspects.pale)
    if pale >= _MIN_PALE_LETTERS:
        message = f"{format_plural(pale, 'invisible letter')}, such as white on white, can be searched and copied."
        findings.add("invisible-text", "warning", message, number)


def _find_suspects(page: pypdfium2.PdfPage, source: Any, shapes: PageShapes) -> SuspectedText:
    found = SuspectedText()
    view = page.get_bbox()
    letters = list(_iterate_letters(source))
    found.outside = _count_outside(letters, view)
    for (_, kind), run in groupby(letters, lambda letter: (letter.owner, _classify_letter(letter, shapes))):
        if kind is not None:
            getattr(found, kind).append(list(run))
    for runs in found.runs():
        runs[:] = [run for run in runs if len(run) >= _MIN_LETTERS]
    return found


def _has_slug(page: pypdfium2.PdfPage) -> bool:
    """Return whether the page is cropped for printing. The text outside is then the slug, with file name and date."""
    trimmed = page.get_trimbox(fallback_ok=False) or page.get_bleedbox(fallback_ok=False)
    sheet = page.get_mediabox()
    return trimmed is not None and trimmed != sheet and page.get_bbox() != sheet


def _count_outside(letters: list[PageLetter], view: PdfRect) -> int:
    """Return the number of letters of texts that are entirely outside of ``view``, unless the same text also occurs
    inside, as a watermark does."""
    texts, inside = defaultdict[int, str](str), set[int]()
    for letter in letters:
        texts[letter.owner] += letter.char
        if is_touching(letter.box, view):
            inside.add(letter.owner)
    visible = {texts[owner] for owner in inside}
    return sum(len(text) for owner, text in texts.items() if owner not in inside and text not in visible)


def _classify_letter(letter: PageLetter, shapes: PageShapes) -> str | None:
    """Return why the letter may be hidden, as a field name of ``SuspectedText``, or None."""
    text = shapes.texts.get(letter.owner)
    if text is None:
        return None
    cover = shapes.find_cover(letter.owner, letter.box)
    if text.mode == INVISIBLE_MODE:
        if cover is not None and not cover.is_picture:
            return "under_mode"
        return None if shapes.is_on_picture(letter.box) else "pale"
    if cover is not None:
        return "under_picture" if cover.is_picture else "covered"
    return "pale" if text.is_faint else None


def _iterate_letters(source: Any) -> Iterator[PageLetter]:
    """Yield letters and digits in reading order."""
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    pointers = [ctypes.byref(side) for side in (left, right, bottom, top)]
    for index in range(min(pdfium.FPDFText_CountChars(source), _MAX_CHARS)):
        code = pdfium.FPDFText_GetUnicode(source, index)
        if code > 0x10FFFF or not chr(code).isalnum():
            continue
        if not pdfium.FPDFText_GetCharBox(source, index, *pointers):
            continue
        box = (left.value, bottom.value, right.value, top.value)
        owner = pdfium.FPDFText_GetTextObject(source, index)
        if box[0] < box[2] and box[1] < box[3] and owner:
            yield PageLetter(chr(code), box, ctypes.addressof(owner.contents))


class _PageComparison:
    """Compares renderings of a page with and without suspected texts."""

    def __init__(self, page: pypdfium2.PdfPage, shapes: PageShapes) -> None:
        self._page = page
        self._shapes = shapes
        width, height = page.get_size()
        self._scale = min(_RENDER_SCALE, (_MAX_PIXELS / max(width * height, 1)) ** 0.5)
        self._rendering = self._render()

    def count_unseen(self, runs: list[list[PageLetter]]) -> int:
        """Return the number of letters that make no visible difference."""
        owners = {letter.owner for run in runs for letter in run}
        for owner in owners:
            pdfium.FPDFPageObj_SetIsActive(self._shapes.texts[owner].handle, False)
        without = self._render()
        for owner in owners:
            pdfium.FPDFPageObj_SetIsActive(self._shapes.texts[owner].handle, True)
        changed = _max_channel(PIL.ImageChops.difference(self._rendering, without))
        parts = (changed.crop(self._pixels([letter])).histogram() for run in runs for letter in run)
        return sum(sum(counts[_DIFFERENCE_THRESHOLD:]) <= _MAX_DIFFERENT_SHARE * sum(counts) for counts in parts)

    def filter_plain(self, runs: list[list[PageLetter]]) -> list[list[PageLetter]]:
        """Return the runs whose area on the page has a single color."""
        return [run for run in runs if self._is_plain(run)]

    def _is_plain(self, run: list[PageLetter]) -> bool:
        part = self._rendering.crop(self._pixels(run))
        middle = tuple(map(_median, part.split()))
        counts = _max_channel(PIL.ImageChops.difference(part, PIL.Image.new("RGB", part.size, middle))).histogram()
        return sum(counts[_DIFFERENCE_THRESHOLD:]) <= _MAX_DIFFERENT_SHARE * sum(counts)

    def _pixels(self, run: list[PageLetter]) -> tuple[int, int, int, int]:
        x0, y0, x1, y1 = zip(*(letter.box for letter in run), strict=True)
        corners = [self._pixel(x, y) for x in (min(x0), max(x1)) for y in (min(y0), max(y1))]
        across, down = [x for x, _ in corners], [y for _, y in corners]
        left, upper = min(across), min(down)
        return left, upper, max(left + 1, max(across)), max(upper + 1, max(down))

    def _pixel(self, x: float, y: float) -> tuple[int, int]:
        across, down = ctypes.c_int(), ctypes.c_int()
        wide, tall = self._rendering.size
        pdfium.FPDF_PageToDevice(self._page, 0, 0, wide, tall, 0, x, y, ctypes.byref(across), ctypes.byref(down))
        return across.value, down.value

    def _render(self) -> PIL.Image.Image:
        bitmap = self._page.render(scale=self._scale, draw_annots=True, may_draw_forms=True, rev_byteorder=True)
        with closing(bitmap):
            picture: PIL.Image.Image = bitmap.to_pil().convert("RGB")
            return picture.copy()


def _max_channel(difference: PIL.Image.Image) -> PIL.Image.Image:
    """Return the largest channel of each pixel."""
    red, green, blue = difference.split()
    return PIL.ImageChops.lighter(PIL.ImageChops.lighter(red, green), blue)


def _median(channel: PIL.Image.Image) -> int:
    counts = channel.histogram()
    half, passed = sum(counts) / 2, accumulate(counts)
    return next(value for value, count in enumerate(passed) if count >= half)
