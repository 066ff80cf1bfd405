"""How passwords wait for their check on the real listener: without a thread each, and each password once."""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import requests

from docshare.server.password_turns import VERIFIED_MS
from docshare.server.services.links import share_passwords
from docshare.server.web.gates import gate
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World
from tests.support.polling import wait_until
from tests.support.servers.in_process_server import serve_world

CROWD = 40  # five times as many as the listener has threads


class GatedHasher:
    """Replaces the password hash: records each password, and waits for ``gate``."""

    def __init__(self) -> None:
        self.passwords: list[str] = []
        self.gate = threading.Event()

    def verify(self, stored: str, password: str) -> bool:
        self.passwords.append(password)
        return self.gate.wait(30) and password == "right"


@pytest.fixture
def hasher(world: World, monkeypatch: pytest.MonkeyPatch) -> GatedHasher:
    """Replace the hash once the files of the test have their passwords."""
    hasher = GatedHasher()
    monkeypatch.setattr(share_passwords, "is_match", hasher.verify)
    return hasher


@pytest.fixture
def links(world: World) -> list[str]:
    """Return the names of two links with the same password."""
    uploaded = [world.pia.upload() for _ in range(2)]
    for made in uploaded:
        put_settings(world, made, password="right")
    return [made["shortId"] for made in uploaded]


class Door:
    """The server at ``url``, and readers with an own thread each."""

    def __init__(self, world: World, url: str, pool: ThreadPoolExecutor) -> None:
        self._world = world
        self._url = url
        self._pool = pool

    def enter(self, name: str, password: str, path: str = "enter") -> Future[int]:
        """Enter ``password`` at the link ``name``; return the status once it is there."""
        return self._pool.submit(self._post, f"/{name}/{path}", {"password": password})

    def sign_in(self, email: str) -> Future[int]:
        return self._pool.submit(self._post, "/login", {"email": email, "password": "a guess"})

    def get_status(self, path: str) -> int:
        return requests.get(self._url + path, timeout=30).status_code

    @property
    def port(self) -> int:
        return int(self._url.rpartition(":")[2])

    def count_trying(self) -> int:
        """Return how many requests hold a turn or wait for one."""
        return sum(map(len, self._world.rt.password_turns._groups.values()))

    def _post(self, path: str, form: dict[str, str]) -> int:
        cookies = {"viewer-cookies": "1", "__Host-viewer-cookies": "1"}
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
        url = self._url + path
        return requests.post(url, data=form, headers=headers, allow_redirects=False, timeout=60).status_code


@contextmanager
def open_door(world: World) -> Iterator[Door]:
    with ThreadPoolExecutor(CROWD + 10) as pool, serve_world(world) as url:
        yield Door(world, url, pool)


@pytest.fixture
def door(world: World, hasher: GatedHasher) -> Iterator[Door]:
    with open_door(world) as door:
        yield door
        hasher.gate.set()


def test_waiting_passwords_occupy_no_thread(links: list[str], hasher: GatedHasher, door: Door) -> None:
    entries = [door.enter(links[number % 2], f"guess {number}") for number in range(CROWD)]
    wait_until(lambda: door.count_trying() == CROWD)
    assert door.get_status("/healthz") == 200
    assert door.get_status(f"/{links[0]}") == 200
    hasher.gate.set()
    assert {entry.result() for entry in entries} <= {403, 429}


def test_waiting_sign_ins_occupy_no_thread(hasher: GatedHasher, door: Door) -> None:
    attempts = [door.sign_in(f"nobody{number}@example.com") for number in range(CROWD)]
    wait_until(lambda: door.count_trying() == CROWD)
    assert door.get_status("/healthz") == 200
    hasher.gate.set()
    statuses = [attempt.result() for attempt in attempts]
    assert (statuses.count(403), statuses.count(429)) == (10, CROWD - 10)  # ten per network


def test_an_office_enters_in_the_time_of_one_check(links: list[str], hasher: GatedHasher, door: Door) -> None:
    office = [door.enter(links[0], "right") for _ in range(CROWD)]
    wait_until(lambda: door.count_trying() == CROWD)
    hasher.gate.set()
    assert {entry.result() for entry in office} == {303}
    assert hasher.passwords == ["right"]


def test_a_correct_password_is_computed_again_after_a_while(
    world: World, links: list[str], hasher: GatedHasher, door: Door
) -> None:
    hasher.gate.set()
    for wait in (0, VERIFIED_MS - 1, 1):
        world.clock.advance(milliseconds=wait)
        assert door.enter(links[0], "right").result() == 303
    assert hasher.passwords == ["right", "right"]


def test_a_correct_password_is_valid_for_its_link_only(links: list[str], hasher: GatedHasher, door: Door) -> None:
    hasher.gate.set()
    assert [door.enter(name, "right").result() for name in links] == [303, 303]
    assert hasher.passwords == ["right", "right"]


def test_a_replaced_password_is_not_accepted(
    world: World, monkeypatch: pytest.MonkeyPatch, hasher: GatedHasher, links: list[str], door: Door
) -> None:
    monkeypatch.undo()
    made = world.pia.upload()
    put_settings(world, made, password="right")
    assert door.enter(made["shortId"], "right").result() == 303
    put_settings(world, made, password="new")
    assert door.enter(made["shortId"], "right").result() == 403


def test_an_equal_wrong_password_is_counted_for_each_request(links: list[str], hasher: GatedHasher, door: Door) -> None:
    """It is checked for each, up to the limit of ten, and the others are 429."""
    entries = [door.enter(links[0], "wrong") for _ in range(CROWD)]
    wait_until(lambda: door.count_trying() == CROWD)
    hasher.gate.set()
    statuses = [entry.result() for entry in entries]
    assert (statuses.count(403), statuses.count(429)) == (10, CROWD - 10)
    assert len(hasher.passwords) == 10


def test_a_form_that_waited_counts_once(
    monkeypatch: pytest.MonkeyPatch, links: list[str], hasher: GatedHasher, door: Door
) -> None:
    counted: list[int] = []
    count = gate._count_request
    monkeypatch.setattr(gate, "_count_request", lambda: (counted.append(1), count()))
    entries = [door.enter(links[0], f"guess {number}") for number in range(5)]
    wait_until(lambda: door.count_trying() == 5)
    hasher.gate.set()
    assert [entry.result() for entry in entries] == [403] * 5
    assert len(counted) == 5


def test_the_queue_of_a_network_is_limited(
    world: World, links: list[str], hasher: GatedHasher, monkeypatch: pytest.MonkeyPatch, door: Door
) -> None:
    """A network may wait with as many different passwords as half of the queue, and further ones are 503."""
    monkeypatch.setattr(world.rt.password_turns._slots, "_max_waiting", 20)
    entries = [door.enter(links[0], f"guess {number}") for number in range(13)]
    wait_until(lambda: sum(entry.done() for entry in entries) == 2)
    assert [entry.result() for entry in entries if entry.done()] == [503, 503]
    hasher.gate.set()
    assert sorted(entry.result() for entry in entries).count(503) == 2


def test_a_reader_who_leaves_passes_the_turn_on(
    world: World, links: list[str], hasher: GatedHasher, door: Door
) -> None:
    checked = [door.enter(links[0], "wrong 1"), door.sign_in("nobody@example.com")]
    wait_until(lambda: door.count_trying() == 2)
    with socket.create_connection(("127.0.0.1", door.port), 30) as leaver:
        body = b"password=wrong+2"
        leaver.sendall(
            f"POST /{links[1]}/enter HTTP/1.1\r\nHost: localhost\r\nCookie: viewer-cookies=1\r\n"
            f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        wait_until(lambda: door.count_trying() == 3)
    entry = door.enter(links[1], "right")
    wait_until(lambda: door.count_trying() == 4)
    hasher.gate.set()
    assert entry.result() == 303
    assert [each.result() for each in checked] == [403, 403]
    wait_until(lambda: not door.count_trying())
