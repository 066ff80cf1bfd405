"""Personal links and invitations on the owner's pages of a file."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from docshare.server.services.links import variants
from tests.support.browsers.forms import Form
from tests.support.browsers.markup import parse_html
from tests.support.owner.file import OwnerFile, form_error
from tests.support.people.cast import World


def test_one_link_is_created_per_line(owner_file: OwnerFile) -> None:
    values = {"labels": "Northwind\n\n  Ann Lee \n", "download": "no", "range": "some", "from": "2", "to": "3"}
    assert owner_file.open_form("/links").send_and_follow(values) == "2 links were created."
    overrides = {"allowDownload": False, "pageRange": {"from": 2, "to": 3}}
    assert [(row["label"], row["overrides"]) for row in owner_file.list_variants()] == [
        ("Ann Lee", overrides),
        ("Northwind", overrides),
    ]


def test_a_link_can_be_created_without_a_label(owner_file: OwnerFile) -> None:
    assert owner_file.open_form("/links").send_and_follow({"range": "all"}) == "1 link was created."
    (row,) = owner_file.list_variants()
    assert (row.get("label"), row["overrides"]) == (None, {"pageRange": {"from": 0, "to": 0}})


def test_labels_without_a_created_link_remain_in_the_form(owner_file: OwnerFile) -> None:
    assert owner_file.open_form("/links").send_and_follow({"labels": "Reader\n" * 199}) == "199 links were created."
    page = owner_file.open_form("/links").send_refused(400, {"labels": "Ann\nBob\nCy", "download": "yes"})
    assert "200 variants" in form_error(page)
    assert "1 link was created" in form_error(page)
    again = Form(owner_file.http, f"{owner_file.path}/links", page=page)
    assert (again.fields["labels"], again.fields["download"]) == ("Bob\nCy", "yes")


def test_an_invalid_range_preserves_the_typed_values(owner_file: OwnerFile) -> None:
    page = owner_file.open_form("/links").send_refused(400, {"labels": "Ann", "range": "some", "from": "2", "to": "x"})
    again = Form(owner_file.http, f"{owner_file.path}/links", page=page)
    assert {key: again.fields[key] for key in ("labels", "range", "from", "to")} == {
        "labels": "Ann", "range": "some", "from": "2", "to": "x",
    }  # fmt: skip
    assert owner_file.list_variants() == []


def test_links_are_listed_with_their_overrides(owner_file: OwnerFile) -> None:
    made = owner_file.create_variant(
        label="<b>Ann</b>", overrides={"allowDownload": False, "pageRange": {"from": 1, "to": 2}}
    )
    (row,) = owner_file.get_page("/links").find_all("li", class_="thing")
    assert row.find_one("strong").words == "<b>Ann</b>"
    assert row.find_one("a", class_="address").attrs["href"] == made["url"]
    assert "download not allowed · pages 1 to 2" in row.words
    assert row.find_one("button", type="button").attrs["data-copy"] == made["url"]
    assert (
        owner_file.get_content_type(row.find_one("a", download=f"{made['shortId']}.png").attrs["href"]) == "image/png"
    )


def test_a_link_can_be_edited_and_its_form_shows_the_current_values(owner_file: OwnerFile) -> None:
    made = owner_file.create_variant(label="Ann", overrides={"allowDownload": True, "pageRange": {"from": 0, "to": 0}})
    form = owner_file.open_form(f"/links/{made['uuid']}")
    assert (form.fields["label"], form.fields["download"], form.fields["range"]) == ("Ann", "yes", "all")
    form.send_and_follow({"label": "Bob", "download": "", "range": "some", "from": "1", "to": "2"})
    (row,) = owner_file.list_variants()
    assert (row["label"], row["overrides"]) == ("Bob", {"pageRange": {"from": 1, "to": 2}})
    again = owner_file.open_form(f"/links/{made['uuid']}")
    assert (again.fields["range"], again.fields["from"], again.fields["to"]) == ("some", "1", "2")
    page = again.send_refused(400, {"to": "9", "label": "Cy"})
    assert Form(owner_file.http, f"{owner_file.path}/links/{made['uuid']}", page=page).fields["label"] == "Cy"


def test_a_form_that_was_opened_earlier_does_not_lift_a_restriction_set_since(owner_file: OwnerFile) -> None:
    made = owner_file.create_variant(label="Ann")
    page = f"/links/{made['uuid']}"
    first, second, third = (owner_file.open_form(page) for _ in range(3))
    first.send_and_follow({"download": "no", "range": "some", "from": "1", "to": "2"})
    second.send_and_follow({"label": "Ann Lee"})
    (row,) = owner_file.list_variants()
    assert (row["label"], row["overrides"]) == (
        "Ann Lee",
        {"allowDownload": False, "pageRange": {"from": 1, "to": 2}},
    )
    third.send_and_follow({"range": "all"})
    (row,) = owner_file.list_variants()
    assert (row["label"], row["overrides"]) == (
        "Ann Lee",
        {"allowDownload": False, "pageRange": {"from": 0, "to": 0}},
    )


def test_forms_of_a_link_that_are_sent_at_once_keep_the_changes_of_both(
    owner_file: OwnerFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = owner_file.create_variant(label="Ann")
    first, second = (owner_file.open_form(f"/links/{made['uuid']}") for _ in range(2))
    update = variants.update

    def update_after_the_other(*args: Any, **options: Any) -> Any:
        monkeypatch.setattr(variants, "update", update)
        second.send_and_follow({"range": "some", "from": "1", "to": "2"})
        return update(*args, **options)

    monkeypatch.setattr(variants, "update", update_after_the_other)
    first.send_and_follow({"download": "no"})
    (row,) = owner_file.list_variants()
    assert row["overrides"] == {"allowDownload": False, "pageRange": {"from": 1, "to": 2}}


def test_the_form_keeps_an_override_that_it_does_not_show(owner_file: OwnerFile) -> None:
    overrides = {"allowDownload": False, "readerChoice": True}
    made = owner_file.create_variant(label="Ann", overrides=overrides)
    form = owner_file.open_form(f"/links/{made['uuid']}")
    form.send_and_follow({"label": "Ann Lee"})
    assert owner_file.list_variants()[0]["overrides"] == overrides
    owner_file.open_form(f"/links/{made['uuid']}").send_and_follow({"download": ""})
    assert owner_file.list_variants()[0]["overrides"] == {"readerChoice": True}


def test_an_incomplete_form_changes_nothing(owner_file: OwnerFile) -> None:
    made = owner_file.create_variant(label="Ann", overrides={"allowDownload": False})
    form = owner_file.open_form(f"/links/{made['uuid']}")
    page = form.send_refused(400, {"shown": "", "label": "Bob"})
    assert "This form is incomplete." in form_error(page)
    assert owner_file.list_variants()[0]["overrides"] == {"allowDownload": False}


def test_a_link_can_be_revoked_and_restored(owner_file: OwnerFile) -> None:
    made = owner_file.create_variant(label="Ann")
    page = f"/links/{made['uuid']}"
    owner_file.open_form(page, f"{page}/revoke").send_and_follow()
    assert (owner_file.list_variants()[0]["revoked"], owner_file.world.http.get(f"/{made['shortId']}").status_code) == (
        True,
        404,
    )
    owner_file.open_form(page, f"{page}/restore").send_and_follow()
    assert (owner_file.list_variants()[0]["revoked"], owner_file.world.http.get(f"/{made['shortId']}").status_code) == (
        False,
        200,
    )


def test_a_label_is_redacted_only_after_typed_confirmation(owner_file: OwnerFile) -> None:
    made = owner_file.create_variant(label="Ann")
    page = f"/links/{made['uuid']}"
    refused = owner_file.open_form(page, f"{page}/redact").send({"confirm": "delete"})
    assert refused.status_code == 400
    shown = parse_html(refused.text)
    assert shown.find_one("p", class_="wrong").words == "Nothing was changed. Type the word 'erase' to confirm."
    assert shown.find_one("input", id="label").attrs["value"] == "Ann"
    assert owner_file.list_variants()[0]["label"] == "Ann"
    owner_file.open_form(page, f"{page}/redact").send_and_follow({"confirm": " Erase "})
    assert (owner_file.list_variants()[0]["redacted"], owner_file.list_variants()[0].get("label")) == (True, None)
    owner_file.open_form(page).send_and_follow({"download": "no"})
    assert owner_file.list_variants()[0]["overrides"] == {"allowDownload": False}


def test_a_link_is_deleted_only_after_typed_confirmation(owner_file: OwnerFile) -> None:
    made = owner_file.create_variant(label="Ann")
    page = f"/links/{made['uuid']}"
    assert owner_file.open_form(page, f"{page}/delete").send({"confirm": ""}).status_code == 400
    assert len(owner_file.list_variants()) == 1
    owner_file.open_form(page, f"{page}/delete").send_and_follow({"confirm": "delete"})
    assert owner_file.list_variants() == []


@pytest.mark.parametrize("act", ["", "/revoke", "/restore", "/redact", "/delete"])
def test_a_link_of_another_file_is_not_found(owner_file: OwnerFile, act: str) -> None:
    made = owner_file.create_variant(label="Ann")
    other = OwnerFile(owner_file.world, owner_file.world.pia)
    answer: TestResponse = other.http.post(
        f"{other.path}/links/{made['uuid']}{act}",
        data={"csrf": other.csrf_token(), "confirm": {"/redact": "erase"}.get(act, act[1:])},
    )
    assert (answer.status_code, owner_file.list_variants()[0]["label"]) == (404, "Ann")


@pytest.mark.parametrize("who", ["fay", "bea"])
@pytest.mark.parametrize(
    ("tail", "words"),
    [("/links", "Personal links"), ("/invites", "Invitations"), ("/replace", "New versions behind the same link")],
)
def test_below_pro_the_page_names_the_required_plan(world: World, who: str, tail: str, words: str) -> None:
    file_pages = OwnerFile(world, getattr(world, who))
    page = file_pages.get_page(tail)
    assert page.find_one("p", class_="note").words == f"Pro {words} require the Pro plan or higher."
    assert page.find_all("form", action=file_pages.path + tail) == []
    answer = file_pages.http.post(
        file_pages.path + tail, data={"csrf": file_pages.csrf_token(), "labels": "Ann", "email": "ann@example.com"}
    )
    assert answer.status_code == (405 if tail == "/replace" else 403)


def test_an_address_is_invited_once_and_the_list_shows_whether_it_was_viewed(owner_file: OwnerFile) -> None:
    form = {"email": "ann@example.com", "name": "Ann Lee"}
    unsent = "No mail server is set up: send the link yourself."
    assert owner_file.open_form("/invites").send_and_follow(form) == f"ann@example.com is invited. {unsent}"
    assert (
        owner_file.open_form("/invites").send_and_follow(form)
        == f"ann@example.com was invited before; the link is the same. {unsent}"
    )
    (row,) = owner_file.get_from_api("/invites")
    assert (row["email"], row["name"]) == ("ann@example.com", "Ann Lee")
    assert list_mail_recipients(owner_file) == ["ann@example.com"]
    (shown,) = owner_file.get_page("/invites").find_all("li", class_="thing")
    assert shown.find_one("strong").words == "Ann Lee · ann@example.com"
    assert "not opened yet" in shown.words
    assert shown.find_one("button").attrs["data-copy"] == row["url"]
    with owner_file.world.rt.db.write():
        owner_file.world.rt.db.execute("UPDATE invites SET viewed_at = ?", (owner_file.world.clock(),))
    assert "· opened 21 Sep 2026" in owner_file.get_page("/invites").find_one("li", class_="thing").words


def test_an_invitation_can_be_created_without_an_email(owner_file: OwnerFile) -> None:
    owner_file.open_form("/invites").send_and_follow({"email": "ann@example.com", "mail": ""})
    assert (len(owner_file.get_from_api("/invites")), list_mail_recipients(owner_file)) == (1, [])


def list_mail_recipients(file_pages: OwnerFile) -> list[str]:
    return [row[0] for row in file_pages.world.rt.db.fetch_all("SELECT recipient FROM mails ORDER BY id")]


def test_an_invalid_address_is_rejected_and_remains_in_the_form(owner_file: OwnerFile) -> None:
    page = owner_file.open_form("/invites").send_refused(400, {"email": "ann", "name": "Ann", "mail": ""})
    again = Form(owner_file.http, f"{owner_file.path}/invites", page=page)
    assert (again.fields["email"], again.fields["name"], again.fields.get("mail")) == ("ann", "Ann", None)
    assert "email" in form_error(page)
