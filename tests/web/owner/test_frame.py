"""Common properties of the owner pages: access, and the message after a form."""

import pytest

from tests.support.owner.browser import sign_in_browser
from tests.support.people.cast import World

OWNER_PATHS = ["/files", "/trash", "/webhooks", "/account", "/readership"]


@pytest.mark.parametrize("path", OWNER_PATHS)
def test_a_signed_out_user_must_sign_in_and_returns_to_the_page(world: World, path: str) -> None:
    answer = world.http.get(f"{path}?q=x")
    assert answer.status_code == 403
    assert answer.headers["Set-Cookie"].startswith(f"docshare_next={path}?q=x;")
    assert "/login" in answer.text


@pytest.mark.parametrize("path", OWNER_PATHS)
def test_the_query_cannot_put_text_on_a_page(world: World, path: str) -> None:
    http = sign_in_browser(world, world.pia)
    for tail in ("", "&by=", "&by=" + "0" * 24, "&by=%ff"):
        page = http.get(f"{path}?done=Your account is locked, call 555{tail}")
        assert page.status_code == 200
        assert "call 555" not in page.text


def test_the_result_of_a_form_is_shown_only_in_its_own_session(world: World) -> None:
    http = sign_in_browser(world, world.pia)
    csrf = http.get("/account").text.split('name="csrf" value="')[1].split('"')[0]
    answer = http.post("/account/name", data={"csrf": csrf, "name": "Pia Lee"})
    assert answer.status_code == 303
    location = answer.headers["Location"]
    assert 'role="status"' in http.get(location).text
    assert 'role="status"' not in sign_in_browser(world, world.mal).get(location).text
