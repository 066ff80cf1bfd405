"""Rate limits of wrong passwords on links."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from docshare.server.services.links import share_passwords
from docshare.server.services.links.share_passwords import is_match
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.cast import World
from tests.support.people.gate_client import PAGES_MARKER, GateClient, parse_errors
from tests.support.polling import wait_until

HOUR_MS = 3_600_000


pytestmark = pytest.mark.file_settings(password="right")


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the deliberately slow password hash, since these tests try hundreds of passwords."""
    monkeypatch.setattr(share_passwords, "is_match", lambda stored, password: password == "right" and bool(stored))


def guess_status(world: World, made: dict[str, Any], address: str, password: str = "wrong") -> int:
    return GateClient(world, made["shortId"], address=address).submit(password).status_code


def make_addresses(count: int) -> list[str]:
    return [f"198.51.{number // 250}.{number % 250 + 1}" for number in range(count)]


def test_a_network_has_ten_wrong_passwords_per_15_minutes(world: World, uploaded_file: dict[str, Any]) -> None:
    statuses = []
    for _ in range(12):
        statuses.append(guess_status(world, uploaded_file, "198.51.100.4"))
        world.clock.advance(seconds=30)
    assert statuses == [403] * 10 + [429] * 2
    world.clock.advance(minutes=9, milliseconds=-1)
    assert guess_status(world, uploaded_file, "198.51.100.4", "right") == 429
    world.clock.advance(milliseconds=1)
    assert guess_status(world, uploaded_file, "198.51.100.4", "right") == 303


def test_a_429_does_not_reveal_whether_the_password_was_correct(world: World, uploaded_file: dict[str, Any]) -> None:
    for _ in range(10):
        guess_status(world, uploaded_file, "198.51.100.4")
    world.clock.advance(minutes=2)
    answers = [GateClient(world, uploaded_file["shortId"]).submit(password) for password in ("wrong", "right")]
    responses = [(answer.status_code, answer.headers["Retry-After"], parse_errors(answer)) for answer in answers]
    assert responses[0] == responses[1]
    wait = "Too many wrong passwords were tried. Try again in 13 minutes."
    assert responses[0] == (429, "780", {"password": wait})


def test_another_network_waits_only_a_second_after_ten_wrong_passwords(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    for _ in range(10):
        guess_status(world, uploaded_file, "198.51.100.4")
    answer = GateClient(world, uploaded_file["shortId"], address="203.0.113.7").submit("right")
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "1")
    assert parse_errors(answer) == {"password": "Too many wrong passwords were tried. Try again in 1 second."}
    world.clock.advance(seconds=1)
    assert guess_status(world, uploaded_file, "203.0.113.7", "right") == 303


def test_many_networks_together_have_at_most_100_guesses_per_hour(world: World, uploaded_file: dict[str, Any]) -> None:
    tried, longest, begun = 0, 0, world.clock.now
    for address in make_addresses(1_000):
        answer = GateClient(world, uploaded_file["shortId"], address=address).submit("wrong")
        tried += answer.status_code == 403
        if answer.status_code == 429:
            longest = max(longest, int(answer.headers["Retry-After"]))
            world.clock.advance(seconds=int(answer.headers["Retry-After"]))
        if world.clock.now - begun >= HOUR_MS:
            break
    assert world.clock.now - begun >= HOUR_MS
    assert 50 < tried <= 100
    assert longest < 90
    world.clock.advance(seconds=90)
    assert guess_status(world, uploaded_file, "203.0.113.7", "right") == 303


def test_correct_passwords_are_not_limited(world: World, uploaded_file: dict[str, Any]) -> None:
    """Many people in an office can share one address."""
    assert {guess_status(world, uploaded_file, "198.51.100.4", "right") for _ in range(40)} == {303}


def test_wrong_passwords_are_counted_per_file(world: World, uploaded_file: dict[str, Any]) -> None:
    for _ in range(11):
        guess_status(world, uploaded_file, "198.51.100.4")
    other = world.pia.upload()
    put_settings(world, other, password="right")
    assert guess_status(world, other, "198.51.100.4", "right") == 303


def test_all_links_of_a_file_share_one_count(world: World, uploaded_file: dict[str, Any]) -> None:
    variants = [world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/variants").get_json() for _ in range(3)]
    statuses = [guess_status(world, link, "198.51.100.4") for link in (uploaded_file, *variants) for _ in range(3)]
    assert statuses == [403] * 10 + [429] * 2


def test_the_owner_and_admitted_readers_are_never_locked_out(world: World, uploaded_file: dict[str, Any]) -> None:
    guest = GateClient(world, uploaded_file["shortId"])
    assert guest.enter("right")
    for _ in range(20):
        guess_status(world, uploaded_file, "198.51.100.4")
    assert guest.is_in()
    assert guest.submit("whatever").status_code == 303
    assert PAGES_MARKER in sign_in_browser(world, world.pia).get(f"/{uploaded_file['shortId']}").text


def test_concurrent_guesses_are_limited(world: World, uploaded_file: dict[str, Any]) -> None:
    barrier = threading.Barrier(24)
    statuses: list[int] = []

    def send() -> None:
        barrier.wait(20)
        statuses.append(guess_status(world, uploaded_file, "198.51.100.4"))

    threads = [threading.Thread(target=send) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(statuses) == [403] * 10 + [429] * 14


class SlowHasher:
    """Replaces the password hash: records each password, and waits for ``gate``, which lets through one at a time."""

    def __init__(self) -> None:
        self.passwords: list[str] = []
        self.gate = threading.Semaphore(0)

    def verify(self, stored: str, password: str) -> bool:
        self.passwords.append(password)
        return self.gate.acquire(timeout=30)


def test_networks_take_turns_in_checking_passwords(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Correct passwords are not limited, and each occupies one of two places for a while."""
    files = [world.pia.upload() for _ in range(9)]
    for made in files:
        put_settings(world, made, password="right")
    hasher = SlowHasher()
    monkeypatch.setattr(share_passwords, "_HASHER", hasher)
    monkeypatch.setattr(share_passwords, "is_match", is_match)
    with ThreadPoolExecutor(9) as pool:
        attack = [
            pool.submit(guess_status, world, made, f"198.51.100.{1 + number % 2}", f"{number}")
            for number, made in enumerate(files[:8])
        ]
        wait_until(lambda: len(hasher.passwords) == 2 and len(world.rt.password_turns._slots._queue) == 6)
        innocent = pool.submit(guess_status, world, files[8], "203.0.113.9", "innocent")
        wait_until(lambda: len(world.rt.password_turns._slots._queue) == 7)
        hasher.gate.release()
        wait_until(lambda: len(hasher.passwords) == 3)
        hasher.gate.release()
        wait_until(lambda: len(hasher.passwords) == 4)
        assert "innocent" in hasher.passwords[2:]
        hasher.gate.release(7)
    assert [job.result() for job in [*attack, innocent]] == [303] * 9


def test_gate_forms_per_network_are_limited(world: World) -> None:
    made = world.pia.upload()
    put_settings(world, made, viewLimit=1_000)
    statuses = [guess_status(world, made, "198.51.100.4", "") for _ in range(301)]
    assert statuses == [303] * 300 + [429]
    world.clock.advance(minutes=10)
    assert guess_status(world, made, "198.51.100.4", "") == 303


@pytest.mark.parametrize("sent", ["right ", "RIGHT", "right\x00", "r" * 129, "r" * 100_000, "\udcff", "é"])
def test_only_the_exact_password_is_accepted(
    world: World, uploaded_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch, sent: str
) -> None:
    """A password that is too long gets the same response as a wrong one."""
    monkeypatch.undo()
    body = b"password=" + b"".join(b"%%%02x" % byte for byte in sent.encode("utf-8", "surrogatepass"))
    form = {"content_type": "application/x-www-form-urlencoded", "data": body}
    answer = GateClient(world, uploaded_file["shortId"]).post(f"/{uploaded_file['shortId']}/enter", **form)
    assert (answer.status_code, parse_errors(answer)) == (403, {"password": "The password is incorrect."})
    assert guess_status(world, uploaded_file, "198.51.100.4", "right") == 303


def test_an_invalid_hash_accepts_no_password(
    world: World, uploaded_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    with world.rt.db.write():
        world.rt.db.execute("UPDATE files SET password_hash = 'x'")
    assert guess_status(world, uploaded_file, "198.51.100.4", "x") == 403
