"""Write many different office documents with three programs: python-docx, python-pptx and LibreOffice.

LibreOffice converts flat OpenDocument files, HTML and RTF, so its documents have the features of the source. The same
seed results in the same texts, pictures and shapes.
"""

import base64
import html
import io
import random
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

import docx
import pptx
from docx.enum.section import WD_ORIENT
from docx.shared import Inches, Pt, RGBColor
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.enum.shapes import MSO_SHAPE
from pptx.util import Inches as SlideInches

from docshare.server.office.convert import find_program
from tests.support.documents import office

_TIMEOUT_S = 600
_ALPHABETS = (
    "the quick brown fox jumps over a lazy dog near every river bank of our old town",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich naïve façade œuvre",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία και όλα τα άλλα",
    "Съешь же ещё этих мягких французских булок да выпей чаю",
    "نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر",
    "דג סקרן שט בים מאוכזב ולפתע מצא חברה",
    "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा",
    "いろはにほへと ちりぬるを 我が世誰ぞ 常ならむ 漢字 表",
    "敏捷的 棕色 狐狸 跳过 懒狗 文件 报告",
    "키스의 고유 조건은 입술끼리 만나야 하고",
    "เป็นมนุษย์ สุดประเสริฐ เลิศคุณค่า",
    "🙂 📈 café e\u0301 \u200bzero\u2060width \u202eright-to-left\u202c ﬁne 𝒳",
)
_SHAPES = ("rect", "ellipse", "line")
_OUTLINES = (MSO_SHAPE.CLOUD, MSO_SHAPE.GEAR_6, MSO_SHAPE.HEART, MSO_SHAPE.RIGHT_ARROW, MSO_SHAPE.OVAL)
_CHARTS = (XL_CHART_TYPE.COLUMN_CLUSTERED, XL_CHART_TYPE.PIE, XL_CHART_TYPE.LINE, XL_CHART_TYPE.BAR_STACKED)
_NAMESPACES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in (
        ("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"), ("style", "style"),
        ("svg", "svg-compatible"), ("fo", "xsl-fo-compatible"), ("presentation", "presentation"),
    )
)  # fmt: skip


class DocumentAuthor:
    """Writes random contents from the sequence of ``chance``."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def write_words(self, most: int = 40) -> str:
        """Return 1 to ``most`` words of one script."""
        words = self.chance.choice(_ALPHABETS).split()
        return " ".join(self.chance.choices(words, k=self.chance.randint(1, most)))

    def make_picture(self) -> bytes:
        """Return a small PNG of one color."""
        side = self.chance.choice([1, 16, 200])
        red, green, blue = self.chance.choices(range(256), k=3)
        return office.make_picture((side, 9), (red, green, blue))

    def repeat(self, write: Callable[[], str], most: int) -> str:
        """Return 1 to ``most`` results of ``write``, joined."""
        return "".join(write() for _ in range(self.chance.randint(1, most)))


class FlatOpenDocument(DocumentAuthor):
    """Writes OpenDocument texts and presentations as single XML files."""

    def write_text(self) -> str:
        """Return a text document."""
        pieces = (
            self._write_heading, self._write_paragraph, self._write_list, self._write_table, self._write_picture,
            self._write_shape, self._write_footnote,
        )  # fmt: skip
        body = self.repeat(lambda: self.chance.choice(pieces)(), 25)
        width, height = self.chance.choice([(21, 29.7), (29.7, 21), (14.8, 21), (42, 59.4)])
        layout = (
            f'<office:automatic-styles><style:page-layout style:name="pm"><style:page-layout-properties'
            f' fo:page-width="{width}cm" fo:page-height="{height}cm" fo:margin="{self.chance.choice([0, 1, 3])}cm">'
            f'<style:columns fo:column-count="{self.chance.randint(1, 2)}" fo:column-gap="0.5cm"/>'
            "</style:page-layout-properties><style:header-style/><style:footer-style/></style:page-layout>"
            '<style:style style:name="P" style:family="paragraph"><style:paragraph-properties fo:text-align="center"'
            ' fo:break-before="page"/></style:style><style:style style:name="T" style:family="text">'
            f'<style:text-properties fo:font-weight="bold" fo:color="#{self.chance.randrange(1 << 24):06x}"'
            f' fo:font-size="{self.chance.choice([4, 8, 11, 16, 24])}pt"/></style:style></office:automatic-styles>'
        )
        master = (
            '<office:master-styles><style:master-page style:name="Standard" style:page-layout-name="pm">'
            f"<style:header><text:p>{self._write_run()}</text:p></style:header><style:footer><text:p>"
            "<text:page-number/> / <text:page-count/> <text:date/></text:p></style:footer></style:master-page>"
            "</office:master-styles>"
        )
        return _wrap_flat("text", layout + master, f"<office:text>{body}</office:text>")

    def write_slides(self) -> str:
        """Return a presentation."""
        return _wrap_flat(
            "presentation", "", f"<office:presentation>{self.repeat(self._write_slide, 6)}</office:presentation>"
        )

    def _write_run(self) -> str:
        return escape(self.write_words())

    def _write_heading(self) -> str:
        return f'<text:h text:outline-level="{self.chance.randint(1, 6)}">{self._write_run()}</text:h>'

    def _write_paragraph(self) -> str:
        style = self.chance.choice(["", ' text:style-name="P"'])
        link = '<text:a xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="https://example.com/">link</text:a>'
        span = f'<text:span text:style-name="T">{self._write_run()}</text:span>'
        return f"<text:p{style}>{self._write_run()}{span}{link}</text:p>"

    def _write_list(self) -> str:
        def write_item() -> str:
            return f"<text:list-item><text:p>{self._write_run()}</text:p></text:list-item>"

        nested = f"<text:list-item><text:list>{self.repeat(write_item, 3)}</text:list></text:list-item>"
        return f"<text:list>{self.repeat(write_item, 5)}{nested}</text:list>"

    def _write_table(self) -> str:
        columns = self.chance.randint(1, 5)

        def write_row() -> str:
            cells = (
                f"<table:table-cell><text:p>{self._write_run()}</text:p></table:table-cell>" for _ in range(columns)
            )
            return f"<table:table-row>{''.join(cells)}</table:table-row>"

        name = f"t{self.chance.getrandbits(32)}"
        head = f'<table:table-column table:number-columns-repeated="{columns}"/>'
        return f'<table:table table:name="{name}">{head}{self.repeat(write_row, 12)}</table:table>'

    def _write_picture(self) -> str:
        data = base64.b64encode(self.make_picture()).decode()
        size = f'svg:width="{self.chance.randint(1, 9)}cm" svg:height="2cm"'
        image = f"<draw:image><office:binary-data>{data}</office:binary-data></draw:image>"
        return f'<text:p><draw:frame {size} text:anchor-type="as-char">{image}</draw:frame></text:p>'

    def _write_shape(self) -> str:
        return f"<text:p>{self._draw_shape()}</text:p>"

    def _write_footnote(self) -> str:
        kind = self.chance.choice(["footnote", "endnote"])
        note = f"<text:note-body><text:p>{self._write_run()}</text:p></text:note-body>"
        citation = "<text:note-citation>1</text:note-citation>"
        return f'<text:p>note<text:note text:note-class="{kind}">{citation}{note}</text:note></text:p>'

    def _draw_shape(self) -> str:
        shape = self.chance.choice(_SHAPES)
        left, top, width, height = (self.chance.randint(1, 12) for _ in range(4))
        if shape == "line":
            return f'<draw:line svg:x1="{left}cm" svg:y1="{top}cm" svg:x2="{width}cm" svg:y2="{height}cm"/>'
        box = f'svg:x="{left}cm" svg:y="{top}cm" svg:width="{width}cm" svg:height="{height}cm"'
        return f"<draw:{shape} {box}><text:p>{self._write_run()}</text:p></draw:{shape}>"

    def _write_slide(self) -> str:
        box = f'svg:x="1cm" svg:y="1cm" svg:width="{self.chance.randint(2, 20)}cm" svg:height="4cm"'
        text = f"<draw:frame {box}><draw:text-box>{self._write_list()}</draw:text-box></draw:frame>"
        picture = self._write_picture().replace(' text:anchor-type="as-char"', "")[len("<text:p>") : -len("</text:p>")]
        notes = f"<presentation:notes>{text}</presentation:notes>"
        return f"<draw:page>{text}{picture}{self.repeat(self._draw_shape, 9)}{notes}</draw:page>"


class MarkupAuthor(DocumentAuthor):
    """Writes HTML and RTF."""

    def write_html(self) -> str:
        """Return a page with a table, a list, and right-to-left text."""
        data = base64.b64encode(self.make_picture()).decode()
        rows = self.repeat(lambda: f"<tr><td>{self._quote()}<td colspan=2>{self._quote()}</tr>", 9)
        items = self.repeat(lambda: f"<li><i>{self._quote()}</i>", 9)
        return (
            f'<!DOCTYPE html><html><meta charset="utf-8"><body><h1>{self._quote()}</h1><table border=1>{rows}</table>'
            f'<ol>{items}</ol><p dir=rtl>{self._quote()}</p><img src="data:image/png;base64,{data}"><hr></body></html>'
        )

    def write_rtf(self) -> str:
        """Return a text with a table and page breaks."""
        cells = "\\trowd\\cellx3000\\cellx6000 " + f"{self._escape()}\\cell {self._escape()}\\cell\\row "
        pages = self.repeat(lambda: f"\\pard\\b {self._escape()}\\b0\\par {cells}\\page ", 5)
        return f"{{\\rtf1\\ansi\\deff0{{\\fonttbl{{\\f0 Times;}}}}{pages}}}"

    def _quote(self) -> str:
        return html.escape(self.write_words())

    def _escape(self) -> str:
        units = self.write_words().encode("utf-16-le")
        return "".join(
            f"\\u{int.from_bytes(units[at : at + 2], 'little', signed=True)}?" for at in range(0, len(units), 2)
        )


class PackageAuthor(DocumentAuthor):
    """Writes .docx and .pptx files without LibreOffice."""

    def write_docx(self) -> bytes:
        """Return a .docx with a table, a header, and several paragraphs and sections."""
        document = docx.Document()
        document.sections[0].header.paragraphs[0].text = self.write_words()
        for _ in range(self.chance.randint(1, 12)):
            document.add_heading(self.write_words(6), self.chance.randint(0, 9))
            style = self.chance.choice(["Normal", "List Bullet", "List Number", "Quote", "Intense Quote"])
            run = document.add_paragraph(self.write_words(), style).add_run(self.write_words())
            run.font.size = Pt(self.chance.choice([1, 8, 30]))
            run.font.color.rgb = RGBColor(*self.chance.choices(range(256), k=3))
        table = document.add_table(self.chance.randint(1, 9), self.chance.randint(1, 9), "Table Grid")
        for cell in table._cells:
            cell.text = self.write_words(5)
        section = document.add_section()
        section.orientation = WD_ORIENT.LANDSCAPE
        section.page_width, section.page_height = section.page_height, section.page_width
        document.add_picture(io.BytesIO(self.make_picture()), width=Inches(self.chance.choice([0.1, 2, 30])))
        return _save_package(document)

    def write_pptx(self) -> bytes:
        """Return a .pptx with charts, tables, shapes, a picture and notes."""
        show = pptx.Presentation()
        for _ in range(self.chance.randint(1, 5)):
            slide = show.slides.add_slide(self.chance.choice(list(show.slide_layouts)))
            for placeholder in slide.placeholders:
                if placeholder.has_text_frame:
                    placeholder.text_frame.text = self.write_words()
            self._add_shapes(slide.shapes)
            slide.notes_slide.notes_text_frame.text = self.write_words()
        return _save_package(show)

    def _add_shapes(self, shapes: pptx.shapes.shapetree.SlideShapes) -> None:
        box = [SlideInches(side) for side in (1, 1, self.chance.randint(1, 8), self.chance.randint(1, 6))]
        shapes.add_shape(self.chance.choice(_OUTLINES), *box).text_frame.text = self.write_words()
        shapes.add_picture(io.BytesIO(self.make_picture()), *box)
        chart = CategoryChartData()
        chart.categories = [self.write_words(2) for _ in range(4)]
        chart.add_series(self.write_words(2), [self.chance.uniform(-9, 99) for _ in range(4)])
        shapes.add_chart(self.chance.choice(_CHARTS), *box, chart)
        table = shapes.add_table(self.chance.randint(1, 5), self.chance.randint(1, 5), *box).table
        for cell in table.iter_cells():
            cell.text = self.write_words(4)


def write_documents(folder: Path, seed: int = 17, share: float = 1.0) -> None:
    """Write 408 documents of the current formats and 190 of legacy Word to the empty ``folder``, or the given ``share``
    of these numbers. Takes about one minute."""
    chance = random.Random(seed)
    flat, markup, packages = FlatOpenDocument(chance), MarkupAuthor(chance), PackageAuthor(chance)
    for suffix, count, write_package in ("docx", 60, packages.write_docx), ("pptx", 60, packages.write_pptx):
        for number in range(round(count * share)):
            (folder / f"package-{number}.{suffix}").write_bytes(write_package())
    for source, read, write, targets in (
        ("fodt", "OpenDocument Text Flat XML", flat.write_text, {"docx": 80, "doc": 120}),
        ("fodp", "OpenDocument Presentation Flat XML", flat.write_slides, {"pptx": 80, "ppt": 80}),
        ("html", "HTML (StarWriter)", markup.write_html, {"docx": 24, "doc": 35}),
        ("rtf", "Rich Text Format", markup.write_rtf, {"docx": 24, "doc": 35}),
    ):
        for target, count in targets.items():
            texts = [write() for _ in range(max(1, round(count * share)))]
            _convert(texts, source, read, target, folder)


def _convert(texts: list[str], source: str, read: str, target: str, folder: Path) -> None:
    """Convert ``texts``, files with the suffix ``source``, to ``target`` with one start of LibreOffice."""
    program = find_program()
    assert program, "LibreOffice is not installed"
    with tempfile.TemporaryDirectory(prefix="docshare-variety-") as scratch:
        paths = [Path(scratch, f"{source}-{number}.{source}") for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, "utf-8")
        profile = f"-env:UserInstallation={Path(scratch, 'profile').as_uri()}"
        command = [program, profile, "--headless", f"--infilter={read}", "--convert-to", target, "--outdir", folder]
        subprocess.run([*command, *paths], check=True, capture_output=True, timeout=_TIMEOUT_S)
    missing = [path.stem for path in paths if not (folder / f"{path.stem}.{target}").is_file()]
    assert not missing, f"not converted to {target}: {missing}"


def _wrap_flat(kind: str, styles: str, body: str) -> str:
    mime = f"application/vnd.oasis.opendocument.{kind}"
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document {_NAMESPACES} office:version="1.2"'
        f' office:mimetype="{mime}">{styles}<office:body>{body}</office:body></office:document>'
    )


def _save_package(document: docx.document.Document | pptx.presentation.Presentation) -> bytes:
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()
