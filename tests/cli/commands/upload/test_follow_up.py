"""``qr``, ``open``, ``whoami``, and progress."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from docshare.cli.framework.context import Context, current_context
from docshare.cli.terminal.progress import Progress, select_mode
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, FakeTime
from tests.support.shell import TOKEN, CommandResult, Shell

ID = "aB3dE5fG7hJ9"
LINK = f"https://docs.example/{ID}"
PNG = b"\x89PNG\r\n\x1a\n rest"


@pytest.fixture
def shared_file_api(api: FakeApi) -> FakeApi:
    api.on("GET", f"/files/{ID}", {"uuid": UUID.format(1), "shortId": ID, "slug": "offer", "shareUrl": LINK})
    api.on("GET", f"/files/{ID}/qr-code", FakeResponse(PNG, 200, {"Content-Type": "image/png"}))
    return api


# --- qr ----------------------------------------------------------------------------------------------------------


def decode_drawing(drawing: str, tmp_path: Path, dark: str) -> str:
    """Return what a phone would read from the drawing: zbar decodes its half blocks as pixels."""
    from PIL import Image

    halves = {" ": (0, 0), "▀": (1, 0), "▄": (0, 1), "█": (1, 1)}
    lines = drawing.splitlines()
    image = Image.new("L", (len(lines[0]) + 8, 2 * len(lines) + 8), 255)
    for y, line in enumerate(lines):
        for x, char in enumerate(line):
            for half in (0, 1):
                lit = halves[char][half]
                black = lit if dark == "lit" else not lit
                image.putpixel((x + 4, 2 * y + half + 4), 0 if black else 255)
    path = tmp_path / "code.png"
    image.resize((image.width * 6, image.height * 6), Image.Resampling.NEAREST).save(path)
    return subprocess.run(["zbarimg", "-q", "--raw", path], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(("options", "dark"), [([], "unlit"), (["--invert"], "lit")])
def test_the_drawn_qr_code_contains_the_short_link(
    shared_file_api: FakeApi, shell: Shell, tmp_path: Path, options: list[str], dark: str
) -> None:
    shell.tty = True
    done = shell("qr", ID, *options)
    assert decode_drawing(done.out, tmp_path, dark) == f"{LINK}?via=qr"
    assert (len(done.lines[0]), len(done.lines)) == (33, 17)


def test_a_terminal_that_is_too_narrow_exits_with_2(shared_file_api: FakeApi, shell: Shell) -> None:
    shell.tty = True
    shell.env["COLUMNS"] = "30"
    done = shell("qr", ID)
    assert (done.code, done.out) == (2, "")
    assert "needs 33 columns" in done.err


def test_an_output_file_that_is_not_png_exits_with_2_and_sends_nothing(
    shared_file_api: FakeApi, shell: Shell, tmp_path: Path
) -> None:
    refused = shell("qr", ID, "-o", tmp_path / "my code.svg")
    assert (refused.code, shared_file_api.requests, list(tmp_path.glob("*.svg"))) == (2, [], [])
    assert "my code.png'" in refused.err


def test_the_png_is_that_of_the_server(shared_file_api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    assert shell("qr", ID, "-o", tmp_path / "code.png").out == f"{tmp_path / 'code.png'}\n"
    assert (tmp_path / "code.png").read_bytes() == PNG
    assert [heard.path for heard in shared_file_api.requests] == [f"/files/{ID}/qr-code"]


def test_a_png_is_not_printed_on_a_terminal(shared_file_api: FakeApi, shell: Shell) -> None:
    shell.tty = True
    assert shell("qr", ID, "-o", "-").code == 2
    assert shared_file_api.requests == []


def test_json_contains_the_link(shared_file_api: FakeApi, shell: Shell) -> None:
    assert shell("qr", ID, "--json").json == {"url": f"{LINK}?via=qr"}


# --- open --------------------------------------------------------------------------------------------------------


def test_open_opens_and_prints_the_link(shared_file_api: FakeApi, shell: Shell) -> None:
    shell.tty = True
    shell.env["BROWSER"] = "firefox"
    assert shell("open", ID).out == f"{LINK}\n"
    assert shell.opened == [LINK]


@pytest.mark.parametrize("env", [{"CI": "1"}, {"SSH_CONNECTION": "x"}, {"BROWSER": ""}])
def test_open_only_prints_the_link_if_there_is_no_browser(
    shared_file_api: FakeApi, shell: Shell, env: dict[str, str]
) -> None:
    shell.tty = True
    shell.env |= {"BROWSER": "firefox"} | env
    assert shell("open", ID).out == f"{LINK}\n"
    assert shell.opened == []


def test_open_only_prints_the_link_in_a_pipe(shared_file_api: FakeApi, shell: Shell) -> None:
    shell.env["BROWSER"] = "firefox"
    assert shell("open", ID, "--json").json == {"url": LINK, "opened": False}
    assert shell.opened == []


@pytest.mark.parametrize("base", ["https://docs.example", "https://example.com/share"])
def test_the_report_is_opened_on_the_server_of_the_link(api: FakeApi, shell: Shell, base: str) -> None:
    api.on("GET", f"/files/{ID}", {"uuid": UUID.format(1), "shortId": ID, "shareUrl": f"{base}/{ID}"})
    shell.tty = True
    shell.env["BROWSER"] = "firefox"
    assert shell("open", ID, "--readership").out == f"{base}/readership/{UUID.format(1)}\n"
    assert shell.opened == [f"{base}/readership/{UUID.format(1)}"]


@pytest.mark.parametrize("link", ["file:///etc/passwd", "javascript:alert(1)", "", None, "--help"])
def test_only_web_links_are_opened(api: FakeApi, shell: Shell, link: str | None) -> None:
    shell.tty = True
    shell.env["BROWSER"] = "firefox"
    api.on("GET", f"/files/{ID}", {"uuid": UUID.format(1), "shareUrl": link})
    assert shell("open", ID).code == 11
    assert shell("qr", ID).code == 11
    assert shell.opened == []


# --- whoami ------------------------------------------------------------------------------------------------------


def test_whoami_prints_the_account_and_its_server(api: FakeApi, shell: Shell) -> None:
    account = {"uuid": UUID.format(9), "email": "pia@example.com", "tier": "pro", "limits": {"activeFiles": 2}}
    api.on("GET", "/user", account)
    assert shell("whoami").lines[:2] == ["email\tpia@example.com", "tier\tpro"]
    assert shell("whoami", "--json").json == account
    shell.tty = True
    shell.env["NO_COLOR"] = "1"
    done = shell("whoami")
    assert done.lines[0] == "email  pia@example.com"
    assert f"{api.url}, credential from env DOCSHARE_TOKEN" in done.err
    assert TOKEN not in done.out + done.err


# --- progress ----------------------------------------------------------------------------------------------------


class ProgressShell(Shell):
    """Runs a transfer of 100 steps of 1 MB in place of a command; each step takes ``pace`` seconds."""

    pace = 1.0

    def __call__(self, *argv: str | Path, **more: Any) -> CommandResult:
        import docshare.cli.commands.profile as module

        def run_transfer(context: Context, name: str) -> dict[str, str]:
            progress = Progress(context, "deck\x1b.pdf", 100_000_000)
            for _ in range(100):
                progress.advance(1_000_000)
                context.sleep(self.pace)
            progress.set_stage("processing on server")
            progress.close()
            return {"name": select_mode(context)}

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_build_row", run_transfer)
            return super().__call__("profile", "list", *argv, **more)


@pytest.fixture
def progress_shell(api: FakeApi, time: FakeTime, tmp_path: Path) -> ProgressShell:
    shell = ProgressShell(tmp_path, api.url, time)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text("[profiles.x]\n")
    return shell


def test_plain_progress_prints_a_line_per_quarter_after_the_first_seconds(progress_shell: ProgressShell) -> None:
    done = progress_shell()
    assert done.out.startswith("plain")
    lines = done.err.splitlines()
    assert [line.split(",")[0] for line in lines] == ["deck\\x1b.pdf: 11%", "deck\\x1b.pdf: 41%", "deck\\x1b.pdf: 71%"]


def test_a_slow_transfer_prints_as_many_lines_as_a_fast_one(progress_shell: ProgressShell) -> None:
    progress_shell.pace = 4.0
    lines = progress_shell().err.splitlines()
    assert [line.split(",")[0] for line in lines] == [f"deck\\x1b.pdf: {share}%" for share in (4, 30, 55, 80)]


def test_a_terminal_shows_a_bar_and_clears_it(progress_shell: ProgressShell) -> None:
    progress_shell.tty = True
    done = progress_shell()
    assert "█" in done.err
    assert "processing on server" in done.err
    assert done.err.endswith("\r\x1b[K")
    drawn = [part for part in done.err.split("\r\x1b[K") if part]
    assert max(map(len, drawn)) < 100
    assert "\n" not in done.err


@pytest.mark.parametrize(
    ("tty", "env", "options", "expected"),
    [
        (True, {}, [], "bar"),
        (True, {"CI": "1"}, [], "plain"),
        (True, {"TERM": "dumb"}, [], "plain"),
        (False, {}, [], "plain"),
        (False, {"FORCE_COLOR": "1"}, [], "plain"),
        (True, {}, ["-q"], "none"),
        (True, {}, ["--progress", "none"], "none"),
        (False, {}, ["--progress=bar"], "bar"),
        (True, {}, ["--progress", "json"], "json"),
    ],
)
def test_the_kind_of_progress_depends_on_terminal_and_environment(
    progress_shell: ProgressShell, tty: bool, env: dict[str, str], options: list[str], expected: str
) -> None:
    progress_shell.tty = tty
    done = progress_shell(*options, "--format", "plain", env=env)
    assert done.out.split("\t")[0] == expected
    assert ("\x1b" in done.err) == (expected == "bar")


@pytest.mark.parametrize("tty", [True, False])
def test_a_long_stage_shows_its_elapsed_time(
    progress_shell: ProgressShell, time: FakeTime, monkeypatch: pytest.MonkeyPatch, tty: bool
) -> None:
    """The request blocks the program meanwhile, so that a thread must draw the progress."""
    import docshare.cli.commands.profile as module
    import docshare.cli.terminal.progress as drawing

    drawn = threading.Event()

    def run_transfer(context: Context, name: str) -> dict[str, str]:
        progress = Progress(context, "deck.docx", 1000)
        progress.update(1000)
        progress.set_stage("converting on server")
        context.sleep(7)
        staged = progress._describe_stage
        monkeypatch.setattr(progress, "_describe_stage", lambda: (staged(), drawn.set())[0])
        assert drawn.wait(20)
        progress.close()
        return {"name": select_mode(context)}

    monkeypatch.setattr(drawing, "_STAGE_INTERVALS", {"bar": 0.01, "plain": 0.01})
    progress_shell.tty = tty
    monkeypatch.setattr(module, "_build_row", run_transfer)
    done = Shell.__call__(progress_shell, "profile", "list")
    assert "converting on server, 7s" in done.err


def test_parallel_uploads_can_change_the_stage(progress_shell: ProgressShell, monkeypatch: pytest.MonkeyPatch) -> None:
    import docshare.cli.commands.profile as module

    broken: list[Exception] = []

    def run_transfer(context: Context, name: str) -> dict[str, str]:
        progress = Progress(context, "deck.docx", 1000)

        def change_stage() -> None:
            try:
                for number in range(200):
                    progress.set_stage("processing on server" if number % 2 else "")
            except RuntimeError as error:
                broken.append(error)

        threads = [threading.Thread(target=change_stage) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        progress.close()
        return {"name": select_mode(context)}

    progress_shell.tty = True
    monkeypatch.setattr(module, "_build_row", run_transfer)
    assert Shell.__call__(progress_shell, "profile", "list").code == 0
    assert broken == []


def test_progress_as_json_is_one_object_per_line(progress_shell: ProgressShell) -> None:
    done = progress_shell("--progress", "json", "--json")
    states = [json.loads(line)["progress"] for line in done.err.splitlines()]
    assert states[0] == {"label": "deck\\x1b.pdf", "done": 11_000_000, "total": 100_000_000, "stage": "transfer"}
    assert states[-1]["stage"] == "processing on server"


def test_the_current_context_does_not_exist_outside_a_command() -> None:
    with pytest.raises(IndexError):
        current_context()
