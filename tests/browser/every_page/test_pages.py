"""Every state of every page in several windows and looks: it fits, and neither axe-core nor the browser reports
anything. ``tests.browser.screenshots`` draws them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error

from tests.browser.every_page.layout import find_layout_faults
from tests.browser.every_page.looks import LOOKS, WINDOWS, Onlooker, open_window
from tests.browser.every_page.owner_states import (
    ACCOUNT_STATES,
    FILE_STATES,
    LIBRARY_STATES,
    OWNER_STATES,
    REPORT_STATES,
)
from tests.browser.every_page.pages import NO_PAGES, PAGES
from tests.browser.every_page.reader_states import READER_STATES, VIEWER_STATES
from tests.browser.every_page.states import State
from tests.support.browsers.axe import find_violations
from tests.support.browsers.stage import ARABIC, CHINESE, LATIN, Words, open_stage
from tests.support.people.cast import World

PEOPLE: dict[str, Mapping[str, State]] = {"reader": READER_STATES, "owner": OWNER_STATES}
COLOR_RULES = ("color-contrast", "link-in-text-block")
"""The rules of axe-core whose result depends on colors."""
SCRIPT_STATES = VIEWER_STATES | LIBRARY_STATES | FILE_STATES | REPORT_STATES | ACCOUNT_STATES
"""The states with texts of people."""
Look = Callable[[Onlooker, State], list[str]]
pytestmark = pytest.mark.timeout(900)  # a test opens up to a hundred pages, on a machine with other work


def test_each_page_has_a_row(world: World) -> None:
    routes = {
        rule.endpoint
        for rule in world.app.url_map.iter_rules()
        if "GET" in (rule.methods or ()) and not rule.endpoint.startswith("api")
    }
    assert routes == set(PAGES).union(*NO_PAGES.values())


def look_on_desktop(looker: Onlooker, state: State) -> list[str]:
    """Look at ``state`` in light and dark, and resize its window as a tablet and by a zoom of 200%."""
    looker.page.emulate_media(**LOOKS["light"])
    looker.page.set_viewport_size(WINDOWS["1440"]["viewport"])
    page = looker.open(state)
    found = find_layout_faults(page, is_wide=state.is_wide) + find_violations(page, *state.rules)
    page.emulate_media(**LOOKS["dark"])
    found += [f"dark: {words}" for words in find_violations(page, only=COLOR_RULES)]
    for window in () if state.is_full_screen else ("820", "zoom"):
        page.set_viewport_size(WINDOWS[window]["viewport"])
        found += [f"{window}: {words}" for words in find_layout_faults(page, is_wide=state.is_wide)]
    return found


def look_on_phone(looker: Onlooker, state: State) -> list[str]:
    page = looker.open(state)
    return find_layout_faults(page, is_wide=state.is_wide) + find_violations(page, *state.rules)


def glance(looker: Onlooker, state: State) -> list[str]:
    """Look only at the layout."""
    return find_layout_faults(looker.open(state), is_wide=state.is_wide)


def look_at_all(looker: Onlooker, states: Mapping[str, State], look: Look) -> dict[str, list[str]]:
    """Return what is wrong, by the name of the state."""
    found = {}
    for name, state in states.items():
        try:
            wrong = look(looker, state) + looker.list_complaints(state)
        except (Error, AssertionError) as error:
            wrong = [f"cannot be reached: {error}"]
        if wrong:
            found[name] = wrong
    return found


@contextmanager
def open_onlooker(browser: Browser, folder: Path, window: str, words: Words = LATIN) -> Iterator[Onlooker]:
    with open_stage(folder, words) as stage, open_window(browser, stage, window) as looker:
        yield looker


@pytest.mark.parametrize("who", PEOPLE)
def test_each_state_is_right_on_a_desktop(browser: Browser, tmp_path: Path, who: str) -> None:
    with open_onlooker(browser, tmp_path, "1440") as looker:
        assert look_at_all(looker, PEOPLE[who], look_on_desktop) == {}


@pytest.mark.parametrize("who", PEOPLE)
def test_each_state_is_right_on_a_phone(browser: Browser, tmp_path: Path, who: str) -> None:
    with open_onlooker(browser, tmp_path, "390") as looker:
        assert look_at_all(looker, PEOPLE[who], look_on_phone) == {}


@pytest.mark.parametrize(("window", "words"), [("390", ARABIC), ("1440", CHINESE)], ids=["rtl", "cjk"])
def test_each_state_fits_with_texts_in_other_scripts(
    browser: Browser, tmp_path: Path, window: str, words: Words
) -> None:
    with open_onlooker(browser, tmp_path, window, words) as looker:
        assert look_at_all(looker, SCRIPT_STATES, glance) == {}
