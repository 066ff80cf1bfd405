"""Documents whose fonts, forms and annotations inherit resources from their page; tests hide the first page."""

import io
from collections.abc import Callable
from typing import Any

import pikepdf
from pikepdf import Array, Dictionary, Name, Stream

from tests.support.documents.pdfs import simple_pdf

_HELVETICA = Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Helvetica)
_TIMES = Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name("/Times-Roman"))


def type3_font_pdf() -> bytes:
    """Return a Type 3 font without resources: page 1 shows its glyph with the hidden picture, page 2 the other."""

    def build(pdf: pikepdf.Pdf) -> None:
        glyphs = Dictionary(
            ga=Stream(pdf, b"600 0 d0 500 0 0 500 0 0 cm /ImA Do"),
            gb=Stream(pdf, b"600 0 d0 500 0 0 500 0 0 cm /ImB Do"),
        )
        font = pdf.make_indirect(
            Dictionary(
                Type=Name.Font, Subtype=Name.Type3, FontBBox=Array([0, 0, 600, 600]), CharProcs=glyphs,
                FontMatrix=Array([0.001, 0, 0, 0.001, 0, 0]), FirstChar=97, LastChar=98, Widths=Array([600, 600]),
                Encoding=Dictionary(Type=Name.Encoding, Differences=Array([97, Name.ga, Name.gb])),
            )
        )  # fmt: skip
        pictures = Dictionary(ImA=_make_picture(pdf, b"HIDDENImage"), ImB=_make_picture(pdf, b"KEPTImage"))
        _share_resources(pdf, Dictionary(Font=Dictionary(F3=font), XObject=pictures))
        for page, letters in zip(pdf.pages, (b"aa", b"bb"), strict=True):
            page.obj.Contents = Stream(pdf, b"BT /F3 80 Tf 50 300 Td (%s) Tj ET" % letters)

    return _build_document(2, build)


def form_pdf() -> bytes:
    """Return a form without resources on page 2 that writes in a font of its page."""

    def build(pdf: pikepdf.Pdf) -> None:
        _share_resources(
            pdf,
            Dictionary(
                Font=_make_fonts(pdf), XObject=Dictionary(Fm=_make_form(pdf, b"BT /F3 30 Tf 9 9 Td (Word) Tj ET"))
            ),
        )
        pdf.pages[0].obj.Contents = Stream(pdf, b"BT /FHidden 30 Tf 50 500 Td (HIDDEN) Tj ET")
        pdf.pages[1].obj.Contents = Stream(pdf, b"/Fm Do")

    return _build_document(2, build)


def nested_forms_pdf() -> bytes:
    """Return a form in a form, both without resources; the inner one shows a letter of a Type 3 font that only the
    resources of the page name."""

    def build(pdf: pikepdf.Pdf) -> None:
        glyph = Stream(pdf, b"600 0 0 0 500 500 d1 0 0 500 500 re f")
        font = Dictionary(
            Type=Name.Font, Subtype=Name.Type3, FontBBox=Array([0, 0, 600, 600]), CharProcs=Dictionary(ga=glyph),
            FontMatrix=Array([0.001, 0, 0, 0.001, 0, 0]), FirstChar=97, LastChar=97, Widths=Array([600]),
            Encoding=Dictionary(Type=Name.Encoding, Differences=Array([97, Name.ga])),
        )  # fmt: skip
        forms = Dictionary(Fm=_make_form(pdf, b"/Inner Do"), Inner=_make_form(pdf, b"BT /F3 80 Tf 50 50 Td (aa) Tj ET"))
        _share_resources(pdf, Dictionary(Font=Dictionary(F3=pdf.make_indirect(font)), XObject=forms))
        for page in pdf.pages:
            page.obj.Contents = Stream(pdf, b"/Fm Do")

    return _build_document(2, build)


def stamp_pdf() -> bytes:
    """Return a stamp on each page whose appearance uses a font of the page that nothing else uses."""

    def build(pdf: pikepdf.Pdf) -> None:
        _share_resources(pdf, Dictionary(Font=_make_fonts(pdf)))
        look = _make_form(pdf, b"BT /F3 30 Tf 9 9 Td (Word) Tj ET")
        for page in pdf.pages:
            page.obj.Contents = Stream(pdf, b"")
            stamp = Dictionary(Type=Name.Annot, Subtype=Name.Stamp, Rect=Array([50, 50, 450, 450]), F=4)
            page.obj.Annots = Array([pdf.make_indirect(Dictionary(**_strip_slashes(stamp), AP=Dictionary(N=look)))])

    return _build_document(2, build)


def shared_form_pdf() -> bytes:
    """Return one form without resources on pages 2 and 3, whose pages mean different fonts by the name that it uses."""

    def build(pdf: pikepdf.Pdf) -> None:
        shared = _make_form(pdf, b"BT /F3 60 Tf 9 90 Td (Words) Tj ET")
        for page, font in zip(pdf.pages, (_HELVETICA, _HELVETICA, _TIMES), strict=True):
            page.obj.Resources = Dictionary(
                Font=Dictionary(F3=pdf.make_indirect(Dictionary(font))), XObject=Dictionary(Fm=shared)
            )
            page.obj.Contents = Stream(pdf, b"/Fm Do")

    return _build_document(3, build)


def checkbox_without_state_pdf() -> bytes:
    """Return a check box on page 2 that has a value but no appearance state."""

    def build(pdf: pikepdf.Pdf) -> None:
        looks = Dictionary(Yes=_make_form(pdf, b"0 0 300 300 re f"), Off=_make_form(pdf, b"0 0 20 20 re f"))
        _add_field(pdf, FT=Name.Btn, V=Name.Yes, AP=Dictionary(N=looks))

    return _build_document(3, build)


def field_without_appearance_pdf() -> bytes:
    """Return a filled text field on page 2 without an appearance, in a form without NeedAppearances."""
    return _build_document(3, lambda pdf: _add_field(pdf, FT=Name.Tx, V="VALUE of the field", DA="/Helv 20 Tf 0 g"))


def _add_field(pdf: pikepdf.Pdf, **entries: Any) -> None:
    field = Dictionary(Type=Name.Annot, Subtype=Name.Widget, T="f", Rect=Array([100, 100, 400, 140]), F=4, **entries)
    field = pdf.make_indirect(field)
    pdf.pages[1].obj.Annots = Array([field])
    fonts = Dictionary(Font=Dictionary(Helv=_HELVETICA))
    pdf.Root.AcroForm = Dictionary(Fields=Array([field]), DA="/Helv 12 Tf 0 g", DR=fonts)


def _build_document(pages: int, build: Callable[[pikepdf.Pdf], None]) -> bytes:
    with pikepdf.open(io.BytesIO(simple_pdf(pages=pages))) as pdf:
        build(pdf)
        out = io.BytesIO()
        pdf.save(out, compress_streams=False)  # so that a test can search for words
        return out.getvalue()


def _share_resources(pdf: pikepdf.Pdf, resources: Any) -> None:
    """Make all pages inherit ``resources``."""
    for page in pdf.pages:
        if "/Resources" in page.obj:
            del page.obj["/Resources"]
    pdf.Root.Pages.Resources = resources


def _make_fonts(pdf: pikepdf.Pdf) -> Any:
    hidden = Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Courier)
    return Dictionary(F3=pdf.make_indirect(Dictionary(_HELVETICA)), FHidden=pdf.make_indirect(hidden))


def _make_form(pdf: pikepdf.Pdf, instructions: bytes) -> Any:
    box = Array([0, 0, 400, 400])
    return pdf.make_indirect(Stream(pdf, instructions, Type=Name.XObject, Subtype=Name.Form, BBox=box))


def _make_picture(pdf: pikepdf.Pdf, word: bytes) -> Any:
    look = {"Width": 10, "Height": 10, "ColorSpace": Name.DeviceRGB, "BitsPerComponent": 8}
    pixels = (word * 400)[:300]
    return pdf.make_indirect(Stream(pdf, pixels, Subtype=Name.Image, **look))


def _strip_slashes(dictionary: Any) -> dict[str, Any]:
    return {key.removeprefix("/"): value for key, value in dictionary.items()}
