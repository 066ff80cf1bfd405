"""The borders of controls and cards: visible in the light and in the dark look (WCAG 1.4.11)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from docshare.server.rules.colors import Color, contrast_ratio
from tests.browser.every_page.looks import LOOKS, open_window
from tests.browser.every_page.owner_states import list_pages
from tests.browser.every_page.reader_states import GATE_STATES, VIEWER_STATES
from tests.browser.every_page.states import unfold
from tests.support.browsers.stage import open_stage

FIELDS = (
    "input:not([type=checkbox], [type=radio], [type=range], [type=color], [type=submit], [type=file]), "
    "select:not(.zoom-level), textarea"
)
BUTTONS = ".button, .range-choices"
DROP_ZONES = ".upload-drop, .share-drop"
CARDS = ".card:not(.feedback-part, .upload), .file-cards, .tiles"
STATES = (
    list_pages()
    | {name: VIEWER_STATES[f"viewer.{name}"] for name in ("standard", "find", "annotation", "notes", "visit")}
    | GATE_STATES
)
CONTROL_CONTRAST = 3
CARD_CONTRAST = {"light": 1.15, "dark": 1.5}
# Of each element the colors around it, of its background, and of its border. The outline shows which one has the focus.
_LIST_EDGES = """(selector) => {
  const parse = (text) => {
    const found = text.match(/[\\d.]+/g).map(Number);
    return found.length === 4 ? found : [...found, 1];
  };
  const blend = (over, under) => under.map((part, at) => over[at] * over[3] + part * (1 - over[3]));
  const findGround = (node) => {
    const layers = [];
    for (let box = node; box; box = box.parentElement) layers.push(parse(getComputedStyle(box).backgroundColor));
    return layers.reverse().reduce((ground, layer) => blend(layer, ground), [255, 255, 255]);
  };
  const isShown = (node) => {
    const box = node.getBoundingClientRect();
    const isTransparent = Number(getComputedStyle(node).opacity) === 0;
    return box.width > 2 && box.height > 2 && !isTransparent && node.checkVisibility({ visibilityProperty: true });
  };
  const isIdle = (node) => !node.disabled && node !== document.activeElement;
  return [...document.querySelectorAll(selector)].filter((node) => isShown(node) && isIdle(node)).map((node) => {
    const style = getComputedStyle(node);
    const around = findGround(node.parentElement);
    const edges = [findGround(node)];
    if (parseFloat(style.borderTopWidth) > 0) edges.push(blend(parse(style.borderTopColor), around));
    return { name: node.outerHTML.slice(0, 90), around, edges };
  });
}"""

_GET_COLOR = """([selector, name]) => {
  const text = getComputedStyle(document.querySelector(selector)).getPropertyValue(name);
  const canvas = document.createElement("canvas").getContext("2d");
  canvas.fillStyle = text.match(/(rgb|color)[^)]*\\)/)[0];
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data.slice(0, 3)];
}"""
WHITE = [255, 255, 255]


def list_edges(page: Page, selector: str) -> list[tuple[str, float]]:
    """Return the visible elements that match, each with the contrast of its edge: of its border or its background."""
    found: list[dict[str, Any]] = page.evaluate(_LIST_EDGES, selector)
    return [(one["name"], max(_contrast(one["around"], edge) for edge in one["edges"])) for one in found]


def _contrast(one: list[float], two: list[float]) -> float:
    return contrast_ratio(*(Color(*(round(part) for part in color)) for color in (one, two)))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("look", ["light", "dark"])
def test_controls_and_cards_have_a_visible_edge(browser: Browser, tmp_path: Path, look: str) -> None:
    required = dict.fromkeys((FIELDS, BUTTONS, DROP_ZONES), CONTROL_CONTRAST) | {CARDS: CARD_CONTRAST[look]}
    faint, seen = [], set()
    with open_stage(tmp_path) as stage, open_window(browser, stage, "1440") as looker:
        looker.page.emulate_media(**LOOKS[look])
        for name, state in STATES.items():
            page = looker.open(state)
            unfold(page)
            for selector, least in required.items():
                edges = list_edges(page, selector)
                seen |= {selector} if edges else set()
                faint += [f"{name}: {contrast:.2f}: {node}" for node, contrast in edges if contrast < least]
    assert faint == []
    assert seen == set(required)


@pytest.mark.parametrize("look", ["light", "dark"])
def test_hotspots_are_visible_on_the_page_and_beside_it(browser: Browser, tmp_path: Path, look: str) -> None:
    with open_stage(tmp_path) as stage, open_window(browser, stage, "1440") as looker:
        looker.page.emulate_media(**LOOKS[look])
        page = looker.open(VIEWER_STATES["viewer.hotspots"])
        expect(page.locator(".hotspot-dot").first).to_have_css("border-top-style", "solid")
        ground, dot, edge = (
            page.evaluate(_GET_COLOR, [selector, name])
            for selector, name in (
                ("body", "background-color"),
                (".hotspot-dot", "background-color"),
                (".hotspot-dot", "border-top-color"),
            )
        )
        page.locator(".hotspot").first.hover()
        area = page.evaluate(_GET_COLOR, [".hotspot:hover", "box-shadow"])
    assert [_contrast(edge, around) >= CONTROL_CONTRAST for around in (WHITE, ground, dot)] == [True] * 3
    assert _contrast(area, WHITE) >= CONTROL_CONTRAST
