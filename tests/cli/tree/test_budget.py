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
DRAWS = ("readership report",)  # draws pages
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


def loaded(env: dict[str, str], lines: dict[str, list[str]]) -> dict[str, tuple[int, set[str]]]:
    """Exit code of each line, which has a name, and the modules that no line before it has loaded."""
    child = subprocess.run(
        [sys.executable, "-c", WALK], input=json.dumps([*lines.values()]), env=env, capture_output=True, text=True,
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
    reads = sorted((path for path in LEAVES if LEAVES[path].kind == "read"), key=DRAWS.__contains__)  # these last
    lines = {path: [*town.words(LEAVES[path].line), "--json"] for path in reads}
    found = loaded(env, lines)
    assert {path: code for path, (code, _) in found.items() if code != LEAVES[path].code} == {}
    assert {path: extra for path, (_, modules) in found.items() if (extra := excess(modules, HEAVY - NETWORK))} == {
        path: {"pypdfium2", "PIL"} for path in DRAWS
    }
