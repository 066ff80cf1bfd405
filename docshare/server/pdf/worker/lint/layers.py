"""Find and remove hidden layers. Runs only inside the worker."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pikepdf
from pikepdf import Array, Dictionary, Name, Stream, String

from docshare.contract.amounts import format_plural
from docshare.server.pdf.worker.cut import find_inherited
from docshare.server.pdf.worker.documents import PdfRefused
from docshare.server.pdf.worker.lint.findings import FindingCollector, join_quoted
from docshare.server.pdf.worker.lint.walk import walk_objects

_OPENING_OPERATORS = frozenset({"BDC", "BMC"})
_TEXT_OPERATORS = frozenset({"Tj", "TJ"})
_LINE_TEXT_OPERATORS = frozenset({"'", '"'})  # these also move to the next line
_POSITION_OPERATORS = frozenset({"BT", "ET", "Td", "TD", "Tm", "T*", "'", '"'})
_PAINT_OPERATORS = frozenset({"f", "F", "f*", "B", "B*", "b", "b*", "S", "s"})
_DRAW_OPERATORS = frozenset({"Tj", "TJ", "sh", "Do", "INLINE IMAGE", "BDC", "BMC", "EMC", "MP", "DP"})


def check_layers(pdf: pikepdf.Pdf, findings: FindingCollector) -> None:
    """Report layers that are off when the document is opened."""
    names = Counter(_layer_name(layer) for layer in find_hidden_layers(pdf).values())
    if names:
        count = format_plural(names.total(), "layer is", "layers are")
        message = f"{count} hidden, but can be switched on: {join_quoted(names)}."
        findings.add("hidden-layers", "warning", message)


def find_hidden_layers(pdf: pikepdf.Pdf) -> dict[tuple[int, int], Any]:
    """Return the layers that are off when the document is opened, by object number."""
    layers = pdf.Root.get("/OCProperties")
    if not isinstance(layers, Dictionary):
        return {}
    states = layers.get("/D")
    states = states if isinstance(states, Dictionary) else Dictionary()
    off = _index_layers(states.get("/OFF"))
    if states.get("/BaseState") == Name.OFF:
        visible = _index_layers(states.get("/ON"))
        off |= {number: layer for number, layer in _index_layers(layers.get("/OCGs")).items() if number not in visible}
    return off


def _index_layers(layers: Any) -> dict[tuple[int, int], Any]:
    found = layers if isinstance(layers, Array) else ()
    return {layer.objgen: layer for layer in found if isinstance(layer, Dictionary)}


def _layer_name(layer: Any) -> str:
    name = layer.get("/Name")
    return str(name) if isinstance(name, String) else "without a name"


class _InseparableError(Exception):
    """Hidden content cannot be separated from the visible content around it."""


def remove_hidden(pdf: pikepdf.Pdf) -> bool:
    """Remove the contents of hidden layers; return whether all were removed. Layers that remain stay hidden."""
    off = find_hidden_layers(pdf)
    if not off:
        return True
    remover = _LayerRemover(pdf, off)
    try:
        for page in pdf.pages:
            remover.rewrite_page(page)
    except (_InseparableError, PdfRefused, pikepdf.PdfError):
        return False
    states = pdf.Root.OCProperties
    del pdf.Root["/OCProperties"]  # visible layers do not need it
    reached = (thing.value for thing in walk_objects(pdf, lambda: False))
    if any(value.is_indirect and value.objgen in off for value in reached):
        pdf.Root.OCProperties = states
        return False
    return True


class _LayerRemover:
    """Rewrites content streams without the contents of the layers ``off``."""

    def __init__(self, pdf: pikepdf.Pdf, off: Mapping[tuple[int, int], Any]) -> None:
        self._pdf = pdf
        self._off = off
        self._done: set[tuple[int, int]] = set()

    def rewrite_page(self, page: pikepdf.Page) -> None:
        """Rewrite one page and the forms that it draws."""
        resources = find_inherited(page.obj, "/Resources")
        kept = self._remove_hidden(page, resources)
        if kept is not None:
            page.obj.Contents = self._pdf.make_stream(kept)
        self._clean_resources(resources)
        annotations = page.obj.get("/Annots")
        if isinstance(annotations, Array):
            page.obj.Annots = Array(
                [annotation for annotation in annotations if not self._is_off(annotation.get("/OC"))]
            )

    def _rewrite_form(self, form: Any, outer: Any) -> None:
        if form.objgen in self._done:
            return
        self._done.add(form.objgen)
        resources = form.get("/Resources", outer)
        kept = self._remove_hidden(form, resources)
        if kept is not None:
            form.write(kept)
        self._clean_resources(resources)

    def _remove_hidden(self, content: Any, resources: Any) -> bytes | None:
        """Return ``content`` without hidden instructions; None if it has none. Raises _InseparableError."""
        kept: list[Any] = []
        opened: list[bool] = []
        moved = changed = False
        for instruction in pikepdf.parse_content_stream(content):
            operator = str(instruction.operator)
            if operator in _OPENING_OPERATORS:
                opened.append(operator == "BDC" and self._opens_hidden(instruction.operands, resources))
            inside = any(opened)
            if operator == "EMC" and opened:
                opened.pop()
            if operator in _POSITION_OPERATORS:
                moved = False
            if not inside:
                if moved and operator in _TEXT_OPERATORS:
                    raise _InseparableError
                if operator == "Do" and self._is_hidden(instruction.operands, resources):
                    changed = True
                else:
                    kept.append(instruction)
                continue
            changed = True
            moved = moved or operator in _TEXT_OPERATORS
            if operator in _LINE_TEXT_OPERATORS:
                raise _InseparableError
            if operator in _PAINT_OPERATORS:
                kept.append(pikepdf.ContentStreamInstruction([], pikepdf.Operator("n")))
            elif operator not in _DRAW_OPERATORS:
                kept.append(instruction)
        return pikepdf.unparse_content_stream(kept) if changed else None

    def _opens_hidden(self, operands: Any, resources: Any) -> bool:
        if len(operands) != 2 or operands[0] != Name.OC or not isinstance(operands[1], Name):
            return False
        return self._is_off(_find_entry(resources, "/Properties", operands[1]))

    def _is_hidden(self, operands: Any, resources: Any) -> bool:
        """Return whether the drawn XObject is on a hidden layer. A form that is not is rewritten too."""
        drawn = _find_entry(resources, "/XObject", operands[0]) if len(operands) else None
        if not isinstance(drawn, Stream):
            return False
        if self._is_off(drawn.get("/OC")):
            return True
        if drawn.get("/Subtype") == Name.Form:
            self._rewrite_form(drawn, resources)
        return False

    def _is_off(self, layer: Any) -> bool:
        if not isinstance(layer, Dictionary):
            return False
        if layer.get("/Type") != Name.OCMD:
            return layer.objgen in self._off
        if "/VE" in layer or layer.get("/P", Name.AnyOn) != Name.AnyOn:
            return False
        members = layer.get("/OCGs")
        listed = list(members) if isinstance(members, Array) else [members]
        return bool(listed) and all(isinstance(each, Dictionary) and each.objgen in self._off for each in listed)

    def _clean_resources(self, resources: Any) -> None:
        """Remove hidden layers and the XObjects on them from a resource dictionary."""
        for category in ("/Properties", "/XObject"):
            part: Any = resources.get(category) if isinstance(resources, Dictionary) else None
            entries = list(part.items()) if isinstance(part, Dictionary) else []
            for key, value in entries:
                layer = value if category == "/Properties" else value.get("/OC")
                if self._is_off(layer):
                    del part[key]


def _find_entry(resources: Any, category: str, key: Any) -> Any:
    part = resources.get(category) if isinstance(resources, Dictionary) else None
    return part.get(str(key)) if isinstance(part, Dictionary) else None
