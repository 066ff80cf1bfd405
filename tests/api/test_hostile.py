"""Hostile input is rejected on every route and never causes an internal error."""

import pytest

from tests.api.route_table import ROUTES, fill_path
from tests.support.people.cast import World

HUGE = "9" * 5000
HOSTILE_NAMES = [
    "%00",
    "%ff",
    "%ed%a0%80",
    "%0d%0aSet-Cookie:%20a=b",
    "..%2f..%2fetc",
    "%F0%9F%99%82",
    "１２３４５６７８９０１２",
    "ＡＢＣＤＥＦＧＨＩＪＫＬ",
    "00000000-0000-4000-8000-00000000000０",
    "{00000000-0000-4000-8000-000000000000}",
    "urn:uuid:00000000-0000-4000-8000-000000000000",
    "00000000000040008000000000000000",
    "' OR 1=1 --",
    "a" * 5000,
    "null",
    "-1",
    HUGE,
]
HOSTILE_VALUES = [*HOSTILE_NAMES, "", "true", "[]", "{}", "NaN", "Infinity", "1e999", "-0", "1_000", "%2B5%20",
                  "99999999999999999999", "9223372036854775808", "-9223372036854775809", "0x10",
                  "%5B" * 5000]  # fmt: skip
QUERY_PARAMETERS = ["since", "limit", "file", "purge", "type", "unknown", "%00", "%ff", "a" * 1000]
EXPECTED_STATUSES = (200, 400, 404, 429)  # the public QR code is limited to 60 requests
HOSTILE_BODIES = {
    "nothing": b"",
    "deep json": b"[" * 5000,
    "half a pair": b'{"file": "\\ud800"}',
    "nul": b"\x00" * 100,
    "utf-16": '{"file": 1}'.encode("utf-16"),
    "half a form": b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n%PDF',
    "no name": b"--x\r\nContent-Disposition: form-data\r\n\r\nx\r\n--x--\r\n",
    "crlf in name": b'--x\r\nContent-Disposition: form-data; name="file"; filename="a\r\nb.pdf"\r\n\r\nx\r\n--x--\r\n',
    "bytes in name": b'--x\r\nContent-Disposition: form-data; name="file"; filename="\xff\x80"\r\n\r\nx\r\n--x--\r\n',
    "a thousand parts": b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n' * 1000 + b"--x--\r\n",
    "a long field": b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n' + b"x" * 70_000 + b"\r\n--x--\r\n",
}
CONTENT_TYPES = ["multipart/form-data; boundary=x", "multipart/form-data", "multipart/form-data; boundary=",
                 "application/json", "text/plain", "\xff", "multipart/form-data; boundary=" + "x" * 5000]  # fmt: skip


@pytest.fixture
def unlimited_world(make: object) -> World:
    """Create a world with rate limits that no test reaches."""
    world: World = make(rate_limit=1_000_000, address_limit=1_000_000)  # type: ignore[operator]
    return world


@pytest.mark.parametrize(("method", "path"), [(method, path) for method, path, _ in ROUTES if "{uuid}" in path])
def test_a_hostile_name_in_the_path_is_404(unlimited_world: World, method: str, path: str) -> None:
    for name in HOSTILE_NAMES:
        unlimited_world.clock.advance(minutes=1)  # webhook tests are limited to 10 per minute
        answer = unlimited_world.http.open(fill_path(path, name), method=method, headers=unlimited_world.pia.headers)
        assert answer.status_code == 404, name


@pytest.mark.parametrize(("method", "path"), [(method, path) for method, path, _ in ROUTES if method != "POST"])
def test_a_hostile_parameter_is_rejected_or_ignored(unlimited_world: World, method: str, path: str) -> None:
    for value in HOSTILE_VALUES:
        query = "&".join(f"{parameter}={value}&{parameter}={value}" for parameter in QUERY_PARAMETERS)
        for target in (
            f"{fill_path(path)}?{query}",
            f"{fill_path(path)}?type=gate&{query}",
            f"{fill_path(path)}?{value}",
        ):
            status = unlimited_world.http.open(target, method=method, headers=unlimited_world.pia.headers).status_code
            assert status in EXPECTED_STATUSES, (target, status)


@pytest.mark.parametrize(("method", "path"), [(method, path) for method, path, _ in ROUTES])
def test_a_hostile_body_is_rejected_or_ignored(unlimited_world: World, method: str, path: str) -> None:
    for content_type in CONTENT_TYPES:
        for name, body in HOSTILE_BODIES.items():
            unlimited_world.clock.advance(minutes=4)  # as above; anonymous uploads are limited to 20 per hour
            answer = unlimited_world.http.open(
                fill_path(path),
                method=method,
                headers=unlimited_world.pia.headers,
                data=body,
                content_type=content_type,
            )
            expected = (400, 415) if method == "POST" else (200, 404, 429)
            if method in ("POST", "PUT") and (
                "{uuid}" in path or path == "/api/files"
            ):  # anonymous uploads are disabled here
                expected = (400, 404, 415)
            assert answer.status_code in expected, (content_type, name)
    assert list(unlimited_world.rt.blobs.tmp.iterdir()) == []


@pytest.mark.parametrize(("method", "path"), [(method, path) for method, path, _ in ROUTES])
def test_hostile_host_and_forwarding_headers_are_not_trusted(unlimited_world: World, method: str, path: str) -> None:
    for host in ("evil.example", "a b", "[::1", "x:99999", "\xe9", ""):
        headers = unlimited_world.pia.headers | {
            "Host": host,
            "X-Forwarded-For": "' OR 1",
            "X-Forwarded-Host": "evil.example",
        }
        answer = unlimited_world.http.open(fill_path(path), method=method, headers=headers)
        assert answer.status_code < 500
        assert b"evil.example" not in answer.data
