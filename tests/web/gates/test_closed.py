"""Gated links serve no content to strangers, nor to readers whose access has ended."""

import io
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from werkzeug.routing import Rule
from werkzeug.test import TestResponse

from docshare.server.services.files import purge
from tests.contract.settings_table import ASSET, FORM
from tests.support.documents.images import make_picture
from tests.support.documents.pdfs import Sheet, lines_content, sheets_pdf
from tests.support.engines.database import dump_database
from tests.support.engines.rows import update_file_row
from tests.support.owner.browser import sign_in_browser
from tests.support.people.cast import World
from tests.support.people.gate_client import PAGES_MARKER, GateClient
from tests.support.people.reader import FakeReader, list_sessions
from tests.support.people.settings import ConfiguredFile

PROTECTIONS: list[dict[str, Any]] = [{}, {"password": "secret"}]
IDENTITIES: list[dict[str, Any]] = [
    {},
    {"requireEmail": True},
    {"requireEmail": True, "gateDomains": ["a.example"]},
    {"gateFields": FORM},
]
LIMITS: list[dict[str, Any]] = [{}, {"viewLimit": 3}]
COMBINATIONS = [a | b | c for a, b, c in itertools.product(PROTECTIONS, IDENTITIES, LIMITS)][1:]
OPEN_SETTINGS: dict[str, Any] = {"password": "", "requireEmail": False, "gateFields": None, "viewLimit": 0}
# Passing the gate is tested in test_gate.py.
GATE_FORM_PATHS = {"/<name>/enter", "/embed/<name>/enter"}
PATH_VALUES = {"page": "1", "width": "800", "grid": "400", "column": "0", "row": "0", "asset_id": ASSET}
LINK = re.compile("/(?:embed/|api/files/)?<([a-z_]+)>")


@pytest.fixture
def file(world: World) -> ConfiguredFile:
    """Return a document of Pia whose text and name must not leak."""
    shared = ConfiguredFile(world, world.pia, sheets_pdf([Sheet(lines_content("Canary words"))]))
    with world.rt.db.write():
        world.rt.db.execute("DELETE FROM assets")  # they have no content
    update_file_row(world, shared.made["uuid"], original_name="Canary name.pdf")
    return shared


def list_link_names(file: ConfiguredFile) -> list[str]:
    """Return every link name of the document."""
    variant = file.owner.post(f"{file.path}/variants").get_json()
    uuid = file.made["uuid"]
    return [file.made["shortId"], uuid, uuid.upper(), variant["shortId"], variant["uuid"], "canary-slug"]


def list_public_rules(world: World) -> list[Rule]:
    """Return every route that requires the name of a link and no credential."""
    found = [rule for rule in world.app.url_map.iter_rules() if LINK.match(rule.rule)]
    return [rule for rule in found if rule.rule not in GATE_FORM_PATHS]


def list_requests(world: World, name: str) -> Iterator[tuple[str, str]]:
    """Yield method and path of every public request for the link ``name``."""
    for rule in list_public_rules(world):
        of_link = LINK.match(rule.rule)
        assert of_link is not None
        values = {argument: PATH_VALUES.get(argument, "1") for argument in rule.arguments} | {of_link[1]: name}
        _, path = rule.build(values) or ("", "")
        for method in sorted((rule.methods or set()) - {"OPTIONS"}):
            yield method, f"{path}?v=1"
    yield "GET", f"/oembed?url=http%3A%2F%2F127.0.0.1%3A8787%2F{name}"
    yield "GET", f"/{name}?page=1"


def send_request(world: World, method: str, path: str) -> TestResponse:
    return world.http.open(path, method=method, json={} if method not in ("GET", "HEAD") else None, buffered=True)


def get_visible_bytes(answer: TestResponse) -> bytes:
    return str(answer.headers).encode() + answer.data


def test_the_crawl_covers_the_routes_that_serve_a_document(world: World, file: ConfiguredFile) -> None:
    asked = set(list_requests(world, file.made["shortId"]))
    base = f"/{file.made['shortId']}"
    for method, path in [
        ("GET", f"{base}?v=1"), ("HEAD", f"{base}?v=1"), ("GET", f"/embed{base}?v=1"),
        ("GET", f"{base}/pages/1-800.jpg?v=1"), ("GET", f"{base}/text/1.json?v=1"), ("POST", f"{base}/download?v=1"),
        ("GET", f"{base}/search?v=1"), ("GET", f"{base}/tiles/1/400/0-0.jpg?v=1"),
        ("GET", f"{base}/outline.json?v=1"),
        ("GET", f"{base}/assets/{ASSET}?v=1"), ("POST", f"{base}/beacon?v=1"),
        ("GET", f"/api/files{base}/metadata?v=1"),
    ]:  # fmt: skip
        assert (method, path) in asked
    assert b"Canary words" in send_request(world, "GET", f"{base}/text/1.json?v=1").data


@pytest.mark.parametrize("lock", COMBINATIONS, ids="-".join)
def test_strangers_receive_no_content_of_a_gated_document(
    world: World, file: ConfiguredFile, lock: dict[str, Any]
) -> None:
    """Crawl every public route for all gate combinations; no content and no hidden name may leak."""
    file.change_settings(slug="canary-slug", **lock)
    nameless = lock.keys() != {"viewLimit"}
    all_names = list_link_names(file)
    before = dump_database(world)
    for name in all_names:
        for method, path in list_requests(world, name):
            answer = send_request(world, method, path)
            assert b"Canary words" not in get_visible_bytes(answer), (method, path)
            assert b"%PDF-" not in answer.data, (method, path)
            assert not (nameless and b"Canary name" in get_visible_bytes(answer)), (method, path)
            assert PAGES_MARKER.encode() not in answer.data, (method, path)
            of_document = not path.startswith((f"/{name}?", "/embed/", "/api/files/", "/oembed"))
            assert not (of_document and answer.status_code < 300), (method, path)
    assert dump_database(world) == before


@pytest.mark.parametrize("lock", COMBINATIONS, ids="-".join)
def test_a_gated_link_shows_the_gate_instead_of_the_document(
    world: World, file: ConfiguredFile, lock: dict[str, Any]
) -> None:
    file.change_settings(slug="canary-slug", **lock)
    for name in list_link_names(file):
        page = world.http.get(f"/{name}")
        assert page.status_code == 200
        assert page.text.count("<form") == 1
        assert "Open document</button>" in page.text
        assert ("Canary name" in page.text) == (lock.keys() == {"viewLimit"})


@pytest.mark.parametrize("lock", COMBINATIONS, ids="-".join)
def test_a_link_opens_again_after_its_gate_is_removed(world: World, file: ConfiguredFile, lock: dict[str, Any]) -> None:
    file.change_settings(slug="canary-slug", **lock)
    file.change_settings(**OPEN_SETTINGS)
    assert {PAGES_MARKER in world.http.get(f"/{name}").text for name in list_link_names(file)} == {True}


@pytest.mark.parametrize("plan", ["free", "basic"])
@pytest.mark.parametrize("lock", COMBINATIONS, ids="-".join)
def test_the_gate_survives_a_downgrade(world: World, file: ConfiguredFile, lock: dict[str, Any], plan: str) -> None:
    file.change_settings(**lock)
    file.set_plan(plan)
    assert PAGES_MARKER not in world.http.get(f"/{file.made['shortId']}").text


@pytest.mark.parametrize("settings", [{"gateDomains": ["a.example"]}, {"watermark": True, "askReceipt": True}])
def test_settings_without_a_requirement_create_no_gate(world: World, file: ConfiguredFile, settings: Any) -> None:
    file.change_settings(**settings)
    assert PAGES_MARKER in world.http.get(f"/{file.made['shortId']}").text


def test_the_owner_bypasses_the_gate(world: World, file: ConfiguredFile) -> None:
    file.change_settings(**COMBINATIONS[-1])
    http = sign_in_browser(world, world.pia)
    base = f"/{file.made['shortId']}"
    assert PAGES_MARKER in http.get(base).text
    assert PAGES_MARKER in http.get(f"/embed{base}").text
    assert http.get(f"{base}/pages/1-800.jpg?v=1", buffered=True).status_code == 200
    assert http.post(f"{base}/download", buffered=True).data.startswith(b"%PDF-")
    assert http.post(f"{base}/enter").status_code == 303
    assert file.get_file()["viewsConsumed"] == 0
    assert PAGES_MARKER not in sign_in_browser(world, world.mal).get(base).text


def test_the_owner_downloads_the_stored_bytes_by_api_without_a_gate(file: ConfiguredFile) -> None:
    """The owner receives the exact stored bytes in spite of password, gate and view limit."""
    file.change_settings(**COMBINATIONS[-1])
    answer = file.owner.get(f"{file.path}/content", buffered=True)
    assert (answer.status_code, answer.data) == (200, file.read_content())


class AdmittedReader:
    """A reader who passed the gate of a variant of ``file``, with every address that they used."""

    def __init__(self, world: World, file: ConfiguredFile) -> None:
        self.file = file
        data = {"file": (io.BytesIO(make_picture()), "logo.png"), "kind": "logo"}
        self.asset = file.owner.post(f"{file.path}/assets", data=data).get_json()["assetId"]
        self.variant = file.owner.post(f"{file.path}/variants").get_json()
        self.name = self.variant["shortId"]
        self.guest = GateClient(world, self.name)
        assert self.guest.enter("secret", mail="ada@a.example")
        self.reader = FakeReader(world, self.name, http=self.guest.http)
        assert self.reader.read_page(9) == 204
        assert set(self.list_statuses()) == {200}

    def list_statuses(self) -> list[int]:
        """Return the response status of every address that serves content."""
        ends = [
            "pages/1-800.jpg?v=1",
            "pages/1-1600.jpg?v=1",
            "tiles/1/400/0-0.jpg?v=1",
            "text/1.json?v=1",
            "outline.json?v=1",
            "pages/1-240.jpg?v=1",
            "search?v=1&q=words",
            "style.css",
            f"assets/{self.asset}",
        ]
        found = [self.guest.get(f"/{self.name}/{end}").status_code for end in ends]
        return [*found, self.guest.post(f"/{self.name}/download").status_code]

    def put_variant(self, **body: Any) -> None:
        path = f"{self.file.path}/variants/{self.variant['uuid']}"
        assert self.file.owner.put(path, json=body).status_code == 200


@pytest.fixture
def admitted_reader(world: World, file: ConfiguredFile) -> AdmittedReader:
    file.change_settings(password="secret", gateFields=FORM, viewLimit=9)
    return AdmittedReader(world, file)


def _replace_content(admitted: AdmittedReader) -> None:
    other = io.BytesIO(sheets_pdf([Sheet(lines_content("Canary words"))]))
    answer = admitted.file.owner.post(f"{admitted.file.path}/content", data={"file": (other, "Canary name.pdf")})
    assert answer.status_code == 200


def _purge_file(admitted: AdmittedReader) -> None:
    assert admitted.file.owner.delete(f"{admitted.file.path}?purge=1").status_code == 200


def _expire_file(admitted: AdmittedReader) -> None:
    update_file_row(admitted.file.world, admitted.file.made["uuid"], delete_at=admitted.file.world.clock.now)


def _burn_file(admitted: AdmittedReader) -> None:
    update_file_row(
        admitted.file.world,
        admitted.file.made["uuid"],
        burned_at=admitted.file.world.clock.now - 30 * 60_000,
    )


ENDS = {
    "another-password": (lambda it: it.file.change_settings(password="other"), 403, 200),
    "the-same-password-again": (lambda it: it.file.change_settings(password="secret"), 403, 200),
    "another-form": (lambda it: it.file.change_settings(gateFields=FORM[:1]), 403, 200),
    "another-domain": (lambda it: it.file.change_settings(gateDomains=["b.example"]), 403, 200),
    "revoked": (lambda it: it.put_variant(revoked=True), 404, 404),
    "variant-deleted": (
        lambda it: it.file.owner.delete(f"{it.file.path}/variants/{it.variant['uuid']}"), 404, 404,
    ),
    "expired": (_expire_file, 410, 410),
    "trashed": (lambda it: it.file.owner.delete(it.file.path), 404, 404),
    "purged": (_purge_file, 404, 404),
    "replaced": (_replace_content, 403, 200),
    "swept": (_burn_file, 410, 410),
}  # fmt: skip


@pytest.mark.parametrize("end", ENDS)
def test_an_admitted_reader_receives_nothing_after_access_ends(
    world: World, admitted_reader: AdmittedReader, end: str
) -> None:
    """After access ends, no address that worked before returns 200."""
    act, status, page_status = ENDS[end]
    act(admitted_reader)
    before = list_sessions(world)
    *bytes_of, download = admitted_reader.list_statuses()
    assert set(bytes_of) == {status}
    assert download == (303 if status == 403 else status)
    assert admitted_reader.reader.read_page(9) == status
    assert list_sessions(world) == before
    page = admitted_reader.guest.open_page()
    assert (page.status_code, PAGES_MARKER in page.text) == (page_status, False)


def _restore_file(admitted: AdmittedReader) -> None:
    assert admitted.file.owner.post(f"{admitted.file.path}/restore").status_code == 200


REVIVALS = {
    "trashed": (ENDS["trashed"][0], _restore_file),
    "revoked": (ENDS["revoked"][0], lambda it: it.put_variant(revoked=False)),
}


@pytest.mark.parametrize("end", REVIVALS)
def test_an_admitted_reader_must_pass_the_gate_again_after_the_link_is_restored(
    world: World, admitted_reader: AdmittedReader, end: str
) -> None:
    """After the link works again, the earlier password, form and view do not open it."""
    close, open_again = REVIVALS[end]
    close(admitted_reader)
    open_again(admitted_reader)
    *bytes_of, download = admitted_reader.list_statuses()
    assert set(bytes_of) == {403}
    assert download == 303
    assert admitted_reader.reader.read_page(9) == 403
    assert not admitted_reader.guest.is_in()
    assert admitted_reader.file.get_file()["viewsConsumed"] == 1
    assert admitted_reader.guest.enter("secret", mail="ada@a.example")
    assert admitted_reader.file.get_file()["viewsConsumed"] == 2
    assert set(admitted_reader.list_statuses()) == {200}


def test_revoking_one_variant_keeps_readers_of_other_links_admitted(
    world: World, admitted_reader: AdmittedReader
) -> None:
    other = GateClient(world, admitted_reader.file.made["shortId"])
    assert other.enter("secret", mail="bob@a.example")
    admitted_reader.put_variant(revoked=True)
    assert other.is_in()


@pytest.mark.parametrize("shape", ["shortId", "uuid"])
def test_the_gate_of_a_variant_never_reveals_the_canonical_link(world: World, file: ConfiguredFile, shape: str) -> None:
    """This includes error pages of a link with every kind of requirement."""
    file.change_settings(slug="canary-slug", password="secret", gateFields=FORM, viewLimit=9)
    name = file.owner.post(f"{file.path}/variants").get_json()[shape]
    for prefix in ("", "/embed"):
        guest = GateClient(world, name, prefix=prefix)
        answers = [
            guest.open_page("?via=qr"),
            guest.submit("wrong"),
            guest.submit("secret"),
            guest.get(f"{guest.path}/enter"),
        ]
        answers.append(guest.submit("secret", mail="ada@a.example"))
        for answer in answers:
            for secret in (file.made["uuid"], file.made["shortId"], "canary-slug"):
                assert secret.encode() not in get_visible_bytes(answer)
        assert guest.is_in()


def test_a_download_redirects_to_the_gate_if_it_must_be_passed_again(admitted_reader: AdmittedReader) -> None:
    admitted_reader.file.change_settings(password="other")
    answer = admitted_reader.guest.post(f"/{admitted_reader.name}/download")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/{admitted_reader.name}")


def test_the_viewer_token_of_one_link_is_invalid_for_another(world: World, admitted_reader: AdmittedReader) -> None:
    cookie = admitted_reader.guest.http.get_cookie(f"viewer-{admitted_reader.name}")
    assert cookie is not None
    for short_id in (
        admitted_reader.file.made["shortId"],
        admitted_reader.file.owner.post(f"{admitted_reader.file.path}/variants").json["shortId"],
    ):
        thief = GateClient(world, short_id)
        thief.http.set_cookie(f"viewer-{short_id}", cookie.value)
        assert not thief.is_in()


def test_the_viewer_token_of_a_deleted_variant_opens_no_other_link(
    world: World, admitted_reader: AdmittedReader
) -> None:
    cookie = admitted_reader.guest.http.get_cookie(f"viewer-{admitted_reader.name}")
    assert cookie is not None
    admitted_reader.file.owner.delete(f"{admitted_reader.file.path}/variants/{admitted_reader.variant['uuid']}")
    thief = GateClient(world, admitted_reader.file.made["shortId"])
    thief.http.set_cookie(f"viewer-{admitted_reader.file.made['shortId']}", cookie.value)
    assert not thief.is_in()


def test_a_page_opened_before_the_gate_was_added_can_report_no_more_reading(world: World, file: ConfiguredFile) -> None:
    reader = FakeReader(world, file.made["shortId"])
    assert reader.read_page(9) == 204
    before = list_sessions(world)
    file.change_settings(requireEmail=True)
    assert reader.read_page(9) == 403
    assert list_sessions(world) == before


def test_a_dead_gated_link_is_410_and_a_trashed_one_404(world: World, file: ConfiguredFile) -> None:
    file.change_settings(password="secret")
    update_file_row(world, file.made["uuid"], delete_at=world.clock.now)
    assert world.http.get(f"/{file.made['shortId']}").status_code == 410
    file.owner.delete(file.path)
    assert world.http.get(f"/{file.made['shortId']}").status_code == 404


def test_purging_a_file_deletes_all_data_of_its_readers(world: World, admitted_reader: AdmittedReader) -> None:
    found = world.rt.db.fetch_one("SELECT id FROM files")
    assert found is not None
    purge.purge(world.rt, found[0])
    assert "ada@a.example" not in json.dumps(dump_database(world))
