"""List the texts of a page and the opaque shapes that could hide them. Runs only inside the worker."""

import ctypes
import math
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, product
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from docshare.server.pdf.worker.geometry import PdfRect

_MAX_DEPTH = 12  # of nested forms
_MAX_OBJECTS = 50_000  # per page
_MIN_OPACITY = 250  # of 255
_COVERED_SHARE = 0.9  # of the area of a covered letter
_MIN_COVER_SIDE = 2.0  # points; a thinner shape does not hide a letter
_MIN_COVER_STROKE = 4.0  # points; a thinner line does not hide a letter
_CELL_SIZE = 32.0  # points; covers are indexed by the grid cells that they touch
_MAX_CELLS = 64  # a cover that touches more cells is compared with every letter
_MAX_COORDINATE = 20_000.0  # points; pages are smaller
_MIN_PALE = 250  # of 255; lighter colors count as white
_MAX_COVERS = 500  # with more covers, comparing texts takes longer than checking every letter
INVISIBLE_MODE = 3
"""The PDF text rendering mode of invisible text."""

# Annotations that can cover text like a box.
_COVERING_SUBTYPES = frozenset({
    pdfium.FPDF_ANNOT_SQUARE, pdfium.FPDF_ANNOT_POLYGON, pdfium.FPDF_ANNOT_STAMP, pdfium.FPDF_ANNOT_INK,
    pdfium.FPDF_ANNOT_FREETEXT, pdfium.FPDF_ANNOT_HIGHLIGHT, pdfium.FPDF_ANNOT_LINE, pdfium.FPDF_ANNOT_CIRCLE,
    pdfium.FPDF_ANNOT_WIDGET,
})  # fmt: skip


@dataclass(frozen=True)
class TextObject:
    """A text object: its ``handle``, ``box`` in points of the page, rendering ``mode``, and ``pale``, the lowest
    component of its color (255 is white)."""

    handle: Any
    box: PdfRect
    mode: int
    pale: int

    @property
    def is_faint(self) -> bool:
        """Whether the text is invisible or nearly white."""
        return self.mode == INVISIBLE_MODE or self.pale >= _MIN_PALE


@dataclass(frozen=True)
class OpaqueShape:
    """An opaque shape: its ``box`` in points of the page, its ``place`` in the drawing order, and whether it is an
    image (``picture``)."""

    box: PdfRect
    place: int
    is_picture: bool


class PageShapes:
    """The texts of a page, keyed by the address of the pdfium object, and its opaque shapes (covers)."""

    def __init__(self) -> None:
        self.texts: dict[int, TextObject] = {}
        self._places: dict[int, int] = {}
        self._near: dict[tuple[int, int], list[OpaqueShape]] = defaultdict(list)
        self._wide: list[OpaqueShape] = []

    def add_text(self, place: int, text: TextObject) -> None:
        """Add a text at ``place`` in the drawing order."""
        address = ctypes.addressof(text.handle.contents)
        self.texts[address] = text
        self._places[address] = place

    def add_cover(self, cover: OpaqueShape) -> None:
        """Add an opaque shape."""
        left, bottom, right, top = (_cell_index(side) for side in cover.box)
        if (right - left + 1) * (top - bottom + 1) > _MAX_CELLS:
            self._wide.append(cover)
            return
        for cell in product(range(left, right + 1), range(bottom, top + 1)):
            self._near[cell].append(cover)

    def may_hide(self, view: PdfRect) -> bool:
        """Return whether a text may be hidden: faint, outside of ``view``, or touched by a later cover. This check of
        whole texts is fast and rules out most pages."""
        covers = sorted((cover for near in (*self._near.values(), self._wide) for cover in near), key=_drawing_position)
        if len(covers) > _MAX_COVERS:
            return True
        for address, text in self.texts.items():
            later = covers[bisect(covers, self._places[address], key=_drawing_position) :]
            if (
                text.is_faint
                or not is_touching(text.box, view)
                or any(is_touching(text.box, cover.box) for cover in later)
            ):
                return True
        return False

    def find_cover(self, owner: int, box: PdfRect) -> OpaqueShape | None:
        """Return a cover over a letter at ``box`` that is drawn after the text ``owner``, or None."""
        place = self._places.get(owner, _MAX_OBJECTS)
        return next(
            (cover for cover in self._covers_near(box) if cover.place > place and _is_covered(box, cover.box)), None
        )

    def is_on_picture(self, box: PdfRect) -> bool:
        """Return whether an image covers ``box``, in front of or behind the letter."""
        return any(cover.is_picture and _is_covered(box, cover.box) for cover in self._covers_near(box))

    def _covers_near(self, box: PdfRect) -> Iterator[OpaqueShape]:
        """Return the covers that can contain the center of ``box``, and therefore most of it."""
        middle = _cell_index((box[0] + box[2]) / 2), _cell_index((box[1] + box[3]) / 2)
        return chain(self._near.get(middle, ()), self._wide)


def collect_shapes(page: pypdfium2.PdfPage) -> PageShapes:
    """Return the texts and covers of ``page``."""
    found = PageShapes()
    place = 0
    for place, (handle, matrix) in enumerate(_iterate_objects(page)):
        kind = pdfium.FPDFPageObj_GetType(handle)
        if kind == pdfium.FPDF_PAGEOBJ_TEXT:
            mode = pdfium.FPDFTextObj_GetTextRenderMode(handle)
            found.add_text(place, TextObject(handle, _object_box(handle, matrix), mode, min(_object_color(handle)[:3])))
        elif _is_opaque(handle, kind):
            box = _object_box(handle, matrix)
            if min(box[2] - box[0], box[3] - box[1]) > _MIN_COVER_SIDE:
                found.add_cover(OpaqueShape(box, place, kind == pdfium.FPDF_PAGEOBJ_IMAGE))
    for box in _iterate_annotation_boxes(page):
        found.add_cover(OpaqueShape(box, place + 1, is_picture=False))
    return found


def _iterate_objects(page: pypdfium2.PdfPage) -> Iterator[tuple[Any, pypdfium2.PdfMatrix]]:
    """Yield the objects in drawing order, with the objects of a form in its place, each with the matrix of its form."""
    waiting = [
        (pdfium.FPDFPage_GetObject(page, at), pypdfium2.PdfMatrix(), 0)
        for at in _reversed_indexes(_count_objects(page))
    ]
    for _ in range(_MAX_OBJECTS):
        if not waiting:
            return
        handle, matrix, depth = waiting.pop()
        if pdfium.FPDFPageObj_GetType(handle) != pdfium.FPDF_PAGEOBJ_FORM:
            yield handle, matrix
        elif depth < _MAX_DEPTH:
            inner = _object_matrix(handle).multiply(matrix)
            count = pdfium.FPDFFormObj_CountObjects(handle)
            waiting += [
                (pdfium.FPDFFormObj_GetObject(handle, at), inner, depth + 1)
                for at in _reversed_indexes(min(count, _MAX_OBJECTS))
            ]


def _count_objects(page: pypdfium2.PdfPage) -> int:
    count: int = pdfium.FPDFPage_CountObjects(page)
    return min(count, _MAX_OBJECTS)


def _reversed_indexes(count: int) -> Iterator[int]:
    return reversed(range(count))


def _object_matrix(handle: Any) -> pypdfium2.PdfMatrix:
    values = pdfium.FS_MATRIX()
    pdfium.FPDFPageObj_GetMatrix(handle, ctypes.byref(values))
    return pypdfium2.PdfMatrix.from_raw(values)


def _object_box(handle: Any, matrix: pypdfium2.PdfMatrix) -> PdfRect:
    sides = [ctypes.c_float() for _ in range(4)]
    if not pdfium.FPDFPageObj_GetBounds(handle, *map(ctypes.byref, sides)):
        return (0.0, 0.0, 0.0, 0.0)
    left, bottom, right, top = (side.value for side in sides)
    box: PdfRect = matrix.on_rect(left, bottom, right, top)
    return box


def _is_opaque(handle: Any, kind: int) -> bool:
    if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
        return True
    if kind != pdfium.FPDF_PAGEOBJ_PATH:
        return False
    fill, stroke = ctypes.c_int(), pdfium.FPDF_BOOL()
    if not pdfium.FPDFPath_GetDrawMode(handle, ctypes.byref(fill), ctypes.byref(stroke)):
        return False
    if fill.value != pdfium.FPDF_FILLMODE_NONE and _object_color(handle)[3] >= _MIN_OPACITY:
        return True
    # A broad line, as of a marker pen; thin lines of tables and charts do not hide letters.
    is_broad = bool(stroke.value) and _stroke_width(handle) >= _MIN_COVER_STROKE
    return is_broad and _object_color(handle, pdfium.FPDFPageObj_GetStrokeColor)[3] >= _MIN_OPACITY


def _stroke_width(handle: Any) -> float:
    """Return the stroke width of a path in points of its container."""
    width = ctypes.c_float()
    pdfium.FPDFPageObj_GetStrokeWidth(handle, ctypes.byref(width))
    matrix = _object_matrix(handle)
    return width.value * float(math.sqrt(abs(matrix.a * matrix.d - matrix.b * matrix.c)))


def _object_color(handle: Any, getter: Any = pdfium.FPDFPageObj_GetFillColor) -> tuple[int, int, int, int]:
    """Return red, green, blue and opacity (0 to 255) of the fill color, or that of ``getter``; black if it has none."""
    parts = [ctypes.c_uint() for _ in range(4)]
    if not getter(handle, *map(ctypes.byref, parts)):
        return (0, 0, 0, 255)
    red, green, blue, opacity = (part.value for part in parts)
    return red, green, blue, opacity


def _iterate_annotation_boxes(page: pypdfium2.PdfPage) -> Iterator[PdfRect]:
    rect = pdfium.FS_RECTF()
    for at in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MAX_OBJECTS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, at)
        try:
            if pdfium.FPDFAnnot_GetSubtype(annotation) in _COVERING_SUBTYPES and pdfium.FPDFAnnot_GetRect(
                annotation, ctypes.byref(rect)
            ):
                yield rect.left, rect.bottom, rect.right, rect.top
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def is_touching(box: PdfRect, other: PdfRect) -> bool:
    """Return whether the two boxes overlap."""
    return box[0] < other[2] and box[2] > other[0] and box[1] < other[3] and box[3] > other[1]


def _drawing_position(cover: OpaqueShape) -> int:
    return cover.place


def _cell_index(side: float) -> int:
    return int(max(-_MAX_COORDINATE, min(side, _MAX_COORDINATE)) // _CELL_SIZE) if math.isfinite(side) else 0


def _is_covered(box: PdfRect, cover: PdfRect) -> bool:
    """Return whether at least ``_COVERED_SHARE`` of ``box`` is inside ``cover``."""
    wide = min(box[2], cover[2]) - max(box[0], cover[0])
    tall = min(box[3], cover[3]) - max(box[1], cover[1])
    return wide > 0 and tall > 0 and wide * tall >= _COVERED_SHARE * (box[2] - box[0]) * (box[3] - box[1])
