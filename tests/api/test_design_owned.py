"""Designs in an account: ``POST /api/v1/files/import`` with both tokens."""

from collections.abc import Callable
from typing import Any

import pytest

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from docshare.server.services.files import freeze
from docshare.server.store.blobs import BlobStore
from tests.support.cast import Person
from tests.support.design_tool import DesignTool
from tests.support.forged_tokens import FORGED_TOKENS
from tests.support.import_source import http_response
from tests.support.rows import count_rows, update_file_row


def get_detail(person: Person, made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = person.get(f"/api/v1/files/{made['uuid']}").get_json()
    return found


def put_settings(person: Person, made: dict[str, Any], **settings: Any) -> None:
    assert person.put(f"/api/v1/files/{made['uuid']}/settings", json=settings).status_code == 200


def test_the_first_import_makes_a_file_that_is_bound_to_the_design(studio: DesignTool) -> None:
    made = studio.owned(studio.world.pia)
    assert list(made) == ["uuid", "shortId", "shareUrl", "republished", "contentVersion"]
    assert (made["republished"], made["contentVersion"]) == (False, 1)
    found = get_detail(studio.world.pia, made)
    assert (found["originalName"], found["designToolUpdatesEnabled"]) == ("design.pdf", True)
    assert "deleteAt" not in found


def test_the_next_one_replaces_the_bytes_in_place(studio: DesignTool) -> None:
    """Same UUID, short id, QR, readership."""
    pia = studio.world.pia
    first = studio.owned(pia)
    update_file_row(studio.world, first["uuid"], view_count=4)
    qr = pia.get(f"/api/v1/files/{first['uuid']}/qr-code").data
    content = studio.drawn(4)
    again = studio.owned(pia)
    assert {**again, "republished": False, "contentVersion": 1} == first
    assert (again["republished"], again["contentVersion"]) == (True, 2)
    found = get_detail(pia, first)
    assert (found["totalPages"], found["viewCount"], len(found["revisions"])) == (4, 4, 2)
    assert pia.get(f"/api/v1/files/{first['uuid']}/content", buffered=True).data == content
    assert pia.get(f"/api/v1/files/{first['uuid']}/qr-code").data == qr
    assert count_rows(studio.world, "files") == 1
    assert len([path for path in studio.world.rt.blobs.root.rglob("*") if path.is_file()]) == 1


def test_the_owner_is_told_as_of_any_replacement(studio: DesignTool) -> None:
    pia = studio.world.pia
    studio.owned(pia)
    studio.owned(pia)
    rows = pia.get("/api/v1/activity").get_json()
    assert [(row["event"], row["data"]["contentVersion"]) for row in rows] == [("content.replaced", 2)]


def test_it_takes_no_slot_and_asks_for_no_plan(studio: DesignTool) -> None:
    """File-limit 403 doesn't apply to owned replace-in-place; a fresh import takes a slot as ever."""
    fay = studio.world.fay
    made = studio.owned(fay)
    for _ in range(2):
        fay.upload()
    assert studio.owned(fay)["uuid"] == made["uuid"]
    refused = studio.own(fay, design="flyer")
    assert (refused.status_code, refused.get_json()["code"]) == (403, "forbidden")


def test_the_owner_of_a_claimed_design_publishes_by_his_account(studio: DesignTool) -> None:
    """A claim keeps the binding: owner republishes through the owned import."""
    made = studio.published()
    studio.take_over(studio.world.fay, made)
    again = studio.owned(studio.world.fay)
    assert (again["uuid"], again["republished"], again["contentVersion"]) == (made["uuid"], True, 2)
    assert "deleteAt" in get_detail(studio.world.fay, made)


def test_a_colleague_at_the_design_tool_publishes_to_the_same_file(studio: DesignTool) -> None:
    """When a live file of the caller is bound to the design."""
    made = studio.owned(studio.world.pia, "ada")
    assert studio.owned(studio.world.pia, "bob")["uuid"] == made["uuid"]


def test_another_account_gets_a_file_of_its_own(studio: DesignTool) -> None:
    made = studio.owned(studio.world.pia)
    other = studio.owned(studio.world.mal)
    assert other["uuid"] != made["uuid"]
    assert other["republished"] is False
    assert studio.owned(studio.world.pia)["contentVersion"] == 2


@pytest.mark.parametrize("columns", [{"delete_at": 1}, {"burned_at": 1}, {"trashed_at": 1, "purge_at": 2**60}])
def test_a_file_that_is_not_live_makes_way_for_a_new_one(studio: DesignTool, columns: dict[str, int]) -> None:
    made = studio.owned(studio.world.pia)
    update_file_row(studio.world, made["uuid"], **columns)
    again = studio.owned(studio.world.pia)
    assert again["uuid"] != made["uuid"]
    assert studio.owned(studio.world.pia)["uuid"] == again["uuid"]


def test_updates_that_are_switched_off_are_refused(studio: DesignTool) -> None:
    """403 (design-tool updates off for the bound file)."""
    pia = studio.world.pia
    made = studio.owned(pia)
    put_settings(pia, made, designToolUpdatesEnabled=False)
    heard = studio.source.connections
    refused = studio.own(pia)
    assert (refused.status_code, refused.get_json()["code"]) == (403, "forbidden")
    assert "designToolUpdatesEnabled" in refused.get_json()["hint"]
    assert studio.source.connections == heard
    assert get_detail(pia, made)["contentVersion"] == 1
    put_settings(pia, made, designToolUpdatesEnabled=True)
    assert studio.owned(pia)["republished"]


def test_severing_the_design_is_for_good(studio: DesignTool) -> None:
    pia = studio.world.pia
    made = studio.owned(pia)
    put_settings(pia, made, detachDesignToolDesign=False)
    assert studio.owned(pia)["republished"]
    put_settings(pia, made, detachDesignToolDesign=True)
    put_settings(pia, made, designToolUpdatesEnabled=True)
    again = studio.owned(pia)
    assert again["uuid"] != made["uuid"]
    assert get_detail(pia, made)["contentVersion"] == 2


def test_a_severing_that_is_refused_severs_nothing(studio: DesignTool) -> None:
    fay = studio.world.fay
    made = studio.owned(fay)
    path = f"/api/v1/files/{made['uuid']}/settings"
    assert fay.put(path, json={"detachDesignToolDesign": True, "password": "x"}).status_code == 403
    assert studio.owned(fay)["republished"]


def test_a_frozen_file_is_left_alone(studio: DesignTool) -> None:
    made = studio.owned(studio.world.pia)
    freeze.freeze(studio.world.rt, made["uuid"])
    assert studio.own(studio.world.pia).status_code == 403
    assert get_detail(studio.world.pia, made)["contentVersion"] == 1


@pytest.mark.parametrize("meanwhile", ["replace", "detach", "off", "trash"])
def test_a_file_that_changes_while_the_document_comes_is_left_alone(
    studio: DesignTool, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    """409 (changed by another connection mid-replace; retry)."""
    pia, keep = studio.world.pia, BlobStore.keep
    made = studio.owned(pia)
    acts: dict[str, Callable[[], object]] = {
        "replace": lambda: studio.owned(pia),
        "detach": lambda: put_settings(pia, made, detachDesignToolDesign=True),
        "off": lambda: put_settings(pia, made, designToolUpdatesEnabled=False),
        "trash": lambda: pia.delete(f"/api/v1/files/{made['uuid']}"),
    }

    def and_then(self: BlobStore, part: Any) -> str:
        monkeypatch.setattr(BlobStore, "keep", keep)
        acts[meanwhile]()
        return keep(self, part)

    monkeypatch.setattr(BlobStore, "keep", and_then)
    refused = studio.own(pia)
    assert refused.status_code == (403 if meanwhile == "off" else 409)
    assert count_rows(studio.world, "files") == 1
    assert len([path for path in studio.world.rt.blobs.root.rglob("*") if path.is_file()]) == 1


def test_a_key_that_is_revoked_meanwhile_replaces_nothing(studio: DesignTool, monkeypatch: pytest.MonkeyPatch) -> None:
    pia, keep = studio.world.pia, BlobStore.keep
    made = studio.owned(pia)

    def and_then(self: BlobStore, part: Any) -> str:
        key = accounts.list_keys(studio.world.rt, pia.email)[0]["uuid"]
        accounts.revoke_key(studio.world.rt, key)
        return keep(self, part)

    monkeypatch.setattr(BlobStore, "keep", and_then)
    assert studio.own(pia).status_code == 401
    assert studio.world.rt.db.row("SELECT content_version FROM files WHERE uuid = ?", (made["uuid"],)) == (1,)


def test_the_size_of_the_plan_holds_for_the_new_version_too(studio: DesignTool) -> None:
    fay = studio.world.fay
    made = studio.owned(fay)
    studio.source.script = http_response(b"%PDF-1.7" + b" " * (20 * 1024 * 1024))
    assert studio.own(fay).status_code == 413
    assert get_detail(fay, made)["contentVersion"] == 1
    accounts.set_tier(studio.world.rt, fay.email, Plan.PRO)
    assert studio.own(fay).status_code == 400


# --- tokens that cannot be verified ----------------------------------------------------------------------------------


@pytest.mark.parametrize("make_token", FORGED_TOKENS.values(), ids=FORGED_TOKENS)
@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
def test_a_forged_token_makes_the_import_a_plain_one(studio: DesignTool, make_token: Callable[[Any], str]) -> None:
    """Unverifiable tokens degrade to a plain create, with 200."""
    made = studio.owned(studio.world.pia)
    other = studio.owned(studio.world.pia, designToolUserToken=make_token(studio.maker))
    assert list(other) == ["uuid", "shortId", "shareUrl"]
    assert other["uuid"] != made["uuid"]
    assert count_rows(studio.world, "designs") == 1


def test_a_forged_design_token_does_so_too(studio: DesignTool) -> None:
    studio.owned(studio.world.pia)
    assert "republished" not in studio.owned(studio.world.pia, designToken=studio.design(aud="other"))


@pytest.mark.parametrize("field", ["designToolUserToken", "designToken"])
def test_one_token_alone_binds_nothing(studio: DesignTool, field: str) -> None:
    token = studio.user() if field == "designToolUserToken" else studio.design()
    body = {"url": studio.source.url(), field: token}
    made = studio.world.pia.post("/api/v1/files/import", json=body).get_json()
    assert list(made) == ["uuid", "shortId", "shareUrl"]
    assert count_rows(studio.world, "designs") == 0


def test_keys_that_cannot_be_fetched_make_it_a_plain_one(studio: DesignTool) -> None:
    studio.keys.script = http_response(b"", "500 Broken")
    assert "republished" not in studio.owned(studio.world.pia)


@pytest.mark.parametrize("body", [{"designToken": 7}, {"designToolUserToken": None}, {"designToken": []}])
def test_a_token_that_is_no_text_is_400(studio: DesignTool, body: dict[str, Any]) -> None:
    assert studio.own(studio.world.pia, **body).status_code == 400
