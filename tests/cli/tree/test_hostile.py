"""Hostile text from a server that tries to control the terminal or to be executed: every command prints it escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.tree.command_table import COMMANDS, CommandCase
from tests.cli.tree.instance import ROOT, PopulatedInstance

HOSTILE = "\x1b]0;gone\x07\x1b[2J\x9b31m\u202egnp\u2066[/]\n\r\t$(touch pwned)`touch pwned`'\";touch pwned;%n\\"
# Keys whose values have a format that the API fixes; any other value can be user input.
FIXED = re.compile(
    r"uuid|.*Uuid|id|shortId|.*[Uu]rl|.*At|timestamp|event|events|kind|format|tier|state|type|status|sha256|mimeType|"
    r"viewerMode|code|class|reason|country|slug|version|scope.*|origin|operation|limits|subscription|width|height|"
    r"author_url|provider_url|session.*|.*Token|secret|account|stream|cursor|kinds"
)
COLORS = re.compile(r"\x1b\[[0-9;]*m")
READS = {path: leaf for path, leaf in COMMANDS.items() if leaf.kind == "read"}


def poison_response(response: Any, key: str = "") -> Any:
    """Append hostile text to every value of ``response`` that a user can choose."""
    if isinstance(response, dict):
        return {name: poison_response(value, name) for name, value in response.items()}
    if isinstance(response, list):
        return [poison_response(value, key) for value in response]
    return response + HOSTILE if isinstance(response, str) and not FIXED.fullmatch(key) else response


@pytest.fixture
def hostile_instance(instance: PopulatedInstance) -> Iterator[PopulatedInstance]:
    """Yield the instance with hostile text in every response."""
    instance.change_response = poison_response
    try:
        yield instance
    finally:
        instance.change_response = None


def is_harmless(text: str) -> bool:
    """Return whether ``text`` cannot control the terminal that prints it; our own colors are fine."""
    return all(char.isprintable() or char in "\n\t" for char in COLORS.sub("", text))


@pytest.mark.parametrize(("path", "leaf"), READS.items(), ids=READS)
def test_hostile_text_is_printed_and_not_executed(
    hostile_instance: PopulatedInstance, path: str, leaf: CommandCase
) -> None:
    for tty, form in ((True, "table"), (False, "tsv")):
        done = hostile_instance(leaf.line, "--format", form, "--progress", "none", tty=tty)
        assert done.code == leaf.code, done.err
        assert is_harmless(done.out + done.err), [char for char in done.out + done.err if not is_harmless(char)]
    assert not list(ROOT.glob("pwned"))


def test_the_poisoned_responses_do_contain_hostile_text(hostile_instance: PopulatedInstance) -> None:
    """Otherwise the test above could not fail."""
    shown = hostile_instance("files list").out
    assert r"\x1b]0;gone\x07\x1b[2J\x9b31m\u202egnp" in shown
    assert "[/]" in shown
