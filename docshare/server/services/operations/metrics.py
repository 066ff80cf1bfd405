"""Collect what ``/metrics`` reports: facts of the instance, and counters of one process since its start.

Queues, sessions, and the size of the database are facts of the instance: every process on it reports the same.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import docshare
from docshare.contract.limits import ACTIVE_READER_MS, SECOND
from docshare.server.durations import Labels
from docshare.server.exposition import Metric, Sample, make_histogram
from docshare.server.runtime import Runtime
from docshare.server.store.tables import deliveries, sessions
from docshare.server.store.tables import mail as mail_rows
from docshare.server.store.tables.base import QueueState


def collect_instance(rt: Runtime) -> list[Metric]:
    """Return the facts that are the same in every process of the instance. While the database is unavailable, the facts
    from it are missing."""
    now, has_database = rt.clock(), rt.db.is_answering()
    return [
        _gauge("docshare_build_info", "Version of docshare.", {"version": docshare.__version__}, 1),
        *(_collect_from_database(rt, now) if has_database else ()),
        *_collect_engines(rt, has_database=has_database),
        _gauge("docshare_data_free_bytes", "Free bytes on the data disk.", {}, rt.blobs.free_bytes()),
    ]


def collect_process(rt: Runtime) -> list[Metric]:
    """Return what this process has counted since its start, and what it is doing now."""
    now = rt.clock()
    connections = sorted(rt.db.count_connections().items())
    return [
        *_collect_requests(rt.requests.snapshot()),
        *_collect_rendering(rt),
        make_histogram(
            "docshare_delivery_attempt_duration_seconds",
            "Duration of webhook delivery attempts by outcome.",
            ("outcome",),
            rt.attempts.snapshot(),
        ),
        Metric(
            "docshare_database_connections",
            "gauge",
            "Database connections, and threads that wait.",
            [Sample(count, {"state": state}) for state, count in connections],
        ),
        Metric(
            "docshare_jobs_heartbeat_age_seconds",
            "gauge",
            "Seconds since each thread of background jobs last looked for work.",
            [Sample((now - at) / SECOND, {"thread": name}) for name, at in sorted(rt.heartbeats.items())],
        ),
    ]


def _collect_requests(rows: Mapping[Labels, Sequence[float]]) -> Iterator[Metric]:
    by_route: dict[Labels, list[float]] = {}
    counts = []
    for (method, route, status), row in sorted(rows.items()):
        counts.append(Sample(sum(row[:-1]), {"method": method, "route": route, "status": status}))
        before = by_route.get((method, route), [0.0] * len(row))
        by_route[method, route] = [a + b for a, b in zip(before, row, strict=True)]
    yield Metric("docshare_http_requests_total", "counter", "Requests by method, route, and status.", counts)
    # Without the status, which would multiply the number of time series.
    yield make_histogram(
        "docshare_http_request_duration_seconds",
        "Seconds from a request to the start of its response.",
        ("method", "route"),
        by_route,
    )


def _collect_rendering(rt: Runtime) -> Iterator[Metric]:
    yield make_histogram(
        "docshare_render_duration_seconds",
        "Duration of rendering pages, texts, and copies, including the wait for a worker.",
        ("outcome",),
        rt.pages.files.renders.snapshot(),
    )
    running, waiting = rt.engine.pool.count_jobs()
    states = (("running", running), ("waiting", waiting))
    yield Metric(
        "docshare_render_jobs",
        "gauge",
        "Jobs of the PDF workers by lane and state.",
        [Sample(jobs[lane], {"lane": lane, "state": state}) for state, jobs in states for lane in sorted(jobs)],
    )
    cache = rt.pages.files.read_cache_state()
    yield _gauge("docshare_page_cache_bytes", "Bytes of cached pages, texts, and copies.", {}, cache.size)
    lookups = [Sample(cache.hits, {"result": "hit"}), Sample(cache.misses, {"result": "miss"})]
    yield Metric("docshare_page_cache_lookups_total", "counter", "Lookups in the page cache by result.", lookups)


def _collect_from_database(rt: Runtime, now: int) -> Iterator[Metric]:
    found = {"deliveries": deliveries.get_queue(rt.db), "mails": mail_rows.get_queue(rt.db)}
    yield _queue_gauge("length", "Number of pending rows in each queue.", found, lambda queue: queue.length)
    yield _queue_gauge(
        "oldest_age_seconds",
        "Age of the oldest pending row of each queue; 0 if it is empty.",
        found,
        lambda queue: _seconds_since(queue.oldest_at, now),
    )
    yield _queue_gauge(
        "overdue_seconds",
        "How long the first row of each queue has been due; 0 if none is.",
        found,
        lambda queue: _seconds_since(queue.due_at, now),
    )
    active = sessions.count_active(rt.db, now - ACTIVE_READER_MS)
    yield _gauge("docshare_sessions_active", "Sessions of readers who are reading now.", {}, active)
    yield _gauge("docshare_database_bytes", "Size of the database.", {}, rt.db.size_bytes())


def _collect_engines(rt: Runtime, *, has_database: bool) -> Iterator[Metric]:
    kind = "postgresql" if rt.db.is_shared else "sqlite"
    states = {kind: has_database}
    if rt.blobs.is_shared:
        states["storage"] = rt.blobs.is_writable()
    if rt.shared is not None:
        states["redis"] = rt.shared.is_answering()
    samples = [Sample(is_up, {"engine": engine}) for engine, is_up in states.items()]
    yield Metric("docshare_engine_up", "gauge", "Whether an engine answers.", samples)


def _queue_gauge(name: str, text: str, found: Mapping[str, QueueState], read: Callable[[QueueState], float]) -> Metric:
    samples = [Sample(read(queue), {"queue": label}) for label, queue in found.items()]
    return Metric(f"docshare_queue_{name}", "gauge", text, samples)


def _seconds_since(at: int | None, now: int) -> float:
    return 0 if at is None else max(0, now - at) / SECOND


def _gauge(name: str, text: str, labels: Mapping[str, str], value: float) -> Metric:
    return Metric(name, "gauge", text, [Sample(value, labels)])
