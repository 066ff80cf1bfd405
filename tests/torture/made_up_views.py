"""Fake views without a browser: requests for a share page, and reports that its script did not send.

python -m tests.torture.made_up_views

Every attack prints the number of fake sessions, the number of counted views, and the number that the rules allow. The
attacks advance the clock of the server.
"""

import itertools
import math
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from docshare.server.pdf.engine import PdfEngine
from docshare.server.services.readership.viewing import SESSION_START_POLICY
from tests.support.clock import FakeClock
from tests.support.people.cast import World, make_runtime, make_world
from tests.support.people.reader import DESKTOP, FakeReader, end_all_sessions, view_count

VIEWS_PER_READER = 12
VIEWS_PER_ADDRESS = 36
LONG = 1_000  # sessions per attack
SHORT = 45  # sessions per attack in the tests
OFFICE = 80  # readers behind one address

_FAMILIES = (
    "Edg/131",
    "OPR/116",
    "SamsungBrowser/27",
    "YaBrowser/24",
    "Vivaldi/7",
    "Ddg/17",
    "Firefox/133",
    "Chrome/1",
)
_HUGE = 10**12


@dataclass(frozen=True)
class AttackOutcome:
    """The result of an attack with ``sessions`` fake sessions: ``views`` were counted, and the rules allow exactly
    ``expected_views``, or from ``at_least`` to that many. ``now`` is the number of current readers at the end."""

    sessions: int
    views: int
    expected_views: int
    now: int = 0
    at_least: int | None = None

    @property
    def is_within_rule(self) -> bool:
        """Return whether the server resisted the attack."""
        least = self.expected_views if self.at_least is None else self.at_least
        return least <= self.views <= self.expected_views and self.now <= self.views


class AttackedDocument:
    """A document of Pia, and an attacker with one IP address who can advance the clock."""

    def __init__(self, world: World, sessions: int) -> None:
        self.world = world
        self.sessions = sessions
        self.link = str(world.pia.upload()["shortId"])

    def load_page(
        self, *, link: str = "", address: str = "198.51.100.4", agent: str = DESKTOP, prefix: str = ""
    ) -> FakeReader:
        """Request the share page like a browser."""
        return FakeReader(self.world, link or self.link, address=address, user_agent=agent, prefix=prefix)

    def wait(self, seconds: float) -> None:
        self.world.clock.advance(seconds=seconds)

    def report_once(self, readers: Iterable[FakeReader]) -> None:
        """Let 3 s pass, and send one report with input for each of ``readers``."""
        self.wait(3)
        for reader in readers:
            reader.send_next_beacon(input=True)

    def measure_outcome(self, due: int, *, at_least: int | None = None) -> AttackOutcome:
        """Return the result so far."""
        now = self.world.pia.get(f"/api/v1/files/{self.link}/readership").get_json()["summary"]["activeReaders"]
        return AttackOutcome(self.sessions, view_count(self.world, self.link), due, now, at_least)


def report_at_once(target: AttackedDocument) -> AttackOutcome:
    """Send one report for each page load, immediately."""
    for _ in range(target.sessions):
        target.load_page().send_next_beacon(input=True, ageMs=0)
        target.wait(10 / target.sessions)
    return target.measure_outcome(0)


def report_later(target: AttackedDocument) -> AttackOutcome:
    """Load all pages first, and send one report for each of them later."""
    readers = [target.load_page() for _ in range(target.sessions)]
    target.wait(3)
    for reader in readers:
        reader.send_next_beacon(input=True, ageMs=0)
    return target.measure_outcome(VIEWS_PER_READER)


def claim_years_of_reading(target: AttackedDocument) -> AttackOutcome:
    """Send reports that claim years of reading time."""
    readers = [target.load_page() for _ in range(target.sessions)]
    target.wait(1.9)
    for reader in readers:
        reader.send_next_beacon(ageMs=_HUGE, visibleMs=_HUGE, read={1: _HUGE})
    return target.measure_outcome(0)


def stop_the_clock(target: AttackedDocument) -> AttackOutcome:
    """Send many reports of each session within 4.9 seconds, all with the age 0."""
    readers = [target.load_page() for _ in range(target.sessions)]
    target.wait(2)
    for _ in range(8):
        for reader in readers:
            reader.send_next_beacon(input=True, ageMs=0, visibleMs=0)
        target.wait(0.7)
    return target.measure_outcome(VIEWS_PER_READER)


def read_pages_that_do_not_exist(target: AttackedDocument) -> AttackOutcome:
    """Send reports for page numbers far beyond the last page."""
    readers = [target.load_page() for _ in range(target.sessions)]
    target.wait(3)
    for reader in readers:
        reader.send_next_beacon(read={4_711: 3_000, 50_000: 10})
    return target.measure_outcome(VIEWS_PER_READER)


def change_the_browser(target: AttackedDocument) -> AttackOutcome:
    """Use a different user agent for each session."""
    agents = itertools.cycle(
        [f"Mozilla/5.0 (X11; Linux x86_64) {family}.{n}" for n in range(9) for family in _FAMILIES]
    )
    readers = [target.load_page(agent=next(agents)) for _ in range(target.sessions)]
    target.report_once(readers)
    return target.measure_outcome(VIEWS_PER_ADDRESS)


def change_the_address_within_a_network(target: AttackedDocument) -> AttackOutcome:
    """Use a different IPv6 address of one /64 for each session."""
    readers = [target.load_page(address=f"2001:db8:1:1::{host:x}") for host in range(1, target.sessions + 1)]
    target.report_once(readers)
    return target.measure_outcome(VIEWS_PER_READER)


def write_addresses_differently(target: AttackedDocument) -> AttackOutcome:
    """Use the IPv4 address of the attacker and the IPv6 addresses that contain it."""
    forms = itertools.cycle(["198.51.100.4", "::ffff:198.51.100.4", "::ffff:c633:6404"])
    readers = [target.load_page(address=next(forms)) for _ in range(target.sessions)]
    target.report_once(readers)
    return target.measure_outcome(VIEWS_PER_READER)


def forge_forwarded_addresses(target: AttackedDocument) -> AttackOutcome:
    """Claim another address with each report, in the headers that proxies send."""
    readers = [target.load_page() for _ in range(target.sessions)]
    target.wait(3)
    for number, reader in enumerate(readers):
        address = f"203.0.113.{number % 250}"
        names = ("X-Forwarded-For", "X-Real-IP", "CF-Connecting-IP", "True-Client-IP")
        headers = {"Forwarded": f"for={address}", **dict.fromkeys(names, address)}
        reader.send_beacon(reader.build_beacon(input=True), headers=headers)
    return target.measure_outcome(VIEWS_PER_READER)


def report_at_the_same_time(target: AttackedDocument) -> AttackOutcome:
    """Send the reports of all sessions at once from ten threads, each of them twice."""
    readers = [target.load_page() for _ in range(target.sessions)]
    target.wait(3)
    reports = [(reader, reader.build_beacon(input=True)) for reader in readers for _ in range(2)]
    with ThreadPoolExecutor(10) as pool:
        statuses = list(pool.map(lambda report: report[0].send_beacon(report[1]).status_code, reports))
    assert Counter(statuses)[204] == 2 * min(target.sessions, SESSION_START_POLICY.limit)
    assert set(statuses) <= {204, 429}
    return target.measure_outcome(VIEWS_PER_READER)


def reload_all_the_time(target: AttackedDocument) -> AttackOutcome:
    """Close the page and load it again, so that each load continues the session of the one before."""
    for _ in range(target.sessions):
        reader = target.load_page()
        target.wait(2)
        reader.send_next_beacon(input=True, reload=True)
        reader.send_next_beacon(visible=False, closing=True)
        target.wait(0.5)
    return target.measure_outcome(1)


def decline_after_counting(target: AttackedDocument) -> AttackOutcome:
    """Choose not to be measured as soon as a view is counted, and continue to report: three sessions each, as many as
    can start at one address."""
    target.world.pia.put(f"/api/v1/files/{target.link}/settings", json={"readerChoice": True})
    for _ in range(min(target.sessions, SESSION_START_POLICY.limit // 3)):
        reader = target.load_page()
        target.wait(2.2)
        reader.send_next_beacon(input=True)
        body, sender = {"token": reader.token, "decline": True}, {"REMOTE_ADDR": "198.51.100.4"}
        assert view_count(target.world, target.link) == 1
        answer = reader.http.post(f"/{target.link}/visit", json=body, environ_overrides=sender)
        assert answer.get_json()["declined"]
        for part in (0, 1):
            reader.send_next_beacon(input=True, part=part)
    return target.measure_outcome(0)


def open_every_link(target: AttackedDocument) -> AttackOutcome:
    """Open the document by its short ID, by its UUID, in frames, through variants and through invitations."""
    pia, file = target.world.pia, f"/api/v1/files/{target.link}"
    links = [(target.link, ""), (target.link, "/embed"), (pia.get(file).get_json()["uuid"], "")]
    links += [(pia.post(f"{file}/variants").get_json()["shortId"], prefix) for prefix in ("", "/embed", "")]
    invite = pia.post(f"{file}/invites", json={"email": "ada@example.com"}).get_json()
    links.append((invite["url"].rpartition("/")[2], ""))
    every = itertools.cycle(links)
    readers = [target.load_page(link=link, prefix=prefix) for link, prefix in itertools.islice(every, target.sessions)]
    target.report_once(readers)
    return target.measure_outcome(VIEWS_PER_READER)


def reuse_one_token(target: AttackedDocument) -> AttackOutcome:
    """Reuse the token of one page load from other addresses and in other sessions of that load."""
    first = target.load_page()
    target.wait(3)
    for number in range(target.sessions):
        thief = target.load_page(address=f"203.0.113.{number % 250}")
        body = thief.build_beacon(token=first.token, part=number % 1_000, seq=0, input=True)
        thief.send_beacon(body, to=target.link)
    return target.measure_outcome(1)


def close_and_reopen(target: AttackedDocument) -> AttackOutcome:
    """Load the page once, then close it and start a new session repeatedly for ten minutes."""
    reader = target.load_page()
    target.wait(2)
    part = 0
    for part in range(min(target.sessions, 39)):
        reader.send_next_beacon(part=part, seq=0, input=True)
        target.wait(2)
        reader.send_next_beacon(part=part, seq=1, input=True)
        reader.send_next_beacon(part=part, seq=2, visible=False, closing=True)
        target.wait(11)
    return target.measure_outcome(VIEWS_PER_READER)


def restart_the_server(target: AttackedDocument) -> AttackOutcome:
    """Send reports before and after a restart, which clears all limits in memory."""
    readers = [target.load_page() for _ in range(target.sessions)]
    target.wait(3)
    for number, reader in enumerate(readers):
        if number % 15 == 0:
            target.world.rt.limits._storage.reset()
        reader.send_next_beacon(input=True)
    return target.measure_outcome(VIEWS_PER_READER)


def keep_sessions_alive(target: AttackedDocument) -> AttackOutcome:
    """Run all sessions at once, each with a report every 2 seconds for 6 seconds. They look like readers, but only as
    many count as can start at one address."""
    limit = SESSION_START_POLICY.limit
    started = max(limit - target.sessions // 2, 0) if target.sessions < limit else 0
    for _ in range(started):
        target.world.rt.limits.hit(SESSION_START_POLICY, "198.51.100.4", limit)
    readers = [target.load_page() for _ in range(target.sessions)]
    for _ in range(4):
        target.wait(2)
        for reader in readers:
            reader.send_next_beacon(input=True)
    return target.measure_outcome(limit - started)


def spread_short_sessions(target: AttackedDocument) -> AttackOutcome:
    """Spread short sessions over half an hour: three times as many count as in ten minutes."""
    pause = 1_800 / target.sessions
    open_count = math.ceil(3 / pause)  # each page is open for 3 seconds or more before its report
    readers: deque[FakeReader] = deque()
    for _ in range(target.sessions):
        readers.append(target.load_page())
        target.wait(pause)
        if len(readers) == open_count:
            readers.popleft().send_next_beacon(input=True)
    return target.measure_outcome(3 * VIEWS_PER_READER + 1, at_least=2 * VIEWS_PER_READER)


def send_no_input(target: AttackedDocument) -> AttackOutcome:
    """Act like a scanner that runs scripts and stays for 20 seconds."""
    readers = [target.load_page() for _ in range(target.sessions)]
    for _ in range(4):
        target.wait(5)
        for reader in readers:
            reader.send_next_beacon(read={1: 5_000}, input=False)
    return target.measure_outcome(0)


def read_in_an_office(target: AttackedDocument) -> AttackOutcome:
    """Simulate 80 real readers with the same browser behind one address, each for 20 seconds within ten minutes."""
    for _ in range(OFFICE // 4):
        four = [target.load_page() for _ in range(4)]
        for seconds in (1, 2, 3, 14):
            target.wait(seconds)
            for reader in four:
                reader.send_next_beacon(read={1: seconds * 1_000})
        for reader in four:
            reader.leave(closing=True)
        target.wait(5)
    counted = target.measure_outcome(OFFICE).views
    end_all_sessions(target.world)
    rows = target.world.pia.get("/api/v1/events?since=1&limit=100").get_json()
    full_reads = sum(row["timeMs"] == 20_000 for row in rows)
    return AttackOutcome(OFFICE, min(counted, full_reads), OFFICE)


ATTACKS: tuple[Callable[[AttackedDocument], AttackOutcome], ...] = (
    report_at_once,
    report_later,
    claim_years_of_reading,
    stop_the_clock,
    read_pages_that_do_not_exist,
    change_the_browser,
    change_the_address_within_a_network,
    write_addresses_differently,
    forge_forwarded_addresses,
    report_at_the_same_time,
    reload_all_the_time,
    decline_after_counting,
    open_every_link,
    reuse_one_token,
    close_and_reopen,
    restart_the_server,
    keep_sessions_alive,
    spread_short_sessions,
    send_no_input,
    read_in_an_office,
)


def main() -> int:
    """Run every attack with a realistic number of sessions; return the exit code."""
    resisted = True
    with closing(PdfEngine(workers=1)) as engine:
        for attack in ATTACKS:
            with tempfile.TemporaryDirectory() as folder:
                clock = FakeClock()
                world = make_world(make_runtime(Path(folder), clock, engine), clock)
                with closing(world.rt.pages), closing(world.rt.db):
                    outcome = attack(AttackedDocument(world, LONG))
            resisted &= outcome.is_within_rule
            name = attack.__name__.replace("_", " ")
            due = ("at most " if outcome.at_least is not None else "") + str(outcome.expected_views)
            verdict = "ok" if outcome.is_within_rule else "FAILED"
            print(
                f"{name}: {outcome.sessions} sessions, {outcome.views} views (due {due}), {outcome.now} reading now: "
                f"{verdict}"
            )
    return 0 if resisted else 1


if __name__ == "__main__":
    sys.exit(main())
