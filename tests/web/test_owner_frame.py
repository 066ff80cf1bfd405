"""What all pages of an owner share: who may see them, and what they say after a form."""

import pytest

from tests.support.cast import World
from tests.support.owner import sign_in_browser

OWNER_PATHS = ["/files", "/trash", "/webhooks", "/account"]


@pytest.mark.parametrize("path", OWNER_PATHS)
def test_who_is_not_signed_in_is_asked_to_and_comes_back(world: World, path: str) -> None:
    answer = world.http.get(f"{path}?q=x")
    assert answer.status_code == 403
    assert answer.headers["Set-Cookie"].startswith(f"docshare_next={path}?q=x;")
    assert "/login" in answer.text


@pytest.mark.parametrize("path", OWNER_PATHS)
def test_an_address_that_somebody_made_up_puts_no_words_on_a_page(world: World, path: str) -> None:
    http = sign_in_browser(world, world.pia)
    for tail in ("", "&by=", "&by=" + "0" * 24, "&by=%ff"):
        page = http.get(f"{path}?done=Your account is locked, call 555{tail}")
        assert page.status_code == 200
        assert "555" not in page.text


def test_what_a_form_did_is_said_on_the_page_it_leads_to_and_in_no_other_session(world: World) -> None:
    http = sign_in_browser(world, world.pia)
    csrf = http.get("/account").text.split('name="csrf" value="')[1].split('"')[0]
    answer = http.post("/account/name", data={"csrf": csrf, "name": "Pia Lee"})
    assert answer.status_code == 303
    place = answer.headers["Location"]
    assert 'role="status"' in http.get(place).text
    assert 'role="status"' not in sign_in_browser(world, world.mal).get(place).text
