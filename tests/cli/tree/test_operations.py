"""Every command against a real server: what it asks for, what it prints as JSON, and how it ends."""

from __future__ import annotations

import json

import pytest

from tests.cli.tree.command_table import COMMANDS, OTHER_LINES, CommandCase
from tests.cli.tree.instance import PopulatedInstance, load_operations

ONLINE = {path: leaf for path, leaf in COMMANDS.items() if leaf.kind in ("change", "read")}
ROW_BY_ROW = ("events tail", "gate tail")  # JSON lines, since nobody knows when they end


@pytest.mark.parametrize(("path", "leaf"), ONLINE.items(), ids=ONLINE)
def test_a_command_asks_for_what_it_is_for_and_prints_json(
    instance: PopulatedInstance, path: str, leaf: CommandCase
) -> None:
    line = instance.fill_line(leaf.line)
    instance.forget_requests()
    done = instance(line, "--json")
    assert done.code == leaf.code, done.err
    assert " ".join(request.operation for request in instance.requests) == leaf.operations
    assert [json.loads(text) for text in (done.lines if path in ROW_BY_ROW else [done.out or "null"])]


@pytest.mark.parametrize("path", [path for path, leaf in COMMANDS.items() if leaf.kind == "offline"])
def test_a_command_that_needs_no_server_prints_json(instance: PopulatedInstance, path: str) -> None:
    done = instance(COMMANDS[path].line, "--json")
    assert done.code == 0, done.err
    json.loads(done.out)


@pytest.mark.parametrize("operation", OTHER_LINES)
def test_an_operation_without_a_command_can_be_asked_for(instance: PopulatedInstance, operation: str) -> None:
    line = instance.fill_line(OTHER_LINES[operation])
    instance.forget_requests()
    done = instance(line, "--json")
    assert done.code == 0, done.err
    assert {request.operation for request in instance.requests} == {operation}


def test_every_operation_of_the_document_is_reached() -> None:
    reached = {operation for leaf in COMMANDS.values() for operation in leaf.list_operations} | set(OTHER_LINES)
    assert reached == set(load_operations())
