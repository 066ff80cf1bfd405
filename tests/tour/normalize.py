"""Replaces what differs between two runs of the same version: ids, tokens, times, ports and paths."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_PATTERNS = [
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uuid>"),
    (r"\bds_(live|at|rt|mt|ct|ac)_\w+", r"<\1>"),
    (r"\bwhsec_\w+", "<secret>"),
    (r"\beyJ[\w-]+\.[\w-]+\.[\w-]+", "<jwt>"),
    (r"t=\d+,v1=[0-9a-f]{64}", "<signature>"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?", "<time>"),
    (r"\b\w{3}, \d\d? \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "<time>"),
    (r"\b\d{4}-\d\d-\d\d\b|\b\d\d? [A-Z][a-z]{2} 20\d\d\b", "<date>"),
    (r"\bReader [0-9A-F]{4,}\b", "Reader <code>"),
    (r"/blobs/[\w-]{2}/[\w-]+", "/blobs/<name>"),
    (r"={10,}\d+==", "<boundary>"),
    (r"/notices/[\w.-]+(=\n[\w.-]+)?", "/notices/<token>"),
    (r"/static/\w+/", "/static/<mark>/"),
    (r"127\.0\.0\.1:\d+", "<address>"),
    (r"\b[0-9a-f]{32,}\b", "<hex>"),
    (r"\b(?=\w*\d)(?=\w*[A-Z])(?=\w*[a-z])[\w-]{20,}", "<random>"),
    (r"\b(just now|less than a minute ago|\d+ (seconds?|minutes?) ago|in \d+ (seconds?|minutes?))\b", "<ago>"),
    (r"\b\d+(\.\d+)? ?ms\b|(?<=\"latencyMs\":)\d+", "<ms>"),
    (r"\b[0-9a-f]{8}\b", "<start of uuid>"),
    (r"\bends in \w{4}\b", "ends in <tail>"),
    (r"127\.0\.0\.1_\d+-[0-9a-f]{16}\b", "<address>"),
    (r"(?m)^[ ▀▄█]+$", "<QR code>"),
]
_TIMED_KEYS = {"latencyMs", "ms", "uptimeS", "t", "pid", "port", "seconds", "ageMs", "expires_in"}
_RANDOM_KEYS = {"tail"}
_MIN_CHARS = 8  # shorter names also occur within other values
_EPOCH = 1_600_000_000


class Normalizer:
    """``names``: value -> placeholder, of ids and addresses that are known."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names
        known = sorted((name for name in names if len(name) >= _MIN_CHARS), key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, known)))
        self._patterns = [(re.compile(pattern), text) for pattern, text in _PATTERNS]

    def apply(self, value: Any, key: str = "") -> Any:
        """Return ``value`` with placeholders, in all its strings and numbers."""
        if isinstance(value, dict):
            return {self.apply(name): self.apply(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self.apply(item) for item in value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            return "<number>" if key in _TIMED_KEYS or value > _EPOCH else value
        if key in _RANDOM_KEYS:
            return "<text>"
        return self._replace(value) if isinstance(value, str) else value

    def _replace(self, text: str) -> str:
        text = self._known.sub(lambda found: self._names[found[0]], text)
        for pattern, placeholder in self._patterns:
            text = pattern.sub(placeholder, text)
        return text


def collect_short_ids(value: Any) -> Iterable[str]:
    """Yield the short id in each address and under each ``shortId`` of ``value``."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from [item] if key == "shortId" and isinstance(item, str) else collect_short_ids(item)
    elif isinstance(value, list):
        for item in value:
            yield from collect_short_ids(item)
    elif isinstance(value, str):
        yield from re.findall(r"127\.0\.0\.1:\d+/(?:embed/)?([A-Za-z0-9]{12})\b", value)
