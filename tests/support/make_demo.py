"""Draws ``docshare/server/demo/docshare-tour.pdf``, the document of ``docshare serve --demo``.

Run ``python -m tests.support.make_demo`` after changing it and commit the result; the output is the same for the same
input. Needs reportlab and fontTools with WOFF support (``pip install reportlab 'fonttools[woff]'``) and Debian's
fonts-liberation. The typeface is the one of the share page (Inter, SIL Open Font License).
"""

import io
from collections.abc import Callable, Sequence
from pathlib import Path

from fontTools.ttLib import TTFont as SourceFont
from fontTools.varLib.instancer import instantiateVariableFont
from reportlab.lib.colors import Color, HexColor
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

SERVER = Path(__file__).resolve().parents[2] / "docshare" / "server"
TARGET = SERVER / "demo" / "docshare-tour.pdf"
INTER = SERVER / "web" / "static" / "fonts" / "inter-latin.woff2"
MONO = Path("/usr/share/fonts/truetype/liberation/LiberationMono-Regular.ttf")

W, H, EDGE = 960.0, 540.0, 72.0
INK, SOFT, LINE = HexColor("#1a1a1d"), HexColor("#5f5e66"), HexColor("#e2e0dc")
GROUND, PAPER, NIGHT = HexColor("#f6f5f2"), HexColor("#ffffff"), HexColor("#12162a")
BLUE, PALE, SUN, MIST = HexColor("#2b55d4"), HexColor("#dfe6fb"), HexColor("#ffd54a"), HexColor("#aab4d4")


class Slide:
    """A canvas measured from the top left corner, with the few shapes the tour is made of."""

    def __init__(self, canvas: Canvas) -> None:
        self.canvas = canvas

    def fill(self, color: Color) -> None:
        """Paint the whole page."""
        self.box(0, 0, W, H, color)

    def box(self, x: float, y: float, w: float, h: float, color: Color, *, radius: float = 0) -> None:
        """Draw a rectangle, rounded by ``radius``."""
        self.canvas.setFillColor(color)
        self.canvas.roundRect(x, H - y - h, w, h, radius, stroke=0, fill=1)

    def text(
        self, x: float, y: float, words: str, size: float, color: Color = INK, font: str = "Inter", tight: float = 0
    ) -> None:
        """Draw one line of text with its baseline at ``y``;``tight`` closes the letters by that share of the size."""
        self.canvas.setFillColor(color)
        self.canvas.setFont(font, size)
        self.canvas.drawString(x, H - y, words, charSpace=-tight * size)

    def lines(self, x: float, y: float, rows: Sequence[str], size: float) -> None:
        """Draw several lines of running text."""
        for number, row in enumerate(rows):
            self.text(x, y + number * size * 1.5, row, size, SOFT)

    def headline(self, kicker: str, rows: Sequence[str], color: Color = INK, accent: Color = BLUE) -> None:
        """Draw the small word at the top of a page and its large lines."""
        self.text(EDGE, 92, kicker, 13, accent, "Inter-Semi")
        for number, row in enumerate(rows):
            self.text(EDGE, 138 + number * 44, row, 38, color, "Inter-Bold", tight=0.022)

    def dot(self, x: float, y: float, radius: float, color: Color) -> None:
        """Draw a filled circle."""
        self.canvas.setFillColor(color)
        self.canvas.circle(x, H - y, radius, stroke=0, fill=1)

    def stroke(self, points: Sequence[tuple[float, float]], color: Color, width: float) -> None:
        """Draw a line through ``points`` with round ends."""
        path = self.canvas.beginPath()
        path.moveTo(points[0][0], H - points[0][1])
        for x, y in points[1:]:
            path.lineTo(x, H - y)
        self.canvas.setStrokeColor(color)
        self.canvas.setLineWidth(width)
        self.canvas.setLineCap(1)
        self.canvas.setLineJoin(1)
        self.canvas.drawPath(path)

    def logo(self, x: float, y: float, size: float) -> None:
        """Draw the logo of the product: a sheet with a folded corner on a blue tile."""
        unit = size / 32
        self.box(x, y, size, size, BLUE, radius=8 * unit)
        sheet = [(10, 7), (18, 7), (23, 12), (23, 25), (10, 25)]
        for corners, color in ((sheet, PAPER), ([(18, 7), (18, 12), (23, 12)], HexColor("#c9d5ff"))):
            path = self.canvas.beginPath()
            path.moveTo(x + corners[0][0] * unit, H - y - corners[0][1] * unit)
            for across, down in corners[1:]:
                path.lineTo(x + across * unit, H - y - down * unit)
            path.close()
            self.canvas.setFillColor(color)
            self.canvas.drawPath(path, stroke=0, fill=1)
        for across, down, end in ((13, 17, 20), (13, 21, 17.5)):
            self.stroke([(x + across * unit, y + down * unit), (x + end * unit, y + down * unit)], BLUE, 1.8 * unit)

    def terminal(self, x: float, y: float, w: float, rows: Sequence[tuple[str, Color]], size: float = 14) -> float:
        """Draw a dark window with ``rows`` of (text, color); return its lower edge."""
        h = 58 + len(rows) * size * 1.75
        self.box(x, y, w, h, NIGHT, radius=14)
        for number, color in enumerate((HexColor("#ff6b60"), SUN, HexColor("#4fc77a"))):
            self.dot(x + 24 + number * 16, y + 22, 4.5, color)
        for number, (words, color) in enumerate(rows):
            self.text(x + 24, y + 56 + number * size * 1.75, words, size, color, "Mono")
        return y + h

    def footer(self, number: int, color: Color = SOFT) -> None:
        """Draw name and page number at the lower edge."""
        self.text(EDGE, H - 34, "docshare", 10.5, color, "Inter-Semi")
        self.text(W - EDGE - 8, H - 34, str(number), 10.5, color)

    def link(self, x: float, y: float, w: float, h: float, target: str) -> None:
        """Link an area to the page called ``target``."""
        self.canvas.linkRect("", target, (x, H - y - h, x + w, H - y), relative=0, thickness=0)


def cover(page: Slide) -> None:
    """Draw the cover: the claim, and its three words."""
    page.fill(NIGHT)
    for number, (x, y, tint) in enumerate(((640, 96, "#1d2444"), (604, 128, "#27315e"), (568, 160, "#ffffff"))):
        page.box(x, y, 268, 340, HexColor(tint), radius=12)
        if number == 2:
            draw_sheet(page, x, y)
    page.logo(EDGE, 72, 40)
    page.text(EDGE + 54, 99, "docshare", 20, PAPER, "Inter-Semi", tight=0.01)
    for number, row in enumerate(("Share a", "document.", "Know how it", "was read.")):
        page.text(EDGE, 198 + number * 58, row, 54, PAPER, "Inter-Bold", tight=0.03)
    x = EDGE
    for word in ("Share", "Control", "Know"):
        width = pdfmetrics.stringWidth(word, "Inter-Semi", 14) + 34
        page.box(x, 424, width, 34, HexColor("#27315e"), radius=17)
        page.text(x + 17, 446, word, 14, PALE, "Inter-Semi")
        page.link(x, 424, width, 34, word.lower())
        x += width + 12


def draw_sheet(page: Slide, x: float, y: float) -> None:
    """Draw a page that is being read: some lines brighter than others, one marked."""
    page.box(x + 28, y + 32, 128, 14, INK, radius=4)
    page.box(x + 28, y + 56, 84, 8, LINE, radius=4)
    for number, width in enumerate((212, 204, 212, 176, 0, 208, 212, 190, 212, 120)):
        if width:
            page.box(x + 28, y + 92 + number * 18, width, 7, LINE, radius=3.5)
    page.box(x + 24, y + 177, 220, 16, SUN, radius=5)
    page.box(x + 28, y + 182, 208, 7, HexColor("#b08a12"), radius=3.5)
    for number, height in enumerate((18, 30, 46, 24, 38)):
        page.box(x + 28 + number * 22, y + 322 - height, 14, height, BLUE if number == 2 else PALE, radius=3)


def start(page: Slide) -> None:
    """Draw the page about two commands."""
    page.fill(GROUND)
    page.headline("IN TWO COMMANDS", ("From file to link", "before the coffee is ready"))
    rows = [
        ("$ docshare serve", PAPER),
        ("http://127.0.0.1:8787", MIST),
        ("", PAPER),
        ("$ docshare upload report.pdf", PAPER),
        ("http://127.0.0.1:8787/aB3dE5fG7hJ9", SUN),
    ]
    page.terminal(EDGE, 222, 484, rows)
    for y in (291, 364):  # the addresses are examples: a click on one turns to the next page
        page.link(EDGE + 20, y, 300, 20, "share")
    facts = (
        ("Nothing to set up", ("The first run makes the folder, the", "account and the key by itself.")),
        ("One folder", ("Database, documents and settings", "live side by side. Back it up, move it.")),
        ("Large files", ("Two gigabytes stream straight to disk,", "and other readers notice nothing.")),
    )
    for number, (title, rows_) in enumerate(facts):
        y = 240 + number * 80
        page.dot(604, y - 5, 4, BLUE)
        page.text(620, y, title, 16, INK, "Inter-Semi")
        page.lines(620, y + 22, rows_, 13)
    page.footer(2)


def share(page: Slide) -> None:
    """Draw the page about the reader."""
    page.fill(PAPER)
    page.headline("SHARE", ("A link that just opens",))
    page.text(
        EDGE, 178, "No account, no app, no plug-in. The page appears while the rest is still being drawn.", 15, SOFT
    )
    cards = (
        ("Sharp pages", ("The same on every screen,", "from phone to wall display.")),
        ("Real text", ("Select it, search it, let a", "screen reader speak it.")),
        ("Living links", ("Contents, footnotes and", "web addresses work.")),
        ("Quiet by design", ("No third party hears of the", "visit. No cookie banner.")),
    )
    for number, (title, rows) in enumerate(cards):
        x = EDGE + number * 208
        page.box(x, 226, 192, 190, GROUND, radius=14)
        page.box(x + 22, 250, 40, 40, PALE, radius=10)
        CARD_ICONS[number](page, x + 22, 250)
        page.text(x + 22, 328, title, 17, INK, "Inter-Semi", tight=0.01)
        page.lines(x + 22, 354, rows, 12)
    page.text(EDGE, 456, "Or hand it around on paper: every link has its QR code.", 13, SOFT)
    page.footer(3)


def _draw_page_icon(page: Slide, x: float, y: float) -> None:
    page.box(x + 12, y + 9, 16, 22, BLUE, radius=3)
    page.box(x + 15.5, y + 14, 9, 2, PAPER, radius=1)
    page.box(x + 15.5, y + 19, 6, 2, PAPER, radius=1)


def _draw_text_icon(page: Slide, x: float, y: float) -> None:
    page.stroke([(x + 12, y + 12), (x + 28, y + 12)], BLUE, 3)
    page.stroke([(x + 20, y + 12), (x + 20, y + 29)], BLUE, 3)


def _draw_link_icon(page: Slide, x: float, y: float) -> None:
    page.stroke([(x + 13, y + 27), (x + 27, y + 13)], BLUE, 3)
    page.stroke([(x + 17, y + 12.5), (x + 27.5, y + 12.5), (x + 27.5, y + 23)], BLUE, 3)


def _draw_moon_icon(page: Slide, x: float, y: float) -> None:
    page.dot(x + 20, y + 20, 11, BLUE)
    page.dot(x + 24.5, y + 16.5, 9, PALE)


CARD_ICONS: tuple[Callable[[Slide, float, float], None], ...] = (
    _draw_page_icon,
    _draw_text_icon,
    _draw_link_icon,
    _draw_moon_icon,
)


def control(page: Slide) -> None:
    """Draw the page about the control that the owner has."""
    page.fill(GROUND)
    page.headline("CONTROL", ("Your machine, your file,", "your last word"))
    rows = (
        ("Yours alone", "Your file stays on the machine you run. There is no cloud behind it."),
        ("Taken back in a moment", "Delete a file, and its link stops working everywhere."),
        ("The very same bytes", "The downloaded file is identical to the uploaded one (SHA-256)."),
        ("Out of search engines", "Links cannot be guessed, and pages ask not to be indexed."),
        ("Hostile files stay harmless", "PDFs are opened in a sandbox, with limited memory and time."),
    )
    for number, (title, words) in enumerate(rows):
        y = 244 + number * 48
        page.dot(EDGE + 10, y - 5, 10, BLUE)
        page.stroke([(EDGE + 5.5, y - 5), (EDGE + 9, y - 1.5), (EDGE + 15, y - 8.5)], PAPER, 1.8)
        page.text(EDGE + 36, y, title, 16, INK, "Inter-Semi")
        page.text(EDGE + 276, y, words, 14, SOFT)
    page.footer(4)


def know(page: Slide) -> None:
    """Draw the page about readership: an example chart and a live row."""
    page.fill(PAPER)
    page.headline("KNOW", ("See which page held them",))
    page.text(
        EDGE, 178, "How long each page was in front of a reader, and every visit live in your terminal.", 15, SOFT
    )
    seconds = (12, 31, 18, 74, 52, 22, 9, 40)
    page.box(EDGE, 202, W - 2 * EDGE, 166, GROUND, radius=14)
    page.text(EDGE + 24, 229, "Seconds per page (an example)", 11.5, SOFT)
    for number, value in enumerate(seconds):
        x, height = EDGE + 40 + number * 96, value * 1.18
        best = value == max(seconds)
        page.box(x, 343 - height, 52, height, BLUE if best else HexColor("#b9c8f5"), radius=6)
        page.text(x + 26 - 3.2 * len(str(value)), 337 - height, str(value), 11, BLUE if best else SOFT, "Inter-Semi")
        page.text(x + 23, 360, str(number + 1), 10.5, SOFT)
    feed = [
        ("14:02:11  view  report.pdf  3 pages  1m 42s  #2", PAPER),
        ("14:09:40  view  report.pdf  8 pages  4m 18s  #3", SUN),
    ]
    page.terminal(EDGE, 380, W - 2 * EDGE, feed, 13)
    page.footer(5)


VIEW_RULES = (
    (
        "Counts",
        SUN,
        (
            "Two seconds or more on the page",
            "A tap, a key or a turn of the wheel",
            "Time on the page in front of the reader",
            "Each visit once, also on a shaky line",
        ),
    ),
    (
        "Does not count",
        MIST,
        (
            "Link previews, scanners and crawlers",
            "Tabs in the background",
            "A page left open and walked away from",
            "Your own visits, once signed in",
        ),
    ),
)


def honest(page: Slide) -> None:
    """Draw the page about the rules for counting."""
    page.fill(NIGHT)
    page.headline("MEASURED HONESTLY", ("Only people count,", "and only while they read"), PAPER, SUN)
    for number, (title, color, rows) in enumerate(VIEW_RULES):
        x = EDGE + number * 416
        page.box(x, 226, 400, 196, HexColor("#1d2444"), radius=14)
        page.text(x + 26, 262, title, 18, color, "Inter-Semi")
        for row, words in enumerate(rows):
            page.dot(x + 30, 289.5 + row * 32, 3, color)
            page.text(x + 44, 294 + row * 32, words, 14.5, PAPER)
    page.text(EDGE, 456, "Readers stay anonymous: addresses are used for a moment and never stored.", 13, MIST)
    page.footer(6, MIST)


def scripts(page: Slide) -> None:
    """Draw the page for people who work in a shell."""
    page.fill(GROUND)
    page.headline("FOR SCRIPTS", ("Everything is a command,", "and every command is an API call"))
    rows = [
        ("$ docshare upload *.pdf --json | jq -r .shareUrl", PAPER),
        ("$ docshare events tail --json --count 1 --timeout 5m", PAPER),
        ("$ docshare serve --ephemeral --exec pytest -q", PAPER),
        ('$ curl -H "Authorization: Bearer $DOCSHARE_TOKEN" \\', PAPER),
        ("       $DOCSHARE_URL/api/v1/files", PAPER),
    ]
    lower = page.terminal(EDGE, 216, W - 2 * EDGE, rows, 15)
    page.text(
        EDGE,
        lower + 38,
        "One line out, one exit code, JSON on request. Errors say what happened and what to do.",
        14,
        SOFT,
    )
    page.footer(7)


def finish(page: Slide) -> None:
    """Draw the last page, which uses the reader as the example."""
    page.fill(BLUE)
    page.text(EDGE, 112, "YOUR TURN", 13, PALE, "Inter-Semi")
    for number, row in enumerate(("Now look at the terminal:", "you have just been read.")):
        page.text(EDGE, 168 + number * 54, row, 48, PAPER, "Inter-Bold", tight=0.028)
    page.text(EDGE, 278, "Close this tab, and your visit appears there: how many pages, how long.", 17, PALE)
    tries = (
        ("Select", "this sentence"),
        ("Find", "the word terminal"),
        ("Zoom", "with plus and minus"),
        ("Go back", "to the first page"),
    )
    for number, (verb, rest) in enumerate(tries):
        x = EDGE + number * 208
        page.box(x, 330, 192, 84, HexColor("#3d65dc"), radius=12)
        page.text(x + 20, 364, verb, 17, PAPER, "Inter-Semi")
        page.text(x + 20, 390, rest, 13, PALE)
    page.link(EDGE + 3 * 208, 330, 192, 84, "cover")
    page.logo(EDGE, 452, 30)
    page.text(EDGE + 42, 472, "docshare serve your-own.pdf", 14, PAPER, "Mono")


PAGES: tuple[Callable[[Slide], None], ...] = (cover, start, share, control, know, honest, scripts, finish)


def register_fonts() -> None:
    """Register Inter in three weights, from the variable font of the share page, and a monospaced font."""
    for name, weight in (("Inter", 400), ("Inter-Semi", 600), ("Inter-Bold", 750)):
        font = instantiateVariableFont(SourceFont(INTER, recalcTimestamp=False), {"wght": weight})
        font.flavor = None
        for record in (1, 4, 6):  # family, full and PostScript name, by which reportlab distinguishes faces
            font["name"].setName(name, record, 3, 1, 0x409)
        data = io.BytesIO()
        font.save(data)
        data.seek(0)
        pdfmetrics.registerFont(TTFont(name, data))
    pdfmetrics.registerFont(TTFont("Mono", str(MONO)))


def make_tour() -> bytes:
    """Return the whole tour."""
    register_fonts()
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(W, H), invariant=1, pageCompression=1, lang="en")
    canvas.setTitle("docshare: share a document, know how it was read")
    canvas.setAuthor("docshare")
    for draw in PAGES:
        canvas.bookmarkPage(draw.__name__)
        canvas.addOutlineEntry(draw.__name__.capitalize(), draw.__name__)
        draw(Slide(canvas))
        canvas.showPage()
    canvas.save()
    return out.getvalue()


if __name__ == "__main__":
    TARGET.write_bytes(make_tour())
    print(f"{TARGET}: {TARGET.stat().st_size} bytes, {len(PAGES)} pages")
