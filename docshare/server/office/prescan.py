"""What a .docx or .pptx must not hold, because a converter might act on it: judged before LibreOffice starts.

An independent layer (spec: hardening F9, M22): LibreOffice 7.4 embeds files of its host through links that call
themselves hyperlinks and through SVG images, whatever its profile says. Both are found here, and neither could reach
anything from inside the jail.
"""

import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple
from urllib.parse import unquote
from xml.sax.saxutils import quoteattr

from docshare.server.office import markup
from docshare.server.office.package import DAMAGED_DETAIL, document_problem, open_package, read_part

MAX_PICTURES = 1_000
"""Linked pictures of one document: each is named to its sender."""
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
    "oleobject": "a linked object",
    "attachedtemplate": "a template on another machine",
    "audio": "a sound",
    "video": "a film",
    "media": "a film or sound",
    "subdocument": "another document",
    "frame": "another document",
    "mailmergesource": "the data of a form letter",
}


class LinkedPictures(NamedTuple):
    """The pictures that a package takes from other places: their addresses as written, and its relationship parts as
    they are without them, by name."""

    pictures: list[str]
    parts: dict[str, str]


def prescan(file: BinaryIO, kind: str) -> LinkedPictures:
    """Judge the package in ``file`` (seekable), a ``docx`` or ``pptx`` by its ``kind``. Memory and time grow with what
    it unpacks to, so this belongs in a confined process.

    Returns the linked pictures: a package with any must not be converted before its parts are replaced.

    Raises Problem ``unprocessable``: as ``open_package``, and no main part of the kind, macros, a document type
    declaration, references to other places than plain hyperlinks, more than ``MAX_PICTURES`` linked pictures, DDE
    fields, documents inside the text.
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
            f"The document links to more than {MAX_PICTURES:,} pictures outside of it.",
            "Embed linked pictures, and send it again.",
        )


def _check_part(package: zipfile.ZipFile, part: zipfile.ZipInfo, outside: dict[str, markup.ExternalReferences]) -> None:
    name = part.filename.casefold()
    if posixpath.basename(name) == "vbaproject.bin":
        raise _macro_problem()
    blocks = _decompress(read_part(package, part))
    head = next(blocks, b"")
    if head and (name.endswith(_XML_NAMES) or markup.is_xml_like(head)):
        markup.check_part(_prepend(head, blocks), outside.get(name, {}))
    for _ in blocks:  # read to the end all the same: the directory must not lie about a size
        pass


def _read_declared_types(blocks: Iterable[bytes]) -> set[str]:
    return {attributes.get("ContentType", "").casefold() for _, attributes in markup.iterate_elements(blocks)}


def _check_types(types: set[str], kind: str) -> None:
    """No macros, which Word itself does not open in a .docx, and a main part: without one an empty page would come."""
    if any("macroenabled" in declared or "vbaproject" in declared for declared in types):
        raise _macro_problem()
    if not any(_MAIN_TYPES[kind].fullmatch(declared) for declared in types):
        raise document_problem(DAMAGED_DETAIL)


def _check_relationships(blocks: Iterable[bytes], pictures: list[str], rest: list[str]) -> markup.ExternalReferences:
    """The references of one part that lead out of the document: their ids, and which elements may use each.

    The addresses of linked pictures are added to ``pictures``, everything else, as XML, to ``rest``.
    """
    outside: markup.ExternalReferences = {}
    for element, attributes in markup.iterate_elements(blocks):
        if element != "Relationship":
            continue
        kind = attributes.get("Type", "").rpartition("/")[2].casefold()
        target = unquote(attributes.get("Target", "")).strip()
        if kind == "afchunk":
            raise document_problem(
                "The document takes a part of its text from another document inside it.",
                "Open it in Word, save it once, and send that.",
            )
        if kind == "vbaproject":
            raise _macro_problem()
        leads_out = attributes.get("TargetMode", "").strip().casefold() == "external" or _SCHEME.match(target)
        if leads_out and kind == "image":
            pictures.append(target)
            continue
        shown = (f" {key}={quoteattr(attributes[key])}" for key in _RELATIONSHIP_ATTRIBUTES if key in attributes)
        rest.append(f"<Relationship{''.join(shown)}/>")
        if leads_out:
            outside[attributes.get("Id", "")] = _find_permitted_elements(kind, target)
    return outside


def _find_permitted_elements(kind: str, target: str) -> frozenset[str]:
    """The elements that may use a reference to ``target`` outside. Raises for all but hyperlinks and template names."""
    if kind == "hyperlink":
        return _HYPERLINK_ELEMENTS
    # Word notes the template's path of the author's machine in every document; nobody follows it.
    if kind == "attachedtemplate" and _LOCAL_PATH.fullmatch(target):
        return _TEMPLATE_ELEMENTS
    raise document_problem(
        f"The document takes {_REFERENCE_LABELS.get(kind, 'something')} from outside of it.",
        "Embed linked pictures and objects, remove other links to files, and send it again.",
    )


def _source_part_name(name: str) -> str:
    """The part whose references stand in the part ``name``: ``word/_rels/document.xml.rels`` -> word/document.xml."""
    folder, _, leaf = name.rpartition("/")
    return posixpath.join(posixpath.dirname(folder), leaf.removesuffix(".rels"))


def _decompress(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """``blocks``, or what is in them when they are gzip: pictures may be compressed once more."""
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
                    raise document_problem("The document unpacks to more than is accepted.")
                if plain:
                    yield plain
    except zlib.error as error:
        raise document_problem(DAMAGED_DETAIL) from error


def _prepend(head: bytes, blocks: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from blocks


def _macro_problem() -> Exception:
    return document_problem(
        "The document holds macros.", "Save it without macros, as .docx or .pptx, and send it again."
    )
