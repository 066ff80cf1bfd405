"""The name and the logo of the sender, on the gate of a link and on the page of a link that has ended."""

import io
from typing import Any

import pytest

from docshare.server import admin
from docshare.server.services.accounts import accounts
from tests.support.browsers.markup import HtmlElement, parse_html
from tests.support.documents.images import make_picture
from tests.support.documents.pdfs import simple_pdf
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World

NAME = "Pia <i>& partners"


@pytest.fixture
def uploaded_file(world: World) -> dict[str, Any]:
    """Return a document behind a password, with a logo, of an account whose owner has set a name."""
    accounts.rename_by_email(world.rt, world.pia.email, NAME)
    made = world.pia.upload(simple_pdf(pages=3), "Secret plan.pdf")
    data = {"file": (io.BytesIO(make_picture()), "logo.png"), "kind": "logo"}
    asset = world.pia.post(f"/api/v1/files/{made['uuid']}/assets", data=data).get_json()["assetId"]
    put_settings(world, made, password="open sesame", viewerSettings={"logo": {"assetId": asset}}, slug="plan")
    return made


def find_senders(world: World, name: str) -> list[HtmlElement]:
    return parse_html(world.http.get(f"/{name}").text).find_all("div", class_="sender")


def list_link_names(world: World, made: dict[str, Any]) -> list[str]:
    path = f"/api/v1/files/{made['uuid']}"
    variant = world.pia.post(f"{path}/variants").get_json()
    invite = world.pia.post(f"{path}/invites", json={"email": "ivy@example.com", "mail": False}).get_json()
    return [made["shortId"], made["uuid"], "plan", variant["shortId"], invite["url"].rpartition("/")[2]]


def test_the_gate_of_every_link_shows_the_sender(world: World, uploaded_file: dict[str, Any]) -> None:
    for name in list_link_names(world, uploaded_file):
        for path in (name, f"embed/{name}"):
            if path == "embed/plan":
                continue  # a page inside a frame never has a slug
            (sender,) = find_senders(world, path)
            assert sender.words == f"Shared by {NAME}"
            logo = sender.find_one("img").attrs
            with world.http.get(logo["src"], buffered=True) as answer:
                assert (answer.status_code, answer.mimetype) == (200, "image/png")
                assert "Set-Cookie" not in answer.headers
                assert answer.headers["Cache-Control"] == "private, max-age=600"


def test_a_former_address_does_not_become_the_sender(world: World, uploaded_file: dict[str, Any]) -> None:
    accounts.rename_by_email(world.rt, world.pia.email, world.pia.email.partition("@")[0])
    accounts.set_email(world.rt, world.pia.email, "office@example.com")
    (sender,) = find_senders(world, "plan")
    assert (sender.words, len(sender.find_all("img"))) == ("", 1)
    assert world.pia.get("/api/v1/user").get_json()["name"] == "office"
    accounts.rename_by_email(world.rt, "office@example.com", NAME)
    accounts.set_email(world.rt, "office@example.com", "pia@example.org")
    assert find_senders(world, "plan")[0].words == f"Shared by {NAME}"


@pytest.mark.parametrize(("ended", "title"), [("deleteAt", "has expired"), ("burned_at", "has been used up")])
def test_the_page_of_an_ended_link_names_whom_to_ask(
    world: World, uploaded_file: dict[str, Any], ended: str, title: str
) -> None:
    if ended == "deleteAt":
        put_settings(world, uploaded_file, deleteAt="2031-01-01T00:00:00Z")
        world.clock.advance(days=365 * 6)
    else:
        put_settings(world, uploaded_file, password="", viewLimit=1)
        form = parse_html(world.http.get("/plan").text)
        ticket = form.find_one("input", name="ticket").attrs["value"]
        assert world.http.post("/plan/enter", data={"ticket": ticket}).status_code == 303
        world.http = world.app.test_client()
    page = world.http.get("/plan")
    assert (page.status_code, title in page.text) == (410, True)
    (sender,) = find_senders(world, "plan")
    assert sender.words == f"Shared by {NAME}"
    assert f"ask {NAME} for a new link." in parse_html(page.text).find_one("p", class_="sheet-hint").words


def test_the_page_of_an_empty_range_names_the_sender(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, pageRange={"from": 3, "to": 3})
    world.pia.replace(uploaded_file["uuid"], simple_pdf(pages=1), "short.pdf")
    (sender,) = find_senders(world, "plan")
    assert sender.words == f"Shared by {NAME}"


def is_sender_shown(world: World, name: str) -> bool:
    with world.http.get(f"/{name}/logo", buffered=True) as answer:
        logo = answer.status_code == 200
    page = world.http.get(f"/{name}").text
    assert logo == ("/logo" in page)
    return logo or "Pia" in page


def test_a_hidden_sender_is_shown_nowhere(world: World, uploaded_file: dict[str, Any]) -> None:
    assert is_sender_shown(world, "plan")
    put_settings(world, uploaded_file, showSender=False)
    assert not is_sender_shown(world, "plan")
    put_settings(world, uploaded_file, deleteAt="2031-01-01T00:00:00Z")
    world.clock.advance(days=365 * 6)
    assert not is_sender_shown(world, "plan")


def test_a_frozen_a_trashed_and_an_unknown_link_have_no_sender(world: World, uploaded_file: dict[str, Any]) -> None:
    admin.run_command(world.rt, "freeze", {"file": uploaded_file["shortId"]})
    assert not is_sender_shown(world, "plan")
    assert not is_sender_shown(world, "nowhere")
    admin.run_command(world.rt, "unfreeze", {"file": uploaded_file["shortId"]})
    assert is_sender_shown(world, "plan")
    assert world.pia.delete(f"/api/v1/files/{uploaded_file['uuid']}").status_code == 200
    assert not is_sender_shown(world, "plan")
    unknown, trashed = (world.http.get(f"/{name}/logo") for name in ("nowhere", "plan"))
    assert (trashed.status_code, trashed.text) == (unknown.status_code, unknown.text)


@pytest.mark.parametrize("name", ["pia", "Owner"])
def test_a_name_that_nobody_chose_is_not_shown(world: World, uploaded_file: dict[str, Any], name: str) -> None:
    accounts.rename_by_email(world.rt, world.pia.email, name)
    (sender,) = find_senders(world, "plan")
    assert sender.words == ""
    assert sender.find_all("img")


def test_the_logo_requires_its_plan(world: World, uploaded_file: dict[str, Any]) -> None:
    admin.run_command(world.rt, "account set-tier", {"email": world.pia.email, "tier": "free"})
    (sender,) = find_senders(world, "plan")
    assert not sender.find_all("img")
    assert world.http.get("/plan/logo").status_code == 404
