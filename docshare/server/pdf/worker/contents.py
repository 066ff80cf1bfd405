"""Find the resources that the content stream of a page or form names. Runs only inside the worker."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import pikepdf
from pikepdf import Array, Dictionary, Name, Object

from docshare.server.pdf.worker.documents import PdfRefused

CATEGORIES = ("/ColorSpace", "/ExtGState", "/Font", "/Pattern", "/Properties", "/Shading", "/XObject")
"""The categories of a resource dictionary. The keys inside each are names that the author of the document chose."""

# For each operator that names a resource: its category, and the index of the operand with the name.
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


@dataclass(frozen=True)
class ResourceUse:
    """A resource that contents name: its category in the resource dictionary, and its key there."""

    category: str
    key: str


def find_used_resources(content: Any) -> frozenset[ResourceUse]:
    """Return the resources that ``content``, a page or a content stream, names.

    Contents that cannot be decoded name none. If viewers can still draw them, ``comparison`` finds the difference.
    Raises PdfRefused ``contents`` if they cannot be parsed.
    """
    names: set[ResourceUse] = set()
    for instruction in _parse_content(content, _NAMING_FILTER):
        if isinstance(instruction, pikepdf.ContentStreamInlineImage):
            names.update(_list_image_uses(instruction))
            continue
        operands = instruction.operands
        if len(operands):
            category, index = _NAMING_OPERATORS[str(instruction.operator)]
            names.update(_resource_use(category, operands[index]))
    return frozenset(names)


def find_text_codes(content: Any) -> frozenset[int]:
    """Return the character codes of all text that ``content`` shows, in any font."""
    found: set[int] = set()
    for instruction in _parse_content(content, _TEXT_OPERATORS):
        for text in _iterate_texts(instruction.operands):
            found.update(text)
    return frozenset(found)


def find_glyph_names(font: Any, codes: Collection[int]) -> set[str] | None:
    """Return the names of the glyphs that ``font`` draws for ``codes``; None if its encoding does not name them all."""
    encoding = font.get("/Encoding")
    differences = encoding.get("/Differences") if isinstance(encoding, Dictionary) else None
    if not isinstance(differences, Array) or "/BaseEncoding" in encoding:
        return None
    names: set[str] = set()
    code = 0
    for value in differences:
        if isinstance(value, int):
            code = value
        elif isinstance(value, Object):
            if code in codes:
                names.add(str(value))
            code += 1
    return names


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
        for part in operand if isinstance(operand, Array) else (operand,):
            if isinstance(part, pikepdf.String):
                yield bytes(part)
