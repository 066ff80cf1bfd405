"""A few hundred deliveries to receivers of which a third fail in different ways.

The long run is ``tests.benchmarks.webhooks``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import stripe

from docshare.server.workers.dispatcher import Dispatcher
from tests.support.outside.import_source import Script, make_certificate
from tests.support.outside.receivers import (
    FAILING_SCRIPTS,
    LOOPBACK_NETWORKS,
    OK,
    UNUSUAL_SCRIPTS,
    CreatedWebhook,
    FakeReceiver,
    ReceivedRequest,
    add_webhook,
    open_receiver,
    record_replacements,
    shorten_deadlines,
)
from tests.support.people.cast import World
from tests.support.polling import wait_until

EVENTS = 15
HEALTHY_RECEIVERS = 13
FAILING_SCRIPT_NAMES = ["5xx", "reset", "hang", "drip", "redirect", "endless headers"]
WAITS = (60, 600, 3600, 3600)


def fail_first_attempts(bad: Script) -> Callable[[ReceivedRequest], Script]:
    """Fail the first attempts of a delivery, between none and four depending on its UUID."""
    return lambda hit: bad if hit.attempt <= int(hit.delivery[:2], 16) % 5 else OK


def test_every_delivery_is_delivered_or_abandoned_after_five_attempts(
    make: Callable[..., World], tmp_path: Path
) -> None:
    cert = make_certificate(tmp_path)
    world = make(webhook_allow=LOOPBACK_NETWORKS, ca_bundle=cert)
    with ExitStack() as stack:
        receivers = [stack.enter_context(open_receiver(cert=cert)) for _ in range(HEALTHY_RECEIVERS)]
        receivers += [stack.enter_context(open_receiver(FAILING_SCRIPTS[habit])) for habit in FAILING_SCRIPT_NAMES]
        receivers.append(stack.enter_context(open_receiver(https=True)))
        receivers[0].choose_script = fail_first_attempts(FAILING_SCRIPTS["5xx"])
        receivers[1].choose_script = fail_first_attempts(FAILING_SCRIPTS["reset"])
        receivers[2].set_script(UNUSUAL_SCRIPTS["endless body"])
        hooks = [add_webhook(world.pia, receiver.url) for receiver in receivers]
        record_replacements(world, world.pia.upload()["uuid"], times=EVENTS)
        deliver_over_time(world, receivers[HEALTHY_RECEIVERS:])
    ended = world.rt.db.fetch_all("SELECT COUNT(delivered_at), COUNT(abandoned_at), COUNT(next_at) FROM deliveries")
    assert ended == [(EVENTS * HEALTHY_RECEIVERS, EVENTS * (len(FAILING_SCRIPT_NAMES) + 1), 0)]
    assert_attempts(world)
    for hook, receiver in zip(hooks[:HEALTHY_RECEIVERS], receivers, strict=False):
        assert_received(hook, receiver)


def deliver_over_time(world: World, bad: list[FakeReceiver]) -> None:
    """Deliver with a dispatcher; advance the clock whenever nothing is due."""
    dispatcher = Dispatcher(shorten_deadlines(world.rt, *bad))
    dispatcher.start()
    try:
        for wait in (*WAITS, 0):
            wait_until(lambda: is_nothing_due(world), seconds=60)
            world.clock.advance(seconds=wait)
    finally:
        dispatcher.stop()
        dispatcher.join(10)


def is_nothing_due(world: World) -> bool:
    found = world.rt.db.fetch_one("SELECT COUNT(*) FROM deliveries WHERE next_at <= ?", (world.clock.now,))
    return found == (0,)


def assert_attempts(world: World) -> None:
    """Assert that every abandoned delivery had five attempts, all at the exact times."""
    start = min(at for (at,) in world.rt.db.fetch_all("SELECT at FROM attempts"))
    moments = [0, 60, 660, 4260, 7860]
    tried = Counter(delivery for (delivery,) in world.rt.db.fetch_all("SELECT delivery_id FROM attempts"))
    abandoned = [
        ident for (ident,) in world.rt.db.fetch_all("SELECT id FROM deliveries WHERE abandoned_at IS NOT NULL")
    ]
    assert {tried[ident] for ident in abandoned} == {5}
    assert max(tried.values()) == 5
    for number, at in world.rt.db.fetch_all("SELECT number, at FROM attempts"):
        assert at - start == moments[number - 1] * 1000


def assert_received(hook: CreatedWebhook, receiver: FakeReceiver) -> None:
    """Assert that every event was received, and that the package of Stripe verifies all signatures."""
    deliveries = receiver.group_by_delivery()
    assert len(deliveries) == EVENTS
    for hits in deliveries.values():
        assert [hit.attempt for hit in hits] == list(range(1, len(hits) + 1))
        assert len({hit.body for hit in hits}) == 1
        for hit in hits:
            header = hit.headers["x-service-signature"]
            stripe.WebhookSignature.verify_header(hit.body.decode("utf-8"), header, hook.secret)
