"""``/docs``: the manual to signed-in owners, or to everybody if the operator allows that."""

from collections.abc import Callable

import pytest

from tests.support.engines.rows import update_file_row
from tests.support.owner.browser import sign_in_browser
from tests.support.people.cast import World


def test_a_signed_in_owner_reads_the_manual(world: World) -> None:
    browser = sign_in_browser(world, world.pia)
    first = browser.get("/docs")
    assert (first.status_code, first.headers["Location"]) == (302, "/docs/")
    start = browser.get("/docs/")
    assert start.status_code == 200
    assert 'href="topics/webhooks.html"' in start.text
    assert browser.get("/docs/commands/docshare-files-list.html").status_code == 200
    missing = browser.get("/docs/topics/nothing.html")
    assert (missing.status_code, missing.mimetype) == (404, "text/html")


def test_a_stranger_is_asked_to_sign_in_and_returns_to_the_page(world: World) -> None:
    for path in ("/docs", "/docs/", "/docs/topics/plans.html", "/docs/nothing"):
        answer = world.http.get(path)
        assert answer.status_code == 403, path
        assert "docshare help" not in answer.text
        assert "docshare_next=" in answer.headers["Set-Cookie"]


def test_with_public_docs_everybody_reads_them_compressed_and_revalidates(make: Callable[..., World]) -> None:
    world = make(public_docs=True)
    answer = world.http.get("/docs/topics/plans.html", headers={"Accept-Encoding": "gzip"})
    assert (answer.status_code, answer.headers["Content-Encoding"]) == (200, "gzip")
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    known = {"Accept-Encoding": "gzip", "If-None-Match": answer.headers["ETag"]}
    assert world.http.get("/docs/topics/plans.html", headers=known).status_code == 304
    assert world.http.get("/docs/nothing").status_code == 404


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("assets/search.js", "text/javascript; charset=utf-8"),
        ("assets/search-index.js", "text/javascript; charset=utf-8"),
        ("assets/design.css", "text/css; charset=utf-8"),
        ("assets/fonts/inter-latin.woff2", "font/woff2"),
    ],
)
def test_the_files_of_the_manual_have_their_type(make: Callable[..., World], path: str, kind: str) -> None:
    answer = make(public_docs=True).http.get(f"/docs/{path}")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, kind)


def test_a_link_that_was_called_docs_before_still_opens(world: World) -> None:
    made = world.pia.upload()
    update_file_row(world, made["uuid"], slug="docs")
    assert world.http.get("/docs").status_code == 200
    assert world.pia.put(f"/api/v1/files/{made['uuid']}/settings", json={"slug": "docs"}).status_code == 400
