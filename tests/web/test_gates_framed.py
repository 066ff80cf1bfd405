"""The gate inside a frame of another site, where browsers may keep no cookies."""

from typing import Any

import pytest

from tests.support.cast import World
from tests.support.guest import Guest, errors, inputs
from tests.support.owner import put


@pytest.fixture
def made(world: World) -> dict[str, Any]:
    """Pia's file with two views left."""
    made = world.pia.upload()
    put(world, made, viewLimit=2, slug="the-plan")
    return made


def consumed(world: World, made: dict[str, Any]) -> int:
    return int(world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()["viewsConsumed"])


def test_the_gate_can_be_framed_and_passed_inside_the_frame(world: World, made: dict[str, Any]) -> None:
    guest = Guest(world, made["shortId"], prefix="/embed")
    page = guest.looks("?page=2")
    assert "frame-ancestors *" in page.headers["Content-Security-Policy"]
    assert "X-Frame-Options" not in page.headers
    assert f'<a href="/{made["shortId"]}?page=2" target="_blank" rel="noopener">' in page.text
    assert not [name for name, row in inputs(page).items() if "autofocus" in row]
    answer = guest.sends(query="?page=2")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/embed/{made['shortId']}?page=2")
    assert guest.is_in()
    assert consumed(world, made) == 1


def test_a_browser_that_keeps_no_cookies_in_the_frame_takes_no_unit(world: World, made: dict[str, Any]) -> None:
    guest = Guest(world, made["shortId"], prefix="/embed")
    answer = guest.sends()
    assert answer.status_code == 403
    assert "frame-ancestors *" in answer.headers["Content-Security-Policy"]
    assert errors(answer) == {"": "Your browser does not let the document open inside another page."}
    assert answer.text.count("Open in a window of its own") == 1
    assert "<form" not in answer.text
    assert consumed(world, made) == 0


def test_the_gate_alone_in_its_window_cannot_be_framed(world: World, made: dict[str, Any]) -> None:
    page = Guest(world, made["shortId"]).looks()
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert "Open in a window of its own" not in page.text
    assert not page.headers.getlist("Set-Cookie")


def test_no_frame_is_entered_by_a_slug(world: World, made: dict[str, Any]) -> None:
    guest = Guest(world, "the-plan", prefix="/embed")
    assert guest.looks().status_code == 404
    assert guest.sends().status_code == 404
    assert consumed(world, made) == 0


def test_over_https_the_cookies_belong_to_the_site_around_and_this_one(make: Any) -> None:
    world = make(base_url="https://docs.example.com")
    made = world.pia.upload()
    put(world, made, viewLimit=2)
    guest = Guest(world, made["shortId"], prefix="/embed")
    for cookie in (guest.looks().headers["Set-Cookie"], Guest(world, made["shortId"]).sends().headers["Set-Cookie"]):
        for word in ("Secure", "HttpOnly", "SameSite=None", "Partitioned"):
            assert f"; {word}" in cookie
