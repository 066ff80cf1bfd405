"""Accounts and API keys, as the operator manages them."""

import json
import re
from collections.abc import Callable

import pytest
from peewee import IntegrityError

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.server.received_file import ReceivedFile
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import accounts
from docshare.server.services.accounts.callers import Caller, authenticate
from docshare.server.services.files import intake, purge
from docshare.server.store.tables import OAuthClient
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.database import dump_database
from tests.support.engines.rows import count_rows, insert_view
from tests.support.people.cast import World


@pytest.fixture
def empty_world(world: World) -> World:
    """Return an instance without accounts."""
    for account in accounts.list_accounts(world.rt):
        accounts.delete_account(world.rt, account.email)
    return world


def get_status_of_key(world: World, key: str) -> int:
    return world.http.get("/api/v1/user", headers={"Authorization": f"Bearer {key}"}).status_code


def test_the_first_run_creates_an_owner_with_one_key(empty_world: World) -> None:
    """The first run also creates the OAuth client ``docshare-cli``."""
    made = accounts.initialize_instance(empty_world.rt, Plan.PRO)
    assert made.api_key is not None
    assert re.fullmatch("ds_live_[0-9A-Za-z]{32,}", made.api_key)
    answer = empty_world.http.get("/api/v1/user", headers={"Authorization": f"Bearer {made.api_key}"}).get_json()
    assert (answer["tier"], answer["uuid"]) == ("pro", made.account.uuid)
    client = OAuthClient.get(OAuthClient.client_id == "docshare-cli")
    assert json.loads(client.redirect_uris) == ["http://127.0.0.1/callback"]
    assert client.secret_digest is None


def test_the_first_run_creates_the_owner_on_the_given_plan(empty_world: World) -> None:
    assert accounts.describe(accounts.initialize_instance(empty_world.rt, Plan.FREE).account)["tier"] == "free"


def test_a_second_run_changes_nothing(empty_world: World) -> None:
    first = accounts.initialize_instance(empty_world.rt, Plan.PRO)
    again = accounts.initialize_instance(empty_world.rt, Plan.FREE)
    assert again.api_key is None
    assert again.account.uuid == first.account.uuid == accounts.get_owner(empty_world.rt).uuid
    assert accounts.describe(again.account)["tier"] == "pro"
    assert [count_rows(empty_world, table) for table in ("accounts", "api_keys", "oauth_clients")] == [1, 1, 1]


def test_an_instance_without_accounts_has_no_owner(empty_world: World) -> None:
    with pytest.raises(Problem, match="no account"):
        accounts.get_owner(empty_world.rt)


def test_only_the_hash_of_a_key_is_stored(world: World) -> None:
    """The hash is a SHA-256."""
    key = accounts.create_key(world.rt, world.pia.email, "second").key
    world.rt.db.truncate_wal()
    raw = b"".join(path.read_bytes() for path in world.rt.config.data_dir.rglob("*") if path.is_file())
    raw += "".join(dump_database(world)).encode()
    assert key.encode() not in raw
    assert key[8:30].encode() not in raw
    assert get_status_of_key(world, key) == 200


def test_keys_are_listed_with_their_last_characters(world: World) -> None:
    made = accounts.create_key(world.rt, world.pia.email, " laptop ")
    first, second = accounts.list_keys(world.rt, world.pia.email)
    assert first["name"] == "tests"
    assert second == {
        "uuid": made.uuid,
        "name": "laptop",
        "tail": made.key[-4:],
        "createdAt": "2026-09-21T14:13:20.000Z",
    }


def test_revoking_a_key_again_keeps_the_first_date(world: World) -> None:
    made = accounts.create_key(world.rt, world.pia.email, "")
    first = accounts.revoke_key(world.rt, made.uuid.upper())
    world.clock.advance(hours=1)
    assert accounts.revoke_key(world.rt, made.uuid) == first
    assert first["revokedAt"] == "2026-09-21T14:13:20.000Z"
    assert get_status_of_key(world, made.key) == 401
    assert get_status_of_key(world, world.pia.key) == 200


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("not_found", lambda rt: accounts.create_key(rt, "nobody@example.com", "x")),
        ("not_found", lambda rt: accounts.list_keys(rt, "nobody@example.com")),
        ("not_found", lambda rt: accounts.revoke_key(rt, "00000000-0000-4000-8000-000000000000")),
        ("not_found", lambda rt: accounts.set_tier(rt, "nobody@example.com", Plan.PRO)),
        ("not_found", lambda rt: accounts.delete_account(rt, "nobody@example.com")),
        ("conflict", lambda rt: accounts.create_account(rt, "PIA@Example.com", "", Plan.PRO)),
        ("bad_request", lambda rt: accounts.create_account(rt, "", "", Plan.PRO)),
        ("bad_request", lambda rt: accounts.create_account(rt, "ada", "", Plan.PRO)),
        ("bad_request", lambda rt: accounts.create_account(rt, "a@b@c", "", Plan.PRO)),
        ("bad_request", lambda rt: accounts.create_account(rt, "a\r\nb@example.com", "", Plan.PRO)),
        ("bad_request", lambda rt: accounts.create_account(rt, "a" * 300 + "@example.com", "", Plan.PRO)),
        ("bad_request", lambda rt: accounts.create_account(rt, "ada@example.com", "a\nb", Plan.PRO)),
        ("bad_request", lambda rt: accounts.create_account(rt, "ada@example.com", "a" * 201, Plan.PRO)),
        ("bad_request", lambda rt: accounts.create_key(rt, "pia@example.com", "a\x00b")),
    ],
)
def test_an_invalid_request_is_rejected_and_changes_nothing(world: World, code: str, call: object) -> None:
    before = [count_rows(world, table) for table in ("accounts", "api_keys")]
    with pytest.raises(Problem) as caught:
        call(world.rt)  # type: ignore[operator]
    assert caught.value.code == code
    assert [count_rows(world, table) for table in ("accounts", "api_keys")] == before


def test_the_name_of_an_account_defaults_to_the_local_part_of_its_email(world: World) -> None:
    account = accounts.create_account(world.rt, " ada@example.com ", "", Plan.FREE)
    assert accounts.describe(account) == {
        "uuid": account.uuid,
        "email": "ada@example.com",
        "name": "ada",
        "tier": "free",
    }


def test_accounts_are_found_by_email_in_any_case_and_listed_in_order(world: World) -> None:
    assert accounts.set_tier(world.rt, "FAY@EXAMPLE.COM", Plan.BASIC).uuid == world.fay.uuid
    assert [account.name for account in accounts.list_accounts(world.rt)] == ["Fay", "Bea", "Pia", "Mal"]


def test_deleting_an_account_deletes_its_files_and_keys(world: World) -> None:
    made, other = world.pia.upload(), world.mal.upload()
    insert_view(world, made["uuid"])
    insert_view(world, other["uuid"])
    accounts.delete_account(world.rt, world.pia.email)
    assert get_status_of_key(world, world.pia.key) == 401
    assert get_status_of_key(world, world.mal.key) == 200
    assert [count_rows(world, table) for table in ("accounts", "files", "view_rows", "revisions")] == [3, 1, 1, 1]
    assert len([path for path in world.rt.blobs.root.rglob("*") if path.is_file()]) == 1
    assert world.http.get(f"/{made['shortId']}").status_code == 404


def store_late_upload(rt: Runtime, caller: Caller) -> None:
    part = rt.blobs.create_partial()
    part.write(simple_pdf())
    part.close()
    intake.store_upload(rt, caller, ReceivedFile("late.pdf", "application/pdf", part))


def test_an_upload_that_ends_after_its_account_is_deleted_is_401(world: World) -> None:
    caller = authenticate(world.rt, f"Bearer {world.pia.key}")
    accounts.delete_account(world.rt, world.pia.email)
    with pytest.raises(Problem) as refused:
        store_late_upload(world.rt, caller)
    assert refused.value.code == "unauthorized"
    assert [path for path in world.rt.blobs.root.rglob("*") if path.is_file()] == []


def test_an_upload_that_ends_while_its_account_is_deleted_stores_no_bytes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.pia.upload()
    caller = authenticate(world.rt, f"Bearer {world.pia.key}")
    purge_files = purge.purge

    def upload_and_purge(rt: Runtime, *file_ids: int) -> int:
        monkeypatch.setattr(purge, "purge", purge_files)
        with pytest.raises(Problem, match="revoked"):
            store_late_upload(rt, caller)
        return purge_files(rt, *file_ids)

    monkeypatch.setattr(purge, "purge", upload_and_purge)
    accounts.delete_account(world.rt, world.pia.email)
    assert count_rows(world, "files") == 0
    assert [path for path in world.rt.blobs.root.rglob("*") if path.is_file()] == []


# Other characters are compared as well: an accent as its own character, or one without a width.
OTHER_SPELLINGS = ["émile@example.com", "E\u0301mile@example.com", "É\u200bmile@example.com"]


@pytest.fixture(params=["", "postgresql"], ids=["sqlite", "postgresql"])
def world_of_each_engine(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, make: Callable[..., World]
) -> World:
    monkeypatch.setenv("DOCSHARE_TEST_DATABASE", request.param)
    return make()


@pytest.mark.parametrize("spelled", OTHER_SPELLINGS)
def test_only_the_case_of_ascii_letters_is_ignored_in_the_address_of_an_account(
    world_of_each_engine: World, spelled: str
) -> None:
    rt = world_of_each_engine.rt
    made = accounts.create_account(rt, "Émile@example.com", "Émile", Plan.PRO)
    assert accounts.get_by_email(rt, "ÉMILE@EXAMPLE.com").uuid == made.uuid
    with pytest.raises(Problem, match="already exists"):
        accounts.create_account(rt, "ÉMILE@EXAMPLE.com", "Émile", Plan.PRO)
    with pytest.raises(Problem, match="no account"):
        accounts.get_by_email(rt, spelled)
    other = accounts.create_account(rt, spelled, "Émile", Plan.PRO)
    assert accounts.get_by_email(rt, spelled).uuid == other.uuid != made.uuid


@pytest.mark.parametrize("spelled", OTHER_SPELLINGS)
def test_only_the_case_of_ascii_letters_is_ignored_in_the_address_of_an_invite(
    world_of_each_engine: World, spelled: str
) -> None:
    pia = world_of_each_engine.pia
    path = f"/api/v1/files/{pia.upload()['uuid']}/invites"
    emails = ("Émile@example.com", "ÉMILE@EXAMPLE.com", spelled)
    answers = [pia.post(path, json={"email": email}) for email in emails]
    assert [answer.status_code for answer in answers] == [201, 200, 201]
    assert [row["email"] for row in pia.get(path).get_json()] == [spelled, "Émile@example.com"]


def test_the_database_itself_rejects_a_second_account_or_invite_of_an_address(world_of_each_engine: World) -> None:
    rt, pia = world_of_each_engine.rt, world_of_each_engine.pia
    path = f"/api/v1/files/{pia.upload()['uuid']}/invites"
    for email in ("ann@example.com", "bob@example.com"):
        accounts.create_account(rt, email, "", Plan.PRO)
        pia.post(path, json={"email": email})
    for table in ("accounts", "invites"):
        with pytest.raises(IntegrityError), rt.db.write():
            rt.db.execute(f"UPDATE {table} SET email = 'ANN@example.com' WHERE email = 'bob@example.com'")
