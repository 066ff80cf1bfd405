"""The cookie that binds the ticket of a gate to one browser."""

from typing import Any

from tests.support.owner.browser import put_settings
from tests.support.people.cast import World
from tests.support.people.gate_client import GateClient, read_ticket


def test_a_reader_without_the_gate_cookie_can_still_enter_the_password(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    """The page was open for longer than the cookie lives, or the browser accepted cookies only afterwards."""
    put_settings(world, uploaded_file, password="x")
    guest = GateClient(world, uploaded_file["shortId"], prefix="/embed")
    ticket = read_ticket(guest.open_page())
    guest.http.delete_cookie(f"gate-{uploaded_file['shortId']}")
    assert guest.submit(ticket=ticket).status_code == 422
    guest.http.delete_cookie(f"gate-{uploaded_file['shortId']}")
    assert guest.submit("x", ticket=ticket).status_code == 303
    assert guest.is_in()


def test_the_gate_cookie_of_a_browser_is_reused_and_renewed_for_an_hour(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    put_settings(world, uploaded_file, password="x")
    guest = GateClient(world, uploaded_file["shortId"])
    cookies = [guest.open_page().headers.getlist("Set-Cookie")[-1] for _ in range(2)]
    assert (
        cookies[0].split(";")[0] == cookies[1].split(";")[0] == f"gate-{uploaded_file['shortId']}={guest.gate_secret()}"
    )
    assert all("Max-Age=3600" in cookie and "HttpOnly" in cookie for cookie in cookies)
    other = GateClient(world, uploaded_file["shortId"])
    other.open_page()
    assert other.gate_secret() not in (None, guest.gate_secret())
