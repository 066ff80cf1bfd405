"""The owner's pages of a file in a real browser, and their effect on the share page."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from docshare.server.services.files import hotspots
from tests.contract.settings_table import FORM
from tests.support.browsers.axe import find_violations
from tests.support.browsers.browser import PHONE, is_within_window, press_to_copy, save_screenshot, visitor
from tests.support.documents.images import make_mp3_frame, make_picture
from tests.support.documents.pdfs import A4, simple_pdf
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.cast import World
from tests.support.servers.in_process_server import serve_world

COOKIE = "docshare_session"
HANDHELD = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "user_agent": PHONE}
NAMES = ("overview", "settings", "looks", "links", "link", "invites", "hotspots", "assets", "replace")
HOTSPOT_BOX = """() => {
  const [spot, paper] = [".hotspot", ".page"].map((name) => document.querySelector(name).getBoundingClientRect());
  return [(spot.x - paper.x) / paper.width, (spot.y - paper.y) / paper.height, spot.width / paper.width,
    spot.height / paper.height];
}"""


@dataclass
class OwnerFilePages:
    """A document of Pia on a server, and her session cookie."""

    world: World
    url: str
    made: dict[str, Any]
    cookie: str

    def page_url(self, tail: str = "") -> str:
        return f"{self.url}/files/{self.made['uuid']}{tail}"

    @contextmanager
    def open_page(self, browser: Browser, tail: str = "", **options: Any) -> Iterator[Page]:
        """Yield a page of the file in the owner's browser; the test fails if the browser reports an error."""
        with visitor(browser, **options) as person:
            person.context.add_cookies([{"name": COOKIE, "value": self.cookie, "url": self.url}])
            person.page.goto(self.page_url(tail))
            yield person.page
            assert person.complaints == []
            assert person.list_origins() == {self.url}

    def page_path(self, name: str) -> str:
        """Return the path of the page ``name``; the page of one link is not in the navigation."""
        if name == "link":
            path = f"/api/v1/files/{self.made['uuid']}/variants"
            return f"/links/{self.world.pia.get(path).get_json()['variants'][0]['uuid']}"
        return "" if name == "overview" else f"/{name}"


@pytest.fixture
def owner_file_pages(world: World) -> Iterator[OwnerFilePages]:
    """Yield a document of three pages with one of everything that an owner can add."""
    made = world.pia.upload(simple_pdf(pages=3, size=A4), name="Series A deck.pdf")
    path = f"/api/v1/files/{made['uuid']}"
    for label in ("Northwind", "Ann Lee"):
        assert world.pia.post(f"{path}/variants", json={"label": label}).status_code == 201
    assert world.pia.post(f"{path}/invites", json={"email": "ann@example.com", "mail": False}).status_code == 201
    for kind, content in (("logo", make_picture()), ("hotspot-audio", make_mp3_frame() * 400)):
        sent = {"kind": kind, "file": (io.BytesIO(content), "file")}
        assert world.pia.post(f"{path}/assets", data=sent).status_code == 200
    hotspots.add(world.rt, made["uuid"], {"page": "2", "rect": "0.1,0.1,0.3,0.1", "link": "https://film.example/one"})
    put_settings(world, made, gateFields=FORM, slug="series-a")
    cookie = sign_in_browser(world, world.pia).get_cookie(COOKIE)
    assert cookie is not None
    with serve_world(world) as url:
        yield OwnerFilePages(world, url, made, cookie.value)


def wait_for_images(page: Page) -> None:
    """Wait until every image is loaded."""
    page.evaluate("Promise.all([...document.images].map((image) => image.decode()))")


@pytest.mark.parametrize(
    ("size", "window"),
    [({}, "desktop"), (HANDHELD, "phone"), ({"color_scheme": "dark"}, "dark")],
    ids=lambda it: str(it),
)
def test_every_page_fits_the_window_and_has_no_violation(
    browser: Browser, owner_file_pages: OwnerFilePages, size: dict[str, Any], window: str
) -> None:
    with owner_file_pages.open_page(browser, **size) as page:
        found = {}
        for name in NAMES:
            page.goto(owner_file_pages.page_url(owner_file_pages.page_path(name)))
            wait_for_images(page)
            save_screenshot(page, f"{name}-{window}")
            found[name] = (is_within_window(page), find_violations(page))
        assert found == dict.fromkeys(NAMES, (True, []))


def test_a_drawn_hotspot_has_the_same_position_on_the_share_page(
    browser: Browser, owner_file_pages: OwnerFilePages
) -> None:
    with owner_file_pages.open_page(browser, "/hotspots") as page:
        wait_for_images(page)
        box = page.locator("#canvas").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + box["height"] * 0.3)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.4, steps=4)
        page.mouse.up()
        page.get_by_label("Link URL").fill("https://film.example/two")
        page.get_by_label("Label").fill("See the film")
        page.get_by_role("button", name="Add the hotspot").click()
        expect(page.get_by_role("status")).to_have_text("'See the film' is on page 1.")
        expect(page.locator(".canvas .spot")).to_have_count(1)
        page.goto(f"{owner_file_pages.url}/{owner_file_pages.made['shortId']}")
        expect(page.get_by_role("link", name="See the film")).to_be_visible()
        assert page.evaluate(HOTSPOT_BOX) == pytest.approx([0.2, 0.3, 0.4, 0.1], abs=0.005)


def test_a_hotspot_can_be_drawn_with_the_keyboard(browser: Browser, owner_file_pages: OwnerFilePages) -> None:
    with owner_file_pages.open_page(browser, "/hotspots") as page:
        page.locator("#canvas").focus()
        for key in ("ArrowLeft", "ArrowLeft", "ArrowDown", "Shift+ArrowRight", "Shift+ArrowUp"):
            page.keyboard.press(key)
        numbers = [page.locator(f"#{side}").input_value() for side in ("x", "y", "width", "height")]
        assert numbers == ["39", "46", "21", "9"]
        assert [page.locator("#draft").get_attribute(side) for side in ("x", "y", "width", "height")] == numbers


def test_a_click_without_dragging_draws_nothing(browser: Browser, owner_file_pages: OwnerFilePages) -> None:
    with owner_file_pages.open_page(browser, "/hotspots") as page:
        wait_for_images(page)
        page.locator("#canvas").click(position={"x": 50, "y": 50})
        assert page.locator("#x").input_value() == ""


def test_a_hotspot_can_be_drawn_by_touch(browser: Browser, owner_file_pages: OwnerFilePages) -> None:
    with owner_file_pages.open_page(browser, "/hotspots", **HANDHELD) as page:
        wait_for_images(page)
        page.locator("#canvas").scroll_into_view_if_needed()
        box = page.locator("#canvas").bounding_box()
        assert box is not None
        finger = page.context.new_cdp_session(page)
        for kind, share in (("touchStart", 0.25), ("touchMove", 0.5), ("touchEnd", None)):
            point = {"x": box["x"] + box["width"] * (share or 0), "y": box["y"] + box["height"] * (share or 0)}
            finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point] if share else []})
        drawn = [float(page.locator(f"#{side}").input_value()) for side in ("x", "y", "width", "height")]
        assert drawn == pytest.approx([25, 25, 25, 25], abs=1)


def test_changes_in_the_forms_appear_on_the_share_page(browser: Browser, owner_file_pages: OwnerFilePages) -> None:
    with owner_file_pages.open_page(browser, "/looks") as page:
        page.get_by_label("Button label").fill("Book a call")
        page.locator("[name='viewerSettings.cta.url']").fill("https://film.example/call")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("status").first).to_have_text("Saved.")
        page.goto(owner_file_pages.page_url("/settings"))
        page.get_by_text("Permissions of readers").click()
        page.get_by_label("Readers may download the PDF").uncheck()
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("status").first).to_have_text("Saved.")
        page.goto(f"{owner_file_pages.url}/{owner_file_pages.made['shortId']}")
        expect(page.get_by_role("link", name="Book a call")).to_be_visible()
        expect(page.get_by_role("link", name="Download")).to_have_count(0)


def test_form_rows_are_shown_one_by_one(browser: Browser, owner_file_pages: OwnerFilePages) -> None:
    with owner_file_pages.open_page(browser, "/settings") as page:
        rows = page.locator("[data-row]:visible")
        expect(rows).to_have_count(2)
        for count in (3, 4, 5):
            page.get_by_role("button", name="Add a question").click()
            expect(rows).to_have_count(count)
        expect(page.get_by_role("button", name="Add a question")).to_have_count(0)


def test_an_image_can_be_uploaded_and_used(browser: Browser, owner_file_pages: OwnerFilePages) -> None:
    with owner_file_pages.open_page(browser, "/assets") as page:
        page.get_by_label("Use as").select_option("background")
        page.get_by_label("File", exact=True).set_input_files(
            {"name": "sea.png", "mimeType": "image/png", "buffer": make_picture()}
        )
        page.get_by_role("button", name="Upload").click()
        expect(page.get_by_role("status").first).to_have_text("The file was uploaded.")
        page.get_by_role("button", name="Use as the background").click()
        expect(page.get_by_role("status").first).to_have_text("Readers see it from now on.")
        expect(page.get_by_text("in use")).to_have_count(1)
    looks = owner_file_pages.world.pia.get(f"/api/v1/files/{owner_file_pages.made['uuid']}").get_json()[
        "viewerSettings"
    ]
    assert looks["background"]["type"] == "image"


def test_a_rejected_upload_shows_an_error(browser: Browser, owner_file_pages: OwnerFilePages) -> None:
    with visitor(browser) as person:
        person.context.add_cookies([{"name": COOKIE, "value": owner_file_pages.cookie, "url": owner_file_pages.url}])
        page = person.page
        page.goto(owner_file_pages.page_url("/replace"))
        page.locator("#file").set_input_files({"name": "a.pdf", "mimeType": "application/pdf", "buffer": b"no PDF"})
        page.get_by_role("button", name="Replace the document").click()
        expect(page.get_by_role("alert")).not_to_be_empty()
        expect(page.locator("#file")).to_be_focused()
        expect(page.locator("#file")).to_have_attribute("aria-invalid", "true")
        expect(page.locator("#file")).to_have_accessible_description(page.get_by_role("alert").inner_text())
        expect(page.get_by_role("button", name="Replace the document")).to_be_enabled()


@pytest.mark.parametrize(
    ("path", "action"), [("/replace", "Replace the document"), ("/assets", "Upload")], ids=["replace", "assets"]
)
def test_an_upload_after_the_session_ended_says_that_the_file_is_not_kept(
    browser: Browser, owner_file_pages: OwnerFilePages, path: str, action: str
) -> None:
    with visitor(browser) as person:
        person.context.add_cookies([{"name": COOKIE, "value": owner_file_pages.cookie, "url": owner_file_pages.url}])
        page = person.page
        page.goto(owner_file_pages.page_url(path))
        page.locator("#file").set_input_files({"name": "a.pdf", "mimeType": "application/pdf", "buffer": simple_pdf()})
        page.context.clear_cookies()
        page.get_by_role("button", name=action, exact=True).click()
        expect(page.get_by_role("alert")).to_have_text(
            "You are no longer signed in. Reload this page, sign in, and choose the file again."
        )


@pytest.mark.parametrize(("choice", "left"), [("Remove them", 0), ("Keep them", 1)])
def test_the_document_can_be_replaced_behind_its_link(
    browser: Browser, owner_file_pages: OwnerFilePages, choice: str, left: int
) -> None:
    with owner_file_pages.open_page(browser, "/replace") as page:
        expect(page.locator(".note").filter(has_text="1 hotspot.")).to_be_visible()
        page.get_by_label(choice).check()
        new = {"name": "New deck.pdf", "mimeType": "application/pdf", "buffer": simple_pdf(pages=4, size=A4)}
        page.locator("#file").set_input_files(new)
        page.get_by_role("button", name="Replace the document").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("New deck.pdf")
        expect(page.get_by_role("status").first).to_have_text("The document was replaced; its link stays the same.")
        expect(page.locator("tbody tr")).to_have_count(2)
    assert len(hotspots.list_hotspots(owner_file_pages.world.rt, owner_file_pages.made["uuid"])) == left


def test_the_link_can_be_copied(browser: Browser, owner_file_pages: OwnerFilePages) -> None:
    with owner_file_pages.open_page(browser, permissions=["clipboard-read", "clipboard-write"]) as page:
        assert press_to_copy(page.get_by_role("button", name="Copy link")).endswith("/series-a")


def test_the_forms_work_without_scripts(browser: Browser, owner_file_pages: OwnerFilePages) -> None:
    with owner_file_pages.open_page(browser, "/settings", java_script_enabled=False) as page:
        expect(page.locator("[data-row]:visible")).to_have_count(5)
        page.get_by_label("Custom link").fill("other-name")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("status")).to_have_text("Saved.")
        page.goto(owner_file_pages.page_url("/hotspots"))
        for side, share in {"From the left": "10", "From the top": "20", "Width": "30", "Height": "40"}.items():
            page.get_by_label(side).fill(share)
        page.get_by_label("Link URL").fill("https://film.example/three")
        page.get_by_role("button", name="Add the hotspot").click()
        expect(page.get_by_role("status")).to_have_text("'film.example' is on page 1.")


def is_inside(page: Page, selector: str, frame: str) -> bool:
    """Return whether the element is completely inside its container, which may scroll horizontally."""
    within: bool = page.evaluate(
        """([selector, frame]) => {
          const [it, around] = [selector, frame].map((name) => document.querySelector(name).getBoundingClientRect());
          return around.left <= it.left && it.right <= around.right;
        }""",
        [selector, frame],
    )
    return within


def test_on_a_phone_the_tabs_are_one_row_that_shows_the_current_one(
    browser: Browser, owner_file_pages: OwnerFilePages
) -> None:
    with owner_file_pages.open_page(browser, "/replace", **HANDHELD) as page:
        tops = page.locator(".file-tabs a").evaluate_all("all => new Set(all.map((it) => it.offsetTop)).size")
        assert tops == 1
        assert is_inside(page, ".file-tabs [aria-current]", ".file-tabs")


def test_on_a_phone_the_table_of_versions_is_complete(browser: Browser, owner_file_pages: OwnerFilePages) -> None:
    with owner_file_pages.open_page(browser, **HANDHELD) as page:
        assert is_inside(page, ".scroll th:last-child", ".scroll")


def list_all_violations(page: Page) -> list[str]:
    """Return every violation that axe-core reports, whatever its impact."""
    assert find_violations(page) == []
    found: list[str] = page.evaluate("async () => (await axe.run(document)).violations.map((rule) => rule.id)")
    return found


@pytest.mark.parametrize("size", [{}, HANDHELD, {"color_scheme": "dark"}, {"forced_colors": "active"}], ids=str)
def test_the_settings_and_a_rejected_form_have_no_violation(
    browser: Browser, owner_file_pages: OwnerFilePages, size: dict[str, Any]
) -> None:
    """The first invalid control has the focus and is within the window; closed groups are checked unfolded too."""
    with visitor(browser, **size) as person:
        person.context.add_cookies([{"name": COOKIE, "value": owner_file_pages.cookie, "url": owner_file_pages.url}])
        page = person.page
        page.goto(owner_file_pages.page_url("/settings"))
        assert list_all_violations(page) == []
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert (list_all_violations(page), is_within_window(page)) == ([], True)
        page.get_by_label("Custom link").fill("Not a name")
        page.get_by_label("Readers may leave notes").check()
        page.get_by_label("Password", exact=True).fill("open sesame")
        page.get_by_label("Only these email domains").fill("nowhere")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_label("Only these email domains")).to_be_focused()
        expect(page.get_by_label("Only these email domains")).to_be_in_viewport()
        expect(page.get_by_label("Only these email domains")).to_have_accessible_description(
            "It must be a bare domain such as example.com. One per line, such as example.com. Empty: all."
        )
        expect(page.get_by_label("Custom link")).to_have_value("Not a name")
        expect(page.get_by_label("Readers may leave notes")).to_be_checked()
        expect(page).to_have_title("Error: Series A deck.pdf")
        assert (list_all_violations(page), is_within_window(page)) == ([], True)
        page.get_by_role("link", name="Custom link").click()
        expect(page.get_by_label("Custom link")).to_be_focused()


@pytest.mark.parametrize("size", [{}, HANDHELD], ids=["desktop", "phone"])
def test_every_rejected_form_focuses_its_first_error_and_has_no_violation(
    browser: Browser, owner_file_pages: OwnerFilePages, size: dict[str, Any]
) -> None:
    """The browser does not check the values, as for a value that only the server can judge."""
    forms = (
        (owner_file_pages.page_url("/links"), "labels", "x" * 201, "Create links"),
        (owner_file_pages.page_url("/invites"), "email", "nobody", "Invite"),
        (owner_file_pages.page_url("/hotspots"), "link", "film", "Add the hotspot"),
        (f"{owner_file_pages.url}/webhooks", "url", "nowhere", "Create the webhook"),
        (f"{owner_file_pages.url}/account", "email", "nobody", "Change the email address"),
        (f"{owner_file_pages.url}/account", "password", "short", "Set the password"),
    )
    with visitor(browser, **size) as person:
        person.context.add_cookies([{"name": COOKIE, "value": owner_file_pages.cookie, "url": owner_file_pages.url}])
        page = person.page
        for address, control, value, button in forms:
            page.goto(address)
            page.evaluate("for (const form of document.forms) form.noValidate = true")
            page.evaluate(
                "for (const side of ['x', 'y', 'width', 'height']) "
                "if (document.getElementById(side)) document.getElementById(side).value = 10"
            )
            if control == "url":
                page.get_by_label("file.viewed").check()
            page.locator(f"#{control}").fill(value)
            page.get_by_role("button", name=button, exact=True).click()
            expect(page).to_have_title(re.compile("^Error: "))
            expect(page.locator(f"#{control}")).to_be_focused()
            expect(page.locator(f"#{control}")).to_have_attribute("aria-invalid", "true")
            assert (list_all_violations(page), is_within_window(page)) == ([], True), address
