"""Text from a server that would like to draw on the screen or to be run: every command shows it and obeys none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.tree.command_table import COMMANDS, CommandCase
from tests.cli.tree.instance import ROOT, PopulatedInstance

HOSTILE = "\x1b]0;gone\x07\x1b[2J\x9b31m\u202egnp\u2066[/]\n\r\t$(touch pwned)`touch pwned`'\";touch pwned;%n\\"
# Words whose form the API fixes; everything else can be what somebody typed.
FIXED = re.compile(
    r"uuid|.*Uuid|id|shortId|.*[Uu]rl|.*At|timestamp|event|events|kind|format|tier|state|type|status|sha256|mimeType|"
    r"viewerMode|code|class|reason|country|slug|version|scope.*|origin|operation|limits|subscription|width|height|"
    r"author_url|provider_url|session.*|.*Token|secret|account|stream|cursor|kinds"
)
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
READS = {path: leaf for path, leaf in COMMANDS.items() if leaf.kind == "read"}


def poison_answer(answer: Any, key: str = "") -> Any:
    """``answer`` with hostile words behind every text that can be somebody's own."""
    if isinstance(answer, dict):
        return {name: poison_answer(value, name) for name, value in answer.items()}
    if isinstance(answer, list):
        return [poison_answer(value, key) for value in answer]
    return answer + HOSTILE if isinstance(answer, str) and not FIXED.fullmatch(key) else answer


@pytest.fixture
def hostile_instance(instance: PopulatedInstance) -> Iterator[PopulatedInstance]:
    """The town, whose texts are all hostile."""
    instance.change_answer = poison_answer
    try:
        yield instance
    finally:
        instance.change_answer = None


def is_harmless(text: str) -> bool:
    """Whether a terminal that shows ``text`` does nothing but show it; colours are our own."""
    return all(char.isprintable() or char in "\n\t" for char in COLOURS.sub("", text))


@pytest.mark.parametrize(("path", "leaf"), READS.items(), ids=READS)
def test_hostile_text_is_shown_and_not_obeyed(
    hostile_instance: PopulatedInstance, path: str, leaf: CommandCase
) -> None:
    for tty, form in ((True, "table"), (False, "tsv")):
        done = hostile_instance(leaf.line, "--format", form, "--progress", "none", tty=tty)
        assert done.code == leaf.code, done.err
        assert is_harmless(done.out + done.err), [char for char in done.out + done.err if not is_harmless(char)]
    assert not list(ROOT.glob("pwned"))


def test_the_texts_were_hostile_indeed(hostile_instance: PopulatedInstance) -> None:
    """Otherwise the test above could not fail."""
    shown = hostile_instance("files list").out
    assert r"\x1b]0;gone\x07\x1b[2J\x9b31m\u202egnp" in shown
    assert "[/]" in shown
