"""Assets of a file: permissions, kinds, sizes and limits."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import TestResponse

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from docshare.server.services.files import removals
from docshare.server.services.files.sealed_blobs import open_blob
from docshare.server.services.operations import sweeps
from tests.api.raw_client import RawClient, build_head
from tests.api.route_table import UNKNOWN_UUID
from tests.support.documents.images import make_mp3_frame, make_picture
from tests.support.engines.database import ON_POSTGRESQL, sqlite_only
from tests.support.engines.rows import count_rows, update_file_row
from tests.support.engines.stored_bytes import assert_reported_as_damaged, flip_last_bit
from tests.support.people.cast import Person, World
from tests.support.polling import wait_until
from tests.support.servers.instance_backup import Operator

MB = 1024 * 1024
SOUND = make_mp3_frame(1) * 4


TYPE = "multipart/form-data; boundary=edge"


def build_asset_form(kind: str | None, content: bytes) -> bytes:
    """Build a form with an asset and its kind, boundary ``edge``; the file name has no effect."""
    start = b'--edge\r\nContent-Disposition: form-data; name="file"; filename="x.pdf"\r\n\r\n'
    end = b"\r\n--edge"
    if kind is not None:
        end += b'\r\nContent-Disposition: form-data; name="kind"\r\n\r\n' + kind.encode() + b"\r\n--edge"
    return start + content + end + b"--\r\n"


def upload_asset(
    owner: Person, made: dict[str, Any], kind: str | None = "logo", content: bytes | None = None
) -> TestResponse:
    body = build_asset_form(kind, make_picture() if content is None else content)
    return owner.post(f"/api/v1/files/{made['uuid']}/assets", data=body, content_type=TYPE)


def list_stored_assets(world: World) -> list[Path]:
    """List the stored files, including unfinished uploads, that are not documents in the database."""
    paths = [path for root in (world.rt.blobs.root, world.rt.blobs.tmp) for path in root.rglob("*") if path.is_file()]
    documents = {blob for (blob,) in world.rt.db.fetch_all("SELECT blob FROM files")}
    return [path for path in paths if path.name not in documents]


def get_viewer_settings(world: World, made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()["viewerSettings"]
    return found


@pytest.mark.parametrize(
    ("kind", "content", "media_type"),
    [
        ("logo", make_picture("PNG"), "image/png"),
        ("logo", make_picture("JPEG"), "image/jpeg"),
        ("background", make_picture("WEBP"), "image/webp"),
        ("hotspot-audio", SOUND, "audio/mpeg"),
    ],
)
def test_an_upload_returns_the_id_kind_type_and_size_of_the_asset(
    world: World, uploaded_file: dict[str, Any], kind: str, content: bytes, media_type: str
) -> None:
    """The media type follows from the bytes, not from the file name."""
    answer = upload_asset(world.pia, uploaded_file, kind, content)
    assert answer.status_code == 200
    found = answer.get_json()
    assert list(found) == ["assetId", "kind", "mimeType", "size"]
    assert (found["kind"], found["mimeType"]) == (kind, media_type)
    (path,) = list_stored_assets(world)
    assert found["size"] == len(open_blob(world.rt, path.name).read_bytes())


@pytest.mark.parametrize(("person", "status"), [("fay", 403), ("bea", 200), ("pia", 200)])
def test_assets_require_the_basic_plan(world: World, person: str, status: int) -> None:
    owner = getattr(world, person)
    answer = upload_asset(owner, owner.upload())
    assert answer.status_code == status
    if status == 403:
        assert answer.get_json()["code"] == "plan_required"
        assert "requires the basic plan" in answer.get_json()["detail"]
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert list_stored_assets(world) == []


def test_the_path_accepts_a_short_id(world: World, uploaded_file: dict[str, Any]) -> None:
    assert upload_asset(world.pia, {"uuid": uploaded_file["shortId"]}).status_code == 200


def test_a_foreign_trashed_or_unclaimed_file_is_404(world: World, uploaded_file: dict[str, Any]) -> None:
    trashed, unclaimed = world.mal.upload(), world.mal.upload()
    world.mal.delete(f"/api/v1/files/{trashed['uuid']}")
    update_file_row(world, unclaimed["uuid"], owner_id=None)
    unknown = upload_asset(world.mal, {"uuid": UNKNOWN_UUID})
    assert unknown.status_code == 404
    for uuid in (uploaded_file["uuid"], trashed["uuid"], unclaimed["uuid"]):
        answer = upload_asset(world.mal, {"uuid": uuid})
        assert (answer.status_code, answer.data) == (404, unknown.data)
    assert list_stored_assets(world) == []


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (None, make_picture()),
        ("", make_picture()),
        ("Logo", make_picture()),
        ("palette", make_picture()),
        ("logo\x00", make_picture()),
        ("logo", SOUND),
        ("background", SOUND),
        ("hotspot-audio", make_picture()),
        ("logo", b""),
        ("logo", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
        ("logo", b"GIF89a" + b"\0" * 100),
        ("logo", b"%PDF-1.7"),
        ("background", b"BM" + b"\0" * 100),
        ("hotspot-audio", b"RIFF\0\0\0\0WAVEfmt "),
        ("hotspot-audio", b"OggS" + b"\0" * 100),
    ],
)
def test_content_that_does_not_match_its_kind_is_400(
    world: World, uploaded_file: dict[str, Any], kind: str | None, content: bytes
) -> None:
    answer = upload_asset(world.pia, uploaded_file, kind, content)
    assert (answer.status_code, answer.get_json()["code"]) == (400, "bad_request")
    assert list_stored_assets(world) == []
    assert count_rows(world, "assets") == 0


def test_a_form_without_a_file_is_400_and_a_body_that_is_not_a_form_is_415(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    path = f"/api/v1/files/{uploaded_file['uuid']}/assets"
    assert world.pia.post(path, data={"kind": "logo"}, content_type="multipart/form-data").status_code == 400
    assert world.pia.post(path).status_code == 400
    assert world.pia.post(path, json={"kind": "logo"}).status_code == 415


@pytest.mark.parametrize(
    ("kind", "cap", "start"), [("logo", 5 * MB, make_picture()), ("hotspot-audio", 10 * MB, SOUND)]
)
def test_each_kind_of_asset_has_a_size_limit(
    world: World, uploaded_file: dict[str, Any], kind: str, cap: int, start: bytes
) -> None:
    """The limit is 5 MB for images and 10 MB for audio; one more byte is 413 and nothing is stored."""
    assert upload_asset(world.pia, uploaded_file, kind, start + b"\0" * (cap - len(start))).status_code == 200
    answer = upload_asset(world.pia, uploaded_file, kind, start + b"\0" * (cap - len(start) + 1))
    assert (answer.status_code, answer.get_json()["code"]) == (413, "payload_too_large")
    assert len(list_stored_assets(world)) == 1


EARLY_REJECTIONS = [
    # person, file, length of the body, status
    ("pia", "own", 11 * MB, 413),
    ("fay", "own", 1000, 403),
    ("mal", "pia's", 1000, 404),
    ("mal", "pia's", 11 * MB, 404),
    ("pia", "unknown", 1000, 404),
    (None, "own", 1000, 401),
]


@pytest.mark.parametrize(("person", "whose", "length", "status"), EARLY_REJECTIONS)
def test_an_upload_is_rejected_before_its_body_is_sent(
    world: World, raw_client: RawClient, person: str | None, whose: str, length: int, status: int
) -> None:
    """The headers are enough to check path, credential, plan and size."""
    owner = {"own": getattr(world, person or "pia"), "pia's": world.pia}.get(whose)
    uuid = owner.upload()["uuid"] if owner else UNKNOWN_UUID
    headers = {"Content-Length": str(length), "Content-Type": TYPE}
    if person:
        headers |= getattr(world, person).headers
    reply = raw_client.send(build_head("POST", f"/api/v1/files/{uuid}/assets", headers))
    assert reply.status == status
    assert reply.headers["content-type"] == "application/problem+json"
    assert list_stored_assets(world) == []


def test_the_bundled_listener_stores_an_asset(
    world: World, raw_client: RawClient, uploaded_file: dict[str, Any]
) -> None:
    headers = {"Content-Type": TYPE, **world.pia.headers}
    reply = raw_client.request(
        "POST", f"/api/v1/files/{uploaded_file['uuid']}/assets", headers, build_asset_form("background", make_picture())
    )
    assert (reply.status, reply.json()["kind"]) == (200, "background")
    assert len(list_stored_assets(world)) == 1


def test_a_downgrade_during_the_upload_rejects_the_asset(
    world: World, raw_client: RawClient, uploaded_file: dict[str, Any]
) -> None:
    """The plan is checked when the headers arrive, and again when the asset is stored."""
    body = build_asset_form("logo", make_picture())
    headers = {"Content-Length": str(len(body)), "Content-Type": TYPE, **world.pia.headers}
    with socket.create_connection(("127.0.0.1", raw_client.port), timeout=30) as sock:
        sock.sendall(build_head("POST", f"/api/v1/files/{uploaded_file['uuid']}/assets", headers) + body[:-30])
        wait_until(lambda: list(world.rt.blobs.tmp.iterdir()))
        accounts.set_tier(world.rt, world.pia.email, Plan.FREE)
        sock.sendall(body[-30:])
        with sock.makefile("rb") as answer:
            assert answer.readline().split()[1] == b"403"
    wait_until(lambda: not list(world.rt.blobs.tmp.iterdir()))


def test_the_11th_asset_is_400(world: World, uploaded_file: dict[str, Any]) -> None:
    """Replacing a singleton does not count as another asset."""
    for _ in range(9):
        assert upload_asset(world.pia, uploaded_file, "hotspot-audio", SOUND).status_code == 200
    assert upload_asset(world.pia, uploaded_file, "logo").status_code == 200
    for kind, content in (("hotspot-audio", SOUND), ("background", make_picture())):
        answer = upload_asset(world.pia, uploaded_file, kind, content)
        assert (answer.status_code, answer.get_json()["code"]) == (400, "bad_request")
    assert upload_asset(world.pia, uploaded_file, "logo").status_code == 200
    assert count_rows(world, "assets") == len(list_stored_assets(world)) == 10


def test_concurrent_uploads_create_at_most_ten_assets(world: World, uploaded_file: dict[str, Any]) -> None:
    """Exactly as many requests as the limit allows succeed; the others are 400."""

    def upload_one(_: int) -> int:
        owner = replace(world.pia, http=world.app.test_client())
        return upload_asset(owner, uploaded_file, "hotspot-audio", SOUND).status_code

    with ThreadPoolExecutor(6) as pool:
        statuses = list(pool.map(upload_one, range(18)))
    assert sorted(statuses) == [200] * 10 + [400] * 8
    assert count_rows(world, "assets") == len(list_stored_assets(world)) == 10


@pytest.mark.parametrize("kind", ["logo", "background"])
def test_a_second_logo_or_background_replaces_the_first(world: World, uploaded_file: dict[str, Any], kind: str) -> None:
    """``logo`` and ``background`` are singletons: a second upload of the kind deletes the first."""
    first = upload_asset(world.pia, uploaded_file, kind).get_json()
    (old,) = list_stored_assets(world)
    second = upload_asset(world.pia, uploaded_file, kind, make_picture("WEBP")).get_json()
    assert first["assetId"] != second["assetId"]
    assert not old.exists()
    assert len(list_stored_assets(world)) == 1
    assert world.http.get(f"/{uploaded_file['shortId']}/assets/{first['assetId']}").status_code == 404
    assert world.http.get(f"/{uploaded_file['shortId']}/assets/{second['assetId']}", buffered=True).status_code == 200


def test_concurrent_uploads_of_a_singleton_leave_one_asset(world: World, uploaded_file: dict[str, Any]) -> None:
    def upload_one(_: int) -> int:
        return upload_asset(replace(world.pia, http=world.app.test_client()), uploaded_file).status_code

    with ThreadPoolExecutor(3) as pool:
        assert set(pool.map(upload_one, range(6))) == {200}
    if ON_POSTGRESQL:
        removals.delete_remembered(world.rt)  # deletions at the same time leave some to this job
    assert count_rows(world, "assets") == len(list_stored_assets(world)) == 1


def test_settings_that_refer_to_a_replaced_asset_are_updated(world: World, uploaded_file: dict[str, Any]) -> None:
    """Readers see the new logo without another request; the other settings do not change."""
    logo, background = (
        upload_asset(world.pia, uploaded_file, kind).get_json()["assetId"] for kind in ("logo", "background")
    )
    wanted = {
        "background": {"type": "image", "assetId": background, "blur": 3},
        "logo": {"assetId": logo, "size": "xl"},
        "page": {"shadow": 3},
    }
    path = f"/api/v1/files/{uploaded_file['uuid']}/settings"
    assert world.pia.put(path, json={"viewerMode": "swipe", "viewerSettings": wanted}).status_code == 200
    world.clock.advance(seconds=5)
    new = upload_asset(world.pia, uploaded_file, "logo").get_json()["assetId"]
    assert get_viewer_settings(world, uploaded_file) == wanted | {"logo": {"assetId": new, "size": "xl"}}
    detail = world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}").get_json()
    assert (detail["viewerMode"], detail["updatedAt"]) == ("swipe", "2026-09-21T14:13:25.000Z")
    assert world.pia.put(path, json={"viewerSettings": get_viewer_settings(world, uploaded_file)}).status_code == 200


def test_replacing_an_unused_asset_does_not_change_the_settings(world: World, uploaded_file: dict[str, Any]) -> None:
    upload_asset(world.pia, uploaded_file)
    before = world.rt.db.fetch_one("SELECT settings FROM files WHERE uuid = ?", (uploaded_file["uuid"],))
    upload_asset(world.pia, uploaded_file)
    assert world.rt.db.fetch_one("SELECT settings FROM files WHERE uuid = ?", (uploaded_file["uuid"],)) == before


def test_a_purge_deletes_the_bytes_of_assets(world: World, uploaded_file: dict[str, Any]) -> None:
    other = world.pia.upload()
    upload_asset(world.pia, uploaded_file, "logo")
    upload_asset(world.pia, uploaded_file, "hotspot-audio", SOUND)
    upload_asset(world.pia, other, "logo")
    world.pia.delete(f"/api/v1/files/{uploaded_file['uuid']}?purge=1")
    assert count_rows(world, "assets") == len(list_stored_assets(world)) == 1


def test_a_restart_keeps_assets_and_deletes_bytes_without_a_row(world: World, uploaded_file: dict[str, Any]) -> None:
    upload_asset(world.pia, uploaded_file, "logo")
    orphan = world.rt.blobs.create_partial()
    orphan.write(b"bytes without a row")
    world.rt.blobs.store(orphan)
    assert sweeps.clean_at_start(world.rt).orphans == 1
    assert len(list_stored_assets(world)) == 1


def test_an_upload_to_a_file_that_is_purged_meanwhile_stores_nothing(
    world: World, uploaded_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is looked up again when the asset is stored."""
    convert = world.rt.engine.picture

    def purge_and_convert(*arguments: Any) -> bytes:
        world.pia.delete(f"/api/v1/files/{uploaded_file['uuid']}?purge=1")
        return convert(*arguments)

    monkeypatch.setattr(world.rt.engine, "picture", purge_and_convert)
    assert upload_asset(world.pia, uploaded_file).status_code == 404
    assert list_stored_assets(world) == []


def test_a_full_disk_is_503_and_nothing_is_stored(
    world: World, uploaded_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.rt.blobs, "store", lambda part: (_ for _ in ()).throw(OSError(28, "no space")))
    answer = upload_asset(world.pia, uploaded_file)
    assert (answer.status_code, answer.get_json()["code"]) == (503, "unavailable")
    assert answer.headers["Retry-After"]
    assert list_stored_assets(world) == []
    assert count_rows(world, "assets") == 0


def test_an_upload_that_was_changed_before_it_was_read_is_not_reported_as_a_full_disk(
    world: World, uploaded_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    read = world.rt.engine.picture

    def change_and_read(path: Any, *more: Any) -> bytes:
        flip_last_bit(Path(path))
        return read(path, *more)

    monkeypatch.setattr(world.rt.engine, "picture", change_and_read)
    assert_reported_as_damaged(lambda: upload_asset(world.pia, uploaded_file), caplog)
    assert list_stored_assets(world) == []


def test_settings_reject_an_asset_of_another_file(world: World, uploaded_file: dict[str, Any]) -> None:
    """This holds even if both files have the same owner."""
    other = upload_asset(world.pia, world.pia.upload()).get_json()["assetId"]
    body = {"viewerSettings": {"logo": {"assetId": other}}}
    assert world.pia.put(f"/api/v1/files/{uploaded_file['uuid']}/settings", json=body).status_code == 400


def test_a_downgraded_owner_keeps_assets_and_cannot_add_more(world: World, uploaded_file: dict[str, Any]) -> None:
    found = upload_asset(world.pia, uploaded_file).get_json()
    accounts.set_tier(world.rt, world.pia.email, Plan.FREE)
    assert upload_asset(world.pia, uploaded_file).status_code == 403
    assert json.loads(world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}").data)["uuid"] == uploaded_file["uuid"]
    assert world.http.get(f"/{uploaded_file['shortId']}/assets/{found['assetId']}", buffered=True).status_code == 200


@sqlite_only
def test_the_admin_check_reports_an_asset_without_bytes(
    world: World, uploaded_file: dict[str, Any], tmp_path: Path
) -> None:
    found = upload_asset(world.pia, uploaded_file).get_json()
    operator = Operator(world, tmp_path)

    def list_content_checks() -> list[dict[str, Any]]:
        return [row for row in operator.run_admin("check", "--json").json if row["check"] == "content"]

    assert [row["ok"] for row in list_content_checks()] == [True]
    list_stored_assets(world)[0].unlink()
    (row,) = list_content_checks()
    assert not row["ok"]
    assert f"asset {found['assetId']}" in row["detail"]
