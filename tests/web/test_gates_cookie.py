"""The cookie that binds the ticket of a gate to one browser."""

from typing import Any

import pytest

from tests.support.cast import World
from tests.support.gate_client import GateClient, read_ticket
from tests.support.owner import put_settings


@pytest.fixture
def made(world: World) -> dict[str, Any]:
    """Pia's file, which asks for nothing yet."""
    return world.pia.upload()


def test_who_lost_the_cookie_of_the_gate_enters_with_the_password(world: World, made: dict[str, Any]) -> None:
    """The page stood open for longer than the cookie lives, or the browser kept cookies only afterwards."""
    put_settings(world, made, password="x")
    guest = GateClient(world, made["shortId"], prefix="/embed")
    ticket = read_ticket(guest.open_page())
    guest.http.delete_cookie(f"gate-{made['shortId']}")
    assert guest.submit(ticket=ticket).status_code == 422
    guest.http.delete_cookie(f"gate-{made['shortId']}")
    assert guest.submit("x", ticket=ticket).status_code == 303
    assert guest.is_in()


def test_gates_of_one_browser_share_one_secret_until_an_hour_after_the_last_look(
    world: World, made: dict[str, Any]
) -> None:
    put_settings(world, made, password="x")
    guest = GateClient(world, made["shortId"])
    cookies = [guest.open_page().headers.getlist("Set-Cookie")[-1] for _ in range(2)]
    assert cookies[0].split(";")[0] == cookies[1].split(";")[0] == f"gate-{made['shortId']}={guest.gate_secret()}"
    assert all("Max-Age=3600" in cookie and "HttpOnly" in cookie for cookie in cookies)
    other = GateClient(world, made["shortId"])
    other.open_page()
    assert other.gate_secret() not in (None, guest.gate_secret())
