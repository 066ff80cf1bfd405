"""Kill a server while it delivers to webhooks, and check what the receivers got."""

import random
import sqlite3
import threading
import time
from collections import Counter
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import requests

from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.import_source import Script
from tests.support.outside.receivers import OK, FakeReceiver, open_receiver
from tests.support.polling import wait_until
from tests.support.servers.server_process import ServerProcess, run_server

RECEIVERS = 3
_HOLD_S = 1.0  # a delivery takes this long, so that kills fall into the middle of some


@dataclass
class DeliveryTally:
    """The result of all rounds. ``events``: acknowledged by the server; ``claimed_deliveries``: in progress when it was
    killed; ``lost_deliveries``: never received; ``repeated_deliveries``: received more than once."""

    events: int = 0
    kills: int = 0
    claimed_deliveries: int = 0
    lost_deliveries: int = 0
    repeated_deliveries: int = 0
    problems: list[str] = field(default_factory=list)


def kill_during_deliveries(folder: Path, rounds: int, seed: int, *, events: int = 12) -> DeliveryTally:
    """``rounds`` times: cause ``events``, and SIGKILL the server while it delivers them. Then let it finish."""
    chance = random.Random(seed)
    account = DeliveryTally()
    with ExitStack() as stack:
        receivers = [stack.enter_context(open_receiver()) for _ in range(RECEIVERS)]
        may_respond = threading.Event()
        for receiver in receivers:
            receiver.choose_script = lambda hit: _accept_slowly(may_respond)
        uuid = ""
        for _ in range(rounds):
            with _start_server(folder) as server:
                uuid = uuid or _create_file_and_webhooks(server, receivers)
                may_respond.set()
                _make_events(server, uuid, events - 1, account)
                is_claim_awaited = chance.random() < 0.7  # otherwise it may be killed before it claims the first one
                if is_claim_awaited:
                    may_respond.clear()  # so that the last event is in progress until the kill
                _make_events(server, uuid, 1, account)
                if is_claim_awaited:
                    wait_until(lambda: _count_claimed(folder))
                time.sleep(chance.uniform(0, 0.4))
                server.process.kill()
                server.process.wait()
                may_respond.set()
            account.kills += 1
            account.claimed_deliveries += _count_claimed(folder)
        for receiver in receivers:
            receiver.set_script(OK)
        with _start_server(folder) as server:
            wait_until(lambda: _count_queued(server) == 0, seconds=150)  # with a retry after a minute
        _compare_deliveries(folder, receivers, account)
    return account


def _start_server(folder: Path) -> AbstractContextManager[ServerProcess]:
    return run_server(folder, DOCSHARE_RATE_LIMIT="1000000", DOCSHARE_WEBHOOK_ALLOW="127.0.0.0/8")


def _accept_slowly(may_respond: threading.Event) -> Script:
    time.sleep(_HOLD_S)
    may_respond.wait()
    return OK


def _create_file_and_webhooks(server: ServerProcess, receivers: list[FakeReceiver]) -> str:
    """Create a file, and a webhook for each receiver; return the UUID of the file."""
    for receiver in receivers:
        body = {"url": receiver.url, "events": ["content.replaced"]}
        assert requests.post(f"{server.url}/api/v1/webhooks", json=body, headers=server.headers, timeout=20).ok
    made = requests.post(
        f"{server.url}/api/v1/files", files={"file": ("a.pdf", simple_pdf(pages=1))}, headers=server.headers, timeout=20
    )
    return str(made.json()["uuid"])


def _make_events(server: ServerProcess, uuid: str, events: int, account: DeliveryTally) -> None:
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


def _query_number(folder: Path, sql: str) -> int:
    connection = sqlite3.connect(f"file:{folder / 'data' / 'docshare.db'}?mode=ro", uri=True)
    try:
        return int(connection.execute(sql).fetchone()[0])
    finally:
        connection.close()


def _count_claimed(folder: Path) -> int:
    return _query_number(folder, "SELECT COUNT(*) FROM deliveries WHERE claimed_at IS NOT NULL")


def _count_queued(server: ServerProcess) -> int:
    return _query_number(server.data_dir.parent, "SELECT COUNT(*) FROM deliveries WHERE next_at IS NOT NULL")


def _compare_deliveries(folder: Path, receivers: list[FakeReceiver], account: DeliveryTally) -> None:
    for receiver in receivers:
        came = Counter(hit.delivery for hit in receiver.requests)
        account.lost_deliveries += account.events - len(came)
        account.repeated_deliveries += sum(came.values()) - len(came)
    settled = _query_number(folder, "SELECT COUNT(*) FROM deliveries WHERE delivered_at IS NOT NULL")
    if settled != account.events * len(receivers):
        account.problems.append(f"{settled} delivered of {account.events} events to {len(receivers)} receivers")
