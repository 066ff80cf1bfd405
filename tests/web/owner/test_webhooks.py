"""The webhook pages of an owner: creation, test events, health, the delivery log and redelivery."""

import re
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from docshare.contract.signing import verify
from tests.support.browsers.markup import parse_html
from tests.support.engines.database import dump_database
from tests.support.outside.due_deliveries import deliver_due
from tests.support.outside.import_source import http_response
from tests.support.outside.receivers import LOOPBACK_NETWORKS, FakeReceiver, add_webhook, record_replacements
from tests.support.owner.browser import sign_in_browser
from tests.support.owner.forms import submit_and_follow, submit_form
from tests.support.people.cast import Person, World
from tests.support.people.webhooks import URL, create_webhook, list_webhooks, update_webhook_row

pytestmark = [pytest.mark.world(webhook_allow=LOOPBACK_NETWORKS), pytest.mark.usefixtures("resolve_hosts")]


UNKNOWN = "6f1d3c1e-9d3b-4f0a-8f57-0a1b2c3d4e5f"


def get_webhooks_page(http: FlaskClient, path: str = "/webhooks") -> str:
    found = http.get(path)
    assert found.status_code == 200
    return found.text


def visible_text(text: str) -> str:
    """Return the text of a page without markup."""
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def submit_webhook(http: FlaskClient, **fields: Any) -> TestResponse:
    return submit_form(http, "/webhooks", **{"url": URL, "events": ["file.viewed"], "format": "json", **fields})


# --- creation --------------------------------------------------------------------------------------------------------


def test_the_pages_require_a_signed_in_user(world: World) -> None:
    made = create_webhook(world.pia)["webhook"]["uuid"]
    for path in ("/webhooks", f"/webhooks/{made}"):
        answer = world.http.get(path)
        assert (answer.status_code, "hook.example" in answer.text) == (403, False)


def test_a_webhook_is_created_and_its_secret_is_shown_once(
    world: World, owner_browser: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    answer = submit_webhook(owner_browser, events=["file.viewed", "note.created"])
    assert answer.status_code == 200, answer.text
    (secret,) = re.findall(r'id="secret">(whsec_[0-9a-f]{64})<', answer.text)
    (hook,) = list_webhooks(world.pia)
    assert (hook["url"], hook["events"], hook["format"]) == (URL, ["file.viewed", "note.created"], "json")
    assert "fileUuid" not in hook
    later = (
        get_webhooks_page(owner_browser)
        + get_webhooks_page(owner_browser, f"/webhooks/{hook['uuid']}")
        + get_webhooks_page(owner_browser, "/account")
    )
    dump = "\n".join(dump_database(world))
    assert secret not in later + dump + caplog.text
    assert secret.removeprefix("whsec_") not in later + dump + caplog.text


def test_the_shown_secret_verifies_the_signature_of_events(
    world: World, owner_browser: FlaskClient, receiver: FakeReceiver
) -> None:
    made = submit_webhook(owner_browser, url=receiver.url)
    (secret,) = re.findall(r'id="secret">([^<]+)<', made.text)
    (hook,) = list_webhooks(world.pia)
    submit_form(owner_browser, f"/webhooks/{hook['uuid']}/test")
    (hit,) = receiver.requests
    assert verify(secret, hit.body, hit.headers["x-service-signature"], world.clock.now)


def test_all_nine_event_kinds_are_offered_with_a_description(owner_browser: FlaskClient) -> None:
    assert re.findall(r'name="events" value="([^"]+)"', get_webhooks_page(owner_browser)) == [
        "file.viewed", "file.downloaded", "gate.completed", "note.created", "receipt.confirmed", "file.burned",
        "content.replaced", "invite.viewed", "proofing.updated",
    ]  # fmt: skip
    assert "When a reader finishes reading the document." in get_webhooks_page(owner_browser)


def test_each_event_kind_has_a_name_for_people(owner_browser: FlaskClient) -> None:
    page = parse_html(get_webhooks_page(owner_browser))
    names = [label.find_one("span").words for label in page.find_all("label", class_="check")]
    assert names == [
        "Document viewed", "Document downloaded", "Gate completed", "New note", "Receipt confirmed",
        "View limit reached, document deleted", "Document replaced", "Invitation opened", "Proofing started",
    ]  # fmt: skip


def test_an_event_kind_above_the_plan_names_the_required_plan(world: World, owner_browser: FlaskClient) -> None:
    assert "gate. Needs" not in visible_text(get_webhooks_page(owner_browser))
    assert "form gate. Needs Pro." in visible_text(get_webhooks_page(sign_in_browser(world, world.fay)))


def test_a_webhook_can_be_limited_to_the_file_named_in_the_query(world: World, owner_browser: FlaskClient) -> None:
    made = world.pia.upload(name="offer & more.pdf")
    text = get_webhooks_page(owner_browser, f"/webhooks?file={made['uuid']}")
    assert f'<option value="{made["uuid"]}" selected>offer &amp; more.pdf</option>' in text
    assert submit_webhook(owner_browser, file=made["uuid"]).status_code == 200
    assert list_webhooks(world.pia)[0]["fileUuid"] == made["uuid"]
    assert "Document viewed · offer & more.pdf" in visible_text(get_webhooks_page(owner_browser)).replace("&amp;", "&")


def test_the_slack_format_can_be_chosen(world: World, owner_browser: FlaskClient) -> None:
    submit_webhook(owner_browser, format="slack")
    assert list_webhooks(world.pia)[0]["format"] == "slack"
    assert "A Slack message" in get_webhooks_page(owner_browser)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"url": "http://hook.example/in"}, 400), ({"url": "https://10.0.0.1/x"}, 400), ({"url": "nonsense"}, 400),
        ({"events": []}, 400), ({"events": ["file.opened"]}, 400), ({"format": "xml"}, 400), ({"file": UNKNOWN}, 404),
    ],
)  # fmt: skip
def test_a_rejected_form_preserves_the_typed_values(
    world: World, owner_browser: FlaskClient, fields: dict[str, Any], status: int
) -> None:
    typed = {"url": "https://kept.example/in?a=1", "events": ["file.burned"], "format": "slack", **fields}
    answer = submit_webhook(owner_browser, **typed)
    assert answer.status_code == status
    assert 'role="alert"' in answer.text
    assert f'value="{typed["url"]}"' in answer.text
    assert ('value="file.burned" checked' in answer.text) == (typed["events"] == ["file.burned"])
    assert ('value="slack" selected' in answer.text) == (typed["format"] == "slack")
    assert "whsec_" not in answer.text
    assert list_webhooks(world.pia) == []


def test_an_account_can_have_at_most_25_webhooks(world: World, owner_browser: FlaskClient) -> None:
    for _ in range(25):
        create_webhook(world.pia)
    assert "25 of 25" in get_webhooks_page(owner_browser)
    answer = submit_webhook(owner_browser)
    assert (answer.status_code, "25 webhooks" in answer.text) == (400, True)


# --- health ----------------------------------------------------------------------------------------------------------


def test_the_list_shows_the_health_of_each_webhook(world: World, owner_browser: FlaskClient) -> None:
    good, bad = (
        create_webhook(world.pia, url=f"https://{name}.example/in")["webhook"]["uuid"] for name in ("good", "bad")
    )
    update_webhook_row(world, good, last_delivery_at=world.clock.now, last_status=204)
    update_webhook_row(world, bad, last_delivery_at=world.clock.now, last_status=0, failure_count=20,
                disabled_at=world.clock.now)  # fmt: skip
    found = visible_text(get_webhooks_page(owner_browser))
    assert "https://good.example/in active Document viewed · All files · JSON, signed" in found
    assert "Last: status 204 on 21 Sep 2026, 14:13 UTC" in found
    assert "https://bad.example/in disabled on 21 Sep 2026" in found
    assert "Last: no response on 21 Sep 2026, 14:13 UTC; 20 consecutive failures" in found


def test_a_disabled_webhook_can_be_enabled(world: World, owner_browser: FlaskClient) -> None:
    uuid = create_webhook(world.pia)["webhook"]["uuid"]
    assert "/enable" not in get_webhooks_page(owner_browser, f"/webhooks/{uuid}")
    update_webhook_row(world, uuid, failure_count=20, disabled_at=world.clock.now)
    text = get_webhooks_page(owner_browser, f"/webhooks/{uuid}")
    assert "disabled since 21 Sep 2026: 20 consecutive deliveries were abandoned" in visible_text(text)
    assert "The webhook receives events again." in submit_and_follow(owner_browser, f"/webhooks/{uuid}/enable")
    (hook,) = list_webhooks(world.pia)
    assert (hook["active"], hook["failureCount"]) == (True, 0)


def test_deleting_requires_confirmation_and_deletes_the_log(world: World, owner_browser: FlaskClient) -> None:
    uuid = create_webhook(world.pia)["webhook"]["uuid"]
    text = get_webhooks_page(owner_browser, f"/webhooks/{uuid}")
    assert text.rindex('<details class="confirm">', 0, text.index("/delete")) > 0
    assert "The webhook is deleted." in submit_and_follow(owner_browser, f"/webhooks/{uuid}/delete")
    assert list_webhooks(world.pia) == []
    assert owner_browser.get(f"/webhooks/{uuid}").status_code == 404


# --- test events -----------------------------------------------------------------------------------------------------


def test_the_result_of_a_test_event_is_shown(world: World, owner_browser: FlaskClient, receiver: FakeReceiver) -> None:
    hook = add_webhook(world.pia, receiver.url)
    assert re.search(r"Delivered 200 in \d+ ms\.", submit_and_follow(owner_browser, f"/webhooks/{hook.uuid}/test"))
    receiver.set_script(http_response(b"", "503 Service Unavailable"))
    text = submit_and_follow(owner_browser, f"/webhooks/{hook.uuid}/test")
    assert re.search(r"Not delivered, after \d+ ms\. The receiver answered with status 503\.", text)
    assert [hit.headers["webhook-event"] for hit in receiver.requests] == ["webhook.test"] * 2


def test_test_events_are_limited_to_10_per_minute(
    world: World, owner_browser: FlaskClient, receiver: FakeReceiver
) -> None:
    hook = add_webhook(world.pia, receiver.url)
    statuses = [submit_form(owner_browser, f"/webhooks/{hook.uuid}/test").status_code for _ in range(11)]
    assert statuses == [303] * 10 + [429]
    assert len(receiver.requests) == 10
    world.clock.advance(minutes=1)
    assert submit_form(owner_browser, f"/webhooks/{hook.uuid}/test").status_code == 303


# --- delivery log ----------------------------------------------------------------------------------------------------


def test_the_log_lists_each_attempt_and_can_redeliver(
    world: World, owner_browser: FlaskClient, receiver: FakeReceiver
) -> None:
    hook, made = add_webhook(world.pia, receiver.url), world.pia.upload()
    receiver.set_script(http_response(b"", "500 Oops"))
    record_replacements(world, made["uuid"])
    path = f"/webhooks/{hook.uuid}"
    assert "queued" in visible_text(get_webhooks_page(owner_browser, path))
    for _ in range(5):
        deliver_due(world.rt)
        world.clock.advance(hours=1)
    found = visible_text(get_webhooks_page(owner_browser, path))
    assert "Document replaced abandoned Delivery" in found
    assert [f"{number}. 21 Sep 2026" in found for number in range(1, 7)] == [True] * 5 + [False]
    assert found.count("The receiver answered with status 500.") == 5
    (number,) = re.findall(r"/deliveries/(\d+)/redeliver", get_webhooks_page(owner_browser, path))
    receiver.set_script(http_response(b"thanks"))
    assert f"Delivery {number} is queued again." in submit_and_follow(
        owner_browser, f"{path}/deliveries/{number}/redeliver"
    )
    assert "/redeliver" not in get_webhooks_page(owner_browser, path), "it is queued"
    deliver_due(world.rt)
    assert "Document replaced delivered" in visible_text(get_webhooks_page(owner_browser, path))
    assert len(receiver.requests) == 6


def test_a_disabled_webhook_cannot_redeliver(world: World, owner_browser: FlaskClient, receiver: FakeReceiver) -> None:
    hook, made = add_webhook(world.pia, receiver.url), world.pia.upload()
    record_replacements(world, made["uuid"])
    deliver_due(world.rt)
    path = f"/webhooks/{hook.uuid}"
    (number,) = re.findall(r"/deliveries/(\d+)/redeliver", get_webhooks_page(owner_browser, path))
    update_webhook_row(world, hook.uuid, disabled_at=world.clock.now)
    assert "/redeliver" not in get_webhooks_page(owner_browser, path)
    assert submit_form(owner_browser, f"{path}/deliveries/{number}/redeliver").status_code == 409
    assert submit_form(owner_browser, f"{path}/deliveries/999999/redeliver").status_code == 404


# --- permissions -----------------------------------------------------------------------------------------------------

FORMS = ["/webhooks/{hook}/test", "/webhooks/{hook}/enable", "/webhooks/{hook}/delete",
         "/webhooks/{hook}/deliveries/1/redeliver"]  # fmt: skip


def test_webhooks_of_other_accounts_are_404(world: World, owner_browser: FlaskClient) -> None:
    theirs = create_webhook(world.bea)["webhook"]["uuid"]
    assert "You have no webhooks." in get_webhooks_page(owner_browser)
    assert owner_browser.get(f"/webhooks/{theirs}").text == owner_browser.get(f"/webhooks/{UNKNOWN}").text
    for form in FORMS:
        answers = [submit_form(owner_browser, form.format(hook=uuid)) for uuid in (theirs, UNKNOWN)]
        assert [answer.status_code for answer in answers] == [404, 404]
        assert answers[0].text == answers[1].text
    assert [hook["uuid"] for hook in list_webhooks(world.bea)] == [theirs]


@pytest.mark.parametrize("path", ["/webhooks", *FORMS])
def test_a_form_without_the_csrf_token_changes_nothing(world: World, owner_browser: FlaskClient, path: str) -> None:
    uuid = create_webhook(world.pia)["webhook"]["uuid"]
    update_webhook_row(world, uuid, failure_count=20, disabled_at=world.clock.now)
    before = list_webhooks(world.pia)
    fields = {"url": URL, "events": ["file.viewed"]}
    for token in ({}, {"csrf": "wrong"}):
        assert owner_browser.post(path.format(hook=uuid), data={**fields, **token}).status_code == 403
    assert world.http.post(path.format(hook=uuid), data=fields).status_code == 403
    assert list_webhooks(world.pia) == before


def test_external_text_is_escaped(world: World, owner_browser: FlaskClient) -> None:
    person: Person = world.pia
    made = person.upload(name="<img src=x onerror=alert(1)>.pdf")
    create_webhook(person, fileUuid=made["uuid"])
    assert "<img src=x" not in get_webhooks_page(owner_browser)
    assert "<b>hi" not in get_webhooks_page(owner_browser, "/webhooks?done=<b>hi&file=<b>hi")


def test_the_query_cannot_put_text_on_the_page(owner_browser: FlaskClient) -> None:
    assert "Call 555" not in get_webhooks_page(owner_browser, "/webhooks?done=Call 555&file=Call 555")
