"""PDF pages with embedded images in flat colors, written by hand."""

from collections.abc import Sequence

from tests.support.documents.pdfs import LETTER, PdfWriter

RED, BLUE, GREEN, WHITE = (200, 30, 40), (20, 60, 220), (10, 160, 60), (255, 255, 255)
Color = tuple[int, int, int]


def make_stripes(*parts: tuple[Color, int], height: int = 50) -> tuple[int, int, bytes]:
    """Return width, height and RGB bytes of an image of vertical stripes, each with its width in pixels."""
    row = b"".join(bytes(color) * width for color, width in parts)
    return sum(width for _, width in parts), height, row * height


def picture_pdf(
    images: Sequence[tuple[int, int, bytes]], sides: Sequence[float], *, entries: str = "", on_page: int = 1
) -> bytes:
    """Return two pages; page ``on_page`` shows each image as a square of its size in points. ``entries``: of the first
    image."""
    writer = PdfWriter()
    root, tree = writer.reserve(), writer.reserve()
    shown, names = "", ""
    for at, ((width, height, pixels), side) in enumerate(zip(images, sides, strict=True)):
        more = entries if at == 0 else ""
        head = f"/Type /XObject /Subtype /Image /Width {width} /Height {height} /ColorSpace /DeviceRGB"
        number = writer.stream(pixels, f"{head} /BitsPerComponent 8 {more}", compress=True)
        names += f"/I{at} {number} 0 R "
        shown += f"q {side} 0 0 {side} 20 20 cm /I{at} Do Q "
    contents = {on_page: writer.stream(shown), 3 - on_page: writer.stream("0 0 1 rg 10 10 200 200 re f")}
    size = f"/MediaBox [0 0 {LETTER[0]:g} {LETTER[1]:g}]"
    kids = [
        writer.add(
            f"<< /Type /Page /Parent {tree} 0 R {size} /Resources << /XObject << {names} >> >> "
            f"/Contents {contents[page]} 0 R >>"
        )
        for page in (1, 2)
    ]
    writer.put(tree, f"<< /Type /Pages /Count 2 /Kids [{kids[0]} 0 R {kids[1]} 0 R] >>")
    writer.put(root, f"<< /Type /Catalog /Pages {tree} 0 R >>")
    return writer.finish(root)
