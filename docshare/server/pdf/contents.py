"""What the drawing instructions of a page or form use, by name. Runs inside the worker only."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pikepdf
from pikepdf import Name

from docshare.server.pdf.documents import Refused

CATEGORIES = ("/ColorSpace", "/ExtGState", "/Font", "/Pattern", "/Properties", "/Shading", "/XObject")
"""The parts of a resource dictionary. Inside each, keys are names that contents chose."""

# Which operand of an operator is the name of what kind of resource.
_NAMED: dict[str, tuple[str, int]] = {
    "Do": ("/XObject", -1),
    "Tf": ("/Font", 0),
    "gs": ("/ExtGState", -1),
    "cs": ("/ColorSpace", -1),
    "CS": ("/ColorSpace", -1),
    "scn": ("/Pattern", -1),
    "SCN": ("/Pattern", -1),
    "sh": ("/Shading", -1),
    "BDC": ("/Properties", -1),
    "DP": ("/Properties", -1),
}
_SHOWING = frozenset({"Tj", "TJ", "'", '"'})
_WANTED = " ".join([*_NAMED, *sorted(_SHOWING), "BI", "ID", "EI"])


class Use(NamedTuple):
    """A resource that contents name: its part of the resource dictionary, and its key there."""

    category: str
    key: str


class Used(NamedTuple):
    """``names``: resources used; ``codes``: the bytes of all text shown, whatever the font."""

    names: frozenset[Use]
    codes: frozenset[int]


def used(content: Any) -> Used:
    """What ``content``, a page or a stream of drawing instructions, uses. Raises Refused ``contents`` if unreadable."""
    names: set[Use] = set()
    codes: set[int] = set()
    try:
        for instruction in pikepdf.parse_content_stream(content, _WANTED):
            if isinstance(instruction, pikepdf.ContentStreamInlineImage):
                names.update(_of_image(instruction))
                continue
            operator, operands = str(instruction.operator), instruction.operands
            if operator in _SHOWING:
                for text in _texts(operands):
                    codes.update(text)
            elif len(operands):
                category, place = _NAMED[operator]
                names.update(_name(category, operands[place]))
    except (pikepdf.PdfError, RuntimeError, TypeError, ValueError) as error:
        raise Refused("contents") from error
    return Used(frozenset(names), frozenset(codes))


def _name(category: str, value: object) -> Iterator[Use]:
    if isinstance(value, Name):
        yield Use(category, str(value))


def _of_image(image: pikepdf.ContentStreamInlineImage) -> Iterator[Use]:
    yield from _name("/ColorSpace", image.iimage.obj.get("/ColorSpace"))


def _texts(operands: Any) -> Iterator[bytes]:
    for operand in operands:
        for part in operand if isinstance(operand, pikepdf.Array) else (operand,):
            if isinstance(part, pikepdf.String):
                yield bytes(part)
