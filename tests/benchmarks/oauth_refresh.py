"""Send twenty concurrent refreshes of one token in 100 rounds: python -m tests.benchmarks.oauth_refresh [ROUNDS]

In each round, one must succeed and nineteen must fail with ``invalid_grant``. The new tokens must work, and the grant
must stay valid. The server runs in a separate process, and each request has a separate connection.
"""

import hashlib
import json
import re
import statistics
import sys
import tempfile
import threading
import time
from base64 import urlsafe_b64encode
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import requests

from tests.benchmarks.comparison import read_amount
from tests.support.servers.server_process import ServerProcess, make_env, run_docshare, run_server

AT_ONCE = 20
CLIENT = "docshare-cli"
REDIRECT = "http://127.0.0.1:49152/callback"
VERIFIER = "v" * 43


def approve_app(server: ServerProcess) -> dict[str, Any]:
    """Approve the app in the owner's browser; return its tokens."""
    link = ["admin", "--data", str(server.data_dir), "login-link", "owner@example.com", "--json"]
    url = json.loads(run_docshare(*link, env=make_env(server.data_dir.parent)).stdout)["url"]
    query = {
        "response_type": "code",
        "client_id": CLIENT,
        "redirect_uri": REDIRECT,
        "scope": "files:read",
        "code_challenge": urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
    }
    with requests.Session() as browser:
        browser.post(url, timeout=10).raise_for_status()
        address = f"{server.url}/oauth/authorize?{urlencode(query)}"
        found = re.search(r'name="csrf" value="([^"]+)"', browser.get(address, timeout=10).text)
        assert found is not None
        form = {"csrf": found[1], "decision": "approve"}
        back = browser.post(address, data=form, timeout=10, allow_redirects=False).headers["Location"]
    code = parse_qs(urlsplit(back).query)["code"][0]
    return request_tokens(
        server, grant_type="authorization_code", code=code, redirect_uri=REDIRECT, code_verifier=VERIFIER
    ).json()


def request_tokens(server: ServerProcess, **form: str) -> requests.Response:
    """Send a token request of the app."""
    return requests.post(f"{server.url}/oauth/token", data={"client_id": CLIENT, **form}, timeout=60)


def refresh_at_once(server: ServerProcess, token: str) -> list[requests.Response]:
    """Return the responses to ``AT_ONCE`` refreshes of ``token`` that start at the same time."""
    responses: list[requests.Response] = []
    start = threading.Barrier(AT_ONCE)

    def refresh() -> None:
        start.wait()
        responses.append(request_tokens(server, grant_type="refresh_token", refresh_token=token))

    threads = [threading.Thread(target=refresh) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return responses


def main(rounds: int) -> int:
    """Run the rounds, print the results, and return the exit code."""
    seconds, outcomes, working_rounds = [], Counter[str](), 0
    with tempfile.TemporaryDirectory() as folder, run_server(Path(folder), DOCSHARE_ADDRESS_LIMIT="1000000") as server:
        tokens = approve_app(server)
        for _ in range(rounds):
            began = time.monotonic()
            responses = refresh_at_once(server, tokens["refresh_token"])
            seconds.append(time.monotonic() - began)
            outcomes.update(answer.json().get("error", "won") for answer in responses)
            winners = [answer.json() for answer in responses if answer.status_code == 200]
            if len(winners) != 1:
                print(f"{len(winners)} winners: the grant is lost" if not winners else f"{len(winners)} winners")
                break
            (tokens,) = winners
            headers = {"Authorization": f"Bearer {tokens['access_token']}"}
            working_rounds += requests.get(f"{server.url}/api/v1/files", headers=headers, timeout=10).status_code == 200
    print(f"rounds {len(seconds)} of {rounds}, {AT_ONCE} at once: {dict(outcomes)}")
    print(f"rounds whose winner's token worked: {working_rounds}")
    print(f"seconds for {AT_ONCE}: median {statistics.median(seconds):.3f}, slowest {max(seconds):.3f}")
    return 0 if outcomes == {"won": rounds, "invalid_grant": rounds * (AT_ONCE - 1)} and working_rounds == rounds else 1


if __name__ == "__main__":
    sys.exit(main(read_amount(100, 2)))
