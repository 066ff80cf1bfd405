"""Account, webhooks and sign-in pages in a real browser: API keys, apps, passwords and layout."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
import requests
from playwright.sync_api import Browser, Page, expect

from tests.support.browsers.axe import find_violations
from tests.support.browsers.browser import PHONE, Visitor, press_to_copy, visitor
from tests.support.outside.oauth_app import VERIFIER, make_challenge
from tests.support.servers.server_process import ServerProcess, make_env, run_docshare, run_server

PHONES = {"viewport": {"width": 390, "height": 844}, "user_agent": PHONE, "has_touch": True, "is_mobile": True}
PASSWORD = "correct horse battery"
REDIRECT = "http://127.0.0.1:9/callback"  # no server listens there; only the requested address matters


@pytest.fixture(scope="module")
def owner_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder: Path = tmp_path_factory.mktemp("office")
    with run_server(folder, DOCSHARE_TRUSTED_PROXIES="127.0.0.1/32", DOCSHARE_WEBHOOK_ALLOW="127.0.0.0/8") as running:
        yield running


def run_admin(server: ServerProcess, *words: str) -> Any:
    """Return the JSON output of an admin command."""
    done = run_docshare("admin", "--data", str(server.data_dir), *words, "--json", env=make_env(server.data_dir.parent))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def sign_in(page: Page, server: ServerProcess) -> None:
    """Sign in with the link of ``docshare dashboard``."""
    done = run_docshare("dashboard", "--data", str(server.data_dir), env=make_env(server.data_dir.parent))
    assert done.returncode == 0, done.stderr
    page.goto(done.stdout.strip())
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{server.url}/files")


@pytest.fixture
def person(browser: Browser, owner_server: ServerProcess) -> Iterator[Visitor]:
    """Yield the signed-in owner on a desktop; the test fails if the browser reports an error."""
    with visitor(browser, permissions=["clipboard-read", "clipboard-write"]) as found:
        sign_in(found.page, owner_server)
        yield found
        assert found.complaints == []
        assert found.list_origins() == {owner_server.url}


def open_page(person: Visitor, server: ServerProcess, path: str = "/account") -> Page:
    person.page.goto(server.url + path)
    return person.page


def get_account_status(server: ServerProcess, key: str) -> int:
    return requests.get(f"{server.url}/api/v1/user", headers={"Authorization": f"Bearer {key}"}, timeout=10).status_code


def confirm_action(page: Page, row: str, word: str = "Revoke") -> None:
    """Press the button in the list item that contains ``row``, and then the confirmation button."""
    line = page.locator(".list > li", has_text=row)
    line.locator("summary", has_text=word).click()
    line.get_by_role("button", name=f"Yes, {word.lower()}").click()


# --- keys, apps, passwords -------------------------------------------------------------------------------------------


def test_an_api_key_created_in_the_browser_works_until_it_is_revoked(
    person: Visitor, owner_server: ServerProcess
) -> None:
    page = open_page(person, owner_server)
    page.get_by_label("Name of a new key").fill("made by hand")
    page.get_by_role("button", name="Create API key").click()
    key = page.locator("#secret").inner_text()
    assert press_to_copy(page.get_by_role("button", name="Copy the key")) == key
    assert get_account_status(owner_server, key) == 200
    page.goto(f"{owner_server.url}/account")
    expect(page.get_by_text("made by hand", exact=True)).to_be_visible()
    assert key not in page.content()
    confirm_action(page, "made by hand")
    expect(page.get_by_role("status")).to_contain_text("The key made by hand is revoked")
    expect(page.get_by_text("made by hand", exact=True)).to_have_count(0)
    assert get_account_status(owner_server, key) == 401


def test_revoking_requires_confirmation(person: Visitor, owner_server: ServerProcess) -> None:
    page = open_page(person, owner_server)
    page.locator("summary", has_text="Revoke").last.click()
    expect(page.get_by_role("button", name="Yes, revoke")).to_be_visible()
    assert get_account_status(owner_server, owner_server.token) == 200


def test_an_app_allowed_in_the_browser_can_be_revoked_there(browser: Browser, owner_server: ServerProcess) -> None:
    name = f"Sales board {uuid4()}"
    app = run_admin(owner_server, "client", "create", name, "--redirect-uri", "http://127.0.0.1/callback", "--public")
    query = urlencode({
        "response_type": "code", "client_id": app["clientId"], "redirect_uri": REDIRECT, "scope": "profile",
        "state": "s", "code_challenge": make_challenge(VERIFIER), "code_challenge_method": "S256",
    })  # fmt: skip
    with visitor(browser) as person:
        page = person.page
        sign_in(page, owner_server)
        page.goto(f"{owner_server.url}/oauth/authorize?{query}")
        with page.expect_event("requestfailed", lambda request: request.url.startswith(REDIRECT)) as asked:
            page.get_by_role("button", name="Allow", exact=True).click()
        (code,) = re.findall(r"[?&]code=([^&]+)", asked.value.url)
        form = {"grant_type": "authorization_code", "client_id": app["clientId"], "redirect_uri": REDIRECT,
                "code": code, "code_verifier": VERIFIER}  # fmt: skip
        tokens = requests.post(f"{owner_server.url}/oauth/token", data=form, timeout=10).json()
        assert get_account_status(owner_server, tokens["access_token"]) == 200
        page = person.context.new_page()  # the other page shows a connection error
        page.goto(f"{owner_server.url}/account")
        expect(page.locator(".list > li", has_text=name)).to_contain_text("See your account and plan")
        confirm_action(page, name)
        expect(page.get_by_role("status")).to_contain_text("no longer has access")
        assert get_account_status(owner_server, tokens["access_token"]) == 401


def test_a_password_can_be_set_and_signing_in_redirects_to_the_requested_page(
    browser: Browser, owner_server: ServerProcess
) -> None:
    with visitor(browser) as person, visitor(browser) as elsewhere:
        sign_in(person.page, owner_server)
        page = open_page(person, owner_server)
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_role("button", name="Set the password").click()
        expect(page.get_by_role("status")).to_contain_text("The password is set")
        other = elsewhere.page
        other.goto(f"{owner_server.url}/webhooks")
        other.get_by_role("link", name="Sign in", exact=True).click()
        other.get_by_label("Email address").fill("owner@example.com")
        other.get_by_label("Password").fill("not this one")
        other.get_by_role("button", name="Sign in").click()
        expect(other.get_by_role("alert")).to_contain_text("is incorrect")
        expect(other.get_by_label("Email address")).to_have_value("owner@example.com")
        expect(other.get_by_label("Password")).to_have_value("")
        other.get_by_label("Password").fill(PASSWORD)
        other.get_by_role("button", name="Sign in").click()
        expect(other).to_have_url(f"{owner_server.url}/webhooks")
        page.reload()
        page.get_by_role("button", name="Sign out everywhere else").click()
        expect(page.get_by_role("status")).to_contain_text("Signed out of")
        other.reload()
        expect(other.get_by_role("heading", name="Sign in")).to_be_visible()
        page.locator("summary", has_text="Remove the password").click()
        page.get_by_role("button", name="Yes, remove the password").click()
        expect(page.get_by_text("You sign in with links.")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_form_sent_after_the_session_ended_continues_after_signing_in(
    browser: Browser, owner_server: ServerProcess, scripts: bool
) -> None:
    name = f"Ada with scripts: {scripts}"
    with visitor(browser, java_script_enabled=scripts) as person:
        sign_in(person.page, owner_server)
        page = open_page(person, owner_server)
        page.get_by_label("Name", exact=True).first.fill(name)
        person.page.context.clear_cookies()
        page.get_by_role("button", name="Save the name").click()
        expect(page.get_by_role("heading", name="You are no longer signed in")).to_be_visible()
        with page.context.expect_page() as opened:
            page.get_by_role("link", name="Sign in in a new tab").click()
        expect(opened.value).to_have_url(f"{owner_server.url}/login")
        sign_in(opened.value, owner_server)
        page.get_by_role("button", name="Continue with the form").click()
        expect(page.get_by_role("alert")).to_contain_text("Nothing has been saved yet.")
        expect(page.get_by_label("Name", exact=True).first).to_have_value(name)
        page.get_by_role("button", name="Save the name").click()
        expect(page.get_by_role("status")).to_contain_text("Your name was changed.")


# --- webhooks --------------------------------------------------------------------------------------------------------


def test_a_webhook_can_be_created_tested_and_deleted(person: Visitor, owner_server: ServerProcess) -> None:
    page = open_page(person, owner_server, "/webhooks")
    if not page.get_by_label("URL", exact=True).is_visible():
        page.get_by_text("New webhook").click()
    page.get_by_label("URL", exact=True).fill("http://127.0.0.1:9/hook")  # no server listens there
    page.get_by_label("file.viewed").check()
    page.get_by_role("button", name="Create the webhook").click()
    secret = page.locator("#secret").inner_text()
    assert re.fullmatch("whsec_[0-9a-f]{64}", secret)
    page.get_by_role("link", name="Send a test event").click()
    expect(page.get_by_role("button", name="Send a test event")).to_be_visible()
    assert secret not in page.content()
    page.get_by_role("button", name="Send a test event").click()
    expect(page.get_by_role("status")).to_contain_text(re.compile(r"Not delivered, after \d+ ms\. The receiver "))
    page.locator("summary", has_text="Delete").click()
    page.get_by_role("button", name="Yes, delete").click()
    expect(page.get_by_role("status")).to_contain_text("The webhook is deleted.")


# --- looks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [{}, {"color_scheme": "dark"}, PHONES], ids=["light", "dark", "phone"])
def test_every_page_is_accessible_and_fits_the_window(
    browser: Browser, owner_server: ServerProcess, window: dict[str, Any]
) -> None:
    url = "http://127.0.0.1:9/" + "a-long-path-without-any-space-in-it/" * 6
    with visitor(browser, **window) as person:
        page = person.page
        page.goto(f"{owner_server.url}/login")
        assert_fits(page)
        page.get_by_label("Email address").fill("x" * 80)
        page.get_by_label("Password").fill("x")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_be_visible()
        assert_fits(page)
        sign_in(page, owner_server)
        page.goto(f"{owner_server.url}/account")
        page.get_by_label("Name of a new key").fill("W" * 120)
        page.get_by_role("button", name="Create API key").click()
        expect(page.locator("#secret")).to_be_visible()
        page.wait_for_load_state("domcontentloaded")
        for place in page.locator("summary").all():
            place.click()
        assert_fits(page)
        page.goto(f"{owner_server.url}/webhooks?file=00000000-0000-4000-8000-000000000000")
        page.get_by_label("URL", exact=True).fill(url)
        page.get_by_label("file.viewed").check()
        page.get_by_label("Files", exact=True).select_option("")
        assert_fits(page)
        page.get_by_role("button", name="Create the webhook").click()
        expect(page.locator("#secret")).to_be_visible()
        assert_fits(page)
        page.get_by_role("link", name="Send a test event").click()
        page.get_by_role("button", name="Send a test event").click()
        expect(page.get_by_role("status")).to_contain_text("Not delivered")
        page.locator("summary", has_text="Delete").click()
        assert_fits(page)
        page.get_by_role("button", name="Yes, delete").click()
        assert person.list_origins() == {owner_server.url}


def assert_fits(page: Page) -> None:
    """Assert that the page has no violation and does not scroll horizontally."""
    assert find_violations(page) == []
    wide = "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"
    assert page.evaluate(wide) <= 0, page.url
