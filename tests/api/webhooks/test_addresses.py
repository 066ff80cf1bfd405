"""Addresses that webhooks may call: forbidden ones are rejected on creation, in tests and in deliveries.

Every connection is recorded.
"""

import ipaddress
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from docshare.server.outbound.addresses import Address
from docshare.server.outbound.exchange import system_resolve
from docshare.server.pdf.engine import PdfEngine
from docshare.server.store.tables import Account, Webhook
from tests.support.clock import FakeClock
from tests.support.engines.rows import count_rows
from tests.support.outside.due_deliveries import deliver_due
from tests.support.outside.forbidden_urls import FORMS, NAMES, PUBLIC, RESERVED_ADDRESSES
from tests.support.outside.receivers import open_receiver, record_replacements
from tests.support.people.cast import World, make_runtime, make_world
from tests.support.servers.connection_recorder import record_connections

EVENTS = ["content.replaced"]
NOT_CALLABLE_DETAIL = "The host of url cannot be called: its name must resolve to public addresses only."
NUMERIC_HOST_CHARACTERS = "0123456789abcdefx.:"
URLS = [*FORMS, *(f"https://{name}/hook" for name in NAMES)]


def parse_addresses(*texts: str) -> list[Address]:
    return [ipaddress.ip_address(text) for text in texts]


def resolve_host(host: str) -> list[Address]:
    """Resolve the hosts of the tests; the system resolves numeric addresses of every form."""
    if host in NAMES:
        return parse_addresses(*NAMES[host])
    return parse_addresses(PUBLIC) if host.strip(NUMERIC_HOST_CHARACTERS) else system_resolve(host)


@pytest.fixture(scope="module")
def strict_world(tmp_path_factory: pytest.TempPathFactory, engine: PdfEngine) -> Iterator[World]:
    """Create an instance for all addresses, whose operator has not allowed any host."""
    clock = FakeClock()
    rt = make_runtime(tmp_path_factory.mktemp("guarded"), clock, engine, rate_limit=1_000_000)
    rt.outbound.resolve = resolve_host
    world = make_world(rt, clock)
    world.pia.upload()
    yield world
    rt.converter.close()
    rt.pages.close()
    rt.db.close()


def post_webhook(world: World, url: object) -> Any:
    return world.pia.post("/api/v1/webhooks", json={"url": url, "events": EVENTS})


def insert_webhook(world: World, url: str) -> str:
    """Insert a webhook whose address was not checked on creation; return its UUID."""
    uuid = world.rt.random_uuid()
    with world.rt.db.write():
        Webhook.create(
            uuid=uuid, account=Account.get(Account.email == world.pia.email), url=url, peer="hook.example:443",
            format="json", events=json.dumps(EVENTS), secret=world.rt.vault.seal("whsec_00", uuid), created_at=1,
        )  # fmt: skip
    return uuid


def send_test_event(world: World, uuid: str) -> dict[str, Any]:
    world.clock.advance(minutes=1)  # the limit is ten tests per minute
    answer = world.pia.post(f"/api/v1/webhooks/{uuid}/test")
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.get_json()
    return result


def deliver_event(world: World) -> list[dict[str, Any]]:
    """Cause an event for every webhook; return the attempts of the newest webhook."""
    made = world.pia.get("/api/v1/files").get_json()[0]
    record_replacements(world, made["uuid"])
    deliver_due(world.rt)
    uuid = world.pia.get("/api/v1/webhooks").get_json()["webhooks"][0]["uuid"]
    log = world.pia.get(f"/api/v1/webhooks/{uuid}/deliveries").get_json()
    attempts: list[dict[str, Any]] = log[0]["attempts"]
    return attempts


def test_the_list_of_forbidden_addresses_has_no_duplicates() -> None:
    assert len(set(URLS)) == len(URLS) >= 150


@pytest.mark.parametrize("url", URLS, ids=repr)
def test_a_webhook_with_a_forbidden_address_is_400(strict_world: World, url: str) -> None:
    """The server does not connect to the address."""
    with record_connections() as tried:
        answer = post_webhook(strict_world, url)
    assert (answer.status_code, answer.get_json()["code"]) == (400, "bad_request")
    assert tried == []
    assert count_rows(strict_world, "webhooks") == 0


@pytest.mark.parametrize("url", URLS, ids=repr)
def test_a_forbidden_address_receives_neither_a_test_nor_a_delivery(strict_world: World, url: str) -> None:
    """The address is checked again before every request; the attempt fails without a connection."""
    uuid = insert_webhook(strict_world, url)
    with record_connections() as tried:
        result = send_test_event(strict_world, uuid)
        attempts = deliver_event(strict_world)
    strict_world.pia.delete(f"/api/v1/webhooks/{uuid}")
    assert tried == []
    assert (result["delivered"], result["status"]) == (False, 0)
    assert [attempt["status"] for attempt in attempts] == [0]
    assert attempts[0]["error"]


@pytest.mark.parametrize("address", RESERVED_ADDRESSES)
def test_reserved_addresses_that_ipaddress_considers_public_are_rejected(strict_world: World, address: str) -> None:
    """The host of the webhook resolves to the address."""
    strict_world.rt.outbound.resolve = lambda host: parse_addresses(address)
    with record_connections() as tried:
        answer = post_webhook(strict_world, "https://hook.example/")
        uuid = insert_webhook(strict_world, "https://hook.example/")
        result = send_test_event(strict_world, uuid)
    strict_world.rt.outbound.resolve = resolve_host
    strict_world.pia.delete(f"/api/v1/webhooks/{uuid}")
    assert answer.status_code == 400
    assert (result["status"], tried) == (0, [])


# --- allowed addresses -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "https://hook.example", "https://hook.example/", "HTTPS://Hook.Example/In?a=%40#x", "https://hook.example:8443/in",
        "https://hook.example:1/", "https://hook.example:65535/", "https://93.184.216.34/", "https://[2606:4700::1111]/in",
        "https://[2606:4700::1111]:8443/", "https://xn--bcher-kva.example/", "https://a_b.hook.example/", "https://127.hook.example/",
        "https://hooks.slack.com/services/T000/B000/XXXX", "https://hook.example/".ljust(2048, "a"),
    ],
)  # fmt: skip
def test_a_public_address_is_stored_unchanged(strict_world: World, url: str) -> None:
    """HTTPS is allowed on any port, and a URL may have 2048 characters."""
    with record_connections() as tried:
        answer = post_webhook(strict_world, url)
    assert answer.status_code == 201, answer.text
    made = answer.get_json()["webhook"]
    strict_world.pia.delete(f"/api/v1/webhooks/{made['uuid']}")
    assert made["url"] == url
    assert tried == []  # the host is only resolved


def test_the_server_connects_to_the_address_that_it_has_checked(strict_world: World) -> None:
    """This also shows that connections are recorded."""
    uuid = post_webhook(strict_world, "https://hook.example/").get_json()["webhook"]["uuid"]
    with record_connections() as tried:
        result = send_test_event(strict_world, uuid)
        attempts = deliver_event(strict_world)
    strict_world.pia.delete(f"/api/v1/webhooks/{uuid}")
    assert tried == [PUBLIC, PUBLIC]
    assert (result["status"], attempts[0]["status"]) == (0, 0)  # the recorder blocks connections


# --- error message ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "intranet.example", "nowhere.example", "metadata.google.internal", "mixed-first.example"]
)
def test_the_error_does_not_disclose_the_network_of_the_operator(strict_world: World, host: str) -> None:
    """The detail has no internal address and is the same for private and for unknown hosts."""
    problem = post_webhook(strict_world, f"https://{host}/").get_json()
    assert problem["detail"] == NOT_CALLABLE_DETAIL
    assert "DOCSHARE_WEBHOOK_ALLOW" in problem["hint"]


@pytest.mark.parametrize("failure", [OSError("no such name"), UnicodeError("label too long"), TimeoutError()])
def test_a_webhook_with_a_host_that_cannot_be_resolved_is_400(strict_world: World, failure: Exception) -> None:
    def fail(host: str) -> list[Address]:
        raise failure

    strict_world.rt.outbound.resolve = fail
    answer = post_webhook(strict_world, "https://hook.example/")
    strict_world.rt.outbound.resolve = resolve_host
    assert (answer.status_code, answer.get_json()["detail"]) == (400, NOT_CALLABLE_DETAIL)


# --- hosts whose address changes -------------------------------------------------------------------------------------


def test_a_host_that_becomes_private_fails_without_a_connection(strict_world: World) -> None:
    """The address is public on creation and private in every later request (DNS rebinding)."""
    uuid = post_webhook(strict_world, "https://hook.example/").get_json()["webhook"]["uuid"]
    strict_world.rt.outbound.resolve = lambda host: parse_addresses("127.0.0.1")
    with record_connections() as tried:
        result = send_test_event(strict_world, uuid)
        attempts = deliver_event(strict_world)
    strict_world.rt.outbound.resolve = resolve_host
    strict_world.pia.delete(f"/api/v1/webhooks/{uuid}")
    assert tried == []
    assert (result["delivered"], result["status"], attempts[0]["status"]) == (False, 0, 0)
    assert "127" not in attempts[0]["error"]


def test_the_host_is_resolved_once_per_request(strict_world: World) -> None:
    """The server connects to the address that it has checked, even if the next lookup returns another one."""
    uuid = post_webhook(strict_world, "https://hook.example/").get_json()["webhook"]["uuid"]
    answers = [
        parse_addresses(PUBLIC),
        parse_addresses("10.0.0.1"),
        parse_addresses("1.1.1.1"),
        parse_addresses("127.0.0.1", PUBLIC),
    ]
    strict_world.rt.outbound.resolve = lambda host: answers.pop(0)
    with record_connections() as tried:
        for _ in range(4):
            send_test_event(strict_world, uuid)
    strict_world.rt.outbound.resolve = resolve_host
    strict_world.pia.delete(f"/api/v1/webhooks/{uuid}")
    assert tried == [PUBLIC, "1.1.1.1"]


# --- hosts that the operator allows ----------------------------------------------------------------------------------

ALLOWED_NETWORKS = (
    "10.0.0.0/8",
    "192.168.7.7",
    "fd12:3456::/32",
    "receiver.lan",
    "metadata.google.internal",
    "169.254.0.0/16",
)
MIXED_ADDRESSES: dict[str, tuple[str, ...]] = {
    "in.example": ("10.1.2.3",),
    "half.example": ("10.1.2.3", PUBLIC),
    "out.example": ("192.168.7.8",),
    "partly.example": ("10.1.2.3", "192.168.7.8"),
    "receiver.lan": ("192.168.9.9",),
    "sub.receiver.lan": ("192.168.9.9",),
    "metadata.google.internal": ("169.254.169.254",),
    "link.example": ("169.254.1.1",),
    "public.example": (PUBLIC,),
    "mapped.example": ("::ffff:10.1.2.3",),
}


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("https://in.example/", 201), ("http://in.example/", 201), ("https://half.example/", 201),
        ("https://public.example/", 201), ("https://receiver.lan/", 201), ("http://receiver.lan:8080/", 201),
        ("http://Receiver.LAN/", 201), ("https://10.200.0.1/", 201), ("http://10.200.0.1:9000/", 201),
        ("http://192.168.7.7/", 201), ("http://[fd12:3456::9]/", 201),
        # http requires an allowed host
        ("http://public.example/", 400), ("http://half.example/", 400), (f"http://{PUBLIC}/", 400),
        # neighbors of allowed hosts
        ("https://out.example/", 400), ("https://partly.example/", 400), ("https://192.168.7.8/", 400),
        ("http://192.168.7.8/", 400), ("https://sub.receiver.lan/", 400), ("https://receiver.lan./", 400),
        ("https://[fd12:3457::9]/", 400), ("https://127.0.0.1/", 400), ("https://mapped.example/", 400),
        # these cannot be allowed
        ("https://metadata.google.internal/", 400), ("http://metadata.google.internal/", 400),
        ("https://169.254.169.254/", 400), ("https://169.254.1.1/", 400), ("https://link.example/", 400),
        # malformed URLs
        ("http://me@receiver.lan/", 400), ("http://receiver.lan:0/", 400), ("ftp://receiver.lan/", 400),
        ("http://0x0a000001/", 400), ("http://10.1/", 400), ("http://receiver.lan/".ljust(2049, "a"), 400),
    ],
)  # fmt: skip
def test_the_operator_can_allow_private_hosts_and_networks_with_http(
    make: Callable[..., World], url: str, status: int
) -> None:
    """Metadata services and link-local addresses are always rejected."""
    world = make(webhook_allow=ALLOWED_NETWORKS)
    world.rt.outbound.resolve = lambda host: parse_addresses(*MIXED_ADDRESSES.get(host, (host,)))
    assert post_webhook(world, url).status_code == status


def test_events_are_delivered_to_an_allowed_host(make: Callable[..., World]) -> None:
    world = make(webhook_allow=("127.0.0.0/8",))
    world.pia.upload()
    with open_receiver() as receiver, record_connections() as tried:
        uuid = post_webhook(world, receiver.url).get_json()["webhook"]["uuid"]
        result = send_test_event(world, uuid)
        attempts = deliver_event(world)
    assert (result["delivered"], result["status"]) == (True, 200)
    assert (attempts[0]["status"], tried) == (200, ["127.0.0.1", "127.0.0.1"])


def test_a_host_that_is_no_longer_allowed_is_not_called(make: Callable[..., World]) -> None:
    world = make()
    with open_receiver() as receiver, record_connections() as tried:
        result = send_test_event(world, insert_webhook(world, receiver.url))
    assert (result["delivered"], tried, receiver.requests) == (False, [], [])
