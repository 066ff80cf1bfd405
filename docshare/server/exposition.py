"""Write metrics in the text format of Prometheus, version 0.0.4."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from docshare.server.durations import BUCKETS_S, Labels

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Sample(NamedTuple):
    """One value and its labels; ``suffix`` follows the name of the metric."""

    value: float
    labels: Mapping[str, str] = {}
    suffix: str = ""


class Metric(NamedTuple):
    """A metric with all its samples; ``kind`` is counter, gauge or histogram."""

    name: str
    kind: str
    help: str
    samples: Sequence[Sample]


def make_histogram(name: str, text: str, keys: Sequence[str], rows: Mapping[Labels, Sequence[float]]) -> Metric:
    """Return the histogram of rows of ``Durations.snapshot``; ``keys`` are the names of their labels."""
    samples: list[Sample] = []
    for values, row in sorted(rows.items()):
        labels = dict(zip(keys, values, strict=True))
        total = 0.0
        for bound, count in zip((*map(repr, BUCKETS_S), "+Inf"), row, strict=False):
            total += count
            samples.append(Sample(total, {**labels, "le": bound}, "_bucket"))
        samples += [Sample(row[-1], labels, "_sum"), Sample(total, labels, "_count")]
    return Metric(name, "histogram", text, samples)


def render(metrics: Iterable[Metric]) -> str:
    """Return the text of ``metrics``; one without samples is left out."""
    return "".join(f"{line}\n" for metric in metrics if metric.samples for line in _render_metric(metric))


def _render_metric(metric: Metric) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.help}"
    yield f"# TYPE {metric.name} {metric.kind}"
    for sample in metric.samples:
        labels = ",".join(f'{key}="{_escape(value)}"' for key, value in sample.labels.items())
        name = metric.name + sample.suffix
        yield f"{name}{{{labels}}} {_format(sample.value)}" if labels else f"{name} {_format(sample.value)}"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _format(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
