"""Controls that a finger can hit, and states that are visible without colors."""

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.owner.conftest import LONG_NAME, PHONE_OPTIONS, sign_in_to_library, upload
from tests.support.browsers.browser import visitor
from tests.support.servers.server_process import ServerProcess

# Links inside a sentence are as high as their line. A check box is hit through its label.
FIND_SMALL = """() => {
  const small = [];
  for (const node of document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary")) {
    const isSeen = node.checkVisibility({ visibilityProperty: true }) && !node.closest(".quiet, .skip");
    const isInText = node.matches("a") &&
      [...node.parentElement.childNodes].some((each) => each.nodeType === 3 && each.data.trim());
    if (!isSeen || isInText) continue;
    const height = Math.max(...[node, ...(node.labels ?? [])].map((each) => each.getBoundingClientRect().height));
    if (height < 43.5) small.push(`${height} px: ${node.outerHTML.slice(0, 120)}`);
  }
  return small;
}"""
PAGES = ["/files", "/files/{file}", "/files/{file}/settings", "/files/{file}/looks", "/files/{file}/links",
         "/files/{file}/replace", "/trash", "/account", "/webhooks", "/readership/{file}", "/login"]  # fmt: skip
GET_BACKGROUND = "node => getComputedStyle(node).backgroundColor"


def test_controls_on_a_phone_are_as_high_as_a_finger_needs(browser: Browser, owner_server: ServerProcess) -> None:
    file = upload(owner_server, LONG_NAME)
    with visitor(browser, **PHONE_OPTIONS) as owner:
        page = sign_in_to_library(owner, owner_server)
        found = {}
        for address in PAGES:
            page.goto(owner_server.url + address.format(file=file))
            assert page.locator("a[href], button").count() > 0
            found[address] = page.evaluate(FIND_SMALL)
        assert not any(found.values()), found


@pytest.mark.parametrize("address", ["/files", "/files/{file}/settings"])
def test_the_current_page_is_marked_in_forced_colors(
    browser: Browser, owner_server: ServerProcess, address: str
) -> None:
    file = upload(owner_server)
    with visitor(browser, color_scheme="dark", forced_colors="active") as owner:
        page = sign_in_to_library(owner, owner_server)
        page.goto(owner_server.url + address.format(file=file))
        marks = page.locator(":is(.top-nav, .file-tabs) a[aria-current]").all()
        assert marks
        highlight = page.evaluate("""() => {
          const probe = document.body.appendChild(document.createElement("i"));
          probe.style.cssText = "forced-color-adjust: none; background: Highlight";
          return getComputedStyle(probe).backgroundColor;
        }""")
        assert [mark.evaluate(GET_BACKGROUND) for mark in marks] == [highlight] * len(marks)


def test_actions_for_selected_files_look_disabled_while_none_is_selected(
    browser: Browser, owner_server: ServerProcess
) -> None:
    upload(owner_server)
    with visitor(browser) as owner:
        page = sign_in_to_library(owner, owner_server)
        page.reload()
        delete = page.get_by_role("button", name="Delete", exact=True)
        expect(delete).to_be_disabled()
        expect(delete).to_have_css("opacity", "0.5")
        page.get_by_label("Select all").check()
        expect(delete).to_have_css("opacity", "1")
