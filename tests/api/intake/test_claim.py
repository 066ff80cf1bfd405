"""Claiming a file that was uploaded anonymously."""

import threading
from typing import Any

import pytest
from werkzeug.test import TestResponse

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from docshare.server.services.operations import sweeps
from docshare.server.services.readership import viewing
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import update_file_row
from tests.support.people.anonymous_files import share_anonymously
from tests.support.people.cast import NO_CREDENTIAL, Person, World
from tests.support.people.reader import FakeReader

CLAIM = "/api/v1/files/claim"


def claim(who: Person, token: Any) -> TestResponse:
    return who.post(CLAIM, json={"claimToken": token})


def test_a_claim_transfers_the_file_and_keeps_its_content_and_expiry(world: World) -> None:
    """The caller can use the owner routes after the claim."""
    content = simple_pdf(pages=4)
    file = share_anonymously(world, content)
    assert world.mal.get(f"/api/v1/files/{file.uuid}").status_code == 404
    answer = claim(world.mal, file.claim_token)
    assert answer.status_code == 200
    result = answer.get_json()
    message = result.pop("message")
    assert message
    link = f"http://127.0.0.1:8787/{file.short_id}"
    assert result == {"uuid": file.uuid, "shortId": file.short_id, "shareUrl": link}
    detail = world.mal.get(f"/api/v1/files/{file.uuid}").get_json()
    assert (detail["deleteAt"], detail["contentVersion"]) == ("2026-09-28T14:13:20.000Z", 1)
    assert world.mal.get(f"/api/v1/files/{file.uuid}/content", buffered=True).data == content
    assert [row["uuid"] for row in world.mal.get("/api/v1/files").get_json()] == [file.uuid]


def test_a_second_claim_is_idempotent_for_the_owner_and_409_for_others(world: World) -> None:
    """A second claim by the owner is 200 with the same body."""
    file = share_anonymously(world)
    first = claim(world.pia, file.claim_token)
    again = claim(world.pia, file.claim_token)
    assert (again.status_code, again.get_json()) == (200, first.get_json())
    other = claim(world.mal, file.claim_token)
    assert (other.status_code, other.get_json()["code"]) == (409, "conflict")
    assert world.pia.get(f"/api/v1/files/{file.uuid}").status_code == 200


def test_an_unknown_or_expired_claim_token_is_401(world: World) -> None:
    """A claim token expires after 30 days."""
    file = share_anonymously(world, days=60)
    for token in ("ds_ct_" + "x" * 32, file.manage_token, world.pia.key, "€", "x" * 5_000, "x" * 900_000):
        answer = claim(world.pia, token)
        assert (answer.status_code, answer.get_json()["code"]) == (401, "unauthorized")
        assert answer.headers["WWW-Authenticate"] == NO_CREDENTIAL
    world.clock.advance(days=30, milliseconds=-1)
    assert claim(world.pia, file.claim_token).status_code == 200
    world.clock.advance(milliseconds=1)
    assert claim(world.pia, file.claim_token).status_code == 401


def test_claiming_a_purged_file_is_404(world: World) -> None:
    """Expired unclaimed files are purged after a week."""
    file = share_anonymously(world)
    world.clock.advance(days=14)
    sweeps.expire_unclaimed(world.rt)
    answer = claim(world.pia, file.claim_token)
    assert (answer.status_code, answer.get_json()["code"]) == (404, "not_found")


def test_a_claim_just_before_the_sweep_keeps_the_file(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    file = share_anonymously(world)
    world.clock.advance(days=14)
    write = type(world.rt.db).write

    def write_after_claim(self: Any, *protects: Any) -> Any:
        monkeypatch.undo()
        assert claim(world.pia, file.claim_token).status_code == 200
        return write(self, *protects)

    monkeypatch.setattr(type(world.rt.db), "write", write_after_claim)
    assert sweeps.expire_unclaimed(world.rt) == 0
    assert world.pia.get(f"/api/v1/files/{file.uuid}/content", buffered=True).status_code == 200


def test_a_full_account_is_403_forbidden(world: World) -> None:
    """The file limit applies to claims; the code is ``forbidden``, not ``plan_required``."""
    file = share_anonymously(world)
    for _ in range(3):
        last = world.fay.upload()
    answer = claim(world.fay, file.claim_token)
    assert (answer.status_code, answer.get_json()["code"]) == (403, "forbidden")
    assert "requires the" not in answer.get_json()["detail"]
    world.fay.delete(f"/api/v1/files/{last['uuid']}")
    assert claim(world.fay, file.claim_token).status_code == 200
    assert claim(world.fay, file.claim_token).status_code == 200


def test_a_file_above_the_size_limit_of_the_plan_is_413(world: World) -> None:
    file = share_anonymously(world)
    update_file_row(world, file.uuid, size=20 * 1024 * 1024 + 1)
    assert claim(world.fay, file.claim_token).status_code == 413
    assert claim(world.bea, file.claim_token).status_code == 200
    accounts.set_tier(world.rt, world.bea.email, Plan.FREE)
    assert claim(world.bea, file.claim_token).status_code == 200


@pytest.mark.parametrize("body", [{}, {"claimToken": None}, {"claimToken": 1}, {"claimToken": ""},
                                  {"claimToken": ["x"]}, {"claimtoken": "x"}])  # fmt: skip
def test_a_body_without_a_token_is_400(world: World, body: dict[str, Any]) -> None:
    assert world.pia.post(CLAIM, json=body).status_code == 400


def test_a_body_that_is_not_a_json_object_is_rejected(world: World) -> None:
    assert world.pia.post(CLAIM).status_code == 400
    assert world.pia.post(CLAIM, data=b"[]", content_type="application/json").status_code == 400
    assert world.pia.post(CLAIM, data=b"claimToken=x", content_type="text/plain").status_code == 415


def test_only_one_account_wins_concurrent_claims(world: World) -> None:
    """All claims use the same token."""
    file = share_anonymously(world)
    barrier = threading.Barrier(8)
    got: list[int] = []

    def race(key: str) -> None:
        mine = Person("", "", key, world.app.test_client())
        barrier.wait(20)
        got.append(claim(mine, file.claim_token).status_code)

    threads = [threading.Thread(target=race, args=(who.key,)) for who in (world.pia, world.mal) * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(got) == [200] * 4 + [409] * 4


def test_the_feed_starts_at_the_claim_and_the_view_count_does_not(world: World) -> None:
    file = share_anonymously(world)
    before = FakeReader(world, file.short_id)
    before.read_page(10)
    before.leave()
    world.clock.advance(minutes=10)
    viewing.end_due_sessions(world.rt)
    claim(world.pia, file.claim_token)
    assert world.pia.get("/api/v1/events").get_json() == []
    assert world.pia.get(f"/api/v1/files/{file.uuid}").get_json()["viewCount"] == 1
    after = FakeReader(world, file.short_id, address="198.51.100.9")
    after.read_page(10)
    after.leave()
    world.clock.advance(minutes=10)
    viewing.end_due_sessions(world.rt)
    assert [row["fileUuid"] for row in world.pia.get("/api/v1/events").get_json()] == [file.uuid]
