"""Commands that read an endless file or stdin, or a pipe without a writer, end with exit code 2 instead of using all
memory or waiting."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from tests.support.outside.fake_api import FakeApi
from tests.support.repository import ROOT
from tests.support.shell import Shell

ID = "aB3dE5fG7hJ9"
_MEMORY_BYTES = 1_000_000_000


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="requires /dev/zero")
@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("settings set ID --password-file SOURCE", "--password-file: SOURCE is larger than 256 MB"),
        ("settings set ID gateFields:=@SOURCE", "gateFields: SOURCE is larger than 256 MB"),
        ("settings set ID --manage-token-file /dev/zero", "/dev/zero does not contain a token"),
        ("upload -0 --files-from SOURCE", "--files-from: SOURCE is larger than 256 MB"),
        ("variants create ID --from-csv SOURCE", "--from-csv: SOURCE is larger than 256 MB"),
        ("webhooks sign SOURCE --secret-file PDF", "is larger than 256 MB"),
        ("api GET /files -F a=@SOURCE", "SOURCE is larger than 256 MB"),
        ("files delete -", "a line of stdin is too long"),
        ("profile add other --url http://127.0.0.1:1 --with-token", "--with-token: a line of stdin is too long"),
    ],
)
@pytest.mark.parametrize(("source", "shown"), [("/dev/zero", "/dev/zero"), ("-", "stdin")])
def test_an_endless_input_is_rejected(
    shell: Shell, api: FakeApi, tmp_path: Path, line: str, named: str, source: str, shown: str
) -> None:
    (tmp_path / "secret").write_text("whsec_" + "0" * 64)
    words = [
        {"ID": ID, "PDF": str(tmp_path / "secret")}.get(word, word).replace("SOURCE", source) for word in line.split()
    ]
    with open("/dev/zero", "rb") as zeros:
        done = run_limited(shell, *words, stdin=zeros)
    assert named.replace("SOURCE", shown) in done.stderr
    assert done.returncode == 2


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="requires pipes and /dev/zero")
@pytest.mark.parametrize("name", ["credentials.json", "config.toml"])
@pytest.mark.parametrize("kind", ["pipe", "device", "directory"])
def test_a_file_of_the_configuration_that_is_not_a_file_is_rejected(shell: Shell, name: str, kind: str) -> None:
    del shell.env["DOCSHARE_URL"], shell.env["DOCSHARE_TOKEN"]
    added = shell("profile", "add", "work", "--url", "https://docs.example", "--with-token", stdin=b"ds_live_key\n")
    assert added.code == 0, added.err
    path = shell.home / "config" / name
    path.unlink()
    put_special_file(path, kind)
    with open(os.devnull, "rb") as nothing:
        done = run_limited(shell, "files", "list", stdin=nothing)
    assert f"cannot read {path}" in done.stderr
    assert done.returncode == 2


def put_special_file(path: Path, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()


def run_limited(shell: Shell, *words: str, stdin: IO[bytes]) -> subprocess.CompletedProcess[str]:
    """Run a command in a process with limited memory and time."""
    kept = {key: os.environ[key] for key in ("PATH",) if key in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "docshare", *words],
        env={**kept, **shell.env, "PYTHONPATH": str(ROOT)},
        stdin=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES)),
    )
