"""The files in man/ and completions/ match the command tree and are valid."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from docshare.cli import topics
from docshare.cli.framework.options import GlobalOptions
from docshare.cli.reference import generate, man
from docshare.cli.reference.tree import Command, load_tree
from tests.support.repository import ROOT

MANUAL = ROOT / "man"


@pytest.fixture(scope="module")
def generated_files() -> dict[str, str]:
    return generate.generate_files()


@pytest.fixture(scope="module")
def tree() -> Command:
    return load_tree()


def test_the_committed_files_match_the_command_tree(generated_files: dict[str, str]) -> None:
    """If this fails, run: python -m docshare.cli.reference"""
    assert generate.find_differences(generated_files, ROOT) == []


def test_generating_twice_returns_the_same_files(generated_files: dict[str, str]) -> None:
    assert generate.generate_files() == generated_files


def test_writing_updates_files_that_differ_and_deletes_leftover_files(
    generated_files: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "man/man1").mkdir(parents=True)
    (tmp_path / "man/man1/docshare-old.1").write_text("old")
    generate.write_files(generated_files, tmp_path)
    assert generate.find_differences(generated_files, tmp_path) == []
    assert not (tmp_path / "man/man1/docshare-old.1").exists()
    (tmp_path / "man/man1/docshare.1").write_text("edited")
    assert generate.find_differences(generated_files, tmp_path) == ["man/man1/docshare.1"]


def test_every_command_has_a_manual_page(generated_files: dict[str, str], tree: Command) -> None:
    pages = {"man/man1/" + "-".join(("docshare", *command.path)) + ".1" for command in tree.walk()}
    assert pages == {path for path in generated_files if path.startswith("man/man1/")}


def test_mandoc_reports_no_problems() -> None:
    pages = [str(path) for path in sorted(MANUAL.rglob("*.[157]"))]
    assert len(pages) > 30
    done = subprocess.run(["mandoc", "-Tlint", *pages], capture_output=True, text=True)
    assert done.stdout + done.stderr == ""


def test_a_rendered_page_contains_the_text_of_the_command() -> None:
    done = subprocess.run(
        ["mandoc", "-Tascii", str(MANUAL / "man1/docshare-files-list.1")], capture_output=True, text=True
    )
    text = re.sub(".\b", "", done.stdout)  # bold is a letter printed twice
    for piece in (
        "docshare-files-list - List the files of the account",
        "docshare files list [OPTIONS]",
        "--filter EXPR",
        "docshare files list --filter 'viewCount > `10`' --sort -views",
        "shortId, uuid, originalName",
        "docshare-exit-codes(7)",
    ):
        assert piece in text


def test_a_hyphen_of_an_option_can_be_copied(generated_files: dict[str, str]) -> None:
    assert "\\fB\\-\\-filter\\fR" in generated_files["man/man1/docshare-files-list.1"]


def test_no_line_of_a_page_becomes_a_roff_request_by_accident(generated_files: dict[str, str]) -> None:
    known = {".TH", ".SH", ".SS", ".PP", ".TP", ".EX", ".EE", '.\\"'}
    for path, text in generated_files.items():
        if path.startswith("man/"):
            starts = {line.split(" ")[0] for line in text.splitlines() if line.startswith((".", "'"))}
            assert starts <= known, path


@pytest.mark.parametrize("topic", topics.TOPICS)
def test_a_topic_fits_the_terminal_and_has_a_manual_page(generated_files: dict[str, str], topic: str) -> None:
    assert f"man/man7/docshare-{topic}.7" in generated_files
    too_long = [
        line for line in topics.load(topic).splitlines() if len(line) > 80 and not line.startswith("  DOCSHARE")
    ]
    assert too_long == []


def test_every_global_option_is_documented_and_stored() -> None:
    shown, options = topics.load("global"), load_tree().options
    for option in options:
        assert option.names[0] in shown
        assert option.help.endswith(".")
    flags = {name for option in options for name in option.names}
    for field in GlobalOptions._fields:
        assert {f"--{field.replace('_', '-')}"} & flags, field


def test_every_setting_of_the_server_is_in_the_manual() -> None:
    from docshare.server.config import OPTIONS

    text = topics.load("config")
    for name in OPTIONS:
        assert f"DOCSHARE_{name.upper()}" in text, name
    assert {"DOCSHARE_HOST", "DOCSHARE_PORT"} <= set(text.split())


def test_every_setting_of_the_command_line_is_in_the_manual() -> None:
    from docshare.cli.local.settings import CONFIG_SETTINGS

    text = topics.load("config")
    for name in CONFIG_SETTINGS:
        assert f"\n  {name} " in text, name


# code, first words of the meaning: written by hand
CODES = {
    0: "Done", 1: "Unexpected error", 2: "Invalid usage", 3: "Not found", 4: "Missing, invalid",
    5: "Forbidden", 6: "The plan", 7: "Conflict", 8: "Gone", 9: "The server rejected", 10: "Still rate limited",
    11: "Server or network failure", 12: "Some of several", 13: "A check failed", 14: "A write may", 124: "Timed out",
    129: "The terminal was closed", 130: "Interrupted", 141: "The reader", 143: "Terminated",
}  # fmt: skip


def test_every_exit_code_is_documented() -> None:
    from docshare.cli.framework.exits import ExitCode

    assert {int(code) for code in ExitCode} == set(CODES)
    text = topics.load("exit-codes")
    for code, words in CODES.items():
        assert any(line.split()[:1] == [str(code)] and words in line for line in text.splitlines()), code


def test_text_of_a_command_is_never_a_roff_request() -> None:
    text = "Do it.\n\n.dotted and back\\slash\n\n'quoted --option\n\nExamples:\n\n  .hidden\n"
    command = Command(("x",), text, (), (), (), None)
    page = man.render_pages(command)["man1/docshare-x.1"].splitlines()
    assert "\\&.dotted and back\\eslash" in page
    assert "\\&'quoted \\-\\-option" in page
    assert "\\&.hidden" in page
