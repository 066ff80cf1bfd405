"""Rebuild the annotations of kept pages. Runs only inside the worker.

Links to the web or to kept pages still work. Other annotations keep their appearance, and comments keep their text.
Form fields become static drawings. Scripts, other actions and attached files are dropped.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pikepdf
from pikepdf import Array, Dictionary, Name, Object, Stream, String

from docshare.server.pdf.worker.resources import ResourceReducer

_SAFE_URL = re.compile(rb"(?:https?://|mailto:)[^\x00-\x20\x7f]+", re.IGNORECASE)
_APPEARANCE_KEYS = ("/Rect", "/F", "/C", "/Border", "/BS", "/CA", "/OC")
# Subtypes that viewers can draw without an appearance stream, and the keys that they need for it.
_DRAWN_SUBTYPES = frozenset({
    "/Text", "/FreeText", "/Line", "/Square", "/Circle", "/Polygon", "/PolyLine", "/Highlight", "/Underline",
    "/Squiggly", "/StrikeOut", "/Stamp", "/Caret", "/Ink", "/Redact",
})  # fmt: skip
_SHAPE_KEYS = (
    "/QuadPoints", "/InkList", "/L", "/Vertices", "/IC", "/LE", "/Contents", "/Name", "/DA", "/Q", "/RD", "/BE",
)  # fmt: skip
_MAX_ANNOTATIONS = 5_000
_NAME_TREE_DEPTH = 30


@dataclass(frozen=True)
class InternalLink:
    """A link between kept pages: from annotation ``annotation`` of page ``page`` to page ``target`` (all 0-based).
    ``place`` is the rest of the destination: the view of the page."""

    page: int
    annotation: int
    target: int
    place: tuple[Any, ...]


class AnnotationBuilder:
    """Rebuilds the annotations of the kept pages. ``targets`` maps object numbers to the indexes of kept pages."""

    def __init__(self, pdf: pikepdf.Pdf, targets: dict[tuple[int, int], int], reducer: ResourceReducer) -> None:
        self.jumps: list[InternalLink] = []
        self._targets = targets
        self._reducer = reducer
        self._named = _make_destination_lookup(pdf)

    def rebuild_page(self, page: Any, number: int, resources: Any) -> Array:
        """Return new annotations of ``page``, the kept page with the index ``number``, which uses ``resources``."""
        kept = Array()
        old = page.get("/Annots")
        for annotation in list(old)[:_MAX_ANNOTATIONS] if isinstance(old, Array) else ():
            if isinstance(annotation, Dictionary):
                new = self._rebuild(annotation, number, len(kept), resources)
                if new is not None:
                    kept.append(new)
        return kept

    def _rebuild(self, old: Any, page: int, place: int, resources: Any) -> Dictionary | None:
        kind = str(old.get("/Subtype", ""))
        if kind == "/Popup":
            return None
        new = Dictionary(Type=Name.Annot, Subtype=Name.Stamp)
        _copy_keys(old, new, _APPEARANCE_KEYS)
        self._reducer.reduce_layer(new)
        appearance = self._find_appearance(old)
        if kind == "/Link":
            if self._set_target(old, new, page, place):
                new.Subtype = Name.Link
                _copy_keys(old, new, ("/QuadPoints", "/H"))
            elif appearance is None:
                return None
        elif kind in _DRAWN_SUBTYPES:
            new.Subtype = Name(kind)
            _copy_keys(old, new, _SHAPE_KEYS)
        elif appearance is None:
            return None  # invisible, and its action is dropped
        if appearance is not None:
            self._reducer.reduce_appearance(appearance, resources)
            new.AP = Dictionary(N=appearance)
        return new

    def _find_appearance(self, old: Any) -> Any:
        """Return the appearance of the annotation in its current state, a form XObject, or None."""
        appearances = old.get("/AP")
        normal = appearances.get("/N") if isinstance(appearances, Dictionary) else None
        if isinstance(normal, Dictionary) and not isinstance(normal, Stream):
            state = old.get("/AS")
            normal = normal.get(str(state)) if isinstance(state, Name) else None
        return normal if isinstance(normal, Stream) else None

    def _set_target(self, old: Any, new: Dictionary, page: int, place: int) -> bool:
        """Copy the target of the link ``old`` to ``new``; return False if it is a hidden page or not a safe URL."""
        action = old.get("/A")
        kind = action.get("/S") if isinstance(action, Dictionary) else None
        if kind == Name.URI:
            url = action.get("/URI")
            if not isinstance(url, String) or _SAFE_URL.fullmatch(bytes(url)) is None:
                return False
            new.A = Dictionary(S=Name.URI, URI=url)
            return True
        destination = self._resolve(action.get("/D") if kind == Name.GoTo else old.get("/Dest"))
        target = self._targets.get(destination[0].objgen) if destination is not None else None
        if destination is None or target is None:
            return False
        rest = [value for value in destination if isinstance(value, Name) or not isinstance(value, Object)]
        self.jumps.append(InternalLink(page, place, target, tuple(rest)))
        return True

    def _resolve(self, destination: Any) -> Any:
        """Return the explicit destination, an array that starts with a page; None if there is none."""
        if isinstance(destination, Name | String):
            destination = self._named(destination)
        if isinstance(destination, Dictionary):
            destination = destination.get("/D")
        explicit = isinstance(destination, Array) and len(destination) > 0 and isinstance(destination[0], Dictionary)
        return destination if explicit else None


def _copy_keys(old: Any, new: Dictionary, keys: tuple[str, ...]) -> None:
    for key in keys:
        if key in old:
            new[key] = old[key]


def _make_destination_lookup(pdf: pikepdf.Pdf) -> Callable[[Any], Any]:
    """Return a function that looks up named destinations, in the PDF 1.1 dictionary and in the name tree."""
    names = pdf.Root.get("/Names")
    tree = names.get("/Dests") if isinstance(names, Dictionary) else None
    old = pdf.Root.get("/Dests")

    def look_up(name: Any) -> Any:
        if isinstance(name, Name):
            return old.get(str(name)) if isinstance(old, Dictionary) else None
        return _find_in_tree(tree, bytes(name), 0)

    return look_up


def _find_in_tree(node: Any, name: bytes, depth: int) -> Any:
    if not isinstance(node, Dictionary) or depth > _NAME_TREE_DEPTH:
        return None
    limits = node.get("/Limits")
    if isinstance(limits, Array) and len(limits) == 2 and not bytes(limits[0]) <= name <= bytes(limits[1]):
        return None
    pairs = node.get("/Names")
    if isinstance(pairs, Array):
        for at in range(0, len(pairs) - 1, 2):
            if isinstance(pairs[at], String) and bytes(pairs[at]) == name:
                return pairs[at + 1]
    kids = node.get("/Kids")
    for kid in kids if isinstance(kids, Array) else ():
        found = _find_in_tree(kid, name, depth + 1)
        if found is not None:
            return found
    return None
