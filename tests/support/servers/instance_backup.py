"""Back up and restore the instance of a test with the command line."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from docshare.server.app import create_app
from tests.support.clock import START, FakeClock
from tests.support.outside.fake_api import FakeTime
from tests.support.people import webhooks
from tests.support.people.cast import World, make_runtime
from tests.support.shell import CommandResult, Shell

DAY = 24 * 3600


class AdminShell:
    """Runs ``docshare admin ...`` on the data directory ``data``; ``place``: a directory for backups."""

    def __init__(self, data: Path, place: Path) -> None:
        self.data = data
        self.place = place
        time = FakeTime()
        time.wall = START / 1000 + DAY
        self.shell = Shell(place / "home", "http://127.0.0.1:9", time)

    def run_admin(self, *line: str | Path, data: Path | None = None, stdin: bytes = b"") -> CommandResult:
        return self.shell("admin", "--data", data or self.data, *line, stdin=stdin)

    def assert_restore_refused(self, path: Path | str, code: int = 13, stdin: bytes = b"") -> str:
        """Assert that a restore into a new directory fails with ``code`` and leaves nothing; return the output."""
        target = self.place / "refused"
        done = self.run_admin("restore", path, data=target, stdin=stdin)
        assert (done.code, done.out) == (code, ""), done.err
        assert not target.exists() or {found.name for found in target.iterdir()} <= {"lock"}
        return done.err


class Operator(AdminShell):
    """The operator of the instance of ``world``."""

    def __init__(self, world: World, place: Path) -> None:
        super().__init__(world.rt.config.data_dir, place)
        self.world = world

    def make_backup(self, name: str = "saved.tar") -> Path:
        """Back up the instance; return the path."""
        path = self.place / name
        done = self.run_admin("backup", path)
        assert done.code == 0, done.err
        return path


def populate_instance(operator: Operator) -> dict[str, Any]:
    """Store something of each kind that a backup contains; return Pia's file."""
    webhooks.resolve_all_hosts(operator.world.rt)
    webhooks.create_webhook(operator.world.pia)
    made = operator.world.pia.upload()
    (operator.data / "config.toml").write_text("rate_limit = 600\n")
    for path in [operator.data, *operator.data.iterdir()]:
        path.chmod(0o700 if path.is_dir() else 0o600)
    return made


@contextmanager
def open_restored(operator: Operator, data: Path) -> Iterator[World]:
    """Yield a world on a restored directory, with the same API keys."""
    old = operator.world
    old.rt.db.close()
    clock = FakeClock(START + DAY * 1000)
    people = {name: getattr(old, name) for name in ("fay", "bea", "pia", "mal")}
    runtime = make_runtime(data, clock, old.rt.engine)
    app = create_app(runtime)
    for person in people.values():
        person.http = app.test_client()
    try:
        yield World(rt=runtime, app=app, clock=clock, http=app.test_client(), **people)
    finally:
        runtime.converter.close()
        runtime.pages.close()
        runtime.db.close()


def read_members(path: Path) -> dict[str, bytes]:
    """Return the members of an archive by path."""
    with tarfile.open(path) as archive:
        return {info.name: archive.extractfile(info).read() for info in archive}  # type: ignore[union-attr]


def pack_archive(content: dict[str, bytes]) -> bytes:
    """Return an archive with ``content``, in that order."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, data in content.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()
