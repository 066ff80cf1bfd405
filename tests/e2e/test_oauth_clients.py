"""Apps that use third-party OAuth libraries, against a server in its own process."""

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from authlib.integrations.requests_client import OAuth2Session as AuthlibSession
from requests_oauthlib import OAuth2Session as OauthlibSession

from tests.support.servers.server_process import ServerProcess, make_env, run_docshare, run_server

REDIRECT = "http://127.0.0.1/callback"
SCOPES = ["files:read", "profile"]


@pytest.fixture(autouse=True)
def allow_plain_http(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow http: the test server is local, and both libraries would reject anything but https."""
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with run_server(tmp_path_factory.mktemp("oauth"), DOCSHARE_ADDRESS_LIMIT="100000") as running:
        yield running


@pytest.fixture(scope="module")
def metadata(server: ServerProcess) -> dict[str, Any]:
    """Return the metadata of the server, the only configuration of an app."""
    root = requests.get(f"{server.url}/api/v1", timeout=10).json()
    found: dict[str, Any] = requests.get(root["authentication"]["oauth"]["authorizationServer"], timeout=10).json()
    return found


def run_admin(server: ServerProcess, *args: str) -> Any:
    done = run_docshare("admin", "--data", str(server.data_dir), *args, "--json", env=make_env(server.data_dir.parent))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def client(server: ServerProcess) -> dict[str, str]:
    """Return an app with a secret, registered on the command line."""
    made: dict[str, str] = run_admin(server, "client", "create", "Reports", "--redirect-uri", REDIRECT)
    return made


@pytest.fixture(scope="module")
def browser(server: ServerProcess) -> requests.Session:
    """Return the browser of the signed-in owner."""
    session = requests.Session()
    url = run_admin(server, "login-link", "owner@example.com")["url"]
    assert session.post(url, timeout=10).status_code == 200
    return session


def approve(browser: requests.Session, address: str) -> str:
    """Return the redirect after the owner pressed "Allow"."""
    page = browser.get(address, timeout=10)
    found = re.search(r'name="csrf" value="([^"]+)"', page.text)
    assert found is not None, page.text
    data = {"csrf": found[1], "decision": "approve"}
    answer = browser.post(address, data=data, timeout=10, allow_redirects=False)
    assert answer.status_code == 303
    return answer.headers["Location"]


def test_authlib_gets_refreshes_and_revokes_tokens(
    server: ServerProcess, client: dict[str, str], browser: requests.Session, metadata: dict[str, Any]
) -> None:
    verifier = "authlib-" + "v" * 50
    with AuthlibSession(
        client["clientId"],
        client["clientSecret"],
        scope=" ".join(SCOPES),
        redirect_uri=REDIRECT,
        code_challenge_method="S256",
        token_endpoint=metadata["token_endpoint"],
    ) as app:
        address, state = app.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier)
        back = approve(browser, address)
        assert parse_qs(urlsplit(back).query)["iss"] == [metadata["issuer"]]
        first = app.fetch_token(authorization_response=back, state=state, code_verifier=verifier)
        assert app.get(f"{server.url}/api/v1/user", timeout=10).json()["email"] == "owner@example.com"
        second = app.refresh_token(metadata["token_endpoint"], refresh_token=first["refresh_token"])
        assert second["access_token"] != first["access_token"]
        assert app.get(f"{server.url}/api/v1/files", timeout=10).json() == []
        assert app.revoke_token(metadata["revocation_endpoint"], token=second["refresh_token"]).status_code == 200
    headers = {"Authorization": f"Bearer {second['access_token']}"}
    assert requests.get(f"{server.url}/api/v1/files", headers=headers, timeout=10).status_code == 401


def test_requests_oauthlib_gets_refreshes_and_revokes_tokens(
    server: ServerProcess, browser: requests.Session, metadata: dict[str, Any]
) -> None:
    made = run_admin(server, "client", "create", "Script", "--redirect-uri", REDIRECT, "--public")
    assert "clientSecret" not in made
    with OauthlibSession(
        made["clientId"], scope=SCOPES, redirect_uri="http://127.0.0.1:49152/callback", pkce="S256"
    ) as app:
        address, _ = app.authorization_url(metadata["authorization_endpoint"])
        back = approve(browser, address)
        assert back.startswith("http://127.0.0.1:49152/callback?")
        first = app.fetch_token(
            metadata["token_endpoint"], authorization_response=back, include_client_id=True, timeout=10
        )
        assert app.get(f"{server.url}/api/v1/user", timeout=10).status_code == 200
        second = app.refresh_token(metadata["token_endpoint"], client_id=made["clientId"], timeout=10)
        assert second["refresh_token"] != first["refresh_token"]
        assert app.get(f"{server.url}/api/v1/files", timeout=10).status_code == 200
        form = {"token": second["refresh_token"], "client_id": made["clientId"]}
        assert app.post(metadata["revocation_endpoint"], data=form, timeout=10).status_code == 200
        assert app.get(f"{server.url}/api/v1/files", timeout=10).status_code == 401


def test_one_of_twenty_concurrent_refreshes_succeeds_and_the_grant_stays_valid(
    client: dict[str, str], browser: requests.Session, metadata: dict[str, Any]
) -> None:
    verifier = "v" * 43
    with AuthlibSession(
        client["clientId"],
        client["clientSecret"],
        scope="files:read",
        redirect_uri=REDIRECT,
        code_challenge_method="S256",
        token_endpoint=metadata["token_endpoint"],
    ) as app:
        address, _ = app.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier)
        token = app.fetch_token(authorization_response=approve(browser, address), code_verifier=verifier)
    auth = (client["clientId"], client["clientSecret"])
    for _ in range(3):
        answers: list[requests.Response] = []
        start = threading.Barrier(20)

        def refresh(
            refresh_token: str, start: threading.Barrier = start, responses: list[requests.Response] = answers
        ) -> None:
            start.wait()
            form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
            responses.append(requests.post(metadata["token_endpoint"], data=form, auth=auth, timeout=30))

        threads = [threading.Thread(target=refresh, args=(token["refresh_token"],)) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answer.status_code for answer in answers) == [200] + [400] * 19
        assert {answer.json()["error"] for answer in answers if answer.status_code == 400} == {"invalid_grant"}
        (token,) = (answer.json() for answer in answers if answer.status_code == 200)


def test_client_list_and_remove(server: ServerProcess, browser: requests.Session) -> None:
    made = run_admin(server, "client", "create", "Short lived", "--redirect-uri", "https://app.example.com/cb")
    listed = {row["clientId"]: row for row in run_admin(server, "client", "list")}
    assert listed["docshare-cli"]["public"] is True
    assert listed[made["clientId"]]["redirectUris"] == ["https://app.example.com/cb"]
    assert "clientSecret" not in listed[made["clientId"]]
    assert run_admin(server, "client", "remove", made["clientId"], "--yes")["name"] == "Short lived"
    assert made["clientId"] not in {row["clientId"] for row in run_admin(server, "client", "list")}


@pytest.mark.parametrize(
    ("args", "code", "expected"),
    [
        (("create", "X", "--redirect-uri", "http://app.example.com/cb"), 9, "is not an allowed redirect URI"),
        (("create", "X"), 2, "redirect-uri"),
        (("remove", "nobody", "--yes"), 3, "There is no client 'nobody'"),
        (("remove", "docshare-cli"), 2, "--yes"),
    ],
)
def test_invalid_client_commands_exit_with_their_code(
    server: ServerProcess, args: tuple[str, ...], code: int, expected: str
) -> None:
    folder: Path = server.data_dir.parent
    done = run_docshare("admin", "--data", str(server.data_dir), "client", *args, env=make_env(folder))
    assert (done.returncode, done.stdout) == (code, "")
    assert expected in done.stderr
