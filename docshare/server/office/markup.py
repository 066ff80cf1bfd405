"""Parse the XML of office documents with expat, without document types, entities or external references."""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from xml.parsers import expat

from docshare.server.office.package import DAMAGED_DETAIL, document_problem

ExternalReferences = dict[str, frozenset[str]]
"""External references of a part: maps the ID to the elements that can use it."""

_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_EBCDIC = b"\x4c\x6f\xa7\x94"  # "<?xm"; other parsers read EBCDIC, expat does not
_RELATIONSHIPS_SUFFIX = "/relationships"  # suffix of the namespaces of attributes that use a reference
_SEPARATOR = " "  # between namespace and local name
_DDE = re.compile(r'[\s"]*DDE(AUTO)?\b', re.I)
_MAX_FIELD_CHARS = 256  # a field code starts with its name
_FIELD_TEXT = ("instrText", "delInstrText")
_RASTER_MAGICS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8")
_RASTER_HEAD_CHARS = 12  # base64 characters, enough for the longest magic


def is_xml_like(head: bytes) -> bool:
    """Return whether a parser could read a part that starts with ``head`` as XML, regardless of its name."""
    if head.startswith(_EBCDIC):
        return True
    for mark in _BYTE_ORDER_MARKS:
        head = head.removeprefix(mark)
    text = head.replace(b"\0", b"")
    start = text.lstrip()
    return start.startswith(b"<") or (bool(text) and not start)  # the white space may continue after the head


def iterate_elements(blocks: Iterable[bytes]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the local name and the attributes of every element in ``blocks``.

    Attribute names include their namespace, so only attributes without one are found by their local names. Raises
    Problem ``unprocessable`` if the XML is not well-formed or has a document type declaration.
    """
    found: list[tuple[str, dict[str, str]]] = []
    parser = _make_parser()
    parser.StartElementHandler = lambda tag, attributes: found.append((_local_name(tag), attributes))
    for _ in _feed(parser, blocks):
        yield from found
        found.clear()


def check_part(blocks: Iterable[bytes], outside: ExternalReferences) -> None:
    """Check the field codes and SVG links of one part, and how it uses the external references ``outside``.

    Raises Problem ``unprocessable``, also for the reasons of ``iterate_elements``.
    """
    checker = _PartChecker(outside)
    parser = _make_parser()
    parser.StartElementHandler = checker.start
    parser.EndElementHandler = checker.end
    parser.CharacterDataHandler = checker.text
    for _ in _feed(parser, blocks):
        pass


class _PartChecker:
    """The expat handlers for one part. ``_fields`` holds the start of each open field code, innermost last."""

    def __init__(self, outside: ExternalReferences) -> None:
        self._outside = outside
        self._fields: list[str] = [""]
        self._in_code = False
        self._in_svg = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        namespace, _, name = tag.rpartition(_SEPARATOR)
        self._in_svg = self._in_svg or name == "svg"
        if self._outside:
            self._check_use(name, attributes)
        if self._in_svg:
            _check_svg(name, attributes)
        elif name == "fldChar":
            self._turn_field(attributes.get(f"{namespace}{_SEPARATOR}fldCharType", ""))
        elif name == "fldSimple":
            _check_field(attributes.get(f"{namespace}{_SEPARATOR}instr", ""))
        elif name in _FIELD_TEXT:
            self._in_code = True

    def end(self, tag: str) -> None:
        if self._in_code and _local_name(tag) in _FIELD_TEXT:
            self._in_code = False
            _check_field(self._fields[-1])

    def text(self, text: str) -> None:
        if self._in_code:
            self._fields[-1] = (self._fields[-1] + text).lstrip()[:_MAX_FIELD_CHARS]

    def _turn_field(self, turn: str) -> None:
        if turn == "begin":
            self._fields.append("")
        elif turn == "end" and len(self._fields) > 1:
            self._fields.pop()

    def _check_use(self, name: str, attributes: dict[str, str]) -> None:
        for key, value in attributes.items():
            namespace, _, local = key.rpartition(_SEPARATOR)
            uses = namespace.endswith(_RELATIONSHIPS_SUFFIX) or local == "relid"
            if uses and value in self._outside and name not in self._outside[value]:
                raise document_problem(
                    "The document uses a hyperlink as a picture or an object.",
                    "Embed linked pictures and objects and upload the document again.",
                )


def _check_field(code: str) -> None:
    if _DDE.match(code):
        raise document_problem(
            "The document contains a DDE field.", "Replace the field with its text and upload the document again."
        )


def _check_svg(name: str, attributes: dict[str, str]) -> None:
    """Raise Problem if an SVG element loads anything but its own parts or embedded raster images. Links in its text are
    allowed, because they load nothing by themselves."""
    if name == "a":
        return
    for key, value in attributes.items():
        if _local_name(key) in ("href", "src") and not (value.lstrip().startswith("#") or _is_raster_data(value)):
            raise document_problem(
                "A picture in the document refers to another file.",
                "Replace the picture with a PNG and upload the document again.",
            )


def _is_raster_data(address: str) -> bool:
    """Return whether ``address`` is a data URL whose bytes are a raster image."""
    declared, found, data = address.strip().partition(";base64,")
    if not found or not declared.startswith("data:image/"):
        return False
    try:
        head = base64.b64decode("".join(data.split())[:_RASTER_HEAD_CHARS], validate=True)
    except (binascii.Error, ValueError):
        return False
    return head.startswith(_RASTER_MAGICS)


def _make_parser() -> expat.XMLParserType:
    parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_document_type
    return parser


def _refuse_document_type(*_: object) -> None:
    raise document_problem("The document contains XML with a document type declaration.")


def _feed(parser: expat.XMLParserType, blocks: Iterable[bytes]) -> Iterator[None]:
    """Feed ``blocks`` to ``parser``; yield after each of them."""
    try:
        for block in blocks:
            parser.Parse(block, False)
            yield
        parser.Parse(b"", True)
        yield
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise document_problem(DAMAGED_DETAIL) from error


def _local_name(name: str) -> str:
    return name.rpartition(_SEPARATOR)[2]
