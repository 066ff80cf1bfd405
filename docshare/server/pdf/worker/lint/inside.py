"""Find embedded files, scripts, comments, form data and leftovers in a document. Runs only inside the worker.

One walk visits all objects, with a method for each kind.
"""

import ipaddress
import re
from collections import Counter, defaultdict
from typing import Any
from urllib.parse import urlsplit

import pikepdf
from pikepdf import Array, Dictionary, Name, Object, Stream, String

from docshare.contract.amounts import format_plural
from docshare.server.pdf.worker.lint import photos
from docshare.server.pdf.worker.lint.about import find_paths
from docshare.server.pdf.worker.lint.findings import FindingCollector, join_quoted, quote
from docshare.server.pdf.worker.lint.walk import VisitedObject, walk_objects

NOTE_SUBTYPES = frozenset({
    "/Text", "/FreeText", "/Line", "/Square", "/Circle", "/Polygon", "/PolyLine", "/Highlight", "/Underline",
    "/Squiggly", "/StrikeOut", "/Stamp", "/Caret", "/Ink", "/Sound",
})  # fmt: skip
"""Subtypes of annotations that count as comments."""

_OUTWARD_ACTIONS = {
    "/Launch": "Starts a program or opens a file",
    "/SubmitForm": "Sends form data to a URL",
    "/ImportData": "Reads a file on the reader's computer",
    "/GoToR": "Opens another file",
    "/Rendition": "Plays audio or video",
    "/Movie": "Plays a video",
    "/Sound": "Plays a sound",
}
_INTERNAL_HOST = re.compile(
    r"localhost|[^.]+|.*\.(?:local|localhost|internal|intranet|corp|lan|home|localdomain)", re.I
)
_MAX_PRIVATE_DATA_BYTES = 4096  # more private data may be a copy of the document
_CONTAINER_TYPES = frozenset({"/ObjStm", "/XRef"})
_MAX_PARENTS = 50


class DocumentSurvey:
    """Walks over all objects of a document and reports findings."""

    def __init__(self, pdf: pikepdf.Pdf, findings: FindingCollector) -> None:
        self._pdf = pdf
        self._findings = findings
        self._reached: set[tuple[int, int]] = set()
        self._files: dict[int | None, Counter[str]] = defaultdict(Counter)
        self._notes: dict[int | None, Counter[str]] = defaultdict(Counter)
        self._paths: dict[int | None, Counter[str]] = defaultdict(Counter)
        self._internal: dict[int | None, Counter[str]] = defaultdict(Counter)
        self._calls: dict[int | None, Counter[str]] = defaultdict(Counter)
        self._scripts: Counter[int | None] = Counter()
        self._marked_out: Counter[int | None] = Counter()
        self._fields: Counter[str] = Counter()
        self._signers: Counter[str] = Counter()
        self._thumbs = 0
        self._own: Counter[bool] = Counter()

    def run(self) -> None:
        """Visit all objects and report the findings."""
        self._pdf.remove_unreferenced_resources()  # an image that no page draws is a leftover even if pages list it
        for thing in walk_objects(self._pdf, self._findings.is_out_of_time):
            value = thing.value
            if value.is_indirect:
                self._reached.add(value.objgen)
            if isinstance(value, String):
                self._check_string(thing)
            elif isinstance(value, Dictionary | Stream) and not thing.is_name_keyed:
                self._check_dictionary(thing)
        self._report()
        if not self._findings.is_out_of_time():
            self._report_leftovers()

    def _check_string(self, thing: VisitedObject) -> None:
        for path in find_paths(str(thing.value)):
            self._paths[thing.page][path] += 1

    def _check_dictionary(self, thing: VisitedObject) -> None:
        value, page = thing.value, thing.page
        if isinstance(value, Stream):
            self._check_stream(value, thing)
        if isinstance(value.get("/EF"), Dictionary):
            self._files[page][_read_text(value.get("/UF")) or _read_text(value.get("/F")) or "without a name"] += 1
        if "/PieceInfo" in value and isinstance(value["/PieceInfo"], Dictionary):
            self._own[_stream_bytes_below(value["/PieceInfo"]) > _MAX_PRIVATE_DATA_BYTES] += 1
        self._thumbs += isinstance(value.get("/Thumb"), Stream)
        self._check_action(value, page)
        self._check_annotation(value, page)
        self._check_field(value)

    def _check_stream(self, value: Any, thing: VisitedObject) -> None:
        if photos.is_photo(value):
            details = photos.find_personal_data(value)
            if details:
                self._findings.add(
                    "image-metadata", "warning", f"A photo contains {' and '.join(details)}.", thing.page
                )
        elif value.get("/Type") == Name.Metadata or thing.key == "/Metadata":
            try:
                text = value.read_bytes().decode("utf-8", "replace")
            except pikepdf.PdfError:
                return
            for path in find_paths(text):
                self._paths[thing.page][path] += 1

    def _check_action(self, value: Any, page: int | None) -> None:
        kind = str(value.get("/S", "")) if isinstance(value.get("/S"), Name) else ""
        if "/K" in value or "/Pg" in value:
            return  # an element of the structure tree, where /S is its type
        if kind == "/JavaScript" or (kind == "/Rendition" and "/JS" in value):
            self._scripts[page] += 1
        elif kind in _OUTWARD_ACTIONS:
            self._calls[page][_OUTWARD_ACTIONS[kind]] += 1
        elif kind == "/URI":
            address = _read_text(value.get("/URI"))
            if is_internal(address):
                self._internal[page][address] += 1
        for key in ("/OpenAction", "/AA"):
            actions = value.get(key)
            for action in [actions, *actions.values()] if isinstance(actions, Dictionary) else []:
                if isinstance(action, Dictionary) and action.get("/S") == Name.URI:
                    self._calls[page][f"Opens {quote(_read_text(action.get('/URI')))} automatically"] += 1

    def _check_annotation(self, value: Any, page: int | None) -> None:
        kind = str(value.get("/Subtype", "")) if isinstance(value.get("/Subtype"), Name) else ""
        if kind == "/Redact" and "/Rect" in value:
            self._marked_out[page] += 1
        elif kind in NOTE_SUBTYPES and "/Rect" in value and page is not None:
            self._notes[page][_read_text(value.get("/T"))] += 1

    def _check_field(self, value: Any) -> None:
        if "/V" not in value:
            return
        kind, entry = _find_inherited(value, "/FT"), value["/V"]
        name = _read_text(_find_inherited(value, "/T")) or "without a name"
        if kind == Name.Sig and isinstance(entry, Dictionary):
            self._signers[_read_text(entry.get("/Name")) or name] += 1
        elif (kind in (Name.Tx, Name.Ch) and (isinstance(entry, Array | Stream) or _read_text(entry))) or (
            kind == Name.Btn and isinstance(entry, Name) and entry != Name.Off
        ):
            self._fields[name] += 1

    def _report(self) -> None:
        add = self._findings.add
        for page, count in self._marked_out.items():
            areas = format_plural(count, "area is", "areas are")
            text = f"{areas} marked for redaction, but the text has not been removed."
            add("covered-text", "error", text, page)
        for page, files in self._files.items():
            add(
                "attachments",
                "warning",
                f"{format_plural(files.total(), 'embedded file')}: {join_quoted(files)}.",
                page,
            )
        for page, count in self._scripts.items():
            add("javascript", "warning", f"Contains {format_plural(count, 'script')}.", page)
        for page, calls in self._calls.items():
            for call in calls:
                add("actions", "warning", f"{call}.", page)
        for page, notes in self._notes.items():
            names = Counter({name: count for name, count in notes.items() if name})
            by = f" by {join_quoted(names)}" if names else ""
            add("comments", "warning", f"{format_plural(notes.total(), 'comment')}{by}.", page)
        for page, paths in self._paths.items():
            add(
                "paths",
                "warning",
                f"Contains the {'path' if len(paths) == 1 else 'paths'} {join_quoted(paths, 3)}.",
                page,
            )
        for page, links in self._internal.items():
            add("private-links", "warning", f"Links to {join_quoted(links, 3)}.", page)
        self._report_forms()
        if self._own[True]:
            add(
                "private-data",
                "warning",
                "Contains private data of a program, possibly a complete copy of a drawing.",
            )
        elif self._own[False]:
            add("private-data", "note", "Contains private data of a program.")
        if self._thumbs:
            add(
                "thumbnails",
                "note",
                f"{format_plural(self._thumbs, 'page thumbnail')}, possibly of an earlier version.",
            )

    def _report_forms(self) -> None:
        form = self._pdf.Root.get("/AcroForm")
        if isinstance(form, Dictionary) and "/XFA" in form:
            self._findings.add(
                "form-data", "warning", "The document is an XFA form, which stores form data as an embedded file."
            )
        if self._fields:
            message = f"{format_plural(self._fields.total(), 'filled-in form field')}: {join_quoted(self._fields)}."
            self._findings.add("form-data", "warning", message)
        if self._signers:
            self._findings.add("signature", "note", f"Signed by {join_quoted(self._signers)}.")

    def _report_leftovers(self) -> None:
        pages, pictures, masks = 0, set[tuple[int, int]](), set[tuple[int, int]]()
        for value in self._pdf.objects:
            if isinstance(value, Dictionary | Stream) and value.objgen not in self._reached:
                kind = str(value.get("/Type", ""))
                pages += kind == "/Page"
                if kind not in _CONTAINER_TYPES and isinstance(value, Stream) and value.get("/Subtype") == Name.Image:
                    pictures.add(value.objgen)
                    masks |= {
                        mask.objgen for mask in (value.get("/SMask"), value.get("/Mask")) if isinstance(mask, Stream)
                    }
        pictures -= masks
        if pages or pictures:
            counts = [format_plural(pages, "page")] * bool(pages) + [format_plural(len(pictures), "image")] * bool(
                pictures
            )
            self._findings.add("leftovers", "warning", f"Not shown, but still in the file: {' and '.join(counts)}.")


def is_internal(address: str) -> bool:
    """Return whether ``address`` is the URL of a host in a private network."""
    try:
        parts = urlsplit(address.strip())
        host = parts.hostname or ""
    except ValueError:
        return False
    if parts.scheme.lower() not in ("http", "https") or not host:
        return False
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return _INTERNAL_HOST.fullmatch(host) is not None


def _read_text(value: Any) -> str:
    return str(value).strip() if isinstance(value, String) else ""


def _find_inherited(field: Any, key: str) -> Any:
    for _ in range(_MAX_PARENTS):
        if not isinstance(field, Dictionary):
            return None
        if key in field:
            return field[key]
        field = field.get("/Parent")
    return None


def _stream_bytes_below(top: Any) -> int:
    """Return the total size of the streams below ``top``; may stop counting above ``_MAX_PRIVATE_DATA_BYTES``."""
    waiting, seen, total = [top], set[tuple[int, int]](), 0
    while waiting and total <= _MAX_PRIVATE_DATA_BYTES:
        value = waiting.pop()
        if not isinstance(value, Object) or (value.is_indirect and value.objgen in seen):
            continue
        if isinstance(value, Dictionary) and value.get("/Type") in (Name.Page, Name.Pages, Name.Catalog):
            continue
        if value.is_indirect:
            seen.add(value.objgen)
        if isinstance(value, Stream):
            total += len(value.read_raw_bytes())
        if isinstance(value, Dictionary | Stream):
            waiting += value.values()
        elif isinstance(value, Array):
            waiting += list(value)
    return total
