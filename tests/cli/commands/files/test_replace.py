"""``docshare replace``: a new document behind the same link; ``docshare files restore`` and ``docshare claim``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from docshare.contract.wire import format_instant
from tests.cli.commands.fakes.uploads import PDF
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, FakeTime, problem
from tests.support.shell import Shell

ID = "aB3dE5fG7hJ9"
ROUTE = f"/files/{ID}/content"
LINK = f"https://d.example/{ID}"


def make_result(**more: Any) -> dict[str, Any]:
    base = {"uuid": UUID.format(1), "contentVersion": 3, "originalName": "deck.pdf", "size": len(PDF)}
    cleared = {"clearedHotspots": 0, "clearedNotes": 0, "clearedMarks": 0, "clearedAnnotations": 0}
    return base | {"anchorsCleared": True, **cleared, "message": "Replaced."} | more


@pytest.fixture
def replace_api(api: FakeApi) -> FakeApi:
    """Return the fake API with support for replacements."""
    api.on("POST", ROUTE, make_result())
    return api


def test_a_pipe_gets_the_new_version_number(replace_api: FakeApi, shell: Shell, deck: Path) -> None:
    done = shell("replace", ID, deck)
    assert (done.code, done.out) == (0, "3\n")
    (heard,) = replace_api.list_requests("POST", ROUTE)
    assert (heard.part(), heard.query) == (("deck.pdf", PDF), {})


def test_files_replace_is_the_same_command(replace_api: FakeApi, shell: Shell, deck: Path) -> None:
    assert shell("files", "replace", ID, deck, "--json").json == make_result()


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((0, 0, 0, 0), "version 3"),
        ((2, 1, 0, 0), "version 3, cleared 2 hotspots, 1 note"),
        ((1, 0, 0, 2), "version 3, cleared 1 hotspot, 2 annotations"),
        ((0, 2, 1, 0), "version 3, cleared 2 notes, 1 mark"),
    ],
)
def test_a_terminal_shows_the_version_and_the_cleared_feedback(
    api: FakeApi, shell: Shell, deck: Path, counts: tuple[int, ...], words: str
) -> None:
    keys = ("clearedHotspots", "clearedNotes", "clearedMarks", "clearedAnnotations")
    api.on("POST", ROUTE, make_result(**dict(zip(keys, counts, strict=True))))
    shell.tty = True
    done = shell("replace", ID, deck, "--yes")
    assert (done.code, done.lines) == (0, [words])


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"pageRangeEmpty": True}, "the new version has none of the pages in the page range"),
        ({"emptyVariants": 1}, "1 variant shows no pages"),
        ({"emptyVariants": 3}, "3 variants show no pages"),
    ],
)
def test_links_without_pages_cause_a_warning_even_if_quiet(
    api: FakeApi, shell: Shell, deck: Path, told: dict[str, Any], words: str
) -> None:
    api.on("POST", ROUTE, make_result(**told))
    done = shell("replace", ID, deck, "--quiet")
    assert done.code == 0
    assert words in done.err
    assert shell("replace", ID, deck, "--json").json == make_result(**told)


def test_replace_prompts_on_a_terminal_before_it_clears_anchors(replace_api: FakeApi, shell: Shell, deck: Path) -> None:
    shell.tty = True
    assert shell("replace", ID, deck, stdin=b"n\n").code == 2
    assert replace_api.list_requests("POST", ROUTE) == []
    done = shell("replace", ID, deck, stdin=b"y\n")
    assert done.code == 0
    assert "hotspots, notes, marks, and annotations" in done.err


def test_the_prompt_names_the_file_as_the_user_typed_it(replace_api: FakeApi, shell: Shell, deck: Path) -> None:
    replace_api.files = [{"uuid": UUID.format(1), "originalName": "offer.pdf", "slug": "deck"}]
    replace_api.on("GET", f"/files/{UUID.format(1)}", replace_api.files[0])
    shell.tty = True
    done = shell("replace", "slug:deck", deck, stdin=b"n\n")
    assert "Replace the document of offer.pdf (slug:deck), clearing" in done.err


def test_keep_anchors_does_not_prompt(replace_api: FakeApi, shell: Shell, deck: Path) -> None:
    shell.tty = True
    assert shell("replace", ID, deck, "--keep-anchors").code == 0
    assert replace_api.list_requests("POST", ROUTE)[0].query == {"clearAnchors": "false"}


def test_name_sets_the_file_name_and_is_required_for_stdin(replace_api: FakeApi, shell: Shell, deck: Path) -> None:
    assert shell("replace", ID, deck, "--name", "final.pdf").code == 0
    assert shell("replace", ID, "-", "--name", "piped.pdf", stdin=PDF).code == 0
    assert [heard.part() for heard in replace_api.list_requests("POST", ROUTE)] == [
        ("final.pdf", PDF),
        ("piped.pdf", PDF),
    ]
    done = shell("replace", ID, "-", stdin=PDF)
    assert done.code == 2
    assert "--name" in done.err


@pytest.mark.parametrize("content", [b"", b"not a document"])
def test_a_document_that_the_server_would_reject_is_not_sent(
    replace_api: FakeApi, shell: Shell, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "x.pdf"
    path.write_bytes(content)
    assert shell("replace", ID, path).code == 2
    assert shell("replace", ID, tmp_path / "missing.pdf").code == 2
    assert shell("replace", ID, tmp_path).code == 2
    assert replace_api.requests == []


@pytest.mark.parametrize(
    ("over", "told"),
    [
        (1, "is 20 MB (20,971,521 bytes); the free plan allows up to 20 MB (20,971,520 bytes)"),
        (5 * 2**20, "is 25 MB; the free plan allows up to 20 MB"),
    ],
)
def test_a_document_above_the_limit_of_the_plan_is_rejected_with_distinguishable_sizes(
    replace_api: FakeApi, shell: Shell, tmp_path: Path, over: int, told: str
) -> None:
    replace_api.on("GET", "/user", {"tier": "free"})
    path = tmp_path / "big.pdf"
    with open(path, "wb") as out:
        out.write(b"%PDF-1.7\n")
        out.truncate(20 * 2**20 + over)
    done = shell("replace", ID, path, "--json")
    assert done.code == 2
    assert done.error["detail"] == f"{path} {told}"


def test_no_check_leaves_the_decision_to_the_server(api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "x.pdf"
    path.write_bytes(b"not a document")
    api.on("POST", ROUTE, problem(400, "bad_request"))
    assert shell("replace", ID, path, "--no-check").code == 9


def test_a_dry_run_sends_nothing(replace_api: FakeApi, shell: Shell, deck: Path) -> None:
    done = shell("replace", ID, deck, "--keep-anchors", "-n", "--json")
    path = f"/api/v1{ROUTE}?clearAnchors=false"
    assert done.json == [{"method": "POST", "path": path, "body": f"file=deck.pdf ({len(PDF)} bytes)"}]
    assert replace_api.requests == []


def test_a_conflict_is_retried_once(api: FakeApi, shell: Shell, deck: Path, time: FakeTime) -> None:
    api.on("POST", ROUTE, problem(409, "conflict"), make_result())
    done = shell("replace", ID, deck)
    assert done.code == 0
    assert "retrying" in done.err
    assert [heard.part() for heard in api.list_requests("POST", ROUTE)] == [("deck.pdf", PDF)] * 2
    assert time.waits == [1.0]


@pytest.mark.parametrize(
    ("status", "code", "ending", "hint"),
    [
        (403, "forbidden", 5, "Only the account that owns"),
        (403, "plan_required", 6, "docshare upload"),
        (404, "not_found", 3, "do it"),
        (409, "conflict", 7, "docshare show"),
        (410, "gone", 8, "docshare upload"),
        (413, "payload_too_large", 9, "do it"),
        (422, "unprocessable", 9, "do it"),
    ],
)
def test_an_error_response_has_its_exit_code_and_a_hint(
    api: FakeApi, shell: Shell, deck: Path, status: int, code: str, ending: int, hint: str
) -> None:
    api.on("POST", ROUTE, problem(status, code))
    done = shell("replace", ID, deck, "--json")
    assert (done.code, done.out) == (ending, "")
    assert done.error["code"] == code
    assert hint in done.error["hint"]


def test_a_replacement_whose_response_is_lost_is_found(api: FakeApi, shell: Shell, deck: Path, time: FakeTime) -> None:
    created = format_instant(int(time.wall) * 1000)
    made = {"contentVersion": 2, "originalName": "deck.pdf", "size": len(PDF), "createdAt": created}
    api.on("POST", ROUTE, FakeResponse(connection_action="drop"))
    api.on("GET", f"/files/{ID}", {"uuid": UUID.format(1), "revisions": [made]})
    done = shell("replace", ID, deck, "--json")
    assert (done.code, done.json["contentVersion"], done.json["recovered"]) == (0, 2, True)


def test_a_deleted_file_is_restored_by_its_id(api: FakeApi, shell: Shell) -> None:
    file = {"uuid": UUID.format(1), "shortId": ID, "shareUrl": LINK}
    api.on("POST", f"/files/{ID}/restore", file)
    assert shell("files", "restore", LINK).out == f"{LINK}\n"
    assert shell("files", "restore", ID, "--json").json == file


def test_a_failed_restore_names_the_page_that_lists_the_trash(api: FakeApi, shell: Shell) -> None:
    page = f"List and restore deleted files at {api.url}/trash; docshare dashboard signs you in."
    api.on("POST", f"/files/{ID}/restore", problem(404, "not_found"))
    done = shell("files", "restore", ID)
    assert (done.code, done.out) == (3, "")
    assert f"hint: {page}" in done.err
    api.on("POST", f"/files/{ID}/restore", problem(403, "forbidden"))
    assert "/trash" not in shell("files", "restore", ID).err


def test_a_deleted_file_has_no_slug_to_restore_it_by(api: FakeApi, shell: Shell) -> None:
    done = shell("files", "restore", "slug:offer")
    assert (done.code, done.out) == (3, "")
    assert "hint: Name a deleted file by its UUID or short id" in done.err
    assert f"{api.url}/trash" in done.err


CLAIMED = {"uuid": UUID.format(1), "shortId": ID, "shareUrl": LINK, "message": "The file belongs to your account."}
TOKEN = "ds_ct_" + "c" * 32


def test_claim_reads_its_token_from_a_file_or_stdin(api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    api.on("POST", "/files/claim", CLAIMED)
    path = tmp_path / "token.txt"
    path.write_text(f"{TOKEN}\n")
    assert shell("claim", "--token-file", path).out == f"{LINK}\n"
    assert shell("claim", "--token-file", "-", "--json", stdin=TOKEN.encode()).json == CLAIMED
    assert {heard.body for heard in api.list_requests("POST", "/files/claim")} == {
        b'{"claimToken": "%s"}' % TOKEN.encode()
    }


def test_a_claimed_file_becomes_the_last_one(api: FakeApi, shell: Shell) -> None:
    api.on("POST", "/files/claim", CLAIMED)
    api.on("GET", f"/files/{UUID.format(1)}", CLAIMED)
    shell("claim", "--token-file", "-", stdin=TOKEN.encode())
    assert shell("show", "@last", "--fields", "shortId", "--json").json == {"shortId": ID}


@pytest.mark.parametrize("raw", [b"", b"\n", b"two words", b"a\x00b", b"\xff" * 5000, b"ds_mt_" + b"m" * 32])
def test_an_invalid_claim_token_is_not_sent(api: FakeApi, shell: Shell, raw: bytes) -> None:
    done = shell("claim", "--token-file", "-", stdin=raw)
    assert (done.code, done.out) == (2, "")
    assert api.requests == []


def test_claim_requires_a_token_file(api: FakeApi, shell: Shell) -> None:
    assert shell("claim").code == 2
    assert shell("claim", "--token-file", "no-such-file").code == 2
    assert api.requests == []


@pytest.mark.parametrize(
    ("status", "code", "ending"),
    [(401, "unauthorized", 4), (403, "forbidden", 5), (404, "not_found", 3), (409, "conflict", 7),
     (413, "payload_too_large", 9)],
)  # fmt: skip
def test_a_rejected_claim_never_prints_the_token(
    api: FakeApi, shell: Shell, status: int, code: str, ending: int
) -> None:
    api.on("POST", "/files/claim", problem(status, code, detail=f"no: {TOKEN}"))
    done = shell("claim", "--token-file", "-", "-vv", stdin=TOKEN.encode())
    assert (done.code, done.out) == (ending, "")
    assert TOKEN not in done.err
