"""The personal links of a file and the invitations to it, on the pages of its owner."""

import pytest
from werkzeug.test import TestResponse

from tests.support.cast import World
from tests.support.forms import Form
from tests.support.owner_file import OwnerFile, form_error


@pytest.fixture
def desk(world: World) -> OwnerFile:
    return OwnerFile(world, world.pia)


def test_one_link_is_made_for_each_line(desk: OwnerFile) -> None:
    wish = {"labels": "Northwind\n\n  Ann Lee \n", "download": "no", "range": "some", "from": "2", "to": "3"}
    assert desk.form("/links").done(wish) == "2 links were created."
    overrides = {"allowDownload": False, "pageRange": {"from": 2, "to": 3}}
    assert [(row["label"], row["overrides"]) for row in desk.variants()] == [
        ("Ann Lee", overrides),
        ("Northwind", overrides),
    ]


def test_a_link_needs_no_label(desk: OwnerFile) -> None:
    assert desk.form("/links").done({"range": "all"}) == "1 link was created."
    (row,) = desk.variants()
    assert (row.get("label"), row["overrides"]) == (None, {"pageRange": {"from": 0, "to": 0}})


def test_what_could_not_be_made_stays_in_the_form(desk: OwnerFile) -> None:
    assert desk.form("/links").done({"labels": "Reader\n" * 199}) == "199 links were created."
    page = desk.form("/links").refused(400, {"labels": "Ann\nBob\nCy", "download": "yes"})
    assert "200 variants" in form_error(page)
    assert "1 link was created" in form_error(page)
    again = Form(desk.http, f"{desk.path}/links", page=page)
    assert (again.fields["labels"], again.fields["download"]) == ("Bob\nCy", "yes")


def test_a_wrong_range_keeps_what_was_typed(desk: OwnerFile) -> None:
    page = desk.form("/links").refused(400, {"labels": "Ann", "range": "some", "from": "2", "to": "x"})
    again = Form(desk.http, f"{desk.path}/links", page=page)
    assert {key: again.fields[key] for key in ("labels", "range", "from", "to")} == {
        "labels": "Ann", "range": "some", "from": "2", "to": "x",
    }  # fmt: skip
    assert desk.variants() == []


def test_the_links_are_listed_with_what_is_special_about_them(desk: OwnerFile) -> None:
    made = desk.variant(label="<b>Ann</b>", overrides={"allowDownload": False, "pageRange": {"from": 1, "to": 2}})
    (row,) = desk.page("/links").all("li", class_="thing")
    assert row.one("strong").words == "<b>Ann</b>"
    assert row.one("a", class_="address").attrs["href"] == made["url"]
    assert "download not allowed · pages 1 to 2" in row.words
    assert row.one("button", type="button").attrs["data-copy"] == made["url"]
    assert desk.type_of(row.one("a", download=f"{made['shortId']}.png").attrs["href"]) == "image/png"


def test_a_link_is_changed_and_what_it_has_stands_in_its_form(desk: OwnerFile) -> None:
    made = desk.variant(label="Ann", overrides={"allowDownload": True, "pageRange": {"from": 0, "to": 0}})
    form = desk.form(f"/links/{made['uuid']}")
    assert (form.fields["label"], form.fields["download"], form.fields["range"]) == ("Ann", "yes", "all")
    form.done({"label": "Bob", "download": "", "range": "some", "from": "1", "to": "2"})
    (row,) = desk.variants()
    assert (row["label"], row["overrides"]) == ("Bob", {"pageRange": {"from": 1, "to": 2}})
    again = desk.form(f"/links/{made['uuid']}")
    assert (again.fields["range"], again.fields["from"], again.fields["to"]) == ("some", "1", "2")
    page = again.refused(400, {"to": "9", "label": "Cy"})
    assert Form(desk.http, f"{desk.path}/links/{made['uuid']}", page=page).fields["label"] == "Cy"


def test_a_link_is_revoked_and_works_again(desk: OwnerFile) -> None:
    made = desk.variant(label="Ann")
    page = f"/links/{made['uuid']}"
    desk.form(page, f"{page}/revoke").done()
    assert (desk.variants()[0]["revoked"], desk.world.http.get(f"/{made['shortId']}").status_code) == (True, 404)
    desk.form(page, f"{page}/restore").done()
    assert (desk.variants()[0]["revoked"], desk.world.http.get(f"/{made['shortId']}").status_code) == (False, 200)


def test_a_label_is_erased_only_when_that_was_typed(desk: OwnerFile) -> None:
    made = desk.variant(label="Ann")
    page = f"/links/{made['uuid']}"
    assert desk.form(page, f"{page}/redact").send({"confirm": "delete"}).status_code == 400
    assert desk.variants()[0]["label"] == "Ann"
    desk.form(page, f"{page}/redact").done({"confirm": " Redact "})
    assert (desk.variants()[0]["redacted"], desk.variants()[0].get("label")) == (True, None)
    desk.form(page).done({"download": "no"})
    assert desk.variants()[0]["overrides"] == {"allowDownload": False}


def test_a_link_is_deleted_only_when_that_was_typed(desk: OwnerFile) -> None:
    made = desk.variant(label="Ann")
    page = f"/links/{made['uuid']}"
    assert desk.form(page, f"{page}/delete").send({"confirm": ""}).status_code == 400
    assert len(desk.variants()) == 1
    desk.form(page, f"{page}/delete").done({"confirm": "delete"})
    assert desk.variants() == []


@pytest.mark.parametrize("act", ["", "/revoke", "/restore", "/redact", "/delete"])
def test_a_link_of_another_file_is_not_found(desk: OwnerFile, act: str) -> None:
    made = desk.variant(label="Ann")
    other = OwnerFile(desk.world, desk.world.pia)
    answer: TestResponse = other.http.post(
        f"{other.path}/links/{made['uuid']}{act}", data={"csrf": other.csrf(), "confirm": act[1:]}
    )
    assert (answer.status_code, desk.variants()[0]["label"]) == (404, "Ann")


@pytest.mark.parametrize("who", ["fay", "bea"])
@pytest.mark.parametrize(
    ("tail", "words"),
    [("/links", "Personal links"), ("/invites", "Invitations"), ("/replace", "New versions behind the same link")],
)
def test_below_pro_the_page_says_which_plan_has_it(world: World, who: str, tail: str, words: str) -> None:
    desk = OwnerFile(world, getattr(world, who))
    page = desk.page(tail)
    assert page.one("p", class_="note").words == f"Pro {words} need the pro plan or a higher one."
    assert page.all("form", action=desk.path + tail) == []
    answer = desk.http.post(desk.path + tail, data={"csrf": desk.csrf(), "labels": "Ann", "email": "ann@example.com"})
    assert answer.status_code == (405 if tail == "/replace" else 403)


def test_somebody_is_invited_once_and_the_list_says_who_has_seen_it(desk: OwnerFile) -> None:
    form = {"email": "ann@example.com", "name": "Ann Lee"}
    unsent = "No mail server is set up: send the link yourself."
    assert desk.form("/invites").done(form) == f"ann@example.com is invited. {unsent}"
    assert desk.form("/invites").done(form) == f"ann@example.com was invited before; the link is the same. {unsent}"
    (row,) = desk.told("/invites")
    assert (row["email"], row["name"]) == ("ann@example.com", "Ann Lee")
    assert mail_recipients(desk) == ["ann@example.com"]
    (shown,) = desk.page("/invites").all("li", class_="thing")
    assert shown.one("strong").words == "Ann Lee · ann@example.com"
    assert "not seen yet" in shown.words
    assert shown.one("button").attrs["data-copy"] == row["url"]
    with desk.world.rt.db.write():
        desk.world.rt.db.execute("UPDATE invites SET viewed_at = ?", (desk.world.clock(),))
    assert "· seen 20" in desk.page("/invites").one("li", class_="thing").words


def test_an_invitation_without_a_mail_sends_none(desk: OwnerFile) -> None:
    desk.form("/invites").done({"email": "ann@example.com", "mail": ""})
    assert (len(desk.told("/invites")), mail_recipients(desk)) == (1, [])


def mail_recipients(desk: OwnerFile) -> list[str]:
    return [row[0] for row in desk.world.rt.db.rows("SELECT recipient FROM mails ORDER BY id")]


def test_a_wrong_address_is_refused_and_stays_in_the_form(desk: OwnerFile) -> None:
    page = desk.form("/invites").refused(400, {"email": "ann", "name": "Ann", "mail": ""})
    again = Form(desk.http, f"{desk.path}/invites", page=page)
    assert (again.fields["email"], again.fields["name"], again.fields.get("mail")) == ("ann", "Ann", None)
    assert "email" in form_error(page)
