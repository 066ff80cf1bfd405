"""A document to measure sharpness with: small text in an embedded font, hairlines, and photos."""

import io
import random

from PIL import Image, ImageFont

from tests.support.documents.pdfs import A4, PdfWriter, escape_text

_WORDS = "Revenue rose in all regions, most of all in the south; costs fell by 4.7 % from 1,234 to 1,176. "
_SIZES = (6, 7, 8, 9, 10, 12)
_FIRST, _LAST = 32, 126  # characters of the font


def make_sharp_document(pages: int = 1) -> bytes:
    """Return a PDF of A4 pages. Each part of a page of 160 x 90 points has text, hairlines and a piece of a photo.

    The font is embedded: renderers replace fonts that are not by different ones, and no comparison would be fair.
    """
    writer = PdfWriter()
    root, tree = writer.reserve(), writer.reserve()
    font, photo = _add_font(writer), _add_photo(writer)
    named = f"/Font << /F1 {font} 0 R >> /XObject << /P {photo} 0 R >>"
    content = writer.stream(_draw_page())
    page = f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 {A4[0]:g} {A4[1]:g}] /Resources << {named} >>"
    kids = " ".join(f"{writer.add(f'{page} /Contents {content} 0 R >>')} 0 R" for _ in range(pages))
    writer.put(tree, f"<< /Type /Pages /Count {pages} /Kids [{kids}] >>")
    writer.put(root, f"<< /Type /Catalog /Pages {tree} 0 R >>")
    return writer.finish(root)


def _draw_page() -> str:
    drawn, top, number = [], A4[1] - 20, 0
    while top > 20:
        size = _SIZES[number % len(_SIZES)]
        line = escape_text((f"{number + 1}. " + _WORDS * 2)[: int(1100 / size)])
        drawn.append(f"BT /F1 {size} Tf 20 {top:.2f} Td {line} Tj ET")
        drawn.append(f"0.25 w 20 {top - 3:.2f} m {A4[0] - 20} {top - 3:.2f} l S")
        top -= size * 1.6
        number += 1
    for row in range(9):
        drawn += [f"q 48 0 0 36 {60 + 120 * column} {20 + 90 * row} cm /P Do Q" for column in range(5)]
    return "\n".join(drawn)


def _add_font(writer: PdfWriter) -> int:
    font = ImageFont.load_default(1000)
    program = font.font_bytes  # type: ignore[union-attr]
    file = writer.stream(program, f"/Length1 {len(program)}", compress=True)
    descriptor = writer.add(
        "<< /Type /FontDescriptor /FontName /Sample /Flags 32 /FontBBox [-200 -250 1200 950] /ItalicAngle 0 "
        f"/Ascent 950 /Descent -250 /CapHeight 700 /StemV 80 /FontFile2 {file} 0 R >>"
    )
    widths = " ".join(f"{font.getlength(chr(code)):.0f}" for code in range(_FIRST, _LAST + 1))
    return writer.add(
        "<< /Type /Font /Subtype /TrueType /BaseFont /Sample /Encoding /WinAnsiEncoding "
        f"/FirstChar {_FIRST} /LastChar {_LAST} /Widths [{widths}] /FontDescriptor {descriptor} 0 R >>"
    )


def _add_photo(writer: PdfWriter) -> int:
    chance = random.Random(7)
    scene = Image.frombytes("RGB", (24, 18), chance.randbytes(24 * 18 * 3)).resize((800, 600), Image.Resampling.BICUBIC)
    photo = io.BytesIO()
    scene.save(photo, "JPEG", quality=92)
    head = "/Type /XObject /Subtype /Image /Width 800 /Height 600 /ColorSpace /DeviceRGB /BitsPerComponent 8"
    return writer.stream(photo.getvalue(), f"{head} /Filter /DCTDecode")
