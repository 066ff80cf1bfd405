"""The modules that each command loads: help and offline commands load nothing heavy, all others no more than they need.
The test compares sets of modules, so that load on the machine cannot change its result; a benchmark measures the
time."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from docshare.cli.topics.names import TOPICS
from tests.cli.tree.command_table import COMMANDS
from tests.cli.tree.instance import ROOT, PopulatedInstance

HEAVY = {"requests", "urllib3", "rich", "flask", "werkzeug", "peewee", "pydantic", "PIL", "pypdf", "pikepdf", "qrcode",
         "waitress", "importlib.metadata", "platformdirs", "jmespath", "pypdfium2", "limits", "yaml",
         "click"}  # fmt: skip
NETWORK = {"requests", "urllib3", "importlib.metadata"}  # requests itself loads the last one
RENDERING_COMMANDS = ("readership report",)  # renders pages
OFFLINE = HEAVY | {"ssl", "http.client"}

# All lines run in one process, which is much faster than one process each: a module counts for the first line that
# loads it.
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


LIBRARY_VALUES = {"AuthorizationServer", "DeviceLogin", "DownloadedContent", "IssuedTokens", "RawResponse"}
OWN = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "docshare").rglob("*.py")
}

# One process for each line: all modules that it loads.
WALK_APART = """
import json, os, sys
lines = json.load(sys.stdin)
known = set(sys.modules)
for line in lines:
    reader, writer = os.pipe()
    if os.fork() == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(null, stream)
        for module in [name for name in sys.modules if name.startswith("json")]:
            del sys.modules[module]
        from docshare.__main__ import main
        sys.argv = ["docshare", *line]
        main()
        os.write(writer, " ".join(name for name, found in sys.modules.items() if found is not None).encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as pipe:
        print(pipe.read(), flush=True)
    os.wait()
"""


def run_and_list_modules(env: dict[str, str], lines: dict[str, list[str]]) -> dict[str, tuple[int, set[str]]]:
    """Run each named line; return its exit code and the modules that no earlier line has loaded."""
    child = subprocess.run(
        [sys.executable, "-c", WALK], input=json.dumps([*lines.values()]), env=env, capture_output=True, text=True,
        timeout=200,
    )  # fmt: skip
    assert child.returncode == 0, child.stderr
    return {name: (code, set(modules)) for name, (code, modules) in zip(lines, json.loads(child.stdout), strict=True)}


@pytest.fixture(scope="module")
def env(instance: PopulatedInstance) -> dict[str, str]:
    return {**instance.shell.env, "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}


def find_forbidden(modules: set[str], forbidden: set[str]) -> set[str]:
    """Return the ``modules`` that are forbidden there."""
    return modules & forbidden | {name for name in modules if name.startswith("docshare.server")}


def list_named_tuples(tree: ast.Module) -> list[str]:
    """Return the names of the classes that are named tuples."""
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return [node.name for node in classes if "NamedTuple" in map(ast.unparse, node.bases)]


def test_the_help_of_every_command_loads_nothing_heavy(env: dict[str, str]) -> None:
    found = run_and_list_modules(env, {path: [*path.split(), "--help"] for path in COMMANDS})
    assert {path: code for path, (code, _) in found.items() if code} == {}
    assert {path: extra for path, (_, modules) in found.items() if (extra := find_forbidden(modules, OFFLINE))} == {}


def test_every_offline_command_loads_nothing_heavy(instance: PopulatedInstance, env: dict[str, str]) -> None:
    lines = {path: instance.split_line(leaf.line) for path, leaf in COMMANDS.items() if leaf.kind == "offline"}
    found = run_and_list_modules(env, lines)
    assert {path: code for path, (code, _) in found.items() if code} == {}
    assert {path: extra for path, (_, modules) in found.items() if (extra := find_forbidden(modules, OFFLINE))} == {}


def test_topics_load_no_other_command(env: dict[str, str]) -> None:
    """Their tables are generated from the contract and from the root of the commands."""
    found = run_and_list_modules(env, {topic: ["help", topic] for topic in TOPICS})
    assert {topic: code for topic, (code, _) in found.items() if code} == {}
    own = "docshare.cli.commands.help"
    commands = {name for _, modules in found.values() for name in modules if name.startswith("docshare.cli.commands.")}
    assert {name for name in commands if not name.startswith(own)} == set()


def test_every_command_that_reads_from_a_server_loads_requests_and_nothing_else_heavy(
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


def list_imports_inside_functions(path: Path) -> Iterator[tuple[int, set[str]]]:
    """Return line and module of each import inside a function that imports from docshare or the standard library.

    The HTTP modules of the client count as requests, which they load.
    """
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    for node in (node for function in functions for node in function.body):
        if isinstance(node, ast.Import):
            names = {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)} & {node.module, *OWN}
        else:
            continue
        first = min(names, key=len)
        if not first.startswith(("docshare.server", "docshare.client.http")) and first.split(".")[
            0
        ] in sys.stdlib_module_names | {"docshare"}:
            yield node.lineno, names


@pytest.fixture(scope="module")
def starts(instance: PopulatedInstance, env: dict[str, str]) -> list[set[str]]:
    """Return the modules that each help and each offline command loads, one set per command line."""
    offline = [instance.split_line(leaf.line) for leaf in COMMANDS.values() if leaf.kind == "offline"]
    lines = [["--help"], *([*path.split(), "--help"] for path in COMMANDS), *offline]
    done = subprocess.run(
        [sys.executable, "-c", WALK_APART],
        input=json.dumps(lines),
        env=env,
        capture_output=True,
        text=True,
        timeout=200,
    )
    found = [set(line.split()) for line in done.stdout.splitlines()]
    assert len(found) == len(lines), done.stderr
    return found


def test_every_import_inside_a_function_keeps_a_module_out_of_some_start(starts: list[set[str]]) -> None:
    """A module that neither help nor an offline command loads imports what it uses at its top."""
    useless = [
        f"{name}:{line}"
        for name, path in OWN.items()
        if name.startswith("docshare.cli.")
        for line, wanted in list_imports_inside_functions(path)
        if not any(name in start and not wanted <= start for start in starts)
    ]
    assert useless == []


def test_a_named_tuple_is_in_a_module_that_some_start_loads(starts: list[set[str]]) -> None:
    """Elsewhere a frozen dataclass takes its place; see the docstring of ``docshare.cli``. The values that the library
    returns stay named tuples, because programs may unpack them."""
    named = {
        name: classes
        for name, path in OWN.items()
        if not name.startswith("docshare.server.")
        and (classes := set(list_named_tuples(ast.parse(path.read_text()))) - LIBRARY_VALUES)
    }
    loaded = set().union(*starts)
    assert "docshare.cli.framework.app" in named
    assert {name: classes for name, classes in named.items() if name not in loaded} == {}
