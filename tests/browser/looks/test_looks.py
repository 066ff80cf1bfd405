"""Viewer settings in a real browser: computed colors, sizes and positions."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from docshare.server.rules import colors
from tests.browser.conftest import ShareDocument
from tests.support.browsers.browser import PHONE, Visitor, visitor, wait_for_viewer
from tests.support.browsers.styled_document import (
    StyledDocument,
    computed_style,
    contrast_ratio,
    element_box,
    has_overlap,
    parse_color,
)
from tests.support.documents.pdfs import A4, simple_pdf
from tests.support.servers.server_process import ServerProcess

CTA = {"label": "Book a meeting", "url": "https://acme.test/meet"}
PRESETS = ("dusk", "sand", "slate", "forest", "blush", "mono")
WINDOWS = [(1280, 800), (820, 1180), (390, 844), (320, 568)]


@pytest.fixture(scope="module")
def styled_document(server: ServerProcess, share: ShareDocument) -> StyledDocument:
    return StyledDocument(server, share(simple_pdf(pages=4, size=A4), "Report.pdf"))


@pytest.fixture
def fresh_styled_document(server: ServerProcess, share: ShareDocument) -> StyledDocument:
    """Return a document for a test that changes more than its appearance."""
    return StyledDocument(server, share(simple_pdf(pages=4, size=A4), "Report.pdf"))


def open_with_looks(
    person: Visitor, sheet: StyledDocument, settings: dict[str, Any] | None = None, **blocks: Any
) -> Page:
    sheet.apply_looks(settings, **blocks)
    return person.open(sheet.url)


def phone_options(width: int, height: int) -> dict[str, Any]:
    """Return browser options for the window size, as a phone if it is narrow."""
    phone: dict[str, Any] = {"user_agent": PHONE, "has_touch": True, "is_mobile": True} if width < 760 else {}
    return {"viewport": {"width": width, "height": height}} | phone


def test_a_solid_background_is_behind_the_pages(desktop_visitor: Visitor, styled_document: StyledDocument) -> None:
    page = open_with_looks(desktop_visitor, styled_document, background={"color": "#123456"})
    assert computed_style(page, "body", "background-color") == "rgb(18, 52, 86)"
    page = open_with_looks(desktop_visitor, styled_document)
    assert computed_style(page, "body", "background-color") == "rgb(241, 240, 238)"


def test_each_gradient_differs_for_light_and_dark_readers(browser: Browser, styled_document: StyledDocument) -> None:
    drawn = set()
    for scheme in ("light", "dark"):
        with visitor(browser, color_scheme=scheme) as person:
            for preset in PRESETS:
                page = open_with_looks(person, styled_document, background={"type": "gradient", "preset": preset})
                drawn.add(computed_style(page, "body", "background-image", "::before"))
                assert computed_style(page, "body", "position", "::before") == "fixed"
            assert person.complaints == []
    assert len(drawn) == 12
    assert all(each.count("gradient(") == 3 for each in drawn)


def test_a_background_image_is_fitted_blurred_and_dimmed(
    desktop_visitor: Visitor, styled_document: StyledDocument
) -> None:
    image = {"type": "image", "assetId": styled_document.picture}
    page = open_with_looks(
        desktop_visitor, styled_document, background=image | {"fit": "contain", "blur": 8, "dim": 40}
    )
    drawn = computed_style(page, "body", "background-image", "::before")
    assert f"/{styled_document.name}/assets/{styled_document.picture}" in drawn
    assert "rgba(0, 0, 0, 0.4)" in drawn
    assert computed_style(page, "body", "background-size", "::before").endswith("contain")
    assert computed_style(page, "body", "filter", "::before") == "blur(8px)"
    assert any(request.endswith(f"/assets/{styled_document.picture}") for request in desktop_visitor.requests)
    page = open_with_looks(desktop_visitor, styled_document, background=image)
    assert computed_style(page, "body", "background-size", "::before") == "cover"
    assert computed_style(page, "body", "filter", "::before") == "none"


def test_pages_have_the_configured_shadow_corners_and_edges(
    desktop_visitor: Visitor, styled_document: StyledDocument
) -> None:
    shadows = set()
    for level in (0, 1, 2, 3):
        page = open_with_looks(desktop_visitor, styled_document, page={"shadow": level})
        shadows.add(computed_style(page, ".page", "box-shadow"))
    assert len(shadows) == 4
    rounded = []
    for level in (0, 1, 2, 3):
        page = open_with_looks(desktop_visitor, styled_document, page={"rounded": level})
        rounded.append(computed_style(page, ".page", "border-top-left-radius"))
    assert rounded == ["0px", "6px", "12px", "20px"]
    page = open_with_looks(desktop_visitor, styled_document, page={"edges": True})
    assert computed_style(page, ".page", "box-shadow").count("rgb(251, 250, 248)") == 3
    assert computed_style(page, ".page", "box-shadow").count("rgb(203, 199, 190)") == 3


def test_the_accent_color_is_that_of_the_brand(desktop_visitor: Visitor, styled_document: StyledDocument) -> None:
    page = open_with_looks(desktop_visitor, styled_document, brand={"accentColor": "#1f6f43"})
    assert computed_style(page, "#progress", "background-color") == "rgb(31, 111, 67)"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert computed_style(page, ":focus-visible", "outline-color") == "rgb(31, 111, 67)"
    assert computed_style(page, "#notice-reload", "background-color") == "rgb(31, 111, 67)"
    assert computed_style(page, "#notice-reload", "color") == "rgb(255, 255, 255)"


@pytest.mark.parametrize("style_of", ["solid", "outline"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_a_call_to_action_without_a_color_uses_the_accent_color(
    browser: Browser, styled_document: StyledDocument, theme: str, scheme: str, style_of: str
) -> None:
    with visitor(browser, color_scheme=scheme) as person:
        page = open_with_looks(person, styled_document, brand={"toolbarTheme": theme}, cta=CTA | {"style": style_of})
        accent = computed_style(page, "#progress", "background-color")
        assert computed_style(page, ".cta", "background-color" if style_of == "solid" else "color") == accent
        assert contrast_ratio(page, ".cta", ".cta") >= 4.5


@pytest.mark.parametrize(("theme", "scheme", "expected"), [
    ("auto", "light", "rgb(255, 255, 255)"), ("auto", "dark", "rgb(27, 27, 30)"),
    ("light", "dark", "rgb(255, 255, 255)"), ("dark", "light", "rgb(27, 27, 30)"),
])  # fmt: skip
def test_the_toolbar_has_the_configured_theme(
    browser: Browser, styled_document: StyledDocument, theme: str, scheme: str, expected: str
) -> None:
    rooms = {"light": "rgb(241, 240, 238)", "dark": "rgb(19, 19, 21)"}
    with visitor(browser, color_scheme=scheme) as person:
        page = open_with_looks(person, styled_document, brand={"toolbarTheme": theme})
        assert computed_style(page, ".bar", "background-color") == expected
        assert computed_style(page, "body", "background-color") == rooms[scheme]
        assert contrast_ratio(page, ".bar h1", ".bar") >= 7
        assert contrast_ratio(page, "#page-number", "#page-number") >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_toolbar_follows_the_background_of_the_owner(
    browser: Browser, styled_document: StyledDocument, scheme: str
) -> None:
    with visitor(browser, color_scheme=scheme) as person:
        for color, bar in (("#102030", "rgb(27, 27, 30)"), ("#f3e9d8", "rgb(255, 255, 255)")):
            page = open_with_looks(person, styled_document, background={"color": color})
            assert computed_style(page, ".bar", "background-color") == bar
            assert contrast_ratio(page, ".bar h1", ".bar") >= 4.5
            assert contrast_ratio(page, "#page-number", "#page-number") >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_no_color_of_the_owner_makes_text_unreadable(
    browser: Browser, styled_document: StyledDocument, theme: str, scheme: str
) -> None:
    with visitor(browser, color_scheme=scheme) as person:
        for chosen in ("#ffff00", "#777777", "#010101"):
            brand = {"accentColor": chosen, "toolbarTheme": theme}
            cta = CTA | {"color": chosen, "style": "outline"}
            page = open_with_looks(person, styled_document, background={"color": chosen}, brand=brand, cta=cta)
            for words, ground in ((".bar h1", ".bar"), (".bar-name p", ".bar"), ("#page-number", "#page-number"),
                                  (".cta", ".cta"), (".badge", ".badge"),
                                  ("#notice-reload", "#notice-reload")):  # fmt: skip
                assert contrast_ratio(page, words, ground) >= 4.5, (chosen, words)
            line, bar = (computed_style(page, name, "background-color") for name in ("#progress", ".bar"))
            assert colors.contrast_ratio(parse_color(line), parse_color(bar)) >= 4.5


@pytest.mark.parametrize(("size", "height"), [("s", 24), ("m", 36), ("l", 52), ("xl", 76)])
def test_the_logo_has_the_configured_size(
    desktop_visitor: Visitor, styled_document: StyledDocument, size: str, height: int
) -> None:
    page = open_with_looks(desktop_visitor, styled_document, logo={"assetId": styled_document.logo, "size": size})
    left, top, right, bottom = element_box(page, ".logo")
    assert (bottom - top, right - left) == (height, height * 3)
    assert page.locator(".logo").evaluate("image => image.complete && image.naturalWidth") == 300


def test_the_badge_is_shown_unless_hidden(desktop_visitor: Visitor, styled_document: StyledDocument) -> None:
    page = open_with_looks(desktop_visitor, styled_document)
    assert page.locator(".badge").inner_text() == "docshare"
    assert page.locator(".badge a").count() == 0
    page = open_with_looks(desktop_visitor, styled_document, logo={"hideBadge": True})
    assert page.locator(".badge").count() == 0
    assert not page.locator(".bar-mark").is_visible()


@pytest.mark.parametrize(("width", "height"), WINDOWS)
def test_elements_in_the_same_corner_do_not_overlap(
    browser: Browser, styled_document: StyledDocument, width: int, height: int
) -> None:
    with visitor(browser, **phone_options(width, height)) as person:
        for corner in ("tl", "tr", "bl", "br"):
            assert_no_overlap(
                open_with_looks(
                    person, styled_document, {"deleteAt": get_near_expiry()}, **fill_corner(styled_document, corner)
                ),
                corner,
                width,
                height,
            )
        assert person.complaints == []


def fill_corner(sheet: StyledDocument, corner: str) -> dict[str, Any]:
    """Return settings with all elements in one ``corner``, at their maximum size."""
    return {
        "logo": {"assetId": sheet.logo, "size": "xl", "position": corner},
        "brand": {"badgePosition": corner},
        "cta": CTA | {"label": "Talk to our friendly sales team today", "position": corner},
    }


def assert_no_overlap(page: Page, corner: str, width: int, height: int) -> None:
    """Assert that no element on ``page`` covers another, and all are in the window, in their ``corner``."""
    page.locator("#expiry").wait_for()
    boxes = {name: element_box(page, name) for name in (".logo", ".cta", ".badge", "#expiry", ".bar", ".dock")}
    pairs = [
        (one, two)
        for one in boxes
        for two in boxes
        if one < two and (one, two) != (".bar", ".dock") and has_overlap(boxes[one], boxes[two])
    ]
    assert pairs == []
    left, top = boxes[".logo"][:2]
    assert (left < width / 2, top < height / 2) == (corner[1] == "l", corner[0] == "t")
    assert min(each[0] for each in boxes.values()) >= 0
    assert max(each[2] for each in boxes.values()) <= width


@pytest.mark.parametrize(("width", "height"), WINDOWS)
def test_the_call_to_action_bar_is_below_pages_and_dock(
    browser: Browser, styled_document: StyledDocument, width: int, height: int
) -> None:
    with visitor(browser, **phone_options(width, height)) as person:
        page = open_with_looks(
            person,
            styled_document,
            cta=CTA | {"position": "bar"},
            logo={"assetId": styled_document.logo, "position": "bl"},
        )
        bar = element_box(page, ".cta-bar")
        assert (bar[0], bar[2], bar[3]) == (0, width, height)
        assert [name for name in (".dock", ".logo", ".badge") if has_overlap(bar, element_box(page, name))] == []
        page.keyboard.press("End")
        page.locator(".page[data-page='4'].is-ready").wait_for()
        assert not has_overlap(bar, element_box(page, ".page[data-page='4']"))


@pytest.mark.parametrize("mode", ["swipe", "flipbook"])
@pytest.mark.parametrize(("width", "height"), [(844, 390), (667, 375)])
def test_in_phone_landscape_logo_and_call_to_action_do_not_reduce_the_page_height(
    browser: Browser, fresh_styled_document: StyledDocument, width: int, height: int, mode: str
) -> None:
    logo = {"assetId": fresh_styled_document.logo, "size": "xl", "position": "tl"}
    with visitor(browser, **phone_options(width, height)) as person:
        heights = []
        for blocks in ({}, {"logo": logo}, {"logo": logo, "cta": CTA | {"position": "tr"}}):
            page = open_with_looks(person, fresh_styled_document, {"viewerMode": mode}, **blocks)
            _, top, _, bottom = element_box(page, ".page[data-page='1']")
            heights.append(round(bottom - top))
        assert len(set(heights)) == 1


def test_in_phone_landscape_the_call_to_action_bar_floats(
    browser: Browser, fresh_styled_document: StyledDocument
) -> None:
    with visitor(browser, **phone_options(844, 390)) as person:
        plain = element_box(
            open_with_looks(person, fresh_styled_document, {"viewerMode": "swipe"}), ".page[data-page='1']"
        )
        logo = {"assetId": fresh_styled_document.logo, "position": "bl"}
        settings = {"viewerMode": "swipe", "marksEnabled": True}
        page = open_with_looks(person, fresh_styled_document, settings, cta=CTA | {"position": "bar"}, logo=logo)
        assert element_box(page, ".page[data-page='1']") == plain
        assert page.locator(".cta").is_visible()
        beside = (".bar", ".badge", ".logo", ".page:not([inert]) .verdicts")
        assert [name for name in beside if has_overlap(element_box(page, ".cta"), element_box(page, name))] == []


def test_the_last_page_can_be_scrolled_clear_of_the_corner_elements(
    browser: Browser, styled_document: StyledDocument
) -> None:
    with visitor(browser, **phone_options(390, 844)) as person:
        logo = {"assetId": styled_document.logo, "size": "xl", "position": "br"}
        page = open_with_looks(person, styled_document, logo=logo, cta=CTA)
        page.keyboard.press("End")
        page.locator(".page[data-page='4'].is-ready").wait_for()
        assert not has_overlap(element_box(page, ".logo"), element_box(page, ".page[data-page='4']"))
        logo["position"] = "tl"
        page = open_with_looks(person, styled_document, logo=logo)
        assert not has_overlap(element_box(page, ".logo"), element_box(page, ".page[data-page='1']"))


def test_a_new_logo_covers_nothing_if_the_start_is_reloaded(browser: Browser, styled_document: StyledDocument) -> None:
    with visitor(browser, **phone_options(390, 844)) as person:
        page = open_with_looks(person, styled_document)
        page.wait_for_function("() => history.state?.place")
        styled_document.apply_looks(logo={"assetId": styled_document.logo, "size": "xl", "position": "tl"})
        page.reload()
        wait_for_viewer(page)
        assert page.evaluate("history.state?.place") is not None
        assert not has_overlap(element_box(page, ".logo"), element_box(page, ".page[data-page='1']"))


def test_the_embed_page_has_the_same_looks(desktop_visitor: Visitor, styled_document: StyledDocument) -> None:
    styled_document.apply_looks(background={"color": "#123456"}, logo={"assetId": styled_document.logo}, cta=CTA)
    page = desktop_visitor.open(styled_document.embed_url)
    assert computed_style(page, "body", "background-color") == "rgb(18, 52, 86)"
    assert page.locator(".logo").is_visible()
    assert page.locator(".cta").inner_text() == "Book a meeting"


def get_near_expiry() -> str:
    """Return an expiry within the next day, by the clock of this machine."""
    return (datetime.now(UTC) + timedelta(hours=5)).isoformat()
