"""Rate limits and their headers on every response."""

import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import http_sf
import pytest
from werkzeug.datastructures import Headers
from werkzeug.test import TestResponse

from docshare.server.services.accounts import accounts
from tests.api.route_table import UNKNOWN_UUID
from tests.support.people.cast import Person, World

HEADERS = ("RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
Make = Callable[..., World]


def parse_rate_limit(headers: Headers) -> tuple[str, int, int, str, int, int]:
    """Parse name, r and t of RateLimit and name, q and w of RateLimit-Policy as structured fields."""
    [(state, is_at)] = http_sf.parse(headers["RateLimit"].encode(), tltype="list")
    [(policy, says)] = http_sf.parse(headers["RateLimit-Policy"].encode(), tltype="list")
    return state, is_at["r"], is_at["t"], policy, says["q"], says["w"]


def upload_junk(person: Person, name: str = "file", content: bytes = b"not a pdf") -> TestResponse:
    return person.post("/api/v1/files", data={name: (io.BytesIO(content), "a.pdf")})


RESPONSES: dict[str, tuple[int, Callable[[World], TestResponse]]] = {
    "discovery": (200, lambda world: world.http.get("/api/v1")),
    "account": (200, lambda world: world.pia.get("/api/v1/user")),
    "no credential": (401, lambda world: world.http.get("/api/v1/user")),
    "bad credential": (401, lambda world: world.http.get("/api/v1/user", headers={"Authorization": "Bearer x"})),
    "plain text": (403, lambda world: world.fay.get("/api/v1/gate-responses")),
    "unknown file": (404, lambda world: world.pia.get(f"/api/v1/files/{UNKNOWN_UUID}")),
    "unknown route": (404, lambda world: world.http.get("/api/v1/nope")),
    "wrong method": (405, lambda world: world.pia.put("/api/v1/user")),
    "not a pdf": (400, lambda world: upload_junk(world.pia)),
    "no file": (400, lambda world: upload_junk(world.pia, name="other")),
    "not a form": (415, lambda world: world.pia.post("/api/v1/files", data=b"x", content_type="text/plain")),
    "broken pdf": (422, lambda world: upload_junk(world.pia, content=b"%PDF-1.7 and no more")),
    "public": (404, lambda world: world.http.get(f"/api/files/{UNKNOWN_UUID}/qr-code")),
}


@pytest.mark.parametrize("name", RESPONSES)
def test_every_response_has_both_kinds_of_rate_limit_headers(world: World, name: str) -> None:
    """RateLimit and RateLimit-Policy agree with the X-RateLimit headers."""
    status, ask = RESPONSES[name]
    answer = ask(world)
    assert answer.status_code == status
    assert [header for header in HEADERS if header not in answer.headers] == []
    state, left, reset, policy, limit, window = parse_rate_limit(answer.headers)
    assert state == policy
    assert window == 60
    assert 0 < reset <= window
    assert left == limit - 1
    assert answer.headers["X-RateLimit-Limit"] == str(limit)
    assert answer.headers["X-RateLimit-Remaining"] == str(left)
    assert answer.headers["X-RateLimit-Reset"] == str(reset)


def test_the_default_limit_is_120_requests_per_minute(world: World) -> None:
    """The limit applies to each bearer token."""
    assert world.pia.get("/api/v1/user").headers["RateLimit-Policy"] == '"default";q=120;w=60'


def test_request_121_of_a_minute_is_429(world: World) -> None:
    statuses = [world.pia.get("/api/v1/events").status_code for _ in range(121)]
    assert statuses == [200] * 120 + [429]


def test_a_429_has_retry_after_and_a_later_request_succeeds(make: Make) -> None:
    """Retry-After is not shorter than the reset of RateLimit."""
    world = make(rate_limit=2)
    world.pia.get("/api/v1/user")
    world.clock.advance(seconds=20)
    world.pia.get("/api/v1/user")
    refused = world.pia.get("/api/v1/user")
    assert refused.status_code == 429
    assert refused.get_json()["code"] == "rate_limited"
    assert int(refused.headers["Retry-After"]) == 40
    assert int(refused.headers["Retry-After"]) >= parse_rate_limit(refused.headers)[2]
    assert refused.headers["X-RateLimit-Remaining"] == "0"
    world.clock.advance(seconds=40)
    assert world.pia.get("/api/v1/user").status_code == 200


def test_two_keys_of_one_account_have_separate_limits(make: Make) -> None:
    """The limit applies to the key, not to the account."""
    world = make(rate_limit=1)
    other = accounts.create_key(world.rt, world.pia.email, "other").key
    assert world.pia.get("/api/v1/user").status_code == 200
    assert world.pia.get("/api/v1/user").status_code == 429
    assert world.http.get("/api/v1/user", headers={"Authorization": f"Bearer {other}"}).status_code == 200


@pytest.mark.parametrize("spelling", ["bearer {key}", "Bearer  {key}", "BEARER {key} "])
def test_another_spelling_of_the_header_shares_the_same_limit(make: Make, spelling: str) -> None:
    world = make(rate_limit=1)
    assert world.pia.get("/api/v1/user").status_code == 200
    again = world.http.get("/api/v1/user", headers={"Authorization": spelling.replace("{key}", world.pia.key)})
    assert again.status_code == 429


def test_requests_to_unknown_routes_count_against_the_limit(make: Make) -> None:
    world = make(rate_limit=2)
    assert [world.pia.get("/api/v1/nope").status_code for _ in range(3)] == [404, 404, 429]


def test_invalid_credentials_are_limited_by_address(make: Make) -> None:
    """An address is limited to 60 invalid tokens per minute, even if all tokens differ."""
    world = make()
    statuses = [
        world.http.get("/api/v1/user", headers={"Authorization": f"Bearer guess{number}"}).status_code
        for number in range(61)
    ]
    assert statuses == [401] * 60 + [429]


def test_a_valid_key_works_from_an_address_at_its_limit(make: Make) -> None:
    world = make(address_limit=1)
    for _ in range(3):
        world.http.get("/api/v1/user", headers={"Authorization": "Bearer guess"})
    assert world.pia.get("/api/v1/user").status_code == 200


def test_an_invalid_credential_counts_on_unknown_routes(make: Make) -> None:
    """Otherwise an attacker could test tokens on these routes without limit."""
    world = make(address_limit=1)
    guess = {"Authorization": "Bearer guess"}
    assert world.http.get("/api/v1/nope", headers=guess).status_code == 401
    assert world.http.get("/api/v1/nope", headers=guess).status_code == 429


def test_requests_without_a_credential_are_limited_by_address(make: Make) -> None:
    world = make(rate_limit=2)
    assert [world.http.get("/api/v1").status_code for _ in range(3)] == [200, 200, 429]
    elsewhere = {"REMOTE_ADDR": "198.51.100.9"}
    assert world.http.get("/api/v1", environ_base=elsewhere).status_code == 200


def test_the_public_qr_code_has_its_own_limit(world: World) -> None:
    """An address is limited to 60 requests per minute."""
    short_id = world.pia.upload()["shortId"]
    statuses = [world.http.get(f"/api/files/{short_id}/qr-code").status_code for _ in range(61)]
    assert statuses == [200] * 60 + [429]
    assert world.http.get(f"/api/files/{short_id}/qr-code").headers["Retry-After"] == "60"
    assert world.http.get("/api/v1").status_code == 200


def test_forwarded_addresses_of_untrusted_clients_are_ignored(make: Make) -> None:
    world = make(rate_limit=1)
    first = world.http.get("/api/v1", headers={"X-Forwarded-For": "198.51.100.1"})
    second = world.http.get("/api/v1", headers={"X-Forwarded-For": "198.51.100.2"})
    assert [first.status_code, second.status_code] == [200, 429]


def test_addresses_behind_a_trusted_proxy_are_counted_separately(make: Make) -> None:
    from ipaddress import ip_network

    world = make(rate_limit=1, trusted_proxies=(ip_network("127.0.0.0/8"),))
    first = world.http.get("/api/v1", headers={"X-Forwarded-For": "198.51.100.1"})
    second = world.http.get("/api/v1", headers={"X-Forwarded-For": "198.51.100.2"})
    assert [first.status_code, second.status_code] == [200, 200]


def test_exactly_the_limit_of_concurrent_requests_succeeds(make: Make) -> None:
    """16 threads send 160 requests."""
    world = make()

    def ask(_: int) -> int:
        return world.app.test_client().get("/api/v1/events", headers=world.pia.headers).status_code

    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(ask, range(160)))
    assert statuses.count(200) == 120
    assert statuses.count(429) == 40
