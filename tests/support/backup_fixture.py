"""Create ``tests/e2e/fixtures/backup-NN.tar.zst``, a backup that a released program made.

Run ``python -m tests.support.backup_fixture`` after ``tests.support.schema_fixture``: the program of each data
directory ``schema-NN.tar.zst`` backs it up. A fixture that exists is never replaced. The first schemas have none,
because their programs had no command for it.
"""

import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import zstandard

from tests.support.repository import ROOT
from tests.support.schema_fixture import FIXTURES
from tests.support.servers.server_process import make_env


def extract_fixture(archive: Path, data_dir: Path) -> dict[str, Any]:
    """Write the data directory of ``archive`` to ``data_dir``; return what its program stored in it."""
    data_dir.mkdir(mode=0o700)
    with (
        archive.open("rb") as packed,
        zstandard.ZstdDecompressor().stream_reader(packed) as plain,
        tarfile.open(fileobj=plain, mode="r|") as members,
    ):
        members.extractall(data_dir, filter="tar")  # keeps the modes of directories
    expected = data_dir / "expected.json"
    stored: dict[str, Any] = json.loads(expected.read_text())
    expected.unlink()
    return stored


def make_backup(archive: Path, target: Path) -> None:
    """Back up the data directory in ``archive`` with the program that wrote it, and compress the backup."""
    with tempfile.TemporaryDirectory() as place:
        stored = extract_fixture(archive, Path(place, "data"))
        source = Path(place, "source.tar")
        git = ["git", "-C", str(ROOT), "archive", "--output", str(source), stored["commit"], "docshare"]
        subprocess.run(git, check=True)
        with tarfile.open(source) as members:
            members.extractall(Path(place, "tree"), filter="data")
        env = make_env(Path(place), PYTHONPATH=str(Path(place, "tree")), PYTHONSAFEPATH="1")
        backup = Path(place, "backup.tar")
        command = ["admin", "--data", str(Path(place, "data")), "backup", str(backup)]
        subprocess.run([sys.executable, "-m", "docshare", *command], check=True, env=env, cwd=place)
        target.write_bytes(zstandard.ZstdCompressor(level=19).compress(backup.read_bytes()))


def main() -> None:
    for archive in sorted(FIXTURES.glob("schema-*.tar.zst")):
        target = archive.with_name(archive.name.replace("schema", "backup"))
        if not target.exists():
            try:
                make_backup(archive, target)
            except subprocess.CalledProcessError as error:
                print(f"{archive.name}: no backup: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
