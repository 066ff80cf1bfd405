"""Run ``docshare events tail``."""

from pathlib import Path

from tests.support.shell import Shell


def tail_ids(shell: Shell, *options: str | Path) -> list[int]:
    """Return the ids of the rows that a successful tail prints."""
    done = shell("events", "tail", *options, "--json")
    assert done.code == 0, done.err
    return [each["id"] for each in done.rows]
