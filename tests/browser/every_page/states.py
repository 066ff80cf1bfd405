"""A state of a page: how a person reaches it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Page

from tests.support.browsers.stage import Stage

Act = Callable[[Page], object]
"""An action of a person on an open page."""
Show = Callable[[Stage, Page], object]
"""Opens a page on a stage, and brings it into a state."""

PIA = "pia"


@dataclass(frozen=True)
class State:
    """``show``: opens the page in its state; ``person``: signed in, empty for a reader; ``status``: of a response that
    belongs to the state, which the browser reports as an error; ``is_whole``: whether a picture shows the whole page,
    not only the window; ``is_wide``: whether the page may be wider than the window; ``is_full_screen``: whether it
    fills the screen, so that its window has no size of its own; ``has_scripts``: whether the browser runs the scripts
    of the page; ``rules``: of axe-core, which it leaves out unless they are named."""

    show: Show
    person: str = ""
    status: int = 200
    is_whole: bool = True
    is_wide: bool = False
    is_full_screen: bool = False
    has_scripts: bool = True
    rules: tuple[str, ...] = ("target-size",)

    def is_expected(self, complaint: str) -> bool:
        """Return whether the browser reports ``complaint`` because of the state."""
        return self.status >= 400 and f"status of {self.status}" in complaint


def visit(address: str | Callable[[Stage], str], *acts: Act) -> Show:
    """Open ``address``, then act."""

    def show(stage: Stage, page: Page) -> None:
        page.goto(stage.url + (address if isinstance(address, str) else address(stage)))
        for act in acts:
            act(page)

    return show


def click(selector: str, then: str = "") -> Act:
    """Click the first element that matches, and wait for the element ``then``."""

    def act(page: Page) -> None:
        page.locator(selector).first.click()
        if then:
            page.locator(then).first.wait_for()

    return act


def press(key: str, then: str) -> Act:
    """Press a key, and wait for the element ``then``."""

    def act(page: Page) -> None:
        page.keyboard.press(key)
        page.locator(then).first.wait_for()

    return act


def unfold(page: Page) -> None:
    """Open every part of the page that is folded."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")


def submit(form: str, **fields: str) -> Act:
    """Fill in the fields by their ids, and send the form without the checks of the browser; wait for the answer."""

    def act(page: Page) -> None:
        page.evaluate("for (const form of document.forms) form.noValidate = true")
        unfold(page)
        for name, value in fields.items():
            field = page.locator(f"{form} [id='{name}']")
            if field.get_attribute("type") in ("checkbox", "radio"):
                field.set_checked(value == "on")
            elif field.evaluate("field => field.localName") == "select":
                field.select_option(value)
            else:
                field.fill(value)
        with page.expect_navigation():
            page.locator(f"{form} button[type=submit]:not([formaction])").last.click()

    return act
