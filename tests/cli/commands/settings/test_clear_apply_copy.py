"""``docshare settings set`` with a manage token: the credential of an upload that no account has claimed yet."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.outside.fake_api import FakeApi, problem
from tests.support.people.cast import Person, World
from tests.support.shell import TOKEN, Shell

MakeShell = Callable[[Person], Shell]

ID = "aB3dE5fG7hJ9"
MANAGE = "ds_mt_" + "m" * 32


@pytest.fixture
def settings_api(api: FakeApi) -> FakeApi:
    """Return a server that accepts any settings and shows none."""
    api.on("PUT", f"/files/{ID}/settings", b"")
    return api


def list_written_settings(api: FakeApi) -> list[Any]:
    return [json.loads(heard.body) for heard in api.list_requests("PUT", f"/files/{ID}/settings")]


def test_a_manage_token_is_the_only_credential_and_nothing_is_read(
    settings_api: FakeApi, shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(f"{MANAGE}\n")
    done = shell("settings", "set", ID, "--expires", "6d", "--no-download", "-vv",
                 "--manage-token-file", tmp_path / "token")  # fmt: skip
    assert done.code == 0
    assert [(heard.method, heard.path) for heard in settings_api.requests] == [("PUT", f"/files/{ID}/settings")]
    assert settings_api.requests[0].headers["Authorization"] == f"Bearer {MANAGE}"
    assert MANAGE not in done.err + done.out
    assert TOKEN not in done.err


def test_a_manage_token_can_write_the_settings_of_the_free_plan_on_a_real_server(
    shell_for: MakeShell, world: World, tmp_path: Path
) -> None:
    from tests.support.people.settings import ConfiguredFile, remove_owner

    file = ConfiguredFile(world, world.pia)
    name = file.made["shortId"]
    (tmp_path / "token").write_text(remove_owner(world, file).key)
    pia = shell_for(world.pia)
    line = ("--manage-token-file", tmp_path / "token")
    assert pia("settings", "set", name, "--mode", "swipe", "--expires", "6d", *line).code == 0
    refused = pia("settings", "set", name, "flip.rtl=true", "--slug", "x", *line, "--json")
    assert (refused.code, refused.error["code"]) == (6, "plan_required")
    assert "slug: pro" in refused.error["hint"]
    stored = world.rt.db.fetch_one("SELECT settings, delete_at FROM files WHERE short_id = ?", (name,))
    assert stored == ('{"viewerMode":"swipe"}', 1_790_000_000_000 + 6 * 86_400_000)


def test_a_manage_token_needs_no_other_credential(settings_api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(MANAGE)
    del shell.env["DOCSHARE_TOKEN"]
    line = ("settings", "set", ID, "--no-download")
    assert shell(*line).code == 4
    assert shell(*line, "--manage-token-file", tmp_path / "token").code == 0
    assert list_written_settings(settings_api) == [{"allowDownload": False}]


@pytest.mark.parametrize("expiry", ["never", "8d", "2027-01-01"])
def test_a_manage_token_limits_the_expiry_to_7_days(
    settings_api: FakeApi, shell: Shell, tmp_path: Path, expiry: str
) -> None:
    (tmp_path / "token").write_text(MANAGE)
    done = shell("settings", "set", ID, "--expires", expiry, "--manage-token-file", tmp_path / "token")
    assert done.code == 2
    assert "7 days" in done.err
    assert settings_api.requests == []


@pytest.mark.parametrize("raw", [None, ""])
def test_a_missing_or_empty_manage_token_exits_with_2(
    settings_api: FakeApi, shell: Shell, tmp_path: Path, raw: str | None
) -> None:
    if raw is not None:
        (tmp_path / "token").write_text(raw)
    assert shell("settings", "set", ID, "--slug", "x", "--manage-token-file", tmp_path / "token").code == 2
    assert settings_api.requests == []


def test_a_rejected_manage_token_is_reported_with_its_file(settings_api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(MANAGE)
    settings_api.on("PUT", f"/files/{ID}/settings", problem(401, "unauthorized"))
    done = shell("settings", "set", ID, "--no-download", "--manage-token-file", tmp_path / "token")
    assert done.code == 4
    assert f"--manage-token-file {tmp_path / 'token'}" in done.err
