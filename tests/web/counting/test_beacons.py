"""Beacons sent over HTTP: late, replayed, forged and excessive ones."""

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from docshare.server.web.beacons import BEACON_POLICY
from tests.support.engines.database import dump_database
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World
from tests.support.people.gate_client import GateClient
from tests.support.people.reader import DESKTOP, FakeReader, list_sessions, list_view_rows, view_count


@pytest.fixture
def frequent_thread_switches() -> Iterator[None]:
    """Make threads switch a thousand times more often than usual."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(usual / 1_000)
    yield
    sys.setswitchinterval(usual)


def test_a_replayed_beacon_changes_nothing(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    world.clock.advance(seconds=10)
    body = reader.build_beacon(read={1: 6_000})
    assert reader.send_beacon(body).status_code == 204
    before = dump_database(world)
    world.clock.advance(seconds=10)
    assert [reader.send_beacon(body).status_code for _ in range(3)] == [204] * 3
    assert reader.send_beacon(body | {"visibleMs": 9_000, "input": True}).status_code == 204
    assert dump_database(world) == before


def test_beacons_out_of_order_add_up_to_the_same_totals(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    bodies = []
    for page in (1, 2, 3):
        world.clock.advance(seconds=10)
        bodies.append(reader.build_beacon(read={page: 10_000}))
    for body in (bodies[2], bodies[0], bodies[1]):
        assert reader.send_beacon(body).status_code == 204
    (row,) = list_view_rows(world)
    assert (row["pagesViewed"], row["timeMs"]) == (3, 30_000)
    assert view_count(world, link) == 1


def test_reported_time_is_clamped_to_the_server_clock(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    world.clock.advance(seconds=7)
    reader.send_next_beacon(read={1: 10**9}, ageMs=10**9)
    world.clock.advance(seconds=3)
    reader.send_next_beacon(read={2: 10**9}, ageMs=2 * 10**9)
    (row,) = list_view_rows(world)
    assert row["timeMs"] == 10_000


def test_pages_that_do_not_exist_are_dropped(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    world.clock.advance(seconds=9)
    reader.send_next_beacon(read={4: 9_000})
    (row,) = list_view_rows(world)
    assert (row["pagesViewed"], row["timeMs"]) == (0, 0)


def test_the_token_is_bound_to_its_link_and_expires(world: World, link: str) -> None:
    other = str(world.pia.upload()["shortId"])
    reader = FakeReader(world, link)
    world.clock.advance(seconds=9)
    body = reader.build_beacon(read={1: 9_000})
    uuid = world.pia.get(f"/api/v1/files/{link}").get_json()["uuid"]
    assert reader.send_beacon(body, to=other).status_code == 403
    assert reader.send_beacon(body, to=uuid).status_code == 403
    for token in ("", "x.y", "é", "\ud800", reader.token[:-1], reader.token + "A", "A" * 60_000):
        assert reader.send_beacon(body | {"token": token}).status_code in (400, 403)
    world.clock.advance(days=7)
    assert reader.send_beacon(body).status_code == 403
    assert list_sessions(world) == []
    assert view_count(world, link) == 0


def test_a_beacon_to_an_unknown_link_is_rejected(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    body = reader.build_beacon(input=True)
    assert reader.send_beacon(body, to="zzzzzzzzzzzz").status_code == 403
    assert world.http.get(f"/{link}/beacon").status_code in (404, 405)


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize(
    ("change", "status"),
    [("trashed_at = 1, purge_at = 9e15", 404), ("delete_at = 1", 410), ("burned_at = 1", 410)],
)
def test_a_beacon_to_a_dead_link_is_rejected(world: World, link: str, started: bool, change: str, status: int) -> None:
    reader = FakeReader(world, link)
    if started:
        reader.read_page(9)
    with world.rt.db.write():
        world.rt.db.execute(f"UPDATE files SET {change}")
    before = list_sessions(world)
    assert reader.read_page(9) == status
    assert list_sessions(world) == before


def test_the_last_reader_of_a_view_limit_is_measured_until_the_file_is_burned(world: World, link: str) -> None:
    put_settings(world, world.pia.get(f"/api/v1/files/{link}").get_json(), viewLimit=1)
    guest = GateClient(world, link)
    assert guest.enter()
    reader = FakeReader(world, link, http=guest.http)
    assert reader.read_page(9) == 204
    world.clock.advance(minutes=30)
    assert reader.send_next_beacon(part=1, seq=0, read={1: 9_000}) == 410


@pytest.mark.usefixtures("frequent_thread_switches")
def test_concurrent_copies_of_the_first_beacon_count_as_one_view(world: World, link: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        for _ in range(10):
            reader = FakeReader(world, link)
            world.clock.advance(seconds=9)
            body = reader.build_beacon(read={1: 9_000})
            answers = list(pool.map(reader.send_beacon, [body] * 8))
            assert [answer.status_code for answer in answers] == [204] * 8
    assert view_count(world, link) == 10
    assert list_sessions(world) == [("human", 9_000)] * 10


@pytest.mark.usefixtures("frequent_thread_switches")
def test_concurrent_beacons_of_one_session_add_up(world: World, link: str) -> None:
    """Beacons of a running session lock its row only; none overwrites what another one has added."""
    with ThreadPoolExecutor(8) as pool:
        for _ in range(10):
            reader = FakeReader(world, link)
            world.clock.advance(seconds=9)
            assert reader.read_page(4, page=1) == 204
            world.clock.advance(seconds=100)
            bodies = [reader.build_beacon(read={2: 1_000}) for _ in range(8)]
            answers = list(pool.map(reader.send_beacon, bodies))
            assert [answer.status_code for answer in answers] == [204] * 8
    assert list_sessions(world) == [("human", 12_000)] * 10


def test_sessions_per_network_are_limited(world: World, link: str) -> None:
    crowd = [FakeReader(world, link, address=f"2001:db8:1:1::{host:x}") for host in range(1, 301)]
    early = crowd[0]
    assert [reader.send_next_beacon() for reader in crowd] == [204] * 300
    late = FakeReader(world, link, address="2001:db8:1:1::ffff")
    refused = late.send_beacon(late.build_beacon(input=True))
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) <= 600
    assert early.read_page(1) == 204
    assert FakeReader(world, link, address="2001:db8:1:2::1").read_page(2) == 204
    world.clock.advance(seconds=3)
    assert [reader.send_next_beacon(input=True) for reader in crowd] == [204] * 300
    world.clock.advance(minutes=10)
    assert late.send_next_beacon(input=True) == 204
    assert view_count(world, link) == 302


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 204),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Content-Type": "text/plain;charset=UTF-8"}, 204),
        ({"Content-Type": "application/json; charset=utf-8"}, 204),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Type": ""}, 415),
    ],
)
def test_only_same_origin_json_or_text_beacons_are_accepted(
    world: World, link: str, headers: dict[str, str], status: int
) -> None:
    reader = FakeReader(world, link)
    world.clock.advance(seconds=2)
    answer = reader.send_beacon(reader.build_beacon(input=True), headers=headers)
    assert answer.status_code == status
    assert view_count(world, link) == (status == 204)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{}", 400),
        (b"[[[[", 400),
        (b"[" * 60_000, 400),
        (b"\xff\xfe", 400),
        (b'{"token": 1}', 400),
        (b" " * 65_537, 413),
        (b"{" + b'"a":1,' * 20_000 + b'"b":2}', 413),
    ],
)
def test_a_malformed_beacon_is_rejected_and_stores_nothing(world: World, link: str, body: bytes, status: int) -> None:
    reader = FakeReader(world, link)
    before = dump_database(world)
    assert reader.send_beacon(body).status_code == status
    assert dump_database(world) == before


def test_the_response_does_not_reveal_the_session_class(world: World, link: str) -> None:
    answers = []
    for user_agent in (DESKTOP, "curl/8.5.0", "Slackbot 1.0"):
        reader = FakeReader(world, link, user_agent=user_agent)
        answer = reader.send_beacon(reader.build_beacon(input=True))
        headers = {name: value for name, value in answer.headers.items() if name != "X-Request-Id"}
        answers.append((answer.status_code, answer.get_data(), headers))
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][:2] == (204, b"")


def test_beacons_are_stored_without_the_token_and_limited_per_session(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    world.clock.advance(seconds=9)
    body = reader.build_beacon(read={1: 9_000})
    reader.send_beacon(body)
    ((kept, received_at),) = world.rt.db.fetch_all("SELECT body, received_at FROM beacons")
    assert json.loads(kept) == {key: value for key, value in body.items() if key != "token"}
    assert received_at == world.clock.now
    for _ in range(8):
        world.clock.advance(seconds=250)
        reader.send_next_beacon(input=True)
    reader.send_next_beacon(seq=2_000, read={2: 5_000})
    reader.send_next_beacon(seq=2_000, read={2: 5_000})
    assert world.rt.db.fetch_all("SELECT COUNT(*) FROM beacons") == [(9,)]
    assert list_sessions(world) == [("human", 14_000)]


def test_a_session_accepts_twenty_beacons_in_a_burst_and_then_one_per_second(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    assert [reader.send_next_beacon(input=True) for _ in range(50)] == [204] * 50
    assert world.rt.db.fetch_all("SELECT COUNT(*) FROM beacons") == [(20,)]
    world.clock.advance(seconds=3)
    assert [reader.send_next_beacon(seq=seq, input=True) for seq in range(20, 40)] == [204] * 20
    assert world.rt.db.fetch_all("SELECT COUNT(*) FROM beacons") == [(23,)]


def test_turns_and_views_are_clamped_to_the_elapsed_time(world: World, link: str) -> None:
    reader = FakeReader(world, link)
    for _ in range(2):
        world.clock.advance(seconds=3)
        pages = [{"page": 1, "ms": 3_000, "views": 1_000, "back": 1_000}]
        reader.send_next_beacon(visibleMs=3_000, turns=1_000, backTurns=1_000, pages=pages)
    list_view_rows(world)
    assert world.rt.db.fetch_all("SELECT turns, back_turns FROM view_sessions") == [(12, 12)]
    assert world.rt.db.fetch_all("SELECT views, back_views FROM session_pages") == [(13, 13)]


def test_an_address_that_exceeds_the_rate_limit_gets_429(world: World, link: str) -> None:
    reader, other = FakeReader(world, link), FakeReader(world, link, address="198.51.100.5")
    for _ in range(BEACON_POLICY.limit):
        world.rt.limits.hit(BEACON_POLICY, "198.51.100.4", BEACON_POLICY.limit)
    refused = reader.send_beacon(reader.build_beacon(input=True))
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert other.send_next_beacon(input=True) == 204
    world.clock.advance(minutes=1)
    assert reader.send_next_beacon(input=True) == 204
