"""Change one value of a TOML file and leave everything else, comments included, as it was.

Each result is read back: a file in which the change would touch anything else is refused, never damaged.
"""

import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tomlkit
from tomlkit.items import Comment, Key, SingleKey, Table, Whitespace

from docshare.cli.framework.exits import ExitCode, Stop

# Keys, tables, comments and blank lines in the order of the file.
Body = list[tuple[Key | None, Any]]


def set_value(text: str, table: Sequence[str], key: str, value: Any) -> str:
    """Return ``text`` with ``key`` in ``table`` (empty: the top level) set to a string, number or boolean."""
    document = tomlkit.parse(text)
    place: Any = document
    for name in table:
        if name not in place:
            with _translate_edit_errors():
                place[name] = tomlkit.table(is_super_table=name != table[-1])
        place = place[name]
    if table or key in place or not _insert_above_table(document.body, key, value):
        place[key] = value
    return _verify(text, tomlkit.dumps(document), (*table, key), value)


def remove_value(text: str, table: Sequence[str], key: str) -> str:
    """Return ``text`` without ``key`` in ``table``; unchanged if it is not there."""
    document = tomlkit.parse(text)
    place: Any = document
    for name in table:
        place = place.get(name, {})
    if key not in place:
        return text
    del place[key]
    return _verify(text, tomlkit.dumps(document), (*table, key), None)


def remove_table(text: str, table: Sequence[str]) -> str:
    """Return ``text`` without a table and its sub-tables. Comments between it and the next table stay."""
    document = tomlkit.parse(text)
    comments = ""
    place: Any = document
    for name in table:
        place = place.get(name, {})
    if isinstance(place, Table):
        comments = "".join(item.as_string() for _, item in _detach_comments(place.value.body))
    rest = remove_value(tomlkit.dumps(document), table[:-1], table[-1])
    return _insert_comments(text, rest, comments) if comments.strip() else rest


def find_line(text: str, path: Sequence[str]) -> int | None:
    """Return the line, counted from 1, where a key or the header of a table ends; None where neither has one."""
    lines = text.splitlines(keepends=True)
    for number in range(1, len(lines) + 1):
        try:
            found: Any = tomllib.loads("".join(lines[:number]))
        except tomllib.TOMLDecodeError:  # within a value of several lines
            continue
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        if found is not None:
            return number
    return None


def _insert_above_table(body: Body, key: str, value: Any) -> bool:
    """Insert a first top-level key above the comment that belongs to the first table; False if there is none."""
    index = first = next((at for at, (_, item) in enumerate(body) if isinstance(item, Table)), 0)
    while index and isinstance(body[index - 1][1], Comment):
        index -= 1
    if index == first:
        return False
    line = tomlkit.item(value)
    line.trivia.trail = "\n\n"
    body.insert(index, (SingleKey(key), line))
    return True


def _detach_comments(body: Body) -> Body:
    detached: Body = []
    while body and isinstance(body[-1][1], Comment | Whitespace):
        detached.insert(0, body.pop())
    return detached


def _insert_comments(before: str, after: str, comments: str) -> str:
    """Put ``comments`` back in front of what followed them in ``before``."""
    following = before[before.index(comments) + len(comments) :]
    return after.removesuffix(following) + comments.lstrip("\r\n") + following if after.endswith(following) else after


def _verify(before: str, after: str, path: Sequence[str], value: Any) -> str:
    """Return ``after`` if it differs from ``before`` in the value at ``path`` alone; None is not a value."""
    expected: Any = tomllib.loads(before)
    place = expected
    for name in path[:-1]:
        place = place.setdefault(name, {})
    place.pop(path[-1], None) if value is None else place.update({path[-1]: value})
    with _translate_edit_errors():
        if _prune(tomllib.loads(after)) != _prune(expected):
            raise ValueError
    return after


def _prune(data: Any) -> Any:
    """Drop empty tables: an empty table has no effect."""
    if not isinstance(data, dict):
        return data
    return {key: kept for key, kept in ((key, _prune(value)) for key, value in data.items()) if kept != {}}


@contextmanager
def _translate_edit_errors() -> Iterator[None]:
    try:
        yield
    except ValueError:  # TOMLDecodeError is one, and so are all errors of tomlkit
        raise Stop(
            ExitCode.USAGE,
            "config.toml cannot be changed without affecting other lines",
            hint="Change it by hand.",
        ) from None
