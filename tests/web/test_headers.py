"""The security headers of every response that a browser opens."""

import re

import pytest

from docshare.server.web import derived
from tests.support.engines.rows import update_file_row
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; media-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; "
    "trusted-types 'none'; frame-ancestors "
)
UNFRAMED_POLICY = POLICY + "'none'"
FRAMED_POLICY = POLICY + "*"
NO_STORE = "private, no-store"
RECHECKED = "private, no-cache"
TEN_MINUTES = "private, max-age=600"
IMMUTABLE = "public, max-age=31536000, immutable"

# address -> status, type, policy, X-Frame-Options, Cache-Control
MATRIX = {
    "/": (200, "text/html", UNFRAMED_POLICY, "DENY", NO_STORE),
    "/{live}": (200, "text/html", UNFRAMED_POLICY, "DENY", RECHECKED),
    "/embed/{live}": (200, "text/html", FRAMED_POLICY, None, RECHECKED),
    "/{gated}": (200, "text/html", UNFRAMED_POLICY, "DENY", NO_STORE),
    "/{live}/pages/1-800.jpg?v=1": (200, "image/jpeg", UNFRAMED_POLICY, "DENY", TEN_MINUTES),
    "/{live}/tiles/1/400/0-0.jpg?v=1": (200, "image/jpeg", UNFRAMED_POLICY, "DENY", TEN_MINUTES),
    "/{live}/tiles/1/401/0-0.jpg?v=1": (404, "text/plain", UNFRAMED_POLICY, "DENY", NO_STORE),
    "/{live}/text/1.json?v=1": (200, "application/json", UNFRAMED_POLICY, "DENY", TEN_MINUTES),
    "/{live}/outline.json?v=1": (200, "application/json", UNFRAMED_POLICY, "DENY", TEN_MINUTES),
    "/{live}/outline.json?v=2": (404, "text/plain", UNFRAMED_POLICY, "DENY", NO_STORE),
    "/{live}/pages/1-240.jpg?v=1": (200, "image/jpeg", UNFRAMED_POLICY, "DENY", TEN_MINUTES),
    "/{live}/search?v=1&q=page": (200, "application/json", UNFRAMED_POLICY, "DENY", "private, no-store"),
    "/{live}/pages/9-800.jpg?v=1": (404, "text/plain", UNFRAMED_POLICY, "DENY", NO_STORE),
    "/{dead}": (410, "text/html", UNFRAMED_POLICY, "DENY", NO_STORE),
    "/embed/{dead}": (410, "text/html", FRAMED_POLICY, None, NO_STORE),
    "/{dead}/pages/1-800.jpg?v=1": (410, "text/plain", UNFRAMED_POLICY, "DENY", NO_STORE),
    "/nothing": (404, "text/html", UNFRAMED_POLICY, "DENY", NO_STORE),
    "/embed/nothing": (404, "text/html", FRAMED_POLICY, None, NO_STORE),
    "/no/such/place": (404, "text/plain", UNFRAMED_POLICY, "DENY", NO_STORE),
    "/static/{mark}/viewer/main.js": (200, "text/javascript", UNFRAMED_POLICY, "DENY", IMMUTABLE),
    "/static/{mark}/design.css": (200, "text/css", UNFRAMED_POLICY, "DENY", IMMUTABLE),
    "/static/{mark}/icons.svg": (200, "image/svg+xml", UNFRAMED_POLICY, "DENY", IMMUTABLE),
    "/static/{mark}/fonts/inter-latin.woff2": (200, "font/woff2", UNFRAMED_POLICY, "DENY", IMMUTABLE),
    "/static/0123456789abcdef/design.css": (
        200,
        "text/css",
        UNFRAMED_POLICY,
        "DENY",
        "public, max-age=0, must-revalidate",
    ),
    "/static/{mark}/nothing.css": (404, "text/plain", UNFRAMED_POLICY, "DENY", NO_STORE),
    "/static/{mark}/../public.py": (404, "text/plain", UNFRAMED_POLICY, "DENY", NO_STORE),
    "/static/{mark}/%2e%2e/public.py": (404, "text/plain", UNFRAMED_POLICY, "DENY", NO_STORE),
}


@pytest.fixture
def names(world: World) -> dict[str, str]:
    live, dead = world.pia.upload(), world.pia.upload()
    update_file_row(world, dead["uuid"], delete_at=world.clock.now)
    mark = re.search(r"/static/([0-9a-f]{16})/", world.http.get("/").text)
    assert mark is not None
    gated = world.pia.upload()
    put_settings(world, gated, password="open sesame")
    return {"live": live["shortId"], "dead": dead["shortId"], "gated": gated["shortId"], "mark": mark[1]}


@pytest.mark.parametrize("address", MATRIX)
def test_response_has_the_expected_headers(world: World, names: dict[str, str], address: str) -> None:
    status, mimetype, policy, frame_options, caching = MATRIX[address]
    answer = world.http.get(address.format(**names), buffered=True)
    headers = answer.headers
    assert (answer.status_code, answer.mimetype) == (status, mimetype)
    assert headers["Content-Security-Policy"] == policy
    assert headers.get("X-Frame-Options") == frame_options
    assert headers["Cache-Control"] == caching
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Robots-Tag"] == "noindex, nofollow"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    is_static = status == 200 and address.startswith("/static/")
    is_for_all = is_static or policy == FRAMED_POLICY
    assert headers["Cross-Origin-Resource-Policy"] == ("cross-origin" if is_for_all else "same-origin")
    # Scripts and fonts of a page in a sandboxed frame, which has an origin of its own.
    assert headers.get("Access-Control-Allow-Origin") == ("*" if is_static else None)
    assert "camera=()" in headers["Permissions-Policy"]
    assert ("Set-Cookie" in headers) == (address == "/{gated}")
    varies = {part.strip() for part in headers.get("Vary", "").split(",")}
    assert varies >= {"Authorization", "Cookie"} or caching.startswith("public")


def test_a_cached_page_image_is_revalidated_with_304(world: World, names: dict[str, str]) -> None:
    path = f"/{names['live']}/pages/1-800.jpg?v=1"
    tag = world.http.get(path, buffered=True).headers["ETag"]
    again = world.http.get(path, headers={"If-None-Match": tag}, buffered=True)
    assert (again.status_code, again.data) == (304, b"")


@pytest.mark.parametrize("read_whole", [0, 1 << 20])
def test_a_page_image_is_identical_whether_buffered_or_streamed(
    world: World, monkeypatch: pytest.MonkeyPatch, read_whole: int
) -> None:
    monkeypatch.setattr(derived, "_MAX_BUFFERED_BYTES", read_whole)
    path = f"/{world.pia.upload()['shortId']}/pages/1-800.jpg?v=1"
    answer = world.http.get(path, buffered=True)
    assert answer.data.startswith(b"\xff\xd8\xff")
    assert answer.data.endswith(b"\xff\xd9")
    assert answer.headers["Content-Length"] == str(len(answer.data))
    head = world.http.head(path, buffered=True)
    assert (head.data, head.headers["Content-Length"]) == (b"", str(len(answer.data)))
    tag = {"If-None-Match": answer.headers["ETag"]}
    assert world.http.get(path, headers=tag, buffered=True).status_code == 304
    assert world.http.get(path, headers={"If-None-Match": '"other"'}, buffered=True).status_code == 200
