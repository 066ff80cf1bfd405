"""Let each worker process of ``serve --workers`` report the metrics of all; Prometheus scrapes an arbitrary one.

Each process writes its counters to a file every few seconds. A series has the label ``worker``, so that the restart of
one process resets no other series.
"""

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from docshare.server.config import Config
from docshare.server.exposition import Metric, Sample
from docshare.server.runtime import Runtime
from docshare.server.services.operations import metrics
from docshare.server.store.identity import write_private

_write_lock = threading.Lock()


def share(rt: Runtime) -> int:
    """Write the metrics of this process for the others, if it is one of several. Return 0, as a job without items.
    Raises OSError."""
    number = rt.config.worker_number
    if number:
        with _write_lock:
            write_private(_metrics_path(rt.config, number), json.dumps(_add_label(metrics.collect_process(rt), number)))
    return 0


def collect_all(rt: Runtime) -> list[Metric]:
    """Return the metrics of the instance and of all its worker processes; those of others are some seconds old.

    This process reports the metrics that it has just shared, not newer ones; otherwise the next scrape, of another
    process, could show a counter that falls. Raises OSError.
    """
    if not rt.config.worker_number:
        return [*metrics.collect_instance(rt), *metrics.collect_process(rt)]
    share(rt)
    families = [_read(_metrics_path(rt.config, number)) for number in range(1, rt.config.workers + 1)]
    return [*metrics.collect_instance(rt), *_merge(families)]


def _metrics_path(config: Config, number: int) -> Path:
    return config.data_dir / "tmp" / f"worker-{number}.metrics"


def _read(path: Path) -> list[Metric]:
    with suppress(OSError, ValueError):  # a process that has just started
        return [
            Metric(name, kind, text, [Sample(*sample) for sample in samples])
            for name, kind, text, samples in json.loads(path.read_text(encoding="utf-8"))
        ]
    return []


def _add_label(found: Iterable[Metric], number: int) -> list[Metric]:
    return [
        metric._replace(
            samples=[sample._replace(labels={**sample.labels, "worker": str(number)}) for sample in metric.samples]
        )
        for metric in found
    ]


def _merge(families: Iterable[list[Metric]]) -> Iterator[Metric]:
    """Yield each metric once, with the samples of all processes, as the text format requires."""
    merged: dict[str, Metric] = {}
    for metric in (metric for family in families for metric in family):
        before = merged.get(metric.name)
        merged[metric.name] = metric if before is None else before._replace(samples=[*before.samples, *metric.samples])
    yield from merged.values()
