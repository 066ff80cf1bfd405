"""``docshare variants create --from-csv``: row format, validation, and the result file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from docshare.cli.local.storage import hold_lock
from tests.cli.commands.fakes.variants import FILE, FakeVariants, variant_short_id, variant_url
from tests.cli.commands.variants.from_csv import create_from_csv, read_rows, read_statuses
from tests.support.outside.fake_api import UUID, problem
from tests.support.shell import Shell

ALL = {"pageRange": {"from": 0, "to": 0}}


# --- row format ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "bodies"),
    [
        ("label\nAnn\n", [{"label": "Ann"}]),
        ("label\r\nAnn\r\nBob", [{"label": "Ann"}, {"label": "Bob"}]),
        ("\ufeffLABEL\n Ann \n\n  \nBob\n", [{"label": "Ann"}, {"label": "Bob"}]),
        ("city,Label\nRome,Ann\n", [{"label": "Ann"}]),
        ('label\n"Lee, Ann"\n', [{"label": "Lee, Ann"}]),
        ('label,note\nAnn,"two\nlines"\n', [{"label": "Ann"}]),
        ("label,ALLOWDOWNLOAD\nAnn,Yes\n", [{"label": "Ann", "overrides": {"allowDownload": True}}]),
        ("label,allowDownload\nAnn,0\n", [{"label": "Ann", "overrides": {"allowDownload": False}}]),
        ("label,allowDownload\nAnn,\n", [{"label": "Ann"}]),
        ("label,allowDownload\nAnn\n", [{"label": "Ann"}]),
        ("label,pages\nAnn,3-9\n", [{"label": "Ann", "overrides": {"pageRange": {"from": 3, "to": 9}}}]),
        ("label,pages\nAnn,5\n", [{"label": "Ann", "overrides": {"pageRange": {"from": 5, "to": 5}}}]),
        ("label,pages\nAnn,all\n", [{"label": "Ann", "overrides": ALL}]),
        ("label,from,to\nAnn,3,9\n", [{"label": "Ann", "overrides": {"pageRange": {"from": 3, "to": 9}}}]),
        ("label,from,to\nAnn,0,0\n", [{"label": "Ann", "overrides": ALL}]),
        ("label,from,to\nAnn,,\n", [{"label": "Ann"}]),
        ("label\n" + "ä" * 200 + "\n", [{"label": "ä" * 200}]),
    ],
)
def test_rows_become_variants(
    fake_variants: FakeVariants, shell: Shell, text: str, bodies: list[dict[str, Any]]
) -> None:
    done = create_from_csv(shell, text)
    assert (done.code, fake_variants.list_creates()) == (0, bodies), done.err


def test_options_apply_to_empty_cells(fake_variants: FakeVariants, shell: Shell) -> None:
    assert create_from_csv(shell, "label,allowDownload\nAnn,\nBob,yes\n", "--no-download", "--pages", "1").code == 0
    page = {"pageRange": {"from": 1, "to": 1}}
    assert [body["overrides"] for body in fake_variants.list_creates()] == [
        {"allowDownload": False, **page}, {"allowDownload": True, **page},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("Name;x\nAnn;1\n", ["--label-column", "name", "--delimiter", ";"]),
        ("label\tx\nAnn\t1\n", ["--delimiter", "tab"]),
        ("label\tx\nAnn\t1\n", ["--delimiter", "\\t"]),
    ],
)
def test_label_column_and_delimiter_can_be_set(
    fake_variants: FakeVariants, shell: Shell, text: str, options: list[str]
) -> None:
    assert create_from_csv(shell, text, *options).code == 0
    assert fake_variants.list_creates() == [{"label": "Ann"}]


def test_rows_are_read_from_stdin_only_for_a_dash(fake_variants: FakeVariants, shell: Shell) -> None:
    line = ("variants", "create", FILE, "--from-csv", "-")
    done = shell(*line, stdin=b"label\nAnn\n")
    assert (done.code, done.out) == (0, f"Ann\t{variant_url(1)}\n")
    assert "error: stdin is not UTF-8 (line 2)" in shell(*line, stdin=b"label\n\xff\n").err


# --- local checks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no column 'label'"),
        ("name\nAnn\n", "no column 'label'; the columns in its first row are: name"),
        ("label\n", "no rows"),
        ("label,label\nAnn,x\n", "duplicate column 'label'"),
        ("label,pages,from,to\nAnn,,,\n", "a pages column and from or to"),
        ("label\nAnn,x\n", "row 2: the row has 2 cells, the header has 1"),
        ("label,x\nAnn,1\n,2\n", "row 3: the label is missing"),
        ("label\n" + "x" * 201 + "\n", "label must be a string of 1 to 200 characters"),
        ("label\nAnn\x07\n", "label must be a string without control characters"),
        ("label,allowDownload\nAnn,maybe\n", "row 2 (Ann): allowDownload must be true or false, not 'maybe'"),
        ("label,pages\nAnn,9-3\n", "row 2 (Ann): pages must be"),
        ("label,pages\nAnn,0\n", "row 2 (Ann): pages: page numbers start at 1"),
        ("label,pages\nAnn,x\n", "row 2 (Ann): pages: 'x' is not a page range"),
        ("label,from,to\nAnn,3,\n", "row 2 (Ann): from and to must be used together"),
        ("label\nAnn\nBob\nAnn\n", "row 4 (Ann): row 2 already has this label"),
        ("label\n Ann\nAnn \n", "row 3 (Ann): row 2 already has this label"),
        ('label\n"Ann\n', "line 2"),
        (b"label\nAnn\n\xff\n", "is not UTF-8 (line 3)"),
        ("label\nAnn\n".encode("utf-16"), "is not UTF-8"),
        ("label\n" + "x\n" * 10_001, "more than 10000 rows"),
    ],
)
def test_an_invalid_row_is_named_exits_with_2_and_creates_nothing(
    fake_variants: FakeVariants, shell: Shell, text: str | bytes, words: str
) -> None:
    done = create_from_csv(shell, text)
    assert (done.code, fake_variants.list_creates()) == (2, [])
    assert words in done.err


def test_all_invalid_rows_are_reported_at_once(fake_variants: FakeVariants, shell: Shell, out: Path) -> None:
    done = create_from_csv(shell, "label,pages\nAnn,x\nBob,1\n,2\n", "--out", out)
    assert done.code == 2
    assert "error: row 2 (Ann): " in done.err
    assert "error: row 4: the label is missing" in done.err
    assert "2 rows of" in done.err
    assert not out.exists()


def test_the_label_column_cannot_be_a_column_of_the_result(fake_variants: FakeVariants, shell: Shell) -> None:
    assert create_from_csv(shell, "label,URL\nAnn,x\n", "--label-column", "url").code == 2
    assert fake_variants.api.requests == []


def test_a_column_named_like_one_of_the_result_is_replaced(
    fake_variants: FakeVariants, shell: Shell, out: Path
) -> None:
    assert create_from_csv(shell, "label,status,x\nAnn,old,1\n", "--out", out).code == 0
    assert out.read_text().splitlines()[0] == "label,x,uuid,shortId,url,status,error"


def test_a_missing_file_exits_with_2(fake_variants: FakeVariants, shell: Shell) -> None:
    done = shell("variants", "create", FILE, "--from-csv", shell.home / "none.csv")
    assert (done.code, fake_variants.api.requests) == (2, [])
    assert "No such file" in done.err


def test_pages_beyond_the_document_are_reported_before_anything_is_sent(
    fake_variants: FakeVariants, shell: Shell
) -> None:
    done = create_from_csv(shell, "label,pages\nAnn,2-9\nBob,2-10\n")
    assert (done.code, fake_variants.list_creates()) == (2, [])
    assert "row 3 (Bob): pages end at 10 and the document has 9 pages" in done.err


def test_pages_of_existing_links_are_not_checked_again(fake_variants: FakeVariants, shell: Shell, out: Path) -> None:
    assert create_from_csv(shell, "label,pages\nAnn,2-9\n", "--out", out).code == 0
    fake_variants.pages = 3  # the document was replaced by a shorter one
    assert create_from_csv(shell, "label,pages\nAnn,2-9\nBob,1\n", "--out", out).code == 0


def test_a_label_that_has_a_link_exits_with_2_unless_duplicates_are_skipped(
    fake_variants: FakeVariants, shell: Shell, out: Path
) -> None:
    fake_variants.add_variant("Ann", revoked=True)
    fake_variants.add_variant("Ann")
    fake_variants.add_variant("Ann", revoked=True)
    done = create_from_csv(shell, "label\nAnn\nBob\nBob\n")
    assert (done.code, fake_variants.list_creates()) == (2, [])
    assert "row 2 (Ann): a variant with this label already exists" in done.err
    assert "--skip-duplicates" in done.err
    done = create_from_csv(shell, "label\nAnn\nBob\nBob\n", "--skip-duplicates", "--out", out)
    assert (done.code, fake_variants.list_creates()) == (0, [{"label": "Bob"}])
    assert done.lines == [f"Ann\t{variant_url(2)}", f"Bob\t{variant_url(4)}"]  # the active one of the links of Ann
    assert read_statuses(out) == ["exists", "created", "duplicate"]
    assert "1 exists, 1 created, 1 duplicate" in done.err


def test_more_than_200_variants_exit_with_2_unless_duplicates_are_skipped(
    fake_variants: FakeVariants, shell: Shell, out: Path
) -> None:
    for number in range(198):
        fake_variants.add_variant(f"Old {number}", revoked=number % 2 == 0)
    text = "label\nAnn\nBob\nCy\n"
    done = create_from_csv(shell, text)
    assert (done.code, fake_variants.list_creates()) == (2, [])
    assert "198 variants and 3 would be added; the limit is 200" in done.err
    assert "--partial creates the first 2" in done.err
    done = create_from_csv(shell, text, "--partial", "--out", out)
    assert (done.code, len(fake_variants.rows)) == (12, 200)
    assert read_statuses(out) == ["created", "created", "no room"]
    assert create_from_csv(shell, text, "--partial", "--out", out).code == 12
    fake_variants.rows.pop()
    assert create_from_csv(shell, text, "--out", out).code == 0
    assert read_statuses(out) == ["created"] * 3


# --- the result file -------------------------------------------------------------------------------------------------


def test_the_result_contains_the_input_and_the_links(fake_variants: FakeVariants, shell: Shell, out: Path) -> None:
    text = 'Seat,label,note\n1,Ann,"two\nlines"\n2,=Bob,=1+1\n'
    assert create_from_csv(shell, text, "--out", out).code == 0
    assert out.read_text() == (
        "Seat,label,note,uuid,shortId,url,status,error\n"
        f'1,Ann,"two\nlines",{UUID.format(101)},{variant_short_id(1)},{variant_url(1)},created,\n'
        f"2,=Bob,=1+1,{UUID.format(102)},{variant_short_id(2)},{variant_url(2)},created,\n"
    )
    assert out.stat().st_mode & 0o777 == 0o600  # the links are private to their recipients


def test_an_error_of_the_server_is_escaped_in_the_result(fake_variants: FakeVariants, shell: Shell, out: Path) -> None:
    fake_variants.error_for = lambda body: problem(400, "bad_request", '=HYPERLINK("x")')
    assert create_from_csv(shell, "label\nAnn\n", "--out", out).code == 12
    assert read_rows(out)[0]["error"] == '\'=HYPERLINK("x")'


def test_byte_order_mark_and_delimiter_are_preserved(fake_variants: FakeVariants, shell: Shell, out: Path) -> None:
    assert create_from_csv(shell, "\ufefflabel;x\nAnn;1\n", "--delimiter", ";", "--out", out).code == 0
    assert out.read_bytes().startswith(b"\xef\xbb\xbflabel;x;uuid;")
    assert create_from_csv(shell, "\ufefflabel;x\nAnn;1\n", "--delimiter", ";", "--out", out).code == 0
    assert len(fake_variants.list_creates()) == 1


def test_a_second_run_creates_only_new_links_and_prints_all(
    fake_variants: FakeVariants, shell: Shell, out: Path
) -> None:
    assert create_from_csv(shell, "label\nAnn\nBob\n", "--out", out).code == 0
    done = create_from_csv(shell, "label\nCy\nBob\nAnn\n", "--out", out, "--json")
    assert [(row["label"], row["uuid"], row["status"]) for row in done.json] == [
        ("Cy", UUID.format(103), "created"), ("Bob", UUID.format(102), "created"), ("Ann", UUID.format(101), "created"),
    ]  # fmt: skip
    assert "1 created, 2 done before" in done.err
    assert [row["label"] for row in read_rows(out)] == ["Cy", "Bob", "Ann"]


def test_links_of_rows_removed_from_the_input_stay_in_the_result(
    fake_variants: FakeVariants, shell: Shell, out: Path
) -> None:
    assert create_from_csv(shell, "label\nAnn\nBob\n", "--out", out).code == 0
    assert create_from_csv(shell, "label\nBob\n", "--out", out).code == 0
    assert [row["label"] for row in read_rows(out)] == ["Bob", "Ann"]


def test_a_deleted_link_is_not_created_again(fake_variants: FakeVariants, shell: Shell, out: Path) -> None:
    assert create_from_csv(shell, "label\nAnn\nBob\n", "--out", out).code == 0
    del fake_variants.rows[1]
    done = create_from_csv(shell, "label\nAnn\nBob\n", "--out", out)
    assert (done.code, len(fake_variants.list_creates())) == (0, 2)


def test_a_failed_row_is_retried_by_the_next_run(fake_variants: FakeVariants, shell: Shell, out: Path) -> None:
    fake_variants.error_for = lambda body: problem(400, "bad_request", "no") if body["label"] == "Ann" else None
    assert create_from_csv(shell, "label\nAnn\nBob\n", "--out", out).code == 12
    assert [(row["status"], row["error"]) for row in read_rows(out)] == [("failed", "no"), ("created", "")]
    fake_variants.error_for = lambda body: None
    assert create_from_csv(shell, "label\nAnn\nBob\n", "--out", out).code == 0
    assert [(row["status"], row["error"]) for row in read_rows(out)] == [("created", ""), ("created", "")]
    assert [body["label"] for body in fake_variants.list_creates()] == ["Ann", "Bob", "Ann"]


@pytest.mark.parametrize(
    "content", ["name,phone\nAnn,1\n", "label\nAnn\n", "label,x,uuid,shortId,url,status,error\n", '"']
)
def test_a_file_that_is_not_a_result_is_not_overwritten(
    fake_variants: FakeVariants, shell: Shell, out: Path, content: str
) -> None:
    out.write_text(content)
    assert create_from_csv(shell, "label\nAnn\n", "--out", out).code == 2
    assert (out.read_text(), fake_variants.list_creates()) == (content, [])


def test_the_result_of_another_file_is_rejected(fake_variants: FakeVariants, shell: Shell, out: Path) -> None:
    assert create_from_csv(shell, "label\nAnn\n", "--out", out).code == 0
    other = FakeVariants(fake_variants.api, "zZ3dE5fG7hJ9", first=50)
    done = shell("variants", "create", "zZ3dE5fG7hJ9", "--from-csv", shell.home / "guests.csv", "--out", out)
    assert (done.code, other.rows) == (2, [])
    assert "another file" in done.err


def test_concurrent_runs_with_one_result_exit_with_7(fake_variants: FakeVariants, shell: Shell, out: Path) -> None:
    assert create_from_csv(shell, "label\nAnn\n", "--out", out).code == 0
    (lock,) = (shell.home / "state" / "results").iterdir()
    with hold_lock(lock):
        assert create_from_csv(shell, "label\nAnn\nBob\n", "--out", out).code == 7
    assert len(fake_variants.list_creates()) == 1


def test_a_result_that_cannot_be_written_stops_the_run_before_the_first_link(
    fake_variants: FakeVariants, shell: Shell
) -> None:
    (shell.home / "file").write_text("")
    assert create_from_csv(shell, "label\nAnn\n", "--out", shell.home / "file" / "x.csv").code == 2
    assert fake_variants.list_creates() == []
