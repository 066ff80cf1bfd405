"""The README cannot rot: what it names exists, and what it types is understood."""

import re
import shlex
from pathlib import Path

import pytest

from docshare.cli.main import app
from docshare.cli.typer_compat import flags, get_command
from docshare.contract.limits import ACCESS_TOKEN_MS
from docshare.contract.plans import PLAN_LIMITS
from docshare.server.rules import reading

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def typed() -> list[str]:
    """Every ``docshare ...`` line of the README, without prompts, comments, pipes and redirections."""
    found = []
    for text in re.findall(r"```(?:sh|console)\n(.*?)```|`([^`\n]+)`", README, re.DOTALL):
        for line in "\n".join(text).splitlines():
            command = re.search(r"(?:^|[\s/(])(docshare (?!-c)[a-z].*)", line.replace("\\|", "|"))
            if command and not line.lstrip().startswith(("#", "http")):
                found.append(re.split(r"\s+#|\s[|<>&)]|\)$|\s&", command[1])[0])
    return found


def test_the_readme_types_enough_to_be_worth_checking() -> None:
    assert len(typed()) > 20


@pytest.mark.parametrize("line", typed())
def test_a_command_of_the_readme_is_understood(line: str) -> None:
    root = get_command(app)
    command, known = root, {**flags(root), "--help": False}
    for word in shlex.split(line)[1:]:
        if word == "--exec":
            break
        if word.startswith("-") and word != "-":
            assert word.split("=")[0] in known, f"{word} in: {line}"
        elif hasattr(command, "commands") and word.isidentifier():
            command = command.get_command(None, word)
            assert command is not None, f"{word} in: {line}"
            known |= flags(command)


def test_the_house_tour_names_what_stands() -> None:
    section = README.split("## The house")[1]
    for name in re.findall(r"`((?:docshare|tests|man|completions)[\w/.]*)`", section):
        assert (ROOT / name).exists(), name


def test_the_measuring_rule_is_the_one_in_the_code() -> None:
    """README, "How reading is measured": five seconds, one minute of activity, one minute hidden, five idle."""
    rule = README.split("## How reading is measured")[1].split("\n## ")[0]
    assert (reading.COUNTS_AFTER_MS, "five seconds" in rule) == (5_000, True)
    assert (reading.HIDDEN_ENDS_MS, "a minute after the page is hidden" in rule) == (60_000, True)
    assert (reading.IDLE_ENDS_MS, "five minutes without activity" in rule) == (300_000, True)


def test_the_largest_upload_is_the_one_that_the_readme_tells_proxies() -> None:
    assert max(limits.stored_bytes for limits in PLAN_LIMITS.values()) == 2 * 1024**3
    assert "bodies of up to 2 GB" in README


def test_the_test_command_is_the_one_that_ci_runs() -> None:
    assert "sh tests/run" in README
    assert "tests/run" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_access_tokens_live_as_long_as_the_readme_says() -> None:
    assert "Access tokens live an hour" in README
    assert ACCESS_TOKEN_MS == 3_600_000
