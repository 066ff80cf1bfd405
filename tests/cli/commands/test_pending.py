"""``docshare pending``: lists exactly the recipients who have not read the document, with the reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.commands.fakes.readership import (
    ANN,
    BOB,
    FILE,
    FILE_UUID,
    SESSIONS,
    FakeReadership,
    make_invite,
    make_session,
    make_variant,
)
from tests.support.outside.fake_api import UUID, FakeApi, problem
from tests.support.shell import Shell

ALL = {1: 5, 2: 5, 3: 5}


@pytest.fixture
def fake_readership(api: FakeApi) -> FakeReadership:
    return FakeReadership(api)


def list_reasons_by_name(shell: Shell, *options: str) -> dict[str, str]:
    """Return the reason for each pending recipient by name; check that the exit code matches."""
    done = shell("pending", FILE, *options, "--json")
    assert done.code == (13 if done.json else 0), done.err
    return {row["name"]: row["reason"] for row in done.json}


def test_no_one_is_pending_if_everyone_has_read(fake_readership: FakeReadership, shell: Shell) -> None:
    fake_readership.variants = [make_variant(ANN, "Ann")]
    fake_readership.invites = [make_invite(1, "bob@example.com")]
    fake_readership.sessions = [
        make_session(1, ALL, variantUuid=ANN),
        make_session(2, ALL, fromInvite=True, inviteUuid=UUID.format(201)),
    ]
    done = shell("pending", FILE)
    assert (done.code, done.out) == (0, "")
    assert "all 2 have read it" in done.err


def test_recipients_who_never_opened_the_link_are_listed(fake_readership: FakeReadership, shell: Shell) -> None:
    fake_readership.variants = [make_variant(ANN, "Ann"), make_variant(BOB, "Bob")]
    fake_readership.invites = [make_invite(1, "eve@example.com", name="Eve")]
    fake_readership.sessions = [make_session(1, ALL, variantUuid=ANN)]
    assert list_reasons_by_name(shell) == {"Bob": "never", "Eve": "never"}


def test_recipients_who_stopped_early_are_listed_and_their_sessions_are_added_up(
    fake_readership: FakeReadership, shell: Shell
) -> None:
    fake_readership.variants = [make_variant(ANN, "Ann"), make_variant(BOB, "Bob")]
    fake_readership.sessions = [
        make_session(1, {1: 5, 2: 5}, variantUuid=ANN),
        make_session(2, {3: 5}, variantUuid=ANN),
        make_session(3, {1: 5, 2: 5}, variantUuid=BOB),
    ]
    assert list_reasons_by_name(shell) == {"Bob": "stopped_early"}


def test_recipients_who_only_read_an_older_version_are_listed(fake_readership: FakeReadership, shell: Shell) -> None:
    fake_readership.variants = [make_variant(ANN, "Ann"), make_variant(BOB, "Bob")]
    fake_readership.sessions = [
        make_session(1, ALL, variantUuid=ANN, contentVersion=1),
        make_session(2, ALL, variantUuid=BOB, contentVersion=1),
        make_session(3, ALL, variantUuid=BOB),
    ]
    assert list_reasons_by_name(shell) == {"Ann": "old_version"}
    assert list_reasons_by_name(shell, "--any-version") == {}


def test_pages_seen_in_an_older_version_do_not_count_for_the_newer(
    fake_readership: FakeReadership, shell: Shell
) -> None:
    fake_readership.variants = [make_variant(ANN, "Ann")]
    fake_readership.sessions = [
        make_session(1, {2: 5, 3: 5}, variantUuid=ANN, contentVersion=1), make_session(2, {1: 5}, variantUuid=ANN),
    ]  # fmt: skip
    assert list_reasons_by_name(shell) == {"Ann": "stopped_early"}


def test_revoked_variants_are_ignored_and_redacted_ones_are_listed(
    fake_readership: FakeReadership, shell: Shell
) -> None:
    fake_readership.variants = [make_variant(ANN, "Ann", revoked=True), make_variant(BOB, None, redacted=True)]
    assert list_reasons_by_name(shell) == {"vB3dE5fG7h02": "never"}


# the link of a session, and whether the reader is Ann, who was invited
LINKS: list[tuple[dict[str, Any], bool]] = [
    ({"fromInvite": True, "inviteUuid": UUID.format(201), "email": "private@example.com"}, True),
    ({"fromInvite": True, "inviteUuid": UUID.format(202), "email": "ann@example.com"}, False),
    ({"fromInvite": True, "email": "ann@example.COM"}, True),
    ({"fromInvite": True, "email": "bob@example.com"}, False),
    ({"fromInvite": True}, False),
    ({"fromInvite": False, "email": "ann@example.com"}, False),
    ({"fromInvite": "yes", "email": "ann@example.com"}, False),
]


@pytest.mark.parametrize(("bears", "is_ann"), LINKS)
def test_an_invitee_is_identified_by_the_personal_link_not_by_an_entered_address(
    fake_readership: FakeReadership, shell: Shell, bears: dict[str, Any], is_ann: bool
) -> None:
    fake_readership.invites = [make_invite(1, "Ann@Example.com")]
    fake_readership.sessions = [make_session(1, ALL, **bears)]
    assert list_reasons_by_name(shell) == ({} if is_ann else {"Ann@Example.com": "never"})


def test_a_recipient_who_opened_an_invitation_is_not_listed_as_never(
    fake_readership: FakeReadership, shell: Shell
) -> None:
    fake_readership.invites = [make_invite(1, "ann@example.com", viewedAt="2026-09-21T14:00:00.000Z")]
    row = shell("pending", FILE, "--json").json[0]
    assert (row["reason"], row["lastReadAt"]) == ("stopped_early", "2026-09-21T14:00:00.000Z")


def test_readers_of_the_share_link_count_for_no_recipient(fake_readership: FakeReadership, shell: Shell) -> None:
    fake_readership.variants, fake_readership.invites = [make_variant(ANN, "Ann")], [make_invite(1, "bob@example.com")]
    fake_readership.sessions = [make_session(1, ALL), make_session(2, ALL, email="eve@example.com")]
    assert list_reasons_by_name(shell) == {"Ann": "never", "bob@example.com": "never"}


# pages seen of three, options, pending?
COMPLETION_CASES = [
    ({1: 5, 2: 5}, [], True),
    ({1: 5, 2: 5, 3: 0}, [], True),
    (ALL, [], False),
    ({1: 5, 2: 5}, ["--min-share", "66"], False),
    ({1: 5, 2: 5}, ["--min-share", "66.66%"], False),
    ({1: 5, 2: 5}, ["--min-share", "67"], True),
    ({1: 5}, ["--min-share", "1"], False),
    ({1: 0}, ["--min-share", "1"], True),
    (ALL, ["--min-time", "15s"], False),
    (ALL, ["--min-time", "16s"], True),
    ({2: 5}, ["--page", "2"], False),
    ({1: 5, 3: 5}, ["--page", "2"], True),
    ({2: 5}, ["--page", "2", "--min-time", "5s"], False),
    ({1: 60, 2: 5}, ["--page", "2", "--min-time", "6s"], True),
]


@pytest.mark.parametrize(("pages", "options", "is_pending"), COMPLETION_CASES)
def test_options_define_when_a_document_counts_as_read(
    fake_readership: FakeReadership, shell: Shell, pages: dict[int, int], options: list[str], is_pending: bool
) -> None:
    fake_readership.variants = [make_variant(ANN, "Ann")]
    fake_readership.sessions = [make_session(1, pages, variantUuid=ANN)]
    assert list_reasons_by_name(shell, *options) == ({"Ann": "stopped_early"} if is_pending else {})


# range of the file, override of the variant, pages seen, pending?
WINDOWS: list[tuple[dict[str, int], dict[str, Any], dict[int, int], bool]] = [
    ({"from": 2, "to": 3}, {}, {2: 5, 3: 5}, False),
    ({"from": 2, "to": 3}, {}, {3: 5}, True),
    ({"from": 2, "to": 3}, {"pageRange": {"from": 1, "to": 1}}, {1: 5}, False),
    ({"from": 2, "to": 3}, {"pageRange": {"from": 0, "to": 0}}, {2: 5, 3: 5}, True),
    ({"from": 0, "to": 0}, {"pageRange": {"from": 2, "to": 9}}, {2: 5, 3: 5}, False),
    ({"from": 0, "to": 0}, {"pageRange": {"from": 7, "to": 9}}, {3: 5}, False),
]


@pytest.mark.parametrize(("file_range", "overrides", "pages", "is_pending"), WINDOWS)
def test_only_pages_that_a_link_shows_are_required(
    fake_readership: FakeReadership,
    shell: Shell,
    file_range: dict[str, int],
    overrides: Any,
    pages: Any,
    is_pending: bool,
) -> None:
    fake_readership.file["pageRange"] = file_range
    fake_readership.variants = [make_variant(ANN, "Ann", overrides=overrides)]
    fake_readership.sessions = [make_session(1, pages, variantUuid=ANN)]
    assert bool(list_reasons_by_name(shell)) == is_pending


def test_a_recipient_whose_link_does_not_show_the_page_is_skipped_with_a_note(
    fake_readership: FakeReadership, shell: Shell
) -> None:
    fake_readership.variants = [
        make_variant(ANN, "Ann", overrides={"pageRange": {"from": 1, "to": 1}}),
        make_variant(BOB, "Bob"),
    ]
    done = shell("pending", FILE, "--page", "3", "--json")
    assert [row["name"] for row in done.json] == ["Bob"]
    assert "skipped 1 recipient whose link does not show that page" in done.err


def test_all_pages_of_a_long_history_are_fetched(fake_readership: FakeReadership, api: FakeApi, shell: Shell) -> None:
    fake_readership.variants = [make_variant(ANN, "Ann"), make_variant(BOB, "Bob")]
    fake_readership.sessions = [make_session(number) for number in range(1, 350)] + [
        make_session(350, ALL, variantUuid=BOB)
    ]
    assert list_reasons_by_name(shell) == {"Ann": "never"}
    assert [heard.query["since"] for heard in api.list_requests("GET", SESSIONS)] == ["0", "100", "200", "300", "350"]


def test_sessions_are_not_fetched_if_there_are_no_recipients(
    fake_readership: FakeReadership, api: FakeApi, shell: Shell
) -> None:
    done = shell("pending", FILE)
    assert (done.code, done.out, api.list_requests("GET", SESSIONS)) == (0, "", [])
    assert "the file has no recipients" in done.err


def test_a_json_row_has_all_fields(fake_readership: FakeReadership, shell: Shell) -> None:
    fake_readership.invites = [make_invite(1, "ann@example.com", name="Ann")]
    fake_readership.sessions = [
        make_session(id, pages, inviteUuid=UUID.format(201)) for id, pages in ((5, {1: 5, 3: 4}), (6, {1: 2}))
    ]
    assert shell("pending", FILE, "--json").json == [
        {
            "kind": "invite",
            "name": "Ann",
            "email": "ann@example.com",
            "reason": "stopped_early",
            "lastReadAt": "2026-09-21T14:13:26.000Z",
            "contentVersion": 2,
            "pagesRead": 2,
            "pages": 3,
            "timeMs": 11000,
            "url": "https://d.example/i1",
            "uuid": "00000000-0000-4000-8000-000000000201",
        }
    ]


def test_a_pipe_gets_one_line_per_recipient(fake_readership: FakeReadership, shell: Shell) -> None:
    fake_readership.variants = [make_variant(ANN, "A\x1b[31mnn")]
    done = shell("pending", FILE)
    link = "https://d.example/vB3dE5fG7h01"
    assert done.lines == [f"variant\tA\\x1b[31mnn\tnever\t\t\t0\t3\t0\t\t{link}\t{ANN}"]
    assert shell("pending", FILE, "--format", "ids").lines == [link]


def test_a_terminal_shows_the_reasons(fake_readership: FakeReadership, shell: Shell) -> None:
    fake_readership.variants = [make_variant(ANN, "Ann"), make_variant(BOB, "Bob")]
    fake_readership.sessions = [
        make_session(1, ALL, variantUuid=ANN, contentVersion=1),
        make_session(2, {1: 61}, variantUuid=BOB),
    ]
    shell.tty = True
    done = shell("pending", FILE, "--no-color")
    assert [line.split()[0] for line in done.lines] == ["RECIPIENT", "Ann", "Bob"]
    assert "only version 1" in done.lines[1]
    assert "stopped early" in done.lines[2]
    assert "1/3" in done.lines[2]
    assert "1m 01s" in done.lines[2]
    assert "2 of 2 have not read it yet" in done.err


@pytest.mark.parametrize("options", [["--page", "0"], ["--page", "4"], ["--min-share", "0"], ["--min-share", "101"],
                                     ["--min-share", "x"], ["--min-time", "soon"]])  # fmt: skip
def test_an_invalid_option_exits_with_2(fake_readership: FakeReadership, shell: Shell, options: list[str]) -> None:
    done = shell("pending", FILE, *options)
    assert (done.code, done.out) == (2, "")


@pytest.mark.parametrize(
    ("answer", "code"),
    [(problem(403, "plan_required"), 6), (problem(403, "forbidden"), 5), (problem(404, "not_found"), 3)],
)
def test_an_error_response_has_its_exit_code(
    fake_readership: FakeReadership, api: FakeApi, shell: Shell, answer: Any, code: int
) -> None:
    fake_readership.variants = [make_variant(ANN, "Ann")]
    api.on("GET", SESSIONS, answer)
    done = shell("pending", FILE, "--json")
    assert (done.code, done.out, done.error["exit"]) == (code, "", code)
    assert ("Only the owner" in json.dumps(done.error)) == (code == 5)


def test_the_file_can_be_given_as_a_link(fake_readership: FakeReadership, api: FakeApi, shell: Shell) -> None:
    fake_readership.variants = [make_variant(ANN, "Ann")]
    api.files = [fake_readership.file]
    done = shell("pending", f"https://d.example/{FILE}", "--json")
    assert (done.code, FILE_UUID not in done.out) == (13, True)
