"""Run a command in this process, with a fake clock and recorded streams."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docshare.cli.framework.context import Context
from docshare.cli.main import main
from tests.support.outside.fake_api import FakeTime

TOKEN = "ds_live_" + "s" * 32


@dataclass
class CommandResult:
    """Exit code, stdout and stderr of a command."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def rows(self) -> list[Any]:
        return [json.loads(line) for line in self.lines]

    @property
    def error(self) -> dict[str, Any]:
        """Return the one error line that ``--json`` puts on stderr, below any notes."""
        found: dict[str, Any] = json.loads(self.err.splitlines()[-1])["error"]
        return found


class Shell:
    """``shell("files", "list")`` runs a command. ``home``: its home directory; ``tty``: whether its streams are
    terminals.

    ``written`` is called before each write to stdout, with the text.
    """

    def __init__(self, home: Path, url: str, time: FakeTime) -> None:
        self.home = home
        self.time = time
        self.tty = False
        self.written: Callable[[str], None] = lambda text: None
        self.opened: list[str] = []
        self.env = {
            "HOME": str(home),
            "DOCSHARE_URL": url,
            "DOCSHARE_TOKEN": TOKEN,
            "COLUMNS": "100",
            "TERM": "xterm",
            **{f"DOCSHARE_{kind}_DIR": str(home / kind.lower()) for kind in ("CONFIG", "STATE", "CACHE", "DATA")},
        }

    def __call__(self, *argv: str | Path, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> CommandResult:
        out, err = _RecordingStream(self.written), _RecordingStream()
        context = Context(
            env={**self.env, **(env or {})},
            streams=(io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"), out, err),
            terminals=(self.tty, self.tty, self.tty),
            now=lambda: int(self.time.wall * 1000),
            monotonic=lambda: self.time.passed,
            sleep=self.time.sleep,
            open_browser=lambda url: bool(self.opened.append(url)) or True,
        )
        code = main([str(word) for word in argv], context)
        return CommandResult(code, out.text(), err.text())

    @property
    def cursors(self) -> Path:
        return self.home / "state" / "cursors"

    def read_cursor(self, name: str) -> Any:
        """Return the content of a named cursor file."""
        return json.loads((self.cursors / f"{name}.json").read_text())


class _RecordingStream(io.TextIOWrapper):
    def __init__(self, written: Callable[[str], None] = lambda text: None) -> None:
        self._bytes = io.BytesIO()
        self._written = written
        super().__init__(self._bytes, encoding="utf-8", newline="", write_through=True)

    def write(self, text: str) -> int:
        self._written(text)
        return super().write(text)

    def text(self) -> str:
        self.flush()
        return self._bytes.getvalue().decode()
