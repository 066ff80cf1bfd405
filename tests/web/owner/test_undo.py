"""Undo after files were moved to the trash: a button beside the message, which restores exactly these files."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from tests.support.browsers.forms import Form
from tests.support.browsers.markup import HtmlElement, parse_html
from tests.support.people.cast import World


def upload_files(world: World, *names: str) -> list[dict[str, Any]]:
    return [world.pia.upload(name=f"{name}.pdf") for name in names]


def read_csrf(http: FlaskClient) -> str:
    return parse_html(http.get("/account").text).find_all("input", name="csrf")[0].attrs["value"]


def trash_selected(http: FlaskClient, made: list[dict[str, Any]], query: str = "") -> str:
    """Move the files to the trash in the library; return the URL of the page that follows."""
    form = {"csrf": read_csrf(http), "action": "trash", "file": [each["uuid"] for each in made], "list": query}
    answer = http.post("/files/selected", data=form)
    assert answer.status_code == 303, answer.text
    return answer.headers["Location"]


def undo_and_follow(http: FlaskClient, page_url: str) -> tuple[HtmlElement, TestResponse]:
    """Press Undo on the page, and return the page that follows, with the response to the form."""
    form = Form(http, page_url, "/trash/restore")
    names = [field.attrs["value"] for field in form.node.find_all("input", name="file")]
    answer = http.post(form.action, data={**form.fields, "file": names})
    assert answer.status_code == 303, answer.text
    return parse_html(http.get(answer.headers["Location"]).text), answer


def list_names(world: World) -> list[str]:
    return sorted(row["originalName"] for row in world.pia.get("/api/v1/files").get_json())


def test_undo_restores_the_files_that_were_trashed_and_no_other(world: World, owner_browser: FlaskClient) -> None:
    made = upload_files(world, "a", "b", "c", "d")
    assert world.pia.delete(f"/api/v1/files/{made[3]['uuid']}").status_code == 200
    page_url = trash_selected(owner_browser, made[:2])
    assert list_names(world) == ["c.pdf"]
    page, _ = undo_and_follow(owner_browser, page_url)
    assert page.find_one("p", class_="said").words == "2 files restored."
    assert page.find_all("div", class_="said-undo") == []
    assert list_names(world) == ["a.pdf", "b.pdf", "c.pdf"]
    assert world.http.get(f"/{made[0]['shortId']}").status_code == 200


def test_undo_returns_to_the_list_with_its_search(world: World, owner_browser: FlaskClient) -> None:
    made = upload_files(world, "plan a", "plan b", "other")
    _, answer = undo_and_follow(owner_browser, trash_selected(owner_browser, made[:1], "q=plan&sort=name"))
    target = urlsplit(answer.headers["Location"])
    assert (target.path, parse_qs(target.query)["q"], parse_qs(target.query)["sort"]) == ("/files", ["plan"], ["name"])


def test_a_single_deletion_can_be_undone(world: World, owner_browser: FlaskClient) -> None:
    (made,) = upload_files(world, "a")
    answer = Form(owner_browser, f"/files/{made['uuid']}/delete", f"/files/{made['uuid']}/delete").send()
    assert list_names(world) == []
    undo_and_follow(owner_browser, answer.headers["Location"])
    assert list_names(world) == ["a.pdf"]


def test_a_second_undo_reports_that_the_file_is_not_in_the_trash(world: World, owner_browser: FlaskClient) -> None:
    page_url = trash_selected(owner_browser, upload_files(world, "a"))
    undo_and_follow(owner_browser, page_url)
    page, _ = undo_and_follow(owner_browser, page_url)
    assert page.find_one("p", class_="said").words == "0 files restored, 1 was not in the trash."


def test_undo_without_free_slots_keeps_the_others_in_the_trash(world: World, owner_browser: FlaskClient) -> None:
    page_url = trash_selected(owner_browser, upload_files(world, "a", "b"))
    accounts.set_tier(world.rt, world.pia.email, Plan.FREE)
    upload_files(world, "c", "d")
    page, _ = undo_and_follow(owner_browser, page_url)
    assert page.find_one("p", class_="said").words == (
        "1 file restored, 1 was kept in the trash: all file slots of your plan are used."
    )


def test_a_permanent_deletion_offers_no_undo(world: World, owner_browser: FlaskClient) -> None:
    (made,) = upload_files(world, "a")
    form = {"csrf": read_csrf(owner_browser), "action": "purge", "file": made["uuid"], "confirmed": "on"}
    answer = owner_browser.post("/files/selected", data=form)
    page = parse_html(owner_browser.get(answer.headers["Location"]).text)
    assert page.find_one("p", class_="said").words == "1 file permanently deleted."
    assert "Undo" not in page.words


def test_a_forged_address_offers_no_undo(world: World, owner_browser: FlaskClient) -> None:
    first, second = upload_files(world, "a", "b")
    page_url = trash_selected(owner_browser, [first])
    forged = page_url.replace(first["shortId"], second["shortId"])
    assert forged != page_url
    page = parse_html(owner_browser.get(forged).text)
    assert (page.find_all("p", class_="said"), "Undo" in page.words) == ([], False)


@pytest.mark.parametrize("names", [[], ["../admin"], ["x" * 12 + "/"], [f"{number:012d}" for number in range(201)]])
def test_an_invalid_form_restores_nothing(world: World, owner_browser: FlaskClient, names: list[str]) -> None:
    trash_selected(owner_browser, upload_files(world, "a"))
    answer = owner_browser.post("/trash/restore", data={"csrf": read_csrf(owner_browser), "file": names})
    assert (answer.status_code, list_names(world)) == (400, [])


def test_nobody_restores_the_files_of_others(world: World, owner_browser: FlaskClient) -> None:
    foreign = world.mal.upload(name="foreign.pdf")
    assert world.mal.delete(f"/api/v1/files/{foreign['uuid']}").status_code == 200
    form = {"csrf": read_csrf(owner_browser), "file": foreign["shortId"]}
    answer = owner_browser.post("/trash/restore", data=form)
    assert answer.status_code == 303
    assert world.mal.get("/api/v1/files").get_json() == []
    form["csrf"] = "wrong"
    assert owner_browser.post("/trash/restore", data=form).status_code == 403
