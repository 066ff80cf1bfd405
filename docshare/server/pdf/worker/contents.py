"""What the drawing instructions of a page or form use, by name. Runs inside the worker only."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pikepdf
from pikepdf import Name

from docshare.server.pdf.worker.documents import Refused

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
_NAMING = " ".join([*_NAMED, "BI", "ID", "EI"])
_SHOWING = "Tj TJ ' \""


class Use(NamedTuple):
    """A resource that contents name: its part of the resource dictionary, and its key there."""

    category: str
    key: str


def used(content: Any) -> frozenset[Use]:
    """Return the resources that ``content``, a page or a stream of drawing instructions, names.

    Instructions that cannot be decoded name none; whether readers see more in them shows in the copy's pictures.
    """
    names: set[Use] = set()
    for instruction in _parsed(content, _NAMING):
        if isinstance(instruction, pikepdf.ContentStreamInlineImage):
            names.update(_of_image(instruction))
            continue
        operands = instruction.operands
        if len(operands):
            category, place = _NAMED[str(instruction.operator)]
            names.update(_name(category, operands[place]))
    return frozenset(names)


def codes(content: Any) -> frozenset[int]:
    """Return the bytes of all text that ``content`` shows, whatever the font."""
    found: set[int] = set()
    for instruction in _parsed(content, _SHOWING):
        for text in _texts(instruction.operands):
            found.update(text)
    return frozenset(found)


def _parsed(content: Any, operators: str) -> Any:
    try:
        return pikepdf.parse_content_stream(content, operators)
    except pikepdf.PdfError:
        return ()
    except (RuntimeError, TypeError, ValueError) as error:
        raise Refused("contents") from error


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
