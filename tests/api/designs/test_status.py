"""The status of a design for the design tool: ``POST /api/v1/design-tool/design/status``."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from docshare.server.services.files import freeze
from tests.support.engines.rows import count_rows, update_file_row
from tests.support.outside.design_tool import STATUS, DesignTool, open_design_tool
from tests.support.outside.forged_tokens import FORGED_TOKENS
from tests.support.outside.oauth_app import make_app
from tests.support.people.cast import BASE_URL, World

UNCLAIMED_KEYS = [
    "claimed", "publishedByOther", "contentVersion", "viewCount", "uuid", "shortId", "shareUrl", "qrUrl", "claimToken",
]  # fmt: skip
STRANGER_KEYS = ["claimed", "publishedByOther", "contentVersion", "shareUrl", "qrUrl"]
OWNER_KEYS = [
    "claimed", "connectedAccountIsOwner", "publishedByOther", "contentVersion", "viewCount", "uuid", "shortId",
    "shareUrl", "qrUrl",
]  # fmt: skip


def test_the_status_of_an_unclaimed_link_has_every_field(design_tool: DesignTool) -> None:
    made = design_tool.import_design()
    design_tool.import_design()
    update_file_row(design_tool.world, made["uuid"], view_count=7)
    told = design_tool.get_status()
    assert list(told) == UNCLAIMED_KEYS
    assert {key: told[key] for key in UNCLAIMED_KEYS[:-1]} == {
        "claimed": False,
        "publishedByOther": False,
        "contentVersion": 2,
        "viewCount": 7,
        "uuid": made["uuid"],
        "shortId": made["shortId"],
        "shareUrl": f"{BASE_URL}/{made['shortId']}",
        "qrUrl": f"{BASE_URL}/api/files/{made['shortId']}/qr-code",
    }


def test_the_status_has_a_new_claim_token_that_is_valid_for_thirty_days(design_tool: DesignTool) -> None:
    made = design_tool.import_design()
    design_tool.world.clock.advance(days=29)
    token = design_tool.get_status()["claimToken"]
    assert token != made["claimToken"]
    design_tool.world.clock.advance(days=29)
    design_tool.claim(design_tool.world.fay, {"claimToken": token})


def test_expired_claim_tokens_are_deleted(design_tool: DesignTool) -> None:
    design_tool.import_design()
    for _ in range(5):
        design_tool.get_status()
        design_tool.world.clock.advance(days=31)
    design_tool.get_status()
    assert design_tool.world.rt.db.fetch_one("SELECT COUNT(*) FROM file_tokens WHERE kind = 'claim'") == (1,)


def test_the_status_of_a_claimed_link_shows_strangers_only_its_urls(design_tool: DesignTool) -> None:
    """It has no claim token, and no view count or UUID unless ``accessToken`` belongs to the owner."""
    made = design_tool.import_design()
    design_tool.claim(design_tool.world.fay, made)
    told = design_tool.get_status()
    assert list(told) == STRANGER_KEYS
    assert told["claimed"] is True
    assert told["shareUrl"] == made["shareUrl"]
    other = design_tool.get_status(accessToken=design_tool.world.mal.key)
    assert list(other) == [STRANGER_KEYS[0], "connectedAccountIsOwner", *STRANGER_KEYS[1:]]
    assert other["connectedAccountIsOwner"] is False


def test_the_status_shows_the_owner_the_view_count(design_tool: DesignTool) -> None:
    made = design_tool.import_design()
    design_tool.claim(design_tool.world.fay, made)
    update_file_row(design_tool.world, made["uuid"], view_count=3)
    told = design_tool.get_status(accessToken=design_tool.world.fay.key)
    assert list(told) == OWNER_KEYS
    assert (told["claimed"], told["connectedAccountIsOwner"]) == (True, True)
    assert (told["uuid"], told["viewCount"]) == (made["uuid"], 3)


def test_an_unclaimed_link_has_no_owner(design_tool: DesignTool) -> None:
    design_tool.import_design()
    assert design_tool.get_status(accessToken=design_tool.world.fay.key)["connectedAccountIsOwner"] is False


def test_an_app_requires_the_files_read_scope_to_see_the_view_count(design_tool: DesignTool) -> None:
    design_tool.claim(design_tool.world.fay, design_tool.import_design())
    app = make_app(design_tool.world, design_tool.world.fay)
    whole = design_tool.get_status(accessToken=app.approve_and_exchange(scope="files:read")["access_token"])
    assert list(whole) == OWNER_KEYS
    little = design_tool.get_status(accessToken=app.approve_and_exchange(scope="profile")["access_token"])
    assert little["connectedAccountIsOwner"] is True
    assert not {"uuid", "viewCount", "claimToken"} & little.keys()


def test_a_key_restricted_to_another_file_only_proves_the_owner(design_tool: DesignTool) -> None:
    """It discloses neither the UUID and views of the link, nor the link that another user of the tool published."""
    pia = design_tool.world.pia
    made, other = design_tool.import_design(), pia.upload()
    design_tool.claim(pia, made)
    keys = [
        pia.post("/api/v1/keys", json={"name": "part", "scopes": ["files:read"], "file": row["uuid"]}).get_json()["key"]
        for row in (made, other)
    ]
    assert [list(design_tool.get_status(who, accessToken=keys[0])) for who in ("ada", "bob")] == [OWNER_KEYS] * 2
    little = design_tool.get_status(accessToken=keys[1])
    assert little["connectedAccountIsOwner"] is True
    assert not {"uuid", "viewCount", "claimToken"} & little.keys()
    assert design_tool.get_status("bob", accessToken=keys[1]) == {
        "claimed": False, "connectedAccountIsOwner": False, "publishedByOther": True,
    }  # fmt: skip


def test_the_status_of_a_design_without_a_link_is_minimal(design_tool: DesignTool) -> None:
    assert design_tool.get_status() == {"claimed": False, "publishedByOther": False}
    assert design_tool.get_status(accessToken=design_tool.world.fay.key) == {
        "claimed": False, "connectedAccountIsOwner": False, "publishedByOther": False,
    }  # fmt: skip


def test_the_status_discloses_only_that_another_user_published_the_design(design_tool: DesignTool) -> None:
    """``publishedByOther`` is a boolean without further details."""
    made = design_tool.import_design("bob")
    assert design_tool.get_status() == {"claimed": False, "publishedByOther": True}
    assert design_tool.get_status("bob")["publishedByOther"] is False
    design_tool.import_design()
    assert design_tool.get_status()["publishedByOther"] is True
    update_file_row(design_tool.world, made["uuid"], delete_at=design_tool.world.clock.now)
    assert design_tool.get_status()["publishedByOther"] is False


@pytest.mark.parametrize(
    ("columns", "known"),
    [({"delete_at": 1}, False), ({"burned_at": 1}, False), ({"trashed_at": 1, "purge_at": 1}, False), ({}, True)],
)
def test_the_status_omits_an_unclaimed_link_that_is_not_live(
    design_tool: DesignTool, columns: dict[str, Any], known: bool
) -> None:
    made = design_tool.import_design()
    if columns:
        update_file_row(design_tool.world, made["uuid"], **columns)
    assert ("shareUrl" in design_tool.get_status()) is known


def test_the_status_of_a_frozen_link_has_no_claim_token(design_tool: DesignTool) -> None:
    made = design_tool.import_design()
    freeze.freeze(design_tool.world.rt, made["uuid"])
    told = design_tool.get_status()
    assert told["shareUrl"] == made["shareUrl"]
    assert "claimToken" not in told


def test_an_expired_claimed_link_remains_claimed(design_tool: DesignTool) -> None:
    design_tool.claim(design_tool.world.fay, design_tool.import_design())
    design_tool.world.clock.advance(days=400)
    assert design_tool.get_status()["claimed"] is True


def test_the_status_of_an_owned_design_requires_a_token_of_the_account(design_tool: DesignTool) -> None:
    """Another user of the design tool can connect the same account."""
    made = design_tool.import_owned(design_tool.world.pia)
    told = design_tool.get_status("bob", accessToken=design_tool.world.pia.key)
    assert (told["uuid"], told["connectedAccountIsOwner"], told["publishedByOther"]) == (made["uuid"], True, False)
    assert design_tool.get_status("bob") == {"claimed": False, "publishedByOther": True}


# --- invalid requests ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [{}, {"designToken": ""}, {"designToken": 1}, {"designToken": None}, [], "x"])
def test_a_missing_design_token_is_400(design_tool: DesignTool, body: Any) -> None:
    answered = design_tool.send(STATUS, body, design_tool.make_user_token())
    assert (answered.status_code, answered.get_json()["code"]) == (400, "bad_request")


@pytest.mark.parametrize("make_token", FORGED_TOKENS.values(), ids=FORGED_TOKENS)
@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
def test_a_forged_design_token_is_401(design_tool: DesignTool, make_token: Callable[[Any], str]) -> None:
    """Unlike an import, the status does not ignore a token that cannot be verified."""
    maker = replace(design_tool.token_maker, default_claims={"designId": "poster"})
    assert (
        design_tool.send(STATUS, {"designToken": maker.sign_token()}, design_tool.make_user_token()).status_code == 200
    )
    answered = design_tool.send(STATUS, {"designToken": make_token(maker) or "x"}, design_tool.make_user_token())
    assert (answered.status_code, answered.get_json()["code"]) == (401, "unauthorized")
    assert answered.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("claims", [{}, {"designId": ""}, {"designId": 7}, {"designId": "x" * 256}, {"designId": []}])
def test_a_design_token_without_a_valid_design_id_is_401(design_tool: DesignTool, claims: dict[str, Any]) -> None:
    answered = design_tool.send(
        STATUS, {"designToken": design_tool.token_maker.sign_token(**claims)}, design_tool.make_user_token()
    )
    assert answered.status_code == 401


@pytest.mark.parametrize("token", ["", "nobody", "ds_live_nobody", "{manage}", "{claim}", "{key}x", "a b"])
def test_an_invalid_access_token_is_401(design_tool: DesignTool, token: str) -> None:
    """It is not ignored."""
    made = design_tool.import_design()
    words = {"{manage}": made["manageToken"], "{claim}": made["claimToken"], "{key}": design_tool.world.fay.key}
    for word, value in words.items():
        token = token.replace(word, value)
    answered = design_tool.send(
        STATUS, {"designToken": design_tool.make_design_token(), "accessToken": token}, design_tool.make_user_token()
    )
    assert (answered.status_code, answered.get_json()["code"]) == (401, "unauthorized")


@pytest.mark.parametrize("token", [None, 7, ["x"]])
def test_an_access_token_that_is_not_a_string_is_400(design_tool: DesignTool, token: Any) -> None:
    answered = design_tool.send(
        STATUS, {"designToken": design_tool.make_design_token(), "accessToken": token}, design_tool.make_user_token()
    )
    assert answered.status_code == 400


def test_design_tokens_can_have_their_own_audience(make: Callable[..., World], cert: Path) -> None:
    with open_design_tool(cert, make, design_token_audience="designs") as studio:
        body = {"designToken": studio.make_design_token(aud="designs")}
        assert studio.send(STATUS, body, studio.make_user_token()).status_code == 200
        assert (
            studio.send(STATUS, {"designToken": studio.make_design_token()}, studio.make_user_token()).status_code
            == 401
        )


def test_unreachable_keys_of_design_tokens_are_503(make: Callable[..., World], cert: Path) -> None:
    """The response has ``Retry-After``."""
    with open_design_tool(cert, make, design_token_jwks_url="https://nowhere.example/keys") as studio:
        answered = studio.send(STATUS, {"designToken": studio.make_design_token()}, studio.make_user_token())
        assert (answered.status_code, answered.get_json()["code"]) == (503, "unavailable")
        assert answered.headers["Retry-After"] == "60"
        made = studio.post_import()
        assert made.status_code == 503
        assert count_rows(studio.world, "files") == 0
        assert studio.post_import(design=None).status_code == 200
