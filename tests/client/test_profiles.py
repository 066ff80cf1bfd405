"""``Client()`` finds its server and credential in the arguments, the environment, and the profile, in this order."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from docshare import Client
from docshare.client.errors import BadAddress, ClientError, MissingCredential
from docshare.client.login.credentials import Credential
from docshare.client.login.profiles import find_connection

WORK, HOME = "https://work.example", "https://home.example"
FAR_FUTURE_MS = 99_999_999_999_999


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A configuration with two profiles, of which "home" is the default."""
    (tmp_path / "config.toml").write_text(
        f'profile = "home"\n[profiles.work]\nurl = "{WORK}"\n[profiles.home]\nurl = "{HOME}"\n[profiles.bare]\n'
        f'url = "{HOME}"\n[profiles.pass]\nurl = "{HOME}"\ntoken_command = "{sys.executable} -c \'print(7)\'"\n'
    )
    save_credentials(tmp_path, work={"origin": WORK, "token": "saved-work"}, home={"origin": HOME, "token": "saved"})
    found = {"DOCSHARE_CONFIG_DIR": str(tmp_path)}
    for name in ("DOCSHARE_URL", "DOCSHARE_TOKEN", "DOCSHARE_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DOCSHARE_CONFIG_DIR", str(tmp_path))
    return found


def save_credentials(folder: Path, **profiles: dict[str, Any]) -> None:
    (folder / "credentials.json").write_text(json.dumps({"version": 1, "profiles": profiles}))


def reject_exchange(held: Credential) -> Any:
    raise AssertionError("nothing here may be renewed")


def find(env: dict[str, str], url: str | None = None, token: str | None = None, profile: str | None = None) -> Any:
    found = find_connection(url, token, profile, env, reject_exchange)
    return found.url, found.token() if callable(found.token) else found.token


FULL = {"DOCSHARE_URL": WORK, "DOCSHARE_TOKEN": "from-env"}


@pytest.mark.parametrize(
    ("more", "arguments", "wanted"),
    [
        ({}, {}, (HOME, "saved")),
        (FULL, {}, (WORK, "from-env")),
        ({"DOCSHARE_PROFILE": "work"}, {}, (WORK, "saved-work")),
        ({"DOCSHARE_TOKEN": "from-env"}, {}, (HOME, "from-env")),
        (FULL, {"profile": "home"}, (HOME, "saved")),
        (FULL, {"token": "given"}, (WORK, "given")),
        (FULL, {"profile": "home", "token": "given"}, (HOME, "given")),
        ({}, {"profile": "work", "url": WORK + "/base"}, (WORK + "/base", "saved-work")),
        ({}, {"profile": "pass"}, (HOME, "7")),
    ],
)
def test_an_argument_wins_over_the_environment_and_that_over_the_profile(
    env: dict[str, str], more: dict[str, str], arguments: dict[str, str], wanted: tuple[str, str]
) -> None:
    assert find({**env, **more}, **arguments) == wanted


@pytest.mark.parametrize(
    ("more", "arguments", "kind", "message"),
    [
        ({"DOCSHARE_URL": WORK}, {}, MissingCredential, "belongs to https://home.example, not https://work.example"),
        ({}, {"profile": "work", "url": HOME}, MissingCredential, "belongs to https://work.example"),
        ({}, {"profile": "pass", "url": WORK}, MissingCredential, "no credential"),
        ({}, {"profile": "bare"}, MissingCredential, "no credential"),
        ({}, {"profile": "nobody"}, BadAddress, "no profile 'nobody'"),
        ({"DOCSHARE_CONFIG_DIR": "/nonexistent"}, {}, BadAddress, "no server given"),
        ({"DOCSHARE_CONFIG_DIR": "/nonexistent", "DOCSHARE_URL": WORK}, {}, MissingCredential, "no credential"),
    ],
)
def test_a_credential_is_used_for_its_origin_only(
    env: dict[str, str], more: dict[str, str], arguments: dict[str, str], kind: type[ClientError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        find({**env, **more}, **arguments)


def test_a_renewed_login_is_used_and_an_expired_one_is_reported(env: dict[str, str], tmp_path: Path) -> None:
    login = {"origin": HOME, "token": "first", "refresh": "r", "expires_at": FAR_FUTURE_MS}
    save_credentials(tmp_path, home=login)
    token = find_connection(None, None, None, env, reject_exchange).token
    assert callable(token)
    assert token() == "first"
    save_credentials(tmp_path, home={**login, "token": "second"})
    assert token() == "second"
    save_credentials(tmp_path, home={**login, "expires_at": 1})
    with pytest.raises(MissingCredential, match="has expired"):
        token()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="requires pipes")
@pytest.mark.parametrize(("name", "error"), [("config.toml", BadAddress), ("credentials.json", MissingCredential)])
def test_a_pipe_is_not_read(env: dict[str, str], tmp_path: Path, name: str, error: type[ClientError]) -> None:
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(error, match=name):
        find(env)


def test_a_client_takes_the_profile_and_shows_no_secret(env: dict[str, str]) -> None:
    client = Client(profile="work")
    assert client.base_url == WORK
    assert repr(client) == "<Client of https://work.example, with a credential>"
    assert repr(client.files) == "<FilesApi of https://work.example>"
    assert (
        repr(find_connection(None, "secret", "work", env, reject_exchange)) == f"ServerAccess(url='{WORK}', token=***)"
    )


def test_a_client_with_an_address_is_anonymous(env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCSHARE_TOKEN", "from-env")
    assert repr(Client(HOME)) == "<Client of https://home.example, no credential>"
