"""``-n`` on every command that changes something: it prints what the command would do, and changes nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.cli.tree.command_table import COMMANDS, CommandCase
from tests.cli.tree.instance import PopulatedInstance
from tests.support.shell import Shell

SEPARATELY_TESTED = ("dashboard", "trigger", "admin backup", "admin restore", "admin move", "admin check")
CHANGES = {path: leaf for path, leaf in COMMANDS.items() if leaf.kind == "change" and leaf.operations}
WRITES = {path: leaf for path, leaf in COMMANDS.items() if leaf.kind == "write"}
ORDER_COMMANDS = {
    path: leaf for path, leaf in COMMANDS.items() if leaf.kind == "order" and path not in SEPARATELY_TESTED
}
UUID_PLACEHOLDER = "{uuid}"  # of a file that does not exist yet


@pytest.mark.parametrize(("path", "leaf"), CHANGES.items(), ids=CHANGES)
def test_a_dry_run_only_reads_and_prints_what_the_command_then_sends(
    instance: PopulatedInstance, path: str, leaf: CommandCase
) -> None:
    line = instance.fill_line(leaf.line)
    instance.forget_requests()
    done = instance(line, "-n", "--json")
    assert done.code == 0, done.err
    assert all(request.is_read for request in instance.requests)
    if path == "apply":  # it describes its changes in its own format
        return
    assert all(row.keys() <= {"method", "path", "body"} for row in done.json)

    instance.forget_requests()
    assert instance(line, "--json").code == leaf.code
    sent = [(request.method, request.path) for request in instance.requests if not request.is_read]
    said = [(row["method"], urlsplit(row["path"]).path) for row in done.json]
    assert len(said) == len(sent)
    known = [number for number, (_, place) in enumerate(said) if UUID_PLACEHOLDER not in place]
    assert [said[number] for number in known] == [sent[number] for number in known]
    bodies = [json.loads(row["body"]) for row in done.json if row.get("body", "").startswith("{")]
    assert len(bodies) == len(instance.bodies)
    for told, (_, place, body) in zip(bodies, instance.bodies, strict=True):
        assert is_announced_body(told, body), place


def is_announced_body(told: Any, sent: Any) -> bool:
    """Return whether ``sent`` is the body that the dry run printed; it masks secrets with asterisks."""
    if isinstance(told, dict) and isinstance(sent, dict):
        return told.keys() == sent.keys() and all(is_announced_body(told[key], sent[key]) for key in told)
    return bool(told in ("***", sent))


def test_a_dry_run_of_a_replay_sends_nothing_to_the_receiver(instance: PopulatedInstance) -> None:
    line = instance.fill_line(COMMANDS["webhooks replay"].line)
    before = len(instance.receiver.requests)
    (row,) = instance(line, "-n", "--json").json
    assert (row["method"], row["path"]) == ("POST", instance.receiver.url)
    assert len(instance.receiver.requests) == before
    assert instance(line).code == 0
    assert len(instance.receiver.requests) == before + 1


@pytest.mark.parametrize(("path", "leaf"), WRITES.items(), ids=WRITES)
def test_a_dry_run_changes_no_local_file_and_names_those_that_would_change(
    instance: PopulatedInstance, tmp_path: Path, path: str, leaf: CommandCase
) -> None:
    line, key = instance.fill_line(leaf.line), f"{instance.world.pia.key}\n".encode()
    home = tmp_path / "home"
    shutil.copytree(instance.shell.home, home)
    shell = Shell(home, instance.shell.env["DOCSHARE_URL"], instance.shell.time)
    del shell.env["DOCSHARE_TOKEN"]  # only credentials in files count here
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\necho '# a remark' >> \"$1\"\n")
    editor.chmod(0o755)
    shell.env["EDITOR"] = str(editor)
    before = read_files(home)
    instance.forget_requests()
    done = shell(*line.split(), "-n", "--json", stdin=key)
    assert done.code == 0, done.err
    assert all(request.is_read for request in instance.requests)
    assert read_files(home) == before
    named = {row["path"] for row in done.json if row["method"] in ("WRITE", "DELETE")}

    ended = shell(*line.split(), "--yes", stdin=key)
    assert ended.code == (4 if path == "auth refresh" else 0), ended.err  # its token was never issued
    after = read_files(home)
    changed = {str(home / name) for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert changed == (set() if path == "auth refresh" else named)


def read_files(home: Path) -> dict[str, bytes]:
    """Return the content of every file except caches and locks."""
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and path.name not in (".lock", ".renewing") and "cache" not in path.parts
    }


@pytest.mark.parametrize(("path", "leaf"), ORDER_COMMANDS.items(), ids=ORDER_COMMANDS)
def test_a_dry_run_of_an_operator_command_prints_the_job_and_does_not_change_the_instance(
    instance: PopulatedInstance, path: str, leaf: CommandCase
) -> None:
    line = instance.fill_line(leaf.line)
    store = instance.world.rt.db
    before = store.fetch_all("SELECT total_changes()"), store.fetch_all("PRAGMA data_version")
    (row,) = instance(line, "-n", "--json").json
    assert (row["method"], row["path"]) == ("POST", "/_admin")
    assert json.loads(row["body"])["command"] == path.removeprefix("admin ")
    assert (store.fetch_all("SELECT total_changes()"), store.fetch_all("PRAGMA data_version")) == before


@pytest.mark.parametrize(("path", "leaf"), ORDER_COMMANDS.items(), ids=ORDER_COMMANDS)
def test_a_dry_run_still_rejects_a_directory_without_data(
    instance: PopulatedInstance, tmp_path: Path, path: str, leaf: CommandCase
) -> None:
    nowhere = tmp_path / "nowhere"
    done = instance(leaf.line, "-n", "--data", str(nowhere))
    assert done.code == (0 if path == "admin account create" else 2)
    assert not nowhere.exists()
