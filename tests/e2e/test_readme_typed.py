"""Run the README from top to bottom in one directory, except commands that need a person or another server."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.server_process import COMMAND, make_env, run_docshare, start_server
from tests.test_docs import README

# Commands that wait for a reader or for Ctrl-C, prompt, or need a host that exists only in the examples.
_SKIPPED_COMMANDS = re.compile(
    r"docshare (?:serve|wait|dashboard|auth login|doctor|discover|explain|admin (?:restore|client)|webhooks (?!kinds))"
    r"|-prompt|events tail(?! .*--once)|docs\.example\.com/a|/mnt/|\bcurl\b|open @last|--watch"
)
_EXPECTED_EXIT_CODES = {"docshare apply --check": 13, "docshare pending @last": 13, "docshare lint offer.pdf": 13}
_ANSWERS = {"variants revoke": "--yes", "variants redact": "--yes"}  # a person would answer the prompt


def find_readme_blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", README.split("\n## How to: share\n")[1].split("\n## The house")[0], re.S)


def list_readme_lines() -> list[str]:
    found = [line for block in find_readme_blocks("sh") for line in block.splitlines() if line.strip()]
    return [line for line in found if not _SKIPPED_COMMANDS.search(line)]


def add_answers(line: str) -> str:
    for words, answer in _ANSWERS.items():
        line = line.replace(f"docshare {words}", f"docshare {words} {answer}")
    return line


@pytest.mark.timeout(600)
def test_the_readme_commands_work_in_one_directory(tmp_path: Path) -> None:
    env, desk, programs = make_env(tmp_path), tmp_path / "desk", tmp_path / "programs"
    desk.mkdir()
    programs.mkdir()
    (programs / "docshare").write_text(f'#!/bin/sh\nexec {" ".join(COMMAND)} "$@"\n')
    (programs / "docshare").chmod(0o755)
    env |= {"PATH": f"{programs}:{env['PATH']}", "PYTHONPATH": str(Path(__file__).parents[2])}
    (desk / "guests.csv").write_text(find_readme_blocks("csv")[0])
    # The webhook URL of the example is unreachable, and apply resolves its host.
    (desk / "share.yaml").write_text(find_readme_blocks("yaml")[0].partition("webhooks:")[0])
    process, _ = start_server("--port", "0", "--demo", env=env)
    try:
        assert process.stdout.readline().startswith("http")  # the link: the sample has been uploaded
        known = json.loads(run_docshare("show", "@last", "--json", env=env).stdout)["shortId"]
        typed = [add_answers(line).replace("aB3dE5fG7hJ9", known) for line in list_readme_lines()]
        assert len(typed) > 60
        for line in typed:
            done = subprocess.run(
                ["bash", "-c", line],
                cwd=desk, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
            )  # fmt: skip
            code = next((code for words, code in _EXPECTED_EXIT_CODES.items() if line.startswith(words)), 0)
            assert done.returncode in (0, code), f"{line}\n{done.stderr}"
    finally:
        process.terminate()
        process.communicate(timeout=30)
