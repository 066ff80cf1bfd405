"""Uploads need little memory, however large the file is."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support.memory import measure_peak_megabytes
from tests.support.servers.upload_sink import upload_sink
from tests.support.shell import Shell

SIZE = 500 * 1024 * 1024  # bytes


def test_an_upload_of_500_megabytes_needs_less_than_60_megabytes_of_memory(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "big.pdf"
    with path.open("wb") as file:
        file.write(b"%PDF-")
        file.truncate(SIZE)
    with upload_sink() as port:
        env = {**os.environ, **shell.env, "DOCSHARE_URL": f"http://127.0.0.1:{port}"}
        out, peak = measure_peak_megabytes(["upload", str(path), "--no-check"], env)
    assert out == "https://d.example/x\n"
    assert peak < 60
