"""Receipts, taps and hotspots on share pages."""

from typing import Any

import pytest

from docshare.contract.plans import Plan
from docshare.server.rules.feedback import FEEDBACK_QUOTAS, FeedbackQuota
from docshare.server.services.accounts import accounts
from docshare.server.services.files import hotspots
from tests.support.documents.images import make_mp3_frame
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.database import dump_database
from tests.support.engines.rows import count_rows
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.cast import World
from tests.support.people.feedback_client import FeedbackClient, list_activity
from tests.support.people.settings import insert_asset

pytestmark = pytest.mark.file_settings(askReceipt=True)


SOUND = "11111111-2222-4333-8444-555555555555"
CTA = {"cta": {"label": "Book", "url": "https://example.com"}}


# Receipts


def test_a_receipt_is_confirmed_once_and_never_overwritten(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    """``receipt.confirmed`` is recorded only for the first confirmation."""
    first = ann.send("POST", "receipt", {"name": "  Ann Lee "})
    expected = {"name": "Ann Lee", "confirmedAt": "2026-09-21T14:13:20.000Z"}
    assert (first.status_code, first.get_json()) == (201, expected)
    world.clock.advance(hours=1)
    again = ann.send("POST", "receipt", {"name": "Somebody else"})
    assert (again.status_code, again.get_json()) == (200, expected)
    assert ann.get_feedback()["receipt"] == expected
    assert ann.get_feedback()["name"] == "Ann Lee"
    data = {"fileUuid": uploaded_file["uuid"], "fileName": "report.pdf", "name": "Ann Lee"}
    assert list_activity(world) == [("receipt.confirmed", data)]


def test_a_new_version_requires_a_new_receipt(world: World, uploaded_file: dict[str, Any], ann: FeedbackClient) -> None:
    """The name is remembered; the owner sees both receipts."""
    ann.send("POST", "receipt", {"name": "Ann Lee"})
    world.pia.replace(uploaded_file["uuid"], simple_pdf(pages=2), "second.pdf")
    assert ("receipt" in ann.get_feedback(), ann.get_feedback()["name"]) == (False, "Ann Lee")
    world.clock.advance(hours=1)
    again = [ann.send("POST", "receipt", {"name": "A. Lee"}) for _ in range(2)]
    second = {"name": "A. Lee", "confirmedAt": "2026-09-21T15:13:20.000Z"}
    assert [(answer.status_code, answer.get_json()) for answer in again] == [(201, second), (200, second)]
    assert (ann.get_feedback()["receipt"], ann.get_feedback()["name"]) == (second, "A. Lee")
    receipt_rows = world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}/feedback").get_json()["receipts"]
    assert [(row["name"], row["contentVersion"]) for row in receipt_rows] == [("Ann Lee", 1), ("A. Lee", 2)]
    confirmed = [data["name"] for event, data in list_activity(world) if event == "receipt.confirmed"]
    assert confirmed == ["Ann Lee", "A. Lee"]


def test_each_reader_has_a_separate_receipt(world: World, ann: FeedbackClient) -> None:
    bob = FeedbackClient(world, ann.name)
    assert [client.send("POST", "receipt", {"name": "X"}).status_code for client in (ann, bob)] == [201, 201]
    assert "receipt" not in FeedbackClient(world, ann.name).get_feedback()
    assert len(list_activity(world)) == 2


@pytest.mark.parametrize("name", ["", " ", "x" * 121, "a\nb", None, 1, ["x"]])
def test_a_receipt_requires_a_valid_name(world: World, ann: FeedbackClient, name: object) -> None:
    answer = ann.send("POST", "receipt", {"name": name})
    assert answer.status_code == 400
    assert "name" in answer.text
    assert count_rows(world, "receipts") == count_rows(world, "viewers") == 0


def test_a_receipt_is_hidden_after_receipts_were_disabled(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    ann.send("POST", "receipt", {"name": "Ann"})
    put_settings(world, uploaded_file, askReceipt=False)
    assert "receipt" not in ann.get_feedback()
    assert ann.send("POST", "receipt", {"name": "Ann"}).status_code == 403


def test_receipts_per_document_are_limited(world: World, ann: FeedbackClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FEEDBACK_QUOTAS, "receipts", FeedbackQuota(1, 1))
    assert ann.send("POST", "receipt", {"name": "Ann"}).status_code == 201
    assert FeedbackClient(world, ann.name).send("POST", "receipt", {"name": "Bob"}).status_code == 409
    assert ann.send("POST", "receipt", {"name": "Ann"}).status_code == 200


# Hotspots


def add_hotspot(world: World, made: dict[str, Any], page: int, **more: str) -> str:
    args = {"page": str(page), "rect": "0.1,0.2,0.3,0.4", "link": "https://example.com/prices"} | more
    return hotspots.add(world.rt, made["uuid"], args).uuid


def test_the_page_lists_its_hotspots(world: World, uploaded_file: dict[str, Any], ann: FeedbackClient) -> None:
    insert_asset(world, uploaded_file["uuid"], "hotspot-audio", SOUND)
    linked = add_hotspot(world, uploaded_file, 2, label="Prices")
    place_sound = {"page": "1", "rect": "0,0,1,0.5", "audio": SOUND}
    audio_hotspot = hotspots.add(world.rt, uploaded_file["shortId"], place_sound).uuid
    rect = {"x": 0.1, "y": 0.2, "width": 0.3, "height": 0.4}
    assert ann.read_page_facts()["hotspots"] == [
        {
            "uuid": audio_hotspot,
            "page": 1,
            "rect": {"x": 0, "y": 0, "width": 1, "height": 0.5},
            "label": "Sound",
            "audio": f"/{uploaded_file['shortId']}/assets/{SOUND}",
        },
        {"uuid": linked, "page": 2, "rect": rect, "label": "Prices", "url": "https://example.com/prices"},
    ]


def test_hotspot_audio_is_served_below_the_link(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    """The content security policy allows media of this server."""
    body = (
        b'--edge\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\n\r\n'
        + make_mp3_frame(1) * 4
        + b'\r\n--edge\r\nContent-Disposition: form-data; name="kind"\r\n\r\nhotspot-audio\r\n--edge--\r\n'
    )
    path = f"/api/v1/files/{uploaded_file['uuid']}/assets"
    asset = world.pia.post(path, data=body, content_type="multipart/form-data; boundary=edge").get_json()["assetId"]
    hotspots.add(world.rt, uploaded_file["uuid"], {"page": "1", "rect": "0,0,1,1", "audio": asset})
    answer = ann.http.get(ann.read_page_facts()["hotspots"][0]["audio"], buffered=True)
    assert (answer.status_code, answer.mimetype) == (200, "audio/mpeg")
    assert "media-src 'self'" in ann.http.get(f"/{ann.name}").headers["Content-Security-Policy"]


def test_hotspots_use_the_page_range_and_link_of_the_reader(world: World, uploaded_file: dict[str, Any]) -> None:
    insert_asset(world, uploaded_file["uuid"], "hotspot-audio", SOUND)
    for page in (1, 2, 3):
        add_hotspot(world, uploaded_file, page, label=f"page {page}")
    hotspots.add(world.rt, uploaded_file["uuid"], {"page": "3", "rect": "0,0,1,1", "audio": SOUND})
    overrides = {"pageRange": {"from": 2, "to": 3}}
    path = f"/api/v1/files/{uploaded_file['uuid']}/variants"
    variant = world.pia.post(path, json={"label": "Ada", "overrides": overrides}).get_json()
    shown = FeedbackClient(world, variant["shortId"]).read_page_facts()["hotspots"]
    assert [(spot["page"], spot["label"]) for spot in shown] == [(1, "page 2"), (2, "page 3"), (2, "Sound")]
    assert shown[2]["audio"].startswith(f"/{variant['shortId']}/")


def test_a_hotspot_rejects_an_asset_of_another_kind_or_file(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    other = world.pia.upload()
    insert_asset(world, other["uuid"], "hotspot-audio", SOUND)
    image = SOUND.replace("1", "7")
    insert_asset(world, uploaded_file["uuid"], "logo", image)
    from docshare.contract.problems import Problem

    for asset in (SOUND, image):
        with pytest.raises(Problem, match="not a sound of this file"):
            hotspots.add(world.rt, uploaded_file["uuid"], {"page": "1", "rect": "0,0,1,1", "audio": asset})
    assert ann.read_page_facts()["hotspots"] == []


# Taps


def count_taps(world: World) -> list[tuple[str | None, int]]:
    return world.rt.db.fetch_all(
        "SELECT h.uuid, COUNT(*) FROM taps t LEFT JOIN hotspots h ON h.id = t.hotspot_id GROUP BY h.uuid ORDER BY 2"
    )


def test_taps_are_counted_by_hotspot_and_create_no_viewer(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    put_settings(world, uploaded_file, viewerSettings=CTA)
    spot = add_hotspot(world, uploaded_file, 1)
    answers = [ann.send("POST", "taps", body) for body in ({"cta": True}, {"hotspot": spot}, {"hotspot": spot.upper()})]
    assert [(answer.status_code, answer.data) for answer in answers] == [(204, b"")] * 3
    assert count_taps(world) == [(None, 1), (spot, 2)]
    assert count_rows(world, "viewers") == 0
    assert list_activity(world) == []


@pytest.mark.parametrize(
    "headers",
    [
        {"User_Agent": "curl/8.5.0"},
        {"User_Agent": "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"},
        {"User_Agent": ""},
        {"Sec_Purpose": "prefetch;prerender"},
    ],
)
def test_a_tap_by_a_program_is_accepted_but_not_counted(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient, headers: dict[str, str]
) -> None:
    put_settings(world, uploaded_file, viewerSettings=CTA)
    for body in ({"cta": True}, {"hotspot": add_hotspot(world, uploaded_file, 1)}):
        assert ann.send("POST", "taps", body, **headers).status_code == 204
    assert count_rows(world, "taps") == 0


def test_a_tap_on_a_hidden_hotspot_is_404(world: World, uploaded_file: dict[str, Any], ann: FeedbackClient) -> None:
    other = world.pia.upload()
    foreign, hidden = add_hotspot(world, other, 1), add_hotspot(world, uploaded_file, 3)
    put_settings(world, uploaded_file, pageRange={"from": 1, "to": 2})
    for uuid in (foreign, hidden, SOUND):
        assert ann.send("POST", "taps", {"hotspot": uuid}).status_code == 404
    assert count_rows(world, "taps") == 0


@pytest.mark.parametrize(
    "body",
    [{}, {"cta": False}, {"cta": 1}, {"cta": True, "hotspot": SOUND}, {"hotspot": "x"}, {"hotspot": None},
     {"hotspot": [SOUND]}],
)  # fmt: skip
def test_a_malformed_tap_is_400(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient, body: dict[str, Any]
) -> None:
    put_settings(world, uploaded_file, viewerSettings=CTA)
    assert ann.send("POST", "taps", body).status_code == 400
    assert count_rows(world, "taps") == 0


def test_a_call_to_action_can_be_tapped_only_while_it_is_enabled(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    """The plan is checked again when a page is served."""
    assert ann.send("POST", "taps", {"cta": True}).status_code == 403
    put_settings(world, uploaded_file, viewerSettings=CTA)
    assert ann.send("POST", "taps", {"cta": True}).status_code == 204
    accounts.set_tier(world.rt, world.pia.email, Plan.BASIC)
    assert ann.send("POST", "taps", {"cta": True}).status_code == 403
    assert count_rows(world, "taps") == 1


def test_taps_by_the_owner_are_not_counted(world: World, uploaded_file: dict[str, Any]) -> None:
    spot = add_hotspot(world, uploaded_file, 1)
    owner = FeedbackClient(world, uploaded_file["shortId"], http=sign_in_browser(world, world.pia))
    before = dump_database(world)
    assert owner.send("POST", "taps", {"hotspot": spot}).status_code == 403
    assert dump_database(world) == before


def test_removing_a_hotspot_removes_its_taps(world: World, uploaded_file: dict[str, Any], ann: FeedbackClient) -> None:
    spot = add_hotspot(world, uploaded_file, 1)
    ann.send("POST", "taps", {"hotspot": spot})
    hotspots.remove(world.rt, spot)
    assert count_rows(world, "taps") == 0
    assert ann.send("POST", "taps", {"hotspot": spot}).status_code == 404
