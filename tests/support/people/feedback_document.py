"""A shared document with all kinds of feedback enabled, and the requests of its owner."""

from pathlib import Path
from typing import Any

import requests
from playwright.sync_api import Page

from tests.support.documents.images import make_mp3_frame
from tests.support.documents.pdfs import A4, simple_pdf
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS
from tests.support.servers.server_process import ServerProcess

SOUND = make_mp3_frame() * 400  # ten seconds of silence


class FeedbackDocument:
    """One document of the server's owner, with ``pages`` A4 pages unless ``content`` is given. ``url``: its link."""

    def __init__(
        self,
        server: ServerProcess,
        *,
        pages: int = 4,
        content: bytes | None = None,
        filename: str = "Proof.pdf",
        **settings: Any,
    ) -> None:
        self._server = server
        content = content or simple_pdf(pages=pages, size=A4)
        made = self._request("POST", "", files={"file": (filename, content)}).json()
        self.url: str = made["shareUrl"]
        self.name: str = made["shortId"]
        self.put_settings(**ALL_FEEDBACK_SETTINGS | settings)

    def put_settings(self, **settings: Any) -> None:
        """Change settings as the owner."""
        self._request("PUT", f"/{self.name}/settings", json=settings)

    def replace(self, content: bytes) -> None:
        """Replace the document of the link as the owner."""
        self._request("POST", f"/{self.name}/content", files={"file": ("Proof.pdf", content)})

    def get_feedback(self, path: str) -> Any:
        """Return ``feedback``, ``page-marks`` or ``annotations`` for the owner."""
        return self._request("GET", f"/{self.name}/{path}").json()

    def taps_by_hotspot(self) -> dict[str, int]:
        """Return how often each hotspot was tapped, by its UUID."""
        return {row["hotspotUuid"]: row["count"] for row in self.get_feedback("readership")["hotspotTaps"]}

    def upload_sound(self) -> str:
        """Upload a sound and return its id."""
        sent = {"files": {"file": ("hello.mp3", SOUND)}, "data": {"kind": "hotspot-audio"}}
        return str(self._request("POST", f"/{self.name}/assets", **sent).json()["assetId"])

    def add_hotspot(self, page: int = 1, rect: str = "0.1,0.5,0.2,0.1", **what: str) -> str:
        """Create a hotspot on a page as the operator, with ``label``, ``link`` or ``audio``; return its UUID."""
        args = {"file": self.name, "page": str(page), "rect": rect, **what}
        return str(run_admin_command(self._server, "hotspot add", **args)["uuid"])

    def sign_in(self, page: Page) -> None:
        """Sign the owner in, in the browser of ``page``."""
        page.goto(run_admin_command(self._server, "login-link", email="owner@example.com")["url"])
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("button", name="Sign out").wait_for()

    def _request(self, method: str, path: str, **sent: Any) -> requests.Response:
        url = f"{self._server.url}/api/v1/files{path}"
        answer = requests.request(method, url, headers=self._server.headers, timeout=30, **sent)
        assert answer.ok, answer.text
        return answer


def run_admin_command(server: ServerProcess, command: str, **args: str) -> Any:
    """Run ``docshare admin COMMAND`` on a running server, over the same channel."""
    key = Path(server.data_dir / "instance.key").read_text(encoding="utf-8").strip()
    answer = requests.post(
        f"{server.url}/_admin",
        json={"command": command, "args": args},
        headers={"Authorization": f"Instance {key}"},
        timeout=30,
    )
    assert answer.status_code == 200, answer.text
    return answer.json()
