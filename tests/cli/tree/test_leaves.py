"""Every command of the tree: it is in the table and has help, and its examples parse."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path

import pytest

from docshare.cli.framework.app import TyperCommand
from docshare.cli.reference import generate
from docshare.cli.reference.tree import Command, load_tree
from tests.cli.tree.command_table import COMMANDS, KINDS
from tests.support.outside.fake_api import FakeTime
from tests.support.shell import Shell

_SHELL = {"|", "||", ">", ">>", "<", "&&", ";", ")"}  # where the part of an example for docshare ends

TREE = {" ".join(command.path): command for command in load_tree().walk() if not command.children}
SHORT_NAMES = {" ".join(command.alias_of): (path,) for path, command in TREE.items() if command.alias_of}
DRY = "--dry-run"


_MAX_SUMMARY = 60  # characters, so that a list of commands has one line for each


@pytest.fixture(scope="module")
def generated_files() -> dict[str, str]:
    return generate.generate_files()


def test_the_table_lists_exactly_the_commands_of_the_tree() -> None:
    assert sorted(COMMANDS) == sorted(TREE)
    assert {leaf.kind for leaf in COMMANDS.values()} <= set(KINDS)


@pytest.mark.parametrize("path", COMMANDS)
def test_only_commands_that_change_something_have_a_dry_run(path: str) -> None:
    options = {name for option in TREE[path].options for name in option.names}
    assert (DRY in options) == (COMMANDS[path].kind in ("change", "write", "order") or path == "lint")
    assert DRY not in options or ("--dry-run", "-n") in [option.names for option in TREE[path].options]


def test_the_summary_of_a_command_is_one_short_sentence() -> None:
    summaries = {command.path: command.summary for command in load_tree().walk() if command.path}
    assert not {path: text for path, text in summaries.items() if len(text) > _MAX_SUMMARY or ". " in text}


def test_the_helps_of_options_say_the_same_in_the_same_words() -> None:
    helps = {part.help for command in TREE.values() for part in (*command.arguments, *command.options)}
    assert [text for text in helps if re.search(r"\(default|[,;] repeatable|\bWith -\S+,", text)] == []
    dry = {part.help for command in TREE.values() for part in command.options if DRY in part.names}
    assert dry == {
        "Print the changes without making them.",
        "Print the requests without sending them.",
        "With --strip: print what it would remove; write nothing.",
    }


@pytest.mark.parametrize(("path", "command"), TREE.items(), ids=TREE)
def test_a_command_has_help_for_itself_its_arguments_and_its_options(path: str, command: Command) -> None:
    assert re.fullmatch(r"[A-Z].*[.?]", command.summary), command.summary
    assert "\nExamples:\n" in command.help
    for part in (*command.options, *command.arguments):
        assert re.fullmatch(r"\S.*[.?\]]", part.help), part
        assert not re.match(r"(INT|FLOAT)\b", part.metavar), f"{part}: name the value, such as N"


@pytest.mark.parametrize(("path", "command"), TREE.items(), ids=TREE)
def test_the_examples_of_a_command_run_that_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, command: Command
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(TyperCommand, "invoke", lambda command, context: asked.append(context.command_path) or 0)
    shell = Shell(tmp_path, "http://127.0.0.1:9", FakeTime())
    examples = [line for line in command.help.partition("Examples:")[2].splitlines() if "docshare " in line]
    for example in examples:
        done = shell(*split_example(example))
        assert (done.code, done.err) == (0, ""), example
    assert len(asked) == len(examples)
    names = (path, " ".join(command.alias_of)) if command.alias_of else (path, *SHORT_NAMES.get(path, ()))
    assert any(f"docshare {name}" in asked for name in names)


def split_example(example: str) -> list[str]:
    """Return the arguments that the shell passes to docshare for the line ``example``."""
    line = re.split(r"(?:^|[\s(])docshare ", example, maxsplit=1)[1]
    line = re.sub(r"\$\([^()]*\)", "x", line)  # the output of another program
    lexer = shlex.shlex(line.split(')"')[0], posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(itertools.takewhile(lambda word: word not in _SHELL, lexer))


def test_every_command_has_a_manual_page_and_completion_in_every_shell(generated_files: dict[str, str]) -> None:
    scripts = [text for path, text in generated_files.items() if path.startswith("completions/")]
    assert len(scripts) == 4
    for path in COMMANDS:
        assert f"man/man1/docshare-{path.replace(' ', '-')}.1" in generated_files
        assert all(f"'{path}'" in text for text in scripts), path


# The part of a script that completes one command: {} is its path.
COMPLETION_PATTERNS = {
    "docshare.bash": r"(?m)^ *'{}'\) commands=.*$",
    "_docshare": r"(?ms)^ *'{}'\)\n +options=\(.*?\n +\)$",
    "docshare.fish": r"(?m)^complete .*__docshare_at \\'{}\\'.*$",
    "docshare.ps1": r"(?m)^ *'{}' = @\('-.*$",
}


@pytest.mark.parametrize(("path", "command"), TREE.items(), ids=TREE)
def test_every_option_is_in_the_manual_page_and_in_every_completion_script(
    generated_files: dict[str, str], path: str, command: Command
) -> None:
    page = generated_files[f"man/man1/docshare-{path.replace(' ', '-')}.1"].replace("\\-", "-")
    names = [name for option in command.options for name in option.names]
    assert [name for name in names if f"\\fB{name}\\fR" not in page] == []
    for script, form in COMPLETION_PATTERNS.items():
        said = "\n".join(re.findall(form.format(path), generated_files[f"completions/{script}"]))
        assert [name for name in names if (fish_option(name) if script.endswith("fish") else name) not in said] == [], (
            script
        )


def fish_option(name: str) -> str:
    """Return an option in the syntax of fish."""
    return f" -{'l' if name.startswith('--') else 's'} {name.lstrip('-')} "
