"""Every kind of page checked with axe-core: no violation on a desktop and on a phone."""

from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page

from docshare.contract.plans import Plan
from docshare.server.services.accounts import invitations
from tests.browser.conftest import ShareDocument
from tests.support.browsers.axe import find_violations
from tests.support.browsers.browser import send_note, visitor
from tests.support.browsers.styled_document import StyledDocument
from tests.support.documents.pdfs import A4, simple_pdf
from tests.support.engines.rows import update_file_row
from tests.support.outside.oauth_app import make_app
from tests.support.owner.browser import sign_in_browser
from tests.support.people.cast import Person, World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS
from tests.support.people.feedback_document import FeedbackDocument
from tests.support.people.reader import FakeReader, end_all_sessions
from tests.support.servers.in_process_server import serve_world
from tests.support.servers.server_process import ServerProcess

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
DARK = {"color_scheme": "dark"}
WINDOWS: list[dict[str, object]] = [{}, PHONE, DARK]
NAMES = ["desktop", "phone", "dark"]
MODES = ("standard", "flipbook", "swipe", "magazine")


def test_the_checker_detects_violations(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content("<html lang=en><title>t</title><main><h1>t</h1><img src=x><button></button></main>")
    found = find_violations(page)
    page.close()
    assert {line.split(":")[0] for line in found} == {"image-alt", "button-name"}


@pytest.mark.parametrize("options", WINDOWS, ids=NAMES)
def test_a_share_page_has_no_violation(browser: Browser, share: ShareDocument, options: dict[str, object]) -> None:
    with visitor(browser, **options) as person:
        page = person.open(share(simple_pdf(pages=3, size=A4)))
        assert find_violations(page) == []


@pytest.mark.parametrize("path", ["/", "/abcdefghijkl", "/login", "/login/forgot"])
def test_the_other_pages_have_no_violation(browser: Browser, server: ServerProcess, path: str) -> None:
    with visitor(browser) as person:
        person.page.goto(server.url + path)
        assert find_violations(person.page) == []


def sign_in_at(world: World, url: str, page: Page) -> None:
    """Sign in Pia in the browser of ``page``."""
    cookie = sign_in_browser(world, world.pia).get_cookie("docshare_session")
    assert cookie is not None
    page.context.add_cookies([{"name": "docshare_session", "value": cookie.value, "url": url}])


@pytest.mark.parametrize("options", WINDOWS, ids=NAMES)
def test_the_page_of_an_invitation_has_no_violation(browser: Browser, world: World, options: dict[str, object]) -> None:
    link = invitations.invite(world.rt, "kim@example.com", "Kim", Plan.PRO).link
    assert link is not None
    with serve_world(world) as url, visitor(browser, **options) as person:
        person.page.goto(url + urlsplit(link).path)
        person.page.locator("input[type=password]").wait_for()
        assert find_violations(person.page) == []


@pytest.mark.parametrize("options", WINDOWS, ids=NAMES)
def test_the_pages_of_a_device_login_have_no_violation(
    browser: Browser, world: World, options: dict[str, object]
) -> None:
    app = make_app(world, public=True)
    form = {"client_id": app.client_id, "scope": "files:read"}
    code = app.http.post("/oauth/device_authorization", data=form).get_json()["user_code"]
    with serve_world(world) as url, visitor(browser, **options) as person:
        page = person.page
        page.goto(f"{url}/device")
        page.get_by_role("heading", name="Sign in first").wait_for()
        assert find_violations(page) == []
        sign_in_at(world, url, page)
        page.goto(f"{url}/device")
        page.get_by_label("Code").fill("wrong")
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("alert").wait_for()
        assert find_violations(page) == []
        page.get_by_label("Code").fill(code)
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("button", name="Allow").wait_for()
        assert find_violations(page) == []
        page.get_by_role("button", name="Allow").click()
        page.get_by_role("heading", name="Access allowed").wait_for()
        assert find_violations(page) == []


class FullDocument:
    """A document with all feedback enabled, hotspots, and viewer settings that a test can change."""

    def __init__(self, server: ServerProcess) -> None:
        self.proof = FeedbackDocument(server)
        self.proof.add_hotspot(link="https://film.example/", label="See the film")
        self.proof.add_hotspot(audio=self.proof.upload_sound(), label="Listen", rect="0.5,0.5,0.2,0.1")
        self.sheet = StyledDocument(server, self.proof.url)

    def apply_looks(self, mode: str, **blocks: object) -> str:
        """Apply mode and viewer settings and return the share URL."""
        soon = (datetime.now(UTC) + timedelta(hours=5)).isoformat()
        settings = ALL_FEEDBACK_SETTINGS | {"viewerMode": mode, "allowDownload": True, "deleteAt": soon}
        self.sheet.apply_looks(settings, **blocks)
        return self.proof.url

    def corner_settings(self) -> dict[str, object]:
        """Return viewer settings with a logo that has a link, and a call to action."""
        logo = {"assetId": self.sheet.logo, "linkUrl": "https://acme.example/"}
        return {"logo": logo, "cta": {"label": "Book a meeting", "url": "https://acme.example/"}}


@pytest.fixture(scope="module")
def full_document(server: ServerProcess) -> FullDocument:
    return FullDocument(server)


@pytest.mark.parametrize("options", WINDOWS, ids=NAMES)
@pytest.mark.parametrize("mode", MODES)
def test_each_mode_with_all_features_and_open_panels_has_no_violation(
    browser: Browser, full_document: FullDocument, mode: str, options: dict[str, object]
) -> None:
    url = full_document.apply_looks(mode, **full_document.corner_settings())
    with visitor(browser, **options) as person:
        page = person.open(url)
        page.locator(".hotspot").first.wait_for()
        assert find_violations(page) == []
        leave_everything(page)
        assert find_violations(page) == []
        for opener, panel in (("#notes-open", "#notes"), ("#receipt-open", "#receipt")):
            page.locator(opener).click()
            page.locator(panel).wait_for()
            assert find_violations(page) == [], panel
            page.keyboard.press("Escape")
            page.locator(panel).wait_for(state="hidden")
        page.keyboard.press("f")
        assert find_violations(page) == []


@pytest.mark.parametrize("mode", MODES)
def test_everything_in_the_viewer_is_in_a_landmark_with_a_name_of_its_own(
    browser: Browser, full_document: FullDocument, mode: str
) -> None:
    url = full_document.apply_looks(mode, **full_document.corner_settings())
    with visitor(browser) as person:
        page = person.open(url)
        page.locator(".hotspot").first.wait_for()
        assert find_violations(page) == []
        page.locator("#notes-open").click()
        page.locator("#notes").wait_for()
        assert find_violations(page) == []


def leave_everything(page: Page) -> None:
    """Leave a note, a mark and an annotation, whose form stays open."""
    send_note(page, "Where are the figures?")
    page.locator(".note").wait_for()
    page.locator("#notes-close").click()
    page.locator(".verdicts button").first.click()
    page.locator("#annotate").click()
    page.locator("#annotate-page").click()
    page.keyboard.press("Enter")
    page.locator("#annotation-form").wait_for()
    assert find_violations(page) == []
    page.locator("#annotation-note").fill("Larger, please.")
    page.get_by_role("button", name="Save").click()
    page.locator(".annotation").wait_for()


@pytest.mark.parametrize("options", [{}, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("look", ["gradient", "image", "color", "themes", "bar"])
def test_each_look_has_no_violation(
    browser: Browser, full_document: FullDocument, look: str, options: dict[str, object]
) -> None:
    cta = {"label": "Book a meeting", "url": "https://acme.example/"}
    blocks: dict[str, object] = {
        "gradient": {"background": {"type": "gradient", "preset": "forest"}},
        "image": {"background": {"type": "image", "assetId": full_document.sheet.picture}},
        "color": {"background": {"color": "#777777"}, "brand": {"accentColor": "#ffee00"}, "cta": cta},
        "themes": {"brand": {"toolbarTheme": "light" if options else "dark"}},
        "bar": {"cta": cta | {"position": "bar", "style": "outline", "color": "#c0ffee"}},
    }[look]
    url = full_document.apply_looks("standard", **full_document.corner_settings() | blocks)
    with visitor(browser, **options) as person:
        page = person.open(url)
        page.locator("#expiry").wait_for()
        assert find_violations(page) == []


PASSWORD, FORM, ADDRESS, VIEW = (
    {"password": "open sesame"},
    {"gateFields": [{"key": "mail", "label": "Work email", "type": "email", "required": True}]},
    {"requireEmail": True},
    {"viewLimit": 3},
)


@pytest.mark.parametrize("gates", [
    (PASSWORD,), (FORM,), (ADDRESS, VIEW), (PASSWORD, VIEW), (PASSWORD, ADDRESS), (PASSWORD, FORM), (FORM, VIEW),
], ids=lambda gates: "-".join(key for gate in gates for key in gate))  # fmt: skip
def test_each_combination_of_gates_has_no_violation(
    browser: Browser, server: ServerProcess, gates: tuple[dict[str, object], ...]
) -> None:
    proof = FeedbackDocument(server, **{key: value for gate in gates for key, value in gate.items()})
    with visitor(browser) as person:
        person.page.goto(proof.url)
        assert find_violations(person.page) == []
        person.page.evaluate("document.querySelector('form.gate').noValidate = true")
        person.page.get_by_role("button", name="Open document").click()
        person.page.locator("[aria-invalid]").first.wait_for()
        assert find_violations(person.page) == []


@pytest.mark.parametrize("options", WINDOWS, ids=NAMES)
def test_pages_of_ended_links_have_no_violation(browser: Browser, world: World, options: dict[str, object]) -> None:
    made = world.pia.upload()
    with serve_world(world) as url, visitor(browser, **options) as person:
        for words, ended in (
            ("has expired", {"delete_at": 1}),
            ("has been used up", {"delete_at": None, "burned_at": 1}),
            ("There is nothing here", {"trashed_at": 1}),
        ):
            update_file_row(world, made["uuid"], **ended)
            person.page.goto(f"{url}/{made['shortId']}")
            person.page.get_by_role("heading", name=words).wait_for()
            assert find_violations(person.page) == []
        for number in range(world.rt.config.address_limit + 1):
            person.page.goto(f"{url}/{number:012d}")
        person.page.get_by_role("heading", name="Too many requests").wait_for()
        assert find_violations(person.page) == []


@pytest.mark.parametrize("read", [False, True], ids=["empty", "read"])
@pytest.mark.parametrize("name", ["fay", "bea", "pia"])
def test_the_report_of_each_plan_has_no_violation(browser: Browser, world: World, name: str, read: bool) -> None:
    person: Person = getattr(world, name)
    made = person.upload()
    if read:
        reader = FakeReader(world, made["shortId"])
        reader.send_next_beacon(input=True)
        reader.read_page(30)
        end_all_sessions(world)
    cookie = sign_in_browser(world, person).get_cookie("docshare_session")
    assert cookie is not None
    with serve_world(world) as url, visitor(browser) as somebody:
        somebody.context.add_cookies([{"name": "docshare_session", "value": cookie.value, "url": url}])
        somebody.page.goto(f"{url}/readership/{made['uuid']}")
        somebody.page.locator("#report").wait_for()
        assert find_violations(somebody.page) == []
