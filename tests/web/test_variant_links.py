"""The link of a variant shows the same document and never reveals the canonical link."""

import base64
import io
import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest
from werkzeug.test import TestResponse

from docshare.server.services.files import hotspots
from tests.api.files.test_qr import decode_qr
from tests.support.documents.images import make_picture
from tests.support.engines.database import sqlite_only
from tests.support.engines.rows import update_file_row
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS, FEEDBACK_WRITES, FeedbackClient
from tests.support.people.gate_client import PAGES_MARKER
from tests.support.people.reader import FakeReader, list_sessions, list_view_rows, view_count

SLUG = "the-canonical-report"
_ADDRESS = re.compile(r"(?:href|src)=\"(/[^\"]*)\"|(/[^\s,\"]+) (?:800|1600)w")
pytestmark = [pytest.mark.file_document(name="Report.pdf"), pytest.mark.file_settings(slug=SLUG)]


@pytest.fixture
def variant(world: World, uploaded_file: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = world.pia.post(
        f"/api/v1/files/{uploaded_file['uuid']}/variants", json={"label": "Ada"}
    ).get_json()
    return row


def set_revoked(world: World, made: dict[str, Any], variant: dict[str, Any], revoked: bool = True) -> None:
    path = f"/api/v1/files/{made['uuid']}/variants/{variant['uuid']}"
    assert world.pia.put(path, json={"revoked": revoked}).status_code == 200


def get_path(world: World, path: str) -> TestResponse:
    return world.http.get(path, buffered=True)


def list_page_addresses(page: TestResponse) -> set[str]:
    """Return every path of this server in the HTML of ``page``."""
    return {one or two for one, two in _ADDRESS.findall(page.text)}


def get_visible_bytes(answer: TestResponse) -> bytes:
    """Return headers and body of a response."""
    return str(answer.headers).encode() + answer.data


def visit_everything(world: World, name: str, asset_id: str) -> Iterator[tuple[str, str, bytes]]:
    """Yield method, path and response of everything that a reader can request with the variant id ``name``: pages and
    their resources, the decoded token, responses to beacons, downloads, the gate and feedback."""
    for prefix in ("", "/embed"):
        page = get_path(world, f"{prefix}/{name}?page=2&via=qr")
        assert page.status_code == 200
        yield "GET", f"{prefix}/{name}", get_visible_bytes(page)
        for address in sorted(list_page_addresses(page)):
            yield "GET", address, get_visible_bytes(get_path(world, address))
        reader = FakeReader(world, name, prefix=prefix)
        payload = reader.token.partition(".")[0]
        yield "GET", f"/{name}", base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
        for beacon in (reader.build_beacon(), reader.build_beacon(seq=7, part=3)):
            yield "POST", reader.facts["beaconUrl"], get_visible_bytes(reader.send_beacon(beacon))
        visit = world.http.post(f"{reader.facts['base']}/visit", json={"token": reader.token})
        assert visit.status_code == 200
        yield "POST", f"{reader.facts['base']}/visit", get_visible_bytes(visit)
        mark = reader.facts["version"]
        for page_number in (1, 2, 3):
            images = (
                f"pages/{page_number}-800.jpg",
                f"pages/{page_number}-1600.jpg",
                f"tiles/{page_number}/400/0-0.jpg",
            )
            for path in (*images, f"text/{page_number}.json"):
                answer = get_path(world, f"{reader.facts['base']}/{path}?v={mark}")
                assert answer.status_code == 200
                yield "GET", f"{reader.facts['base']}/{path}", get_visible_bytes(answer)
    resources = (f"/{name}/assets/{asset_id}", f"/{name}/logo", f"/{name}/style.css", f"/{name}/search?v={mark}&q=page",
                 f"/{name}/outline.json?v={mark}")  # fmt: skip
    for address in (*resources, f"/api/files/{name}/metadata"):
        answer = get_path(world, address)
        assert answer.status_code == 200
        yield "GET", address, get_visible_bytes(answer)
    for link in (f"/{name}", f"/embed/{name}"):
        yield "GET", "/oembed", get_visible_bytes(get_path(world, f"/oembed?url=http://127.0.0.1:8787{link}"))
    code = get_path(world, f"/api/files/{name}/qr-code")
    yield "GET", f"/api/files/{name}/qr-code", get_visible_bytes(code) + decode_qr(code.data).encode()
    copy = world.http.post(f"/{name}/download", buffered=True)
    assert copy.status_code == 200
    yield "POST", f"/{name}/download", get_visible_bytes(copy)
    for method, address in itertools.product(("GET", "POST"), (f"/{name}/enter", f"/embed/{name}/enter")):
        yield method, address, get_visible_bytes(world.http.open(address, method=method))
    client = FeedbackClient(world, name)
    for method, path, body in (*FEEDBACK_WRITES, ("GET", "feedback", None)):
        yield method, f"/{name}/{path}", get_visible_bytes(client.send(method, path, body))


@pytest.mark.parametrize("shape", ["shortId", "uuid"])
def test_a_variant_opens_the_same_document_by_short_id_and_uuid(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any], shape: str
) -> None:
    """Short id and UUID of a variant serve the same page."""
    for prefix in ("", "/embed"):
        answer = get_path(world, f"{prefix}/{variant[shape]}")
        assert answer.status_code == 200
        assert "<title>Report.pdf</title>" in answer.text
    assert FakeReader(world, variant[shape]).facts["base"] == f"/{variant[shape]}"
    assert FakeReader(world, variant["uuid"].upper()).facts["base"] == f"/{variant['uuid']}"
    assert get_path(world, f"/{variant['shortId'].swapcase()}").status_code == 404
    own, canonical = (get_path(world, f"/{row[shape]}/pages/1-800.jpg?v=1").data for row in (variant, uploaded_file))
    assert own == canonical


@pytest.mark.parametrize("shape", ["shortId", "uuid"])
def test_a_reader_of_a_variant_never_learns_the_canonical_link(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any], shape: str
) -> None:
    """No response on the link of a variant contains the UUID, short id, or slug of its file."""
    asset = world.pia.post(
        f"/api/v1/files/{uploaded_file['uuid']}/assets",
        data={"file": (io.BytesIO(make_picture()), "a.png"), "kind": "logo"},
    ).get_json()
    looks = {"logo": {"assetId": asset["assetId"]}}
    put_settings(world, uploaded_file, **ALL_FEEDBACK_SETTINGS, viewerSettings=looks)
    hotspots.add(world.rt, uploaded_file["uuid"], {"page": "1", "rect": "0,0,1,1", "link": "https://example.com"})
    FeedbackClient(world, uploaded_file["shortId"]).leave_note("said on the canonical link", public=True)
    secrets = [
        uploaded_file["uuid"],
        uploaded_file["uuid"].upper(),
        uploaded_file["uuid"].replace("-", ""),
        uploaded_file["shortId"],
        SLUG,
    ]
    addresses = world.app.url_map.bind("")
    visited = set()
    for method, address, response_bytes in visit_everything(world, variant[shape], asset["assetId"]):
        for secret in secrets:
            assert secret.encode() not in response_bytes, address
        visited.add(addresses.match(address.partition("?")[0], method=method)[0])
    # A new public route must be added to visit_everything.
    public = ("/<name>", "/embed/", "/oembed", "/api/files/<uuid>")
    assert {rule.endpoint for rule in world.app.url_map.iter_rules() if rule.rule.startswith(public)} <= visited


@pytest.mark.parametrize("shape", ["shortId", "uuid"])
def test_a_variant_page_loads_everything_from_the_variant(world: World, variant: dict[str, Any], shape: str) -> None:
    """Page, assets and beacons are addressed by the variant, so that revoking it affects all of them."""
    loaded = list_page_addresses(get_path(world, f"/{variant[shape]}"))
    own = {address for address in loaded if not address.startswith("/static/")}
    assert own
    assert [address for address in own if not address.startswith(f"/{variant[shape]}")] == []


@pytest.mark.parametrize("shape", ["shortId", "uuid"])
def test_a_revoked_link_responds_like_an_unknown_one(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any], shape: str
) -> None:
    """The response is the same 404 as for an unknown id and does not name the file."""
    set_revoked(world, uploaded_file, variant)
    unknown = {"shortId": "abcdefghijkl", "uuid": "00000000-0000-4000-8000-000000000000"}[shape]
    for path in ("/{}", "/embed/{}", "/{}?via=qr", "/{}/pages/1-800.jpg?v=1", "/{}/text/1.json?v=1",
                 "/{}/tiles/1/400/0-0.jpg?v=1", "/{}/outline.json?v=1",
                 "/{}/search?v=1&q=page", "/api/files/{}/qr-code"):  # fmt: skip
        answers = [get_path(world, path.format(name)) for name in (variant[shape], unknown)]
        seen = [
            (answer.status_code, answer.data.replace(name.encode(), b"ID"), sorted(set(answer.headers.keys())))
            for answer, name in zip(answers, (variant[shape], unknown), strict=True)
        ]
        assert seen[0] == seen[1], path
        assert seen[0][0] == 404
        assert b"Report" not in answers[0].data


def test_revoking_and_restoring_a_variant_affects_all_its_page_resources(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any]
) -> None:
    """After a variant is revoked, no address that worked before returns 200."""
    reader = FakeReader(world, variant["shortId"])
    assert reader.send_next_beacon() == 204
    own = [
        address
        for address in list_page_addresses(get_path(world, f"/{variant['shortId']}"))
        if not address.startswith("/static/")
    ]
    own += [f"/{variant['uuid']}/tiles/1/400/0-0.jpg?v=1", f"/{variant['uuid']}/outline.json?v=1"]
    own += [f"/{variant['uuid']}/text/1.json?v=1", f"/{variant['uuid']}/search?v=1&q=page"]
    own += [f"/api/files/{variant['shortId']}/qr-code"]
    assert {get_path(world, address).status_code for address in own} == {200}
    set_revoked(world, uploaded_file, variant)
    assert {get_path(world, address).status_code for address in own} == {404}
    world.clock.advance(seconds=20)
    assert reader.send_next_beacon(input=True, read={1: 20_000}) == 404
    assert get_path(world, f"/{uploaded_file['shortId']}").status_code == 200
    set_revoked(world, uploaded_file, variant, revoked=False)
    assert {get_path(world, address).status_code for address in own} == {200}
    assert reader.send_next_beacon(input=True, read={1: 20_000}) == 204


def test_beacons_of_a_deleted_variant_are_rejected(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any]
) -> None:
    reader = FakeReader(world, variant["shortId"])
    reader.send_next_beacon()
    world.pia.delete(f"/api/v1/files/{uploaded_file['uuid']}/variants/{variant['uuid']}")
    world.clock.advance(seconds=20)
    assert reader.send_next_beacon(input=True, read={1: 20_000}) == 404
    assert reader.send_beacon(reader.build_beacon(), to=uploaded_file["shortId"]).status_code == 403


def test_the_token_of_a_variant_is_invalid_for_other_links(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any]
) -> None:
    reader = FakeReader(world, variant["shortId"])
    for other in (uploaded_file["shortId"], uploaded_file["uuid"], variant["uuid"]):
        assert reader.send_beacon(reader.build_beacon(), to=other).status_code == 403


@pytest.mark.parametrize(
    ("prefix", "query"), [("", ""), ("", "?via=qr"), ("/embed", "")], ids=["link", "code", "framed"]
)
def test_a_session_records_its_variant_as_the_source(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any], prefix: str, query: str
) -> None:
    """The source is ``Variant`` regardless of how the link was opened; the canonical link has its own source."""
    FakeReader(world, variant["shortId"], prefix=prefix, query=query).send_next_beacon()
    FakeReader(world, uploaded_file["shortId"], prefix=prefix, query=query).send_next_beacon()
    found = world.rt.db.fetch_all(
        "SELECT s.source, v.uuid FROM view_sessions s LEFT JOIN variants v ON v.id = s.variant_id ORDER BY s.id"
    )
    expected = {"": "Direct link", "?via=qr": "QR code"}[query] if not prefix else "Embed"
    assert found == [("Variant", variant["uuid"]), (expected, None)]


def test_a_view_of_a_variant_counts_for_the_canonical_file(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any]
) -> None:
    """``fileUuid`` in the feed is the canonical UUID."""
    reader = FakeReader(world, variant["uuid"])
    reader.send_next_beacon()
    reader.read_page(30, page=2, input=True)
    assert [row["fileUuid"] for row in list_view_rows(world)] == [uploaded_file["uuid"]]
    assert view_count(world, uploaded_file["uuid"]) == 1
    assert list_sessions(world) == [("human", 30_000)]


@pytest.mark.parametrize("shape", ["shortId", "uuid"])
def test_the_qr_code_of_a_variant_contains_the_variant_link(world: World, variant: dict[str, Any], shape: str) -> None:
    answer = get_path(world, f"/api/files/{variant[shape]}/qr-code")
    assert answer.status_code == 200
    assert decode_qr(answer.data) == f"http://127.0.0.1:8787/{variant['shortId']}?via=qr"


def test_a_variant_ends_with_its_file(world: World, uploaded_file: dict[str, Any], variant: dict[str, Any]) -> None:
    """Expired and burned links are 410, those of a trashed file 404, and neither names the canonical link."""
    for columns, status in (
        ({"delete_at": world.clock.now}, 410),
        ({"delete_at": None, "burned_at": world.clock.now}, 410),
        ({"burned_at": None, "trashed_at": world.clock.now, "purge_at": world.clock.now + 1}, 404),
    ):
        update_file_row(world, uploaded_file["uuid"], **columns)
        for path in ("/{}", "/embed/{}", "/{}/pages/1-800.jpg?v=1"):
            answer = get_path(world, path.format(variant["shortId"]))
            assert answer.status_code == status
            assert uploaded_file["shortId"].encode() not in get_visible_bytes(answer)
            assert SLUG.encode() not in get_visible_bytes(answer)


def test_a_password_on_the_file_protects_its_variants(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any]
) -> None:
    """Password and gate are the same for all variants."""
    update_file_row(world, uploaded_file["uuid"], password_hash="x")
    for row in (uploaded_file, variant):
        assert PAGES_MARKER not in get_path(world, f"/{row['shortId']}").text
    assert get_path(world, f"/{variant['uuid']}/pages/1-800.jpg?v=1").status_code == 403


def test_variant_ids_take_precedence_over_slugs(world: World) -> None:
    """A slug of 12 characters can equal a short id; ids take precedence."""
    first, second = world.pia.upload(name="First.pdf"), world.pia.upload(name="Second.pdf")
    row = world.pia.post(f"/api/v1/files/{first['uuid']}/variants").get_json()
    with world.rt.db.write():
        world.rt.db.execute("UPDATE variants SET short_id = 'abcdefghijkl' WHERE uuid = ?", (row["uuid"],))
    update_file_row(world, second["uuid"], slug="abcdefghijkl")
    assert "<title>First.pdf</title>" in get_path(world, "/abcdefghijkl").text


@sqlite_only
def test_a_canonical_link_is_resolved_by_one_indexed_query(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variants do not slow down canonical links: they are looked up only if no file was found."""
    from docshare.server.services.links import links

    asked: list[tuple[str, Any]] = []
    run = world.rt.db.engine.execute_sql
    monkeypatch.setattr(
        world.rt.db.engine, "execute_sql", lambda sql, params=(): asked.append((sql, params)) or run(sql, params)
    )
    numbers = []
    for name in (uploaded_file["shortId"], uploaded_file["uuid"], SLUG, variant["shortId"], variant["uuid"]):
        asked.clear()
        assert links.resolve(world.rt, name) is not None
        numbers.append(len(asked))
        for sql, params in list(asked):
            plans = [row[3] for row in run(f"EXPLAIN QUERY PLAN {sql}", params).fetchall()]
            assert [plan for plan in plans if not plan.startswith("SEARCH") or "USING" not in plan] == []
    assert numbers == [1, 1, 1, 2, 2]
