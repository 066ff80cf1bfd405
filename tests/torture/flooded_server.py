"""A server with an innocent account and attackers, for the attacks of ``rendering`` and ``conversions``."""

import io
import itertools
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from tests.support.servers.server_process import ServerProcess, make_env, run_docshare, run_server

PAGES = 900
_VERSION = re.compile(r'"version": ?"([^"]*)"')


@dataclass(frozen=True)
class AttackRequest:
    """A request of an attacker: ``body`` is the file of an upload with the API key ``key``; ``address`` the client's
    address according to the proxy, if the request comes through one; ``form`` the body of a form."""

    method: str
    url: str
    body: bytes = b""
    key: str = ""
    address: str = ""
    form: str = ""


@dataclass
class ApiAccount:
    """An account on the server at ``url``."""

    url: str
    key: str

    def upload(self, data: bytes, name: str = "document.pdf") -> tuple[int, dict[str, Any]]:
        """Upload a file; return the status and the response."""
        files = {"file": (name, io.BytesIO(data), "application/pdf")}
        answer = requests.post(f"{self.url}/api/v1/files", files=files, headers=self._headers, timeout=60)
        return answer.status_code, answer.json()

    def upload_and_share(self, data: bytes) -> str:
        """Upload a file; return its short ID. Raises AssertionError on errors."""
        status, created = self.upload(data)
        assert status == 200, (status, created)
        return str(created["shortId"])

    def put_settings(self, name: str, **settings: Any) -> None:
        """Change the settings of a file."""
        url = f"{self.url}/api/v1/files/{name}/settings"
        answer = requests.put(url, json=settings, headers=self._headers, timeout=60)
        assert answer.status_code == 200, answer.text

    def add_variant(self, name: str) -> str:
        """Create a variant; return its short ID."""
        url = f"{self.url}/api/v1/files/{name}/variants"
        answer = requests.post(url, json={"label": "one"}, headers=self._headers, timeout=60)
        assert answer.status_code in (200, 201), answer.text
        return str(answer.json()["shortId"])

    def invite(self, name: str) -> str:
        """Create an invitation; return the name of its link."""
        url, body = f"{self.url}/api/v1/files/{name}/invites", {"email": "reader@example.com"}
        answer = requests.post(url, json=body, headers=self._headers, timeout=60)
        assert answer.status_code in (200, 201), answer.text
        return str(answer.json()["url"]).rpartition("/")[2]

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}


@dataclass
class FloodedServer:
    """A server with one innocent account and any number of attackers."""

    server: ServerProcess
    folder: Path
    innocent: ApiAccount
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def create_attacker(self, tier: str = "free") -> ApiAccount:
        """Return a new account."""
        email = f"mal{next(self._numbers)}@example.com"
        data, env = str(self.server.data_dir), make_env(self.folder)
        created = run_docshare("admin", "--data", data, "account", "create", email, "--tier", tier, "--json", env=env)
        assert created.returncode == 0, created.stderr
        return ApiAccount(self.server.url, str(json.loads(created.stdout)["apiKey"]))

    def get_version(self, name: str) -> str:
        """Return the version in the page URLs of the document ``name``."""
        found = _VERSION.search(requests.get(f"{self.server.url}/{name}", timeout=60).text)
        assert found is not None
        return found[1]

    def build_image_requests(self, name: str, pages: range = range(1, PAGES + 1)) -> list[AttackRequest]:
        """Return a request for each page image of ``name``."""
        version, base = self.get_version(name), f"{self.server.url}/{name}"
        return [AttackRequest("GET", f"{base}/pages/{page}-1600.jpg?v={version}") for page in pages]

    def build_part_requests(self, name: str, *paths: str) -> list[AttackRequest]:
        """Return a request for each of ``paths`` of ``name``, which may have a query."""
        version, base = self.get_version(name), f"{self.server.url}/{name}"
        return [AttackRequest("GET", f"{base}{path}{'&' if '?' in path else '?'}v={version}") for path in paths]

    def build_text_requests(self, name: str, pages: range = range(1, PAGES + 1)) -> list[AttackRequest]:
        """Return a request for the text of each page of ``name``."""
        version, base = self.get_version(name), f"{self.server.url}/{name}"
        return [AttackRequest("GET", f"{base}/text/{page}.json?v={version}") for page in pages]


@contextmanager
def open_flooded_server(folder: Path) -> Iterator[FloodedServer]:
    """Run a server for one attack."""
    with run_server(folder, DOCSHARE_RATE_LIMIT="1000000", DOCSHARE_TRUSTED_PROXIES="127.0.0.1") as server:
        yield FloodedServer(server, folder, ApiAccount(server.url, server.token))
