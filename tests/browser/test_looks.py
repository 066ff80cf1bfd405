"""What the owner set of the looks of a document, in a real browser: colours, sizes and places as they are computed."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from docshare.server.rules import colours
from tests.browser.conftest import Share
from tests.support.browsing import PHONE, Visitor, visitor
from tests.support.dressing import Dressed, box, colour, contrast, overlap, style
from tests.support.pdfs import A4, simple_pdf
from tests.support.served import Served

CTA = {"label": "Book a meeting", "url": "https://acme.test/meet"}
PRESETS = ("dusk", "sand", "slate", "forest", "blush", "mono")
WINDOWS = [(1280, 800), (820, 1180), (390, 844), (320, 568)]


@pytest.fixture(scope="module")
def sheet(server: Served, share: Share) -> Dressed:
    return Dressed(server, share(simple_pdf(pages=4, size=A4), "Report.pdf"))


@pytest.fixture
def turned(server: Served, share: Share) -> Dressed:
    """One for a test that changes more than its looks."""
    return Dressed(server, share(simple_pdf(pages=4, size=A4), "Report.pdf"))


def opened(person: Visitor, sheet: Dressed, settings: dict[str, Any] | None = None, **blocks: Any) -> Page:
    sheet.wear(settings, **blocks)
    return person.open(sheet.url)


def small(width: int, height: int) -> dict[str, Any]:
    """A phone's window, where ``width`` is that of one."""
    phone: dict[str, Any] = {"user_agent": PHONE, "has_touch": True, "is_mobile": True} if width < 760 else {}
    return {"viewport": {"width": width, "height": height}} | phone


def test_a_solid_background_is_behind_the_pages(desk: Visitor, sheet: Dressed) -> None:
    page = opened(desk, sheet, background={"color": "#123456"})
    assert style(page, "body", "background-color") == "rgb(18, 52, 86)"
    page = opened(desk, sheet)
    assert style(page, "body", "background-color") == "rgb(241, 240, 238)"


def test_each_gradient_is_drawn_for_light_and_for_dark_readers(browser: Browser, sheet: Dressed) -> None:
    drawn = set()
    for scheme in ("light", "dark"):
        with visitor(browser, color_scheme=scheme) as person:
            for preset in PRESETS:
                page = opened(person, sheet, background={"type": "gradient", "preset": preset})
                drawn.add(style(page, "body", "background-image", "::before"))
                assert style(page, "body", "position", "::before") == "fixed"
            assert person.complaints == []
    assert len(drawn) == 12
    assert all(each.count("gradient(") == 3 for each in drawn)


def test_a_background_image_is_fitted_blurred_and_dimmed(desk: Visitor, sheet: Dressed) -> None:
    image = {"type": "image", "assetId": sheet.picture}
    page = opened(desk, sheet, background=image | {"fit": "contain", "blur": 8, "dim": 40})
    drawn = style(page, "body", "background-image", "::before")
    assert f"/{sheet.name}/assets/{sheet.picture}" in drawn
    assert "rgba(0, 0, 0, 0.4)" in drawn
    assert style(page, "body", "background-size", "::before").endswith("contain")
    assert style(page, "body", "filter", "::before") == "blur(8px)"
    assert any(request.endswith(f"/assets/{sheet.picture}") for request in desk.requests)
    page = opened(desk, sheet, background=image)
    assert style(page, "body", "background-size", "::before") == "cover"
    assert style(page, "body", "filter", "::before") == "none"


def test_pages_have_the_shadow_the_corners_and_the_edges_that_were_set(desk: Visitor, sheet: Dressed) -> None:
    shadows = set()
    for level in (0, 1, 2, 3):
        page = opened(desk, sheet, page={"shadow": level})
        shadows.add(style(page, ".page", "box-shadow"))
    assert len(shadows) == 4
    rounded = []
    for level in (0, 1, 2, 3):
        page = opened(desk, sheet, page={"rounded": level})
        rounded.append(style(page, ".page", "border-top-left-radius"))
    assert rounded == ["0px", "6px", "12px", "20px"]
    page = opened(desk, sheet, page={"edges": True})
    assert style(page, ".page", "box-shadow").count("rgb(251, 250, 248)") == 3
    assert style(page, ".page", "box-shadow").count("rgb(203, 199, 190)") == 3


def test_the_accent_is_that_of_the_brand(desk: Visitor, sheet: Dressed) -> None:
    page = opened(desk, sheet, brand={"accentColor": "#1f6f43"})
    assert style(page, "#progress", "background-color") == "rgb(31, 111, 67)"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert style(page, ":focus-visible", "outline-color") == "rgb(31, 111, 67)"
    assert style(page, "#notice-reload", "background-color") == "rgb(31, 111, 67)"
    assert style(page, "#notice-reload", "color") == "rgb(255, 255, 255)"


@pytest.mark.parametrize("style_of", ["solid", "outline"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_a_button_without_a_colour_has_the_accent_of_the_rest(
    browser: Browser, sheet: Dressed, theme: str, scheme: str, style_of: str
) -> None:
    with visitor(browser, color_scheme=scheme) as person:
        page = opened(person, sheet, brand={"toolbarTheme": theme}, cta=CTA | {"style": style_of})
        accent = style(page, "#progress", "background-color")
        assert style(page, ".cta", "background-color" if style_of == "solid" else "color") == accent
        assert contrast(page, ".cta", ".cta") >= 4.5


@pytest.mark.parametrize(("theme", "scheme", "expected"), [
    ("auto", "light", "rgb(255, 255, 255)"), ("auto", "dark", "rgb(27, 27, 30)"),
    ("light", "dark", "rgb(255, 255, 255)"), ("dark", "light", "rgb(27, 27, 30)"),
])  # fmt: skip
def test_the_toolbar_has_the_theme_that_was_set(
    browser: Browser, sheet: Dressed, theme: str, scheme: str, expected: str
) -> None:
    rooms = {"light": "rgb(241, 240, 238)", "dark": "rgb(19, 19, 21)"}
    with visitor(browser, color_scheme=scheme) as person:
        page = opened(person, sheet, brand={"toolbarTheme": theme})
        assert style(page, ".bar", "background-color") == expected
        assert style(page, "body", "background-color") == rooms[scheme]
        assert contrast(page, ".bar h1", ".bar") >= 7
        assert contrast(page, "#page-number", "#page-number") >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_no_colour_of_the_owner_makes_anything_unreadable(
    browser: Browser, sheet: Dressed, theme: str, scheme: str
) -> None:
    with visitor(browser, color_scheme=scheme) as person:
        for chosen in ("#ffff00", "#777777", "#010101"):
            brand = {"accentColor": chosen, "toolbarTheme": theme}
            cta = CTA | {"color": chosen, "style": "outline"}
            page = opened(person, sheet, background={"color": chosen}, brand=brand, cta=cta)
            for words, ground in ((".bar h1", ".bar"), (".bar-name p", ".bar"), ("#page-number", "#page-number"),
                                  (".cta", ".cta"), (".badge", ".badge"),
                                  ("#notice-reload", "#notice-reload")):  # fmt: skip
                assert contrast(page, words, ground) >= 4.5, (chosen, words)
            line, bar = (style(page, name, "background-color") for name in ("#progress", ".bar"))
            assert colours.contrast(colour(line), colour(bar)) >= 4.5


@pytest.mark.parametrize(("size", "height"), [("s", 24), ("m", 36), ("l", 52), ("xl", 76)])
def test_the_logo_has_the_size_that_was_set(desk: Visitor, sheet: Dressed, size: str, height: int) -> None:
    page = opened(desk, sheet, logo={"assetId": sheet.logo, "size": size})
    left, top, right, bottom = box(page, ".logo")
    assert (bottom - top, right - left) == (height, height * 3)
    assert page.locator(".logo").evaluate("image => image.complete && image.naturalWidth") == 300


def test_the_badge_is_there_unless_it_was_hidden(desk: Visitor, sheet: Dressed) -> None:
    page = opened(desk, sheet)
    assert page.locator(".badge").inner_text() == "docshare"
    assert page.locator(".badge a").count() == 0
    page = opened(desk, sheet, logo={"hideBadge": True})
    assert page.locator(".badge").count() == 0
    assert not page.locator(".bar-mark").is_visible()


@pytest.mark.parametrize(("width", "height"), WINDOWS)
def test_what_shares_a_corner_covers_nothing(browser: Browser, sheet: Dressed, width: int, height: int) -> None:
    with visitor(browser, **small(width, height)) as person:
        for corner in ("tl", "tr", "bl", "br"):
            nothing_is_covered(
                opened(person, sheet, {"deleteAt": soon()}, **crowded(sheet, corner)), corner, width, height
            )
        assert person.complaints == []


def crowded(sheet: Dressed, corner: str) -> dict[str, Any]:
    """Everything that there is in one ``corner``, as large as it can be."""
    return {
        "logo": {"assetId": sheet.logo, "size": "xl", "position": corner},
        "brand": {"badgePosition": corner},
        "cta": CTA | {"label": "Talk to our friendly sales team today", "position": corner},
    }


def nothing_is_covered(page: Page, corner: str, width: int, height: int) -> None:
    """Nothing on ``page`` covers anything else, and all of it is in the window, in its ``corner``."""
    page.locator("#expiry").wait_for()
    boxes = {name: box(page, name) for name in (".logo", ".cta", ".badge", "#expiry", ".bar", ".dock")}
    pairs = [
        (one, two)
        for one in boxes
        for two in boxes
        if one < two and (one, two) != (".bar", ".dock") and overlap(boxes[one], boxes[two])
    ]
    assert pairs == []
    left, top = boxes[".logo"][:2]
    assert (left < width / 2, top < height / 2) == (corner[1] == "l", corner[0] == "t")
    assert min(each[0] for each in boxes.values()) >= 0
    assert max(each[2] for each in boxes.values()) <= width


@pytest.mark.parametrize(("width", "height"), WINDOWS)
def test_the_bar_of_the_button_is_below_pages_and_dock(
    browser: Browser, sheet: Dressed, width: int, height: int
) -> None:
    with visitor(browser, **small(width, height)) as person:
        page = opened(person, sheet, cta=CTA | {"position": "bar"}, logo={"assetId": sheet.logo, "position": "bl"})
        bar = box(page, ".cta-bar")
        assert (bar[0], bar[2], bar[3]) == (0, width, height)
        assert [name for name in (".dock", ".logo", ".badge") if overlap(bar, box(page, name))] == []
        page.keyboard.press("End")
        page.locator(".page[data-page='4'].is-ready").wait_for()
        assert not overlap(bar, box(page, ".page[data-page='4']"))


@pytest.mark.parametrize("mode", ["swipe", "flipbook"])
@pytest.mark.parametrize(("width", "height"), [(844, 390), (667, 375)])
def test_on_a_phone_held_sideways_no_logo_and_no_button_takes_height_from_the_page(
    browser: Browser, turned: Dressed, width: int, height: int, mode: str
) -> None:
    logo = {"assetId": turned.logo, "size": "xl", "position": "tl"}
    with visitor(browser, **small(width, height)) as person:
        heights = []
        for blocks in ({}, {"logo": logo}, {"logo": logo, "cta": CTA | {"position": "tr"}}):
            page = opened(person, turned, {"viewerMode": mode}, **blocks)
            _, top, _, bottom = box(page, ".page[data-page='1']")
            heights.append(round(bottom - top))
        assert len(set(heights)) == 1


def test_on_a_phone_held_sideways_the_bar_of_the_button_floats(browser: Browser, turned: Dressed) -> None:
    with visitor(browser, **small(844, 390)) as person:
        plain = box(opened(person, turned, {"viewerMode": "swipe"}), ".page[data-page='1']")
        logo = {"assetId": turned.logo, "position": "bl"}
        settings = {"viewerMode": "swipe", "marksEnabled": True}
        page = opened(person, turned, settings, cta=CTA | {"position": "bar"}, logo=logo)
        assert box(page, ".page[data-page='1']") == plain
        assert page.locator(".cta").is_visible()
        beside = (".bar", ".badge", ".logo", ".page:not([inert]) .verdicts")
        assert [name for name in beside if overlap(box(page, ".cta"), box(page, name))] == []


def test_the_last_page_can_be_read_past_what_stands_in_the_corner(browser: Browser, sheet: Dressed) -> None:
    with visitor(browser, **small(390, 844)) as person:
        logo = {"assetId": sheet.logo, "size": "xl", "position": "br"}
        page = opened(person, sheet, logo=logo, cta=CTA)
        page.keyboard.press("End")
        page.locator(".page[data-page='4'].is-ready").wait_for()
        assert not overlap(box(page, ".logo"), box(page, ".page[data-page='4']"))
        logo["position"] = "tl"
        page = opened(person, sheet, logo=logo)
        assert not overlap(box(page, ".logo"), box(page, ".page[data-page='1']"))


def test_the_page_for_framing_has_the_same_looks(desk: Visitor, sheet: Dressed) -> None:
    sheet.wear(background={"color": "#123456"}, logo={"assetId": sheet.logo}, cta=CTA)
    page = desk.open(sheet.embed)
    assert style(page, "body", "background-color") == "rgb(18, 52, 86)"
    assert page.locator(".logo").is_visible()
    assert page.locator(".cta").inner_text() == "Book a meeting"


def soon() -> str:
    """An end within the next day, by the clock of this machine."""
    return (datetime.now(UTC) + timedelta(hours=5)).isoformat()
