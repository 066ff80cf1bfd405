"""The variants and assets commands against a real server, and what readers then see."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.documents.inherited_resources import checkbox_without_state_pdf
from tests.support.documents.pdfs import simple_pdf
from tests.support.servers.server_process import ServerProcess, make_env, run_docshare, run_server

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with run_server(tmp_path_factory.mktemp("server"), DOCSHARE_RATE_LIMIT="1000000") as server:
        yield server


@pytest.fixture
def run(server: ServerProcess, tmp_path: Path) -> Run:
    env = make_env(tmp_path, DOCSHARE_URL=server.url, DOCSHARE_TOKEN=server.token)

    def run_command(*line: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = run_docshare(*map(str, line), env=env)
        assert done.returncode == code, done.stderr
        return done

    return run_command


@pytest.fixture
def deck(tmp_path: Path) -> Path:
    path = tmp_path / "deck.pdf"
    path.write_bytes(simple_pdf(pages=4))
    return path


def parse_output(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


def get_status(url: str) -> int:
    return requests.get(url, timeout=30).status_code


def test_the_links_of_recipients_work_from_upload_to_deletion(run: Run, deck: Path, tmp_path: Path) -> None:
    guests = tmp_path / "guests.csv"
    guests.write_text("label,pages,allowDownload\nAnn,1-2,no\nBob,all,\n")
    file = parse_output(run("upload", deck, "--variants-csv", guests, "--json"))
    ann, bob = file["variants"]
    assert ann["overrides"] == {"pageRange": {"from": 1, "to": 2}, "allowDownload": False}
    assert bob["overrides"] == {"pageRange": {"from": 0, "to": 0}}
    assert (get_status(ann["url"]), get_status(bob["url"])) == (200, 200)
    assert file["uuid"] not in requests.get(ann["url"], timeout=30).text

    run("variants", "revoke", "label:Ann", "--yes")
    assert get_status(ann["url"]) == 404
    run("variants", "restore", ann["url"])
    assert get_status(ann["url"]) == 200

    changed = parse_output(run("variants", "update", ann["shortId"], "--file", "@last", "--download", "--json"))
    assert changed["overrides"] == {"pageRange": {"from": 1, "to": 2}, "allowDownload": True}
    assert parse_output(run("variants", "update", ann["uuid"], "--clear-overrides", "--json"))["overrides"] == {}

    run("variants", "redact", "label:Ann", "--confirm", "Ann")
    assert get_status(ann["url"]) == 200
    shown = parse_output(run("variants", "show", ann["uuid"], "--json"))
    assert (shown["redacted"], "label" in shown) == (True, False)
    run("variants", "redact", ann["uuid"], "--yes")  # repeating it is not an error
    run("variants", "update", ann["uuid"], "--label", "Ann", code=7)

    exported = list(csv.DictReader(io.StringIO(run("variants", "export", "@last", "--out", "-").stdout)))
    assert [(row["label"], row["pages"], row["redacted"]) for row in exported] == [
        ("Bob", "all", "false"), ("", "", "true"),
    ]  # fmt: skip
    run("variants", "delete", "label:Bob", "--yes")
    assert get_status(bob["url"]) == 404
    assert [row["uuid"] for row in parse_output(run("variants", "list", "@last", "--json"))] == [ann["uuid"]]


def test_variants_that_the_server_would_reject_are_not_sent(run: Run, deck: Path, tmp_path: Path) -> None:
    """The command line has the same rules as the server, which rejects the same bodies with 400."""
    run("upload", deck)
    for cells in ("Ann,9-3", "Ann,5-6", "Ann,0-4", "x" * 201 + ",", "A\x01nn,"):
        (tmp_path / "guests.csv").write_text(f"label,pages\n{cells}\n")
        run("variants", "create", "@last", "--from-csv", tmp_path / "guests.csv", code=2)
    run("variants", "create", "@last", "--label", "x" * 201, code=9)
    run("variants", "create", "@last", "--pages", "5-6", code=9)
    assert parse_output(run("variants", "list", "@last", "--json")) == []


def test_a_file_can_have_200_variants_and_no_more(run: Run, deck: Path) -> None:
    run("upload", deck)
    line = ("variants", "create", "@last", "--label-template", "Guest {n}", "--count")
    assert len(parse_output(run(*line, "199", "--json"))) == 199
    run("variants", "create", "@last", "--label", "Ann")
    run("variants", "create", "@last", "--label", "Bob", code=9)
    run(*line, "1", "--skip-duplicates")
    run("variants", "create", "@last", "--label-template", "More {n}", "--count", "1", code=2)


def test_a_logo_is_stored_and_shown_on_the_share_page(
    run: Run, deck: Path, tmp_path: Path, server: ServerProcess
) -> None:
    from PIL import Image

    Image.new("RGB", (40, 20), "red").save(tmp_path / "logo.png")
    run("upload", deck, "--no-download")
    run("settings", "set", "@last", "flip.speedMs=300")
    added = run("assets", "add", "@last", tmp_path / "logo.png", "--kind", "logo", "--apply", "--json")
    asset = parse_output(added)
    assert (asset["kind"], asset["mimeType"], asset["applied"]) == ("logo", "image/png", True)
    looks = parse_output(run("files", "show", "@last", "--json"))["viewerSettings"]
    assert looks == {"logo": {"assetId": asset["assetId"]}, "flip": {"speedMs": 300}}
    (tmp_path / "fake.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"x" * 100)
    run("assets", "add", "@last", tmp_path / "fake.png", "--kind", "logo", code=9)


def test_a_page_range_that_changes_the_look_of_the_document_causes_a_warning(run: Run, tmp_path: Path) -> None:
    odd = tmp_path / "odd.pdf"
    odd.write_bytes(checkbox_without_state_pdf())
    sent = run("upload", odd, "--pages", "2-2")
    assert "warning: " in sent.stderr
    assert "would look different" in sent.stderr
    assert "would look different" in run("show", "@last").stdout
    cleared = run("settings", "set", "@last", "--pages", "1-1")
    assert "look different" not in cleared.stderr
    again = run("settings", "set", "@last", "--pages", "2-2", "--json")
    assert "would look different" in again.stderr
    assert "would look different" in parse_output(again)["file"]["downloadWarning"]
    made = run("variants", "create", "@last", "--label", "Ann", "--pages", "2-3", "--json")
    assert "would look different" in made.stderr
    changed = run("variants", "update", "label:Ann", "--file", "@last", "--pages", "2-2")
    assert "would look different" in changed.stderr
