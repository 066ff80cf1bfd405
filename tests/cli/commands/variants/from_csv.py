"""Run ``variants create --from-csv``, and read its result file."""

import csv
import io
from pathlib import Path

from tests.cli.commands.fakes.variants import FILE
from tests.support.shell import CommandResult, Shell


def create_from_csv(shell: Shell, text: str | bytes, *options: str | Path) -> CommandResult:
    source = shell.home / "guests.csv"
    source.write_bytes(text.encode() if isinstance(text, str) else text)
    return shell("variants", "create", FILE, "--from-csv", source, *options)


def read_rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"))))


def read_statuses(path: Path) -> list[str]:
    return [row["status"] for row in read_rows(path)]
