"""Restricted API keys: fewer scopes, one file, an end; who may manage keys; and the last use of a key."""

from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from peewee import OperationalError
from werkzeug.test import TestResponse

from docshare.contract.scopes import BEARER, OPERATIONS
from docshare.contract.wire import format_instant
from docshare.server.services.accounts import keys
from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.oauth_app import make_app
from tests.support.people.cast import World

UNKNOWN = "6f1d3c1e-9d3b-4f0a-8f57-0a1b2c3d4e5f"
ALL_SCOPES = ["files:read", "files:write", "readership:read", "webhooks:manage", "profile"]


def create_key(world: World, scopes: list[str], **more: Any) -> str:
    """Return a new restricted key of Pia."""
    answer = world.pia.post("/api/v1/keys", json={"name": "ci", "scopes": scopes, **more})
    assert answer.status_code == 201, answer.text
    key = answer.get_json()["key"]
    assert key.startswith("ds_rk_")
    return str(key)


def request(world: World, key: str, method: str, path: str, **more: Any) -> TestResponse:
    return world.http.open(path, method=method, headers={"Authorization": f"Bearer {key}"}, **more)


def test_a_restricted_key_holds_only_its_scopes(world: World) -> None:
    file, key = world.pia.upload(), create_key(world, ["files:read"])
    assert request(world, key, "GET", f"/api/v1/files/{file['uuid']}").status_code == 200
    refused = request(world, key, "DELETE", f"/api/v1/files/{file['uuid']}")
    assert (refused.status_code, refused.get_json()["code"]) == (403, "insufficient_scope")
    assert request(world, key, "GET", "/api/v1/user").status_code == 403


def test_only_the_creation_shows_the_key_and_only_its_hash_is_stored(world: World) -> None:
    created = world.pia.post("/api/v1/keys", json={"name": "ci", "scopes": ["profile", "files:read"]}).get_json()
    key = created.pop("key")
    (listed, first) = world.pia.get("/api/v1/keys").get_json()
    assert listed == created
    assert (listed["scopes"], listed["tail"]) == (["files:read", "profile"], key[-4:])
    assert "scopes" not in first
    assert key not in world.pia.get("/api/v1/keys").text
    ((stored,),) = world.rt.db.fetch_all("SELECT digest FROM api_keys WHERE uuid = ?", (created["uuid"],))
    assert stored != key


def test_a_key_is_rejected_from_its_end_on(world: World) -> None:
    end = world.clock() + 3_600_000
    key = create_key(world, ["files:read"], expiresAt=format_instant(end))
    world.clock.advance(minutes=59, seconds=59)
    assert request(world, key, "GET", "/api/v1/files").status_code == 200
    world.clock.advance(seconds=1)
    refused = request(world, key, "GET", "/api/v1/files")
    assert (refused.status_code, "expired" in refused.get_json()["detail"]) == (401, True)


@pytest.mark.parametrize(
    "body",
    [
        {"name": "ci"},
        {"name": "ci", "scopes": []},
        {"name": "ci", "scopes": "files:read"},
        {"name": "ci", "scopes": ["files:delete"]},
        {"name": "ci", "scopes": [1]},
        {"name": "", "scopes": ["files:read"]},
        {"scopes": ["files:read"]},
        {"name": "x" * 201, "scopes": ["files:read"]},
        {"name": " " + "x" * 200, "scopes": ["files:read"]},
        {"name": "ci", "scopes": ["files:read"], "expiresAt": "tomorrow"},
        {"name": "ci", "scopes": ["files:read"], "expiresAt": "2001-01-01T00:00:00Z"},
        {"name": "ci", "scopes": ["files:read"], "file": 7},
    ],
)
def test_a_malformed_request_creates_no_key(world: World, body: dict[str, Any]) -> None:
    answer = world.pia.post("/api/v1/keys", json=body)
    assert (answer.status_code, answer.get_json()["code"]) == (400, "bad_request")
    assert len(world.pia.get("/api/v1/keys").get_json()) == 1


def test_the_file_of_a_key_must_be_ones_own(world: World) -> None:
    foreign = world.mal.upload()
    for name in (foreign["uuid"], UNKNOWN):
        body = {"name": "ci", "scopes": ["files:read"], "file": name}
        assert world.pia.post("/api/v1/keys", json=body).status_code == 404


# --- keys for one file ------------------------------------------------------------------------------------------------


def list_operations() -> Iterator[tuple[str, str, str]]:
    for name, row in OPERATIONS.items():
        if row.lanes & BEARER and row.path.startswith("/api/v1"):
            yield name, row.method, row.path


def test_a_key_for_one_file_reads_and_replaces_that_file(world: World) -> None:
    file, other = world.pia.upload(), world.pia.upload()
    key = create_key(world, ALL_SCOPES, file=file["shortId"])
    assert [row["uuid"] for row in request(world, key, "GET", "/api/v1/files").get_json()] == [file["uuid"]]
    path = f"/api/v1/files/{file['uuid']}"
    assert request(world, key, "GET", path).status_code == 200
    assert request(world, key, "PUT", f"{path}/settings", json={"allowDownload": True}).status_code == 200
    assert request(world, key, "GET", f"{path}/readership").status_code == 200
    replaced = request(world, key, "POST", f"{path}/content", data={"file": (_open_pdf(), "b.pdf")})
    assert replaced.status_code == 200
    assert request(world, key, "GET", f"/api/v1/files/{other['uuid']}").status_code == 404


@pytest.mark.parametrize(("name", "method", "path"), list(list_operations()))
def test_a_key_for_one_file_reaches_nothing_else(world: World, name: str, method: str, path: str) -> None:
    """Every route answers 404 for another file, or 403 if it is not about a file."""
    file, other = world.pia.upload(), world.pia.upload()
    key = create_key(world, ALL_SCOPES, file=file["uuid"])
    if name in ("files.list", "account.get"):
        assert other["uuid"] not in request(world, key, method, path).text
        return
    filled = path.replace("{uuid}", other["uuid"]).replace("{variantUuid}", UNKNOWN).replace("{sessionId}", UNKNOWN)
    more: dict[str, Any] = {} if method == "GET" else {"json": {}}
    if name in ("files.upload", "files.replace", "assets.create"):
        more = {"data": {"file": (_open_pdf(), "b.pdf")}}
    before = world.pia.get(f"/api/v1/files/{other['uuid']}").get_json()
    answer = request(world, key, method, filled.replace("{id}", "1"), **more)
    is_about_a_file = "/files/{uuid}" in path and name != "files.restore"
    assert answer.status_code == (404 if is_about_a_file else 403), answer.text
    assert world.pia.get(f"/api/v1/files/{other['uuid']}").get_json() == before


def test_a_key_of_a_purged_file_reaches_nothing(world: World) -> None:
    file, other = world.pia.upload(), world.pia.upload()
    key = create_key(world, ALL_SCOPES, file=file["uuid"])
    assert world.pia.delete(f"/api/v1/files/{file['uuid']}?purge=1").status_code == 200
    assert request(world, key, "GET", "/api/v1/files").get_json() == []
    assert request(world, key, "GET", f"/api/v1/files/{other['uuid']}").status_code == 404
    assert world.pia.get("/api/v1/keys").get_json()[0]["fileUuid"] == ""


# --- who manages keys -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("POST", ""), ("DELETE", f"/{UNKNOWN}")])
def test_restricted_keys_and_apps_manage_no_keys(world: World, method: str, path: str) -> None:
    token = make_app(world).approve_and_exchange(scope=" ".join(ALL_SCOPES))["access_token"]
    for credential in (create_key(world, ALL_SCOPES), token):
        answer = request(world, credential, method, f"/api/v1/keys{path}", json={"name": "x", "scopes": ["profile"]})
        assert (answer.status_code, answer.get_json()["code"]) == (403, "forbidden")


def test_a_revoked_key_stops_working_at_once(world: World) -> None:
    key = create_key(world, ["files:read"])
    (row, _) = world.pia.get("/api/v1/keys").get_json()
    assert world.mal.delete(f"/api/v1/keys/{row['uuid']}").status_code == 404
    assert request(world, key, "GET", "/api/v1/files").status_code == 200
    for _ in range(2):
        assert world.pia.delete(f"/api/v1/keys/{row['uuid'].upper()}").status_code == 204
    assert request(world, key, "GET", "/api/v1/files").status_code == 401
    assert len(world.pia.get("/api/v1/keys").get_json()) == 1


def test_an_account_has_at_most_a_hundred_restricted_keys(world: World) -> None:
    for number in range(100):
        create_key(world, ["files:read"], name=f"{number}")
        world.clock.advance(seconds=1)
    refused = world.pia.post("/api/v1/keys", json={"name": "one more", "scopes": ["files:read"]})
    assert (refused.status_code, "has 100 restricted keys" in refused.get_json()["detail"]) == (400, True)


# --- the last use -----------------------------------------------------------------------------------------------------


def refuse_writes(*_: Any) -> Any:
    raise OperationalError("database or disk is full")


def test_the_last_use_is_shown_and_stored_by_a_job(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that cannot write keeps it for the next one."""
    key = create_key(world, ["files:read"])
    assert "lastUsedAt" not in world.pia.get("/api/v1/keys").get_json()[0]
    request(world, key, "GET", "/api/v1/files")
    used = world.pia.get("/api/v1/keys").get_json()[0]["lastUsedAt"]
    with monkeypatch.context() as patch:
        patch.setattr(world.rt.db, "write", refuse_writes)
        with pytest.raises(OperationalError):
            keys.save_uses(world.rt)
    keys.save_uses(world.rt)
    assert world.rt.key_uses == {}
    world.clock.advance(hours=1)
    assert world.pia.get("/api/v1/keys").get_json()[0]["lastUsedAt"] == used
    request(world, key, "GET", "/api/v1/files")
    assert world.pia.get("/api/v1/keys").get_json()[0]["lastUsedAt"] > used


def _open_pdf() -> BytesIO:
    return BytesIO(simple_pdf(pages=2))
