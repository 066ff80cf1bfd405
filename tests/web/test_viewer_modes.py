"""The share page in each viewer mode: preloaded modules and the initial HTML."""

import re

import pytest

from docshare.server.web import assets
from tests.support.cast import World
from tests.support.pdfs import simple_pdf

PAGED = {"paged.js", "layout.js", "drag.js", "input.js", "mounted.js", "sides.js", "spreads.js", "wheel.js"}
MODULES = {
    "standard": {"standard.js", "column.js", "mounted.js"},
    "flipbook": {"flipbook.js", "leaf.js", "sound.js"} | PAGED,
    "swipe": {"swipe.js", "autoplay.js"} | PAGED,
    "magazine": {"magazine.js", "autohide.js"} | PAGED,
}


@pytest.fixture(params=list(MODULES))
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def html(world: World, mode: str) -> str:
    made = world.fay.upload(simple_pdf(pages=3))
    answer = world.fay.put(f"/api/v1/files/{made['shortId']}/settings", json={"viewerMode": mode})
    assert answer.status_code == 200, "every plan has all modes"
    return world.app.test_client().get(f"/{made['shortId']}").get_data(as_text=True)


def list_preloads(html: str) -> list[str]:
    return re.findall(r'<link rel="modulepreload" href="/static/[0-9a-f]+/viewer/([^"]+)">', html)


def test_only_the_modules_of_the_mode_are_preloaded(html: str, mode: str) -> None:
    modules = list_preloads(html)
    assert {name.removeprefix("modes/") for name in modules if name.startswith("modes/")} == MODULES[mode]
    assert {"main.js", "reading.js", "outbox.js", "page.js", "dom.js"} <= set(modules)
    assert len(modules) == len(set(modules))


def test_the_html_names_the_mode_and_contains_all_pages(html: str, mode: str) -> None:
    assert f'<div class="pages" id="pages" data-mode="{mode}"' in html
    assert len(re.findall(r'<article class="page[^"]*" data-page=', html)) == 3
    assert ("/viewer/modes.css" in html) == (mode != "standard")


def test_an_unknown_mode_has_no_modules() -> None:
    with pytest.raises(KeyError):
        assets.list_viewer_modules("scroll")
