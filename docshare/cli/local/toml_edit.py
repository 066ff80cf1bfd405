"""Change one value of a TOML file and leave everything else, comments included, as it was.

Statements are found with ``tomllib`` itself, and every change is checked by reading the result back, so a file written
in a way this editor does not understand is refused, never damaged.
"""

import copy
import json
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from docshare.cli.framework.exits import ExitCode, Stop


class _Statement(NamedTuple):
    """Lines ``start`` to ``end`` (excluded). ``path`` is the full path of the key, or of the table for a header."""

    start: int
    end: int
    path: tuple[str, ...]
    header: bool


def set_value(text: str, table: Sequence[str], key: str, value: Any) -> str:
    """``text`` with ``key`` in ``table`` (empty: the top) set to a string, number or boolean. Stop (2) if unable."""
    lines = text.splitlines(keepends=True)
    statements = list(_parse_statements(lines))
    path = (*table, key)
    found = next((one for one in statements if one.path == path and not one.header), None)
    if found is not None:
        old = "".join(lines[found.start : found.end])
        lines[found.start : found.end] = [_replace_value(old, value)]
    else:
        _insert(lines, statements, tuple(table), f"{key} = {_format_literal(value)}" + _detect_newline(text))
    return _verify(text, "".join(lines), path, value)


def remove_value(text: str, table: Sequence[str], key: str) -> str:
    """``text`` without ``key`` in ``table``; unchanged if it is not there."""
    return _remove(text, lambda one, path: one.path == path and not one.header, (*table, key))


def remove_table(text: str, table: Sequence[str]) -> str:
    """``text`` without a table and its sub-tables. Comments that stand before the next table stay."""
    return _remove(text, lambda one, path: one.path[: len(path)] == path, tuple(table))


def find_line(text: str, path: Sequence[str]) -> int | None:
    """The line, counted from 1, in which a key or the header of a table stands; None where neither has one."""
    lines = text.splitlines(keepends=True)
    return next((one.start + 1 for one in _parse_statements(lines) if one.path == tuple(path)), None)


def _remove(text: str, matches: Any, path: tuple[str, ...]) -> str:
    lines = text.splitlines(keepends=True)
    for one in reversed(list(_parse_statements(lines))):
        if matches(one, path):
            del lines[one.start : one.end]
    return _verify(text, "".join(lines), path, None)


def _parse_statements(lines: Sequence[str]) -> Iterator[_Statement]:
    table: tuple[str, ...] = ()
    index = 0
    while index < len(lines):
        head = lines[index].strip()
        if not head or head.startswith("#"):
            index += 1
            continue
        end = _find_statement_end(lines, index)
        header = head.startswith("[")
        if header:
            table = _extract_path(tomllib.loads("".join(lines[index:end])))
        path = table if header else (*table, *_extract_path(tomllib.loads(head.split("=")[0] + "= {}")))
        yield _Statement(index, end, path, header)
        index = end


def _find_statement_end(lines: Sequence[str], start: int) -> int:
    for end in range(start + 1, len(lines) + 1):
        try:
            tomllib.loads("".join(lines[start:end]))
        except tomllib.TOMLDecodeError:
            continue
        return end
    raise _unsupported_error()


def _extract_path(data: Any) -> tuple[str, ...]:
    path: list[str] = []
    while isinstance(data, dict) and data:
        key, data = next(iter(data.items()))
        path.append(key)
    return tuple(path)


def _replace_value(statement: str, value: Any) -> str:
    start = statement.index("=") + 1
    gap = statement[start : len(statement) - len(statement[start:].lstrip(" \t"))]
    return statement[:start] + gap + _format_literal(value) + _extract_tail(statement, start)


def _extract_tail(statement: str, start: int) -> str:
    """What follows the old value: blanks, a comment, the line end."""
    body = statement.rstrip("\r\n")
    cuts = [place for place in range(start, len(body)) if body[place] == "#"]
    cut = next((place for place in cuts if _is_valid_toml(body[:place])), len(body))
    kept = len(body[:cut].rstrip())
    return statement[kept:]


def _is_valid_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _insert(lines: list[str], statements: Sequence[_Statement], table: tuple[str, ...], line: str) -> None:
    newline = line[len(line.rstrip("\r\n")) :]
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += newline
    inside = [one for one in statements if (one.path == table if one.header else one.path[:-1] == table)]
    if inside:
        lines.insert(inside[-1].end, line)
    elif table:
        gap = [newline] if lines and lines[-1].strip() else []
        lines += [*gap, f"[{'.'.join(table)}]{newline}", line]
    else:
        place = _find_insertion_line(lines, statements)
        lines[place:place] = [line, newline] if place < len(lines) else [line]


def _find_insertion_line(lines: Sequence[str], statements: Sequence[_Statement]) -> int:
    """The line for a first top-level key: above the first table and the comment that belongs to it."""
    place = next((one.start for one in statements if one.header), len(lines))
    while 0 < place < len(lines) and lines[place - 1].lstrip().startswith("#"):
        place -= 1
    return place


def _detect_newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _format_literal(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return "true" if value is True else "false" if value is False else repr(value)


def _verify(before: str, after: str, path: tuple[str, ...], value: Any) -> str:
    """``after``, if it differs from ``before`` in exactly the one thing asked for; ``value`` None means gone."""
    wanted = copy.deepcopy(tomllib.loads(before))
    _apply(wanted, path, value)
    try:
        reached = tomllib.loads(after)
    except tomllib.TOMLDecodeError:
        raise _unsupported_error() from None
    if _prune(reached) != _prune(wanted):
        raise _unsupported_error()
    return after


def _apply(data: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for key in path[:-1]:
        data = data.setdefault(key, {})
    if value is None:
        data.pop(path[-1], None)
    else:
        data[path[-1]] = value


def _prune(data: Any) -> Any:
    """Without empty tables: whether a table without keys is written down makes no difference."""
    if not isinstance(data, dict):
        return data
    return {key: kept for key, kept in ((key, _prune(value)) for key, value in data.items()) if kept != {}}


def _unsupported_error() -> Stop:
    return Stop(
        ExitCode.USAGE,
        "config.toml is written in a way that cannot be changed without touching the rest",
        hint="Change it by hand.",
    )
