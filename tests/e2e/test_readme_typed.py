"""Run the README, then the topics that continue it, line by line in one directory, except commands that need a person
or another server."""

from __future__ import annotations

import json
import re
import subprocess
import textwrap
from pathlib import Path

import pytest

from docshare.cli import topics
from tests.docs.test_docs import README, list_topic_examples
from tests.support.servers.server_process import COMMAND, make_env, run_docshare, start_server

# Commands that wait for a reader or for Ctrl-C, prompt, or need a host that exists only in the examples.
_SKIPPED_COMMANDS = re.compile(
    r"docshare (?:serve|wait|files restore|trigger note|dashboard|auth login|doctor|discover|explain)"
    r"|docshare (?:admin (?:restore|client)|webhooks (?!kinds))"
    r"|-prompt|events tail(?! .*--once)|docs\.example\.com/a|/mnt/|\bcurl\b|open @last|--watch"
)
_EXPECTED_EXIT_CODES = {"docshare apply --check": 13, "docshare pending @last": 13, "docshare lint": 13}
_ANSWERS = {"rm": "--yes", "variants revoke": "--yes", "variants redact": "--yes"}  # a person would answer the prompt


# Topics whose examples continue each other, in the order in which they are typed after the README.
_TOPICS = ("sharing", "readership", "webhooks", "server", "api")
_SHELL_LINE = re.compile(r"docshare |mkdir |for |printf |url=|export ")


def list_readme_lines() -> list[str]:
    block = README.split("\n## Ten things people do\n")[1].split("```sh\n")[1].split("```")[0]
    return block.splitlines()


def list_example_lines() -> list[str]:
    found = [line for topic in _TOPICS for line in list_topic_examples(topics.load(topic))]
    return [line for line in found if _SHELL_LINE.match(line)]


def read_example(begin: str) -> str:
    """Return the example of the sharing topic that begins with the line ``begin``, to the next empty line."""
    text = topics.load("sharing")
    start = text.index(f"\n    {begin}") + 1
    return textwrap.dedent(text[start:].split("\n\n")[0]) + "\n"


def add_answers(line: str) -> str:
    for words, answer in _ANSWERS.items():
        line = line.replace(f"docshare {words}", f"docshare {words} {answer}")
    return line


@pytest.mark.timeout(600)
def test_the_commands_of_the_readme_and_the_topics_work_in_one_directory(tmp_path: Path) -> None:
    env, folder, programs = make_env(tmp_path), tmp_path / "work", tmp_path / "programs"
    folder.mkdir()
    programs.mkdir()
    (programs / "docshare").write_text(f'#!/bin/sh\nexec {" ".join(COMMAND)} "$@"\n')
    (programs / "docshare").chmod(0o755)
    env |= {"PATH": f"{programs}:{env['PATH']}", "PYTHONPATH": str(Path(__file__).parents[2])}
    (folder / "guests.csv").write_text(read_example("label,pages,"))
    # The webhook URL of the example is unreachable, and apply resolves its host.
    (folder / "share.yaml").write_text(read_example("version: 1").partition("webhooks:")[0])
    process, _ = start_server("--port", "0", "--demo", env=env)
    try:
        assert process.stdout.readline().startswith("http")  # the link: the sample has been uploaded
        known = json.loads(run_docshare("show", "@last", "--json", env=env).stdout)["shortId"]
        lines = [line for line in (*list_readme_lines(), *list_example_lines()) if not _SKIPPED_COMMANDS.search(line)]
        typed = [add_answers(line).replace("aB3dE5fG7hJ9", known) for line in lines]
        assert len(list_readme_lines()) == 12
        assert len(typed) > 75
        for line in typed:
            done = subprocess.run(
                ["bash", "-c", line],
                cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
            )  # fmt: skip
            code = next((code for words, code in _EXPECTED_EXIT_CODES.items() if line.startswith(words)), 0)
            assert done.returncode in (0, code), f"{line}\n{done.stderr}"
    finally:
        process.terminate()
        process.communicate(timeout=30)
