"""Which requests this process computes as pages of links."""

import pytest

from docshare.server.app import is_link_page


@pytest.mark.parametrize(
    "path",
    [
        "/Ab3dEf9h",
        "/annual-report",
        "/embed/Ab3dEf9h",
        "/oembed",
        "/api/files/Ab3dEf9h/qr-code",
    ],
)
def test_pages_and_codes_of_links_are_link_pages(path: str) -> None:
    assert is_link_page("GET", path)
    assert is_link_page("HEAD", path)
    assert not is_link_page("POST", path)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/healthz",
        "/metrics",
        "/login",
        "/files",
        "/readership",
        "/api/v1",
        "/api/v1/files/Ab3dEf9h/qr-code",
        "/api/files/Ab3dEf9h/metadata",
        "/Ab3dEf9h/pages/1-800.jpg",
        "/Ab3dEf9h/tiles/1/2x3/0-0.jpg",
        "/Ab3dEf9h/beacon",
        "/static/0/viewer.js",
    ],
)
def test_health_owners_images_and_the_api_are_not(path: str) -> None:
    assert not is_link_page("GET", path)
