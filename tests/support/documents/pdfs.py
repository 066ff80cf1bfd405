"""Sample PDF documents, written by hand so that every byte is known (no PDF library is needed).

``simple_pdf`` is what most tests want. ``PdfWriter`` builds anything else object by object; ``hostile_pdfs`` builds the
documents that attack an engine.
"""

import random
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

A4 = (595.0, 842.0)
LETTER = (612.0, 792.0)


@dataclass
class PdfWriter:
    """Collects numbered objects and writes them as one PDF with a plain cross-reference table."""

    bodies: list[bytes | None] = field(default_factory=list)

    def reserve(self) -> int:
        """Return the next object number; ``put`` sets its body later."""
        self.bodies.append(None)
        return len(self.bodies)

    def put(self, number: int, body: str | bytes) -> None:
        """Set the body of object ``number``."""
        self.bodies[number - 1] = body.encode("latin-1") if isinstance(body, str) else body

    def add(self, body: str | bytes) -> int:
        """Append an object; return its number."""
        number = self.reserve()
        self.put(number, body)
        return number

    def stream(self, data: str | bytes, entries: str = "", *, compress: bool = False) -> int:
        """Append a stream object with ``data`` (deflated if ``compress``); return its number."""
        raw = data.encode("latin-1") if isinstance(data, str) else data
        if compress:
            raw, entries = zlib.compress(raw, 9), entries + " /Filter /FlateDecode"
        return self.add(f"<< {entries} /Length {len(raw)} >>\nstream\n".encode("latin-1") + raw + b"\nendstream")

    def finish(self, root: int, *, trailer: str = "") -> bytes:
        """Join everything into a file whose catalog is object ``root``."""
        out = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
        offsets = []
        for number, body in enumerate(self.bodies, 1):
            offsets.append(len(out))
            out += b"%d 0 obj\n%s\nendobj\n" % (number, body or b"null")
        start = len(out)
        out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(offsets) + 1)
        out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
        out += f"trailer\n<< /Size {len(offsets) + 1} /Root {root} 0 R {trailer} >>\n".encode("latin-1")
        return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)


def escape_text(text: str) -> str:
    """Return ``text`` as a PDF literal string in WinAnsi bytes."""
    raw = text.encode("cp1252", "replace").decode("latin-1")
    return "(" + raw.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)") + ")"


def lines_content(text: str, *, size: float = 18, left: float = 72, top: float = 720, leading: float = 1.4) -> str:
    """Return a content stream that draws the lines of ``text`` in Helvetica from (``left``, ``top``) in points."""
    shown = " T* ".join(f"{escape_text(line)} Tj" for line in text.split("\n"))
    return f"BT /F1 {size} Tf {size * leading:.2f} TL {left} {top} Td {shown} ET"


@dataclass(frozen=True)
class Sheet:
    """One page: ``content`` operators, ``size`` in points, ``extra`` page entries, ``annots`` bodies of annotations.

    In ``annots`` the text ``@N`` stands for a reference to page N (1-based).
    """

    content: str = ""
    size: tuple[float, float] = LETTER
    extra: str = ""
    annots: Sequence[str] = ()


def sheets_pdf(sheets: Sequence[Sheet], *, catalog: str = "", trailer: str = "", compress: bool = False) -> bytes:
    """Return a PDF of the given sheets with Helvetica as /F1 and one flat page tree."""
    writer = PdfWriter()
    root, tree = writer.reserve(), writer.reserve()
    font = writer.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    numbers = [writer.reserve() for _ in sheets]
    for number, sheet in zip(numbers, sheets, strict=True):
        content = writer.stream(sheet.content, compress=compress)
        notes = " ".join(f"{writer.add(_resolve_page_references(body, numbers))} 0 R" for body in sheet.annots)
        annots = f"/Annots [{notes}]" if notes else ""
        writer.put(
            number,
            f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 {sheet.size[0]:g} {sheet.size[1]:g}] "
            f"/Resources << /Font << /F1 {font} 0 R >> >> /Contents {content} 0 R {annots} {sheet.extra} >>",
        )
    kids = " ".join(f"{number} 0 R" for number in numbers)
    writer.put(tree, f"<< /Type /Pages /Count {len(numbers)} /Kids [{kids}] >>")
    writer.put(root, f"<< /Type /Catalog /Pages {tree} 0 R {catalog} >>")
    return writer.finish(root, trailer=trailer)


def _resolve_page_references(body: str, numbers: Sequence[int]) -> str:
    for page in range(len(numbers), 0, -1):
        body = body.replace(f"@{page}", f"{numbers[page - 1]} 0 R")
    return body


def simple_pdf(pages: int = 3, texts: Sequence[str] | None = None, size: tuple[float, float] = LETTER) -> bytes:
    """Return a plain document: page n shows ``texts[n-1]`` (default: "Page n of N"), every page ``size`` points."""
    shown = list(texts) if texts is not None else [f"Page {n} of {pages}" for n in range(1, pages + 1)]
    return sheets_pdf([Sheet(lines_content(text, top=size[1] - 72), size) for text in shown])


def many_pages_pdf(count: int = 2000, *, lines: int = 1) -> bytes:
    """Return a document of ``count`` letter pages each with ``lines`` lines; made in milliseconds."""
    return simple_pdf(texts=["\n".join(f"Page {n}, line {row}" for row in range(lines)) for n in range(1, count + 1)])


def text_heavy_pdf(chars: int = 20_000) -> bytes:
    """Return one A4 page in 5 point type with about ``chars`` characters of numbered words."""
    per_line = 120
    words = " ".join(f"word{n:05d}" for n in range(chars // 10))
    lines = [words[at : at + per_line].strip() for at in range(0, len(words), per_line)]
    content = lines_content("\n".join(lines), size=4, left=20, top=A4[1] - 10, leading=1.15)
    return sheets_pdf([Sheet(content, A4)], compress=True)


def mixed_sizes_pdf() -> bytes:
    """Return five pages: letter, A4 landscape, a small card, a letter sheet rotated by 90 degrees, one with a crop
    box."""
    return sheets_pdf(
        [
            Sheet(lines_content("Letter")),
            Sheet(lines_content("A4 landscape", top=500), (842, 595)),
            Sheet(lines_content("Card", left=20, top=60), (240, 144)),
            Sheet(lines_content("Turned"), extra="/Rotate 90"),
            Sheet(lines_content("Cropped"), extra="/CropBox [50 500 450 780]"),
        ]
    )


def linked_pdf() -> bytes:
    """Return three pages; page 1 has one link of each kind, safe and unsafe, and two URLs as text.

    Annotations from the top: https, page 3, GoTo page 2, mailto, javascript, file, a script action, a launch action.
    """

    def annotation(top: int, target: str) -> str:
        return f"<< /Type /Annot /Subtype /Link /Border [0 0 0] /Rect [72 {top - 20} 172 {top}] {target} >>"

    def uri(address: str) -> str:
        return f"/A << /S /URI /URI ({address}) >>"

    targets = [
        uri("https://example.com/a?b=1&c=2"),
        "/Dest [@3 /Fit]",
        "/A << /S /GoTo /D [@2 /XYZ 0 0 0] >>",
        uri("mailto:someone@example.com"),
        uri("javascript:alert\\(1\\)"),
        uri("file:///etc/passwd"),
        "/A << /S /JavaScript /JS (app.alert\\(1\\)) >>",
        "/A << /S /Launch /F (calc.exe) >>",
    ]
    annots = [annotation(700 - 30 * row, target) for row, target in enumerate(targets)]
    written = lines_content("Read https://example.org/written today\nor mail team@example.org", top=300)
    return sheets_pdf([Sheet(written, annots=annots), Sheet(lines_content("Two")), Sheet(lines_content("Three"))])


def rotated_text_pdf() -> bytes:
    """Return one page with text upward, downward, upside down and at 45 degrees."""
    directions = {"upward": (0, 1, -1, 0, 300, 300), "downward": (0, -1, 1, 0, 100, 300)}
    directions |= {"inverted": (-1, 0, 0, -1, 500, 600), "slanted": (0.7071, 0.7071, -0.7071, 0.7071, 350, 350)}
    shown = [f"BT /F1 20 Tf {' '.join(map(str, at))} Tm ({text}) Tj ET" for text, at in directions.items()]
    return sheets_pdf([Sheet(" ".join(shown))])


def two_columns_pdf() -> bytes:
    """Return one page with two lines in each of two columns, written line by line across the page as some programs
    do."""
    rows = [("left one", "right one", 700), ("left two", "right two", 680)]
    shown = [f"BT /F1 12 Tf 72 {y} Td {escape_text(a)} Tj 240 0 Td {escape_text(b)} Tj ET" for a, b, y in rows]
    return sheets_pdf([Sheet(" ".join(shown))])


def ligatures_pdf() -> bytes:
    """Return one page whose font says by ToUnicode that A, B and C are the fi, fl and ffi ligatures and D a symbol
    bullet."""
    writer = PdfWriter()
    root, tree, page = writer.reserve(), writer.reserve(), writer.reserve()
    mapping = "4 beginbfchar <41> <FB01> <42> <FB02> <43> <FB03> <44> <F0B7> endbfchar"
    to_unicode = writer.stream(
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def "
        f"1 begincodespacerange <00> <FF> endcodespacerange {mapping} endcmap end end"
    )
    font = writer.add(f"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode {to_unicode} 0 R >>")
    content = writer.stream("BT /F1 18 Tf 72 700 Td (D AB oC) Tj ET")
    box = f"/MediaBox [0 0 612 792] /Resources << /Font << /F1 {font} 0 R >> >>"
    writer.put(page, f"<< /Type /Page /Parent {tree} 0 R {box} /Contents {content} 0 R >>")
    writer.put(tree, f"<< /Type /Pages /Count 1 /Kids [{page} 0 R] >>")
    writer.put(root, f"<< /Type /Catalog /Pages {tree} 0 R >>")
    return writer.finish(root)


def filled_form_pdf() -> bytes:
    """Return one page with a text field whose appearance is a black rectangle over (100, 600) to (300, 640)."""
    writer = PdfWriter()
    root, tree, page = writer.reserve(), writer.reserve(), writer.reserve()
    look = writer.stream("0 g 0 0 200 40 re f", "/Type /XObject /Subtype /Form /BBox [0 0 200 40]")
    field_ = writer.add(
        "<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Ada) /F 4 /Rect [100 600 300 640] "
        f"/P {page} 0 R /AP << /N {look} 0 R >> >>"
    )
    writer.put(page, f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 612 792] /Annots [{field_} 0 R] >>")
    writer.put(tree, f"<< /Type /Pages /Count 1 /Kids [{page} 0 R] >>")
    writer.put(root, f"<< /Type /Catalog /Pages {tree} 0 R /AcroForm << /Fields [{field_} 0 R] >> >>")
    return writer.finish(root)


def encrypted_pdf(*, user: str = "", owner: str = "owner-secret", pages: int = 2) -> bytes:
    """Return an AES-256 document. A ``user`` password is required for reading; with only ``owner`` everybody can read
    it."""
    import io

    import pikepdf

    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(simple_pdf(pages))) as document:
        document.save(out, encryption=pikepdf.Encryption(user=user, owner=owner, R=6))
    return out.getvalue()


def truncated_pdf() -> bytes:
    """Return the first third of a good document: no cross-reference table, no catalog."""
    whole = simple_pdf(30)
    return whole[: len(whole) // 3].replace(b"/Type /Catalog", b"/Type /Nothing")


def prefixed_pdf(junk: int = 500) -> bytes:
    """Return a good document after ``junk`` bytes of something else (a mail header, a byte order mark ...)."""
    return (b"X-Junk: before the document\r\n" * (junk // 29 + 1))[:junk] + simple_pdf(2)


def html_page() -> bytes:
    """Return a web page."""
    return b"<!doctype html><title>Not a PDF</title><p>Nothing to see here.\n" * 20


def header_only_pdf() -> bytes:
    """Return bytes that begin like a PDF, but are not one."""
    return b"%PDF-1.7\n" + b"nothing follows\n" * 50


def empty_pdf() -> bytes:
    """Return a well-formed document whose page tree is empty."""
    writer = PdfWriter()
    tree = writer.add("<< /Type /Pages /Count 0 /Kids [] >>")
    return writer.finish(writer.add(f"<< /Type /Catalog /Pages {tree} 0 R >>"))


def huge_page_pdf() -> bytes:
    """Return a legal page of 3 x 14,400 points: at 1,600 pixels wide it would be 7.7 million pixels high."""
    return sheets_pdf([Sheet("0 g 0 0 3 7200 re f", (3, 14_400))])


def miscounted_pdf() -> bytes:
    """Return three pages in a tree that counts two, on whose number libraries disagree."""
    return simple_pdf(3).replace(b"/Count 3", b"/Count 2")


def pdf_without_page_tree() -> bytes:
    """Return a document whose catalog refers to a wrong object; engines that open it show an empty page."""
    writer = PdfWriter()
    root = writer.reserve()
    script = writer.add("<< /S /JavaScript /JS (0) >>")
    writer.put(root, f"<< /Type /Catalog /Pages {script} 0 R >>")
    return writer.finish(root)


def unfinished_contents_pdf() -> bytes:
    """Return two pages whose instructions end within an array in a dictionary."""
    return sheets_pdf([Sheet(lines_content(f"Page {page} of 2") + " <<[(") for page in (1, 2)])


def undecodable_form_pdf() -> bytes:
    """Return two pages that draw a form with a wrong compression filter."""
    writer = PdfWriter()
    root, tree = writer.reserve(), writer.reserve()
    font = writer.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    form = writer.stream(b"!!!!~~~zzz", "/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Filter /ASCII85Decode")
    pages = []
    for page in (1, 2):
        content = writer.stream(f"/Fm Do {lines_content(f'Page {page} of 2')}")
        pages.append(
            writer.add(
                f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 612 792] /Contents {content} 0 R "
                f"/Resources << /Font << /F1 {font} 0 R >> /XObject << /Fm {form} 0 R >> >> >>"
            )
        )
    writer.put(tree, f"<< /Type /Pages /Count 2 /Kids [{pages[0]} 0 R {pages[1]} 0 R] >>")
    writer.put(root, f"<< /Type /Catalog /Pages {tree} 0 R >>")
    return writer.finish(root)


def dense_text_pdf(pages: int, seed: int) -> bytes:
    """Return a document with dense pages of text, which depend on ``seed``."""
    chance = random.Random(seed)
    words = ["page", "reader", "document", "while", "office", "efficient", "share", "measure"]
    texts = ["\n".join(" ".join(chance.choice(words) for _ in range(15)) for _ in range(60)) for _ in range(pages)]
    return sheets_pdf([Sheet(lines_content(text, size=9, left=40, top=760)) for text in texts])
