"""Rules of the architecture: allowed imports, access to the clock, and sizes of files and folders."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "docshare"
MAX_LINES = 400

# Package (or module) -> modules that it must not import; a name covers everything below it.
_STORED = ("docshare.server.store.tables", "docshare.server.store.database", "docshare.server.store.database_file")
FORBIDDEN: dict[str, tuple[str, ...]] = {
    "docshare.client": ("docshare.server", "docshare.cli", "flask", "peewee"),
    **dict.fromkeys(("docshare.report", "docshare.manual"), (
        "docshare.server", "docshare.cli", "docshare.client", "flask", "peewee", "requests", "time", "random",
    )),
    "docshare.cli.local": ("docshare.cli.commands", "docshare.cli.main"),
    "docshare.cli.terminal": ("docshare.cli.commands", "docshare.cli.main"),
    "docshare.cli.framework": ("docshare.cli.commands", "docshare.cli.main"),
    "docshare.server.rules": (
        *_STORED, "docshare.server.http", "docshare.server.services", "peewee", "flask", "requests", "time", "random",
        "secrets",
    ),
    "docshare.server.store": ("docshare.server.services", "docshare.server.http", "flask"),
    "docshare.server.store.tables": ("docshare.server.rules",),
    "docshare.server.store.blobs": _STORED,
    "docshare.server.faults": ("docshare.server.services", "docshare.server.http", "flask"),
    "docshare.server.pdf": (*_STORED, "docshare.server.services", "flask"),
    "docshare.server.office": (*_STORED, "docshare.server.services", "flask"),
    "docshare.server.confinement": ("docshare.server.pdf", "docshare.server.office", "flask", "peewee"),
    "docshare.server.outbound": (*_STORED, "docshare.server.services", "flask"),
    "docshare.server.http": ("docshare.server.services",),
    **{
        f"docshare.server.http.{name}": (*_STORED, "docshare.server.services", "flask")
        for name in (
            "listener", "event_loop", "connection_limits", "fair_queue", "channel", "request_parser", "form_writer",
            "framing", "multipart", "verdicts", "tasks", "parking",
        )
    },
    "docshare.server.services": (
        "docshare.server.http", "docshare.server.api", "docshare.server.web", "flask", "peewee",
    ),
    "docshare.server.api": ("peewee", "docshare.server.store.tables", "docshare.server.rules"),
    "docshare.server.web": ("peewee", "docshare.server.store.tables", "docshare.server.rules"),
    "docshare.server.workers": ("flask", "peewee"),
    "docshare.server.backup": ("docshare.server.services", "flask", "peewee"),
}  # fmt: skip
# The modules that a row of ``FORBIDDEN`` does not bind: they report what the services measure.
EXEMPT = {"docshare.server.http": {"docshare.server.http.health", "docshare.server.http.metrics"}}

# The command line imports the server only in these modules, and only inside functions.
SERVER_COMMANDS = {
    "docshare.cli.framework.admin_channel", "docshare.cli.framework.local_server",
    "docshare.cli.commands.admin.backup", "docshare.cli.commands.admin.check", "docshare.cli.commands.admin.instance",
    "docshare.cli.commands.admin.move", "docshare.cli.commands.admin.restore", "docshare.cli.commands.lint.command",
    "docshare.cli.commands.serve.run", "docshare.cli.commands.serve.startup", "docshare.cli.commands.serve.share",
}  # fmt: skip

# Only a command that uses one of these packages loads it, so the command line imports them inside functions.
LAZY_PACKAGES = {
    "docshare.server", "requests", "rich", "yaml", "jmespath", "qrcode", "pypdfium2", "zstandard", "certifi", "peewee",
}  # fmt: skip
# Other imports inside functions of the command line. Each keeps a module out of some start (``cli/tree/test_budget``);
# the number may only fall.
MAX_LAZY_IMPORTS = 95

# Command group -> other command groups whose modules it may import.
NOUNS: dict[str, set[str]] = {
    "admin": {"invites", "webhooks"},
    "api": {"files", "settings", "upload"},
    "apply": {"browse", "push", "settings", "upload", "webhooks"},
    "assets": {"settings"},
    "auth": {"browse", "qr", "settings"},
    "dashboard": {"browse"},
    "explain": {"readership"},
    "files": {"upload"},
    "gate": {"events"},
    "help": {"browse"},
    "imports": {"upload"},
    "pending": {"readership"},
    "profile": {"config"},
    "public": {"qr", "upload"},
    "push": {"browse", "lint", "upload"},
    "qr": {"browse", "variants"},
    "readership": {"browse", "files", "variants"},
    "serve": {"events"},
    "trigger": {"webhooks"},
    "upload": {"browse", "lint", "qr", "settings", "variants"},
    "variants": {"settings"},
    "wait": {"readership", "variants"},
    "webhooks": {"events"},
}

# The named tuples of the server, apart from the rows of ``store/tables``: each is unpacked, built from a row of the
# database, or stored as JSON, or there is one for each beacon. Any other value class is a frozen dataclass.
NAMED_TUPLES = {
    "Anchors", "AnnotationRow", "AttemptResult", "BeaconBody", "Color", "ConfirmationResult", "DeliveryLane",
    "DesignFile", "DueDelivery", "Encryption", "FormChanges", "FormField", "KnownViewer", "LibraryEntry", "LinkBox",
    "LinkSender", "Metric", "NewLogin", "OutlineEntry", "PageAppearance", "PageTime", "Rect", "RoleRights", "Sample",
    "ServerConnections", "ServerVersion", "SessionReading", "StoredBlob", "StoredViewSession", "TextBox", "Watermark",
    "WorkerOptions", "_Trial",
}  # fmt: skip

MAX_MODULES = 25  # per folder
# Folders whose modules are all on one level, each named by one noun.
FLAT = {"docshare/server/api", "docshare/server/rules", "tests/benchmarks", "tests/torture"}

# Only some modules of the server may read a clock or create random values. Monotonic time is allowed everywhere.
CLOCK_AND_RANDOM_CALLS = {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "date.today", "uuid.uuid4"}
RANDOM_MODULES = {"random", "secrets"}
CLOCK_READERS = {"docshare.server.runtime", "docshare.server.store.identity"}


def list_modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        yield name.removesuffix(".__init__"), path


def list_imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_in_scope(scope: str, name: str) -> bool:
    return name == scope or name.startswith(scope + ".")


def parse_module(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "path"), list(list_modules()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_module_imports_only_what_its_layer_allows(name: str, path: Path) -> None:
    forbidden = [
        scope
        for package, scopes in FORBIDDEN.items()
        if is_in_scope(package, name) and name not in EXEMPT.get(package, ())
        for scope in scopes
    ]
    bad = sorted(
        {found for found in list_imports(parse_module(path)) for scope in forbidden if is_in_scope(scope, found)}
    )
    assert not bad, f"{name} must not import {bad}"


def test_each_exempt_module_needs_its_exemption() -> None:
    paths = dict(list_modules())
    for package, names in EXEMPT.items():
        for name in names:
            imported = list(list_imports(parse_module(paths[name])))
            assert any(is_in_scope(scope, each) for scope in FORBIDDEN[package] for each in imported), name


def test_the_contract_imports_only_the_standard_library() -> None:
    allowed = sys.stdlib_module_names | {"docshare"}
    for name, path in list_modules():
        if is_in_scope("docshare.contract", name):
            for found in list_imports(parse_module(path)):
                assert found.split(".")[0] in allowed, f"{name} imports {found}"
                assert not found.startswith("docshare.") or is_in_scope("docshare.contract", found), (
                    f"{name} imports {found}"
                )


def test_the_cli_imports_the_server_only_inside_functions_of_a_few_modules() -> None:
    for name, path in list_modules():
        if not is_in_scope("docshare.cli", name):
            continue
        tree = parse_module(path)
        top_level = {id(node) for node in tree.body}
        for node in walk_running_code(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for found in list_imports(ast.Module(body=[node], type_ignores=[])):
                    if is_in_scope("docshare.server", found):
                        assert name in SERVER_COMMANDS, f"{name} imports {found}"
                        assert id(node) not in top_level, f"{name} imports {found} at its top"


def test_the_cli_has_no_more_imports_inside_functions() -> None:
    found = [
        f"{name}:{node.lineno}"
        for name, path in list_modules()
        if is_in_scope("docshare.cli", name) or is_in_scope("docshare.report", name)
        for function in ast.walk(parse_module(path))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
        if not any(
            is_in_scope(package, next(list_imports(ast.Module(body=[node], type_ignores=[]))))
            for package in LAZY_PACKAGES
        )
    ]
    assert len(set(found)) <= MAX_LAZY_IMPORTS, "\n".join(found)


def test_only_the_function_of_a_command_imports_the_command_line() -> None:
    """It imports the implementation of the command, which has its own imports at the top of its module."""
    found = [
        f"{name}.{function.name}"
        for name, path in list_modules()
        if is_in_scope("docshare.cli.commands", name)
        for function in ast.walk(parse_module(path))
        if isinstance(function, ast.FunctionDef) and not is_command(function)
        if any(is_in_scope("docshare.cli", each) for each in list_imports(function))
    ]
    assert found == []


def is_command(function: ast.FunctionDef) -> bool:
    return any(ast.unparse(decorator).startswith("app.command(") for decorator in function.decorator_list)


def test_a_command_group_imports_only_the_groups_listed_for_it() -> None:
    prefix = "docshare.cli.commands."
    found: dict[str, set[str]] = {}
    for name, path in list_modules():
        if name.startswith(prefix):
            noun = name.removeprefix(prefix).split(".")[0]
            others = {
                each.removeprefix(prefix).split(".")[0]
                for each in list_imports(parse_module(path))
                if each.startswith(prefix)
            }
            found.setdefault(noun, set()).update(others - {noun})
    assert {noun: others for noun, others in found.items() if others} == NOUNS


def test_there_are_no_circular_imports() -> None:
    """An import inside a function counts too."""
    paths = dict(list_modules())
    graph = {
        name: {each for each in list_imported_modules(parse_module(path)) if each in paths} - {name}
        for name, path in paths.items()
    }
    while leaves := {name for name, others in graph.items() if not others & graph.keys()}:
        for name in leaves:
            del graph[name]
    assert not graph


def list_imported_modules(tree: ast.Module) -> Iterator[str]:
    """Yield the imported modules, except those that only the type checker imports.

    A package counts only if the package itself is imported.
    """
    for node in walk_running_code(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            submodules = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from submodules
            if not all((ROOT / each.replace(".", "/")).with_suffix(".py").exists() for each in submodules):
                yield node.module or ""


def walk_running_code(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below ``node``, without the body of ``if TYPE_CHECKING``."""
    for child in ast.iter_child_nodes(node):
        yield child
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            for other in child.orelse:
                yield from (other, *walk_running_code(other))
        else:
            yield from walk_running_code(child)


def test_only_listed_classes_of_the_server_are_named_tuples() -> None:
    found = {
        node.name
        for name, path in list_modules()
        if is_in_scope("docshare.server", name) and not is_in_scope("docshare.server.store.tables", name)
        for node in ast.walk(parse_module(path))
        if isinstance(node, ast.ClassDef) and "NamedTuple" in map(ast.unparse, node.bases)
    }
    assert found == NAMED_TUPLES


def list_folders() -> dict[str, list[str]]:
    """Return the names of the modules in each folder of the product and of its tests."""
    found: dict[str, list[str]] = {}
    for top in ("docshare", "tests"):
        for path in sorted((ROOT / top).rglob("*.py")):
            if path.stem not in ("__init__", "__main__"):
                found.setdefault(path.parent.relative_to(ROOT).as_posix(), []).append(path.stem)
    return found


def test_a_folder_does_not_contain_too_many_modules() -> None:
    assert not {
        folder: len(names)
        for folder, names in list_folders().items()
        if len(names) > MAX_MODULES and folder not in FLAT
    }


def test_fewer_than_three_modules_of_a_folder_share_a_prefix() -> None:
    families = {}
    for folder, names in list_folders().items():
        first = [re.match(r"(?:test_)?[^_]+", name)[0] for name in names if not name.startswith("_")]
        families |= {(folder, word): n for word in set(first) if (n := first.count(word)) >= 3}
    assert not families


def test_only_listed_modules_read_the_clock_or_create_random_values() -> None:
    for name, path in list_modules():
        if not is_in_scope("docshare.server", name) or name in CLOCK_READERS:
            continue
        tree = parse_module(path)
        assert not RANDOM_MODULES & set(list_imports(tree)), f"{name} creates random values"
        used = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not {
            use for use in used for banned in CLOCK_AND_RANDOM_CALLS if use == banned or use.endswith("." + banned)
        }, f"{name} reads the clock"


def test_simple_queue_is_not_used_with_a_timeout() -> None:
    """``queue.SimpleQueue.get`` with a timeout waits forever if a signal interrupts it after the timeout."""
    for name, path in list_modules():
        text = path.read_text(encoding="utf-8")
        assert "SimpleQueue" not in text or ".get(timeout" not in text, name


@pytest.mark.parametrize(
    ("pattern", "places"),
    [
        (r"0-9a-f\]\{8\}-", {"docshare.contract.patterns"}),
        (r"0-9A-Za-z\]\{\{?\{?(12|SHORT_ID_CHARS)\b", {"docshare.contract.patterns"}),
        (r"\[a-z0-9-\]\{+1,", {"docshare.contract.patterns"}),
        (r"[\"']kB[\"']|/ ?(1024|MB|GB)\b[^\n]* [kKMG]B", {"docshare.contract.amounts"}),
        (r" == 1 else [^\n]*\+ [\"']s[\"']", {"docshare.contract.amounts"}),
        (r"[\"']{2} if [^\n]* == 1 else [\"']s|[\"']1 [a-z ]+[\"'] if ", set()),
    ],
)
def test_a_rule_is_written_in_one_place(pattern: str, places: set[str]) -> None:
    """The patterns of UUIDs, short ids and slugs, the units of sizes, and the plural forms of nouns."""
    found = {name for name, path in list_modules() if re.search(pattern, path.read_text(encoding="utf-8"))}
    assert found == places


@pytest.mark.parametrize("pattern", ["docshare/**/*.py", "docshare/**/*.js", "docshare/**/*.css", "tests/**/*.py"])
def test_no_file_is_longer_than_the_limit(pattern: str) -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in ROOT.glob(pattern)
        if "vendor" not in path.parts and (lines := len(path.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    }
    assert not long


def test_the_top_level_contains_only_the_agreed_entries() -> None:
    agreed = {"pyproject.toml", "docshare", "tests", "man", "completions", "README.md"}
    assert {path.name for path in ROOT.iterdir() if not path.name.startswith(".")} == agreed


@pytest.mark.parametrize(
    "package",
    sorted(
        path.parent.relative_to(ROOT).as_posix()
        for top in ("docshare", "tests")
        for path in (ROOT / top).rglob("__init__.py")
    ),
)
def test_a_package_docstring_names_its_modules(package: str) -> None:
    text = ast.get_docstring(parse_module(ROOT / package / "__init__.py")) or ""
    assert len(text.splitlines()) >= 3, f"{package}: say what lives here, what it may import, and which module to read"
    folder = ROOT / package
    names = {name.partition("/")[0] for name in re.findall(r"``([\w/]+)``", text)}
    inside = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    assert names & (inside - {"__init__", "__main__"}), f"{package}: name a module of it"
    first = re.findall(r"[Rr]ead ``([\w/]+)``", text)
    assert first, f"{package}: name the module to read first"
    assert all((folder / f"{name}.py").exists() for name in first), f"{package}: {first}"
    assert re.search(r"\bimport(s|ed)?\b", text, re.IGNORECASE), f"{package}: say what it may import"


@pytest.mark.parametrize("group", sorted(path.parent.name for path in PACKAGE.glob("cli/commands/*/__init__.py")))
def test_the_docstring_of_a_command_group_names_the_groups_it_imports(group: str) -> None:
    commands = PACKAGE / "cli" / "commands"
    text = ast.get_docstring(parse_module(commands / group / "__init__.py")) or ""
    groups = {path.stem for path in commands.iterdir()}
    stated = {
        name
        for clause in re.findall(r"\bimports\s+([^.;:]+)", text)
        for name in re.findall(r"``(\w+)``", clause)
        if name in groups
    }
    assert stated == NOUNS.get(group, set())
