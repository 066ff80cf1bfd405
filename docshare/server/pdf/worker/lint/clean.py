"""A copy of a document without what its pages do not show. Runs inside the worker only.

What a reader sees stays, with links, outline and structure. Notes and marks on text go; what was typed, stamped or
drawn onto a page, and fields of forms, become part of the page. Everything the document keeps beside its pages goes.
Text under boxes stays: taking it out needs the program the document was made with.
"""

import io
import re
from typing import Any, BinaryIO

import pikepdf
from pikepdf import Array, Dictionary, Name, Stream, String

from docshare.server.pdf.worker.cut import generate_field_appearances
from docshare.server.pdf.worker.documents import PdfRefused
from docshare.server.pdf.worker.lint import layers, photos
from docshare.server.pdf.worker.lint.about import find_paths, read_title
from docshare.server.pdf.worker.lint.walk import walk_objects
from docshare.server.pdf.worker.resources import keep_only

_CATALOG_KEYS = frozenset({
    "/Type", "/Version", "/Extensions", "/Pages", "/PageLabels", "/Names", "/Dests", "/ViewerPreferences",
    "/PageLayout", "/PageMode", "/Outlines", "/OpenAction", "/StructTreeRoot", "/MarkInfo", "/Lang",
    "/OutputIntents", "/OCProperties",
})  # fmt: skip
_PAGE_KEYS = frozenset({
    "/Type", "/Parent", "/Resources", "/MediaBox", "/CropBox", "/BleedBox", "/TrimBox", "/ArtBox", "/Contents",
    "/Rotate", "/Group", "/Annots", "/Tabs", "/UserUnit", "/StructParents", "/Trans", "/Dur",
})  # fmt: skip
_LINK_KEYS = frozenset({
    "/Type", "/Subtype", "/Rect", "/F", "/C", "/Border", "/BS", "/QuadPoints", "/H", "/A", "/Dest", "/StructParent",
    "/P", "/Contents", "/OC",
})  # fmt: skip
_REDACT_KEYS = frozenset(
    {"/Type", "/Subtype", "/Rect", "/F", "/QuadPoints", "/P"}
)  # it stays, since the work is not done
_DRAWN_SUBTYPES = frozenset({
    "/Widget", "/FreeText", "/Stamp", "/Ink", "/Line", "/Square", "/Circle", "/Polygon", "/PolyLine",
})  # fmt: skip
_HIDDEN_FLAGS = 2 | 32  # flags of annotations: hidden, and not shown on screens
_REMOVED_KEYS = frozenset({
    "/Metadata", "/PieceInfo", "/LastModified", "/AF", "/AA", "/Thumb", "/OPI", "/Alternates", "/Ref", "/EF", "/RF",
})  # fmt: skip
_TRAILER_KEYS = frozenset({"/Root", "/Info", "/Size", "/ID", "/Encrypt"})
_TEX_PREFIX = "/PTEX."
_ACTION_TYPES = frozenset({
    "/GoTo", "/GoToR", "/GoToE", "/Launch", "/Thread", "/URI", "/Sound", "/Movie", "/Hide", "/Named", "/SubmitForm",
    "/ResetForm", "/ImportData", "/JavaScript", "/SetOCGState", "/Rendition", "/Trans", "/GoTo3DView",
    "/RichMediaExecute",
})  # fmt: skip
_SAFE_URL = re.compile(rb"(?:https?://|mailto:|tel:)[^\x00-\x20\x7f]+", re.IGNORECASE)
# What comes of entries that are not of the kind they should be.
_MALFORMED_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, RuntimeError, TypeError, ValueError)


def make_clean_copy(file: BinaryIO, *, keep_title: bool) -> bytes:
    """The clean copy of the document in ``file``. Raises Refused: ``password``, ``broken``, ``missing``."""
    try:
        with pikepdf.open(file) as pdf:
            title = read_title(pdf) if keep_title else ""
            _flatten_annotations(pdf)
            _remove_document_extras(pdf)
            layers.remove_hidden(pdf)
            pdf.remove_unreferenced_resources()
            for thing in walk_objects(pdf, lambda: False):
                if isinstance(thing.value, Dictionary | Stream) and not thing.named:
                    _remove_extras(thing.value)
            if "/Info" in pdf.trailer:
                del pdf.trailer["/Info"]
            if title and not find_paths(title):
                pdf.docinfo["/Title"] = String(title)
            out = io.BytesIO()
            pdf.save(out, encryption=False, deterministic_id=True, fix_metadata_version=False)
    except pikepdf.PasswordError as error:
        raise PdfRefused("password") from error
    except OSError as error:
        raise PdfRefused("missing") from error
    except (pikepdf.PdfError, *_MALFORMED_ERRORS) as error:
        raise PdfRefused("broken") from error
    return out.getvalue()


def _flatten_annotations(pdf: pikepdf.Pdf) -> None:
    """Draw fields and drawings onto their pages; of the other annotations only links stay. What is not kept is emptied,
    for the structure tree may still point to it."""
    generate_field_appearances(pdf)
    kept: list[list[Any]] = []
    gone: list[Any] = []
    for page in pdf.pages:
        listed = page.obj.get("/Annots")
        notes = [note for note in listed if isinstance(note, Dictionary)] if isinstance(listed, Array) else []
        kinds = [str(note.get("/Subtype", "")) for note in notes]
        kept.append([note for note, kind in zip(notes, kinds, strict=True) if kind in ("/Link", "/Redact")])
        drawn = [
            note
            for note, kind in zip(notes, kinds, strict=True)
            if kind in _DRAWN_SUBTYPES and not _annotation_flags(note) & _HIDDEN_FLAGS
        ]
        gone += [note for note, kind in zip(notes, kinds, strict=True) if kind not in ("/Link", "/Redact")]
        page.obj.Annots = Array(drawn)
    pdf.flatten_annotations("all")
    for page, notes in zip(pdf.pages, kept, strict=True):
        for note in notes:
            keep_only(note, _LINK_KEYS if note.get("/Subtype") == Name.Link else _REDACT_KEYS)
        page.obj.Annots = Array(notes)
        if not notes:
            del page.obj["/Annots"]
    for note in gone:
        keep_only(note, ())


def _annotation_flags(note: Any) -> int:
    flags = note.get("/F")
    return flags if isinstance(flags, int) else 0


def _remove_document_extras(pdf: pikepdf.Pdf) -> None:
    keep_only(pdf.trailer, _TRAILER_KEYS)
    keep_only(pdf.Root, _CATALOG_KEYS)
    names = pdf.Root.get("/Names")
    if isinstance(names, Dictionary):
        keep_only(names, ("/Dests",))
    if not _is_safe_action(pdf.Root.get("/OpenAction")):
        del pdf.Root["/OpenAction"]
    for page in pdf.pages:
        keep_only(page.obj, _PAGE_KEYS)


def _remove_extras(value: Any) -> None:
    """Take out of one dictionary what is not for readers."""
    for key in [key for key in value.keys() if key in _REMOVED_KEYS or key.startswith(_TEX_PREFIX)]:  # noqa: SIM118 - no mapping
        del value[key]
    if not _is_safe_action(value.get("/A")):
        del value["/A"]
    if isinstance(value, Stream) and photos.is_photo(value):
        photos.strip_metadata(value)


def _is_safe_action(action: Any) -> bool:
    """Whether ``action`` leads to a place a reader may go to, or is none at all. Nothing may follow it."""
    kind = str(action.get("/S", "")) if isinstance(action, Dictionary) else ""
    if kind not in _ACTION_TYPES:
        return True
    if "/Next" in action:
        del action["/Next"]
    if kind == "/URI":
        address = action.get("/URI")
        return isinstance(address, String) and _SAFE_URL.fullmatch(bytes(address)) is not None
    return kind in ("/GoTo", "/Named")
