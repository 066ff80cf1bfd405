"""What a design tool is told of a design: ``POST /api/v1/design-tool/design/status``."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from docshare.server.services.files import freeze
from tests.support.cast import BASE_URL, World
from tests.support.design_tool import STATUS, DesignTool, open_design_tool
from tests.support.forged_tokens import FORGED_TOKENS
from tests.support.oauth_app import make_app
from tests.support.rows import count_rows, update_file_row

UNCLAIMED = [
    "claimed", "publishedByOther", "contentVersion", "viewCount", "uuid", "shortId", "shareUrl", "qrUrl", "claimToken",
]  # fmt: skip
STRANGERS = ["claimed", "publishedByOther", "contentVersion", "shareUrl", "qrUrl"]
OWNERS = [
    "claimed", "connectedAccountIsOwner", "publishedByOther", "contentVersion", "viewCount", "uuid", "shortId",
    "shareUrl", "qrUrl",
]  # fmt: skip


def test_of_a_link_that_nobody_claimed_all_is_told(design_tool: DesignTool) -> None:
    made = design_tool.import_design()
    design_tool.import_design()
    update_file_row(design_tool.world, made["uuid"], view_count=7)
    told = design_tool.get_status()
    assert list(told) == UNCLAIMED
    assert {key: told[key] for key in UNCLAIMED[:-1]} == {
        "claimed": False,
        "publishedByOther": False,
        "contentVersion": 2,
        "viewCount": 7,
        "uuid": made["uuid"],
        "shortId": made["shortId"],
        "shareUrl": f"{BASE_URL}/{made['shortId']}",
        "qrUrl": f"{BASE_URL}/api/files/{made['shortId']}/qr-code",
    }


def test_its_claim_token_is_fresh_and_good_for_thirty_days(design_tool: DesignTool) -> None:
    made = design_tool.import_design()
    design_tool.world.clock.advance(days=29)
    token = design_tool.get_status()["claimToken"]
    assert token != made["claimToken"]
    design_tool.world.clock.advance(days=29)
    design_tool.claim(design_tool.world.fay, {"claimToken": token})


def test_asking_all_the_time_does_not_pile_up_tokens(design_tool: DesignTool) -> None:
    design_tool.import_design()
    for _ in range(5):
        design_tool.get_status()
        design_tool.world.clock.advance(days=31)
    design_tool.get_status()
    assert design_tool.world.rt.db.fetch_one("SELECT COUNT(*) FROM file_tokens WHERE kind = 'claim'") == (1,)


def test_of_a_claimed_link_strangers_hear_the_addresses_only(design_tool: DesignTool) -> None:
    """Never a claim token; view count and uuid only when ``accessToken`` proves the caller owns it."""
    made = design_tool.import_design()
    design_tool.claim(design_tool.world.fay, made)
    told = design_tool.get_status()
    assert list(told) == STRANGERS
    assert told["claimed"] is True
    assert told["shareUrl"] == made["shareUrl"]
    other = design_tool.get_status(accessToken=design_tool.world.mal.key)
    assert list(other) == [STRANGERS[0], "connectedAccountIsOwner", *STRANGERS[1:]]
    assert other["connectedAccountIsOwner"] is False


def test_the_owner_hears_its_views_too(design_tool: DesignTool) -> None:
    made = design_tool.import_design()
    design_tool.claim(design_tool.world.fay, made)
    update_file_row(design_tool.world, made["uuid"], view_count=3)
    told = design_tool.get_status(accessToken=design_tool.world.fay.key)
    assert list(told) == OWNERS
    assert (told["claimed"], told["connectedAccountIsOwner"]) == (True, True)
    assert (told["uuid"], told["viewCount"]) == (made["uuid"], 3)


def test_of_an_unclaimed_link_nobody_is_the_owner(design_tool: DesignTool) -> None:
    design_tool.import_design()
    assert design_tool.get_status(accessToken=design_tool.world.fay.key)["connectedAccountIsOwner"] is False


def test_an_app_proves_the_account_and_needs_the_scope_to_see_more(design_tool: DesignTool) -> None:
    design_tool.claim(design_tool.world.fay, design_tool.import_design())
    app = make_app(design_tool.world, design_tool.world.fay)
    whole = design_tool.get_status(accessToken=app.approve_and_exchange(scope="files:read")["access_token"])
    assert list(whole) == OWNERS
    little = design_tool.get_status(accessToken=app.approve_and_exchange(scope="profile")["access_token"])
    assert little["connectedAccountIsOwner"] is True
    assert not {"uuid", "viewCount", "claimToken"} & little.keys()


def test_of_a_design_without_a_link_there_is_little_to_tell(design_tool: DesignTool) -> None:
    assert design_tool.get_status() == {"claimed": False, "publishedByOther": False}
    assert design_tool.get_status(accessToken=design_tool.world.fay.key) == {
        "claimed": False, "connectedAccountIsOwner": False, "publishedByOther": False,
    }  # fmt: skip


def test_that_somebody_else_published_it_is_all_that_is_told_of_them(design_tool: DesignTool) -> None:
    """``publishedByOther`` (boolean-only disclosure)."""
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
def test_a_dead_link_is_no_link_while_nobody_owns_it(
    design_tool: DesignTool, columns: dict[str, Any], known: bool
) -> None:
    made = design_tool.import_design()
    if columns:
        update_file_row(design_tool.world, made["uuid"], **columns)
    assert ("shareUrl" in design_tool.get_status()) is known


def test_a_frozen_link_is_not_handed_out(design_tool: DesignTool) -> None:
    made = design_tool.import_design()
    freeze.freeze(design_tool.world.rt, made["uuid"])
    told = design_tool.get_status()
    assert told["shareUrl"] == made["shareUrl"]
    assert "claimToken" not in told


def test_an_expired_link_of_an_account_stays_claimed(design_tool: DesignTool) -> None:
    design_tool.claim(design_tool.world.fay, design_tool.import_design())
    design_tool.world.clock.advance(days=400)
    assert design_tool.get_status()["claimed"] is True


def test_what_the_owner_imported_is_told_to_whoever_shows_the_account(design_tool: DesignTool) -> None:
    """A colleague connects the same account to the tool."""
    made = design_tool.import_owned(design_tool.world.pia)
    told = design_tool.get_status("bob", accessToken=design_tool.world.pia.key)
    assert (told["uuid"], told["connectedAccountIsOwner"], told["publishedByOther"]) == (made["uuid"], True, False)
    assert design_tool.get_status("bob") == {"claimed": False, "publishedByOther": True}


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [{}, {"designToken": ""}, {"designToken": 1}, {"designToken": None}, [], "x"])
def test_without_a_design_token_it_is_400(design_tool: DesignTool, body: Any) -> None:
    answered = design_tool.send(STATUS, body, design_tool.make_user_token())
    assert (answered.status_code, answered.get_json()["code"]) == (400, "bad_request")


@pytest.mark.parametrize("make_token", FORGED_TOKENS.values(), ids=FORGED_TOKENS)
@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
def test_a_forged_design_token_is_401(design_tool: DesignTool, make_token: Callable[[Any], str]) -> None:
    """``designToken`` (required, hard-verified)."""
    maker = replace(design_tool.token_maker, default_claims={"designId": "poster"})
    assert (
        design_tool.send(STATUS, {"designToken": maker.sign_token()}, design_tool.make_user_token()).status_code == 200
    )
    answered = design_tool.send(STATUS, {"designToken": make_token(maker) or "x"}, design_tool.make_user_token())
    assert (answered.status_code, answered.get_json()["code"]) == (401, "unauthorized")
    assert answered.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("claims", [{}, {"designId": ""}, {"designId": 7}, {"designId": "x" * 256}, {"designId": []}])
def test_a_token_of_no_design_is_401(design_tool: DesignTool, claims: dict[str, Any]) -> None:
    answered = design_tool.send(
        STATUS, {"designToken": design_tool.token_maker.sign_token(**claims)}, design_tool.make_user_token()
    )
    assert answered.status_code == 401


@pytest.mark.parametrize("token", ["", "nobody", "ds_live_nobody", "{manage}", "{claim}", "{key}x", "a b"])
def test_an_access_token_that_is_not_valid_is_401(design_tool: DesignTool, token: str) -> None:
    """Not ignored."""
    made = design_tool.import_design()
    words = {"{manage}": made["manageToken"], "{claim}": made["claimToken"], "{key}": design_tool.world.fay.key}
    for word, value in words.items():
        token = token.replace(word, value)
    answered = design_tool.send(
        STATUS, {"designToken": design_tool.make_design_token(), "accessToken": token}, design_tool.make_user_token()
    )
    assert (answered.status_code, answered.get_json()["code"]) == (401, "unauthorized")


@pytest.mark.parametrize("token", [None, 7, ["x"]])
def test_an_access_token_that_is_no_text_is_400(design_tool: DesignTool, token: Any) -> None:
    answered = design_tool.send(
        STATUS, {"designToken": design_tool.make_design_token(), "accessToken": token}, design_tool.make_user_token()
    )
    assert answered.status_code == 400


def test_keys_of_its_own_are_asked_for_design_tokens(make: Callable[..., World], cert: Path) -> None:
    with open_design_tool(cert, make, design_token_audience="designs") as studio:
        body = {"designToken": studio.make_design_token(aud="designs")}
        assert studio.send(STATUS, body, studio.make_user_token()).status_code == 200
        assert (
            studio.send(STATUS, {"designToken": studio.make_design_token()}, studio.make_user_token()).status_code
            == 401
        )


def test_without_the_keys_of_design_tokens_it_is_503(make: Callable[..., World], cert: Path) -> None:
    """503 (signing keys unreachable; retry)."""
    with open_design_tool(cert, make, design_token_jwks_url="https://nowhere.example/keys") as studio:
        answered = studio.send(STATUS, {"designToken": studio.make_design_token()}, studio.make_user_token())
        assert (answered.status_code, answered.get_json()["code"]) == (503, "unavailable")
        assert answered.headers["Retry-After"] == "60"
        made = studio.post_import()
        assert made.status_code == 503
        assert count_rows(studio.world, "files") == 0
        assert studio.post_import(design=None).status_code == 200
