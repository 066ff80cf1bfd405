"""A document without findings, and changes that each cause one finding."""

import io
from collections.abc import Callable, Sequence
from typing import Any

import pikepdf
from pikepdf import Array, Dictionary, Name, Stream, String

from tests.support.documents.images import encode_image
from tests.support.documents.pdfs import Sheet, lines_content, sheets_pdf

Change = Callable[[pikepdf.Pdf], object]

_ARTIST, _GPS, _LATITUDE = 0x013B, 0x8825, 2


def make_lint_pdf(
    *changes: Change, sheets: Sequence[Sheet] = (Sheet(lines_content("Plain text")),), **how: Any
) -> bytes:
    """Return a document without findings, after ``changes``; ``how``: arguments of ``pikepdf.Pdf.save``."""
    with pikepdf.open(io.BytesIO(sheets_pdf(sheets))) as pdf:
        pdf.docinfo["/Title"] = String("Offer")
        pdf.Root.Lang = String("en")
        pdf.Root.MarkInfo = Dictionary(Marked=True)
        pdf.Root.StructTreeRoot = pdf.make_indirect(Dictionary(Type=Name.StructTreeRoot))
        for change in changes:
            change(pdf)
        out = io.BytesIO()
        pdf.save(out, **how)
    return out.getvalue()


def set_info(**entries: str) -> Change:
    """Return a change that sets entries of the document information."""
    return lambda pdf: [pdf.docinfo.__setitem__(f"/{key}", String(text)) for key, text in entries.items()]


def set_xmp(inside: str) -> Change:
    """Return a change that sets XMP metadata with ``inside`` in its description."""
    spaces = {
        "dc": "http://purl.org/dc/elements/1.1/", "pdf": "http://ns.adobe.com/pdf/1.3/",
        "xmp": "http://ns.adobe.com/xap/1.0/", "xmpMM": "http://ns.adobe.com/xap/1.0/mm/",
        "stEvt": "http://ns.adobe.com/xap/1.0/sType/ResourceEvent#",
        "stRef": "http://ns.adobe.com/xap/1.0/sType/ResourceRef#",
    }  # fmt: skip
    known = " ".join(f'xmlns:{name}="{address}"' for name, address in spaces.items())
    text = (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        f'<rdf:Description rdf:about="" {known}>{inside}</rdf:Description></rdf:RDF></x:xmpmeta>'
    )

    def change(pdf: pikepdf.Pdf) -> None:
        pdf.Root.Metadata = pdf.make_indirect(Stream(pdf, text.encode(), Type=Name.Metadata, Subtype=Name.XML))

    return change


def set_catalog_entries(**entries: Any) -> Change:
    """Return a change that sets entries of the catalog; a callable returns the value for the document."""

    def change(pdf: pikepdf.Pdf) -> None:
        for key, value in entries.items():
            pdf.Root[f"/{key}"] = value(pdf) if callable(value) else value

    return change


def set_page_entries(**entries: Any) -> Change:
    """Return a change that sets entries of the first page."""

    def change(pdf: pikepdf.Pdf) -> None:
        for key, value in entries.items():
            pdf.pages[0].obj[f"/{key}"] = value(pdf) if callable(value) else value

    return change


def add_annotation(kind: str, **entries: Any) -> Change:
    """Return a change that adds an annotation to the first page."""

    def change(pdf: pikepdf.Pdf) -> None:
        made = {key: value(pdf) if callable(value) else value for key, value in entries.items()}
        box = made.pop("Rect", Array([72, 500, 272, 540]))
        new = Dictionary(Type=Name.Annot, Subtype=Name(f"/{kind}"), Rect=box, **made)
        pdf.pages[0].obj.Annots = Array([*pdf.pages[0].obj.get("/Annots", ()), pdf.make_indirect(new)])

    return change


def make_action(kind: str, **entries: Any) -> Dictionary:
    """Return an action."""
    return Dictionary(S=Name(f"/{kind}"), **entries)


def make_appearance(instructions: str, width: int = 200, height: int = 40) -> Callable[[pikepdf.Pdf], Dictionary]:
    """Return the appearance of an annotation."""

    def build(pdf: pikepdf.Pdf) -> Dictionary:
        box = Array([0, 0, width, height])
        form = Stream(pdf, instructions.encode(), Type=Name.XObject, Subtype=Name.Form, BBox=box)
        return Dictionary(N=pdf.make_indirect(form))

    return build


def make_attachment(name: str = "plan.xlsx", data: bytes = b"SECRET-PLAN") -> Callable[[pikepdf.Pdf], Dictionary]:
    """Return an attached file."""

    def build(pdf: pikepdf.Pdf) -> Any:
        content = pdf.make_indirect(Stream(pdf, data, Type=Name.EmbeddedFile))
        return pdf.make_indirect(Dictionary(Type=Name.Filespec, UF=String(name), EF=Dictionary(F=content)))

    return build


def make_attachment_names(pdf: pikepdf.Pdf) -> Dictionary:
    """Return the names of a document with one attached file."""
    return Dictionary(EmbeddedFiles=Dictionary(Names=Array([String("key"), make_attachment()(pdf)])))


def add_form_field(kind: str, **entries: Any) -> Change:
    """Return a change that adds a form with one field, ``color``, to the first page."""

    def change(pdf: pikepdf.Pdf) -> None:
        add_annotation("Widget", FT=Name(f"/{kind}"), T=String("color"), **entries)(pdf)
        pdf.Root.AcroForm = Dictionary(Fields=Array([pdf.pages[0].obj.Annots[-1]]))

    return change


def add_layer(name: str, drawing: str, *, states: Callable[[Any], Dictionary], around: str = "{}") -> Change:
    """Return a change that adds ``drawing`` on a layer to the first page, within the drawing ``around``. ``states``
    returns the states of the layers."""

    def change(pdf: pikepdf.Pdf) -> None:
        group = pdf.make_indirect(Dictionary(Type=Name.OCG, Name=String(name)))
        pdf.Root.OCProperties = Dictionary(OCGs=Array([group]), D=states(group))
        pdf.pages[0].obj.Resources.Properties = Dictionary(L=group)
        marked = around.format(f"/OC /L BDC {drawing} EMC")
        pdf.pages[0].contents_add(Stream(pdf, f"\n{marked}\n".encode()))

    return change


def layer_off(group: Any) -> Dictionary:
    """Return states of layers in which ``group`` is off."""
    return Dictionary(OFF=Array([group]))


def layer_on(group: Any) -> Dictionary:
    """Return states of layers in which ``group`` is on."""
    return Dictionary(ON=Array([group]))


def add_photo(*, artist: str = "", gps: bool = False, packed: bool = False) -> Change:
    """Return a change that adds a photo to the first page; ``packed``: encoded as text, as by ReportLab."""
    from PIL import Image

    picture = Image.effect_noise((40, 40), 60).convert("RGB")
    exif = Image.Exif()
    exif[0x0131] = "some program"
    if artist:
        exif[_ARTIST] = artist
    if gps:
        exif[_GPS] = {1: "N", _LATITUDE: (52.0, 31.0, 12.0), 3: "E", 4: (13.0, 24.0, 18.0)}
    raw = encode_image(picture, "JPEG", exif=exif, comment=b"SECRET-COMMENT")
    if packed:
        packing = Array([Name.ASCIIHexDecode, Name.DCTDecode])
        return draw_image(raw.hex().encode() + b">", Filter=packing, Width=40, Height=40)
    return draw_image(raw, Filter=Name.DCTDecode, Width=40, Height=40)


def draw_image(data: bytes, at: str = "100 0 0 100 300 300", **entries: Any) -> Change:
    """Return a change that draws an image over the first page."""

    def change(pdf: pikepdf.Pdf) -> None:
        look = {"ColorSpace": Name.DeviceRGB, "BitsPerComponent": 8, **entries}
        image = pdf.make_indirect(Stream(pdf, data, Type=Name.XObject, Subtype=Name.Image, **look))
        pdf.pages[0].obj.Resources.XObject = Dictionary(I=image)
        pdf.pages[0].contents_add(Stream(pdf, f"\nq {at} cm /I Do Q\n".encode()))

    return change


def list_unused_image(data: bytes) -> Change:
    """Return a change that adds an image to the resources of the first page, which does not draw it."""

    def change(pdf: pikepdf.Pdf) -> None:
        image = Stream(pdf, data, Type=Name.XObject, Subtype=Name.Image, Width=1, Height=1)
        listed = pdf.pages[0].obj.Resources.get("/XObject", Dictionary())
        listed["/Old"] = pdf.make_indirect(image)
        pdf.pages[0].obj.Resources.XObject = listed

    return change


def append_update(document: bytes, body: str = "(changed)") -> bytes:
    """Return the document with an incremental update that adds one object."""
    start = int(document.rsplit(b"startxref", 1)[1].split()[0])
    with pikepdf.open(io.BytesIO(document)) as pdf:
        number, catalog, about = int(pdf.trailer.Size), pdf.Root.objgen[0], pdf.docinfo.objgen[0]
    place = len(document)
    added = document + f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = f"xref\n{number} 1\n{place:010d} 00000 n \ntrailer\n"
    table += f"<< /Size {number + 1} /Root {catalog} 0 R /Info {about} 0 R /Prev {start} >>\n"
    table += f"startxref\n{len(added)}\n%%EOF\n"
    return added + table.encode()
