"""Navigation: keys, page field, zoom, touch."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import ShareDocument
from tests.support.browsers.browser import PHONE, Visitor, current_page_number, visitor, wait_for_page
from tests.support.browsers.paged_viewer import press_while_page_down_scrolls
from tests.support.documents.pdfs import A4, simple_pdf


@pytest.fixture(scope="module")
def report(share: ShareDocument) -> str:
    return share(simple_pdf(pages=12, size=A4), "Annual report.pdf")


def get_page_width(page: Page, number: int = 1) -> float:
    box = page.locator(f".page[data-page='{number}']").bounding_box()
    assert box is not None
    return float(box["width"])


def wait_for_width(page: Page, wanted: float) -> None:
    page.wait_for_function(
        "wanted => Math.abs(document.querySelector('.page').getBoundingClientRect().width - wanted) < 2", arg=wanted
    )


@pytest.mark.parametrize(
    ("keys", "page_number"),
    [
        (["ArrowRight"], 2),
        (["ArrowRight", "ArrowRight", "ArrowLeft"], 2),
        (["End"], 12),
        (["End", "Home"], 1),
        (["g", "7", "Enter"], 7),
        (["g", "9", "9", "Enter"], 12),
        (["g", "5", "Escape"], 1),
        (["ArrowLeft"], 1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_keys_navigate_to_pages(desktop_visitor: Visitor, report: str, keys: list[str], page_number: int) -> None:
    page = desktop_visitor.open(report)
    for key in keys:
        page.keyboard.press(key)
    wait_for_page(page, page_number)


def test_scrolling_keys_work_without_a_click(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    page.keyboard.press("PageDown")
    page.wait_for_function("() => scrollY > 400")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("PageUp")
    page.wait_for_function("() => scrollY < 300")


def test_going_to_a_page_ends_the_scrolling_of_a_key(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    press_while_page_down_scrolls(page, "Home")
    assert page.evaluate("scrollY") == 0


def test_shortcut_keys_are_inactive_in_text_fields(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    page.keyboard.press("f")
    page.keyboard.type("g+0f?")
    assert page.locator("#find-words").input_value() == "g+0f?"
    assert current_page_number(page) == 1


def test_buttons_turn_pages_and_are_disabled_at_the_ends(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    assert page.get_by_role("button", name="Previous page").is_disabled()
    page.get_by_role("button", name="Next page").click()
    wait_for_page(page, 2)
    page.keyboard.press("End")
    wait_for_page(page, 12)
    assert page.get_by_role("button", name="Next page").is_disabled()


def test_the_url_can_name_a_page(desktop_visitor: Visitor, report: str) -> None:
    wait_for_page(desktop_visitor.open(f"{report}#page=9"), 9)


def test_help_lists_the_keys(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    page.keyboard.press("?")
    assert page.get_by_role("dialog", name="Keyboard").is_visible()
    page.keyboard.press("Escape")
    assert page.get_by_role("dialog", name="Keyboard").is_hidden()


def test_plus_and_minus_change_the_zoom_and_zero_resets_it(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    assert get_page_width(page) == 960  # 121 % of an A4 page
    page.keyboard.press("+")
    wait_for_width(page, 595 * 4 / 3 * 1.25)
    assert page.locator("#zoom-level").input_value() == "125"
    page.keyboard.press("-")
    wait_for_width(page, 595 * 4 / 3 * 1.1)
    page.keyboard.press("0")
    wait_for_width(page, 960)


@pytest.mark.parametrize(
    ("choice", "wanted"), [("width", 1440 - 48), ("page", (900 - 56 - 40) * 595 / 842), ("400", 595 * 4 / 3 * 4)]
)
def test_the_zoom_list_sets_the_page_width(desktop_visitor: Visitor, report: str, choice: str, wanted: float) -> None:
    page = desktop_visitor.open(report)
    page.locator("#zoom-level").select_option(choice)
    wait_for_width(page, wanted)


def test_zoom_is_limited_to_400_percent(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    for _ in range(20):
        page.keyboard.press("+")
    wait_for_width(page, 595 * 4 / 3 * 4)


def test_ctrl_and_wheel_zoom_around_the_pointer(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    page.keyboard.press("ArrowRight")
    wait_for_page(page, 2)
    page.locator("#zoom-level").select_option("200")
    spot = "() => { const box = document.querySelector('.page[data-page=\"2\"]').getBoundingClientRect();"
    spot += " return [(600 - box.x) / box.width, (500 - box.y) / box.height]; }"
    before = page.evaluate(spot)
    page.mouse.move(600, 500)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -120)
    page.mouse.wheel(0, -120)
    page.keyboard.up("Control")
    page.wait_for_function("() => document.querySelector('.page').getBoundingClientRect().width > 2000")
    assert page.evaluate(spot) == pytest.approx(before, abs=0.005)
    assert page.evaluate("window.visualViewport.scale") == 1


def test_zooming_preserves_the_current_page(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(f"{report}#page=6")
    wait_for_page(page, 6)
    for key in "++++----0":
        page.keyboard.press(key)
        page.wait_for_timeout(30)
        assert current_page_number(page) == 6, key


def test_narrowing_the_window_preserves_the_position(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(f"{report}#page=6")
    wait_for_page(page, 6)
    page.set_viewport_size({"width": 700, "height": 900})
    wait_for_width(page, 700 - 16)
    wait_for_page(page, 6)


def test_two_fingers_zoom_the_page_and_not_the_toolbar(browser: Browser, report: str) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "user_agent": PHONE, "has_touch": True, "is_mobile": True}
    with visitor(browser, **phone) as person:
        page = person.open(report)
        fingers = person.context.new_cdp_session(page)

        def touch(kind: str, *points: tuple[int, int]) -> None:
            touches = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
            fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

        touch("touchStart", (170, 400), (220, 400))
        for spread in (40, 60, 80):
            touch("touchMove", (195 - spread, 400), (195 + spread, 400))
        touch("touchEnd")
        page.wait_for_function("() => document.querySelector('.page').getBoundingClientRect().width > 600")
        assert page.evaluate("visualViewport.scale") == 1
        bar = page.locator(".bar").bounding_box()
        assert bar is not None
        assert bar["width"] == 390


def test_the_first_tab_stop_skips_the_toolbar(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the document"
    page.keyboard.press("Enter")
    expect(page.locator("#pages")).to_be_focused()


def test_the_address_follows_the_page_of_the_toolbar(desktop_visitor: Visitor, report: str) -> None:
    page = desktop_visitor.open(report)
    page.keyboard.press("ArrowRight")
    page.wait_for_url(f"{report}#page=2")
    page.keyboard.press("End")
    wait_for_page(page, 12)
    page.wait_for_url(f"{report}#page=12")
    page.keyboard.press("Home")
    page.wait_for_url(f"{report}#page=1")
    page.go_back()
    assert page.url == "about:blank", "turning pages adds nothing to the history"


def test_a_copied_address_opens_the_page(browser: Browser, report: str) -> None:
    with visitor(browser) as reader, visitor(browser) as friend:
        page = reader.open(report)
        page.wait_for_timeout(400)
        assert page.url == report, "nobody has left the first page"
        page.keyboard.press("g")
        page.keyboard.type("7\n")
        page.wait_for_url(f"{report}#page=7")
        wait_for_page(friend.open(page.url), 7)
