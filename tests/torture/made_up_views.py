"""Views that somebody makes up without a browser: loads of a share page, and reports that its script never sent.

python -m tests.torture.made_up_views

Every attack prints how many sessions it invented, how many views came of them and how many are due by the rule. Time
passes on the server's clock as the attack needs it.
"""

import itertools
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from docshare.server.pdf.engine import PdfEngine
from docshare.server.services.readership.viewing import SESSION_START_POLICY
from tests.support.cast import World, make_runtime, make_world
from tests.support.clock import FakeClock
from tests.support.reader import DESKTOP, FakeReader, end_all_sessions, view_count

VIEWS_PER_READER = 12
VIEWS_PER_ADDRESS = 36
LONG = 1_000  # sessions of one attack
SHORT = 45
OFFICE = 80

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
    """What came of an attack: of ``sessions`` that were invented, ``views`` were counted, and the rule counts ``due``,
    or with ``at_most`` no more than that; ``now`` were said to read at its end."""

    sessions: int
    views: int
    due: int
    now: int = 0
    at_most: bool = False

    @property
    def holds(self) -> bool:
        """Whether nothing gave way."""
        return (self.views == self.due or (self.at_most and self.views < self.due)) and self.now <= self.views


class AttackedDocument:
    """A document of Pia's, and an attacker with one address who can wait."""

    def __init__(self, world: World, sessions: int) -> None:
        self.world = world
        self.sessions = sessions
        self.link = str(world.pia.upload()["shortId"])

    def load(
        self, *, link: str = "", address: str = "198.51.100.4", agent: str = DESKTOP, prefix: str = ""
    ) -> FakeReader:
        """Ask for the share page as a browser does."""
        return FakeReader(self.world, link or self.link, address=address, user_agent=agent, prefix=prefix)

    def wait(self, seconds: float) -> None:
        self.world.clock.advance(seconds=seconds)

    def outcome(self, due: int, *, at_most: bool = False) -> AttackOutcome:
        """What has come of it so far."""
        now = self.world.pia.get(f"/api/v1/files/{self.link}/readership").get_json()["summary"]["activeReaders"]
        return AttackOutcome(self.sessions, view_count(self.world, self.link), due, now, at_most)


def report_at_once(stage: AttackedDocument) -> AttackOutcome:
    """One report for each load, in the moment of the load."""
    for _ in range(stage.sessions):
        stage.load().tell(input=True, ageMs=0)
        stage.wait(10 / stage.sessions)
    return stage.outcome(0)


def report_later(stage: AttackedDocument) -> AttackOutcome:
    """All loads first, and one report for each of them a while after."""
    crowd = [stage.load() for _ in range(stage.sessions)]
    stage.wait(3)
    for reader in crowd:
        reader.tell(input=True, ageMs=0)
    return stage.outcome(VIEWS_PER_READER)


def lie_about_time(stage: AttackedDocument) -> AttackOutcome:
    """Reports that claim to be years old, and to have been looked at all the time."""
    crowd = [stage.load() for _ in range(stage.sessions)]
    stage.wait(1.9)
    for reader in crowd:
        reader.tell(ageMs=_HUGE, visibleMs=_HUGE, read={1: _HUGE})
    return stage.outcome(0)


def stop_the_clock(stage: AttackedDocument) -> AttackOutcome:
    """Many reports of each session within 4.9 seconds, all of them with the age 0."""
    crowd = [stage.load() for _ in range(stage.sessions)]
    stage.wait(2)
    for _ in range(8):
        for reader in crowd:
            reader.tell(input=True, ageMs=0, visibleMs=0)
        stage.wait(0.7)
    return stage.outcome(VIEWS_PER_READER)


def read_pages_that_do_not_exist(stage: AttackedDocument) -> AttackOutcome:
    """Reports of pages far behind the last."""
    crowd = [stage.load() for _ in range(stage.sessions)]
    stage.wait(3)
    for reader in crowd:
        reader.tell(read={4_711: 3_000, 50_000: 10})
    return stage.outcome(VIEWS_PER_READER)


def change_the_browser(stage: AttackedDocument) -> AttackOutcome:
    """Another user agent for each session."""
    agents = itertools.cycle(
        [f"Mozilla/5.0 (X11; Linux x86_64) {family}.{n}" for n in range(9) for family in _FAMILIES]
    )
    crowd = [stage.load(agent=next(agents)) for _ in range(stage.sessions)]
    stage.wait(3)
    for reader in crowd:
        reader.tell(input=True)
    return stage.outcome(VIEWS_PER_ADDRESS)


def change_the_address_within_a_network(stage: AttackedDocument) -> AttackOutcome:
    """Another IPv6 address of one /64 for each session."""
    crowd = [stage.load(address=f"2001:db8:1:1::{host:x}") for host in range(1, stage.sessions + 1)]
    stage.wait(3)
    for reader in crowd:
        reader.tell(input=True)
    return stage.outcome(VIEWS_PER_READER)


def come_by_every_door(stage: AttackedDocument) -> AttackOutcome:
    """The same document by its short id, its UUID, in frames, by variants and by invitations."""
    pia, file = stage.world.pia, f"/api/v1/files/{stage.link}"
    doors = [(stage.link, ""), (stage.link, "/embed"), (pia.get(file).get_json()["uuid"], "")]
    doors += [(pia.post(f"{file}/variants").get_json()["shortId"], prefix) for prefix in ("", "/embed", "")]
    invite = pia.post(f"{file}/invites", json={"email": "ada@example.com"}).get_json()
    doors.append((invite["url"].rpartition("/")[2], ""))
    every = itertools.cycle(doors)
    crowd = [stage.load(link=link, prefix=prefix) for link, prefix in itertools.islice(every, stage.sessions)]
    stage.wait(3)
    for reader in crowd:
        reader.tell(input=True)
    return stage.outcome(VIEWS_PER_READER)


def use_one_token_again(stage: AttackedDocument) -> AttackOutcome:
    """The token of one load, sent again from other addresses and as other sessions of that load."""
    first = stage.load()
    stage.wait(3)
    for number in range(stage.sessions):
        thief = stage.load(address=f"203.0.113.{number % 250}")
        body = thief.beacon(token=first.token, part=number % 1_000, seq=0, input=True)
        thief.send(body, to=stage.link)
    return stage.outcome(1)


def close_and_come_back(stage: AttackedDocument) -> AttackOutcome:
    """One load that closes its page and begins its next session, for ten minutes."""
    reader = stage.load()
    stage.wait(2)
    part = 0
    for part in range(min(stage.sessions, 39)):
        reader.tell(part=part, seq=0, input=True)
        stage.wait(2)
        reader.tell(part=part, seq=1, input=True)
        reader.tell(part=part, seq=2, visible=False, closing=True)
        stage.wait(11)
    return stage.outcome(VIEWS_PER_READER)


def restart_the_server(stage: AttackedDocument) -> AttackOutcome:
    """Reports before and after a restart, which forgets all limits that are in memory only."""
    crowd = [stage.load() for _ in range(stage.sessions)]
    stage.wait(3)
    for number, reader in enumerate(crowd):
        if number % 15 == 0:
            stage.world.rt.limits._memory.reset()
        reader.tell(input=True)
    return stage.outcome(VIEWS_PER_READER)


def keep_them_alive(stage: AttackedDocument) -> AttackOutcome:
    """All sessions at once, each with a report every 2 seconds for 6 seconds: no longer told from readers, but no more
    than may start at one address."""
    most = SESSION_START_POLICY.limit
    taken = max(most - stage.sessions // 2, 0) if stage.sessions < most else 0
    for _ in range(taken):
        stage.world.rt.limits.hit(SESSION_START_POLICY, "198.51.100.4", most)
    crowd = [stage.load() for _ in range(stage.sessions)]
    for _ in range(4):
        stage.wait(2)
        for reader in crowd:
            reader.tell(input=True)
    return stage.outcome(most - taken)


def wait_between_short_ones(stage: AttackedDocument) -> AttackOutcome:
    """Short sessions evenly over half an hour: three times as many as in ten minutes."""
    for _ in range(stage.sessions):
        reader = stage.load()
        stage.wait(1_800 / stage.sessions)
        reader.tell(input=True)
    return stage.outcome(3 * VIEWS_PER_READER + 1, at_most=True)


def touch_nothing(stage: AttackedDocument) -> AttackOutcome:
    """A scanner that runs scripts and stays for 20 seconds."""
    crowd = [stage.load() for _ in range(stage.sessions)]
    for _ in range(4):
        stage.wait(5)
        for reader in crowd:
            reader.tell(read={1: 5_000}, input=False)
    return stage.outcome(0)


def read_in_an_office(stage: AttackedDocument) -> AttackOutcome:
    """80 people with the same browser behind one address, who read for 20 seconds each within ten minutes."""
    for _ in range(OFFICE // 4):
        four = [stage.load() for _ in range(4)]
        for seconds in (1, 2, 3, 14):
            stage.wait(seconds)
            for reader in four:
                reader.tell(read={1: seconds * 1_000})
        for reader in four:
            reader.leaves(closing=True)
        stage.wait(5)
    counted = stage.outcome(OFFICE).views
    end_all_sessions(stage.world)
    rows = stage.world.pia.get("/api/v1/events?since=1&limit=100").get_json()
    whole = sum(row["timeMs"] == 20_000 for row in rows)
    return AttackOutcome(OFFICE, min(counted, whole), OFFICE)


ATTACKS: tuple[Callable[[AttackedDocument], AttackOutcome], ...] = (
    report_at_once,
    report_later,
    lie_about_time,
    stop_the_clock,
    read_pages_that_do_not_exist,
    change_the_browser,
    change_the_address_within_a_network,
    come_by_every_door,
    use_one_token_again,
    close_and_come_back,
    restart_the_server,
    keep_them_alive,
    wait_between_short_ones,
    touch_nothing,
    read_in_an_office,
)


def main() -> int:
    """Run every attack with as many sessions as somebody would send; returns the exit code."""
    held = True
    with closing(PdfEngine(workers=1)) as engine:
        for attack in ATTACKS:
            with tempfile.TemporaryDirectory() as folder:
                clock = FakeClock()
                world = make_world(make_runtime(Path(folder), clock, engine), clock)
                with closing(world.rt.pages), closing(world.rt.db):
                    outcome = attack(AttackedDocument(world, LONG))
            held &= outcome.holds
            name, due = attack.__name__.replace("_", " "), f"{'at most ' * outcome.at_most}{outcome.due}"
            verdict = "ok" if outcome.holds else "GAVE WAY"
            print(
                f"{name}: {outcome.sessions} sessions, {outcome.views} views (due {due}), {outcome.now} reading now: "
                f"{verdict}"
            )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
