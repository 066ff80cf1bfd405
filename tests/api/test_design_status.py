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


def test_of_a_link_that_nobody_claimed_all_is_told(studio: DesignTool) -> None:
    made = studio.published()
    studio.published()
    update_file_row(studio.world, made["uuid"], view_count=7)
    told = studio.status()
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


def test_its_claim_token_is_fresh_and_good_for_thirty_days(studio: DesignTool) -> None:
    made = studio.published()
    studio.world.clock.advance(days=29)
    token = studio.status()["claimToken"]
    assert token != made["claimToken"]
    studio.world.clock.advance(days=29)
    studio.take_over(studio.world.fay, {"claimToken": token})


def test_asking_all_the_time_does_not_pile_up_tokens(studio: DesignTool) -> None:
    studio.published()
    for _ in range(5):
        studio.status()
        studio.world.clock.advance(days=31)
    studio.status()
    assert studio.world.rt.db.row("SELECT COUNT(*) FROM file_tokens WHERE kind = 'claim'") == (1,)


def test_of_a_claimed_link_strangers_hear_the_addresses_only(studio: DesignTool) -> None:
    """Never a claim token; view count and uuid only when ``accessToken`` proves the caller owns it."""
    made = studio.published()
    studio.take_over(studio.world.fay, made)
    told = studio.status()
    assert list(told) == STRANGERS
    assert told["claimed"] is True
    assert told["shareUrl"] == made["shareUrl"]
    other = studio.status(accessToken=studio.world.mal.key)
    assert list(other) == [STRANGERS[0], "connectedAccountIsOwner", *STRANGERS[1:]]
    assert other["connectedAccountIsOwner"] is False


def test_the_owner_hears_its_views_too(studio: DesignTool) -> None:
    made = studio.published()
    studio.take_over(studio.world.fay, made)
    update_file_row(studio.world, made["uuid"], view_count=3)
    told = studio.status(accessToken=studio.world.fay.key)
    assert list(told) == OWNERS
    assert (told["claimed"], told["connectedAccountIsOwner"]) == (True, True)
    assert (told["uuid"], told["viewCount"]) == (made["uuid"], 3)


def test_of_an_unclaimed_link_nobody_is_the_owner(studio: DesignTool) -> None:
    studio.published()
    assert studio.status(accessToken=studio.world.fay.key)["connectedAccountIsOwner"] is False


def test_an_app_proves_the_account_and_needs_the_scope_to_see_more(studio: DesignTool) -> None:
    studio.take_over(studio.world.fay, studio.published())
    app = make_app(studio.world, studio.world.fay)
    whole = studio.status(accessToken=app.tokens(scope="files:read")["access_token"])
    assert list(whole) == OWNERS
    little = studio.status(accessToken=app.tokens(scope="profile")["access_token"])
    assert little["connectedAccountIsOwner"] is True
    assert not {"uuid", "viewCount", "claimToken"} & little.keys()


def test_of_a_design_without_a_link_there_is_little_to_tell(studio: DesignTool) -> None:
    assert studio.status() == {"claimed": False, "publishedByOther": False}
    assert studio.status(accessToken=studio.world.fay.key) == {
        "claimed": False, "connectedAccountIsOwner": False, "publishedByOther": False,
    }  # fmt: skip


def test_that_somebody_else_published_it_is_all_that_is_told_of_them(studio: DesignTool) -> None:
    """``publishedByOther`` (boolean-only disclosure)."""
    made = studio.published("bob")
    assert studio.status() == {"claimed": False, "publishedByOther": True}
    assert studio.status("bob")["publishedByOther"] is False
    studio.published()
    assert studio.status()["publishedByOther"] is True
    update_file_row(studio.world, made["uuid"], delete_at=studio.world.clock.now)
    assert studio.status()["publishedByOther"] is False


@pytest.mark.parametrize(
    ("columns", "known"),
    [({"delete_at": 1}, False), ({"burned_at": 1}, False), ({"trashed_at": 1, "purge_at": 1}, False), ({}, True)],
)
def test_a_dead_link_is_no_link_while_nobody_owns_it(studio: DesignTool, columns: dict[str, Any], known: bool) -> None:
    made = studio.published()
    if columns:
        update_file_row(studio.world, made["uuid"], **columns)
    assert ("shareUrl" in studio.status()) is known


def test_a_frozen_link_is_not_handed_out(studio: DesignTool) -> None:
    made = studio.published()
    freeze.freeze(studio.world.rt, made["uuid"])
    told = studio.status()
    assert told["shareUrl"] == made["shareUrl"]
    assert "claimToken" not in told


def test_an_expired_link_of_an_account_stays_claimed(studio: DesignTool) -> None:
    studio.take_over(studio.world.fay, studio.published())
    studio.world.clock.advance(days=400)
    assert studio.status()["claimed"] is True


def test_what_the_owner_imported_is_told_to_whoever_shows_the_account(studio: DesignTool) -> None:
    """A colleague connects the same account to the tool."""
    made = studio.owned(studio.world.pia)
    told = studio.status("bob", accessToken=studio.world.pia.key)
    assert (told["uuid"], told["connectedAccountIsOwner"], told["publishedByOther"]) == (made["uuid"], True, False)
    assert studio.status("bob") == {"claimed": False, "publishedByOther": True}


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [{}, {"designToken": ""}, {"designToken": 1}, {"designToken": None}, [], "x"])
def test_without_a_design_token_it_is_400(studio: DesignTool, body: Any) -> None:
    answered = studio.send(STATUS, body, studio.user())
    assert (answered.status_code, answered.get_json()["code"]) == (400, "bad_request")


@pytest.mark.parametrize("make_token", FORGED_TOKENS.values(), ids=FORGED_TOKENS)
@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
def test_a_forged_design_token_is_401(studio: DesignTool, make_token: Callable[[Any], str]) -> None:
    """``designToken`` (required, hard-verified)."""
    maker = replace(studio.maker, always={"designId": "poster"})
    assert studio.send(STATUS, {"designToken": maker.token()}, studio.user()).status_code == 200
    answered = studio.send(STATUS, {"designToken": make_token(maker) or "x"}, studio.user())
    assert (answered.status_code, answered.get_json()["code"]) == (401, "unauthorized")
    assert answered.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("claims", [{}, {"designId": ""}, {"designId": 7}, {"designId": "x" * 256}, {"designId": []}])
def test_a_token_of_no_design_is_401(studio: DesignTool, claims: dict[str, Any]) -> None:
    answered = studio.send(STATUS, {"designToken": studio.maker.token(**claims)}, studio.user())
    assert answered.status_code == 401


@pytest.mark.parametrize("token", ["", "nobody", "ds_live_nobody", "{manage}", "{claim}", "{key}x", "a b"])
def test_an_access_token_that_is_not_valid_is_401(studio: DesignTool, token: str) -> None:
    """Not ignored."""
    made = studio.published()
    words = {"{manage}": made["manageToken"], "{claim}": made["claimToken"], "{key}": studio.world.fay.key}
    for word, value in words.items():
        token = token.replace(word, value)
    answered = studio.send(STATUS, {"designToken": studio.design(), "accessToken": token}, studio.user())
    assert (answered.status_code, answered.get_json()["code"]) == (401, "unauthorized")


@pytest.mark.parametrize("token", [None, 7, ["x"]])
def test_an_access_token_that_is_no_text_is_400(studio: DesignTool, token: Any) -> None:
    answered = studio.send(STATUS, {"designToken": studio.design(), "accessToken": token}, studio.user())
    assert answered.status_code == 400


def test_keys_of_its_own_are_asked_for_design_tokens(make: Callable[..., World], cert: Path) -> None:
    with open_design_tool(cert, make, design_token_audience="designs") as studio:
        body = {"designToken": studio.design(aud="designs")}
        assert studio.send(STATUS, body, studio.user()).status_code == 200
        assert studio.send(STATUS, {"designToken": studio.design()}, studio.user()).status_code == 401


def test_without_the_keys_of_design_tokens_it_is_503(make: Callable[..., World], cert: Path) -> None:
    """503 (signing keys unreachable; retry)."""
    with open_design_tool(cert, make, design_token_jwks_url="https://nowhere.example/keys") as studio:
        answered = studio.send(STATUS, {"designToken": studio.design()}, studio.user())
        assert (answered.status_code, answered.get_json()["code"]) == (503, "unavailable")
        assert answered.headers["Retry-After"] == "60"
        made = studio.publish()
        assert made.status_code == 503
        assert count_rows(studio.world, "files") == 0
        assert studio.publish(design=None).status_code == 200
