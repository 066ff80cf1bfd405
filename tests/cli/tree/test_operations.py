"""Every command against a real server: the operations it calls, the JSON it prints, and its exit code."""

from __future__ import annotations

import json

import pytest

from tests.cli.tree.command_table import COMMANDS, OTHER_LINES, CommandCase
from tests.cli.tree.instance import PopulatedInstance, load_operations

ONLINE = {path: leaf for path, leaf in COMMANDS.items() if leaf.kind in ("change", "read")}
JSON_LINES_COMMANDS = ("events tail", "gate tail")  # JSON lines, since they have no known end


@pytest.mark.parametrize(("path", "leaf"), ONLINE.items(), ids=ONLINE)
def test_a_command_calls_its_operations_and_prints_json(
    instance: PopulatedInstance, path: str, leaf: CommandCase
) -> None:
    line = instance.fill_line(leaf.line)
    instance.forget_requests()
    done = instance(line, "--json")
    assert done.code == leaf.code, done.err
    assert " ".join(request.operation for request in instance.requests) == leaf.operations
    assert [json.loads(text) for text in (done.lines if path in JSON_LINES_COMMANDS else [done.out or "null"])]


@pytest.mark.parametrize("path", [path for path, leaf in COMMANDS.items() if leaf.kind == "offline"])
def test_an_offline_command_prints_json(instance: PopulatedInstance, path: str) -> None:
    done = instance(COMMANDS[path].line, "--json")
    assert done.code == 0, done.err
    json.loads(done.out)


@pytest.mark.parametrize("operation", OTHER_LINES)
def test_an_operation_without_a_command_can_be_called(instance: PopulatedInstance, operation: str) -> None:
    line = instance.fill_line(OTHER_LINES[operation])
    instance.forget_requests()
    done = instance(line, "--json")
    assert done.code == 0, done.err
    assert {request.operation for request in instance.requests} == {operation}


def test_every_operation_of_the_api_description_is_called() -> None:
    reached = {operation for leaf in COMMANDS.values() for operation in leaf.list_operations} | set(OTHER_LINES)
    waits_for_a_browser = {"oauth.device"}  # of "auth login --device", which has tests of its own
    assert reached | waits_for_a_browser == set(load_operations())
