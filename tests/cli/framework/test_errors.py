"""Exit codes and error messages. The table is written by hand, not taken from the code."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from docshare.client.errors import UnknownOutcome
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, FakeTime, problem
from tests.support.shell import TOKEN, Shell

ID = "aB3dE5fG7hJ9"

# status, code of the problem document, exit code
TABLE = [
    (400, "bad_request", 9),
    (401, "unauthorized", 4),
    (403, "forbidden", 5),
    (403, "insufficient_scope", 5),
    (403, "plan_required", 6),
    (404, "not_found", 3),
    (405, "method_not_allowed", 9),
    (409, "conflict", 7),
    (410, "gone", 8),
    (413, "payload_too_large", 9),
    (415, "unsupported_media_type", 9),
    (422, "unprocessable", 9),
    (429, "rate_limited", 10),
    (431, "headers_too_large", 9),
    (500, "internal", 11),
    (501, "not_implemented", 11),
    (502, "bad_gateway", 11),
    (503, "unavailable", 11),
]

COMMON = [row for row in TABLE if row[0] in (401, 403, 404, 409, 410, 429, 500)]

# Every command that calls the server, and the first request it sends.
COMMANDS = [
    (["files", "list"], "GET", "/files"),
    (["ls"], "GET", "/files"),
    (["files", "show", ID], "GET", f"/files/{ID}"),
    (["show", ID], "GET", f"/files/{ID}"),
    (["files", "delete", ID, "--yes"], "DELETE", f"/files/{ID}"),
    (["rm", ID, "--yes"], "DELETE", f"/files/{ID}"),
    (["download", ID], "GET", f"/files/{ID}/content"),
    (["qr", ID], "GET", f"/files/{ID}"),
    (["qr", ID, "-o", "-"], "GET", f"/files/{ID}/qr-code"),
    (["open", ID], "GET", f"/files/{ID}"),
    (["whoami"], "GET", "/user"),
    (["events", "list"], "GET", "/events"),
]


each_command = pytest.mark.parametrize(
    ("line", "method", "path"), COMMANDS, ids=["-".join(line) for line, _, _ in COMMANDS]
)


@pytest.mark.parametrize(("status", "code", "expected"), TABLE)
def test_every_error_response_has_its_exit_code(
    api: FakeApi, shell: Shell, status: int, code: str, expected: int
) -> None:
    api.on("GET", f"/files/{ID}", problem(status, code, "what is wrong"))
    done = shell("files", "show", ID, "--json", "--retries", "0")
    assert (done.code, done.out) == (expected, "")
    assert done.error == {
        "status": status,
        "code": code,
        "detail": "what is wrong",
        "hint": done.error["hint"],
        "exit": expected,
        "method": "GET",
        "path": f"/api/v1/files/{ID}",
        "profile": None,
    }
    assert done.error["hint"].startswith("do it")


@pytest.mark.parametrize(("status", "code", "expected"), COMMON)
@each_command
def test_stdout_is_empty_whenever_a_command_fails(
    api: FakeApi, shell: Shell, line: list[str], method: str, path: str, status: int, code: str, expected: int
) -> None:
    api.on(method, path, problem(status, code))
    done = shell(*line, "--json", "--retries", "0")
    assert (done.code, done.out) == (expected, "")
    assert done.error["exit"] == expected
    assert done.err.count("\n") == 1


@each_command
def test_an_unreachable_server_exits_with_11(shell: Shell, line: list[str], method: str, path: str) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        shell.env["DOCSHARE_URL"] = f"http://127.0.0.1:{closed.getsockname()[1]}"
        done = shell(*line, "--json", "--retries", "0")
    assert (done.code, done.out) == (11, "")
    assert done.error["status"] is None
    assert done.error["code"] == "unreachable"


def test_a_terminal_shows_error_hint_and_details(api: FakeApi, shell: Shell) -> None:
    shell.tty = True
    shell.env["NO_COLOR"] = "1"
    api.on("GET", f"/files/{ID}", problem(404, "not_found", "there is no such file"))
    done = shell("files", "show", ID)
    assert done.err.splitlines() == [
        "error: there is no such file",
        "hint: do it",
        f"not_found · HTTP 404 · GET /api/v1/files/{ID}",
    ]


def test_quiet_does_not_suppress_errors(api: FakeApi, shell: Shell) -> None:
    api.on("GET", f"/files/{ID}", problem(404, "not_found", "there is no such file"))
    assert "there is no such file" in shell("show", ID, "-q").err


def test_a_rejected_credential_is_reported_with_server_and_source(api: FakeApi, shell: Shell) -> None:
    api.on("GET", "/user", problem(401, "unauthorized"))
    done = shell("whoami", "--json")
    assert "credential from env DOCSHARE_TOKEN" in done.error["hint"]
    assert api.url in done.error["hint"]


def test_nothing_is_sent_without_a_credential(api: FakeApi, shell: Shell) -> None:
    del shell.env["DOCSHARE_TOKEN"]
    done = shell("files", "list", "--json")
    assert done.code == done.error["exit"] == 4
    assert done.error["code"] == "credential"
    assert api.requests == []


@pytest.mark.parametrize("text", ["\x1b[2Jgone", "\u202egnp", "a\nhint: run rm -rf"])
def test_hostile_text_of_a_server_is_escaped(api: FakeApi, shell: Shell, text: str) -> None:
    shell.env["NO_COLOR"] = "1"
    api.on("GET", f"/files/{ID}", problem(404, "not_found", text))
    done = shell("show", ID)
    assert all(char.isprintable() for char in done.err.replace("\n", ""))
    assert len(done.err.splitlines()) == 2


def test_usage_errors_are_json_if_requested(shell: Shell) -> None:
    done = shell("files", "list", "--json", "--nonsense")
    assert done.error["code"] == "usage"
    assert "--nonsense" in done.error["detail"]
    done = shell("nonsense", "--format", "jsonl")
    assert done.error["exit"] == 2


def test_the_format_of_the_environment_applies_to_errors(shell: Shell) -> None:
    done = shell("files", "nonsense", env={"DOCSHARE_FORMAT": "json"})
    assert done.error["code"] == "usage"


def test_waiting_for_the_rate_limit_is_reported_and_bounded(api: FakeApi, shell: Shell, time: FakeTime) -> None:
    api.on("GET", "/files", problem(429, "rate_limited", Retry_After="23"), [])
    done = shell("files", "list")
    assert done.code == 0
    assert "rate limited, waiting 23 s" in done.err
    api.on("GET", "/files", problem(429, "rate_limited", Retry_After="23"))
    assert shell("files", "list", "--max-wait", "1m").code == 10
    assert sum(time.waits) < 120


def test_a_redirect_is_not_followed_and_its_target_is_named(api: FakeApi, shell: Shell) -> None:
    api.on("GET", "/files", FakeResponse("", 301, {"Location": "https://elsewhere.example/api/v1/files"}))
    done = shell("files", "list", "--json")
    assert done.code == 11
    assert "https://elsewhere.example" in done.error["detail"] + done.error["hint"]


def test_a_deprecated_route_causes_one_warning(api: FakeApi, shell: Shell) -> None:
    api.on("GET", "/files", FakeResponse([], 200, {"Sunset": "Tue, 01 Dec 2026 00:00:00 GMT"}))
    api.on("DELETE", f"/files/{ID}", FakeResponse({"trashed": False}, 200, {"Deprecation": "true"}))
    assert shell("files", "list").err.count("deprecated") == 1
    assert shell("rm", ID, "aB3dE5fG0002", "--yes").err.count("deprecated") == 1


def test_a_write_whose_response_is_lost_exits_with_14_and_lists_candidates(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {
        "shortId": ID,
        "originalName": "de\x1bck.pdf",
        "createdAt": "2026-09-21T12:00:00.000Z",
        "shareUrl": "https://x/y",
    }

    def lose_response(*_: object) -> None:
        raise UnknownOutcome("the answer was lost", method="POST", path="/api/v1/files", candidates=[made])

    monkeypatch.setattr("docshare.client.files.FilesApi.list", lose_response)
    done = shell("files", "list")
    assert done.code == 14
    assert done.err.splitlines()[-1] == f"{ID}  de\\x1bck.pdf  2026-09-21T12:00:00.000Z  https://x/y"
    assert shell("files", "list", "--json").error["candidates"] == [made]


# --- unexpected errors -------------------------------------------------------------------------------------------


@pytest.fixture
def broken_list(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: object) -> None:
        raise ZeroDivisionError(f"with {TOKEN} in the message")

    monkeypatch.setattr("docshare.client.files.FilesApi.list", explode)


@pytest.mark.usefixtures("broken_list")
def test_an_unexpected_error_prints_one_line_and_writes_a_report_without_secrets(shell: Shell) -> None:
    done = shell("files", "list")
    assert (done.code, done.out) == (1, "")
    report = shell.home / "state" / "crash.log"
    assert done.err.splitlines() == [
        "error: unexpected error: ZeroDivisionError: with *** in the message",
        f"hint: Report written to {report}",
    ]
    text = report.read_text()
    assert "ZeroDivisionError" in text
    assert "in explode" in text
    assert TOKEN not in text
    assert report.stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("broken_list")
def test_the_traceback_of_an_unexpected_error_is_printed_only_on_request(shell: Shell) -> None:
    assert "Traceback" not in shell("files", "list", env={"DOCSHARE_DEBUG": "0"}).err
    done = shell("files", "list", env={"DOCSHARE_DEBUG": "1"})
    assert "Traceback" in done.err
    assert TOKEN not in done.err


@pytest.mark.usefixtures("broken_list")
def test_an_unexpected_error_is_printed_even_if_no_report_can_be_written(shell: Shell) -> None:
    (shell.home / "file").write_text("")
    done = shell("files", "list", "--json", env={"DOCSHARE_STATE_DIR": str(shell.home / "file" / "state")})
    assert done.code == 1
    assert done.error["detail"].startswith("unexpected error: ZeroDivisionError")


@pytest.mark.parametrize("level", ["-v", "-vv"])
def test_the_credential_appears_in_no_output(api: FakeApi, shell: Shell, level: str) -> None:
    api.files = [{"uuid": UUID.format(1), "shortId": ID, "originalName": "x.pdf"}]
    api.on("GET", "/user", problem(401, "unauthorized", f"bad credential {TOKEN}"))
    for line in (["files", "list"], ["whoami"], ["whoami", "--json"], ["profile", "list"]):
        done = shell(*line, level)
        assert TOKEN not in done.out + done.err
    assert all(TOKEN in heard.headers["Authorization"] for heard in api.requests)


def test_v_prints_requests_and_vv_prints_headers(api: FakeApi, shell: Shell) -> None:
    done = shell("files", "list", "-v")
    assert "GET /api/v1/files 200 " in done.err
    assert "user-agent" not in done.err.lower()
    done = shell("files", "list", "-vv")
    assert "user-agent: docshare/" in done.err.lower()
    assert "authorization: ***" in done.err.lower()


def test_vv_masks_headers_that_contain_secrets_by_their_names(api: FakeApi, shell: Shell) -> None:
    api.on(
        "GET", "/files", FakeResponse([], headers={"Set-Cookie": "docshare_session=just-made", "X-Request-Id": "r1"})
    )
    told = shell("files", "list", "-vv").err.lower()
    assert "set-cookie: ***" in told
    assert "x-request-id: r1" in told
    assert "just-made" not in told


def test_a_deadline_ends_the_command_with_124(shell: Shell) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        shell.env["DOCSHARE_URL"] = f"http://127.0.0.1:{silent.getsockname()[1]}"
        done = shell("files", "list", "--deadline", "300ms", "--json")
    assert done.code == done.error["exit"] == 124


def test_offline_commands_open_no_socket(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def reject(*_: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", reject)
    lines = (["help"], ["help", "privacy"], ["profile", "list"], ["completion", "bash"], ["--version"], ["ls", "-h"])
    for line in lines:
        assert shell(*line).code == 0, line


def test_reading_works_if_no_directory_can_be_created(api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    places = {f"DOCSHARE_{kind}_DIR": str(tmp_path / "file" / kind) for kind in ("CONFIG", "STATE", "CACHE")}
    done = shell("files", "list", "--json", env=places)
    assert (done.code, done.out, done.err) == (0, "[]\n", "")


def test_the_error_line_is_one_json_object(api: FakeApi, shell: Shell) -> None:
    api.on("GET", f"/files/{ID}", problem(404, "not_found", "näh\n\x1b[31m"))
    done = shell("show", ID, "--json")
    assert json.loads(done.err)["error"]["detail"] == "näh\n\x1b[31m"
    assert done.err.isascii()


def test_an_argument_that_is_not_unicode_is_a_usage_error(shell: Shell) -> None:
    assert shell("files", "show", "\udc80").code == 2
