"""A change of plan takes effect with the next request: what stops, what stays, and what comes back (hardening M40)."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from werkzeug.test import TestResponse

from docshare.contract.plans import MB, Plan
from docshare.server.services.accounts import accounts
from tests.api.door import form
from tests.contract.settings_table import CTA
from tests.support.app import make_app
from tests.support.cast import World
from tests.support.guest import Guest, inputs
from tests.support.images import picture
from tests.support.leaving import EVERYTHING, Hand
from tests.support.owner import put, signed_in
from tests.support.pdfs import simple_pdf
from tests.support.reader import Reader
from tests.support.told import bodies, hooked

STEPS = (Plan.PRO, Plan.BASIC, Plan.FREE, Plan.PRO, Plan.FREE, Plan.BASIC, Plan.PRO)
"""Every change there is, in both directions."""

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


def nothing(world: World, made: Made) -> None:
    """The file needs nothing."""


def settings(**values: Any) -> Callable[[World, Made], None]:
    return lambda world, made: put(world, made, **values)


def status(method: str, tail: str, **more: Any) -> Callable[[World, Made], int]:
    """What the owner gets below the file, or at ``tail`` if that is a whole path."""

    def ask(world: World, made: Made) -> int:
        path = tail if tail.startswith("/api") else f"/api/v1/files/{made['uuid']}{tail}"
        sent = {key: value() if callable(value) else value for key, value in more.items()}
        return world.pia.http.open(path, method=method, headers=world.pia.headers, buffered=True, **sent).status_code

    return ask


def styling(world: World, made: Made) -> tuple[Any, ...]:
    looks = Reader(world, made["shortId"]).facts["viewerSettings"]
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


def policy_names_analytics(world: World, made: Made) -> bool:
    return "googletagmanager" in world.http.get(f"/{made['shortId']}").headers["Content-Security-Policy"]


def pages(world: World, made: Made) -> int:
    return int(Reader(world, made["shortId"]).facts["pages"])


def marked(world: World, made: Made) -> bool:
    """Whether readers see something over the first page that its owner does not."""
    seen = []
    for http in (world.http, signed_in(world, world.pia)):
        version = Reader(world, made["shortId"], http=http).facts["version"]
        seen.append(http.get(f"/{made['shortId']}/pages/1-800.jpg?v={version}", buffered=True).data)
    return seen[0] != seen[1]


def leaves(method: str, tail: str, body: Any) -> Callable[[World, Made], int]:
    """What a new reader gets who leaves something."""
    return lambda world, made: Hand(world, made["shortId"]).send(method, tail, body).status_code


def asks(world: World, made: Made) -> list[str]:
    return list(inputs(Guest(world, made["shortId"]).looks()))


def deliveries_of_an_entry(world: World, made: Made) -> int:
    before = len(bodies(world))
    assert Guest(world, made["shortId"]).enters(mail="ann@a.example")
    return len(bodies(world)) - before


def sections(world: World, made: Made) -> list[str]:
    return list(world.pia.get(f"/api/v1/files/{made['uuid']}/readership").get_json())


def sends_large(world: World, path: str, size: int) -> TestResponse:
    """A document of ``size`` bytes; the test client would leave its own copy of a form open."""
    content = simple_pdf()
    body = form(content + b"\n" * (size - len(content)))
    return world.pia.post(path, data=body, content_type="multipart/form-data; boundary=edge")


def uploaded(size: int) -> Callable[[World, Made], int]:
    def upload(world: World, made: Made) -> int:
        answer = sends_large(world, "/api/v1/files", size)
        if answer.status_code == 200:
            world.pia.delete(f"/api/v1/files/{answer.get_json()['uuid']}")
        return answer.status_code

    return upload


def three_more(world: World, made: Made) -> None:
    for _ in range(3):
        world.pia.upload()


def replaced_by_a_large_one(world: World, made: Made) -> None:
    assert sends_large(world, f"/api/v1/files/{made['uuid']}/content", 21 * MB).status_code == 200


def taken_by_a_reader(world: World, made: Made) -> tuple[int, int]:
    answer = world.http.post(f"/{made['shortId']}/download", buffered=True)
    return answer.status_code, len(answer.data)


def opens_for_a_recipient(world: World, made: Made) -> int:
    (name,) = (row[0] for row in world.rt.db.rows("SELECT short_id FROM variants"))
    return world.http.get(f"/{name}").status_code


def has_a_variant(world: World, made: Made) -> None:
    assert world.pia.post(f"/api/v1/files/{made['uuid']}/variants", json={"label": "Ann"}).status_code == 201


def tiers(world: World, made: Made) -> list[str]:
    """The plan as key, app and signed-in browser find it."""
    token = make_app(world).tokens(scope="profile")["access_token"]
    shown = world.http.get("/api/v1/user", headers={"Authorization": f"Bearer {token}"}).get_json()
    return [world.pia.get("/api/v1/user").get_json()["tier"], shown["tier"]]


def gated(world: World, made: Made) -> None:
    put(world, made, gateFields=FORM)
    hooked(world, "gate.completed")


def logo() -> Any:
    return {"kind": "logo", "file": (io.BytesIO(picture()), "a.png")}


def document() -> Any:
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
    "what is known of the plan": (nothing, tiers, ["pro"] * 2, ["basic"] * 2, ["free"] * 2),
    "styling": (
        settings(viewerSettings=LOOKS),
        styling,
        (True, True, True, True, ("#ff0080", "tl"), CTA["label"], "G-ABC1234567", 0.5),
        (True, True, True, False, PLAIN, None, None, 0.12),
        (False, False, False, False, PLAIN, None, None, 0.12),
    ),
    "analytics": (settings(viewerSettings=LOOKS), policy_names_analytics, True, False, False),
    "page range": (settings(pageRange={"from": 2, "to": 3}), pages, 2, 2, 2),
    "watermark": (settings(watermark=True), marked, True, False, False),
    "password": (settings(password="open sesame"), asks, *[["password", "ticket"]] * 3),
    "form": (settings(gateFields=FORM), asks, *[["field-mail", "ticket"]] * 3),
    "view limit": (settings(viewLimit=2), asks, *[["ticket"]] * 3),
    "notes": (settings(**EVERYTHING), leaves("POST", "notes", {"author": "Ann", "body": "Hm"}), 201, 403, 403),
    "marks": (settings(**EVERYTHING), leaves("PUT", "marks/1", {"mark": "pick"}), 204, 403, 403),
    "receipts": (settings(**EVERYTHING), leaves("POST", "receipt", {"name": "Ann Lee"}), 201, 201, 403),
    "gate stream": (nothing, status("GET", "/api/v1/gate-responses"), 200, 403, 403),
    "gate events": (nothing, status("GET", "/api/v1/events?type=gate"), 200, 403, 403),
    "gate.completed": (gated, deliveries_of_an_entry, 1, 0, 0),
    "report": (nothing, sections, PRO_SECTIONS, BASIC_SECTIONS, ["tier", "summary", "file"]),
    "pages of the report": (nothing, status("GET", "/readership/pages"), 200, 200, 403),
    "sessions": (nothing, status("GET", "/readership/sessions"), 200, 403, 403),
    "marks of readers": (nothing, status("GET", "/page-marks"), 200, 403, 403),
    "annotations of readers": (nothing, status("GET", "/annotations"), 200, 403, 403),
    "feedback": (nothing, status("GET", "/feedback"), 200, 403, 403),
    "list of variants": (nothing, status("GET", "/variants"), 200, 403, 403),
    "a new variant": (nothing, status("POST", "/variants", json={"label": "Ann"}), 201, 403, 403),
    "a variant's link": (has_a_variant, opens_for_a_recipient, 200, 200, 200),
    "invitations": (nothing, status("GET", "/invites"), 200, 403, 403),
    "slots": (three_more, uploaded(2_000), 200, 200, 403),
    "size of an upload": (nothing, uploaded(20 * MB + 1), 200, 200, 413),
    "what was stored": (replaced_by_a_large_one, taken_by_a_reader, *[(200, 21 * MB)] * 3),
    "what was stored, for its owner": (replaced_by_a_large_one, status("GET", "/content"), 200, 200, 200),
    "replacement": (nothing, status("POST", "/content", data=document), 200, 403, 403),
    "assets": (nothing, status("POST", "/assets", data=logo), 200, 200, 403),
    "a setting of Pro": (nothing, status("PUT", "/settings", json={"slug": "the-plan"}), 200, 403, 403),
    "a setting of Basic": (nothing, status("PUT", "/settings", json={"notifyOnView": True}), 200, 200, 403),
    "clearing a page range": (
        nothing,
        status("PUT", "/settings", json={"pageRange": {"from": 0, "to": 0}}),
        *[200] * 3,
    ),
}
"""What is set on Pro -> what is looked at, and what is found on Pro, Basic and Free."""


@pytest.mark.parametrize("row", TABLE)
def test_every_change_of_plan_takes_effect_at_once(world: World, row: str) -> None:
    """After a downgrade Pro styling stops at the next page served, page-range enforcement stays."""
    prepare, look, pro, basic, free = TABLE[row]
    expected = {Plan.PRO: pro, Plan.BASIC: basic, Plan.FREE: free}
    made = world.pia.upload()
    prepare(world, made)
    found = []
    for plan in STEPS:
        accounts.set_tier(world.rt, world.pia.email, plan)
        found.append((plan.tier, look(world, made)))
    assert found == [(plan.tier, expected[plan]) for plan in STEPS]
