"""Parse typed values: JSON, settings files and times."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time
from typing import Any

from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import read_text
from docshare.cli.terminal.text import parse_duration
from docshare.contract.patterns import Pattern
from docshare.contract.wire import format_instant, parse_instant

_DURATION = Pattern(r"[0-9.]+[a-z]+", re.ASCII)
_LOCAL_TIME = Pattern(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?", re.ASCII)
_END_OF_DAY = time(23, 59, 59)


def parse_json(text: str, what: str) -> Any:
    """Parse ``text`` as JSON; raise Stop (2) with ``what`` as its name, also for an object with a key twice."""
    try:
        return json.loads(text, parse_constant=_reject_constant, object_pairs_hook=_build_object)
    except (ValueError, RecursionError) as error:
        raise Stop(ExitCode.USAGE, f"{what} is not valid JSON: {error}") from None


def _reject_constant(word: str) -> float:
    raise ValueError(f"{word} is not a JSON value")


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"duplicate key {key}")
        found[key] = value
    return found


def is_duration(text: str) -> bool:
    """Return whether ``text`` is a duration such as ``7d``, not a date."""
    return _DURATION.fullmatch(text) is not None


def parse_time(context: Context, text: str, name: str) -> int:
    """Return the time in milliseconds since 1970 that ``text`` stands for; raise Stop (2) if it is not a time.

    ``7d`` counts from now, a datetime without an offset is local time, and a date means the end of that day.
    """
    try:
        if is_duration(text):
            found: int | None = context.now() + int(parse_duration(text) * 1000)
            format_instant(found or 0)  # raises for a year beyond 9999
        else:
            found = parse_instant(text) if not _LOCAL_TIME.fullmatch(text) else _parse_local_time(text)
    except (ValueError, OverflowError, OSError):
        found = None
    if found is None:
        hint = "Use 7d, 12h, 2030-01-31, '2030-01-31 18:00', or 2030-01-31T18:00:00Z."
        raise Stop(ExitCode.USAGE, f"{name}: {text!r} is not a time", hint=hint)
    return found


def _parse_local_time(text: str) -> int:
    bare = datetime.fromisoformat(text)  # local time
    if len(text) == len("2030-01-31"):
        bare = datetime.combine(bare.date(), _END_OF_DAY)
    return int(bare.astimezone(UTC).timestamp() * 1000)


def read_settings(context: Context, source: str, what: str) -> dict[str, Any]:
    """Read the settings from a JSON or TOML file (``-``: stdin); raise Stop (2) if it does not hold an object."""
    text = read_text(context, source, what)
    is_toml = source.endswith(".toml") or (not source.endswith(".json") and not text.lstrip().startswith(("{", "[")))
    found = _parse_toml(text, source) if is_toml else parse_json(text, source)
    if not isinstance(found, dict):
        raise Stop(ExitCode.USAGE, f"{what}: {source} does not contain a settings object")
    return dict(_convert_values(context, found))


def _parse_toml(text: str, source: str) -> Any:
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Stop(ExitCode.USAGE, f"{source} is not valid TOML: {error}") from None


def _convert_values(context: Context, found: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the keys with their API values. A date or time is read as on the command line."""
    for key, value in found.items():
        text = value.isoformat() if isinstance(value, date | datetime) else value
        yield (
            key,
            format_instant(parse_time(context, text, key)) if key == "deleteAt" and isinstance(text, str) else text,
        )
