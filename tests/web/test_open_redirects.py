"""No URL from outside redirects a browser to another site."""

import pytest

from docshare.server.services.accounts import sign_in
from tests.support.outside.oauth_app import REDIRECT, make_app
from tests.support.people.cast import BASE_URL, World

UNTRUSTED_URLS = [
    "//evil.example", "///evil.example", "////evil.example", "/\\evil.example", "\\\\evil.example", "\\/evil.example",
    "/\\/evil.example", "/%5cevil.example", "/%2fevil.example", "/%2f%2fevil.example", "%2f%2fevil.example",
    "https://evil.example", "http://evil.example", "HTTPS://evil.example", "https:evil.example",
    "https:/evil.example",
    "https:///evil.example", "https:\\\\evil.example", "http:\\evil.example", "ftp://evil.example", "javascript:1",
    "JaVaScRiPt:alert(1)", "java\tscript:alert(1)", "\x01javascript:alert(1)", "javascript://127.0.0.1/%0aalert(1)",
    "data:text/html,<script>alert(1)</script>", "vbscript:msgbox(1)", "blob:https://evil.example/x",
    "file:///etc/passwd", "about:blank", "//evil.example/files", "/files@evil.example", "/files.evil.example",
    "/filesystem", "/files/../..//evil.example\\", "//user@evil.example", f"{BASE_URL}@evil.example",
    f"{BASE_URL}.evil.example", f"{BASE_URL}/files", "http://127.0.0.1:8787\\@evil.example", "http://127.0.0.1:9999/",
    "http://localhost:8787/files", "http://2130706433/", "http://0x7f.1/", "http://[::1]/", "http://[::ffff:7f00:1]/",
    "//%65vil.example", "/\t/evil.example", "/\n/evil.example", "/\r\nLocation: //evil.example", "\t//evil.example",
    " //evil.example", "/ /evil.example", "//\u3002evil.example", "/\uff0fevil.example", "\uff0f\uff0fevil.example",
    "//evil\u2024example", "?next=//evil.example", "#//evil.example", "evil.example", "./evil.example",
    "../evil.example", ".//evil.example", "/.//evil.example", ";//evil.example", "/;@evil.example", "//", "/", "",
]  # fmt: skip
NO_LINES = str.maketrans("", "", "\r\n")  # invalid in headers


def test_signing_in_does_not_redirect_to_another_site(world: World) -> None:
    found = {}
    for url in UNTRUSTED_URLS:
        link = sign_in.create_link(world.rt, "pia@example.com").removeprefix(BASE_URL)
        cookie = f"docshare_next={url}".encode().decode("latin-1").translate(NO_LINES)
        answer = world.app.test_client(use_cookies=False).post(link, headers={"Cookie": cookie})
        found[url] = (answer.status_code, answer.headers["Location"])
    assert found == dict.fromkeys(UNTRUSTED_URLS, (303, "/files"))


@pytest.mark.parametrize("wrong", [{}, {"scope": "nonsense"}, {"response_type": "token"}], ids=str)
def test_an_authorization_request_does_not_redirect_to_an_unregistered_url(world: World, wrong: dict[str, str]) -> None:
    app = make_app(world, redirects=(REDIRECT, "http://127.0.0.1/callback"))
    answers = {url: app.owner.get(app.authorize_url(redirect_uri=url, **wrong)) for url in UNTRUSTED_URLS}
    found = {url: (answer.status_code, answer.headers.get("Location")) for url, answer in answers.items()}
    assert found == dict.fromkeys(UNTRUSTED_URLS, (400, None))
