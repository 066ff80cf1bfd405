"""Designs that are imported into an account: ``POST /api/v1/files/import`` with both tokens."""

from collections.abc import Callable
from typing import Any

import pytest

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from docshare.server.services.files import freeze
from docshare.server.store.blobs import FolderStore
from tests.support.engines.rows import count_rows, update_file_row
from tests.support.outside.design_tool import DesignTool
from tests.support.outside.forged_tokens import FORGED_TOKENS
from tests.support.outside.import_source import http_response
from tests.support.people.cast import Person


def get_detail(person: Person, made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = person.get(f"/api/v1/files/{made['uuid']}").get_json()
    return found


def put_settings(person: Person, made: dict[str, Any], **settings: Any) -> None:
    assert person.put(f"/api/v1/files/{made['uuid']}/settings", json=settings).status_code == 200


def test_the_first_import_creates_a_file_that_is_bound_to_the_design(design_tool: DesignTool) -> None:
    made = design_tool.import_owned(design_tool.world.pia)
    assert list(made) == ["uuid", "shortId", "shareUrl", "republished", "contentVersion"]
    assert (made["republished"], made["contentVersion"]) == (False, 1)
    found = get_detail(design_tool.world.pia, made)
    assert (found["originalName"], found["designToolUpdatesEnabled"]) == ("design.pdf", True)
    assert "deleteAt" not in found


def test_the_next_import_replaces_the_content_in_place(design_tool: DesignTool) -> None:
    """UUID, short id, QR code and view count do not change."""
    pia = design_tool.world.pia
    first = design_tool.import_owned(pia)
    update_file_row(design_tool.world, first["uuid"], view_count=4)
    qr = pia.get(f"/api/v1/files/{first['uuid']}/qr-code").data
    content = design_tool.set_export_pages(4)
    again = design_tool.import_owned(pia)
    assert {**again, "republished": False, "contentVersion": 1} == first
    assert (again["republished"], again["contentVersion"]) == (True, 2)
    found = get_detail(pia, first)
    assert (found["totalPages"], found["viewCount"], len(found["revisions"])) == (4, 4, 2)
    assert pia.get(f"/api/v1/files/{first['uuid']}/content", buffered=True).data == content
    assert pia.get(f"/api/v1/files/{first['uuid']}/qr-code").data == qr
    assert count_rows(design_tool.world, "files") == 1
    assert len([path for path in design_tool.world.rt.blobs.root.rglob("*") if path.is_file()]) == 1


def test_the_next_import_is_reported_as_a_replacement(design_tool: DesignTool) -> None:
    pia = design_tool.world.pia
    design_tool.import_owned(pia)
    design_tool.import_owned(pia)
    rows = pia.get("/api/v1/activity").get_json()
    assert [(row["event"], row["data"]["contentVersion"]) for row in rows] == [("content.replaced", 2)]


def test_the_next_import_does_not_count_against_the_file_limit(design_tool: DesignTool) -> None:
    """An import that creates a file does count."""
    fay = design_tool.world.fay
    made = design_tool.import_owned(fay)
    for _ in range(2):
        fay.upload()
    assert design_tool.import_owned(fay)["uuid"] == made["uuid"]
    refused = design_tool.post_owned_import(fay, design="flyer")
    assert (refused.status_code, refused.get_json()["code"]) == (403, "forbidden")


def test_the_owner_of_a_claimed_design_republishes_through_the_account(design_tool: DesignTool) -> None:
    """A claim keeps the file bound to the design."""
    made = design_tool.import_design()
    design_tool.claim(design_tool.world.fay, made)
    again = design_tool.import_owned(design_tool.world.fay)
    assert (again["uuid"], again["republished"], again["contentVersion"]) == (made["uuid"], True, 2)
    assert "deleteAt" in get_detail(design_tool.world.fay, made)


def test_another_user_of_the_design_tool_publishes_to_the_same_file(design_tool: DesignTool) -> None:
    """The file is found by account and design, not by the user of the design tool."""
    made = design_tool.import_owned(design_tool.world.pia, "ada")
    assert design_tool.import_owned(design_tool.world.pia, "bob")["uuid"] == made["uuid"]


def test_another_account_gets_a_file_of_its_own(design_tool: DesignTool) -> None:
    made = design_tool.import_owned(design_tool.world.pia)
    other = design_tool.import_owned(design_tool.world.mal)
    assert other["uuid"] != made["uuid"]
    assert other["republished"] is False
    assert design_tool.import_owned(design_tool.world.pia)["contentVersion"] == 2


@pytest.mark.parametrize("columns", [{"delete_at": 1}, {"burned_at": 1}, {"trashed_at": 1, "purge_at": 2**60}])
def test_a_file_that_is_not_live_is_replaced_by_a_new_one(design_tool: DesignTool, columns: dict[str, int]) -> None:
    made = design_tool.import_owned(design_tool.world.pia)
    update_file_row(design_tool.world, made["uuid"], **columns)
    again = design_tool.import_owned(design_tool.world.pia)
    assert again["uuid"] != made["uuid"]
    assert design_tool.import_owned(design_tool.world.pia)["uuid"] == again["uuid"]


def test_a_file_with_updates_disabled_is_403(design_tool: DesignTool) -> None:
    """The server does not even fetch the document."""
    pia = design_tool.world.pia
    made = design_tool.import_owned(pia)
    put_settings(pia, made, designToolUpdatesEnabled=False)
    connections_before = design_tool.source.connections
    refused = design_tool.post_owned_import(pia)
    assert (refused.status_code, refused.get_json()["code"]) == (403, "forbidden")
    assert "designToolUpdatesEnabled" in refused.get_json()["hint"]
    assert design_tool.source.connections == connections_before
    assert get_detail(pia, made)["contentVersion"] == 1
    put_settings(pia, made, designToolUpdatesEnabled=True)
    assert design_tool.import_owned(pia)["republished"]


def test_detaching_a_design_is_permanent(design_tool: DesignTool) -> None:
    pia = design_tool.world.pia
    made = design_tool.import_owned(pia)
    put_settings(pia, made, detachDesignToolDesign=False)
    assert design_tool.import_owned(pia)["republished"]
    put_settings(pia, made, detachDesignToolDesign=True)
    put_settings(pia, made, designToolUpdatesEnabled=True)
    again = design_tool.import_owned(pia)
    assert again["uuid"] != made["uuid"]
    assert get_detail(pia, made)["contentVersion"] == 2


def test_a_rejected_detach_does_not_detach_the_design(design_tool: DesignTool) -> None:
    fay = design_tool.world.fay
    made = design_tool.import_owned(fay)
    path = f"/api/v1/files/{made['uuid']}/settings"
    assert fay.put(path, json={"detachDesignToolDesign": True, "password": "x"}).status_code == 403
    assert design_tool.import_owned(fay)["republished"]


def test_a_frozen_file_is_not_updated(design_tool: DesignTool) -> None:
    made = design_tool.import_owned(design_tool.world.pia)
    freeze.freeze(design_tool.world.rt, made["uuid"])
    assert design_tool.post_owned_import(design_tool.world.pia).status_code == 403
    assert get_detail(design_tool.world.pia, made)["contentVersion"] == 1


@pytest.mark.parametrize("meanwhile", ["replace", "detach", "off", "trash"])
def test_a_file_that_changes_during_the_import_is_not_updated(
    design_tool: DesignTool, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    """The response is 403 if updates were disabled; otherwise the caller can retry after a 409."""
    pia, keep = design_tool.world.pia, FolderStore.store
    made = design_tool.import_owned(pia)
    acts: dict[str, Callable[[], object]] = {
        "replace": lambda: design_tool.import_owned(pia),
        "detach": lambda: put_settings(pia, made, detachDesignToolDesign=True),
        "off": lambda: put_settings(pia, made, designToolUpdatesEnabled=False),
        "trash": lambda: pia.delete(f"/api/v1/files/{made['uuid']}"),
    }

    def store_after_change(self: FolderStore, part: Any) -> str:
        monkeypatch.setattr(FolderStore, "store", keep)
        acts[meanwhile]()
        return keep(self, part)

    monkeypatch.setattr(FolderStore, "store", store_after_change)
    refused = design_tool.post_owned_import(pia)
    assert refused.status_code == (403 if meanwhile == "off" else 409)
    assert count_rows(design_tool.world, "files") == 1
    assert len([path for path in design_tool.world.rt.blobs.root.rglob("*") if path.is_file()]) == 1


def test_a_key_that_is_revoked_during_the_import_replaces_nothing(
    design_tool: DesignTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pia, keep = design_tool.world.pia, FolderStore.store
    made = design_tool.import_owned(pia)

    def store_after_change(self: FolderStore, part: Any) -> str:
        key = accounts.list_keys(design_tool.world.rt, pia.email)[0]["uuid"]
        accounts.revoke_key(design_tool.world.rt, key)
        return keep(self, part)

    monkeypatch.setattr(FolderStore, "store", store_after_change)
    assert design_tool.post_owned_import(pia).status_code == 401
    assert design_tool.world.rt.db.fetch_one("SELECT content_version FROM files WHERE uuid = ?", (made["uuid"],)) == (
        1,
    )


def test_the_size_limit_of_the_plan_applies_to_a_new_version(design_tool: DesignTool) -> None:
    fay = design_tool.world.fay
    made = design_tool.import_owned(fay)
    design_tool.source.respond = http_response(b"%PDF-1.7" + b" " * (20 * 1024 * 1024))
    assert design_tool.post_owned_import(fay).status_code == 413
    assert get_detail(fay, made)["contentVersion"] == 1
    accounts.set_tier(design_tool.world.rt, fay.email, Plan.PRO)
    assert design_tool.post_owned_import(fay).status_code == 400


# --- tokens that cannot be verified ----------------------------------------------------------------------------------


@pytest.mark.parametrize("make_token", FORGED_TOKENS.values(), ids=FORGED_TOKENS)
@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
def test_an_import_with_a_forged_user_token_creates_a_plain_file(
    design_tool: DesignTool, make_token: Callable[[Any], str]
) -> None:
    """A token that cannot be verified is ignored; the import is 200 and not bound to the design."""
    made = design_tool.import_owned(design_tool.world.pia)
    other = design_tool.import_owned(design_tool.world.pia, designToolUserToken=make_token(design_tool.token_maker))
    assert list(other) == ["uuid", "shortId", "shareUrl"]
    assert other["uuid"] != made["uuid"]
    assert count_rows(design_tool.world, "designs") == 1


def test_an_import_with_a_forged_design_token_creates_a_plain_file(design_tool: DesignTool) -> None:
    design_tool.import_owned(design_tool.world.pia)
    assert "republished" not in design_tool.import_owned(
        design_tool.world.pia, designToken=design_tool.make_design_token(aud="other")
    )


@pytest.mark.parametrize("field", ["designToolUserToken", "designToken"])
def test_one_token_alone_does_not_bind_the_file(design_tool: DesignTool, field: str) -> None:
    token = design_tool.make_user_token() if field == "designToolUserToken" else design_tool.make_design_token()
    body = {"url": design_tool.source.url(), field: token}
    made = design_tool.world.pia.post("/api/v1/files/import", json=body).get_json()
    assert list(made) == ["uuid", "shortId", "shareUrl"]
    assert count_rows(design_tool.world, "designs") == 0


def test_an_import_creates_a_plain_file_if_keys_cannot_be_fetched(design_tool: DesignTool) -> None:
    design_tool.keys.respond = http_response(b"", "500 Broken")
    assert "republished" not in design_tool.import_owned(design_tool.world.pia)


@pytest.mark.parametrize("body", [{"designToken": 7}, {"designToolUserToken": None}, {"designToken": []}])
def test_a_token_that_is_not_a_string_is_400(design_tool: DesignTool, body: dict[str, Any]) -> None:
    assert design_tool.post_owned_import(design_tool.world.pia, **body).status_code == 400
