"""The flipbook: spreads, reading direction, and the animation of the turning leaf."""

import pytest
from playwright.sync_api import Browser, Page

from tests.support.browsers.browser import (
    RequestGate,
    Visitor,
    intercept_requests,
    stop_clock,
    visitor,
    wait_for_page,
)
from tests.support.browsers.paged_viewer import (
    PublishInMode,
    list_motions,
    page_box,
    record_motion,
    visible_pages,
    wait_for_rest,
)
from tests.support.documents.pdfs import A4, simple_pdf

SLIDES = (960.0, 540.0)
SLOW = {"speedMs": 1200}


@pytest.fixture(scope="module")
def flipbook_url(publish: PublishInMode) -> str:
    """Return the URL of seven pages that turn slowly."""
    return publish(simple_pdf(pages=7, size=A4), "flipbook", flip=SLOW)


@pytest.fixture(scope="module")
def rtl_flipbook_url(publish: PublishInMode) -> str:
    """Return the URL of seven pages from right to left."""
    return publish(simple_pdf(pages=7, size=A4), "flipbook", flip={"rtl": True})


def list_spreads(page: Page) -> list[list[int]]:
    """Turn from the first page to the last and return the visible pages at each step."""
    seen = [visible_pages(page)]
    while page.get_by_role("button", name="Next page").is_enabled():
        page.get_by_role("button", name="Next page").click()
        seen.append(visible_pages(page))
    return seen


def wait_for_images(page: Page, *numbers: int) -> None:
    """Wait until the pages ``numbers`` are loaded: only then does a leaf turn from them, or to them."""
    for number in numbers:
        page.locator(f".page[data-page='{number}'].is-ready").wait_for(state="attached")


PAIRS = [[1], [2, 3], [4, 5], [6, 7]]
SINGLES = [[1], [2], [3], [4], [5], [6], [7]]


@pytest.mark.parametrize(
    ("layout", "window", "expected"),
    [
        ("adaptive", (1280, 800), PAIRS),
        ("adaptive", (820, 1180), SINGLES),
        ("adaptive", (590, 400), SINGLES),
        ("double", (820, 1180), PAIRS),
        ("double", (390, 844), SINGLES),
        ("single", (1280, 800), SINGLES),
    ],
)
def test_the_layout_setting_determines_the_spreads(
    browser: Browser, publish: PublishInMode, layout: str, window: tuple[int, int], expected: list[list[int]]
) -> None:
    url = publish(simple_pdf(pages=7, size=A4), "flipbook", flip={"layout": layout})
    with visitor(browser, viewport={"width": window[0], "height": window[1]}) as person:
        assert list_spreads(person.open(url)) == expected
        assert person.complaints == []


def test_the_toolbar_shows_both_numbers_of_a_spread(desktop_visitor: Visitor, flipbook_url: str) -> None:
    page = desktop_visitor.open(flipbook_url)
    number = page.get_by_role("textbox", name="Page")
    seen = [number.input_value()]
    width = number.bounding_box()
    for _ in range(3):
        page.get_by_role("button", name="Next page").click()
        seen.append(number.input_value())
    assert seen == ["1", "2-3", "4-5", "6-7"]
    assert number.evaluate("field => field.scrollWidth <= field.clientWidth"), "the field is wide enough"
    assert number.bounding_box() == width, "nothing in the toolbar moves"
    number.fill("4-5")
    number.press("Enter")
    assert visible_pages(page) == [4, 5]
    assert number.input_value() == "4-5"


def test_slides_that_would_become_small_are_shown_one_at_a_time(
    desktop_visitor: Visitor, publish: PublishInMode
) -> None:
    page = desktop_visitor.open(publish(simple_pdf(pages=3, size=SLIDES), "flipbook"))
    assert list_spreads(page) == [[1], [2], [3]]


def test_without_a_separate_cover_the_first_two_pages_are_a_spread(
    desktop_visitor: Visitor, publish: PublishInMode
) -> None:
    page = desktop_visitor.open(publish(simple_pdf(pages=5, size=A4), "flipbook", page={"coverAlone": False}))
    assert list_spreads(page) == [[1, 2], [3, 4], [5]]
    page.keyboard.press("g")
    page.keyboard.type("2")
    page.keyboard.press("Enter")
    assert page.get_by_role("button", name="Previous page").is_disabled()


def test_a_spread_is_centered_in_the_window(desktop_visitor: Visitor, flipbook_url: str) -> None:
    page = desktop_visitor.open(f"{flipbook_url}#page=2")
    wait_for_rest(page)
    left, right = page_box(page, 2), page_box(page, 3)
    assert left["x"] + left["width"] == pytest.approx(720, abs=1)
    assert right["x"] == pytest.approx(720, abs=1)
    assert left["y"] == right["y"]
    assert left["height"] == pytest.approx(900 - 56 - 44, abs=2)


def test_a_single_cover_is_centered(desktop_visitor: Visitor, flipbook_url: str) -> None:
    page = desktop_visitor.open(flipbook_url)
    cover = page_box(page, 1)
    assert cover["x"] + cover["width"] / 2 == pytest.approx(720, abs=1)


def test_in_right_to_left_order_the_lower_page_is_on_the_right(desktop_visitor: Visitor, rtl_flipbook_url: str) -> None:
    page = desktop_visitor.open(f"{rtl_flipbook_url}#page=2")
    wait_for_rest(page)
    assert visible_pages(page) == [2, 3]
    assert page_box(page, 3)["x"] < page_box(page, 2)["x"]


def test_in_right_to_left_order_keys_and_buttons_are_reversed(desktop_visitor: Visitor, rtl_flipbook_url: str) -> None:
    page = desktop_visitor.open(rtl_flipbook_url)
    page.keyboard.press("ArrowRight")
    assert visible_pages(page) == [1]
    page.keyboard.press("ArrowLeft")
    wait_for_page(page, 2)
    page.locator(".side-left").click()
    wait_for_page(page, 4)
    page.keyboard.press("ArrowRight")
    wait_for_page(page, 2)
    page.keyboard.press("PageDown")
    wait_for_page(page, 4)
    on = page.get_by_role("button", name="Next page").bounding_box()
    back = page.get_by_role("button", name="Previous page").bounding_box()
    assert on is not None
    assert back is not None
    assert on["x"] < back["x"]
    page.keyboard.press("?")
    assert page.locator("#help dd").first.inner_text().split() == ["←", "→"]


def get_leaf_edges(page: Page) -> dict[str, float] | None:
    """Return the position of the free edge of the turning leaf, if any: its outermost points in the window."""
    found = page.evaluate(
        """() => {
          const front = document.querySelector(".leaf > .face:not(.is-back)")?.getBoundingClientRect();
          return front ? { left: front.left, right: front.right } : null;
        }"""
    )
    return dict(found) if found else None


@pytest.mark.parametrize(("rtl", "key"), [(False, "ArrowRight"), (True, "ArrowLeft")])
def test_the_leaf_turns_around_the_spine_and_is_then_removed(
    browser: Browser, publish: PublishInMode, rtl: bool, key: str
) -> None:
    url = publish(simple_pdf(pages=7, size=A4), "flipbook", flip={**SLOW, "rtl": rtl})
    with visitor(browser) as person:
        person.page.clock.install()
        page = person.open(f"{url}#page=2")
        wait_for_images(page, 2, 3, 4, 5)
        stop_clock(page)
        assert get_leaf_edges(page) is None
        page.keyboard.press(key)
        assert visible_pages(page) == [4, 5], "the page changes immediately; only the animation continues"
        widths = []
        for _ in range(4):
            page.clock.run_for(200)
            here = get_leaf_edges(page)
            assert here is not None
            widths.append(here["right"] - here["left"])
            hinge = here["left"] if not rtl else here["right"]
            if len(widths) <= 2:
                assert hinge == pytest.approx(720, abs=2)
        assert widths[0] > widths[1]
        page.clock.run_for(600)
        assert get_leaf_edges(page) is None
        assert page.locator(".pages.is-turning").count() == 0
        assert person.complaints == []


@pytest.mark.parametrize("speed", [200, 1200])
def test_a_turn_takes_the_configured_time(browser: Browser, publish: PublishInMode, speed: int) -> None:
    with visitor(browser) as person:
        person.page.clock.install()
        page = person.open(publish(simple_pdf(pages=5, size=A4), "flipbook", flip={"speedMs": speed}))
        wait_for_images(page, 1, 2, 3)
        stop_clock(page)
        page.keyboard.press("ArrowRight")
        page.clock.run_for(speed - 100)
        assert get_leaf_edges(page) is not None
        page.clock.run_for(200)
        assert get_leaf_edges(page) is None


def test_the_leaf_is_hidden_from_screen_readers_and_has_no_text(clock_visitor: Visitor, flipbook_url: str) -> None:
    page = clock_visitor.open(f"{flipbook_url}#page=2")
    page.locator(".page[data-page='2'] .page-text").wait_for(state="attached")
    page.locator(".page[data-page='4'] .page-text").wait_for(state="attached")
    wait_for_images(page, 2, 3, 4, 5)
    stop_clock(page)  # the leaf would be removed after the turn
    page.keyboard.press("ArrowRight")
    scene = page.locator(".book-scene")
    assert scene.get_attribute("aria-hidden") == "true"
    assert scene.locator(".page").count() == 4
    assert scene.locator(".page-text, .page-links, [data-page], [id]").count() == 0


def test_a_leaf_of_single_pages_is_not_blank_on_its_back(clock_visitor: Visitor, publish: PublishInMode) -> None:
    url = publish(simple_pdf(pages=4, size=A4), "flipbook", flip={**SLOW, "layout": "single"})
    page = clock_visitor.open(url)
    wait_for_images(page, 1, 2)
    stop_clock(page)
    page.keyboard.press("ArrowRight")
    back = page.locator(".face.is-back .page-image")
    assert back.evaluate("one => one.decoding === 'sync' && one.complete && one.naturalWidth > 0")
    assert "/pages/1-" in str(back.get_attribute("src"))


def test_the_leaf_shows_loaded_images_and_requests_none(clock_visitor: Visitor, flipbook_url: str) -> None:
    page = clock_visitor.open(f"{flipbook_url}#page=2")
    wait_for_images(page, 2, 3, 4, 5)
    page.wait_for_load_state("networkidle")
    stop_clock(page)
    before = [url for url in clock_visitor.requests if ".jpg" in url]
    page.keyboard.press("ArrowRight")
    images = page.locator(".book-scene img")
    assert page.locator(".book-scene .page-image").count() == 4
    assert images.evaluate_all("all => all.every((one) => one.complete && one.naturalWidth > 0)")
    asked = [url for url in clock_visitor.requests if ".jpg" in url]
    assert not [
        url for url in asked[len(before) :] if "/pages/" in url and "/pages/6" not in url and "/pages/7" not in url
    ]


def test_a_dragged_corner_follows_the_pointer_and_turns_the_page_if_dragged_far_enough(
    desktop_visitor: Visitor, flipbook_url: str
) -> None:
    page = desktop_visitor.open(f"{flipbook_url}#page=2")
    wait_for_images(page, 2, 3, 4, 5)
    wait_for_rest(page)
    right = page_box(page, 3)
    start = right["x"] + right["width"] - 10
    page.mouse.move(start, 800)
    page.mouse.down()
    page.mouse.move(start - 200, 780, steps=5)
    here = get_leaf_edges(page)
    assert here is not None
    assert here["right"] == pytest.approx(start - 190, abs=60), "near the pointer, apart from the perspective"
    assert visible_pages(page) == [2, 3]
    page.mouse.move(start - 700, 780, steps=5)
    page.mouse.up()
    wait_for_page(page, 4)
    wait_for_rest(page)
    assert visible_pages(page) == [4, 5]


def test_no_leaf_turns_to_pages_that_are_not_loaded(desktop_visitor: Visitor, flipbook_url: str) -> None:
    page = desktop_visitor.page
    intercept_requests(page)
    gate = RequestGate(page, "**/pages/4-*.jpg*", "**/pages/5-*.jpg*")
    page.goto(f"{flipbook_url}#page=2", wait_until="commit")
    wait_for_images(page, 2, 3)
    record_motion(page)
    right = page_box(page, 3)
    page.mouse.move(right["x"] + right["width"] - 10, 800)
    page.mouse.down()
    page.mouse.move(right["x"] - 500, 780, steps=5)
    page.mouse.up()
    wait_for_page(page, 4)
    page.keyboard.press("ArrowLeft")
    wait_for_page(page, 2)
    assert list_motions(page).count("book-scene") == 0, "neither to them nor back"
    gate.open()
    wait_for_images(page, 4, 5)
    page.wait_for_timeout(200)  # fast consecutive turns are not animated
    page.keyboard.press("ArrowRight")
    wait_for_rest(page)
    assert list_motions(page).count("book-scene") == 1


def test_a_corner_released_early_falls_back(desktop_visitor: Visitor, flipbook_url: str) -> None:
    page = desktop_visitor.open(f"{flipbook_url}#page=2")
    wait_for_rest(page)
    right = page_box(page, 3)
    start = right["x"] + right["width"] - 10
    page.mouse.move(start, 800)
    page.mouse.down()
    page.mouse.move(start - 100, 780, steps=5)
    page.wait_for_timeout(120)
    page.mouse.up()
    wait_for_rest(page)
    assert visible_pages(page) == [2, 3]


def test_the_last_leaf_cannot_be_turned(desktop_visitor: Visitor, flipbook_url: str) -> None:
    page = desktop_visitor.open(f"{flipbook_url}#page=7")
    wait_for_rest(page)
    right = page_box(page, 7)
    page.mouse.move(right["x"] + right["width"] - 10, 800)
    page.mouse.down()
    page.mouse.move(right["x"], 800, steps=5)
    assert get_leaf_edges(page) is None
    page.mouse.up()
    assert visible_pages(page) == [6, 7]


def test_fast_turns_do_not_wait_for_the_animation(desktop_visitor: Visitor, publish: PublishInMode) -> None:
    page = desktop_visitor.open(publish(simple_pdf(pages=40, size=A4), "flipbook", flip=SLOW))
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    assert visible_pages(page) == [20, 21]
    assert page.locator(".book-scene").count() <= 1


def test_a_zoomed_page_turns_without_the_animation(desktop_visitor: Visitor, flipbook_url: str) -> None:
    page = desktop_visitor.open(f"{flipbook_url}#page=2")
    page.locator("#zoom-level").select_option("200")
    page.locator("#zoom-level").blur()
    page.get_by_role("button", name="Next page").click()
    wait_for_page(page, 4)
    assert get_leaf_edges(page) is None


# Calls of the driver count as user activation, so this script reports only real key presses.
COUNT_SOUNDS = """
window.sounds = 0;
let acted = false;
addEventListener("keydown", () => { acted = true; }, { capture: true });
Object.defineProperty(Navigator.prototype, "userActivation", { get: () => ({ hasBeenActive: acted }) });
const start = AudioBufferSourceNode.prototype.start;
AudioBufferSourceNode.prototype.start = function (...when) { window.sounds += 1; return start.apply(this, when); };
"""


@pytest.mark.parametrize("sound", [True, False])
def test_a_turn_makes_a_sound_only_if_enabled_and_after_user_input(
    browser: Browser, publish: PublishInMode, sound: bool
) -> None:
    url = publish(simple_pdf(pages=7, size=A4), "flipbook", flip={"sound": sound})
    with visitor(browser) as person:
        person.page.add_init_script(COUNT_SOUNDS)
        page = person.open(url)
        page.goto(f"{url}#page=4")
        wait_for_page(page, 4)
        assert page.evaluate("window.sounds") == 0, "there was no user input yet"
        page.wait_for_timeout(500)  # fast consecutive turns make no sound
        page.keyboard.press("ArrowRight")
        wait_for_page(page, 6)
        assert page.evaluate("window.sounds") == (1 if sound else 0)
        assert person.complaints == []
