"""Documents of a few kilobytes that attack a PDF engine: memory bombs, time bombs, broken structures.

``HOSTILE`` has one function per attack. Tests also call ``slow_page`` and ``memory_bomb`` directly.
"""

import zlib
from collections.abc import Callable

from tests.support.documents.pdfs import PdfWriter, Sheet, lines_content, sheets_pdf, simple_pdf


def _build_one_page(writer: PdfWriter, content: int, resources: str, *, box: str = "0 0 612 792") -> bytes:
    root, tree = writer.reserve(), writer.reserve()
    page = writer.add(
        f"<< /Type /Page /Parent {tree} 0 R /MediaBox [{box}] /Resources << {resources} >> /Contents {content} 0 R >>"
    )
    writer.put(tree, f"<< /Type /Pages /Count 1 /Kids [{page} 0 R] >>")
    writer.put(root, f"<< /Type /Catalog /Pages {tree} 0 R >>")
    return writer.finish(root)


def nested_forms(depth: int, fan: int, paint: str = "0 0 1 rg 10 10 40 40 re f") -> bytes:
    """Return form XObjects on ``depth`` levels, each drawing the next one ``fan`` times: fan**depth drawings in 3
    kB."""
    writer = PdfWriter()
    form = _add_nested_forms(writer, depth, fan, paint)
    return _build_one_page(writer, writer.stream("/X Do " * fan), f"/XObject << /X {form} 0 R >>")


def _add_nested_forms(writer: PdfWriter, depth: int, fan: int, paint: str = "0 0 1 rg 10 10 40 40 re f") -> int:
    entries = "/Type /XObject /Subtype /Form /BBox [0 0 612 792]"
    below = writer.stream(paint, entries)
    for _ in range(depth - 1):
        below = writer.stream("/X Do " * fan, f"{entries} /Resources << /XObject << /X {below} 0 R >> >>")
    return below


def memory_bomb() -> bytes:
    """Return nested forms that exceed any memory, because pdfium keeps every expansion."""
    return nested_forms(12, 12)


def memory_bomb_on_page_2() -> bytes:
    """Return two pages: the first is harmless, so that the document passes the check of an upload."""
    writer = PdfWriter()
    form = _add_nested_forms(writer, 12, 12)
    contents = [writer.stream("0 0 1 rg 0 0 300 300 re f"), writer.stream("/X Do " * 12)]
    return _build_pages(writer, contents, f"/XObject << /X {form} 0 R >>")


def memory_bomb_between_words() -> bytes:
    """Return three pages: the second is a memory bomb, the others have a word."""
    writer = PdfWriter()
    form = _add_nested_forms(writer, 12, 12)
    word = writer.stream("BT /F1 18 Tf 72 700 Td (harmless) Tj ET")
    font = "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"
    return _build_pages(writer, [word, writer.stream("/X Do " * 12), word], f"/XObject << /X {form} 0 R >> {font}")


def slow_page() -> bytes:
    """Return a page that keeps pdfium busy for minutes in little memory."""
    return paced_pages("s")


def paced_pages(paces: str) -> bytes:
    """Return one page per letter: "f" is drawn at once, "h" in about half a second (at 1600 pixels), "m" in about a
    second (at 800 pixels), "s" not within minutes.

    The slow pages compute an expensive color for every pixel, many times.
    """
    writer = PdfWriter()
    root, tree = writer.reserve(), writer.reserve()
    program = "{ add " + "dup mul 0.5 add sin " * 500 + "dup dup }"
    function = writer.stream(program, "/FunctionType 4 /Domain [0 1 0 1] /Range [0 1 0 1 0 1]")
    entries = f"/ShadingType 1 /ColorSpace /DeviceRGB /Function {function} 0 R"
    whole = writer.add(f"<< {entries} /Matrix [612 0 0 792 0 0] >>")
    patch = writer.add(f"<< {entries} /Matrix [150 0 0 150 0 0] >>")
    small = writer.add(f"<< {entries} /Matrix [55 0 0 55 0 0] >>")
    contents = {"f": "0 0 1 rg 0 0 300 300 re f", "h": "/H sh", "m": "/M sh", "s": "/S sh " * 50}
    numbers = [
        writer.add(
            f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 612 792] /Contents {writer.stream(contents[pace])} 0 R "
            f"/Resources << /Shading << /S {whole} 0 R /M {patch} 0 R /H {small} 0 R >> >> >>"
        )
        for pace in paces
    ]
    kids = " ".join(f"{number} 0 R" for number in numbers)
    writer.put(tree, f"<< /Type /Pages /Count {len(numbers)} /Kids [{kids}] >>")
    writer.put(root, f"<< /Type /Catalog /Pages {tree} 0 R >>")
    return writer.finish(root)


def double_deflated() -> bytes:
    """Return a content stream deflated twice: a few kB that become a gigabyte of operators."""
    writer = PdfWriter()
    return _build_one_page(writer, _add_double_deflated(writer), "")


def bomb_pages(count: int) -> bytes:
    """Return ``count`` pages: the first is drawn at once, all others are ``double_deflated``."""
    writer = PdfWriter()
    bomb = _add_double_deflated(writer)
    return _build_pages(writer, [writer.stream("0 0 1 rg 0 0 300 300 re f")] + [bomb] * (count - 1), "")


def _add_double_deflated(writer: PdfWriter) -> int:
    packer = zlib.compressobj(9)
    head = packer.compress(b"0 0 m ") + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b"0 0 m " * 200_000) + packer.flush(zlib.Z_FULL_FLUSH)  # the same bytes each time
    raw = zlib.compress(head + block * 900 + packer.flush(), 9)
    return writer.add(
        f"<< /Filter [/FlateDecode /FlateDecode] /Length {len(raw)} >>\nstream\n".encode() + raw + b"\nendstream"
    )


def _build_pages(writer: PdfWriter, contents: list[int], resources: str) -> bytes:
    root, tree = writer.reserve(), writer.reserve()
    entries = f"/Type /Page /Parent {tree} 0 R /MediaBox [0 0 612 792] /Resources << {resources} >>"
    kids = " ".join(f"{writer.add(f'<< {entries} /Contents {content} 0 R >>')} 0 R" for content in contents)
    writer.put(tree, f"<< /Type /Pages /Count {len(contents)} /Kids [{kids}] >>")
    writer.put(root, f"<< /Type /Catalog /Pages {tree} 0 R >>")
    return writer.finish(root)


def deep_page_tree(depth: int = 20_000) -> bytes:
    """Return one page under ``depth`` page tree nodes."""
    writer = PdfWriter()
    root, page = writer.reserve(), writer.reserve()
    below, parent = page, 0
    for _ in range(depth):
        parent = writer.add(f"<< /Type /Pages /Count 1 /Kids [{below} 0 R] >>")
        below = parent
    writer.put(page, f"<< /Type /Page /Parent {page + 1} 0 R /MediaBox [0 0 612 792] >>")
    writer.put(root, f"<< /Type /Catalog /Pages {parent} 0 R >>")
    return writer.finish(root)


def looping_page_tree() -> bytes:
    """Return a page tree that is its own child, and claims two billion pages."""
    writer = PdfWriter()
    root, tree = writer.reserve(), writer.reserve()
    writer.put(tree, f"<< /Type /Pages /Count 2000000000 /Kids [{tree} 0 R] /Parent {tree} 0 R >>")
    writer.put(root, f"<< /Type /Catalog /Pages {tree} 0 R >>")
    return writer.finish(root)


def boasting_count() -> bytes:
    """Return one real page; the page tree claims 60,000."""
    return simple_pdf(1).replace(b"/Count 1 ", b"/Count 60000 ")


def looping_xref() -> bytes:
    """Return a cross-reference section whose predecessor is itself."""
    whole = simple_pdf(2)
    start = whole.rindex(b"xref\n0 ")
    return whole.replace(b"trailer\n<< ", b"trailer\n<< /Prev %d " % start)


def giant_image() -> bytes:
    """Return a 60,000 x 60,000 pixel picture in 4 MB of zeros deflated to a few kB: 10 GB when unpacked."""
    writer = PdfWriter()
    entries = "/Type /XObject /Subtype /Image /Width 60000 /Height 60000 /BitsPerComponent 8 /ColorSpace /DeviceRGB"
    image = writer.stream(bytes(4_000_000), entries, compress=True)
    return _build_one_page(writer, writer.stream("612 0 0 792 0 0 cm /I Do"), f"/XObject << /I {image} 0 R >>")


def tiny_tiles() -> bytes:
    """Return a page filled with a pattern whose tiles are a thousandth of a point apart."""
    writer = PdfWriter()
    entries = "/Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 1 1] /Resources << >>"
    tile = writer.stream("0 0 1 1 re f", f"{entries} /XStep 0.001 /YStep 0.001")
    content = writer.stream("/Pattern cs /P scn 0 0 612 792 re f")
    return _build_one_page(writer, content, f"/Pattern << /P {tile} 0 R >>")


def nested_arrays() -> bytes:
    """Return a page whose contents are an array 200,000 deep."""
    deep = "[" * 200_000 + "]" * 200_000
    return sheets_pdf([Sheet(lines_content("Deep"), extra=f"/PieceInfo {deep}")])


def nested_states() -> bytes:
    """Return a page that saves ten million graphics states and restores none."""
    writer = PdfWriter()
    return _build_one_page(writer, writer.stream("q " * 10_000_000, compress=True), "")


def endless_dashes() -> bytes:
    """Return a page of very long lines with very short dashes."""
    writer = PdfWriter()
    content = "[0.0001 0.0001] 0 d 0.1 w " + "".join(f"0 {y} m 60000000 {y} l S " for y in range(0, 792, 4))
    return _build_one_page(writer, writer.stream(content), "")


def self_drawing_form() -> bytes:
    """Return a form that draws itself twice."""
    writer = PdfWriter()
    form = writer.reserve()
    body = "/X Do /X Do"
    writer.put(
        form,
        f"<< /Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << /XObject << /X {form} 0 R >> >> "
        f"/Length {len(body)} >>\nstream\n{body}\nendstream",
    )
    return _build_one_page(writer, writer.stream(body), f"/XObject << /X {form} 0 R >>")


def many_links() -> bytes:
    """Return one page with 30,000 links."""
    link = "<< /Type /Annot /Subtype /Link /Rect [0 0 612 792] /A << /S /URI /URI (https://example.com/) >> >>"
    return sheets_pdf([Sheet(lines_content("Links"), annots=[link] * 30_000)])


def endless_text() -> bytes:
    """Return one page with three million characters on top of each other."""
    writer = PdfWriter()
    font = writer.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    return _build_one_page(writer, _add_endless_text(writer), f"/Font << /F1 {font} 0 R >>")


def endless_text_pages(count: int) -> bytes:
    """Return ``count`` pages: the first has little text, all others are ``endless_text``."""
    writer = PdfWriter()
    font = writer.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    contents = [writer.stream(lines_content("Page 1"))] + [_add_endless_text(writer)] * (count - 1)
    return _build_pages(writer, contents, f"/Font << /F1 {font} 0 R >>")


def _add_endless_text(writer: PdfWriter) -> int:
    shown = "BT /F1 1 Tf 1 0 0 1 72 700 Tm " + f"({'x' * 3000}) Tj " * 1000 + "ET"
    return writer.stream(shown, compress=True)


HOSTILE: dict[str, Callable[[], bytes]] = {
    maker.__name__: maker
    for maker in (
        memory_bomb,
        slow_page,
        double_deflated,
        deep_page_tree,
        looping_page_tree,
        boasting_count,
        looping_xref,
        giant_image,
        tiny_tiles,
        nested_arrays,
        nested_states,
        endless_dashes,
        self_drawing_form,
        many_links,
        endless_text,
    )
}
