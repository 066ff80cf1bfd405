"""The directories are those of platformdirs, computed by less code."""

from __future__ import annotations

from pathlib import Path

import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

from docshare.cli.local.paths import resolve_directory

ENVIRONMENTS = [
    {},
    {kind: f"/xdg/{kind}" for kind in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")},
    {"XDG_CONFIG_HOME": "relative/path", "XDG_CACHE_HOME": ""},
]


@pytest.mark.parametrize("env", ENVIRONMENTS, ids=str)
@pytest.mark.parametrize("kind", ["config", "state", "cache", "data"])
@pytest.mark.parametrize(("platform", "dirs"), [("linux", Unix), ("darwin", MacOS)])
def test_directories_are_those_of_platformdirs(
    monkeypatch: pytest.MonkeyPatch, env: dict[str, str], kind: str, platform: str, dirs: type[Unix | MacOS]
) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/ann", **env}.items():
        monkeypatch.setenv(name, value)
    expected = getattr(dirs("docshare"), f"user_{kind}_dir")
    assert resolve_directory(kind, {"HOME": "/home/ann", **env}, platform) == expected


@pytest.mark.parametrize(("kind", "name"), [("config", "docshare"), ("state", "docshare"), ("cache", "docshare/Cache")])
def test_directories_on_windows_are_below_the_local_application_data(kind: str, name: str) -> None:
    assert resolve_directory(kind, {"LOCALAPPDATA": "/AppData/Local"}, "win32") == f"/AppData/Local/{name}"


def test_each_directory_can_be_set_explicitly(tmp_path: Path) -> None:
    env = {"HOME": "/home/ann", "DOCSHARE_STATE_DIR": str(tmp_path), "XDG_STATE_HOME": "/xdg"}
    assert resolve_directory("state", env, "linux") == str(tmp_path)
    assert resolve_directory("config", env, "linux") == "/home/ann/.config/docshare"
