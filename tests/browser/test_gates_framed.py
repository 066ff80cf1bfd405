"""The gate inside a frame of another site over HTTPS: without third-party cookies, and in a sandbox."""

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Frame, expect

from tests.support.browsers.browser import Visitor, desktop_options, save_screenshot
from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.framing_page import find_frame, serve_framing_page
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World
from tests.support.ports import find_free_port
from tests.support.servers.in_process_server import serve_world
from tests.support.servers.tls import make_tls_context, terminate_tls

BLOCKED = "Your browser blocks cookies inside this page, so the document cannot open here."
HOST, ELSEWHERE = "docs.localhost", "blog.localhost"  # two sites: no public suffix has them


@dataclass
class SecureInstance:
    """An instance over HTTPS with a document of Pia behind a password, and a TLS context for other sites."""

    world: World
    made: dict[str, Any]
    url: str
    tls: ssl.SSLContext

    def count_consumed_views(self) -> int:
        return int(self.world.pia.get(f"/api/v1/files/{self.made['uuid']}").get_json()["viewsConsumed"])

    @contextmanager
    def open_frame(
        self, browser: Browser, sandbox: str | None = None, **options: Any
    ) -> Iterator[tuple[Visitor, Frame]]:
        """Yield a reader, and the frame with the gate in a page of another site."""
        embed = f"{self.url}/embed/{self.made['shortId']}"
        # No header is added as for other visitors: with one, scripts of a sandboxed page would need a preflight.
        with (
            serve_framing_page(embed, ELSEWHERE, sandbox=sandbox, tls=self.tls) as address,
            browser.new_context(**desktop_options(), ignore_https_errors=True, **options) as context,
        ):
            person = Visitor(context, context.new_page())
            person.watch()
            block_third_party_cookies(person)
            person.page.goto(address)
            yield person, find_frame(person.page)


def block_third_party_cookies(person: Visitor) -> None:
    """Let the page store no cookies in frames of other sites, except partitioned ones."""
    session = person.context.new_cdp_session(person.page)
    session.send("Network.enable")
    restrictions = ("enableThirdPartyCookieRestriction", "disableThirdPartyCookieMetadata")
    session.send(
        "Network.setCookieControls",
        dict.fromkeys((*restrictions, "disableThirdPartyCookieHeuristics"), True),
    )


@pytest.fixture
def instance(tmp_path: Path, make: Callable[..., World]) -> Iterator[SecureInstance]:
    port = find_free_port()
    url = f"https://{HOST}:{port}"
    world = make(base_url=url)
    made = world.pia.upload(simple_pdf(pages=3), name="Secret plan.pdf")
    put_settings(world, made, password="open sesame", viewLimit=2)
    tls = make_tls_context(tmp_path, HOST)
    with serve_world(world) as upstream, terminate_tls(tls, port, int(upstream.rpartition(":")[2])):
        yield SecureInstance(world, made, url, tls)


def test_the_gate_opens_in_a_frame_without_third_party_cookies(browser: Browser, instance: SecureInstance) -> None:
    with instance.open_frame(browser) as (person, frame):
        expect(frame.get_by_label("Password")).to_be_visible()
        frame.evaluate("document.cookie = 'third-party=1; Secure; Path=/; SameSite=None'")
        assert "third-party" not in frame.evaluate("document.cookie")
        frame.get_by_label("Password").fill("open sesame")
        frame.get_by_role("button", name="Open document").click()
        frame.locator(".pages.is-live .page.is-ready").first.wait_for()
        assert [text for text in person.complaints if "favicon" not in text and "404" not in text] == []
    assert instance.count_consumed_views() == 1


@pytest.mark.parametrize("sandbox", ["allow-scripts allow-forms", "allow-scripts allow-forms allow-popups"])
def test_a_sandboxed_frame_offers_a_new_tab_before_the_form(
    browser: Browser, instance: SecureInstance, sandbox: str
) -> None:
    with instance.open_frame(browser, sandbox) as (person, frame):
        expect(frame.get_by_role("alert")).to_have_text(BLOCKED)
        expect(frame.get_by_label("Password")).to_be_hidden()
        save_screenshot(person.page, "gate-sandboxed")
        way_out = frame.get_by_role("link", name="Open in a new tab")
        expect(way_out).to_have_count(1)
        expect(frame.locator("#blocked")).to_contain_text(f"{instance.url}/{instance.made['shortId']}")
    assert instance.count_consumed_views() == 0


@pytest.mark.parametrize("sandbox", ["allow-forms", "allow-scripts allow-forms"])
def test_a_form_of_a_sandboxed_frame_is_answered_with_the_offer(
    browser: Browser, instance: SecureInstance, sandbox: str
) -> None:
    with instance.open_frame(browser, sandbox, java_script_enabled=False) as (_, frame):
        frame.get_by_label("Password").fill("open sesame")
        frame.get_by_role("button", name="Open document").click()
        expect(frame.get_by_role("alert")).to_have_text(BLOCKED)
        expect(frame.get_by_role("link", name="Open in a new tab")).to_have_count(1)
    assert instance.count_consumed_views() == 0
