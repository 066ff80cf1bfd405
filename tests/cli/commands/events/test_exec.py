"""``docshare events tail --exec``: the cursor advances past a row when its command exits with 0."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.cli.commands.events.event_tail import tail_ids
from tests.support.outside.fake_api import FakeApi, FakeTime, row
from tests.support.shell import Shell


def write_script(tmp_path: Path, body: str) -> str:
    path = tmp_path / "hook.py"
    path.write_text("import json, os, sys\nrow = json.load(sys.stdin)\n" + body)
    return f"{sys.executable} {path}"


def test_the_command_gets_each_row_as_json(api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    api.rows["view"] = [row("view", 2, zebra="ü"), row("view", 3)]
    got = tmp_path / "got"
    command = write_script(tmp_path, f"open({str(got)!r}, 'a').write(json.dumps(row) + '\\n')")
    assert tail_ids(shell, "--from", "start", "--once", "--exec", command) == [2, 3]
    assert [json.loads(line) for line in got.read_text().splitlines()] == api.rows["view"]


def test_the_cursor_does_not_advance_past_a_row_whose_command_failed(
    api: FakeApi, shell: Shell, tmp_path: Path
) -> None:
    api.add("view", 2, 3, 4)
    command = write_script(tmp_path, "sys.exit(3 if row['id'] == 3 else 0)")
    done = shell("events", "tail", "--cursor", "crm", "--from", "start", "--once", "--exec", command, "--json")
    assert (done.code, [each["id"] for each in done.rows]) == (12, [2])
    assert "the --exec command exited with 3 for row 3 of the view stream" in done.error["detail"]
    assert tail_ids(shell, "--cursor", "crm", "--once") == [3, 4]


def test_a_failed_command_is_retried_up_to_exec_retries(
    api: FakeApi, shell: Shell, tmp_path: Path, time: FakeTime
) -> None:
    api.add("view", 2)
    seen = tmp_path / "seen"
    command = write_script(
        tmp_path, f"open({str(seen)!r}, 'a').write('x')\nsys.exit(os.path.getsize({str(seen)!r}) < 3)"
    )
    options = ("--from", "start", "--once", "--exec", command, "--exec-retries")
    assert tail_ids(shell, *options, "2") == [2]
    assert time.waits == [1.0, 2.0]
    seen.unlink()
    assert shell("events", "tail", *options, "1").code == 12


def test_the_output_of_a_command_goes_to_stderr(api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    api.add("view", 2)
    command = [sys.executable, "-m", "docshare", "events", "tail", "--from", "start", "--once", "--json", "--exec",
               write_script(tmp_path, "print('noise')")]  # fmt: skip
    done = subprocess.run(command, capture_output=True, env={**os.environ, **shell.env}, check=True, text=True)
    assert json.loads(done.stdout)["id"] == 2
    assert "noise" in done.stderr


def test_a_missing_command_exits_with_2(api: FakeApi, shell: Shell) -> None:
    api.add("view", 2)
    done = shell("events", "tail", "--from", "start", "--once", "--exec", "/no/such/program")
    assert (done.code, done.out) == (2, "")
