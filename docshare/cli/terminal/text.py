"""Text for people: escaping of untrusted text, widths, times. Nothing here prints."""

import re
import textwrap
import time
from collections.abc import Iterable, Iterator

_UNIT_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_TERM_WIDTH = 78
_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def clean(text: str, *, multiline: bool = False) -> str:
    """Replace every character that could control a terminal with an escape such as ``\\x1b``.

    This covers control characters, bidirectional controls, zero-width characters and lone surrogates. With
    ``multiline``, keep line feeds and tabs.
    """
    if text.isprintable():
        return text
    return "".join(_escape(char, multiline) for char in text)


def _escape(char: str, multiline: bool) -> str:
    if char.isprintable() or (multiline and char in "\n\t"):
        return char
    import unicodedata

    if unicodedata.category(char) == "Zs":
        return char
    if char in _ESCAPES:
        return _ESCAPES[char]
    point = ord(char)
    if point < 0x100:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def cell_width(text: str) -> int:
    """Return the number of terminal cells of ``text`` (two for wide characters, none for combining marks)."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me") else
        2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
        for char in text
    )  # fmt: skip


def clip(text: str, width: int, mark: str = "…") -> str:
    """Return ``text`` cut to ``width`` cells, ending in ``mark`` if it was cut."""
    if cell_width(text) <= width:
        return text
    room = width - cell_width(mark)
    kept: list[str] = []
    for char in text:
        room -= cell_width(char)
        if room < 0:
            break
        kept.append(char)
    return ("".join(kept) + mark)[: max(width, 0)]


def format_relative_time(millis: int, now: int) -> str:
    """Return ``3 days ago``, ``in 2 h``, or a local date beyond 30 days. Both in milliseconds since 1970."""
    away = abs(now - millis) // 1000
    if away < 45:
        return "just now" if millis <= now else "in moments"
    if away >= 30 * 86_400:
        return format_local_time(millis)[:10]
    if away < 3600:
        amount = f"{max(1, round(away / 60))} min"
    elif away < 2 * 86_400:
        amount = f"{round(away / 3600)} h"
    else:
        amount = f"{round(away / 86_400)} days"
    return f"{amount} ago" if millis <= now else f"in {amount}"


def format_local_time(millis: int) -> str:
    """Return for example ``2026-11-21 09:00`` in local time."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(millis / 1000))


def render_terms(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield aligned and wrapped ``  term  meaning`` lines; a long term gets a separate line."""
    table = list(pairs)
    indent = min(max(len(term) for term, _ in table), 22) + 4
    for term, meaning in table:
        lines = textwrap.wrap(meaning, _TERM_WIDTH - indent, break_on_hyphens=False) or [""]
        if len(term) + 4 > indent:
            yield f"  {term}"
        else:
            yield f"  {term:<{indent - 4}}  {lines.pop(0)}".rstrip()
        yield from (" " * indent + line for line in lines)


def parse_duration(text: str) -> float:
    """Parse ``90``, ``90s``, ``5m``, ``1.5h`` or ``7d`` as seconds; raise ValueError for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)?", text.strip(), re.ASCII)
    if match is None:
        raise ValueError(f"{text!r} is not a duration such as 30s, 5m, or 2h")
    return float(match[1]) * _UNIT_SECONDS[match[2] or "s"]
