"""``docshare lint`` and ``--lint``: output, exit codes, and that no document is sent."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from pikepdf import Name, String

from docshare.contract.plans import Plan
from docshare.server.pdf.linter import PdfLinter
from tests.cli.commands.fakes.uploads import FakeUploads, share_url
from tests.support.documents import office, pdfs
from tests.support.documents.lint_pdfs import add_annotation, make_lint_pdf, set_catalog_entries, set_info
from tests.support.documents.pdfs import Sheet, lines_content
from tests.support.outside.fake_api import FakeApi
from tests.support.shell import Shell

BOXED = [Sheet(lines_content("Secret") + " 0 g 60 700 300 50 re f")]
FOLDER_FINDING = 'Contains the path "C:\\Users\\ada\\offer.docx".'
STRIP_HINT = "Remove it with docshare lint --strip."


@pytest.fixture(scope="module")
def linter() -> Iterator[PdfLinter]:
    with PdfLinter() as shared:
        yield shared


@pytest.fixture(autouse=True)
def share_one_worker(linter: PdfLinter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Share one worker process between the commands of this module; its start is the slowest part."""
    monkeypatch.setattr("docshare.cli.commands.lint.command._make_linter", lambda: nullcontext(linter))


@pytest.fixture
def offer(tmp_path: Path) -> Path:
    """Create a file ``offer.pdf`` that contains a path."""
    path = tmp_path / "offer.pdf"
    path.write_bytes(make_lint_pdf(set_info(Subject="C:\\Users\\ada\\offer.docx")))
    return path


@pytest.fixture
def clean_pdf(tmp_path: Path) -> Path:
    path = tmp_path / "fine.pdf"
    path.write_bytes(make_lint_pdf())
    return path


@pytest.fixture
def boxed_pdf(tmp_path: Path) -> Path:
    """Create a file ``boxed.pdf`` with text under a black box."""
    path = tmp_path / "boxed.pdf"
    path.write_bytes(make_lint_pdf(sheets=BOXED))
    return path


# --- output ----------------------------------------------------------------------------------------------------------


def test_no_findings_is_a_success_and_prints_nothing(api: FakeApi, shell: Shell, clean_pdf: Path) -> None:
    done = shell("lint", clean_pdf)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert api.requests == []


def test_a_pipe_gets_a_line_per_finding(api: FakeApi, shell: Shell, offer: Path) -> None:
    done = shell("lint", offer)
    assert (done.code, done.err) == (13, "")
    assert done.lines == [f"{offer}\twarning\tpaths\t\t{FOLDER_FINDING}\t{STRIP_HINT}\t"]
    assert api.requests == []


def test_lint_needs_neither_profile_nor_credential(shell: Shell, offer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command starts its own worker process, which ends with it."""
    monkeypatch.undo()
    before = list_child_pids()
    del shell.env["DOCSHARE_URL"], shell.env["DOCSHARE_TOKEN"]
    assert shell("lint", offer).code == 13
    assert list_child_pids() == before


def list_child_pids() -> set[str]:
    """Return the child processes of this one that have not been reaped."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_json_is_an_array_with_page_and_fix(shell: Shell, boxed_pdf: Path) -> None:
    done = shell("lint", boxed_pdf, "--json")
    assert done.code == 13
    assert done.json == [{
        "path": str(boxed_pdf), "level": "error", "check": "covered-text", "page": 1,
        "message": "6 letters under a box or image can be selected, searched, and copied.",
        "fix": "A box only hides the text. Delete the text in the original document and export it again.",
    }]  # fmt: skip


def test_a_terminal_shows_findings_by_file_with_hints_and_a_summary(shell: Shell, offer: Path, clean_pdf: Path) -> None:
    shell.tty = True
    done = shell("lint", offer, clean_pdf, "--no-color")
    assert done.lines == [
        str(offer),
        f"  warning  {FOLDER_FINDING} [paths]",
        f"           → {STRIP_HINT}",
        str(clean_pdf),
        "  ✓ nothing found",
    ]
    assert done.err == "1 warning in 2 files\n"


def test_a_hostile_author_is_escaped_on_a_terminal(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(make_lint_pdf(set_info(Author="Ada\x1b]0;x\x07")))
    shell.tty = True
    assert "\x1b]0" not in shell("lint", path, "--no-color").out


def test_fields_and_ids_select_columns(shell: Shell, offer: Path) -> None:
    assert shell("lint", offer, "--format", "ids").out == "paths\n"
    assert shell("lint", offer, "--fields", "check,level").out == "paths\twarning\n"


# --- exit codes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "code"), [
    ((), 13),
    (("--fail-on", "error"), 0),
    (("--fail-on", "warning"), 13),
    (("--fail-on", "never"), 0),
    (("--ignore", "paths"), 0),
    (("--only", "paths"), 13),
    (("--only", "title", "--only", "tags"), 0),
    (("--only", "paths", "--ignore", "paths"), 0),
])  # fmt: skip
def test_fail_on_and_the_selected_checks_decide_the_exit_code(
    shell: Shell, offer: Path, words: tuple[str, ...], code: int
) -> None:
    assert shell("lint", offer, *words).code == code


def test_notes_are_printed_and_do_not_fail(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "plain.pdf"
    path.write_bytes(pdfs.simple_pdf(1))
    done = shell("lint", path, "--fields", "level,check")
    assert (done.code, done.lines) == (0, ["note\ttitle", "note\tlanguage", "note\ttags"])


def test_an_error_exits_with_13_even_if_warnings_may_pass(shell: Shell, boxed_pdf: Path) -> None:
    assert shell("lint", boxed_pdf, "--fail-on", "error").code == 13


def enlarge_file(path: Path, megabytes: int) -> Path:
    """Add ``megabytes`` MB before the end of the document; the file is sparse, so they take no space."""
    with path.open("r+b") as file:
        file.truncate(megabytes << 20)
        file.seek(0, 2)
        file.write(b"\nstartxref\n0\n%%EOF\n")
    return path


@pytest.mark.parametrize(("words", "code", "levels"), [
    (("--plan", "free"), 13, ["error"]),
    (("--plan", "basic"), 0, []),
    ((), 0, ["note"]),
])  # fmt: skip
def test_the_size_limit_is_that_of_the_plan(
    shell: Shell, clean_pdf: Path, words: tuple[str, ...], code: int, levels: list[str]
) -> None:
    done = shell("lint", enlarge_file(clean_pdf, 21), "--only", "size", "--fields", "level", *words)
    assert (done.code, done.lines) == (code, levels)


def test_the_account_option_uses_the_plan_of_the_account(api: FakeApi, shell: Shell, clean_pdf: Path) -> None:
    api.on("GET", "/user", {"tier": Plan.FREE.tier})
    done = shell("lint", enlarge_file(clean_pdf, 21), "--only", "size", "--account")
    assert done.code == 13
    assert "the free plan allows up to 20 MB" in done.out


# --- unreadable files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("data", "code", "words"), [
    (pdfs.header_only_pdf(), 9, "error: {}: the file cannot be read as a PDF"),
    (pdfs.encrypted_pdf(user="secret"), 9, "error: {}: the PDF is password-protected"),
    (b"hello", 2, "error: {} is not a PDF, Word (.docx) or PowerPoint file"),
    (office.make_docx(), 2, "error: {} is a Word or PowerPoint file; lint reads only PDFs"),
])  # fmt: skip
def test_an_unreadable_pdf_prints_one_clear_line(
    shell: Shell, tmp_path: Path, data: bytes, code: int, words: str
) -> None:
    path = tmp_path / "file.pdf"
    path.write_bytes(data)
    done = shell("lint", path)
    assert (done.code, done.out, done.err.splitlines()[0]) == (code, "", words.format(path))


def test_a_missing_file_exits_with_2(shell: Shell, tmp_path: Path) -> None:
    assert shell("lint", tmp_path / "none.pdf").code == 2


def test_one_unreadable_file_of_several_is_reported_and_the_others_are_checked(
    shell: Shell, tmp_path: Path, offer: Path
) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(pdfs.header_only_pdf())
    done = shell("lint", broken, offer, "--json")
    assert done.code == 12
    assert [(row["path"], row.get("check"), row.get("error", {}).get("exit")) for row in done.json] == [
        (str(broken), None, 9),
        (str(offer), "paths", None),
    ]
    assert done.err == f"error: {broken}: the file cannot be read as a PDF\n"


@pytest.mark.parametrize(("words", "error"), [
    (("--only", "typos"), "unknown check 'typos'"),
    (("--fail-on", "note"), "--fail-on"),
    (("--plan", "gold"), "--plan"),
    (("--plan", "free", "--account"), "cannot be used together"),
    (("--strip",), "--strip requires --output"),
    (("--strip", "-o", "."), "is a directory"),
    (("--strip", "-o", "-"), "the clean copy cannot go to stdout"),
    (("--strip", "-o", os.devnull, "--force"), "is not a regular file"),
    (("-",), "cannot read from stdin"),
    (("-o", "clean.pdf"), "require --strip"),
    (("-n",), "require --strip"),
])  # fmt: skip
def test_invalid_options_are_rejected(shell: Shell, offer: Path, words: tuple[str, ...], error: str) -> None:
    done = shell("lint", offer, *words)
    assert (done.code, done.out) == (2, "")
    assert error in done.err


# --- a clean copy ----------------------------------------------------------------------------------------------------


def test_strip_writes_a_clean_copy_and_lists_the_removed_findings(shell: Shell, offer: Path, tmp_path: Path) -> None:
    clean = tmp_path / "clean.pdf"
    done = shell("lint", offer, "--strip", "-o", clean, "--fields", "check,after")
    assert (done.code, done.out, done.err) == (0, "paths\tgone\n", f"saved {clean}\n")
    assert shell("lint", clean).out == ""
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["clean.pdf", "offer.pdf"]


def test_findings_that_remain_in_the_clean_copy_still_fail(shell: Shell, tmp_path: Path) -> None:
    path, clean = tmp_path / "both.pdf", tmp_path / "clean.pdf"
    path.write_bytes(make_lint_pdf(set_info(Subject="C:\\Users\\ada\\offer.docx"), sheets=BOXED))
    done = shell("lint", path, "--strip", "-o", clean, "--fields", "check,after")
    assert (done.code, done.lines) == (13, ["covered-text\tstays", "paths\tgone"])
    shell.tty = True
    shown = shell("lint", path, "--strip", "-o", clean, "--force", "--no-color")
    assert shown.lines[1].startswith("  stays    page 1: 6 letters under a box or image can be selected, ")
    assert "[covered-text]" in shown.out, "the name of the check is broken"
    assert shown.lines[-1] == f"  gone     {FOLDER_FINDING} [paths]"
    assert shown.err.splitlines()[-1] == "1 error in 1 file"


def test_an_existing_file_is_overwritten_only_with_force(shell: Shell, offer: Path, clean_pdf: Path) -> None:
    before = clean_pdf.read_bytes()
    assert shell("lint", offer, "--strip", "-o", clean_pdf).code == 2
    assert clean_pdf.read_bytes() == before
    clean_pdf.chmod(0o640)
    assert shell("lint", offer, "--strip", "-o", offer, "--force").code == 0
    assert shell("lint", offer).out == ""


def test_a_dry_run_writes_nothing(shell: Shell, offer: Path, tmp_path: Path) -> None:
    done = shell("lint", offer, "--strip", "-o", tmp_path / "clean.pdf", "-n", "--fields", "check,after")
    assert (done.out, done.err) == ("paths\tgone\n", "nothing was written\n")
    assert not (tmp_path / "clean.pdf").exists()


def test_strip_of_an_unreadable_file_leaves_no_copy(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "broken.pdf"
    path.write_bytes(pdfs.header_only_pdf())
    assert shell("lint", path, "--strip", "-o", tmp_path / "clean.pdf").code == 9
    assert sorted(each.name for each in tmp_path.iterdir() if each.is_file()) == ["broken.pdf"]


def test_strip_into_a_missing_directory_is_rejected(shell: Shell, offer: Path, tmp_path: Path) -> None:
    done = shell("lint", offer, "--strip", "-o", tmp_path / "none" / "clean.pdf")
    assert done.code == 2
    assert "cannot write" in done.err


def test_the_clean_copy_has_the_usual_permissions(shell: Shell, offer: Path, tmp_path: Path) -> None:
    shell("lint", offer, "--strip", "-o", tmp_path / "clean.pdf")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("clean.pdf", "offer.pdf")]
    assert modes[0] == modes[1]


# --- upload and push -------------------------------------------------------------------------------------------------


def test_upload_with_lint_sends_nothing_if_one_file_has_a_warning(
    fake_uploads: FakeUploads, shell: Shell, clean_pdf: Path, boxed_pdf: Path
) -> None:
    done = shell("upload", clean_pdf, boxed_pdf, "--lint")
    assert (done.code, done.out, fake_uploads.uploads) == (13, "", [])
    assert done.err.splitlines()[:2] == [
        "error: boxed.pdf, page 1: 6 letters under a box or image can be selected, searched, and copied. "
        "(covered-text)",
        "error: lint found 1 problem; nothing was uploaded",
    ]
    assert done.err.splitlines()[2] == "hint: To upload anyway, leave out --lint."
    assert shell("upload", boxed_pdf, "--lint", "--json").error["exit"] == 13


def test_upload_with_lint_sends_clean_files(fake_uploads: FakeUploads, shell: Shell, clean_pdf: Path) -> None:
    assert shell("upload", clean_pdf, "--lint").out == f"{share_url(1)}\n"
    assert shell("upload", "-", "--name", "a.pdf", "--lint", stdin=clean_pdf.read_bytes()).out == f"{share_url(2)}\n"
    assert len(fake_uploads.uploads) == 2


def test_upload_with_lint_checks_stdin(fake_uploads: FakeUploads, shell: Shell, offer: Path) -> None:
    done = shell("upload", "-", "--name", "a.pdf", "--lint", stdin=offer.read_bytes())
    assert (done.code, fake_uploads.uploads) == (13, [])
    assert done.err.startswith(f"warning: a.pdf: {FOLDER_FINDING} (paths)\n")
    assert done.err.endswith("For a clean copy: docshare lint --strip FILE -o clean.pdf.\n")


def test_upload_with_lint_does_not_send_an_unreadable_pdf(fake_uploads: FakeUploads, shell: Shell, deck: Path) -> None:
    done = shell("upload", deck, "--lint")
    assert (done.code, fake_uploads.uploads) == (9, [])


def test_upload_with_lint_warns_that_office_documents_are_not_linted(
    fake_uploads: FakeUploads, shell: Shell, tmp_path: Path
) -> None:
    path = tmp_path / "letter.docx"
    path.write_bytes(office.make_docx())
    done = shell("upload", path, "--lint")
    assert (done.code, done.err) == (
        0, "warning: letter.docx is not linted: the server converts it to PDF\n"
    )  # fmt: skip


def test_upload_with_lint_conflicts_with_no_check(fake_uploads: FakeUploads, shell: Shell, clean_pdf: Path) -> None:
    assert shell("upload", clean_pdf, "--lint", "--no-check").code == 2


@pytest.mark.parametrize(
    ("words", "code"),
    [(("--ignore", "paths"), 0), (("--fail-on", "error"), 0), (("--fail-on", "warning"), 13),
     (("--fail-on", "never"), 0), (("--ignore", "nope"), 2), (("--fail-on", "nope"), 2)],
)  # fmt: skip
@pytest.mark.parametrize("line", ["upload", "push --slug q3"])
def test_lint_options_choose_which_findings_stop_an_upload(
    fake_uploads: FakeUploads, api: FakeApi, shell: Shell, offer: Path, line: str, words: tuple[str, ...], code: int
) -> None:
    api.on("PUT", "/files/0b8e7d5c-0000-4000-8000-000000000001/settings", {})
    done = shell(*line.split(), offer, "--lint", *words)
    assert (done.code in (2, 13)) == (code != 0), done.err
    assert bool(fake_uploads.uploads) == (code == 0)
    if code:
        assert done.code == code
    assert shell(*line.split(), offer, *words).code == 2, "without --lint they mean nothing"


def test_the_name_of_the_author_alone_is_a_note(fake_uploads: FakeUploads, shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "named.pdf"
    path.write_bytes(make_lint_pdf(set_info(Author="Ada")))
    assert shell("lint", path, "--fields", "level,check").lines == ["note\tauthor"]
    assert shell("upload", path, "--lint").code == 0


def test_a_dry_run_of_an_upload_with_lint_also_checks_the_file(
    fake_uploads: FakeUploads, shell: Shell, offer: Path
) -> None:
    assert shell("upload", offer, "--lint", "-n").code == 13


def test_push_with_lint_sends_nothing_that_has_a_warning(api: FakeApi, shell: Shell, offer: Path) -> None:
    done = shell("push", offer, "--slug", "q3", "--lint")
    assert (done.code, done.out, api.requests) == (13, "", [])


def test_every_kind_of_finding_has_its_own_line(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "many.pdf"
    path.write_bytes(
        make_lint_pdf(
            set_catalog_entries(Lang=String("")),
            add_annotation("Text", T=String("Bob")),
            add_annotation("Link", A=Name.X),
        )
    )
    assert shell("lint", path, "--fields", "check,page").lines == ["comments\t1", "language\t"]
