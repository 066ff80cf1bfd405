"""``docshare api``: error responses, retries, and pagination of feeds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.outside.fake_api import FakeApi, FakeResponse, problem
from tests.support.shell import Shell

# --- error responses -------------------------------------------------------------------------------------------------

# status, code of the problem document, exit code: written by hand from the table of exit codes
ERRORS = [
    (400, "bad_request", 9), (401, "unauthorized", 4), (403, "forbidden", 5), (403, "insufficient_scope", 5),
    (403, "plan_required", 6), (404, "not_found", 3), (405, "method_not_allowed", 9), (409, "conflict", 7),
    (410, "gone", 8), (413, "payload_too_large", 9), (415, "unsupported_media_type", 9), (422, "unprocessable", 9),
    (429, "rate_limited", 10), (500, "internal", 11), (502, "bad_gateway", 11), (503, "unavailable", 11),
]  # fmt: skip


@pytest.mark.parametrize(("status", "code", "ends"), ERRORS)
def test_an_error_response_goes_to_stderr_and_decides_the_exit_code(
    api: FakeApi, shell: Shell, status: int, code: str, ends: int
) -> None:
    api.on("GET", "/files", problem(status, code))
    done = shell("api", "GET", "/files", "--retries", "0")
    assert (done.code, done.out) == (ends, "")
    assert json.loads(done.err.splitlines()[0])["code"] == code
    assert "error: no" in done.err
    done = shell("api", "GET", "/files", "--retries", "0", "--json")
    assert (done.code, done.out, done.error["code"], len(done.err.splitlines())) == (ends, "", code, 1)


def test_an_error_response_can_go_to_stdout_unchanged(api: FakeApi, shell: Shell) -> None:
    api.on("GET", "/files", FakeResponse(b'{ "code":"gone" }', 410, {"Content-Type": "application/problem+json"}))
    done = shell("api", "GET", "/files", "--error-body", "stdout", "-i")
    assert (done.code, done.out, done.err.splitlines()[0]) == (8, '{ "code":"gone" }', "HTTP 410 Gone")
    shell.tty = True
    assert shell("api", "GET", "/files", "--error-body", "stdout").out == '{\n  "code": "gone"\n}\n'


def test_the_gate_stream_without_the_pro_plan_exits_with_6_although_the_error_is_plain_text(
    api: FakeApi, shell: Shell
) -> None:
    api.is_gate_allowed = False
    for path in ("/gate-responses", "/events?type=gate"):
        assert shell("api", "GET", path).code == 6
    api.on("GET", "/files", FakeResponse("no", 403, {"Content-Type": "text/plain"}))
    assert shell("api", "GET", "/files").code == 5


def test_reaching_the_file_limit_exits_with_6_for_requests_that_create_a_file(api: FakeApi, shell: Shell) -> None:
    api.on("GET", "/user", {"tier": "free"})
    api.files = [{"uuid": str(number)} for number in range(3)]
    for path in ("/files", "/files/import", "/files/claim"):
        api.on("POST", path, problem(403, "forbidden"))
        assert shell("api", "POST", path, "-f", "x=1").code == 6
    api.on("POST", "/webhooks", problem(403, "forbidden"))
    assert shell("api", "POST", "/webhooks", "-f", "x=1").code == 5


def test_a_401_response_names_the_credential(api: FakeApi, shell: Shell) -> None:
    api.on("GET", "/files", problem(401, "unauthorized"))
    assert "credential from env DOCSHARE_TOKEN" in shell("api", "GET", "/files").err


@pytest.mark.parametrize(("method", "tries"), [("GET", 4), ("PUT", 4), ("DELETE", 4), ("POST", 1)])
def test_only_idempotent_requests_are_retried(api: FakeApi, shell: Shell, method: str, tries: int) -> None:
    api.on(method, "/webhooks", FakeResponse(connection_action="drop"))
    assert shell("api", method, "/webhooks").code == 11
    assert len(api.requests) == tries


def test_an_unreachable_server_exits_with_11(shell: Shell) -> None:
    done = shell("api", "GET", "/files", "--url", "http://127.0.0.1:9", "--retries", "0", "--json")
    assert (done.code, done.out, done.error["exit"]) == (11, "", 11)


# --- feeds -----------------------------------------------------------------------------------------------------------


def test_paginate_reads_a_feed_from_its_first_row(api: FakeApi, shell: Shell) -> None:
    api.add("view", *range(1, 251))
    rows: list[dict[str, Any]] = shell("api", "GET", "/events", "--paginate").json
    assert [row["id"] for row in rows] == list(range(2, 251))  # a full page hides id 1: since=1 begins after it
    done = shell("api", "GET", "/events", "--paginate", "-f", "since=240", "--format", "jsonl", "--query", "id")
    assert done.out.split() == [str(number) for number in range(241, 251)]


def test_paginate_reads_a_feed_of_one_page(api: FakeApi, shell: Shell) -> None:
    api.add("gate", 1, 2, 3)
    assert [row["id"] for row in shell("api", "GET", "/gate-responses", "--paginate").json] == [1, 2, 3]
    assert shell("api", "GET", "/activity", "--paginate").json == []
