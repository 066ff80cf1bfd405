"""Pages that cannot be framed because of the risk of clickjacking."""

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from urllib.parse import urlencode, urlsplit

import pytest
import requests
from playwright.sync_api import Browser

from tests.browser.conftest import ShareDocument
from tests.support.browsers.browser import Visitor, visitor
from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.framing_page import serve_framing_page
from tests.support.servers.server_process import ServerProcess, make_env, run_docshare

OWNER_PATHS = ["/login", "/files", "/trash", "/webhooks", "/account", "/dashboard", "/"]
CONSENT = "/oauth/authorize?" + urlencode(
    {
        "response_type": "code",
        "client_id": "docshare-cli",
        "redirect_uri": "http://127.0.0.1:5555/callback",
        "scope": "files:read",
        "state": "st4te",
        "code_challenge": urlsafe_b64encode(hashlib.sha256(b"v" * 43).digest()).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
    }
)


@pytest.fixture(scope="module")
def owner(browser: Browser, server: ServerProcess) -> Iterator[Visitor]:
    """Yield the owner, signed in."""
    link = ["admin", "--data", str(server.data_dir), "login-link", "owner@example.com"]
    url = run_docshare(*link, env=make_env(server.data_dir.parent)).stdout.strip()
    with visitor(browser) as person:
        person.page.goto(server.url + urlsplit(url).path)
        person.page.get_by_role("button", name="Sign in").click()
        person.page.wait_for_url("**/files")
        yield person


def assert_frame_blocked(person: Visitor, address: str, host: str) -> None:
    """Assert that the browser does not show ``address`` in a frame of ``host`` and logs the reason."""
    with serve_framing_page(address, host) as elsewhere:
        with person.page.expect_console_message(lambda message: "frame-ancestors" in message.text):
            person.page.goto(elsewhere)
        while [frame.url for frame in person.page.frames[1:]] != ["chrome-error://chromewebdata/"]:
            person.page.wait_for_timeout(50)  # the frame moves to another process with an error page


def is_opened(person: Visitor, address: str) -> bool:
    answer = person.page.goto(address)
    return answer is not None and answer.status == 200


# The session cookie is sent in a frame of another port, but not in one of another site.
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"], ids=["another port", "another site"])
@pytest.mark.parametrize("path", [*OWNER_PATHS, CONSENT], ids=lambda path: path.partition("?")[0])
def test_owner_pages_cannot_be_framed(owner: Visitor, server: ServerProcess, path: str, host: str) -> None:
    assert is_opened(owner, server.url + path)
    assert_frame_blocked(owner, server.url + path, host)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"], ids=["another port", "another site"])
def test_share_pages_reports_and_file_pages_cannot_be_framed(
    owner: Visitor, server: ServerProcess, share: ShareDocument, host: str
) -> None:
    url = share(simple_pdf(pages=2))
    short_id = url.rpartition("/")[2]
    uuid = requests.get(f"{server.url}/api/v1/files/{short_id}", headers=server.headers, timeout=30).json()["uuid"]
    for address in (url, f"{server.url}/readership/{uuid}", f"{server.url}/files/{uuid}"):
        assert is_opened(owner, address), address
        assert_frame_blocked(owner, address, host)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"], ids=["another port", "another site"])
def test_sign_in_links_cannot_be_framed(browser: Browser, server: ServerProcess, host: str) -> None:
    link = ["admin", "--data", str(server.data_dir), "login-link", "owner@example.com"]
    url = run_docshare(*link, env=make_env(server.data_dir.parent)).stdout.strip()
    with visitor(browser) as person:
        assert is_opened(person, url)
        assert_frame_blocked(person, url, host)
