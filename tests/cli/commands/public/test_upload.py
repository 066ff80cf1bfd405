"""``docshare public upload``: upload without an account, on a real server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.commands.fakes.uploads import PDF
from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.fake_api import FakeTime
from tests.support.people.cast import World
from tests.support.servers.in_process_server import serve_world
from tests.support.shell import Shell


@pytest.fixture
def anonymous_world(make: Callable[..., World]) -> World:
    return make(anonymous_uploads=True)


@pytest.fixture
def stranger(anonymous_world: World, time: FakeTime, tmp_path: Path) -> Iterator[Shell]:
    """Return a shell without a credential."""
    with serve_world(anonymous_world) as url:
        shell = Shell(tmp_path / "home", url, time)
        del shell.env["DOCSHARE_TOKEN"]
        yield shell


@pytest.fixture
def leaflet(tmp_path: Path) -> Path:
    path = tmp_path / "leaflet.pdf"
    path.write_bytes(simple_pdf(pages=2))
    return path


def test_a_pipe_gets_the_link_and_both_tokens_line_by_line(
    stranger: Shell, anonymous_world: World, leaflet: Path
) -> None:
    done = stranger("public", "upload", str(leaflet))
    assert done.code == 0, done.err
    told = dict(line.split("\t") for line in done.lines)
    assert list(told)[:3] == ["shareUrl", "claimToken", "manageToken"]
    assert told["shareUrl"].startswith(anonymous_world.rt.config.base_url)
    assert (told["claimToken"][:6], told["manageToken"][:6]) == ("ds_ct_", "ds_mt_")


def test_json_is_the_response(stranger: Shell, leaflet: Path) -> None:
    told = json.loads(stranger("public", "upload", str(leaflet), "--name", "Leaflet.pdf", "--json").out)
    assert list(told) == ["uuid", "shortId", "shareUrl", "claimToken", "manageToken", "message"]


def test_tokens_can_be_written_to_a_file_instead_of_stdout(stranger: Shell, leaflet: Path, tmp_path: Path) -> None:
    kept = tmp_path / "tokens.json"
    done = stranger("public", "upload", str(leaflet), "--tokens-out", str(kept))
    assert done.code == 0
    assert "ds_" not in done.out + done.err
    assert kept.stat().st_mode & 0o777 == 0o600
    tokens = json.loads(kept.read_text())
    assert set(tokens) == {"claimToken", "manageToken"}
    again = stranger("public", "upload", str(leaflet), "--tokens-out", str(kept))
    assert again.code == 2
    assert json.loads(kept.read_text()) == tokens


def test_the_claim_token_moves_the_document_to_an_account(
    stranger: Shell, anonymous_world: World, leaflet: Path, tmp_path: Path
) -> None:
    token = tmp_path / "claim.txt"
    told = json.loads(stranger("public", "upload", str(leaflet), "--json").out)
    token.write_text(told["claimToken"])
    stranger.env["DOCSHARE_TOKEN"] = anonymous_world.fay.key
    assert stranger("claim", "--token-file", str(token)).code == 0
    assert stranger("ls", "--format", "ids").out == f"{told['shortId']}\n"


def test_a_file_that_is_not_a_document_is_rejected_before_it_is_sent(stranger: Shell, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("hello")
    kept = tmp_path / "tokens.json"
    done = stranger("public", "upload", str(other), "--tokens-out", str(kept))
    assert (done.code, done.out) == (2, "")
    assert not kept.exists()
    assert stranger("public", "upload", str(other), "--no-check", "--tokens-out", str(kept)).code == 9
    assert not kept.exists()
    assert stranger("public", "upload", str(tmp_path / "missing.pdf")).code == 2


def test_stdin_requires_a_name(stranger: Shell) -> None:
    assert stranger("public", "upload", "-", stdin=PDF).code == 2
    done = stranger("public", "upload", "-", "--name", "a.pdf", stdin=simple_pdf(pages=1))
    assert done.code == 0, done.err


def test_a_server_without_anonymous_uploads_exits_with_3_and_a_login_hint(
    world: World, time: FakeTime, tmp_path: Path, leaflet: Path
) -> None:
    with serve_world(world) as url:
        shell = Shell(tmp_path / "home", url, time)
        done = shell("public", "upload", str(leaflet))
    assert (done.code, done.out) == (3, "")
    assert "docshare auth login" in done.err
