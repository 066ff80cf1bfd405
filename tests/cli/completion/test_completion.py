"""Completion in real shells, with ids and names that try to be executed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from docshare.cli.local.cache import format_file_lines
from docshare.cli.local.completion_words import read_completions
from docshare.cli.local.paths import format_line
from tests.support.outside.fake_api import UUID, FakeApi
from tests.support.repository import ROOT
from tests.support.shell import Shell
from tests.support.terminal import Terminal

ID = "aB3dE5fG7hJ9"

# Lines that an attacker could place in the cache: each of them tries to create a file called "pwned".
HOSTILE_WORDS = [
    "$(touch pwned)\tx",
    "`touch pwned`\tx",
    "zz;touch pwned\tx",
    "zz'$(touch pwned)'\tx",
    'zz"$(touch pwned)\tx',
    "zz\x1b]0;touch pwned\x07\tx",
    "zz|touch pwned\tx",
    "* \tx",
    "zz${x:-$(touch pwned)}\tx",
    "zzA\t$(touch pwned) `touch pwned` '$(touch pwned)' \\$(touch pwned)",
    "zzB\t'; touch pwned; '",
    "zzC\t\x1b[31mred\x07",
    "zzD\t[/] %F{red} $fg",
    "zz\ntouch pwned",
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a home directory with ``docshare`` on its PATH."""
    place = tmp_path_factory.mktemp("home")
    program = place / "bin" / "docshare"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m docshare "$@"\n')
    program.chmod(0o755)
    return place


@pytest.fixture
def completion_cache(home: Path) -> Path:
    """Create a completion cache and return its file with the words for FILE."""
    place = home / "cache" / "complete"
    place.mkdir(parents=True, exist_ok=True)
    (place / "current").write_text("local\n")
    (place / "profiles").write_text("local\thttp://127.0.0.1:8787\nlocation\thttps://docs.example\n")
    (place / "home-local").write_text("http://127.0.0.1:8787\t0123abcd\n")
    listed = place / "files-http___127.0.0.1_8787-0123abcd"
    listed.write_text(f"{ID}\tdeck (final).pdf\n{ID[:-1]}8\tother.pdf\nslug:offer\tdeck.pdf\n")
    return listed


def make_environment(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "PATH": f"{home / 'bin'}:/usr/bin:/bin",
        "DOCSHARE_CACHE_DIR": str(home / "cache"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "share"),
        "TERM": "xterm",
        "LANG": "C.UTF-8",
        "PS1": "READY> ",
    }


SHELLS = {
    "bash": (
        ["bash", "--norc", "--noprofile", "-i"],
        f"bind 'set show-all-if-ambiguous on'; source {ROOT}/completions/docshare.bash",
    ),
    "zsh": (
        ["zsh", "-f", "-i"],
        f"PS1='READY> '; autoload -U compinit; compinit -u -D; source {ROOT}/completions/_docshare",
    ),
    "fish": (
        ["fish", "--no-config", "-i"],
        f"function fish_prompt; echo 'READY> '; end; source {ROOT}/completions/docshare.fish",
    ),
}
KILL_LINE = "\x15"


@pytest.fixture(scope="module", params=[name for name in SHELLS if shutil.which(name)])
def complete(request: pytest.FixtureRequest, home: Path) -> Iterator[Callable[[str], str]]:
    """Return a function that types keys and TAB in a shell and returns what the shell then showed."""
    argv, setup = SHELLS[request.param]
    count = 0

    def type_keys(keys: str) -> str:
        nonlocal count
        count += 1
        start = len(terminal.shown)
        # The echo runs after the keys have been processed, so the test only has to wait for its output.
        terminal.type(f"{keys}{KILL_LINE}echo DO''NE{count}\n")
        end = terminal.wait_for_text(f"DONE{count}\n", after=start).index(f"DONE{count}\n", start)
        return terminal.wait_for_text("READY> ", after=end)[start:end]

    with Terminal(argv, make_environment(home), columns=200) as terminal:
        terminal.type(f"cd; {setup}; echo SET''UP\n")
        terminal.wait_for_text("READY> ", after=terminal.wait_for_text("SETUP\n").index("SETUP\n"))
        yield type_keys


pytestmark = pytest.mark.usefixtures("completion_cache")


def test_a_word_is_completed(complete: Callable[[str], str]) -> None:
    assert "upload" in complete("docshare upl\t")


def test_ids_are_completed_from_the_cache(complete: Callable[[str], str]) -> None:
    shown = complete(f"docshare files show {ID[:6]}\t\t")
    assert f"{ID[-9:-1]}9" in shown  # fish omits what has been typed
    assert f"{ID[-9:-1]}8" in shown


def test_a_slug_with_its_colon_is_completed_once(complete: Callable[[str], str]) -> None:
    shown = complete("docshare show slug:o\t")
    assert "slug:offer" in shown
    assert "slug:slug" not in shown


def test_the_values_of_an_option_are_completed(complete: Callable[[str], str]) -> None:
    shown = complete("docshare files list --format \t\t")
    assert "jsonl" in shown
    assert "csv" in shown


def test_the_value_of_an_option_is_not_treated_as_a_command(complete: Callable[[str], str]) -> None:
    assert "cursor" in complete("docshare --profile files events c\t")


def test_profiles_are_completed_from_the_cache(complete: Callable[[str], str]) -> None:
    shown = complete("docshare profile use loca\t\t")
    assert "local" in shown
    assert "location" in shown


@pytest.mark.parametrize("keys", ["docshare show \t\t", "docshare show zz\t\t", "docshare show zz\t\t\n"])
def test_nothing_in_the_cache_is_ever_executed(
    complete: Callable[[str], str], home: Path, completion_cache: Path, keys: str
) -> None:
    completion_cache.write_text("\n".join(HOSTILE_WORDS) + "\n")
    shown = complete(keys)
    assert "zzA" in shown
    assert not list(home.rglob("pwned"))
    assert not (ROOT / "pwned").exists()
    assert "\x1b]0;touch" not in shown
    assert "\x1b[31mred" not in shown


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_have_valid_syntax_for_their_shell(shell: str) -> None:
    name = {"bash": "docshare.bash", "zsh": "_docshare", "fish": "docshare.fish"}[shell]
    subprocess.run([shell, "-n", str(ROOT / "completions" / name)], check=True)


def test_no_script_evaluates_text() -> None:
    for path in (ROOT / "completions").iterdir():
        text = path.read_text()
        assert "eval" not in text.replace("evaluated", ""), path
        assert "compgen" not in text, path
        assert "Invoke-Expression" not in text, path


@pytest.mark.parametrize("name", ["bash", "zsh", "fish", "powershell"])
def test_the_command_prints_the_committed_script(shell: Shell, name: str) -> None:
    script = {"bash": "docshare.bash", "zsh": "_docshare", "fish": "docshare.fish", "powershell": "docshare.ps1"}[name]
    assert shell("completion", name).out == (ROOT / "completions" / script).read_text()


def test_an_unknown_shell_exits_with_2(shell: Shell) -> None:
    assert shell("completion", "tcsh").code == 2


# --- cached words ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", HOSTILE_WORDS)
def test_a_cached_line_contains_only_harmless_characters(line: str) -> None:
    safe = format_line(*line.partition("\t")[::2])
    assert not set(safe) & set("$`'\"\\;|&<>{}[]*?~#!%^=\x1b\x07\n")


def test_a_description_is_truncated_and_optional() -> None:
    assert format_line("abc", "x" * 100) == "abc\t" + "x" * 60
    assert format_line("abc", "'$`") == "abc"
    assert format_line("", "x") == ""
    assert format_line("ünï", "x") == ""


def test_an_older_file_without_a_short_id_is_completed_by_uuid() -> None:
    files = [{"uuid": UUID.format(1), "originalName": "a.pdf"}, {"uuid": UUID.format(2), "shortId": ID, "slug": "b"}]
    assert format_file_lines(files) == [f"{UUID.format(1)}\ta.pdf", ID, "slug:b"]


def test_list_fills_the_cache_of_the_current_profile(api: FakeApi, shell: Shell) -> None:
    api.files = [{"uuid": UUID.format(1), "shortId": ID, "originalName": "dé$(x)ck.pdf"}]
    add = ("profile", "add", "work", "--url", api.url, "--with-token")
    assert shell(*add, stdin=b"key123\n").code == 0
    assert shell("files", "list").code == 0
    assert read_completions("files", shell.env) == [f"{ID}\tdé(x)ck.pdf"]
    api.files = []
    assert shell("files", "list").code == 0
    assert read_completions("files", shell.env) == []


def test_each_profile_has_its_own_cache(api: FakeApi, shell: Shell) -> None:
    del shell.env["DOCSHARE_URL"], shell.env["DOCSHARE_TOKEN"]
    for name in ("a", "b"):
        key = f"key123{name}\n".encode()
        assert shell("profile", "add", name, "--url", api.url, "--with-token", stdin=key).code == 0
        api.files = [{"uuid": UUID.format(1), "shortId": ID[:-1] + name, "originalName": "x"}]
        assert shell("files", "list", "--profile", name).code == 0
    assert shell("profile", "use", "b").code == 0
    assert read_completions("files", shell.env) == [f"{ID[:-1]}b\tx"]
    assert read_completions("files", {**shell.env, "DOCSHARE_PROFILE": "a"}) == [f"{ID[:-1]}a\tx"]
    assert read_completions("files", {**shell.env, "DOCSHARE_PROFILE": "../../etc/passwd"}) == []


def test_completion_without_a_cache_prints_nothing(home: Path) -> None:
    for kind in ("files", "../../../etc/passwd"):
        done = subprocess.run(
            [sys.executable, "-m", "docshare", "__complete", kind, "x"],
            env={**make_environment(home), "DOCSHARE_CACHE_DIR": str(home / "none"), "PYTHONPATH": str(ROOT)},
            capture_output=True,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


HOSTILE_NAME = "$(touch pwned)`touch pwned`'\";touch pwned;\x1b]0;touch pwned\x07\n*"


def test_names_of_a_hostile_server_are_completed_and_never_executed(
    complete: Callable[[str], str], home: Path, api: FakeApi, shell: Shell
) -> None:
    """The whole way from the response of the server through the cache to the completed line."""
    shell.env["DOCSHARE_CACHE_DIR"] = str(home / "cache")
    webhook = {"uuid": UUID.format(7), "url": f"https://hooks.example/{HOSTILE_NAME}", "events": [HOSTILE_NAME]}
    variant = {"uuid": UUID.format(8), "shortId": "vB3dE5fG7hJ9", "label": HOSTILE_NAME, "overrides": {}}
    api.files = [{"uuid": UUID.format(1), "shortId": ID, "originalName": HOSTILE_NAME, "slug": f"o{HOSTILE_NAME}"}]
    api.on("GET", "/webhooks", {"webhooks": [webhook]})
    api.on("GET", f"/files/{ID}/variants", {"variants": [variant]})
    assert shell("profile", "add", "local", "--url", api.url, "--with-token", stdin=b"key123\n").code == 0
    del shell.env["DOCSHARE_URL"], shell.env["DOCSHARE_TOKEN"]
    for line in ("files list", "webhooks list", f"variants list {ID}"):
        assert shell(*line.split()).code == 0
    shown = "".join(
        complete(keys)
        for keys in (
            f"docshare show {ID[:4]}\t\t\n",
            f"docshare webhooks show {UUID.format(7)[:4]}\t\t\n",
            "docshare variants show v\t\t\n",
            "docshare show slug:o\t\t\n",
        )
    )
    assert ID[-4:] in shown
    assert not list(home.rglob("pwned"))
    assert not (ROOT / "pwned").exists()
    assert "\x1b]0;touch" not in shown
