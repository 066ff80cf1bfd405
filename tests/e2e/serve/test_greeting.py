"""``docshare serve`` prints the next commands to a terminal, and those commands work."""

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.support.documents.pdfs import simple_pdf
from tests.support.servers.server_process import COMMAND, make_env, run_docshare
from tests.support.terminal import Terminal


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "report.pdf").write_bytes(simple_pdf(pages=3))
    return make_env(tmp_path, TERM="xterm", COLUMNS="100")


def test_the_suggested_commands_are_printed_and_work(env: dict[str, str], tmp_path: Path) -> None:
    with Terminal([*COMMAND, "serve", str(tmp_path / "report.pdf"), "--port", "0"], env, columns=100) as server:
        shown = server.wait_for_text("Readers appear here")
        found = run_docshare("show", "@last", "--json", env=env)
        server.type("\x03")
        assert server.wait_for_exit().code == 0
    for words in (
        "docshare wait @last",
        "docshare readership show @last",
        "docshare dashboard",
        "readers, and settings are kept",
    ):
        assert words in shown
    assert json.loads(found.stdout)["originalName"] == "report.pdf"
    assert json.loads(found.stdout)["shareUrl"] in shown


def test_an_ephemeral_server_does_not_suggest_or_store_the_last_upload(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "config").mkdir(mode=0o700)
    (tmp_path / "config" / "config.toml").write_text(
        'profile = "work"\n[profiles.work]\nurl = "https://docs.example"\n'
    )
    words = ["serve", str(tmp_path / "report.pdf"), "--ephemeral", "--port", "0"]
    with Terminal([*COMMAND, *words], env, columns=100) as server:
        shown = server.wait_for_text("Readers appear here")
        server.type("\x03")
        server.wait_for_exit()
    assert "all data is deleted" in shown
    assert "@last" not in shown, "from another terminal it means something else"
    assert not (tmp_path / "state" / "last.json").exists()


def test_the_suggested_command_for_a_profile_works(env: dict[str, str]) -> None:
    run_docshare("admin", "account", "create", "ada@example.com", env=env)
    with Terminal([*COMMAND, "serve", "--port", "0"], env, columns=100) as server:
        shown = server.wait_for_text("--with-token").replace("\r", "")
        suggested = shown[shown.index("docshare admin key create") : shown.index("--with-token") + len("--with-token")]
        typed = suggested.replace("docshare ", f"{shlex.join(COMMAND)} ")
        subprocess.run(["sh", "-c", typed], env=env, check=True, timeout=30)
        assert json.loads(run_docshare("whoami", "--json", env=env).stdout)["email"] == "ada@example.com"
        server.type("\x03")
        assert server.wait_for_exit().code == 0
