"""What the drawing instructions of a page or form use, by name. Runs inside the worker only."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pikepdf
from pikepdf import Name

from docshare.server.pdf.worker.documents import PdfRefused

CATEGORIES = ("/ColorSpace", "/ExtGState", "/Font", "/Pattern", "/Properties", "/Shading", "/XObject")
"""The parts of a resource dictionary. Inside each, keys are names that contents chose."""

# Which operand of an operator is the name of what kind of resource.
_NAMING_OPERATORS: dict[str, tuple[str, int]] = {
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
_NAMING_FILTER = " ".join([*_NAMING_OPERATORS, "BI", "ID", "EI"])
_TEXT_OPERATORS = "Tj TJ ' \""


class ResourceUse(NamedTuple):
    """A resource that contents name: its part of the resource dictionary, and its key there."""

    category: str
    key: str


def find_used_resources(content: Any) -> frozenset[ResourceUse]:
    """Return the resources that ``content``, a page or a stream of drawing instructions, names.

    Instructions that cannot be decoded name none; whether readers see more in them shows in the copy's pictures.
    """
    names: set[ResourceUse] = set()
    for instruction in _parse_content(content, _NAMING_FILTER):
        if isinstance(instruction, pikepdf.ContentStreamInlineImage):
            names.update(_list_image_uses(instruction))
            continue
        operands = instruction.operands
        if len(operands):
            category, place = _NAMING_OPERATORS[str(instruction.operator)]
            names.update(_resource_use(category, operands[place]))
    return frozenset(names)


def find_text_codes(content: Any) -> frozenset[int]:
    """Return the bytes of all text that ``content`` shows, whatever the font."""
    found: set[int] = set()
    for instruction in _parse_content(content, _TEXT_OPERATORS):
        for text in _iterate_texts(instruction.operands):
            found.update(text)
    return frozenset(found)


def _parse_content(content: Any, operators: str) -> Any:
    try:
        return pikepdf.parse_content_stream(content, operators)
    except pikepdf.PdfError:
        return ()
    except (RuntimeError, TypeError, ValueError) as error:
        raise PdfRefused("contents") from error


def _resource_use(category: str, value: object) -> Iterator[ResourceUse]:
    if isinstance(value, Name):
        yield ResourceUse(category, str(value))


def _list_image_uses(image: pikepdf.ContentStreamInlineImage) -> Iterator[ResourceUse]:
    yield from _resource_use("/ColorSpace", image.iimage.obj.get("/ColorSpace"))


def _iterate_texts(operands: Any) -> Iterator[bytes]:
    for operand in operands:
        for part in operand if isinstance(operand, pikepdf.Array) else (operand,):
            if isinstance(part, pikepdf.String):
                yield bytes(part)
