"""Kill a server in the middle of delivering to webhooks, and see what the receivers got."""

import random
import sqlite3
import time
from collections import Counter
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import requests

from tests.support.pdfs import simple_pdf
from tests.support.receivers import OK, Hit, Receiver, receiver_at
from tests.support.served import Served, served
from tests.support.source import Script
from tests.support.waiting import eventually

RECEIVERS = 3
_HELD_S = 1.0  # a delivery takes this long, so that kills fall into the middle of some


@dataclass
class Account:
    """What came of all rounds: ``events`` that the server acknowledged, ``claimed`` deliveries that were under way when
    it was killed, ``lost`` and ``again`` deliveries that came never and more than once."""

    events: int = 0
    kills: int = 0
    claimed: int = 0
    lost: int = 0
    again: int = 0
    wrong: list[str] = field(default_factory=list)


def kill_rounds(folder: Path, rounds: int, seed: int, *, events: int = 12) -> Account:
    """``rounds`` times: make ``events``, and SIGKILL the server while it delivers them; then let it finish."""
    chance = random.Random(seed)
    account = Account()
    with ExitStack() as stack:
        receivers = [stack.enter_context(receiver_at()) for _ in range(RECEIVERS)]
        for receiver in receivers:
            receiver.choose = _take_slowly
        uuid = ""
        for _ in range(rounds):
            with _serving(folder) as server:
                uuid = uuid or _prepare(server, receivers)
                _make_events(server, uuid, events, account)
                if chance.random() < 0.7:  # else it may be killed before it took the first one up
                    eventually(lambda: _claimed(folder))
                time.sleep(chance.uniform(0, 0.4))
                server.process.kill()
                server.process.wait()
            account.kills += 1
            account.claimed += _claimed(folder)
        for receiver in receivers:
            receiver.script(OK)
        with _serving(folder) as server:
            eventually(lambda: _queued(server) == 0, seconds=60)
        _judge(folder, receivers, account)
    return account


def _serving(folder: Path) -> AbstractContextManager[Served]:
    return served(folder, DOCSHARE_RATE_LIMIT="1000000", DOCSHARE_WEBHOOK_ALLOW="127.0.0.0/8")


def _take_slowly(hit: Hit) -> Script:
    time.sleep(_HELD_S)
    return OK


def _prepare(server: Served, receivers: list[Receiver]) -> str:
    """A file, and a webhook for each receiver; returns its UUID."""
    for receiver in receivers:
        body = {"url": receiver.url, "events": ["content.replaced"]}
        assert requests.post(f"{server.url}/api/v1/webhooks", json=body, headers=server.headers, timeout=20).ok
    made = requests.post(
        f"{server.url}/api/v1/files", files={"file": ("a.pdf", simple_pdf(pages=1))}, headers=server.headers, timeout=20
    )
    return str(made.json()["uuid"])


def _make_events(server: Served, uuid: str, events: int, account: Account) -> None:
    with requests.Session() as http:
        for _ in range(events):
            answer = http.post(
                f"{server.url}/api/v1/files/{uuid}/content",
                files={"file": ("a.pdf", simple_pdf(pages=1))},
                headers=server.headers,
                timeout=20,
            )
            assert answer.ok, answer.text
            account.events += 1


def _row(folder: Path, sql: str) -> int:
    connection = sqlite3.connect(f"file:{folder / 'data' / 'docshare.db'}?mode=ro", uri=True)
    try:
        return int(connection.execute(sql).fetchone()[0])
    finally:
        connection.close()


def _claimed(folder: Path) -> int:
    return _row(folder, "SELECT COUNT(*) FROM deliveries WHERE claimed_at IS NOT NULL")


def _queued(server: Served) -> int:
    return _row(server.data_dir.parent, "SELECT COUNT(*) FROM deliveries WHERE next_at IS NOT NULL")


def _judge(folder: Path, receivers: list[Receiver], account: Account) -> None:
    for receiver in receivers:
        came = Counter(hit.delivery for hit in receiver.hits)
        account.lost += account.events - len(came)
        account.again += sum(came.values()) - len(came)
    settled = _row(folder, "SELECT COUNT(*) FROM deliveries WHERE delivered_at IS NOT NULL")
    if settled != account.events * len(receivers):
        account.wrong.append(f"{settled} delivered of {account.events} events to {len(receivers)} receivers")
