"""Documents whose page 2 draws with one kind of resource each. Every object of it carries a private note with HIDDEN in
it, and what drawing needs contains KEPT. Page 1 is to be hidden, and page 3 is empty."""

import io
from collections.abc import Callable
from typing import Any

import pikepdf
from pikepdf import Array, Dictionary, Name, Stream, String

from tests.support.documents.pdfs import simple_pdf

RGB = Name.DeviceRGB


class NotedPdfBuilder:
    """Makes objects of ``pdf`` with private notes."""

    def __init__(self, pdf: pikepdf.Pdf) -> None:
        self.pdf = pdf

    def make_dictionary(self, place: str, **entries: Any) -> Any:
        """Return a dictionary with ``entries`` and a note."""
        return self.pdf.make_indirect(Dictionary(Note=String(f"HIDDEN{place}"), **entries))

    def make_stream(self, place: str, data: bytes, **entries: Any) -> Any:
        """Return a stream of ``data`` with ``entries`` and a note."""
        return self.pdf.make_indirect(Stream(self.pdf, data, Note=String(f"HIDDEN{place}"), **entries))

    def make_image(self, place: str, word: str = "KEPTPixels", space: Any = RGB, **entries: Any) -> Any:
        """Return an image of 10 x 10 pixels that spell ``word``."""
        pixels = (word.encode() * 400)[: 100 if space == Name.DeviceGray else 300]
        look = {"Width": 10, "Height": 10, "ColorSpace": space, "BitsPerComponent": 8}
        return self.make_stream(place, pixels, Type=Name.XObject, Subtype=Name.Image, **look, **entries)

    def make_form(self, place: str, drawing: bytes, **entries: Any) -> Any:
        box = Array([0, 0, 400, 400])
        return self.make_stream(place, drawing, Type=Name.XObject, Subtype=Name.Form, BBox=box, **entries)

    def make_function(self, place: str) -> Any:
        """Return a function from white to red."""
        ends = {"C0": Array([1, 1, 1]), "C1": Array([1, 0, 0])}
        return self.make_dictionary(place, FunctionType=2, Domain=Array([0, 1]), N=1, **ends)

    def make_stitched_function(self, place: str, *parts: Any) -> Any:
        """Return a function of type 3 that applies each of ``parts`` to an equal share of its domain."""
        bounds = [number / len(parts) for number in range(1, len(parts))]
        return self.make_dictionary(
            place, FunctionType=3, Domain=Array([0, 1]), Functions=Array(parts), Bounds=Array(bounds),
            Encode=Array([0, 1] * len(parts)),
        )  # fmt: skip

    def make_shading(self, place: str, function: Any) -> Any:
        line = {"Coords": Array([50, 50, 350, 350]), "Extend": Array([True, True])}
        return self.make_dictionary(place, ShadingType=2, ColorSpace=RGB, Function=function, **line)

    def make_layer(self, name: str, **more: Any) -> Any:
        return self.make_dictionary(f"{name}Layer", Type=Name.OCG, Name=String(f"KEPT{name}"), **more)

    def make_type3_font(self, shown: dict[str, bytes], differences: Array, **more: Any) -> Any:
        """Return a font with one glyph for each entry of ``shown``: the name of the glyph and a comment in it."""
        draw = b"600 0 0 0 500 500 d1 0 0 500 500 re f % "
        glyphs = {name: self.make_stream(f"{name}Glyph", draw + word) for name, word in shown.items()}
        encoding = Dictionary(Type=Name.Encoding, Differences=differences, **more)
        return self.make_dictionary(
            "Type3", Type=Name.Font, Subtype=Name.Type3, FontBBox=Array([0, 0, 600, 600]), Encoding=encoding,
            FontMatrix=Array([0.001, 0, 0, 0.001, 0, 0]), FirstChar=65, LastChar=98, Widths=Array([600] * 34),
            CharProcs=Dictionary(**glyphs), Resources=Dictionary(),
        )  # fmt: skip

    def make_descriptor(self, place: str, **program: Any) -> Any:
        measures = {"Flags": 4, "ItalicAngle": 0, "Ascent": 800, "Descent": -200, "CapHeight": 700, "StemV": 80}
        return self.make_dictionary(
            place, Type=Name.FontDescriptor, FontName=Name.KEPTFont, FontBBox=Array([0, 0, 900, 900]),
            CharSet=String(f"/HIDDEN{place}CharSet"), **measures, **program,
        )  # fmt: skip


Feature = Callable[[NotedPdfBuilder, Any], None]
"""Fills a page, which has neither contents nor resources."""


def build_document(feature: Feature) -> bytes:
    """Return a document whose page 2 ``feature`` fills, uncompressed so that words can be found."""
    with pikepdf.open(io.BytesIO(simple_pdf(texts=["HIDDENPage", "", ""]))) as pdf:
        page = pdf.pages[1].obj
        del page["/Resources"]
        feature(NotedPdfBuilder(pdf), page)
        out = io.BytesIO()
        pdf.save(out, compress_streams=False)
        return out.getvalue()


def _fill(make: NotedPdfBuilder, page: Any, drawing: str, **resources: Any) -> None:
    page.Contents = make.make_stream("Contents", f"{drawing} % KEPTDrawing".encode())
    page.Resources = Dictionary(**resources)


def draw_tiles(make: NotedPdfBuilder, page: Any) -> None:
    images = Dictionary(Im=make.make_image("Tile"), Other=make.make_image("OtherTile", "HIDDENPixels"))
    tile = make.make_stream(
        "Pattern", b"30 0 0 30 0 0 cm /Im Do % KEPTTile", Type=Name.Pattern, PatternType=1, PaintType=1, TilingType=1,
        BBox=Array([0, 0, 40, 40]), XStep=40, YStep=40, Resources=Dictionary(XObject=images),
    )  # fmt: skip
    _fill(make, page, "/Pattern cs /P1 scn 50 50 300 300 re f", Pattern=Dictionary(P1=tile))


def draw_shading_pattern(make: NotedPdfBuilder, page: Any) -> None:
    function = make.make_stitched_function("Stitched", make.make_function("First"), make.make_function("Second"))
    shading = make.make_shading("Shading", function)
    state = make.make_dictionary("PatternState", Type=Name.ExtGState, ca=0.5)
    pattern = make.make_dictionary("Pattern", Type=Name.Pattern, PatternType=2, Shading=shading, ExtGState=state)
    _fill(make, page, "/Pattern cs /P1 scn 50 50 300 300 re f", Pattern=Dictionary(P1=pattern))


def draw_deep_functions(make: NotedPdfBuilder, page: Any) -> None:
    """The innermost function of the shading is 20 levels down."""
    function = make.make_function("Innermost")
    for level in range(20):
        function = make.make_stitched_function(f"Level{level}", function)
    _fill(make, page, "/S1 sh", Shading=Dictionary(S1=make.make_shading("Shading", function)))


def draw_shading(make: NotedPdfBuilder, page: Any) -> None:
    function = make.make_stream(
        "Samples", b"\xff\xff\xff\xff\x00\x00", FunctionType=0, Size=Array([2]), BitsPerSample=8, Domain=Array([0, 1]),
        Range=Array([0, 1, 0, 1, 0, 1]),
    )  # fmt: skip
    _fill(make, page, "/S1 sh", Shading=Dictionary(S1=make.make_shading("Shading", function)))


def draw_through_mask(make: NotedPdfBuilder, page: Any) -> None:
    group = make.make_dictionary("Group", Type=Name.Group, S=Name.Transparency, CS=Name.DeviceGray)
    form = make.make_form("MaskForm", b"1 g 0 0 200 400 re f % KEPTMask", Group=group)
    mask = make.make_dictionary("Mask", Type=Name.Mask, S=Name.Luminosity, G=form, BC=Array([0]))
    state = make.make_dictionary("State", Type=Name.ExtGState, SMask=mask, ca=0.8)
    _fill(make, page, "/G1 gs 1 0 0 rg 50 50 300 300 re f", ExtGState=Dictionary(G1=state))


def set_font_by_state(make: NotedPdfBuilder, page: Any) -> None:
    glyphs = {"ga": b"KEPTGlyph", "gb": b"HIDDENOtherGlyph"}
    font = make.make_type3_font(glyphs, Array([65, Name.ga, Name.gb]))
    state = make.make_dictionary("State", Type=Name.ExtGState, Font=Array([font, 90]))
    _fill(make, page, "/G1 gs BT 50 300 Td (AA) Tj ET 50 50 90 90 re f", ExtGState=Dictionary(G1=state))


def draw_images(make: NotedPdfBuilder, page: Any) -> None:
    profile = make.make_stream("Profile", b"KEPTProfile", N=3, Alternate=RGB)
    space = Array([Name.ICCBased, profile])
    soft = make.make_image("SoftMask", "KEPTShades", Name.DeviceGray)
    stencil = make.make_stream(
        "Stencil", b"KEPTStencilKEPTStenc", Type=Name.XObject, Subtype=Name.Image, Width=10, Height=10, ImageMask=True,
        BitsPerComponent=1,
    )  # fmt: skip
    usage = make.make_dictionary("Usage", View=Dictionary(ViewState=Name.ON), CreatorInfo=String("HIDDENCreator"))
    images = Dictionary(
        Soft=make.make_image("SoftImage", space=space, SMask=soft, OC=make.make_layer("Image", Usage=usage)),
        Cut=make.make_image("CutImage", Mask=stencil),
    )
    drawing = "q 150 0 0 150 20 20 cm /Soft Do Q q 150 0 0 150 200 200 cm /Cut Do Q"
    _fill(make, page, drawing, XObject=images)


def write_in_composite_font(make: NotedPdfBuilder, page: Any) -> None:
    program = make.make_stream("Program", b"KEPTProgram", Length1=11)
    characters = make.make_stream("CharacterSet", b"HIDDENCharacters")
    system = Dictionary(Registry=String("Adobe"), Ordering=String("Identity"), Supplement=0)
    inner = make.make_dictionary(
        "Descendant", Type=Name.Font, Subtype=Name.CIDFontType2, BaseFont=Name.KEPTFont, CIDSystemInfo=system, DW=900,
        FontDescriptor=make.make_descriptor("InnerDescriptor", FontFile2=program, CIDSet=characters),
        CIDToGIDMap=make.make_stream("GlyphMap", bytes(range(200))),
    )  # fmt: skip
    font = make.make_dictionary(
        "Font", Type=Name.Font, Subtype=Name.Type0, BaseFont=Name.KEPTFont, Encoding=Name("/Identity-H"),
        DescendantFonts=Array([inner]), ToUnicode=make.make_stream("Unicode", b"begincmap % KEPTUnicode"),
    )  # fmt: skip
    _fill(make, page, "BT /F1 60 Tf 50 300 Td <00410042> Tj ET 50 50 90 90 re f", Font=Dictionary(F1=font))


def write_in_embedded_fonts(make: NotedPdfBuilder, page: Any) -> None:
    fonts = {}
    for number, key in enumerate(("FontFile", "FontFile3")):
        program = make.make_stream(f"Program{key}", f"KEPTProgram{key}".encode(), Subtype=Name.Type1C)
        fonts[f"F{number}"] = make.make_dictionary(
            f"Font{key}", Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.KEPTFont, FirstChar=65, LastChar=65,
            Widths=Array([700]), FontDescriptor=make.make_descriptor(f"Descriptor{key}", **{key: program}),
        )  # fmt: skip
    drawing = "BT /F0 60 Tf 50 300 Td (A) Tj /F1 60 Tf (A) Tj ET 50 50 90 90 re f"
    _fill(make, page, drawing, Font=Dictionary(**fonts))


def mark_contents(make: NotedPdfBuilder, page: Any) -> None:
    mark = make.make_dictionary("Mark", ActualText=String("KEPTText"))
    _fill(make, page, "/Span /M1 BDC 50 50 300 300 re f EMC", Properties=Dictionary(M1=mark))


def draw_in_named_colors(make: NotedPdfBuilder, page: Any) -> None:
    ink = Array([Name.Separation, Name.KEPTInk, RGB, make.make_function("Tint")])
    spaces = Dictionary(C1=Array([Name.Indexed, ink, 1, String(b"\x40\xff")]))
    _fill(make, page, "/C1 cs 1 sc 50 50 300 300 re f", ColorSpace=spaces)


def draw_by_parts_with_groups(make: NotedPdfBuilder, page: Any) -> None:
    """The contents are an array, and the page and its form are transparency groups."""
    profile = make.make_stream("Profile", b"KEPTProfile", N=3, Alternate=RGB)
    page.Group = make.make_dictionary("PageGroup", S=Name.Transparency, CS=Array([Name.ICCBased, profile]))
    group = make.make_dictionary("FormGroup", S=Name.Transparency, CS=RGB, I=True)
    form = make.make_form("Form", b"1 0 0 rg 50 50 300 300 re f % KEPTForm", Group=group)
    page.Resources = Dictionary(XObject=Dictionary(Fm=form))
    parts = (b"q /Fm Do % KEPTFirst\n", b"Q 0 0 1 rg 0 0 40 40 re f % KEPTSecond")
    page.Contents = Array([make.make_stream(f"Part{number}", part) for number, part in enumerate(parts)])


def stamp_on_layer(make: NotedPdfBuilder, page: Any) -> None:
    look = make.make_form("Look", b"0 0 400 400 re f % KEPTLook")
    rectangle, layer = Array([50, 50, 300, 300]), make.make_layer("Stamp")
    stamp = make.make_dictionary("Stamp", Type=Name.Annot, Subtype=Name.Stamp, Rect=rectangle, F=4, OC=layer)
    stamp.AP = Dictionary(N=look)
    page.Annots = Array([stamp])
    _fill(make, page, "")


def choose_glyphs(make: NotedPdfBuilder, page: Any) -> None:
    """The encoding has two runs of codes, and the page shows the second glyph of each."""
    glyphs = {"ga": b"HIDDENFirst", "gb": b"KEPTSecond", "gc": b"HIDDENThird", "gd": b"KEPTFourth"}
    font = make.make_type3_font(glyphs, Array([65, Name.ga, Name.gb, 97, Name.gc, Name.gd]))
    _fill(make, page, "BT /F1 90 Tf 50 300 Td (B) Tj [(b)] TJ ET", Font=Dictionary(F1=font))


FEATURES: tuple[Feature, ...] = (
    draw_tiles, draw_shading_pattern, draw_deep_functions, draw_shading, draw_through_mask, set_font_by_state,
    draw_images, write_in_composite_font, write_in_embedded_fonts, mark_contents, draw_in_named_colors,
    draw_by_parts_with_groups, stamp_on_layer, choose_glyphs,
)  # fmt: skip
