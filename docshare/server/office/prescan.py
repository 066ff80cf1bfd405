"""Reject a .docx or .pptx with active content or external references before LibreOffice opens it.

This is a second layer of defense: regardless of its settings, LibreOffice 7.4 embeds files of its host that a document
references as hyperlinks or in SVG images. The jail also keeps such files out of reach.
"""

import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO
from urllib.parse import unquote
from xml.sax.saxutils import quoteattr

from docshare.server.office import markup
from docshare.server.office.package import DAMAGED_DETAIL, document_problem, open_package, read_part

MAX_PICTURES = 1_000
"""Maximum number of linked pictures in one document, which the response of the upload lists."""
_XML_NAMES = (".xml", ".rels", ".vml")
_CONTENT_TYPES = "[content_types].xml"
_MAIN_TYPES = {
    "docx": re.compile(r".*\.wordprocessingml\.(document|template)\.main\+xml"),
    "pptx": re.compile(r".*\.presentationml\.(presentation|slideshow|template)\.main\+xml"),
}
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31
_MAX_UNPACKED = 64 << 20
_BLOCK_BYTES = 1 << 16
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:|[/\\]{2}", re.I)
_LOCAL_PATH = re.compile(r"(?:file:///)?(?:[a-z]:[/\\]|/)?[^:/\\][^:]*", re.I)
_HYPERLINK_ELEMENTS = frozenset({"hyperlink", "hlinkClick", "hlinkHover", "hlinkMouseOver"})
_TEMPLATE_ELEMENTS = frozenset({"attachedTemplate"})
_RELATIONSHIPS_NAMESPACE = "http://schemas.openxmlformats.org/package/2006/relationships"
_RELATIONSHIP_ATTRIBUTES = ("Id", "Type", "Target", "TargetMode")
_REFERENCE_LABELS = {
    "oleobject": "an external object",
    "attachedtemplate": "a template on another computer",
    "audio": "a sound",
    "video": "a video",
    "media": "a video or sound",
    "subdocument": "another document",
    "frame": "another document",
    "mailmergesource": "a mail merge data source",
}


@dataclass(frozen=True)
class LinkedPictures:
    """The linked pictures of a package: ``pictures`` are their URLs as written; ``parts`` maps the names of
    relationship parts to their XML without these pictures."""

    pictures: list[str]
    parts: dict[str, str]


def prescan(file: BinaryIO, kind: str) -> LinkedPictures:
    """Check the package in the seekable ``file``, of the ``kind`` ``docx`` or ``pptx``.

    Memory and time grow with the unpacked size, so this must run in a confined process. Returns the linked pictures;
    before the conversion, the caller must replace the parts that contain them.

    Raises Problem ``unprocessable`` for the reasons of ``open_package``, and for a missing main part, macros, a
    document type declaration, external references other than hyperlinks, more than ``MAX_PICTURES`` linked pictures,
    DDE fields, and embedded text documents.
    """
    with open_package(file) as package:
        parts = package.infolist()
        outside: dict[str, markup.ExternalReferences] = {}
        types: set[str] = set()
        linked = LinkedPictures([], {})
        for part in parts:
            name = part.filename.casefold()
            if name == _CONTENT_TYPES:
                types |= _read_declared_types(read_part(package, part))
            elif name.endswith(".rels"):
                pictures: list[str] = []
                rest: list[str] = []
                outside[_source_part_name(name)] = _check_relationships(read_part(package, part), pictures, rest)
                if pictures:
                    linked.pictures.extend(pictures)
                    _check_count(linked.pictures)
                    linked.parts[part.filename] = (
                        f'<Relationships xmlns="{_RELATIONSHIPS_NAMESPACE}">{"".join(rest)}</Relationships>'
                    )
        _check_types(types, kind)
        for part in parts:
            _check_part(package, part, outside)
        return linked


def _check_count(pictures: list[str]) -> None:
    if len(pictures) > MAX_PICTURES:
        raise document_problem(
            f"The document links to more than {MAX_PICTURES:,} external pictures.",
            "Embed linked pictures and upload the document again.",
        )


def _check_part(package: zipfile.ZipFile, part: zipfile.ZipInfo, outside: dict[str, markup.ExternalReferences]) -> None:
    name = part.filename.casefold()
    if posixpath.basename(name) == "vbaproject.bin":
        raise _macro_problem()
    blocks = _decompress(read_part(package, part))
    head = next(blocks, b"")
    if head and (name.endswith(_XML_NAMES) or markup.is_xml_like(head)):
        markup.check_part(_prepend(head, blocks), outside.get(name, {}))
    for _ in blocks:  # read every part to the end, because the directory can declare a false size
        pass


def _read_declared_types(blocks: Iterable[bytes]) -> set[str]:
    return {attributes.get("ContentType", "").casefold() for _, attributes in markup.iterate_elements(blocks)}


def _check_types(types: set[str], kind: str) -> None:
    """Raise Problem for macros, which Word rejects in a .docx too, or if there is no main part: LibreOffice would then
    produce an empty page."""
    if any("macroenabled" in declared or "vbaproject" in declared for declared in types):
        raise _macro_problem()
    if not any(_MAIN_TYPES[kind].fullmatch(declared) for declared in types):
        raise document_problem(DAMAGED_DETAIL)


def _check_relationships(blocks: Iterable[bytes], pictures: list[str], rest: list[str]) -> markup.ExternalReferences:
    """Return the external references of one part, with the elements that can use each.

    Appends the URLs of linked pictures to ``pictures``, and the XML of all other references to ``rest``.
    """
    outside: markup.ExternalReferences = {}
    for element, attributes in markup.iterate_elements(blocks):
        if element != "Relationship":
            continue
        kind = attributes.get("Type", "").rpartition("/")[2].casefold()
        target = unquote(attributes.get("Target", "")).strip()
        if kind == "afchunk":
            raise document_problem(
                "The document contains text from an embedded document.",
                "Open it in Word, save it, and upload it again.",
            )
        if kind == "vbaproject":
            raise _macro_problem()
        is_external = attributes.get("TargetMode", "").strip().casefold() == "external" or _SCHEME.match(target)
        if is_external and kind == "image":
            pictures.append(target)
            continue
        kept = (f" {key}={quoteattr(attributes[key])}" for key in _RELATIONSHIP_ATTRIBUTES if key in attributes)
        rest.append(f"<Relationship{''.join(kept)}/>")
        if is_external:
            outside[attributes.get("Id", "")] = _find_permitted_elements(kind, target)
    return outside


def _find_permitted_elements(kind: str, target: str) -> frozenset[str]:
    """Return the elements that can use an external reference to ``target``. Raises Problem unless it is a hyperlink or
    a local template."""
    if kind == "hyperlink":
        return _HYPERLINK_ELEMENTS
    # Word stores the path of the template on the author's computer in every document; it is never opened.
    if kind == "attachedtemplate" and _LOCAL_PATH.fullmatch(target):
        return _TEMPLATE_ELEMENTS
    raise document_problem(
        f"The document links to {_REFERENCE_LABELS.get(kind, 'external content')}.",
        "Embed linked pictures and objects, remove other links to files, and upload the document again.",
    )


def _source_part_name(name: str) -> str:
    """Return the part that the relationship part ``name`` belongs to: ``word/_rels/document.xml.rels`` ->
    ``word/document.xml``."""
    folder, _, leaf = name.rpartition("/")
    return posixpath.join(posixpath.dirname(folder), leaf.removesuffix(".rels"))


def _decompress(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield ``blocks``, decompressed if they are gzip, because pictures can be compressed again."""
    head = next(blocks, b"")
    if not head.startswith(_GZIP_MAGIC):
        yield from _prepend(head, blocks)
        return
    unzip = zlib.decompressobj(_GZIP_WINDOW)
    total = 0
    try:
        for block in _prepend(head, blocks):
            rest = block
            while rest and not unzip.eof:
                plain = unzip.decompress(rest, _BLOCK_BYTES)
                rest = unzip.unconsumed_tail
                total += len(plain)
                if total > _MAX_UNPACKED:
                    raise document_problem("The document is too large when unpacked.")
                if plain:
                    yield plain
    except zlib.error as error:
        raise document_problem(DAMAGED_DETAIL) from error


def _prepend(head: bytes, blocks: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from blocks


def _macro_problem() -> Exception:
    return document_problem(
        "The document contains macros.", "Save it without macros, as .docx or .pptx, and upload it again."
    )
