"""A change of plan takes effect with the next request."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from werkzeug.test import TestResponse

from docshare.contract.plans import MB, Plan
from docshare.server.services.accounts import accounts
from tests.api.raw_client import build_file_form
from tests.contract.settings_table import CTA
from tests.support.documents.images import make_picture
from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.oauth_app import make_app
from tests.support.outside.queued_deliveries import create_webhook_for, delivery_bodies
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.cast import World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS, FeedbackClient
from tests.support.people.gate_client import GateClient, parse_inputs
from tests.support.people.reader import FakeReader

STEPS = (Plan.PRO, Plan.BASIC, Plan.FREE, Plan.PRO, Plan.FREE, Plan.BASIC, Plan.PRO)
"""Every possible change, in both directions."""

FORM = [{"key": "mail", "label": "Mail", "type": "email", "required": True}]
LOOKS = {
    "logo": {"hideBadge": True},
    "flip": {"rtl": True},
    "protect": {"print": True, "blurOnLeave": True},
    "brand": {"accentColor": "#ff0080", "badgePosition": "tl"},
    "cta": CTA,
    "ga4Id": "G-ABC1234567",
    "watermarkStyle": {"opacity": 0.5},
}
Made = dict[str, Any]


def prepare_nothing(world: World, made: Made) -> None:
    """Do nothing: the file needs no preparation."""


def prepare_settings(**values: Any) -> Callable[[World, Made], None]:
    return lambda world, made: put_settings(world, made, **values)


def probe_status(method: str, tail: str, **more: Any) -> Callable[[World, Made], int]:
    """Return a function that returns the owner's response status at ``tail``, below the file or as a whole path."""

    def request_status(world: World, made: Made) -> int:
        path = tail if tail.startswith("/api") else f"/api/v1/files/{made['uuid']}{tail}"
        sent = {key: value() if callable(value) else value for key, value in more.items()}
        return world.pia.http.open(path, method=method, headers=world.pia.headers, buffered=True, **sent).status_code

    return request_status


def read_styling(world: World, made: Made) -> tuple[Any, ...]:
    looks = FakeReader(world, made["shortId"]).facts["viewerSettings"]
    brand, protect = looks["brand"], looks["protect"]
    return (
        looks["logo"]["hideBadge"],
        looks["flip"]["rtl"],
        protect["print"],
        protect["blurOnLeave"],
        (brand["accentColor"], brand["badgePosition"]),
        looks.get("cta", {}).get("label"),
        looks.get("ga4Id"),
        looks["watermarkStyle"]["opacity"],
    )


def has_analytics_policy(world: World, made: Made) -> bool:
    return "googletagmanager" in world.http.get(f"/{made['shortId']}").headers["Content-Security-Policy"]


def count_pages(world: World, made: Made) -> int:
    return int(FakeReader(world, made["shortId"]).facts["pages"])


def has_watermark(world: World, made: Made) -> bool:
    """Return whether the first page differs between readers and the owner."""
    seen = []
    for http in (world.http, sign_in_browser(world, world.pia)):
        version = FakeReader(world, made["shortId"], http=http).facts["version"]
        seen.append(http.get(f"/{made['shortId']}/pages/1-800.jpg?v={version}", buffered=True).data)
    return seen[0] != seen[1]


def probe_feedback(method: str, tail: str, body: Any) -> Callable[[World, Made], int]:
    """Return a function that returns the response status of feedback from a new reader."""
    return lambda world, made: FeedbackClient(world, made["shortId"]).send(method, tail, body).status_code


def list_gate_inputs(world: World, made: Made) -> list[str]:
    return list(parse_inputs(GateClient(world, made["shortId"]).open_page()))


def count_entry_deliveries(world: World, made: Made) -> int:
    before = len(delivery_bodies(world))
    assert GateClient(world, made["shortId"]).enter(mail="ann@a.example")
    return len(delivery_bodies(world)) - before


def list_report_sections(world: World, made: Made) -> list[str]:
    return list(world.pia.get(f"/api/v1/files/{made['uuid']}/readership").get_json())


def post_large(world: World, path: str, size: int) -> TestResponse:
    """Post a document of ``size`` bytes as a prepared body, since the test client leaves files of a form open."""
    content = simple_pdf()
    body = build_file_form(content + b"\n" * (size - len(content)))
    return world.pia.post(path, data=body, content_type="multipart/form-data; boundary=edge")


def probe_upload(size: int) -> Callable[[World, Made], int]:
    def upload(world: World, made: Made) -> int:
        answer = post_large(world, "/api/v1/files", size)
        if answer.status_code == 200:
            world.pia.delete(f"/api/v1/files/{answer.get_json()['uuid']}")
        return answer.status_code

    return upload


def upload_three(world: World, made: Made) -> None:
    for _ in range(3):
        world.pia.upload()


def replace_with_large(world: World, made: Made) -> None:
    assert post_large(world, f"/api/v1/files/{made['uuid']}/content", 21 * MB).status_code == 200


def probe_download(world: World, made: Made) -> tuple[int, int]:
    answer = world.http.post(f"/{made['shortId']}/download", buffered=True)
    return answer.status_code, len(answer.data)


def probe_variant(world: World, made: Made) -> int:
    (name,) = (row[0] for row in world.rt.db.fetch_all("SELECT short_id FROM variants"))
    return world.http.get(f"/{name}").status_code


def prepare_variant(world: World, made: Made) -> None:
    assert world.pia.post(f"/api/v1/files/{made['uuid']}/variants", json={"label": "Ann"}).status_code == 201


def list_tiers(world: World, made: Made) -> list[str]:
    """Return the plan as an API key and an app see it."""
    token = make_app(world).approve_and_exchange(scope="profile")["access_token"]
    shown = world.http.get("/api/v1/user", headers={"Authorization": f"Bearer {token}"}).get_json()
    return [world.pia.get("/api/v1/user").get_json()["tier"], shown["tier"]]


def prepare_gate(world: World, made: Made) -> None:
    put_settings(world, made, gateFields=FORM)
    create_webhook_for(world, "gate.completed")


def make_logo_form() -> Any:
    return {"kind": "logo", "file": (io.BytesIO(make_picture()), "a.png")}


def make_document_form() -> Any:
    return {"file": (io.BytesIO(simple_pdf()), "a.pdf")}


BASIC_SECTIONS = [
    "tier",
    "summary",
    "file",
    "viewsOverTime",
    "funnel",
    "referrers",
    "browsers",
    "sources",
    "viewerModes",
    "peakTimes",
    "devices",
    "countries",
    "uncounted",
]
PRO_SECTIONS = [*BASIC_SECTIONS, "sessions", "hotspotTaps", "ctaTaps", "variants", "contacts"]
PLAIN = ("#000000", "br")

TABLE: dict[str, tuple[Callable[[World, Made], None], Callable[[World, Made], Any], Any, Any, Any]] = {
    "what is known of the plan": (prepare_nothing, list_tiers, ["pro"] * 2, ["basic"] * 2, ["free"] * 2),
    "styling": (
        prepare_settings(viewerSettings=LOOKS),
        read_styling,
        (True, True, True, True, ("#ff0080", "tl"), CTA["label"], "G-ABC1234567", 0.5),
        (True, True, True, False, PLAIN, None, None, 0.12),
        (False, False, False, False, PLAIN, None, None, 0.12),
    ),
    "analytics": (prepare_settings(viewerSettings=LOOKS), has_analytics_policy, True, False, False),
    "page range": (prepare_settings(pageRange={"from": 2, "to": 3}), count_pages, 2, 2, 2),
    "watermark": (prepare_settings(watermark=True), has_watermark, True, False, False),
    "password": (prepare_settings(password="open sesame"), list_gate_inputs, *[["password", "ticket"]] * 3),
    "form": (prepare_settings(gateFields=FORM), list_gate_inputs, *[["field-mail", "ticket"]] * 3),
    "view limit": (prepare_settings(viewLimit=2), list_gate_inputs, *[["ticket"]] * 3),
    "notes": (
        prepare_settings(**ALL_FEEDBACK_SETTINGS),
        probe_feedback("POST", "notes", {"author": "Ann", "body": "Hm"}),
        201,
        403,
        403,
    ),
    "marks": (
        prepare_settings(**ALL_FEEDBACK_SETTINGS),
        probe_feedback("PUT", "marks/1", {"mark": "pick"}),
        204,
        403,
        403,
    ),
    "receipts": (
        prepare_settings(**ALL_FEEDBACK_SETTINGS),
        probe_feedback("POST", "receipt", {"name": "Ann Lee"}),
        201,
        201,
        403,
    ),
    "gate stream": (prepare_nothing, probe_status("GET", "/api/v1/gate-responses"), 200, 403, 403),
    "gate events": (prepare_nothing, probe_status("GET", "/api/v1/events?type=gate"), 200, 403, 403),
    "gate.completed": (prepare_gate, count_entry_deliveries, 1, 0, 0),
    "report": (prepare_nothing, list_report_sections, PRO_SECTIONS, BASIC_SECTIONS, ["tier", "summary", "file"]),
    "pages of the report": (prepare_nothing, probe_status("GET", "/readership/pages"), 200, 200, 403),
    "sessions": (prepare_nothing, probe_status("GET", "/readership/sessions"), 200, 403, 403),
    "marks of readers": (prepare_nothing, probe_status("GET", "/page-marks"), 200, 403, 403),
    "annotations of readers": (prepare_nothing, probe_status("GET", "/annotations"), 200, 403, 403),
    "feedback": (prepare_nothing, probe_status("GET", "/feedback"), 200, 403, 403),
    "list of variants": (prepare_nothing, probe_status("GET", "/variants"), 200, 403, 403),
    "a new variant": (prepare_nothing, probe_status("POST", "/variants", json={"label": "Ann"}), 201, 403, 403),
    "a variant's link": (prepare_variant, probe_variant, 200, 200, 200),
    "invitations": (prepare_nothing, probe_status("GET", "/invites"), 200, 403, 403),
    "slots": (upload_three, probe_upload(2_000), 200, 200, 403),
    "size of an upload": (prepare_nothing, probe_upload(20 * MB + 1), 200, 200, 413),
    "what was stored": (replace_with_large, probe_download, *[(200, 21 * MB)] * 3),
    "what was stored, for its owner": (replace_with_large, probe_status("GET", "/content"), 200, 200, 200),
    "replacement": (prepare_nothing, probe_status("POST", "/content", data=make_document_form), 200, 403, 403),
    "assets": (prepare_nothing, probe_status("POST", "/assets", data=make_logo_form), 200, 200, 403),
    "a setting of Pro": (prepare_nothing, probe_status("PUT", "/settings", json={"slug": "the-plan"}), 200, 403, 403),
    "a setting of Basic": (
        prepare_nothing,
        probe_status("PUT", "/settings", json={"notifyOnView": True}),
        200,
        200,
        403,
    ),
    "clearing a page range": (
        prepare_nothing,
        probe_status("PUT", "/settings", json={"pageRange": {"from": 0, "to": 0}}),
        *[200] * 3,
    ),
}
"""Name -> preparation on Pro, probe, and its result on Pro, Basic and Free."""


@pytest.mark.parametrize("row", TABLE)
def test_every_change_of_plan_takes_effect_immediately(world: World, row: str) -> None:
    """For example, a downgrade ends Pro styling, but the page range is still enforced."""
    prepare, look, pro, basic, free = TABLE[row]
    expected = {Plan.PRO: pro, Plan.BASIC: basic, Plan.FREE: free}
    made = world.pia.upload()
    prepare(world, made)
    found = []
    for plan in STEPS:
        accounts.set_tier(world.rt, world.pia.email, plan)
        found.append((plan.tier, look(world, made)))
    assert found == [(plan.tier, expected[plan]) for plan in STEPS]
