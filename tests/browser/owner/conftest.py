"""A server whose owner is on Pro, and the library of the signed-in owner in a real browser."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from playwright.sync_api import Browser, Page, expect

from tests.support.browsers.browser import PHONE, Visitor, visitor
from tests.support.documents.pdfs import A4, simple_pdf
from tests.support.servers.server_process import ServerProcess, make_env, run_docshare, run_server

PHONE_OPTIONS: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "user_agent": PHONE,
    "has_touch": True,
    "is_mobile": True,
}
WINDOWS: list[dict[str, Any]] = [{}, {"color_scheme": "dark"}, PHONE_OPTIONS]
LONG_NAME = "Jahresabschlussbericht_und_Lagebericht_der_Gesellschaft_2026_endgueltig_v12.pdf"


@pytest.fixture(scope="module")
def owner_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Yield a server whose owner is on Pro."""
    folder: Path = tmp_path_factory.mktemp("office")
    with run_server(folder, DOCSHARE_TRUSTED_PROXIES="127.0.0.1/32", DOCSHARE_RATE_LIMIT="100000") as running:
        yield running


def sign_in_to_library(person: Visitor, server: ServerProcess) -> Page:
    """Sign in with a one-time link, which redirects to the library."""
    folder = server.data_dir.parent
    made = run_docshare(
        "admin", "--data", str(server.data_dir), "login-link", "owner@example.com", env=make_env(folder), check=True
    )
    found = re.search(r"/login/\S+", made.stdout)
    assert found is not None, made.stdout
    person.page.goto(server.url + found[0])
    person.page.get_by_role("button").click()
    expect(person.page).to_have_url(f"{server.url}/files")
    person.page.wait_for_load_state("load")  # after that, its script is active
    return person.page


@pytest.fixture
def library_page(browser: Browser, owner_server: ServerProcess) -> Iterator[Page]:
    with visitor(browser, permissions=["clipboard-read", "clipboard-write"]) as person:
        yield sign_in_to_library(person, owner_server)
        # The browser logs rejected and aborted requests by itself.
        assert [words for words in person.complaints if not words.startswith("Failed to load resource")] == []
        assert person.list_origins() == {owner_server.url}


def upload(server: ServerProcess, name: str = "report.pdf", **settings: Any) -> str:
    """Upload a document through the API and return its UUID."""
    files = {"file": (name, simple_pdf(pages=3, size=A4))}
    made = requests.post(f"{server.url}/api/v1/files", headers=server.headers, files=files, timeout=30).json()
    if settings:
        changed = requests.put(
            f"{server.url}/api/v1/files/{made['uuid']}/settings", headers=server.headers, json=settings, timeout=30
        )
        assert changed.status_code == 200, changed.text
    return str(made["uuid"])


def get_page_and_window_width(page: Page) -> tuple[int, int]:
    """Return the widths of the page and of its window."""
    whole, window = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    return whole, window
