"""Where the parts of a page are: errors above their form, check boxes beside their labels and fields."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, FloatRect, Locator

from tests.browser.every_page.looks import Onlooker, open_window
from tests.browser.every_page.owner_states import OWNER_STATES
from tests.browser.every_page.states import unfold
from tests.support.browsers.stage import open_stage

_LIST_MISALIGNED_BOXES = """() => {
  const isShown = (box) => box.getBoundingClientRect().width > 2 && box.checkVisibility({ visibilityProperty: true });
  const findFirstLetter = (label) => {
    const texts = document.createTreeWalker(label, NodeFilter.SHOW_TEXT, (text) =>
      text.data.trim() ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_SKIP);
    const text = texts.nextNode();
    const range = document.createRange();
    const start = text.data.search(/\\S/);
    range.setStart(text, start);
    range.setEnd(text, start + 1);
    return range.getBoundingClientRect();
  };
  const findMiddle = ({ top, bottom }) => (top + bottom) / 2;
  return [...document.querySelectorAll("[type=checkbox], [type=radio]")]
    .filter((box) => isShown(box) && box.labels[0]?.textContent.trim())
    .map((box) => {
      const [own, letter] = [box.getBoundingClientRect(), findFirstLetter(box.labels[0])];
      return { name: box.name, away: findMiddle(own) - findMiddle(letter), between: letter.left - own.right };
    });
}"""


@pytest.fixture(scope="module", params=["1440", "820", "390"])
def looker(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Onlooker]:
    window: str = request.param
    with open_stage(tmp_path_factory.mktemp("stage")) as stage, open_window(browser, stage, window) as looker:
        yield looker


def measure(locator: Locator) -> FloatRect:
    box = locator.bounding_box()
    assert box is not None
    return box


def test_a_button_stays_where_it_is_when_its_question_opens(looker: Onlooker) -> None:
    page = looker.open(OWNER_STATES["account"])
    page.evaluate("for (const one of document.querySelectorAll('.confirm')) one.open = false")
    for row in page.locator(".list > li:has(.confirm)").all():
        button = row.locator("summary")
        before = measure(button)
        button.click()
        assert measure(button)["x"] == pytest.approx(before["x"], abs=1)


def test_the_buttons_of_all_links_are_in_one_column(looker: Onlooker) -> None:
    page = looker.open(OWNER_STATES["links"])
    rows = page.locator(".things > .thing > .row").all()
    words = page.locator(".things .thing-words").all()
    beside = {
        measure(row)["y"] < measure(text)["y"] + measure(text)["height"] for row, text in zip(rows, words, strict=True)
    }
    assert len(beside) == 1


def test_a_legend_has_space_below_it(looker: Onlooker) -> None:
    page = looker.open(OWNER_STATES["hotspots"])
    legend, label = measure(page.locator(".several > legend")), measure(page.locator("label[for=x]"))
    assert label["y"] - legend["y"] - legend["height"] >= 6


def test_the_fields_of_a_restricted_key_have_one_width(looker: Onlooker) -> None:
    page = looker.open(OWNER_STATES["account"])
    widths = {round(measure(field)["width"]) for field in page.locator("details form > .field").all()}
    assert len(widths) == 1


def test_the_search_has_room_for_words_without_scripts(looker: Onlooker) -> None:
    page = looker.open(OWNER_STATES["library.no scripts"])
    assert measure(page.locator("#q"))["width"] >= 160


@pytest.mark.parametrize("name", ["sign in.wrong", "sign in.short password", "device.wrong code"])
def test_an_error_is_as_wide_as_the_fields_below_it(looker: Onlooker, name: str) -> None:
    page = looker.open(OWNER_STATES[name])
    error, field = measure(page.locator("[role=alert]")), measure(page.locator(".enter input:visible").first)
    assert (error["x"], error["width"]) == pytest.approx((field["x"], field["width"]), abs=1)


@pytest.mark.parametrize(
    "name",
    ["settings.every setting", "settings.rejected", "looks.every block", "account", "webhooks.none", "library"],
)
def test_a_check_box_is_on_the_first_line_of_its_label(looker: Onlooker, name: str) -> None:
    page = looker.open(OWNER_STATES[name])
    unfold(page)
    boxes = page.evaluate(_LIST_MISALIGNED_BOXES)
    assert boxes != []
    assert [box for box in boxes if abs(box["away"]) > 1.5 or not 3 <= box["between"] <= 16] == []


@pytest.mark.parametrize("name", ["settings.every setting", "settings.rejected"])
def test_a_check_box_in_a_row_of_fields_is_in_the_middle_of_them(looker: Onlooker, name: str) -> None:
    page = looker.open(OWNER_STATES[name])
    rows = page.locator(".several-row:has(.check):visible").all()
    assert rows != []
    for row in rows:
        field, label = measure(row.locator(".field input, .field select").last), measure(row.locator(".check label"))
        is_below = label["y"] >= field["y"] + field["height"]
        away = label["y"] + label["height"] / 2 - field["y"] - field["height"] / 2
        assert is_below or abs(away) <= 2


def test_a_check_box_does_not_share_a_line_with_a_field(looker: Onlooker) -> None:
    page = looker.open(OWNER_STATES["settings.every setting"])
    unfold(page)
    for below in (".field + .check", ".check + .field"):
        found = page.locator(f".fields > {below}")
        assert found.count() > 0
        for one in found.all():
            before = measure(one.locator("xpath=preceding-sibling::*[1]"))
            assert measure(one)["y"] >= before["y"] + before["height"]
