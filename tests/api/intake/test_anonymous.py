"""Anonymous uploads: ``POST /api/files``, if the operator has enabled them."""

import io
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
import requests
from werkzeug.test import TestResponse

from docshare.contract.wire import parse_instant
from docshare.server.http import views
from docshare.server.pdf.engine import PdfEngine
from docshare.server.services.operations import sweeps
from tests.support.documents.office import make_docx
from tests.support.documents.pdfs import simple_pdf
from tests.support.people.cast import BASE_URL, World
from tests.support.servers.in_process_server import serve_world

DAY = 86_400_000
MB = 1024 * 1024


@pytest.fixture
def anonymous_world(make: Callable[..., World]) -> World:
    """Create an instance with anonymous uploads enabled."""
    return make(anonymous_uploads=True)


def upload_anonymously(
    world: World, content: bytes | None = None, name: str = "leaflet.pdf", **more: Any
) -> TestResponse:
    body = simple_pdf(pages=2) if content is None else content
    return world.http.post("/api/files", data={"file": (io.BytesIO(body), name)}, **more)


def list_stored_names(world: World) -> list[str]:
    """List the names of all stored files, including partial ones."""
    data = world.rt.config.data_dir
    return [path.name for folder in ("blobs", "tmp") for path in (data / folder).rglob("*") if path.is_file()]


def count_files(world: World) -> int:
    return int(world.rt.db.fetch_all("SELECT COUNT(*) FROM files")[0][0])


def test_an_anonymous_upload_returns_the_link_and_both_tokens(anonymous_world: World) -> None:
    answer = upload_anonymously(anonymous_world)
    assert answer.status_code == 200
    made = answer.get_json()
    assert list(made) == ["uuid", "shortId", "shareUrl", "claimToken", "manageToken", "message"]
    assert made["shareUrl"] == f"{BASE_URL}/{made['shortId']}"
    assert re.fullmatch("ds_ct_[0-9A-Za-z]{32,}", made["claimToken"])
    assert re.fullmatch("ds_mt_[0-9A-Za-z]{32,}", made["manageToken"])
    assert answer.headers["RateLimit-Policy"].startswith('"anonymous-uploads";q=20;w=3600')
    assert anonymous_world.http.get(f"/{made['shortId']}").status_code == 200


def test_the_route_is_404_if_anonymous_uploads_are_disabled(world: World) -> None:
    answer = upload_anonymously(world)
    assert (answer.status_code, answer.get_json()["code"]) == (404, "not_found")
    assert count_files(world) == 0


def test_each_document_is_checked_by_another_worker(anonymous_world: World) -> None:
    seen = set()
    with closing(PdfEngine(workers=1)) as engine:
        views.attach_runtime(anonymous_world.app, replace(anonymous_world.rt, engine=engine))
        for pages in (1, 2, 3):
            assert upload_anonymously(anonymous_world, simple_pdf(pages)).status_code == 200
            seen.update(engine.pool.list_pids())
    assert len(seen) == 3


def test_the_link_expires_after_seven_days(anonymous_world: World) -> None:
    made = upload_anonymously(anonymous_world).get_json()
    told = anonymous_world.http.get(f"/api/files/{made['shortId']}/metadata").get_json()
    assert parse_instant(told["deleteAt"]) == anonymous_world.clock.now + 7 * DAY
    anonymous_world.clock.advance(days=7, seconds=-0.001)
    assert anonymous_world.http.get(f"/{made['shortId']}").status_code == 200
    anonymous_world.clock.advance(seconds=0.001)
    assert anonymous_world.http.get(f"/{made['shortId']}").status_code == 410


def test_the_file_belongs_to_no_account_until_it_is_claimed(anonymous_world: World) -> None:
    made = upload_anonymously(anonymous_world).get_json()
    assert anonymous_world.pia.get("/api/v1/files").get_json() == []
    assert anonymous_world.pia.get(f"/api/v1/files/{made['uuid']}").status_code == 404
    claimed = anonymous_world.fay.post("/api/v1/files/claim", json={"claimToken": made["claimToken"]})
    assert claimed.status_code == 200
    detail = anonymous_world.fay.get(f"/api/v1/files/{made['uuid']}").get_json()
    assert detail["deleteAt"]
    assert detail["originalName"] == "leaflet.pdf"
    assert [row["contentVersion"] for row in detail["revisions"]] == [1]


def test_the_manage_token_changes_only_settings_of_the_free_plan(anonymous_world: World) -> None:
    made = upload_anonymously(anonymous_world).get_json()
    headers = {"Authorization": f"Bearer {made['manageToken']}"}
    path = f"/api/v1/files/{made['uuid']}/settings"
    assert anonymous_world.http.put(path, headers=headers, json={"allowDownload": False}).status_code == 200
    assert anonymous_world.http.put(path, headers=headers, json={"password": "x"}).status_code == 403
    assert anonymous_world.http.put(path, headers=headers, json={"neverExpire": True}).status_code == 403
    assert anonymous_world.http.get("/api/v1/files", headers=headers).status_code == 401
    other = upload_anonymously(anonymous_world).get_json()
    assert (
        anonymous_world.http.put(f"/api/v1/files/{other['uuid']}/settings", headers=headers, json={}).status_code == 404
    )


def test_an_upload_above_the_anonymous_limit_is_413(make: Callable[..., World]) -> None:
    site = make(anonymous_uploads=True, anonymous_limit=3000)
    large = simple_pdf(pages=40)
    assert len(large) > 3000
    answer = upload_anonymously(site, large)
    assert (answer.status_code, answer.get_json()["code"]) == (413, "payload_too_large")
    assert "larger than 2.9 kB" in answer.get_json()["detail"]
    assert count_files(site) == 0
    assert list_stored_names(site) == []


def test_the_anonymous_limit_can_exceed_that_of_the_free_plan(make: Callable[..., World]) -> None:
    site = make(anonymous_uploads=True, anonymous_limit=30 * MB)
    filler = simple_pdf(pages=1) + b"%" + b"x" * (21 * MB)
    with serve_world(site) as url:
        assert requests.post(f"{url}/api/files", files={"file": ("a.pdf", filler)}, timeout=30).status_code == 200


def test_content_that_is_not_a_document_is_rejected_and_not_stored(anonymous_world: World) -> None:
    for content, code in ((b"hello", 400), (b"%PDF-1.7 but no more", 422), (b"", 400)):
        assert upload_anonymously(anonymous_world, content).status_code == code
    form = {"other": (io.BytesIO(b"x"), "x.pdf")}
    assert anonymous_world.http.post("/api/files", data=form).status_code == 400
    assert anonymous_world.http.post("/api/files", json={}).status_code == 415
    assert count_files(anonymous_world) == 0
    assert list_stored_names(anonymous_world) == []
    assert anonymous_world.rt.db.fetch_all("SELECT COUNT(*) FROM file_tokens") == [(0,)]


def test_the_limit_applies_to_the_pdf_of_an_office_document(make: Callable[..., World]) -> None:
    site = make(anonymous_uploads=True, anonymous_limit=1000)
    answer = upload_anonymously(site, make_docx("A leaflet"), "leaflet.docx")
    assert answer.status_code == 413
    assert list_stored_names(site) == []


def test_an_address_is_limited_to_twenty_uploads_per_hour(anonymous_world: World) -> None:
    for _ in range(20):
        assert upload_anonymously(anonymous_world, b"hello").status_code == 400
    answer = upload_anonymously(anonymous_world)
    assert answer.status_code == 429
    assert 3500 < int(answer.headers["Retry-After"]) <= 3600
    elsewhere = {"REMOTE_ADDR": "198.51.100.9"}
    assert upload_anonymously(anonymous_world, environ_overrides=elsewhere).status_code == 200
    anonymous_world.clock.advance(seconds=3600)
    assert upload_anonymously(anonymous_world).status_code == 200


def test_a_credential_is_ignored(anonymous_world: World) -> None:
    """The file has no owner even if the uploader sends an API key."""
    made = upload_anonymously(anonymous_world, headers=anonymous_world.pia.headers).get_json()
    assert "claimToken" in made
    assert anonymous_world.pia.get("/api/v1/files").get_json() == []


def test_the_listener_rejects_an_oversized_upload_before_its_body(make: Callable[..., World]) -> None:
    site = make(anonymous_uploads=True, anonymous_limit=3000)
    with serve_world(site) as url:
        made = requests.post(f"{url}/api/files", files={"file": ("a.pdf", simple_pdf(pages=1))}, timeout=30)
        assert made.status_code == 200
        huge = requests.post(f"{url}/api/files", files={"file": ("a.pdf", b"%PDF-" + b"x" * (60 * MB))}, timeout=30)
        assert huge.status_code == 413
        assert huge.headers["Content-Type"] == "application/problem+json"


def test_the_listener_rejects_a_large_upload_if_anonymous_uploads_are_disabled(world: World) -> None:
    with serve_world(world) as url:
        answer = requests.post(f"{url}/api/files", files={"file": ("a.pdf", b"%PDF-" + b"x" * (2 * MB))}, timeout=30)
        assert answer.status_code == 404


def test_an_expired_unclaimed_file_is_purged_a_week_later(anonymous_world: World) -> None:
    upload_anonymously(anonymous_world)
    anonymous_world.clock.advance(days=14)
    assert sweeps.run_all(anonymous_world.rt)["expired"] == 1
    assert count_files(anonymous_world) == 0
