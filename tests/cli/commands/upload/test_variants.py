"""``docshare upload --variants-csv``: upload a document and create a link for each recipient."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands.fakes.uploads import FakeUploads
from tests.cli.commands.fakes.uploads import share_url as file_link
from tests.cli.commands.fakes.variants import FakeVariants, variant_url
from tests.support.outside.fake_api import UUID, FakeApi, problem
from tests.support.shell import Shell


@pytest.fixture
def fake_variants(api: FakeApi, fake_uploads: FakeUploads) -> FakeVariants:
    """Return the variants of the file that will be uploaded."""
    return FakeVariants(api, UUID.format(1))


@pytest.fixture
def recipients_csv(tmp_path: Path) -> Path:
    path = tmp_path / "guests.csv"
    path.write_text("label,allowDownload\nAnn,no\nBob,\n")
    return path


def test_a_pipe_gets_the_file_and_then_each_recipient(
    fake_variants: FakeVariants, shell: Shell, deck: Path, recipients_csv: Path
) -> None:
    done = shell("upload", deck, "--variants-csv", recipients_csv)
    assert (done.code, done.lines) == (0, [file_link(1), f"Ann\t{variant_url(1)}", f"Bob\t{variant_url(2)}"])
    assert fake_variants.list_creates() == [{"label": "Ann", "overrides": {"allowDownload": False}}, {"label": "Bob"}]


def test_json_contains_the_variants_inside_the_file(
    fake_variants: FakeVariants, shell: Shell, deck: Path, recipients_csv: Path
) -> None:
    row = shell("upload", deck, "--variants-csv", recipients_csv, "--json").json
    assert row["shareUrl"] == file_link(1)
    assert [(each["label"], each["url"], each["row"]) for each in row["variants"]] == [
        ("Ann", variant_url(1), 2), ("Bob", variant_url(2), 3),
    ]  # fmt: skip


def test_csv_output_has_the_columns_of_the_upload(
    fake_variants: FakeVariants, shell: Shell, deck: Path, recipients_csv: Path
) -> None:
    done = shell("upload", deck, "--variants-csv", recipients_csv, "--format", "csv")
    assert (done.code, len(done.lines), len(fake_variants.list_creates())) == (0, 2, 2)


def test_invalid_rows_stop_the_run_before_the_upload(
    fake_variants: FakeVariants, fake_uploads: FakeUploads, shell: Shell, deck: Path, recipients_csv: Path
) -> None:
    recipients_csv.write_text("label\nAnn\nAnn\n")
    done = shell("upload", deck, "--variants-csv", recipients_csv)
    assert (done.code, fake_uploads.uploads) == (2, [])
    assert "row 3 (Ann): row 2 already has this label" in done.err


def test_failed_links_leave_the_file_and_print_the_command_that_resumes(
    fake_variants: FakeVariants, shell: Shell, deck: Path, recipients_csv: Path
) -> None:
    fake_variants.error_for = lambda body: problem(403, "plan_required", "requires the pro plan")
    done = shell("upload", deck, "--variants-csv", recipients_csv)
    assert (done.code, done.lines) == (12, [file_link(1)])
    assert "requires the pro plan" in done.err
    assert f"docshare variants create {UUID.format(1)} --from-csv {recipients_csv} --skip-duplicates" in done.err


def test_a_file_that_was_uploaded_earlier_gets_the_missing_links(
    fake_variants: FakeVariants, shell: Shell, deck: Path, recipients_csv: Path, tmp_path: Path
) -> None:
    line = ("upload", deck, "--variants-csv", recipients_csv, "--manifest", tmp_path / "ledger")
    assert shell(*line).code == 0
    recipients_csv.write_text("label\nAnn\nCy\n")
    done = shell(*line)
    assert (done.code, done.lines) == (0, [file_link(1), f"Ann\t{variant_url(1)}", f"Cy\t{variant_url(3)}"])
    assert len(fake_variants.list_creates()) == 3


@pytest.mark.parametrize("options", [["x.pdf", "y.pdf"], ["-r", "."], ["-", "--name", "x.pdf"]])
def test_variants_csv_requires_one_path_and_stdin_can_be_read_only_once(
    fake_variants: FakeVariants, shell: Shell, options: list[str]
) -> None:
    assert shell("upload", *options, "--variants-csv", "-").code == 2
    assert fake_variants.api.requests == []


def test_a_dry_run_prints_the_requests_for_the_links(
    fake_variants: FakeVariants, shell: Shell, deck: Path, recipients_csv: Path
) -> None:
    lines = shell("upload", deck, "--variants-csv", recipients_csv, "-n").lines
    assert [line.split("\t")[1] for line in lines] == ["/api/v1/files", *["/api/v1/files/{uuid}/variants"] * 2]
    assert fake_variants.api.requests == []


# --- checks before the upload, and rollback --------------------------------------------------------------------------


def test_a_plan_without_variants_stops_the_run_before_the_upload(
    fake_variants: FakeVariants, fake_uploads: FakeUploads, shell: Shell, deck: Path, recipients_csv: Path
) -> None:
    fake_variants.api.on("GET", "/user", {"uuid": UUID.format(9), "tier": "basic"})
    done = shell("upload", deck, "--variants-csv", recipients_csv, "--json")
    assert (done.code, fake_uploads.uploads) == (6, [])
    assert "--variants-csv requires the pro plan" in done.error["detail"]


@pytest.mark.parametrize("rows", ["label,pages\nAnn,9-3\n", "label,pages\nAnn,x\n", "name\nAnn\n", "label\nAnn\nAnn\n"])
def test_errors_in_rows_do_not_name_options_of_another_command(
    fake_variants: FakeVariants, fake_uploads: FakeUploads, shell: Shell, deck: Path, recipients_csv: Path, rows: str
) -> None:
    recipients_csv.write_text(rows)
    done = shell("upload", deck, "--variants-csv", recipients_csv)
    assert (done.code, fake_uploads.uploads) == (2, [])
    for option in ("--from-csv", "--skip-duplicates", "--partial", "--label-column"):
        assert option not in done.err
    missing = shell("upload", deck, "--variants-csv", "/nowhere.csv")
    assert (missing.code, "--variants-csv: cannot read" in missing.err) == (2, True)


def test_pages_beyond_the_document_are_reported_as_pages(
    fake_variants: FakeVariants, shell: Shell, deck: Path, recipients_csv: Path
) -> None:
    recipients_csv.write_text("label,pages\nAnn,1-2\nBob,3-99\n")
    done = shell("upload", deck, "--variants-csv", recipients_csv)
    assert (done.code, done.lines, fake_variants.list_creates()) == (12, [file_link(1)], [])
    assert "row 3 (Bob): pages end at 99 and the document has 9 pages" in done.err


def test_rollback_deletes_the_file_if_its_links_fail(
    fake_variants: FakeVariants, shell: Shell, deck: Path, recipients_csv: Path, tmp_path: Path
) -> None:
    recipients_csv.write_text("label,pages\nAnn,3-99\n")
    fake_variants.api.on("DELETE", f"/files/{UUID.format(1)}", {"trashed": False})
    ledger = tmp_path / "ledger"
    done = shell("upload", deck, "--variants-csv", recipients_csv, "--rollback", "--manifest", ledger)
    assert (done.code, done.out, ledger.exists()) == (2, "", False)
    assert "so it was deleted" in done.err
    assert "pages end at 99" in done.err
    assert [heard.query for heard in fake_variants.api.list_requests("DELETE", f"/files/{UUID.format(1)}")] == [
        {"purge": "1"}
    ]


def test_rollback_deletes_the_file_if_a_single_link_fails(
    fake_variants: FakeVariants, shell: Shell, deck: Path, recipients_csv: Path
) -> None:
    fake_variants.api.on("DELETE", f"/files/{UUID.format(1)}", {"trashed": False})
    fake_variants.error_for = lambda body: problem(400, "bad_request") if body["label"] == "Bob" else None
    done = shell("upload", deck, "--variants-csv", recipients_csv, "--rollback")
    assert (done.code, done.out) == (12, "")
    assert len(fake_variants.api.list_requests("DELETE", f"/files/{UUID.format(1)}")) == 1


def test_a_failed_rollback_leaves_the_file_and_prints_its_link(
    fake_variants: FakeVariants, shell: Shell, deck: Path, recipients_csv: Path
) -> None:
    fake_variants.api.on("DELETE", f"/files/{UUID.format(1)}", problem(403, "forbidden"))
    fake_variants.error_for = lambda body: problem(403, "plan_required", "requires the pro plan")
    done = shell("upload", deck, "--variants-csv", recipients_csv, "--rollback")
    assert (done.code, done.lines) == (12, [file_link(1)])
    assert "--from-csv" in done.err


def test_rollback_does_nothing_if_all_links_succeed(
    fake_variants: FakeVariants, shell: Shell, deck: Path, recipients_csv: Path
) -> None:
    done = shell("upload", deck, "--variants-csv", recipients_csv, "--rollback")
    assert (done.code, done.lines) == (0, [file_link(1), f"Ann\t{variant_url(1)}", f"Bob\t{variant_url(2)}"])
