"""The webhooks of an owner in the browser: making, trying out, health, the log, and sending again."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from docshare.contract.signing import verify
from docshare.server.workers.dispatcher import deliver_due
from tests.api.hooks import URL, change_hook, create, find_everything, listed
from tests.support.cast import Person, World
from tests.support.owner import signed_in
from tests.support.pressing import press, pressed
from tests.support.receivers import ALLOWED, Receiver, add_hook, happen, receiver_at
from tests.support.source import answer

UNKNOWN = "6f1d3c1e-9d3b-4f0a-8f57-0a1b2c3d4e5f"


@pytest.fixture
def world(make: Callable[..., World]) -> World:
    world = make(webhook_allow=ALLOWED)
    find_everything(world.rt)
    return world


@pytest.fixture
def pia(world: World) -> FlaskClient:
    return signed_in(world, world.pia)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiver_at() as found:
        yield found


def page(http: FlaskClient, path: str = "/webhooks") -> str:
    found = http.get(path)
    assert found.status_code == 200
    return found.text


def words(text: str) -> str:
    """A page without markup."""
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def ask(http: FlaskClient, **fields: Any) -> TestResponse:
    return press(http, "/webhooks", **{"url": URL, "events": ["file.viewed"], "format": "json", **fields})


# --- making one ------------------------------------------------------------------------------------------------------


def test_nobody_sees_them_without_signing_in(world: World) -> None:
    made = create(world.pia)["webhook"]["uuid"]
    for path in ("/webhooks", f"/webhooks/{made}"):
        answer = world.http.get(path)
        assert (answer.status_code, "hook.example" in answer.text) == (403, False)


def test_a_webhook_is_made_and_its_secret_is_shown_once(
    world: World, pia: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    answer = ask(pia, events=["file.viewed", "note.created"])
    assert answer.status_code == 200, answer.text
    (secret,) = re.findall(r'id="secret">(whsec_[0-9a-f]{64})<', answer.text)
    (hook,) = listed(world.pia)
    assert (hook["url"], hook["events"], hook["format"]) == (URL, ["file.viewed", "note.created"], "json")
    assert "fileUuid" not in hook
    later = page(pia) + page(pia, f"/webhooks/{hook['uuid']}") + page(pia, "/account")
    dump = "\n".join(world.rt.db.sqlite.connection().iterdump())
    assert secret not in later + dump + caplog.text
    assert secret.removeprefix("whsec_") not in later + dump + caplog.text


def test_the_secret_is_the_one_that_events_are_signed_with(world: World, pia: FlaskClient, receiver: Receiver) -> None:
    made = ask(pia, url=receiver.url)
    (secret,) = re.findall(r'id="secret">([^<]+)<', made.text)
    (hook,) = listed(world.pia)
    press(pia, f"/webhooks/{hook['uuid']}/test")
    (hit,) = receiver.hits
    assert verify(secret, hit.body, hit.headers["x-service-signature"], world.clock.now)


def test_all_nine_kinds_are_offered_with_when_they_fire(pia: FlaskClient) -> None:
    assert re.findall(r'name="events" value="([^"]+)"', page(pia)) == [
        "file.viewed", "file.downloaded", "gate.completed", "note.created", "receipt.confirmed", "file.burned",
        "content.replaced", "invite.viewed", "proofing.updated",
    ]  # fmt: skip
    assert "When a reader has left the document." in page(pia)


def test_a_kind_that_the_plan_lacks_says_which_plan_it_needs(world: World, pia: FlaskClient) -> None:
    assert "gate. Needs" not in words(page(pia))
    assert "form gate. Needs Pro." in words(page(signed_in(world, world.fay)))


def test_a_webhook_can_be_for_one_file_and_is_offered_it_by_the_address(world: World, pia: FlaskClient) -> None:
    made = world.pia.upload(name="offer & more.pdf")
    text = page(pia, f"/webhooks?file={made['uuid']}")
    assert f'<option value="{made["uuid"]}" selected>offer &amp; more.pdf</option>' in text
    assert ask(pia, file=made["uuid"]).status_code == 200
    assert listed(world.pia)[0]["fileUuid"] == made["uuid"]
    assert "of offer & more.pdf" in words(page(pia)).replace("&amp;", "&")


def test_the_slack_format_can_be_chosen(world: World, pia: FlaskClient) -> None:
    ask(pia, format="slack")
    assert listed(world.pia)[0]["format"] == "slack"
    assert "A Slack message" in page(pia)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"url": "http://hook.example/in"}, 400), ({"url": "https://10.0.0.1/x"}, 400), ({"url": "nonsense"}, 400),
        ({"events": []}, 400), ({"events": ["file.opened"]}, 400), ({"format": "xml"}, 400), ({"file": UNKNOWN}, 404),
    ],
)  # fmt: skip
def test_a_refusal_keeps_what_was_typed(world: World, pia: FlaskClient, fields: dict[str, Any], status: int) -> None:
    typed = {"url": "https://kept.example/in?a=1", "events": ["file.burned"], "format": "slack", **fields}
    answer = ask(pia, **typed)
    assert answer.status_code == status
    assert 'role="alert"' in answer.text
    assert f'value="{typed["url"]}"' in answer.text
    assert ('value="file.burned" checked' in answer.text) == (typed["events"] == ["file.burned"])
    assert ('value="slack" selected' in answer.text) == (typed["format"] == "slack")
    assert "whsec_" not in answer.text
    assert listed(world.pia) == []


def test_there_are_25_at_most(world: World, pia: FlaskClient) -> None:
    for _ in range(25):
        create(world.pia)
    assert "25 of 25" in page(pia)
    answer = ask(pia)
    assert (answer.status_code, "25 webhooks" in answer.text) == (400, True)


# --- health ----------------------------------------------------------------------------------------------------------


def test_the_list_tells_how_each_fares(world: World, pia: FlaskClient) -> None:
    good, bad = (create(world.pia, url=f"https://{name}.example/in")["webhook"]["uuid"] for name in ("good", "bad"))
    change_hook(world, good, last_delivery_at=world.clock.now, last_status=204)
    change_hook(world, bad, last_delivery_at=world.clock.now, last_status=0, failure_count=20,
                disabled_at=world.clock.now)  # fmt: skip
    found = words(page(pia))
    assert "https://good.example/in active file.viewed of all files. JSON, signed." in found
    assert "Last: status 204 on 21 Sep 2026, 14:13 UTC" in found
    assert "https://bad.example/in disabled on 21 Sep 2026" in found
    assert "Last: no answer on 21 Sep 2026, 14:13 UTC; 20 failed in a row" in found


def test_a_disabled_one_can_be_enabled(world: World, pia: FlaskClient) -> None:
    uuid = create(world.pia)["webhook"]["uuid"]
    assert "/enable" not in page(pia, f"/webhooks/{uuid}")
    change_hook(world, uuid, failure_count=20, disabled_at=world.clock.now)
    text = page(pia, f"/webhooks/{uuid}")
    assert "disabled since 21 Sep 2026: 20 deliveries in a row were given up" in words(text)
    assert "The webhook gets events again." in pressed(pia, f"/webhooks/{uuid}/enable")
    (hook,) = listed(world.pia)
    assert (hook["active"], hook["failureCount"]) == (True, 0)


def test_deleting_asks_once_more_and_takes_the_log_along(world: World, pia: FlaskClient) -> None:
    uuid = create(world.pia)["webhook"]["uuid"]
    text = page(pia, f"/webhooks/{uuid}")
    assert text.rindex('<details class="confirm">', 0, text.index("/delete")) > 0
    assert "The webhook is deleted." in pressed(pia, f"/webhooks/{uuid}/delete")
    assert listed(world.pia) == []
    assert pia.get(f"/webhooks/{uuid}").status_code == 404


# --- trying out ------------------------------------------------------------------------------------------------------


def test_a_test_says_how_it_went(world: World, pia: FlaskClient, receiver: Receiver) -> None:
    hook = add_hook(world.pia, receiver.url)
    assert re.search(r"Delivered 200 in \d+ ms\.", pressed(pia, f"/webhooks/{hook.uuid}/test"))
    receiver.script(answer(b"", "503 Service Unavailable"))
    text = pressed(pia, f"/webhooks/{hook.uuid}/test")
    assert re.search(r"Not delivered, after \d+ ms\. The receiver answered with status 503\.", text)
    assert [hit.headers["webhook-event"] for hit in receiver.hits] == ["webhook.test"] * 2


def test_tests_are_limited_as_on_the_session_route(world: World, pia: FlaskClient, receiver: Receiver) -> None:
    hook = add_hook(world.pia, receiver.url)
    statuses = [press(pia, f"/webhooks/{hook.uuid}/test").status_code for _ in range(11)]
    assert statuses == [303] * 10 + [429]
    assert len(receiver.hits) == 10
    world.clock.advance(minutes=1)
    assert press(pia, f"/webhooks/{hook.uuid}/test").status_code == 303


# --- the log ---------------------------------------------------------------------------------------------------------


def test_the_log_shows_each_attempt_and_sends_again(world: World, pia: FlaskClient, receiver: Receiver) -> None:
    hook, made = add_hook(world.pia, receiver.url), world.pia.upload()
    receiver.script(answer(b"", "500 Oops"))
    happen(world, made["uuid"])
    path = f"/webhooks/{hook.uuid}"
    assert "queued" in words(page(pia, path))
    for _ in range(5):
        deliver_due(world.rt)
        world.clock.advance(hours=1)
    found = words(page(pia, path))
    assert "content.replaced abandoned Number" in found
    assert [f"{number}. 21 Sep 2026" in found for number in range(1, 7)] == [True] * 5 + [False]
    assert found.count("The receiver answered with status 500.") == 5
    (number,) = re.findall(r"/deliveries/(\d+)/redeliver", page(pia, path))
    receiver.script(answer(b"thanks"))
    assert f"Delivery {number} is queued again." in pressed(pia, f"{path}/deliveries/{number}/redeliver")
    assert "/redeliver" not in page(pia, path), "it is queued"
    deliver_due(world.rt)
    assert "content.replaced delivered" in words(page(pia, path))
    assert len(receiver.hits) == 6


def test_nothing_is_sent_again_to_a_disabled_one(world: World, pia: FlaskClient, receiver: Receiver) -> None:
    hook, made = add_hook(world.pia, receiver.url), world.pia.upload()
    happen(world, made["uuid"])
    deliver_due(world.rt)
    path = f"/webhooks/{hook.uuid}"
    (number,) = re.findall(r"/deliveries/(\d+)/redeliver", page(pia, path))
    change_hook(world, hook.uuid, disabled_at=world.clock.now)
    assert "/redeliver" not in page(pia, path)
    assert press(pia, f"{path}/deliveries/{number}/redeliver").status_code == 409
    assert press(pia, f"{path}/deliveries/999999/redeliver").status_code == 404


# --- whose they are --------------------------------------------------------------------------------------------------

FORMS = ["/webhooks/{hook}/test", "/webhooks/{hook}/enable", "/webhooks/{hook}/delete",
         "/webhooks/{hook}/deliveries/1/redeliver"]  # fmt: skip


def test_those_of_others_are_not_there(world: World, pia: FlaskClient) -> None:
    theirs = create(world.bea)["webhook"]["uuid"]
    assert "You have no webhooks." in page(pia)
    assert pia.get(f"/webhooks/{theirs}").text == pia.get(f"/webhooks/{UNKNOWN}").text
    for form in FORMS:
        answers = [press(pia, form.format(hook=uuid)) for uuid in (theirs, UNKNOWN)]
        assert [answer.status_code for answer in answers] == [404, 404]
        assert answers[0].text == answers[1].text
    assert [hook["uuid"] for hook in listed(world.bea)] == [theirs]


@pytest.mark.parametrize("path", ["/webhooks", *FORMS])
def test_a_form_without_the_token_of_the_session_changes_nothing(world: World, pia: FlaskClient, path: str) -> None:
    uuid = create(world.pia)["webhook"]["uuid"]
    change_hook(world, uuid, failure_count=20, disabled_at=world.clock.now)
    before = listed(world.pia)
    fields = {"url": URL, "events": ["file.viewed"]}
    for token in ({}, {"csrf": "wrong"}):
        assert pia.post(path.format(hook=uuid), data={**fields, **token}).status_code == 403
    assert world.http.post(path.format(hook=uuid), data=fields).status_code == 403
    assert listed(world.pia) == before


def test_what_comes_from_outside_is_text(world: World, pia: FlaskClient) -> None:
    person: Person = world.pia
    made = person.upload(name="<img src=x onerror=alert(1)>.pdf")
    create(person, fileUuid=made["uuid"])
    assert "<img src=x" not in page(pia)
    assert "<b>hi" not in page(pia, "/webhooks?done=<b>hi&file=<b>hi")


def test_an_address_puts_no_words_of_its_own_on_the_page(pia: FlaskClient) -> None:
    assert "Call 555" not in page(pia, "/webhooks?done=Call 555&file=Call 555")
