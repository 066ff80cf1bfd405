"""A fake server for uploads, for the tests of ``docshare upload``."""

from __future__ import annotations

import threading
from typing import Any

from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, RecordedRequest

PDF = b"%PDF-1.7\n" + b"x" * 1015


def share_url(number: int) -> str:
    return f"https://d.example/aB3dE5fG7h{number:02}"


class FakeUploads:
    """Stores uploads and numbers them. ``errors``: error responses by file name."""

    def __init__(self, api: FakeApi) -> None:
        self.uploads: list[tuple[str, bytes]] = []
        self.errors: dict[str, FakeResponse] = {}
        self._lock = threading.Lock()
        api.on("POST", "/files", self.receive)

    def receive(self, heard: RecordedRequest) -> Any:
        name, content = heard.part()
        if name in self.errors:
            return self.errors[name]
        with self._lock:
            self.uploads.append((name, content))
            number = len(self.uploads)
        return {
            "uuid": UUID.format(number),
            "shortId": f"aB3dE5fG7h{number:02}",
            "shareUrl": share_url(number),
            "message": "Stored.",
        }
