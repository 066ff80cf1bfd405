"""Designs that are imported without an account: ``POST /api/v1/design-tool/import``."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docshare.contract.wire import parse_instant
from docshare.server.services.files import freeze
from docshare.server.services.operations import sweeps
from docshare.server.store.blobs import FolderStore
from tests.support.documents.pdfs import simple_pdf
from tests.support.documents.picture_pdfs import BLUE, RED, make_stripes, picture_pdf
from tests.support.engines.rows import count_rows
from tests.support.outside.design_tool import DAY, IMPORT, DesignTool, open_design_tool
from tests.support.outside.import_source import http_response
from tests.support.people.cast import BASE_URL, World


def get_expiry(studio: DesignTool, made: dict[str, Any]) -> int | None:
    """Return the expiry of the link."""
    told = studio.world.http.get(f"/api/files/{made['shortId']}/metadata").get_json()
    return parse_instant(told["deleteAt"]) if "deleteAt" in told else None


def put_managed_settings(studio: DesignTool, made: dict[str, Any], **settings: Any) -> None:
    headers = {"Authorization": f"Bearer {made['manageToken']}"}
    path = f"/api/v1/files/{made['uuid']}/settings"
    answered = studio.world.http.put(path, json=settings, headers=headers)
    assert answered.status_code == 200, answered.text


def count_stored_files(studio: DesignTool) -> int:
    """Count the stored files, including partial ones."""
    return sum(
        path.is_file() for root in ("blobs", "tmp") for path in (studio.world.rt.config.data_dir / root).rglob("*")
    )


def assert_import_refused(studio: DesignTool, answered: Any, status: int, code: str, files: int = 1) -> dict[str, Any]:
    """Assert that the import was rejected and changed nothing; return the problem."""
    assert (answered.status_code, answered.get_json()["code"]) == (status, code), answered.text
    assert (count_rows(studio.world, "files"), count_stored_files(studio)) == (files, files)
    problem: dict[str, Any] = answered.get_json()
    return problem


# --- a new design ----------------------------------------------------------------------------------------------------


def test_a_new_design_gets_a_link_and_both_tokens(design_tool: DesignTool) -> None:
    made = design_tool.import_design()
    assert list(made) == [
        "uuid", "shortId", "shareUrl", "qrUrl", "claimToken", "manageToken", "republished", "contentVersion",
    ]  # fmt: skip
    assert made["shareUrl"] == f"{BASE_URL}/{made['shortId']}"
    assert made["qrUrl"] == f"{BASE_URL}/api/files/{made['shortId']}/qr-code"
    assert re.fullmatch("ds_ct_[0-9A-Za-z]{32,}", made["claimToken"])
    assert re.fullmatch("ds_mt_[0-9A-Za-z]{32,}", made["manageToken"])
    assert (made["republished"], made["contentVersion"]) == (False, 1)
    assert design_tool.world.http.get(f"/{made['shortId']}").status_code == 200
    assert design_tool.world.http.get(made["qrUrl"].removeprefix(BASE_URL)).data.startswith(b"\x89PNG")


def test_a_design_without_a_file_name_gets_the_default_name(design_tool: DesignTool) -> None:
    """The default of ``filename`` is ``design-tool-design.pdf``."""
    names = [design_tool.import_design(design=None, **more)["shortId"] for more in ({}, {"filename": "Poster.pdf"})]
    told = [design_tool.world.http.get(f"/api/files/{name}/metadata").get_json()["originalName"] for name in names]
    assert told == ["design-tool-design.pdf", "Poster.pdf"]


def test_an_import_returns_the_palette_of_the_design(design_tool: DesignTool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docshare.server.pdf.engine.PALETTE_BUDGET_S", 30.0)  # enough on a busy machine
    design_tool.source.respond = http_response(picture_pdf([make_stripes((RED, 30), (BLUE, 70))], [300]))
    # Import twice: a worker is replaced after every 500 documents, and the document has no palette then.
    told = [design_tool.import_design().get("palette") for _ in range(2)]
    assert ["#143cdc", "#c81e28"] in told


def test_an_imported_design_has_no_owner_and_expires_after_365_days(design_tool: DesignTool) -> None:
    made = design_tool.import_design()
    assert get_expiry(design_tool, made) == design_tool.world.clock.now + 365 * DAY
    assert design_tool.world.pia.get("/api/v1/files").get_json() == []
    design_tool.world.clock.advance(days=365)
    assert design_tool.world.http.get(f"/{made['shortId']}").status_code == 410
    design_tool.world.clock.advance(days=7)
    assert sweeps.run_all(design_tool.world.rt)["expired"] == 1


def test_the_returned_tokens_claim_and_manage_the_file(design_tool: DesignTool) -> None:
    made = design_tool.import_design()
    put_managed_settings(design_tool, made, allowDownload=False)
    design_tool.claim(design_tool.world.fay, made)
    detail = design_tool.world.fay.get(f"/api/v1/files/{made['uuid']}").get_json()
    assert (detail["allowDownload"], detail["designToolUpdatesEnabled"]) == (False, True)
    assert "deleteAt" in detail


def test_a_user_token_identifies_the_user_by_sub_or_user_id(design_tool: DesignTool) -> None:
    """Both claims with the same value identify the same user."""
    first = design_tool.import_design()
    token = design_tool.token_maker.sign_token(sub=None, userId="ada")
    body = {"url": design_tool.source.url(), "designToken": design_tool.make_design_token()}
    assert design_tool.send(IMPORT, body, token).get_json()["uuid"] == first["uuid"]


# --- publishing again ------------------------------------------------------------------------------------------------


def test_publishing_again_replaces_the_design_under_the_same_link(design_tool: DesignTool) -> None:
    first = design_tool.import_design()
    content = design_tool.set_export_pages(5)
    design_tool.world.clock.advance(days=1)
    again = design_tool.import_design(filename="New.pdf")
    assert (again["uuid"], again["shortId"]) == (first["uuid"], first["shortId"])
    assert (again["republished"], again["contentVersion"]) == (True, 2)
    told = design_tool.world.http.get(f"/api/files/{first['shortId']}/metadata").get_json()
    assert (told["totalPages"], told["originalName"]) == (5, "New.pdf")
    assert count_stored_files(design_tool) == 1
    design_tool.claim(design_tool.world.fay, again)
    detail = design_tool.world.fay.get(f"/api/v1/files/{first['uuid']}").get_json()
    assert [row["contentVersion"] for row in detail["revisions"]] == [2, 1]
    assert design_tool.world.fay.get(f"/api/v1/files/{first['uuid']}/content", buffered=True).data == content
    assert design_tool.world.fay.get("/api/v1/activity").get_json() == []


def test_tokens_of_the_first_import_remain_valid_after_publishing_again(design_tool: DesignTool) -> None:
    first = design_tool.import_design()
    design_tool.import_design()
    put_managed_settings(design_tool, first, allowDownload=False)
    design_tool.claim(design_tool.world.fay, first)


def test_publishing_again_extends_the_expiry_to_365_days(design_tool: DesignTool) -> None:
    made = design_tool.import_design()
    for days in (300, 300):
        design_tool.world.clock.advance(days=days)
        design_tool.import_design()
        assert get_expiry(design_tool, made) == design_tool.world.clock.now + 365 * DAY


def test_publishing_again_keeps_an_expiry_that_the_uploader_set(design_tool: DesignTool) -> None:
    """Only the default expiry is extended."""
    made = design_tool.import_design()
    put_managed_settings(design_tool, made, deleteAt="2031-01-01T00:00:00Z")
    chosen = get_expiry(design_tool, made)
    assert chosen is not None
    assert chosen <= design_tool.world.clock.now + 7 * DAY
    design_tool.world.clock.advance(days=1)
    assert design_tool.import_design()["republished"]
    assert get_expiry(design_tool, made) == chosen


@pytest.mark.parametrize(("who", "design"), [("bob", "poster"), ("ada", "flyer"), ("ada", None)])
def test_another_user_or_another_design_gets_another_link(
    design_tool: DesignTool, who: str, design: str | None
) -> None:
    first = design_tool.import_design()
    other = design_tool.import_design(who, design)
    assert other["uuid"] != first["uuid"]
    assert not other["republished"]


@pytest.mark.parametrize("token", ["", "nonsense", "a.b.c"])
def test_an_invalid_design_token_is_ignored(design_tool: DesignTool, token: str) -> None:
    design_tool.import_design()
    made = design_tool.import_design(designToken=token)
    assert not made["republished"]
    assert count_rows(design_tool.world, "designs") == 1


def test_an_expired_link_is_replaced_by_a_new_one(design_tool: DesignTool) -> None:
    """Only a live and unclaimed link is republished."""
    first = design_tool.import_design()
    put_managed_settings(design_tool, first, deleteAt="2020-01-01T00:00:00Z")
    second = design_tool.import_design()
    assert second["uuid"] != first["uuid"]
    assert design_tool.import_design()["uuid"] == second["uuid"]


def test_a_claimed_expired_link_does_not_block_a_new_one(design_tool: DesignTool) -> None:
    first = design_tool.import_design()
    put_managed_settings(design_tool, first, deleteAt="2026-09-22T00:00:00Z")
    design_tool.world.clock.advance(days=1)
    second = design_tool.import_design()
    design_tool.claim(design_tool.world.fay, first)
    put_managed_settings(design_tool, second, deleteAt="2020-01-01T00:00:00Z")
    assert not design_tool.import_design()["republished"]


def test_a_detached_design_gets_a_new_link(design_tool: DesignTool) -> None:
    first = design_tool.import_design()
    put_managed_settings(design_tool, first, detachDesignToolDesign=True)
    assert design_tool.import_design()["uuid"] != first["uuid"]
    put_managed_settings(design_tool, first, detachDesignToolDesign=True)


# --- links that cannot be republished --------------------------------------------------------------------------------


def test_a_claimed_link_is_not_republished(design_tool: DesignTool) -> None:
    made = design_tool.import_design()
    design_tool.claim(design_tool.world.fay, made)
    problem = assert_import_refused(design_tool, design_tool.post_import(), 403, "forbidden")
    assert "belongs to an account" in problem["detail"]
    assert "/api/v1/files/import" in problem["hint"]
    assert design_tool.world.fay.get(f"/api/v1/files/{made['uuid']}").get_json()["contentVersion"] == 1


def test_a_frozen_link_is_not_republished_even_if_it_has_expired(design_tool: DesignTool) -> None:
    made = design_tool.import_design()
    freeze.freeze(design_tool.world.rt, made["shortId"])
    assert "frozen" in assert_import_refused(design_tool, design_tool.post_import(), 403, "forbidden")["detail"]
    put_managed_settings(design_tool, made, deleteAt="2020-01-01T00:00:00Z")
    assert_import_refused(design_tool, design_tool.post_import(), 403, "forbidden")
    freeze.unfreeze(design_tool.world.rt, made["shortId"])
    assert not design_tool.import_design()["republished"]


def test_a_link_with_updates_disabled_is_not_republished(design_tool: DesignTool) -> None:
    made = design_tool.import_design()
    put_managed_settings(design_tool, made, designToolUpdatesEnabled=False)
    assert (
        "designToolUpdatesEnabled"
        in assert_import_refused(design_tool, design_tool.post_import(), 403, "forbidden")["hint"]
    )
    put_managed_settings(design_tool, made, designToolUpdatesEnabled=True)
    assert design_tool.import_design()["republished"]


@pytest.mark.parametrize("meanwhile", ["publish", "claim", "freeze", "end"])
def test_a_link_that_changes_during_the_import_is_a_conflict(
    design_tool: DesignTool, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    """A claimed or frozen link is 403; otherwise the caller can retry after a 409."""
    made = design_tool.import_design()
    keep = FolderStore.store
    acts: dict[str, Callable[[], object]] = {
        "publish": design_tool.import_design,
        "claim": lambda: design_tool.claim(design_tool.world.fay, made),
        "freeze": lambda: freeze.freeze(design_tool.world.rt, made["uuid"]),
        "end": lambda: put_managed_settings(design_tool, made, deleteAt="2020-01-01T00:00:00Z"),
    }

    def store_after_change(self: FolderStore, part: Any) -> str:
        monkeypatch.setattr(FolderStore, "store", keep)
        acts[meanwhile]()
        return keep(self, part)

    monkeypatch.setattr(FolderStore, "store", store_after_change)
    expected = {"publish": (409, "conflict"), "claim": (403, "forbidden"), "freeze": (403, "forbidden")}
    assert_import_refused(design_tool, design_tool.post_import(), *expected.get(meanwhile, (409, "conflict")))


def test_concurrent_first_imports_create_one_link(design_tool: DesignTool, monkeypatch: pytest.MonkeyPatch) -> None:
    keep = FolderStore.store

    def store_after_change(self: FolderStore, part: Any) -> str:
        monkeypatch.setattr(FolderStore, "store", keep)
        design_tool.import_design()
        return keep(self, part)

    monkeypatch.setattr(FolderStore, "store", store_after_change)
    assert_import_refused(design_tool, design_tool.post_import(), 409, "conflict")
    assert design_tool.import_design()["republished"]


# --- invalid requests ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"url": "https://elsewhere.example/a.pdf"}, 403, "forbidden"),
        ({"url": "http://files.example/a.pdf"}, 400, "bad_request"),
        ({"url": ""}, 400, "bad_request"),
        ({"url": None}, 400, "bad_request"),
        ({"designToken": 7}, 400, "bad_request"),
        ({"filename": ["a"]}, 400, "bad_request"),
    ],
)
def test_an_invalid_import_request_is_rejected(
    design_tool: DesignTool, body: dict[str, Any], status: int, code: str
) -> None:
    assert_import_refused(design_tool, design_tool.post_import(**body), status, code, files=0)
    assert design_tool.source.connections == 0


@pytest.mark.parametrize("content", [b"[]", b'"x"', b"{", b'{"url": 1, "url": 2}'])
def test_a_malformed_body_is_400(design_tool: DesignTool, content: bytes) -> None:
    headers = {"Authorization": f"Bearer {design_tool.make_user_token()}", "Content-Type": "application/json"}
    assert_import_refused(
        design_tool, design_tool.world.http.post(IMPORT, data=content, headers=headers), 400, "bad_request", files=0
    )


@pytest.mark.parametrize(
    ("script", "status", "code"),
    [
        (http_response(b"hello, no PDF"), 400, "bad_request"),
        (http_response(b"%PDF-1.7 but no more"), 400, "bad_request"),
        (http_response(b"", "404 Not Found"), 502, "bad_gateway"),
        (http_response(b"", "302 Found", "Location: https://files.example/b.pdf"), 502, "bad_gateway"),
    ],
)
def test_an_invalid_response_of_the_source_is_rejected(
    design_tool: DesignTool, script: Any, status: int, code: str
) -> None:
    design_tool.source.respond = script
    assert_import_refused(design_tool, design_tool.post_import(), status, code, files=0)


def test_a_design_above_the_anonymous_limit_is_413(make: Callable[..., World], cert: Path) -> None:
    with open_design_tool(cert, make, anonymous_limit=3000) as studio:
        assert len(simple_pdf(pages=40)) > 3000
        studio.set_export_pages(40)
        assert (
            "2.9 kB" in assert_import_refused(studio, studio.post_import(), 413, "payload_too_large", files=0)["detail"]
        )


# --- the budget ------------------------------------------------------------------------------------------------------


def test_new_designs_count_against_the_daily_budget_and_new_versions_do_not(
    make: Callable[..., World], cert: Path
) -> None:
    with open_design_tool(cert, make, design_uploads=3) as studio:
        for number in range(3):
            studio.import_design(design=f"d{number}")
        studio.world.clock.advance(seconds=3600)
        late = studio.post_import(design="d3")
        assert_import_refused(studio, late, 429, "rate_limited", files=3)
        assert int(late.headers["Retry-After"]) == 23 * 3600
        assert studio.import_design(design="d0")["republished"]
        assert not studio.import_design("bob", "d3")["republished"]
        studio.world.clock.advance(seconds=23 * 3600)
        assert not studio.import_design(design="d3")["republished"]
        assert count_rows(studio.world, "design_uploads") == 2


def test_the_default_budget_is_thirty_designs_per_day(design_tool: DesignTool) -> None:
    rows = [("ada", design_tool.world.clock.now)] * 29
    with design_tool.world.rt.db.write():
        for row in rows:
            design_tool.world.rt.db.execute("INSERT INTO design_uploads (design_user, uploaded_at) VALUES (?, ?)", row)
    design_tool.import_design()
    assert design_tool.post_import(design="flyer").status_code == 429


def test_concurrent_imports_do_not_exceed_the_budget(
    make: Callable[..., World], cert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = FolderStore.store
    with open_design_tool(cert, make, design_uploads=1) as studio:

        def store_after_change(self: FolderStore, part: Any) -> str:
            monkeypatch.setattr(FolderStore, "store", keep)
            studio.import_design(design="flyer")
            return keep(self, part)

        monkeypatch.setattr(FolderStore, "store", store_after_change)
        assert_import_refused(studio, studio.post_import(), 429, "rate_limited")


def test_a_rejected_design_does_not_count_against_the_budget(make: Callable[..., World], cert: Path) -> None:
    with open_design_tool(cert, make, design_uploads=1) as studio:
        studio.source.respond = http_response(b"hello, no PDF")
        studio.post_import()
        studio.set_export_pages(1)
        studio.import_design()


def test_the_budget_survives_a_restart(make: Callable[..., World], cert: Path) -> None:
    with open_design_tool(cert, make, design_uploads=1) as studio:
        studio.import_design()
        studio.world.rt.limits._storage.reset()
        assert studio.post_import(design="flyer").status_code == 429


def test_a_budget_of_zero_rejects_every_design(make: Callable[..., World], cert: Path) -> None:
    with open_design_tool(cert, make, design_uploads=0) as studio:
        assert studio.post_import().headers["Retry-After"] == "86400"
