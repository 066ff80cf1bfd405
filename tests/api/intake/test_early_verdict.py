"""The bundled listener rejects uploads and other bodies as soon as the headers are complete."""

import logging
from collections.abc import Callable
from ipaddress import ip_network

import pytest

from docshare.server.store.blobs import FolderStore
from tests.api.raw_client import ListenerResponse, RawClient, build_file_form, build_head, open_listener
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import count_rows
from tests.support.people.cast import Person, World
from tests.support.polling import wait_until

MB = 1024 * 1024
TYPE = "multipart/form-data; boundary=edge"
Make = Callable[..., World]


def send_upload_head(
    client: RawClient, length: int, path: str = "/api/v1/files", method: str = "POST", **headers: str
) -> ListenerResponse:
    """Send the head of an upload of ``length`` bytes and none of its body."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.send(build_head(method, path, {"Content-Length": str(length), "Content-Type": TYPE, **named}))


def upload_form(client: RawClient, person: Person, content: bytes) -> ListenerResponse:
    return client.request("POST", "/api/v1/files", {"Content-Type": TYPE, **person.headers}, build_file_form(content))


def assert_refused(reply: ListenerResponse, status: int, code: str) -> None:
    assert reply.status == status
    assert reply.headers["content-type"] == "application/problem+json"
    problem = reply.json()
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["detail"]
    assert problem["hint"]
    for name in ("ratelimit", "ratelimit-policy", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"):
        assert reply.headers[name]
    assert reply.headers["cache-control"] == "private, no-store"
    assert reply.headers["x-request-id"]
    if status in (401, 403):
        assert reply.headers["www-authenticate"].startswith("Bearer")


def list_stored_names(world: World) -> list[str]:
    return [
        path.name for root in (world.rt.blobs.root, world.rt.blobs.tmp) for path in root.rglob("*") if path.is_file()
    ]


def test_an_upload_is_stored_and_counted_once(world: World, raw_client: RawClient) -> None:
    content = simple_pdf()
    reply = upload_form(raw_client, world.pia, content)
    assert reply.status == 200, reply.body
    assert reply.headers["x-ratelimit-remaining"] == "119"
    got = raw_client.request("GET", f"/api/v1/files/{reply.json()['uuid']}/content", world.pia.headers)
    assert got.body == content
    assert got.headers["x-ratelimit-remaining"] == "118"


@pytest.mark.parametrize("value", [None, "Bearer ds_live_nobody", "Basic eDp5", "Bearer a, Bearer b"])
def test_an_invalid_credential_is_rejected_before_the_body(
    world: World, raw_client: RawClient, value: str | None
) -> None:
    """The listener does not read the body of a 200 MB upload."""
    reply = send_upload_head(raw_client, 200 * MB, **({"Authorization": value} if value else {}))
    assert_refused(reply, 401, "unauthorized")
    wait_until(lambda: not list_stored_names(world))


def test_two_authorization_headers_are_401(world: World, raw_client: RawClient) -> None:
    """The listener joins two headers with a comma, which is not valid in a credential."""
    both = build_head("POST", "/api/v1/files", {"Content-Length": "99", "Content-Type": TYPE, **world.pia.headers})
    both = both.replace(b"Host: x", b"Host: x\r\nAuthorization: " + world.pia.headers["Authorization"].encode())
    assert_refused(raw_client.send(both), 401, "unauthorized")


def test_a_full_account_is_rejected_before_the_body(world: World, raw_client: RawClient) -> None:
    for _ in range(3):
        world.fay.upload()
    assert_refused(send_upload_head(raw_client, MB, **world.fay.headers), 403, "forbidden")


@pytest.mark.parametrize(("person", "cap"), [("fay", 50 * MB), ("bea", 200 * MB), ("pia", 2048 * MB)])
def test_an_upload_above_the_plan_is_rejected_before_the_body(
    world: World, raw_client: RawClient, person: str, cap: int
) -> None:
    """The limit on Free is 50 MB here, because the listener does not know yet whether it is a presentation."""
    caller = getattr(world, person)
    assert_refused(send_upload_head(raw_client, cap + 768 * 1024 + 1, **caller.headers), 413, "payload_too_large")


def test_an_upload_of_exactly_the_limit_is_stored_and_one_more_byte_is_413(world: World, raw_client: RawClient) -> None:
    content = simple_pdf()
    exactly = content + b"\n" * (20 * MB - len(content))
    assert_refused(upload_form(raw_client, world.fay, exactly + b"\n"), 413, "payload_too_large")
    wait_until(lambda: not list_stored_names(world))
    assert upload_form(raw_client, world.fay, exactly).status == 200


def test_nine_full_fields_fit_next_to_a_file_of_exactly_the_limit(world: World, raw_client: RawClient) -> None:
    content = simple_pdf()
    exactly = content + b"\n" * (20 * MB - len(content))
    field = b'--edge\r\nContent-Disposition: form-data; name="%d"\r\n\r\n' + b"x" * 65_536 + b"\r\n"
    body = b"".join(field % number for number in range(9)) + build_file_form(exactly)
    reply = raw_client.request("POST", "/api/v1/files", {"Content-Type": TYPE, **world.fay.headers}, body)
    assert reply.status == 200, reply.body


def test_a_chunked_upload_is_413_at_the_limit(world: World, raw_client: RawClient) -> None:
    """The limit applies without a Content-Length; nothing is stored."""
    start = build_file_form(b"%PDF-1.7")[:-12]
    pieces = [start, *[b"\n" * MB] * 51]
    chunks = [f"{len(piece):x}\r\n".encode() + piece + b"\r\n" for piece in pieces]
    begun = build_head(
        "POST", "/api/v1/files", {"Transfer-Encoding": "chunked", "Content-Type": TYPE, **world.fay.headers}
    )
    refusal = raw_client.send(begun, *chunks)
    assert_refused(refusal, 413, "payload_too_large")
    assert refusal.json()["detail"] == "The file is larger than 50 MB."
    wait_until(lambda: not list_stored_names(world))


def test_an_upload_that_is_not_a_form_is_rejected_before_the_body(world: World, raw_client: RawClient) -> None:
    reply = send_upload_head(raw_client, 9 * MB, **{**world.pia.headers, "Content-Type": "application/pdf"})
    assert_refused(reply, 415, "unsupported_media_type")


def test_a_broken_form_is_400(world: World, raw_client: RawClient) -> None:
    reply = raw_client.request(
        "POST", "/api/v1/files", {"Content-Type": TYPE, **world.pia.headers}, b"this is not a form"
    )
    assert_refused(reply, 400, "bad_request")
    assert reply.headers["x-ratelimit-remaining"] == "119"
    wait_until(lambda: not list_stored_names(world))


def test_a_nearly_full_disk_rejects_an_upload_before_the_body(
    world: World, raw_client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FolderStore, "free_bytes", lambda self: 1024 * MB + 10 * MB)
    reply = send_upload_head(raw_client, 12 * MB, **world.pia.headers)
    assert_refused(reply, 503, "unavailable")
    assert int(reply.headers["retry-after"]) > 0
    assert upload_form(raw_client, world.pia, simple_pdf()).status == 200


def test_an_unknown_route_and_a_wrong_method_are_rejected_before_the_body(world: World, raw_client: RawClient) -> None:
    assert_refused(send_upload_head(raw_client, 9 * MB, "/api/v1/nope", **world.pia.headers), 404, "not_found")
    wrong = send_upload_head(raw_client, 9 * MB, "/api/v1/user", **world.pia.headers)
    assert_refused(wrong, 405, "method_not_allowed")
    assert wrong.headers["allow"] == "GET, HEAD"


def test_a_body_that_is_not_an_upload_is_limited_to_1_mb(world: World, raw_client: RawClient) -> None:
    """Only upload routes accept larger bodies."""
    refusal = send_upload_head(raw_client, MB + 1, "/api/v1/user", "GET", **world.pia.headers)
    assert_refused(refusal, 413, "payload_too_large")
    assert refusal.json()["detail"] == "The body is larger than 1 MB."
    assert raw_client.request("GET", "/api/v1/user", world.pia.headers, b"x" * MB).status == 200
    assert_refused(send_upload_head(raw_client, MB + 1, "/api/v1/user", "GET"), 401, "unauthorized")


def build_chunked_head(path: str, **headers: str) -> bytes:
    """Build the headers of a request with a chunked body."""
    return build_head("DELETE", path, {"Transfer-Encoding": "chunked", **headers})


def test_a_chunked_body_is_rejected_before_its_first_byte_and_counted_once(make: Make) -> None:
    world = make(address_limit=2)
    with open_listener(world) as client:
        for left in ("1", "0"):
            refused = client.send(build_chunked_head("/api/v1/files/abcdefghijkl", Authorization="Bearer guess"))
            assert_refused(refused, 401, "unauthorized")
            assert refused.headers["x-ratelimit-remaining"] == left
        limited = client.send(build_chunked_head("/api/v1/files/abcdefghijkl", Authorization="Bearer guess"))
        assert_refused(limited, 429, "rate_limited")


def test_a_chunked_body_without_a_credential_is_401_before_its_first_byte(raw_client: RawClient) -> None:
    refused = raw_client.send(build_chunked_head("/api/v1/files/abcdefghijkl"))
    assert_refused(refused, 401, "unauthorized")
    assert refused.headers["x-ratelimit-remaining"] == "119"


def test_a_small_chunked_body_with_a_key_is_accepted_and_counted_once(make: Make) -> None:
    world = make(rate_limit=2)
    with open_listener(world) as client:
        path = f"/api/v1/files/{world.pia.upload()['uuid']}"
        deleted = client.send(build_chunked_head(path, **world.pia.headers), b"2\r\n{}\r\n0\r\n\r\n")
        assert (deleted.status, deleted.headers["x-ratelimit-remaining"]) == (200, "0")
        assert_refused(client.send(build_chunked_head(path, **world.pia.headers)), 429, "rate_limited")


def test_an_empty_upload_is_400(raw_client: RawClient, world: World) -> None:
    """A missing ``file`` part is 400, while a body of another type is 415, even if it is chunked."""
    assert_refused(raw_client.request("POST", "/api/v1/files", world.pia.headers), 400, "bad_request")
    untyped = build_head("POST", "/api/v1/files", {"Transfer-Encoding": "chunked", **world.pia.headers})
    assert_refused(raw_client.send(untyped, b"2\r\n{}\r\n0\r\n\r\n"), 415, "unsupported_media_type")


def test_bodies_outside_the_api_are_limited_too(world: World, raw_client: RawClient) -> None:
    """The limit is 64 kB for beacons and 1 MB for everything else."""
    short_id = world.pia.upload()["shortId"]
    for path, cap in ((f"/{short_id}/beacon", 64 * 1024), ("/logout", MB)):
        reply = raw_client.send(build_head("POST", path, {"Content-Length": str(cap + 1)}))
        assert reply.status == 413
        assert "json" not in reply.headers["content-type"]
        assert raw_client.request("POST", path, {"Content-Type": "text/css"}, b"x" * cap).status != 413


def test_early_rejections_count_against_the_rate_limit(make: Make) -> None:
    world = make(rate_limit=2)
    with open_listener(world) as client:
        too_much = {**world.fay.headers}
        assert send_upload_head(client, 60 * MB, **too_much).headers["x-ratelimit-remaining"] == "1"
        assert send_upload_head(client, 9 * MB, "/api/v1/nope", **too_much).headers["x-ratelimit-remaining"] == "0"
        refused = send_upload_head(client, 60 * MB, **too_much)
        assert_refused(refused, 429, "rate_limited")
        assert refused.headers["retry-after"] == "60"
        assert client.request("GET", "/api/v1/user", world.fay.headers).status == 429


def test_the_last_request_of_a_window_may_be_an_upload(make: Make) -> None:
    world = make(rate_limit=1)
    with open_listener(world) as client:
        assert upload_form(client, world.pia, simple_pdf()).status == 200
        assert_refused(upload_form(client, world.pia, simple_pdf()), 429, "rate_limited")
    assert count_rows(world, "files") == 1


def test_invalid_credentials_on_the_upload_route_are_limited_by_address(make: Make) -> None:
    world = make(address_limit=2, trusted_proxies=(ip_network("127.0.0.1/32"),))
    with open_listener(world) as client:
        guesses = [
            send_upload_head(client, 9, Authorization=f"Bearer guess{number}", X_Forwarded_For="198.51.100.1").status
            for number in range(3)
        ]
        other = send_upload_head(client, 9, Authorization="Bearer guess", X_Forwarded_For="198.51.100.2").status
    assert guesses == [401, 401, 429]
    assert other == 401


@pytest.mark.parametrize(
    ("raw", "status", "code"),
    [
        (b"GET /api/v1 HTTP/1.1\r\n\r\n", 400, "bad_request"),
        (b"GET /api/v1 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "bad_request"),
        (b"GET /api/v1 HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 70_000 + b"\r\n\r\n", 431, "headers_too_large"),
        (b"POST /api/v1/files HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400, "bad_request"),
        (
            b"POST /api/v1/files HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            501,
            "not_implemented",
        ),
    ],
)
def test_errors_of_the_listener_are_problems(raw_client: RawClient, raw: bytes, status: int, code: str) -> None:
    """This includes requests that the listener cannot parse."""
    assert_refused(raw_client.send(raw), status, code)


def test_an_error_of_the_listener_outside_the_api_is_plain_text(raw_client: RawClient) -> None:
    reply = raw_client.send(b"GET /abcdefghijkl HTTP/1.1\r\n\r\n")
    assert reply.status == 400
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    assert reply.headers["x-request-id"]
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["x-frame-options"] == "DENY"
    assert reply.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert reply.headers["cache-control"] == "private, no-store"
    assert reply.headers["referrer-policy"] == "no-referrer"


def test_a_rejection_by_the_listener_is_logged_in_one_line_without_its_path(
    raw_client: RawClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="docshare"):
        reply = send_upload_head(raw_client, 9 * MB, "/api/v1/files/abcdefghijkl", "DELETE")
        assert_refused(reply, 401, "unauthorized")
    (line,) = [record.__dict__ for record in caplog.records if record.name.startswith("docshare")]
    assert (line["levelname"], line["message"]) == ("INFO", "refused")
    assert (line["method"], line["status"]) == ("DELETE", 401)
    assert (line["request"], line["client"]) == (reply.headers["x-request-id"], "127.0.0.1")
    assert "abcdefghijkl" not in str(line)


@pytest.mark.parametrize(
    ("proxies", "client_address"), [((), "127.0.0.1"), ((ip_network("127.0.0.1/32"),), "198.51.100.7")]
)
def test_a_rejection_is_logged_with_the_address_of_the_client(
    make: Make, caplog: pytest.LogCaptureFixture, proxies: tuple[object, ...], client_address: str
) -> None:
    world = make(trusted_proxies=proxies)
    with open_listener(world) as client, caplog.at_level(logging.INFO, logger="docshare"):
        client.send(b"GET /abcdefghijkl HTTP/1.1\r\n\r\n")
        send_upload_head(client, 9, Authorization="Bearer guess", X_Forwarded_For="198.51.100.7")
    lines = [record.__dict__ for record in caplog.records if record.message == "refused"]
    assert [(line["status"], line["client"]) for line in lines] == [(400, "127.0.0.1"), (401, client_address)]
    assert "guess" not in str(lines)
