"""Resources of a page range: each kind keeps what drawing needs and loses the private data of applications."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name, Stream, String
from PIL import ImageChops

from docshare.server.pdf.engine import Derivation, PdfEngine, UnrenderableError
from docshare.server.pdf.worker.cut import find_inherited
from tests.support.documents.noted_pdf import FEATURES, Feature, NotedPdfBuilder, build_document
from tests.support.documents.rendering import render_page

Put = Callable[..., Path]
WORDS = re.compile(rb"(?:KEPT|HIDDEN)\w+")


def cut(engine: PdfEngine, write_file: Put, document: bytes, first: int = 2, last: int = 2) -> bytes:
    out = io.BytesIO()
    engine.derive(write_file(document), Derivation(3, first, last), out)
    return out.getvalue()


def open_pdf(document: bytes) -> pikepdf.Pdf:
    return pikepdf.open(io.BytesIO(document))


def assert_refused(engine: PdfEngine, write_file: Put, document: bytes, reason: str) -> None:
    with pytest.raises(UnrenderableError) as caught:
        cut(engine, write_file, document)
    assert caught.value.reason == reason


@pytest.mark.parametrize("feature", FEATURES)
def test_drawn_objects_keep_what_they_need_and_lose_private_data(
    engine: PdfEngine, write_file: Put, feature: Feature
) -> None:
    document = build_document(feature)
    alone = cut(engine, write_file, document)
    kept = {word for word in WORDS.findall(document) if word.startswith(b"KEPT")}
    assert kept
    assert set(WORDS.findall(alone)) == kept
    assert ImageChops.difference(render_page(document, 2), render_page(alone, 1)).getbbox() is None
    assert len(render_page(alone, 1).getcolors(100_000) or []) > 1


# --- fonts whose glyphs are drawings ---------------------------------------------------------------------------------


def write_in_font(font: Callable[[NotedPdfBuilder], Any], text: str = "A") -> Feature:
    def feature(make: NotedPdfBuilder, page: Any) -> None:
        page.Resources = Dictionary(Font=Dictionary(F1=font(make)))
        page.Contents = Stream(make.pdf, f"BT /F1 90 Tf 50 300 Td ({text}) Tj ET".encode())

    return feature


def test_codes_between_the_runs_of_an_encoding_keep_no_glyph(engine: PdfEngine, write_file: Put) -> None:
    """The page shows the code after the last one of each run, which has no glyph."""
    glyphs = {"ga": b"HIDDENFirst", "gb": b"HIDDENSecond"}
    font = write_in_font(lambda make: make.make_type3_font(glyphs, Array([65, Name.ga, 97, Name.gb])), "Bb@`")
    assert WORDS.findall(cut(engine, write_file, build_document(font))) == []


def test_a_font_in_the_resource_dictionary_itself_is_refused(engine: PdfEngine, write_file: Put) -> None:
    """Glyphs that two such fonts share would be hard to detect."""

    def make_direct_font(make: NotedPdfBuilder) -> Any:
        font = make.make_type3_font({"ga": b"KEPTGlyph"}, Array([65, Name.ga]))
        return Dictionary(**{key.removeprefix("/"): value for key, value in font.items()})

    assert_refused(engine, write_file, build_document(write_in_font(make_direct_font)), "contents")


# --- resources that forms inherit ------------------------------------------------------------------------------------


def share_form(*fonts: Callable[[NotedPdfBuilder], Any]) -> bytes:
    """Return a document whose pages 2 and 3 draw one form, which has no resources; ``fonts`` of the two pages."""

    def feature(make: NotedPdfBuilder, page: Any) -> None:
        form = make.make_form("Form", b"BT /F1 60 Tf 9 90 Td (Words) Tj ET")
        for one, font in zip((page, make.pdf.pages[2].obj), fonts, strict=True):
            one.Resources = Dictionary(XObject=Dictionary(Fm=form), Font=Dictionary(F1=font(make)))
            one.Contents = Stream(make.pdf, b"/Fm Do")

    return build_document(feature)


def make_plain_font(make: NotedPdfBuilder) -> Any:
    return Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Helvetica)


def make_bold_font(make: NotedPdfBuilder) -> Any:
    return Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name("/Courier-Bold"))


def make_listed_font(make: NotedPdfBuilder) -> Any:
    return make.pdf.make_indirect(make_plain_font(make))


@pytest.mark.parametrize(
    ("fonts", "given"),
    [
        ((make_plain_font, make_plain_font), {"/F1"}),
        ((make_plain_font, make_bold_font), None),
        ((make_listed_font, make_plain_font), None),
        ((make_plain_font, make_listed_font), None),
        ((make_listed_font, make_listed_font), None),
    ],
)
def test_a_form_gets_a_resource_only_if_all_pages_agree_on_it(
    engine: PdfEngine, write_file: Put, fonts: Any, given: set[str] | None
) -> None:
    """Fonts in the dictionaries of the pages agree if they are equal, others only if they are one object."""
    document = share_form(*fonts)
    both = cut(engine, write_file, document, 2, 3)
    with open_pdf(both) as pdf:
        resources = pdf.pages[0].obj.Resources.XObject.Fm.get("/Resources")
        assert (None if resources is None else set(resources.Font.keys())) == given
    for page in (1, 2):
        assert ImageChops.difference(render_page(document, page + 1), render_page(both, page)).getbbox() is None


def test_a_form_inside_a_form_with_resources_gets_what_it_inherits_from_the_page(
    engine: PdfEngine, write_file: Put
) -> None:
    def feature(make: NotedPdfBuilder, page: Any) -> None:
        inner = make.make_form("Inner", b"BT /F1 60 Tf 9 90 Td (Words) Tj ET")
        outer = make.make_form("Outer", b"/In Do", Resources=Dictionary(XObject=Dictionary(In=inner)))
        fonts = Dictionary(F1=make_plain_font(make), Other=make_bold_font(make))
        page.Resources = Dictionary(XObject=Dictionary(Fm=outer), Font=fonts)
        page.Contents = Stream(make.pdf, b"/Fm Do")

    document = build_document(feature)
    alone = cut(engine, write_file, document)
    with open_pdf(alone) as pdf:
        outer = pdf.pages[0].obj.Resources.XObject.Fm
        assert set(outer.Resources.XObject.In.Resources.Font.keys()) == {"/F1"}
    assert ImageChops.difference(render_page(document, 2), render_page(alone, 1)).getbbox() is None


@pytest.mark.parametrize(("resources", "inherited"), [(None, {"/DefaultRGB"}), (Dictionary(), set())])
def test_only_a_form_without_resources_inherits_the_default_color_spaces(
    engine: PdfEngine, write_file: Put, resources: Any, inherited: set[str]
) -> None:
    def feature(make: NotedPdfBuilder, page: Any) -> None:
        form = make.make_form("Form", b"1 0 0 rg 50 50 300 300 re f")
        if resources is not None:
            form.Resources = resources
        calibrated = Array([Name.CalRGB, Dictionary(WhitePoint=Array([0.95, 1, 1.09]))])
        page.Resources = Dictionary(XObject=Dictionary(Fm=form), ColorSpace=Dictionary(DefaultRGB=calibrated))
        page.Contents = Stream(make.pdf, b"/Fm Do")

    with open_pdf(cut(engine, write_file, build_document(feature))) as pdf:
        page = pdf.pages[0].obj
        assert set(page.Resources.XObject.Fm.Resources.get("/ColorSpace", {}).keys()) == inherited
        assert set(page.Resources.ColorSpace.keys()) == {"/DefaultRGB"}


@pytest.mark.parametrize(("levels", "refused"), [(45, False), (60, True)])
def test_forms_in_forms_are_followed_down_to_a_limit(
    engine: PdfEngine, write_file: Put, levels: int, refused: bool
) -> None:
    def feature(make: NotedPdfBuilder, page: Any) -> None:
        form = make.make_form("Innermost", b"50 50 300 300 re f % KEPTInnermost")
        for level in range(levels - 1):
            form = make.make_form(f"Level{level}", b"/Fm Do", Resources=Dictionary(XObject=Dictionary(Fm=form)))
        page.Resources = Dictionary(XObject=Dictionary(Fm=form))
        page.Contents = Stream(make.pdf, b"/Fm Do")

    document = build_document(feature)
    if refused:
        assert_refused(engine, write_file, document, "contents")
    else:
        assert WORDS.findall(cut(engine, write_file, document)) == [b"KEPTInnermost"]


def test_resources_that_contain_themselves_are_cut(engine: PdfEngine, write_file: Put) -> None:
    """A form that draws itself, a function made of itself, and an expression of layers that contains itself."""

    def feature(make: NotedPdfBuilder, page: Any) -> None:
        form = make.make_form("Form", b"50 50 300 300 re f /Fm Do % KEPTForm")
        form.Resources = Dictionary(XObject=Dictionary(Fm=form))
        function = make.make_stitched_function("Function", make.make_function("Part"))
        function.Functions = Array([function])
        layer = make.make_layer("Layer")
        expression = make.pdf.make_indirect(Array([Name.And, layer]))
        expression.append(expression)
        layers = make.make_dictionary("Layers", Type=Name.OCMD, OCGs=layer, VE=expression)
        page.Resources = Dictionary(
            XObject=Dictionary(Fm=form), Properties=Dictionary(M1=layers),
            Shading=Dictionary(S1=make.make_shading("Shading", function)),
        )  # fmt: skip
        page.Contents = Stream(make.pdf, b"/OC /M1 BDC /Fm Do EMC /S1 sh")

    assert set(WORDS.findall(cut(engine, write_file, build_document(feature)))) == {b"KEPTForm", b"KEPTLayer"}


# --- layers ----------------------------------------------------------------------------------------------------------


def draw_layers(make: NotedPdfBuilder, page: Any) -> None:
    """Draw one square on a combination of layers, and one on a layer that is off unless the document lists it."""
    either, other, third, off = (make.make_layer(name) for name in ("Either", "Other", "Third", "Off"))
    hidden = make.pdf.make_indirect(Dictionary(Type=Name.OCG, Name=String("HIDDENLayer")))
    expression = Array([Name.Or, either, Array([Name.Not, third])])
    layers = make.make_dictionary("Layers", Type=Name.OCMD, OCGs=Array([either, other]), P=Name.AnyOn, VE=expression)
    page.Resources = Dictionary(Properties=Dictionary(M1=layers, M2=off))
    page.Contents = Stream(
        make.pdf, b"/OC /M1 BDC 1 0 0 rg 50 50 100 100 re f EMC /OC /M2 BDC 0 0 1 rg 200 200 100 100 re f EMC"
    )
    usage = Dictionary(
        Event=Name.View, Category=Array([Name.Zoom, String("HIDDENCategory")]), OCGs=Array([hidden, off]),
        Note=String("HIDDENUsage"),
    )  # fmt: skip
    states = Dictionary(
        BaseState=Name.OFF, ON=Array([either, hidden]), OFF=Array([third]), Name=String("HIDDENSet"),
        AS=Array([usage, Dictionary(Category=Array([Name.Print]))]),
    )  # fmt: skip
    make.pdf.Root.OCProperties = Dictionary(OCGs=Array([hidden, off, third, other, either]), D=states)


def list_layer_names(layers: Any) -> set[str]:
    return {str(layer.Name) for layer in layers}


def test_layers_keep_their_states_and_their_combinations(engine: PdfEngine, write_file: Put) -> None:
    document = build_document(draw_layers)
    alone = cut(engine, write_file, document)
    assert not [word for word in WORDS.findall(alone) if word.startswith(b"HIDDEN")]
    assert ImageChops.difference(render_page(document, 2), render_page(alone, 1)).getbbox() is None
    with pikepdf.open(io.BytesIO(alone)) as pdf:
        known, states = pdf.Root.OCProperties.OCGs, pdf.Root.OCProperties.D
        assert list_layer_names(known) == {"KEPTEither", "KEPTOther", "KEPTThird", "KEPTOff"}
        assert (states.BaseState, list_layer_names(states.ON)) == (Name.OFF, {"KEPTEither"})
        assert list_layer_names(states.OFF) == {"KEPTThird"}
        (usage,) = states.AS
        assert (usage.Event, list(usage.Category), list_layer_names(usage.OCGs)) == (
            Name.View,
            [Name.Zoom],
            {"KEPTOff"},
        )
        drawn = pdf.pages[0].obj.Resources.Properties
        listed = {layer.objgen for layer in known}
        assert {layer.objgen for layer in drawn.M1.OCGs} | {drawn.M2.objgen} <= listed
        assert str(drawn.M1.P) == "/AnyOn"
        assert {drawn.M1.VE[1].objgen, drawn.M1.VE[2][1].objgen} <= listed


def test_pages_without_layers_get_no_list_of_layers(engine: PdfEngine, write_file: Put) -> None:
    document = build_document(draw_layers)
    with pikepdf.open(io.BytesIO(cut(engine, write_file, document, 3, 3))) as pdf:
        assert "/OCProperties" not in pdf.Root


@pytest.mark.parametrize("states", [None, Name.OFF, Dictionary(ON=Name.OFF, AS=Name.OFF, BaseState=7)])
def test_malformed_states_of_layers_are_dropped(engine: PdfEngine, write_file: Put, states: Any) -> None:
    def feature(make: NotedPdfBuilder, page: Any) -> None:
        draw_layers(make, page)
        if states is None:
            del make.pdf.Root.OCProperties["/D"]
        else:
            make.pdf.Root.OCProperties.D = states

    with pikepdf.open(io.BytesIO(cut(engine, write_file, build_document(feature)))) as pdf:
        assert len(pdf.Root.OCProperties.OCGs) == 4
        assert [list(value) for key, value in pdf.Root.OCProperties.D.items() if len(value)] == []


# --- entries that pages inherit --------------------------------------------------------------------------------------


def test_the_nearest_ancestor_determines_an_inherited_entry() -> None:
    with pikepdf.new() as pdf:
        node = pdf.make_indirect(Dictionary(Rotate=90, UserUnit=1))
        for level in range(90):
            node = pdf.make_indirect(Dictionary(Parent=node))
            if level == 40:
                node.Rotate = 180
        assert (find_inherited(node, "/Rotate"), find_inherited(node, "/UserUnit")) == (180, 1)
        assert find_inherited(node, "/CropBox") is None


@pytest.mark.parametrize("make_parent", [lambda page: page, lambda page: 7, lambda page: Array([page])])
def test_a_page_with_a_malformed_parent_inherits_nothing(make_parent: Callable[[Any], Any]) -> None:
    with pikepdf.new() as pdf:
        page = pdf.make_indirect(Dictionary(Type=Name.Page))
        page.Parent = make_parent(page)
        assert find_inherited(page, "/Rotate") is None
        assert find_inherited(page, "/Type") == Name.Page
