"""XSS payloads in every stored field, on every page that displays it: no payload executes, loads or adds anything, and
no page violates its content security policy, neither then nor in normal use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient
from playwright.sync_api import Browser, Page, expect

from docshare.server.pdf.engine import PdfEngine
from tests.support.browsers.browser import DESKTOP, send_note, visitor
from tests.support.browsers.poisoned_file import PAYLOAD_BATCHES, READER, STORABLE_PAYLOADS, PoisonedFile
from tests.support.browsers.styled_document import StyledDocument
from tests.support.browsers.tripwire import Tripwire
from tests.support.outside.fake_api import FakeTime
from tests.support.outside.payloads import MARKUP_PAYLOADS, XSS
from tests.support.owner.browser import sign_in_browser
from tests.support.people.cast import World, make_runtime, make_world
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS
from tests.support.people.feedback_document import FeedbackDocument
from tests.support.people.reader import FakeReader, end_all_sessions
from tests.support.servers.in_process_server import RunningClock, serve_world
from tests.support.servers.server_process import ServerProcess
from tests.support.shell import Shell

FRAME = ["src", "title", "width", "height", "allow", "loading"]
MODES = ("standard", "flipbook", "swipe", "magazine")
EXTERNAL_URL = re.compile("^https://")
COOKIE = "docshare_session"
FILL = """(values) => {
  const form = document.querySelector("form.gate");
  form.noValidate = true;
  const inputs = [...form.querySelectorAll("input[type=text]")];
  values.forEach((value, place) => { inputs[place].value = value; });
  form.querySelector("input[type=email]").value = values[0];
  form.querySelector("input[type=password]").value = "wrong";
}"""
FORM_VALUES = "() => [...document.querySelectorAll('form.gate input')].map((input) => input.value)"
ELEMENTS = """(pages) => pages.map((page) => {
  const all = new DOMParser().parseFromString(page, "text/html").querySelectorAll("head > *, body, body *");
  return [...all].map((element) => [element.localName, ...element.getAttributeNames()]);
})"""
FRAMES = """async (documents) => {
  const made = documents.map((source, place) => {
    const frame = document.createElement("iframe");
    frame.name = `frame ${place}`;
    frame.srcdoc = source;
    return frame;
  });
  const loaded = made.map((frame) => new Promise((resolve) => frame.addEventListener("load", resolve)));
  document.body.append(...made);
  await Promise.all(loaded);
}"""


@dataclass
class XssSite:
    """A server with two poisoned documents: ``file`` has readers, ``fresh`` has none. ``owner`` is signed in."""

    world: World
    url: str
    owner: FlaskClient
    file: PoisonedFile
    fresh: PoisonedFile

    def find_link(self, prefix: str = "") -> str:
        """Return the URL of the share page, or below ``/embed`` of the embed page, of ``file``."""
        return f"{self.url}{prefix}/{self.file.name}"


@pytest.fixture(scope="module")
def xss_site(tmp_path_factory: pytest.TempPathFactory, engine: PdfEngine) -> Iterator[XssSite]:
    clock = RunningClock()
    folder = tmp_path_factory.mktemp("poisoned") / "data"
    world = make_world(make_runtime(folder, clock, engine, rate_limit=100_000), clock)
    owner = sign_in_browser(world, world.pia)
    with serve_world(world) as url:
        yield XssSite(world, url, owner, PoisonedFile(world, read=True), PoisonedFile(world, read=False))
    world.rt.converter.close()
    world.rt.pages.close()
    world.rt.db.close()


@pytest.fixture
def public_xss_site(xss_site: XssSite) -> XssSite:
    """Return the server with both documents public."""
    xss_site.file.store_everywhere(PAYLOAD_BATCHES[0], delete_at=None, burned_at=None, trashed_at=None)
    xss_site.fresh.store_everywhere(PAYLOAD_BATCHES[0])
    return xss_site


@contextmanager
def open_watched_page(browser: Browser, site: XssSite | None = None, **cookies: str) -> Iterator[tuple[Page, Tripwire]]:
    """Yield a page with a ``Tripwire``, optionally with cookies for ``site``."""
    with visitor(browser) as person:
        wire = Tripwire(person.context)
        if site is not None:
            held = [{"name": name, "value": value, "url": site.url} for name, value in cookies.items()]
            person.context.add_cookies(held)
        yield person.page, wire


def fold_whitespace(text: str) -> str:
    """Return ``text`` without the parts that browsers and forms change: line breaks, blanks, and characters that no
    page can contain."""
    return "".join(text.replace("\x00", "").replace("\ufffd", "").split())


def find_missing_payloads(words: str) -> list[str]:
    """Return the payloads that are not in ``words``."""
    words = fold_whitespace(words)
    return [text for text in STORABLE_PAYLOADS if fold_whitespace(text) not in words]


def get_session_cookie(site: XssSite) -> str:
    found = site.owner.get_cookie(COOKIE)
    assert found is not None
    return found.value


def read_with_referrer(world: World, name: str, text: str) -> None:
    """Read the document with ``text`` as referring host and as user agent."""
    if not text.isascii() or not text.isprintable():
        return  # no client sends such headers
    headers = {"Referer": f"https://{text}/"}
    reader = FakeReader(world, name, user_agent=f"{DESKTOP} {text}", page_headers=headers)
    reader.send_next_beacon(input=True)
    reader.read_page(6)


def test_the_payloads_are_active_and_the_tripwire_detects_them(browser: Browser) -> None:
    """Each payload is loaded unescaped in a separate frame without a policy. Payloads that need a click or another
    context to run are detected by their markup."""
    assert len({*XSS, *MARKUP_PAYLOADS}) >= 100
    with open_watched_page(browser) as (page, wire):
        page.route("http://open.test/", lambda route: route.fulfill(content_type="text/html", body="<!doctype html>"))
        page.goto("http://open.test/")
        page.evaluate(FRAMES, [f'{text}<p title="{text}"><style>{text}' for text in STORABLE_PAYLOADS])
        wire.trigger_handlers(page)
        places = {words.rpartition("frame ")[2] for words in wire.alarms}
        assert sum(place.isdigit() for place in places) >= 45
        for text in ("<a href='java\tscript:pwned()'>", "<p onclick=pwned()>", "<base href=/x>", "<embed src=x>"):
            wire.alarms.clear()
            page.set_content(text)
            wire.trigger_handlers(page)
            assert [words for words in wire.alarms if words.startswith("holds")], text


@pytest.mark.parametrize(
    ("mode", "batches"),
    [("standard", PAYLOAD_BATCHES), *((mode, PAYLOAD_BATCHES[at : at + 1]) for at, mode in enumerate(MODES[1:]))],
)
def test_the_share_page_escapes_payloads(
    browser: Browser, public_xss_site: XssSite, mode: str, batches: tuple[str, ...]
) -> None:
    with open_watched_page(browser, public_xss_site, **{f"viewer-{public_xss_site.file.name}": READER}) as (page, wire):
        for text in batches:
            public_xss_site.file.store_everywhere(text, mode=mode)
            page.goto(f"{public_xss_site.find_link()}?page=1")
            page.locator(".pages.is-live .page.is-ready:not([inert]) .page-text span").first.wait_for(state="attached")
            expect(page.locator(".annotation").first).to_be_attached()
            wire.trigger_handlers(page)
            assert fold_whitespace(page.title()) == fold_whitespace(text)
            assert fold_whitespace(page.locator("h1").inner_text()) == fold_whitespace(text)
        page.locator("#notes-open").click()
        assert find_missing_payloads(" ".join(page.locator(".note p").all_text_contents())) == []
        page.locator("#receipt-open").click()
        expect(page.locator("#receipt-words bdi")).to_have_text(" ".join(PAYLOAD_BATCHES))
        page.locator(".annotation").first.focus()
        page.keyboard.press("f")
        page.locator("#find-words").fill("<img src=x onerror=pwned()>")
        expect(page.locator("#find-count")).to_have_text(re.compile("[1-9]"))
        wire.trigger_handlers(page)
        assert wire.alarms == []


def test_the_embed_page_escapes_payloads(browser: Browser, public_xss_site: XssSite) -> None:
    with open_watched_page(browser, public_xss_site) as (page, wire):
        for text in PAYLOAD_BATCHES:
            public_xss_site.file.store_everywhere(text)
            page.goto(public_xss_site.find_link("/embed"))
            page.locator(".pages.is-live .page.is-ready").first.wait_for()
            expect(page.locator(".hotspot").first).to_be_attached()
            wire.trigger_handlers(page)
        assert wire.alarms == []


@pytest.mark.parametrize("prefix", ["", "/embed"])
def test_the_gate_escapes_payloads_in_labels_and_submitted_values(
    browser: Browser, public_xss_site: XssSite, prefix: str
) -> None:
    with open_watched_page(browser, public_xss_site) as (page, wire):
        for start, text in enumerate(PAYLOAD_BATCHES):
            labels = [
                label for label in STORABLE_PAYLOADS[start :: len(PAYLOAD_BATCHES)] if "\x00" not in label
            ]  # no label can contain NUL
            public_xss_site.file.set_gate(labels, text)
            page.goto(public_xss_site.find_link(prefix))
            wire.trigger_handlers(page)
            assert page.locator(".field label").count() == len(labels) + 2
            page.evaluate(FILL, labels)
            page.locator(".gate button").click()
            page.locator("#password-error").wait_for()
            kept = [fold_whitespace(value) for value in page.evaluate(FORM_VALUES)]
            assert [label for label in labels if fold_whitespace(label) not in kept] == []
            assert page.locator(".field-error").count() == 1
            wire.trigger_handlers(page)
        assert wire.alarms == []


def test_pages_of_ended_and_unknown_links_contain_no_payload(browser: Browser, public_xss_site: XssSite) -> None:
    with open_watched_page(browser, public_xss_site, **{COOKIE: get_session_cookie(public_xss_site)}) as (page, wire):
        for ended in ({"delete_at": 1}, {"delete_at": None, "burned_at": 1}, {"trashed_at": 1}):
            public_xss_site.file.store_everywhere(PAYLOAD_BATCHES[0], **ended)
            for prefix in ("", "/embed"):
                page.goto(public_xss_site.find_link(prefix))
                wire.trigger_handlers(page)
        for text in PAYLOAD_BATCHES:
            public_xss_site.file.store_everywhere(text)
            page.goto(f"{public_xss_site.url}/login")
            assert fold_whitespace(text) in fold_whitespace(page.locator("main").inner_text())
            wire.trigger_handlers(page)
        for text in STORABLE_PAYLOADS[::8]:
            page.goto(f"{public_xss_site.url}/{quote(text, safe='')}?page={quote(text)}")
            wire.trigger_handlers(page)
        assert wire.alarms == []


def test_the_report_escapes_payloads(browser: Browser, public_xss_site: XssSite) -> None:
    public_xss_site.file.store_everywhere(PAYLOAD_BATCHES[1])
    for text in STORABLE_PAYLOADS[::3]:
        read_with_referrer(public_xss_site.world, public_xss_site.file.name, text)
    end_all_sessions(public_xss_site.world)
    hosts = public_xss_site.world.rt.db.fetch_all("SELECT referrer FROM view_sessions WHERE source = 'Direct link'")
    assert sum("<" in str(host) for (host,) in hosts) >= 5
    with open_watched_page(browser, public_xss_site, **{COOKIE: get_session_cookie(public_xss_site)}) as (page, wire):
        page.goto(f"{public_xss_site.url}/readership/{public_xss_site.file.uuid}")
        assert find_missing_payloads(page.locator("main").text_content() or "") == []
        wire.trigger_handlers(page)
        assert wire.alarms == []


def test_the_standalone_report_escapes_payloads(browser: Browser, public_xss_site: XssSite, tmp_path: Path) -> None:
    public_xss_site.file.store_everywhere(PAYLOAD_BATCHES[2])
    target = tmp_path / "report.html"
    shell = Shell(tmp_path, public_xss_site.url, FakeTime())
    ended = shell(
        "readership",
        "report",
        public_xss_site.file.name,
        "-o",
        target,
        env={"DOCSHARE_TOKEN": public_xss_site.world.pia.key},
    )
    assert ended.code == 0, ended.err
    with open_watched_page(browser) as (page, wire):
        page.goto(target.as_uri())
        assert find_missing_payloads(page.locator("main").text_content() or "") == []
        wire.trigger_handlers(page)
        assert wire.alarms == []


def test_other_responses_are_never_interpreted_as_html(public_xss_site: XssSite) -> None:
    http, name = public_xss_site.world.http, public_xss_site.fresh.name
    for text in PAYLOAD_BATCHES:
        public_xss_site.fresh.store_everywhere(text)
        found = [
            http.get(f"/oembed?url={public_xss_site.world.rt.config.base_url}/{name}"),
            http.get(f"/{name}/feedback"),
            http.get(f"/{name}/style.css"),
            http.post(f"/{name}/download", buffered=True),
            http.get(f"/api/v1/public/{name}"),
            public_xss_site.world.pia.get(f"/api/v1/files/{name}/page-marks?format=csv"),
        ]
        for answer in found:
            assert answer.status_code in (200, 404), answer.text
            assert answer.mimetype not in ("text/html", "image/svg+xml", "application/xhtml+xml")
            assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_the_oembed_html_is_a_single_iframe(browser: Browser, public_xss_site: XssSite) -> None:
    with open_watched_page(browser) as (page, _):
        for text in STORABLE_PAYLOADS:
            public_xss_site.fresh.store_everywhere(text)
            address = f"{public_xss_site.world.rt.config.base_url}/{public_xss_site.fresh.name}"
            oembed_html = public_xss_site.world.http.get(f"/oembed?url={address}").get_json()["html"]
            assert page.evaluate(ELEMENTS, [oembed_html])[0] == [["body"], ["iframe", *FRAME]], text


@pytest.mark.parametrize("path", ["/{name}?page=1", "/login", "gate"])
def test_no_single_payload_adds_an_element_or_attribute(browser: Browser, public_xss_site: XssSite, path: str) -> None:
    """Each payload is tested separately, because a payload may be harmless next to others. The parsed page must have
    the same elements and attributes as with a harmless word. Scripts are disabled while parsing."""
    pages = []
    for text in ("harmless", *STORABLE_PAYLOADS):
        if path == "gate":
            public_xss_site.fresh.set_gate((text,), text)
            public_xss_site.world.http.get(f"/{public_xss_site.file.name}")  # sets the cookie that the form requires
            sent = {"field-mail": text, f"field-{text}": text}
            pages.append(public_xss_site.world.http.post(f"/{public_xss_site.fresh.name}/enter", data=sent).text)
        else:
            public_xss_site.fresh.store_everywhere(text)
            address = path.format(name=public_xss_site.fresh.name)
            pages.append(public_xss_site.owner.get(address).text)
    with open_watched_page(browser) as (page, _):
        harmless, *others = page.evaluate(ELEMENTS, pages)
    assert len(harmless) > 10
    assert [text for text, found in zip(STORABLE_PAYLOADS, others, strict=True) if found != harmless] == []


@pytest.mark.parametrize("mode", MODES)
def test_normal_use_violates_no_content_security_policy(browser: Browser, server: ServerProcess, mode: str) -> None:
    """A reader uses all features of a document on which everything is enabled."""
    proof = FeedbackDocument(server)
    proof.add_hotspot(link="https://film.example/", label="See the film")
    proof.add_hotspot(audio=proof.upload_sound(), label="Listen", rect="0.5,0.5,0.2,0.1")
    sheet = StyledDocument(server, proof.url)
    everything = ALL_FEEDBACK_SETTINGS | {
        "requireEmail": True,
        "allowDownload": True,
        "viewerMode": mode,
        "neverExpire": True,
    }
    looks = {
        "background": {"type": "image", "assetId": sheet.picture, "blur": 4, "dim": 20},
        "logo": {"assetId": sheet.logo, "linkUrl": "https://acme.example/"},
        "brand": {"accentColor": "#1f6f43", "toolbarTheme": "dark"},
        "cta": {"label": "Book a meeting", "url": "https://acme.example/meet"},
        "protect": {"contextMenu": True, "print": True, "select": True, "blurOnLeave": True},
        "ga4Id": "G-ABCDEFGHIJ",
    }
    sheet.apply_looks(everything, **looks)
    with open_watched_page(browser) as (page, wire):
        page.context.route(EXTERNAL_URL, lambda route: route.fulfill(content_type="text/javascript", body=""))
        page.goto(f"{proof.url}?page=1")
        page.get_by_label("Email address").fill("ada@a.example")
        page.get_by_role("button", name="Open document").click()
        page.locator(".pages.is-live .page.is-ready:not([inert])").first.wait_for()
        page.locator("button.hotspot").first.click()
        for element in (page.locator("a.hotspot").first, page.locator("#cta")):
            with page.context.expect_page() as opened:
                element.click()
            opened.value.close()
        send_note(page, "A word")
        page.locator(".note").wait_for()
        page.locator("#notes-close").click()
        page.locator("#receipt-open").click()
        page.get_by_role("button", name="I have received this").click()
        page.locator("#receipt-words bdi").wait_for()
        page.keyboard.press("Escape")
        page.keyboard.press("f")
        page.locator("#find-words").fill("Page")
        expect(page.locator("#find-count")).to_have_text(re.compile("[1-9]"))
        page.keyboard.press("Escape")
        page.keyboard.press("ArrowRight")
        page.locator("#zoom-in").click()
        with page.expect_download():
            page.locator("#download").click()
        proof.sign_in(page)
        for address in (proof.url, f"{server.url}/readership/{proof.name}", sheet.embed_url):
            page.goto(address)
            page.locator(".pages.is-live .page.is-ready, #report").first.wait_for()
        wire.wait_for_reports(page)
        assert wire.alarms == []
