"""What each command of the tree loads: its help and what needs no server load nothing heavy, all others no more than
they need. By module set, so that no busy machine can change the answer; what that costs is in the benchmark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.tree.command_table import COMMANDS
from tests.cli.tree.instance import ROOT, PopulatedInstance

HEAVY = {"requests", "urllib3", "rich", "flask", "werkzeug", "peewee", "pydantic", "PIL", "pypdf", "pikepdf", "qrcode",
         "waitress", "importlib.metadata", "platformdirs", "jmespath", "pypdfium2", "limits", "yaml",
         "click"}  # fmt: skip
NETWORK = {"requests", "urllib3", "importlib.metadata"}  # the last one by requests itself
RENDERING_COMMANDS = ("readership report",)  # draws pages
OFFLINE = HEAVY | {"ssl", "http.client"}

# All lines run in one process, which is much faster than one for each: whoever first loads something is told of it.
WALK = """
import json, os, sys
lines = json.load(sys.stdin)
out = os.fdopen(os.dup(1), "w")
null = os.open(os.devnull, os.O_RDWR)
for stream in range(3):
    os.dup2(null, stream)
from docshare.__main__ import main
found, known = [], set()
for line in lines:
    sys.argv = ["docshare", *line]
    code = main()
    found.append([code, sorted(sys.modules.keys() - known)])
    known |= sys.modules.keys()
json.dump(found, out)
"""


def run_and_list_modules(env: dict[str, str], lines: dict[str, list[str]]) -> dict[str, tuple[int, set[str]]]:
    """Exit code of each line, which has a name, and the modules that no line before it has loaded."""
    child = subprocess.run(
        [sys.executable, "-c", WALK], input=json.dumps([*lines.values()]), env=env, capture_output=True, text=True,
        timeout=200,
    )  # fmt: skip
    assert child.returncode == 0, child.stderr
    return {name: (code, set(modules)) for name, (code, modules) in zip(lines, json.loads(child.stdout), strict=True)}


@pytest.fixture
def env(instance: PopulatedInstance) -> dict[str, str]:
    return {**instance.shell.env, "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}


def find_forbidden(modules: set[str], forbidden: set[str]) -> set[str]:
    """What of ``modules`` nobody may load there."""
    return modules & forbidden | {name for name in modules if name.startswith("docshare.server")}


def test_the_help_of_every_command_loads_nothing_heavy(env: dict[str, str]) -> None:
    found = run_and_list_modules(env, {path: [*path.split(), "--help"] for path in COMMANDS})
    assert {path: code for path, (code, _) in found.items() if code} == {}
    assert {path: extra for path, (_, modules) in found.items() if (extra := find_forbidden(modules, OFFLINE))} == {}


def test_every_command_without_a_server_loads_nothing_heavy(instance: PopulatedInstance, env: dict[str, str]) -> None:
    lines = {path: instance.split_line(leaf.line) for path, leaf in COMMANDS.items() if leaf.kind == "offline"}
    found = run_and_list_modules(env, lines)
    assert {path: code for path, (code, _) in found.items() if code} == {}
    assert {path: extra for path, (_, modules) in found.items() if (extra := find_forbidden(modules, OFFLINE))} == {}


def test_every_command_that_asks_a_server_loads_requests_and_nothing_else_heavy(
    instance: PopulatedInstance, env: dict[str, str], tmp_path: Path
) -> None:
    reads = sorted(
        (path for path in COMMANDS if COMMANDS[path].kind == "read"), key=RENDERING_COMMANDS.__contains__
    )  # these last
    lines = {path: [*instance.split_line(COMMANDS[path].line), "--json"] for path in reads}
    found = run_and_list_modules(env, lines)
    assert {path: code for path, (code, _) in found.items() if code != COMMANDS[path].code} == {}
    assert {
        path: extra for path, (_, modules) in found.items() if (extra := find_forbidden(modules, HEAVY - NETWORK))
    } == {path: {"pypdfium2", "PIL"} for path in RENDERING_COMMANDS}
