"""Office documents for tests: valid ones, and packages with hostile parts. ``compound`` writes OLE containers."""

import io
import re
import struct
import zipfile
from collections.abc import Mapping

import docx
import pptx
from docx.shared import Inches
from PIL import Image
from pptx.util import Inches as SlideInches

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
DOCUMENT, DOCUMENT_RELS = "word/document.xml", "word/_rels/document.xml.rels"
SLIDE, SLIDE_RELS = "ppt/slides/slide1.xml", "ppt/slides/_rels/slide1.xml.rels"

_SECTOR = 512
_END, _FREE, _TABLE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD


def make_picture(size: tuple[int, int] = (8, 8), color: tuple[int, int, int] = (0, 0, 200)) -> bytes:
    """Return a PNG of one color."""
    out = io.BytesIO()
    Image.new("RGB", size, color).save(out, "PNG")
    return out.getvalue()


def make_docx(text: str = "Hello Word", *, pages: int = 1) -> bytes:
    """Return a .docx with ``text`` and a small picture, ``pages`` pages long."""
    document = docx.Document()
    for page in range(pages):
        if page:
            document.add_page_break()
        document.add_paragraph(text)
    document.add_picture(io.BytesIO(make_picture()), width=Inches(1))
    return _save_document(document)


def make_pptx(text: str = "Hello slides", *, pages: int = 1) -> bytes:
    """Return a .pptx with ``text`` and a small picture on each of ``pages`` slides."""
    show = pptx.Presentation()
    for _ in range(pages):
        slide = show.slides.add_slide(show.slide_layouts[6])
        slide.shapes.add_textbox(0, 0, SlideInches(4), SlideInches(1)).text_frame.text = text
        slide.shapes.add_picture(io.BytesIO(make_picture()), SlideInches(1), SlideInches(2), SlideInches(1))
    return _save_document(show)


def read_parts(package: bytes) -> dict[str, bytes]:
    """Return the parts of a package by name."""
    with zipfile.ZipFile(io.BytesIO(package)) as file:
        return {name: file.read(name) for name in file.namelist()}


def make_zip(entries: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip file of ``entries``."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, data in entries.items():
            file.writestr(name, data)
    return out.getvalue()


def change_parts(package: bytes, changes: Mapping[str, bytes | str]) -> bytes:
    """Return ``package`` with some parts replaced or added."""
    new = {name: data.encode() if isinstance(data, str) else data for name, data in changes.items()}
    return make_zip(read_parts(package) | new)


def remove_part(package: bytes, name: str) -> bytes:
    """Return ``package`` without one of its parts."""
    return make_zip({other: data for other, data in read_parts(package).items() if other != name})


def make_relationship(name: str, kind: str, target: str, mode: str = "External") -> str:
    """Return one element of a .rels part."""
    outside = f' TargetMode="{mode}"' if mode else ""
    return f'<Relationship Id="{name}" Type="{OFFICE}/{kind}" Target="{target}"{outside}/>'


def add_relationships(package: bytes, rels: str, *added: str) -> bytes:
    """Return ``package`` with the elements ``added`` to its part ``rels``, which is created if necessary."""
    old = read_parts(package).get(rels, f'<Relationships xmlns="{_PACKAGE}"></Relationships>'.encode()).decode()
    return change_parts(package, {rels: old.replace("</Relationships>", "".join(added) + "</Relationships>")})


def replace_in_part(package: bytes, name: str, pattern: str, text: str) -> bytes:
    """Return ``package`` with every match of ``pattern`` in one part replaced; there must be one."""
    new, count = re.subn(pattern, lambda _: text, read_parts(package)[name].decode(), flags=re.S)
    assert count, f"nothing in {name} matches"
    return change_parts(package, {name: new})


def link_picture(package: bytes, target: str, kind: str = "image") -> bytes:
    """Return ``package``, made by ``word`` or ``slides``, whose picture is drawn from ``target`` by a link of
    ``kind``."""
    name, rels = (DOCUMENT, DOCUMENT_RELS) if DOCUMENT in read_parts(package) else (SLIDE, SLIDE_RELS)
    linked = replace_in_part(package, name, r'<a:blip r:embed="[^"]*"', '<a:blip r:link="outside"')
    return add_relationships(linked, rels, make_relationship("outside", kind, target))


def embed_svg(package: bytes, svg: str) -> bytes:
    """Return ``package``, made by ``word`` or ``slides``, whose picture is ``svg`` under the name of a PNG."""
    return change_parts(package, {next(name for name in read_parts(package) if "/media/" in name): svg})


def make_svg(address: str) -> str:
    """Return an SVG image that shows another picture."""
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="90" height="90">'
        f'<rect width="20" height="20" fill="blue"/><image xlink:href="{address}" width="60" height="60"/></svg>'
    )


def link_object(package: bytes, target: str, kind: str = "oleObject") -> bytes:
    """Return a .pptx made by ``slides`` that shows another document by a link of ``kind``."""
    frame = (
        '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="77" name="o"/><p:cNvGraphicFramePr/><p:nvPr/>'
        '</p:nvGraphicFramePr><p:xfrm><a:off x="0" y="0"/><a:ext cx="4000000" cy="4000000"/></p:xfrm><a:graphic>'
        '<a:graphicData uri="http://schemas.openxmlformats.org/presentationml/2006/ole"><p:oleObj name="x"'
        ' r:id="outside" imgW="4000000" imgH="4000000" progId="Word.Document.12">'
        '<p:link updateAutomatic="1"/></p:oleObj>'
        "</a:graphicData></a:graphic></p:graphicFrame></p:spTree>"
    )
    return add_relationships(
        replace_in_part(package, SLIDE, "</p:spTree>", frame), SLIDE_RELS, make_relationship("outside", kind, target)
    )


def add_field(package: bytes, *pieces: str) -> bytes:
    """Return a .docx made by ``word`` with a field whose code is split into ``pieces``."""
    code = "".join(f'<w:r><w:instrText xml:space="preserve">{piece}</w:instrText></w:r>' for piece in pieces)
    turns = [f'<w:r><w:fldChar w:fldCharType="{turn}"/></w:r>' for turn in ("begin", "separate", "end")]
    paragraph = f"<w:p>{turns[0]}{code}{turns[1]}<w:r><w:t>result</w:t></w:r>{turns[2]}</w:p>"
    return replace_in_part(package, DOCUMENT, "<w:body>", f"<w:body>{paragraph}")


def make_ole_container(*streams: str, nested: str = "", directory: bytes = b"") -> bytes:
    """Return an OLE container with empty ``streams`` in its root, and ``nested`` within a storage. ``directory``
    replaces it.

    Two sectors: the allocation table and the directory, which is chained to itself by no one.
    """
    names = [*streams, *(["ObjectPool", nested] if nested else [])]
    entries = [_make_ole_entry("Root Entry", 5, child=1)]
    for at, name in enumerate(names, start=1):
        inside = nested and at == len(names)
        following = at + 1 if at < len(streams) + bool(nested) and not inside else _FREE
        child = len(names) if name == "ObjectPool" else _FREE
        entries.append(_make_ole_entry(name, 1 if name == "ObjectPool" else 2, right=following, child=child))
    listing = directory or b"".join(entries)
    listing = listing.ljust(-(-len(listing) // _SECTOR) * _SECTOR, b"\0")
    sectors = len(listing) // _SECTOR
    table = [_TABLE, *range(2, sectors + 1), _END]
    header = struct.pack(
        "<8s16x5H6x8L", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 62, 3, 0xFFFE, 9, 6, 0, 1, 1, 0, 4096, _END, 0, _END
    )
    places = struct.pack("<109L", 0, *[_FREE] * 108)
    allocation = struct.pack(f"<{_SECTOR // 4}L", *table, *[_FREE] * (_SECTOR // 4 - len(table)))
    return header + struct.pack("<L", 0) + places + allocation + listing


def _make_ole_entry(name: str, kind: int, *, right: int = _FREE, child: int = _FREE) -> bytes:
    text = name.encode("utf-16-le") + b"\0\0"
    return struct.pack("<64sHBB3L16x4x16xLQ", text, len(text), kind, 1, _FREE, right, child, _END, 0)


def _save_document(document: object) -> bytes:
    out = io.BytesIO()
    document.save(out)  # type: ignore[attr-defined]
    return out.getvalue()
