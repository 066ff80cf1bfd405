"""What each command of the tree loads: its help and what needs no server load nothing heavy, all others no more than
they need. By module set, so that no busy machine can change the answer; what that costs is in the benchmark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.tree.table import LEAVES
from tests.cli.tree.town import ROOT, Town

HEAVY = {"requests", "urllib3", "rich", "flask", "werkzeug", "peewee", "pydantic", "PIL", "pypdf", "pikepdf", "qrcode",
         "waitress", "importlib.metadata", "platformdirs", "jmespath", "pypdfium2", "limits", "yaml",
         "click"}  # fmt: skip
NETWORK = {"requests", "urllib3", "importlib.metadata"}  # the last one by requests itself
OFFLINE = HEAVY | {"ssl", "http.client"}

# Each line runs in a process of its own: a fork of one that has loaded what every command loads, and nothing else.
FORKS = """
import gc, json, os, sys
from docshare.cli import main as _
gc.freeze()
def told(line, read, write):
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    sys.argv = ["docshare", *line]
    from docshare.__main__ import main
    code = main()
    with os.fdopen(write, "w") as out:
        json.dump([code, sorted(sys.modules)], out)
    os._exit(0)
found = []
for line in json.load(sys.stdin):
    read, write = os.pipe()
    if os.fork() == 0:
        try:
            told(line, read, write)
        finally:
            os._exit(1)
    os.close(write)
    with os.fdopen(read) as answer:
        found.append(json.loads(answer.read() or "[-1, []]"))
    os.wait()
json.dump(found, sys.stdout)
"""


def loaded(env: dict[str, str], lines: dict[str, list[str]]) -> dict[str, tuple[int, set[str]]]:
    """Exit code and modules of each line, which has a name."""
    child = subprocess.run(
        [sys.executable, "-c", FORKS], input=json.dumps([*lines.values()]), env=env, capture_output=True, text=True,
        timeout=200,
    )  # fmt: skip
    assert child.returncode == 0, child.stderr
    return {name: (code, set(modules)) for name, (code, modules) in zip(lines, json.loads(child.stdout), strict=True)}


@pytest.fixture
def env(town: Town) -> dict[str, str]:
    return {**town.shell.env, "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}


def excess(modules: set[str], forbidden: set[str]) -> set[str]:
    """What of ``modules`` nobody may load there."""
    return modules & forbidden | {name for name in modules if name.startswith("docshare.server")}


def test_the_help_of_every_command_loads_nothing_heavy(env: dict[str, str]) -> None:
    found = loaded(env, {path: [*path.split(), "--help"] for path in LEAVES})
    assert {path: code for path, (code, _) in found.items() if code} == {}
    assert {path: extra for path, (_, modules) in found.items() if (extra := excess(modules, OFFLINE))} == {}


def test_every_command_without_a_server_loads_nothing_heavy(town: Town, env: dict[str, str]) -> None:
    lines = {path: town.words(leaf.line) for path, leaf in LEAVES.items() if leaf.kind == "offline"}
    found = loaded(env, lines)
    assert {path: code for path, (code, _) in found.items() if code} == {}
    assert {path: extra for path, (_, modules) in found.items() if (extra := excess(modules, OFFLINE))} == {}


def test_every_command_that_asks_a_server_loads_requests_and_nothing_else_heavy(
    town: Town, env: dict[str, str], tmp_path: Path
) -> None:
    lines = {path: [*town.words(leaf.line), "--json"] for path, leaf in LEAVES.items() if leaf.kind == "read"}
    found = loaded(env, lines)
    assert {path: code for path, (code, _) in found.items() if code != LEAVES[path].code} == {}
    assert {path: extra for path, (_, modules) in found.items() if (extra := excess(modules, HEAVY - NETWORK))} == {
        "readership report": {"pypdfium2", "PIL"},  # it draws the pages
    }
