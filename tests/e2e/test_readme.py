"""Run the two commands of the README and read the demo to page 3 in between."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.docs.test_docs import README
from tests.support.browsers.browser import launch, read_to_page_three, visitor
from tests.support.servers.server_process import COMMAND, make_env

PROGRAM = ".venv/bin/docshare"  # the installed program, as the README names it
INSTALLS = [
    "apt-get update",
    "apt-get install -y python3-venv",
    "python3 -m venv .venv",
    ".venv/bin/pip install .",
]


def list_readme_commands() -> list[str]:
    """Return the commands of the section "Try it" of the README."""
    section = README.split("\n## Try it\n")[1].split("\n## ")[0]
    blocks = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def use_installed_program(line: str) -> list[str]:
    """Return ``line`` with the program under test instead of the installed one, on any free port."""
    program, *words = shlex.split(line)
    assert program == PROGRAM
    return [*COMMAND, *words, *(["--port", "0"] if words[0] == "serve" else [])]


@contextmanager
def read_in_browser(link: str) -> Iterator[None]:
    """Read the document at ``link`` in a real browser, and close the page. The browser, which sends the last report of
    the page after that, ends with the block."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        with visitor(browser) as person:
            read_to_page_three(person, link)
            yield
        browser.close()


def test_the_two_readme_commands_report_that_page_three_was_read(tmp_path: Path) -> None:
    first, second = list_readme_commands()
    *installing, serving = first.split(" && ")
    assert installing == INSTALLS
    env = make_env(tmp_path)
    with subprocess.Popen(use_installed_program(serving), env=env, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            _, link = (server.stdout.readline().strip() for _ in range(2))
            waiting = [*use_installed_program(second), "--timeout", "3m"]
            with (
                subprocess.Popen(waiting, env=env, stdout=subprocess.PIPE, text=True) as waiter,
                read_in_browser(link),
            ):
                output, _ = waiter.communicate(timeout=200)
            view_line = server.stdout.readline()
        finally:
            server.terminate()
    assert waiter.returncode == 0
    (row,) = output.splitlines()
    assert '{"page":3,"timeMs":' in row
    assert view_line.split("\t")[4] == "docshare-tour.pdf"
    assert view_line.split("\t")[6] == "3"
