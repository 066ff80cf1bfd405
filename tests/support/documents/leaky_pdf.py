"""A document that refers to its hidden pages from everywhere: five pages, of which tests keep 2 and 3.

Each part that belongs to other pages, or to the whole document, contains the word HIDDEN and the name of its place; the
parts that the kept pages need contain KEPT. The file has object streams and an older revision of itself.
"""

import io
import zlib
from typing import Any

import pikepdf
from pikepdf import Array, Dictionary, Name, Stream, String

from tests.support.documents.pdfs import simple_pdf

WINDOW = (2, 3)


class LeakyPdfBuilder:
    """Builds the document part by part; ``places``: the hidden places, each with its own word."""

    def __init__(self) -> None:
        self.pdf = pikepdf.new()
        self.places: list[str] = []

    def make_secret_word(self, place: str) -> str:
        """Return a new word that must not be in the result."""
        self.places.append(place)
        return f"HIDDEN{place}"

    def make_text(self, place: str) -> String:
        return String(self.make_secret_word(place))

    def make_stream(self, place: str, before: str = "", **entries: Any) -> Any:
        """Return a deflated stream that contains a word."""
        data = f"{before} % {self.make_secret_word(place)}\n".encode()
        return self.pdf.make_indirect(Stream(self.pdf, zlib.compress(data), Filter=Name.FlateDecode, **entries))

    def make_image(self, word: str) -> Any:
        pixels = (word.encode() * 400)[:300]
        look = {"Width": 10, "Height": 10, "ColorSpace": Name.DeviceRGB, "BitsPerComponent": 8}
        image = Stream(self.pdf, zlib.compress(pixels), Filter=Name.FlateDecode, Subtype=Name.Image, **look)
        return self.pdf.make_indirect(image)

    def make_form(self, instructions: str, **entries: Any) -> Any:
        box = Array([0, 0, 100, 100])
        form = Stream(self.pdf, instructions.encode(), Type=Name.XObject, Subtype=Name.Form, BBox=box, **entries)
        return self.pdf.make_indirect(form)

    def make_file(self, place: str) -> Any:
        data = self.make_stream(place, Type=Name.EmbeddedFile)
        return self.pdf.make_indirect(
            Dictionary(Type=Name.Filespec, F=self.make_text(f"{place}Name"), EF=Dictionary(F=data))
        )

    def make_type3_font(self) -> Any:
        """Return a font whose glyphs are drawings: "a" is shown on kept pages, "b" only on hidden ones."""
        glyphs = Dictionary(
            ga=Stream(self.pdf, b"600 0 0 0 500 500 d1 0 0 500 500 re f % KEPTGlyph"),
            gb=self.make_stream("Glyph", "600 0 0 0 500 500 d1 0 0 250 500 re f"),
        )
        encoding = Dictionary(Type=Name.Encoding, Differences=Array([97, Name.ga, Name.gb]))
        return self.pdf.make_indirect(
            Dictionary(
                Type=Name.Font, Subtype=Name.Type3, FontBBox=Array([0, 0, 600, 600]), CharProcs=glyphs,
                FontMatrix=Array([0.001, 0, 0, 0.001, 0, 0]), Encoding=encoding, FirstChar=97, LastChar=98,
                Widths=Array([600, 600]), PrivateNote=self.make_text("FontNote"), Resources=Dictionary(),
            )
        )  # fmt: skip

    def make_layer(self, name: str, **more: Any) -> Any:
        return self.pdf.make_indirect(Dictionary(Type=Name.OCG, Name=String(name), **more))


def leaky_pdf() -> tuple[bytes, list[str]]:
    """Return the document, and the words that must not be in a copy of its pages 2 and 3."""
    maker = LeakyPdfBuilder()
    pdf = maker.pdf
    for _ in range(5):
        pdf.add_blank_page(page_size=(400, 400))
    layers = _add_resources(maker)
    for number, page in enumerate(pdf.pages, 1):
        _fill_page(maker, page.obj, number, layers)
    _add_annotations(maker)
    _add_document_entries(maker, layers)
    _add_structure_tree(maker)
    out = io.BytesIO()
    pdf.save(out, object_stream_mode=pikepdf.ObjectStreamMode.generate, fix_metadata_version=False)
    old = simple_pdf(texts=[maker.make_secret_word("OldRevision")])
    # No object refers to the bytes between and after the parts of the file.
    data = out.getvalue()
    whole = (
        data
        + b"\n% "
        + maker.make_secret_word("AfterTheEnd").encode()
        + b"\n"
        + old[9:-6]
        + b"\n"
        + data[data.rindex(b"startxref") :]
    )
    return whole, [f"HIDDEN{place}" for place in maker.places]


def _add_resources(maker: LeakyPdfBuilder) -> dict[str, Any]:
    """Return one resource dictionary for all pages, stored in the page tree."""
    pdf, text = maker.pdf, maker.make_text
    kept_layer = maker.make_layer("KEPTLayer", Usage=Dictionary(CreatorInfo=Dictionary(Creator=text("LayerCreator"))))
    off_layer, hidden_layer = maker.make_layer("KEPTOff"), maker.make_layer(maker.make_secret_word("Layer"))
    kept_image = maker.make_image("KEPTImage")
    kept_image.Metadata = maker.make_stream("ImageMetadata", Type=Name.Metadata, Subtype=Name.XML)
    kept_image.Alternates = Array([Dictionary(Image=maker.make_image(maker.make_secret_word("Alternate")))])
    kept_form = maker.make_form(
        "q 30 0 0 30 10 10 cm /ImKept Do Q 0 0 1 rg 50 50 20 20 re f", PieceInfo=Dictionary(Tool=text("FormPiece")),
        LastModified=text("FormDate"), StructParents=7, Metadata=maker.make_stream("FormMetadata", Type=Name.Metadata),
    )  # fmt: skip
    plain = Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Helvetica)
    hidden_font = Dictionary(
        Type=Name.Font, Subtype=Name.Type1, BaseFont=Name("/" + maker.make_secret_word("FontName"))
    )
    mask = Dictionary(S=Name.Luminosity, G=maker.make_form(f"% {maker.make_secret_word('Mask')}"))
    tint = Dictionary(FunctionType=2, Domain=Array([0, 1]), C0=Array([0, 0, 0]), C1=Array([1, 0, 0]), N=1)
    tiling = Stream(
        pdf, f"0 0 5 5 re f % {maker.make_secret_word('Pattern')}".encode(), PatternType=1, PaintType=1, TilingType=1
    )
    tiling.BBox, tiling.XStep, tiling.YStep, tiling.Resources = Array([0, 0, 9, 9]), 9, 9, Dictionary()
    shading = Dictionary(ShadingType=2, ColorSpace=Name.DeviceRGB, Coords=Array([0, 0, 1, 1]))
    shading.Function = maker.make_stream("ShadingFunction", FunctionType=4, Domain=Array([0, 1]), Range=Array([0, 1]))
    pdf.Root.Pages.Resources = Dictionary(
        XObject=Dictionary(
            ImKept=kept_image, FmKept=kept_form, ImHidden=maker.make_image(maker.make_secret_word("Image")),
            FmHidden=maker.make_form(f"% {maker.make_secret_word('Form')}"),
        ),
        Font=Dictionary(
            F1=pdf.make_indirect(plain), F3=maker.make_type3_font(), FHidden=pdf.make_indirect(hidden_font)
        ),
        ExtGState=Dictionary(GsKept=Dictionary(ca=0.5, Note=text("StateNote")), GsHidden=Dictionary(SMask=mask)),
        Pattern=Dictionary(PHidden=pdf.make_indirect(tiling)),
        Shading=Dictionary(ShHidden=shading),
        ColorSpace=Dictionary(
            CsKept=Array([Name.Separation, Name.KEPTInk, Name.DeviceRGB, tint]),
            CsHidden=Array([Name.Separation, Name("/" + maker.make_secret_word("Ink")), Name.DeviceRGB, tint]),
        ),
        Properties=Dictionary(
            LayerKept=kept_layer, LayerOff=off_layer, LayerHidden=hidden_layer,
            MarkHidden=Dictionary(ActualText=text("ActualText")),
        ),
    )  # fmt: skip
    pdf.Root.Pages.Note = text("PagesNote")
    return {"kept": kept_layer, "off": off_layer, "hidden": hidden_layer}


def _fill_page(maker: LeakyPdfBuilder, page: Any, number: int, layers: dict[str, Any]) -> None:
    del page.Resources
    page.StructParents = number
    if number in WINDOW:
        draw = (
            f"/P <</MCID 0>> BDC BT /F1 20 Tf 20 360 Td (KEPTPage{number} words) Tj ET EMC q /GsKept gs "
            "/CsKept cs 1 scn 200 200 50 50 re f Q /FmKept Do BT /F3 30 Tf 20 250 Td (aa) Tj ET "
            "/OC /LayerKept BDC 0 1 0 rg 300 300 30 30 re f EMC /OC /LayerOff BDC 1 0 0 rg 0 0 400 400 re f EMC"
        )
        page.Contents = Stream(maker.pdf, draw.encode())
        word = f"Page{number}"
        page.Metadata = maker.make_stream(f"{word}Metadata", Type=Name.Metadata)
        page.PieceInfo = Dictionary(Tool=Dictionary(Private=maker.make_text(f"{word}Piece")))
        page.Thumb = maker.make_image(maker.make_secret_word(f"{word}Thumb"))
        page.AA = Dictionary(O=Dictionary(S=Name.JavaScript, JS=maker.make_text(f"{word}Action")))
        page.AF = Array([maker.make_file(f"{word}Associated")])
        page.Private = maker.pdf.pages[0].obj
        page.B = Array([maker.pdf.make_indirect(Dictionary(Type=Name.Bead, Note=maker.make_text(f"{word}Bead")))])
    else:
        draw = (
            f"BT /F1 20 Tf 20 360 Td ({maker.make_secret_word(f'Page{number}')}) Tj ET "
            "/ImHidden Do /FmHidden Do /GsHidden gs "
            "/Pattern cs /PHidden scn 0 0 9 9 re f /CsHidden cs 1 scn /ShHidden sh /OC /LayerHidden BDC EMC "
            "/Span /MarkHidden BDC EMC BT /F3 30 Tf (b) Tj /FHidden 9 Tf (x) Tj ET"
        )
        page.Contents = Stream(maker.pdf, draw.encode())
        note = Dictionary(Type=Name.Annot, Subtype=Name.Text, Rect=Array([0, 0, 9, 9]))
        note.Contents = maker.make_text(f"Note{number}")
        page.Annots = Array([maker.pdf.make_indirect(note)])


def _add_annotations(maker: LeakyPdfBuilder) -> None:
    """Add to page 2 links to all pages, a form field, files, and a comment that replies to one on a hidden page."""
    pdf, text = maker.pdf, maker.make_text
    pages = [page.obj for page in pdf.pages]
    look = maker.make_form("0.9 g 0 0 100 100 re f % KEPTLook")

    def note(subtype: Any, top: int, **more: Any) -> Any:
        rect = Array([300, top, 380, top + 20])
        return pdf.make_indirect(Dictionary(Type=Name.Annot, Subtype=subtype, Rect=rect, F=4, **more))

    def link(top: int, **more: Any) -> Any:
        return note(Name.Link, top, Border=Array([0, 0, 0]), **more)

    def act(kind: Any, **more: Any) -> Any:
        return Dictionary(S=kind, Next=Dictionary(S=Name.JavaScript, JS=text(f"Next{len(maker.places)}")), **more)

    field = Dictionary(FT=Name.Tx, T=text("FieldName"), TU=text("FieldTip"), Kids=Array([]))
    parent = pdf.make_indirect(field)
    script = Dictionary(K=Dictionary(S=Name.JavaScript, JS=text("FieldScript")))
    widget = note(Name.Widget, 20, Parent=parent, AP=Dictionary(N=look), AA=script, V=text("FieldValue"))
    parent.Kids = Array([widget])
    pages[1].Annots = Array(
        [
            link(40, Dest=Array([pages[0], Name.XYZ, 0, 0, 0])),
            link(60, Dest=Array([pages[2], Name.XYZ, 0, 400, 0]), Contents=text("LinkRemark")),
            link(80, Dest=String("to-page-3")),
            link(100, Dest=text("Destination")),
            link(120, A=act(Name.URI, URI=String("https://example.com/KEPTLink"))),
            link(140, A=act(Name.GoTo, D=Array([pages[4], Name.Fit]))),
            link(160, A=act(Name.Launch, F=text("Program"))),
            link(180, A=act(Name.GoToR, F=text("OtherFile"), D=Array([0, Name.Fit]))),
            link(190, A=act(Name.URI, URI=String(f"javascript:{maker.make_secret_word('ScriptLink')}"))),
            widget,
            note(Name.FileAttachment, 220, FS=maker.make_file("NoteFile"), AP=Dictionary(N=look)),
            note(Name.Text, 240, Contents=String("KEPTRemark"), IRT=pages[0].Annots[0], T=text("RemarkAuthor")),
            note(Name.Popup, 260, Parent=pages[0].Annots[0], Contents=text("Popup")),
        ]
    )
    pdf.Root.AcroForm = Dictionary(
        Fields=Array([parent, Dictionary(FT=Name.Tx, T=text("OtherField"), V=text("OtherValue"))]),
        XFA=maker.make_stream("Xfa"), DR=Dictionary(Font=Dictionary()),
    )  # fmt: skip


def _add_document_entries(maker: LeakyPdfBuilder, layers: dict[str, Any]) -> None:
    pdf, text = maker.pdf, maker.make_text
    pages = [page.obj for page in pdf.pages]
    destinations = Array(
        [text("Destination"), Array([pages[0], Name.Fit]), String("to-page-3"), Array([pages[2], Name.Fit])]
    )
    pdf.Root.Names = Dictionary(
        Dests=Dictionary(Names=destinations),
        EmbeddedFiles=Dictionary(Names=Array([text("FileKey"), maker.make_file("Attachment")])),
        JavaScript=Dictionary(Names=Array([text("ScriptKey"), Dictionary(S=Name.JavaScript, JS=text("Script"))])),
    )
    entry = pdf.make_indirect(Dictionary(Title=text("OutlineTitle"), Dest=Array([pages[0], Name.Fit])))
    pdf.Root.Outlines = pdf.make_indirect(Dictionary(Type=Name.Outlines, First=entry, Last=entry, Count=1))
    pdf.Root.Metadata = pdf.make_indirect(
        Stream(pdf, f"<xmp>{maker.make_secret_word('Xmp')}</xmp>".encode(), Type=Name.Metadata)
    )
    pdf.Root.OpenAction = Dictionary(S=Name.JavaScript, JS=text("OpenAction"))
    pdf.Root.PageLabels = Dictionary(Nums=Array([0, Dictionary(P=text("Label"))]))
    pdf.Root.PieceInfo = Dictionary(Tool=text("Piece"))
    pdf.Root.Lang, pdf.Root.Private = text("Lang"), text("Private")
    pdf.Root.AF = Array([maker.make_file("Associated")])
    pdf.Root.OCProperties = Dictionary(
        OCGs=Array(list(layers.values())),
        D=Dictionary(
            Name=text("LayerSet"), Order=Array([text("LayerGroup"), *layers.values()]), OFF=Array([layers["off"]])
        ),
    )
    pdf.docinfo.Title, pdf.docinfo.Keywords = text("Title"), text("Keywords")
    pdf.trailer.Private = text("Trailer")


def _add_structure_tree(maker: LeakyPdfBuilder) -> None:
    """Tags: alternative texts of hidden pages, in the tree and reachable from kept pages through the parent tree."""
    pdf = maker.pdf
    root = pdf.make_indirect(Dictionary(Type=Name.StructTreeRoot))
    elements = []
    for number, page in enumerate(pdf.pages, 1):
        element = Dictionary(Type=Name.StructElem, S=Name.Figure, P=root, Pg=page.obj, K=0)
        element.Alt, element.ActualText = maker.make_text(f"Alt{number}"), maker.make_text(f"Actual{number}")
        elements.append(pdf.make_indirect(element))
    root.K = Array(elements)
    pairs = [value for number, element in enumerate(elements, 1) for value in (number, Array([element]))]
    root.ParentTree = Dictionary(Nums=Array(pairs))
    pdf.Root.StructTreeRoot, pdf.Root.MarkInfo = root, Dictionary(Marked=True)
