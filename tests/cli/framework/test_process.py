"""The program as a process: terminals, pipes, signals, encodings, and the modules it imports."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse
from tests.support.repository import ROOT
from tests.support.shell import TOKEN, Shell
from tests.support.terminal import Terminal, run_on_terminal

DOCSHARE = [sys.executable, "-m", "docshare"]
ID = "aB3dE5fG7hJ9"
FILE = {
    "uuid": UUID.format(1),
    "shortId": ID,
    "originalName": "Über.pdf",
    "size": 4_404_019,
    "viewCount": 3,
    "createdAt": "2026-09-21T12:00:00.000Z",
}


@pytest.fixture
def env(shell: Shell, api: FakeApi) -> dict[str, str]:
    api.files = [FILE]
    api.on("DELETE", f"/files/{ID}", {"trashed": False})
    kept = {key: os.environ[key] for key in ("PATH", "PYTHONPATH") if key in os.environ}
    return {**kept, **shell.env, "LANG": "C.UTF-8", "TZ": "UTC"} | {"PYTHONPATH": str(ROOT)}


def run_docshare(env: dict[str, str], *line: str, **more: object) -> subprocess.CompletedProcess[bytes]:
    options: dict[str, object] = {"capture_output": True, "timeout": 30, "stdin": subprocess.DEVNULL, **more}
    return subprocess.run([*DOCSHARE, *line], env=env, **options)  # type: ignore[call-overload, no-any-return]


# --- terminal and pipe -------------------------------------------------------------------------------------------


def test_a_terminal_shows_a_colored_table_and_a_pipe_gets_tabs(env: dict[str, str]) -> None:
    shown = run_on_terminal([*DOCSHARE, "files", "list"], env).text
    assert "NAME" in shown
    assert "\x1b[" in shown
    assert (
        run_docshare(env, "files", "list").stdout.decode().startswith(f"{ID}\t{UUID.format(1)}\tÜber.pdf\t4404019\t3\t")
    )


@pytest.mark.parametrize(
    ("more", "colored"),
    [({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False), ({"CLICOLOR": "0"}, False), ({"FORCE_COLOR": "0"}, True)],
)
def test_color_can_be_disabled_on_a_terminal(env: dict[str, str], more: dict[str, str], colored: bool) -> None:
    assert ("\x1b[" in run_on_terminal([*DOCSHARE, "files", "list"], env | more).text) == colored


def test_forced_color_does_not_apply_to_data_in_a_pipe(env: dict[str, str]) -> None:
    assert b"\x1b" not in run_docshare(env | {"FORCE_COLOR": "1"}, "files", "list").stdout
    assert json.loads(run_docshare(env | {"CLICOLOR_FORCE": "1"}, "files", "list", "--json").stdout) == [FILE]


def test_a_table_has_the_width_of_the_terminal(env: dict[str, str]) -> None:
    del env["COLUMNS"]
    wide = run_on_terminal([*DOCSHARE, "files", "list"], env | {"NO_COLOR": "1"}, columns=120).text
    narrow = run_on_terminal([*DOCSHARE, "files", "list"], env | {"NO_COLOR": "1"}, columns=40).text
    assert "SIZE" in wide
    assert "SIZE" not in narrow
    assert all(len(line) <= 40 for line in narrow.splitlines())


def test_the_table_depends_only_on_stdout(env: dict[str, str]) -> None:
    assert run_on_terminal([*DOCSHARE, "files", "list"], env, only=(0, 2)).text == ""
    assert "NAME" in run_on_terminal([*DOCSHARE, "files", "list"], env, only=(1,)).text


def test_prompts_are_shown_only_on_a_terminal(env: dict[str, str], api: FakeApi) -> None:
    with Terminal([*DOCSHARE, "rm", ID], env) as terminal:
        terminal.wait_for_text("[y/N] ")
        terminal.type("y\n")
        assert terminal.wait_for_exit().code == 0
    assert len(api.list_requests("DELETE", f"/files/{ID}")) == 1
    for only in ((1, 2), (0, 1)):  # either stdin or stderr is not a terminal
        assert run_on_terminal([*DOCSHARE, "rm", ID], env, only=only).code == 2
    assert run_on_terminal([*DOCSHARE, "rm", ID], env | {"CI": "true"}).code == 2
    assert len(api.list_requests("DELETE", f"/files/{ID}")) == 1


@pytest.mark.parametrize("is_resumed", [False, True])
def test_the_key_prompt_hides_the_input(env: dict[str, str], api: FakeApi, *, is_resumed: bool) -> None:
    """After Ctrl-Z the shell turns the echo on for its own line, and its ``fg`` sends SIGCONT."""
    del env["DOCSHARE_TOKEN"], env["DOCSHARE_URL"]
    with Terminal([*DOCSHARE, "profile", "add", "work", "--url", api.url], env) as terminal:
        shown = terminal.wait_for_text("API key: ")
        if is_resumed:
            terminal.turn_echo_on()
            terminal.process.send_signal(signal.SIGCONT)
            terminal.wait_for_text("API key: ", after=len(shown))
        terminal.type(f"{TOKEN}\n")
        ended = terminal.wait_for_exit()
    assert ended.code == 0
    assert TOKEN not in ended.text
    assert run_docshare(env, "files", "list").returncode == 0


def test_stdin_is_read_only_if_requested(env: dict[str, str]) -> None:
    reader, writer = os.pipe()  # neither closed nor written to: reading from it would hang
    try:
        assert run_docshare(env, "files", "list", stdin=reader).returncode == 0
        assert run_docshare(env, "rm", ID, stdin=reader).returncode == 2
    finally:
        os.close(reader)
        os.close(writer)


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_closed_streams_do_not_crash_a_command(env: dict[str, str], closed: str) -> None:
    program = " ".join(DOCSHARE)
    for line, code in (("files list --json", 0), ("files show slug:nope", 3)):
        done = subprocess.run(["sh", "-c", f"exec {program} {line} {closed}"], env=env, capture_output=True, timeout=30)
        assert done.returncode == (1 if code == 0 and "1>&-" in closed else code)  # data must not be lost silently
        assert b"Traceback" not in done.stderr


# --- encodings ---------------------------------------------------------------------------------------------------


def test_a_truncated_name_is_marked_in_any_encoding(env: dict[str, str], api: FakeApi) -> None:
    api.files = [FILE | {"originalName": "a long name " * 9}]
    line = ("files", "list", "--format", "table", "--fields", "originalName,shortId")
    for encoding, mark in {"utf-8": "…", "ascii": "~"}.items():
        done = run_docshare(env | {"PYTHONIOENCODING": encoding, "COLUMNS": "30", "NO_COLOR": "1"}, *line)
        assert done.stdout.decode(encoding).splitlines()[1] == f"a long name a l{mark}  {ID}"


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
@pytest.mark.parametrize("line", [["files", "list", "--format", "table"], ["help", "exit-codes"]], ids=" ".join)
def test_no_encoding_makes_a_command_fail(env: dict[str, str], encoding: str, line: list[str], api: FakeApi) -> None:
    api.files = [FILE | {"originalName": "日本語 ½.pdf"}]
    done = run_docshare(env | {"PYTHONIOENCODING": encoding}, *line)
    assert (done.returncode, done.stderr) == (0, b"")


def test_json_has_the_same_value_in_any_encoding(env: dict[str, str], api: FakeApi) -> None:
    api.files = [FILE | {"originalName": "日本語 ½.pdf"}]
    done = run_docshare(env | {"PYTHONIOENCODING": "cp1252"}, "files", "list", "--json")
    assert json.loads(done.stdout.decode("cp1252")) == api.files


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}])
def test_a_pipe_gets_utf8_in_any_locale(env: dict[str, str], locale: dict[str, str]) -> None:
    assert "Über.pdf" in run_docshare(env | locale, "files", "list").stdout.decode("utf-8")


# --- pipes and signals -------------------------------------------------------------------------------------------


def test_a_closed_pipe_ends_the_command_silently_with_141(env: dict[str, str], api: FakeApi) -> None:
    api.files = [FILE] * 20_000
    with subprocess.Popen([*DOCSHARE, "ls"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(timeout=30) == 141


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_a_text_into_a_closed_pipe_is_silent(env: dict[str, str], option: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = run_docshare(env, option, stdout=writer, capture_output=False, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_full_disk_is_reported(env: dict[str, str]) -> None:
    with open("/dev/full", "wb") as full:
        done = run_docshare(env, "files", "list", "--json", stdout=full, capture_output=False, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert b"No space left on device" in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_command_with_its_code_and_without_a_traceback(
    env: dict[str, str], number: signal.Signals, code: int
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        env["DOCSHARE_URL"] = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with subprocess.Popen([*DOCSHARE, "ls", "--json"], env=env, stdout=-1, stderr=-1) as child:
            connection, _ = silent.accept()
            with connection:
                connection.recv(1)  # the request has been sent
                child.send_signal(number)
                out, err = child.communicate(timeout=30)
    assert (child.returncode, out) == (code, b"")
    assert json.loads(err)["error"]["exit"] == code


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_an_interrupted_download_leaves_no_file(
    env: dict[str, str], api: FakeApi, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    place = tmp_path / "work"
    place.mkdir()
    headers = {"Content-Type": "application/pdf", "Content-Length": "1000000"}
    api.on("GET", f"/files/{ID}/content", FakeResponse(b"%PDF-" + b"x" * 600_000, 200, headers))
    with subprocess.Popen([*DOCSHARE, "download", ID], env=env, cwd=place, stdout=-1, stderr=-1) as child:
        while not any(path.stat().st_size for path in place.iterdir()):
            assert child.poll() is None
        child.send_signal(number)
        child.communicate(timeout=30)
    assert child.returncode == code
    assert list(place.iterdir()) == []


def test_a_download_to_stdout_is_exactly_the_bytes(env: dict[str, str], api: FakeApi) -> None:
    pdf = b"%PDF-1.7\n" + bytes(range(256)) * 4096
    api.on("GET", f"/files/{ID}/content", FakeResponse(pdf, 200, {"Content-Type": "application/pdf"}))
    done = run_docshare(env, "download", ID, "-o", "-")
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(pdf).digest()


# --- loaded modules ----------------------------------------------------------------------------------------------

HEAVY = {"requests", "urllib3", "rich", "flask", "werkzeug", "peewee", "pydantic", "PIL", "pypdf", "qrcode", "waitress",
         "importlib.metadata", "platformdirs", "jmespath", "pypdfium2", "limits", "yaml", "click",
         "charset_normalizer", "chardet"}  # fmt: skip
OFFLINE = HEAVY | {"ssl", "http.client"}


def list_loaded_modules(env: dict[str, str], *line: str) -> set[str]:
    """Return the modules that a command loaded; the program reports them when it exits."""
    code = (
        "import sys\n"
        "from docshare.__main__ import main\n"
        "code = main()\n"
        "sys.stdout.flush()\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)\n"
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code, *line], env=env, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def is_package(name: str) -> bool:
    return (ROOT / name.replace(".", "/")).is_dir()


@pytest.mark.parametrize("line", [["--version"], ["__complete", "files", ""]])
def test_the_fast_paths_load_almost_no_modules(env: dict[str, str], line: list[str]) -> None:
    modules = list_loaded_modules(env, *line)
    ours = {name for name in modules if name.startswith("docshare.")}
    assert ours <= {
        "docshare.__main__",
        "docshare.cli",
        "docshare.cli.local",
        "docshare.cli.local.completion_words",
        "docshare.cli.local.paths",
        "docshare.directories",
    }
    assert not modules & (OFFLINE | {"typer", "json", "re", "typing", "dataclasses", "inspect", "pathlib"})


@pytest.mark.parametrize(
    "line",
    [
        ["--help"],
        ["help", "exit-codes"],
        ["completion", "bash"],
        ["profile", "list"],
        ["files", "list", "-h"],
        ["upload", "-h"],
        ["events", "tail", "-h"],
        ["serve", "-h"],
        ["admin", "-h"],
        ["qr", "-h"],
        ["variants", "create", "-h"],
        ["assets", "add", "-h"],
        ["settings", "schema"],
        ["settings", "set", "-h"],
        ["webhooks", "create", "-h"],
        ["webhooks", "kinds"],
        ["webhooks", "sample", "file.viewed"],
        ["webhooks", "verify", "-h"],
        ["trigger", "-h"],
    ],
    ids=" ".join,
)
def test_offline_commands_load_nothing_heavy(env: dict[str, str], line: list[str]) -> None:
    modules = list_loaded_modules(env, *line)
    assert not modules & OFFLINE
    assert not any(name.startswith("docshare.server") for name in modules)


@pytest.mark.parametrize("command", ["upload", "settings set", "webhooks listen", "variants create", "events tail",
                                     "wait", "apply", "admin backup", "readership show"])  # fmt: skip
def test_the_help_of_a_command_loads_few_modules(env: dict[str, str], command: str) -> None:
    """Each of our modules costs 0.5 to 1 percent of the time allowed for such a command line."""
    modules = list_loaded_modules(env, *command.split(), "-h")
    assert len([name for name in modules if name.split(".")[0] == "docshare" and not is_package(name)]) <= 40
    assert not modules & {"hashlib", "logging", "csv", "http", "email", "sqlite3", "concurrent.futures"}


NETWORK = {"requests", "urllib3", "importlib.metadata"}  # requests itself loads the last one


@pytest.mark.parametrize("form", ["json", "jsonl", "plain", "tsv", "csv", "ids"])
def test_network_commands_load_requests_and_nothing_else_heavy(env: dict[str, str], form: str) -> None:
    modules = list_loaded_modules(env, "files", "list", "--format", form)
    assert modules & HEAVY == NETWORK
    assert not any(name.startswith("docshare.server") for name in modules)


@pytest.mark.parametrize("line", [["files", "list"], ["files", "show", ID]], ids=" ".join)
def test_a_table_on_a_terminal_loads_rich_and_nothing_else_heavy(
    env: dict[str, str], api: FakeApi, line: list[str]
) -> None:
    api.on("GET", f"/files/{ID}", FILE)
    modules = list_loaded_modules(env, *line, "--format", "table")
    assert modules & HEAVY == NETWORK | ({"rich"} if line[1] == "list" else set())
    assert not modules & {"rich.progress", "rich.live", "rich.ansi", "rich.markdown", "pygments"}


# Parts of the client for other calls: uploads, other resources, and their part of the contract.
SENDING = {"docshare.client.http.body", "docshare.client.http.recovery", "docshare.contract.media"}


@pytest.mark.parametrize(
    ("line", "noun", "contract"),
    [
        (["files", "list"], "files", {"patterns", "problems", "wire"}),
        (["events", "list"], "events", {"amounts", "patterns", "plans", "problems", "streams", "wire"}),
        (["whoami"], "account", {"patterns", "problems", "wire"}),
    ],
    ids=["files list", "events list", "whoami"],
)
def test_a_network_command_loads_only_its_part_of_client_and_contract(
    env: dict[str, str], api: FakeApi, line: list[str], noun: str, contract: set[str]
) -> None:
    api.on("GET", "/user", {"email": "ada@example.com"})
    modules = list_loaded_modules(env, *line, "--json")
    assert f"docshare.client.{noun}" in modules
    assert not modules & (SENDING | {f"docshare.client.{other}" for other in {"files", "events", "account"} - {noun}})
    assert {name.removeprefix("docshare.contract.") for name in modules if "docshare.contract." in name} <= contract


@pytest.mark.parametrize("line", [["settings", "get", ID], ["settings", "set", ID, "viewLimit=3"]], ids=" ".join)
@pytest.mark.parametrize("form", ["json", "table"])
def test_settings_load_requests_and_nothing_else_heavy(
    env: dict[str, str], api: FakeApi, line: list[str], form: str
) -> None:
    api.on("GET", f"/files/{ID}", FILE | {"viewLimit": 3})
    api.on("PUT", f"/files/{ID}/settings", b"")
    modules = list_loaded_modules(env, *line, "--format", form)
    assert modules & HEAVY == NETWORK
    assert not modules & SENDING


def test_a_command_loads_only_its_own_module(env: dict[str, str]) -> None:
    prefix = "docshare.cli.commands."
    found = {
        name.split(".")[3] for name in list_loaded_modules(env, "files", "list", "--json") if name.startswith(prefix)
    }
    assert found == {"files"}
