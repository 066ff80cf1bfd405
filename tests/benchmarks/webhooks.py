"""Measure many webhook deliveries: python -m tests.benchmarks.webhooks [farm|hostile|hanging]... [--share 0.1]

``farm``: 10,000 deliveries, of which 30 % fail in all possible ways, TLS included; the clock jumps from attempt to
attempt, and the timeout of ten seconds is reduced to 0.4. ``hostile``: 47 healthy receivers and 3 that hold
connections, in real time: the delay from event to delivery. ``hanging``: 1,000 deliveries due at once, of which
10 % hang for ten seconds, compared with the best time that the limits allow. ``--share`` reduces all of them.
"""

import argparse
import resource
import ssl
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import quantiles

import stripe

from docshare.contract.plans import Plan
from docshare.server.config import Config
from docshare.server.instance import open_instance
from docshare.server.rules.deliveries import MAX_PER_ACCOUNT, MAX_PER_WEBHOOK
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import accounts, callers
from docshare.server.services.events import activity
from docshare.server.services.webhooks import webhooks
from docshare.server.workers.dispatcher import MAX_SENDERS, Dispatcher
from tests.support.clock import FakeClock
from tests.support.outside.import_source import Script, hold_connection, make_certificate
from tests.support.outside.receivers import (
    FAILING_SCRIPTS,
    LOOPBACK_NETWORKS,
    OK,
    FakeReceiver,
    ReceivedRequest,
    load_context,
    open_receiver,
    shorten_deadlines,
)

WEBHOOKS_EACH = 25  # webhooks of one account
TLS_RECEIVERS = 10  # of the 50, use HTTPS
FAILING_SCRIPT_NAMES = ("5xx", "reset", "hang", "drip", "redirect", "endless headers")
ALL_ENDED_SQL = "SELECT COUNT(*) = 0 FROM deliveries WHERE next_at IS NOT NULL"
START_TARGET_S = 6.0
IDEAL_TARGET = 1.2

_FILE = """
INSERT INTO files (id, uuid, short_id, owner_id, original_name, size, mime_type, total_pages, page_sizes, sha256, blob,
content_version, created_at, updated_at) VALUES (?1, printf('%08d-0000-4000-8000-000000000000', ?1),
printf('%012d', ?1), ?1, 'report.pdf', 1, 'application/pdf', 1, '[[1,612,792]]', '0', printf('%032d', ?1), 1, 0, 0)
"""


@dataclass(frozen=True)
class Bench:
    """An instance with accounts 1, 2, ... that have one file each, and ``secrets`` of their webhooks by URL."""

    rt: Runtime
    secrets: dict[str, str]

    def record_events(self, account: int, times: int) -> None:
        """Record ``times`` events of the file of ``account``."""
        with self.rt.db.write():
            for number in range(times):
                activity.record(self.rt, account, "content.replaced", {"contentVersion": number}, at=self.rt.clock())

    def is_settled(self) -> bool:
        """Return whether no delivery is queued."""
        return self.rt.db.fetch_one(ALL_ENDED_SQL) == (1,)


@contextmanager
def open_bench(
    receivers: list[FakeReceiver], accounts_count: int, ca_bundle: Path | None = None, **outside: object
) -> Iterator[Bench]:
    """Yield an instance in which every receiver is a webhook of one account, in turn."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        config = Config(
            data_dir=Path(folder) / "data",
            base_url="http://127.0.0.1:8787",
            webhook_allow=LOOPBACK_NETWORKS,
            ca_bundle=ca_bundle,
        )
        rt = replace(stack.enter_context(open_instance(config)).rt, **outside)  # type: ignore[arg-type]
        bench = Bench(rt, {})
        callers_by_account = []
        for number in range(accounts_count):
            account = accounts.create_account(rt, f"owner{number}@example.com", "", Plan.PRO)
            assert account.id == number + 1
            callers_by_account.append(
                callers.authenticate(rt, f"Bearer {accounts.create_key(rt, account.email, '').key}")
            )
            with rt.db.write():
                rt.db.execute(_FILE, (account.id,))
        for number, receiver in enumerate(receivers):
            body = {"url": receiver.url, "events": ["content.replaced"]}
            bench.secrets[receiver.url] = webhooks.create(rt, callers_by_account[number % accounts_count], body).secret
        yield bench


@contextmanager
def run_dispatcher(rt: Runtime) -> Iterator[None]:
    """Run a dispatcher during the block."""
    dispatcher = Dispatcher(rt)
    dispatcher.start()
    try:
        yield
    finally:
        dispatcher.stop()
        dispatcher.join(30)


def wait_until(happened: Callable[[], bool], seconds: float) -> None:
    """Check the condition ten times per second until it is true."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError("not done in time")
        time.sleep(0.1)


def print_result(name: str, measured: str, target: str, *, good: bool) -> bool:
    """Print one line of the result."""
    print(f"{'ok  ' if good else 'MISS'} {name}: {measured} (target {target})", flush=True)
    return good


# --- 10,000 deliveries of which 30 % fail ----------------------------------------------------------------------------


def run_farm(share: float) -> bool:
    """Check that every delivery is delivered, or abandoned after five attempts, and that each was really sent."""
    events, clock = max(1, round(200 * share)), FakeClock()
    with ExitStack() as stack:
        receivers, trusted = _open_farm(stack)
        bench = stack.enter_context(open_bench(receivers, 2, trusted, clock=clock))
        for account in (1, 2):
            bench.record_events(account, events)
        began, expected = time.monotonic(), events * len(receivers)
        with run_dispatcher(shorten_deadlines(bench.rt, *receivers)):
            while not bench.is_settled():
                _advance_to_next(bench.rt, clock)
        seconds = time.monotonic() - began
        attempts = Counter(ident for (ident,) in bench.rt.db.fetch_all("SELECT delivery_id FROM attempts"))
        states = bench.rt.db.fetch_all("SELECT id, delivered_at IS NOT NULL, abandoned_at IS NOT NULL FROM deliveries")
        disabled = bench.rt.db.fetch_all("SELECT COUNT(*) FROM webhooks WHERE disabled_at IS NOT NULL")[0][0]
        tls_failures = bench.rt.db.fetch_all(_TLS_FAILURES_SQL)[0][0]
        late = [gap for gap in _list_attempt_gaps(bench.rt) if gap]
        unsent, repeated = _compare_with_receivers(bench.rt, receivers)
        genuine = sum(_count_genuine(receiver, bench.secrets[receiver.url]) for receiver in receivers)
        received = sum(len(receiver.requests) for receiver in receivers)
    wrong = [ident for ident, delivered, abandoned in states if delivered == abandoned or not 1 <= attempts[ident] <= 5]
    early = [ident for ident, _, abandoned in states if abandoned and attempts[ident] != 5]
    delivered = sum(row[1] for row in states)
    print(
        f"     {len(states)} deliveries, {delivered} delivered, {sum(attempts.values())} attempts in {seconds:.0f} s, "
        f"{disabled} webhooks disabled"
    )
    return all([
        print_result("deliveries", str(len(states)), f"{expected}, one per event and webhook",
            good=len(states) == expected),
        print_result("neither delivered nor abandoned", str(len(wrong)), "0", good=not wrong),
        print_result("abandoned before the fifth attempt", str(len(early)), "0", good=not early),
        print_result("marked delivered, but not received", str(unsent), "0", good=not unsent),
        print_result("attempts received twice or not recorded", str(repeated), "0", good=not repeated),
        print_result("attempts that failed in TLS", str(tls_failures), "> 0", good=tls_failures > 0),
        print_result("attempts at another time than 60, 600, 3600, 3600 s", str(len(late)), "0", good=not late),
        print_result("signatures accepted", f"{genuine} of {received}", "all", good=genuine == received),
    ])  # fmt: skip


_TLS_FAILURES_SQL = "SELECT COUNT(*) FROM attempts WHERE error LIKE '%certificate%' OR error LIKE '%TLS%'"


def _open_farm(stack: ExitStack) -> tuple[list[FakeReceiver], Path]:
    """Return the receivers, and the certificate that the instance must trust. Of every six connections over HTTPS, one
    gets plain HTTP, and one a certificate that is not trusted."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    certificates = []
    for name in ("trusted", "untrusted"):
        (folder / name).mkdir()
        certificates.append(make_certificate(folder / name))
    trusted, untrusted = map(load_context, certificates)

    def choose_context(number: int) -> ssl.SSLContext | None:
        return {1: None, 2: untrusted}.get(number % 6, trusted)

    receivers = [stack.enter_context(open_receiver()) for _ in range(2 * WEBHOOKS_EACH - TLS_RECEIVERS)]
    for receiver in receivers:
        receiver.choose_script = _choose_by_delivery
    for _ in range(TLS_RECEIVERS):
        receivers.append(stack.enter_context(open_receiver(https=True)))
        receivers[-1].choose_context = choose_context
    return receivers, certificates[0]


def _compare_with_receivers(rt: Runtime, receivers: list[FakeReceiver]) -> tuple[int, int]:
    """Return the number of deliveries marked delivered whose last attempt did not get a 2xx response from the receiver
    of their webhook, and the number of attempts that a receiver got twice, or that are not recorded."""
    received = Counter((each.url, hit.delivery, hit.attempt) for each in receivers for hit in each.requests)
    recorded = {
        (url, uuid, number): (status, bool(delivered) and number == tries)
        for url, uuid, tries, delivered, number, status in rt.db.fetch_all(
            "SELECT w.url, d.uuid, d.tries, d.delivered_at IS NOT NULL, a.number, a.status FROM attempts a "
            "JOIN deliveries d ON d.id = a.delivery_id JOIN webhooks w ON w.id = d.webhook_id"
        )
    }
    delivered = rt.db.fetch_all("SELECT COUNT(*) FROM deliveries WHERE delivered_at IS NOT NULL")[0][0]
    sent = [key for key, (status, is_last) in recorded.items() if is_last and 200 <= status < 300 and received[key]]
    unknown = [key for key in received if key not in recorded]
    return delivered - len(sent), len(unknown) + sum(count > 1 for count in received.values())


def _choose_by_delivery(hit: ReceivedRequest) -> Script:
    """Let three of ten deliveries fail one to five times, each in one way."""
    lot = int(hit.delivery[:8], 16)
    fails = 1 + lot // 100 % 5 if lot % 100 < 30 else 0
    return (
        FAILING_SCRIPTS[FAILING_SCRIPT_NAMES[lot // 1000 % len(FAILING_SCRIPT_NAMES)]] if hit.attempt <= fails else OK
    )


def _advance_to_next(rt: Runtime, clock: FakeClock) -> None:
    """Wait until no delivery is due, and advance the clock to the next attempt."""

    def is_idle() -> bool:
        return rt.db.fetch_one("SELECT COUNT(*) FROM deliveries WHERE next_at <= ?", (clock.now,)) == (0,)

    wait_until(is_idle, 900)
    found = rt.db.fetch_one("SELECT MIN(next_at) FROM deliveries")
    if found and found[0] is not None:
        clock.now = found[0]


def _list_attempt_gaps(rt: Runtime) -> Iterator[int]:
    """Yield the deviation of each attempt from its scheduled time in ms."""
    waits = [60, 600, 3600, 3600]
    attempts: dict[int, list[int]] = {}
    for ident, at in rt.db.fetch_all("SELECT delivery_id, at FROM attempts ORDER BY delivery_id, number"):
        attempts.setdefault(ident, []).append(at)
    for moments in attempts.values():
        for number, (one, next_one) in enumerate(pairwise(moments)):
            yield next_one - one - waits[number] * 1000


def _count_genuine(receiver: FakeReceiver, secret: str) -> int:
    accepted = 0
    for hit in receiver.requests:
        header = hit.headers["x-service-signature"]
        accepted += bool(stripe.WebhookSignature.verify_header(hit.body.decode("utf-8"), header, secret))
    return accepted


# --- 47 healthy and 3 hostile ----------------------------------------------------------------------------------------


def run_hostile(share: float) -> bool:
    """Check in real time that healthy deliveries start soon, bad attempts time out, and memory stays bounded."""
    with ExitStack() as stack:
        healthy = [stack.enter_context(open_receiver()) for _ in range(47)]
        bad = [
            stack.enter_context(open_receiver(FAILING_SCRIPTS[habit])) for habit in ("drip", "hang", "endless headers")
        ]
        for receiver in healthy:
            receiver.choose_script = _answer_after_delay
        bench = stack.enter_context(open_bench([*bad, *healthy], 2))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with run_dispatcher(bench.rt):
            for _ in range(max(5, round(60 * share))):
                for account in (1, 2):
                    bench.record_events(account, 1)
                time.sleep(1)
            wait_until(
                lambda: len(_list_first_waits(bench.rt, healthy)) == sum(len(each.requests) for each in healthy), 60
            )
            wait_until(lambda: not _count_waiting(bench.rt, healthy), 60)
        growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        waits = sorted(_list_first_waits(bench.rt, healthy))
        ends = [ms for (ms,) in bench.rt.db.fetch_all("SELECT latency_ms FROM attempts WHERE error LIKE '%in time%'")]
    p95 = quantiles(waits, n=20)[-1] / 1000
    print(
        f"     {len(waits)} healthy deliveries, slowest start {waits[-1] / 1000:.2f} s; {len(ends)} attempts timed out"
    )
    return all([
        print_result("p95 from event to start", f"{p95:.2f} s", f"<= {START_TARGET_S} s", good=p95 <= START_TARGET_S),
        print_result(
            "bad attempts end after", f"{min(ends) / 1000:.2f} to {max(ends) / 1000:.2f} s", "10.0 +- 0.5 s",
            good=min(ends) >= 9500 and max(ends) <= 10_500,
        ),
        print_result("memory growth", f"{growth:.0f} MB, the receivers of this run included", "<= 20 MB",
            good=growth <= 20),
    ])  # fmt: skip


def _answer_after_delay(hit: ReceivedRequest) -> Script:
    time.sleep(0.05)
    return OK


def _quote_urls(receivers: list[FakeReceiver]) -> str:
    return ", ".join(f"'{receiver.url}'" for receiver in receivers)


def _list_first_waits(rt: Runtime, receivers: list[FakeReceiver]) -> list[int]:
    """Return the milliseconds from each event to its first attempt."""
    return [wait for (wait,) in rt.db.fetch_all(
        "SELECT a.at - d.created_at FROM attempts a JOIN deliveries d ON d.id = a.delivery_id "
        f"JOIN webhooks w ON w.id = d.webhook_id WHERE a.number = 1 AND w.url IN ({_quote_urls(receivers)})"
    )]  # fmt: skip


def _count_waiting(rt: Runtime, receivers: list[FakeReceiver]) -> int:
    return int(rt.db.fetch_all(
        "SELECT COUNT(*) FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id "
        f"WHERE d.next_at IS NOT NULL AND w.url IN ({_quote_urls(receivers)})"
    )[0][0])  # fmt: skip


# --- 1,000 deliveries due, of which 10 % hang ------------------------------------------------------------------------


def run_hanging(share: float) -> bool:
    """Measure how long the first attempts take: eight of ten last 0.2 s, one 2 s, and one hangs for 10 s."""
    each = max(1, round(10 * share))  # deliveries of one webhook
    lengths = [0.2] * 80 + [2.0] * 10 + [10.0] * 10
    with ExitStack() as stack:
        receivers = [stack.enter_context(open_receiver()) for _ in lengths]
        for receiver, seconds in zip(receivers, lengths, strict=True):
            receiver.choose_script = _make_slow_choice(seconds)
        bench = stack.enter_context(open_bench(receivers, 10))
        for account in range(1, 11):
            bench.record_events(account, each)
        began = time.monotonic()
        with run_dispatcher(bench.rt):
            wait_until(lambda: bench.rt.db.fetch_one("SELECT COUNT(*) FROM attempts") == (each * len(lengths),), 600)
            seconds = time.monotonic() - began
    ideal = _compute_ideal_seconds(lengths, each)
    ratio = seconds / ideal
    print(f"     {each * len(lengths)} deliveries in {seconds:.1f} s; at best {ideal:.1f} s")
    return print_result(
        "time over the best possible", f"{ratio:.2f}x", f"<= {IDEAL_TARGET}x", good=ratio <= IDEAL_TARGET
    )


def _make_slow_choice(seconds: float) -> Callable[[ReceivedRequest], Script]:
    def choose(hit: ReceivedRequest) -> Script:
        if seconds < 10:
            time.sleep(seconds)
            return OK
        return hold_connection

    return choose


def _compute_ideal_seconds(lengths: list[float], each: int) -> float:
    """Return the best possible time: the pool, every account and every receiver work without a gap."""
    accounts_work: Counter[int] = Counter()
    for number, seconds in enumerate(lengths):
        accounts_work[number % 10] += each * seconds  # type: ignore[assignment]
    by_receiver = max(-(-each // MAX_PER_WEBHOOK) * seconds for seconds in lengths)
    return max(each * sum(lengths) / MAX_SENDERS, max(accounts_work.values()) / MAX_PER_ACCOUNT, by_receiver)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("parts", nargs="*", default=["farm", "hostile", "hanging"])
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--smallest", action="store_true", help="run only the farm, with the fewest deliveries")
    args = parser.parse_args()
    if args.smallest:
        args.parts, args.share = ["farm"], 0.005
    threading.stack_size(256 * 1024)  # the receivers have thousands of threads
    reached = []
    for part in args.parts:
        print(part, flush=True)
        reached.append({"farm": run_farm, "hostile": run_hostile, "hanging": run_hanging}[part](args.share))
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
