"""Frequent command lines of scripts and people: options that name columns, and errors in one line."""

from __future__ import annotations

import signal
import subprocess
import time as real_time
from pathlib import Path

import pytest

from tests.cli.commands.fakes.uploads import FakeUploads, share_url
from tests.cli.framework.test_process import DOCSHARE, env  # noqa: F401 - a fixture
from tests.support.outside.fake_api import UUID, FakeApi
from tests.support.shell import Shell


def make_file(number: int, **more: object) -> dict[str, object]:
    made = f"2026-09-{number:02}T12:00:00.000Z"
    return {
        "uuid": UUID.format(number), "shortId": f"aB3dE5fG7h{number:02}", "originalName": f"report {number}.pdf",
        "size": number * 4_404_019, "viewCount": 100 - number, "createdAt": made,
        "shareUrl": f"https://d.example/aB3dE5fG7h{number:02}", **more,
    }  # fmt: skip


FULL = {
    "slug": "a-link-name-of-some-length", "deleteAt": "2026-12-21T12:00:00.000Z", "protected": True,
    "requireEmail": True, "allowDownload": False, "viewLimit": 3, "originalName": "a long name.pdf",
}  # fmt: skip


def test_a_terminal_with_80_columns_shows_size_age_and_the_custom_link(shell: Shell, api: FakeApi) -> None:
    api.files = [make_file(1, **FULL), make_file(2)]
    shell.tty = True
    done = shell("ls", env={"COLUMNS": "80", "NO_COLOR": "1"})
    head, first, _ = done.lines
    assert head.split()[:3] == ["NAME", "ID", "LINK"]
    assert {"SIZE", "UPLOADED"} <= {*head.split()}
    assert max(map(len, done.lines)) <= 80
    assert ("/a-link-name" in first, "4.2 MB" in first, "aB3dE5fG7h01" in first) == (True, True, True)


@pytest.mark.parametrize(
    ("key", "first"),
    [("SIZE", "report 1.pdf"), ("-size", "report 3.pdf"), ("views", "report 3.pdf"), ("-uploaded", "report 3.pdf"),
     ("name", "report 1.pdf"), ("createdAt", "report 1.pdf"), ("ID", "report 1.pdf"), ("state", "report 3.pdf"),
     ("-STATE", "report 2.pdf")],
)  # fmt: skip
def test_sort_accepts_names_of_columns_and_fields(shell: Shell, api: FakeApi, key: str, first: str) -> None:
    api.files = [make_file(2, protected=True), make_file(3, requireEmail=True), make_file(1)]
    assert shell("ls", "--sort", key, "--fields", "originalName").lines[0] == first


def test_an_unknown_column_is_rejected_with_the_list_of_columns(shell: Shell, api: FakeApi) -> None:
    done = shell("ls", "--sort", "weight")
    assert (done.code, "NAME, ID, LINK, VIEWS, SIZE, UPLOADED, EXPIRES, STATE" in done.err) == (2, True)


def test_an_upload_with_a_slug_prints_the_custom_link(
    shell: Shell, fake_uploads: FakeUploads, api: FakeApi, deck: Path
) -> None:
    api.on("PUT", f"/files/{UUID.format(1)}/settings", {"slug": "offer"})
    done = shell("upload", deck, "--slug", "offer")
    assert (done.code, done.out) == (0, "https://d.example/offer\n"), done.err
    api.on("PUT", f"/files/{UUID.format(2)}/settings", {"slug": "other"})
    row = shell("upload", deck, "--slug", "other", "--json").json
    assert (row["shareUrl"], row["url"]) == (share_url(2), "https://d.example/other")


@pytest.mark.parametrize(
    ("template", "said"),
    [("{nme}", "unknown field: nme"), ("{shortid} {size}", "unknown field: shortid"), ("{zz.top}", "zz.top")],
)
def test_a_template_with_an_unknown_key_is_rejected(shell: Shell, api: FakeApi, template: str, said: str) -> None:
    done = shell("ls", "--template", template)
    assert (done.code, said in done.err, api.requests) == (2, True, [])


def test_a_template_with_a_path_into_a_text_is_rejected(shell: Shell, api: FakeApi) -> None:
    api.files = [make_file(1), make_file(2)]
    done = shell("ls", "--template", "{shortId} {originalName.x.y}")
    assert (done.code, done.out) == (2, "")
    assert "--template: originalName has no field x, because it is not an object" in done.err
    assert "hint: Use {originalName}." in done.err
    api.files = [{**make_file(1), "slug": None}]
    assert shell("ls", "--template", "{slug.x}").out == "\n", "a missing value is empty"


@pytest.mark.parametrize("options", [("--template", "{shareUrl.x}"), ("--query", "length(nothing)")])
def test_an_upload_whose_result_cannot_be_shown_as_asked_prints_its_link_on_stderr(
    shell: Shell, fake_uploads: FakeUploads, api: FakeApi, deck: Path, options: tuple[str, str]
) -> None:
    done = shell("upload", deck, *options)
    assert (done.code, done.out, share_url(1) in done.err) == (2, "", True), done.err


def test_an_unknown_function_of_a_query_is_refused_before_the_upload(
    shell: Shell, fake_uploads: FakeUploads, api: FakeApi, deck: Path
) -> None:
    done = shell("upload", deck, "--query", "nope(@)")
    assert (done.code, "unknown function: nope" in done.err, fake_uploads.uploads) == (2, True, []), done.err


def test_a_template_suggests_similar_keys_and_accepts_keys_of_a_query(shell: Shell, api: FakeApi) -> None:
    api.files = [make_file(1)]
    assert "Did you mean {shortId}?" in shell("ls", "--template", "{shortid}").err
    assert shell("ls", "--query", "[].{made: createdAt}", "--template", "{made}").out == "2026-09-01T12:00:00.000Z\n"


@pytest.mark.parametrize("line", [("api", "GET", "/files"), ("ls", "--query", "[]")])
def test_a_template_with_a_key_that_no_row_has_is_refused(shell: Shell, api: FakeApi, line: tuple[str, ...]) -> None:
    api.files = [make_file(1), make_file(2) | {"label": "b"}]
    done = shell(*line, "--template", "{nme}|")
    assert (done.code, done.out, "no row has the field nme" in done.err) == (2, "", True), done.err
    assert shell(*line, "--template", "{label}|").out == "|\nb|\n"


@pytest.mark.parametrize("flag", ["--query", "--filter"])
@pytest.mark.parametrize(
    "query",
    [
        "[", "a b", "foo[?", "'", "`", "@ ! ", "length(`1`)", "nope(@)", "[?nope(size)]", "[].{a: nope(@)}",
        "([@])[::0]", "ceil(`1e400`)", pytest.param("[" * 3000, id="deep brackets"),
        pytest.param("!" * 3000, id="deep negations"), "starts_with([@], 'a')", "merge([@])", "avg([@])",
    ],
)  # fmt: skip
def test_an_invalid_query_prints_one_short_clean_error(shell: Shell, api: FakeApi, query: str, flag: str) -> None:
    api.files = [make_file(1) | {"originalName": "n" * 500}]
    done = shell("ls", flag, query)
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 2), done.err
    assert len(done.err) < 400
    assert "unexpected" not in done.err
    assert "\\n" not in done.err
    assert "^" not in done.err


def test_https_to_a_plain_http_port_is_reported_once(shell: Shell, api: FakeApi) -> None:
    secure = api.url.replace("http://", "https://")
    done = shell("ls", "--url", secure)
    assert (done.code, done.err.count("plain http"), shell.time.passed) == (11, 1, 0)
    assert done.err.splitlines()[0] == f"error: {secure} speaks plain http on this port, not https"


def test_rows_are_sorted_by_the_printed_time(shell: Shell, api: FakeApi) -> None:
    moments = ["2026-09-21T12:05:00.000Z", "2026-09-21T12:01:00.000Z", "2026-09-21T12:03:00.000Z"]
    api.rows["view"] = [
        {"id": number, "type": "view", "fileUuid": UUID.format(1), "fileName": "a.pdf", "readAt": moment}
        for number, moment in enumerate(moments, 1)
    ]
    shown = shell("events", "list", "--fields", "readAt").lines
    assert shown == sorted(moments, reverse=True)
    assert shell("events", "list", "--oldest-first", "--fields", "readAt").lines == sorted(moments)


@pytest.mark.parametrize(
    "line", ["events tail", "gate tail", "readership show aB3dE5fG7hJ9 --watch 5s", "wait aB3dE5fG7hJ9"]
)
def test_ctrl_c_silently_ends_commands_that_wait(env: dict[str, str], api: FakeApi, line: str) -> None:  # noqa: F811
    api.on("GET", "/files/aB3dE5fG7hJ9/readership", {"summary": {}})
    api.on("GET", "/files/aB3dE5fG7hJ9", {"contentVersion": 1, "totalPages": 3})
    api.on("GET", "/files/aB3dE5fG7hJ9/readership/sessions", [])
    api.on("GET", "/gate-responses", [])
    with subprocess.Popen(
        [*DOCSHARE, *line.split(), "-q"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        give_up = real_time.monotonic() + 30
        while not api.requests and real_time.monotonic() < give_up:
            real_time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=30)
    assert (child.returncode, err) == (130, b"")


@pytest.mark.parametrize("name", ["a%22b%0A.pdf", "100%0dx.pdf", 'quote".pdf', "Über 100%.pdf"])
def test_a_file_name_is_uploaded_unchanged(server_url: str, shell_for, world, tmp_path: Path, name: str) -> None:  # type: ignore[no-untyped-def]
    from tests.support.documents.pdfs import simple_pdf

    (tmp_path / name).write_bytes(simple_pdf(pages=1))
    pia = shell_for(world.pia)
    assert pia("upload", tmp_path / name).code == 0
    assert pia("files", "show", "@last", "--fields", "originalName", "--json").json == {"originalName": name}


@pytest.mark.parametrize("name", ["new\nline.pdf", "esc\x1b[31m.pdf", "del\x7f.pdf"])
def test_a_file_name_that_cannot_be_sent_is_rejected(
    shell: Shell, fake_uploads: FakeUploads, tmp_path: Path, name: str
) -> None:
    from tests.cli.commands.fakes.uploads import PDF

    (tmp_path / name).write_bytes(PDF)
    done = shell("upload", tmp_path / name)
    assert (done.code, fake_uploads.uploads, "\x1b" in done.err, name[:3] in done.err) == (2, [], False, True)
    assert shell("upload", tmp_path / name, "--name", "plain.pdf").code == 0
