"""A form that is sent after its session has ended: nothing is saved, and the values are filled in after signing in."""

from collections.abc import Mapping
from typing import Any

import pytest
from flask.testing import FlaskClient

from docshare.server.services.accounts import accounts
from tests.support.browsers.forms import Form
from tests.support.browsers.markup import HtmlElement, parse_html
from tests.support.engines.database import dump_database
from tests.support.owner.browser import sign_in_browser
from tests.support.owner.file import OwnerFile
from tests.support.people.cast import BASE_URL, World

OWN_PAGE = {"Origin": BASE_URL}
NOT_SAVED = "Nothing has been saved yet."


@pytest.fixture
def file(world: World) -> OwnerFile:
    return OwnerFile(world, world.pia)


class EndedSession:
    """A form on the page ``path`` that was opened in a session which has ended since."""

    def __init__(self, world: World, http: FlaskClient, path: str, action: str | None = None) -> None:
        self.world, self.form = world, Form(http, path, action)
        self.browser = world.app.test_client()

    def send(self, values: Mapping[str, str], headers: Mapping[str, str] = OWN_PAGE) -> tuple[int, HtmlElement]:
        """Send the form without a session; return the status and the page."""
        self.form.fill(dict(values))
        answer = self.browser.post(self.form.action, data=self.form.fields, headers=dict(headers))
        return answer.status_code, parse_html(answer.text)

    def sign_in_and_continue(self, page: HtmlElement) -> HtmlElement:
        """Sign in, and send the values that the page kept."""
        kept = Form(self.browser, self.form.action, page=page)
        self.browser = sign_in_browser(self.world, self.world.pia)
        answer = self.browser.post(kept.action, data=kept.fields, headers=OWN_PAGE)
        assert answer.status_code == 403
        return parse_html(answer.text)

    def send_again(self, page: HtmlElement) -> int:
        """Send the form that was filled in again."""
        form = Form(self.browser, self.form.action, page=page)
        return self.browser.post(form.action, data=form.fields, headers=OWN_PAGE).status_code


def test_settings_survive_the_end_of_the_session(world: World, file: OwnerFile) -> None:
    session = EndedSession(world, file.http, f"{file.path}/settings")
    before = dump_database(world)
    status, page = session.send({"viewLimit": "7", "allowDownload": "", "password": "open sesame"})
    assert (status, page.find_one("h1").words) == (403, "You are no longer signed in")
    assert "The password is not kept." in page.words
    kept = {field.attrs["name"]: field.attrs["value"] for field in page.find_all("input")}
    assert (kept["viewLimit"], "password" in kept, "csrf" in kept) == ("7", False, False)
    assert "open sesame" not in str(kept)
    assert dump_database(world) == before
    page = session.sign_in_and_continue(page)
    assert NOT_SAVED in page.words
    assert "viewLimit" not in file.get_from_api("")
    assert session.send_again(page) == 303
    stored = file.get_from_api("")
    assert (stored["viewLimit"], stored["allowDownload"], stored["protected"]) == (7, False, False)


def test_looks_survive_the_end_of_the_session(world: World, file: OwnerFile) -> None:
    session = EndedSession(world, file.http, f"{file.path}/looks")
    status, page = session.send({"viewerMode": "flipbook", "viewerSettings.brand.accentColor": "#2b6cb0"})
    assert status == 403
    page = session.sign_in_and_continue(page)
    assert NOT_SAVED in page.words
    assert session.send_again(page) == 303
    stored = file.get_from_api("")
    assert (stored["viewerMode"], stored["viewerSettings"]["brand"]["accentColor"]) == ("flipbook", "#2b6cb0")


@pytest.mark.parametrize(
    ("action", "values"),
    [
        ("/account/name", {"name": "Pia <Lee>"}),
        ("/account/email", {"email": "pia.lee@example.com"}),
    ],
)
def test_account_forms_are_filled_in_again(world: World, action: str, values: dict[str, str]) -> None:
    session = EndedSession(world, sign_in_browser(world, world.pia), "/account", action)
    status, page = session.send(values)
    assert status == 403
    page = session.sign_in_and_continue(page)
    assert NOT_SAVED in page.words
    refilled = Form(session.browser, action, page=page).fields
    assert {name: refilled[name] for name in values} == values


def test_every_value_of_a_restricted_key_is_filled_in_again(world: World) -> None:
    sign_in_browser(world, world.pia)
    sent: dict[str, Any] = {
        "restricted": "on", "key_name": "ci", "scope": ["files:read", "webhooks:manage"], "file": "", "days": "30"
    }  # fmt: skip
    http = world.app.test_client()
    page = parse_html(http.post("/account/keys", data=sent, headers=OWN_PAGE).text)
    kept = [(field.attrs["name"], field.attrs["value"]) for field in page.find_all("input")]
    assert [value for name, value in kept if name == "scope"] == ["files:read", "webhooks:manage"]
    http = sign_in_browser(world, world.pia)
    page = parse_html(http.post("/account/keys", data=sent, headers=OWN_PAGE).text)
    assert page.find_one("input", id="restricted-name").attrs["value"] == "ci"
    assert page.find_one("input", id="key-name").attrs["value"] == ""
    checked = [box.attrs["value"] for box in page.find_all("input", name="scope") if "checked" in box.attrs]
    assert sorted(checked) == ["files:read", "webhooks:manage"]


def test_the_name_of_a_personal_key_is_filled_in_again(world: World) -> None:
    http, before = sign_in_browser(world, world.pia), count_keys(world)
    page = parse_html(http.post("/account/keys", data={"key_name": "build server"}, headers=OWN_PAGE).text)
    assert page.find_one("input", id="key-name").attrs["value"] == "build server"
    assert count_keys(world) == before


def count_keys(world: World) -> int:
    return len(accounts.list_keys(world.rt, world.pia.email))


def test_a_form_opened_before_the_last_sign_in_is_filled_in_again(world: World, file: OwnerFile) -> None:
    form = Form(file.http, f"{file.path}/settings").fill({"viewLimit": "7"})
    other = sign_in_browser(world, world.pia)
    answer = other.post(form.action, data=form.fields, headers=OWN_PAGE)
    assert answer.status_code == 403
    page = parse_html(answer.text)
    assert Form(other, form.action, page=page).fields["viewLimit"] == "7"
    assert "viewLimit" not in file.get_from_api("")


@pytest.mark.parametrize("is_signed_in", [False, True])
@pytest.mark.parametrize(
    "headers", [{}, {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}]
)
def test_only_a_form_of_this_server_is_kept(
    world: World, file: OwnerFile, headers: dict[str, str], is_signed_in: bool
) -> None:
    session = EndedSession(world, file.http, f"{file.path}/settings")
    if is_signed_in:
        session.browser = sign_in_browser(world, world.pia)
    status, page = session.send({"viewLimit": "7"}, headers)
    assert (status, page.find_all("input")) == (403, [])


def test_the_kept_values_are_of_no_use_to_another_account(world: World, file: OwnerFile) -> None:
    session = EndedSession(world, file.http, f"{file.path}/settings")
    kept = Form(session.browser, session.form.action, page=session.send({"viewLimit": "7"})[1])
    answer = sign_in_browser(world, world.mal).post(kept.action, data=kept.fields, headers=OWN_PAGE)
    assert answer.status_code == 404
