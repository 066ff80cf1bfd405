"""The account page: name, plan, API keys, apps, browsers and data retention."""

import re
from typing import Any

import pytest
from flask.testing import FlaskClient

from docshare.contract.plans import Plan
from docshare.server.rules import reading
from docshare.server.services.accounts import accounts
from docshare.server.services.operations import mail
from docshare.server.services.webhooks import deliveries
from tests.support.engines.database import dump_database
from tests.support.engines.rows import update_file_row
from tests.support.outside.oauth_app import make_app
from tests.support.owner.browser import sign_in_browser
from tests.support.owner.forms import submit_and_follow, submit_form
from tests.support.people.cast import Person, World

UNKNOWN = "6f1d3c1e-9d3b-4f0a-8f57-0a1b2c3d4e5f"


def get_account_page(http: FlaskClient) -> str:
    answer = http.get("/account")
    assert answer.status_code == 200
    return answer.text


def get_section_text(text: str, name: str) -> str:
    """Return the text of one card of the page."""
    (found,) = re.findall(rf'<section class="card" aria-labelledby="{name}">(.*?)</section>', text, re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", found).split())


def make_key(http: FlaskClient, name: str = "build server") -> str:
    """Create an API key and return it from the page."""
    answer = submit_form(http, "/account/keys", key_name=name)
    assert answer.status_code == 200, answer.text
    (key,) = re.findall(r'id="secret">(ds_live_\w+)<', answer.text)
    return str(key)


def is_key_valid(world: World, key: str) -> bool:
    return world.http.get("/api/v1/user", headers={"Authorization": f"Bearer {key}"}).status_code == 200


def find_key_uuid(world: World, person: Person, name: str) -> str:
    (found,) = [row["uuid"] for row in accounts.list_keys(world.rt, person.email) if row["name"] == name]
    return str(found)


# --- name ------------------------------------------------------------------------------------------------------------


def test_the_page_requires_a_signed_in_user(world: World) -> None:
    answer = world.http.get("/account")
    assert (answer.status_code, "pia@example.com" in answer.text) == (403, False)
    assert 'href="/login"' in answer.text


def test_the_page_is_not_cached_framed_or_sent_as_a_referrer(owner_browser: FlaskClient) -> None:
    headers = owner_browser.get("/account").headers
    assert headers["Cache-Control"] == "private, no-store"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "same-origin"


def test_the_name_can_be_changed_but_not_the_address(world: World, owner_browser: FlaskClient) -> None:
    assert "Your name was changed." in submit_and_follow(
        owner_browser, "/account/name", name="  Pia <b>P</b> ", email="x@example.com"
    )
    assert 'value="Pia &lt;b&gt;P&lt;/b&gt;"' in get_account_page(owner_browser)
    account = world.pia.get("/api/v1/user").get_json()
    assert (account["name"], account["email"]) == ("Pia <b>P</b>", "pia@example.com")


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "two\nlines", "nul\0"])
def test_an_invalid_name_is_rejected_and_remains_in_the_form(
    world: World, owner_browser: FlaskClient, name: str
) -> None:
    answer = submit_form(owner_browser, "/account/name", name=name)
    assert (answer.status_code, 'id="name-error"' in answer.text) == (400, True)
    assert world.pia.get("/api/v1/user").get_json()["name"] == "Pia"
    if name.strip():
        assert f'value="{name}"' in answer.text


# --- plan ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        ("fay", ("Plan: Free", "1 of 3 files", "Largest PDF 20 MB", "cannot be restored")),
        ("bea", ("Plan: Basic", "1 of 100 files", "Largest PDF 200 MB", "restored for 7 days")),
        ("pia", ("Plan: Pro", "1 file", "Largest PDF 2 GB", "restored for 30 days")),
    ],
)
def test_the_plan_card_shows_limits_usage_and_how_to_change_the_plan(
    world: World, who: str, expected: tuple[str, ...]
) -> None:
    person: Person = getattr(world, who)
    made = person.upload()
    update_file_row(world, made["uuid"], size=5 * 1024 * 1024 + 1)
    found = get_section_text(get_account_page(sign_in_browser(world, person)), "plan")
    for words in (*expected, "Stored 5 MB", f"docshare admin account set-tier {who}@example.com"):
        assert words in found


def test_a_changed_plan_is_shown_immediately(world: World, owner_browser: FlaskClient) -> None:
    accounts.set_tier(world.rt, "pia@example.com", Plan.FREE)
    assert "Plan: Free" in get_account_page(owner_browser)


# --- keys ------------------------------------------------------------------------------------------------------------


def test_a_new_key_is_shown_once_and_works(
    world: World, owner_browser: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    key = make_key(owner_browser)
    assert is_key_valid(world, key)
    dump = "\n".join(dump_database(world))
    later = "".join(owner_browser.get(path).text for path in ("/account", "/webhooks", "/login"))
    assert key not in dump + later + caplog.text
    keys = get_section_text(get_account_page(owner_browser), "keys")
    assert f"build server ends in {key[-4:]} , created on 21 Sep 2026" in keys


def test_a_revoked_key_is_rejected_and_no_longer_listed(world: World, owner_browser: FlaskClient) -> None:
    key = make_key(owner_browser)
    text = submit_and_follow(owner_browser, f"/account/keys/{find_key_uuid(world, world.pia, 'build server')}/revoke")
    assert "The key build server is revoked." in text
    assert "ends in" in get_section_text(text, "keys")
    assert f"ends in {key[-4:]}" not in get_section_text(text, "keys")
    assert not is_key_valid(world, key)
    assert is_key_valid(world, world.pia.key)


def test_revoking_a_key_requires_confirmation(owner_browser: FlaskClient) -> None:
    text = get_account_page(owner_browser)
    form = text.index('/revoke"')
    assert text.rindex('<details class="confirm">', 0, form) < text.rindex("<summary", 0, form) < form


def test_the_key_of_another_account_cannot_be_revoked(world: World, owner_browser: FlaskClient) -> None:
    answers = [
        submit_form(owner_browser, f"/account/keys/{uuid}/revoke")
        for uuid in (find_key_uuid(world, world.bea, "tests"), UNKNOWN, "x")
    ]
    assert [answer.status_code for answer in answers] == [404] * 3
    assert len({answer.text for answer in answers}) == 1
    assert is_key_valid(world, world.bea.key)


def test_an_invalid_key_name_is_rejected_and_remains_in_the_form(world: World, owner_browser: FlaskClient) -> None:
    answer = submit_form(owner_browser, "/account/keys", key_name="x" * 201)
    assert (answer.status_code, 'id="secret"' in answer.text, "x" * 201 in answer.text) == (400, False, True)
    assert len(accounts.list_keys(world.rt, "pia@example.com")) == 1


def test_key_names_are_escaped(owner_browser: FlaskClient) -> None:
    make_key(owner_browser, "<script>alert(1)</script>")
    assert "<script>alert" not in get_account_page(owner_browser)


# --- apps ------------------------------------------------------------------------------------------------------------


def test_an_app_is_listed_with_its_scopes_and_can_be_revoked(world: World, owner_browser: FlaskClient) -> None:
    app = make_app(world)
    tokens = app.approve_and_exchange(scope="files:read profile")
    found = get_section_text(get_account_page(owner_browser), "apps")
    for words in ("Sales &lt;dashboard&gt;", "since 21 Sep 2026", "See your files and download them",
                  "See your account and plan"):  # fmt: skip
        assert words in found
    assert "webhooks" not in found
    (uuid,) = re.findall(r"/account/apps/([^/]+)/revoke", get_account_page(owner_browser))
    assert app.get("/api/v1/user", tokens["access_token"]).status_code == 200
    assert "The app no longer has access." in submit_and_follow(owner_browser, f"/account/apps/{uuid}/revoke")
    assert app.get("/api/v1/user", tokens["access_token"]).status_code == 401
    assert app.refresh_token(tokens["refresh_token"]).get_json()["error"] == "invalid_grant"
    assert "No app has access" in get_section_text(get_account_page(owner_browser), "apps")


def test_the_app_of_another_account_cannot_be_revoked(world: World, owner_browser: FlaskClient) -> None:
    app = make_app(world, world.bea)
    tokens = app.approve_and_exchange(scope="profile")
    assert "Sales" not in get_account_page(owner_browser)
    (uuid,) = re.findall(r"/account/apps/([^/]+)/revoke", get_account_page(app.owner))
    assert [submit_form(owner_browser, f"/account/apps/{name}/revoke").status_code for name in (uuid, UNKNOWN)] == [
        404,
        404,
    ]
    assert app.get("/api/v1/user", tokens["access_token"]).status_code == 200


# --- browsers --------------------------------------------------------------------------------------------------------


def test_all_other_browsers_can_be_signed_out(world: World, owner_browser: FlaskClient) -> None:
    others = [sign_in_browser(world, world.pia) for _ in range(2)]
    stranger = sign_in_browser(world, world.bea)
    assert "in 2 other browsers" in get_section_text(get_account_page(owner_browser), "signing-in")
    assert "Signed out of 2 other browsers." in submit_and_follow(owner_browser, "/account/sessions/end")
    assert "in no other" in get_section_text(get_account_page(owner_browser), "signing-in")
    assert [http.get("/account").status_code for http in (*others, stranger)] == [403, 403, 200]


def test_expired_sessions_are_not_counted(world: World, owner_browser: FlaskClient) -> None:
    world.clock.advance(days=29)
    later = sign_in_browser(world, world.pia)
    assert "in 1 other browser." in get_section_text(get_account_page(later), "signing-in")
    world.clock.advance(days=1)
    assert "in no other" in get_section_text(get_account_page(later), "signing-in")


# --- retention -------------------------------------------------------------------------------------------------------


def test_the_retention_periods_match_the_server(owner_browser: FlaskClient) -> None:
    """The numbers are written by hand, so a changed limit requires a changed page."""
    found = get_section_text(get_account_page(owner_browser), "kept")
    for words in (
        "computed 90 days", "with the reason 90 days", "replaced every 30 days", "IP addresses of readers never stored",
        "Events in the activity feed 90 days", "Webhook deliveries and their attempts 90 days", "Sent emails 30 days",
        "30 days; a sign-in link works for 10 minutes", "deleted 30 minutes after", "restored for 30 days",
        "the reader has touched, clicked", "at least two seconds have passed since the page was opened",
    ):  # fmt: skip
        assert words in found
    assert (deliveries.RETENTION_MS, mail.RETENTION_MS, reading.MIN_OPEN_MS) == (
        90 * 86_400_000,
        30 * 86_400_000,
        2_000,
    )


# --- forms -----------------------------------------------------------------------------------------------------------

FORMS = [
    ("/account/name", {"name": "Mallory"}), ("/account/keys", {"key_name": "mine"}),
    ("/account/keys/{key}/revoke", {}), ("/account/apps/{key}/revoke", {}), ("/account/sessions/end", {}),
    ("/account/password", {"password": "a long enough word"}), ("/account/password/remove", {}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "fields"), FORMS)
def test_a_form_without_the_csrf_token_changes_nothing(
    world: World, owner_browser: FlaskClient, path: str, fields: dict[str, Any]
) -> None:
    path = path.format(key=find_key_uuid(world, world.pia, "tests"))
    before = dump_database(world)
    for token in ({}, {"csrf": ""}, {"csrf": "wrong"}):
        assert owner_browser.post(path, data={**fields, **token}).status_code == 403
    assert submit_form(owner_browser, path, **fields, csrf="wrong").status_code == 403
    assert world.http.post(path, data=fields).status_code == 403
    assert dump_database(world) == before
