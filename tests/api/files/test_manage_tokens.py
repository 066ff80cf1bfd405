"""Manage tokens as a credential."""

import io

import pytest

from docshare.contract.scopes import SCOPES
from docshare.server.services.accounts.callers import authenticate
from docshare.server.services.files import claim as claiming
from docshare.server.services.files import tokens
from docshare.server.services.operations import sweeps
from tests.api.raw_client import build_file_form, open_listener
from tests.api.route_table import GUARDED_ROUTES, PUBLIC_ROUTES, UNKNOWN_UUID, fill_path
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.database import dump_database
from tests.support.engines.rows import count_rows
from tests.support.people.anonymous_files import AnonymousFile, share_anonymously
from tests.support.people.cast import INVALID_TOKEN, World

SETTINGS = "/api/v1/files/{uuid}/settings"
CONTENT = "/api/v1/files/{uuid}/content"
MANAGE_TOKEN_ROUTES = {("PUT", SETTINGS), ("POST", CONTENT)}


def put_settings_status(file: AnonymousFile, name: str | None = None, **body: object) -> int:
    path = SETTINGS.replace("{uuid}", name or file.uuid)
    return file.manage("PUT", path, json=body or {"viewerMode": "flipbook"}).status_code


def get_replace_outcome(file: AnonymousFile, name: str | None = None) -> tuple[int, str]:
    data = {"file": (io.BytesIO(simple_pdf()), "a.pdf")}
    answer = file.manage("POST", CONTENT.replace("{uuid}", name or file.uuid), data=data)
    return answer.status_code, answer.get_json()["code"]


def claim_file(world: World, file: AnonymousFile) -> None:
    claiming.claim(world.rt, authenticate(world.rt, f"Bearer {world.mal.key}"), file.claim_token)


def test_tokens_have_a_prefix_and_only_their_digests_are_stored(world: World) -> None:
    file = share_anonymously(world)
    for token, prefix in ((file.claim_token, "ds_ct_"), (file.manage_token, "ds_mt_")):
        assert token.startswith(prefix)
        assert len(token) >= len(prefix) + 32
        assert token[6:].isalnum()
        assert token not in "".join(dump_database(world))
    assert world.rt.db.fetch_all("SELECT kind FROM file_tokens ORDER BY kind") == [("claim",), ("manage",)]


@pytest.mark.parametrize(
    ("method", "path", "scope"), [row for row in GUARDED_ROUTES if row[:2] not in MANAGE_TOKEN_ROUTES]
)
def test_a_manage_token_is_401_on_every_other_route(world: World, method: str, path: str, scope: str) -> None:
    """Only the settings route accepts it; replacement is 403."""
    assert scope in SCOPES
    file = share_anonymously(world)
    answer = file.manage(method, fill_path(path, file.uuid))
    assert answer.status_code == 401
    assert answer.get_json()["code"] == "unauthorized"
    assert answer.headers["WWW-Authenticate"] == INVALID_TOKEN


@pytest.mark.parametrize(("method", "path", "scope"), [row for row in PUBLIC_ROUTES if row[0] == "GET"])
def test_public_routes_ignore_a_manage_token(world: World, method: str, path: str, scope: None) -> None:
    file = share_anonymously(world)
    assert file.manage(method, fill_path(path, file.short_id)).status_code == 200


@pytest.mark.parametrize(("method", "path", "scope"), GUARDED_ROUTES)
def test_a_claim_token_is_not_accepted_as_a_bearer_token(world: World, method: str, path: str, scope: str) -> None:
    """It is accepted only in the body of a claim."""
    file = share_anonymously(world)
    headers = {"Authorization": f"Bearer {file.claim_token}"}
    answer = world.http.open(fill_path(path, file.uuid), method=method, headers=headers)
    assert answer.status_code == 401, scope


def test_a_manage_token_changes_settings_of_its_own_file_only(world: World) -> None:
    file, other = share_anonymously(world), share_anonymously(world)
    assert put_settings_status(file) == 200
    assert put_settings_status(file, file.short_id) == 200
    assert put_settings_status(file, other.uuid) == 404
    assert put_settings_status(file, world.pia.upload()["uuid"]) == 404
    assert put_settings_status(file, UNKNOWN_UUID) == 404


def test_a_manage_token_has_the_free_plan(world: World) -> None:
    """Settings of other plans are 403."""
    file = share_anonymously(world)
    answer = file.manage("PUT", SETTINGS.replace("{uuid}", file.uuid), json={"password": "secret"})
    assert (answer.status_code, answer.get_json()["code"]) == (403, "plan_required")


def test_a_manage_token_is_404_after_a_claim_and_401_after_30_days(world: World) -> None:
    """An expired token is 401 whether or not the file has been claimed."""
    file = share_anonymously(world, days=60)
    world.clock.advance(days=30, milliseconds=-1)
    assert put_settings_status(file) == 200
    claim_file(world, file)
    assert put_settings_status(file) == 404
    world.clock.advance(milliseconds=1)
    assert put_settings_status(file) == 401
    unclaimed = share_anonymously(world, days=60)
    world.clock.advance(days=30)
    assert put_settings_status(unclaimed) == 401


def test_a_known_manage_token_on_replacement_is_always_403(world: World) -> None:
    """It is 403 even if the token has expired or the file has been claimed, never 401 or 404."""
    file = share_anonymously(world, days=60)
    for name in (file.uuid, file.short_id, UNKNOWN_UUID, world.pia.upload()["uuid"], "nonsense"):
        assert get_replace_outcome(file, name) == (403, "forbidden")
    claim_file(world, file)
    assert get_replace_outcome(file) == (403, "forbidden")
    world.clock.advance(days=31)
    assert get_replace_outcome(file) == (403, "forbidden")
    world.mal.delete(f"/api/v1/files/{file.uuid}?purge=1")
    unclaimed = share_anonymously(world)
    world.clock.advance(days=15)
    assert sweeps.expire_unclaimed(world.rt) == 1
    assert get_replace_outcome(unclaimed) == (403, "forbidden")


def test_an_unknown_manage_token_on_replacement_is_401(world: World) -> None:
    """Only known tokens are 403."""
    file = share_anonymously(world)
    file.manage_token = "ds_mt_" + "x" * 32
    assert get_replace_outcome(file) == (401, "unauthorized")


def test_the_bundled_listener_rejects_a_replacement_before_its_body(world: World) -> None:
    file = share_anonymously(world)
    with open_listener(world) as client:
        kind = {"Content-Type": "multipart/form-data; boundary=edge"}
        path = CONTENT.replace("{uuid}", file.uuid)
        for token, status in ((file.manage_token, 403), ("ds_mt_unknown", 401), (world.mal.key, 404)):
            headers = {**kind, "Authorization": f"Bearer {token}", "Content-Length": str(200 << 20)}
            assert client.request("POST", path, headers).status == status
        made = world.pia.upload()
        reply = client.request(
            "POST",
            f"/api/v1/files/{made['uuid']}/content",
            {**kind, **world.pia.headers},
            build_file_form(simple_pdf(pages=2)),
        )
        assert reply.json()["contentVersion"] == 2
    assert not list(world.rt.blobs.tmp.iterdir())


def test_requests_with_a_manage_token_are_limited_per_token(world: World) -> None:
    file, other = share_anonymously(world), share_anonymously(world)
    path = SETTINGS.replace("{uuid}", file.uuid)
    first = file.manage("PUT", path, json={}).headers
    second = file.manage("PUT", path, json={}).headers
    assert (first["X-RateLimit-Remaining"], second["X-RateLimit-Remaining"]) == ("119", "118")
    assert other.manage("PUT", path, json={}).headers["X-RateLimit-Remaining"] == "119"


def test_expired_tokens_of_deleted_files_are_deleted(world: World) -> None:
    kept = share_anonymously(world, days=60)
    share_anonymously(world)
    world.clock.advance(days=14)
    assert sweeps.expire_unclaimed(world.rt) == 1
    assert tokens.delete_orphaned(world.rt) == 0
    world.clock.advance(days=16)
    assert tokens.delete_orphaned(world.rt) == 2
    assert count_rows(world, "file_tokens") == 2
    assert get_replace_outcome(kept) == (403, "forbidden")


def test_only_unclaimed_files_are_purged_a_week_after_their_expiry(world: World) -> None:
    """An expired file of an account is not purged."""
    claimed, lost = share_anonymously(world), share_anonymously(world)
    claim_file(world, claimed)
    world.clock.advance(days=14, milliseconds=-1)
    assert put_settings_status(lost) == 410
    assert sweeps.expire_unclaimed(world.rt) == 0
    world.clock.advance(milliseconds=1)
    assert sweeps.run_all(world.rt) == {"burned": 0, "purged": 0, "expired": 1, "removed": 0}
    assert world.rt.db.fetch_all("SELECT uuid FROM files") == [(claimed.uuid,)]
    assert sum(1 for path in world.rt.blobs.root.rglob("*") if path.is_file()) == 1
    assert put_settings_status(lost) == 404
