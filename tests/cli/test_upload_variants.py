"""``docshare upload --variants-csv``: a document and a link for each recipient in one go."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.guestbook import Guestbook, link
from tests.cli.uploads import Shelf
from tests.cli.uploads import link as file_link
from tests.support.fakefeed import UUID, FakeApi, problem
from tests.support.shell import Shell


@pytest.fixture
def book(api: FakeApi, shelf: Shelf) -> Guestbook:
    """The variants of the file that will be uploaded."""
    return Guestbook(api, UUID.format(1))


@pytest.fixture
def guests(tmp_path: Path) -> Path:
    path = tmp_path / "guests.csv"
    path.write_text("label,allowDownload\nAnn,no\nBob,\n")
    return path


def test_a_pipe_gets_the_file_and_then_each_recipient(book: Guestbook, shell: Shell, deck: Path, guests: Path) -> None:
    done = shell("upload", deck, "--variants-csv", guests)
    assert (done.code, done.lines) == (0, [file_link(1), f"Ann\t{link(1)}", f"Bob\t{link(2)}"])
    assert book.posts() == [{"label": "Ann", "overrides": {"allowDownload": False}}, {"label": "Bob"}]


def test_json_has_the_variants_in_the_file(book: Guestbook, shell: Shell, deck: Path, guests: Path) -> None:
    row = shell("upload", deck, "--variants-csv", guests, "--json").json
    assert row["shareUrl"] == file_link(1)
    assert [(each["label"], each["url"], each["row"]) for each in row["variants"]] == [
        ("Ann", link(1), 2), ("Bob", link(2), 3),
    ]  # fmt: skip


def test_csv_keeps_its_columns(book: Guestbook, shell: Shell, deck: Path, guests: Path) -> None:
    done = shell("upload", deck, "--variants-csv", guests, "--format", "csv")
    assert (done.code, len(done.lines), len(book.posts())) == (0, 2, 2)


def test_bad_rows_stop_it_before_the_upload(
    book: Guestbook, shelf: Shelf, shell: Shell, deck: Path, guests: Path
) -> None:
    guests.write_text("label\nAnn\nAnn\n")
    done = shell("upload", deck, "--variants-csv", guests)
    assert (done.code, shelf.received) == (2, [])
    assert "row 3 (Ann): the label stands in row 2 already" in done.err


def test_when_links_fail_the_file_stays_and_the_line_that_goes_on_is_told(
    book: Guestbook, shell: Shell, deck: Path, guests: Path
) -> None:
    book.refuse = lambda body: problem(403, "plan_required", "requires the pro plan")
    done = shell("upload", deck, "--variants-csv", guests)
    assert (done.code, done.lines) == (12, [file_link(1)])
    assert "requires the pro plan" in done.err
    assert f"docshare variants create {UUID.format(1)} --from-csv {guests} --skip-duplicates" in done.err


def test_a_file_that_was_shared_before_gets_the_links_it_lacks(
    book: Guestbook, shell: Shell, deck: Path, guests: Path, tmp_path: Path
) -> None:
    line = ("upload", deck, "--variants-csv", guests, "--manifest", tmp_path / "ledger")
    assert shell(*line).code == 0
    guests.write_text("label\nAnn\nCy\n")
    done = shell(*line)
    assert (done.code, done.lines) == (0, [file_link(1), f"Ann\t{link(1)}", f"Cy\t{link(3)}"])
    assert len(book.posts()) == 3


@pytest.mark.parametrize("options", [["x.pdf", "y.pdf"], ["-r", "."], ["-", "--name", "x.pdf"]])
def test_it_needs_one_path_and_stdin_is_read_once(book: Guestbook, shell: Shell, options: list[str]) -> None:
    assert shell("upload", *options, "--variants-csv", "-").code == 2
    assert book.api.heard == []


def test_a_dry_run_shows_the_links_too(book: Guestbook, shell: Shell, deck: Path, guests: Path) -> None:
    lines = shell("upload", deck, "--variants-csv", guests, "-n").lines
    assert [line.split("\t")[1] for line in lines] == ["/api/v1/files", *["/api/v1/files/{uuid}/variants"] * 2]
    assert book.api.heard == []
