"""Which requests this process computes by itself."""

import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import requests

from docshare.server.app import find_kind
from docshare.server.config import Config
from docshare.server.http.fair_queue import ComputedKind, RequestQueue
from docshare.server.instance import open_instance
from docshare.server.serve import bind_port, serve_instance


@pytest.mark.parametrize(
    "path",
    [
        "/Ab3dEf9h",
        "/annual-report",
        "/embed/Ab3dEf9h",
        "/oembed",
        "/api/files/Ab3dEf9h/qr-code",
        "/api/files/Ab3dEf9h/metadata",
    ],
)
def test_pages_and_codes_of_links_are_link_pages(path: str) -> None:
    assert find_kind("GET", path) is find_kind("HEAD", path) is ComputedKind.LINK_PAGE
    assert find_kind("POST", path) is None


@pytest.mark.parametrize(
    "path",
    [
        "/Ab3dEf9h/pages/1-800.jpg",
        "/Ab3dEf9h/tiles/1/2x3/0-0.jpg",
        "/Ab3dEf9h/text/1.json",
        "/annual-report/outline.json",
        "/annual-report/style.css",
        "/annual-report/search",
        "/static/0/viewer.js",
    ],
)
def test_what_a_page_loads_is_a_part(path: str) -> None:
    assert find_kind("GET", path) is find_kind("HEAD", path) is ComputedKind.PAGE_PART
    assert find_kind("POST", path) is None


@pytest.mark.parametrize(
    "path",
    ["", "/", "/login", "/login/0123", "/files", "/files/Ab3dEf9h", "/readership", "/docs"],
)
def test_pages_of_the_server_are_other_pages(path: str) -> None:
    assert find_kind("GET", path) is find_kind("HEAD", path) is ComputedKind.OTHER_PAGE
    assert find_kind("POST", path) is None


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1",
        "/api/v1/files/Ab3dEf9h/qr-code",
        "/api/files",
        "/api/files/Ab3dEf9h/download",
        "/api/files/Ab3dEf9h/metadata/more",
    ],
)
def test_what_the_api_returns_is_a_kind(path: str) -> None:
    assert find_kind("GET", path) is find_kind("HEAD", path) is ComputedKind.API
    assert find_kind("POST", path) is None


@pytest.mark.parametrize("path", ["/healthz", "/metrics", "/_admin/status"])
def test_health_metrics_and_administration_are_of_no_kind(path: str) -> None:
    assert find_kind("GET", path) is None


def test_a_served_instance_queues_requests_by_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: list[ComputedKind | None] = []
    append = RequestQueue.append

    def record(queue: RequestQueue, channel: Any) -> None:
        kinds.append(queue._find_kind(channel))
        append(queue, channel)

    monkeypatch.setattr(RequestQueue, "append", record)
    monkeypatch.setattr(tempfile, "tempdir", None)  # a server changes both for its process
    monkeypatch.setattr(sys, "setswitchinterval", lambda seconds: None)
    config = Config(data_dir=tmp_path, base_url="http://127.0.0.1:8787")
    with (
        bind_port("127.0.0.1", 0) as port,
        open_instance(config) as instance,
        serve_instance(port, instance) as serving,
    ):
        for path in ("/api/v1", "/login", "/static/0/viewer.js", "/healthz"):
            requests.get(serving.url + path, timeout=20)
    assert kinds == [ComputedKind.API, ComputedKind.OTHER_PAGE, ComputedKind.PAGE_PART, None]
