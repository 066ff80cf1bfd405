"""Tails that are killed at random while the feed grows: every row is printed at least once, and none is skipped."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.outside.fake_api import FakeApi
from tests.support.shell import Shell

KILLS = 14  # of each tail
STREAMS = {"view": ["view"], "all": ["view", "download", "gate"], "activity": ["activity"]}
MOST_AT_ONCE = 130  # rows; more than one page


@dataclass
class GrowingFeed:
    """A feed that grows with every requested page, and kills ``victim`` soon after ``responses_before_kill`` more
    responses."""

    api: FakeApi
    chance: random.Random
    streams: list[str]
    last: dict[str, int] = field(default_factory=dict)
    victim: subprocess.Popen[bytes] | None = None
    responses_before_kill: int = 0
    growing: bool = True
    lock: threading.Lock = field(default_factory=threading.Lock)

    def grow_and_kill(self) -> None:
        """Add rows, and start the kill if it is due; the API calls this before each page.

        The request of a process that was killed may be answered after that of the next one.
        """
        with self.lock:
            if self.growing:
                stream = self.chance.choice(self.streams)
                for _ in range(self.chance.choice((0, 1, 2, MOST_AT_ONCE))):
                    number = self.last.get(stream, 1) + self.chance.randint(1, 3)
                    self.last[stream] = number
                    self.api.add(stream, number)
            if self.victim is not None:
                if self.responses_before_kill == 0:
                    threading.Timer(self.chance.uniform(0, 0.03), self.victim.kill).start()
                self.responses_before_kill -= 1

    def stop(self) -> None:
        """Add no more rows and kill no more processes."""
        with self.lock:
            self.growing, self.victim = False, None


def parse_printed_rows(path: Path) -> Iterator[tuple[str, int]]:
    """Yield stream and id of each row that one run printed; the kill may have cut off the last line."""
    for line in path.read_text().splitlines(keepends=True):
        if line.endswith("\n"):
            row = json.loads(line)
            yield row.get("type", "activity"), row["id"]


@pytest.mark.parametrize("name", STREAMS)
def test_a_tail_killed_at_random_prints_every_row_and_skips_none(
    api: FakeApi, shell: Shell, tmp_path: Path, name: str
) -> None:
    line = ("events", "tail", "--type", name, "--cursor", "crm", "--json")
    assert shell(*line, "--from", "start", "--once").code == 0
    feed = GrowingFeed(api, random.Random(f"kills of {name}"), STREAMS[name])
    api.before_page = feed.grow_and_kill
    runs = [tmp_path / f"run-{number}" for number in range(KILLS + 1)]
    for path in runs[:-1]:
        _run_and_kill(feed, shell, path, line)
    feed.stop()
    done = shell(*line, "--once")
    runs[-1].write_text(done.out)

    seen = {row for path in runs for row in parse_printed_rows(path)}
    there = {(stream, row["id"]) for stream in STREAMS[name] for row in api.rows[stream]}
    assert done.code == 0, done.err
    assert len(there) > 100
    assert seen == there
    for path in runs:
        for stream in STREAMS[name]:
            ids = [number for each, number in parse_printed_rows(path) if each == stream]
            assert ids == sorted(set(ids))


def _run_and_kill(feed: GrowingFeed, shell: Shell, path: Path, line: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "docshare", *line, "--interval", "20ms"]
    with path.open("wb") as out:
        feed.victim, feed.responses_before_kill = None, feed.chance.randint(0, 12)
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, env={**os.environ, **shell.env})
        feed.victim = process
        try:
            assert process.wait(30) == -9
        finally:
            process.kill()
            process.wait()
