"""Secrets from environment, file, stdin and options reach the server that they belong to, and nothing else: no screen,
no log, no file of docshare, no dry run and no argument of a child process."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.tree.command_table import COMMANDS
from tests.cli.tree.instance import PopulatedInstance
from tests.support.outside.fake_api import FakeApi, FakeTime, fake_api, problem
from tests.support.shell import Shell

SENTINEL = "SENTINEL"
TOKEN = f"ds_live_{SENTINEL}TOKEN{'t' * 20}"
SECRET = "whsec_" + "5ec2e7" * 11
COMMAND_LINES = {
    **{path: leaf.line for path, leaf in COMMANDS.items() if leaf.kind in ("change", "read", "offline")},
    "settings set": "settings set {file} --password-file {password}",
    "upload": "upload {deck} --password-file {password}",
    "claim": "claim --token-file {sentinel}",
    "design import": "design import {source} --jwt-file {sentinel} --design-token-file {sentinel}",
    "design status": "design status --jwt-file {sentinel} --design-token-file {sentinel}",
    "import": "import {source} --design-user-token-file {sentinel} --design-token-file {sentinel}",
    "webhooks sign": "webhooks sign {body} --secret-file {sentinel}",
    "webhooks verify": "webhooks verify {body} --secret-file {sentinel} --signature t=1,v1=00",
    "webhooks replay": "webhooks replay {saved} --to {hook} --secret-file {sentinel}",
}
SECRET_PRINTING_COMMANDS = ("auth token",)  # its purpose is to print it


@pytest.fixture(scope="module")
def rejecting_api() -> Iterator[FakeApi]:
    """Yield a server that rejects everything and echoes the request."""
    with fake_api() as api:
        api.take_response = lambda method, path: (
            lambda heard: problem(
                400, "bad_request", f"{heard.headers['Authorization']} {heard.body[:4000].decode('utf-8', 'replace')}"
            )
        )
        yield api


@pytest.fixture
def shell(instance: PopulatedInstance, rejecting_api: FakeApi, tmp_path: Path) -> Shell:
    home = tmp_path / "home"
    shutil.copytree(instance.shell.home, home)
    shell = Shell(home, rejecting_api.url, FakeTime())
    shell.env["DOCSHARE_TOKEN"] = TOKEN
    return shell


@pytest.mark.parametrize("path", [path for path in COMMAND_LINES if path not in SECRET_PRINTING_COMMANDS])
def test_a_secret_is_neither_printed_nor_stored(
    instance: PopulatedInstance, shell: Shell, tmp_path: Path, path: str
) -> None:
    for name, text in (("sentinel", f"{SENTINEL}.in-a-file.of-its-own"), ("password", f"{SENTINEL}-password")):
        (tmp_path / name).write_text(text)
    line = (
        COMMAND_LINES[path]
        .replace("{sentinel}", str(tmp_path / "sentinel"))
        .replace("{password}", str(tmp_path / "password"))
    )
    words = instance.split_line(line)
    dry = ["-n"] if COMMANDS[path].kind == "change" else []
    for options in (["-vv"], ["-vv", "--json"], [*dry, "-vv", "--json"]):
        done = shell(*words, *options, "--retries", "0", "--max-wait", "0s")
        assert SENTINEL not in done.out + done.err, options
    kept = [path for path in shell.home.rglob("*") if path.is_file() and SENTINEL.encode() in path.read_bytes()]
    assert kept == []


def test_a_crash_report_does_not_contain_a_secret(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: object) -> None:
        raise ZeroDivisionError(f"with {TOKEN}")

    monkeypatch.setattr("docshare.client.files.FilesApi.list", explode)
    done = shell("files", "list", env={"DOCSHARE_DEBUG": "1"})
    assert done.code == 1
    report = (shell.home / "state" / "crash.log").read_text()
    assert "ZeroDivisionError" in report
    assert SENTINEL not in done.out + done.err + report


def test_a_child_process_has_no_secret_in_its_arguments(instance: PopulatedInstance, tmp_path: Path) -> None:
    out = tmp_path / "words"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ncat /proc/$$/cmdline >> {out}\n")
    program.chmod(0o755)
    done = instance(f"events tail --once --from start --no-cursor --exec {program}")
    assert done.code == 0, done.err
    assert str(program) in out.read_text()
    assert instance.world.pia.key not in out.read_text()


def test_a_saved_credential_is_in_one_file_that_only_its_owner_can_read(shell: Shell) -> None:
    del shell.env["DOCSHARE_TOKEN"]
    assert (
        shell("profile", "add", "mine", "--url", "https://docs.example", "--with-token", stdin=TOKEN.encode()).code == 0
    )
    kept = [path for path in shell.home.rglob("*") if path.is_file() and SENTINEL.encode() in path.read_bytes()]
    assert [path.name for path in kept] == ["credentials.json"]
    assert kept[0].stat().st_mode & 0o777 == 0o600
    assert json.loads(kept[0].read_text())["profiles"]["mine"]["token"] == TOKEN
    assert SENTINEL not in shell("profile", "list", "--json", "-vv").out
