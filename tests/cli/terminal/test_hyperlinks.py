"""Hyperlinks of file names and share links: where they are printed, and that remote text cannot break out of one."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from docshare.cli.terminal.capabilities import detect_screen
from tests.cli.commands.fakes.uploads import FakeUploads, share_url
from tests.cli.terminal.test_output import HOSTILE, list_output, make_file
from tests.support.outside.fake_api import FakeApi
from tests.support.shell import Shell

LINK = re.compile(r"\x1b]8;[^;]*;([^\x1b]+)\x1b\\(.*?)\x1b]8;;\x1b\\")
STYLE = re.compile(r"\x1b\[[\d;]*m")
URL = "https://docs.example/aB3dE5fG0001"


@pytest.fixture
def shell(shell: Shell) -> Shell:
    """Return a shell on a terminal with hyperlinks."""
    shell.tty = True
    shell.env["TERM_PROGRAM"] = "WezTerm"
    return shell


def find_links(text: str) -> list[tuple[str, str]]:
    """Return the target and the text of every hyperlink."""
    return [(target, STYLE.sub("", shown)) for target, shown in LINK.findall(text)]


def strip(text: str) -> str:
    """Return what the terminal shows; nothing may remain that steers it."""
    shown = STYLE.sub("", LINK.sub(r"\2", text))
    assert "\x1b" not in shown
    return shown


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ("TERM=xterm-256color", False),
        ("TERM=xterm TERM_PROGRAM=Apple_Terminal", False),
        ("TERM=xterm TERM_PROGRAM=iTerm.app", True),
        ("TERM=xterm TERM_PROGRAM=WezTerm", True),
        ("TERM=xterm TERM_PROGRAM=vscode", True),
        ("TERM=xterm TERM_PROGRAM=ghostty", True),
        ("TERM=xterm TERM_PROGRAM=Hyper", True),
        ("TERM=xterm TERM_PROGRAM=Tabby", True),
        ("TERM=xterm VTE_VERSION=4999", False),
        ("TERM=xterm VTE_VERSION=5000", False),
        ("TERM=xterm VTE_VERSION=7600", True),
        ("TERM=xterm VTE_VERSION=new", False),
        ("TERM=xterm KITTY_WINDOW_ID=1", True),
        ("TERM=xterm WT_SESSION=5c2b", True),
        ("TERM=xterm-kitty", True),
        ("TERM=foot", True),
        ("TERM=alacritty", True),
        ("TERM=xterm DOCSHARE_HYPERLINKS=1", True),
        ("TERM=foot DOCSHARE_HYPERLINKS=0", False),
        ("TERM=foot DOCSHARE_HYPERLINKS=", False),
        ("TERM=dumb DOCSHARE_HYPERLINKS=1 FORCE_COLOR=1", False),
        ("TERM=foot NO_COLOR=1 DOCSHARE_HYPERLINKS=1", False),
        ("TERM=foot CLICOLOR=0", False),
    ],
)
def test_the_environment_decides(variables: str, expected: bool) -> None:
    env = dict(variable.split("=", 1) for variable in variables.split())
    assert detect_screen(io.StringIO(), True, env, None).links is expected
    assert not detect_screen(io.StringIO(), False, env, "always").links
    assert not detect_screen(io.StringIO(), True, env, "never").links


def test_names_and_custom_links_of_a_table_are_hyperlinks(api: FakeApi, shell: Shell) -> None:
    out = list_output(
        api, shell, files=[make_file(1, slug="offer"), make_file(2, originalName="a longer name.pdf", shareUrl=None)]
    )
    assert find_links(out) == [(URL, "report 1.pdf"), ("https://docs.example/offer", "/offer")]


def test_the_links_of_one_file_are_hyperlinks(api: FakeApi, shell: Shell) -> None:
    file = make_file(1, slug="offer")
    api.files = [file]
    api.on("GET", f"/files/{file['uuid']}", file)
    custom = "https://docs.example/offer"
    assert find_links(shell("files", "show", "slug:offer").out) == [(URL, "report 1.pdf"), (URL, URL), (custom, custom)]


def test_the_link_of_an_upload_is_a_hyperlink(fake_uploads: FakeUploads, shell: Shell, deck: Path) -> None:
    done = shell("upload", deck)
    assert find_links(done.out) == [(share_url(1), share_url(1))]


@pytest.mark.parametrize("columns", ["40", "100"])
def test_the_table_looks_the_same_with_and_without_hyperlinks(api: FakeApi, shell: Shell, columns: str) -> None:
    files = [make_file(1, originalName="日本語 " * 20), make_file(2, slug="offer")]
    shell.env |= {"COLUMNS": columns, "DOCSHARE_HYPERLINKS": "0"}
    plain = list_output(api, shell, files=files)
    shell.env["DOCSHARE_HYPERLINKS"] = "1"
    linked = list_output(api, shell, files=files)
    assert plain != linked
    assert strip(linked) == strip(plain)


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_remote_text_cannot_end_a_hyperlink(api: FakeApi, shell: Shell, name: str) -> None:
    out = list_output(api, shell, files=[make_file(1, originalName=name)])
    ((target, shown),) = find_links(out)
    assert target == URL
    assert shown.isprintable()
    assert strip(out)


@pytest.mark.parametrize(
    "url",
    ["https://x.example/\x1b\\", "https://x.example/\x07", "https://x.example/\x9c", "https://x.example/a b",
     "javascript:alert(1)", "file:///etc/passwd", "", 7, ["https://x.example"]],
)  # fmt: skip
def test_only_a_clean_web_address_becomes_a_hyperlink(api: FakeApi, shell: Shell, url: object) -> None:
    out = list_output(api, shell, files=[make_file(1, shareUrl=url)])
    assert find_links(out) == []
    assert "report 1.pdf" in strip(out)


@pytest.mark.parametrize("options", [("--json",), ("--format", "tsv"), ("--format", "ids"), ("--color", "never")])
def test_other_formats_have_no_hyperlinks(api: FakeApi, shell: Shell, options: tuple[str, ...]) -> None:
    assert "\x1b" not in list_output(api, shell, *options)
