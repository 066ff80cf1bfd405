"""The website of the manual in a browser: accessible, searchable, and complete as files."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from docshare.manual import load_site
from tests.support.browsers.axe import find_violations
from tests.support.browsers.browser import visitor
from tests.support.owner.browser import sign_in_browser
from tests.support.people.cast import World
from tests.support.servers.in_process_server import serve_world

WINDOWS = [{}, {"viewport": {"width": 390, "height": 844}}, {"color_scheme": "dark"}]
PAGES = ["topics/config.html", "commands/docshare-serve.html", "api/files.settings.html"]
# Types each title into the search and returns those that it does not list.
_FIND_MISSING = """(rows) => rows.filter(([path, title]) => {
  const input = document.getElementById("search");
  input.value = title;
  input.dispatchEvent(new Event("input"));
  return ![...document.querySelectorAll("#search-results a")].some((link) => link.getAttribute("href") === path);
})"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top, site = tmp_path_factory.mktemp("site"), load_site()
    for path in site.paths:
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_bytes(site.render(path))
    return top


@pytest.mark.parametrize("options", WINDOWS, ids=["desktop", "phone", "dark"])
def test_three_pages_for_an_owner_have_no_violation(browser: Browser, world: World, options: dict[str, object]) -> None:
    cookie = sign_in_browser(world, world.pia).get_cookie("docshare_session")
    assert cookie is not None
    with serve_world(world) as url, visitor(browser, **options) as person:
        person.context.add_cookies([{"name": "docshare_session", "value": cookie.value, "url": url}])
        for path in PAGES:
            person.page.goto(f"{url}/docs/{path}")
            assert find_violations(person.page) == [], path
        person.page.get_by_role("searchbox").fill("webhook")
        expect(person.page.locator("#search-results a").first).to_be_visible()
        assert find_violations(person.page) == []
        assert person.list_origins() == {url}


def test_the_search_finds_every_topic_command_and_operation(browser: Browser, folder: Path) -> None:
    with visitor(browser) as person:
        person.page.goto((folder / "index.html").as_uri())
        rows = [[entry.path, entry.title] for entry in load_site().entries.values() if entry.section]
        assert len(rows) > 200
        assert person.page.evaluate(_FIND_MISSING, rows) == []


def test_the_search_works_by_keyboard_in_files(browser: Browser, folder: Path) -> None:
    with visitor(browser) as person:
        page = person.page
        page.goto((folder / "topics" / "plans.html").as_uri())
        page.keyboard.press("/")
        page.keyboard.type("abandoned redeliver")
        expect(page.locator("#search-status")).to_contain_text("found")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_url("**/*webhooks*.html")
        page.keyboard.press("/")
        page.keyboard.type("zzzz")
        expect(page.locator("#search-status")).to_have_text("No pages found")
        page.keyboard.press("Escape")
        expect(page.locator("#search")).to_have_value("")


def test_without_scripts_the_pages_show_everything_but_the_search(browser: Browser, folder: Path) -> None:
    with visitor(browser, java_script_enabled=False) as person:
        person.page.goto((folder / "index.html").as_uri())
        expect(person.page.locator("#search")).to_be_hidden()
        person.page.get_by_role("link", name="exit-codes").click()
        expect(person.page.get_by_role("heading", level=1)).to_contain_text("Exit")
