"""``docshare public``: commands that need no account, against a real server and without a credential."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from docshare.server.http.views import attach_runtime
from tests.support.engines.rows import update_file_row
from tests.support.outside.fake_api import FakeApi, FakeTime
from tests.support.people.cast import World
from tests.support.shell import Shell

pytestmark = pytest.mark.file_document(name="Report.pdf")

_UNKNOWN = "Check the link; it may be revoked or deleted"


@pytest.fixture
def base(server_url: str, world: World) -> str:
    """Return the address of the server, which is also the base URL of its links: only such links belong to it."""
    attach_runtime(world.app, replace(world.rt, config=replace(world.rt.config, base_url=server_url)))
    return server_url


@pytest.fixture
def stranger(base: str, tmp_path: Path) -> Shell:
    """Return a shell without a credential whose server is the one that shares the document."""
    shell = Shell(tmp_path, base, FakeTime())
    del shell.env["DOCSHARE_TOKEN"]
    return shell


def test_metadata_needs_no_credential(stranger: Shell, base: str, uploaded_file: dict[str, Any]) -> None:
    for link in (
        f"{base}/{uploaded_file['shortId']}?via=qr",
        f"{base}/embed/{uploaded_file['uuid'].upper()}",
        uploaded_file["shortId"],
    ):
        done = stranger("public", "metadata", link, "--json")
        assert (done.code, done.json["originalName"], done.json["totalPages"]) == (0, "Report.pdf", 3)
    assert (
        stranger("public", "metadata", uploaded_file["shortId"], "--fields", "size,protected")
        .lines[0]
        .endswith("\tfalse")
    )
    stranger.tty = True
    assert "Report.pdf" in stranger("public", "metadata", uploaded_file["shortId"]).out


def test_the_server_of_a_link_overrides_the_configured_one(
    base: str, uploaded_file: dict[str, Any], tmp_path: Path
) -> None:
    elsewhere = Shell(tmp_path, "http://127.0.0.1:9", FakeTime())
    del elsewhere.env["DOCSHARE_TOKEN"]
    assert elsewhere("public", "metadata", f"{base}/{uploaded_file['shortId']}").code == 0
    assert elsewhere("public", "metadata", uploaded_file["shortId"], "--retries", "0").code == 11


def test_the_credential_is_not_sent_even_if_there_is_one(api: FakeApi, shell: Shell) -> None:
    api.on("GET", "/api/files/aB3dE5fG7hJ9/metadata", {"shortId": "aB3dE5fG7hJ9", "shareUrl": "https://d.example/x"})
    assert shell("public", "metadata", "aB3dE5fG7hJ9", "--json").code == 0
    assert [heard.headers["Authorization"] for heard in api.requests] == [None]


@pytest.mark.parametrize(("column", "reason"), [("delete_at", "expired"), ("burned_at", "burned")])
def test_an_expired_or_burned_link_exits_with_8(
    world: World, stranger: Shell, uploaded_file: dict[str, Any], column: str, reason: str
) -> None:
    """JSON is the body of the 410 response; a terminal shows the state."""
    update_file_row(world, uploaded_file["uuid"], **{column: world.clock.now})
    done = stranger("public", "metadata", uploaded_file["shortId"], "--json")
    assert (done.code, done.json["reason"], done.json["originalName"]) == (8, reason, "Report.pdf")
    ended = done.json["endedAt"]
    assert (
        stranger("public", "metadata", uploaded_file["shortId"], "--fields", "reason,endedAt").out
        == f"{reason}\t{ended}\n"
    )
    stranger.tty = True
    done = stranger("public", "metadata", uploaded_file["shortId"])
    assert (done.code, done.out, done.err) == (8, f"{reason} {ended}\n", "")


def test_a_slug_works_like_the_short_link(
    world: World, stranger: Shell, base: str, uploaded_file: dict[str, Any]
) -> None:
    update_file_row(world, uploaded_file["uuid"], slug="the-report")
    for link in (f"{base}/the-report", "the-report"):
        assert stranger("public", "metadata", link, "--json").json["shortId"] == uploaded_file["shortId"]
        assert stranger("public", "qr", link, "--json").json == {"url": f"{base}/{uploaded_file['shortId']}?via=qr"}


def test_an_oembed_response_without_an_id_exits_with_3(api: FakeApi, shell: Shell) -> None:
    api.on("GET", "/oembed", {"html": "<p>elsewhere</p>"})
    assert shell("public", "metadata", "the-report").code == 3


@pytest.mark.parametrize("name", ["code.svg", "code.jpg"])
def test_a_qr_code_is_saved_only_as_png(
    stranger: Shell, uploaded_file: dict[str, Any], tmp_path: Path, name: str
) -> None:
    done = stranger("public", "qr", uploaded_file["uuid"], "-o", tmp_path / name)
    assert (done.code, (tmp_path / name).exists()) == (2, False)
    assert "code.png" in done.err


def test_an_unknown_link_exits_with_3_and_an_invalid_one_with_2(stranger: Shell, base: str) -> None:
    for word in (f"{base}/abcdefghijkl", f"{base}/the-report", "the-report"):
        done = stranger("public", "metadata", word, "--json")
        assert (done.code, done.error["hint"].split(".")[0]) == (3, _UNKNOWN), word
    for word in (f"{base}/", "http://[x/y", "a/b", "@last", "slug:the-report"):
        for command in ("metadata", "oembed", "qr"):
            done = stranger("public", command, word)
            assert (done.code, done.out) == (2, ""), word
            assert "is not a share link" in done.err, word


def test_oembed_accepts_every_form_of_a_link(
    world: World, stranger: Shell, base: str, uploaded_file: dict[str, Any]
) -> None:
    update_file_row(world, uploaded_file["uuid"], slug="the-report")
    for link in ("the-report", f"{base}/the-report", f"{base}/{uploaded_file['shortId']}", uploaded_file["uuid"]):
        done = stranger("public", "oembed", link, "--json", "--max-width", "500")
        assert (done.code, done.json["title"], done.json["width"]) == (0, "Report.pdf", 500)
        assert f"{base}/embed/" in done.json["html"]
    assert stranger("public", "oembed", "no-such-report").code == 3


def test_the_qr_code_contains_the_short_link(
    stranger: Shell, base: str, uploaded_file: dict[str, Any], tmp_path: Path
) -> None:
    target = tmp_path / "code.png"
    done = stranger("public", "qr", uploaded_file["uuid"], "-o", target)
    assert (done.code, done.out) == (0, f"{target}\n")
    assert target.read_bytes().startswith(b"\x89PNG")
    done = stranger("public", "qr", uploaded_file["uuid"], "--json")
    assert done.json == {"url": f"{base}/{uploaded_file['shortId']}?via=qr"}
    stranger.tty = True
    assert stranger("public", "qr", uploaded_file["uuid"], "-o", "-").code == 2
    assert "█" in stranger("public", "qr", uploaded_file["uuid"]).out
