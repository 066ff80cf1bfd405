"""The preview of an appearance that is not saved yet, in a real browser."""

from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.owner.conftest import PHONE_OPTIONS, WINDOWS, sign_in_to_library, upload
from tests.support.browsers.axe import find_violations
from tests.support.browsers.browser import visitor
from tests.support.servers.server_process import ServerProcess


@pytest.mark.parametrize("window", WINDOWS, ids=["desktop", "dark", "phone"])
def test_the_preview_follows_the_form_and_waits_for_a_correction(
    browser: Browser, owner_server: ServerProcess, window: dict[str, Any]
) -> None:
    file = upload(owner_server)
    with visitor(browser, **window) as owner:
        page = sign_in_to_library(owner, owner_server)
        page.goto(f"{owner_server.url}/files/{file}/looks")
        frame = page.frame_locator(".looks-frame:not(.is-loading)")
        expect(frame.locator(".page.is-ready").first).to_be_visible()
        page.locator("[name=viewerMode]").select_option("swipe")
        expect(page.get_by_role("status").filter(has_text="not saved yet")).to_be_visible()
        expect(frame.locator("#pages[data-mode=swipe]")).to_be_attached()
        link = page.locator("[name='viewerSettings.cta.url']")
        page.locator("[name='viewerSettings.cta.label']").fill("Buy")
        link.fill("http://example.com")
        expect(page.locator(".field-error")).to_contain_text("It must be an https:// address")
        expect(link).to_have_attribute("aria-invalid", "true")
        link.fill("https://example.com")
        expect(page.locator(".field-error")).to_have_count(0)
        assert find_violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert owner.complaints == []
        assert owner.list_origins() == {owner_server.url}


def test_the_chosen_preset_is_marked_until_one_of_its_values_is_changed(
    browser: Browser, owner_server: ServerProcess
) -> None:
    file = upload(owner_server)
    with visitor(browser) as owner:
        page = sign_in_to_library(owner, owner_server)
        page.goto(f"{owner_server.url}/files/{file}/looks")
        presets = page.get_by_role("group", name="Start from a preset")
        pressed = presets.get_by_role("button", pressed=True)
        expect(pressed).to_have_text(["Plain"])
        presets.get_by_role("button", name="Warm paper").click()
        expect(pressed).to_have_text(["Warm paper"])
        expect(presets.get_by_text("Chosen: Warm paper.")).to_be_visible()
        page.get_by_label("Rounded corners").fill("3")
        expect(pressed).to_have_count(0)
        expect(presets.get_by_text("Chosen: none; these are your own values.")).to_be_visible()


def test_a_field_without_effect_is_hidden(browser: Browser, owner_server: ServerProcess) -> None:
    file = upload(owner_server)
    with visitor(browser, **PHONE_OPTIONS) as owner:
        page = sign_in_to_library(owner, owner_server)
        page.goto(f"{owner_server.url}/files/{file}/looks")
        color = page.locator("[name='viewerSettings.background.color']")
        expect(color).to_be_visible()
        page.locator("[name='viewerSettings.background.type']").select_option("gradient")
        expect(color).to_be_hidden()
        expect(page.locator("[name='viewerSettings.background.preset']")).to_be_visible()
        expect(page.get_by_label("Corner", exact=True)).to_be_hidden()  # of a logo, which is not chosen
        expect(page.get_by_role("heading", name="Watermark")).to_be_hidden()
        button = page.get_by_role("region", name="Button")
        expect(button.get_by_label("Position")).to_be_hidden()
        button.get_by_label("Button label").fill("Buy")
        expect(button.get_by_label("Position")).to_be_visible()
        color = button.get_by_label("Color")
        color.fill("red")
        expect(color).to_have_attribute("aria-invalid", "true")
        button.get_by_label("Button label").fill("")
        expect(color).to_be_visible()  # until it is corrected
        color.fill("")
        expect(color).to_be_hidden()
        with page.expect_response("**/looks"):
            page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Saved.")).to_be_visible()


def test_the_style_of_a_watermark_is_offered_while_there_is_one(browser: Browser, owner_server: ServerProcess) -> None:
    file = upload(owner_server, watermark=True)
    with visitor(browser) as owner:
        page = sign_in_to_library(owner, owner_server)
        page.goto(f"{owner_server.url}/files/{file}/looks")
        section = page.get_by_role("region", name="Watermark")
        expect(section.get_by_label("Opacity")).to_be_visible()
        expect(page.get_by_text("Default:")).to_have_count(0)
        section.get_by_label("Density").select_option("dense")
        page.get_by_role("button", name="Save").click()
        expect(section.get_by_text("Default: normal.")).to_be_visible()
