"""A client of a saved login renews it once, in one thread at a time, and does not repeat the request after an error."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from docshare import Client
from docshare.client.errors import ConnectionLost, MissingCredential, Refused
from tests.support.outside.fake_api import FakeApi, FakeResponse, FakeTime, RecordedRequest, problem

METADATA = "/.well-known/oauth-authorization-server"
HOUR_MS = 3_600_000


class RotatingServer:
    """Token endpoint of a server that rotates refresh tokens: a second use revokes the login.

    ``sent``: every refresh token received; ``is_revoked``: one came twice; ``failure``: the response instead of the
    new pair, which the server has issued nevertheless.
    """

    def __init__(self, api: FakeApi) -> None:
        self.sent: list[str] = []
        self.access, self.refresh = "access-0", "refresh-0"
        self.is_revoked = False
        self.failure: FakeResponse | None = None
        self._lock = threading.Lock()
        endpoints = {"authorization_endpoint": "/oauth/authorize", "token_endpoint": "/oauth/token"}
        api.on("GET", METADATA, {"issuer": api.url} | {name: api.url + path for name, path in endpoints.items()})
        api.on("POST", "/oauth/token", self.rotate)
        api.on("GET", "/user", self.show_user)
        api.on("POST", "/files", self.store)

    def rotate(self, heard: RecordedRequest) -> Any:
        (token,) = parse_qs(heard.body.decode())["refresh_token"]
        with self._lock:
            self.sent.append(token)
            if token != self.refresh or self.is_revoked:
                self.is_revoked = True
                return FakeResponse({"error": "invalid_grant", "error_description": "the token was used before"}, 400)
            number = len(self.sent)
            self.access, self.refresh = f"access-{number}", f"refresh-{number}"
            issued = {"access_token": self.access, "refresh_token": self.refresh, "expires_in": 3600, "scope": "x"}
            return self.failure or issued

    def show_user(self, heard: RecordedRequest) -> Any:
        return {"uuid": "1"} if self._is_authorized(heard) else problem(401, "unauthorized")

    def store(self, heard: RecordedRequest) -> Any:
        if not self._is_authorized(heard):
            return problem(401, "unauthorized")
        return FakeResponse({"uuid": "1", "content": heard.part()[1].decode()}, 201)

    def _is_authorized(self, heard: RecordedRequest) -> bool:
        return not self.is_revoked and heard.headers["Authorization"] == f"Bearer {self.access}"


@pytest.fixture
def server(api: FakeApi) -> RotatingServer:
    return RotatingServer(api)


@pytest.fixture
def connect_profile(api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], Client]]:
    """Return a function that saves a login that expires in so many milliseconds, and connects its profile."""
    clients: list[Client] = []
    (tmp_path / "config.toml").write_text(f'profile = "work"\n[profiles.work]\nurl = "{api.url}"\n')
    monkeypatch.setenv("DOCSHARE_CONFIG_DIR", str(tmp_path))
    for name in ("DOCSHARE_URL", "DOCSHARE_TOKEN", "DOCSHARE_PROFILE"):
        monkeypatch.delenv(name, raising=False)

    def connect(milliseconds: int, **changes: Any) -> Client:
        login = {
            "origin": api.url, "token": "access-0", "refresh": "refresh-0", "client_id": "app", "account": "a",
            "expires_at": int(time.time() * 1000) + milliseconds,
        } | changes  # fmt: skip
        (tmp_path / "credentials.json").write_text(json.dumps({"version": 1, "profiles": {"work": login}}))
        clients.append(Client(clock=FakeTime().make_clock()))
        return clients[-1]

    yield connect
    for client in clients:
        client.close()


def read_login(folder: Path) -> dict[str, Any]:
    saved: dict[str, Any] = json.loads((folder / "credentials.json").read_text())["profiles"]["work"]
    return saved


def list_tokens(api: FakeApi, method: str, path: str) -> list[str]:
    return [heard.headers["Authorization"].removeprefix("Bearer ") for heard in api.list_requests(method, path)]


@pytest.mark.parametrize("milliseconds", [-1, 59_000])
def test_a_login_about_to_expire_is_renewed_before_the_request_and_saved(
    api: FakeApi, server: RotatingServer, connect_profile: Callable[[int], Client], tmp_path: Path, milliseconds: int
) -> None:
    client = connect_profile(milliseconds)
    client.account.show()
    client.account.show()
    assert server.sent == ["refresh-0"]
    assert list_tokens(api, "GET", "/user") == ["access-1", "access-1"]
    saved = read_login(tmp_path)
    assert (saved["token"], saved["refresh"], saved["account"]) == ("access-1", "refresh-1", "a")
    assert saved["expires_at"] > time.time() * 1000 + HOUR_MS - 60_000
    assert (tmp_path / "credentials.json").stat().st_mode & 0o077 == 0


def test_a_login_that_the_server_rejects_is_renewed_and_the_request_sent_again(
    api: FakeApi, server: RotatingServer, connect_profile: Callable[[int], Client], tmp_path: Path
) -> None:
    server.access = "access-elsewhere"
    client = connect_profile(HOUR_MS)
    client.account.show()
    assert list_tokens(api, "GET", "/user") == ["access-0", "access-1"]
    assert read_login(tmp_path)["refresh"] == "refresh-1"


def test_an_upload_that_the_server_rejects_is_sent_whole_after_the_renewal(
    api: FakeApi, server: RotatingServer, connect_profile: Callable[[int], Client]
) -> None:
    server.access = "access-elsewhere"
    stored: Any = connect_profile(HOUR_MS).files.upload(b"%PDF-1.7", name="offer.pdf")
    assert stored["content"] == "%PDF-1.7"
    assert list_tokens(api, "POST", "/files") == ["access-0", "access-1"]


def test_a_request_that_is_rejected_again_fails_after_one_renewal(
    api: FakeApi, server: RotatingServer, connect_profile: Callable[[int], Client]
) -> None:
    api.on("GET", "/user", problem(401, "unauthorized"))
    with pytest.raises(Refused, match="no"):
        connect_profile(HOUR_MS).account.show()
    assert server.sent == ["refresh-0"]
    assert list_tokens(api, "GET", "/user") == ["access-0", "access-1"]


def test_an_api_key_is_not_renewed(
    api: FakeApi, server: RotatingServer, connect_profile: Callable[..., Client]
) -> None:
    api.on("GET", "/user", problem(401, "unauthorized"))
    with pytest.raises(Refused):
        connect_profile(HOUR_MS, refresh=None).account.show()
    assert len(api.requests) == 1


@pytest.mark.parametrize("milliseconds", [-1, HOUR_MS], ids=["expired", "rejected"])
@pytest.mark.parametrize(
    "failure", [FakeResponse(connection_action="drop"), problem(502, "internal")], ids=["drop", "502"]
)
def test_a_refresh_token_is_not_sent_again_after_a_lost_response(
    server: RotatingServer, connect_profile: Callable[[int], Client], tmp_path: Path, failure: FakeResponse,
    milliseconds: int,
) -> None:  # fmt: skip
    """The request of the caller may be repeated, and the one for its token may not."""
    server.failure, server.access = failure, "access-elsewhere"
    with pytest.raises((ConnectionLost, Refused)):
        connect_profile(milliseconds).account.show()
    assert server.sent == ["refresh-0"]
    assert not server.is_revoked
    assert read_login(tmp_path)["refresh"] == "refresh-0"


def test_a_refused_renewal_asks_for_a_new_login(
    server: RotatingServer, connect_profile: Callable[[int], Client], tmp_path: Path
) -> None:
    server.refresh = "refresh-elsewhere"
    with pytest.raises(MissingCredential, match="the login of profile 'work' has expired: the token was used before"):
        connect_profile(-1).account.show()
    assert server.sent == ["refresh-0"]
    assert read_login(tmp_path)["refresh"] == "refresh-0"


@pytest.mark.parametrize("milliseconds", [-1, HOUR_MS], ids=["expired", "rejected"])
def test_concurrent_clients_renew_a_login_only_once(
    server: RotatingServer, connect_profile: Callable[[int], Client], milliseconds: int
) -> None:
    server.access = "access-elsewhere"
    clients = [connect_profile(milliseconds).fork() for _ in range(6)]
    barrier = threading.Barrier(len(clients))

    def show(client: Client) -> str:
        with client:
            barrier.wait()
            return client.account.show()["uuid"]

    with ThreadPoolExecutor(len(clients)) as pool:
        assert list(pool.map(show, clients)) == ["1"] * len(clients)
    assert server.sent == ["refresh-0"]
