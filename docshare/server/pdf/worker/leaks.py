"""Check that a document cut from another contains nothing that its pages do not use. Runs only inside the worker.

The check is independent of ``cut``. From the original source it collects every stream, string and name that can be
reached from the kept pages; resources count only if contents name them. Anything else in the result is a leak.
"""

import hashlib
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pikepdf
from pikepdf import Array, Dictionary, Name, Object, Stream, String

from docshare.server.pdf.worker.contents import CATEGORIES
from docshare.server.pdf.worker.cut import INHERITED_KEYS, PAGE_KEYS, find_inherited, generate_field_appearances
from docshare.server.pdf.worker.documents import PdfRefused

# Keys that lead from a page to other pages or to document-wide data. Of a link, only the URL is allowed.
_OUTWARD_KEYS = frozenset({
    "/A", "/AA", "/AF", "/Alternates", "/B", "/DPart", "/Dest", "/IRT", "/Metadata", "/OPI", "/Parent", "/PieceInfo",
    "/Popup", "/Ref", "/StructParent", "/StructParents", "/StructTreeRoot", "/Thumb",
})  # fmt: skip
_FORBIDDEN_KEYS = _OUTWARD_KEYS - {"/A", "/Dest", "/Parent"} | {
    "/AcroForm", "/Dests", "/EmbeddedFiles", "/FT", "/JS", "/JavaScript", "/Names", "/OpenAction", "/Outlines",
    "/PageLabels", "/RichMediaContent", "/V", "/Kids",
}  # fmt: skip
_FORBIDDEN_TYPES = frozenset({
    "/Action", "/Bead", "/EmbeddedFile", "/Filespec", "/Metadata", "/OBJR", "/Outlines", "/StructElem",
    "/StructTreeRoot", "/Template",
})  # fmt: skip
_CATALOG_KEYS = frozenset({"/Type", "/Pages", "/OCProperties", "/Version", "/Extensions"})
_TRAILER_KEYS = frozenset({
    "/Root", "/Size", "/ID", "/Type", "/W", "/Index", "/Length", "/Filter", "/DecodeParms", "/Prev", "/XRefStm",
})  # fmt: skip
_STRUCTURAL_NAMES = frozenset({
    "/Type", "/Catalog", "/Pages", "/Page", "/Kids", "/Count", "/Parent", "/Resources", "/MediaBox", "/CropBox",
    "/Rotate", "/Contents", "/Annots", "/Annot", "/Subtype", "/Stamp", "/Link", "/AP", "/N", "/A", "/S", "/URI",
    "/Dest", "/OCProperties", "/OCGs", "/D", "/ON", "/OFF", "/AS", "/BaseState", "/Event", "/Category",
    "/Unchanged", "/View", "/Print", "/Export", "/Zoom", "/XYZ", "/Fit", "/FitH", "/FitV", "/FitR", "/FitB", "/FitBH",
    "/FitBV", "/Length", "/Filter", "/DecodeParms", *CATEGORIES, *PAGE_KEYS,
})  # fmt: skip
_NAME_KEYED = frozenset({*CATEGORIES, "/CharProcs", "/Colorants"})  # dictionaries with keys chosen by the author
_NAME_TOKEN = re.compile(rb"/([^\x00\t\n\f\r ()<>\[\]{}/%]*)")
_NAME_ESCAPE = re.compile(rb"#([0-9A-Fa-f]{2})")


@dataclass
class DocumentContents:
    """All parts of a document that can carry information; ``streams`` are the digests of their stored bytes."""

    streams: set[bytes] = field(default_factory=set)
    strings: set[bytes] = field(default_factory=set)
    names: set[str] = field(default_factory=set)

    def add(self, value: Any) -> None:
        """Add ``value`` itself and its keys, without its entries."""
        if isinstance(value, Stream):
            self.streams.add(hash_stream(value))
        elif isinstance(value, String):
            self.strings.add(bytes(value))
        elif isinstance(value, Name):
            self.names.add(str(value))
        if isinstance(value, Dictionary | Stream):
            self.names.update(value.keys())

    def add_recursively(self, value: Any) -> None:
        """Add ``value`` and all of its entries, recursively."""
        self.add(value)
        if isinstance(value, Dictionary | Stream):
            for _, inside in value.items():
                self.add_recursively(inside)


def hash_stream(stream: Any) -> bytes:
    """Return the SHA-256 of the stored bytes of ``stream``."""
    return hashlib.sha256(stream.read_raw_bytes()).digest()


def require_no_leak(
    opened: Callable[[], pikepdf.Pdf], first: int, last: int, made: bytes, own: DocumentContents
) -> None:
    """Raise PdfRefused ``leak`` if ``made`` contains anything that is neither in the pages ``first`` to ``last`` of the
    source, which ``opened`` opens, nor in ``own``, the watermark drawn onto the pages.
    """
    with opened() as before:
        generate_field_appearances(before)  # kept pages contain generated appearances that the source lacks
        allowed = _collect_allowed([page.obj for page in before.pages[first - 1 : last]])
    with pikepdf.open(io.BytesIO(made)) as after:
        found = _collect_structure(after, last - first + 1)
    if (
        found.streams - allowed.streams - own.streams
        or found.strings - allowed.strings - own.strings
        or found.names - allowed.names - own.names - _STRUCTURAL_NAMES
    ):
        raise PdfRefused("leak")


def _collect_allowed(pages: list[Any]) -> DocumentContents:
    """Return everything that can be reached from ``pages``."""
    walk = _PageWalk()
    for page in pages:
        walk.add_page(page)
    return walk.found


class _PageWalk:
    """A traversal from the kept pages. Contents name resources, which can have contents again. A resource is visited
    only once contents that were reached name it."""

    def __init__(self) -> None:
        self.found = DocumentContents()
        self._used_names: set[str] = {f"/Default{model}" for model in ("Gray", "RGB", "CMYK")}
        self._unused_entries: dict[str, list[Any]] = {}
        self._seen: set[tuple[int, int]] = set()
        self._waiting: list[tuple[Any, bool]] = []  # a value, and whether its keys are resource names

    def add_page(self, page: Any) -> None:
        """Add everything that can be reached from ``page``."""
        for key in (*INHERITED_KEYS, "/Resources"):
            self._visit(find_inherited(page, key))
        contents = page.get("/Contents")
        for stream in contents if isinstance(contents, Array) else (contents,):
            self._read_names(stream)
        for annotation in page.get("/Annots", ()):
            self._visit_annotation(annotation)
        for key in PAGE_KEYS | {"/Annots"}:
            self._visit(page.get(key))

    def _visit_annotation(self, annotation: Any) -> None:
        """Add the URL of a link annotation, the only part of an action that is allowed."""
        action = annotation.get("/A") if isinstance(annotation, Dictionary) else None
        if isinstance(action, Dictionary) and isinstance(action.get("/URI"), String):
            self.found.add(action.URI)

    def _visit(self, start: Any) -> None:
        self._waiting.append((start, False))
        while self._waiting:
            value, names = self._waiting.pop()
            if not isinstance(value, Object) or _is_outside_page(value):
                continue
            if isinstance(value, Dictionary | Stream):
                if self._is_new(value):
                    self._visit_stream(value)
                    self._follow(value, names)
            elif isinstance(value, Array):
                if self._is_new(value):
                    self._waiting += [(item, False) for item in value if isinstance(item, Object)]
            else:
                self.found.add(value)

    def _is_new(self, value: Any) -> bool:
        if value.is_indirect:
            if value.objgen in self._seen:
                return False
            self._seen.add(value.objgen)
        return True

    def _visit_stream(self, value: Any) -> None:
        if isinstance(value, Stream):
            self.found.add(value)
            if "/BBox" in value:
                self._read_names(value)

    def _follow(self, value: Any, names: bool) -> None:
        """Visit the entries of a dictionary. If its keys are resource ``names``, defer those that no contents use."""
        for key, entry in value.items():
            if names:
                if key in self._used_names:
                    self.found.names.add(key)
                    self._waiting.append((entry, False))
                else:
                    self._unused_entries.setdefault(key, []).append(entry)
            elif key not in _OUTWARD_KEYS:
                self.found.names.add(key)
                if key == "/CharProcs":
                    for glyph in entry.values() if isinstance(entry, Dictionary) else ():
                        self._read_names(glyph)
                if isinstance(entry, Object):
                    # A pattern has a shading and a graphics state of its own under the names of categories.
                    is_category = key in CATEGORIES and "/PatternType" not in value
                    self._waiting.append((entry, is_category and isinstance(entry, Dictionary)))

    def _read_names(self, stream: Any) -> None:
        if not isinstance(stream, Stream):
            return
        try:
            text = stream.read_bytes()
        except pikepdf.PdfError:
            return
        for name in set(_NAME_TOKEN.findall(text)):
            plain = _NAME_ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), name)
            self._use_name("/" + plain.decode("utf-8", "surrogateescape"))

    def _use_name(self, name: str) -> None:
        self._used_names.add(name)
        entries = self._unused_entries.pop(name, ())
        if entries:
            self.found.names.add(name)
            self._waiting += [(entry, False) for entry in entries]


def _is_outside_page(value: Any) -> bool:
    """Return whether ``value`` is another page or document-wide data."""
    kind = str(value.get("/Type")) if isinstance(value, Dictionary | Stream) else ""
    return kind in _FORBIDDEN_TYPES or kind in ("/Page", "/Pages", "/Catalog")


def _iterate_objects(pdf: pikepdf.Pdf) -> Iterator[tuple[Any, bool]]:
    """Yield all objects of the file, including nested ones, each with whether its keys are names chosen by the
    author."""
    objects = [value for value in pdf.objects if isinstance(value, Object)]
    chosen = {
        entry.objgen
        for value in objects
        if isinstance(value, Dictionary | Stream)
        for key, entry in value.items()
        if key in _NAME_KEYED and isinstance(entry, Object) and entry.is_indirect
    }
    waiting: list[tuple[Any, bool]] = [(value, value.objgen in chosen) for value in objects]
    while waiting:
        value, names = waiting.pop()
        if not isinstance(value, Object):
            continue
        yield value, names
        if isinstance(value, Array):
            waiting += [(item, False) for item in value if not _is_indirect(item)]
        elif isinstance(value, Dictionary | Stream):
            waiting += [(item, key in _NAME_KEYED) for key, item in value.items() if not _is_indirect(item)]


def _is_indirect(value: Any) -> bool:
    return isinstance(value, Object) and value.is_indirect


def _collect_structure(pdf: pikepdf.Pdf, size: int) -> DocumentContents:
    """Return the contents of ``pdf``. Raises PdfRefused ``leak`` if it does not have exactly ``size`` pages, or
    contains document-wide data.
    """
    found = DocumentContents()
    page_count = 0
    for value, names in _iterate_objects(pdf):
        found.add(value)
        if not names and isinstance(value, Dictionary | Stream):
            kind = value.get("/Type")
            page_count += kind == Name.Page
            if str(kind) in _FORBIDDEN_TYPES or (kind != Name.Pages and not _FORBIDDEN_KEYS.isdisjoint(value.keys())):
                raise PdfRefused("leak")
    catalog, trailer = set(pdf.Root.keys()), set(pdf.trailer.keys())
    if len(pdf.pages) != size or page_count != size or catalog - _CATALOG_KEYS or trailer - _TRAILER_KEYS:
        raise PdfRefused("leak")
    return found
