"""Every form of the owner that takes text keeps it when the session has ended."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.browsers.markup import HtmlElement, parse_html
from tests.support.engines.database import dump_database
from tests.support.owner.browser import sign_in_browser
from tests.support.owner.routes import OWNER_ROUTES
from tests.support.people.cast import BASE_URL, World
from tests.support.people.cookie_routes import CookieRequest, OwnerAndReader, make_owner_and_reader

OWN_PAGE = {"Origin": BASE_URL}
# Endpoint -> the values that its form has in this test, besides those of its row.
TEXT_FORMS: dict[str, dict[str, Any]] = {
    "owner_account.rename": {},
    "owner_account.change_email": {},
    "owner_account.invite_colleague": {"colleague_name": "Kim & <Lee>"},
    "owner_account.create_key": {},
    "owner_webhooks.create": {"url": "https://hook.example/in?a=1&b=<2>", "format": "slack"},
    "owner_device.enter": {"user_code": "ABCD-EFGH"},
    "owner_file_settings.change": {"viewLimit": "7", "slug": "the-plan"},
    "owner_file_looks.change": {"viewerSettings.brand.accentColor": "#2b6cb0"},
    "owner_file_links.create": {"labels": "Ann <Lee>\nBob & Ben", "range": "some", "from": "1", "to": "2"},
    "owner_file_links.change": {"label": "Cy & <Di>", "download": "no"},
    "owner_file_invites.create": {"email": "ann@example.com", "name": "Ann <Lee>"},
    "owner_file_hotspots.create": {"label": "Book & <go>", "link": "https://example.com/?a=1&b=2"},
}
# A password is a secret, and a word that confirms a deletion must be typed again.
NEVER_KEPT = {"owner_account.set_password", "owner_file_links.redact", "owner_file_links.delete"}
HIDDEN = {"csrf", "shown", "decision", "page"}


@pytest.fixture
def owner_and_reader(world: World) -> OwnerAndReader:
    return make_owner_and_reader(world)


def build_request(actors: OwnerAndReader, name: str) -> CookieRequest:
    sent = OWNER_ROUTES[name].build_request(actors)
    return replace(sent, form={**(sent.form or {}), **TEXT_FORMS[name]}, headers=sent.headers | OWN_PAGE)


def list_values(page: HtmlElement, name: str) -> list[str]:
    """Return the values of the controls ``name``: the text, or those that are chosen."""
    found = []
    for control in page.find_all(name=name):
        if control.tag == "textarea":
            found.append("".join(control.parts).removeprefix("\n"))
        elif control.tag == "select":
            chosen = [option for option in control.find_all("option") if "selected" in option.attrs]
            found += [option.attrs.get("value", option.words) for option in chosen]
        elif control.attrs.get("type") not in ("checkbox", "radio") or "checked" in control.attrs:
            found.append(control.attrs.get("value", ""))
    return found


@pytest.mark.parametrize("name", TEXT_FORMS)
def test_the_text_of_a_form_is_filled_in_again_after_the_session_has_ended(
    owner_and_reader: OwnerAndReader, name: str
) -> None:
    world = owner_and_reader.world
    sent = build_request(owner_and_reader, name)
    before = dump_database(world)
    signed_out = owner_and_reader.send(replace(sent, browser=world.app.test_client()))
    assert signed_out.status_code == 403
    page = parse_html(signed_out.text)
    assert page.find_one("h1").words == "You are no longer signed in"
    kept: dict[str, list[str]] = {}
    for field in page.find_all("input"):
        kept.setdefault(field.attrs["name"], []).append(field.attrs["value"])
    assert "csrf" not in kept
    assert dump_database(world) == before
    browser = sign_in_browser(world, world.pia)
    before = dump_database(world)
    again = owner_and_reader.send(replace(sent, browser=browser, form=kept))
    assert again.status_code == 403
    page = parse_html(again.text)
    assert "Nothing has been saved yet." in page.words
    assert dump_database(world) == before
    for key, value in (sent.form or {}).items():
        if key not in HIDDEN and value:
            wanted = value if isinstance(value, list) else [value]
            assert set(wanted) <= set(list_values(page, key)), key


@pytest.mark.parametrize("name", sorted(OWNER_ROUTES.keys() - TEXT_FORMS.keys() - NEVER_KEPT))
def test_no_other_form_takes_text(owner_and_reader: OwnerAndReader, name: str) -> None:
    """A new form with text needs a row above."""
    form = OWNER_ROUTES[name].build_request(owner_and_reader).form or {}
    assert form.keys() <= {"csrf", "shown", "viewerMode", "fate", "file", "action", "list"}
