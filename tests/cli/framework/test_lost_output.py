"""Standard output that is closed or full: an error message, an exit code, and no loss of data that is printed only
once."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands.fakes.uploads import FakeUploads, share_url
from tests.cli.commands.fakes.webhooks import SECRET, FakeWebhooks
from tests.cli.framework.test_process import DOCSHARE, env  # noqa: F401 - a fixture
from tests.support.outside.fake_api import FakeApi

PROGRAM = " ".join(DOCSHARE)
REDIRECTIONS = [">/dev/full", ">&-"]


def run_shell_line(env: dict[str, str], line: str) -> subprocess.CompletedProcess[str]:  # noqa: F811
    return subprocess.run(["bash", "-c", line], env=env, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("where", REDIRECTIONS)
@pytest.mark.parametrize(
    "line", ["--help", "--version", "ls --help", "ls", "ls --json", "help files", "config path", "completion bash"]
)
def test_output_that_cannot_be_printed_is_an_error_in_one_line(
    env: dict[str, str],  # noqa: F811
    line: str,
    where: str,
) -> None:
    done = run_shell_line(env, f"{PROGRAM} {line} {where}")
    assert done.returncode == 1, done.stderr
    assert "cannot write to standard output: " in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (Path(env["DOCSHARE_STATE_DIR"]) / "crash.log").exists()


@pytest.mark.parametrize("where", [*REDIRECTIONS, ">/dev/full --json", ">&- --json", ">&- --quiet"])
def test_the_link_of_an_upload_is_printed_on_stderr_instead(
    env: dict[str, str],  # noqa: F811
    fake_uploads: FakeUploads,
    deck: Path,
    where: str,
) -> None:
    done = run_shell_line(env, f"{PROGRAM} upload {deck} {where}")
    assert done.returncode == 1, done.stderr
    assert done.stderr.splitlines()[-1] == share_url(1)
    (kept,) = json.loads((Path(env["DOCSHARE_STATE_DIR"]) / "last.json").read_text()).values()
    assert kept["shareUrl"] == share_url(1)


@pytest.mark.parametrize("where", REDIRECTIONS)
@pytest.mark.parametrize(
    ("line", "made"),
    [
        ("admin account create bea@example.com", r"\S+"),
        ("admin login-link ada@example.com", r"http://\S+"),
        ("admin key create ada@example.com", r"\S+"),
        ("admin client create App --redirect-uri https://app.example/back", r"\S+"),
    ],
)
def test_a_credential_that_is_printed_only_once_goes_to_stderr_instead(
    env: dict[str, str],  # noqa: F811
    tmp_path: Path,
    line: str,
    made: str,
    where: str,
) -> None:
    env["DOCSHARE_DATA_DIR"] = str(tmp_path / "data")
    assert run_shell_line(env, f"{PROGRAM} admin account create ada@example.com").returncode == 0
    done = run_shell_line(env, f"{PROGRAM} {line} {where}")
    assert done.returncode == 1, done.stderr
    told = done.stderr.splitlines()
    at = next(number for number, text in enumerate(told) if "cannot write to standard output" in text)
    assert re.fullmatch(made, told[at + 1]), told


@pytest.mark.parametrize("where", [*REDIRECTIONS, ">/dev/full --json"])
def test_the_secret_of_a_webhook_is_printed_on_stderr_instead(
    env: dict[str, str],  # noqa: F811
    api: FakeApi,
    where: str,
) -> None:
    FakeWebhooks(api)
    done = run_shell_line(env, f"{PROGRAM} webhooks create https://hooks.example/x --all {where}")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, SECRET)


def test_links_that_could_not_be_written_to_a_closed_pipe_are_on_stderr(
    env: dict[str, str],  # noqa: F811
    fake_uploads: FakeUploads,
    deck: Path,
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*DOCSHARE, "upload", str(deck)], env=env, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60
    )
    os.close(writer)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (141, share_url(1))


def test_a_link_that_was_printed_is_not_repeated_on_stderr(
    env: dict[str, str],  # noqa: F811
    fake_uploads: FakeUploads,
    deck: Path,
) -> None:
    done = run_shell_line(env, f"{PROGRAM} upload {deck}")
    assert (done.returncode, done.stdout.strip()) == (0, share_url(1))
    assert share_url(1) not in done.stderr
    assert sys.executable in PROGRAM
