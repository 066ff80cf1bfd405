"""Make a copy of a document without metadata and hidden content. Runs only inside the worker.

The copy keeps all visible content, links, outline and structure. Comments and text markup are removed. Text boxes,
stamps, drawings and form fields become part of the page. Everything stored outside the pages is removed. Text under
boxes stays, because only the original application can remove it.
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
)  # kept, because the redaction has not been applied
_DRAWN_SUBTYPES = frozenset({
    "/Widget", "/FreeText", "/Stamp", "/Ink", "/Line", "/Square", "/Circle", "/Polygon", "/PolyLine",
})  # fmt: skip
_HIDDEN_FLAGS = 2 | 32  # annotation flags Hidden and NoView
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
# The exceptions that entries of unexpected types cause.
_MALFORMED_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, RuntimeError, TypeError, ValueError)


def make_clean_copy(file: BinaryIO, *, keep_title: bool) -> bytes:
    """Return a clean copy of the document in ``file``. Raises PdfRefused: ``password``, ``broken``, ``missing``."""
    try:
        with pikepdf.open(file) as pdf:
            title = read_title(pdf) if keep_title else ""
            _flatten_annotations(pdf)
            _remove_document_extras(pdf)
            layers.remove_hidden(pdf)
            pdf.remove_unreferenced_resources()
            for thing in walk_objects(pdf, lambda: False):
                if isinstance(thing.value, Dictionary | Stream) and not thing.is_name_keyed:
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
    """Draw form fields and drawings onto their pages; remove other annotations except links and pending redactions.

    Removed annotations are emptied too, because the structure tree may still refer to them.
    """
    generate_field_appearances(pdf)
    kept: list[list[Any]] = []
    removed: list[Any] = []
    for page in pdf.pages:
        listed = page.obj.get("/Annots")
        annotations = (
            [annotation for annotation in listed if isinstance(annotation, Dictionary)]
            if isinstance(listed, Array)
            else []
        )
        kinds = [str(annotation.get("/Subtype", "")) for annotation in annotations]
        kept.append(
            [annotation for annotation, kind in zip(annotations, kinds, strict=True) if kind in ("/Link", "/Redact")]
        )
        drawn = [
            annotation
            for annotation, kind in zip(annotations, kinds, strict=True)
            if kind in _DRAWN_SUBTYPES and not _annotation_flags(annotation) & _HIDDEN_FLAGS
        ]
        removed += [
            annotation for annotation, kind in zip(annotations, kinds, strict=True) if kind not in ("/Link", "/Redact")
        ]
        page.obj.Annots = Array(drawn)
    pdf.flatten_annotations("all")
    for page, annotations in zip(pdf.pages, kept, strict=True):
        for annotation in annotations:
            keep_only(annotation, _LINK_KEYS if annotation.get("/Subtype") == Name.Link else _REDACT_KEYS)
        page.obj.Annots = Array(annotations)
        if not annotations:
            del page.obj["/Annots"]
    for annotation in removed:
        keep_only(annotation, ())


def _annotation_flags(annotation: Any) -> int:
    flags = annotation.get("/F")
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
    """Remove metadata, unsafe actions and photo metadata from one dictionary or stream."""
    for key in [key for key in value.keys() if key in _REMOVED_KEYS or key.startswith(_TEX_PREFIX)]:  # noqa: SIM118 - no mapping
        del value[key]
    if not _is_safe_action(value.get("/A")):
        del value["/A"]
    if isinstance(value, Stream) and photos.is_photo(value):
        photos.strip_metadata(value)


def _is_safe_action(action: Any) -> bool:
    """Return whether ``action`` is a safe link or not an action at all. Removes the actions that follow it."""
    kind = str(action.get("/S", "")) if isinstance(action, Dictionary) else ""
    if kind not in _ACTION_TYPES:
        return True
    if "/Next" in action:
        del action["/Next"]
    if kind == "/URI":
        address = action.get("/URI")
        return isinstance(address, String) and _SAFE_URL.fullmatch(bytes(address)) is not None
    return kind in ("/GoTo", "/Named")
