"""The share page in each viewer mode: preloaded scripts and the initial HTML."""

import re

import pytest

from docshare.server.web import assets
from tests.support.documents.pdfs import simple_pdf
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS

PAGED = {
    "paged.js", "layout.js", "drag.js", "input.js", "mounted.js", "scroll.js", "sides.js", "spreads.js", "wheel.js",
}  # fmt: skip
MODULES = {
    "standard": {"standard.js", "column.js", "mounted.js", "scroll.js"},
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


def list_modules(script: str) -> set[str]:
    """Return the modules that ``script`` of the viewer contains."""
    return set(re.findall(r"^const viewer_(\w+) = \(\(\) => {$", script, re.MULTILINE))


def test_three_scripts_are_preloaded_that_import_no_other(html: str, mode: str) -> None:
    assert list_preloads(html) == ["main.js", f"modes/{mode}.js", "reading.js"]
    assert html.count('<link rel="stylesheet"') == (4 if mode != "standard" else 3), "with that for no scripts"


def test_a_mode_has_only_its_own_modules(world: World, mode: str) -> None:
    main, script, meter = (
        world.http.get(assets.asset_url(f"viewer/{name}.js")).text for name in ("main", f"modes/{mode}", "reading")
    )
    own = {f"modes_{name.removesuffix('.js')}" for name in MODULES[mode]}
    assert list_modules(script) == own | {"page"}
    assert {"main", "dom", "find", "toolbar"} <= list_modules(main)
    assert not [name for name in list_modules(main) if name.startswith(("modes_", "feedback_"))]
    assert list_modules(meter) == {"reading", "outbox"}
    assert re.findall(r'^import .* from "(.*)";$', script, re.MULTILINE) == ["../main.js"]
    assert re.findall(r"^import .*$", main + meter, re.MULTILINE) == []


def test_feedback_is_one_more_script(world: World) -> None:
    made = world.pia.upload(simple_pdf())
    put_settings(world, made, **ALL_FEEDBACK_SETTINGS)
    html = world.app.test_client().get(f"/{made['shortId']}").get_data(as_text=True)
    assert list_preloads(html) == ["main.js", "modes/standard.js", "reading.js", "feedback/index.js"]


def test_the_html_names_the_mode_and_contains_all_pages(html: str, mode: str) -> None:
    assert f'<div class="pages" id="pages" data-mode="{mode}"' in html
    assert len(re.findall(r'<article class="page[^"]*" data-page=', html)) == 3
    assert ("/viewer/modes.css" in html) == (mode != "standard")


def test_an_unknown_mode_has_no_scripts() -> None:
    with pytest.raises(KeyError):
        assets.list_viewer_scripts("scroll", feedback=False)
