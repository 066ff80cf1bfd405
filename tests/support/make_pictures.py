"""Draws the pictures of the README into ``.pictures/``: terminals as SVG, pages of the server as PNG.

Run ``python -m tests.support.make_pictures`` after a change that shows, look at them, and commit the result. It takes
about two minutes, since one picture is of a reader in real time. Nothing is staged but the readers of the report:
commands run on a pseudo terminal, pages in a real browser.
"""

import io
import random
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import CONSOLE_SVG_FORMAT, Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

import docshare.server
from docshare.server.pdf.engine import PdfEngine
from docshare.server.services.readership import viewing
from tests.support.browsers.browser import DESKTOP, PHONE, desktop_options, launch, visitor
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.cast import World, make_runtime, make_world
from tests.support.people.reader import FakeReader
from tests.support.servers.in_process_server import RunningClock, serve_world
from tests.support.servers.server_process import COMMAND, make_env
from tests.support.terminal import Terminal, run_on_terminal

PICTURES = Path(__file__).resolve().parents[2] / ".pictures"
TOUR = Path(docshare.server.__file__).parent / "demo" / "docshare-tour.pdf"
COLUMNS = 92
RECORDED = {
    "terminal.svg": ("docshare serve --demo", "docshare wait @last --page 3"),
    "readership.svg": ("docshare readership show slug:tour --section summary,funnel,variants",),
}
"""The commands in each recording; a test checks that they exist."""

_NIGHT = TerminalTheme(
    (18, 22, 42),
    (222, 226, 240),
    [(60, 64, 84), (240, 113, 120), (142, 209, 132), (255, 213, 74), (130, 165, 255), (199, 146, 234),
     (120, 205, 225), (222, 226, 240)],
    [(120, 126, 150), (255, 140, 146), (165, 225, 155), (255, 225, 120), (160, 188, 255), (215, 170, 245),
     (150, 222, 240), (255, 255, 255)],
)  # fmt: skip
# The fonts that Rich would fetch from another host are left out; every reader has one of these.
_FONTS = 'ui-monospace, "SFMono-Regular", Menlo, Consolas, "Liberation Mono", monospace'
_SVG = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
_SVG = re.sub(r"font-family: [^;]*;", f"font-family: {_FONTS};", _SVG)

_COUNTRIES_BY_PREFIX = {
    "192.0.2.": ("DE", "AT", "CH"),
    "198.51.100.": ("US", "GB", "FR"),
    "203.0.113.": ("DE", "NL", "SE"),
}
_BROWSERS = (
    DESKTOP,
    DESKTOP,
    PHONE,
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 "
    "Safari/605.1.15",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 "
    "Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 "
    "Edg/126.0.0.0",
)
_REFERRERS = (None, None, None, "https://docs.example.com/", "https://mail.example.org/", "https://www.linkedin.com/")
_SECONDS_BY_PAGE = (9, 14, 21, 12, 38, 17, 8, 11)  # how long an ordinary reader reads each page of the tour
_RECIPIENTS = ("Ann Lee", "Bob Ray", "Chi Wen")
# The other documents of the library: name, title and color of the cover, number of readers of four days.
_OTHERS = (
    ("Offer Northwind.pdf", "Offer for Northwind", "#0f4c3a", 3),
    ("Annual report 2026.pdf", "Annual report 2026", "#7a1f3d", 5),
    ("Onboarding handbook.pdf", "Onboarding handbook", "#3a3f8f", 1),
    ("Price list autumn.pdf", "Prices, autumn 2026", "#a1551b", 2),
)
_COVER = """<style>@page {{ margin: 0; size: 297mm 167mm }} body {{ margin: 0; font: 700 15mm "Liberation Sans" }}
section {{ box-sizing: border-box; height: 167mm; padding: 55mm 24mm; background: {color}; color: white;
  break-after: page }} section + section {{ background: white; color: {color} }}</style>"""


def main() -> None:
    """Draw all pictures."""
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = launch(playwright)
        _draw_two_commands(browser, Path(folder) / "live")
        others = [_make_document(browser, title, color) for _, title, color, _ in _OTHERS]
        with _serve_four_weeks(Path(folder) / "weeks", others) as (world, made, url):
            _draw_readership(world, url, Path(folder) / "shell")
            _draw_owner_pages(browser, world, made, url)  # first: the readers of the viewer name addresses of a proxy
            _draw_viewer(browser, f"{url}/{made['shortId']}")
        browser.close()


# --- terminals -----------------------------------------------------------------------------------------------------


def _draw_two_commands(browser: Browser, folder: Path) -> None:
    """Draw ``docshare serve --demo``, a reader who reads up to page 3, and the output of both terminals."""
    # The reader's browser names an address, which would otherwise be reported as that of an unknown proxy.
    env = _make_env(folder) | {"DOCSHARE_TRUSTED_PROXIES": "127.0.0.1/32"}
    serve, wait = RECORDED["terminal.svg"]
    with Terminal([*COMMAND, *serve.split()[1:], "--port", "0"], env, columns=COLUMNS) as server:
        server.wait_for_text("following view")
        shown = server.read_until_quiet()
        link = re.findall(r"http://\S+/\w{12}", shown)[0]
        with Terminal([*COMMAND, *wait.split()[1:]], env, columns=COLUMNS) as waiter:
            waiter.wait_for_text("page 3")
            _read_document(browser, link)
            _wait_for_text(server, "3 pages")
            _wait_for_text(waiter, "3 of 8 pages")
            waited, shown = waiter.wait_for_exit().text, server.read_until_quiet()
    told = [(serve, shown), (wait, waited)]
    _draw_terminal(
        "terminal.svg",
        told,
        "docshare",
        {link.rsplit("/", 1)[0]: "http://127.0.0.1:8787", str(folder / "data"): "~/.local/share/docshare"},
    )


def _wait_for_text(terminal: Terminal, text: str) -> None:
    """Wait until ``text`` is shown; the server reports a visit a minute after its end."""
    for _ in range(400):
        if text in terminal.read_until_quiet():
            return
    raise AssertionError(f"{text!r} did not come, but: {terminal.shown!r}")


def _read_document(browser: Browser, link: str) -> None:
    with visitor(browser) as person:
        page = person.open(link)
        for seconds in (7, 9):
            page.wait_for_timeout(seconds * 1000)
            page.keyboard.press("ArrowRight")
        page.wait_for_timeout(12_000)
        page.close(run_before_unload=True)


def _draw_readership(world: World, url: str, folder: Path) -> None:
    (command,) = RECORDED["readership.svg"]
    env = _make_env(folder) | {"DOCSHARE_URL": url, "DOCSHARE_TOKEN": world.pia.key}
    shown = run_on_terminal([*COMMAND, *command.split()[1:]], env, columns=COLUMNS).text
    _draw_terminal("readership.svg", [(command, shown)], "who read it", {url: "http://127.0.0.1:8787"})


def _make_env(folder: Path) -> dict[str, str]:
    folder.mkdir(parents=True, exist_ok=True)
    env = make_env(folder) | {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LANG": "C.UTF-8", "TZ": "UTC"}
    env["DOCSHARE_PAGER"] = "cat"  # the whole report is in the picture
    return {key: value for key, value in env.items() if key not in ("NO_COLOR", "CI")}


def _draw_terminal(name: str, told: list[tuple[str, str]], title: str, plain: Mapping[str, str]) -> None:
    """Write the output of commands as a picture of a terminal; ``plain`` replaces values that differ from run to
    run."""
    console = Console(
        record=True,
        width=COLUMNS,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    for place, (command, shown) in enumerate(told):
        if place:
            console.print()
        console.print(Text.assemble(("$ ", "bright_black"), (command, "bold")))
        for found, instead in plain.items():
            shown = shown.replace(found, instead)
        for line in _list_final_lines(shown):
            console.print(Text.from_ansi(line), soft_wrap=True)
    svg = console.export_svg(title=title, theme=_NIGHT, code_format=_SVG, unique_id=name.removesuffix(".svg"))
    (PICTURES / name).write_text(svg, encoding="utf-8")


def _list_final_lines(shown: str) -> Iterator[str]:
    """Yield the final lines: cleared status lines are omitted."""
    for line in shown.rstrip().split("\n"):
        last = re.split(r"\r|\x1b\[2?K", line)[-1]
        if last or not re.search(r"\r|\x1b\[2?K", line):
            yield last


# --- four weeks of readers ----------------------------------------------------------------------------------------


def _make_document(browser: Browser, title: str, color: str) -> bytes:
    """Return a document of eight pages with a cover."""
    page = browser.new_page()
    sections = "".join(f"<section>{text}</section>" for text in (title, *map(str, range(2, 9))))
    page.set_content(_COVER.format(color=color) + sections)
    content = page.pdf(print_background=True, prefer_css_page_size=True)
    page.close()
    return content


@contextmanager
def _serve_four_weeks(folder: Path, others: list[bytes]) -> Iterator[tuple[World, dict[str, Any], str]]:
    """Yield a server with the tour and the documents ``others`` of ``_OTHERS``, and four weeks of readership."""
    clock, engine, chance = RunningClock(), PdfEngine(workers=1), random.Random(11)
    others_chance = random.Random(5)
    runtime = make_runtime(folder, clock, engine, rate_limit=100_000, address_limit=100_000)
    world = make_world(replace(runtime, locate=_look_up_country), clock)
    made = world.pia.upload(TOUR.read_bytes(), name=TOUR.name)
    path = f"/api/v1/files/{made['uuid']}/variants"
    put_settings(world, dict(made), slug="tour")
    links = [made["shortId"]] * 7 + [
        world.pia.post(path, json={"label": label}).get_json()["shortId"] for label in _RECIPIENTS
    ]
    other_links = [
        link
        for content, (name, _, _, readers) in zip(others, _OTHERS, strict=True)
        for link in [world.pia.upload(content, name=name)["shortId"]] * readers
    ]
    for day in range(28):
        busy = 0 if day % 7 in (5, 6) else 2 + day // 5
        for _ in range(chance.randint(busy, busy + 3)):
            _simulate_reader(world, chance.choice(links), chance)
            world.clock.advance(minutes=chance.randint(20, 100))
        for _ in range(busy // 2):
            _simulate_reader(world, others_chance.choice(other_links), others_chance)
        world.clock.advance(hours=24 - (world.clock.now // 3_600_000 + 16) % 24, minutes=chance.randint(0, 50))
    world.clock.advance(minutes=6)
    viewing.end_due_sessions(world.rt)
    try:
        with serve_world(world) as url:
            yield world, made, url
    finally:
        world.rt.pages.close()
        world.rt.db.close()
        engine.close()


def _look_up_country(address: str) -> str | None:
    prefix, _, last = address.rpartition(".")
    return _COUNTRIES_BY_PREFIX[f"{prefix}."][int(last) % 3] if f"{prefix}." in _COUNTRIES_BY_PREFIX else None


def _simulate_reader(world: World, link: str, chance: random.Random) -> None:
    address, source = f"{chance.choice(list(_COUNTRIES_BY_PREFIX))}{chance.randint(1, 24)}", chance.choice(_REFERRERS)
    headers = {} if source is None else {"Referer": source}
    reader = FakeReader(world, link, address=address, user_agent=chance.choice(_BROWSERS), page_headers=headers)
    reader.send_next_beacon(input=True)
    for page in range(1, min(8, int(chance.triangular(2, 11, 7))) + 1):
        reader.read_page(
            _SECONDS_BY_PAGE[page - 1] * chance.uniform(0.5, 1.7),
            page=page,
            turns=min(page - 1, 1),
            backTurns=int(page > 2 and chance.random() < 0.12),
        )
    reader.leave()


# --- pages ---------------------------------------------------------------------------------------------------------


def _draw_viewer(browser: Browser, link: str) -> None:
    with visitor(browser, viewport={"width": 1280, "height": 800}) as person:
        page = person.open(f"{link}#page=5")
        page.wait_for_timeout(1_500)
        _save_screenshot(page, "viewer.png")


def _draw_owner_pages(browser: Browser, world: World, made: Mapping[str, Any], url: str) -> None:
    """Draw the top of the report, its strip of pages with the sessions below, and the library."""
    cookie = sign_in_browser(world, world.pia).get_cookie("docshare_session")
    assert cookie is not None
    context = browser.new_context(**desktop_options() | {"viewport": {"width": 1280, "height": 1445}})
    context.add_cookies([{"name": "docshare_session", "value": cookie.value, "url": url}])
    page = context.new_page()
    _open_page(page, f"{url}/readership/{made['uuid']}")
    _save_screenshot(page, "report.png")
    box = page.locator("#pages").bounding_box()
    assert box is not None
    clip = {"x": 0, "y": box["y"] - 40, "width": 1280, "height": 1096}
    _save_screenshot(page, "pages.png", full_page=True, clip=clip)
    _open_page(page, f"{url}/files")
    _save_screenshot(page, "library.png", clip={"x": 0, "y": 0, "width": 1280, "height": 1112})
    context.close()


def _open_page(page: Page, address: str) -> None:
    """Go to ``address`` and wait until all images are loaded."""
    answer = page.goto(address)
    assert answer is not None
    assert answer.ok
    page.evaluate("document.querySelectorAll('img').forEach((image) => { image.loading = 'eager'; })")
    page.evaluate("Promise.all([...document.images].map((image) => image.decode()))")


def _save_screenshot(page: Page, name: str, **options: Any) -> None:
    """Save a screenshot with a palette, which takes a third of the bytes."""
    shot = Image.open(io.BytesIO(page.screenshot(**options))).convert("RGB")
    shot.quantize(256, kmeans=4, dither=Image.Dither.NONE).save(PICTURES / name, optimize=True)


if __name__ == "__main__":
    main()
