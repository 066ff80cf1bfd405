"""Errors of the owner's forms: beside the field, in plain words, without losing anything that was typed."""

from typing import NamedTuple

import pytest

from tests.support.cast import World
from tests.support.markup import HtmlElement
from tests.support.owner import put_settings
from tests.support.owner_file import OwnerFile, form_error


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
         "Enter the first and the last page, or leave both empty for all pages."),
        ({"pageRange.from": "2", "pageRange.to": "9"}, "c-pageRange-from",
         "It must be within the 3 pages of the document."),
        ({"gateDomains": "a.example\nnot a domain"}, "c-gateDomains", "It must be a bare domain such as example.com."),
        ({"gateDomains": "\n".join(f"{n}.example" for n in range(21))}, "c-gateDomains", "Enter at most 20 domains."),
        ({"gateFields.0.label": "Firm"}, "c-gateFields-0-label",
         "Ask exactly one question of the type email address."),
        ({"gateFields.0.label": "a", "gateFields.0.key": "x", "gateFields.1.label": "b", "gateFields.1.key": "x"},
         "c-gateFields-0-label", "Give each question its own field name."),
        ({"gateFields.3.label": "Mail", "gateFields.3.type": "email", "gateFields.3.key": "1 mail"},
         "c-gateFields-3-key", "Start with a lowercase letter, then use letters, digits or _."),
        ({"gateFields.1.label": "x" * 61}, "c-gateFields-1-label", "Enter 1 to 60 characters."),
        ({"gateFields.4.key": "mail"}, "c-gateFields-4-label", "Enter 1 to 60 characters."),
        ({"gateFields.2.label": "a", "gateFields.2.type": "color"}, "c-gateFields-2-type", "Choose one from the list."),
        ({"slug": "No!"}, "c-slug", "It must be 1 to 64 lowercase letters, digits or hyphens."),
        ({"slug": "files"}, "c-slug",
         "It must be a different word: 'files' is reserved in addresses of this server."),
        ({"slug": "taken"}, "c-slug", "The link name 'taken' is taken. Choose another one."),
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
        "Pages that readers see, From: Enter the first and the last page, or leave both empty for all pages.",
        "Link name: It must be 1 to 64 lowercase letters, digits or hyphens.",
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
