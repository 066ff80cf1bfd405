"""Check every deadline of the server one second before it, at it, and one second after it, with a simulated clock.

``python -m tests.torture.deadlines`` checks all of them, and again with the clock set one hour back and then one hour
ahead in between, while all background jobs run. Exits with 1 if a result is wrong or a length has no deadline.
"""

import io
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from docshare.contract.wire import format_instant
from docshare.server.pdf.engine import PdfEngine
from docshare.server.services.accounts import sign_in
from docshare.server.services.events import activity_feed
from docshare.server.services.files import burn
from docshare.server.services.operations import sweeps
from docshare.server.services.readership import viewing
from docshare.server.services.webhooks import deliveries
from docshare.server.workers import jobs
from tests.support.clock import FakeClock
from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.due_deliveries import deliver_due
from tests.support.outside.oauth_app import make_app
from tests.support.outside.receivers import LOOPBACK_NETWORKS, add_webhook, open_receiver, record_replacements
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.anonymous_files import share_anonymously
from tests.support.people.cast import BASE_URL, World, close_world, make_runtime, make_world
from tests.support.people.gate_client import GateClient
from tests.support.people.reader import FakeReader

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
Probe = Callable[[], bool]
"""A function that returns whether the deadline has not passed yet."""


class Deadline(NamedTuple):
    """``prepare`` starts the period and returns the probe. ``once``: the probe can be called only once."""

    after_ms: int
    prepare: Callable[[World], Probe]
    once: bool = True


def _prepare_expiry(after_ms: int) -> Callable[[World], Probe]:
    def prepare(world: World) -> Probe:
        uploaded = world.pia.upload()
        put_settings(world, uploaded, deleteAt=format_instant(world.clock.now + after_ms))
        return lambda: world.http.get(f"/{uploaded['shortId']}").status_code == 200

    return prepare


def _burn_file(world: World) -> dict[str, Any]:
    uploaded = world.pia.upload()
    put_settings(world, uploaded, viewLimit=1)
    assert GateClient(world, uploaded["shortId"]).enter()
    return uploaded


def _prepare_burned_content(world: World) -> Probe:
    _burn_file(world)
    return lambda: burn.destroy_due(world.rt) == 0


def _prepare_reopening(world: World) -> Probe:
    uploaded = world.pia.upload()
    put_settings(world, uploaded, viewLimit=9)
    guest = GateClient(world, uploaded["shortId"])
    assert guest.enter()
    return guest.is_in


def _prepare_open_page(world: World) -> Probe:
    uploaded = world.pia.upload()
    put_settings(world, uploaded, viewLimit=9)
    guest = GateClient(world, uploaded["shortId"])
    assert guest.enter()
    return lambda: guest.get(f"/{uploaded['shortId']}/text/1.json?v=1").status_code == 200


def _prepare_trash(owner: str) -> Callable[[World], Probe]:
    def prepare(world: World) -> Probe:
        person = getattr(world, owner)
        uploaded = person.upload()
        assert person.delete(f"/api/v1/files/{uploaded['uuid']}").get_json()["trashed"] is True
        return lambda: person.post(f"/api/v1/files/{uploaded['uuid']}/restore").status_code == 200

    return prepare


def _prepare_purge(owner: str) -> Callable[[World], Probe]:
    def prepare(world: World) -> Probe:
        person = getattr(world, owner)
        person.delete(f"/api/v1/files/{person.upload()['uuid']}")
        return lambda: sweeps.purge_due(world.rt) == 0

    return prepare


def _prepare_anonymous_link(world: World) -> Probe:
    origin = {"REMOTE_ADDR": "203.0.113.9"}
    form = {"file": (io.BytesIO(simple_pdf()), "a.pdf")}
    uploaded = world.http.post("/api/files", data=form, environ_overrides=origin).get_json()
    return lambda: world.http.get(f"/{uploaded['shortId']}").status_code == 200


def _prepare_unclaimed(world: World) -> Probe:
    share_anonymously(world, days=7)
    return lambda: sweeps.expire_unclaimed(world.rt) == 0


def _prepare_claim_token(world: World) -> Probe:
    file = share_anonymously(world, days=60)
    body = {"claimToken": file.claim_token}
    return lambda: world.pia.post("/api/v1/files/claim", json=body).status_code == 200


def _prepare_manage_token(world: World) -> Probe:
    file = share_anonymously(world, days=60)
    path = f"/api/v1/files/{file.uuid}/settings"
    return lambda: file.manage("PUT", path, json={"allowDownload": True}).status_code == 200


def _prepare_sign_in_link(world: World) -> Probe:
    path = sign_in.create_link(world.rt, world.pia.email).removeprefix(BASE_URL)
    return lambda: world.app.test_client().post(path).status_code == 303


def _prepare_session(world: World) -> Probe:
    browser = sign_in_browser(world, world.pia)
    return lambda: "You are signed in" in browser.get("/login").text


def _prepare_code(world: World) -> Probe:
    app = make_app(world)
    code = app.create_code()
    return lambda: app.exchange_code(code).status_code == 200


def _prepare_access_token(world: World) -> Probe:
    token = make_app(world).approve_and_exchange()["access_token"]
    headers = {"Authorization": f"Bearer {token}"}
    return lambda: world.http.get("/api/v1/files", headers=headers).status_code == 200


def _prepare_refresh_token(world: World) -> Probe:
    app = make_app(world)
    token = app.approve_and_exchange()["refresh_token"]
    return lambda: app.refresh_token(token).status_code == 200


def _prepare_retry(failures: int) -> Callable[[World], Probe]:
    """Prepare the delivery attempt that follows the given number of failures."""

    def prepare(world: World) -> Probe:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]  # closed below, so every attempt fails
        add_webhook(world.pia, f"http://127.0.0.1:{port}/in")
        record_replacements(world, world.pia.upload()["uuid"])
        for wait in (0, *_WAITS[: failures - 1]):
            world.clock.now += wait
            assert deliver_due(world.rt) == 1
        return lambda: deliver_due(world.rt) == 0

    return prepare


def _prepare_stored_delivery(world: World) -> Probe:
    with open_receiver() as receiver:
        add_webhook(world.pia, receiver.url)
        record_replacements(world, world.pia.upload()["uuid"])
        assert deliver_due(world.rt) == 1
    return lambda: deliveries.delete_expired(world.rt) == 0


def _prepare_stored_event(world: World) -> Probe:
    record_replacements(world, world.pia.upload()["uuid"])
    return lambda: activity_feed.delete_expired(world.rt) == 0


def _prepare_hidden_session(world: World) -> Probe:
    FakeReader(world, world.pia.upload()["shortId"]).leave()
    return lambda: viewing.end_due_sessions(world.rt) == 0


def _prepare_idle_session(world: World) -> Probe:
    FakeReader(world, world.pia.upload()["shortId"]).send_next_beacon(input=True)
    return lambda: viewing.end_due_sessions(world.rt) == 0


_WAITS = (MINUTE, 10 * MINUTE, HOUR, HOUR)
DEADLINES: dict[str, Deadline] = {
    "expiry in 5 s": Deadline(5 * SECOND, _prepare_expiry(5 * SECOND), once=False),
    "expiry in 180 d": Deadline(180 * DAY, _prepare_expiry(180 * DAY), once=False),
    "expiry in 365 d": Deadline(365 * DAY, _prepare_expiry(365 * DAY), once=False),
    "authorization code, 60 s": Deadline(MINUTE, _prepare_code),
    "session of a hidden page, 60 s": Deadline(MINUTE, _prepare_hidden_session),
    "attempt 2, 1 min": Deadline(_WAITS[0], _prepare_retry(1)),
    "session of an idle page, 5 min": Deadline(5 * MINUTE, _prepare_idle_session),
    "sign-in link, 10 min": Deadline(10 * MINUTE, _prepare_sign_in_link),
    "attempt 3, 10 min": Deadline(_WAITS[1], _prepare_retry(2)),
    "bytes of a burned file, 30 min": Deadline(30 * MINUTE, _prepare_burned_content),
    "opening again, 30 min": Deadline(30 * MINUTE, _prepare_reopening, once=False),
    "attempt 4, 1 h": Deadline(_WAITS[2], _prepare_retry(3)),
    "attempt 5, 1 h": Deadline(_WAITS[3], _prepare_retry(4)),
    "access token, 1 h": Deadline(HOUR, _prepare_access_token, once=False),
    "open page, 12 h": Deadline(12 * HOUR, _prepare_open_page, once=False),
    "trash of Basic, 7 d": Deadline(7 * DAY, _prepare_trash("bea")),
    "purge of Basic, 7 d": Deadline(7 * DAY, _prepare_purge("bea")),
    "anonymous link, 7 d": Deadline(7 * DAY, _prepare_anonymous_link, once=False),
    "unclaimed file, 14 d": Deadline(14 * DAY, _prepare_unclaimed),
    "trash of Pro, 30 d": Deadline(30 * DAY, _prepare_trash("pia")),
    "purge of Pro, 30 d": Deadline(30 * DAY, _prepare_purge("pia")),
    "claim token, 30 d": Deadline(30 * DAY, _prepare_claim_token),
    "manage token, 30 d": Deadline(30 * DAY, _prepare_manage_token, once=False),
    "signed-in session, 30 d": Deadline(30 * DAY, _prepare_session, once=False),
    "refresh token, 90 d": Deadline(90 * DAY, _prepare_refresh_token),
    "log of deliveries, 90 d": Deadline(90 * DAY, _prepare_stored_delivery),
    "record of events, 90 d": Deadline(90 * DAY, _prepare_stored_event),
}
LENGTHS = (
    5 * SECOND, MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 7 * DAY, 30 * DAY, 180 * DAY, 365 * DAY
)  # fmt: skip
"""Lengths in ms that at least one deadline must have, from seconds to a year."""
JUMPS_MS = (-HOUR, HOUR)


@contextmanager
def _open_world(engine: PdfEngine) -> Iterator[World]:
    with tempfile.TemporaryDirectory(prefix="docshare-deadlines-", ignore_cleanup_errors=True) as folder:
        clock = FakeClock()
        world = make_world(
            make_runtime(Path(folder), clock, engine, anonymous_uploads=True, webhook_allow=LOOPBACK_NETWORKS), clock
        )
        try:
            yield world
        finally:
            close_world(world)


def check_deadline(engine: PdfEngine, name: str, jump_ms: int = 0) -> list[str]:
    """Check one deadline at -1, 0 and +1 s, with a clock jump of ``jump_ms`` in between; return the errors."""
    deadline, wrong = DEADLINES[name], []
    for offset in (-SECOND, 0, SECOND):
        with _open_world(engine) as world:
            probe = deadline.prepare(world)
            began = world.clock.now
            if jump_ms:
                world.clock.now += jump_ms
                for job in jobs.JOBS:
                    job.run(world.rt)
                if not deadline.once and not probe():
                    wrong.append(f"{name}: expired while the clock is off by {jump_ms // 1000} s")
            world.clock.now = began + deadline.after_ms + offset
            if probe() != (offset < 0):
                wrong.append(f"{name}: wrong at {offset // 1000:+} s after a jump of {jump_ms // 1000} s")
    return wrong


def list_jumps() -> list[tuple[str, int]]:
    """Return the name of each deadline with each of ``JUMPS_MS`` that does not reach it."""
    return [(name, jump) for jump in JUMPS_MS for name, one in DEADLINES.items() if jump < one.after_ms]


def find_missing_lengths() -> list[str]:
    """Return an error for each of ``LENGTHS`` that no deadline has."""
    found = {deadline.after_ms for deadline in DEADLINES.values()}
    return [f"no deadline lasts {length // SECOND} s" for length in LENGTHS if length not in found]


def main() -> int:
    """Run the checks, print the results, and return the exit code."""
    engine, wrong = PdfEngine(workers=1), find_missing_lengths()
    checks = [*((name, 0) for name in DEADLINES), *list_jumps()]
    for name, jump_ms in checks:
        wrong += check_deadline(engine, name, jump_ms)
    engine.close()
    print(f"{len(DEADLINES)} deadlines, {len(checks) * 3} checks, {len(wrong)} errors", *wrong, sep="\n  ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
