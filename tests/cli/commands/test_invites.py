"""``docshare invites``: personal links for email addresses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.outside.fake_api import UUID, FakeApi, RecordedRequest, problem
from tests.support.shell import Shell

FILE = "aB3dE5fG7hJ9"
ANN: dict[str, Any] = {
    "uuid": UUID.format(7),
    "email": "ann@example.com",
    "name": "Ann Lee",
    "url": "https://docs.example/inv1te123456",
    "createdAt": "2026-09-21T14:13:20.000Z",
}


def build_invite(heard: RecordedRequest) -> dict[str, Any]:
    return {**ANN, "email": json.loads(heard.body)["email"]}


@pytest.fixture
def invite_api(api: FakeApi) -> FakeApi:
    api.on("POST", f"/files/{FILE}/invites", build_invite)
    api.on("GET", f"/files/{FILE}/invites", lambda heard: [ANN])
    return api


def test_create_sends_the_address_and_prints_the_link(invite_api: FakeApi, shell: Shell) -> None:
    done = shell("invites", "create", FILE, "ann@example.com", "--name", "Ann Lee")
    assert done.out == "https://docs.example/inv1te123456\n"
    assert json.loads(invite_api.requests[0].body) == {"email": "ann@example.com", "mail": True, "name": "Ann Lee"}


def test_several_addresses_are_invited_once_each_without_email(invite_api: FakeApi, shell: Shell) -> None:
    done = shell("invites", "create", FILE, "a@example.com", "b@example.com", "a@example.com", "--no-mail", "--json")
    assert [row["email"] for row in done.json] == ["a@example.com", "b@example.com"]
    assert [json.loads(heard.body) for heard in invite_api.requests] == [
        {"email": "a@example.com", "mail": False},
        {"email": "b@example.com", "mail": False},
    ]


def test_name_is_rejected_with_several_addresses(invite_api: FakeApi, shell: Shell) -> None:
    done = shell("invites", "create", FILE, "a@example.com", "b@example.com", "--name", "Ann")
    assert (done.code, done.out, invite_api.requests) == (2, "", [])


def test_one_rejected_address_does_not_stop_the_others(api: FakeApi, shell: Shell) -> None:
    def answer(heard: RecordedRequest) -> Any:
        return problem(400, "bad_request") if b"nobody" in heard.body else build_invite(heard)

    api.on("POST", f"/files/{FILE}/invites", answer)
    done = shell("invites", "create", FILE, "nobody", "b@example.com")
    assert done.code == 12
    assert done.out == "https://docs.example/inv1te123456\n"
    assert "nobody" in done.err


def test_list_prints_the_json_of_the_server_and_a_table_on_a_terminal(invite_api: FakeApi, shell: Shell) -> None:
    assert shell("invites", "list", FILE, "--json").json == [ANN]
    shell.tty = True
    shell.env["NO_COLOR"] = "1"
    out = shell("invites", "list", FILE).out
    assert "ann@example.com" in out
    assert "https://docs.example/inv1te123456" in out


def test_hostile_names_are_escaped_on_a_terminal(api: FakeApi, shell: Shell) -> None:
    row = {**ANN, "name": "\x1b]0;owned\x07Ann", "email": "a\x1b[2J@example.com"}
    api.on("GET", f"/files/{FILE}/invites", lambda heard: [row])
    shell.tty = True
    assert "\x1b]0" not in shell("invites", "list", FILE).out
    assert "\x1b[2J" not in shell("invites", "list", FILE).out
