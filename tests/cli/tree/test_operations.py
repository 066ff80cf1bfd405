"""Every command against a real server: what it asks for, what it prints as JSON, and how it ends."""

from __future__ import annotations

import json

import pytest

from tests.cli.tree.table import ELSEWHERE, LEAVES, Leaf
from tests.cli.tree.town import Town, operations

ONLINE = {path: leaf for path, leaf in LEAVES.items() if leaf.kind in ("change", "read")}
ROW_BY_ROW = ("events tail", "gate tail")  # JSON lines, since nobody knows when they end


@pytest.mark.parametrize(("path", "leaf"), ONLINE.items(), ids=ONLINE)
def test_a_command_asks_for_what_it_is_for_and_prints_json(town: Town, path: str, leaf: Leaf) -> None:
    line = town.filled(leaf.line)
    town.forget()
    done = town(line, "--json")
    assert done.code == leaf.code, done.err
    assert " ".join(request.operation for request in town.heard) == leaf.operations
    assert [json.loads(text) for text in (done.lines if path in ROW_BY_ROW else [done.out or "null"])]


@pytest.mark.parametrize("path", [path for path, leaf in LEAVES.items() if leaf.kind == "offline"])
def test_a_command_that_needs_no_server_prints_json(town: Town, path: str) -> None:
    done = town(LEAVES[path].line, "--json")
    assert done.code == 0, done.err
    json.loads(done.out)


@pytest.mark.parametrize("operation", ELSEWHERE)
def test_an_operation_without_a_command_can_be_asked_for(town: Town, operation: str) -> None:
    line = town.filled(ELSEWHERE[operation])
    town.forget()
    done = town(line, "--json")
    assert done.code == 0, done.err
    assert {request.operation for request in town.heard} == {operation}


def test_every_operation_of_the_document_is_reached() -> None:
    reached = {operation for leaf in LEAVES.values() for operation in leaf.asks} | set(ELSEWHERE)
    assert reached == set(operations())
