"""``docshare files``, and all notations for a file."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, FakeTime, problem
from tests.support.shell import Shell

ID = "aB3dE5fG7hJ9"
OTHER = "zZ3dE5fG7hJ9"
SITE = "https://docs.example"
FILES = [
    {
        "uuid": UUID.format(1),
        "shortId": ID,
        "originalName": "deck.pdf",
        "size": 5,
        "slug": "offer",
        "shareUrl": f"{SITE}/{ID}",
    },
    {"uuid": UUID.format(2), "originalName": "old.pdf", "size": 6, "slug": "abcdef123456"},
]
PURGED_AT = "2026-10-21T14:00:00.000Z"
TRASHED = {"trashed": True, "trashedAt": "2026-09-21T14:00:00.000Z", "purgeAt": PURGED_AT}


@pytest.fixture
def two_file_api(api: FakeApi) -> FakeApi:
    api.files = FILES
    for file in FILES:
        for name in filter(None, (file["uuid"], file.get("shortId"))):
            api.on("GET", f"/files/{name}", file)
            api.on("DELETE", f"/files/{name}", TRASHED)
    return api


def list_requests(api: FakeApi) -> list[str]:
    return [f"{heard.method} {heard.path}" for heard in api.requests]


# --- file notations ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "requests"),
    [
        (UUID.format(1), [f"GET /files/{UUID.format(1)}"]),
        (UUID.format(1).upper(), [f"GET /files/{UUID.format(1)}"]),
        (ID, [f"GET /files/{ID}"]),
        (f"https://docs.example/{ID}", [f"GET /files/{ID}"]),
        (f"https://docs.example/{ID}?via=qr#p3", [f"GET /files/{ID}"]),
        (f"http://127.0.0.1:8787/embed/{ID}", [f"GET /files/{ID}"]),
        (f"https://docs.example/readership/{UUID.format(2)}", [f"GET /files/{UUID.format(2)}"]),
        ("slug:offer", ["GET /files", f"GET /files/{UUID.format(1)}"]),
        ("https://docs.example/offer", ["GET /files", f"GET /files/{UUID.format(1)}"]),
        ("https://docs.example/abcdef123456", ["GET /files", f"GET /files/{UUID.format(2)}"]),
    ],
)
def test_every_notation_finds_the_file(two_file_api: FakeApi, shell: Shell, word: str, requests: list[str]) -> None:
    assert shell("files", "show", word).code == 0
    assert list_requests(two_file_api) == requests


def test_a_link_with_twelve_lowercase_letters_that_is_not_a_slug_is_a_short_id(
    two_file_api: FakeApi, shell: Shell
) -> None:
    assert shell("files", "show", "https://docs.example/abcdef654321").code == 3
    assert list_requests(two_file_api) == ["GET /files", "GET /files/abcdef654321"]


@pytest.mark.parametrize(
    "word",
    [
        "deck.pdf",
        "",
        "../../etc/passwd",
        "https://docs.example/",
        "https://docs.example/A_B",
        "short",
        "https://[",
        "@first",
    ],
)
def test_an_argument_that_is_not_a_file_exits_with_2_and_sends_nothing(
    two_file_api: FakeApi, shell: Shell, word: str
) -> None:
    assert shell("files", "show", word).code == 2
    assert two_file_api.requests == []


def test_a_slug_in_a_link_of_another_server_is_rejected(two_file_api: FakeApi, shell: Shell) -> None:
    done = shell("rm", "--yes", "https://other.example/offer")
    assert (done.code, "belongs to another server, not docs.example" in done.err) == (2, True), done.err
    assert not any(heard.method == "DELETE" for heard in two_file_api.requests)


def test_an_unknown_slug_exits_with_3(two_file_api: FakeApi, shell: Shell) -> None:
    done = shell("files", "show", "slug:nope")
    assert done.code == 3
    assert "nope" in done.err


def test_last_is_the_latest_upload_of_this_profile(two_file_api: FakeApi, shell: Shell) -> None:
    assert shell("show", "@last").code == 2
    two_file_api.on(
        "POST", "/files", FakeResponse({"uuid": UUID.format(1), "shortId": ID, "shareUrl": "https://x/y"}, 201)
    )
    pdf = shell.home / "deck.pdf"
    pdf.write_bytes(b"%PDF-1.4\n")
    assert shell("upload", pdf).code == 0
    assert shell("show", "@last", "--fields", "originalName").out == "deck.pdf\n"


# --- showing a file --------------------------------------------------------------------------------------------------


def test_a_terminal_shows_the_used_views_of_a_view_limit(two_file_api: FakeApi, shell: Shell) -> None:
    shell.tty = True
    two_file_api.files = [{**FILES[0], "viewLimit": 2, "viewsConsumed": 1}]
    two_file_api.on("GET", f"/files/{ID}", two_file_api.files[0])
    assert "view limit   2 (1 used)" in shell("show", ID, "--no-color").lines
    assert shell("ls", "--no-color").lines[1].endswith("  view limit")


def test_a_terminal_shows_the_custom_link(two_file_api: FakeApi, shell: Shell) -> None:
    shell.tty = True
    two_file_api.on("GET", f"/files/{ID}", {**FILES[0], "shareUrl": f"https://docs.example/{ID}"})
    shown = [line.split("  ", 1) for line in shell("show", ID, "--no-color").lines]
    assert {name: value.strip() for name, value in shown}["custom link"] == "https://docs.example/offer"


# --- deleting ----------------------------------------------------------------------------------------------------


def test_delete_prints_whether_the_file_is_in_the_trash_or_deleted_for_good(
    two_file_api: FakeApi, shell: Shell
) -> None:
    local_day = datetime.fromisoformat(PURGED_AT).astimezone().date()
    assert shell("files", "delete", ID, "--yes", "--format", "table").out == f"in the trash until {local_day}\n"
    two_file_api.on("DELETE", f"/files/{ID}", {"trashed": False})
    assert shell("files", "delete", ID, "--yes", "--format", "table").out == "deleted for good\n"
    assert shell("files", "delete", ID, "--yes", "--json").json == {"trashed": False}


def test_a_pipe_gets_the_id_of_one_deleted_file(two_file_api: FakeApi, shell: Shell) -> None:
    lines = shell("rm", ID, "--yes").lines
    assert lines[:3] == [f"file\t{ID}", "trashed\ttrue", "purgeAt\t2026-10-21T14:00:00.000Z"]
    two_file_api.on("DELETE", f"/files/{ID}", {"trashed": False})
    assert shell("rm", ID, "--yes").lines == [f"file\t{ID}", "trashed\tfalse"]
    assert shell("rm", ID, "--yes", "--format", "csv").lines == ["file,trashed,purgeAt", f"{ID},false,"]
    assert shell("rm", ID, "--yes", "--format", "jsonl").lines == ['{"trashed":false}']


@pytest.mark.parametrize("files", [[ID], [ID, UUID.format(2)]])
def test_ids_of_deleted_files_can_be_piped_into_another_command(
    two_file_api: FakeApi, shell: Shell, files: list[str]
) -> None:
    assert shell("rm", *files, "--yes", "--format", "ids").lines == files
    assert shell("rm", *files, "--yes", "--fields", "file").lines == files
    shell.tty = True
    assert shell("rm", *files, "--yes", "--template", "{file}").lines == files


def test_several_files_are_deleted_one_by_one_and_each_only_once(two_file_api: FakeApi, shell: Shell) -> None:
    done = shell("rm", ID, UUID.format(2), ID, "--yes")
    assert done.lines == [f"{ID}\ttrue\t2026-10-21T14:00:00.000Z", f"{UUID.format(2)}\ttrue\t2026-10-21T14:00:00.000Z"]
    assert list_requests(two_file_api) == [f"DELETE /files/{ID}", f"DELETE /files/{UUID.format(2)}"]


def test_one_failure_among_several_files_is_reported_and_does_not_stop_the_rest(
    two_file_api: FakeApi, shell: Shell
) -> None:
    done = shell("rm", OTHER, ID, "--yes")
    assert done.code == 12
    assert done.lines == [f"{ID}\ttrue\t2026-10-21T14:00:00.000Z"]
    assert f"error: {OTHER}" in done.err


def test_the_json_array_includes_failures(two_file_api: FakeApi, shell: Shell) -> None:
    done = shell("rm", OTHER, ID, "--yes", "--json")
    assert done.code == 12
    assert [row["file"] for row in done.json] == [OTHER, ID]
    assert done.json[0]["error"]["exit"] == 3
    assert done.json[1]["trashed"] is True


def test_a_rejected_credential_stops_the_run_but_completed_deletions_are_printed(
    two_file_api: FakeApi, shell: Shell
) -> None:
    two_file_api.on("DELETE", f"/files/{UUID.format(2)}", problem(401, "unauthorized"))
    done = shell("rm", ID, UUID.format(2), OTHER, "--yes", "--json")
    assert done.code == 4
    assert [row["file"] for row in json.loads(done.out)] == [ID]
    assert list_requests(two_file_api) == [f"DELETE /files/{ID}", f"DELETE /files/{UUID.format(2)}"]


def test_ids_are_read_from_stdin_only_for_a_dash(two_file_api: FakeApi, shell: Shell) -> None:
    rows = f"{ID}\t{UUID.format(1)}\tdeck.pdf\n\n{UUID.format(2)}\n".encode()
    assert shell("rm", "-", "--yes", stdin=rows).code == 0
    assert list_requests(two_file_api) == [f"DELETE /files/{ID}", f"DELETE /files/{UUID.format(2)}"]
    assert shell("rm", "-", "--yes", stdin=b"").code == 2


def test_a_dry_run_sends_nothing(two_file_api: FakeApi, shell: Shell) -> None:
    done = shell("rm", ID, UUID.format(2), "--purge", "-n")
    assert done.code == 0
    assert done.lines == [
        f"DELETE\t/api/v1/files/{ID}?purge=1\t",
        f"DELETE\t/api/v1/files/{UUID.format(2)}?purge=1\t",
    ]
    assert two_file_api.requests == []


# --- confirmation ------------------------------------------------------------------------------------------------


def test_without_a_terminal_deleting_requires_yes(two_file_api: FakeApi, shell: Shell) -> None:
    done = shell("rm", ID)
    assert done.code == 2
    assert "--yes" in done.err
    assert two_file_api.requests == []


@pytest.mark.parametrize(
    ("answer", "code"), [(b"y\n", 0), (b"YES\n", 0), (b"n\n", 2), (b"\n", 2), (b"", 2), (b"yep\n", 2)]
)
def test_delete_prompts_on_a_terminal(two_file_api: FakeApi, shell: Shell, answer: bytes, code: int) -> None:
    shell.tty = True
    done = shell("rm", ID, stdin=answer)
    assert done.code == code
    assert f"Move deck.pdf ({ID}) to the trash? [y/N]" in done.err
    assert len(two_file_api.list_requests("DELETE", f"/files/{ID}")) == (1 if code == 0 else 0)


def test_the_prompt_on_the_free_plan_warns_that_deletion_is_permanent(two_file_api: FakeApi, shell: Shell) -> None:
    shell.tty = True
    two_file_api.on("GET", "/user", {"tier": "free"})
    assert "for good" in shell("rm", ID, stdin=b"n\n").err


def test_the_prompt_names_the_file_as_the_user_typed_it(two_file_api: FakeApi, shell: Shell) -> None:
    shell.tty = True
    assert "Move deck.pdf (slug:offer) to the trash?" in shell("rm", "slug:offer", stdin=b"n\n").err
    assert f"Move deck.pdf ({ID}) to the trash?" in shell("rm", ID, ID, stdin=b"n\n").err
    assert "Move 2 files to the trash?" in shell("rm", ID, UUID.format(2), stdin=b"n\n").err
    two_file_api.on("GET", f"/files/{UUID.format(1)}", problem(403, "insufficient_scope"))
    assert "Move slug:offer to the trash?" in shell("rm", "slug:offer", stdin=b"n\n").err
    two_file_api.on("GET", f"/files/{UUID.format(1)}", FILES[0] | {"originalName": "a\x1b[31m.pdf"})
    assert "\x1b[31m" not in shell("rm", "slug:offer", "--no-color", stdin=b"n\n").err


@pytest.mark.parametrize("env", [{"CI": "1"}, {"DOCSHARE_NO_INPUT": "1"}])
def test_no_prompt_is_shown_in_ci(two_file_api: FakeApi, shell: Shell, env: dict[str, str]) -> None:
    shell.tty = True
    assert shell("rm", ID, stdin=b"y\n", env=env).code == 2
    assert shell("rm", ID, "--no-input", stdin=b"y\n").code == 2
    assert two_file_api.requests == []


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([ID, "--purge"], 2),
        ([ID, "--purge", "--yes"], 0),
        ([ID, "--purge", "--confirm", ID], 0),
        ([ID, "--purge", "--confirm", OTHER], 2),
        (["slug:offer", "--purge", "--confirm", "slug:offer"], 0),
        (["slug:offer", "--purge", "--confirm", UUID.format(1)], 0),
        (["slug:offer", "--purge", "--confirm", "slug:other"], 2),
        ([ID, UUID.format(2), "--purge", "--yes"], 2),
        ([ID, UUID.format(2), "--purge", "--yes", "--count", "3"], 2),
        ([ID, UUID.format(2), "--purge", "--yes", "--count", "2"], 0),
        ([ID, UUID.format(2), "--purge", "--confirm", ID], 2),
    ],
)
def test_purge_requires_yes_or_the_exact_confirmation(
    two_file_api: FakeApi, shell: Shell, options: list[str], code: int
) -> None:
    done = shell("rm", *options)
    assert done.code == code, done.err
    assert any(heard.query == {"purge": "1"} for heard in two_file_api.requests) == (code == 0)


@pytest.mark.parametrize(("typed", "code"), [(ID, 0), ("y", 2), ("", 2)])
def test_purge_prompts_for_the_id_on_a_terminal(
    two_file_api: FakeApi, shell: Shell, typed: str, code: int, time: FakeTime
) -> None:
    shell.tty = True
    done = shell("rm", ID, "--purge", stdin=f"{typed}\n".encode())
    assert done.code == code
    assert f"Type {ID} to confirm" in done.err


def test_purge_names_the_file_and_accepts_the_notation_that_the_user_typed(two_file_api: FakeApi, shell: Shell) -> None:
    shell.tty = True
    done = shell("rm", "slug:offer", "--purge", stdin=b"slug:offer\n")
    assert done.code == 0
    assert "Deleting deck.pdf (slug:offer) for good" in done.err
    assert "Type slug:offer to confirm" in done.err
