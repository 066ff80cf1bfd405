"""``docshare lint`` and ``--lint``: what is printed, how it ends, and that nothing is sent."""

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
from tests.cli.commands.fake_uploads import FakeUploads, share_url
from tests.support import office, pdfs
from tests.support.fake_api import FakeApi
from tests.support.lint_pdfs import add_annotation, make_lint_pdf, set_catalog_entries, set_info
from tests.support.pdfs import Sheet, lines_content
from tests.support.shell import Shell

BOXED = [Sheet(lines_content("Secret") + " 0 g 60 700 300 50 re f")]
FOLDER_FINDING = 'Contains the path "C:\\Users\\ada\\offer.docx".'
STRIP_HINT = "Remove it with docshare lint --strip."


@pytest.fixture(scope="module")
def linter() -> Iterator[PdfLinter]:
    with PdfLinter() as shared:
        yield shared


@pytest.fixture(autouse=True)
def one_worker(linter: PdfLinter, monkeypatch: pytest.MonkeyPatch) -> None:
    """All commands of this module share one worker process, whose start takes longer than all they do."""
    monkeypatch.setattr("docshare.cli.commands.lint.command._make_linter", lambda: nullcontext(linter))


@pytest.fixture
def offer(tmp_path: Path) -> Path:
    """A file ``offer.pdf`` that names a folder."""
    path = tmp_path / "offer.pdf"
    path.write_bytes(make_lint_pdf(set_info(Subject="C:\\Users\\ada\\offer.docx")))
    return path


@pytest.fixture
def fine(tmp_path: Path) -> Path:
    path = tmp_path / "fine.pdf"
    path.write_bytes(make_lint_pdf())
    return path


@pytest.fixture
def boxed(tmp_path: Path) -> Path:
    """A file ``boxed.pdf`` with text under a black box."""
    path = tmp_path / "boxed.pdf"
    path.write_bytes(make_lint_pdf(sheets=BOXED))
    return path


# --- what is printed -------------------------------------------------------------------------------------------------


def test_nothing_found_is_success_and_prints_nothing(api: FakeApi, shell: Shell, fine: Path) -> None:
    done = shell("lint", fine)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert api.requests == []


def test_a_pipe_gets_a_line_per_finding(api: FakeApi, shell: Shell, offer: Path) -> None:
    done = shell("lint", offer)
    assert (done.code, done.err) == (13, "")
    assert done.lines == [f"{offer}\twarning\tpaths\t\t{FOLDER_FINDING}\t{STRIP_HINT}\t"]
    assert api.requests == []


def test_no_profile_and_no_credential_are_needed(shell: Shell, offer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a worker of its own, which ends with the command."""
    monkeypatch.undo()
    before = child_pids()
    del shell.env["DOCSHARE_URL"], shell.env["DOCSHARE_TOKEN"]
    assert shell("lint", offer).code == 13
    assert child_pids() == before


def child_pids() -> set[str]:
    """The processes this one has started and not yet collected."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_json_is_an_array_with_page_and_fix(shell: Shell, boxed: Path) -> None:
    done = shell("lint", boxed, "--json")
    assert done.code == 13
    assert done.json == [{
        "path": str(boxed), "level": "error", "check": "covered-text", "page": 1,
        "message": "6 letters under a box or image can be selected, searched and copied.",
        "fix": "A box only hides the text. Delete the text in the original document and export it again.",
    }]  # fmt: skip


def test_a_terminal_gets_findings_by_file_with_advice_and_a_sum(shell: Shell, offer: Path, fine: Path) -> None:
    shell.tty = True
    done = shell("lint", offer, fine, "--no-color")
    assert done.lines == [
        str(offer),
        f"  warning  {FOLDER_FINDING} [paths]",
        f"           → {STRIP_HINT}",
        str(fine),
        "  ✓ nothing found",
    ]
    assert done.err == "1 warning in 2 files\n"


def test_a_hostile_author_does_not_reach_the_terminal(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(make_lint_pdf(set_info(Author="Ada\x1b]0;x\x07")))
    shell.tty = True
    assert "\x1b]0" not in shell("lint", path, "--no-color").out


def test_fields_and_ids_shape_the_rows(shell: Shell, offer: Path) -> None:
    assert shell("lint", offer, "--format", "ids").out == "paths\n"
    assert shell("lint", offer, "--fields", "check,level").out == "paths\twarning\n"


# --- what counts -----------------------------------------------------------------------------------------------------


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
def test_levels_and_checks_decide_how_it_ends(shell: Shell, offer: Path, words: tuple[str, ...], code: int) -> None:
    assert shell("lint", offer, *words).code == code


def test_notes_are_told_and_do_not_fail(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "plain.pdf"
    path.write_bytes(pdfs.simple_pdf(1))
    done = shell("lint", path, "--fields", "level,check")
    assert (done.code, done.lines) == (0, ["note\ttitle", "note\tlanguage", "note\ttags"])


def test_an_error_ends_with_13_even_if_warnings_may_pass(shell: Shell, boxed: Path) -> None:
    assert shell("lint", boxed, "--fail-on", "error").code == 13


def enlarge_file(path: Path, megabytes: int) -> Path:
    """The document with so much behind it; the file has a hole, so it costs no room."""
    with path.open("r+b") as file:
        file.truncate(megabytes << 20)
        file.seek(0, 2)
        file.write(b"\nstartxref\n0\n%%EOF\n")
    return path


@pytest.mark.parametrize(("words", "code", "told"), [
    (("--plan", "free"), 13, ["error"]),
    (("--plan", "basic"), 0, []),
    ((), 0, ["note"]),
])  # fmt: skip
def test_the_size_is_measured_by_the_plan(
    shell: Shell, fine: Path, words: tuple[str, ...], code: int, told: list[str]
) -> None:
    done = shell("lint", enlarge_file(fine, 21), "--only", "size", "--fields", "level", *words)
    assert (done.code, done.lines) == (code, told)


def test_the_plan_can_be_that_of_the_account(api: FakeApi, shell: Shell, fine: Path) -> None:
    api.on("GET", "/user", {"tier": Plan.FREE.tier})
    done = shell("lint", enlarge_file(fine, 21), "--only", "size", "--account")
    assert done.code == 13
    assert "the free plan allows up to 20 MB" in done.out


# --- what cannot be looked into --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("data", "code", "words"), [
    (pdfs.header_only_pdf(), 9, "error: {}: the file cannot be read as a PDF"),
    (pdfs.encrypted_pdf(user="secret"), 9, "error: {}: the PDF is password-protected"),
    (b"hello", 2, "error: {} is not a PDF, Word (.docx) or PowerPoint file"),
    (office.make_docx(), 2, "error: {} is a Word or PowerPoint file; lint reads only PDFs"),
])  # fmt: skip
def test_what_is_no_readable_pdf_is_one_clear_line(
    shell: Shell, tmp_path: Path, data: bytes, code: int, words: str
) -> None:
    path = tmp_path / "file.pdf"
    path.write_bytes(data)
    done = shell("lint", path)
    assert (done.code, done.out, done.err.splitlines()[0]) == (code, "", words.format(path))


def test_a_file_that_is_not_there_is_bad_input(shell: Shell, tmp_path: Path) -> None:
    assert shell("lint", tmp_path / "none.pdf").code == 2


def test_one_unreadable_file_of_several_is_told_and_the_others_are_looked_into(
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


@pytest.mark.parametrize(("words", "told"), [
    (("--only", "typos"), "unknown check 'typos'"),
    (("--fail-on", "note"), "--fail-on"),
    (("--plan", "gold"), "--plan"),
    (("--plan", "free", "--account"), "exclude each other"),
    (("--strip",), "--strip requires --output"),
    (("--strip", "-o", "."), "is a directory"),
    (("--strip", "-o", "-"), "the clean copy cannot go to stdout"),
    (("--strip", "-o", os.devnull, "--force"), "is not a regular file"),
    (("-",), "cannot read from stdin"),
    (("-o", "clean.pdf"), "require --strip"),
    (("-n",), "require --strip"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused(shell: Shell, offer: Path, words: tuple[str, ...], told: str) -> None:
    done = shell("lint", offer, *words)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


# --- a clean copy ----------------------------------------------------------------------------------------------------


def test_a_clean_copy_is_written_and_says_what_is_gone(shell: Shell, offer: Path, tmp_path: Path) -> None:
    clean = tmp_path / "clean.pdf"
    done = shell("lint", offer, "--strip", "-o", clean, "--fields", "check,after")
    assert (done.code, done.out, done.err) == (0, "paths\tgone\n", f"saved {clean}\n")
    assert shell("lint", clean).out == ""
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["clean.pdf", "offer.pdf"]


def test_what_stays_in_the_clean_copy_still_fails(shell: Shell, tmp_path: Path) -> None:
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


def test_an_existing_file_is_overwritten_only_with_force(shell: Shell, offer: Path, fine: Path) -> None:
    before = fine.read_bytes()
    assert shell("lint", offer, "--strip", "-o", fine).code == 2
    assert fine.read_bytes() == before
    fine.chmod(0o640)
    assert shell("lint", offer, "--strip", "-o", offer, "--force").code == 0
    assert shell("lint", offer).out == ""


def test_a_dry_run_writes_nothing(shell: Shell, offer: Path, tmp_path: Path) -> None:
    done = shell("lint", offer, "--strip", "-o", tmp_path / "clean.pdf", "-n", "--fields", "check,after")
    assert (done.out, done.err) == ("paths\tgone\n", "nothing was written\n")
    assert not (tmp_path / "clean.pdf").exists()


def test_what_cannot_be_cleaned_leaves_no_file(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "broken.pdf"
    path.write_bytes(pdfs.header_only_pdf())
    assert shell("lint", path, "--strip", "-o", tmp_path / "clean.pdf").code == 9
    assert sorted(each.name for each in tmp_path.iterdir() if each.is_file()) == ["broken.pdf"]


def test_a_folder_that_is_not_there_is_refused(shell: Shell, offer: Path, tmp_path: Path) -> None:
    done = shell("lint", offer, "--strip", "-o", tmp_path / "none" / "clean.pdf")
    assert done.code == 2
    assert "cannot write" in done.err


def test_the_clean_copy_gets_the_usual_rights(shell: Shell, offer: Path, tmp_path: Path) -> None:
    shell("lint", offer, "--strip", "-o", tmp_path / "clean.pdf")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("clean.pdf", "offer.pdf")]
    assert modes[0] == modes[1]


# --- before an upload ------------------------------------------------------------------------------------------------


def test_upload_with_lint_sends_nothing_if_one_file_has_a_warning(
    fake_uploads: FakeUploads, shell: Shell, fine: Path, boxed: Path
) -> None:
    done = shell("upload", fine, boxed, "--lint")
    assert (done.code, done.out, fake_uploads.uploads) == (13, "", [])
    assert done.err.splitlines()[:2] == [
        "error: boxed.pdf, page 1: 6 letters under a box or image can be selected, searched and copied. (covered-text)",
        "error: lint found 1 problem; nothing was uploaded",
    ]
    assert done.err.splitlines()[2] == "hint: To upload anyway, leave out --lint."
    assert shell("upload", boxed, "--lint", "--json").error["exit"] == 13


def test_upload_with_lint_sends_what_is_fine(fake_uploads: FakeUploads, shell: Shell, fine: Path) -> None:
    assert shell("upload", fine, "--lint").out == f"{share_url(1)}\n"
    assert shell("upload", "-", "--name", "a.pdf", "--lint", stdin=fine.read_bytes()).out == f"{share_url(2)}\n"
    assert len(fake_uploads.uploads) == 2


def test_upload_with_lint_looks_into_stdin(fake_uploads: FakeUploads, shell: Shell, offer: Path) -> None:
    done = shell("upload", "-", "--name", "a.pdf", "--lint", stdin=offer.read_bytes())
    assert (done.code, fake_uploads.uploads) == (13, [])
    assert done.err.startswith(f"warning: a.pdf: {FOLDER_FINDING} (paths)\n")
    assert done.err.endswith("For a clean copy: docshare lint --strip FILE -o clean.pdf.\n")


def test_upload_with_lint_sends_no_pdf_that_cannot_be_read(fake_uploads: FakeUploads, shell: Shell, deck: Path) -> None:
    done = shell("upload", deck, "--lint")
    assert (done.code, fake_uploads.uploads) == (9, [])


def test_upload_with_lint_says_that_office_documents_are_not_looked_into(
    fake_uploads: FakeUploads, shell: Shell, tmp_path: Path
) -> None:
    path = tmp_path / "letter.docx"
    path.write_bytes(office.make_docx())
    done = shell("upload", path, "--lint")
    assert (done.code, done.err) == (
        0, "warning: letter.docx is not linted: the server converts it to PDF\n"
    )  # fmt: skip


def test_upload_with_lint_needs_the_look_at_the_files(fake_uploads: FakeUploads, shell: Shell, fine: Path) -> None:
    assert shell("upload", fine, "--lint", "--no-check").code == 2


@pytest.mark.parametrize(
    ("words", "code"),
    [(("--ignore", "paths"), 0), (("--fail-on", "error"), 0), (("--fail-on", "warning"), 13),
     (("--fail-on", "never"), 0), (("--ignore", "nope"), 2), (("--fail-on", "nope"), 2)],
)  # fmt: skip
@pytest.mark.parametrize("line", ["upload", "push --slug q3"])
def test_what_stops_an_upload_can_be_chosen(
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


def test_a_dry_run_of_an_upload_is_linted_too(fake_uploads: FakeUploads, shell: Shell, offer: Path) -> None:
    assert shell("upload", offer, "--lint", "-n").code == 13


def test_push_with_lint_sends_nothing_that_has_a_warning(api: FakeApi, shell: Shell, offer: Path) -> None:
    done = shell("push", offer, "--slug", "q3", "--lint")
    assert (done.code, done.out, api.requests) == (13, "", [])


def test_every_kind_of_finding_has_a_line_of_its_own(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "many.pdf"
    path.write_bytes(
        make_lint_pdf(
            set_catalog_entries(Lang=String("")),
            add_annotation("Text", T=String("Bob")),
            add_annotation("Link", A=Name.X),
        )
    )
    assert shell("lint", path, "--fields", "check,page").lines == ["comments\t1", "language\t"]
