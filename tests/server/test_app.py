"""Which requests this process computes by itself."""

import pytest

from docshare.server.app import find_kind
from docshare.server.http.fair_queue import ComputedKind


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
