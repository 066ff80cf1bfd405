"""Record ``promises.txt``: the names that ``docshare help upgrade`` promises to keep.

Each line is one name of a release: a command, an option, a field that a command prints, an exit code, or a route,
parameter, response, or field of the API. Run ``python -m tests.support.promises`` for each release: it adds the names
that are new, and never removes one. ``tests/docs/test_upgrade.py`` compares the file with the program.
"""

from collections.abc import Iterator
from typing import Any

import yaml

from docshare import __version__
from docshare.cli.framework.exits import ExitCode
from docshare.cli.reference.tree import load_tree
from tests.support.repository import ROOT

RECORD = ROOT / "tests" / "support" / "promises.txt"
DESCRIPTION = ROOT / "docshare" / "server" / "api" / "openapi.yaml"
_FIRST_ERROR = 400
_METHODS = ("get", "post", "put", "patch", "delete")


def list_names() -> set[str]:
    """Return every name that this version of the program has."""
    description = yaml.load(DESCRIPTION.read_text(), yaml.CSafeLoader)
    exits = {f"exit code {code.value} {code.name}" for code in ExitCode}
    return exits | set(_list_command_names()) | set(_list_api_names(description))


def read_record() -> tuple[str, set[str]]:
    """Return the version of the last recorded release, and all recorded names."""
    head, _, rest = RECORD.read_text().partition("\n")
    return head.removeprefix("release "), set(rest.splitlines())


def _list_command_names() -> Iterator[str]:
    for command in load_tree().walk():
        path = " ".join(("docshare", *command.path))
        yield path
        yield from (f"{path} {name}" for option in command.options for name in option.names)
        yield from (f"{path} field {name}" for name in (command.spec.known_fields() if command.spec else ()))


def _list_api_names(description: dict[str, Any]) -> Iterator[str]:
    for path, operations in description["paths"].items():
        for method in _METHODS:
            if method in operations:
                yield from _list_operation_names(f"{method.upper()} {path}", operations[method], description)
    for name, schema in description["components"]["schemas"].items():
        yield from _list_field_names(f"schema {name}", schema)


def _list_operation_names(route: str, operation: dict[str, Any], description: dict[str, Any]) -> Iterator[str]:
    yield route
    for parameter in operation.get("parameters", ()):
        found = _resolve(parameter, description)
        yield f"{route} parameter {found['name']} in {found['in']}"
    for kind, body in _resolve(operation.get("requestBody", {}), description).get("content", {}).items():
        yield from _list_field_names(f"{route} request {kind}", body.get("schema", {}))
    for status, response in operation["responses"].items():
        if int(status) >= _FIRST_ERROR:
            continue  # the fields of errors are those of the schema Problem
        yield f"{route} response {status}"
        for kind, body in _resolve(response, description).get("content", {}).items():
            yield from _list_field_names(f"{route} response {status} {kind}", body.get("schema", {}))


def _list_field_names(place: str, schema: dict[str, Any]) -> Iterator[str]:
    """Yield the fields of a schema and of the schemas inside; one that it refers to has lines of its own."""
    if "$ref" in schema:
        yield f"{place} is {schema['$ref'].rpartition('/')[2]}"
    for name, inner in schema.get("properties", {}).items():
        yield f"{place} field {name}"
        yield from _list_field_names(f"{place} field {name}", inner)
    for inner in (schema.get("items"), *schema.get("allOf", ()), *schema.get("oneOf", ()), *schema.get("anyOf", ())):
        if inner:
            yield from _list_field_names(place, inner)


def _resolve(value: dict[str, Any], description: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in value:
        return value
    found = description
    for part in value["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return found


def main() -> None:
    known = read_record()[1] if RECORD.exists() else set()
    RECORD.write_text("\n".join((f"release {__version__}", *sorted(known | list_names()))) + "\n")


if __name__ == "__main__":
    main()
