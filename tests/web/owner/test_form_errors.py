"""Errors of the owner's forms: beside the field, in plain words, without losing anything that was typed."""

from typing import Any, NamedTuple

import pytest

from tests.support.browsers.forms import Form
from tests.support.browsers.markup import HtmlElement, parse_html
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.owner.file import OwnerFile, form_error
from tests.support.people.cast import World


class InvalidControl(NamedTuple):
    """A control with an error: its id, its error, and whether it gets the focus."""

    control: str
    words: str
    has_focus: bool


def list_invalid(page: HtmlElement) -> list[InvalidControl]:
    """Return the controls marked invalid; each must be described by its error, and the list above links to it."""
    links = [node.attrs["href"] for node in page.find_one(class_="wrong").find_all("a")]
    found = []
    for node in page.find_all(**{"aria-invalid": "true"}):
        control = node.attrs["id"]
        error = node.attrs["aria-describedby"].split()[0]
        assert f"#{control}" in links
        found.append(InvalidControl(control, page.find_one(id=error).words, "autofocus" in node.attrs))
    assert len(links) == len(found)
    return found


def get_title(page: HtmlElement) -> str:
    return page.find_one("title").words


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "control", "words"),
    [
        ({"password": "x" * 129}, "c-password",
         "It must be 1 to 128 bytes without line breaks, tabs, and NUL, or empty to clear."),
        ({"password": "other", "password.clear": "on"}, "c-password", "Set a new password or remove it, not both."),
        ({"deleteAt": "tomorrow"}, "c-deleteAt", "Enter a date and a time."),
        ({"deleteAt": "2032-01-01T00:00", "neverExpire": "on"}, "c-deleteAt",
         "Enter a date, or choose that the link never ends, not both."),
        ({"viewLimit": "many"}, "c-viewLimit", "Enter a whole number from 0 to 1,000,000."),
        ({"viewLimit": "1000001"}, "c-viewLimit", "Enter a whole number from 0 to 1,000,000."),
        ({"pageRange.from": "3", "pageRange.to": "2"}, "c-pageRange-from",
         "Enter the first and the last page in order, or leave both empty for all pages."),
        ({"pageRange.from": "2", "pageRange.to": "9"}, "c-pageRange-from",
         "Enter pages from 1 to 3, or leave both empty for all pages."),
        ({"gateDomains": "a.example\nnot a domain"}, "c-gateDomains", "It must be a bare domain such as example.com."),
        ({"gateDomains": "\n".join(f"{n}.example" for n in range(21))}, "c-gateDomains", "Enter at most 20 domains."),
        ({"gateFields.0.label": "Firm"}, "c-gateFields-0-label",
         "Ask exactly one question of the type email address."),
        ({"gateFields.0.label": "a", "gateFields.0.key": "x", "gateFields.1.label": "b", "gateFields.1.key": "x"},
         "c-gateFields-0-label", "Give each question its own field name."),
        ({"gateFields.3.label": "Mail", "gateFields.3.type": "email", "gateFields.3.key": "1 mail"},
         "c-gateFields-3-key", "Start with a lowercase letter, then use letters, digits, or _."),
        ({"gateFields.1.label": "x" * 61}, "c-gateFields-1-label", "Enter 1 to 60 characters."),
        ({"gateFields.4.key": "mail"}, "c-gateFields-4-label", "Enter 1 to 60 characters."),
        ({"gateFields.2.label": "a", "gateFields.2.type": "color"}, "c-gateFields-2-type", "Choose one from the list."),
        ({"slug": "No!"}, "c-slug", "It must be 1 to 64 lowercase letters, digits, or hyphens."),
        ({"slug": "files"}, "c-slug",
         "It must be a different word: 'files' is reserved in addresses of this server."),
        ({"slug": "taken"}, "c-slug", "The custom link 'taken' is taken. Choose another one."),
    ],
)  # fmt: skip
def test_an_invalid_setting_is_explained_beside_its_control(
    world: World, values: dict[str, str], control: str, words: str
) -> None:
    put_settings(world, world.pia.upload(), slug="taken")
    file = OwnerFile(world, world.pia, deleteAt="2031-01-01T00:00:00Z", password="open sesame")
    page = file.open_form("/settings").send_refused(409 if "taken" in words else 400, values)
    assert list_invalid(page) == [InvalidControl(control, words, True)]
    assert get_title(page) == "Error: Ann & Bob <3.pdf"


def test_all_invalid_settings_are_listed_and_the_first_one_gets_the_focus(world: World) -> None:
    file = OwnerFile(world, world.pia)
    typed = {"slug": "No!", "viewLimit": "many", "pageRange.to": "x", "watermark": "on"}
    page = file.open_form("/settings").send_refused(400, typed)
    assert [(found.control, found.has_focus) for found in list_invalid(page)] == [
        ("c-viewLimit", True),
        ("c-pageRange-from", False),
        ("c-slug", False),
    ]
    assert form_error(page).startswith("Nothing was saved. 3 fields need a correction:")
    assert [item.words for item in page.find_one(class_="wrong").find_all("li")] == [
        "Number of views: Enter a whole number from 0 to 1,000,000.",
        "Pages that readers see, From: Enter the first and the last page in order, or leave both empty for all pages.",
        "Custom link: It must be 1 to 64 lowercase letters, digits, or hyphens.",
    ]
    opened = [node.find_one("h2").words for node in page.find_all("details", class_="group") if "open" in node.attrs]
    assert opened == ["How long", "Permissions of readers", "How it looks"]


def test_a_rejected_password_must_be_entered_again(world: World) -> None:
    file = OwnerFile(world, world.pia)
    page = file.open_form("/settings").send_refused(400, {"password": "open sesame", "slug": "No!"})
    field = page.find_one("input", name="password")
    assert field.attrs["value"] == ""
    help_ = page.find_one(id=field.attrs["aria-describedby"])
    assert "Enter the password again: it is not kept in a rejected form." in help_.words
    assert "open sesame" not in page.words


@pytest.mark.parametrize("tail", ["/settings", "/looks", "/links", "/invites", "/hotspots", "/assets", "/replace", ""])
def test_a_page_without_errors_marks_nothing(world: World, tail: str) -> None:
    page = OwnerFile(world, world.pia).get_page(tail)
    assert page.find_all(**{"aria-invalid": "true"}) == []
    assert page.find_all(class_="field-error") == page.find_all("div", class_="wrong") == []
    assert get_title(page) == "Ann & Bob <3.pdf"


# --- the other forms -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tail", "values", "control", "words"),
    [
        ("/links", {"labels": "x" * 201}, "labels", "Enter 1 to 200 characters."),
        ("/links", {"range": "some", "from": "3", "to": "1"}, "from",
         "Enter the first and the last page in order, or leave both empty for all pages."),
        ("/links", {"range": "some", "from": "1", "to": "9"}, "from",
         "Enter pages from 1 to 3, or leave both empty for all pages."),
        ("/invites", {"email": "nobody", "name": "Ann", "mail": ""}, "email",
         "It must be an email address such as ada@example.com."),
        ("/invites", {"email": "ann@example.com", "name": "x" * 121}, "name", "Enter at most 120 characters."),
        ("/hotspots", {"x": "wide", "y": "1", "width": "10", "height": "10", "label": "Film"}, "x",
         "X, y, width, height must be numbers: percent of the page."),
        ("/hotspots", {"x": "1", "y": "1", "width": "10", "height": "10", "link": "film"}, "link",
         "It must be an https:// address without user name, spaces, or unescaped characters, at most 2048 characters."),
    ],
)  # fmt: skip
def test_the_forms_of_a_file_explain_errors_and_keep_what_was_typed(
    world: World, tail: str, values: dict[str, str], control: str, words: str
) -> None:
    file = OwnerFile(world, world.pia)
    page = file.open_form(tail).send_refused(400, values)
    assert list_invalid(page) == [InvalidControl(control, words, True)]
    assert get_title(page) == "Error: Ann & Bob <3.pdf"
    again = Form(file.http, file.path + tail, page=page)
    assert {name: again.fields.get(name, "") for name in values} == values


def test_links_that_were_created_before_an_error_are_reported(world: World) -> None:
    file = OwnerFile(world, world.pia)
    page = file.open_form("/links").send_refused(400, {"labels": "Ann\n" + "x" * 201})
    assert "1 link was created. The lines below were not processed." in form_error(page)
    assert "Nothing was saved" not in page.words


def test_a_link_keeps_a_rejected_label(world: World) -> None:
    file = OwnerFile(world, world.pia)
    tail = f"/links/{file.create_variant(label='Ann')['uuid']}"
    page = file.open_form(tail).send_refused(400, {"label": "x" * 201})
    assert list_invalid(page) == [InvalidControl("label", "Enter 1 to 200 characters.", True)]
    assert page.find_one("input", id="label").attrs["value"] == "x" * 201


@pytest.mark.parametrize(
    ("values", "control", "words"),
    [
        ({"url": "nowhere", "events": ["file.viewed"]}, "url",
         "It must be an http:// or https:// address without user name, spaces, or unescaped characters, at most 2048 "
         "characters."),
        ({"url": "http://example.com", "events": ["file.viewed"]}, "url",
         "It must be an https:// address. The operator of this server can allow private hosts in "
         "DOCSHARE_WEBHOOK_ALLOW."),
        ({"url": "https://example.com", "events": []}, "events", "Choose at least one event."),
    ],
)  # fmt: skip
def test_the_form_of_a_webhook_explains_errors(world: World, values: dict[str, Any], control: str, words: str) -> None:
    http = sign_in_browser(world, world.pia)
    form = Form(http, "/webhooks")
    sent = form.fields | values | {"format": "slack"}
    page = parse_html(http.post("/webhooks", data=sent).text)
    assert list_invalid(page) == [InvalidControl(control, words, True)]
    assert page.find_one("input", id="url").attrs["value"] == values["url"]
    boxes = page.find_all("input", name="events")
    assert [box.attrs["value"] for box in boxes if "checked" in box.attrs] == values["events"]
    assert [row.attrs["value"] for row in page.find_all("option") if "selected" in row.attrs] == ["slack"]


@pytest.mark.parametrize(
    ("path", "values", "control", "words"),
    [
        ("name", {"name": "  "}, "name", "Enter a text."),
        ("name", {"name": "x" * 201}, "name", "It must be one line of at most 200 characters."),
        ("email", {"email": "nobody"}, "email", "It must be an address such as ada@example.com."),
        ("email", {"email": "fay@example.com"}, "email",
         "An account for fay@example.com already exists. List them: docshare admin account list"),
        ("keys", {"key_name": "x" * 201}, "key-name", "It must be one line of at most 200 characters."),
        ("keys", {"key_name": "", "restricted": "on", "scope": "files:read"}, "restricted-name", "Enter a text."),
        ("keys", {"key_name": "ci", "restricted": "on", "file": "x", "days": "30"}, "restricted-scopes",
         "Choose at least one."),
        ("keys", {"key_name": "ci", "restricted": "on", "scope": "files:read", "file": "x", "days": ""},
         "restricted-file", "There is no such file. "),
        ("password", {"password": "short"}, "password",
         "The password must be at least 10 characters long. Choose another password."),
    ],
)  # fmt: skip
def test_the_forms_of_the_account_explain_errors(
    world: World, path: str, values: dict[str, str], control: str, words: str
) -> None:
    http = sign_in_browser(world, world.pia)
    csrf = parse_html(http.get("/account").text).find_all("input", name="csrf")[0].attrs["value"]
    page = parse_html(http.post(f"/account/{path}", data={"csrf": csrf, **values}).text)
    (found,) = list_invalid(page)
    assert (found.control, found.has_focus) == (control, True)
    assert found.words.startswith(words.strip())
    assert get_title(page) == "Error: Account"


def test_a_rejected_restricted_key_keeps_its_choices_and_stays_restricted(world: World) -> None:
    http = sign_in_browser(world, world.pia)
    csrf = parse_html(http.get("/account").text).find_all("input", name="csrf")[0].attrs["value"]
    sent = {"csrf": csrf, "restricted": "on", "key_name": "ci", "file": "nowhere", "days": "30"}
    page = parse_html(http.post("/account/keys", data=sent | {"scope": "webhooks:manage"}).text)
    assert page.find_one(id="restricted-file").attrs["value"] == "nowhere"
    assert page.find_one(id="restricted-name").attrs["value"] == "ci"
    boxes = page.find_all("input", name="scope")
    assert [box.attrs["value"] for box in boxes if "checked" in box.attrs] == ["webhooks:manage"]
    assert [row.attrs["value"] for row in page.find_one(id="restricted-days").find_all("option", selected="")] == ["30"]
    without_access = http.post("/account/keys", data=sent | {"file": ""})
    assert without_access.status_code == 400
    assert "Your new API key" not in without_access.text
