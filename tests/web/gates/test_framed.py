"""The gate inside a frame of another site, and in browsers that block cookies."""

from typing import Any

import pytest

from docshare.server.web.assets import asset_url
from tests.support.engines.rows import count_rows
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World
from tests.support.people.gate_client import GateClient, parse_errors, parse_inputs, read_ticket

BLOCKED = "Your browser blocks cookies inside this page, so the document cannot open here."


pytestmark = pytest.mark.file_settings(viewLimit=2, slug="the-plan")


def count_consumed_views(world: World, made: dict[str, Any]) -> int:
    return int(world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()["viewsConsumed"])


def test_the_gate_can_be_framed_and_passed_inside_the_frame(world: World, uploaded_file: dict[str, Any]) -> None:
    guest = GateClient(world, uploaded_file["shortId"], prefix="/embed")
    page = guest.open_page("?page=2")
    assert "frame-ancestors *" in page.headers["Content-Security-Policy"]
    assert "X-Frame-Options" not in page.headers
    assert f'<a href="/{uploaded_file["shortId"]}?page=2" target="_blank" rel="noopener">' in page.text
    assert not [name for name, row in parse_inputs(page).items() if "autofocus" in row]
    answer = guest.submit(query="?page=2")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/embed/{uploaded_file['shortId']}?page=2")
    assert guest.is_in()
    assert count_consumed_views(world, uploaded_file) == 1


def test_a_framed_browser_without_cookies_consumes_no_view(world: World, uploaded_file: dict[str, Any]) -> None:
    guest = GateClient(world, uploaded_file["shortId"], prefix="/embed", cookies=False)
    guest.open_page()
    answer = guest.submit()
    assert answer.status_code == 403
    assert "frame-ancestors *" in answer.headers["Content-Security-Policy"]
    assert parse_errors(answer) == {"": BLOCKED}
    assert answer.text.count("Open in a new tab") == 1
    assert "<form" not in answer.text
    assert count_consumed_views(world, uploaded_file) == 0


def test_a_framed_gate_lets_a_script_try_cookies_unless_they_are_known_to_work(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    known = GateClient(world, uploaded_file["shortId"], prefix="/embed").open_page().text
    assert ("gate.js" in known, "data-trial" in known, 'id="blocked"' in known) == (False, False, False)
    page = GateClient(world, uploaded_file["shortId"], prefix="/embed", cookies=False).open_page()
    assert asset_url("gate.js") in page.text
    assert 'data-trial="viewer-script=1; Path=/; SameSite=Lax"' in page.text
    assert (
        f'<div class="gate" id="blocked" hidden>\n    <p class="gate-trouble" role="alert">{BLOCKED}</p>' in page.text
    )
    assert "script-src 'self';" in page.headers["Content-Security-Policy"]


def test_without_scripts_a_framed_gate_shows_its_form_and_the_link(world: World, uploaded_file: dict[str, Any]) -> None:
    page = GateClient(world, uploaded_file["shortId"], prefix="/embed", cookies=False).open_page().text
    assert f'<form class="gate" method="post" action="/embed/{uploaded_file["shortId"]}/enter"' in page
    link = f'<a href="/{uploaded_file["shortId"]}" target="_blank" rel="noopener">'
    assert f'<p class="gate-alone" id="alone">{link}' in page


def test_a_gate_outside_a_frame_has_no_script(world: World, uploaded_file: dict[str, Any]) -> None:
    page = GateClient(world, uploaded_file["shortId"], cookies=False).open_page().text
    assert "<script" not in page
    assert "data-trial" not in page


def test_the_unframed_gate_page_cannot_be_framed(world: World, uploaded_file: dict[str, Any]) -> None:
    page = GateClient(world, uploaded_file["shortId"]).open_page()
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert "Open in a new tab" not in page.text


def test_a_browser_without_cookies_consumes_no_view_and_stores_nothing(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    put_settings(world, uploaded_file, gateFields=[{"key": "mail", "label": "Mail", "type": "email", "required": True}])
    guest = GateClient(world, uploaded_file["shortId"], cookies=False)
    page = guest.open_page()
    assert page.headers["Set-Cookie"] == "viewer-cookies=1; HttpOnly; Path=/; SameSite=Lax"
    answer = guest.submit(ticket=read_ticket(page), mail="ann@a.example")
    message = "Your browser blocks cookies for this site. Allow them and try again."
    assert (answer.status_code, parse_errors(answer)) == (403, {"": message})
    assert parse_inputs(answer)["field-mail"]["value"] == "ann@a.example"
    assert count_consumed_views(world, uploaded_file) == 0
    assert world.pia.get("/api/v1/gate-responses").get_json() == []
    assert (count_rows(world, "viewers"), count_rows(world, "activity_rows")) == (0, 0)


def test_after_allowing_cookies_the_same_form_passes_the_gate(world: World, uploaded_file: dict[str, Any]) -> None:
    refused = GateClient(world, uploaded_file["shortId"], cookies=False).submit()
    allowed = GateClient(world, uploaded_file["shortId"])
    assert allowed.submit(ticket=read_ticket(refused)).status_code == 303
    assert allowed.is_in()
    assert count_consumed_views(world, uploaded_file) == 1


def test_the_embed_gate_does_not_accept_a_slug(world: World, uploaded_file: dict[str, Any]) -> None:
    guest = GateClient(world, "the-plan", prefix="/embed")
    assert guest.open_page().status_code == 404
    assert guest.submit().status_code == 404
    assert count_consumed_views(world, uploaded_file) == 0


def test_over_https_the_cookies_are_partitioned_and_host_only(make: Any) -> None:
    world = make(base_url="https://docs.example.com")
    made = world.pia.upload()
    put_settings(world, made, viewLimit=2)
    guest = GateClient(world, made["shortId"], prefix="/embed", cookies=False)
    page = guest.open_page()
    trial = "__Host-viewer-script=1; Secure; Path=/; SameSite=None; Partitioned"
    assert f'data-trial="{trial}"' in page.text
    shown, entered = page.headers, GateClient(world, made["shortId"]).submit().headers
    cookies = [*shown.getlist("Set-Cookie"), *entered.getlist("Set-Cookie")]
    kinds = [cookie.split("-")[:2] for cookie in cookies]
    assert kinds == [["__Host", "viewer"], ["__Host", "gate"], ["__Host", "viewer"]]
    for cookie in cookies:
        assert "; Path=/;" in cookie
        assert "Domain" not in cookie
        for word in ("Secure", "HttpOnly", "SameSite=None", "Partitioned"):
            assert f"; {word}" in cookie
